/* Special functions in double precision: inverse error function and normal
 * quantile, erfcx and log_ndtr, sin(pi x), digamma and its derivatives, zeta,
 * the modified Bessel functions of orders 0 and 1, and the incomplete gamma
 * functions.
 */
#ifndef ST_KERNEL_MATH_SPECIAL_H
#define ST_KERNEL_MATH_SPECIAL_H

#include <float.h>
#include <math.h>

static inline double st_polynomial(const double *c, int n, double x) {
  double y = c[n - 1];
  for (int i = n - 2; i >= 0; i--) y = y * x + c[i];
  return y;
}

/* -- Quantiles ------------------------------------------------------------ */

/* M. J. Wichura, Algorithm AS 241: The Percentage Points of the Normal
 * Distribution, Applied Statistics 37 (1988), routine PPND16, of p = 1/2 + q.
 * tail is the smaller one of p and 1 - p. */
static inline double st_quantile(double q, double tail) {
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
  if (!(tail > 0)) return tail == 0 ? copysign(INFINITY, q) : NAN;
  if (fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * st_polynomial(a, 8, r) / st_polynomial(b, 8, r);
  }
  const double r = sqrt(-log(tail));
  const double y = r <= 5
    ? st_polynomial(c, 8, r - 1.6) / st_polynomial(d, 8, r - 1.6)
    : st_polynomial(e, 8, r - 5) / st_polynomial(f, 8, r - 5);
  return copysign(y, q);
}

static inline double st_erfinv(double x) {
  const double sqrt_half = 0.70710678118654752440;
  return sqrt_half * st_quantile(0.5 * x, 0.5 - fabs(0.5 * x));
}

/* The p-quantile of the normal distribution. */
static inline double st_ndtri(double p) {
  return st_quantile(p - 0.5, p < 0.5 ? p : 1 - p);
}

/* -- Scaled error functions ----------------------------------------------- */

/* exp(x^2) erfc(x). The rounding error of x^2 is corrected by its first-order
 * term. From 25 on, before erfc underflows: Abramowitz and Stegun, 7.1.23. */
static inline double st_erfcx(double x) {
  const double one_over_sqrt_pi = 0.56418958354775628695;
  if (x < 25) {
    const double square = x * x, lost = fma(x, x, -square);
    const double scale = exp(square);
    return scale > DBL_MAX ? scale : scale * (1 + lost) * erfc(x);
  }
  const double z = -0.5 / (x * x);
  double sum = 1, term = 1;
  for (int k = 1; k < 16; k += 2) {
    term *= k * z;
    sum += term;
  }
  return one_over_sqrt_pi / x * sum;
}

/* The logarithm of the normal distribution function. What x / sqrt(2) has lost
 * by rounding changes erfc by its derivative. */
static inline double st_log_ndtr(double x) {
  const double hi = 0.70710678118654752440, lo = -4.833646656726458e-17;
  const double t = x * hi;
  if (x < -1) return log(0.5 * st_erfcx(-t)) - 0.5 * x * x;
  if (x > 40) return 0;
  const double lost = fma(x, hi, -t) + x * lo;
  const double slope = 1.12837916709551257390 * exp(-t * t);
  return log1p(-0.5 * (erfc(t) - slope * lost));
}

/* -- Sine ------------------------------------------------------------------ */

/* sin(pi x), 0 for every integer. */
static inline double st_sin_pi(double x) {
  const double n = round(x), y = sin(3.14159265358979323846 * (x - n));
  return n == 2 * round(n / 2) ? y : -y;
}

/* -- Gamma and zeta ------------------------------------------------------- */

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
    const double part = x - round(x);
    if (part == 0) return NAN;
    y = -pi / tan(pi * part);
    x = 1 - x;
  }
  for (; x < 10; x += 1) y -= 1 / x;
  const double z = 1 / (x * x);
  const double tail = x < 1e17 ? z * st_polynomial(series, 7, z) : 0;
  return y + log(x) - 0.5 / x - tail;
}

