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

static st_tensor *mul(st_op_scope *c, const st_tensor *a, const st_tensor *b) {
  return st__apply2(c, ST_OP_mul_Tensor, a, b);
}

/* coefficients[0] + coefficients[1] x + ... */
static st_tensor *polynomial(st_op_scope *c, const st_tensor *x, int n,
                             const double *coefficients) {
  st_tensor *sum = st__scaled(c, x, coefficients[n - 1]);
  for (int k = n - 2; k > 0; k--) {
    sum = mul(c, st__shifted(c, sum, coefficients[k]), x);
  }
  return st__shifted(c, sum, coefficients[0]);
}

/* x with a harmless number where mask is true. */
static st_tensor *without(st_op_scope *c, const st_tensor *x,
                          const st_tensor *mask, double harmless) {
  return st__apply(c, ST_OP_masked_fill_Scalar, 3,
                   (st_value[]){st__of_tensor(x), st__of_tensor(mask),
                                st__of_float(harmless)});
}

static st_tensor *selected(st_op_scope *c, const st_tensor *mask,
                         const st_tensor *a, const st_tensor *b) {
  return st__apply(c, ST_OP_where_self, 3,
                   (st_value[]){st__of_tensor(mask), st__of_tensor(a),
                                st__of_tensor(b)});
}

/* |x| < limit */
static st_tensor *is_near(st_op_scope *c, const st_tensor *x, double limit) {
  return st__apply_with(c, ST_OP_lt_Scalar, st__apply1(c, ST_OP_abs, x),
                        st__of_float(limit));
}

static st_tensor *inverted(st_op_scope *c, const st_tensor *mask) {
  return st__apply1(c, ST_OP_logical_not, mask);
}

/* sinc_slope(self): (cos(pi x) - sinc(x)) / x, near 0 by its series. */
st_status st__help_sinc_slope(int n, const st_helper_arg *args,
                              st_value *out) {
  enum { TERMS = 12 };
  const double pi = 3.141592653589793;
  const st_tensor *x = st__read_tensor(&args);
  double series[TERMS], power = 1; /* pi^2k / (2k + 1)!, and its sign */
  st_op_scope c = {.status = ST_OK};
  (void)n;
  for (int k = 1; k <= TERMS; k++) {
    power *= -pi * pi / (2.0 * k * (2.0 * k + 1));
    series[k - 1] = 2 * k * power;
  }
  const st_tensor *near = is_near(&c, x, 0.5);
  const st_tensor *small = without(&c, x, inverted(&c, near), 0);
  const st_tensor *large = without(&c, x, near, 1);
  small = mul(&c, small, polynomial(&c, st__apply1(&c, ST_OP_square, small),
                                    TERMS, series));
  const st_tensor *cosine = st__apply1(&c, ST_OP_cos,
                                       st__scaled(&c, large, pi));
  large = st__apply2(&c, ST_OP_div_Tensor,
                     st__minus(&c, cosine, st__apply1(&c, ST_OP_sinc, large)),
                     large);
  return st__scope_return(&c, selected(&c, near, small, large), out);
}

/* bessel_ratio(self, result, is_scaled): i1(x) / x, where result is i1(x);
 * times exp(-|x|) if it is scaled. Near 0 by its series. */
st_status st__help_bessel_ratio(int n, const st_helper_arg *args,
                                st_value *out) {
  enum { TERMS = 15 };
  const st_tensor *x = st__read_tensor(&args);
  const st_tensor *result = st__read_tensor(&args);
  const bool is_scaled = st__read_bool(&args);
  double series[TERMS];
  st_op_scope c = {.status = ST_OK};
  (void)n;
  series[0] = 0.5;
  for (int k = 1; k < TERMS; k++) {
    series[k] = series[k - 1] / (4.0 * k * (k + 1)); /* of x^2 */
  }
  const st_tensor *near = is_near(&c, x, 2);
  const st_tensor *small = without(&c, x, inverted(&c, near), 0);
  const st_tensor *ratio = polynomial(
    &c, st__apply1(&c, ST_OP_square, small), TERMS, series);
  if (is_scaled) {
    small = st__scaled(&c, st__apply1(&c, ST_OP_abs, small), -1);
    ratio = mul(&c, ratio, st__apply1(&c, ST_OP_exp, small));
  }
  const st_tensor *large = st__apply2(&c, ST_OP_div_Tensor,
                                      without(&c, result, near, 0),
                                      without(&c, x, near, 1));
  return st__scope_return(&c, selected(&c, near, ratio, large), out);
}

/* erfcx_slope(self, result): 2 x erfcx(x) - 2 / sqrt(pi), where result is
 * erfcx(x); for large x the derivative of its asymptotic series,
 * -1 / (sqrt(pi) x^2) sum (-1)^k (2k + 1)!! / (2 x^2)^k. */
st_status st__help_erfcx_slope(int n, const st_helper_arg *args,
                               st_value *out) {
  enum { TERMS = 18 };
  const st_tensor *x = st__read_tensor(&args);
  const st_tensor *result = st__read_tensor(&args);
  double series[TERMS];
  st_op_scope c = {.status = ST_OK};
  (void)n;
  series[0] = -0.5641895835477563;
  for (int k = 1; k < TERMS; k++) {
    series[k] = series[k - 1] * -0.5 * (2 * k + 1); /* of 1 / x^2 */
  }
  const st_tensor *far = st__apply_with(&c, ST_OP_gt_Scalar, x,
                                        st__of_float(10));
  const st_tensor *inverse = st__apply1(
    &c, ST_OP_square, st__apply1(&c, ST_OP_reciprocal,
                                 without(&c, x, inverted(&c, far), 10)));
  const st_tensor *tail = mul(&c, inverse, polynomial(&c, inverse, TERMS,
                                                      series));
  const st_tensor *close = st__shifted(
    &c, st__scaled(&c, mul(&c, without(&c, x, far, 0),
                           without(&c, result, far, 1)), 2),
    -1.1283791670955126);
  return st__scope_return(&c, selected(&c, far, tail, close), out);
}
