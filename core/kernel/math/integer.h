/* Division and powers of integers. All integer types compute in int64_t. The
 * only overflow of a division, INT64_MIN / -1, wraps; division by zero gives 0.
 */
#ifndef ST_KERNEL_MATH_INTEGER_H
#define ST_KERNEL_MATH_INTEGER_H

#include <stdint.h>

static inline int64_t int_div(int64_t a, int64_t b) {
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  return b ? a / b : 0;
}

static inline int64_t int_mod(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}

static inline int64_t int_div_floor(int64_t a, int64_t b) {
  return int_div(a, b) - (int_mod(a, b) != 0 && (a < 0) != (b < 0));
}

static inline int64_t int_remainder(int64_t a, int64_t b) {
  const int64_t r = int_mod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* By squaring, modulo 2^64. A negative power is 0, except of 1 and -1. */
static inline int64_t int_pow(int64_t a, int64_t b) {
  uint64_t x = (uint64_t)a, y = 1;
  if (b < 0) return a == 1 ? 1 : a != -1 ? 0 : b % 2 ? -1 : 1;
  for (; b; b >>= 1, x *= x) {
    if (b & 1) y *= x;
  }
  return (int64_t)y;
}

static inline int64_t int_gcd(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
  uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  while (y) {
    const uint64_t r = x % y;
    x = y, y = r;
  }
  return (int64_t)x;
}

static inline int64_t int_lcm(int64_t a, int64_t b) {
  const int64_t g = int_gcd(a, b);
  const uint64_t l = g ? (uint64_t)int_div(a, g) * (uint64_t)b : 0;
  return (int64_t)((int64_t)l < 0 ? 0 - l : l);
}

#endif
