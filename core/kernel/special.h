/* Special functions that SLEEF lacks, in double precision: the inverse of
 * erf, digamma and the modified Bessel function of order 0.
 */
#ifndef ST_KERNEL_SPECIAL_H
#define ST_KERNEL_SPECIAL_H

#include <math.h>

static inline double st_polynomial(const double *c, int n, double x) {
  double y = c[n - 1];
  for (int i = n - 2; i >= 0; i--) y = y * x + c[i];
  return y;
}

/* M. J. Wichura, Algorithm AS 241: The Percentage Points of the Normal
 * Distribution, Applied Statistics 37 (1988), routine PPND16. Of p - 1/2 =
 * x / 2 it gives erfinv(x) sqrt(2). */
static inline double st_erfinv(double x) {
  static const double a[] = {
    3.3871328727963666080e0, 1.3314166789178437745e2,
    1.9715909503065514427e3, 1.3731693765509461125e4,
    4.5921953931549871457e4, 6.7265770927008700853e4,
    3.3430575583588128105e4, 2.5090809287301226727e3};
  static const double b[] = {
    1.0, 4.2313330701600911252e1, 6.8718700749205790830e2,
    5.3941960214247511077e3, 2.1213794301586595867e4,
    3.9307895800092710610e4, 2.8729085735721942674e4,
    5.2264952788528545610e3};
  static const double c[] = {
    1.42343711074968357734e0, 4.63033784615654529590e0,
    5.76949722146069140550e0, 3.64784832476320460504e0,
    1.27045825245236838258e0, 2.41780725177450611770e-1,
    2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static const double d[] = {
    1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
    6.89767334985100004550e-1, 1.48103976427480074590e-1,
    1.51986665636164571966e-2, 5.47593808499534494600e-4,
    1.05075007164441684324e-9};
  static const double e[] = {
    6.65790464350110377720e0, 5.46378491116411436990e0,
    1.78482653991729133580e0, 2.96560571828504891230e-1,
    2.65321895265761230930e-2, 1.24266094738807843860e-3,
    2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static const double f[] = {
    1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
    1.48753612908506148525e-2, 7.86869131145613259100e-4,
    1.84631831751005468180e-5, 1.42151175831644588870e-7,
    2.04426310338993978564e-15};
  const double sqrt_half = 0.70710678118654752440;
  const double q = 0.5 * x, side = fabs(q);
  if (!(side < 0.5)) return side == 0.5 ? copysign(INFINITY, x) : NAN;
  if (side <= 0.425) {
    const double r = 0.180625 - q * q;
    return sqrt_half * q * st_polynomial(a, 8, r) / st_polynomial(b, 8, r);
  }
  const double r = sqrt(-log(0.5 - side));
  const double y = r <= 5
    ? st_polynomial(c, 8, r - 1.6) / st_polynomial(d, 8, r - 1.6)
    : st_polynomial(e, 8, r - 5) / st_polynomial(f, 8, r - 5);
  return copysign(sqrt_half * y, x);
}

/* Abramowitz and Stegun, 6.3.7 (reflection), 6.3.5 (recurrence) and 6.3.18
 * (the asymptotic series, from 10 on). */
static inline double st_digamma(double x) {
  static const double series[] = { /* B_2k / 2k, k = 1, 2, ... */
    1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760,
    1.0 / 12};
  const double pi = 3.14159265358979323846;
  double y = 0;
  if (x == 0) return copysign(INFINITY, -x);
  if (x < 0) {
    const double part = x - trunc(x);
    if (part == 0) return NAN;
    y = -pi / tan(pi * part);
    x = 1 - x;
  }
  for (; x < 10; x += 1) y -= 1 / x;
  const double z = 1 / (x * x);
  const double tail = x < 1e17 ? z * st_polynomial(series, 7, z) : 0;
  return y + log(x) - 0.5 / x - tail;
}

/* Abramowitz and Stegun, 9.6.12 (the power series, all terms positive) and
 * 9.7.1 (the asymptotic one, from 20 on). */
static inline double st_i0(double x) {
  const double two_pi = 6.28318530717958647693;
  double sum = 1, term = 1;
  x = fabs(x);
  if (x == (double)INFINITY) return x;
  if (!(x > 20)) {
    for (int k = 1; term > sum * 1e-17; k++) {
      term *= (x / 2 / k) * (x / 2 / k);
      sum += term;
    }
    return sum;
  }
  for (int k = 1; k < 30 && term > 1e-17; k++) {
    term *= (2 * k - 1) * (2 * k - 1) / (8 * k * x);
    sum += term;
  }
  /* in two steps: exp alone overflows first */
  return exp(x / 2) / sqrt(two_pi * x) * sum * exp(x / 2);
}

#endif
