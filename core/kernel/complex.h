/* Complex products and quotients by the textbook formulas, without the
 * recovery of infinities of C's Annex G: as in PyTorch, and vectorisable.
 */
#ifndef ST_KERNEL_COMPLEX_H
#define ST_KERNEL_COMPLEX_H

#include <complex.h>
#include <math.h>

#include "kernel/isa.h"

/* glibc defines them for GCC only. */
#ifndef CMPLX
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#define CMPLXF(re, im) __builtin_complex((float)(re), (float)(im))
#endif

/* Note [No fused complex products]
 * Even under -ffp-contract=off GCC compiles the sum and the difference of
 * vectorised complex products to fused multiply-add where the instruction set
 * has it. float32 products are exact in float64, so fusing does not change
 * them. The others go through st_rounded, which keeps them scalar and rounds
 * each product. */
static inline float st_roundedf(float x) {
  ST_KEEP_ROUNDED(x);
  return x;
}

static inline double st_rounded(double x) {
  ST_KEEP_ROUNDED(x);
  return x;
}

static inline float _Complex st_cmulf(float _Complex x, float _Complex y) {
  const double a = crealf(x), b = cimagf(x), c = crealf(y), d = cimagf(y);
  return CMPLXF((float)(a * c - b * d), (float)(a * d + b * c));
}

static inline double _Complex st_cmul(double _Complex x, double _Complex y) {
  const double a = creal(x), b = cimag(x), c = creal(y), d = cimag(y);
  return CMPLX(st_rounded(a * c) - st_rounded(b * d),
               st_rounded(a * d) + st_rounded(b * c));
}

/* Smith's algorithm: scales by the larger part of the divisor. */
static inline double _Complex st_cdiv(double _Complex x, double _Complex y) {
  const double a = creal(x), b = cimag(x), c = creal(y), d = cimag(y);
  if (fabs(c) >= fabs(d)) {
    if (c == 0) return CMPLX(a / fabs(c), b / fabs(d));
    const double r = d / c, s = 1 / (c + st_rounded(d * r));
    return CMPLX((a + st_rounded(b * r)) * s, (b - st_rounded(a * r)) * s);
  }
  const double r = c / d, s = 1 / (st_rounded(c * r) + d);
  return CMPLX((st_rounded(a * r) + b) * s, (st_rounded(b * r) - a) * s);
}

static inline float _Complex st_cdivf(float _Complex x, float _Complex y) {
  const float a = crealf(x), b = cimagf(x), c = crealf(y), d = cimagf(y);
  if (fabsf(c) >= fabsf(d)) {
    if (c == 0) return CMPLXF(a / fabsf(c), b / fabsf(d));
    const float r = d / c, s = 1 / (c + st_roundedf(d * r));
    return CMPLXF((a + st_roundedf(b * r)) * s, (b - st_roundedf(a * r)) * s);
  }
  const float r = c / d, s = 1 / (st_roundedf(c * r) + d);
  return CMPLXF((st_roundedf(a * r) + b) * s, (st_roundedf(b * r) - a) * s);
}

/* Divides each part by a real scalar, so that a zero part stays zero. */
static inline double _Complex st_cdiv_real(double _Complex x, double by) {
  return CMPLX(creal(x) / by, cimag(x) / by);
}

static inline float _Complex st_cdivf_real(float _Complex x, double by) {
  return CMPLXF(crealf(x) / (float)by, cimagf(x) / (float)by);
}

#define ST_CMUL(x, y) \
  _Generic((x), float _Complex: st_cmulf, default: st_cmul)(x, y)
#define ST_CDIV(x, y) \
  _Generic((x), float _Complex: st_cdivf, default: st_cdiv)(x, y)
#define ST_CDIV_REAL(x, by) \
  _Generic((x), float _Complex: st_cdivf_real, default: st_cdiv_real)(x, by)

#endif
