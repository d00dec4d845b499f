/* Helpers for the derivatives of special functions where their formulas cancel
 * or divide by 0.
 *
 * Note [Series of derivatives]
 * The formula of such a derivative is a difference of almost equal numbers near
 * a point, and each order of differentiation loses as many digits again. There
 * a series stands for it, whose derivatives are exact to all orders. `where`
 * selects; each branch is computed at a harmless argument where it is not
 * selected, so that no infinity or NaN of it gets into a gradient.
 */

#include "grad/formula/helpers.h"

/* coefficients[0] + coefficients[1] x + ... */
static st_tensor *polynomial(st_op_scope *c, const st_tensor *x, int n,
                             const double *coefficients) {
  st_tensor *sum = st__scaled(c, x, coefficients[n - 1]);
  for (int k = n - 2; k > 0; k--) {
    sum = st__mul(c, st__shifted(c, sum, coefficients[k]), x);
  }
  return st__shifted(c, sum, coefficients[0]);
}

/* x with a harmless number where mask is true. */
static st_tensor *without(st_op_scope *c, const st_tensor *x,
                          const st_tensor *mask, double harmless) {
  return ST_APPLY(c, ST_OP_masked_fill_Scalar, x, mask, harmless);
}

static st_tensor *selected(st_op_scope *c, const st_tensor *mask,
                         const st_tensor *a, const st_tensor *b) {
  return ST_APPLY(c, ST_OP_where_self, mask, a, b);
}

/* |x| < limit */
static st_tensor *is_near(st_op_scope *c, const st_tensor *x, double limit) {
  return ST_APPLY(c, ST_OP_lt_Scalar, st__apply1(c, ST_OP_abs, x), limit);
}

/* x in a type in which what cancels leaves enough digits for float32. */
static st_tensor *widened(st_op_scope *c, const st_tensor *x) {
  return st__apply_to(c, x, st__is_complex(x->dtype) ? ST_COMPLEX128
                                                     : ST_FLOAT64);
}

/* wide(self): self in float64 or complex128. */
ST_HELPER_FN(st__help_wide) {
  ST_READ(TENSOR(x));
  st_op_scope c = {.status = ST_OK};
  return st__scope_return(&c, widened(&c, x), out);
}

static st_tensor *inverted(st_op_scope *c, const st_tensor *mask) {
  return st__apply1(c, ST_OP_logical_not, mask);
}

/* cos(pi x) of what is left of x beside a multiple of 2, which is exact. */
static st_tensor *cos_pi(st_op_scope *c, const st_tensor *x) {
  const st_tensor *half = st__scaled(c, st__apply1(c, ST_OP_real, x), 0.5);
  const st_tensor *whole = st__apply1(c, ST_OP_round,
                                      st__apply1(c, ST_OP_detach, half));
  x = st__minus(c, x, st__scaled(c, whole, 2));
  return st__apply1(c, ST_OP_cos, st__scaled(c, x, 3.141592653589793));
}

/* sinc_slope(self): (cos(pi x) - sinc(x)) / x, near 0 by its series. */
ST_HELPER_FN(st__help_sinc_slope) {
  enum { TERMS = 12 };
  const double pi = 3.141592653589793;
  double series[TERMS], power = 1; /* pi^2k / (2k + 1)!, and its sign */
  st_op_scope c = {.status = ST_OK};
  const st_tensor *x = widened(&c, st__read_tensor(&args));
  for (int k = 1; k <= TERMS; k++) {
    power *= -pi * pi / (2.0 * k * (2.0 * k + 1));
    series[k - 1] = 2 * k * power;
  }
  const st_tensor *near = is_near(&c, x, 0.5);
  const st_tensor *small = without(&c, x, inverted(&c, near), 0);
  const st_tensor *large = without(&c, x, near, 1);
  small =
    st__mul(&c, small,
            polynomial(&c, st__apply1(&c, ST_OP_square, small), TERMS, series));
  const st_tensor *cosine = cos_pi(&c, large);
  large = st__div(&c, st__minus(&c, cosine, st__apply1(&c, ST_OP_sinc, large)),
                  large);
  return st__scope_return(&c, selected(&c, near, small, large), out);
}

/* -- Bessel functions ----------------------------------------------------- */