/* The sum of ((q + k) / unit)^-s for s > 1 and q > 0: its first terms, and the
 * rest by the Euler-Maclaurin formula (Abramowitz and Stegun, 23.1.30). From
 * 2^53 on q + 1 is rounded to q; the sum is that of a geometric series. */
static inline double st_zeta_in_units(double s, double q, double unit) {
  static const double share[] = { /* B_2j / (2j)!, j = 1, 2, ... */
    1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160,
    -691.0 / 1307674368000, 1.0 / 74724249600, -3617.0 / 10670622842880000};
  double sum = 0;
  if (q >= 0x1p53 && q < 16 + s) return pow(q / unit, -s) / -expm1(-s / q);
  for (; q < 16 + s; q += 1) {
    const double term = pow(q / unit, -s);
    sum += term;
    if (!(term > sum * 1e-17)) return sum;
  }
  if (q == (double)INFINITY) return 0;
  const double last = pow(q / unit, -s);
  double term = s * last / q;
  sum += last > 1e-290 ? last * (q / (s - 1) + 0.5)
                       : pow(q / unit, 1 - s) * unit / (s - 1); /* q is large */
  for (int j = 0; j < 8; j++) {
    sum += share[j] * term;
    term *= (s + 2 * j + 1) * (s + 2 * j + 2) / (q * q);
  }
  return sum;
}

static inline double st_zeta_positive(double s, double q) {
  return st_zeta_in_units(s, q, 1);
}

/* The distances of x to the integers below and above it, without the bits that
 * the sum of a small one and 1 loses. */
static inline void st_parts(double x, double *below, double *above) {
  const double near = x - round(x);
  *below = near < 0 ? 1 + near : near;
  *above = near < 0 ? -near : 1 - near;
}

/* The Hurwitz zeta function. For q < 0 only an integer s has real terms; the
 * sum of the terms with a negative base is the difference of two zetas of
 * positive q. The largest terms are added first, as they may cancel for an odd
 * s. */
static inline double st_zeta(double s, double q) {
  if (s != s || q != q) return s + q;
  if (s <= 1) return s == 1 ? (double)INFINITY : (double)NAN;
  if (q > 0) return st_zeta_positive(s, q);
  if (q == floor(q)) return INFINITY;
  if (s != floor(s)) return NAN;
  const double sign = fmod(s, 2) == 0 ? 1 : -1;
  double below, above;
  st_parts(q, &below, &above);
  return st_zeta_positive(s, below) + sign * st_zeta_positive(s, above) -
         sign * st_zeta_positive(s, 1 - q);
}

/* (s - 1)! m^-s, by Stirling's series where the factorial overflows. */
static inline double st_factorial_by_power(double s, double m) {
  const double two_pi = 6.28318530717958647693;
  if (s <= 171) {
    const double root = pow(m, -s / 2);
    return tgamma(s) * root * root;
  }
  return exp(s * (log(s / m) - 1) - log(s / two_pi) / 2 +
             (1 - 1 / (30 * s * s)) / (12 * s));
}

/* (s - 1)! zeta(s, x) where one of the two overflows or underflows: the largest
 * term m^-s stands before the sum. */
static inline double st_polygamma_extreme(double s, double x) {
  const double sign = fmod(s, 2) == 0 ? 1 : -1;
  double below, above;
  st_parts(x, &below, &above);
  if (below == 0.5 && sign < 0) x = fmax(x, 1 - x); /* the others cancel */
  if (!(x < 0)) {
    return st_zeta_in_units(s, x, x) * st_factorial_by_power(s, x);
  }
  const double m = fmin(below, above);
  const double sum = st_zeta_in_units(s, below, m) +
                     sign * st_zeta_in_units(s, above, m) -
                     sign * st_zeta_in_units(s, 1 - x, m);
  return sum * st_factorial_by_power(s, m);
}

