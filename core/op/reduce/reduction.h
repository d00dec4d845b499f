/* The reduction engine: reduces dimensions to one value per output, which is
 * finished and stored.
 *
 * Note [Order of a reduction]
 * The order of the operations depends on the shape and the reduced dimensions
 * alone. In logical order, the innermost reduced dimensions that have at least
 * 256 elements together form a segment; if there are fewer elements, all of
 * them do. Segments are reduced by Note [Pairwise reduction tree], and their
 * values, if there are several, in adjacent pairs, then pairs of those pairs,
 * and so on.
 *
 * For example, a matrix is reduced to the sum of its rows. A matrix in
 * column-major order is still read in memory order: its segments are treated
 * as outputs, and many of them are reduced side by side. The outer loop visits
 * tiles of up to TILE outputs adjacent along the kept dimension with the
 * smallest stride. If there are few tiles, segments are split into chunks of
 * 2^k blocks, whose values are combined as the tree would combine them. Any
 * thread may take a tile or a chunk. The result is bitwise equal for every
 * layout, number of threads and instruction set. Where the order does not
 * matter, as with integers, all reduced dimensions are reduced at once in
 * memory order.
 *
 * Note [Two-pass reductions]
 * Some reductions need two passes: variance needs the mean, an index needs the
 * extremum. The second pass reads a pivot per output, computed from the result
 * of the first. Without segments or chunks it runs while the tile's input is
 * still in the cache. The search for an index skips tiles whose own extremum
 * is not that of their output.
 */
#ifndef ST_OP_REDUCE_REDUCTION_H
#define ST_OP_REDUCE_REDUCTION_H

#include "op/row/op.h"

/* One pass: acc is the dtype of the accumulators, `start` their initial value.
 * The kernel `combine` combines partial results. */
typedef struct st_reduce_pass {
  st_kernel_id kernel, combine;
  st_dtype acc;
  st_scalar start;
} st_reduce_pass;

typedef struct st_reduction st_reduction;
struct st_reduction {
  st_reduce_pass first, second; /* second.kernel may be ST_K_NONE */
  /* Computes n pivots of the second pass from the results of the first:
   * float64, or complex128 if the accumulators are. NULL: the results are the
   * pivots. out_first receives the pivots, which then must have the
   * accumulators' dtype. */
  void (*pivot)(const st_reduction *r, const void *first, void *ref,
                int64_t n);
  /* The last step, in place, on the accumulators of the last pass; may be
   * NULL. */
  void (*finish)(const st_reduction *r, void *acc, const void *ref,
                 int64_t n);
  bool ordered;      /* indices follow logical order */
  double ref;        /* constant operand of the first pass */
  int64_t count;     /* elements per output; set by st__reduce */
  double correction; /* for finish */
  double power;
  _Atomic bool *left_range; /* set by finish: Note [Sums that leave the
                               range] */
  int64_t base;
  st_tensor *out_first, *out_last; /* either may be NULL */
};

/* Reduces the dimensions in dims (a bit set) of in. The outputs have in's
 * sizes with those dimensions 1 or left out. Every error precedes the first
 * write. */
st_status st__reduce(st_reduction *r, const st_tensor *in, uint64_t dims,
                     bool keepdim);

/* Least and greatest value of a dtype: -inf and inf for floats. */
st_scalar st__lowest(st_dtype d);
st_scalar st__highest(st_dtype d);

/* t's stride along dimension i in bytes; 0 if t is NULL. */
static inline int64_t st__stride_of(const st_tensor *t, int i) {
  return t ? t->strides[i] * (int64_t)st__itemsize(t->dtype) : 0;
}

/* -- For meta functions --------------------------------------------------- */

/* The dimensions to reduce, from the arguments "dim" and "keepdim" if the
 * schema has them; without dim, or with an empty list, all dimensions. */
typedef struct st_dims {
  st_tensor *self;
  uint64_t set;
  bool keepdim;
} st_dims;

/* The argument called name, or NULL if the schema has none or it is absent. */
const st_value *st__named_arg(const st_run *r, const char *name);
st_status st__get_dims(const st_run *r, st_dims *d);
/* BAD_SHAPE if a reduced dimension has size 0; names the first one. */
st_status st__check_not_empty(const st_dims *d);
/* Gives output i the reduced shape. */
st_status st__set_reduced(st_run *r, int i, const st_dims *d, st_dtype dtype);

#endif
