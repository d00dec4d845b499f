/* exp2, expm1, log1p and log(exp(x) + exp(y)) of complex numbers. The formulas
 * are PyTorch 2.15's, except log1p: that of its CPU kernels is NaN for some
 * infinities and subnormal numbers.
 */
#ifndef ST_KERNEL_MATH_COMPLEX_EXP_LOG_H
#define ST_KERNEL_MATH_COMPLEX_EXP_LOG_H

#include <stdbool.h>

#include "kernel/complex.h"

/* f: the suffix of the functions of <math.h> for the real type T. */

#define EXP2(T, C, MAKE, f)                                                  \
  static inline C st_cexp2##f(C z) {                                         \
    const T ln2 = (T)0.69314718055994530942;                                 \
    return cexp##f(MAKE(creal##f(z) * ln2, cimag##f(z) * ln2));              \
  }

/* exp(x + iy) - 1 = expm1(x) cos(y) - 2 sin(y / 2)^2 + i exp(x) sin(y) */
#define EXPM1(T, C, MAKE, f)                                                 \
  static inline C st_cexpm1##f(C z) {                                        \
    const T x = creal##f(z), y = cimag##f(z), half = sin##f(y / 2);          \
    return MAKE(expm1##f(x) * cos##f(y) - 2 * half * half,                   \
                exp##f(x) * sin##f(y));                                      \
  }

/* Near 0, |1 + z|^2 - 1 = x (2 + x) + y^2; it is 0 only if it underflows. */
#define LOG1P(T, C, MAKE, f)                                                 \
  static inline C st_clog1p##f(C z) {                                        \
    const T x = creal##f(z), y = cimag##f(z), angle = atan2##f(y, x + 1);    \
    if (!(cabs##f(z) < (T)0.5)) {                                            \
      return MAKE(log##f(hypot##f(x + 1, y)), angle);                        \
    }                                                                        \
    const T r = x * (2 + x) + y * y;                                         \
    return MAKE(r == 0 ? x : log1p##f(r) / 2, angle);                        \
  }

#define HAS_NAN(T, C, MAKE, f)                                               \
  static inline bool st_cisnan##f(C z) {                                     \
    return isnan(creal##f(z)) || isnan(cimag##f(z));                         \
  }

/* A NaN in either part makes both parts NaN. */
#define LOG_ADD_EXP(T, C, MAKE, f)                                           \
  static inline C st_clogaddexp##f(C x, C y) {                               \
    if (st_cisnan##f(x) || st_cisnan##f(y)) return MAKE(NAN, NAN);           \
    const bool less = creal##f(x) < creal##f(y);                             \
    const C low = less ? x : y, high = less ? y : x;                         \
    const T bottom = creal##f(low);                                          \
    if (!isfinite(bottom) && bottom == creal##f(high)) {                     \
      return bottom < 0 ? low : clog##f(cexp##f(low) + cexp##f(high));       \
    }                                                                        \
    return st_clog1p##f(cexp##f(low - high)) + high;                         \
  }

#define COMPLEX_FUNCTION(M) \
  M(float, float _Complex, CMPLXF, f) M(double, double _Complex, CMPLX, )

COMPLEX_FUNCTION(EXP2)
COMPLEX_FUNCTION(EXPM1)
COMPLEX_FUNCTION(LOG1P)
COMPLEX_FUNCTION(HAS_NAN)
COMPLEX_FUNCTION(LOG_ADD_EXP)
#undef EXP2
#undef EXPM1
#undef LOG1P
#undef HAS_NAN
#undef LOG_ADD_EXP
#undef COMPLEX_FUNCTION

#define ST_CEXP2(z) \
  _Generic((z), float _Complex: st_cexp2f, default: st_cexp2)(z)
#define ST_CEXPM1(z) \
  _Generic((z), float _Complex: st_cexpm1f, default: st_cexpm1)(z)
#define ST_CLOG1P(z) \
  _Generic((z), float _Complex: st_clog1pf, default: st_clog1p)(z)
#define ST_CLOGADDEXP(x, y) \
  _Generic((x), float _Complex: st_clogaddexpf, default: st_clogaddexp)(x, y)

#endif
