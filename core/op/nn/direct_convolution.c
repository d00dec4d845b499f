/* Convolutions of floats without a matrix of columns.
 *
 * Note [Direct convolution]
 * A band of the image, some rows and columns of the channels of a group, is
 * copied to a buffer with its padding as zeros. In the buffer each element of a
 * window is at a constant distance from the first, for all windows. The kernel
 * (kernel/nn/convolution.h) adds up as many shifted copies of the band as a
 * window has elements; it never sees padding, strides or layouts. Rows follow
 * each other without a gap, so that a vector of pixels may reach over the end
 * of a row; what is computed between two rows is dropped.
 *
 * With a stride of s the buffer has s planes per dimension, of each s-th pixel,
 * and an element of the window reads the plane of its remainder. A transposed
 * convolution with a stride of s is s convolutions per dimension, each of every
 * s-th pixel of the result, with every s-th element of the window (fewer where
 * dilation has a factor in common with the stride).
 */

#include "base/machine.h"
#include "base/memory.h"
#include "base/threads.h"
#include "iter/strided_copy.h"
#include "kernel/kernel.h"
#include "kernel/nn/convolution.h"
#include "op/nn/conv_axis.h"
#include "tensor/memory_format.h"

enum { COLUMNS = 512, SLACK = 64 }; /* of a band, at most; behind its end */
/* Multiplications worth a thread, and a band. */
enum { GRAIN = 1 << 17 };

/* -- A convolution -------------------------------------------------------- */

enum { DEPTH, ROW, COL, NAXES };

typedef struct direct {
  const st_conv *v;
  st_tensor *out;
  st_loop loop;
  st_conv_ctx ctx;
  st_conv_axis x[NAXES];
  int64_t in_stride[NAXES], out_stride[NAXES]; /* in bytes */
  int64_t in_channel, out_channel, in_image, out_image;
  int64_t size;               /* of an element */
  int64_t groups;
  int64_t channels, wide;     /* of a group: input, output */
  bool by_channel;            /* Note [Depthwise convolution] */
  int64_t lanes, sum_lanes;   /* channels of the buffer, of the sums */
  int64_t pixel;              /* bytes from pixel to pixel in both */
  int64_t lane, sum_lane;     /* bytes from channel to channel */
  int64_t rows, cols;         /* results of a band */
  int64_t row_bands, col_bands;
  int64_t high, pitch;        /* of a plane of the buffer, with the reach */
  int64_t tile_rows, next;    /* of a tile: rows, elements per output channel */
  int64_t *offsets;
  char *weights, *bias, *scratch;
  int64_t panels;             /* bytes of a group's weights */
  int64_t image, sums;        /* bytes of the buffers of a share */
  int64_t units;
  int shares;
  bool has_infinite;          /* transposed: a weight is infinite or NaN */
} direct;

/* The output channels of a group up to the end of the last panel. */
static int64_t panel_end(int64_t wide) {
  const int64_t tail = wide % ST_CONV_ROWS;
  return wide - tail + (tail ? st__conv_panel(tail) : 0);
}

/* The bytes of memory of tensor t along its spatial dimensions; those that it
 * does not have come first. */
static void set_strides(const st_tensor *t, int64_t size, int64_t *out) {
  const int n = t->ndim - 2;
  for (int k = 0; k < NAXES; k++) {
    const int d = k - (NAXES - n);
    out[k] = d < 0 ? 0 : t->strides[2 + d] * size;
  }
}

static void set_axes(direct *c, const int64_t *phase) {
  static const st_conv_axis none = {
    .in = 1, .count = 1, .step = 1, .taps = 1, .by = 1, .stride = 1,
    .planes = 1, .dilation = 1};
  for (int k = 0; k < NAXES; k++) {
    const int d = k - (NAXES - c->v->w.n);
    c->x[k] = none;
    if (d >= 0) st__conv_axis_set(c->v, d, phase[d], &c->x[k]);
  }
}

static int64_t planes_of(const direct *c) {
  return c->x[DEPTH].taps * c->x[ROW].planes * c->x[COL].planes;
}

