/* Operands of another dtype than the loop's.
 *
 * Note [Casting inside the loop]
 * Such an operand is converted block by block in a buffer that stays in L1:
 * inputs before the loop sees a block, outputs after it. The plan is the one
 * that ATen makes, where a whole temporary stands for the operand, so its
 * strides are those of the temporary. For a dense input, which keeps its
 * strides when it is converted, and for a contiguous output, they are those
 * of the tensor itself, in bytes of the loop's dtype; st__own_bytes scales
 * them back. Other operands get the temporary.
 */
#ifndef ST_ITER_CAST_H
#define ST_ITER_CAST_H

#include "iter/iter.h"

enum { ST_CAST_MAX = 4 }; /* operands of an iterator that cast */

/* Bytes of the plan in bytes of the operand's tensor. */
static inline int64_t st__own_bytes(const st_iter_operand *op,
                                    int64_t bytes) {
  if (!op->casts) return bytes;
  return bytes / (int64_t)st__itemsize(op->target) *
         (int64_t)st__itemsize((st_dtype)op->tensor->dtype);
}

typedef struct st_iter_job {
  const st_iter *it;
  st_loop loop;
  const void *ctx;
  bool only_reads; /* the loop writes no output */
  bool tiled;      /* in any order: see run.c */
} st_iter_job;

/* Runs the loop over n0 x n1 elements; data and strides are the tensors'
 * own. */
void st__cast_loop(const st_iter_job *j, char **data, const int64_t *strides,
                   int64_t n0, int64_t n1);

#endif
