/* The gradients of batch_norm, and theirs.
 */

#include <math.h>

#include "base/threads.h"
#include "kernel/kernel.h"
#include "kernel/nn/channel_sums.h"
#include "op/norm/derivatives.h"
#include "tensor/memory_format.h"

/* Elements of a block of columns, and how many rows it has. */
enum { BLOCK = 16384, LEAST_ROWS = 32, MOST_ROWS = 256 };

/* The arguments of _batch_norm_backward. */
typedef struct batch_back {
  st_tensor *grad, *input, *weight, *mean, *var; /* weight may be NULL */
  bool is_measured; /* mean and variance depend on the input */
  double eps;
} batch_back;

static batch_back read_back(const st_value *args) {
  batch_back b = {0};
  ST_ARGS_TO(b, TENSOR(grad), TENSOR(input), TENSOR(weight), TENSOR(mean),
             TENSOR(var), BOOL(is_measured), FLOAT(eps));
  return b;
}

static st_status check_back(const batch_back *b) {
  if (b->input->ndim < 2) {
    return st__fail(ST_BAD_SHAPE, "input needs 2 dimensions, its shape is %s",
                    ST_SHAPE_TEXT(b->input));
  }
  const int64_t *channels = &b->input->sizes[1];
  ST_TRY(check_parameter(b->weight, "weight", channels, 1));
  ST_TRY(check_parameter(b->mean, "mean", channels, 1));
  ST_TRY(check_parameter(b->var, "var", channels, 1));
  if (st__same_sizes(b->grad, b->input)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "grad_out has shape %s, input has %s",
                  ST_SHAPE_TEXT(b->grad), ST_SHAPE_TEXT(b->input));
}

/* -- By kernels ----------------------------------------------------------- */

/* Channels are rows, of `length` elements in each sample, or columns. */
typedef struct channels {
  const batch_back *b;
  const st_tensor *g, *x;  /* of one format */
  bool are_columns;
  int64_t count, samples, length, size; /* size: bytes of an element */
  double *sums;            /* of g, then of g (x - mean), by channel */
  double *partial;         /* by block of columns */
  int64_t block_rows;
  char *out, *params;      /* mean, a, b, c: count elements each */
  st_loop sum_loop, affine_loop;
} channels;

static void sum_channels(void *ctx, int64_t begin, int64_t end) {
  const channels *h = ctx;
  const int64_t row = h->length * h->size, sample = h->count * row;
  const int64_t strides[] = {h->size, h->size, sample, sample};
  for (int64_t i = begin; i < end && !st__stops(); i++) {
    double sums[2];
    char *data[] = {(char *)st__data(h->g) + i * row,
                    (char *)st__data(h->x) + i * row};
    const st_channel_sums c = {h->params + i * h->size, sums};
    h->sum_loop(data, strides, h->length, h->samples, &c);
    h->sums[i] = sums[0];
    h->sums[h->count + i] = sums[1];
  }
}

static void sum_blocks(void *ctx, int64_t begin, int64_t end) {
  const channels *h = ctx;
  const int64_t row = h->count * h->size, rows = h->samples * h->length;
  const int64_t strides[] = {h->size, h->size, row, row};
  for (int64_t i = begin; i < end && !st__stops(); i++) {
    const int64_t first = i * h->block_rows, left = rows - first;
    char *data[] = {(char *)st__data(h->g) + first * row,
                    (char *)st__data(h->x) + first * row};
    const st_channel_sums c = {h->params, h->partial + i * 2 * h->count};
    h->sum_loop(data, strides, h->count,
                left < h->block_rows ? left : h->block_rows, &c);
  }
}