/* The n-th derivative of digamma. */
static inline double st_polygamma(double n, double x) {
  if (n == 0) return st_digamma(x);
  double y = st_zeta(n + 1, x);
  if (n <= 170 && fabs(y) >= DBL_MIN) {
    y *= tgamma(n + 1);
  } else if (y != (double)INFINITY && fabs(x) != (double)INFINITY) {
    y = st_polygamma_extreme(n + 1, x);
  }
  return fmod(n, 2) == 0 ? -y : y;
}

/* -- Modified Bessel functions -------------------------------------------- */

/* exp(-|x|) times the function of order 0 or 1. Abramowitz and Stegun, 9.6.10
 * (the power series, all terms positive) and 9.7.1 (the asymptotic series,
 * from 20 on). */
static inline double st_bessel_scaled(double x, int order) {
  const double two_pi = 6.28318530717958647693, y = fabs(x);
  double sum = 1, term = 1;
  if (!(y > 20)) {
    for (int k = 1; term > sum * 1e-17; k++) {
      term *= y / 2 / k * (y / 2 / (k + order));
      sum += term;
    }
    return sum * (order ? x / 2 : 1) * exp(-y);
  }
  for (int k = 1; k < 30 && fabs(term) > 1e-17; k++) {
    term *= ((2 * k - 1) * (2 * k - 1) - 4 * order) / (8 * k * y);
    sum += term;
  }
  return sum / sqrt(two_pi * y) * (order && x < 0 ? -1 : 1);
}

/* Multiplies by exp(|x| / 2) twice, because exp(|x|) overflows earlier than
 * the result. */
static inline double st_bessel(double x, int order) {
  const double half = exp(fabs(x) / 2);
  if (fabs(x) == (double)INFINITY) return order ? x : fabs(x);
  return half * st_bessel_scaled(x, order) * half;
}

/* -- Incomplete gamma functions ------------------------------------------- */

/* log(x / a) - (x - a) / a */
static inline double st_log_less(double a, double x) {
  const double mu = (x - a) / a;
  if (!(fabs(mu) < 0.3)) return log(x / a) - mu;
  double power = -mu, sum = 0;
  for (int k = 2; k < 50; k++) {
    power *= -mu;
    const double term = power / k;
    sum -= term;
    if (fabs(term) < fabs(sum) * 1e-17) break;
  }
  return sum;
}

/* lgamma(1 + a), 0 <= a < 2 */
static inline double st_lgamma1p(double a) {
  static const double zeta[] = { /* of 2, 3, ... */
    1.6449340668482264, 1.2020569031595942, 1.0823232337111382,
    1.0369277551433699, 1.0173430619844491, 1.0083492773819228,
    1.0040773561979443, 1.0020083928260822, 1.0009945751278181,
    1.0004941886041195, 1.0002460865533080, 1.0001227133475785,
    1.0000612481350587};
  if (a > 0.1) return log(tgamma(1 + a));
  double power = a, sum = -0.57721566490153286 * a;
  for (int k = 2; k < 15; k++) {
    power *= -a;
    sum -= zeta[k - 2] * power / k;
  }
  return sum;
}

/* x^a exp(-x) / gamma(a + 1). From 10 on by Stirling's series, where
 * (x / a)^a exp(a - x) is a product, corrected by what x / a and a - x have
 * lost, unless a factor overflows: a logarithm times a is less accurate. */
static inline double st_gamma_density(double a, double x) {
  static const double c[] = { /* B_2j / (2j (2j - 1)), j = 1, 2, ... */
    1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188,
    -691.0 / 360360, 1.0 / 156};
  if (a < 10) {
    const double half = exp(-x / 2);
    return x > 2000 ? 0 : pow(x, a) * half * half / tgamma(a + 1);
  }
  const double more = st_polynomial(c, 7, 1 / (a * a)) / a;
  const double scale = sqrt(2 * 3.14159265358979323846 * a);
  const double q = x / a, power = pow(q, a / 2), less = a - x;
  if (!(power > 1e-290 && power < 1e290 && fabs(less) < 1300)) {
    return exp(a * st_log_less(a, x) - more) / scale;
  }
  const double root = power * exp(less / 2), q_lost = fma(-q, a, x) / x * a;
  const double less_lost = a > x ? (a - less) - x : a - (x + less);
  return root * root * (1 + q_lost + less_lost) * exp(-more) / scale;
}

