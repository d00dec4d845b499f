/* Kernels with three inputs, or with scalar arguments.
 */

#include "kernel/elementwise/elementwise_loops.h"
#include "kernel/expression.h"
#include "kernel/math/functions.h"
#include "kernel/math/reparameterized.h"
#include "kernel/math/special.h"

#include <tgmath.h>

#include "kernel/complex.h"
#include "kernel/math/integer.h"

/* A function, because compilers turn selections of this form into blends. */
#define CLAMP_FLOAT(tag)                                                     \
  static inline T_##tag clamp_##tag##_(T_##tag x, T_##tag low,               \
                                       T_##tag high) {                       \
    const T_##tag y = AT_LEAST(x, low), z = AT_MOST(y, high);                \
    return FIRST_NAN(x, low, z);                                             \
  }
CLAMP_FLOAT(f4)
CLAMP_FLOAT(f8)
#undef CLAMP_FLOAT

#define HUBER(d, delta) \
  ((d) < (delta) ? (d) * ((d) / 2) : (delta) * ((d) - (delta) / 2))
#define SMOOTH_L1(d, beta) \
  ((d) < (beta) ? (d) / (beta) * ((d) / 2) : (d) - (beta) / 2)
#define INT_MAX_OF(x, y) ((x) > (y) ? (x) : (y))
#define INT_MIN_OF(x, y) ((x) < (y) ? (x) : (y))
#define CLAMP(x, low, high) \
  _Generic((x), float: clamp_f4_, default: clamp_f8_)(x, low, high)
#define NUMBER_FOR(x, nan, high, low) \
  ((x) != (x) ? (nan) : fabs(x) != INFINITY ? (x) : (x) > 0 ? (high) : (low))
#define CLERP(x, y, w) \
  (cabs(w) < 0.5f ? (x) + ST_CMUL(w, (y) - (x)) \
                  : (y) - ST_CMUL((y) - (x), (T)1 - (w)))

/* -- Where: elements are bits of some size -------------------------------- */

typedef struct T_16 { uint64_t u[2]; } T_16;
typedef uint8_t T_1;
typedef uint16_t T_2;
typedef uint32_t T_4;
typedef uint64_t T_8;

#define WHERE_BITS(bytes, name, ...)                                         \
  ST_BODY(name, bytes) {                                                     \
    (void)ctx;                                                               \
    T_##bytes *out = (T_##bytes *)p[0];                                      \
    const uint8_t *pm = (const uint8_t *)p[1];                               \
    const T_##bytes *pa = (const T_##bytes *)p[2];                           \
    const T_##bytes *pb = (const T_##bytes *)p[3];                           \
    ST_SIMD_FOR(i, n) {                                                      \
      const T_##bytes a = pa[i], b = pb[i];                                  \
      const uint8_t mask = pm[i];                                            \
      out[i] = __VA_ARGS__;                                                  \
    }                                                                        \
  }                                                                          \
  ST_BLOCK_LOOP(name##_##bytes, name##_##bytes##_body, 4, ST_ELEM_##bytes,   \
                ST_ELEM_1, ST_ELEM_##bytes, ST_ELEM_##bytes)

#define ST_LIST_BITS(M, ...)                                                 \
  M##_BITS(1, __VA_ARGS__) M##_BITS(2, __VA_ARGS__) M##_BITS(4, __VA_ARGS__) \
  M##_BITS(8, __VA_ARGS__) M##_BITS(16, __VA_ARGS__)
#define ST_WHERE_BITS WHERE_BITS
/* -- Rows ----------------------------------------------------------------- */

#define ST_LOOPS(name, grain, pattern, list, ...) \
  ST_LIST_##list(ST_##pattern, name, __VA_ARGS__)
#define ST_LOOPS_MORE ST_LOOPS
#define ST_COPY(a, tag, id, bytes)
#include "kernel/elementwise/ternary.def"
#undef ST_LOOPS

#if ST_HAS_FUNCTIONS
#include "kernel/elementwise/x86/vector_loops_512.h"
ST_FLOAT_512(pow_number_512, 1, pow_number_f4_any, ST_PLAIN_BLOCK, ST_PARAMS,
             st_pow_number_512_f4(x, p0))
ST_DOUBLE_512(pow_number_512, 1, pow_number_f8_any, ST_PLAIN_BLOCK, ST_PARAMS,
              st_pow_number_512_f8(x, p0))
ST_FLOAT_LOOPS_512(ST_UNARY_512, pow_number_512)
ST_UNARY_512(pow_number_512, f8, pow_number_512_f8_body)
#define ROWS_512                                                             \
  ST_FLOAT_ROW_512(pow_number, pow_number_512)                               \
  ST_DOUBLE_ROW_512(pow_number, pow_number_512)
#else
#define ROWS_512
#endif

#undef ST_LIST_BITS
#define ST_LIST_BITS(M, name, ...) ST_BY_SIZE(name)

/* Further rows of a kernel replace its loops. */
static const st_kernel_row rows[] = {
#define ST_LOOPS(name, grain, pattern, list, ...) \
  {#name, {ST_LIST_##list(ST_SLOT, name, __VA_ARGS__)}},
#define ST_LOOPS_MORE ST_LOOPS
#define ST_COPY(a, tag, id, bytes)
#include "kernel/elementwise/ternary.def"
  ROWS_512
};

ST_EXPORT(st__ternary, rows)
