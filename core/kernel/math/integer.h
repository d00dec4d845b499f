/* Division and powers of integers. Powers and the division of int64 compute in
 * int64_t, of uint64 in uint64_t, narrower divisions, and those of small
 * numbers, by floats, but uint32 in int64_t. The only
 * overflow of a division, of the least number by -1, wraps; division by zero
 * gives 0.
 */
#ifndef ST_KERNEL_MATH_INTEGER_H
#define ST_KERNEL_MATH_INTEGER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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

static inline uint64_t uint_div(uint64_t a, uint64_t b) {
  return b ? a / b : 0;
}

static inline uint64_t uint_mod(uint64_t a, uint64_t b) {
  return b ? a % b : 0;
}

#define uint_div_floor uint_div
#define uint_remainder uint_mod

/* -- Division of narrow integers ------------------------------------------ */

/* Truncated quotients of integers of up to 16 bits by float, of 32 bits by
 * double, which processors divide by vectors.
 *
 * They are exact. Let p be the precision of the float in bits and |a| < 2^p, so
 * that a and b are exact. If b divides a, the quotient is an integer below 2^p,
 * and exact. Otherwise |a / b| is at least 1 / |b| below the next integer, and
 * rounding changes it by at most |a / b| / 2^p < 1 / |b|. So the rounded
 * quotient is below that integer, too, and not below the integer before, which
 * is a float. */
static inline int32_t int_div_16(int32_t a, int32_t b) {
  const int32_t q = (int32_t)((float)a / (float)(b ? b : 1));
  return b ? q : 0;
}

static inline int32_t int_div_32(int32_t a, int32_t b) {
  const int32_t d = b == 0 || b == -1 ? 1 : b;
  const int32_t q = (int32_t)((double)a / (double)d);
  return b == -1 ? (int32_t)(0 - (uint32_t)a) : b ? q : 0;
}

/* The rest follows from the quotient q of a and b. */
static inline int32_t int_rest(int32_t a, int32_t b, int32_t q) {
  return b ? (int32_t)((uint32_t)a - (uint32_t)q * (uint32_t)b) : 0;
}

#define NARROW_DIVISION(bits)                                                \
  static inline int32_t int_mod_##bits(int32_t a, int32_t b) {               \
    return int_rest(a, b, int_div_##bits(a, b));                             \
  }                                                                          \
  static inline int32_t int_div_floor_##bits(int32_t a, int32_t b) {         \
    const int32_t q = int_div_##bits(a, b), r = int_rest(a, b, q);           \
    return q - ((r != 0) & ((a < 0) != (b < 0)));                            \
  }                                                                          \
  static inline int32_t int_remainder_##bits(int32_t a, int32_t b) {         \
    const int32_t r = int_mod_##bits(a, b);                                  \
    return (r != 0) & ((r < 0) != (b < 0)) ? r + b : r;                      \
  }
NARROW_DIVISION(16)
NARROW_DIVISION(32)
#undef NARROW_DIVISION

/* -- Division of int64 by double ------------------------------------------ */

/* Note [Near integers]
 * Numbers of at most 2^50 are exact as doubles, and the sum with NEAR_ROUND has
 * them in its last bits: conversions without an instruction for them. Let q be
 * the quotient of a and b, rounded to double and then to an integer, which is
 * at most .55 from a / b: the first rounding changes a quotient that has a
 * fraction by less than 2^50 / 3 / 2^53. So the rest r = a - q b, an integer
 * that is exact in double, lies between -b and b, and its sign tells whether q
 * is the integer below a / b or the one above. */
#define NEAR_MOST (INT64_C(1) << 50)
#define NEAR_ROUND 0x1.8p52
#define NEAR_BITS UINT64_C(0x4338000000000000)

static inline bool int_is_near(int64_t a, int64_t b) {
  const uint64_t x = (uint64_t)a + NEAR_MOST, y = (uint64_t)b + NEAR_MOST;
  return (x <= 2 * (uint64_t)NEAR_MOST) & (y <= 2 * (uint64_t)NEAR_MOST) &
         (b != 0);
}

