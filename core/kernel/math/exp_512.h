/* exp of whole vectors with AVX-512, which has instructions for bounds that
 * keep NaN and for the product with a power of 2, rounded once: compilers do
 * not make them of functions.def. The steps and the bits are those of its exp.
 */
#ifndef ST_KERNEL_MATH_EXP_512_H
#define ST_KERNEL_MATH_EXP_512_H

#include <immintrin.h>

#include "kernel/math/polynomials.h"

#undef ST_FIRST
#define ST_FIRST(p, x, c) p = SET(c);

/* ps: the suffix of the instructions. The last numbers: bounds, 1 / log(2),
 * log(2) in two parts, and 1.5 * 2^mantissa. */
#define ST_EXP_512(tag, vector, ps, least, most, inverse, hi, lo, magic)     \
  static inline vector st_exp_512_##tag(vector x) {                          \
    const vector low = _mm512_max_##ps(SET(least), x);                       \
    const vector y = _mm512_min_##ps(SET(most), low);                        \
    const vector k = _mm512_sub_##ps(FMA(y, SET(inverse), magic),            \
                                     SET(magic));                            \
    const vector r = _mm512_fmadd_##ps(                                      \
      k, SET(-lo), _mm512_fmadd_##ps(k, SET(-hi), y));                       \
    vector p;                                                                \
    EXP_##tag(p, r)                                                          \
    return _mm512_scalef_##ps(FMA(FMA(p, r, 1), r, 1), k);                   \
  }

#define SET(c) _mm512_set1_ps((float)(c))
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, SET(c))
ST_EXP_512(f4, __m512, ps, -104, 89, 0x1.715476p0, 0x1.62e4p-1, 0x1.7f7d1cp-20,
           0x1.8p23)
#undef SET
#undef FMA
#define SET(c) _mm512_set1_pd(c)
#define FMA(a, b, c) _mm512_fmadd_pd(a, b, SET(c))
ST_EXP_512(f8, __m512d, pd, -746, 710, 0x1.71547652b82fep0, 0x1.62e42feep-1,
           0x1.a39ef35793c76p-33, 0x1.8p52)
#undef SET
#undef FMA
#undef ST_EXP_512

#endif