/* P(a, x), for x of at most about a. The terms are found by size and added from
 * the last one on, so that few rounding errors of each remain. */
static inline double st_gamma_series(double a, double x) {
  int n = 0;
  for (double term = 1, rest = 1; term > rest * 1e-17; n++) {
    term *= x / (a + (n + 1));
    rest += term;
  }
  double sum = 1;
  for (int k = n; k >= 1; k--) sum = 1 + x / (a + k) * sum;
  return st_gamma_density(a, x) * sum;
}

/* Q(a, x) by a continued fraction, for x > a: Steed's algorithm, which adds the
 * differences of its convergents. */
static inline double st_gamma_fraction(double a, double x) {
  const double density = st_gamma_density(a, x);
  double b = x + 1 - a, d = 1 / b, term = d, h = d;
  if (density == 0) return 0;
  for (double k = 1; k < 1e6 && fabs(term) > h * 1e-17; k++) {
    const double over = k * (a - k), last = d;
    b += 2;
    d = 1 / (over * last + b);
    term *= -over * last * d;
    h += term;
  }
  return density * a * h;
}

/* Q(a, x) for small a and x, where it is nearly 0: Gil, Segura, Temme,
 * Efficient and Accurate Algorithms for the Incomplete Gamma Function Ratios,
 * SIAM J. Sci. Comput. 34 (2012). */
static inline double st_gamma_small(double a, double x) {
  const double power = a * log(x) - st_lgamma1p(a);
  double term = 1, sum = 0;
  for (int k = 1; k < 100; k++) {
    term *= -x / k;
    sum += term / (a + k);
    if (fabs(term) < fabs(sum) * 1e-17) break;
  }
  return -expm1(power) - a * exp(power) * sum;
}

/* P(a, x), or Q if sign is 1, not -1, for large a and x near a: Temme's uniform
 * expansion, DLMF 8.12. */
static inline double st_gamma_large(double a, double x, double sign) {
  static const double c0[] = {
    -1.0 / 3, 1.0 / 12, -2.0 / 135, 1.0 / 864, 1.0 / 2835,
    -1.7875514403292181e-4, 3.9192631785224378e-5, -2.1854485106799922e-6,
    -1.85406221071516e-6};
  static const double c1[] = {
    -1.0 / 540, -1.0 / 288, 2.6455026455026455e-3, -9.9022633744855967e-4,
    2.0576131687242798e-4, -4.0187757201646091e-7};
  static const double c2[] = {
    4.1335978835978836e-3, -2.6813271604938272e-3, 7.7160493827160494e-4};
  const double half = -st_log_less(a, x);
  const double eta = copysign(sqrt(2 * half), x - a);
  const double sum = st_polynomial(c0, 9, eta) +
    (st_polynomial(c1, 6, eta) + st_polynomial(c2, 3, eta) / a) / a;
  return 0.5 * erfc(sign * eta * sqrt(a / 2)) +
         sign * sum * exp(-a * half) / sqrt(2 * 3.14159265358979323846 * a);
}

/* The regularized incomplete gamma functions: P, or Q if upper. */
static inline double st_gamma_inc(double a, double x, int upper) {
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (isinf(a) && isinf(x))) {
    return NAN;
  }
  if (x == 0 || isinf(a)) return upper;
  if (a == 0 || isinf(x)) return !upper;
  if (a > 1e4 && fabs(x - a) < 0.1 * a) {
    return st_gamma_large(a, x, upper ? 1 : -1);
  }
  if (x > 1.1 && x > a) {
    const double q = st_gamma_fraction(a, x);
    return upper ? q : 1 - q;
  }
  if (upper && x <= 1.1 && (x <= 0.5 ? a * log(x) >= -0.4 : a <= 1.1 * x)) {
    return st_gamma_small(a, x);
  }
  const double p = st_gamma_series(a, x);
  return upper ? 1 - p : p;
}

#endif
