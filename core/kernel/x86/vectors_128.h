/* kernel/vectors.h with SSE2, which has two operations more than compilers
 * find.
 */
#include <emmintrin.h>

#include "kernel/generic/vectors.h"

#undef MULTIPLY_u8
#define MULTIPLY_u8(a, m) (v_u8)_mm_mul_epu32((__m128i)(a), (__m128i)(m))

#undef PAIRS_i2
#define PAIRS_i2(a, b) (v_i4)_mm_madd_epi16((__m128i)(a), (__m128i)(b))