/* f(x) / x of the function of order 1, which is `result`; i1 has the sign 1, j1
 * the sign -1. Near 0 by its series; times exp(-|x|) if it is scaled. */
static st_tensor *ratio(st_op_scope *c, const st_tensor *x,
                        const st_tensor *result, double sign, bool is_scaled) {
  enum { TERMS = 15 };
  double series[TERMS];
  series[0] = 0.5;
  for (int k = 1; k < TERMS; k++) {
    series[k] = sign * series[k - 1] / (4.0 * k * (k + 1)); /* of x^2 */
  }
  const st_tensor *near = is_near(c, x, 2);
  const st_tensor *small = without(c, x, inverted(c, near), 0);
  const st_tensor *part = polynomial(c, st__apply1(c, ST_OP_square, small),
                                     TERMS, series);
  if (is_scaled) {
    small = st__scaled(c, st__apply1(c, ST_OP_abs, small), -1);
    part = st__mul(c, part, st__apply1(c, ST_OP_exp, small));
  }
  const st_tensor *large =
    st__div(c, without(c, result, near, 0), without(c, x, near, 1));
  return selected(c, near, part, large);
}

/* bessel_ratio(self, result, sign) */
ST_HELPER_FN(st__help_bessel_ratio) {
  ST_READ(TENSOR(x), TENSOR(result));
  const double sign = st__to_float(st__read_value(&args), 1);
  st_op_scope c = {.status = ST_OK};
  return st__scope_return(&c, ratio(&c, x, result, sign, false), out);
}

/* The derivative of exp(-x) i(x), i of order 0 or 1, for x > FAR: that of
 * Abramowitz and Stegun, 9.7.1. */
enum { FAR = 50 };
static st_tensor *scaled_tail(st_op_scope *c, const st_tensor *x, int order) {
  enum { TERMS = 16 };
  double series[TERMS], a = 0.3989422804014327;
  for (int k = 0; k < TERMS; k++) {
    series[k] = -(k + 0.5) * a; /* of 1 / x, times x^-1.5 */
    a *= ((2 * k + 1) * (2 * k + 1) - 4 * order) / (8.0 * (k + 1));
  }
  const st_tensor *inverse = st__apply1(c, ST_OP_reciprocal, x);
  const st_tensor *root = st__apply1(c, ST_OP_rsqrt, x);
  return st__mul(c, st__mul(c, inverse, root),
                 polynomial(c, inverse, TERMS, series));
}

/* The derivative of i0e or i1e. */
static st_tensor *scaled_slope(st_op_scope *c, const st_tensor *x, int order) {
  x = widened(c, x);
  const st_tensor *close = is_near(c, x, FAR);
  const st_tensor *size = st__apply1(c, ST_OP_abs, x);
  const st_tensor *sign = st__apply1(c, ST_OP_sgn, x);
  const st_tensor *near = without(c, x, inverted(c, close), 1);
  const st_tensor *i1 = st__apply1(c, ST_OP_special_i1e, near);
  const st_tensor *i0 = st__apply1(c, ST_OP_special_i0e, near);
  const st_tensor *tail = scaled_tail(c, without(c, size, close, FAR), order);
  if (order == 0) {
    return selected(c, close, st__minus(c, i1, st__mul(c, i0, sign)),
                    st__mul(c, tail, sign));
  }
  near = st__minus(c, st__minus(c, i0, st__mul(c, i1, sign)),
                   ratio(c, near, i1, 1, true));
  return selected(c, close, near, tail);
}

ST_HELPER_FN(st__help_i0e_slope) {
  st_op_scope c = {.status = ST_OK};
  return st__scope_return(&c, scaled_slope(&c, st__read_tensor(&args), 0),
                          out);
}

ST_HELPER_FN(st__help_i1e_slope) {
  st_op_scope c = {.status = ST_OK};
  return st__scope_return(&c, scaled_slope(&c, st__read_tensor(&args), 1),
                          out);
}

/* -- Others --------------------------------------------------------------- */

/* A point, and what the derivatives of its angle are divided by. */
typedef struct plane_point {
  const st_tensor *y, *x;
  const st_tensor *size;  /* the distance from the origin; there 1 */
  const st_tensor *power; /* NULL, or Note [Quotients in all of the range] */
} plane_point;

/* Where gradients are recorded, the point is brought near 1: the higher
 * derivatives of y / size^2 by y and x leave the range before their products
 * do. */
