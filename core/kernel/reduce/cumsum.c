/* Scan kernels: cumulative sums, products and extrema along one dimension.
 *
 * A line is the elements along that dimension. The inner dimension of a loop
 * runs along a line, the outer one over the lines. Outputs come first.
 * Adjacent lines are scanned together, which vectorises; the order of the
 * operations in a line is always the same.
 */

#include "base/threads.h"
#include "kernel/kernel.h"

/* after it: defines a macro called complex */
#include "kernel/math/complex_exp_log.h"
#include "kernel/math/half_rows.h"

typedef float _Complex c64;
typedef double _Complex c128;

enum { WIDTH = 256 };

static bool is_across_lines(int64_t inner, int64_t outer, int64_t n1) {
  return n1 >= 4 && (outer < 0 ? -outer : outer) < (inner < 0 ? -inner
                                                              : inner);
}

/* Asks whether to stop, before row i of up to WIDTH elements. */
static bool stops_at_row(int64_t i) {
  return i % (ST_PERIOD / WIDTH) == 0 && st__stops();
}

/* -- Running sums and products -------------------------------------------- */

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define WRAP_MUL(a, b) (1u * (a) * (b)) /* int does not overflow */

/* A cumulative sum or product of truth values is a bool: "or", "and". */
#define OR(a, b) ((a) | (b))
#define AND(a, b) ((a) & (b))

/* log(exp(a) + exp(b)) without overflow. Equal infinities give that
 * infinity. */
static inline double logaddexp(double a, double b) {
  if (a == b && isinf(a)) return a;
  if (isnan(a) || isnan(b)) return a + b;
  return a > b ? a + log1p(exp(b - a)) : b + log1p(exp(a - b));
}

/* A term of a complex sum. The angle of log(0) is 0, and a NaN in one part
 * makes both parts NaN. */
static inline c128 log_term(c128 z) {
  if (st_cisnan(z)) return CMPLX(NAN, NAN);
  return creal(z) == -INFINITY ? CMPLX(-INFINITY, 0) : z;
}

/* Of two terms with equal real parts the later one gives the angle's turn. */
static inline c128 clogaddexp(c128 sum, c128 term) {
  return st_clogaddexp(term, sum);
}

#define SCAN(dtype) cumsum_##dtype
#define INT_OP ADD
#define BOOL_OP OR
#define FLOAT_OP ADD
#define COMPLEX_OP ADD
#define COMPLEX_LOAD(x) ((c128)(x))
#include "kernel/reduce/scan_dtypes.h"

#define SCAN(dtype) cumprod_##dtype
#define INT_OP WRAP_MUL
#define BOOL_OP AND
#define FLOAT_OP MUL
#define COMPLEX_OP st_cmul
#define COMPLEX_LOAD(x) ((c128)(x))
#include "kernel/reduce/scan_dtypes.h"

#define SCAN(dtype) logcumsumexp_##dtype
#define FLOAT_OP logaddexp
#define COMPLEX_OP clogaddexp
#define COMPLEX_LOAD log_term
#include "kernel/reduce/scan_dtypes.h"

/* -- Running extrema ------------------------------------------------------ */

/* Of equal elements the last one counts. A NaN is an extremum, and after it
 * only another NaN changes the index. ctx: the int64 added to indices. */
#define NOT_BELOW(x, a) ((x) >= (a))
#define NOT_ABOVE(x, a) ((x) <= (a))

#define EXTREME(name, T, A, L, OP)                                          \
  static void name(char **data, const int64_t *s, int64_t n0, int64_t n1,   \
                   const void *ctx) {                                       \
    const int64_t base = *(const int64_t *)ctx;                             \
    for (int64_t j = 0; j < n1; j++) {                                      \
      const char *p = data[2] + j * s[5];                                   \
      int64_t best = 0;                                                     \
      T value = *(const T *)p;                                              \
      for (int64_t i = 0; i < n0 && !st__stops_at(i);)                      \
        for (const int64_t end = st__period_end(i, n0); i < end; i++) {     \
          const T next = *(const T *)(p + i * s[2]);                        \
          const A x = L(next), a = L(value);                                \
          const bool wins = (x != x) | OP(x, a);                            \
          best = wins ? i : best;                                           \
          value = wins ? next : value;                                      \
          *(T *)(data[0] + j * s[3] + i * s[0]) = value;                    \
          *(int64_t *)(data[1] + j * s[4] + i * s[1]) = best + base; } } }

#define EXTREMES(s, T, A, L)                 \
  EXTREME(cummax_##s, T, A, L, NOT_BELOW)    \
  EXTREME(cummin_##s, T, A, L, NOT_ABOVE)

#define SAME(x) (x)
#define TRUTH(x) ((uint8_t)((x) != 0))

EXTREMES(u8, uint8_t, uint8_t, SAME)
EXTREMES(i8, int8_t, int8_t, SAME)
EXTREMES(i16, int16_t, int16_t, SAME)
EXTREMES(i32, int32_t, int32_t, SAME)
EXTREMES(i64, int64_t, int64_t, SAME)
EXTREMES(b8, uint8_t, uint8_t, TRUTH)
EXTREMES(f16, uint16_t, float, st__half_to_float)
EXTREMES(bf16, uint16_t, float, st__bf16_to_float)
EXTREMES(f32, float, float, SAME)
EXTREMES(f64, double, double, SAME)

/* -- The table ------------------------------------------------------------ */

#define INT_LOOPS(name)                                                     \
  [ST_UINT8] = name##_u8, [ST_INT8] = name##_i8, [ST_INT16] = name##_i16,   \
  [ST_INT32] = name##_i32, [ST_INT64] = name##_i64, [ST_BOOL] = name##_b8
#define WRAPPED_LOOPS(name)                                                 \
  [ST_UINT8] = name##_u8, [ST_INT8] = name##_u8, [ST_INT16] = name##_u16,   \
  [ST_INT32] = name##_u32, [ST_INT64] = name##_u64, [ST_BOOL] = name##_b8
#define FLOAT_LOOPS(name)                                                   \
  [ST_FLOAT16] = name##_f16, [ST_BFLOAT16] = name##_bf16,                   \
  [ST_FLOAT32] = name##_f32, [ST_FLOAT64] = name##_f64
#define COMPLEX_LOOPS(name)                                                 \
  [ST_COMPLEX64] = name##_c64, [ST_COMPLEX128] = name##_c128

#define NUMBER(name) \
  {ST_K_##name, {WRAPPED_LOOPS(name), FLOAT_LOOPS(name), COMPLEX_LOOPS(name)}}
#define ORDERED(name) {ST_K_##name, {INT_LOOPS(name), FLOAT_LOOPS(name)}}
#define INEXACT(name) \
  {ST_K_##name, {FLOAT_LOOPS(name), COMPLEX_LOOPS(name)}}

static const st_kernel_row rows[] = {
  NUMBER(cumsum), NUMBER(cumprod), INEXACT(logcumsumexp), ORDERED(cummax),
  ORDERED(cummin)};

ST_EXPORT(st__cumsum, rows)
