/* Luma of rows of interleaved RGB: eight pixels at a time with AVX2, with the
 * same sums as one at a time.
 */

#include <string.h>

#include <strided.h>

#include "luma.h"

enum { RED = 19595, GREEN = 38470, BLUE = 7471, HALF = 32768 };

static void plain(const uint8_t *rgb, uint8_t *to, int64_t n) {
  for (int64_t i = 0; i < n; i++, rgb += 3) {
    to[i] = (uint8_t)((RED * (uint32_t)rgb[0] + GREEN * (uint32_t)rgb[1] +
                       BLUE * (uint32_t)rgb[2] + HALF) >> 16);
  }
}

#if defined __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

/* GREEN is no int16: half of it goes to each of two sums of products. Four
 * pixels lie in the low half, four in the high half. */
AVX2 static __m256i eight(const uint8_t *rgb) {
  const __m256i red_green = _mm256_setr_epi8(
    0, -1, 1, -1, 3, -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1,
    0, -1, 1, -1, 3, -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1);
  const __m256i green_blue = _mm256_setr_epi8(
    1, -1, 2, -1, 4, -1, 5, -1, 7, -1, 8, -1, 10, -1, 11, -1,
    1, -1, 2, -1, 4, -1, 5, -1, 7, -1, 8, -1, 10, -1, 11, -1);
  const __m256i x = _mm256_inserti128_si256(
    _mm256_castsi128_si256(_mm_loadu_si128((const void *)rgb)),
    _mm_loadu_si128((const void *)(rgb + 12)), 1);
  const __m256i a = _mm256_madd_epi16(_mm256_shuffle_epi8(x, red_green),
    _mm256_set1_epi32(RED | GREEN / 2 << 16));
  const __m256i b = _mm256_madd_epi16(_mm256_shuffle_epi8(x, green_blue),
    _mm256_set1_epi32(GREEN / 2 | BLUE << 16));
  return _mm256_srli_epi32(_mm256_add_epi32(
    _mm256_add_epi32(a, b), _mm256_set1_epi32(HALF)), 16);
}

/* A step reads 28 bytes of its 24. */
AVX2 static int64_t fast(const uint8_t *rgb, uint8_t *to, int64_t n) {
  int64_t i = 0;
  for (; i + 10 <= n; i += 8) {
    const __m256i x = eight(rgb + 3 * i);
    const __m256i y = _mm256_packus_epi16(_mm256_packs_epi32(x, x),
                                          _mm256_setzero_si256());
    const int32_t low = _mm256_extract_epi32(y, 0);
    const int32_t high = _mm256_extract_epi32(y, 4);
    memcpy(to + i, &low, sizeof low);
    memcpy(to + i + 4, &high, sizeof high);
  }
  return i;
}

/* STRIDED_ISA lowers st_isa. */
static bool use_avx2(void) {
  return __builtin_cpu_supports("avx2") && strcmp(st_isa(), "base") != 0;
}
#endif

void luma_row(const uint8_t *rgb, uint8_t *to, int64_t n) {
  int64_t i = 0;
#if defined __x86_64__
  if (use_avx2()) i = fast(rgb, to, n);
#endif
  plain(rgb + 3 * i, to + i, n - i);
}