static plane_point point_of(st_op_scope *c, const st_tensor *y,
                            const st_tensor *x) {
  plane_point p = {y, x, NULL, NULL};
  const st_tensor *origin =
    st__apply2(c, ST_OP_logical_and, ST_APPLY(c, ST_OP_eq_Scalar, y, 0),
               ST_APPLY(c, ST_OP_eq_Scalar, x, 0));
  if (st__tls().grad) {
    const st_tensor *size = st__apply2(c, ST_OP_hypot, y, x);
    if (!size) return p;
    p.power = st__near_one_exponents(c, size);
    if (p.power) {
      /* One of them may be an integer. */
      y = st__apply_to(c, y, size->dtype);
      x = st__apply_to(c, x, size->dtype);
      p.y = st__apply2(c, ST_OP__ldexp, y, p.power);
      p.x = st__apply2(c, ST_OP__ldexp, x, p.power);
    }
  }
  p.size = st__apply2(c, ST_OP_hypot, without(c, p.y, origin, 1), p.x);
  return p;
}

/* part / size^2 of a part of the point. */
static st_tensor *angle_slope(st_op_scope *c, const st_tensor *part,
                              const plane_point *p) {
  const st_tensor *once = st__div(c, part, p->size);
  st_tensor *slope = st__div(c, once, p->size);
  return p->power ? st__apply2(c, ST_OP__ldexp, slope, p->power) : slope;
}

/* atan2_back(grad, y, x, is_of_x) */
ST_HELPER_FN(st__help_atan2_back) {
  ST_READ(TENSOR(grad), TENSOR(y), TENSOR(x), BOOL(is_of_x));
  st_op_scope c = {.status = ST_OK};
  const plane_point p = point_of(&c, y, x);
  if (is_of_x) grad = st__apply1(&c, ST_OP_neg, grad);
  return st__scope_return(
    &c, st__mul(&c, grad, angle_slope(&c, is_of_x ? p.y : p.x, &p)), out);
}

/* angle_back(grad, self) of complex numbers, in real arithmetic: an infinite
 * product of one part is none of the other. */
ST_HELPER_FN(st__help_angle_back) {
  ST_READ(TENSOR(grad), TENSOR(self));
  st_op_scope c = {.status = ST_OK};
  const plane_point p = point_of(&c, st__apply1(&c, ST_OP_imag, self),
                                 st__apply1(&c, ST_OP_real, self));
  const st_tensor *of_x = st__mul(&c, grad, angle_slope(&c, p.y, &p));
  const st_tensor *of_y = st__mul(&c, grad, angle_slope(&c, p.x, &p));
  return st__scope_return(&c, st__apply2(&c, ST_OP_complex,
                                         st__scaled(&c, of_x, -1), of_y), out);
}

/* erfcx_slope(self): 2 x erfcx(x) - 2 / sqrt(pi); for large x the derivative of
 * its asymptotic series, -1 / (sqrt(pi) x^2) sum (-1)^k (2k + 1)!! / (2 x^2)^k.
 */
ST_HELPER_FN(st__help_erfcx_slope) {
  enum { TERMS = 18 };
  double series[TERMS];
  st_op_scope c = {.status = ST_OK};
  const st_tensor *x = widened(&c, st__read_tensor(&args));
  series[0] = -0.5641895835477563;
  for (int k = 1; k < TERMS; k++) {
    series[k] = series[k - 1] * -0.5 * (2 * k + 1); /* of 1 / x^2 */
  }
  const st_tensor *far = ST_APPLY(&c, ST_OP_gt_Scalar, x, st__of_float(10));
  const st_tensor *inverse = st__apply1(
    &c, ST_OP_square, st__apply1(&c, ST_OP_reciprocal,
                                 without(&c, x, inverted(&c, far), 10)));
  const st_tensor *tail =
    st__mul(&c, inverse, polynomial(&c, inverse, TERMS, series));
  const st_tensor *near = without(&c, x, far, 0);
  const st_tensor *close = st__shifted(
    &c,
    st__scaled(&c, st__mul(&c, near, st__apply1(&c, ST_OP_special_erfcx, near)),
               2),
    -1.1283791670955126);
  return st__scope_return(&c, selected(&c, far, tail, close), out);
}
