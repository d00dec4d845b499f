/* The gradient of a convolution's weight without a matrix of columns.
 *
 * Note [Direct gradient of a weight]
 * A band of the image, with its padding as zeros, and the same windows of the
 * other factor (rows) are copied to buffers in which the channels of a pixel
 * are adjacent, unless they are so in memory. The kernel
 * (kernel/conv/convolution_nhwc.h) multiplies each channel of one buffer by
 * vectors of channels of the other, and sums over a block of windows. So a tap
 * is a place in the buffer, and nothing is copied for each tap.
 *
 * The sums of the blocks are added up, in order, in one of CHUNKS partial
 * results, and these are added up in order. Blocks and chunks depend on shapes
 * alone, so the number of threads does not change a bit.
 */

#include "op/conv/conv_weight.h"

#include <string.h>

#include "os/machine.h"
#include "base/memory.h"
#include "base/threads.h"
#include "iter/strided_copy.h"
#include "kernel/kernel.h"
#include "kernel/conv/convolution_nhwc.h"
#include "op/conv/pixel_copy.h"

/* Windows of a block, if there are more than MANY sums, and its columns, at
 * most; elements of a band's buffers; partial results and their elements, at
 * most. They decide on the last bits. */
enum { BLOCK = 128, LARGE_BLOCK = 256, MANY = 1 << 17, COLUMNS = 512,
       BAND = 1 << 16, CHUNKS = 8, PARTIAL = 1 << 20 };
/* Multiplications worth a thread. */
enum { GRAIN = 1 << 17 };

/* -- A gradient ----------------------------------------------------------- */

/* A spatial dimension. Window i, tap t read pixel i * stride + t * dilation -
 * padding. The buffer has each `step`-th pixel from the first of a band on; in
 * it, windows are `by` pixels apart. */
typedef struct axis {
  int64_t in, count, taps, stride, padding, dilation;
  int64_t step, by;
} axis;

/* A factor: a tensor whose channels become adjacent. */
typedef struct factor {
  const st_tensor *t;
  int64_t channels, lanes;      /* of a group: in memory, with those added */
  int64_t stride[NAXES], channel, image; /* bytes in memory */
  bool in_place;
  int64_t pixel, line;          /* bytes from column to column, row to row */
  int64_t slab, next;           /* from depth to depth, image to image */
  int64_t bytes;                /* of the buffer */
} factor;

typedef struct gradient {
  const st_conv_products *p;
  st_tensor *out;
  st_loop loop;
  int64_t size;                 /* of an element */
  axis x[NAXES];
  factor image, rows;
  bool by_rows;                 /* vectors of the channels of rows */
  int64_t merged;               /* taps of a row that are one run of channels */
  int64_t taps, left, right;    /* sums: taps, channels, lanes of vectors */
  int64_t block_rows, band_rows, cols, row_bands, col_bands;
  int64_t images;               /* of a band, in one block if more than 1 */
  int64_t bands, chunks, pieces;
  char *sums, *scratch;
  int64_t partial;              /* bytes of a chunk's sums of all groups */
  int64_t units;
  int shares;
} gradient;

static int64_t lanes_of(int64_t channels, int64_t size) {
  return line_end(channels * size) / size;
}

static void set_axis(const st_conv_products *p, int d, axis *x) {
  const st_window *w = &p->w;
  x->in = w->in[d];
  x->count = least(w->out[d], p->rows->sizes[2 + d]);
  x->taps = w->kernel[d];
  x->stride = x->count > 1 ? w->stride[d] : 1;
  x->padding = w->padding[d];
  x->dilation = w->dilation[d];
  x->step = x->taps == 1 ? x->stride : 1;
  x->by = x->taps == 1 ? 1 : x->stride;
}

static void set_axes(const st_conv_products *p, axis *x) {
  static const axis none = {1, 1, 1, 1, 0, 1, 1, 1};
  for (int k = 0; k < NAXES; k++) {
    const int d = k - (NAXES - p->w.n);
    x[k] = none;
    if (d >= 0) set_axis(p, d, &x[k]);
  }
}

