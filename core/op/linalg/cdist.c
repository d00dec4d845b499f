/* Distances between vectors, as norms of their differences: the gradient at
 * distance 0 is therefore 0. Vectors divided by their norms, and cosines.
 */

#include <inttypes.h>
#include <math.h>

#include "base/interrupt.h"
#include "op/row/composite.h"

/* The norm of order p over the last dimension. */
static st_tensor *norm(st_op_scope *c, const st_tensor *d, st_value p,
                       bool keepdim) {
  return ST_APPLY(c, ST_OP_norm_ScalarOpt_dim, d, p, ST_INTS(-1),
                  st__of_bool(keepdim));
}

/* -- Corresponding vectors ------------------------------------------------ */

static st_status dist(const st_tensor *self, const st_tensor *other,
                      const st_value *p, st_value *rets) {
  st_op_scope c = {.n = 0};
  const st_tensor *d = st__minus(&c, self, other);
  return st__scope_return(&c, ST_APPLY(&c, ST_OP_norm_Scalar, d, *p), rets);
}
ST_TYPED_ARGS(st__box_dist, dist, (TENSOR, TENSOR, VALUE))

ST_BOXED(st__box_pairwise_distance) {
  ST_ARGS(TENSOR(x1), TENSOR(x2), BOXED(p), BOXED(eps), BOOL(keepdim));
  st_op_scope c = {.n = 0};
  const st_tensor *d = st__minus(&c, x1, x2);
  d = ST_APPLY(&c, ST_OP_add_Scalar, d, *eps);
  return st__scope_return(&c, norm(&c, d, *p, keepdim), rets);
}

/* t divided by its norms of order ord along dim, which are at least eps. */
static st_tensor *normalized(st_op_scope *c, const st_tensor *t, st_value ord,
                             int64_t dim, st_value eps) {
  const st_tensor *size = ST_APPLY(c, ST_OP_linalg_vector_norm, t, ord,
                                   ST_INTS(dim), st__of_bool(true));
  return st__div(c, t, ST_APPLY(c, ST_OP_clamp_min, size, eps));
}

ST_BOXED(st__box_normalize) {
  ST_ARGS(TENSOR(input), BOXED(p), INT(dim));
  st_op_scope c = {.n = 0};
  return st__scope_return(&c, normalized(&c, input, *p, dim, *args), rets);
}

/* Promotes and broadcasts x1 and x2 first: a dimension of only one of them
 * counts for both. */
ST_BOXED(st__box_cosine_similarity) {
  ST_ARGS(MUTABLE(x1), MUTABLE(x2), INT(dim), BOXED(eps));
  const st_value two = st__of_int(2);
  st_op_scope c = {.n = 0};
  st_dtype dtype;
  st_value both;
  ST_TRY(st__promoted(st__promote(x1->dtype, x2->dtype), &dtype));
  x1 = st__apply_to(&c, x1, dtype);
  x2 = st__apply_to(&c, x2, dtype);
  const st_value list = st__of_tensors((st_tensor *[]){x1, x2}, 2);
  if (st__scope_ok(&c)) {
    c.status = st__invoke(ST_OP_broadcast_tensors, 1, &list, &both);
  }
  if (!st__scope_ok(&c)) return st__scope_end(&c, 0, NULL, rets);
  const st_tensor *a = normalized(&c, both.u.tensors[0], two, dim, *eps);
  const st_tensor *b = normalized(&c, both.u.tensors[1], two, dim, *eps);
  const st_tensor *each = st__mul(&c, a, b);
  st_tensor *sum =
    ST_APPLY(&c, ST_OP_sum_dim_IntList, each, st__of_ints(&dim, 1));
  const st_status status = st__scope_return(&c, sum, rets);
  st__value_clear(&both);
  return status;
}

/* -- All pairs ------------------------------------------------------------ */

/* Note [Pairwise differences]
 * There is one difference for each pair of a row of x1 and a row of x2, so
 * they are computed for a few rows of x1 at a time. For p = 2 and many rows a
 * matrix product computes |a|^2 - 2 a b + |b|^2 instead, as in ATen. The mean
 * row of x2 is subtracted first, to keep precision far from the origin. */
