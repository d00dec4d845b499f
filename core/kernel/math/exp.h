/* exp for loops that the compiler vectorises: branch-free, for all arguments.
 */
#ifndef ST_KERNEL_MATH_EXP_H
#define ST_KERNEL_MATH_EXP_H

#include <stdint.h>
#include <string.h>

/* x + ST_EXP_MAGIC holds the integer nearest to x in its low bits. */
#define ST_EXP_MAGIC 0x1.8p52

/* 2^k for shifted = k + ST_EXP_MAGIC, -1022 <= k <= 1023. */
static inline double st__exp_pow2(double shifted) {
  uint64_t bits;
  memcpy(&bits, &shifted, 8);
  bits = (bits + 1023) << 52;
  memcpy(&shifted, &bits, 8);
  return shifted;
}

/* x = k ln 2 + r with |r| <= ln 2 / 2. exp(r) is its series up to r^13, and 2^k
 * is two factors, so that subnormal results are correct. The clamps preserve
 * NaN; underflow to 0 and overflow to inf happen in the two factors. */
static inline double st__exp(double x) {
  double y = x < -750.0 ? -750.0 : x;
  y = y > 710.0 ? 710.0 : y;
  const double k = (y * 0x1.71547652b82fep0 + ST_EXP_MAGIC) - ST_EXP_MAGIC;
  const double r = (y - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const double half = k * 0.5 + ST_EXP_MAGIC;
  const double rest = (k - (half - ST_EXP_MAGIC)) + ST_EXP_MAGIC;
  return p * st__exp_pow2(half) * st__exp_pow2(rest);
}

/* The same in float32, up to r^8. The error is below 0.97 units in the last
 * place; bench/exp.c checks all floats. */
#define ST_EXP_MAGICF 0x1.8p23f

static inline float st__expf_pow2(float shifted) {
  uint32_t bits;
  memcpy(&bits, &shifted, 4);
  bits = (bits + 127) << 23;
  memcpy(&shifted, &bits, 4);
  return shifted;
}

static inline float st__expf(float x) {
  float y = x < -105.0f ? -105.0f : x;
  y = y > 89.0f ? 89.0f : y;
  const float k = (y * 0x1.715476p0f + ST_EXP_MAGICF) - ST_EXP_MAGICF;
  const float r = (y - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f;
  float p = 1.0f / 40320.0f;
  p = p * r + 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = (p * r) * r + r + 1.0f;
  const float half = k * 0.5f + ST_EXP_MAGICF;
  const float rest = (k - (half - ST_EXP_MAGICF)) + ST_EXP_MAGICF;
  return p * st__expf_pow2(half) * st__expf_pow2(rest);
}

#endif
