/* A spatial dimension of a direct convolution (Note [Direct convolution]).
 */
#ifndef ST_OP_CONV_CONV_AXIS_H
#define ST_OP_CONV_CONV_AXIS_H

#include "op/conv/conv.h"

/* The spatial dimensions; those that an image does not have come first. */
enum { DEPTH, ROW, COL, NAXES };

/* A spatial dimension. Result i of `count` is at start + i * step of the
 * output. Tap t, element first + t * by of the window, reads the input at (i +
 * shift) * stride + rest, where shift and rest belong to the tap. Taps whose
 * numbers differ by `planes` have the same rest. */
typedef struct st_conv_axis {
  int64_t in, count, start, step;
  int64_t taps, first, by;
  int64_t stride, planes;
  int64_t origin, dilation; /* tap t: origin + t * dilation = shift, rest */
  int64_t low, high;        /* of the shifts */
} st_conv_axis;

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static inline int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

static inline int64_t line_end(int64_t bytes) {
  return ceil_div(bytes, 64) * 64;
}

/* Takes the last of `n` places from *unit. */
static inline int64_t take(int64_t *unit, int64_t n) {
  const int64_t at = *unit % n;
  *unit /= n;
  return at;
}

static inline int64_t st__conv_shift(const st_conv_axis *x, int64_t tap) {
  return floor_div(x->origin + tap * x->dilation, x->stride);
}

static inline int64_t st__conv_rest(const st_conv_axis *x, int64_t tap) {
  return x->origin + tap * x->dilation - st__conv_shift(x, tap) * x->stride;
}

static inline int64_t st__conv_reach(const st_conv_axis *x) {
  return x->high - x->low;
}

/* The number of convolutions along d that a transposed one consists of. */
int64_t st__conv_phases(const st_conv *v, int d);
/* The phase-th of them. */
void st__conv_axis_set(const st_conv *v, int d, int64_t phase,
                       st_conv_axis *x);

#endif
