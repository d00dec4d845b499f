/* Derivatives of random numbers with respect to the parameters of their
 * distribution, at a fixed value of the distribution function F: -(dF/da) / f
 * for the density f.
 *
 * The approximations are PyTorch's: Taylor series near 0, expansions at a
 * saddle point for large parameters, rational functions between.
 */
#ifndef ST_KERNEL_MATH_REPARAMETERIZED_H
#define ST_KERNEL_MATH_REPARAMETERIZED_H

#include "kernel/math/special.h"

static inline double st_or_0(double x) { return isnan(x) ? 0 : x; }

/* -- Gamma ---------------------------------------------------------------- */

static inline double st_gamma_grad_small(double a, double x) {
  double term = 1, denom = a, sum = 1 / denom, squares = 1 / (denom * denom);
  for (int i = 1; i <= 5; i++) {
    term *= -x / i;
    denom += 1;
    sum += term / denom;
    squares += term / (denom * denom);
  }
  const double power = pow(x, a), density = pow(x, a - 1) * exp(-x);
  const double below = power * sum;
  const double slope = (log(x) - st_digamma(a)) * below - power * squares;
  return st_or_0(-slope / density);
}

static inline double st_gamma_grad_large(double a, double x) {
  if (0.9f * a <= x && x <= 1.1f * a) {
    const double p = 1 + 24 * a * (1 + 12 * a);
    const double q = 1440 * (a * a) + 6 * x * (53 - 120 * x) - 65 * x * x / a +
                     a * (107 + 3600 * x);
    return p * q / (1244160 * (a * a) * (a * a));
  }
  const double root = sqrt(8 * a), b = root / (a - x);
  const double c = pow(x - a - a * log(x / a), -1.5);
  const double d = log(x / a) * (x < a ? b - c : b + c) -
                   sqrt(2 / a) * (a + x) / ((a - x) * (a - x));
  const double stirling = 1 + 1 / (12 * a) * (1 + 1 / (24 * a));
  return -stirling * (x * d) / root;
}

/* x from the gamma distribution of shape a. */
static inline double st_gamma_grad(double a, double x) {
  static const double c[3][8] = {
    {0.16009398, -0.094634809, 0.025146376, -0.0030648343,
     1, 0.32668115, 0.10406089, 0.0014179084},
    {0.53487893, 0.1298071, 0.065735949, -0.0015649758,
     0.16639465, 0.020070113, -0.0035938915, -0.00058392623},
    {0.040121004, -0.0065914022, -0.0026286047, -0.0013441777,
     0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07}};
  if (x < 0.8f) return st_gamma_grad_small(a, x);
  if (a > 8) return st_gamma_grad_large(a, x);
  const double u = log(x / a), v = log(a);
  double k[8];
  for (int i = 0; i < 8; i++) k[i] = c[0][i] + u * (c[1][i] + u * c[2][i]);
  const double p = k[0] + v * (k[1] + v * (k[2] + v * k[3]));
  const double q = k[4] + v * (k[5] + v * (k[6] + v * k[7]));
  return exp(p / q);
}

/* -- Beta and Dirichlet --------------------------------------------------- */

/* With respect to a, for x near 0. */
static inline double st_beta_grad_a(double x, double a, double b) {
  const double factor = st_digamma(a) - st_digamma(a + b) - log(x);
  double term = 1, sum = term / a * (factor + 1 / a);
  for (int i = 1; i <= 10; i++) {
    term *= (i - b) * x / i;
    sum += term / (a + i) * (factor + 1 / (a + i));
  }
  return st_or_0(x * pow(1 - x, -b) * sum);
}

/* With respect to b, for x near 0. */
static inline double st_beta_grad_b(double x, double a, double b) {
  const double factor = st_digamma(a + b) - st_digamma(b);
  double term = 1, product = 1, slope = 0, sum = factor / a;
  for (int i = 1; i <= 8; i++) {
    term *= -x / i;
    slope = slope * (b - i) + product;
    product *= b - i;
    sum += term / (a + i) * (slope + factor * product);
  }
  return st_or_0(-pow(1 - x, 1 - b) * sum);
}

