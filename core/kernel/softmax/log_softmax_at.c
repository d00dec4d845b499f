/* One element of log_softmax per line, for cross_entropy: the results of
 * softmax.c, to the bit, without the rest of the line.
 *
 * Operands: out, index, x; out and index have one element per line. ctx: the
 * base of the indices, an int64, which have been checked.
 */

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "kernel/index/index.h"
#include "kernel/loop.h"
#include "kernel/math/masked_exp.h"

/* LINE and LANES are those of softmax.c: its sums have one partial sum per
 * lane, and chunks of LINE elements, which are added in order. A block has one
 * long line, up to ROWS lines that lie one after another, or up to SIDE short
 * ones that lie side by side. */
enum { LINE = 2048, LANES = 32, ROWS = 8, SIDE = 32, PAD = 16 };

/* The maximum may ignore NaN: the sum does not. */
#define LARGER(a, b) ((b) > (a) ? (b) : (a))
#define SMALLER(a, b) ((b) < (a) ? (b) : (a))

static int64_t padded(int64_t n) { return (n + PAD - 1) / PAD * PAD; }

/* What a block of lines needs: x, the elements, then their exponentials; for
 * each line its maximum and the sum of the exponentials. */
#define BLOCK(W)                                                            \
  typedef struct block_##W {                                                \
    W x[LINE], max[SIDE];                                                   \
    double lane[ROWS][LANES], sum[SIDE]; } block_##W;

/* -- Steps ---------------------------------------------------------------- */

/* The last element fills the end of a line; its exponential is not added. */
#define LOAD(W)                                                             \
  static int64_t load_##W(W *restrict x, const char *p, int64_t step,       \
                          int64_t n) {                                      \
    if (step == sizeof(W)) {                                                \
      for (int64_t i = 0; i < n; i++) x[i] = ((const W *)p)[i];             \
    } else {                                                                \
      for (int64_t i = 0; i < n; i++, p += step) x[i] = *(const W *)p; }    \
    for (; n % PAD; n++) x[n] = x[n - 1];                                   \
    return n; }

#define FOLD(W)                                                             \
  static inline __attribute__((always_inline))                              \
  void fold_##W(W *lane, int n) {                                           \
    for (int l = 0; l < n; l++) lane[l] = LARGER(lane[l], lane[l + n]); }

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

#define MINUS(W)                                                            \
  static void minus_##W(W *restrict x, int64_t n, W by) {                   \
    for (int64_t i = 0; i < n; i++) x[i] -= by; }

/* Takes the exponentials of n elements. If none is less than LOW, none is
 * subnormal (NaN aside), and the shorter function has the same results. */
#define EXPONENTIALS(W, I, EXP, NORMAL, LOW)                                \
  static void exps_##W(W *x, int64_t n) {                                   \
    I is_low = 0;                                                           \
    for (int64_t i = 0; i < n; i++) is_low |= x[i] < (W)LOW;                \
    if (is_low) {                                                           \
      for (int64_t i = 0; i < n; i += PAD)                                  \
        for (int l = 0; l < PAD; l++) x[i + l] = EXP(x[i + l]);             \
    } else {                                                                \
      for (int64_t i = 0; i < n; i += PAD)                                  \
        for (int l = 0; l < PAD; l++) x[i + l] = NORMAL(x[i + l]); } }

/* -- Sums ----------------------------------------------------------------- */

/* The lanes of a line of n elements, which is padded. */
#define LINE_SUM(W)                                                         \
  static void line_sum_##W(double *restrict lane, const W *restrict x,      \
                           int64_t n) {                                     \
    int64_t i = 0;                                                          \
    for (int l = 0; l < LANES; l++) lane[l] = 0;                            \
    for (; i + LANES <= n; i += LANES)                                      \
      for (int l = 0; l < LANES; l++) lane[l] += (double)x[i + l];          \
    for (int l = 0; l < PAD && i < n; l++)                                  \
      lane[l] += i + l < n ? (double)x[i + l] : 0;                          \
    for (int l = 0; l < PAD && i + PAD < n; l++)                            \
      lane[PAD + l] += i + PAD + l < n ? (double)x[i + PAD + l] : 0; }

/* Several lines together: in one line each addition waits for the one before.
 */
#define ADD_LANES(W)                                                        \
  static void add_lanes_##W(block_##W *w, int64_t n) {                      \
    double sum[ROWS] = {0};                                                 \
    for (int64_t l = 0; l < n && l < LANES; l++)                            \
      for (int r = 0; r < ROWS; r++) sum[r] += w->lane[r][l];               \
    for (int r = 0; r < ROWS; r++) w->sum[r] = sum[r]; }