/* Pixels of a buffer for n windows. */
static int64_t extent(const axis *x, int64_t n) {
  return (n - 1) * x->by + (x->taps - 1) * x->dilation + 1;
}

/* Multiplications by zero included: with vectors of the channels of rows, and
 * with vectors of those of the image. */
static bool is_by_rows(const st_conv_products *p, int64_t size) {
  return lanes_of(p->m, size) * p->channels <=
         p->m * lanes_of(p->channels, size);
}

/* Blocks and bands depend on the shape only. */
static void set_bands(gradient *g) {
  const axis *row = &g->x[ROW], *col = &g->x[COL];
  g->col_bands = ceil_div(col->count, COLUMNS);
  g->cols = ceil_div(col->count, g->col_bands);
  const int64_t block = g->p->m * g->p->k > MANY ? LARGE_BLOCK : BLOCK;
  const int64_t windows = row->count * col->count;
  g->block_rows = ceil_div(row->count, ceil_div(row->count * g->cols, block));
  const int64_t a = g->image.lanes * g->x[DEPTH].taps * row->by *
                    extent(col, g->cols);
  const int64_t b = g->rows.lanes * g->cols;
  const int64_t rows = BAND / (a > b ? a : b) / g->block_rows * g->block_rows;
  g->band_rows = least(rows > 0 ? rows : g->block_rows, row->count);
  g->block_rows = least(g->block_rows, g->band_rows);
  g->row_bands = ceil_div(row->count, g->band_rows);
  g->images = 1;
  if (windows <= BLOCK && g->x[DEPTH].count == 1 && g->x[DEPTH].taps == 1) {
    g->images = least(LARGE_BLOCK / windows, g->p->batch);
    g->block_rows = g->band_rows = row->count;
    g->row_bands = 1;
  }
  g->bands = ceil_div(g->p->batch, g->images) * g->x[DEPTH].count *
             g->col_bands * g->row_bands;
}

/* -- Copies --------------------------------------------------------------- */

/* The part of a spatial dimension that is copied: pixel first + i * step of
 * memory, for i from `from` to `end`, to place i of the buffer. */
typedef struct range {
  int64_t first, step, from, end, count;
} range;

static range range_of(int64_t first, int64_t step, int64_t count, int64_t in) {
  range r = {first, step, 0, 0, count};
  r.from = first < 0 ? least(ceil_div(-first, step), count) : 0;
  r.end = in > first ? least(ceil_div(in - first, step), count) : 0;
  if (r.end < r.from) r.end = r.from;
  return r;
}

/* Copies the channels of a group, from an image's pixels in the ranges r. */
static st_status pack(const factor *f, char *to, const range *r, int64_t image,
                      int64_t group) {
  const int64_t size = (int64_t)st__itemsize(f->t->dtype);
  const int64_t next[NAXES] = {f->slab, f->line, f->pixel};
  st_pixel_copy p = {.dst = to, .src = st__data(f->t), .dtype = f->t->dtype,
                     .channels = f->channels, .dst_channel = size,
                     .src_channel = f->channel};
  p.src += image * f->image + group * f->channels * f->channel;
  for (int k = 0; k < NAXES; k++) {
    if (r[k].end == r[k].from) return ST_OK;
    p.src += (r[k].first + r[k].from * r[k].step) * f->stride[k];
    p.dst += r[k].from * next[k];
    p.n[k] = r[k].end - r[k].from;
    p.dst_next[k] = next[k];
    p.src_next[k] = r[k].step * f->stride[k];
  }
  return st__copy_pixels(&p);
}

/* -- Bands ---------------------------------------------------------------- */

typedef struct band {
  int64_t image, depth, row, col, images, rows, cols;
} band;

/* A share's buffers, and the ranges of pixels that the image's buffer has: all
 * others are zeros. */
typedef struct buffers {
  char *image, *rows;
  range held[NAXES];
} buffers;

static bool is_same(const range *a, const range *b) {
  for (int k = 0; k < NAXES; k++) {
    if (a[k].from != b[k].from || a[k].end != b[k].end ||
        a[k].count != b[k].count) {
      return false;
    }
  }
  return true;
}

