/* Kernels with two inputs.
 */

#include "kernel/elementwise/elementwise_loops.h"
#include "kernel/elementwise/expression.h"
#include "kernel/math/functions.h"
#include "kernel/math/special.h"

#include <tgmath.h>

#include "kernel/math/complex_exp_log.h"
#include "kernel/math/integer.h"

/* -- Floats --------------------------------------------------------------- */

/* Division as in Python: the quotient is rounded down exactly, the remainder
 * has the sign of the divisor. */
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
/* The half next to h towards b; a is the value of h. The bits of consecutive
 * halves are consecutive integers. */
static inline uint16_t next_half(uint16_t h, float a, float b) {
  if (a == 0) return b < 0 ? 0x8001 : 1;
  return (uint16_t)((a < b) == (a > 0) ? h + 1 : h - 1);
}

/* Rows computed in the half type itself, not in float32: nextafter depends on
 * the precision. */
#define ST_LIST_AS_HALF(M, ...) \
  M##_AS_HALF(f2, half, __VA_ARGS__) M##_AS_HALF(bf, bf16, __VA_ARGS__)
#define ST_SLOT_AS_HALF(tag, type, name, ...) [ST_DTYPE_##tag] = name##_##tag,
#define ST_BINARY_AS_HALF(tag, type, name, ...)                              \
  ST_BODY(name, tag) {                                                       \
    (void)ctx;                                                               \
    const float *pa = (const float *)p[1], *pb = (const float *)p[2];        \
    for (int64_t i = 0; i < n; i++) {                                        \
      const float a = pa[i], b = pb[i];                                      \
      const uint16_t h = st__float_to_##type(a);                             \
      ((float *)p[0])[i] = a != a ? a : b != b || a == b ? b                 \
                         : st__##type##_to_float(__VA_ARGS__);               \
    }                                                                        \
  }                                                                          \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 3,                        \
                ST_ELEM_##tag, ST_ELEM_##tag, ST_ELEM_##tag)

#define BITS(T) (8 * sizeof(T))

/* -- Rows ----------------------------------------------------------------- */

#define ST_BINARY(name, grain, list, ...) \
  ST_LIST_##list(ST_BINARY, name, __VA_ARGS__)
#define ST_BINARY_MORE ST_BINARY
#define ST_COMPARE(name, ...)
#define ST_COMPARE_MORE(name, ...)
#include "kernel/elementwise/binary.def"
#undef ST_BINARY

static const st_kernel_row rows[] = {
#define ST_BINARY(name, grain, list, ...) \
  {ST_K_##name, {ST_LIST_##list(ST_SLOT, name, __VA_ARGS__)}},
#define ST_BINARY_MORE ST_BINARY
#define ST_COMPARE_MORE(name, ...)
#include "kernel/elementwise/binary.def"
};

ST_EXPORT(st__binary, rows)