enum {
  DIFFERENCES = 1 << 20, /* elements per step */
  FEW_ROWS = 25,         /* as in ATen */
  USE_PRODUCT = 1, USE_DIFFERENCES = 2 /* compute_mode */
};

static st_status check_order(const st_value *p) {
  if (st__to_float(p, 0) >= 0) return ST_OK;
  return st__fail(ST_BAD_VALUE, "p must not be negative, it is %g",
                  st__to_float(p, 0));
}

static st_status check_rows(const st_tensor *a, const st_tensor *b) {
  if (!st__is_floating(a->dtype) || a->dtype != b->dtype) {
    return st__fail(ST_BAD_DTYPE, "x1 and x2 must have the same floating point "
                    "dtype, not %s and %s",
                    st__dtype_name(a->dtype),
                    st__dtype_name(b->dtype));
  }
  if (a->ndim < 2 || b->ndim < 2) {
    return st__fail(ST_BAD_SHAPE, "x1 and x2 must have at least two "
                    "dimensions, their shapes are %s and %s",
                    ST_SHAPE_TEXT(a), ST_SHAPE_TEXT(b));
  }
  if (a->sizes[a->ndim - 1] == b->sizes[b->ndim - 1]) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "x1 and x2 must have rows of the same size, "
                  "their shapes are %s and %s",
                  ST_SHAPE_TEXT(a), ST_SHAPE_TEXT(b));
}

static int64_t rows_of(const st_tensor *t) { return t->sizes[t->ndim - 2]; }
static int64_t columns_of(const st_tensor *t) { return t->sizes[t->ndim - 1]; }

/* Every row of x minus every row of y. */
static st_tensor *differences(st_op_scope *c, const st_tensor *x,
                              const st_tensor *y) {
  x = ST_APPLY(c, ST_OP_unsqueeze, x, -2);
  y = ST_APPLY(c, ST_OP_unsqueeze, y, -3);
  return st__minus(c, x, y);
}

/* The number of rows of x per step: Note [Pairwise differences]. */
static int64_t rows_at_a_time(const st_tensor *x, int64_t per_row) {
  const int64_t rows = per_row > 0 ? DIFFERENCES / per_row : rows_of(x);
  return rows < 1 ? 1 : rows;
}

/* Writes the distances of rows [at, at + rows) to out. */
static st_status distances_of_rows(const st_tensor *x, const st_tensor *y,
                                   st_value p, st_tensor *out, int64_t at,
                                   int64_t rows) {
  st_op_scope c = {.n = 0};
  x = st__apply_narrow(&c, x, -2, at, rows);
  const st_tensor *d = differences(&c, x, y);
  const st_tensor *to = st__apply_narrow(&c, out, -2, at, rows);
  const st_value norm_out[] = {st__of_tensor(d), p, ST_INTS(-1),
                               st__of_bool(false), st__of_tensor(to)};
  st_value same;
  if (st__scope_ok(&c)) {
    c.status = st__call(st__op_variant(ST_OP_norm_ScalarOpt_dim, ST_OUT),
                        norm_out, &same);
    if (st__scope_ok(&c)) st__value_clear(&same);
  }
  return st__scope_end(&c, 0, NULL, NULL);
}

static st_status by_differences(const st_tensor *x, const st_tensor *y,
                                st_value p, st_tensor *out) {
  const int64_t rows = rows_of(x), size = columns_of(x);
  if (out->numel == 0) return ST_OK;
  const int64_t step = rows_at_a_time(x, out->numel / rows * size);
  for (int64_t at = 0; at < rows; at += step) {
    const int64_t n = rows - at < step ? rows - at : step;
    ST_TRY(st__poll_interrupt());
    ST_TRY(distances_of_rows(x, y, p, out, at, n));
  }
  return ST_OK;
}