/* With respect to a, for large a and b. */
static inline double st_beta_grad_large(double x, double a, double b) {
  const double total = a + b, mean = a / total;
  const double std = sqrt(a * b / (total + 1)) / total, y = 1 - x;
  if (mean - 0.1 * std <= x && x <= mean + 0.1 * std) {
    const double poly = 47 * x * (b * b) * (b * b) + a * (
      (43 + 20 * (16 + 27 * b) * x) * (b * b) * b + a * (
      3 * (59 + 180 * b - 90 * x) * (b * b) + a * (
      (453 + 1620 * b * y - 455 * x) * b + a * (8 * y * (135 * b - 11)))));
    const double over = (1 + 12 * a) * (1 + 12 * b) / (total * total);
    const double under = 12960 * a * a * a * b * b * (1 + 12 * total);
    return over / y * poly / under;
  }
  const double prefactor = -x / sqrt(2 * a * b / total);
  const double stirling = (1 + 1 / (12 * a) + 1 / (288 * a * a)) *
                          (1 + 1 / (12 * b) + 1 / (288 * b * b)) /
                          (1 + 1 / (12 * total) + 1 / (288 * total * total));
  const double axbx = a * (x - 1) + b * x;
  const double first = (2 * (a * a) * (x - 1) + a * b * (x - 1) - x * (b * b)) /
                       (sqrt(2 * a / b) * pow(total, 1.5) * axbx * axbx);
  const double second = 0.5 * log(a / (total * x));
  const double third = sqrt(8 * a * b / total) / axbx;
  const double fourth = pow(b * log(b / (total * y)) + a * log(a / (total * x)),
                            -1.5);
  return stirling * prefactor *
         (first + second * (third + (x < mean ? fourth : -fourth)));
}

/* A quotient of polynomials in u = log x, v = log(a / x), w = log total - v. */
static inline double st_beta_grad_ratio(double u, double v, double w) {
  static const double c[2][3][3][4] = {
    {{{1.003668233, -0.01061107488, -0.0657888334, 0.01201642863},
      {0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033},
      {-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013}},
     {{0.221950385, -0.3187676331, 0.01799915743, 0.01074823814},
      {-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057},
      {0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05}},
     {{-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565},
      {0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181},
      {0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05}}},
    {{{1, -0.02924021934, -0.04438342661, 0.007285809825},
      {0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521},
      {-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149}},
     {{0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273},
      {0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956},
      {-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05}},
     {{0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05},
      {0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05},
      {-0.0003477407336, 6.959756487e-05, 1.097287507e-05,
       -1.650964693e-06}}}};
  double sums[2] = {0, 0}, power_u = 1;
  for (int i = 0; i < 3; i++, power_u *= u) {
    double power = power_u;
    for (int j = 0; j < 3; j++, power *= v) {
      for (int k = 0; k < 2; k++) {
        const double *t = c[k][i][j];
        sums[k] += power * (t[0] + w * (t[1] + w * (t[2] + w * t[3])));
      }
    }
  }
  return sums[0] / sums[1];
}

/* x from the beta distribution of a and total - a, divided by 1 - x: so an
 * element of a Dirichlet distribution depends on its concentration. */
static inline double st_dirichlet_grad(double x, double a, double total) {
  const double b = total - a, boundary = total * x * (1 - x);
  if (x <= 0.5 && boundary < 2.5) return st_beta_grad_a(x, a, b);
  if (x >= 0.5 && boundary < 0.75) return -st_beta_grad_b(1 - x, b, a);
  if (a > 6 && b > 6) return st_beta_grad_large(x, a, b);
  const double u = log(x), v = log(a) - u, w = log(total) - v;
  return st_beta_grad_ratio(u, v, w) *
         (x * (st_digamma(total) - st_digamma(a)) / b);
}

#endif
