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

typedef struct T_e16 { uint64_t u[2]; } T_e16;
typedef uint8_t T_e1;
typedef uint16_t T_e2;
typedef uint32_t T_e4;
typedef uint64_t T_e8;

#define WHERE_BITS(tag, elem, name, ...)                                     \
  ST_BODY(name, tag) {                                                       \
    (void)ctx;                                                               \
    T_##tag *out = (T_##tag *)p[0];                                          \
    const uint8_t *pm = (const uint8_t *)p[1];                               \
    const T_##tag *pa = (const T_##tag *)p[2], *pb = (const T_##tag *)p[3];  \
    ST_SIMD_FOR(i, n) {                                                      \
      const T_##tag a = pa[i], b = pb[i];                                    \
      const uint8_t mask = pm[i];                                            \
      out[i] = __VA_ARGS__;                                                  \
    }                                                                        \
  }                                                                          \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 4, elem, ST_ELEM_1, elem, \
                elem)

#define ST_LIST_BITS(M, ...)                                                 \
  M##_BITS(e1, ST_ELEM_1, __VA_ARGS__) M##_BITS(e2, ST_ELEM_2, __VA_ARGS__)  \
  M##_BITS(e4, ST_ELEM_4, __VA_ARGS__) M##_BITS(e8, ST_ELEM_8, __VA_ARGS__)  \
  M##_BITS(e16, ST_ELEM_16, __VA_ARGS__)
#define ST_WHERE_BITS WHERE_BITS

#define SLOTS_e1(f)  [ST_UINT8] = f, [ST_INT8] = f, [ST_BOOL] = f,
#define SLOTS_e2(f)  \
  [ST_INT16] = f, [ST_UINT16] = f, [ST_FLOAT16] = f, [ST_BFLOAT16] = f,
#define SLOTS_e4(f)  [ST_INT32] = f, [ST_UINT32] = f, [ST_FLOAT32] = f,
#define SLOTS_e8(f)  \
  [ST_INT64] = f, [ST_UINT64] = f, [ST_FLOAT64] = f, [ST_COMPLEX64] = f,
#define SLOTS_e16(f) [ST_COMPLEX128] = f,
#define ST_SLOT_BITS(tag, elem, name, ...) SLOTS_##tag(name##_##tag)

/* -- Rows ----------------------------------------------------------------- */

#define ST_LOOPS(name, grain, pattern, list, ...) \
  ST_LIST_##list(ST_##pattern, name, __VA_ARGS__)
#define ST_LOOPS_MORE ST_LOOPS
#define ST_COPY(tag)
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

/* Further rows of a kernel replace its loops. */
static const st_kernel_row rows[] = {
#define ST_LOOPS(name, grain, pattern, list, ...) \
  {#name, {ST_LIST_##list(ST_SLOT, name, __VA_ARGS__)}},
#define ST_LOOPS_MORE ST_LOOPS
#define ST_COPY(tag)
#include "kernel/elementwise/ternary.def"
  ROWS_512
};

ST_EXPORT(st__ternary, rows)
