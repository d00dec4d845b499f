/* Loops of the kernels with two inputs.
 */

#include "kernel/vec.h"

#include <tgmath.h>

#include "kernel/complex.h"

/* -- Integers ------------------------------------------------------------- */

/* All of them fit into int64_t, whose one overflow, INT64_MIN / -1, wraps. */
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

/* By squaring, modulo 2^64. A negative power is 0, but of 1 and -1. */
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

/* -- Floats --------------------------------------------------------------- */

/* Python's: the quotient is rounded down exactly, the remainder has the
 * divisor's sign. */
#define FLOAT_DIVISION(tag)                                                  \
  static inline T_##tag remainder_##tag##_(T_##tag a, T_##tag b) {           \
    const T_##tag r = fmod(a, b);                                            \
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;                         \
  }                                                                          \
  static inline T_##tag div_floor_##tag##_(T_##tag a, T_##tag b) {           \
    if (b == 0) return a / b;                                                \
    const T_##tag r = fmod(a, b);                                            \
    const T_##tag q = (a - r) / b - (r != 0 && (b < 0) != (r < 0));          \
    const T_##tag f = floor(q);                                              \
    return q == 0 ? copysign((T_##tag)0, a / b) : q - f > 0.5f ? f + 1 : f;  \
  }
FLOAT_DIVISION(f4)
FLOAT_DIVISION(f8)
#undef FLOAT_DIVISION

#define REMAINDER(a, b) \
  _Generic((a), float: remainder_f4_, default: remainder_f8_)(a, b)
#define DIV_FLOOR(a, b) \
  _Generic((a), float: div_floor_f4_, default: div_floor_f8_)(a, b)
#define LOG2_E 1.44269504088896340736
#define LARGER(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
/* log(base^a + base^b), from small = base^-|a - b|; scale is log_base(e). */
#define LOG_ADD(a, b, small, scale) \
  ((a) == (b) && (a) - (a) != 0 ? (a) \
   : LARGER(a, b) + log1p(small) * (T)(scale))
#define BITS(T) (8 * sizeof(T))

/* -- Rows ----------------------------------------------------------------- */

#define ST_BINARY(name, grain, list, ...) \
  ST_LIST_##list(ST_BINARY, name, __VA_ARGS__)
#define ST_BINARY_MORE ST_BINARY
#define ST_COMPARE(name, ...)
#define ST_COMPARE_MORE(name, ...)
#include "kernel/binary.def"
#undef ST_BINARY

static const st_kernel_row rows[] = {
#define ST_BINARY(name, grain, list, ...) \
  {ST_K_##name, ST_ROW(list, name, __VA_ARGS__)},
#define ST_BINARY_MORE ST_BINARY
#define ST_COMPARE_MORE(name, ...)
#include "kernel/binary.def"
};

ST_EXPORT(st__binary, rows)
