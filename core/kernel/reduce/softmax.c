/* Kernels of softmax, log_softmax and their gradients, along one dimension.
 *
 * A line is the elements along that dimension. The inner dimension of a loop
 * runs along a line, the outer one over the lines. Outputs come first. The
 * order of the operations in a line is always the same.
 */

#include <math.h>

#include "base/threads.h"
#include "kernel/math/functions.h"
#include "kernel/math/half_rows.h"
#include "kernel/kernel.h"

enum { LINE = 2048, LANES = 32, PAD = 16 }; /* LINE is a multiple of PAD */

/* Conversions of a half type from and to float32. */
typedef struct half_type {
  void (*load)(float *to, const char *p, int64_t step, int64_t n);
  void (*store)(char *p, int64_t step, const float *from, int64_t n);
} half_type;

static const half_type type_f16 = {st_load_f16, st_store_f16};
static const half_type type_bf16 = {st_load_bf16, st_store_bf16};

/* -- Lines ---------------------------------------------------------------- */

/* A line is processed in chunks of LINE elements; a line of one chunk stays in
 * the buffer from the first step to the last. float64 is computed in float64,
 * all other types in float32, except for sums, which are float64. Lanes are
 * combined in order. The maximum of values with a NaN is NaN. */
#define LARGER(a, b) (((b) > (a)) | ((b) != (b)) ? (b) : (a))

#define LINE_MAX(W)                                                         \
  typedef struct line_##W {                                                 \
    W x[LINE], max;                                                         \
    double sum;                                                             \
    const half_type *half; /* NULL unless the dtype is a half type */       \
    int64_t n; } line_##W;                                                  \
  static W max_##W(const W *x, int64_t n, W max) {                          \
    W lane[LANES];                                                          \
    int64_t i = 0;                                                          \
    if (n < LANES) {                                                        \
      for (; i < n; i++) max = LARGER(max, x[i]);                           \
      return max; }                                                         \
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
    if (n < LANES) { /* the other lanes are 0 */                            \
      for (; i < n; i++) sum += (double)x[i];                               \
      return sum; }                                                         \
    for (; i + LANES <= n; i += LANES)                                      \
      for (int l = 0; l < LANES; l++) lane[l] += (double)x[i + l];          \
    for (int64_t l = 0; i + l < n; l++) lane[l] += (double)x[i + l];        \
    for (int l = 0; l < LANES; l++) sum += lane[l];                         \
    return sum; }

/* Whole vectors cost less than the numbers of an end. */
#define LINE_STEPS(W, EXP)                                                  \
  static void exp_##W(W *x, int64_t n, W max) {                             \
    for (; n % PAD; n++) x[n] = max;                                        \
    for (int64_t i = 0; i < n; i += PAD)                                    \
      for (int l = 0; l < PAD; l++) x[i + l] = EXP(x[i + l] - max); }       \
  static void times_##W(W *x, int64_t n, W by) {                            \
    for (int64_t i = 0; i < n; i++) x[i] *= by; }                           \
  static void minus_##W(W *x, int64_t n, W by) {                            \
    for (int64_t i = 0; i < n; i++) x[i] -= by; }

LINE_MAX(float)
LINE_SUM(float)
LINE_STEPS(float, st_exp_f4)
LINE_MAX(double)
LINE_SUM(double)
LINE_STEPS(double, st_exp_f8)

#define LOAD_LINE(s, T)                                                     \
  static inline void load_##s(line_##T *w, const char *p, int64_t step,     \
                              int64_t n) {                                  \
    T *restrict x = w->x;                                                   \
    int64_t i = 0;                                                          \
    if (step == sizeof(T)) {                                                \
      for (; i < n; i++) x[i] = ((const T *)p)[i];                          \
    } else {                                                                \
      for (; i + 4 <= n; i += 4, p += 4 * step) {                           \
        x[i] = *(const T *)p, x[i + 1] = *(const T *)(p + step);            \
        x[i + 2] = *(const T *)(p + 2 * step);                              \
        x[i + 3] = *(const T *)(p + 3 * step); }                            \
      for (; i < n; i++, p += step) x[i] = *(const T *)p; } }

#define STORE_LINE(s, T)                                                    \
  static inline void store_##s(const line_##T *w, char *p, int64_t step,    \
                               int64_t n) {                                 \
    if (step == sizeof(T)) {                                                \
      for (int64_t i = 0; i < n; i++) ((T *)p)[i] = w->x[i];                \
    } else {                                                                \
      for (int64_t i = 0; i < n; i++) *(T *)(p + i * step) = w->x[i];       \
    } }

LOAD_LINE(f32, float)
STORE_LINE(f32, float)
LOAD_LINE(f64, double)
STORE_LINE(f64, double)

