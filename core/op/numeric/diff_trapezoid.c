/* Differences along a dimension, and the trapezoidal rule.
 */

#include "op/row/composite.h"

#include <inttypes.h>

/* *next is t without its first element along dim, *last without its last one;
 * both are empty if t is. */
static void adjacent(st_op_scope *c, const st_tensor *t, int dim,
                     st_tensor **next, st_tensor **last) {
  const int64_t n = st__scope_ok(c) && t->sizes[dim] > 0
                    ? t->sizes[dim] - 1 : 0;
  const int64_t from = st__scope_ok(c) && t->sizes[dim] > 0;
  *next = st__apply_narrow(c, t, dim, from, n);
  *last = st__apply_narrow(c, t, dim, 0, n);
}

static st_status check_dim(const st_tensor *t, int64_t dim, int *at) {
  if (t->ndim == 0) {
    return st__fail(ST_BAD_SHAPE, "the input must have at least one dimension");
  }
  return st__wrap_dim(dim, t->ndim, at);
}

/* -- diff ----------------------------------------------------------------- */

/* self, concatenated with prepend and append if they are given. */
static st_tensor *extended(st_op_scope *c, st_tensor *self, st_tensor *prepend,
                           st_tensor *append, int dim) {
  st_tensor *parts[3];
  int n = 0;
  if (prepend) parts[n++] = prepend;
  parts[n++] = self;
  if (append) parts[n++] = append;
  if (n == 1) return self;
  return ST_APPLY(c, ST_OP_cat, st__of_tensors(parts, n), dim);
}

ST_BOXED(st__box_diff) {
  st_tensor *t = st__next_tensor(&args), *next, *last;
  int64_t times = st__next_int(&args);
  int dim = 0;
  st_op_scope c = {.status = check_dim(t, st__next_int(&args), &dim)};
  ST_ARGS(MUTABLE(prepend), MUTABLE(append));
  if (st__scope_ok(&c) && times < 0) {
    c.status = st__fail(ST_BAD_VALUE, "n must not be negative, it is %" PRId64,
                        times);
  }
  if (times == 0) return st__scope_return(&c, st__apply1(&c, ST_OP_clone, t),
                                          rets);
  if (st__scope_ok(&c)) t = extended(&c, t, prepend, append, dim);
  if (st__scope_ok(&c) && times > t->sizes[dim]) times = t->sizes[dim];
  if (times == 0) t = st__apply1(&c, ST_OP_clone, t);
  for (; st__scope_goes_on(&c) && times > 0; times--) {
    st_op_scope round = {.n = 0};
    const st_op_id id = t->dtype == ST_BOOL ? ST_OP_logical_xor
                                            : ST_OP_sub_Tensor;
    adjacent(&round, t, dim, &next, &last);
    t = st__apply2(&round, id, next, last);
    st__scope_replace(&c, &round, &t);
  }
  return st__scope_return(&c, t, rets);
}

/* -- trapezoid ------------------------------------------------------------ */

static st_status check_real(const st_value *dx) {
  if (dx->tag == ST_TAG_INT || dx->tag == ST_TAG_FLOAT) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "dx must be a real number");
}

static st_status check_no_bool(const st_tensor *t, const char *name) {
  if (t->dtype != ST_BOOL) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "%s must not have dtype bool", name);
}

/* Sums of adjacent samples. */
static st_tensor *pairs(st_op_scope *c, const st_tensor *y, int dim) {
  st_tensor *next, *last;
  adjacent(c, y, dim, &next, &last);
  return st__plus(c, last, next);
}

/* Distances between adjacent points. x has one point per sample, or is
 * broadcast with y. */
static st_tensor *distances(st_op_scope *c, const st_tensor *y,
                            const st_tensor *x, int dim) {
  int64_t sizes[ST_MAX_DIMS];
  st_tensor *next, *last;
  const int more = y->ndim - x->ndim;
  if (!st__scope_ok(c)) return NULL;
  if (x->ndim == 1 && x->sizes[0] != y->sizes[dim]) {
    c->status = st__fail(ST_BAD_SHAPE, "x has %" PRId64 " points for %" PRId64
                         " samples", x->sizes[0], y->sizes[dim]);
    return NULL;
  }
  if (more > 0) {
    for (int d = 0; d < y->ndim; d++) {
      sizes[d] = x->ndim == 1 ? (d == dim ? x->sizes[0] : 1)
               : d < more ? 1 : x->sizes[d - more];
    }
    x = ST_APPLY(c, ST_OP_reshape, x, st__of_ints(sizes, y->ndim));
  } else if (more < 0) {
    c->status = st__fail(ST_BAD_SHAPE, "x has %d dimensions, y only %d",
                         x->ndim, y->ndim);
  }
  adjacent(c, x, dim, &next, &last);
  return st__minus(c, next, last);
}

