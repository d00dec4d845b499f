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

enum { MOST16 = 255 << TAPS_FRACTION };

static int32_t clip(int32_t sum, int bits, int32_t most) {
  const int32_t x = sum >> bits;
  return x < 0 ? 0 : x > most ? most : x;
}

static int32_t half_of(int bits) { return (1 << bits) >> 1; }

/* -- Every machine -------------------------------------------------------- */

static void across_plain(const taps_table *t, int channels,
                         const uint8_t *from, uint8_t *to, int16_t *to16) {
  const int bits = to16 ? t->bits - TAPS_FRACTION : t->bits;
  for (int64_t i = 0; i < t->n; i++) {
    const uint8_t *p = from + t->first[i] * channels;
    const int16_t *w = t->weights + i * t->taps;
    for (int c = 0; c < channels; c++) {
      int32_t sum = half_of(bits);
      for (int64_t k = 0; k < t->taps; k++) sum += w[k] * p[k * channels + c];
      if (to16) to16[i * channels + c] = (int16_t)clip(sum, bits, MOST16);
      else to[i * channels + c] = (uint8_t)clip(sum, bits, 255);
    }
  }
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

/* A macro, because the elements have two types. */
#define DOWN_PLAIN(name, type, fraction)                                      \
  static void name(const taps_table *t, int64_t i, const type *from,          \
                   int64_t step, uint8_t *to, int64_t n) {                    \
    const int bits = t->bits + (fraction);                                    \
    int64_t begin, m;                                                         \
    const int64_t end = used_taps(t, i, &begin);                              \
    int32_t sums[BLOCK];                                                      \
    for (int64_t x = 0; x < n; x += m) {                                      \
      m = n - x < BLOCK ? n - x : BLOCK;                                      \
      for (int64_t j = 0; j < m; j++) sums[j] = half_of(bits);                \
      for (int64_t k = begin; k < end; k++) {                                 \
        const type *row = from + (t->first[i] + k) * step + x;                \
        const int32_t w = t->weights[i * t->taps + k];                        \
        for (int64_t j = 0; j < m; j++) sums[j] += w * row[j];                \
      }                                                                       \
      for (int64_t j = 0; j < m; j++) {                                       \
        to[x + j] = (uint8_t)clip(sums[j], bits, 255);                        \
      }                                                                       \
    }                                                                         \
  }

enum { BLOCK = 256 };
DOWN_PLAIN(down_plain, uint8_t, 0)
DOWN_PLAIN(down16_plain, int16_t, TAPS_FRACTION)

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

/* The sums of both halves, as four int16 or four bytes. */
AVX2 static __m128i finish4(__m256i sum, __m128i bits) {
  const __m128i x = _mm_sra_epi32(_mm_add_epi32(
    _mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1)), bits);
  return _mm_packs_epi32(x, x);
}

AVX2 static int64_t finish4_wide(__m256i sum, __m128i bits) {
  const __m128i x = finish4(sum, bits), zero = _mm_setzero_si128();
  return _mm_cvtsi128_si64(_mm_min_epi16(_mm_max_epi16(x, zero),
                                         _mm_set1_epi16(MOST16)));
}

AVX2 static int32_t finish4_bytes(__m256i sum, __m128i bits) {
  const __m128i x = finish4(sum, bits);
  return _mm_cvtsi128_si32(_mm_packus_epi16(x, x));
}

/* What does not change from pixel to pixel. */
typedef struct across4 {
  const taps_table *t;
  int channels;
  __m256i mask, half, which;
  __m128i bits;
} across4;

AVX2 static inline __m256i sum_pixel(const across4 *a, const uint8_t *from,
                                     int64_t i) {
  const taps_table *t = a->t;
  const uint8_t *p = from + t->first[i] * a->channels;
  const int16_t *w = t->weights + i * t->taps;
  __m256i sum = a->half;
  for (int64_t k = 0; k < t->taps; k += 4, p += 4 * a->channels) {
    const __m256i pairs = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(
      _mm_loadu_si128((const void *)p)), a->mask);
    const __m256i weight = _mm256_permutevar8x32_epi32(
      _mm256_castsi128_si256(_mm_loadl_epi64((const void *)(w + k))),
      a->which);
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, weight));
  }
  return sum;
}

/* A store of four elements may reach into the next pixel, which comes after;
 * the last pixels are stored exactly. */
AVX2 static void across4_wide(const across4 *a, const uint8_t *from,
                              int16_t *to) {
  const int64_t n = a->t->n;
  int64_t i = 0;
  for (; i < n - 4; i++, to += a->channels) {
    const int64_t four = finish4_wide(sum_pixel(a, from, i), a->bits);
    memcpy(to, &four, sizeof four);
  }
  for (; i < n; i++) {
    const int64_t four = finish4_wide(sum_pixel(a, from, i), a->bits);
    int16_t parts[4];
    memcpy(parts, &four, sizeof four);
    for (int c = 0; c < a->channels; c++) *to++ = parts[c];
  }
}

AVX2 static void across4_bytes(const across4 *a, const uint8_t *from,
                               uint8_t *to) {
  const int64_t n = a->t->n;
  int64_t i = 0;
  for (; i < n - 4; i++, to += a->channels) {
    const int32_t four = finish4_bytes(sum_pixel(a, from, i), a->bits);
    memcpy(to, &four, sizeof four);
  }
  for (; i < n; i++) {
    const int32_t four = finish4_bytes(sum_pixel(a, from, i), a->bits);
    uint8_t parts[4];
    memcpy(parts, &four, sizeof four);
    for (int c = 0; c < a->channels; c++) *to++ = parts[c];
  }
}

