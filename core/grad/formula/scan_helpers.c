/* Helpers for the derivatives of products and scans.
 */

#include <float.h>

#include "grad/formula/helpers.h"

/* -- Reverse sums --------------------------------------------------------- */

static st_tensor *flipped(st_op_scope *c, const st_tensor *t, int64_t dim) {
  if (st__scope_ok(c) && t->ndim == 0) return (st_tensor *)(uintptr_t)t;
  return ST_APPLY(c, ST_OP_flip, t, st__of_ints(&dim, 1));
}

static st_tensor *sum_from_end(st_op_scope *c, const st_tensor *t,
                               int64_t dim) {
  return flipped(c, ST_APPLY(c, ST_OP_cumsum, flipped(c, t, dim), dim), dim);
}

/* cumsum_back(grad, dim) */
ST_HELPER_FN(st__help_cumsum_back) {
  ST_READ(TENSOR(grad), INT(dim));
  st_op_scope c = {.status = ST_OK};
  return st__scope_return(&c, sum_from_end(&c, grad, dim), out);
}

static st_tensor *log_sum_from_end(st_op_scope *c, const st_tensor *t,
                                   int64_t dim) {
  return flipped(c, ST_APPLY(c, ST_OP_logcumsumexp, flipped(c, t, dim), dim),
                 dim);
}

/* A finite substitute for log(0): the difference of two is not NaN. */
static double min_log(const st_tensor *t) {
  switch (t->dtype) {
    case ST_FLOAT16: return -65504.0;
    case ST_FLOAT64: return -DBL_MAX;
    default: return -(double)(FLT_MAX / 2);
  }
}

typedef struct log_scan {
  const st_tensor *grad, *self, *result;
  int64_t dim;
} log_scan;

static st_tensor *masked(st_op_scope *c, const st_tensor *t,
                         const st_tensor *mask, int64_t value) {
  return ST_APPLY(c, ST_OP_masked_fill_Scalar, t, mask, value);
}

/* Replaces elements of -infinity, whose gradient is 0, by the result there, so
 * that no difference is NaN. Returns where they were. */
static st_tensor *without_infinities(st_op_scope *c, log_scan *s) {
  st_tensor *hidden = st__apply1(c, ST_OP_isneginf, s->self);
  s->result = masked(c, s->result, st__apply1(c, ST_OP_isneginf, s->result), 0);
  s->self = ST_APPLY(c, ST_OP_where_self, hidden, s->result, s->self);
  return hidden;
}

/* The reverse sum of g exp(self - result) over the elements with positive g,
 * computed in logarithms, whose derivative at 0 would be NaN. mask: where g is
 * positive. */
static st_tensor *positive_part(st_op_scope *c, const log_scan *s,
                                const st_tensor *g, const st_tensor *mask) {
  g = masked(c, g, st__apply1(c, ST_OP_logical_not, mask), 1);
  const st_tensor *logs =
    ST_APPLY(c, ST_OP_where_ScalarOther, mask, st__apply1(c, ST_OP_log, g),
             st__of_float(min_log(s->grad)));
  const st_tensor *rest = st__minus(c, logs, s->result);
  return st__apply1(c, ST_OP_exp,
                    st__plus(c, log_sum_from_end(c, rest, s->dim), s->self));
}

/* Complex logarithms exist for every g, so one sum suffices: the conjugate of
 * the reverse sum of conj(g) exp(self - result). */
static st_tensor *complex_logcumsumexp_back(st_op_scope *c,
                                            const log_scan *s) {
  const st_tensor *g = st__apply1(c, ST_OP_conj_physical, s->grad);
  const st_tensor *logs = st__minus(c, st__apply1(c, ST_OP_log, g), s->result);
  const st_tensor *sum =
    st__plus(c, log_sum_from_end(c, logs, s->dim), s->self);
  return st__apply1(c, ST_OP_conj_physical, st__apply1(c, ST_OP_exp, sum));
}

