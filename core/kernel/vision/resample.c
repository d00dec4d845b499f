/* Images resampled along one dimension: elements of the result are weighted
 * sums of neighbouring ones, their taps. The transpose is the gradient.
 */

#include "kernel/vision/resample.h"

#include "base/threads.h"
#include "kernel/inline.h"
#include "kernel/loop.h"

/* Where a unit begins in the result and in the image, and how many elements of
 * a row it has. */
typedef struct resample_unit { int64_t at_out, at_in, n; } resample_unit;

INLINE resample_unit unit_at(const st_resample_ctx *c, int64_t i) {
  const int64_t blocks = (c->inner + ST_RESAMPLE_BLOCK - 1) / ST_RESAMPLE_BLOCK;
  const int64_t outer = i / blocks, at = i % blocks * ST_RESAMPLE_BLOCK;
  const int64_t rest = c->inner - at;
  return (resample_unit){outer * c->out * c->inner + at,
                         outer * c->in * c->inner + at,
                         rest < ST_RESAMPLE_BLOCK ? rest : ST_RESAMPLE_BLOCK};
}

#define TEMPLATE "kernel/vision/resample_template.h"
#include "kernel/each_float.h"

static const st_task_row rows[] = {
  ST_FLOATS(resample),
  ST_FLOATS(resample_back),
};

ST_EXPORT_TASKS(st__resample, rows)
