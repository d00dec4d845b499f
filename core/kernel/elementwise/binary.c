/* Kernels with two inputs.
 */

#include "kernel/elementwise/elementwise_loops.h"
#include "kernel/expression.h"
#include "kernel/math/functions.h"
#include "kernel/math/orthogonal.h"
#include "kernel/math/reparameterized.h"
#include "kernel/math/special.h"

#include <tgmath.h>

#include "kernel/math/complex_exp_log.h"
#include "kernel/math/integer.h"

/* -- Floats --------------------------------------------------------------- */

/* Division as in Python: the quotient is rounded down exactly, the remainder
 * has the sign of the divisor. r is fmod(a, b). */
#define FLOAT_DIVISION(tag)                                                  \
  static inline T_##tag remainder_##tag##_(T_##tag b, T_##tag r) {           \
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;                         \
  }                                                                          \
  static inline T_##tag div_floor_##tag##_(T_##tag a, T_##tag b,             \
                                           T_##tag r) {                      \
    const T_##tag q = (a - r) / b - (r != 0 && (b < 0) != (r < 0));          \
    const T_##tag f = floor(q);                                              \
    const T_##tag whole = q - f > 0.5f ? f + 1 : f;                          \
    const T_##tag zero = copysign((T_##tag)0, a / b);                        \
    return b == 0 ? a / b : q == 0 ? zero : whole;                           \
  }
FLOAT_DIVISION(f4)
FLOAT_DIVISION(f8)
#undef FLOAT_DIVISION

#define REMAINDER(b, r) \
  _Generic((b), float: remainder_f4_, default: remainder_f8_)(b, r)
#define DIV_FLOOR(a, b, r) \
  _Generic((a), float: div_floor_f4_, default: div_floor_f8_)(a, b, r)

/* Note [Exact remainders]
 * The quotient a / b, rounded and then truncated, is that of the exact one, or
 * larger by one if it was rounded up to an integer. So a minus the quotient
 * times b is the remainder or has the wrong sign. It is a multiple of the last
 * place of b and not beyond b, so that it is exact if computed with a fused
 * multiply-add, and correcting it is exact. This needs a quotient that has its
 * units, and operands for which fma.h is exact; a remainder of others is that
 * of the C library. The results are the same. */
#define MODULO(tag, quotients, least, most)                                  \
  static inline bool is_near_##tag(T_##tag a, T_##tag b) {                   \
    const T_##tag x = fabs(a), y = fabs(b);                                  \
    return (x < y * quotients) & (x <= most) & (y >= least) & (y <= most);   \
  }                                                                          \
  static inline T_##tag near_fmod_##tag(T_##tag a, T_##tag b) {              \
    const T_##tag x = fabs(a), y = fabs(b);                                  \
    const T_##tag r = st_exact_fma_##tag(-trunc(x / y), y, x);               \
    return copysign(r < 0 ? r + y : r, a);                                   \
  }
MODULO(f4, 0x1p22f, 0x1p-100f, 0x1p100f)
MODULO(f8, 0x1p51, 0x1p-900, 0x1p900)
#undef MODULO

/* Computes a block for near operands; then the rest, if there are others. */
enum { MODULO_BLOCK = 256 };
#define ST_LIST_MODULO(M, ...)                                               \
  M##_MODULO(f4, __VA_ARGS__) M##_MODULO(f8, __VA_ARGS__)                    \
  M##_HALF(f2, __VA_ARGS__) M##_HALF(bf, __VA_ARGS__)
#define ST_SLOT_MODULO ST_SLOT_LOOP
#define MODULO_NEAR(tag, name, ...)                                          \
  static int name##_##tag##_near(T_##tag *restrict out, const T_##tag *pa,   \
                                 const T_##tag *pb, int64_t n) {             \
    int is_far = 0;                                                          \
    _Pragma("omp simd reduction(|:is_far)")                                  \
    for (int64_t i = 0; i < n; i++) {                                        \
      const T_##tag a = pa[i], b = pb[i], r = near_fmod_##tag(a, b);         \
      is_far |= !is_near_##tag(a, b);                                        \
      out[i] = ((void)b, __VA_ARGS__);                                       \
    }                                                                        \
    return is_far;                                                           \
  }