/* The sums of columns: those of blocks, added in order. */
static st_status sum_columns(channels *h) {
  const int64_t rows = h->samples * h->length, n = 2 * h->count;
  h->block_rows = BLOCK / h->count;
  if (h->block_rows < LEAST_ROWS) h->block_rows = LEAST_ROWS;
  if (h->block_rows > MOST_ROWS) h->block_rows = MOST_ROWS;
  const int64_t blocks = (rows + h->block_rows - 1) / h->block_rows;
  const size_t bytes = (size_t)(blocks * n) * sizeof *h->partial;
  h->partial = st__alloc(ST_MEM_SCRATCH, bytes);
  if (!h->partial) return ST_NO_MEMORY;
  const st_status status = st__parallel_try(
    0, blocks, st__kernel_grain(ST_K_column_sums) /
               (h->block_rows * h->count) + 1, sum_blocks, h);
  for (int64_t k = 0; k < n; k++) h->sums[k] = 0;
  for (int64_t i = 0; i < blocks && status == ST_OK; i++) {
    for (int64_t k = 0; k < n; k++) h->sums[k] += h->partial[i * n + k];
  }
  st__free(ST_MEM_SCRATCH, h->partial, bytes);
  return status;
}

static double element(const st_tensor *t, int64_t i) {
  const char *p = st__data(t);
  p += i * t->strides[0] * (int64_t)st__itemsize(t->dtype);
  return t->dtype == ST_FLOAT32 ? (double)*(const float *)(const void *)p
                                : *(const double *)(const void *)p;
}

static void set_element(void *data, st_dtype d, int64_t i, double v) {
  if (d == ST_FLOAT32) ((float *)data)[i] = (float)v;
  else ((double *)data)[i] = v;
}

/* The gradient of input is g a + (x - mean) b + c with r = 1 / sqrt(var + eps),
 * a = weight r, b = -a r^2 sum(g (x - mean)) / n, c = -a sum(g) / n, or g a if
 * the statistics do not depend on the input: Note [Derivatives of layer_norm].
 * gw, gb: the gradients of weight and bias. */
static void set_params(channels *h, void *gw, void *gb) {
  const batch_back *b = h->b;
  const st_dtype d = h->x->dtype;
  const double n = (double)(h->samples * h->length);
  for (int64_t i = 0; i < h->count; i++) {
    const double r = 1 / sqrt(element(b->var, i) + b->eps);
    const double a = (b->weight ? element(b->weight, i) : 1) * r;
    const double of_g = h->sums[i], of_gx = h->sums[h->count + i];
    set_element(gw, d, i, of_gx * r);
    set_element(gb, d, i, of_g);
    set_element(h->params, d, h->count + i, a);
    set_element(h->params, d, 2 * h->count + i, -a * r * r * of_gx / n);
    set_element(h->params, d, 3 * h->count + i, -a * of_g / n);
  }
}

/* Rows [begin, end) of the gradient of input: of a channel in a sample, or of
 * all channels. */
static void write_rows(void *ctx, int64_t begin, int64_t end) {
  const channels *h = ctx;
  const int64_t n0 = h->are_columns ? h->count : h->length;
  const int64_t row = n0 * h->size, step = h->are_columns ? 0 : h->size;
  const int64_t strides[] = {h->size, h->size, h->size, 0, 0, 0, 0,
                             row, row, row, step, step, step, step};
  for (int64_t i = begin, n; i < end; i += n) {
    const int64_t at = h->are_columns ? 0 : i % h->count;
    n = end - i;
    if (!h->are_columns && n > h->count - at) n = h->count - at;
    char *data[7] = {h->out + i * row, (char *)st__data(h->g) + i * row,
                     (char *)st__data(h->x) + i * row};
    for (int k = 0; k < 4; k++) {
      data[3 + k] = h->params + (k * h->count + at) * h->size;
    }
    h->affine_loop(data, strides, n0, n, NULL);
  }
}

