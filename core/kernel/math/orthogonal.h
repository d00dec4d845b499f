/* Orthogonal polynomials in double precision, by the recurrences of DLMF 18.9:
 * each begins with 1 and a linear polynomial.
 *
 * As in ATen the degree is truncated, a negative one or one that is no number
 * gives 0, and a recurrence that overflows gives NaN. So does one of more than
 * 2^20 steps, which would not end.
 */
#ifndef ST_KERNEL_MATH_ORTHOGONAL_H
#define ST_KERNEL_MATH_ORTHOGONAL_H

#include <math.h>
#include <stdint.h>

typedef enum st_polynomials {
  ST_CHEBYSHEV_T,
  ST_CHEBYSHEV_U,
  ST_CHEBYSHEV_V,
  ST_CHEBYSHEV_W,
  ST_HERMITE_H,
  ST_HERMITE_HE,
  ST_LAGUERRE_L,
  ST_LEGENDRE_P
} st_polynomials;

/* The polynomial of degree 1. */
static inline double st_linear(st_polynomials kind, double x) {
  switch (kind) {
    case ST_CHEBYSHEV_U: case ST_HERMITE_H: return x + x;
    case ST_CHEBYSHEV_V: return x + x - 1;
    case ST_CHEBYSHEV_W: return x + x + 1;
    case ST_LAGUERRE_L: return 1 - x;
    default: return x;
  }
}

/* The polynomial of degree k + 1 from q, of degree k, and p, of k - 1. */
static inline double st_next_degree(st_polynomials kind, double x, double k,
                                    double q, double p) {
  switch (kind) {
    case ST_HERMITE_H: return (x + x) * q - (k + k) * p;
    case ST_HERMITE_HE: return x * q - k * p;
    case ST_LAGUERRE_L: return ((k + k + (1 - x)) * q - k * p) / (k + 1);
    case ST_LEGENDRE_P: return ((k + k + 1) * x * q - k * p) / (k + 1);
    default: return (x + x) * q - p;
  }
}

/* Chebyshev polynomials between -1 and 1: DLMF 18.5.1 to 18.5.4. */
static inline double st_chebyshev_inside(st_polynomials kind, double x,
                                         double n) {
  const double angle = acos(x);
  switch (kind) {
    case ST_CHEBYSHEV_U: return sin((n + 1) * angle) / sin(angle);
    case ST_CHEBYSHEV_V: return cos((n + 0.5) * angle) / cos(angle / 2);
    case ST_CHEBYSHEV_W: return sin((n + 0.5) * angle) / sin(angle / 2);
    default: return cos(n * angle);
  }
}

/* At 1 and -1, where a recurrence would take n steps: the sign alternates at
 * -1, and the size is 1, n + 1 or 2n + 1. */
static inline double st_polynomial_at_one(st_polynomials kind, double x,
                                          double n) {
  const double sign = x < 0 && fmod(n, 2) != 0 ? -1 : 1;
  switch (kind) {
    case ST_CHEBYSHEV_U: return sign * (n + 1);
    case ST_CHEBYSHEV_V: return sign * (x < 0 ? n + n + 1 : 1);
    case ST_CHEBYSHEV_W: return sign * (x < 0 ? 1 : n + n + 1);
    default: return sign;
  }
}

/* most: the degree beyond which a Hermite polynomial is NaN, as in ATen. */
static inline double st_orthogonal(st_polynomials kind, double x, double n,
                                   double most) {
  const int is_hermite = kind == ST_HERMITE_H || kind == ST_HERMITE_HE;
  if (!(n > -1 && n < 0x1p63)) return 0;
  const double degree = trunc(n);
  if (degree == 0) return 1;
  if (is_hermite && degree > most) return NAN;
  if (kind == ST_LAGUERRE_L && x == 0) return 1;
  if (!is_hermite && kind != ST_LAGUERRE_L && fabs(x) == 1) {
    return st_polynomial_at_one(kind, x, degree);
  }
  if (kind <= ST_CHEBYSHEV_W && degree > 8 && fabs(x) < 1) {
    return st_chebyshev_inside(kind, x, degree);
  }
  if (degree > 0x1p20) return NAN;
  double p = 1, q = st_linear(kind, x);
  for (double k = 1; k < degree && !isnan(q); k++) {
    const double next = st_next_degree(kind, x, k, q, p);
    p = q;
    q = next;
  }
  return q;
}

#endif
