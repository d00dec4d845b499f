/* Reductions of float16 and bfloat16: each step is computed in float32 and
 * rounded to nearest even. No branch depends on the elements, so that the
 * compiler vectorizes the loops, once for every x86-64 and once for AVX2; both
 * give the same bits.
 */

#include <string.h>

#include "stmpi.h"

/* -- Conversions ---------------------------------------------------------- */

static inline float float_of(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static inline uint32_t bits_of(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static inline float from_bfloat(uint16_t h) {
  return float_of((uint32_t)h << 16);
}

static inline uint16_t to_bfloat(float f) {
  const uint32_t u = bits_of(f);
  const uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
  const uint32_t nan = (u >> 16) | 0x40;
  return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

/* The exponent and fraction of h, shifted into place, times 2^112: also right
 * for subnormal numbers. */
static inline float from_half(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16;
  const uint32_t rest = (uint32_t)(h & 0x7fff) << 13;
  const uint32_t finite = bits_of(float_of(rest) * 0x1p112f);
  const uint32_t special = rest | 0x7f800000;
  return float_of(sign | ((h & 0x7c00) == 0x7c00 ? special : finite));
}

/* A normal half rounds at bit 13. The sum of a smaller number and 0.5 rounds at
 * the last bit of a subnormal half, and has its bits at the end. */
static inline uint16_t to_half(float f) {
  const uint32_t u = bits_of(f), sign = (u >> 16) & 0x8000;
  const uint32_t rest = u & 0x7fffffff;
  const uint32_t odd = (rest >> 13) & 1;
  const uint32_t normal = (rest - 0x38000000 + 0xfff + odd) >> 13;
  const uint32_t small = bits_of(float_of(rest) + 0.5f) - 0x3f000000;
  const uint32_t nan = 0x7e00 | ((rest >> 13) & 0x3ff);
  uint32_t h = rest < 0x38800000 ? small : normal;
  h = rest >= 0x477ff000 ? 0x7c00 : h;
  h = rest > 0x7f800000 ? nan : h;
  return (uint16_t)(sign | h);
}

/* -- Loops ---------------------------------------------------------------- */

#define LOOP(from, to, e)                                                   \
  for (int64_t i = 0; i < n; i++) {                                         \
    const float x = from(a[i]), y = from(b[i]);                             \
    a[i] = to(e);                                                           \
  }

#define LOOPS(from, to)                                                     \
  switch (r) {                                                              \
    case STMPI_PROD: LOOP(from, to, x * y) break;                           \
    case STMPI_MIN: LOOP(from, to, y < x || y != y ? y : x) break;          \
    case STMPI_MAX: LOOP(from, to, y > x || y != y ? y : x) break;          \
    default: LOOP(from, to, x + y)                                          \
  }

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("avx2", "default")))
#endif
void stmpi_half(stmpi_reduction r, bool is_bfloat, const uint16_t *restrict b,
                uint16_t *restrict a, int64_t n) {
  if (is_bfloat) {
    LOOPS(from_bfloat, to_bfloat)
  } else {
    LOOPS(from_half, to_half)
  }
}