/* t with 0 where mask is true. */
static st_tensor *without(st_op_scope *c, const st_tensor *t,
                          const st_tensor *mask) {
  return ST_APPLY(c, ST_OP_masked_fill_Scalar, t, mask, 0);
}

/* The mean row of t, 0 where it is not finite. It is detached: a common shift
 * of both sides has no gradient. */
static st_tensor *mean_row(st_op_scope *c, const st_tensor *t) {
  const st_tensor *mean =
    ST_APPLY(c, ST_OP_mean_dim, st__apply1(c, ST_OP_detach, t), ST_INTS(-2),
             st__of_bool(true));
  const st_tensor *is_finite = st__apply1(c, ST_OP_isfinite, mean);
  return without(c, mean, st__apply1(c, ST_OP_logical_not, is_finite));
}

static st_tensor *squared_sizes(st_op_scope *c, const st_tensor *t) {
  return ST_APPLY(c, ST_OP_sum_dim_IntList, st__apply1(c, ST_OP_square, t),
                  ST_INTS(-1), st__of_bool(true));
}

/* The greatest of squared sizes, which are dense; NaN if one is. */
static double greatest(const st_tensor *sizes) {
  const size_t step = st__itemsize(sizes->dtype);
  const char *p = st__data(sizes);
  double most = 0;
  for (int64_t i = 0; i < sizes->numel; i++, p += step) {
    const double x = st__scalar_to_double(st__scalar_load(sizes->dtype, p));
    if (!(x <= most)) most = x;
    if (x != x) break;
  }
  return most;
}

/* True if the greatest of the squared sizes xx and yy, where they are known, is
 * in the range of their dtype. */
static bool are_in_range(const st_tensor *xx, const st_tensor *yy) {
  if (!st__is_cpu(xx) || !st__is_cpu(yy)) return true;
  const bool is_double = xx->dtype == ST_FLOAT64;
  const double x = greatest(xx), y = greatest(yy), most = x > y ? x : y;
  if (x != x || y != y) return true;
  return most > (is_double ? 1e-290 : 1e-30) &&
         most < (is_double ? 1e307 : 1e37);
}

/* NULL if the squares of sizes leave the range: differences then tell. */
static st_tensor *by_product(st_op_scope *c, const st_tensor *x,
                             const st_tensor *y) {
  const st_tensor *mean = mean_row(c, y);
  x = st__minus(c, x, mean);
  y = st__minus(c, y, mean);
  const st_tensor *xx = squared_sizes(c, x), *yy = squared_sizes(c, y);
  if (st__scope_ok(c) && !are_in_range(xx, yy)) return NULL;
  st_tensor *d = st__times(c, x, st__apply1(c, ST_OP_mT, y));
  const st_tensor *sizes = st__plus(c, xx, st__apply1(c, ST_OP_mT, yy));
  d = ST_APPLY(c, ST_OP_sub_Tensor, sizes, d, 2);
  d = ST_APPLY(c, ST_OP_clamp_min, d, 0);
  return st__apply1(c, ST_OP_sqrt, d);
}

static bool use_product(const st_tensor *x, const st_tensor *y, double p,
                        int64_t mode) {
  if (p != 2 || mode == USE_DIFFERENCES) return false;
  if (rows_of(y) == 0 || columns_of(y) == 0) return false;
  return mode == USE_PRODUCT || rows_of(x) > FEW_ROWS ||
         rows_of(y) > FEW_ROWS;
}

ST_BOXED(st__box_cdist_forward) {
  ST_ARGS(TENSOR(x), TENSOR(y), BOXED(p), INT_OR(mode, 0));
  int64_t sizes[ST_MAX_DIMS];
  int n;
  ST_TRY(check_rows(x, y));
  ST_TRY(check_order(p));
  ST_TRY(st__broadcast_shape(x->ndim - 2, x->sizes, y->ndim - 2, y->sizes,
                             sizes, &n));
  st_op_scope c = {.n = 0};
  if (use_product(x, y, st__to_float(p, 2), mode)) {
    st_tensor *distances = by_product(&c, x, y);
    if (distances || !st__scope_ok(&c)) {
      return st__scope_return(&c, distances, rets);
    }
  }
  sizes[n] = rows_of(x);
  sizes[n + 1] = rows_of(y);
  st_tensor *out =
    ST_APPLY(&c, columns_of(x) > 0 ? ST_OP_new_empty : ST_OP_new_zeros, x,
             st__of_ints(sizes, n + 2));
  if (st__scope_ok(&c) && columns_of(x) > 0) {
    c.status = by_differences(x, y, *p, out);
  }
  return st__scope_return(&c, out, rets);
}

