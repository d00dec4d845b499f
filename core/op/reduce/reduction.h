/* The engine of reductions: dimensions are folded into one value per output,
 * which is finished and stored.
 *
 * Note [Order of a reduction]
 * What is added to what follows from the shape and the reduced dimensions
 * alone. In logical order, the last reduced dimensions that have 256 elements
 * between them make a segment, all of them if they have less. Segments are
 * folded by Note [Pairwise reduction tree], and their values, if there are
 * several, in neighbouring pairs, those pairs in pairs, and so on.
 *
 * So a matrix is the sum of its rows, and one that is stored by columns is
 * walked as it lies nevertheless: its segments are outputs like any others,
 * and many of them are folded side by side. A walk goes over tiles, up to TILE
 * neighbours along the dimension with the smallest stride that is not folded.
 * If there are few tiles, segments are cut into chunks of 2^k blocks, whose
 * values are joined as the tree would have done. Tiles and chunks may go to
 * any thread. The bits are the same for every layout, number of threads and
 * instruction set. Where the order does not matter, with integers, all
 * reduced dimensions are folded at once, as they lie.
 *
 * Note [Two-pass reductions]
 * Some reductions look twice: variance needs the mean, a position needs the
 * extremum. The second fold reads what the first one found, one reference per
 * output; without segments or chunks while the tile's input is still in the
 * cache. A position is looked for only where a tile's own extremum is that of
 * its output.
 */
#ifndef ST_OP_REDUCE_REDUCTION_H
#define ST_OP_REDUCE_REDUCTION_H

#include "op/registry/op.h"

/* One pass: acc is the dtype of the values, `start` that of no elements;
 * values are combined by the kernel `combine`. */
typedef struct st_reduce_pass {
  st_kernel_id kernel, combine;
  st_dtype acc;
  st_scalar start;
} st_reduce_pass;

typedef struct st_reduction st_reduction;
struct st_reduction {
  st_reduce_pass first, second; /* second.kernel may be ST_K_NONE */
  /* n references of the second pass from what the first one found: float64,
   * or complex128 like the accumulators. NULL: as they are. out_first gets
   * the references, which then must have the accumulators' dtype. */
  void (*pivot)(const st_reduction *r, const void *first, void *ref,
                int64_t n);
  /* The last step, in place, on the last pass's accumulators; may be NULL. */
  void (*finish)(const st_reduction *r, void *acc, const void *ref,
                 int64_t n);
  bool ordered;      /* positions count in logical order */
  double ref;        /* the first pass's reference */
  int64_t count;     /* elements per output; set by st__reduce */
  double correction; /* for finish */
  double power;
  int64_t base;
  st_tensor *out_first, *out_last; /* either may be NULL */
};

/* Reduces the dimensions in dims (a bit set) of in. The outputs have in's
 * sizes with those dimensions 1 or left out. Fails only before it writes. */
st_status st__reduce(st_reduction *r, const st_tensor *in, uint64_t dims,
                     bool keepdim);

/* Least and greatest number of a dtype: -inf and inf for floats. */
st_scalar st__lowest(st_dtype d);
st_scalar st__highest(st_dtype d);

/* t's stride along dimension i in bytes; NULL has none. */
static inline int64_t st__stride_of(const st_tensor *t, int i) {
  return t ? t->strides[i] * (int64_t)st__itemsize((st_dtype)t->dtype) : 0;
}

/* -- For metas ------------------------------------------------------------ */

/* What to reduce, from the arguments "dim" and "keepdim" where a schema has
 * them; without dims, or with an empty list, everything. */
typedef struct st_dims {
  st_tensor *self;
  uint64_t set;
  bool keepdim;
} st_dims;

/* The argument called name, or NULL if the schema has none or it is absent. */
const st_value *st__named_arg(const st_run *r, const char *name);
st_status st__get_dims(const st_run *r, st_dims *d);
/* BAD_SHAPE naming the first reduced dimension of size 0. */
st_status st__check_not_empty(const st_dims *d);
/* Output i has the reduced shape. */
st_status st__set_reduced(st_run *r, int i, const st_dims *d, st_dtype dtype);

#endif