static st_status read_image(const gradient *g, const band *b, int64_t group,
                            buffers *to, const char **at) {
  const factor *f = &g->image;
  const axis *x = g->x;
  const int64_t first[NAXES] = {b->depth, b->row, b->col};
  const int64_t count[NAXES] = {1, b->rows, b->cols};
  range r[NAXES];
  for (int k = 0; k < NAXES; k++) {
    r[k] = range_of(first[k] * x[k].stride - x[k].padding, x[k].step,
                    extent(&x[k], count[k]), x[k].in);
  }
  if (x[DEPTH].taps > 1) { /* slabs of a dilated window are adjacent */
    r[DEPTH] = range_of(r[DEPTH].first, x[DEPTH].dilation, x[DEPTH].taps,
                        x[DEPTH].in);
  }
  *at = to->image;
  if (f->in_place) {
    *at = st__data(f->t);
    *at += b->image * f->image + group * f->channels * f->channel;
    for (int k = 0; k < NAXES; k++) *at += r[k].first * f->stride[k];
    return ST_OK;
  }
  if (!is_same(r, to->held)) memset(to->image, 0, (size_t)f->bytes);
  memcpy(to->held, r, sizeof r);
  for (int64_t i = 0; i < b->images; i++) {
    ST_TRY(pack(f, to->image + i * f->next, r, b->image + i, group));
  }
  return ST_OK;
}

static st_status read_rows(const gradient *g, const band *b, int64_t group,
                           buffers *to, const char **at) {
  const factor *f = &g->rows;
  const range r[NAXES] = {{b->depth, 1, 0, 1, 1},
                          {b->row, 1, 0, b->rows, b->rows},
                          {b->col, 1, 0, b->cols, b->cols}};
  *at = to->rows;
  for (int64_t i = 0; i < b->images && !f->in_place; i++) {
    ST_TRY(pack(f, to->rows + i * f->next, r, b->image + i, group));
  }
  if (!f->in_place) return ST_OK;
  *at = st__data(f->t);
  *at += b->image * f->image + group * f->channels * f->channel;
  for (int k = 0; k < NAXES; k++) *at += r[k].first * f->stride[k];
  return ST_OK;
}

/* Where tap number t of the sums begins in the image. */
static int64_t tap_offset(const gradient *g, int64_t t) {
  const axis *x = g->x;
  const int64_t cols = x[COL].taps / g->merged;
  const int64_t col = t % cols, row = t / cols % x[ROW].taps;
  return t / cols / x[ROW].taps * g->image.slab +
         row * x[ROW].dilation * g->image.line +
         col * x[COL].dilation * g->image.pixel;
}

/* A piece is a tap and a panel of vectors. */
static void add_piece(const gradient *g, int64_t piece, const band *b,
                      const char *image, const char *rows, char *sums) {
  const int64_t panels = ceil_div(g->right * g->size, ST_NHWC_PANEL);
  const int64_t tap = piece / panels, at = piece % panels * ST_NHWC_PANEL;
  const int64_t wide = least(ST_NHWC_PANEL, g->right * g->size - at) / g->size;
  const int64_t col = g->x[COL].by * g->image.pixel;
  const int64_t line = g->x[ROW].by * g->image.line;
  const int64_t next = g->right * g->size;
  const int64_t by_rows[6] = {g->size, col, g->rows.pixel,
                              next, line, g->rows.line};
  const int64_t by_image[6] = {g->size, g->rows.pixel, col,
                               next, g->rows.line, line};
  image += tap_offset(g, tap);
  sums += tap * g->left * next + at;
  for (int64_t i = 0; i < b->rows; i += g->block_rows) {
    const st_conv_weight_ctx ctx = {
      b->images, least(g->block_rows, b->rows - i), b->cols,
      g->by_rows ? g->image.next : g->rows.next,
      g->by_rows ? g->rows.next : g->image.next};
    const char *from = image + i * line, *with = rows + i * g->rows.line;
    char *data[3] = {sums, (char *)(uintptr_t)(g->by_rows ? from : with),
                     (char *)(uintptr_t)(g->by_rows ? with : from) + at};
    g->loop(data, g->by_rows ? by_rows : by_image, wide, g->left, &ctx);
  }
}

