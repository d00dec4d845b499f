/* Memory, counted by kind. Every allocation of the engine goes through here,
 * so that specs can prove that nothing leaks, and can make the k-th one fail.
 */
#ifndef ST_BASE_MEMORY_H
#define ST_BASE_MEMORY_H

#include "base/types.h"

/* ORDER MEM_KIND: names shown by strided.memory(). */
#define ST_MEM_MAP(X) \
  X(TENSOR,    "tensors")    /* tensor headers */                  \
  X(STORAGE,   "storages")   /* storage headers */                 \
  X(DATA,      "data")       /* element bytes */                   \
  X(SCRATCH,   "scratch")    /* lives within one call */           \
  X(VALUE,     "values")     /* lists and strings in results */    \
  X(GENERATOR, "generators")                                       \
  X(SHARED,    "shared")     /* tokens of shared tensors */        \
  X(GRAPH,     "graph")      /* what gradients are computed from */ \
  X(REGISTRY,  "registry")   /* schemas, operators, kernels */

typedef enum st_mem_kind {
#define ST_MEM_ENUM(id, name) ST_MEM_##id,
  ST_MEM_MAP(ST_MEM_ENUM)
#undef ST_MEM_ENUM
  ST_MEM_COUNT
} st_mem_kind;

typedef struct st_mem_stats {
  const char *name;
  int64_t count;  /* live blocks */
  int64_t bytes;  /* live bytes */
  int64_t peak;   /* most live bytes so far */
} st_mem_stats;

/* Uninitialised memory, or NULL with the message set. All but the registry's
 * is 64-byte aligned. The size must be given back to st__free. n = 0 gives a
 * unique pointer. */
void *st__alloc(st_mem_kind kind, size_t n);
void *st__alloc_zero(st_mem_kind kind, size_t n);
void st__free(st_mem_kind kind, void *p, size_t n);

/* A NUL-terminated copy of n bytes; freed with n + 1. */
char *st__strndup(st_mem_kind kind, const char *s, size_t n);

/* For a block that holds things of several kinds, each counted by itself. */
void *st__alloc_block(size_t n);
void st__free_block(void *p, size_t n);
void st__count(st_mem_kind kind, int64_t count, int64_t bytes);

st_mem_stats st__memory_stats(st_mem_kind kind);
/* See strided_memory.h. */
st_memory_totals st__memory_totals(void);
void st__memory_reset_peak(void);
void st__memory_set_limit(int64_t bytes);
void st__memory_set_cache_limit(int64_t bytes);
int64_t st__memory_trim(void);

/* The k-th allocation of this thread from now on fails (k = 1 the next), and
 * only that one; 0 switches it off. Returns how many were left to go. */
int64_t st__memory_fail_at(int64_t k);

#endif
