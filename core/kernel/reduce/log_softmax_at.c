/* One element of log_softmax per line, for cross_entropy: the results of
 * softmax.c, to the bit, without the rest of the line.
 *
 * Operands: out, index, x; out and index have one element per line. ctx: the
 * base of the indices, an int64, which have been checked.
 */

#include <math.h>

#include "base/threads.h"
#include "kernel/index/index.h"
#include "kernel/kernel.h"
#include "kernel/math/functions.h"

/* LINE and LANES are those of softmax.c: its sums have one partial sum per
 * lane, and chunks of LINE elements, which are added in order. */
enum { LINE = 2048, LANES = 32, ROWS = 8, PAD = 16 };

/* The maximum of values with a NaN is NaN. */
#define LARGER(a, b) (((b) > (a)) | ((b) != (b)) ? (b) : (a))

static int64_t padded(int64_t n) { return (n + PAD - 1) / PAD * PAD; }

/* The lanes of ROWS lines are added side by side: in a single line each
 * addition would wait for the one before. The last element
 * fills the end of a chunk; its exponential is replaced by 0 there or not
 * added. */
#define LINES(W)                                                            \
  typedef struct lines_##W {                                                \
    W x[LINE];                                                              \
    double lane[ROWS][LANES], sum[ROWS]; } lines_##W;                       \
  static int64_t load_##W(W *restrict x, const char *p, int64_t step,       \
                          int64_t n) {                                      \
    if (step == sizeof(W)) {                                                \
      for (int64_t i = 0; i < n; i++) x[i] = ((const W *)p)[i];             \
    } else {                                                                \
      for (int64_t i = 0; i < n; i++, p += step) x[i] = *(const W *)p; }    \
    for (; n % PAD; n++) x[n] = x[n - 1];                                   \
    return n; }

/* Four vectors at a time: each waits for the comparison before. */
#define LINE_MAX(W)                                                         \
  static W max_##W(const W *x, int64_t n, W max) {                          \
    W lane[4 * PAD];                                                        \
    int64_t i = n < 4 * PAD ? PAD : 4 * PAD;                                \
    for (int64_t l = 0; l < i; l++) lane[l] = x[l];                         \
    for (; i + 4 * PAD <= n; i += 4 * PAD)                                  \
      for (int l = 0; l < 4 * PAD; l++)                                     \
        lane[l] = LARGER(lane[l], x[i + l]);                                \
    if (n >= 4 * PAD) fold_##W(lane, 2 * PAD), fold_##W(lane, PAD);         \
    for (; i < n; i += PAD)                                                 \
      for (int l = 0; l < PAD; l++) lane[l] = LARGER(lane[l], x[i + l]);    \
    fold_##W(lane, 8), fold_##W(lane, 4);                                   \
    for (int l = 0; l < 4; l++) max = LARGER(max, lane[l]);                 \
    return max; }

#define FOLD(W)                                                             \
  static inline __attribute__((always_inline))                              \
  void fold_##W(W *lane, int n) {                                           \
    for (int l = 0; l < n; l++) lane[l] = LARGER(lane[l], lane[l + n]); }

#define LINE_SUM(W, EXP)                                                    \
  static void exp_sum_##W(double *restrict lane, W *restrict x, int64_t n0, \
                          W max) {                                          \
    int64_t i = 0, n = padded(n0);                                          \
    for (; i < n; i += PAD)                                                 \
      for (int l = 0; l < PAD; l++) x[i + l] = EXP(x[i + l] - max);         \
    for (; n0 >= LANES && n0 < n; n0++) x[n0] = 0;                          \
    for (int l = 0; l < LANES; l++) lane[l] = 0;                            \
    for (i = 0; i + LANES <= n; i += LANES)                                 \
      for (int l = 0; l < LANES; l++) lane[l] += (double)x[i + l];          \
    if (i < n) for (int l = 0; l < PAD; l++) lane[l] += (double)x[i + l]; } \
  static void add_lanes_##W(lines_##W *w, int64_t n) {                      \
    double sum[ROWS] = {0};                                                 \
    for (int64_t l = 0; l < n && l < LANES; l++)                            \
      for (int r = 0; r < ROWS; r++) sum[r] += w->lane[r][l];               \
    for (int r = 0; r < ROWS; r++) w->sum[r] = sum[r]; }

