/* What the indexing loops of kernel/index.c are told through ctx.
 */
#ifndef ST_KERNEL_INDEX_H
#define ST_KERNEL_INDEX_H

#include <stdatomic.h>

#include "kernel/kernel.h"

/* Index tensors that one loop can follow: the iterator's operands less two. */
enum { ST_INDEX_MAX = 14 };

/* index_get: out <- src[positions]; operands out, src, positions...
 * index_put: dst[positions] <- value; operands dst, value, positions...
 * index_add: dst[positions] += alpha * value; the same operands.
 * Positions are int64; those below zero count from the end, the others from
 * base. They have been checked. */
typedef struct st_index_ctx {
  int64_t n;                     /* index operands */
  int64_t base;
  int64_t size[ST_INDEX_MAX];    /* of the indexed dimensions */
  int64_t stride[ST_INDEX_MAX];  /* theirs, in bytes */
  st_scalar alpha;
} st_index_ctx;

/* index_check: sets *bad when a position is outside. Operand: positions. */
typedef struct st_index_check_ctx {
  int64_t base, size;
  atomic_int *bad;
} st_index_check_ctx;

/* nonzero_count: adds to *count. Operand: anything. */
typedef struct st_count_ctx { int64_t *count; } st_count_ctx;

/* mask_pack: appends elements where the mask is set to *out and moves it on.
 * mask_unpack: takes them from there. Operands: elements, mask (bytes). */
typedef struct st_pack_ctx { char **out; } st_pack_ctx;

/* nonzero_pack: appends the running number of every element that is not zero
 * to *out; *position is the first element's. Operand: anything. */
typedef struct st_nonzero_ctx {
  int64_t **out;
  int64_t *position;
} st_nonzero_ctx;

/* The place along a dimension that a checked position names. */
static inline int64_t st__resolve_index(int64_t v, int64_t base,
                                        int64_t size) {
  return v < 0 ? v + size : v - base;
}

#endif
