/* Sorting keys: elements mapped to unsigned integers of the same order.
 *
 * Note [Sorting keys]
 * The sign bit of integers is flipped, negative floats are inverted, -0 becomes
 * 0, every NaN becomes the greatest key, and keys are inverted for descending
 * order. An element can be told from its key, but for the sign of a zero and
 * the bits of a NaN.
 */
#ifndef ST_KERNEL_SORT_KEYS_H
#define ST_KERNEL_SORT_KEYS_H

#include <string.h>

#include "kernel/dtype_tables.h"

#define UNSIGNED(x) (x)
#define TRUTH(x) ((x) != 0)
#define SIGNED32(x) ((uint32_t)(int32_t)(x) ^ 0x80000000u)
#define SIGNED32_OF(key) ((int32_t)((key) ^ 0x80000000u))
#define SIGNED64(x) ((uint64_t)(x) ^ 0x8000000000000000u)
#define SIGNED64_OF(key) ((int64_t)((key) ^ 0x8000000000000000u))
#define NEVER_LOST(key) 0

static inline uint32_t float_key(float x) {
  const uint32_t u = st__float_bits(x + 0.0f);
  const uint32_t key = u ^ ((u >> 31) ? 0xffffffffu : 0x80000000u);
  return x != x ? 0xffffffffu : key;
}
static inline uint64_t double_key(double x) {
  uint64_t u;
  x += 0.0;
  memcpy(&u, &x, 8);
  const uint64_t key = u ^ ((u >> 63) ? ~UINT64_C(0) : UINT64_C(1) << 63);
  return x != x ? ~UINT64_C(0) : key;
}

static inline float float_of_key(uint32_t key) {
  return st__bits_float(key ^ ((key >> 31) ? 0x80000000u : 0xffffffffu));
}
static inline double double_of_key(uint64_t key) {
  double x;
  key ^= (key >> 63) ? UINT64_C(1) << 63 : ~UINT64_C(0);
  memcpy(&x, &key, 8);
  return x;
}
/* Whether the key is one of several floats. */
#define FLOAT_LOST(key) ((key) == 0x80000000u || (key) == 0xffffffffu)
#define DOUBLE_LOST(key) \
  ((key) == UINT64_C(1) << 63 || (key) == ~UINT64_C(0))

/* The key of a float of 16 bits, from the bits of it and of infinity. */
static inline uint32_t bits_key(uint32_t bits, uint32_t infinity) {
  const uint32_t size = bits & 0x7fff;
  const uint32_t key = bits >> 15 ? 0x8000 - size : 0x8000 + size;
  return size > infinity ? 0xffffffffu : key;
}
#define HALF_KEY(x) bits_key(x, 0x7c00)
#define BF16_KEY(x) bits_key(x, 0x7f80)
#define FLOAT8_KEY(a, tag, conversion)                                       \
  static inline uint32_t key_##tag(uint8_t x) {                              \
    return float_key(st__##conversion##_to_float(x));                        \
  }
ST_FLOAT8_TAGS(FLOAT8_KEY, 0)

/* M(suffix, type, type of keys, key of x) for each dtype that has an order. */
#define EACH_KEY(M)                                                          \
  M(u8, uint8_t, uint32_t, UNSIGNED)    M(b8, uint8_t, uint32_t, TRUTH)      \
  M(i8, int8_t, uint32_t, SIGNED32)     M(i16, int16_t, uint32_t, SIGNED32)  \
  M(i32, int32_t, uint32_t, SIGNED32)   M(i64, int64_t, uint64_t, SIGNED64)  \
  M(u16, uint16_t, uint32_t, UNSIGNED)  M(u32, uint32_t, uint32_t, UNSIGNED) \
  M(u64, uint64_t, uint64_t, UNSIGNED)  M(f32, float, uint32_t, float_key)   \
  M(f64, double, uint64_t, double_key)  M(f16, uint16_t, uint32_t, HALF_KEY) \
  M(bf16, uint16_t, uint32_t, BF16_KEY) ST_FLOAT8_TAGS(EACH_FLOAT8_KEY, M)
#define EACH_FLOAT8_KEY(M, tag, conversion) \
  M(tag, uint8_t, uint32_t, key_##tag)

#endif
