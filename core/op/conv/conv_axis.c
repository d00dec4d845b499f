/* Spatial dimensions of direct convolutions (Note [Direct convolution]).
 */

#include "op/conv/conv_axis.h"

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    const int64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

int64_t st__conv_phases(const st_conv *v, int d) {
  return v->transposed ? least(v->w.stride[d], st__conv_size(v, d)) : 1;
}

static void find_reach(st_conv_axis *x) {
  const int64_t last = x->taps > 0 ? x->taps - 1 : 0;
  const int64_t a = st__conv_shift(x, 0), b = st__conv_shift(x, last);
  x->low = least(a, b);
  x->high = a + b - x->low;
}

/* Results phase, phase + s, ... of a transposed convolution of stride s: result
 * o sums input i times tap k where o + padding = i s + k dilation. */
static void set_transposed(const st_conv *v, int d, int64_t phase,
                           st_conv_axis *x) {
  const int64_t s = v->w.stride[d], dilation = v->w.dilation[d];
  const int64_t by = s / gcd(s, dilation), at = phase - v->before[d];
  x->start = phase;
  x->step = s;
  x->count = ceil_div(st__conv_size(v, d) - phase, s);
  x->by = by;
  const int64_t end = least(by, v->w.kernel[d]);
  x->first = 0;
  while (x->first < end && (at - x->first * dilation) % s != 0) x->first++;
  x->taps = x->first < end ? ceil_div(v->w.kernel[d] - x->first, by) : 0;
  x->stride = x->planes = 1;
  x->origin = x->taps > 0 ? (at - x->first * dilation) / s : 0;
  x->dilation = -(by * dilation / s);
}

void st__conv_axis_set(const st_conv *v, int d, int64_t phase,
                       st_conv_axis *x) {
  const st_window *w = &v->w;
  if (v->transposed) {
    set_transposed(v, d, phase, x);
  } else {
    x->count = w->out[d];
    x->step = 1;
    x->taps = w->kernel[d];
    x->by = 1;
    x->stride = w->stride[d];
    x->planes = least(x->taps, x->stride / gcd(x->stride, w->dilation[d]));
    x->origin = -w->padding[d];
    x->dilation = w->dilation[d];
  }
  x->in = v->input->sizes[2 + d];
  find_reach(x);
}