LINES(float)
FOLD(float)
LINE_MAX(float)
LINE_SUM(float, st_exp_f4)
LINES(double)
FOLD(double)
LINE_MAX(double)
LINE_SUM(double, st_exp_f8)

/* Lines of more than one chunk; their lanes are row 0 of w. */
#define LONG_LINE(W)                                                        \
  static W long_line_##W(lines_##W *w, const char *p, int64_t step,         \
                         int64_t n0) {                                      \
    W max = (W)-INFINITY;                                                   \
    double total = 0;                                                       \
    for (int64_t i = 0; i < n0 && !st__stops_at(i); i += LINE) {            \
      const int64_t n = n0 - i < LINE ? n0 - i : LINE;                      \
      max = max_##W(w->x, load_##W(w->x, p + i * step, step, n), max); }    \
    for (int64_t i = 0; i < n0 && !st__stops_at(i); i += LINE) {            \
      const int64_t n = n0 - i < LINE ? n0 - i : LINE;                      \
      load_##W(w->x, p + i * step, step, n);                                \
      exp_sum_##W(w->lane[0], w->x, n, max);                                \
      add_lanes_##W(w, n);                                                  \
      total += w->sum[0]; }                                                 \
    w->sum[0] = total;                                                      \
    return max; }

/* All lines are loaded first: a vector load right after the narrow stores of a
 * line's end would wait for them. */
#define SHORT_LINES(W)                                                      \
  static void short_lines_##W(lines_##W *w, const char *p,                  \
                              const int64_t *st, int64_t n0, int64_t rows,  \
                              W *max) {                                     \
    const int64_t n = padded(n0);                                           \
    for (int64_t r = 0; r < rows; r++)                                      \
      load_##W(w->x + r * n, p + r * st[5], st[2], n0);                     \
    for (int64_t r = 0; r < rows; r++) {                                    \
      max[r] = max_##W(w->x + r * n, n, (W)-INFINITY);                      \
      exp_sum_##W(w->lane[r], w->x + r * n, n0, max[r]); }                   \
    add_lanes_##W(w, n0); }

/* How many of `left` lines of n elements are processed together. */
static int64_t block_of(int64_t left, int64_t n) {
  const int64_t most = n > LINE ? 1 : LINE / padded(n);
  if (left > ROWS) left = ROWS;
  return left < most ? left : most;
}

#define LOG_SOFTMAX_AT(s, W)                                                \
  LONG_LINE(W)                                                              \
  SHORT_LINES(W)                                                            \
  static void log_softmax_at_##s(char **data, const int64_t *st,            \
                                 int64_t n0, int64_t n1, const void *ctx) { \
    lines_##W w;                                                            \
    for (int r = 0; r < ROWS; r++)                                          \
      for (int l = 0; l < LANES; l++) w.lane[r][l] = 0;                     \
    for (int64_t j = 0, n; j < n1 && !st__stops_at(j); j += n) {            \
      const char *p = data[2] + j * st[5];                                  \
      W max[ROWS];                                                          \
      n = block_of(n1 - j, n0);                                             \
      if (n0 > LINE) max[0] = long_line_##W(&w, p, st[2], n0);              \
      else short_lines_##W(&w, p, st, n0, n, max);                          \
      for (int64_t r = 0; r < n; r++) finish_##W(data, st, j + r, n0,       \
        *(const int64_t *)ctx, max[r], w.sum[r]); } }

#define FINISH(W)                                                           \
  static void finish_##W(char **data, const int64_t *st, int64_t j,         \
                         int64_t n0, int64_t base, W max, double sum) {     \
    const int64_t at = st__resolve_index(                                   \
      *(const int64_t *)(data[1] + j * st[4]), base, n0);                   \
    const W x = *(const W *)(data[2] + j * st[5] + at * st[2]);             \
    *(W *)(data[0] + j * st[3]) = x - max - (W)log(sum); }

FINISH(float)
FINISH(double)
LOG_SOFTMAX_AT(f32, float)
LOG_SOFTMAX_AT(f64, double)

static const st_kernel_row rows[] = {
  {ST_K_log_softmax_at, {[ST_FLOAT32] = log_softmax_at_f32,
                         [ST_FLOAT64] = log_softmax_at_f64}},
};

ST_EXPORT(st__log_softmax_at, rows)