AVX2 static void across_avx2(const taps_table *t, int channels,
                             const uint8_t *from, uint8_t *to,
                             int16_t *to16) {
  const int shift = to16 ? t->bits - TAPS_FRACTION : t->bits;
  const across4 a = {t, channels, pair_mask(channels),
    _mm256_inserti128_si256(_mm256_setzero_si256(),
                            _mm_set1_epi32(half_of(shift)), 0),
    _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1), _mm_cvtsi32_si128(shift)};
  if (to16) across4_wide(&a, from, to16);
  else across4_bytes(&a, from, to);
}

/* One channel: eight taps at a time. */
AVX2 static void across1_avx2(const taps_table *t, const uint8_t *from,
                              uint8_t *to, int16_t *to16) {
  const int bits = to16 ? t->bits - TAPS_FRACTION : t->bits;
  for (int64_t i = 0; i < t->n; i++) {
    const uint8_t *p = from + t->first[i];
    const int16_t *w = t->weights + i * t->taps;
    __m128i sum = _mm_cvtsi32_si128(half_of(bits));
    for (int64_t k = 0; k < t->taps; k += 8) {
      const __m128i pixels = _mm_cvtepu8_epi16(
        _mm_loadl_epi64((const void *)(p + k)));
      const __m128i weight = _mm_loadu_si128((const void *)(w + k));
      sum = _mm_add_epi32(sum, _mm_madd_epi16(pixels, weight));
    }
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
    const int32_t x = _mm_cvtsi128_si32(sum);
    if (to16) to16[i] = (int16_t)clip(x, bits, MOST16);
    else to[i] = (uint8_t)clip(x, bits, 255);
  }
}

/* Weights k and k + 1, or k and 0 at the end. */
AVX2 static __m256i two_weights(const int16_t *w, int64_t k, int64_t end) {
  const uint32_t second = k + 1 < end ? (uint16_t)w[k + 1] : 0;
  return _mm256_set1_epi32((int)((uint16_t)w[k] | second << 16));
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

/* The last step overlaps the one before. */
AVX2 static void down_avx2(const taps_table *t, int64_t i,
                           const uint8_t *from, int64_t step, uint8_t *to,
                           int64_t n) {
  const int16_t *w = t->weights + i * t->taps;
  int64_t begin;
  const int64_t end = used_taps(t, i, &begin);
  const __m256i half = _mm256_set1_epi32(half_of(t->bits));
  from += t->first[i] * step;
  for (int64_t x = 0; x < n; x += 32) {
    if (x > n - 32) x = n - 32;
    __m256i sum[4] = {half, half, half, half};
    for (int64_t k = begin; k < end; k += 2) {
      const uint8_t *a = from + k * step + x;
      down_pair(sum, a, k + 1 < end ? a + step : a, two_weights(w, k, end));
    }
    _mm256_storeu_si256((void *)(to + x), finish32(sum, t->bits));
  }
}

/* 32 elements of two rows. */
AVX2 static void down16_pair(__m256i *sum, const int16_t *a, const int16_t *b,
                             __m256i weights) {
  for (int j = 0; j < 2; j++) {
    const __m256i x = _mm256_loadu_si256((const void *)(a + 16 * j));
    const __m256i y = _mm256_loadu_si256((const void *)(b + 16 * j));
    const __m256i low = _mm256_unpacklo_epi16(x, y);
    const __m256i high = _mm256_unpackhi_epi16(x, y);
    sum[2 * j] = _mm256_add_epi32(sum[2 * j],
                                  _mm256_madd_epi16(low, weights));
    sum[2 * j + 1] = _mm256_add_epi32(sum[2 * j + 1],
                                      _mm256_madd_epi16(high, weights));
  }
}

/* packus takes 8 bytes of each in turn; the permutation puts them in order. */
AVX2 static void down16_avx2(const taps_table *t, int64_t i,
                             const int16_t *from, int64_t step, uint8_t *to,
                             int64_t n) {
  const int16_t *w = t->weights + i * t->taps;
  const int bits = t->bits + TAPS_FRACTION;
  int64_t begin;
  const int64_t end = used_taps(t, i, &begin);
  const __m256i half = _mm256_set1_epi32(half_of(bits));
  from += t->first[i] * step;
  for (int64_t x = 0; x < n; x += 32) {
    if (x > n - 32) x = n - 32;
    __m256i sum[4] = {half, half, half, half};
    for (int64_t k = begin; k < end; k += 2) {
      const int16_t *a = from + k * step + x;
      down16_pair(sum, a, k + 1 < end ? a + step : a, two_weights(w, k, end));
    }
    _mm256_storeu_si256((void *)(to + x), _mm256_permute4x64_epi64(
      finish32(sum, bits), 0xd8));
  }
}

/* STRIDED_ISA lowers st_isa. */
static bool use_avx2(void) {
  return __builtin_cpu_supports("avx2") && strcmp(st_isa(), "base") != 0;
}

#endif

/* -- The choice ----------------------------------------------------------- */

void taps_across(const taps_table *t, int channels, const uint8_t *from,
                 uint8_t *to, int16_t *to16) {
#if HAS_AVX2
  if (use_avx2()) {
    if (channels == 1) across1_avx2(t, from, to, to16);
    else across_avx2(t, channels, from, to, to16);
    return;
  }
#endif
  across_plain(t, channels, from, to, to16);
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

void taps_down16(const taps_table *t, int64_t i, const int16_t *from,
                 int64_t step, uint8_t *to, int64_t n) {
#if HAS_AVX2
  if (n >= 32 && use_avx2()) {
    down16_avx2(t, i, from, step, to, n);
    return;
  }
#endif
  down16_plain(t, i, from, step, to, n);
}
