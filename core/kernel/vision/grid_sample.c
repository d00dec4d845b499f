/* Images sampled at points of a grid, linearly or at the nearest pixel.
 *
 * The pixels around a block of points and their weights are computed once, then
 * used for all channels. The steps and roundings are those of the operators
 * that compute the same with gradients in op/vision/grid_sampler.c.
 */

#include "kernel/vision/grid_sample.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "kernel/inline.h"
#include "kernel/loop.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

enum { BLOCK = ST_GRID_BLOCK, MOST_TAPS = 8 };

#define T float
#define INDEX int32_t
#define TAG f4
#define M(name) name##f
#include "kernel/vision/grid_sample_template.h"
#undef T
#undef INDEX
#undef TAG
#undef M

#define T double
#define INDEX int64_t
#define TAG f8
#define M(name) name
#include "kernel/vision/grid_sample_template.h"
#undef T
#undef INDEX
#undef TAG
#undef M

static const st_task_row rows[] = {
  {"grid_sample", {[ST_FLOAT32] = grid_sample_f4,
                      [ST_FLOAT64] = grid_sample_f8}},
};

ST_EXPORT_TASKS(st__grid_sample, rows)
