/* Helpers for the derivatives of norms and standard deviations, and quotients
 * in all of the range of a dtype.
 *
 * Note [Quotients in all of the range]
 * The derivative of a / b by b divides by b twice. So it leaves the range of
 * the dtype where a / b and what becomes of the derivative are ordinary, and 0
 * times an infinity is NaN. Where gradients are recorded, ratio(a, b) therefore
 * is the quotient of a and b times the power of two that brings b near 1: the
 * same number, whose derivatives are multiplied by that power last. Devices of
 * extensions need no kernels for that: there it is the plain quotient.
 *
 * Note [Squares of norms]
 * A norm has no derivative at 0, where its gradient is 0 by convention; its
 * square has one, 2 x. The gradient g of the norm n is 2 n then, and the
 * gradient of x is x times g / n, of which at 0 only the limit exists, the
 * derivative of g by n. So where gradients are recorded, and g and n are 0, g
 * is differentiated by n. Of many norms, g may depend on others than its own,
 * as that of a product does, which has no such derivative: a second pass, with
 * other weights, tells. Neither pass looks for limits of other norms that are
 * 0: a chain of norms would take passes within passes without end. Second
 * derivatives are NaN there, and where g is not 0, does not depend on n, or has
 * no derivative.
 */

#include <math.h>

#include "grad/engine/engine.h"
#include "grad/formula/helpers.h"

/* -- Masks ---------------------------------------------------------------- */

static st_tensor *filled_with(st_op_scope *c, const st_tensor *t,
                              const st_tensor *mask, st_value value) {
  return ST_APPLY(c, ST_OP_masked_fill_Scalar, t, mask, value);
}

static st_tensor *filled(st_op_scope *c, const st_tensor *t,
                         const st_tensor *mask, int64_t value) {
  return filled_with(c, t, mask, st__of_int(value));
}

static st_tensor *either(st_op_scope *c, const st_tensor *a,
                         const st_tensor *b) {
  return st__apply2(c, ST_OP_logical_or, a, b);
}

/* -- Quotients ------------------------------------------------------------ */

st_tensor *st__near_one_exponents(st_op_scope *c, const st_tensor *sizes) {
  if (!st__scope_ok(c) || st__is_privateuse(sizes)) return NULL;
  const st_value all = st__of_tensor(st__apply1(c, ST_OP_detach, sizes));
  st_tensor *parts[2];
  st__apply_multi(c, ST_OP_frexp_Tensor, 1, &all, 2, parts);
  return st__apply1(c, ST_OP_neg, parts[1]);
}

/* a / b: Note [Quotients in all of the range]. */
static st_tensor *ratio(st_op_scope *c, const st_tensor *a,
                        const st_tensor *b) {
  if (!st__scope_ok(c)) return NULL;
  const bool is_plain = !st__tls().grad || st__is_complex(a->dtype);
  const st_tensor *power = is_plain ? NULL : st__near_one_exponents(c, b);
  if (!power) return st__div(c, a, b);
  return st__div(c, st__apply2(c, ST_OP__ldexp, a, power),
                 st__apply2(c, ST_OP__ldexp, b, power));
}

/* ratio(a, b) */
ST_HELPER_FN(st__help_ratio) {
  ST_READ(TENSOR(a), TENSOR(b));
  st_op_scope c = {.status = ST_OK};
  return st__scope_return(&c, ratio(&c, a, b), out);
}

/* -- Norms that are 0 ----------------------------------------------------- */

/* Whether limits are looked for, and whether another norm that is 0 was met
 * there: Note [Squares of norms]. */
static _Thread_local bool is_within, has_met;

/* The sum of the derivatives by `norm` of the elements of grad, each times its
 * weight; NULL if it is not known. */