/* The integral over no samples is 0. */
static st_tensor *no_samples(st_op_scope *c, const st_tensor *y, int dim) {
  int64_t sizes[ST_MAX_DIMS];
  int n = 0;
  for (int d = 0; d < y->ndim; d++) if (d != dim) sizes[n++] = y->sizes[d];
  return ST_APPLY(c, ST_OP_new_zeros, y, st__of_ints(sizes, n));
}

ST_BOXED(st__box_trapezoid_dx) {
  ST_ARGS(TENSOR(y), BOXED(dx));
  int dim = 0;
  st_op_scope c = {.status = check_dim(y, st__next_int(&args), &dim)};
  if (!st__scope_ok(&c)) return c.status;
  if (y->sizes[dim] == 0) {
    return st__scope_return(&c, no_samples(&c, y, dim), rets);
  }
  c.status = check_no_bool(y, "y");
  if (st__scope_ok(&c)) c.status = check_real(dx);
  const st_value samples = st__of_tensor(y), along = st__of_int(dim);
  const st_value dims = st__of_ints((int64_t[]){dim}, 1);
  const st_tensor *ends =
    st__plus(&c, ST_APPLY(&c, ST_OP_select_int, samples, along, 0),
             ST_APPLY(&c, ST_OP_select_int, samples, along, -1));
  ends = ST_APPLY(&c, ST_OP_mul_Scalar, ends, 0.5);
  const st_tensor *sum = ST_APPLY(&c, ST_OP_sum_dim_IntList, y, dims);
  sum = st__minus(&c, sum, ends);
  const st_value step = st__of_float(st__to_float(dx, 1));
  return st__scope_return(&c, ST_APPLY(&c, ST_OP_mul_Scalar, sum, step), rets);
}

/* Twice the area of every step, for both operators that take x. */
static st_tensor *areas(st_op_scope *c, const st_tensor *y, const st_tensor *x,
                        int dim) {
  if (st__scope_ok(c)) c->status = check_no_bool(y, "y");
  if (st__scope_ok(c)) c->status = check_no_bool(x, "x");
  const st_tensor *dx = distances(c, y, x, dim);
  return st__mul(c, pairs(c, y, dim), dx);
}

ST_BOXED(st__box_trapezoid_x) {
  ST_ARGS(TENSOR(y), TENSOR(x));
  int dim = 0;
  st_op_scope c = {.status = check_dim(y, st__next_int(&args), &dim)};
  if (!st__scope_ok(&c)) return c.status;
  if (y->sizes[dim] == 0) {
    return st__scope_return(&c, no_samples(&c, y, dim), rets);
  }
  const st_value dims = st__of_ints((int64_t[]){dim - y->ndim}, 1);
  const st_tensor *sum =
    ST_APPLY(&c, ST_OP_sum_dim_IntList, areas(&c, y, x, dim), dims);
  return st__scope_return(
    &c, ST_APPLY(&c, ST_OP_div_Scalar, sum, st__of_float(2)), rets);
}

ST_BOXED(st__box_cumulative_trapezoid_dx) {
  ST_ARGS(TENSOR(y), BOXED(dx));
  int dim = 0;
  st_op_scope c = {.status = check_dim(y, st__next_int(&args), &dim)};
  if (st__scope_ok(&c)) c.status = check_no_bool(y, "y");
  if (st__scope_ok(&c)) c.status = check_real(dx);
  const st_value half = st__of_float(st__to_float(dx, 1) / 2);
  const st_tensor *strips =
    ST_APPLY(&c, ST_OP_mul_Scalar, pairs(&c, y, dim), half);
  return st__scope_return(&c, ST_APPLY(&c, ST_OP_cumsum, strips, dim), rets);
}

ST_BOXED(st__box_cumulative_trapezoid_x) {
  ST_ARGS(TENSOR(y), TENSOR(x));
  int dim = 0;
  st_op_scope c = {.status = check_dim(y, st__next_int(&args), &dim)};
  const st_tensor *sums =
    ST_APPLY(&c, ST_OP_cumsum, areas(&c, y, x, dim), dim - y->ndim);
  return st__scope_return(
    &c, ST_APPLY(&c, ST_OP_div_Scalar, sums, st__of_float(2)), rets);
}
