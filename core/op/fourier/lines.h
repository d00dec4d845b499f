/* Transforms of all lines along one dimension of a tensor.
 *
 * Note [A line at a time]
 * Every line of a tensor is transformed by the same plan, from contiguous
 * memory to contiguous memory. Lines that are not contiguous are gathered in
 * scratch memory, several neighbours at once, so that each cache line is read
 * once, and their results are scattered from there. Other lines are transformed
 * in tiles (Note [Lines side by side], tiles.h) or by eighths (Note [Lines by
 * eighths], eighths.h), with the same sums (Note [The order of a transform],
 * passes.h). The threads share the lines.
 */
#ifndef ST_OP_FOURIER_LINES_H
#define ST_OP_FOURIER_LINES_H

#include "op/fourier/plans.h"
#include "tensor/tensor.h"

typedef struct st_lines {
  st_fft_kind kind;
  const st_tensor *in;
  const st_tensor *out; /* may be `in` for complex numbers; otherwise they
                           share no memory */
  int dim;
  int64_t n;            /* length of a transform */
  double scale;         /* of the results */
  bool is_full;         /* R2C writes n numbers: a half and its mirror image */
} st_lines;

/* Results are written if it fails by INTERRUPTED only. */
st_status st__transform_lines(const st_lines *l);

#endif