static st_tensor *differentiated(st_op_scope *c, const st_tensor *grad,
                                 const st_tensor *norm, st_tensor *weights) {
  st_tensor *outputs[] = {(st_tensor *)(uintptr_t)grad};
  st_tensor *inputs[] = {(st_tensor *)(uintptr_t)norm};
  st_tensor *slope = NULL;
  const st_backward_pass pass = {
    .noutputs = 1, .outputs = outputs, .grad_outputs = &weights, .ninputs = 1,
    .inputs = inputs, .create_graph = true, .retain_graph = true,
    .allow_unused = true};
  st_edge edge = {NULL, 0};
  if (!st__scope_ok(c)) return NULL;
  c->status = st__gradient_edge(outputs[0], &edge);
  if (!st__scope_ok(c) || !edge.node) return NULL; /* made within no_grad */
  st__node_release(&edge.node);
  is_within = true, has_met = false;
  const st_status status = st__differentiate(&pass, &slope);
  is_within = false;
  if (status == ST_NO_MEMORY || status == ST_INTERRUPTED ||
      status == ST_HOST) { /* which may be an interrupt, too */
    c->status = status;
  }
  const bool is_known = status == ST_OK && slope && !has_met;
  st_tensor *kept = is_known ? st__apply1(c, ST_OP_alias, slope) : NULL;
  st__tensor_release(&slope);
  return kept;
}

/* As many different numbers from 1 to 2 as t has elements. */
static st_tensor *distinct(st_op_scope *c, const st_tensor *t) {
  const st_tensor *ones = st__apply1(c, ST_OP_ones_like, t);
  const st_tensor *places =
    ST_APPLY(c, ST_OP_cumsum, ST_APPLY(c, ST_OP_reshape, ones, ST_INTS(-1)), 0);
  return ST_APPLY(
    c, ST_OP_reshape,
    ST_APPLY(c, ST_OP_add_Scalar,
             st__apply1(c, ST_OP_frac, st__scaled(c, places, 0.6180339887)), 1),
    st__of_ints(t->sizes, t->ndim));
}

/* The derivative of each element of grad by its own norm; NULL if it is not
 * known or some depend on the norms of others. */
static st_tensor *slope_of(st_op_scope *c, const st_tensor *grad,
                           const st_tensor *norm) {
  st_tensor *ones = st__apply1(c, ST_OP_ones_like, grad);
  st_tensor *slope = differentiated(c, grad, norm, ones);
  if (!slope || st__numel(norm) == 1) return slope;
  st_tensor *weights = distinct(c, st__apply1(c, ST_OP_detach, grad));
  const st_tensor *again = differentiated(c, grad, norm, weights);
  if (!again) return NULL;
  const st_tensor *own =
    st__mul(c, st__apply1(c, ST_OP_detach, slope), weights);
  const st_tensor *gap = st__minus(c, st__apply1(c, ST_OP_detach, again), own);
  const st_tensor *is_far = st__apply2(
    c, ST_OP_gt_Tensor, st__apply1(c, ST_OP_abs, gap),
    st__scaled(c, st__apply1(c, ST_OP_abs, own), 0.0625));
  return filled_with(c, slope, is_far, st__of_float(NAN));
}

/* The limit of grad / norm where both are 0, and 0 elsewhere: Note [Squares of
 * norms]. *known: where it is one. Both are NULL if there is none, or where no
 * gradients are recorded. */
static st_tensor *limit_at_zero(st_op_scope *c, const st_tensor *grad,
                                const st_tensor *norm,
                                const st_tensor **known) {
  bool has_zeros;
  *known = NULL;
  if (!st__tls().grad || !st__has_elements(norm)) return NULL;
  c->status = st__has_zeros(norm, &has_zeros);
  if (!st__scope_ok(c) || !has_zeros) return NULL;
  if (is_within) {
    has_met = true;
    return NULL;
  }
  const st_tensor *slope = st__requires_grad(grad) && st__requires_grad(norm)
    ? slope_of(c, grad, norm) : st__requires_grad(grad)
    ? NULL : st__apply1(c, ST_OP_zeros_like, norm);
  if (!slope) return NULL;
  const st_tensor *both = st__apply2(c, ST_OP_logical_and,
                                     st__equals_0(c, norm),
                                     st__equals_0(c, grad));
  *known = st__apply2(c, ST_OP_logical_and, both,
                      st__apply1(c, ST_OP_isfinite, slope));
  return filled(c, slope, st__apply1(c, ST_OP_logical_not, *known), 0);
}

/* half_over(grad, result): grad / (2 result). Where the result is 0 it is 0, or
 * the limit of that. */