ST_BOXED(st__box_cdist) {
  st_op_scope c = {.n = 0};
  return st__scope_return(&c, st__apply(&c, ST_OP__cdist_forward, 4, args),
                          rets);
}

/* -- Gradients of cdist --------------------------------------------------- */

/* t with 1 where mask is true. */
static st_tensor *with_ones(st_op_scope *c, const st_tensor *t,
                            const st_tensor *mask) {
  return ST_APPLY(c, ST_OP_masked_fill_Scalar, t, mask, 1);
}

static st_tensor *without_zeros(st_op_scope *c, const st_tensor *t) {
  return with_ones(c, t, st__equals_0(c, t));
}

/* grad / dist, 0 where the distance is 0. */
static st_tensor *per_distance(st_op_scope *c, const st_tensor *grad,
                               const st_tensor *dist) {
  return without(c, st__div(c, grad, without_zeros(c, dist)),
                 st__equals_0(c, dist));
}

/* sgn(d) (|d| / dist)^(p - 1), and 0 where d is 0. The quotient is formed
 * first: powers may leave the range of the dtype. */
static st_tensor *powers(st_op_scope *c, const st_tensor *d,
                         const st_tensor *dist, double p) {
  st_tensor *sign = st__apply1(c, ST_OP_sgn, d);
  if (p == 1) return sign;
  const st_tensor *far =
    ST_APPLY(c, ST_OP_unsqueeze, without_zeros(c, dist), -1);
  const st_tensor *is_none = st__equals_0(c, d);
  d = st__div(c, st__apply1(c, ST_OP_abs, d), far);
  d = ST_APPLY(c, ST_OP_pow_Tensor_Scalar, with_ones(c, d, is_none),
               st__of_float(p - 1));
  return st__mul(c, sign, d);
}

/* The gradient of x1 from the differences d, their distances dist and grad. */
static st_tensor *gradients_of_differences(st_op_scope *c,
                                           const st_tensor *grad,
                                           const st_tensor *d,
                                           const st_tensor *dist, double p) {
  const st_tensor *each;
  if (isinf(p)) {
    const st_tensor *far = ST_APPLY(c, ST_OP_unsqueeze, dist, -1);
    const st_tensor *less = st__apply2(c, ST_OP_ne_Tensor,
                                       st__apply1(c, ST_OP_abs, d), far);
    each = without(c, st__apply1(c, ST_OP_sgn, d), less);
  } else {
    each = powers(c, d, dist, p);
  }
  grad = ST_APPLY(c, ST_OP_unsqueeze, grad, -1);
  return ST_APPLY(c, ST_OP_sum_dim_IntList, st__mul(c, grad, each),
                  ST_INTS(-2));
}

/* The arguments of _cdist_backward. */
typedef struct request {
  const st_tensor *grad, *x, *y, *dist;
  double p;
} request;

/* The gradient of rows [at, at + rows) of x1. */
static st_tensor *gradients_of_rows(st_op_scope *c, const request *q,
                                    int64_t at, int64_t rows) {
  const st_tensor *grad = st__apply_narrow(c, q->grad, -2, at, rows);
  const st_tensor *x = st__apply_narrow(c, q->x, -2, at, rows);
  const st_tensor *dist = st__apply_narrow(c, q->dist, -2, at, rows);
  return gradients_of_differences(c, grad, differences(c, x, q->y), dist,
                                  q->p);
}