static void load_half(line_float *w, const char *p, int64_t step, int64_t n) {
  w->half->load(w->x, p, step, n);
}

static void store_half(const line_float *w, char *p, int64_t step,
                       int64_t n) {
  w->half->store(p, step, w->x, n);
}

/* -- Several lines at once ------------------------------------------------ */

/* A buffer of ROOM elements holds rows of at most COLUMNS lines. */
enum { ROOM = 8192, COLUMNS = 64, FEWEST = 4 };

typedef struct place {
  char *data;
  int64_t along, across; /* steps between elements, between lines */
} place;

static inline int64_t distance(int64_t step) { return step < 0 ? -step : step; }

static inline bool closer(int64_t a, int64_t b) {
  return distance(a) < distance(b);
}

/* Lines of up to ROOM / 16 elements stay in the buffer as a whole. */
static inline int64_t columns_at_once(int64_t n) {
  const int64_t fit = ROOM / n;
  return fit < 16 || fit > COLUMNS ? COLUMNS : fit;
}

/* A part divides LINE, so that a long line asks whether to stop. */
static inline int64_t rows_at_once(int64_t n, int64_t width) {
  return n * width <= ROOM ? n : ROOM / COLUMNS;
}

/* Whether lines lie closer together than their elements. To transpose costs
 * more than it saves. */
static inline bool suits_columns(const int64_t *st, int64_t n1) {
  return n1 >= FEWEST && closer(st[2], st[0]) && closer(st[3], st[1]);
}

#define W float
#define EXP st_exp_f4
#define COLUMN(name) name##_columns_f4
#define HALVES
#include "kernel/reduce/softmax_columns.h"

#define W double
#define EXP st_exp_f8
#define COLUMN(name) name##_columns_f8
#include "kernel/reduce/softmax_columns.h"

/* -- softmax -------------------------------------------------------------- */

/* Computes the maximum of a line and the sum of exp(x - max). s: f32, f64, or
 * half, for which ctx is the half_type. The exponentials of a line of more than
 * one chunk are kept in `to` unless it is NULL. */