ST_HELPER_FN(st__help_half_over) {
  ST_READ(TENSOR(grad), TENSOR(r));
  const st_tensor *known;
  st_op_scope c = {.status = ST_OK};
  const st_tensor *limit = limit_at_zero(&c, grad, r, &known);
  const st_tensor *over = known ? filled(&c, r, known, 1) : r;
  st_tensor *half = filled(&c, ratio(&c, grad, st__scaled(&c, over, 2)),
                           st__equals_0(&c, r), 0);
  if (limit) half = st__plus(&c, half, st__scaled(&c, limit, 0.5));
  return st__scope_return(&c, half, out);
}

/* -- Norms ---------------------------------------------------------------- */

typedef struct norm {
  const st_tensor *grad, *self, *result; /* of matching shapes */
  const st_tensor *limit, *known; /* as of limit_at_zero */
  double p;
  uint64_t set;
} norm;

/* p = +-inf: distributes grad evenly among the elements whose magnitude is the
 * norm. */
static st_tensor *infinite_norm(st_op_scope *c, const norm *a) {
  int64_t dims[ST_MAX_DIMS];
  int ndims = 0;
  for (int d = 0; d < a->self->ndim; d++) {
    if (a->set >> d & 1) dims[ndims++] = d;
  }
  const st_tensor *size = st__apply1(c, ST_OP_abs, a->self);
  const st_tensor *is_it = either(
    c, st__apply2(c, ST_OP_eq_Tensor, size, a->result),
    st__apply1(c, ST_OP_isnan, size));
  const st_tensor *times =
    a->self->ndim == 0 ? is_it
                       : ST_APPLY(c, ST_OP_sum_dim_IntList, is_it,
                                  st__of_ints(dims, ndims), st__of_bool(true));
  const st_tensor *share = st__div(c, a->grad, times);
  return st__mul(c, st__apply1(c, ST_OP_sgn, a->self),
                 st__mul(c, is_it, share));
}

/* grad self / result, 0 or the limit of that where the result is 0. */
static st_tensor *euclidean_norm(st_op_scope *c, const norm *a) {
  const st_tensor *zero = st__equals_0(c, a->result);
  if (!st__tls().grad) {
    /* grad / result may leave the range of the dtype. */
    return st__mul(c, filled(c, a->grad, zero, 0),
                   st__div(c, a->self, filled(c, a->result, zero, 1)));
  }
  const st_tensor *over = a->known ? filled(c, a->result, a->known, 1)
                                   : a->result;
  st_tensor *slope =
    st__mul(c, a->grad, filled(c, ratio(c, a->self, over), zero, 0));
  return a->limit ? st__plus(c, slope, st__mul(c, a->self, a->limit)) : slope;
}

static st_tensor *power_of(st_op_scope *c, const st_tensor *t, double p) {
  return ST_APPLY(c, ST_OP_pow_Tensor_Scalar, t, p);
}

/* (size / result)^(p - 1) for 0 < p < 1, where the quotient may underflow and
 * its power be ordinary: a product of powers of the two, and not of subnormal
 * numbers. No size is 0. */
static st_tensor *product_of_powers(st_op_scope *c, const st_tensor *size,
                                    const st_tensor *result, double p) {
  const st_tensor *power = st__near_one_exponents(c, result);
  if (power) {
    const st_tensor *up = ST_APPLY(c, ST_OP_clamp_min, power, 0);
    size = st__apply2(c, ST_OP__ldexp, size, up);
    result = st__apply2(c, ST_OP__ldexp, result, up);
  }
  return st__mul(c, power_of(c, size, p - 1), power_of(c, result, 1 - p));
}

/* The same for other p, with zeros where `none`. The quotient is formed first:
 * powers may leave the range of the dtype. For p < 0 it is the other one, which
 * underflows only where its power does. */
static st_tensor *power_of_quotient(st_op_scope *c, const st_tensor *size,
                                    const st_tensor *result, double p,
                                    const st_tensor *none) {
  if (p < 0) {
    const st_tensor *r = ratio(c, result, filled(c, size, none, 1));
    none = either(c, none, st__equals_0(c, st__apply1(c, ST_OP_detach, r)));
    return filled(c, power_of(c, filled(c, r, none, 1), 1 - p), none, 0);
  }
  const st_tensor *q = ratio(c, size, result);
  if (p < 1) q = filled(c, q, none, 1);
  return filled(c, power_of(c, q, p - 1), none, 0);
}