static band band_of(const gradient *g, int64_t i) {
  band b;
  b.row = take(&i, g->row_bands) * g->band_rows;
  b.col = take(&i, g->col_bands) * g->cols;
  b.depth = take(&i, g->x[DEPTH].count);
  b.image = i * g->images;
  b.images = least(g->images, g->p->batch - b.image);
  b.rows = least(g->band_rows, g->x[ROW].count - b.row);
  b.cols = least(g->cols, g->x[COL].count - b.col);
  return b;
}

/* A unit: the bands of a chunk, for some of the pieces of a group. */
static void run_unit(const gradient *g, int64_t unit, buffers *to) {
  const int64_t panels = ceil_div(g->right * g->size, ST_NHWC_PANEL);
  const int64_t all = g->taps * panels, each = g->left * g->right * g->size;
  const int64_t part = take(&unit, g->pieces);
  const int64_t group = take(&unit, g->p->groups), chunk = unit;
  const int64_t end = all * (part + 1) / g->pieces;
  char *sums = g->sums + chunk * g->partial + group * g->taps * each;
  for (int64_t i = g->bands * chunk / g->chunks;
       i < g->bands * (chunk + 1) / g->chunks && !st__stops(); i++) {
    const band b = band_of(g, i);
    const char *image, *rows;
    /* only an interrupt fails: the loop around it stops, too */
    if (read_image(g, &b, group, to, &image) != ST_OK ||
        read_rows(g, &b, group, to, &rows) != ST_OK) {
      return;
    }
    for (int64_t k = all * part / g->pieces; k < end; k++) {
      add_piece(g, k, &b, image, rows, sums);
    }
  }
}

static void run_shares(void *ctx, int64_t begin, int64_t end) {
  const gradient *g = ctx;
  for (int64_t i = begin; i < end; i++) {
    const int64_t from = g->units * i / g->shares;
    const int64_t to = g->units * (i + 1) / g->shares;
    buffers b = {.image = g->scratch + i * (g->image.bytes + g->rows.bytes)};
    b.rows = b.image + g->image.bytes;
    memset(b.rows, 0, (size_t)g->rows.bytes);
    for (int64_t unit = from; unit < to && !st__stops(); unit++) {
      run_unit(g, unit, &b);
    }
  }
}

/* -- Results -------------------------------------------------------------- */

/* Adds the chunks' sums to those of the first. */
static void add_chunks(void *ctx, int64_t begin, int64_t end) {
  const gradient *g = ctx;
  for (int64_t k = 1; k < g->chunks; k++) {
    if (g->size == 4) {
      float *to = (float *)(void *)g->sums;
      const float *from = (const float *)(void *)(g->sums + k * g->partial);
      for (int64_t i = begin; i < end; i++) to[i] += from[i];
    } else {
      double *to = (double *)(void *)g->sums;
      const double *from = (const double *)(void *)(g->sums + k * g->partial);
      for (int64_t i = begin; i < end; i++) to[i] += from[i];
    }
  }
}

/* Copies the sums [group][tap][left][right] to the weight (groups * m,
 * channels, taps). */
static st_status store(const gradient *g) {
  const int64_t all = g->x[DEPTH].taps * g->x[ROW].taps * g->x[COL].taps;
  const int64_t channels = g->p->channels, size = g->size;
  const int64_t m = g->by_rows ? size : g->right * size;
  const int64_t channel = g->by_rows ? g->right * size : size;
  const int64_t tap = (g->by_rows ? channels : g->left) * g->right * size;
  st_move v;
  st__move_init(&v, st__data(g->out), g->out->dtype, g->sums, g->out->dtype);
  st__move_dim(&v, all, size, tap);
  st__move_dim(&v, channels, all * size, channel);
  st__move_dim(&v, g->p->m, channels * all * size, m);
  st__move_dim(&v, g->p->groups, g->p->m * channels * all * size, all * tap);
  return st__move_run(&v);
}

/* -- Running -------------------------------------------------------------- */