/* logcumsumexp_back(grad, self, result, dim) */
ST_HELPER_FN(st__help_logcumsumexp_back) {
  ST_READ(TENSOR(grad));
  log_scan s = {.grad = grad};
  s.self = st__read_tensor(&args);
  s.result = st__read_tensor(&args);
  s.dim = st__read_int(&args);
  st_op_scope c = {.status = ST_OK};
  if (grad->numel == 0 || grad->ndim == 0) return st__return_tensor(grad, out);
  if (st__is_complex(grad->dtype)) {
    return st__scope_return(&c, complex_logcumsumexp_back(&c, &s), out);
  }
  const st_tensor *hidden = without_infinities(&c, &s);
  const st_tensor *up =
    positive_part(&c, &s, grad, ST_APPLY(&c, ST_OP_gt_Scalar, grad, 0));
  const st_tensor *down = positive_part(&c, &s, st__apply1(&c, ST_OP_neg, grad),
                                        ST_APPLY(&c, ST_OP_lt_Scalar, grad, 0));
  const st_tensor *slope = st__minus(&c, up, down);
  return st__scope_return(&c, masked(&c, slope, hidden, 0), out);
}

/* -- Products ------------------------------------------------------------- */

/* For each element along dim, the product of all others: the product of the
 * elements before it times the product of those after it. */
static st_tensor *product_of_others(st_op_scope *c, const st_tensor *t,
                                    int64_t dim) {
  int64_t sizes[ST_MAX_DIMS];
  for (int d = 0; d < t->ndim; d++) sizes[d] = d == dim ? 1 : t->sizes[d];
  const int64_t size = t->sizes[dim];
  const st_tensor *ones =
    ST_APPLY(c, ST_OP_new_ones, t, st__of_ints(sizes, t->ndim));
  st_tensor *sides[2];
  for (int i = 0; i < 2; i++) {
    const st_tensor *line = i ? flipped(c, t, dim) : t;
    const st_tensor *before = ST_APPLY(
      c, ST_OP_cumprod, st__apply_narrow(c, line, dim, 0, size - 1), dim);
    st_tensor *list[] = {(st_tensor *)(uintptr_t)ones,
                         (st_tensor *)(uintptr_t)before};
    sides[i] = st__scope_ok(c)
                 ? ST_APPLY(c, ST_OP_cat, st__of_tensors(list, 2), dim)
                 : NULL;
  }
  return st__mul(c, sides[0], flipped(c, sides[1], dim));
}

/* The gradient along one dimension, also exact where elements are 0. That of a
 * single element is a constant. */
static st_tensor *product_back(st_op_scope *c, const st_tensor *grad,
                               const st_tensor *self, int64_t dim) {
  if (!st__scope_ok(c)) return NULL;
  if (self->sizes[dim] == 1) return (st_tensor *)(uintptr_t)grad;
  const st_tensor *rest = product_of_others(c, self, dim);
  return st__mul(c, grad, st__apply1(c, ST_OP_conj, rest));
}

st_status st__has_zeros(const st_tensor *t, bool *out) {
  st_op_scope c = {.status = ST_OK};
  st_value v = st__none();
  const st_tensor *any =
    st__apply1(&c, ST_OP_any, ST_APPLY(&c, ST_OP_eq_Scalar, t, 0));
  if (st__scope_ok(&c)) {
    const st_value arg = st__of_tensor(any);
    c.status = st__invoke(ST_OP_item, 1, &arg, &v);
  }
  *out = st__to_bool(&v, false);
  return st__scope_end(&c, 0, NULL, NULL);
}

/* prod_back(grad, self, result[, dim, keepdim]): grad * result / self if no
 * element is 0 and no product has underflowed. */
ST_HELPER_FN(st__help_prod_back) {
  ST_READ(TENSOR(grad), TENSOR(self), TENSOR(result));
  const int64_t given = n > 3 ? st__read_int(&args) : 0;
  const bool keepdim = n <= 3 || st__read_bool(&args);
  st_op_scope c = {.status = ST_OK};
  int dim = 0;
  bool zeros;
  if (self->ndim == 0) return st__return_tensor(grad, out);
  ST_TRY(st__has_zeros(self, &zeros));
  if (!zeros) ST_TRY(st__has_zeros(result, &zeros));
  if (zeros && n < 4) {
    const st_tensor *line = st__apply_flatten(&c, self);
    if (!st__scope_ok(&c)) return st__scope_end(&c, 0, NULL, NULL);
    return st__scope_return(&c,
                            ST_APPLY(&c, ST_OP_reshape,
                                     product_back(&c, grad, line, 0),
                                     st__of_ints(self->sizes, self->ndim)),
                            out);
  }
  ST_TRY(st__wrap_dim(given, self->ndim, &dim));
  if (!keepdim) {
    grad = ST_APPLY(&c, ST_OP_unsqueeze, grad, dim);
    result = ST_APPLY(&c, ST_OP_unsqueeze, result, dim);
  }
  if (zeros) {
    return st__scope_return(&c, product_back(&c, grad, self, dim), out);
  }
  const st_tensor *rest = st__div(&c, result, self);
  return st__scope_return(
    &c, st__mul(&c, grad, st__apply1(&c, ST_OP_conj, rest)), out);
}

