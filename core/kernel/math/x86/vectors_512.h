/* Functions of whole vectors with AVX-512: st_<name>_512_f4 and
 * st_<name>_512_f8 for the rows of vectors_512.def.
 *
 * A function replaces an array of ST_NVECTORS vectors, or returns false: Note
 * [Plain arguments]. EACH step is made for one vector after the other, so that
 * a processor has work while a result is not ready.
 */
#ifndef ST_KERNEL_MATH_X86_VECTORS_512_H
#define ST_KERNEL_MATH_X86_VECTORS_512_H

#include <immintrin.h>
#include <stdbool.h>

#include "kernel/math/far_angle.h"
#include "kernel/polynomials.h"
#include "kernel/unroll.h"

#ifndef ST_NVECTORS
#define ST_NVECTORS 2
#endif
_Static_assert(ST_NVECTORS <= 2, "see is_beyond");
#define EACH UNROLL for (int j = 0; j < ST_NVECTORS; j++)

#undef ST_FIRST
#undef ST_NEXT
#define ST_FIRST(p, x, c) V p[ST_NVECTORS]; EACH p[j] = SET(c);
#define ST_NEXT(p, x, c) EACH p[j] = FMA(p[j], x[j], SET(c));

#define FMA OP(fmadd)
/* OP(range) of two numbers: the one nearer to or farther from 0, without its
 * sign. */
#define NEAREST 10
#define FARTHEST 11
#define NOT_POSITIVE_NORMAL 0xff /* of AS_MASK(fpclass) */
#define SUBNORMAL 0x20
#define ROUND_UP (_MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)

#define WIDTH 4
#define T float
#define V __m512
#define ROW(name) st_##name##_512_f4
#define K(f4, f8) f4##f
#define FAR ST_FAR_f4
#define SET(c) _mm512_set1_ps(c)
#define OP(name) _mm512_##name##_ps
#define AS_MASK(name) _mm512_##name##_ps_mask
#define BITS_OP(name) _mm512_##name##_epi32
#define TEST(a, b) _mm512_test_epi32_mask(a, b)
#define BITS_OF(x) _mm512_castps_si512(x)
#define FROM_BITS(u) _mm512_castsi512_ps(u)
#define POLYNOMIAL(p, x, name) name##_f4(p, x)
#define MASK __mmask16
#include "kernel/math/x86/vectors_512.def"
#undef WIDTH
#undef T
#undef V
#undef ROW
#undef K
#undef FAR
#undef SET
#undef OP
#undef AS_MASK
#undef BITS_OP
#undef TEST
#undef BITS_OF
#undef FROM_BITS
#undef POLYNOMIAL
#undef MASK

#define WIDTH 8
#define T double
#define V __m512d
#define ROW(name) st_##name##_512_f8
#define K(f4, f8) f8
#define FAR ST_FAR_f8
#define SET(c) _mm512_set1_pd(c)
#define OP(name) _mm512_##name##_pd
#define AS_MASK(name) _mm512_##name##_pd_mask
#define BITS_OP(name) _mm512_##name##_epi64
#define TEST(a, b) _mm512_test_epi64_mask(a, b)
#define BITS_OF(x) _mm512_castpd_si512(x)
#define FROM_BITS(u) _mm512_castsi512_pd(u)
#define POLYNOMIAL(p, x, name) name##_f8(p, x)
#define MASK __mmask8
#include "kernel/math/x86/vectors_512.def"
#undef WIDTH
#undef T
#undef V
#undef ROW
#undef K
#undef FAR
#undef SET
#undef OP
#undef AS_MASK
#undef BITS_OP
#undef TEST
#undef BITS_OF
#undef FROM_BITS
#undef POLYNOMIAL
#undef MASK
#undef FMA
#undef NEAREST
#undef FARTHEST
#undef NOT_POSITIVE_NORMAL
#undef SUBNORMAL
#undef ROUND_UP

#endif
