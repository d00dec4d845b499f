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

#define AT(T, p, offset) (*(T *)((p) + (offset)))

static bool is_across_lines(int64_t inner, int64_t outer, int64_t n1) {
  return n1 >= 4 && (outer < 0 ? -outer : outer) < (inner < 0 ? -inner
                                                              : inner);
}

/* Asks whether to stop, before row i of up to WIDTH elements. */
static bool stops_at_row(int64_t i) {
  return i % (ST_PERIOD / WIDTH) == 0 && st__stops();
}

/* -- Running sums and products -------------------------------------------- */

#define SCAN_LINE(name, T, A, L, S, OP)                                     \
  static void name##_line(char *to, const char *p, const int64_t *s,        \
                          int64_t n) {                                      \
    A a = L(AT(const T, p, 0));                                             \
    AT(T, to, 0) = S(a);                                                    \
    for (int64_t i = 1; i < n && !st__stops_at(i);)                         \
      for (const int64_t end = st__period_end(i, n); i < end; i++) {        \
        a = OP(a, L(AT(const T, p, i * s[1])));                             \
        AT(T, to, i * s[0]) = S(a); } }

#define SCAN_LINES(name, T, A, L, S, OP)                                    \
  static void name##_lines(char *to, const char *p, const int64_t *s,       \
                           int64_t n0, int64_t n1) {                        \
    const bool dense = s[2] == sizeof(T) && s[3] == sizeof(T);              \
    A a[WIDTH];                                                             \
    for (int64_t j = 0; j < n1; j++) a[j] = L(AT(const T, p, j * s[3]));    \
    for (int64_t j = 0; j < n1; j++) AT(T, to, j * s[2]) = S(a[j]);         \
    for (int64_t i = 1; i < n0 && !stops_at_row(i); i++) {                  \
      const char *x = p + i * s[1];                                         \
      char *y = to + i * s[0];                                              \
      if (dense) for (int64_t j = 0; j < n1; j++)                           \
        ((T *)y)[j] = S(a[j] = OP(a[j], L(((const T *)x)[j])));             \
      else for (int64_t j = 0; j < n1; j++)                                 \
        AT(T, y, j * s[2]) = S(a[j] = OP(a[j], L(AT(const T, x, j * s[3])))); \
    } }

/* Four independent lines at a time hide the latency of OP. */
#define SCAN_FOUR(name, T, A, L, S, OP)                                     \
  static void name##_four(char *to, const char *p, const int64_t *s,        \
                          int64_t n) {                                      \
    A a[4];                                                                 \
    for (int l = 0; l < 4; l++) a[l] = L(AT(const T, p, l * s[3]));         \
    for (int l = 0; l < 4; l++) AT(T, to, l * s[2]) = S(a[l]);              \
    for (int64_t i = 1; i < n && !st__stops_at(i); i++) {                   \
      const char *x = p + i * s[1];                                         \
      char *y = to + i * s[0];                                              \
      for (int l = 0; l < 4; l++) {                                         \
        a[l] = OP(a[l], L(AT(const T, x, l * s[3])));                       \
        AT(T, y, l * s[2]) = S(a[l]); } } }