/* Without zeros: the reverse sum of grad * result, divided by self. */
static st_tensor *plain_cumprod_back(st_op_scope *c, const st_tensor *grad,
                                     const st_tensor *self,
                                     const st_tensor *result, int64_t dim) {
  const st_tensor *weighted =
    st__mul(c, grad, st__apply1(c, ST_OP_conj, result));
  return st__div(c, sum_from_end(c, weighted, dim),
                 st__apply1(c, ST_OP_conj, self));
}

/* With zeros, the gradient of element k: the product of the elements before k
 * times the sum over j >= k of grad[j] times the product of the elements k + 1
 * to j. */
static st_tensor *cumprod_back_at(st_op_scope *c, const st_tensor *grad,
                                  const st_tensor *self, int64_t dim,
                                  int64_t k) {
  const int64_t size = self->sizes[dim];
  const st_tensor *g = st__apply_narrow(c, grad, dim, k, size - k);
  const st_tensor *behind = st__apply_narrow(c, self, dim, k, size - k);
  const st_tensor *first = st__apply1(c, ST_OP_ones_like,
    st__apply_narrow(c, self, dim, k, 1));
  if (k + 1 < size) {
    st_tensor *list[] = {(st_tensor *)(uintptr_t)first,
      st__apply_narrow(c, behind, dim, 1, size - k - 1)};
    if (st__scope_ok(c)) {
      first = ST_APPLY(c, ST_OP_cat, st__of_tensors(list, 2), dim);
    }
  }
  const st_tensor *products = ST_APPLY(c, ST_OP_cumprod, first, dim);
  if (k > 0) {
    products = st__mul(c, products,
                       ST_APPLY(c, ST_OP_prod_dim_int,
                                st__apply_narrow(c, self, dim, 0, k), dim,
                                st__of_bool(true)));
  }
  const st_tensor *terms = st__mul(c, g, st__apply1(c, ST_OP_conj, products));
  return ST_APPLY(c, ST_OP_sum_dim_IntList, terms, st__of_ints(&dim, 1),
                  st__of_bool(true));
}

static st_status exact_cumprod_back(const st_tensor *grad,
                                    const st_tensor *self, int64_t dim,
                                    st_value *out) {
  const int64_t size = self->sizes[dim];
  st_op_scope all = {.status = ST_OK};
  st_value list;
  ST_TRY(st__value_new_tensors((int)size, &list));
  for (int64_t k = 0; k < size && st__scope_goes_on(&all); k++) {
    st_op_scope c = {.status = ST_OK};
    st_tensor *part = cumprod_back_at(&c, grad, self, dim, k);
    if (st__scope_ok(&c)) st__tensor_retain(list.u.tensors[k] = part);
    all.status = st__scope_end(&c, 0, NULL, NULL);
  }
  st_tensor *r =
    st__scope_ok(&all) ? ST_APPLY(&all, ST_OP_cat, list, dim) : NULL;
  st__value_clear(&list);
  return st__scope_return(&all, r, out);
}

/* cumprod_back(grad, self, result, dim) */
ST_HELPER_FN(st__help_cumprod_back) {
  ST_READ(TENSOR(grad), TENSOR(self), TENSOR(result));
  st_op_scope c = {.status = ST_OK};
  int dim;
  bool zeros;
  ST_TRY(st__wrap_dim(st__read_int(&args), self->ndim, &dim));
  if (self->numel == 0 || self->ndim == 0 || self->sizes[dim] == 1) {
    return st__return_tensor(grad, out);
  }
  ST_TRY(st__has_zeros(self, &zeros));
  if (zeros) return exact_cumprod_back(grad, self, dim, out);
  return st__scope_return(&c, plain_cumprod_back(&c, grad, self, result, dim),
                          out);
}
