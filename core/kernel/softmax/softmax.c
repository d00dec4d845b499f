/* Kernels of softmax, log_softmax and their gradients, along one dimension.
 *
 * A line is the elements along that dimension. The inner dimension of a loop
 * runs along a line, the outer one over the lines. Outputs come first. float64
 * is computed in float64, all other types in float32, except for sums, which
 * are float64. The order of the operations in a line is always the same, except
 * for maxima. The maximum of values with a NaN is NaN.
 */

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "kernel/math/half_rows.h"
#define ST_NVECTORS 1
#include "kernel/math/exp_minus.h"
#include "kernel/math/functions.h"
#include "kernel/dtype_tables.h"

enum {
  LINE = 2048, LANES = 32, PAD = 16, /* each a multiple of the next */
  GROUP = 8, /* lines that are processed together by rows */
  COLUMNS = 64, FEWEST = 4, /* the same by columns */
  FEWEST_SHORT = 8, /* lines of fewer than LANES elements */
  ROOM = 1 << 16 /* bytes of rows of columns */
};

#define LARGER(a, b) (((b) > (a)) | ((b) != (b)) ? (b) : (a))

/* Conversions of a half type from and to float32. */
typedef struct half_type {
  void (*load)(float *to, const char *p, int64_t step, int64_t n);
  void (*store)(char *p, int64_t step, const float *from, int64_t n);
} half_type;

static const half_type type_f2 = {st_load_f16, st_store_f16};
static const half_type type_bf = {st_load_bf16, st_store_bf16};

typedef struct place {
  char *data;
  int64_t along, across; /* steps between elements, between lines */
} place;

/* -- Sizes ---------------------------------------------------------------- */

static inline int64_t padded(int64_t n) { return (n + PAD - 1) / PAD * PAD; }
static inline int64_t chunk(int64_t left) { return left < LINE ? left : LINE; }

/* The lines of n elements, of those left, that fit into a buffer of LINE
 * elements. */
static inline int64_t lines_at_once(int64_t n, int64_t left) {
  const int64_t fit = n < LINE ? LINE / padded(n) : 1;
  const int64_t most = fit < GROUP ? fit : GROUP;
  return left < most ? left : most;
}

/* A buffer of ROOM bytes holds rows of at most COLUMNS lines, whose elements
 * have `size` bytes. It holds lines as a whole if 128 bytes of each row fit. */
static inline int64_t columns_at_once(int64_t n, int64_t size) {
  const int64_t fit = ROOM / size / n / PAD * PAD;
  return fit * size < 128 || fit > COLUMNS ? COLUMNS : fit;
}

/* A part divides LINE, so that a long line asks whether to stop. */
static inline int64_t rows_at_once(int64_t n, int64_t width, int64_t size) {
  return n * width * size <= ROOM ? n : ROOM / size / COLUMNS;
}

static inline int64_t distance(int64_t step) { return step < 0 ? -step : step; }

static inline bool closer(int64_t a, int64_t b) {
  return distance(a) < distance(b);
}

/* Whether lines lie closer together than their elements, or are so short that
 * the steps of a line take longer than a transpose. */
static inline bool suits_columns(const int64_t *st, int64_t n0, int64_t n1) {
  return (n0 < LANES && n1 >= FEWEST_SHORT) ||
         (n1 >= FEWEST && closer(st[2], st[0]) && closer(st[3], st[1]));
}

/* -- Exponentials --------------------------------------------------------- */

EXP_MINUS(static inline, f4, float, PAD)
EXP_MINUS(static inline, f8, double, PAD)

/* -- Loops ---------------------------------------------------------------- */

#define W float
#define NAME(f) f##_f4
#define HALVES
#include "kernel/softmax/softmax_steps.h"
#include "kernel/softmax/softmax_columns.h"
#include "kernel/softmax/softmax_lines.h"
#include "kernel/softmax/softmax_backward.h"
#undef W
#undef NAME
#undef HALVES

#define W double
#define NAME(f) f##_f8
#include "kernel/softmax/softmax_steps.h"
#include "kernel/softmax/softmax_columns.h"
#include "kernel/softmax/softmax_lines.h"
#include "kernel/softmax/softmax_backward.h"

/* -- The table ------------------------------------------------------------ */

#define HALF_LOOP(name, s)                                                  \
  static ST_LOOP_FN(name##_##s, st) {                                       \
    name##_f4(data, st, n0, n1, &type_##s); }

#define HALF_LOOPS(name) \
  HALF_LOOP(name, f2)    \
  HALF_LOOP(name, bf)

HALF_LOOPS(softmax)
HALF_LOOPS(log_softmax)
HALF_LOOPS(softmax_backward)
HALF_LOOPS(log_softmax_backward)

/* float32 and float64 have no ctx: it is NULL. */
#define FLOATING(name) {#name, {ST_BY_TAG(FLOAT, name)}}

static const st_kernel_row rows[] = {
  FLOATING(softmax), FLOATING(log_softmax), FLOATING(softmax_backward),
  FLOATING(log_softmax_backward)};

ST_EXPORT(st__softmax, rows)
