/* The weights and the bias of a direct convolution, as its kernels read them.
 */

#include <string.h>

#include "iter/strided_copy.h"
#include "op/conv/direct_convolution.h"
#include "op/conv/pixel_copy.h"
#include "op/lapack/lapack.h"

/* -- Weights -------------------------------------------------------------- */

/* True if the taps of a channel are the elements of a contiguous window. */
static bool has_all_taps(const direct *c) {
  int64_t strides[NAXES], next = c->size;
  st__axis_strides(c->v->weight, c->size, strides);
  for (int k = NAXES - 1; k >= 0; k--) {
    if (c->x[k].taps == 1) continue;
    if (c->x[k].by != 1 || strides[k] != next) return false;
    next *= c->x[k].taps;
  }
  return true;
}

/* Copies a panel by transposes: the taps of a channel are adjacent in memory,
 * perhaps those of all channels. */
static void turn_panel(const direct *c, char *to, const char *from,
                       int64_t wide, int64_t panel) {
  const st_tensor *t = c->v->weight;
  const int64_t size = c->size, taps = c->ctx.taps;
  const int64_t out = t->strides[c->v->transposed ? 1 : 0] * size;
  const int64_t in = t->strides[c->v->transposed ? 0 : 1] * size;
  st_pixel_transpose transpose = {size, panel, out, wide, taps};
  int64_t n = c->channels;
  if (in == taps * size) {
    transpose.nj *= n;
    n = 1;
  }
  for (int64_t i = 0; i < n; i++) {
    st__transpose_pixels(&transpose, to + i * taps * panel, from + i * in);
  }
}

/* Copies a panel by a transpose for each tap: the channels of a tap are
 * adjacent in memory. */
static void turn_taps(const direct *c, char *to, const char *from,
                      int64_t wide, int64_t panel) {
  const st_tensor *t = c->v->weight;
  const int64_t size = c->size;
  const int64_t out = t->strides[c->v->transposed ? 1 : 0] * size;
  const st_pixel_transpose transpose = {size, c->ctx.taps * panel, out, wide,
                                        c->channels};
  int64_t strides[NAXES], at[NAXES];
  st__axis_strides(t, size, strides);
  for (at[DEPTH] = 0; at[DEPTH] < c->x[DEPTH].taps; at[DEPTH]++) {
    for (at[ROW] = 0; at[ROW] < c->x[ROW].taps; at[ROW]++) {
      for (at[COL] = 0; at[COL] < c->x[COL].taps; at[COL]++) {
        const char *tap = from;
        for (int k = 0; k < NAXES; k++) tap += at[k] * c->x[k].by * strides[k];
        st__transpose_pixels(&transpose, to, tap);
        to += panel;
      }
    }
  }
}

/* Copies the weights of `wide` output channels from `first` on, for `count`
 * panels of that many. */
static st_status pack_panels(const direct *c, char *to, int64_t group,
                             int64_t first, int64_t wide, int64_t count) {
  const st_conv *v = c->v;
  const st_tensor *t = v->weight;
  const int64_t size = c->size;
  const int64_t panel = st__panel_cols(c, wide) * size;
  /* (out, in / groups, ..), or, transposed, (in, out / groups, ..) */
  const int64_t out = t->strides[v->transposed ? 1 : 0] * size;
  const int64_t in = t->strides[v->transposed ? 0 : 1] * size;
  const char *from = st__data(t);
  int64_t strides[NAXES], next = panel;
  st_move m;
  from += group * (v->transposed ? c->channels * in : c->wide * out);
  from += first * out;
  st__axis_strides(t, size, strides);
  for (int k = 0; k < NAXES; k++) from += c->x[k].first * strides[k];
  const bool turns = wide > 1 && out > size;
  const bool turns_panel = turns && has_all_taps(c);
  if (turns_panel || (turns && in == size)) {
    for (int64_t i = 0; i < count; i++) {
      if (turns_panel) turn_panel(c, to, from, wide, panel);
      else turn_taps(c, to, from, wide, panel);
      from += wide * out;
      to += panel * c->ctx.taps * c->channels;
    }
    return ST_OK;
  }
  st__move_init(&m, to, t->dtype, from, t->dtype);
  st__move_dim(&m, wide, size, out);
  for (int k = NAXES - 1; k >= 0; k--) {
    st__move_dim(&m, c->x[k].taps, next, c->x[k].by * strides[k]);
    next *= c->x[k].taps;
  }
  st__move_dim(&m, c->channels, next, in);
  st__move_dim(&m, count, next * c->channels, wide * out);
  return st__move_run(&m);
}

/* The weights of all channels for each tap. */
static st_status pack_lanes(const direct *c) {
  const st_tensor *t = c->v->weight;
  const char *from = st__data(t);
  int64_t strides[NAXES], next = c->pixel;
  st_move m;
  memset(c->weights, 0, (size_t)c->panels);
  st__axis_strides(t, c->size, strides);
  for (int k = 0; k < NAXES; k++) from += c->x[k].first * strides[k];
  st__move_init(&m, c->weights, t->dtype, from, t->dtype);
  st__move_dim(&m, c->channels, c->size, t->strides[0] * c->size);
  for (int k = NAXES - 1; k >= 0; k--) {
    st__move_dim(&m, c->x[k].taps, next, c->x[k].by * strides[k]);
    next *= c->x[k].taps;
  }
  return st__move_run(&m);
}

static st_status pack_groups(const direct *c) {
  const int64_t each = st__panel_rows(c);
  const int64_t tail = c->wide % each, whole = c->wide - tail;
  const int64_t column = c->channels * c->ctx.taps * c->size;
  if (column == 0) return ST_OK;
  if (c->vectors == CHANNELS) return pack_lanes(c);
  for (int64_t g = 0; g < c->groups; g++) {
    char *to = c->weights + g * c->panels;
    if (whole > 0) ST_TRY(pack_panels(c, to, g, 0, each, whole / each));
    if (tail > 0) {
      to += whole * column;
      memset(to, 0, (size_t)(st__panel_cols(c, tail) * column));
      ST_TRY(pack_panels(c, to, g, whole, tail, 1));
    }
  }
  return ST_OK;
}

/* Sums begin with the bias plus 0: no sum is -0 then, which padding, multiplied
 * or skipped, would change. */
static void add_zero(const direct *c) {
  float *f = (float *)(void *)c->bias;
  double *d = (double *)(void *)c->bias;
  for (int64_t i = 0; i < c->v->out; i++) {
    if (c->size == 4) f[i] += 0;
    else d[i] += 0;
  }
}

static st_status pack_bias(const direct *c) {
  const st_tensor *t = c->v->bias;
  st_move m;
  memset(c->bias, 0, (size_t)((c->v->out + ST_CONV_LANES) * c->size));
  if (!t) return ST_OK;
  st__move_init(&m, c->bias, t->dtype, st__data(t), t->dtype);
  st__move_dim(&m, c->v->out, c->size, t->strides[0] * c->size);
  ST_TRY(st__move_run(&m));
  add_zero(c);
  return ST_OK;
}

st_status st__pack_weights(direct *c) {
  const int64_t used = c->sum_lanes * c->ctx.channels * c->ctx.taps;
  ST_TRY(pack_bias(c));
  ST_TRY(pack_groups(c));
  if (!c->v->transposed && c->vectors != OUTPUTS) return ST_OK;
  for (int64_t g = 0; g < c->groups; g++) {
    c->has_infinite |= !st__all_finite(c->out->dtype,
                                       c->weights + g * c->panels, used);
  }
  return ST_OK;
}
