/* Convolutions of floats without a matrix of columns.
 *
 * Note [Direct convolution]
 * A band of the image, some rows and columns of the channels of a group, is
 * copied to a buffer with its padding as zeros. In the buffer each element of a
 * window is at a constant distance from the first, for all windows. The kernel
 * (kernel/conv/convolution.h) adds up as many shifted copies of the band as a
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

#include "os/machine.h"
#include "base/memory.h"
#include "base/threads.h"
#include "op/conv/direct_convolution.h"
#include "op/conv/pixel_copy.h"
#include "tensor/memory_format.h"

enum { COLUMNS = 512, SLACK = 64 }; /* of a band, at most; behind its end */
/* Multiplications worth a thread, and a band. */
enum { GRAIN = 1 << 17 };

/* -- A convolution -------------------------------------------------------- */

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
  c->next = c->vectors == OUTPUTS ? c->tile_rows * cols
          : ceil_div((c->tile_rows - 1) * c->pitch + cols, ST_CONV_PIXELS) *
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
  c->lane = c->vectors == PIXELS
          ? planes_of(c) * c->high * c->pitch * c->size : c->size;
  c->sum_lane = c->vectors == PIXELS ? c->next * c->size : c->size;
  c->ctx.channel = c->lane;
}

/* -- Bands ---------------------------------------------------------------- */

typedef struct band {
  int64_t image, group, depth, row, col, rows, cols;
  char *buffer, *sums;
} band;

/* True if the same pixels of both bands' buffers are padding. */
static bool is_like(const band *a, const band *b) {
  return a->depth == b->depth && a->row == b->row && a->col == b->col &&
         a->rows == b->rows && a->cols == b->cols;
}

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
  st_pixel_copy p = {.dst = to, .src = st__data(c->v->input),
                     .dtype = c->out->dtype, .channels = c->channels,
                     .dst_channel = c->lane, .src_channel = c->in_channel};
  p.src += b->image * c->in_image + b->group * c->channels * c->in_channel;
  for (int k = 0; k < NAXES; k++) {
    const int64_t rest = st__conv_rest(&x[k], tap[k]);
    int64_t first, end;
    valid_range(&x[k], begin[k], rest, count[k], &first, &end);
    if (end == first) return ST_OK;
    p.dst += first * next[k];
    p.src += ((begin[k] + first) * x[k].stride + rest) * c->in_stride[k];
    p.n[k] = end - first;
    p.dst_next[k] = next[k];
    p.src_next[k] = x[k].stride * c->in_stride[k];
  }
  return st__copy_pixels(&p);
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

