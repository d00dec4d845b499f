/* Modified Bessel functions of orders 0 and 1 of floats, without branches, for
 * loops that the compiler vectorises. They compute in double precision with a
 * relative error below 1e-13; special.h has those of doubles.
 *
 * With y = |x|, Chebyshev series give exp(-y) i0(y) and exp(-y) i1(y) / y for y
 * up to 8, and exp(-y) sqrt(y) i0(y) and i1(y) beyond, in 16 / y. They are sums
 * and products rounded one by one, so that all instruction sets give the same
 * bits (Note [Vector maths]).
 */
#ifndef ST_KERNEL_MATH_BESSEL_H
#define ST_KERNEL_MATH_BESSEL_H

#include <math.h>

#include "kernel/math/functions.h"

#if defined(__clang__)
#define ST_BESSEL_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ST_BESSEL_UNROLL _Pragma("GCC unroll 32")
#endif

/* -- Coefficients, the highest first -------------------------------------- */

static const double st_i0_near[26] = {
  -1.16853328779934514e-14, 7.67618549860493607e-14, -4.85644678311192896e-13,
  2.95505266312963988e-12, -1.72682629144155587e-11, 9.67580903537323697e-11,
  -5.18979560163526271e-10, 2.65982372468238660e-09, -1.30002500998624805e-08,
  6.04699502254191863e-08, -2.67079385394061193e-07, 1.11738753912010366e-06,
  -4.41673835845875052e-06, 1.64484480707288956e-05, -5.75419501008210397e-05,
  1.88502885095841649e-04, -5.76375574538582356e-04, 1.63947561694133574e-03,
  -4.32430999505057593e-03, 1.05464603945949979e-02, -2.37374148058994705e-02,
  4.93052842396707117e-02, -9.49010970480476390e-02, 1.71620901522208769e-01,
  -3.04682672343198402e-01, 6.76795274409476066e-01};
static const double st_i0_far[16] = {
  -4.15056934728722224e-14, 1.54008621752140996e-14, 3.85277838274214259e-13,
  7.18012445138366601e-13, -1.79417853150680615e-12, -1.32158118404477133e-11,
  -3.14991652796324165e-11, 1.18891471078464390e-11, 4.94060238822497006e-10,
  3.39623202570838651e-09, 2.26666899049817804e-08, 2.04891858946906384e-07,
  2.89137052083475665e-06, 6.88975834691682454e-05, 3.36911647825569429e-03,
  8.04490411014108786e-01};
static const double st_i1_near[26] = {
  -1.10559694773538625e-15, 7.60068429473540767e-15, -5.04218550472791179e-14,
  3.22379336594557476e-13, -1.98397439776494364e-12, 1.17361862988909012e-11,
  -6.66348972350202712e-11, 3.62559028155211725e-10, -1.88724975172282944e-09,
  9.38153738649577259e-09, -4.44505912879632805e-08, 2.00329475355213533e-07,
  -8.56872026469545475e-07, 3.47025130813767845e-06, -1.32731636560394359e-05,
  4.78156510755005422e-05, -1.61760815825896743e-04, 5.12285956168575759e-04,
  -1.51357245063125315e-03, 4.15642294431288820e-03, -1.05640848946261974e-02,
  2.47264490306265163e-02, -5.29459812080949888e-02, 1.02643658689847095e-01,
  -1.76416518357834062e-01, 2.52587186443633649e-01};
static const double st_i1_far[16] = {
  4.27244001671195105e-14, -2.10154184277266430e-14, -4.08355111109219740e-13,
  -7.19855177624590836e-13, 2.03562854414708956e-12, 1.41258074366137819e-11,
  3.25260358301548844e-11, -1.89749581235054126e-11, -5.58974346219658378e-10,
  -3.83538038596423700e-09, -2.63146884688951959e-08, -2.51223623787020884e-07,
  -3.88256480887769059e-06, -1.10588938762623713e-04, -9.76109749136146870e-03,
  7.78576235018280105e-01};

/* -- Functions ------------------------------------------------------------ */

/* Clenshaw's sum of n terms at x / 2. */
ST_INLINE double st_chebyshev(const double *c, const int n, double x) {
  double b0 = c[0], b1 = 0, b2 = 0;
  ST_BESSEL_UNROLL for (int i = 1; i < n; i++) {
    b2 = b1;
    b1 = b0;
    b0 = x * b1 - b2 + c[i];
  }
  return 0.5 * (b0 - b2);
}

/* exp(-|x|) times the function of order 0 or 1. */
ST_INLINE double st_bessel_series(double x, const int order) {
  const double y = fabs(x), low = y > 8 ? 8 : y, high = y > 8 ? y : 8;
  const double a = st_chebyshev(order ? st_i1_near : st_i0_near, 26,
                                low * 0.5 - 2);
  const double b = st_chebyshev(order ? st_i1_far : st_i0_far, 16,
                                32 / high - 2) / sqrt(high);
  if (!order) return y > 8 ? b : a;
  /* Exactly half of x may be a tie between two subnormal numbers. */
  return y > 8 ? (x < 0 ? -b : b) : (y < 0x1p-60 ? 0.5 : a) * x;
}

/* The same for |x| up to 8. */
ST_INLINE double st_bessel_near(double x, const int order) {
  const double y = fabs(x);
  const double a = st_chebyshev(order ? st_i1_near : st_i0_near, 26,
                                y * 0.5 - 2);
  return order ? (y < 0x1p-60 ? 0.5 : a) * x : a;
}

/* exp(x) for x from 0 to 100, with a relative error below 1e-14: 2^k exp(r),
 * |r| <= ln 2 / 2, by the power series. There is no fused multiply-add, which
 * old processors compute slowly. */
ST_INLINE double st_bessel_exp(double x) {
  static const double share[] = {
    1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
    1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1};
  const double magic = 0x1.8p52, shifted = x * 0x1.71547652b82fep0 + magic;
  const double k = shifted - magic;
  const double r = x - k * 0x1.62e42feep-1 - k * 0x1.a39ef35793c76p-33;
  double y = share[0];
  ST_BESSEL_UNROLL for (int i = 1; i < 12; i++) y = y * r + share[i];
  return y * st_real_f8((st_bits_f8(shifted) + 1023) << 52);
}

ST_INLINE float st_bessel_scaled_f4(float x, const int order) {
  return (float)st_bessel_series(x, order);
}

/* Beyond 100 the result overflows; so do the products. */
ST_INLINE float st_bessel_f4(float x, const int order) {
  const double limit = 100, z = x > limit ? limit : x < -limit ? -limit : x;
  return (float)(st_bessel_exp(fabs(z)) * st_bessel_series(z, order));
}

/* True beyond st_bessel_near, and for NaN: its sign would depend on the order
 * of factors, which the compiler chooses. */
ST_INLINE int st_bessel_is_far(float x) { return !(fabsf(x) <= 8); }

ST_INLINE float st_bessel_scaled_near_f4(float x, const int order) {
  return (float)st_bessel_near(x, order);
}

ST_INLINE float st_bessel_near_f4(float x, const int order) {
  const double z = x;
  return (float)(st_bessel_exp(fabs(z)) * st_bessel_near(z, order));
}

#undef ST_BESSEL_UNROLL
#endif
