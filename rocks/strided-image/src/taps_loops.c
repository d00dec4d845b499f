/* The loops of resize over bytes: one for every machine, one for AVX2.
 */

#include <string.h>

#include <strided.h>

#include "taps.h"

#if defined __x86_64__
#define HAS_AVX2 1
#include <immintrin.h>
#else
#define HAS_AVX2 0
#endif

static uint8_t clip(int32_t sum, int bits) {
  const int32_t x = sum >> bits;
  return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x);
}

/* -- Every machine -------------------------------------------------------- */

static void across_plain(const taps_table *t, int channels,
                         const uint8_t *from, uint8_t *to, int64_t begin) {
  const int32_t half = (1 << t->bits) >> 1;
  for (int64_t i = begin; i < t->n; i++) {
    const uint8_t *p = from + t->first[i] * channels;
    const int16_t *w = t->weights + i * t->taps;
    for (int c = 0; c < channels; c++) {
      int32_t sum = half;
      for (int64_t k = 0; k < t->taps; k++) sum += w[k] * p[k * channels + c];
      to[i * channels + c] = clip(sum, t->bits);
    }
  }
}

static void down_plain(const taps_table *t, int64_t i, const uint8_t *from,
                       int64_t step, uint8_t *to, int64_t n) {
  enum { BLOCK = 256 };
  const int16_t *w = t->weights + i * t->taps;
  int32_t sums[BLOCK];
  for (int64_t x = 0; x < n; x += BLOCK) {
    const int64_t m = n - x < BLOCK ? n - x : BLOCK;
    for (int64_t j = 0; j < m; j++) sums[j] = (1 << t->bits) >> 1;
    for (int64_t k = 0; k < t->taps && t->first[i] + k < t->in; k++) {
      const uint8_t *row = from + (t->first[i] + k) * step + x;
      if (w[k] == 0) continue;
      for (int64_t j = 0; j < m; j++) sums[j] += w[k] * row[j];
    }
    for (int64_t j = 0; j < m; j++) to[x + j] = clip(sums[j], t->bits);
  }
}

/* -- AVX2 ----------------------------------------------------------------- */

#if HAS_AVX2

#define AVX2 __attribute__((target("avx2")))

/* Four pixels as 16-bit pairs of the same channel: pixels 0 and 1 in the low
 * half, 2 and 3 in the high half. */
AVX2 static __m256i pair_mask(int channels) {
  int8_t mask[32];
  memset(mask, -1, sizeof mask);
  for (int half = 0; half < 2; half++) {
    for (int c = 0; c < channels; c++) {
      int8_t *to = mask + 16 * half + 4 * c;
      to[0] = (int8_t)((2 * half) * channels + c);
      to[2] = (int8_t)((2 * half + 1) * channels + c);
    }
  }
  return _mm256_loadu_si256((const void *)mask);
}

/* The sums of both halves as four bytes. */
AVX2 static int32_t finish4(__m256i sum, __m128i bits) {
  __m128i x = _mm_add_epi32(_mm256_castsi256_si128(sum),
                            _mm256_extracti128_si256(sum, 1));
  x = _mm_sra_epi32(x, bits);
  x = _mm_packs_epi32(x, x);
  return _mm_cvtsi128_si32(_mm_packus_epi16(x, x));
}

/* A store of four bytes may reach into the next pixel, which comes after. */
AVX2 static void across_avx2(const taps_table *t, int channels,
                             const uint8_t *from, uint8_t *to) {
  const __m256i mask = pair_mask(channels);
  const __m256i which = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
  const __m128i bits = _mm_cvtsi32_si128(t->bits);
  const __m256i half = _mm256_setr_epi32(
    (1 << t->bits) >> 1, (1 << t->bits) >> 1, (1 << t->bits) >> 1,
    (1 << t->bits) >> 1, 0, 0, 0, 0);
  const int64_t safe = t->n - 4; /* the last pixels are stored exactly */
  for (int64_t i = 0; i < t->n; i++) {
    const uint8_t *p = from + t->first[i] * channels;
    const int16_t *w = t->weights + i * t->taps;
    __m256i sum = half;
    for (int64_t k = 0; k < t->taps; k += 4) {
      __m128i pixels = _mm_loadu_si128((const void *)(p + k * channels));
      __m256i pairs = _mm256_shuffle_epi8(
        _mm256_broadcastsi128_si256(pixels), mask);
      __m256i weight = _mm256_permutevar8x32_epi32(
        _mm256_castsi128_si256(_mm_loadl_epi64((const void *)(w + k))), which);
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, weight));
    }
    const int32_t four = finish4(sum, bits);
    memcpy(to + i * channels, &four, i < safe ? 4 : (size_t)channels);
  }
}