/* -- Lines one after another ---------------------------------------------- */

/* Lines of more than one chunk; the block is one line. */
#define LONG_LINE(W)                                                        \
  static void long_line_##W(block_##W *w, const char *p, int64_t step,      \
                            int64_t n0) {                                   \
    W max = (W)-INFINITY;                                                   \
    double total = 0;                                                       \
    for (int64_t i = 0; i < n0 && !st__stops_at(i); i += LINE) {            \
      const int64_t n = n0 - i < LINE ? n0 - i : LINE;                      \
      max = max_##W(w->x, load_##W(w->x, p + i * step, step, n), max); }    \
    for (int64_t i = 0; i < n0 && !st__stops_at(i); i += LINE) {            \
      const int64_t n = n0 - i < LINE ? n0 - i : LINE;                      \
      const int64_t all = load_##W(w->x, p + i * step, step, n);            \
      minus_##W(w->x, all, max);                                            \
      exps_##W(w->x, all);                                                  \
      line_sum_##W(w->lane[0], w->x, n);                                    \
      add_lanes_##W(w, n);                                                  \
      total += w->sum[0]; }                                                 \
    w->max[0] = max;                                                        \
    w->sum[0] = total; }

/* All lines are loaded first: a vector load right after the narrow stores of a
 * line's end would wait for them. */
#define LINES(W)                                                            \
  static void lines_##W(block_##W *w, const char *p, const int64_t *st,     \
                        int64_t n0, int64_t rows) {                         \
    const int64_t n = padded(n0);                                           \
    for (int64_t r = 0; r < rows; r++)                                      \
      load_##W(w->x + r * n, p + r * st[5], st[2], n0);                     \
    for (int64_t r = 0; r < rows; r++) {                                    \
      w->max[r] = max_##W(w->x + r * n, n, (W)-INFINITY);                   \
      minus_##W(w->x + r * n, n, w->max[r]); }                              \
    exps_##W(w->x, rows * n);                                               \
    for (int64_t r = 0; r < rows; r++)                                      \
      line_sum_##W(w->lane[r], w->x + r * n, n0);                           \
    add_lanes_##W(w, n0); }

/* -- Short lines, side by side --------------------------------------------- */

#define SIDE_BY_SIDE(W)                                                     \
  static void side_by_side_##W(W *restrict x, const char *p,                \
                               const int64_t *st, int64_t n, int64_t last,  \
                               int64_t r) {                                 \
    const int64_t step = st[2];                                             \
    const char *a = p + (r < last ? r : last) * st[5];                      \
    const char *b = p + (r + 1 < last ? r + 1 : last) * st[5];              \
    const char *c = p + (r + 2 < last ? r + 2 : last) * st[5];              \
    const char *d = p + (r + 3 < last ? r + 3 : last) * st[5];              \
    for (int64_t i = 0; i < n; i++, x += SIDE) {                            \
      x[0] = *(const W *)(a + i * step);                                    \
      x[1] = *(const W *)(b + i * step);                                    \
      x[2] = *(const W *)(c + i * step);                                    \
      x[3] = *(const W *)(d + i * step); } }

/* Finds each line's maximum. Returns whether an exponential needs EXP instead
 * of NORMAL. */
#define BOUNDS(W, LOW)                                                      \
  static bool short_bounds_##W(const W *x, int64_t n, W *restrict max) {    \
    W low[SIDE], high[SIDE];                                                \
    bool is_low = false;                                                    \
    for (int r = 0; r < SIDE; r++) low[r] = high[r] = x[r];                 \
    for (int64_t i = 1; i < n; i++)                                         \
      for (int r = 0; r < SIDE; r++) {                                      \
        high[r] = LARGER(high[r], x[i * SIDE + r]);                         \
        low[r] = SMALLER(low[r], x[i * SIDE + r]); }                        \
    for (int r = 0; r < SIDE; r++) {                                        \
      is_low |= low[r] - high[r] < (W)LOW;                                  \
      max[r] = high[r]; }                                                   \
    return is_low; }

#define SHORT_EXP(W, name, EXP)                                             \
  static void short_##name##_##W(W *restrict x, int64_t n,                  \
                                 const W *restrict max) {                   \
    for (int64_t i = 0; i < n; i++)                                         \
      for (int r = 0; r < SIDE; r++)                                        \
        x[i * SIDE + r] = EXP(x[i * SIDE + r] - max[r]); }