/* `last` is the band that the buffer has held before, if any. */
static st_status pack_band(const direct *c, const band *b, const band *last) {
  const st_conv_axis *x = c->x;
  const int64_t plane = c->high * c->pitch * c->pixel;
  char *to = b->buffer;
  if (!is_like(b, last) && (is_padded(c, b) || c->vectors == CHANNELS)) {
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

/* Where the result of row `row` of a band begins. */
static char *result_at(const direct *c, const band *b, int64_t row) {
  const int64_t at[NAXES] = {b->depth, b->row + row, b->col};
  char *to = st__data(c->out);
  to += b->image * c->out_image + b->group * c->wide * c->out_channel;
  for (int k = 0; k < NAXES; k++) {
    to += (c->x[k].start + at[k] * c->x[k].step) * c->out_stride[k];
  }
  return to;
}

/* Copies the sums of n rows to the result, from row `row` of the band on. */
static st_status store_rows(const direct *c, const band *b, int64_t row,
                            int64_t n) {
  const int64_t pitch = c->vectors == OUTPUTS ? c->cols : c->pitch;
  const int64_t col = c->x[COL].step * c->out_stride[COL];
  const int64_t line = c->x[ROW].step * c->out_stride[ROW];
  const st_pixel_copy p = {
    .dst = result_at(c, b, row), .src = b->sums, .dtype = c->out->dtype,
    .channels = c->wide, .dst_channel = c->out_channel,
    .src_channel = c->sum_lane, .n = {1, n, b->cols},
    .dst_next = {0, line, col},
    .src_next = {0, pitch * c->sum_pixel, c->sum_pixel}};
  return st__copy_pixels(&p);
}

static bool is_outside(const st_conv_axis *x, int64_t pixel) {
  return pixel < 0 || pixel >= x->in;
}

/* The taps [*from, *end) of a row of results that read a row of the image, not
 * padding alone, unless that is not zero times its weight. */
static void valid_taps(const direct *c, int64_t row, int64_t *from,
                       int64_t *end) {
  const st_conv_axis *x = &c->x[ROW];
  const int64_t taps = c->x[COL].taps;
  int64_t first = 0, last = x->taps;
  const int64_t at = row * x->stride + x->origin;
  const bool skips = c->x[DEPTH].taps == 1 && !c->has_infinite;
  if (skips) {
    while (first < last && is_outside(x, at + first * x->dilation)) first++;
    while (first < last && is_outside(x, at + (last - 1) * x->dilation)) last--;
  }
  *from = first * taps;
  *end = skips ? last * taps : c->ctx.taps;
}

/* Note [Vectors of output channels]
 * Where a convolution has many output channels, the channels of a pixel are
 * adjacent in the buffer and in the sums, and the kernel takes vectors of
 * output channels instead of pixels. It computes nothing between rows, skips
 * the taps of a row that read padding alone, and writes channels_last results
 * in place; other images are transposed when they are copied. Products are
 * added up in the same order, so layouts, which decide, change no bit. */
static void run_outputs(const direct *c, const band *b, int64_t row, int64_t n,
                        char *sums) {
  const int64_t panel = st__panel_rows(c), size = c->size;
  const int64_t pixel = c->is_stored ? c->x[COL].step * c->out_stride[COL]
                                     : c->sum_pixel;
  const int64_t line = c->is_stored ? c->x[ROW].step * c->out_stride[ROW]
                                    : c->cols * c->sum_pixel;
  const int64_t s[6] = {pixel, c->pixel, 0, 0, 0, 0};
  for (int64_t o = 0; o < c->sum_lanes && !st__stops(); o += panel) {
    const int64_t cols = least(panel, c->sum_lanes - o);
    const char *weights = c->weights + b->group * c->panels +
                          o * c->channels * c->ctx.taps * size;
    for (int64_t i = 0; i < n; i++) {
      int64_t from, end;
      valid_taps(c, b->row + row + i, &from, &end);
      const st_nhwc_ctx ctx = {
        c->channels, end - from, c->ctx.taps * cols * size, c->offsets + from,
        c->bias + (b->group * c->wide + o) * size};
      char *data[] = {sums + i * line + o * size,
                      b->buffer + (row + i) * c->pitch * c->pixel,
                      (char *)(uintptr_t)weights + from * cols * size};
      c->loop(data, s, b->cols, cols, &ctx);
    }
  }
}

static void run_rows(const direct *c, const band *b, int64_t row, int64_t n) {
  const bool by_channel = c->vectors == CHANNELS;
  const int64_t s[6] = {c->size, c->size, c->size,
                        by_channel ? c->sum_pixel : c->sum_lane, c->pixel, 0};
  const int64_t pixels = (n - 1) * c->pitch + b->cols;
  st_conv_ctx ctx = c->ctx;
  char *data[] = {b->sums, b->buffer + row * c->pitch * c->pixel,
                  c->weights + b->group * c->panels};
  ctx.bias = c->bias + b->group * c->wide * c->size;
  if (by_channel) c->loop(data, s, c->lanes, pixels, &ctx);
  else c->loop(data, s, pixels, c->wide, &ctx);
}

static st_status run_band(const direct *c, const band *b, const band *last) {
  ST_TRY(pack_band(c, b, last));
  if (c->is_stored) {
    run_outputs(c, b, 0, b->rows, result_at(c, b, 0));
    return ST_OK;
  }
  for (int64_t row = 0, n; row < b->rows && !st__stops(); row += n) {
    n = least(c->tile_rows, b->rows - row);
    if (c->vectors == OUTPUTS) run_outputs(c, b, row, n, b->sums);
    else run_rows(c, b, row, n);
    ST_TRY(store_rows(c, b, row, n));
  }
  return ST_OK;
}

static void run_units(const direct *c, int share, int64_t begin, int64_t end) {
  band b = {.buffer = c->scratch + share * (c->image + c->sums)};
  band last = {.rows = -1};
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
    if (run_band(c, &b, &last) != ST_OK) return;
    last = b;
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
  c->ctx.channels = c->vectors == CHANNELS ? 1 : c->channels;
  c->ctx.taps = c->x[DEPTH].taps * c->x[ROW].taps * c->x[COL].taps;
  set_bands(c);
  const int64_t unit = c->rows * c->cols * products_of(c) + 1;
  c->shares = st__num_shares(c->units, ceil_div(GRAIN, unit));
  c->panels = line_end(products_of(c) * c->size);
  c->image = line_end((buffer_of(c, c->rows, c->cols) + SLACK) * c->size);
  c->sums = c->is_stored ? 0 : line_end(c->sum_lanes * c->next * c->size);
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
  st_status status = st__pack_weights(c);
  if (status == ST_OK && !st__is_refused(c)) {
    status = st__parallel_try(0, c->shares, 1, run_shares, c);
  }
  st__free(ST_MEM_SCRATCH, at, (size_t)bytes);
  return status;
}

/* Note [Depthwise convolution]
 * Where each channel is convolved alone and channels are adjacent in memory, so
 * are they in the buffer and in the sums, and the kernel takes vectors of
 * channels instead of pixels. */
static bool is_depthwise(const st_conv *v, const st_tensor *out) {
  return v->groups == v->in && v->in == v->out && v->groups > 1 &&
         v->input->strides[1] == 1 && out->strides[1] == 1;
}

/* The time of each kernel for a product that counts, and of the copies; a copy
 * that transposes takes as long as TRANSPOSE products. */
static bool has_better_outputs(direct *c) {
  enum { TRANSPOSE = 8 };
  const st_conv *v = c->v;
  const int last = v->w.n - 1;
  const double taps = (double)v->taps, wide = (double)c->wide;
  const double cols = (double)st__conv_size(v, last);
  const double gap = (double)((v->w.kernel[last] - 1) * v->w.dilation[last]);
  const double transposed_out = c->out_channel == c->size ? 0 : TRANSPOSE;
  const double transposed_in = c->in_channel == c->size ? 0 : TRANSPOSE;
  c->vectors = PIXELS;
  const double pixels = (double)st__panel_end(c) / wide * (1 + gap / cols) +
    (TRANSPOSE - transposed_out) / ((double)c->channels * taps) +
    (TRANSPOSE - transposed_in) / (wide * taps);
  c->vectors = OUTPUTS;
  const double outputs = (double)st__panel_end(c) / wide +
    transposed_out / ((double)c->channels * taps) +
    transposed_in / (wide * taps);
  return outputs < pixels;
}

static st_status set_lanes(direct *c) {
  static const st_kernel_id kernels[] = {
    [PIXELS] = ST_K_convolution, [CHANNELS] = ST_K_depthwise,
    [OUTPUTS] = ST_K_convolution_nhwc};
  const st_conv *v = c->v;
  const bool depthwise = is_depthwise(v, c->out);
  c->groups = depthwise ? 1 : v->groups;
  c->channels = v->in / c->groups;
  c->wide = v->out / c->groups;
  c->vectors = depthwise ? CHANNELS : has_better_outputs(c) ? OUTPUTS : PIXELS;
  c->lanes = c->channels;
  if (depthwise) c->lanes = ceil_div(v->in, ST_CONV_LANES) * ST_CONV_LANES;
  else if (c->vectors == OUTPUTS) c->lanes += st__apart(c->channels, c->size);
  c->sum_lanes = depthwise ? c->lanes : st__panel_end(c);
  c->pixel = c->vectors == PIXELS ? c->size : c->lanes * c->size;
  c->sum_pixel = c->vectors == PIXELS ? c->size : c->sum_lanes * c->size;
  c->is_stored = c->vectors == OUTPUTS && c->out_channel == c->size &&
                 c->sum_lanes == c->wide;
  return st__find_kernel(kernels[c->vectors], c->out->dtype, &c->loop);
}

/* *done is false if the convolution must be computed in another way. */
static st_status run(const st_conv *v, st_tensor *out, bool *done) {
  const int64_t size = (int64_t)st__itemsize(out->dtype);
  direct c = {.v = v, .out = out, .size = size};
  c.in_image = v->input->strides[0] * size;
  c.in_channel = v->input->strides[1] * size;
  c.out_image = out->strides[0] * size;
  c.out_channel = out->strides[1] * size;
  ST_TRY(set_lanes(&c));
  st__axis_strides(v->input, size, c.in_stride);
  st__axis_strides(out, size, c.out_stride);
  int64_t phases = 1;
  for (int d = 0; d < v->w.n; d++) phases *= st__conv_phases(v, d);
  for (int64_t i = 0; i < phases; i++) {
    int64_t phase[NAXES] = {0}, number = i;
    for (int d = 0; d < v->w.n; d++) {
      phase[d] = take(&number, st__conv_phases(v, d));
    }
    set_axes(&c, phase);
    if (c.x[DEPTH].count > 0 && c.x[ROW].count > 0 && c.x[COL].count > 0) {
      ST_TRY(run_phase(&c));
    }
    *done = !st__is_refused(&c);
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
    &c, ST_APPLY(&c, ST_OP_clone, out, st__conv_format(v)), rets);
}

/* Meta if any of the tensors is there: the CPU's tensors are then read for
 * their geometry only. */
static st_device device_of(const st_conv *v) {
  const st_tensor *like = st__meta_or(v->weight, v->input);
  return v->bias ? st__meta_or(v->bias, like)->device : like->device;
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
  if (st__has_elements(out) && out->numel > 0) status = run(&v, out, &done);
  if (status == ST_OK && done) {
    rets[0] = st__of_tensor(out);
    return ST_OK;
  }
  st__tensor_release(&out);
  return status == ST_OK ? by_columns(&v, rets) : status;
}