/* One channel: eight taps at a time. */
AVX2 static void across1_avx2(const taps_table *t, const uint8_t *from,
                              uint8_t *to) {
  const int32_t half = (1 << t->bits) >> 1;
  for (int64_t i = 0; i < t->n; i++) {
    const uint8_t *p = from + t->first[i];
    const int16_t *w = t->weights + i * t->taps;
    __m128i sum = _mm_cvtsi32_si128(half);
    for (int64_t k = 0; k < t->taps; k += 8) {
      const __m128i pixels = _mm_cvtepu8_epi16(
        _mm_loadl_epi64((const void *)(p + k)));
      const __m128i weight = _mm_loadu_si128((const void *)(w + k));
      sum = _mm_add_epi32(sum, _mm_madd_epi16(pixels, weight));
    }
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
    to[i] = clip(_mm_cvtsi128_si32(sum), t->bits);
  }
}

/* 32 bytes of two rows. */
AVX2 static void down_pair(__m256i *sum, const uint8_t *a, const uint8_t *b,
                           __m256i weights) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i x = _mm256_loadu_si256((const void *)a);
  const __m256i y = _mm256_loadu_si256((const void *)b);
  const __m256i low = _mm256_unpacklo_epi8(x, y);
  const __m256i high = _mm256_unpackhi_epi8(x, y);
  const __m256i four[4] = {
    _mm256_unpacklo_epi8(low, zero), _mm256_unpackhi_epi8(low, zero),
    _mm256_unpacklo_epi8(high, zero), _mm256_unpackhi_epi8(high, zero)};
  for (int j = 0; j < 4; j++) {
    sum[j] = _mm256_add_epi32(sum[j], _mm256_madd_epi16(four[j], weights));
  }
}

AVX2 static __m256i finish32(const __m256i *sum, int shift) {
  const __m128i bits = _mm_cvtsi32_si128(shift);
  const __m256i a = _mm256_packs_epi32(_mm256_sra_epi32(sum[0], bits),
                                       _mm256_sra_epi32(sum[1], bits));
  const __m256i b = _mm256_packs_epi32(_mm256_sra_epi32(sum[2], bits),
                                       _mm256_sra_epi32(sum[3], bits));
  return _mm256_packus_epi16(a, b);
}

/* The taps of row i that are in the image and not 0 at the ends. */
static int64_t used_taps(const taps_table *t, int64_t i, int64_t *begin) {
  const int16_t *w = t->weights + i * t->taps;
  int64_t end = t->in - t->first[i], k = 0;
  if (end > t->taps) end = t->taps;
  while (end > 0 && w[end - 1] == 0) end--;
  while (k < end && w[k] == 0) k++;
  *begin = k;
  return end;
}

/* The last step overlaps the one before. */
AVX2 static void down_avx2(const taps_table *t, int64_t i,
                           const uint8_t *from, int64_t step, uint8_t *to,
                           int64_t n) {
  const int16_t *w = t->weights + i * t->taps;
  int64_t begin;
  const int64_t end = used_taps(t, i, &begin);
  const __m256i half = _mm256_set1_epi32((1 << t->bits) >> 1);
  from += t->first[i] * step;
  for (int64_t x = 0; x < n; x += 32) {
    if (x > n - 32) x = n - 32;
    __m256i sum[4] = {half, half, half, half};
    for (int64_t k = begin; k < end; k += 2) {
      const uint8_t *a = from + k * step + x;
      const bool two = k + 1 < end;
      const uint32_t pair = (uint16_t)w[k] |
                            (two ? (uint32_t)(uint16_t)w[k + 1] << 16 : 0);
      down_pair(sum, a, two ? a + step : a, _mm256_set1_epi32((int)pair));
    }
    _mm256_storeu_si256((void *)(to + x), finish32(sum, t->bits));
  }
}

/* STRIDED_ISA lowers st_isa. */
static bool use_avx2(void) { return strcmp(st_isa(), "base") != 0; }

#endif

/* -- The choice ----------------------------------------------------------- */

void taps_across(const taps_table *t, int channels, const uint8_t *from,
                 uint8_t *to) {
#if HAS_AVX2
  if (use_avx2()) {
    if (channels == 1) across1_avx2(t, from, to);
    else across_avx2(t, channels, from, to);
    return;
  }
#endif
  across_plain(t, channels, from, to, 0);
}

void taps_down(const taps_table *t, int64_t i, const uint8_t *from,
               int64_t step, uint8_t *to, int64_t n) {
#if HAS_AVX2
  if (n >= 32 && use_avx2()) {
    down_avx2(t, i, from, step, to, n);
    return;
  }
#endif
  down_plain(t, i, from, step, to, n);
}