/* Adds a lane of each line; n elements of the line are left. */
#define ADD_LANE(W)                                                         \
  static inline void add_lane_##W(double *restrict sum, const W *x,         \
                                  int64_t n) {                              \
    double lane[SIDE];                                                      \
    for (int r = 0; r < SIDE; r++) lane[r] = (double)x[r];                  \
    for (; n > LANES; n -= LANES) {                                         \
      x += LANES * SIDE;                                                    \
      for (int r = 0; r < SIDE; r++) lane[r] += (double)x[r]; }             \
    for (int r = 0; r < SIDE; r++) sum[r] += lane[r]; }

/* Lines that are missing are copies of the last one. */
#define SHORT_LINES(W)                                                      \
  static void short_lines_##W(block_##W *w, const char *p,                  \
                              const int64_t *st, int64_t n, int64_t rows) { \
    double sum[SIDE] = {0};                                                 \
    for (int r = 0; r < SIDE; r += 4)                                       \
      side_by_side_##W(w->x + r, p, st, n, rows - 1, r);                    \
    if (short_bounds_##W(w->x, n, w->max)) short_exp_##W(w->x, n, w->max);  \
    else short_normal_##W(w->x, n, w->max);                                 \
    for (int64_t i = 0; i < n && i < LANES; i++)                            \
      add_lane_##W(sum, w->x + i * SIDE, n - i);                            \
    for (int r = 0; r < SIDE; r++) w->sum[r] = sum[r]; }

/* -- All lines ------------------------------------------------------------ */

/* How many of `left` lines of n elements are processed together. */
static int64_t block_of(int64_t left, int64_t n) {
  const int64_t most = n <= LINE / SIDE ? SIDE : n > LINE ? 1
                     : n > LINE / ROWS ? LINE / padded(n) : ROWS;
  return left < most ? left : most;
}

#define FINISH(W)                                                           \
  static void finish_##W(char **data, const int64_t *st, int64_t j,         \
                         int64_t n0, int64_t base, W max, double sum) {     \
    const int64_t at = st__resolve_index(                                   \
      *(const int64_t *)(data[1] + j * st[4]), base, n0);                   \
    const W x = *(const W *)(data[2] + j * st[5] + at * st[2]);             \
    *(W *)(data[0] + j * st[3]) = x - max - (W)log(sum); }

#define LOG_SOFTMAX_AT(s, W)                                                \
  static void log_softmax_at_##s(char **data, const int64_t *st,            \
                                 int64_t n0, int64_t n1, const void *ctx) { \
    block_##W w;                                                            \
    memset(w.lane, 0, sizeof w.lane);                                       \
    for (int64_t j = 0, n; j < n1 && !st__stops_at(j); j += n) {            \
      const char *p = data[2] + j * st[5];                                  \
      n = block_of(n1 - j, n0);                                             \
      if (n0 > LINE) long_line_##W(&w, p, st[2], n0);                       \
      else if (n > ROWS) short_lines_##W(&w, p, st, n0, n);                 \
      else lines_##W(&w, p, st, n0, n);                                     \
      for (int64_t r = 0; r < n; r++) finish_##W(data, st, j + r, n0,       \
        *(const int64_t *)ctx, w.max[r], w.sum[r]); } }

#define DTYPE(s, W, I, EXP, NORMAL, LOW)                                    \
  BLOCK(W) LOAD(W) FOLD(W) LINE_MAX(W) MINUS(W)                             \
  EXPONENTIALS(W, I, EXP, NORMAL, LOW)                                      \
  LINE_SUM(W) ADD_LANES(W) LONG_LINE(W) LINES(W)                            \
  SIDE_BY_SIDE(W) BOUNDS(W, LOW) SHORT_EXP(W, exp, EXP)                     \
  SHORT_EXP(W, normal, NORMAL) ADD_LANE(W) SHORT_LINES(W)                   \
  FINISH(W) LOG_SOFTMAX_AT(s, W)

DTYPE(f32, float, int32_t, st_masked_exp_f4, st_exp_normal_f4, -87)
DTYPE(f64, double, int64_t, st_masked_exp_f8, st_exp_normal_f8, -708)

static const st_kernel_row rows[] = {
  {"log_softmax_at", {[ST_FLOAT32] = log_softmax_at_f32,
                         [ST_FLOAT64] = log_softmax_at_f64}},
};

ST_EXPORT(st__log_softmax_at, rows)