/* True if the channels are adjacent, as many as the buffer would have, and its
 * pixels are as well spread, or used once. */
static bool is_in_place(const factor *f, int64_t uses) {
  const int64_t size = (int64_t)st__itemsize(f->t->dtype);
  return f->channel == size && f->lanes == f->channels &&
         (uses == 1 || st__apart(f->stride[COL] / size, size) == 0);
}

/* True if no window reaches over the image's border. */
static bool is_inside(const axis *x) {
  return x->padding == 0 &&
         (x->count - 1) * x->stride + (x->taps - 1) * x->dilation < x->in;
}

static void set_factor(factor *f, const st_conv_products *p,
                       const st_tensor *t, int64_t channels,
                       bool has_vectors) {
  const int n = t->ndim - 2;
  const int64_t size = (int64_t)st__itemsize(t->dtype);
  f->t = t;
  f->channels = channels;
  f->lanes = has_vectors ? lanes_of(channels, size) : channels;
  f->image = t->strides[0] * size;
  f->channel = t->strides[1] * size;
  for (int k = 0; k < NAXES; k++) {
    const int d = k - (NAXES - n);
    f->stride[k] = d < 0 ? 0 : t->strides[2 + d] * size;
  }
  f->in_place = is_in_place(f, p->k / p->channels);
}

/* The buffer of a factor, for n images: rows of `pitch` pixels. */
static void set_buffer(factor *f, int64_t n, int64_t deep, int64_t high,
                       int64_t pitch) {
  const int64_t size = (int64_t)st__itemsize(f->t->dtype);
  f->pixel = (f->lanes + st__apart(f->lanes, size)) * size;
  f->line = pitch * f->pixel;
  f->slab = high * f->line;
  f->next = deep * f->slab;
  f->bytes = line_end(n * f->next);
}

static void set_factors(gradient *g) {
  const st_conv_products *p = g->p;
  const axis *x = g->x;
  g->by_rows = is_by_rows(p, g->size);
  set_factor(&g->rows, p, p->rows, p->m, g->by_rows);
  set_factor(&g->image, p, p->image, p->channels, !g->by_rows);
  for (int k = 0; k < NAXES; k++) {
    g->image.in_place = g->image.in_place && is_inside(&x[k]);
  }
  set_bands(g);
  set_buffer(&g->rows, g->images, 1, g->band_rows, g->cols);
  set_buffer(&g->image, g->images, x[DEPTH].taps,
             extent(&x[ROW], g->band_rows), extent(&x[COL], g->cols));
  factor *f[] = {&g->rows, &g->image};
  for (int i = 0; i < 2; i++) {
    if (!f[i]->in_place) continue;
    const axis *by = i == 0 ? NULL : x;
    f[i]->pixel = f[i]->stride[COL] * (by ? by[COL].step : 1);
    f[i]->line = f[i]->stride[ROW] * (by ? by[ROW].step : 1);
    f[i]->slab = f[i]->stride[DEPTH] * (by ? by[DEPTH].dilation : 1);
    f[i]->next = f[i]->image;
    f[i]->bytes = 0;
  }
  const bool is_run = g->by_rows && x[COL].dilation == 1 &&
                      g->image.pixel == p->channels * g->size;
  g->merged = is_run ? x[COL].taps : 1;
  g->taps = x[DEPTH].taps * x[ROW].taps * x[COL].taps / g->merged;
  g->left = g->by_rows ? p->channels * g->merged : p->m;
  g->right = g->by_rows ? g->rows.lanes : g->image.lanes;
}

/* Chunks depend on the shape only; pieces are for more threads. */
static void set_units(gradient *g) {
  const int64_t sums = g->p->groups * g->taps * g->left * g->right;
  const int64_t panels = ceil_div(g->right * g->size, ST_NHWC_PANEL);
  const int64_t blocks = g->bands * ceil_div(g->band_rows, g->block_rows);
  const int64_t wanted = 4 * st__num_threads();
  g->chunks = least(least(CHUNKS, g->bands), least(PARTIAL / sums, blocks / 4));
  if (g->chunks < 1) g->chunks = 1;
  const int64_t units = g->chunks * g->p->groups;
  g->pieces = wanted > 4 && units < wanted
            ? least(ceil_div(wanted, units), g->taps * panels) : 1;
  g->units = units * g->pieces;
  g->partial = line_end(sums * g->size);
  const int64_t work = g->taps * g->left * g->right * g->bands * g->images *
                       g->band_rows * g->cols / g->chunks / g->pieces;
  g->shares = st__num_shares(g->units, ceil_div(GRAIN, work + 1));
}