static int64_t buffer_of(const direct *c, int64_t rows, int64_t cols) {
  return c->lanes * planes_of(c) * (rows + st__conv_reach(&c->x[ROW])) *
         (cols + st__conv_reach(&c->x[COL]));
}

/* Multiplications per pixel of the result. */
static int64_t products_of(const direct *c) {
  return c->sum_lanes * c->ctx.channels * c->ctx.taps;
}

/* Cuts the results into bands whose buffers fit the cache, and that are enough
 * for all threads. */
static void set_bands(direct *c) {
  const st_conv_axis *row = &c->x[ROW], *col = &c->x[COL];
  const int64_t wide = c->sum_lanes;
  int64_t cols = col->count;
  if (cols > COLUMNS) cols = ceil_div(cols, ceil_div(cols, COLUMNS));
  while (cols > 2 * ST_CONV_PIXELS &&
         (buffer_of(c, 1, cols) > st__machine.conv_band ||
          wide * cols > st__machine.conv_tile)) {
    cols = ceil_div(cols, 2);
  }
  const int64_t one = buffer_of(c, 1 - st__conv_reach(row), cols);
  int64_t rows = row->count;
  if (one > 0) rows = st__machine.conv_band / one - st__conv_reach(row);
  rows = least(rows < 4 ? 4 : rows, row->count);
  c->col_bands = ceil_div(col->count, cols);
  const int64_t others = c->v->batch * c->groups * c->x[DEPTH].count *
                         c->col_bands;
  const int64_t wanted = 4 * st__num_threads();
  while (rows > 1 && others * ceil_div(row->count, rows) < wanted &&
         rows * cols * products_of(c) > GRAIN) {
    rows = ceil_div(rows, 2);
  }
  c->row_bands = ceil_div(row->count, rows);
  c->rows = ceil_div(row->count, c->row_bands);
  c->cols = cols;
  c->high = c->rows + st__conv_reach(row);
  c->pitch = cols + st__conv_reach(col);
  const int64_t at_once = st__machine.conv_tile / (wide * c->pitch);
  c->tile_rows = least(at_once < 1 ? 1 : at_once, c->rows);
  c->next = ceil_div((c->tile_rows - 1) * c->pitch + cols, ST_CONV_PIXELS) *
            ST_CONV_PIXELS;
  c->units = others * c->row_bands;
}

static void set_offsets(direct *c) {
  const st_conv_axis *x = c->x;
  int64_t *to = c->offsets;
  for (int64_t d = 0; d < x[DEPTH].taps; d++) {
    for (int64_t r = 0; r < x[ROW].taps; r++) {
      for (int64_t k = 0; k < x[COL].taps; k++) {
        const int64_t plane =
          (d * x[ROW].planes + r % x[ROW].planes) * x[COL].planes +
          k % x[COL].planes;
        const int64_t row = st__conv_shift(&x[ROW], r) - x[ROW].low;
        const int64_t col = st__conv_shift(&x[COL], k) - x[COL].low;
        *to++ = ((plane * c->high + row) * c->pitch + col) * c->pixel;
      }
    }
  }
  c->lane = c->by_channel ? c->size
                          : planes_of(c) * c->high * c->pitch * c->size;
  c->sum_lane = c->by_channel ? c->size : c->next * c->size;
  c->ctx.channel = c->lane;
}

/* -- Weights -------------------------------------------------------------- */

/* Copies the weights of `wide` output channels from `first` on, for `count`
 * panels of that many. */
static st_status pack_panels(const direct *c, char *to, int64_t group,
                             int64_t first, int64_t wide, int64_t count) {
  const st_conv *v = c->v;
  const st_tensor *t = v->weight;
  const int64_t size = c->size;
  const int64_t panel = st__conv_panel(wide) * size;
  /* (out, in / groups, ..), or, transposed, (in, out / groups, ..) */
  const int64_t out = t->strides[v->transposed ? 1 : 0] * size;
  const int64_t in = t->strides[v->transposed ? 0 : 1] * size;
  const char *from = st__data(t);
  int64_t strides[NAXES], next = panel;
  st_move m;
  from += group * (v->transposed ? c->channels * in : c->wide * out);
  from += first * out;
  set_strides(t, size, strides);
  for (int k = 0; k < NAXES; k++) from += c->x[k].first * strides[k];
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
  set_strides(t, c->size, strides);
  for (int k = 0; k < NAXES; k++) from += c->x[k].first * strides[k];
  st__move_init(&m, c->weights, t->dtype, from, t->dtype);
  st__move_dim(&m, c->channels, c->size, t->strides[0] * c->size);
  for (int k = NAXES - 1; k >= 0; k--) {
    st__move_dim(&m, c->x[k].taps, next, c->x[k].by * strides[k]);
    next *= c->x[k].taps;
  }
  return st__move_run(&m);
}