#define MODULO_FAR(tag, name, ...)                                           \
  static void name##_##tag##_far(T_##tag *out, const T_##tag *pa,            \
                                 const T_##tag *pb, int64_t n) {             \
    for (int64_t i = 0; i < n; i++) {                                        \
      const T_##tag a = pa[i], b = pb[i];                                    \
      if (is_near_##tag(a, b)) continue;                                     \
      const T_##tag r = fmod(a, b);                                          \
      out[i] = __VA_ARGS__;                                                  \
    }                                                                        \
  }
#define MODULO_BODY(tag, name)                                               \
  ST_BODY(name, tag) {                                                       \
    const T_##tag *pa = (const T_##tag *)p[1], *pb = (const T_##tag *)p[2];  \
    T_##tag y[MODULO_BLOCK];                                                 \
    (void)ctx;                                                               \
    for (int64_t k = 0; k < n; k += MODULO_BLOCK) {                          \
      const int64_t m = n - k < MODULO_BLOCK ? n - k : MODULO_BLOCK;         \
      if (name##_##tag##_near(y, pa + k, pb + k, m)) {                       \
        name##_##tag##_far(y, pa + k, pb + k, m);                            \
      }                                                                      \
      memcpy((T_##tag *)p[0] + k, y, (size_t)m * sizeof *y);                 \
    }                                                                        \
  }
#define ST_BINARY_MODULO(tag, name, ...)                                     \
  MODULO_NEAR(tag, name, __VA_ARGS__)                                        \
  MODULO_FAR(tag, name, __VA_ARGS__)                                         \
  MODULO_BODY(tag, name)                                                     \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 3,                        \
                ST_ELEM_##tag, ST_ELEM_##tag, ST_ELEM_##tag)

/* Divisions of int64 in vectors (Note [Near integers]), which take longer
 * in 16 bytes than the instruction of a division. */
#if ST_VECTOR_BYTES >= 32
static bool are_near(const T_i8 *a, const T_i8 *b, int64_t n) {
  int is_far = 0;
#pragma omp simd reduction(|:is_far)
  for (int64_t i = 0; i < n; i++) is_far |= !int_is_near(a[i], b[i]);
  return !is_far;
}

#define NEAR_BLOCK(name)                                                     \
  static void near_##name##_block(T_i8 *restrict out, const T_i8 *a,         \
                                  const T_i8 *b, int64_t n) {                \
    for (int64_t i = 0; i < n; i++) out[i] = near_##name(a[i], b[i]);        \
  }
#define LONG_DIVISION(name)                                                  \
  NEAR_BLOCK(name)                                                           \
  ST_BODY(long_##name, i8) {                                                 \
    const T_i8 *a = (const T_i8 *)p[1], *b = (const T_i8 *)p[2];             \
    T_i8 y[MODULO_BLOCK];                                                    \
    (void)ctx;                                                               \
    for (int64_t k = 0; k < n; k += MODULO_BLOCK, a += MODULO_BLOCK,         \
                 b += MODULO_BLOCK) {                                        \
      const int64_t m = n - k < MODULO_BLOCK ? n - k : MODULO_BLOCK;         \
      if (are_near(a, b, m)) near_##name##_block(y, a, b, m);                \
      else for (int64_t i = 0; i < m; i++) y[i] = int_##name(a[i], b[i]);    \
      memcpy((T_i8 *)p[0] + k, y, (size_t)m * sizeof *y); } }                \
  ST_BLOCK_LOOP(long_##name, long_##name##_i8_body, 3,                       \
                ST_ELEM_i8, ST_ELEM_i8, ST_ELEM_i8)
LONG_DIVISION(div)
LONG_DIVISION(div_floor)
LONG_DIVISION(mod)
LONG_DIVISION(remainder)
#undef LONG_DIVISION
#define LONG_ROWS                                  \
  {"div_trunc", {[ST_INT64] = long_div}},       \
  {"div_floor", {[ST_INT64] = long_div_floor}}, \
  {"fmod", {[ST_INT64] = long_mod}},            \
  {"remainder", {[ST_INT64] = long_remainder}},
#else
#define LONG_ROWS
#endif

/* The number next to a towards b. The bits of consecutive numbers are
 * consecutive integers, but for their sign. */
#define NEXT(tag, U)                                                         \
  static inline T_##tag next_##tag(T_##tag a, T_##tag b) {                   \
    const U sign = (U)1 << (8 * sizeof(U) - 1);                              \
    U u, v;                                                                  \
    T_##tag next;                                                            \
    memcpy(&u, &a, sizeof u), memcpy(&v, &b, sizeof v);                      \
    const U step = (a < b) != (u >= sign) ? 1 : (U)-1;                       \
    const U bits = u & (sign - 1) ? u + step : (v & sign) + 1;               \
    memcpy(&next, &bits, sizeof next);                                       \
    return (a != a) | (b != b) ? a + b : a == b ? b : next;                  \
  }