static inline double near_double(int64_t x) {
  const uint64_t bits = (uint64_t)x + NEAR_BITS;
  double sum;
  memcpy(&sum, &bits, sizeof sum);
  return sum - NEAR_ROUND;
}

static inline int64_t near_int(double x) {
  const double sum = x + NEAR_ROUND;
  uint64_t bits;
  memcpy(&bits, &sum, sizeof bits);
  return (int64_t)(bits - NEAR_BITS);
}

static inline double near_quotient(double a, double b) {
  return a / b + NEAR_ROUND - NEAR_ROUND;
}

static inline int64_t near_div_floor(int64_t a, int64_t b) {
  const double x = near_double(a), y = near_double(b);
  const double q = near_quotient(x, y), r = x - q * y;
  return near_int(q - ((r != 0) & ((r < 0) != (y < 0)) ? 1 : 0));
}

static inline int64_t near_remainder(int64_t a, int64_t b) {
  const double x = near_double(a), y = near_double(b);
  const double r = x - near_quotient(x, y) * y;
  return near_int(r + ((r != 0) & ((r < 0) != (y < 0)) ? y : 0));
}

static inline int64_t near_div(int64_t a, int64_t b) {
  const double x = near_double(a), y = near_double(b);
  const double q = near_quotient(x, y), r = x - q * y;
  const double one = (x < 0) == (y < 0) ? 1 : -1;
  return near_int(q - ((r != 0) & ((r < 0) != (x < 0)) ? one : 0));
}

static inline int64_t near_mod(int64_t a, int64_t b) {
  const double x = near_double(a), y = near_double(b);
  const double r = x - near_quotient(x, y) * y;
  const double like_x = (x < 0) == (y < 0) ? y : -y;
  return near_int(r + ((r != 0) & ((r < 0) != (x < 0)) ? like_x : 0));
}

/* The function for the type of x: INT_DIVISION(x, mod)(a, b). */
#define INT_DIVISION(x, name)                                                \
  _Generic((x), int64_t: int_##name, uint64_t: uint_##name,                  \
           uint32_t: int_##name, int32_t: int_##name##_32,                   \
           default: int_##name##_16)

/* -- Powers and divisors -------------------------------------------------- */

/* By squaring, modulo 2^64. */
static inline uint64_t uint_pow(uint64_t a, uint64_t b) {
  uint64_t y = 1;
  for (; b; b >>= 1, a *= a) {
    if (b & 1) y *= a;
  }
  return y;
}

/* A negative power is 0, except of 1 and -1. */
static inline int64_t int_pow(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : a != -1 ? 0 : b % 2 ? -1 : 1;
  return (int64_t)uint_pow((uint64_t)a, (uint64_t)b);
}

static inline uint64_t uint_gcd(uint64_t a, uint64_t b) {
  while (b) {
    const uint64_t r = a % b;
    a = b, b = r;
  }
  return a;
}

static inline int64_t int_gcd(int64_t a, int64_t b) {
  return (int64_t)uint_gcd(a < 0 ? 0 - (uint64_t)a : (uint64_t)a,
                           b < 0 ? 0 - (uint64_t)b : (uint64_t)b);
}

static inline int64_t int_lcm(int64_t a, int64_t b) {
  const int64_t g = int_gcd(a, b);
  const uint64_t l = g ? (uint64_t)int_div(a, g) * (uint64_t)b : 0;
  return (int64_t)((int64_t)l < 0 ? 0 - l : l);
}

static inline uint64_t uint_lcm(uint64_t a, uint64_t b) {
  const uint64_t g = uint_gcd(a, b);
  return g ? a / g * b : 0;
}

/* The function for the type of x: INT_FUNCTION(x, gcd)(a, b). */
#define INT_FUNCTION(x, name) \
  _Generic((x), uint64_t: uint_##name, default: int_##name)

#endif
