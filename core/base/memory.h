/* The allocator, with statistics by kind. All allocations of the engine use
 * it, so that specs can check for leaks and make the k-th allocation fail.
 */
#ifndef ST_BASE_MEMORY_H
#define ST_BASE_MEMORY_H

#include <stdatomic.h>

#include "abi/types.h"
#include "abi/strided_memory.h"

/* ORDER MEM_KIND: names shown by strided.memory(). */
#define ST_MEM_MAP(X) \
  X(TENSOR,    "tensors")    /* tensor headers */                  \
  X(STORAGE,   "storages")   /* storage headers */                 \
  X(DATA,      "data")       /* element bytes */                   \
  X(SCRATCH,   "scratch")    /* freed before the call returns */   \
  X(VALUE,     "values")     /* lists and strings in results */    \
  X(GENERATOR, "generators")                                       \
  X(SHARED,    "shared")     /* tokens of shared tensors */        \
  X(GRAPH,     "graph")      /* the autograd graph */              \
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

/* Uninitialised memory (zeroed: st__alloc_zero), or NULL with the message set.
 * Blocks are 64-byte aligned, except those of kind REGISTRY. n = 0 returns a
 * unique pointer. st__free takes the same kind and size; p may be NULL. */
void *st__alloc(st_mem_kind kind, size_t n);
void *st__alloc_zero(st_mem_kind kind, size_t n);
void st__free(st_mem_kind kind, void *p, size_t n);

/* A NUL-terminated copy of n bytes; its size for st__free is n + 1. */
char *st__strndup(st_mem_kind kind, const char *s, size_t n);

/* An uncounted block, for objects of several kinds in one block: the caller
 * counts each with st__count. */
void *st__alloc_block(size_t n);
void st__free_block(void *p, size_t n);
/* True if the last block that this thread allocated is new memory, all zero
 * (Note [Mapped blocks]). */
bool st__last_block_is_zero(void);
/* While wanted, a block of ST_FIXED_new_zeros bytes or more that this thread
 * allocates is new memory. */
void st__want_zero_blocks(bool want);

/* What a thread has counted since it last added its counts to the process
 * totals; only that thread writes it. */
typedef struct st_mem_counter { _Atomic int64_t count, bytes; } st_mem_counter;
extern _Thread_local st_mem_counter *st__own_counters; /* NULL at first */
enum { ST_MEM_FLUSH_BYTES = 1 << 20 }; /* bytes to count before adding them */
/* Counts where there are no counters yet, or many bytes. */
void st__count_slow(st_mem_kind kind, int64_t count, int64_t bytes);

/* There is a single writer, so a load and a store are enough. */
static inline void st__count(st_mem_kind kind, int64_t count, int64_t bytes) {
  st_mem_counter *c = st__own_counters;
  if (__builtin_expect(!c, 0)) {
    st__count_slow(kind, count, bytes);
    return;
  }
  c += kind;
  const int64_t n = atomic_load_explicit(&c->count, memory_order_relaxed);
  const int64_t all = bytes + atomic_load_explicit(&c->bytes,
                                                   memory_order_relaxed);
  if (__builtin_expect(all >= ST_MEM_FLUSH_BYTES ||
                       all <= -ST_MEM_FLUSH_BYTES, 0)) {
    st__count_slow(kind, count, bytes);
    return;
  }
  atomic_store_explicit(&c->count, n + count, memory_order_relaxed);
  atomic_store_explicit(&c->bytes, all, memory_order_relaxed);
}

st_mem_stats st__memory_stats(st_mem_kind kind);
/* See strided_memory.h. */
void st__memory_set_limit(int64_t bytes);
void st__memory_set_cache_limit(int64_t bytes);

#endif
