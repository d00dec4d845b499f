/* Loop dimensions: how operands of one shape are traversed, in few loops with
 * small strides.
 *
 * Note [Loop dimensions]
 * Reductions, loops over lines, copies and custom reductions plan their loops
 * alike: dimensions of size 1 are dropped; the others are sorted by stride, the
 * innermost first; neighbours merge where one stride continues the other in
 * every operand. Sorting goes by the first operand of a range in which the
 * strides of two dimensions differ and neither is 0; a dimension over which the
 * first of these operands is expanded is outside of the others. Sorting is a
 * matter of speed where the order cannot change a result; a reduction whose
 * elements are added in order leaves the reduced dimensions as they are, or
 * sorts them by the logical index.
 *
 * The iterator has rules of its own (iter/reorder_coalesce.c), since the order
 * of its dimensions determines the strides of new outputs: there every operand
 * counts, ambiguous pairs keep their place, and dimensions merge as in ATen.
 */
#ifndef ST_TENSOR_LOOP_DIMS_H
#define ST_TENSOR_LOOP_DIMS_H

#include "tensor/tensor.h"

typedef struct st_loop_dims {
  int n;
  int nstrides;                  /* of a dimension: one per operand */
  int64_t total;                 /* product of the sizes */
  int64_t size[ST_MAX_DIMS];
  int64_t *strides;              /* borrowed: nstrides per dimension */
} st_loop_dims;

/* room: for the strides of ST_MAX_DIMS dimensions. A loop may run on a stack of
 * 48 KB, so it is no larger than its operands need. */
static inline void st__loop_dims_init(st_loop_dims *x, int nstrides,
                                      int64_t *room) {
  x->n = 0;
  x->nstrides = nstrides;
  x->total = 1;
  x->strides = room;
}
/* The strides of dimension d. */
static inline int64_t *st__loop_strides(const st_loop_dims *x, int d) {
  return x->strides + d * x->nstrides;
}
/* Appends a dimension, which is outside of the others. */
void st__loop_dims_add(st_loop_dims *x, int64_t size, const int64_t *stride);
/* Sorts by the operands from `by` on, n of them: Note [Loop dimensions]. */
void st__loop_dims_sort(st_loop_dims *x, int by, int n);
/* Merges neighbours. */
void st__loop_dims_merge(st_loop_dims *x);
/* Appends dimensions of size 1 until there are n. */
void st__loop_dims_pad(st_loop_dims *x, int n);
/* Swaps the longest dimension with the first, for loops that would be short
 * along the first. */
void st__loop_dims_longest_first(st_loop_dims *x);
/* Moves a pointer per operand from element 0 to element `index`, counted with
 * dimension 0 the fastest. NULL stays NULL. */
void st__loop_dims_seek(const st_loop_dims *x, int64_t index, char **data);
/* |x|; the strides of a loop that runs backwards are negative. */
static inline int64_t st__magnitude(int64_t x) { return x < 0 ? -x : x; }

#endif
