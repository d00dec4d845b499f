/* Note [Steps by permutation] with AVX2, and with AVX-512, whose permutations
 * cross lanes; a part of elementwise/steps.h.
 */
#include <immintrin.h>

#define ST_LOAD(p) _mm_loadu_si128((const __m128i_u *)(const void *)(p))
#define ST_STORE(p, x) _mm_storeu_si128((__m128i_u *)(void *)(p), x)
#define ST_PLACE(sum, at, x) _mm_or_si128(sum, _mm_shuffle_epi8(x, at))
#define ST_PERMUTED_128(b, lanes, most, there, keep)                         \
  ST_STEP_INDICES(b, lanes, there, keep)                                     \
  ST_STEP_BLOCK(b, lanes, __m128i, ST_LOAD, ST_PLACE)                        \
  ST_PERMUTED_STEPS(b, lanes, most, ST_STORE)
#define ST_PLACE_2(sum, at, x) _mm512_permutex2var_epi16(sum, at, x)
#define ST_PLACE_4(sum, at, x) _mm512_permutex2var_epi32(sum, at, x)
#define ST_PERMUTED_512(b, lanes, most)                                      \
  ST_STEP_INDICES(b, lanes, lanes + i, e)                                    \
  ST_STEP_BLOCK(b, lanes, __m512i, _mm512_loadu_si512, ST_PLACE_##b)         \
  ST_PERMUTED_STEPS(b, lanes, most, _mm512_storeu_si512)

ST_PERMUTED_128(1, 16, 16, i, 0x80)
#if ST_VECTOR_BYTES == 64
ST_PERMUTED_512(2, 32, 12)
ST_PERMUTED_512(4, 16, 8)
#else
ST_PERMUTED_128(2, 8, 8, 0x202 * i + 0x100, 0x8080)
ST_NO_PERMUTED_STEPS(4)
#endif

#undef ST_LOAD
#undef ST_STORE
#undef ST_PLACE
#undef ST_PLACE_2
#undef ST_PLACE_4
#undef ST_PERMUTED_128
#undef ST_PERMUTED_512
