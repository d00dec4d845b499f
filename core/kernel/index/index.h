/* Operands and ctx of the indexing loops of kernel/index/index.c.
 */
#ifndef ST_KERNEL_INDEX_INDEX_H
#define ST_KERNEL_INDEX_INDEX_H

#include <stdatomic.h>

#include "kernel/loop.h"

/* Most index operands of a loop: the iterator's operands less two. */
enum { ST_INDEX_MAX = 14 };

/* index_get: out <- src[indices]; operands out, src, indices...
 * index_put: dst[indices] <- value; operands dst, value, indices...
 * index_add: dst[indices] += alpha * value; the same operands. So are those of
 * index_mul, index_max and index_min, which do not read alpha.
 * Indices are int64. A negative one counts from the end, any other from base.
 * The caller has checked that they are in range. */
typedef struct st_index_ctx {
  int64_t n;                     /* index operands */
  int64_t base;
  int64_t size[ST_INDEX_MAX];    /* of the indexed dimensions */
  int64_t stride[ST_INDEX_MAX];  /* of these dimensions, in bytes */
  st_scalar alpha;
} st_index_ctx;

/* index_check: sets *bad to 1 if an index is out of range. Operand: indices. */
typedef struct st_index_check_ctx {
  int64_t base, size;
  atomic_int *bad;
} st_index_check_ctx;

/* nonzero_count: adds the number of nonzero elements to *count. Operand: an
 * input of any dtype. */
typedef struct st_count_ctx { int64_t *count; } st_count_ctx;

/* mask_pack: copies the elements whose mask is set to *out and advances it.
 * mask_unpack: copies from *out to these elements and advances it. Operands:
 * elements, mask (bytes). */
typedef struct st_pack_ctx { char **out; } st_pack_ctx;

/* nonzero_pack: writes the linear index of every nonzero element to *out and
 * advances it. *position is the linear index of the first element and is
 * advanced, too. Operand: an input of any dtype. */
typedef struct st_nonzero_ctx {
  int64_t **out;
  int64_t *position;
} st_nonzero_ctx;

/* Zero-based index of a checked index v along a dimension. */
static inline int64_t st__resolve_index(int64_t v, int64_t base,
                                        int64_t size) {
  return v < 0 ? v + size : v - base;
}

#endif