#define SOFTMAX_REDUCE(s, W)                                                \
  static void reduce_##s(line_##W *w, const char *p, int64_t step, char *to, \
                         int64_t to_step) {                                 \
    w->max = (W)-INFINITY;                                                  \
    w->sum = 0;                                                             \
    for (int64_t i = 0, n; i < w->n && !st__stops_at(i); i += n) {          \
      n = w->n - i < LINE ? w->n - i : LINE;                                \
      load_##s(w, p + i * step, step, n);                                   \
      w->max = max_##W(w->x, n, w->max); }                                  \
    for (int64_t i = 0, n; i < w->n && !st__stops_at(i); i += n) {          \
      n = w->n - i < LINE ? w->n - i : LINE;                                \
      if (w->n > LINE) load_##s(w, p + i * step, step, n);                  \
      exp_##W(w->x, n, w->max);                                             \
      w->sum += sum_##W(w->x, n);                                           \
      if (to && w->n > LINE) store_##s(w, to + i * to_step, to_step, n); } }

/* A line of one chunk still has its exponentials in the buffer. */
#define SOFTMAX_LINE(s, W)                                                  \
  static void softmax_line_##s(line_##W *w, char *to, int64_t to_step,      \
                               const char *p, int64_t step) {               \
    const bool kept = !w->half;                                             \
    reduce_##s(w, p, step, kept ? to : NULL, to_step);                      \
    for (int64_t i = 0, n; i < w->n && !st__stops_at(i); i += n) {          \
      n = w->n - i < LINE ? w->n - i : LINE;                                \
      if (w->n > LINE && kept) load_##s(w, to + i * to_step, to_step, n);   \
      if (w->n > LINE && !kept) {                                           \
        load_##s(w, p + i * step, step, n);                                 \
        exp_##W(w->x, n, w->max); }                                         \
      times_##W(w->x, n, (W)(1 / w->sum));                                  \
      store_##s(w, to + i * to_step, to_step, n); } }

#define LOG_SOFTMAX_LINE(s, W)                                              \
  static void log_softmax_line_##s(line_##W *w, char *to, int64_t to_step,  \
                                   const char *p, int64_t step) {           \
    reduce_##s(w, p, step, NULL, 0);                                        \
    for (int64_t i = 0, n; i < w->n && !st__stops_at(i); i += n) {          \
      n = w->n - i < LINE ? w->n - i : LINE;                                \
      load_##s(w, p + i * step, step, n);                                   \
      minus_##W(w->x, n, w->max);                                           \
      minus_##W(w->x, n, (W)log(w->sum));                                   \
      store_##s(w, to + i * to_step, to_step, n); } }

/* v: the columns' suffix */
#define LINES_LOOP(name, s, W, v)                                           \
  static void name##_##s(char **data, const int64_t *st, int64_t n0,        \
                         int64_t n1, const void *ctx) {                     \
    if (run_columns_##v(name##_columns_##v, data, st,                       \
                        (int64_t[]){n0, n1}, ctx)) return;                  \
    line_##W w; /* not cleared: it is large */                              \
    w.n = n0;                                                               \
    w.half = ctx;                                                           \
    for (int64_t j = 0; j < n1; j++)                                        \
      name##_line_##s(&w, data[0] + j * st[2], st[0],                       \
                      data[1] + j * st[3], st[1]); }

#define SOFTMAX(s, W, v)            \
  SOFTMAX_REDUCE(s, W)              \
  SOFTMAX_LINE(s, W)                \
  LOG_SOFTMAX_LINE(s, W)            \
  LINES_LOOP(softmax, s, W, v)      \
  LINES_LOOP(log_softmax, s, W, v)

SOFTMAX(f32, float, f4)
SOFTMAX(f64, double, f8)
SOFTMAX(half, float, f4)

/* -- The gradient of softmax ---------------------------------------------- */

/* g is the gradient of the result y of a line; chunks are as above. */
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

BACK_LINES(float, st_exp_f4)
BACK_LINES(double, st_exp_f8)

#define BACK_LOAD(s, W)                                                     \
  static void load_back_##s(back_##W *w, char *const *p, const int64_t *st, \
                            int64_t i, int64_t n) {                         \
    load_##s(&w->g, p[1] + i * st[1], st[1], n);                            \
    load_##s(&w->y, p[2] + i * st[2], st[2], n); }

static inline int64_t chunk(int64_t left) { return left < LINE ? left : LINE; }

#define BACK_SUM(name, s, W)                                                \
  static double name##_total_##s(back_##W *w, char *const *p,               \
                                 const int64_t *st, int64_t n0) {           \
    double sum = 0;                                                         \
    for (int64_t i = 0, n; i < n0 && !st__stops_at(i); i += n) {            \
      n = chunk(n0 - i);                                                    \
      load_back_##s(w, p, st, i, n);                                        \
      sum += name##_sum_##W(w, n); }                                        \
    return sum; }

#define BACK_LOOP(name, s, W)                                               \
  static void name##_backward_##s(char **data, const int64_t *st,           \
                                  int64_t n0, int64_t n1, const void *ctx) { \
    back_##W w; /* not cleared: it is large */                              \
    w.g.half = w.y.half = ctx;                                              \
    for (int64_t j = 0; j < n1; j++) {                                      \
      char *const p[] = {data[0] + j * st[3], data[1] + j * st[4],          \
                         data[2] + j * st[5]};                              \
      const W sum = (W)name##_total_##s(&w, p, st, n0);                     \
      for (int64_t i = 0, n; i < n0 && !st__stops_at(i); i += n) {          \
        n = chunk(n0 - i);                                                  \
        if (n0 > LINE) load_back_##s(&w, p, st, i, n);                      \
        name##_step_##W(&w, n, sum);                                        \
        store_##s(&w.g, p[0] + i * st[0], st[0], n); } } }

#define BACK(s, W)             \
  BACK_LOAD(s, W)              \
  BACK_SUM(softmax, s, W)      \
  BACK_LOOP(softmax, s, W)     \
  BACK_SUM(log_softmax, s, W)  \
  BACK_LOOP(log_softmax, s, W)

BACK(f32, float)
BACK(f64, double)
BACK(half, float)

/* -- The table ------------------------------------------------------------ */

#define HALF_LOOP(name, s)                                                  \
  static void name##_##s(char **data, const int64_t *st, int64_t n0,        \
                         int64_t n1, const void *ctx) {                     \
    (void)ctx;                                                              \
    name##_half(data, st, n0, n1, &type_##s); }

#define HALF_LOOPS(name) \
  HALF_LOOP(name, f16)   \
  HALF_LOOP(name, bf16)

HALF_LOOPS(softmax)
HALF_LOOPS(log_softmax)
HALF_LOOPS(softmax_backward)
HALF_LOOPS(log_softmax_backward)

#define FLOATING(name)                                                      \
  {ST_K_##name, {                                                           \
    [ST_FLOAT16] = name##_f16, [ST_BFLOAT16] = name##_bf16,                 \
    [ST_FLOAT32] = name##_f32, [ST_FLOAT64] = name##_f64}}

static const st_kernel_row rows[] = {
  FLOATING(softmax), FLOATING(log_softmax), FLOATING(softmax_backward),
  FLOATING(log_softmax_backward)};

ST_EXPORT(st__softmax, rows)