static st_status pack_weights(const direct *c) {
  const int64_t tail = c->wide % ST_CONV_ROWS, whole = c->wide - tail;
  const int64_t column = c->channels * c->ctx.taps * c->size;
  if (column == 0) return ST_OK;
  if (c->by_channel) return pack_lanes(c);
  for (int64_t g = 0; g < c->groups; g++) {
    char *to = c->weights + g * c->panels;
    if (whole > 0) {
      ST_TRY(pack_panels(c, to, g, 0, ST_CONV_ROWS, whole / ST_CONV_ROWS));
    }
    if (tail > 0) {
      to += whole * column;
      memset(to, 0, (size_t)(st__conv_panel(tail) * column));
      ST_TRY(pack_panels(c, to, g, whole, tail, 1));
    }
  }
  return ST_OK;
}

/* True if one of n bytes of weights is infinite or NaN. In a transposed
 * convolution such weights must not multiply the zeros around the input. */
static bool has_infinite(const char *weights, int64_t n, st_dtype dtype) {
  const uint64_t all = UINT64_C(0x7ff) << 52;
  const uint32_t all32 = UINT32_C(0xff) << 23;
  bool found = false;
  if (dtype == ST_FLOAT64) {
    const uint64_t *w = (const uint64_t *)(const void *)weights;
    for (int64_t i = 0; i < n / 8; i++) found |= (w[i] & all) == all;
  } else {
    const uint32_t *w = (const uint32_t *)(const void *)weights;
    for (int64_t i = 0; i < n / 4; i++) found |= (w[i] & all32) == all32;
  }
  return found;
}

static st_status pack_bias(const direct *c) {
  const st_tensor *t = c->v->bias;
  st_move m;
  memset(c->bias, 0, (size_t)((c->v->out + ST_CONV_LANES) * c->size));
  if (!t) return ST_OK;
  st__move_init(&m, c->bias, t->dtype, st__data(t), t->dtype);
  st__move_dim(&m, c->v->out, c->size, t->strides[0] * c->size);
  return st__move_run(&m);
}

/* -- Bands ---------------------------------------------------------------- */

typedef struct band {
  int64_t image, group, depth, row, col, rows, cols;
  char *buffer, *sums;
} band;

/* The results 0 .. count of an axis that a plane has pixels for: *from to *to,
 * if the first of them is number `at` of the plane. */
static void valid_range(const st_conv_axis *x, int64_t at, int64_t rest,
                        int64_t count, int64_t *from, int64_t *to) {
  const int64_t pixels = ceil_div(x->in - rest, x->stride);
  *from = at < 0 ? least(-at, count) : 0;
  *to = pixels - at < 0 ? 0 : least(pixels - at, count);
  if (*to < *from) *to = *from;
}

