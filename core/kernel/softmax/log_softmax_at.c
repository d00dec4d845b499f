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

/* How many of `left` lines of n elements are processed together. */
static int64_t block_of(int64_t left, int64_t n) {
  const int64_t most = n <= LINE / SIDE ? SIDE : n > LINE ? 1
                     : n > LINE / ROWS ? LINE / padded(n) : ROWS;
  return left < most ? left : most;
}

/* -- The loops ------------------------------------------------------------ */

#define W float
#define INTEGER int32_t
#define NAME(name) name##_f32
#define EXP st_masked_exp_f4
#define NORMAL st_exp_normal_f4
#define LOW -87
#include "kernel/softmax/log_softmax_at_template.h"

#define W double
#define INTEGER int64_t
#define NAME(name) name##_f64
#define EXP st_masked_exp_f8
#define NORMAL st_exp_normal_f8
#define LOW -708
#include "kernel/softmax/log_softmax_at_template.h"

static const st_kernel_row rows[] = {
  {"log_softmax_at", {[ST_FLOAT32] = log_softmax_at_f32,
                         [ST_FLOAT64] = log_softmax_at_f64}},
};

ST_EXPORT(st__log_softmax_at, rows)
