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

#define TEMPLATE "kernel/vision/grid_sample_template.h"
#include "kernel/each_float.h"

static const st_task_row rows[] = {ST_FLOATS(grid_sample)};

ST_EXPORT_TASKS(st__grid_sample, rows)