#define SCAN_LOOP(name)                                                     \
  static void name(char **data, const int64_t *s, int64_t n0, int64_t n1,   \
                   const void *ctx) {                                       \
    const bool across = is_across_lines(s[1], s[3], n1);                    \
    (void)ctx;                                                              \
    for (int64_t j = 0, n; j < n1 && n0 > 0; j += n) {                      \
      char *to = data[0] + j * s[2], *p = data[1] + j * s[3];               \
      n = across && n1 - j > WIDTH ? WIDTH : n1 - j;                        \
      if (!across) n = n < 4 ? 1 : 4;                                       \
      if (across) name##_lines(to, p, s, n0, n);                            \
      else if (n == 4) name##_four(to, p, s, n0);                           \
      else name##_line(to, p, s, n0); } }

#define SCAN(name, T, A, L, S, OP)      \
  SCAN_LINE(name, T, A, L, S, OP)       \
  SCAN_FOUR(name, T, A, L, S, OP)       \
  SCAN_LINES(name, T, A, L, S, OP)      \
  SCAN_LOOP(name)

#define SAME(a) (a)
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define WRAP_MUL(a, b) (1u * (a) * (b)) /* int does not overflow */
#define OR(a, b) ((a) | (b))
#define AND(a, b) ((a) & (b))

/* Integers wrap, so the sign does not matter. */
#define INT_SCANS(name, OP)                         \
  SCAN(name##_u8, uint8_t, uint8_t, SAME, SAME, OP)     \
  SCAN(name##_u16, uint16_t, uint16_t, SAME, SAME, OP)  \
  SCAN(name##_u32, uint32_t, uint32_t, SAME, SAME, OP)  \
  SCAN(name##_u64, uint64_t, uint64_t, SAME, SAME, OP)

INT_SCANS(cumsum, ADD)
INT_SCANS(cumprod, WRAP_MUL)

/* A cumulative sum or product of truth values is a bool: "or", "and". */
#define TRUTH(x) ((uint8_t)((x) != 0))

SCAN(cumsum_b8, uint8_t, uint8_t, TRUTH, SAME, OR)
SCAN(cumprod_b8, uint8_t, uint8_t, TRUTH, SAME, AND)

#define F64(x) ((double)(x))
#define TO_F32(a) ((float)(a))

#define HALF64(x) ((double)st__half_to_float(x))
#define BF64(x) ((double)st__bf16_to_float(x))
#define TO_HALF(a) st__float_to_half((float)(a))
#define TO_BF16(a) st__float_to_bf16((float)(a))

/* Adjacent lines of a half type, converted to float32 a row at a time. */
#define SCAN_HALF_LINES(name, s, OP)                                        \
  static void name##_lines(char *to, const char *p, const int64_t *st,      \
                           int64_t n0, int64_t n1) {                        \
    float row[WIDTH];                                                       \
    double a[WIDTH];                                                        \
    st_load_##s(row, p, st[3], n1);                                         \
    for (int64_t j = 0; j < n1; j++) a[j] = row[j];                         \
    st_store_##s(to, st[2], row, n1);                                       \
    for (int64_t i = 1; i < n0 && !stops_at_row(i); i++) {                  \
      st_load_##s(row, p + i * st[1], st[3], n1);                           \
      for (int64_t j = 0; j < n1; j++)                                      \
        row[j] = (float)(a[j] = OP(a[j], F64(row[j])));                     \
      st_store_##s(to + i * st[0], st[2], row, n1); } }

#define HALF_SCAN(name, s, L, S, OP)          \
  SCAN_LINE(name, uint16_t, double, L, S, OP) \
  SCAN_FOUR(name, uint16_t, double, L, S, OP) \
  SCAN_HALF_LINES(name, s, OP)                \
  SCAN_LOOP(name)

#define FLOAT_SCANS(name, OP)                      \
  HALF_SCAN(name##_f16, f16, HALF64, TO_HALF, OP)  \
  HALF_SCAN(name##_bf16, bf16, BF64, TO_BF16, OP)  \
  SCAN(name##_f32, float, double, F64, TO_F32, OP) \
  SCAN(name##_f64, double, double, F64, SAME, OP)

FLOAT_SCANS(cumsum, ADD)
FLOAT_SCANS(cumprod, MUL)

#define C128(x) ((c128)(x))
#define TO_C64(a) ((c64)(a))

SCAN(cumsum_c64, c64, c128, C128, TO_C64, ADD)
SCAN(cumsum_c128, c128, c128, C128, SAME, ADD)
SCAN(cumprod_c64, c64, c128, C128, TO_C64, st_cmul)
SCAN(cumprod_c128, c128, c128, C128, SAME, st_cmul)

/* log(exp(a) + exp(b)) without overflow. Equal infinities give that
 * infinity. */
static inline double logaddexp(double a, double b) {
  if (a == b && isinf(a)) return a;
  if (isnan(a) || isnan(b)) return a + b;
  return a > b ? a + log1p(exp(b - a)) : b + log1p(exp(a - b));
}

FLOAT_SCANS(logcumsumexp, logaddexp)

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

SCAN(logcumsumexp_c64, c64, c128, log_term, TO_C64, clogaddexp)
SCAN(logcumsumexp_c128, c128, c128, log_term, SAME, clogaddexp)

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
      for (int64_t i = 0; i < n0 && !st__stops_at(i);)                      \
        for (const int64_t end = st__period_end(i, n0); i < end; i++) {     \
          const A x = L(AT(const T, p, i * s[2]));                          \
          const A a = L(AT(const T, p, best * s[2]));                       \
          if (x != x || OP(x, a)) best = i;                                 \
          AT(T, data[0], j * s[3] + i * s[0]) = AT(const T, p, best * s[2]); \
          AT(int64_t, data[1], j * s[4] + i * s[1]) = best + base; } } }

#define EXTREMES(s, T, A, L)                 \
  EXTREME(cummax_##s, T, A, L, NOT_BELOW)    \
  EXTREME(cummin_##s, T, A, L, NOT_ABOVE)

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