/* Copies one plane of all channels. */
static st_status pack_plane(const direct *c, const band *b, const int64_t *tap,
                            char *to) {
  const st_conv_axis *x = c->x;
  const int64_t deep = st__conv_shift(&x[DEPTH], tap[DEPTH]);
  const int64_t begin[NAXES] = {b->depth + deep,
                                b->row + x[ROW].low, b->col + x[COL].low};
  const int64_t count[NAXES] = {1, b->rows + st__conv_reach(&x[ROW]),
                                b->cols + st__conv_reach(&x[COL])};
  const int64_t next[NAXES] = {0, c->pitch * c->pixel, c->pixel};
  const char *from = st__data(c->v->input);
  int64_t sizes[NAXES];
  st_move m;
  from += b->image * c->in_image + b->group * c->channels * c->in_channel;
  for (int k = 0; k < NAXES; k++) {
    const int64_t rest = st__conv_rest(&x[k], tap[k]);
    int64_t first, end;
    valid_range(&x[k], begin[k], rest, count[k], &first, &end);
    sizes[k] = end - first;
    if (sizes[k] == 0) return ST_OK;
    to += first * next[k];
    from += ((begin[k] + first) * x[k].stride + rest) * c->in_stride[k];
  }
  st__move_init(&m, to, c->out->dtype, from, c->out->dtype);
  st__move_dim(&m, sizes[COL], next[COL], x[COL].stride * c->in_stride[COL]);
  st__move_dim(&m, sizes[ROW], next[ROW], x[ROW].stride * c->in_stride[ROW]);
  st__move_dim(&m, c->channels, c->lane, c->in_channel);
  return st__move_run(&m);
}

/* True if the band reads outside of the image. */
static bool is_padded(const direct *c, const band *b) {
  const int64_t first[NAXES] = {b->depth, b->row, b->col};
  const int64_t count[NAXES] = {1, b->rows, b->cols};
  for (int k = 0; k < NAXES; k++) {
    const st_conv_axis *x = &c->x[k];
    const int64_t end = first[k] + count[k] - 1 + x->high;
    if (first[k] + x->low < 0 || (end + 1) * x->stride > x->in) return true;
  }
  return false;
}

static st_status pack_band(const direct *c, const band *b) {
  const st_conv_axis *x = c->x;
  const int64_t plane = c->high * c->pitch * c->pixel;
  char *to = b->buffer;
  if (is_padded(c, b) || c->channels < c->lanes) {
    memset(b->buffer, 0, (size_t)c->image);
  }
  for (int64_t d = 0; d < x[DEPTH].taps; d++) {
    for (int64_t r = 0; r < x[ROW].planes; r++) {
      for (int64_t k = 0; k < x[COL].planes; k++, to += plane) {
        ST_TRY(pack_plane(c, b, (int64_t[]){d, r, k}, to));
      }
    }
  }
  return ST_OK;
}

/* Copies the sums of n rows to the result, from row `row` of the band on. */
static st_status store_rows(const direct *c, const band *b, int64_t row,
                            int64_t n) {
  const int64_t at[NAXES] = {b->depth, b->row + row, b->col};
  char *to = st__data(c->out);
  st_move m;
  to += b->image * c->out_image + b->group * c->wide * c->out_channel;
  for (int k = 0; k < NAXES; k++) {
    to += (c->x[k].start + at[k] * c->x[k].step) * c->out_stride[k];
  }
  st__move_init(&m, to, c->out->dtype, b->sums, c->out->dtype);
  st__move_dim(&m, b->cols, c->x[COL].step * c->out_stride[COL], c->pixel);
  st__move_dim(&m, n, c->x[ROW].step * c->out_stride[ROW],
               c->pitch * c->pixel);
  st__move_dim(&m, c->wide, c->out_channel, c->sum_lane);
  return st__move_run(&m);
}

static st_status run_band(const direct *c, const band *b) {
  st_conv_ctx ctx = c->ctx;
  const int64_t s[6] = {c->size, c->size, c->size,
                        c->by_channel ? c->pixel : c->sum_lane, c->pixel, 0};
  ctx.bias = c->bias + b->group * c->wide * c->size;
  ST_TRY(pack_band(c, b));
  for (int64_t row = 0, n; row < b->rows && !st__stops(); row += n) {
    n = least(c->tile_rows, b->rows - row);
    char *data[] = {b->sums, b->buffer + row * c->pitch * c->pixel,
                    c->weights + b->group * c->panels};
    const int64_t pixels = (n - 1) * c->pitch + b->cols;
    if (c->by_channel) c->loop(data, s, c->lanes, pixels, &ctx);
    else c->loop(data, s, pixels, c->wide, &ctx);
    ST_TRY(store_rows(c, b, row, n));
  }
  return ST_OK;
}

/* Takes the last of `n` places from *unit. */
static int64_t take(int64_t *unit, int64_t n) {
  const int64_t at = *unit % n;
  *unit /= n;
  return at;
}