static st_status run(gradient *g) {
  set_factors(g);
  set_units(g);
  const int64_t bytes = g->chunks * g->partial +
                        g->shares * (g->image.bytes + g->rows.bytes) + 64;
  char *at = st__alloc(ST_MEM_SCRATCH, (size_t)bytes);
  if (!at) return ST_NO_MEMORY;
  g->sums = at;
  g->scratch = at + g->chunks * g->partial;
  memset(g->sums, 0, (size_t)(g->chunks * g->partial));
  st_status status = st__parallel_try(0, g->shares, 1, run_shares, g);
  if (status == ST_OK) {
    st_parallel_for(0, g->partial / g->size, ST_GRAIN, add_chunks, g);
    status = store(g);
  }
  st__free(ST_MEM_SCRATCH, at, (size_t)bytes);
  return status;
}

/* -- Choice --------------------------------------------------------------- */

/* True if the columns are the image, and the matrices so large that a packed
 * product is faster. As every choice here, it goes by the shape alone, which so
 * decides about the order of sums, whatever the layout. */
static bool is_better_product(const st_conv_products *p) {
  enum { WIDE = 64, WINDOWS = 32 };
  return st__is_pixelwise(&p->w) && least(p->m, p->channels) >= WIDE &&
         st__product_of(p->w.n, p->w.out) >= WINDOWS;
}

/* The matrix product is better for few channels per group, too. The buffers
 * must not become much larger than the image. */
bool st__is_direct_weight(const st_conv_products *p) {
  const st_tensor *t = p->image;
  const int64_t size = (int64_t)st__itemsize(t->dtype);
  axis x[NAXES];
  if (!p->fits || !st__is_cpu(t) || t->dtype != p->rows->dtype ||
      !st__is_cpu(p->rows) ||
      (t->dtype != ST_FLOAT32 && t->dtype != ST_FLOAT64) ||
      t->numel == 0 || p->rows->numel == 0 || p->m == 0 || p->k == 0) {
    return false;
  }
  const int64_t least_lanes =
    is_by_rows(p, size) ? lanes_of(p->m, size) * p->channels
                        : lanes_of(p->channels, size) * p->m;
  if (p->groups > 1 && least_lanes > 4 * p->m * p->channels) return false;
  if (is_better_product(p)) return false;
  set_axes(p, x);
  double pixels = 1;
  for (int k = 0; k < NAXES; k++) {
    if (x[k].count < 1) return false;
    pixels *= (double)extent(&x[k], x[k].count);
  }
  return pixels * (double)lanes_of(p->channels, size) < 0x1p40 &&
         (double)p->k * (double)lanes_of(p->m, size) < 0x1p40;
}

ST_BOXED(st__box_direct_weight_backward) {
  st_conv_products p;
  st_ints sizes;
  gradient g = {.p = &p};
  ST_TRY(st__read_conv_products(args, &p, &sizes));
  if (!st__is_direct_weight(&p)) {
    return st__invoke(ST_OP__convolution_weight_backward, 9, args, rets);
  }
  ST_TRY(st__tensor_empty(ST_DEVICE_CPU, p.rows->dtype, (int)sizes.n, sizes.p,
                          ST_FORMAT_CONTIGUOUS, &g.out));
  g.size = (int64_t)st__itemsize(p.rows->dtype);
  set_axes(&p, g.x);
  st_status status = st__find_kernel(ST_K_convolution_weight, p.rows->dtype,
                                     &g.loop);
  if (status == ST_OK) status = run(&g);
  if (status == ST_OK) rets[0] = st__of_tensor(g.out);
  else st__tensor_release(&g.out);
  return status;
}