static st_status run_kernels(channels *h, st_tensor *const out[3]) {
  const st_dtype d = h->x->dtype;
  const st_kernel_id sums = h->are_columns ? ST_K_column_sums
                                           : ST_K_channel_sums;
  const st_kernel_id affine = h->are_columns ? ST_K_column_affine
                                             : ST_K_channel_affine;
  const int64_t rows = h->samples * h->length;
  ST_TRY(st__find_kernel(sums, d, &h->sum_loop));
  ST_TRY(st__find_kernel(affine, d, &h->affine_loop));
  for (int64_t i = 0; i < h->count; i++) {
    set_element(h->params, d, i, element(h->b->mean, i));
  }
  ST_TRY(h->are_columns ? sum_columns(h) : st__parallel_try(
    0, h->count, st__kernel_grain(sums) / rows + 1, sum_channels, h));
  set_params(h, st__data(out[1]), st__data(out[2]));
  if (!h->b->is_measured) return ST_OK;
  h->out = st__data(out[0]);
  return st__parallel_try(
    0, h->are_columns ? rows : h->samples * h->count,
    st__kernel_grain(affine) / (h->are_columns ? h->count : h->length) + 1,
    write_rows, h);
}

/* True if kernels may read the arguments; their dtype is that of input. */
static bool has_kernels(const batch_back *b) {
  const st_dtype d = b->input->dtype;
  const st_tensor *all[] = {b->grad, b->input, b->weight, b->mean, b->var};
  for (int i = 0; i < 5; i++) {
    if (all[i] && (all[i]->dtype != d || !st__is_plain(all[i]))) return false;
  }
  return (d == ST_FLOAT32 || d == ST_FLOAT64) && b->input->numel > 0;
}

/* A format in which x has all channels of a pixel side by side, else
 * CONTIGUOUS. */
static st_format format_of(const st_tensor *x) {
  const st_format f = x->ndim == 4 ? ST_FORMAT_CHANNELS_LAST
                    : x->ndim == 5 ? ST_FORMAT_CHANNELS_LAST_3D
                    : ST_FORMAT_CONTIGUOUS;
  return st__is_contiguous_in(x, f) ? f : ST_FORMAT_CONTIGUOUS;
}

/* weight / sqrt(var + eps), to be multiplied with an input. */
static st_tensor *scale_of(st_op_scope *c, const batch_back *b) {
  st_tensor *r = inverse_root(c, b->var, b->eps);
  if (b->weight) r = st__mul(c, r, b->weight);
  return along_channels(c, r, b->input->ndim);
}

static void back_by_kernels(st_op_scope *c, const batch_back *b,
                            st_tensor *out[3]) {
  const int64_t count = b->input->sizes[1];
  st_format f = format_of(b->input);
  if (st__is_contiguous_in(b->input, ST_FORMAT_CONTIGUOUS)) {
    f = ST_FORMAT_CONTIGUOUS;
  }
  channels h = {.b = b, .count = count, .samples = b->input->sizes[0],
                .size = (int64_t)st__itemsize(b->input->dtype)};
  h.length = b->input->numel / (h.samples * count);
  h.are_columns = f != ST_FORMAT_CONTIGUOUS || h.length == 1;
  h.g = ST_APPLY(c, ST_OP_contiguous, b->grad, f);
  h.x = ST_APPLY(c, ST_OP_contiguous, b->input, f);
  if (b->is_measured) out[0] = st__apply1(c, ST_OP_empty_like, h.x);
  else out[0] = st__mul(c, h.g, scale_of(c, b));
  for (int i = 1; i < 3; i++) {
    out[i] = ST_APPLY(c, ST_OP_new_empty, h.x, st__of_ints(&count, 1));
  }
  if (!st__scope_ok(c)) return;
  const size_t bytes = (size_t)count * (2 * sizeof(double) +
                                        4 * (size_t)h.size);
  char *scratch = st__alloc(ST_MEM_SCRATCH, bytes);
  if (!scratch) {
    c->status = ST_NO_MEMORY;
    return;
  }
  h.sums = (double *)(void *)scratch;
  h.params = scratch + (size_t)count * 2 * sizeof(double);
  c->status = run_kernels(&h, out);
  st__free(ST_MEM_SCRATCH, scratch, bytes);
}

/* -- By operators --------------------------------------------------------- */