NEXT(f4, uint32_t)
NEXT(f8, uint64_t)
#undef NEXT
#define NEXT_AFTER(a, b) \
  _Generic((a), float: next_f4, default: next_f8)(a, b)

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
#define ORTHOGONAL(kind, x, n) \
  st_orthogonal(ST_##kind, x, n, sizeof(x) == 8 ? 512 : 128)
/* on [0, 1] in place of [-1, 1] */
#define SHIFTED(kind, x, n) st_orthogonal(ST_##kind, 2 * (double)(x) - 1, n, 0)

/* lcm of int32: the product wraps to 32 bits before its sign is dropped, as in
 * ATen. */
static inline int64_t int32_lcm(int32_t a, int32_t b) {
  const int32_t l = (int32_t)int_lcm(a, b);
  return l < 0 ? 0 - (uint32_t)l : (uint32_t)l;
}
#define int32_gcd int_gcd
#define int32_pow int_pow
#undef INT_FUNCTION
#define INT_FUNCTION(x, name)                                            \
  _Generic((x), uint64_t: uint_##name, int32_t: int32_##name,            \
           default: int_##name)

/* -- Rows ----------------------------------------------------------------- */

#define ST_BINARY(name, grain, list, ...) \
  ST_LIST_##list(ST_BINARY, name, __VA_ARGS__)
#define ST_BINARY_MORE ST_BINARY
#define ST_COMPARE(name, ...)
#define ST_COMPARE_MORE(name, ...)
#include "kernel/elementwise/binary.def"
#undef ST_BINARY

#if ST_HAS_FUNCTIONS
#include "kernel/elementwise/x86/vector_loops_512.h"
ST_FLOAT_512(pow_512, 2, pow_f4_any, ST_PLAIN_BLOCK, ST_NO_PARAMS,
             st_pow_at_512_f4(x, b))
ST_DOUBLE_512(pow_512, 2, pow_f8_any, ST_PLAIN_BLOCK, ST_NO_PARAMS,
              st_pow_at_512_f8(x, b))
ST_FLOAT_LOOPS_512(ST_BINARY_512, pow_512)
ST_BINARY_512(pow_512, f8, pow_512_f8_body)
#define ROWS_512 ST_FLOAT_ROW_512(pow, pow_512) ST_DOUBLE_ROW_512(pow, pow_512)
#else
#define ROWS_512
#endif

/* Further rows of a kernel replace its loops. */
static const st_kernel_row rows[] = {
#define ST_BINARY(name, grain, list, ...) \
  {#name, {ST_LIST_##list(ST_SLOT, name, __VA_ARGS__)}},
#define ST_BINARY_MORE ST_BINARY
#define ST_COMPARE_MORE(name, ...)
#include "kernel/elementwise/binary.def"
  LONG_ROWS
  ROWS_512
};

ST_EXPORT(st__binary, rows)