/* Concatenates parts, which may be NULL, and part. */
static st_tensor *joined(st_op_scope *c, st_tensor *parts, st_tensor *part) {
  st_tensor *both[] = {parts, part};
  if (!parts || !st__scope_ok(c)) return part;
  return ST_APPLY(c, ST_OP_cat, st__of_tensors(both, 2), -2);
}

static st_tensor *gradients(st_op_scope *c, const request *q) {
  const int64_t rows = rows_of(q->x), size = columns_of(q->x);
  const int64_t step = rows_at_a_time(q->x, q->dist->numel / rows * size);
  st_tensor *all = NULL;
  for (int64_t at = 0; st__scope_ok(c) && at < rows; at += step) {
    st_op_scope round = {.n = 0};
    const int64_t n = rows - at < step ? rows - at : step;
    all = joined(&round, all, gradients_of_rows(&round, q, at, n));
    st__scope_replace(c, &round, &all);
  }
  return all;
}

/* For p = 2, the sum over j of w[i, j] (x[i] - y[j]), by a matrix product. */
static st_tensor *gradients_by_product(st_op_scope *c, const request *q) {
  const st_tensor *w = per_distance(c, q->grad, q->dist);
  const st_tensor *mean = mean_row(c, q->y);
  const st_tensor *x = st__minus(c, q->x, mean);
  const st_tensor *y = st__minus(c, q->y, mean);
  const st_tensor *sums =
    ST_APPLY(c, ST_OP_sum_dim_IntList, w, ST_INTS(-1), st__of_bool(true));
  return st__minus(c, st__mul(c, x, sums), st__times(c, w, y));
}

static st_status check_distances(const request *q) {
  ST_TRY(check_rows(q->x, q->y));
  if (st__same_sizes(q->grad, q->dist) && q->dist->ndim >= 2 &&
      rows_of(q->dist) == rows_of(q->x) &&
      columns_of(q->dist) == rows_of(q->y)) {
    return ST_OK;
  }
  return st__fail(ST_BAD_SHAPE, "grad and cdist must be %" PRId64 " by %" PRId64
                  ", their shapes are %s and %s", rows_of(q->x), rows_of(q->y),
                  ST_SHAPE_TEXT(q->grad), ST_SHAPE_TEXT(q->dist));
}

ST_BOXED(st__box_cdist_backward) {
  request q;
  ST_ARGS_TO(q, TENSOR(grad), TENSOR(x), TENSOR(y), FLOAT(p), TENSOR(dist));
  st_op_scope c = {.status = check_distances(&q)};
  if (!st__scope_ok(&c)) return c.status;
  const bool is_zero = q.p == 0 || columns_of(q.x) == 0 || q.dist->numel == 0;
  st_tensor *out = is_zero ? st__apply1(&c, ST_OP_zeros_like, q.x)
                 : q.p == 2 ? gradients_by_product(&c, &q)
                            : gradients(&c, &q);
  return st__scope_return(&c, out, rets);
}

/* -- Pairs of rows -------------------------------------------------------- */

ST_BOXED(st__box_pdist) {
  ST_ARGS(TENSOR(self), BOXED(p));
  st_op_scope c = {.status = check_order(p)};
  if (st__scope_ok(&c) && self->ndim != 2) {
    c.status = st__fail(ST_BAD_SHAPE, "self must be a matrix, its shape is %s",
                        ST_SHAPE_TEXT(self));
  }
  if (!st__scope_ok(&c)) return c.status;
  const st_value n = st__of_int(self->sizes[0]), first = st__of_int(0);
  const st_tensor *pairs = ST_APPLY(&c, ST_OP_triu_indices, n, n, 1, ST_INT64,
                                    st__none(), self->device);
  const st_tensor *rows[2];
  for (int i = 0; i < 2; i++) {
    const st_tensor *index = ST_APPLY(&c, ST_OP_select_int, pairs, first, i);
    rows[i] = ST_APPLY(&c, ST_OP_index_select,
                       st__apply_attached(&c, self, self), first, index);
  }
  const st_tensor *d = st__minus(&c, rows[0], rows[1]);
  return st__scope_return(&c, norm(&c, d, *p, false), rets);
}
