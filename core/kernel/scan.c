/* Loops along one dimension: running sums, products, extrema, and softmax.
 *
 * The inner dimension is the one walked along, the outer one walks over
 * lines. Outputs come first. Lines that lie side by side are walked together,
 * which vectorises; the order of operations in a line is always the same.
 */

#include "kernel/kernel.h"

#include "kernel/complex.h" /* after it: defines a macro called complex */
#include "kernel/exp.h"

typedef float _Complex c64;
typedef double _Complex c128;

enum { WIDTH = 256, LINE = 2048, LANES = 32 };

#define AT(T, p, offset) (*(T *)((p) + (offset)))

static bool side_by_side(int64_t inner, int64_t outer, int64_t n1) {
  return n1 >= 4 && (outer < 0 ? -outer : outer) < (inner < 0 ? -inner
                                                              : inner);
}

/* -- Running sums and products -------------------------------------------- */

#define SCAN_LINE(name, T, A, L, S, OP)                                     \
  static void name##_line(char *to, const char *p, const int64_t *s,        \
                          int64_t n) {                                      \
    A a = L(AT(const T, p, 0));                                             \
    AT(T, to, 0) = S(a);                                                    \
    for (int64_t i = 1; i < n; i++) {                                       \
      a = OP(a, L(AT(const T, p, i * s[1])));                               \
      AT(T, to, i * s[0]) = S(a); } }

#define SCAN_LINES(name, T, A, L, S, OP)                                    \
  static void name##_lines(char *to, const char *p, const int64_t *s,       \
                           int64_t n0, int64_t n1) {                        \
    const bool dense = s[2] == sizeof(T) && s[3] == sizeof(T);              \
    A a[WIDTH];                                                             \
    for (int64_t j = 0; j < n1; j++) a[j] = L(AT(const T, p, j * s[3]));    \
    for (int64_t j = 0; j < n1; j++) AT(T, to, j * s[2]) = S(a[j]);         \
    for (int64_t i = 1; i < n0; i++) {                                      \
      const char *x = p + i * s[1];                                         \
      char *y = to + i * s[0];                                              \
      if (dense) for (int64_t j = 0; j < n1; j++)                           \
        ((T *)y)[j] = S(a[j] = OP(a[j], L(((const T *)x)[j])));             \
      else for (int64_t j = 0; j < n1; j++)                                 \
        AT(T, y, j * s[2]) = S(a[j] = OP(a[j], L(AT(const T, x, j * s[3])))); \
    } }

/* Four lines hide each other's latency. */
#define SCAN_FOUR(name, T, A, L, S, OP)                                     \
  static void name##_four(char *to, const char *p, const int64_t *s,        \
                          int64_t n) {                                      \
    A a[4];                                                                 \
    for (int l = 0; l < 4; l++) a[l] = L(AT(const T, p, l * s[3]));         \
    for (int l = 0; l < 4; l++) AT(T, to, l * s[2]) = S(a[l]);              \
    for (int64_t i = 1; i < n; i++) {                                       \
      const char *x = p + i * s[1];                                         \
      char *y = to + i * s[0];                                              \
      for (int l = 0; l < 4; l++) {                                         \
        a[l] = OP(a[l], L(AT(const T, x, l * s[3])));                       \
        AT(T, y, l * s[2]) = S(a[l]); } } }

#define SCAN_LOOP(name)                                                     \
  static void name(char **data, const int64_t *s, int64_t n0, int64_t n1,   \
                   const void *ctx) {                                       \
    const bool together = side_by_side(s[1], s[3], n1);                     \
    (void)ctx;                                                              \
    for (int64_t j = 0, n; j < n1 && n0 > 0; j += n) {                      \
      char *to = data[0] + j * s[2], *p = data[1] + j * s[3];               \
      n = together && n1 - j > WIDTH ? WIDTH : n1 - j;                      \
      if (!together) n = n < 4 ? 1 : 4;                                     \
      if (together) name##_lines(to, p, s, n0, n);                          \
      else if (n == 4) name##_four(to, p, s, n0);                           \
      else name##_line(to, p, s, n0); } }

#define SCAN(name, T, A, L, S, OP)      \
  SCAN_LINE(name, T, A, L, S, OP)       \
  SCAN_FOUR(name, T, A, L, S, OP)       \
  SCAN_LINES(name, T, A, L, S, OP)      \
  SCAN_LOOP(name)

#define F64(x) ((double)(x))
#define HALF64(x) ((double)st__half_to_float(x))
#define BF64(x) ((double)st__bf16_to_float(x))
#define TO_F32(a) ((float)(a))
#define TO_HALF(a) st__float_to_half((float)(a))
#define TO_BF16(a) st__float_to_bf16((float)(a))
#define WRAP(x) ((uint64_t)(int64_t)(x))
#define SAME(a) (a)
#define C128(x) ((c128)(x))
#define TO_C64(a) ((c64)(a))
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))