static void run_units(const direct *c, int share, int64_t begin, int64_t end) {
  band b = {.buffer = c->scratch + share * (c->image + c->sums)};
  b.sums = b.buffer + c->image;
  for (int64_t i = begin; i < end && !st__stops(); i++) {
    int64_t unit = i;
    b.row = take(&unit, c->row_bands) * c->rows;
    b.col = take(&unit, c->col_bands) * c->cols;
    b.depth = take(&unit, c->x[DEPTH].count);
    b.group = take(&unit, c->groups);
    b.image = unit;
    b.rows = least(c->rows, c->x[ROW].count - b.row);
    b.cols = least(c->cols, c->x[COL].count - b.col);
    /* only an interrupt fails: the loop around it stops, too */
    if (run_band(c, &b) != ST_OK) return;
  }
}

static void run_shares(void *ctx, int64_t begin, int64_t end) {
  const direct *c = ctx;
  for (int64_t i = begin; i < end; i++) {
    run_units(c, (int)i, c->units * i / c->shares,
              c->units * (i + 1) / c->shares);
  }
}

/* -- Running -------------------------------------------------------------- */

static int64_t line_end(int64_t bytes) {
  return ceil_div(bytes, 64) * 64;
}

/* False if a buffer's size would overflow: more than any machine has. */
static bool fits_memory(const direct *c) {
  return (double)c->lanes * (double)planes_of(c) *
         (double)(c->x[ROW].count + st__conv_reach(&c->x[ROW])) *
         (double)(c->x[COL].count + st__conv_reach(&c->x[COL])) < 0x1p48;
}

/* Runs one phase: a convolution of all of the input. */
static st_status run_phase(direct *c) {
  if (!fits_memory(c)) {
    return st__alloc(ST_MEM_SCRATCH, SIZE_MAX / 2) ? ST_OK : ST_NO_MEMORY;
  }
  c->ctx.channels = c->by_channel ? 1 : c->channels;
  c->ctx.taps = c->x[DEPTH].taps * c->x[ROW].taps * c->x[COL].taps;
  set_bands(c);
  const int64_t unit = c->rows * c->cols * products_of(c) + 1;
  c->shares = st__num_shares(c->units, ceil_div(GRAIN, unit));
  c->panels = line_end(products_of(c) * c->size);
  c->image = line_end((buffer_of(c, c->rows, c->cols) + SLACK) * c->size);
  c->sums = line_end(c->sum_lanes * c->next * c->size);
  const int64_t offsets = line_end(c->ctx.taps * 8);
  const int64_t bias = line_end((c->v->out + ST_CONV_LANES) * c->size);
  const int64_t bytes = offsets + bias + c->groups * c->panels +
                        c->shares * (c->image + c->sums);
  char *at = st__alloc(ST_MEM_SCRATCH, (size_t)bytes);
  if (!at) return ST_NO_MEMORY;
  c->ctx.offsets = c->offsets = (int64_t *)(void *)at;
  c->bias = at + offsets;
  c->weights = c->bias + bias;
  c->scratch = c->weights + c->groups * c->panels;
  set_offsets(c);
  st_status status = pack_bias(c);
  if (status == ST_OK) status = pack_weights(c);
  for (int64_t g = 0; g < c->groups && c->v->transposed; g++) {
    c->has_infinite |= has_infinite(c->weights + g * c->panels,
                                    products_of(c) * c->size, c->out->dtype);
  }
  if (status == ST_OK && !c->has_infinite) {
    status = st__parallel_try(0, c->shares, 1, run_shares, c);
  }
  st__free(ST_MEM_SCRATCH, at, (size_t)bytes);
  return status;
}

/* Note [Depthwise convolution]
 * Where each channel is convolved alone and channels are adjacent in memory, so
 * are they in the buffer and in the sums, and the kernel takes vectors of
 * channels instead of pixels. */