/* l: the statistics of b; its tensors are computed in a dtype that is
 * precise. */
static void layer_of(st_op_scope *c, const batch_back *b, layer *l,
                     int64_t *dims) {
  int n = 0;
  for (int d = 0; d < b->input->ndim; d++) if (d != 1) dims[n++] = d;
  *l = (layer){.c = c, .dims = st__of_ints(dims, n),
               .outer = st__of_ints(dims, n)};
}

static st_tensor *along(st_op_scope *c, const batch_back *b,
                        st_tensor *t) {
  return t ? along_channels(c, precise(c, t), b->input->ndim) : NULL;
}

static void back_by_operators(st_op_scope *c, const batch_back *b,
                              st_tensor *out[3]) {
  int64_t dims[ST_MAX_DIMS];
  layer l;
  layer_of(c, b, &l, dims);
  st_tensor *grad = precise(c, b->grad), *w = along(c, b, b->weight);
  l.r = inverse_root(c, along(c, b, b->var), b->eps);
  l.xhat = standardised(c, precise(c, b->input), along(c, b, b->mean), l.r);
  const st_tensor *g = w ? st__mul(c, grad, w) : grad;
  out[0] = st__mul(c, b->is_measured ? projected(&l, g) : g, l.r);
  out[1] = summed(&l, st__mul(c, grad, l.xhat));
  out[2] = summed(&l, grad);
}

ST_BOXED(st__box_batch_norm_backward) {
  const batch_back b = read_back(args);
  st_tensor *out[3] = {NULL};
  ST_TRY(check_back(&b));
  st_op_scope c = {.n = 0};
  if (has_kernels(&b)) back_by_kernels(&c, &b, out);
  else back_by_operators(&c, &b, out);
  st_tensor *const results[] = {
    as_dtype_of(&c, out[0], b.input),
    as_dtype_of(&c, out[1], b.weight ? b.weight : b.input),
    as_dtype_of(&c, out[2], b.input)};
  return st__scope_end(&c, 3, results, rets);
}

/* -- The second derivative ------------------------------------------------ */

/* h, hw, hb: the gradients of the results of _batch_norm_backward, whose
 * arguments follow. */
ST_BOXED(st__box_batch_norm_double_backward) {
  ST_ARGS(TENSOR(h), MUTABLE(hw), MUTABLE(hb));
  const batch_back b = read_back(args);
  int64_t dims[ST_MAX_DIMS];
  layer l;
  ST_TRY(check_back(&b));
  st_op_scope c = {.n = 0};
  layer_of(&c, &b, &l, dims);
  const st_tensor *w = along(&c, &b, b.weight), *mean = along(&c, &b, b.mean);
  const st_tensor *var = along(&c, &b, b.var);
  if (b.is_measured) {
    st_tensor *measured[2];
    moments(&c, b.input, l.dims, &measured[0], &measured[1]);
    mean = measured[0];
    var = measured[1];
  }
  l.r = inverse_root(&c, var, b.eps);
  l.xhat = standardised(&c, b.input, mean, l.r);
  const st_tensor *g = w ? st__mul(&c, b.grad, w) : b.grad;
  st_tensor *scaled = st__mul(&c, b.is_measured ? projected(&l, h) : h, l.r);
  st_tensor *gg = w ? st__mul(&c, scaled, w) : scaled;
  hw = along(&c, &b, hw);
  gg = st__plus(&c, gg, along(&c, &b, hb));
  gg = st__plus(&c, gg, st__mul(&c, hw, l.xhat));
  st_tensor *gx = st__mul(&c, hw, b.grad);
  gx = st__mul(&c, b.is_measured ? projected(&l, gx) : gx, l.r);
  if (b.is_measured) gx = st__plus(&c, gx, curvature(&l, h, g));
  return st__scope_end(
    &c, 3, (st_tensor *[]){gg, gx, summed(&l, st__mul(&c, b.grad, scaled))},
    rets);
}