#define TO_U8(a) ((uint8_t)(a))
#define TO_I8(a) ((int8_t)(a))
#define TO_I16(a) ((int16_t)(a))
#define TO_I32(a) ((int32_t)(a))
#define TO_I64(a) ((int64_t)(a))
#define TO_B8(a) ((uint8_t)((a) != 0))
#define TRUTH(x) ((uint64_t)((x) != 0))

#define INT_SCANS(name, OP)                          \
  SCAN(name##_u8, uint8_t, uint64_t, WRAP, TO_U8, OP)   \
  SCAN(name##_i8, int8_t, uint64_t, WRAP, TO_I8, OP)    \
  SCAN(name##_i16, int16_t, uint64_t, WRAP, TO_I16, OP) \
  SCAN(name##_i32, int32_t, uint64_t, WRAP, TO_I32, OP) \
  SCAN(name##_i64, int64_t, uint64_t, WRAP, TO_I64, OP) \
  SCAN(name##_b8, uint8_t, uint64_t, TRUTH, TO_B8, OP)

#define FLOAT_SCANS(name, OP)                        \
  SCAN(name##_f16, uint16_t, double, HALF64, TO_HALF, OP) \
  SCAN(name##_bf16, uint16_t, double, BF64, TO_BF16, OP)  \
  SCAN(name##_f32, float, double, F64, TO_F32, OP)        \
  SCAN(name##_f64, double, double, F64, SAME, OP)

INT_SCANS(cumsum, ADD)
INT_SCANS(cumprod, MUL)
FLOAT_SCANS(cumsum, ADD)
FLOAT_SCANS(cumprod, MUL)
SCAN(cumsum_c64, c64, c128, C128, TO_C64, ADD)
SCAN(cumsum_c128, c128, c128, C128, SAME, ADD)
SCAN(cumprod_c64, c64, c128, C128, TO_C64, st_cmul)
SCAN(cumprod_c128, c128, c128, C128, SAME, st_cmul)

/* log(exp(a) + exp(b)) without overflow; equal infinities stay. */
static inline double logaddexp(double a, double b) {
  if (a == b && isinf(a)) return a;
  if (isnan(a) || isnan(b)) return a + b;
  return a > b ? a + log1p(exp(b - a)) : b + log1p(exp(a - b));
}

FLOAT_SCANS(logcumsumexp, logaddexp)

/* -- Running extrema ------------------------------------------------------ */

/* Equal elements move the position on; NaN wins and then only NaN moves it.
 * ctx: what to add to positions. */
#define NOT_BELOW(x, a) ((x) >= (a))
#define NOT_ABOVE(x, a) ((x) <= (a))

#define EXTREME(name, T, A, L, OP)                                          \
  static void name(char **data, const int64_t *s, int64_t n0, int64_t n1,   \
                   const void *ctx) {                                       \
    const int64_t base = *(const int64_t *)ctx;                             \
    for (int64_t j = 0; j < n1; j++) {                                      \
      const char *p = data[2] + j * s[5];                                   \
      int64_t best = 0;                                                     \
      for (int64_t i = 0; i < n0; i++) {                                    \
        const A x = L(AT(const T, p, i * s[2]));                            \
        const A a = L(AT(const T, p, best * s[2]));                         \
        if (x != x || OP(x, a)) best = i;                                   \
        AT(T, data[0], j * s[3] + i * s[0]) = AT(const T, p, best * s[2]);  \
        AT(int64_t, data[1], j * s[4] + i * s[1]) = best + base; } } }

#define EXTREMES(s, T, A, L)                 \
  EXTREME(cummax_##s, T, A, L, NOT_BELOW)    \
  EXTREME(cummin_##s, T, A, L, NOT_ABOVE)

EXTREMES(u8, uint8_t, uint8_t, SAME)
EXTREMES(i8, int8_t, int8_t, SAME)
EXTREMES(i16, int16_t, int16_t, SAME)
EXTREMES(i32, int32_t, int32_t, SAME)
EXTREMES(i64, int64_t, int64_t, SAME)
EXTREMES(b8, uint8_t, uint8_t, TO_B8)
EXTREMES(f16, uint16_t, float, st__half_to_float)
EXTREMES(bf16, uint16_t, float, st__bf16_to_float)
EXTREMES(f32, float, float, SAME)
EXTREMES(f64, double, double, SAME)

/* -- softmax -------------------------------------------------------------- */

/* A line is worked on in pieces of LINE elements; one that is a single piece
 * stays in the buffer from the first step to the last. What is not float64 is
 * worked on as float32, but for the sums. Lanes are combined in order, and
 * NaN wins. */
#define LARGER(a, b) (((b) > (a)) | ((b) != (b)) ? (b) : (a))

#define LINE_MAX(W)                                                         \
  typedef struct line_##W {                                                 \
    W x[LINE], max;                                                         \
    double sum;                                                             \
    int64_t n; } line_##W;                                                  \
  static W max_##W(const W *x, int64_t n, W max) {                          \
    W lane[LANES];                                                          \
    int64_t i = 0;                                                          \
    for (int l = 0; l < LANES; l++) lane[l] = max;                          \
    for (; i + LANES <= n; i += LANES)                                      \
      for (int l = 0; l < LANES; l++) lane[l] = LARGER(lane[l], x[i + l]);  \
    for (; i < n; i++) max = LARGER(max, x[i]);                             \
    for (int l = 0; l < LANES; l++) max = LARGER(max, lane[l]);             \
    return max; }

#define LINE_SUM(W)                                                         \
  static double sum_##W(const W *x, int64_t n) {                            \
    double lane[LANES] = {0}, sum = 0;                                      \
    int64_t i = 0;                                                          \
    for (; i + LANES <= n; i += LANES)                                      \
      for (int l = 0; l < LANES; l++) lane[l] += (double)x[i + l];          \
    for (int64_t l = 0; i + l < n; l++) lane[l] += (double)x[i + l];        \
    for (int l = 0; l < LANES; l++) sum += lane[l];                         \
    return sum; }

#define LINE_STEPS(W, EXP)                                                  \
  static void exp_##W(W *x, int64_t n, W max) {                             \
    for (int64_t i = 0; i < n; i++) x[i] = EXP(x[i] - max); }               \
  static void times_##W(W *x, int64_t n, W by) {                            \
    for (int64_t i = 0; i < n; i++) x[i] *= by; }                           \
  static void minus_##W(W *x, int64_t n, W by) {                            \
    for (int64_t i = 0; i < n; i++) x[i] -= by; }

LINE_MAX(float)
LINE_SUM(float)
LINE_STEPS(float, st__expf)
LINE_MAX(double)
LINE_SUM(double)
LINE_STEPS(double, st__exp)

#define SOFTMAX_LOAD(s, T, W, L)                                            \
  static void load_##s(line_##W *w, const char *p, int64_t step, int64_t n) { \
    if (step == sizeof(T)) {                                                \
      for (int64_t i = 0; i < n; i++) w->x[i] = L(((const T *)p)[i]);       \
    } else {                                                                \
      for (int64_t i = 0; i < n; i++) w->x[i] = L(AT(const T, p, i * step)); \
    } }

#define SOFTMAX_STORE(s, T, W, S)                                           \
  static void store_##s(const line_##W *w, char *p, int64_t step,           \
                        int64_t n) {                                        \
    if (step == sizeof(T)) {                                                \
      for (int64_t i = 0; i < n; i++) ((T *)p)[i] = S(w->x[i]);             \
    } else {                                                                \
      for (int64_t i = 0; i < n; i++) AT(T, p, i * step) = S(w->x[i]);      \
    } }

#define SOFTMAX_REDUCE(s, W)                                                \
  static void reduce_##s(line_##W *w, const char *p, int64_t step) {        \
    w->max = (W)-INFINITY;                                                  \
    w->sum = 0;                                                             \
    for (int64_t i = 0, n; i < w->n; i += n) {                              \
      n = w->n - i < LINE ? w->n - i : LINE;                                \
      load_##s(w, p + i * step, step, n);                                   \
      w->max = max_##W(w->x, n, w->max); }                                  \
    for (int64_t i = 0, n; i < w->n; i += n) {                              \
      n = w->n - i < LINE ? w->n - i : LINE;                                \
      if (w->n > LINE) load_##s(w, p + i * step, step, n);                  \
      exp_##W(w->x, n, w->max);                                             \
      w->sum += sum_##W(w->x, n); } }

/* The buffer holds the exponentials when the line is one piece. */
#define SOFTMAX_LOOP(s, W)                                                  \
  static void softmax_##s(char **data, const int64_t *st, int64_t n0,       \
                          int64_t n1, const void *ctx) {                    \
    line_##W w; /* all of it would be much to clear */                      \
    w.n = n0;                                                               \
    (void)ctx;                                                              \
    for (int64_t j = 0; j < n1; j++) {                                      \
      char *to = data[0] + j * st[2], *p = data[1] + j * st[3];             \
      reduce_##s(&w, p, st[1]);                                             \
      for (int64_t i = 0, n; i < n0; i += n) {                              \
        n = n0 - i < LINE ? n0 - i : LINE;                                  \
        if (n0 > LINE) load_##s(&w, p + i * st[1], st[1], n);               \
        if (n0 > LINE) exp_##W(w.x, n, w.max);                              \
        times_##W(w.x, n, (W)(1 / w.sum));                                  \
        store_##s(&w, to + i * st[0], st[0], n); } } }

#define LOG_SOFTMAX_LOOP(s, W)                                              \
  static void log_softmax_##s(char **data, const int64_t *st, int64_t n0,   \
                              int64_t n1, const void *ctx) {                \
    line_##W w; /* all of it would be much to clear */                      \
    w.n = n0;                                                               \
    (void)ctx;                                                              \
    for (int64_t j = 0; j < n1; j++) {                                      \
      char *to = data[0] + j * st[2], *p = data[1] + j * st[3];             \
      reduce_##s(&w, p, st[1]);                                             \
      for (int64_t i = 0, n; i < n0; i += n) {                              \
        n = n0 - i < LINE ? n0 - i : LINE;                                  \
        load_##s(&w, p + i * st[1], st[1], n);                              \
        minus_##W(w.x, n, w.max);                                           \
        minus_##W(w.x, n, (W)log(w.sum));                                   \
        store_##s(&w, to + i * st[0], st[0], n); } } }

#define SOFTMAX(s, T, W, L, S)  \
  SOFTMAX_LOAD(s, T, W, L)      \
  SOFTMAX_STORE(s, T, W, S)     \
  SOFTMAX_REDUCE(s, W)          \
  SOFTMAX_LOOP(s, W)            \
  LOG_SOFTMAX_LOOP(s, W)

SOFTMAX(f16, uint16_t, float, st__half_to_float, st__float_to_half)
SOFTMAX(bf16, uint16_t, float, st__bf16_to_float, st__float_to_bf16)
SOFTMAX(f32, float, float, SAME, SAME)
SOFTMAX(f64, double, double, SAME, SAME)

/* -- The gradient of softmax ---------------------------------------------- */

/* From g, the gradient of a line, and y, its result; pieces as above. */
#define BACK_LINES(W, EXP)                                                  \
  typedef struct back_##W { line_##W g, y; } back_##W;                      \
  static double softmax_sum_##W(const back_##W *w, int64_t n) {             \
    W x[LINE];                                                              \
    for (int64_t i = 0; i < n; i++) x[i] = w->g.x[i] * w->y.x[i];           \
    return sum_##W(x, n); }                                                 \
  static double log_softmax_sum_##W(const back_##W *w, int64_t n) {         \
    return sum_##W(w->g.x, n); }                                            \
  static void softmax_step_##W(back_##W *w, int64_t n, W sum) {             \
    W *g = w->g.x;                                                          \
    for (int64_t i = 0; i < n; i++) g[i] = (g[i] - sum) * w->y.x[i]; }      \
  static void log_softmax_step_##W(back_##W *w, int64_t n, W sum) {         \
    for (int64_t i = 0; i < n; i++) w->g.x[i] -= EXP(w->y.x[i]) * sum; }

BACK_LINES(float, st__expf)
BACK_LINES(double, st__exp)

#define BACK_LOAD(s, W)                                                     \
  static void load_back_##s(back_##W *w, char *const *p, const int64_t *st, \
                            int64_t i, int64_t n) {                         \
    load_##s(&w->g, p[1] + i * st[1], st[1], n);                            \
    load_##s(&w->y, p[2] + i * st[2], st[2], n); }

static inline int64_t piece(int64_t left) { return left < LINE ? left : LINE; }

#define BACK_SUM(name, s, W)                                                \
  static double name##_total_##s(back_##W *w, char *const *p,               \
                                 const int64_t *st, int64_t n0) {           \
    double sum = 0;                                                         \
    for (int64_t i = 0, n; i < n0; i += n) {                                \
      n = piece(n0 - i);                                                    \
      load_back_##s(w, p, st, i, n);                                        \
      sum += name##_sum_##W(w, n); }                                        \
    return sum; }

#define BACK_LOOP(name, s, W)                                               \
  static void name##_backward_##s(char **data, const int64_t *st,           \
                                  int64_t n0, int64_t n1, const void *ctx) { \
    back_##W w; /* all of it would be much to clear */                      \
    (void)ctx;                                                              \
    for (int64_t j = 0; j < n1; j++) {                                      \
      char *const p[] = {data[0] + j * st[3], data[1] + j * st[4],          \
                         data[2] + j * st[5]};                              \
      const W sum = (W)name##_total_##s(&w, p, st, n0);                     \
      for (int64_t i = 0, n; i < n0; i += n) {                              \
        n = piece(n0 - i);                                                  \
        if (n0 > LINE) load_back_##s(&w, p, st, i, n);                      \
        name##_step_##W(&w, n, sum);                                        \
        store_##s(&w.g, p[0] + i * st[0], st[0], n); } } }

#define BACK(s, W)             \
  BACK_LOAD(s, W)              \
  BACK_SUM(softmax, s, W)      \
  BACK_LOOP(softmax, s, W)     \
  BACK_SUM(log_softmax, s, W)  \
  BACK_LOOP(log_softmax, s, W)

BACK(f16, float)
BACK(bf16, float)
BACK(f32, float)
BACK(f64, double)

/* -- The table ------------------------------------------------------------ */

#define INT_LOOPS(name)                                                     \
  [ST_UINT8] = name##_u8, [ST_INT8] = name##_i8, [ST_INT16] = name##_i16,   \
  [ST_INT32] = name##_i32, [ST_INT64] = name##_i64, [ST_BOOL] = name##_b8
#define FLOAT_LOOPS(name)                                                   \
  [ST_FLOAT16] = name##_f16, [ST_BFLOAT16] = name##_bf16,                   \
  [ST_FLOAT32] = name##_f32, [ST_FLOAT64] = name##_f64
#define COMPLEX_LOOPS(name)                                                 \
  [ST_COMPLEX64] = name##_c64, [ST_COMPLEX128] = name##_c128

#define NUMBER(name) \
  {ST_K_##name, {INT_LOOPS(name), FLOAT_LOOPS(name), COMPLEX_LOOPS(name)}}
#define ORDERED(name) {ST_K_##name, {INT_LOOPS(name), FLOAT_LOOPS(name)}}
#define FLOATING(name) {ST_K_##name, {FLOAT_LOOPS(name)}}

static const st_kernel_row rows[] = {
  NUMBER(cumsum), NUMBER(cumprod), FLOATING(logcumsumexp), ORDERED(cummax),
  ORDERED(cummin), FLOATING(softmax), FLOATING(log_softmax),
  FLOATING(softmax_backward), FLOATING(log_softmax_backward)};

extern const st_kernel_table ST_ISA_NAME(st__scan);
const st_kernel_table ST_ISA_NAME(st__scan) = {
  rows, sizeof rows / sizeof *rows};