/* grad * sgn(self) (|self| / result)^(p - 1), 0 where it is undefined. */
static st_tensor *finite_norm(st_op_scope *c, const norm *a) {
  const double p = a->p;
  const st_tensor *zero = st__equals_0(c, a->result), *none = zero;
  const st_tensor *result = filled(c, a->result, zero, 1);
  const st_tensor *direction = st__apply1(c, ST_OP_sgn, a->self);
  const st_tensor *size = st__apply1(c, ST_OP_abs, a->self);
  if (p < 1) none = either(c, zero, st__equals_0(c, size));
  const st_tensor *power =
    p > 0 && p < 1
    ? filled(c, product_of_powers(c, filled(c, size, none, 1), result, p),
             none, 0)
    : power_of_quotient(c, size, result, p, none);
  return st__mul(c, direction, st__mul(c, power, a->grad));
}

/* norm_back(grad, self, p, result, dim, keepdim) */
ST_HELPER_FN(st__help_norm_back) {
  ST_READ(TENSOR(grad), TENSOR(self));
  norm a = {.self = self, .p = st__to_float(st__read_value(&args), 2)};
  ST_READ(TENSOR(result), BOXED(dim), BOOL(keepdim));
  st_op_scope c = {.status = ST_OK};
  st_tensor *r;
  if (a.p == 0) { /* counts elements: it has no gradient */
    *out = st__none();
    return ST_OK;
  }
  ST_TRY(st__reduced(dim, self->ndim, &a.set));
  if (a.p == 2) a.limit = limit_at_zero(&c, grad, result, &a.known);
  if (a.limit) {
    a.limit = st__restore(&c, a.limit, self->ndim, a.set, keepdim);
    a.known = st__restore(&c, a.known, self->ndim, a.set, keepdim);
  }
  a.grad = st__restore(&c, grad, self->ndim, a.set, keepdim);
  a.result = st__restore(&c, result, self->ndim, a.set, keepdim);
  if (!st__scope_ok(&c)) return st__scope_end(&c, 0, NULL, NULL);
  if (a.p == 1) {
    r = st__mul(&c, st__apply1(&c, ST_OP_sgn, self), a.grad);
  } else if (a.p == 2) {
    r = euclidean_norm(&c, &a);
  } else {
    r = isinf(a.p) ? infinite_norm(&c, &a) : finite_norm(&c, &a);
  }
  return st__scope_return(&c, r, out);
}

/* -- Distances ------------------------------------------------------------ */

/* cdist_back(grad, x1, x2, p, result, is_of_x2): the gradient of x1 or of x2,
 * with that of squared distances which are 0: Note [Squares of norms]. */
ST_HELPER_FN(st__help_cdist_back) {
  ST_READ(TENSOR(grad), TENSOR(x), TENSOR(y), BOXED(p));
  const st_tensor *dist = st__read_tensor(&args), *limit = NULL, *known;
  st_op_scope c = {.status = ST_OK};
  if (st__to_float(p, 2) == 2) limit = limit_at_zero(&c, grad, dist, &known);
  if (st__read_bool(&args)) {
    const st_tensor *other = x;
    x = y;
    y = other;
    grad = st__apply1(&c, ST_OP_mT, grad);
    dist = st__apply1(&c, ST_OP_mT, dist);
    if (limit) limit = st__apply1(&c, ST_OP_mT, limit);
  }
  st_tensor *slope = ST_APPLY(&c, ST_OP__cdist_backward, grad, x, y, *p, dist);
  if (limit) { /* the sum over j of limit[i, j] (x[i] - y[j]) */
    const st_tensor *sums = ST_APPLY(&c, ST_OP_sum_dim_IntList, limit,
                                     ST_INTS(-1), st__of_bool(true));
    slope = st__plus(
      &c, slope, st__minus(&c, st__mul(&c, x, sums), st__times(&c, limit, y)));
  }
  return st__scope_return(&c, slope, out);
}