static st_status set_lanes(direct *c) {
  const st_conv *v = c->v;
  c->by_channel = v->groups == v->in && v->in == v->out && v->groups > 1 &&
                  v->input->strides[1] == 1 && c->out->strides[1] == 1;
  c->groups = c->by_channel ? 1 : v->groups;
  c->channels = v->in / c->groups;
  c->wide = v->out / c->groups;
  if (c->by_channel) {
    c->lanes = ceil_div(v->in, ST_CONV_LANES) * ST_CONV_LANES;
    c->sum_lanes = c->lanes;
    c->pixel = c->lanes * c->size;
  } else {
    c->lanes = c->channels;
    c->sum_lanes = panel_end(c->wide);
    c->pixel = c->size;
  }
  return st__find_kernel(c->by_channel ? ST_K_depthwise : ST_K_convolution,
                         c->out->dtype, &c->loop);
}

/* *done is false if the convolution must be computed in another way. */
static st_status run(const st_conv *v, st_tensor *out, bool *done) {
  const int64_t size = (int64_t)st__itemsize(out->dtype);
  direct c = {.v = v, .out = out, .size = size};
  ST_TRY(set_lanes(&c));
  c.in_image = v->input->strides[0] * size;
  c.in_channel = v->input->strides[1] * size;
  c.out_image = out->strides[0] * size;
  c.out_channel = out->strides[1] * size;
  set_strides(v->input, size, c.in_stride);
  set_strides(out, size, c.out_stride);
  int64_t phases = 1;
  for (int d = 0; d < v->w.n; d++) phases *= st__conv_phases(v, d);
  for (int64_t i = 0; i < phases; i++) {
    int64_t phase[NAXES] = {0}, rest = i;
    for (int d = 0; d < v->w.n; d++) {
      phase[d] = take(&rest, st__conv_phases(v, d));
    }
    set_axes(&c, phase);
    if (c.x[DEPTH].count > 0 && c.x[ROW].count > 0 && c.x[COL].count > 0) {
      ST_TRY(run_phase(&c));
    }
    *done = !c.has_infinite;
    if (!*done) break;
  }
  return ST_OK;
}

/* True if a transposed convolution consists of many more convolutions than its
 * window has elements: most of its results are the bias. */
static bool is_sparse(const st_conv *v) {
  double phases = 1;
  for (int d = 0; d < v->w.n; d++) phases *= (double)st__conv_phases(v, d);
  return phases > 4 * (double)v->taps;
}

/* A transposed convolution that the kernel does not suit. */
static st_status by_columns(const st_conv *v, st_value *rets) {
  st_op_scope c = {.n = 0};
  const st_tensor *out = st__convolve_transposed(&c, v);
  return st__scope_return(
    &c, st__apply_with(&c, ST_OP_clone, out, st__of_int(st__conv_format(v))),
    rets);
}

/* Meta if any of the tensors is there: the CPU's tensors are then read for
 * their geometry only. */
static st_device device_of(const st_conv *v) {
  const bool is_meta = st__is_meta(v->input) || st__is_meta(v->weight) ||
                       (v->bias && st__is_meta(v->bias));
  return is_meta ? ST_DEVICE_META : v->input->device;
}

ST_BOXED(st__box_direct_convolution) {
  st_conv v = {.batch = 0};
  st_tensor *out = NULL;
  bool done = true;
  ST_TRY(st__read_conv(args, &v));
  if (v.input->dtype != ST_FLOAT32 && v.input->dtype != ST_FLOAT64) {
    return st__no_kernel_for(v.input->dtype);
  }
  if (is_sparse(&v)) return by_columns(&v, rets);
  int64_t sizes[2 + ST_SPATIAL_MAX] = {v.batch, v.out};
  for (int d = 0; d < v.w.n; d++) sizes[2 + d] = st__conv_size(&v, d);
  ST_TRY(st__tensor_empty(device_of(&v), v.input->dtype, 2 + v.w.n, sizes,
                          st__conv_format(&v), &out));
  st_status status = ST_OK;
  if (!st__is_meta(out) && out->numel > 0) status = run(&v, out, &done);
  if (status == ST_OK && done) {
    rets[0] = st__of_tensor(out);
    return ST_OK;
  }
  st__tensor_release(&out);
  return status == ST_OK ? by_columns(&v, rets) : status;
}
