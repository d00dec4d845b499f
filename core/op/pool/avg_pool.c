/* Average pooling, and what pooling operators share: arguments, adaptive bins,
 * and columns of windows.
 */

#include "op/pool/pool.h"

#include <inttypes.h>

/* For a bin, the index after the last of window o along dimension d. */
static int64_t end_of(const st_window *w, int d, int64_t o) {
  return ((o + 1) * w->in[d] + w->out[d] - 1) / w->out[d];
}

/* The first index of window o along dimension d. */
static int64_t start_of(const st_pool *p, int d, int64_t o) {
  const st_window *w = &p->w;
  return p->adaptive ? o * w->in[d] / w->out[d]
                     : o * w->stride[d] - w->padding[d];
}

/* -- Arguments ------------------------------------------------------------ */

st_status st__pool_read(const st_tensor *self, int n, st_pool *p) {
  p->self = self;
  p->w.n = n;
  ST_TRY(st__check_images(self, "self", n));
  st__image_sizes(self, n, p->w.in);
  for (int d = self->ndim - n - 1; d < self->ndim; d++) {
    if (self->sizes[d] > INT32_MAX) {
      return st__fail(ST_BAD_SHAPE, "self is too large, its shape is %s",
                      ST_SHAPE_TEXT(self));
    }
    if (self->sizes[d] == 0) {
      return st__fail(ST_BAD_SHAPE, "only the batch may be empty, but the "
                      "shape of self is %s", ST_SHAPE_TEXT(self));
    }
  }
  return ST_OK;
}

/* As st__window_count, but a remainder at the end gets a window, unless it
 * would start in the padding. */
static st_status count_ceil(st_window *w) {
  st_window larger = *w;
  for (int d = 0; d < w->n; d++) larger.in[d] += w->stride[d] - 1;
  ST_TRY(st__window_count(&larger));
  for (int d = 0; d < w->n; d++) {
    w->out[d] = larger.out[d];
    if ((w->out[d] - 1) * w->stride[d] >= w->in[d] + w->padding[d]) {
      w->out[d]--;
    }
  }
  return ST_OK;
}

st_status st__pool_window(st_ints kernel_size, st_ints stride, st_ints padding,
                          st_ints dilation, st_pool *p) {
  st_window *w = &p->w;
  if (stride.n == 0) stride = kernel_size;
  ST_TRY(st__read_sizes(kernel_size, "kernel_size", w->n, 1, w->kernel));
  ST_TRY(st__read_sizes(stride, "stride", w->n, 1, w->stride));
  ST_TRY(st__read_sizes(padding, "padding", w->n, 0, w->padding));
  ST_TRY(st__read_sizes(dilation, "dilation", w->n, 1, w->dilation));
  for (int d = 0; d < w->n; d++) {
    if (w->padding[d] > w->kernel[d] / 2) {
      return st__fail(ST_BAD_VALUE, "padding must be at most half of "
                      "kernel_size, it is %" PRId64 " of %" PRId64,
                      w->padding[d], w->kernel[d]);
    }
  }
  ST_TRY(p->ceil_mode ? count_ceil(w) : st__window_count(w));
  p->kernel_numel = st__product_of(w->n, w->kernel);
  p->nwindows = st__product_of(w->n, w->out);
  return ST_OK;
}

/* The size of the largest of `out` bins of `in` elements. If out does not
 * divide in, the fractional parts of bin starts are multiples of 1 / (out /
 * gcd). */
static int64_t largest_bin(int64_t in, int64_t out) {
  int64_t gcd = in, rest = out;
  while (rest > 0) {
    const int64_t next = gcd % rest;
    gcd = rest;
    rest = next;
  }
  if (out == 0) return 1;
  const int64_t over = in % out / gcd;
  return in / out + (over > 1 ? 2 : over);
}

st_status st__pool_adaptive(const st_tensor *self, st_ints output_size, int n,
                            st_pool *p) {
  st_window *w = &p->w;
  int64_t columns = 1;
  bool is_even = true, is_many = false;
  ST_TRY(st__pool_read(self, n, p));
  ST_TRY(st__read_sizes(output_size, "output_size", n, 0, w->out));
  for (int d = 0; d < n; d++) {
    const int64_t size = largest_bin(w->in[d], w->out[d]);
    w->dilation[d] = 1;
    w->padding[d] = 0;
    w->kernel[d] = w->stride[d] = size;
    is_even = is_even && w->out[d] * size == w->in[d];
    is_many |= !st__mul_sizes(columns, w->out[d], &columns);
    is_many |= !st__mul_sizes(columns, size, &columns);
  }
  if (is_many) return st__fail(ST_BAD_SHAPE, "output_size is too large");
  p->adaptive = !is_even;
  p->kernel_numel = st__product_of(n, w->kernel);
  p->nwindows = st__product_of(n, w->out);
  return ST_OK;
}

/* -- Columns -------------------------------------------------------------- */

/* self padded with 0 so that all windows are inside. */
static st_tensor *padded(st_op_scope *c, const st_tensor *self,
                         const st_pool *p) {
  const st_window *w = &p->w;
  int64_t pad[2 * ST_SPATIAL_MAX], sum = 0;
  for (int d = 0; d < w->n; d++) {
    const int64_t end = (w->out[d] - 1) * w->stride[d] +
                        st__window_extent(w, d) - w->padding[d];
    const int k = 2 * (w->n - 1 - d);
    pad[k] = w->padding[d];
    pad[k + 1] = end > w->in[d] ? end - w->in[d] : 0;
    sum += pad[k] + pad[k + 1];
  }
  if (sum == 0) return (st_tensor *)(uintptr_t)self;
  return ST_APPLY(c, ST_OP_constant_pad_nd, self, st__of_ints(pad, 2 * w->n),
                  st__of_int(0));
}

int64_t st__pool_images(const st_pool *p) {
  return st__product_of(p->self->ndim - p->w.n, p->self->sizes);
}

/* t as (images, 1, size..). */
static st_tensor *as_images(st_op_scope *c, const st_tensor *t,
                            const st_pool *p) {
  int64_t sizes[2 + ST_SPATIAL_MAX] = {st__pool_images(p), 1};
  if (!st__scope_ok(c)) return NULL;
  st__image_sizes(t, p->w.n, sizes + 2);
  return st__apply_reshape(c, t, 2 + p->w.n, sizes);
}

/* The indices of the elements of each bin in turn; a bin smaller than the
 * largest repeats its last index. */
static st_tensor *bin_indices(st_op_scope *c, const st_pool *p, int d) {
  const st_window *w = &p->w;
  int64_t *at;
  const st_tensor *table = st__new_cpu_vector(c, ST_INT64,
                                              w->out[d] * w->kernel[d], &at);
  for (int64_t o = 0, n = 0; st__scope_ok(c) && o < w->out[d]; o++) {
    for (int64_t k = 0; st__scope_goes_on_at(c, n) && k < w->kernel[d]; k++) {
      n++;
      const int64_t i = start_of(p, d, o) + k;
      const int64_t end = end_of(w, d, o);
      *at++ = i < end ? i : end - 1;
    }
  }
  return st__to_device_of(c, table, ST_INT64, p->self);
}

/* Adaptive bins as columns, (images, elements, bins); smaller bins repeat their
 * last element. */
static st_tensor *bin_columns(st_op_scope *c, const st_tensor *self,
                              const st_pool *p) {
  const int n = p->w.n;
  int64_t split[1 + 2 * ST_SPATIAL_MAX] = {st__pool_images(p)};
  int64_t order[1 + 2 * ST_SPATIAL_MAX] = {0};
  st_tensor *t = as_images(c, self, p);
  for (int d = 0; d < n; d++) {
    t = st__apply_index_select(c, t, 2 + d, bin_indices(c, p, d));
    split[1 + 2 * d] = p->w.out[d];
    split[2 + 2 * d] = p->w.kernel[d];
    order[1 + d] = 2 + 2 * d;
    order[1 + n + d] = 1 + 2 * d;
  }
  t = st__apply_reshape(c, t, 1 + 2 * n, split);
  t = ST_APPLY(c, ST_OP_permute, t, st__of_ints(order, 1 + 2 * n));
  return ST_APPLY(c, ST_OP_reshape, t,
                  ST_INTS(split[0], p->kernel_numel, p->nwindows));
}

st_tensor *st__pool_result(st_op_scope *c, const st_tensor *t,
                           const st_pool *p) {
  int64_t sizes[2 + ST_SPATIAL_MAX];
  const int lead = p->self->ndim - p->w.n;
  for (int d = 0; d < lead; d++) sizes[d] = p->self->sizes[d];
  for (int d = 0; d < p->w.n; d++) sizes[lead + d] = p->w.out[d];
  return st__apply_reshape(c, t, p->self->ndim, sizes);
}

st_format st__pool_format(const st_pool *p, bool is_mean) {
  const bool is_plain = p->w.n == 3 && (is_mean || p->adaptive);
  return is_plain ? ST_FORMAT_CONTIGUOUS : st__suggest_format(p->self, false);
}

/* -- Indices -------------------------------------------------------------- */

/* Writes the multi-dimensional index of linear index i to at. */
static void unravel(int64_t i, int n, const int64_t *sizes, int64_t *at) {
  for (int d = n - 1; d >= 0; d--) {
    at[d] = i % sizes[d];
    i /= sizes[d];
  }
}

/* The number of elements of the window at o that are in the image or, with
 * padding, in the padded image. */
static int64_t window_size(const st_pool *p, const int64_t *o,
                           bool with_padding) {
  const st_window *w = &p->w;
  int64_t size = 1;
  for (int d = 0; d < w->n; d++) {
    int64_t start = start_of(p, d, o[d]), end, last = w->in[d];
    if (p->adaptive) {
      end = end_of(w, d, o[d]);
    } else {
      end = start + w->kernel[d];
      if (with_padding) last += w->padding[d];
      else if (start < 0) start = 0;
      if (end > last) end = last;
    }
    size *= end - start;
  }
  return size;
}

/* -- Averages ------------------------------------------------------------- */

typedef struct mean {
  st_pool p;
  bool with_padding;
  bool is_plain;   /* mean of the whole image: its gradient is not attached */
  int64_t divisor; /* 0: the number of elements that count in each window */
} mean;

/* Sets the elements that bin_indices repeats to 0. */
static st_tensor *without_repeats(st_op_scope *c, st_tensor *columns,
                                  const st_pool *p) {
  const st_window *w = &p->w;
  const int64_t sizes[] = {p->kernel_numel, p->nwindows};
  int64_t k[ST_SPATIAL_MAX], o[ST_SPATIAL_MAX];
  bool *counts;
  const st_tensor *table = st__new_cpu_vector(c, ST_BOOL,
                                              p->kernel_numel * p->nwindows,
                                              &counts);
  const int64_t n = p->kernel_numel * p->nwindows;
  for (int64_t i = 0; st__scope_goes_on_at(c, i) && i < n; i++) {
    bool inside = true;
    unravel(i / p->nwindows, w->n, w->kernel, k);
    unravel(i % p->nwindows, w->n, w->out, o);
    for (int d = 0; d < w->n; d++) {
      const int64_t at = start_of(p, d, o[d]) + k[d];
      inside = inside && at < end_of(w, d, o[d]);
    }
    counts[i] = inside;
  }
  table = st__to_device_of(c, table, ST_BOOL, p->self);
  return ST_APPLY(c, ST_OP_where_ScalarOther,
                  st__apply_reshape(c, table, 2, sizes), columns, 0);
}

static bool is_even(const mean *m) {
  const st_window *w = &m->p.w;
  for (int d = 0; d < w->n; d++) {
    const int64_t end = (w->out[d] - 1) * w->stride[d] + w->kernel[d] -
                        w->padding[d];
    const int64_t most = w->in[d] + (m->with_padding ? w->padding[d] : 0);
    if (end > most || (w->padding[d] > 0 && !m->with_padding)) return false;
  }
  return !m->p.adaptive;
}

/* sum / by; integers are divided towards 0. */
static st_tensor *divided_by(st_op_scope *c, const st_tensor *sum,
                             st_value by) {
  if (!st__scope_ok(c)) return NULL;
  const bool whole = st__is_integral(sum->dtype);
  const bool same = by.tag == ST_TAG_INT;
  const st_value args[] = {
    st__of_tensor(sum), by,
    st__of_text("trunc")};
  const st_op_id id = whole ? same ? ST_OP_div_Scalar_mode
                                   : ST_OP_div_Tensor_mode
                            : same ? ST_OP_div_Scalar : ST_OP_div_Tensor;
  return st__apply(c, id, whole ? 3 : 2, args);
}

static st_tensor *divided(st_op_scope *c, const st_tensor *sum, const mean *m) {
  const st_pool *p = &m->p;
  int64_t *size, o[ST_SPATIAL_MAX];
  const int64_t same = m->divisor
                       ? m->divisor : is_even(m) ? p->kernel_numel : 0;
  if (same || !st__scope_ok(c)) return divided_by(c, sum, st__of_int(same));
  const st_tensor *table = st__new_cpu_vector(c, ST_INT64, p->nwindows, &size);
  for (int64_t i = 0; st__scope_goes_on_at(c, i) && i < p->nwindows; i++) {
    unravel(i, p->w.n, p->w.out, o);
    size[i] = window_size(p, o, m->with_padding);
  }
  table = st__to_device_of(c, table, sum->dtype, p->self);
  return divided_by(c, sum, st__of_tensor(table));
}

/* t in a dtype that is wide enough for sums. */
static const st_tensor *wide(st_op_scope *c, const st_tensor *t) {
  if (!st__scope_ok(c)) return NULL;
  const st_dtype dtype = t->dtype;
  if (st__is_integral(dtype)) return st__apply_to(c, t, ST_INT64);
  return st__is_reduced_float(dtype) ? st__apply_to(c, t, ST_FLOAT32) : t;
}

/* The sum of each window or bin: (images, windows). */
static st_tensor *window_sums(st_op_scope *c, const st_tensor *self,
                              const st_pool *p) {
  const int64_t sizes[] = {st__pool_images(p), p->nwindows};
  st_window w = p->w;
  if (p->adaptive) {
    st_tensor *t = without_repeats(c, bin_columns(c, self, p), p);
    return ST_APPLY(c, ST_OP_sum_dim_IntList, t, ST_INTS(1));
  }
  for (int d = 0; d < w.n; d++) w.padding[d] = 0;
  const st_tensor *all = padded(c, self, p);
  all = as_images(c, all, p);
  if (p->kernel_numel > ST_POOL_SMALL) {
    return ST_APPLY(c, ST_OP_sum_dim_IntList, st__apply_im2col(c, all, &w),
                    ST_INTS(1));
  }
  return st__apply_reshape(c, st__window_sums(c, all, &w), 2, sizes);
}

/* The means of a tensor whose gradient is not recorded. */
static st_tensor *plain_means(st_op_scope *c, const mean *m) {
  const st_pool *p = &m->p;
  const st_window *w = &p->w;
  return st__apply(c, ST_OP__avg_pool, 9, (st_value[]){
    st__of_tensor(p->self), st__of_ints(p->adaptive ? w->out : w->kernel, w->n),
    st__of_ints(w->stride, w->n), st__of_ints(w->padding, w->n),
    st__of_ints(w->dilation, w->n), st__of_bool(p->ceil_mode),
    st__of_bool(p->adaptive), st__of_bool(m->with_padding),
    st__of_int(m->divisor)});
}

static st_status run_mean(st_op_scope *c, const mean *m, st_value *rets) {
  const st_pool *p = &m->p;
  const st_dtype dtype = p->self->dtype;
  if (st__scope_ok(c) && (st__is_complex(dtype) || dtype == ST_BOOL)) {
    c->status = st__no_kernel_for(dtype);
  }
  if (!st__scope_ok(c)) return st__scope_end(c, 0, NULL, NULL);
  if (!st__is_recorded(p->self->keys) && st__has_image_kernels(p->self)) {
    return st__scope_return(c, plain_means(c, m), rets);
  }
  const st_tensor *self = m->is_plain
                        ? p->self : st__apply_attached(c, p->self, p->self);
  const st_tensor *sum = divided(c, window_sums(c, wide(c, self), p), m);
  st_tensor *out = st__pool_result(c, st__apply_to(c, sum, dtype), p);
  if (st__pool_format(p, true) != ST_FORMAT_CONTIGUOUS) {
    out = st__apply_format(c, out, p->self);
  }
  return st__scope_return(c, out, rets);
}

static st_status avg_pool(const st_value *args, int n, st_value *rets) {
  static const int64_t one[] = {1};
  const st_ints dilation = {one, 1};
  ST_ARGS(TENSOR(self), INTS(kernel_size), INTS(stride), INTS(padding));
  mean m = {.p.ceil_mode = st__next_bool(&args)};
  m.with_padding = st__next_bool(&args);
  const bool has_divisor = n > 1 && !st__is_none(args);
  if (has_divisor) m.divisor = st__next_int(&args);
  st_op_scope c = {.status = st__pool_read(self, n, &m.p)};
  if (st__scope_ok(&c)) {
    c.status = st__pool_window(kernel_size, stride, padding, dilation, &m.p);
  }
  if (st__scope_ok(&c) && has_divisor && m.divisor == 0) {
    c.status = st__fail(ST_BAD_VALUE, "divisor_override must not be 0");
  }
  return run_mean(&c, &m, rets);
}

static st_status adaptive_avg_pool(const st_value *args, int n,
                                   st_value *rets) {
  ST_ARGS(TENSOR(self), INTS(output_size));
  mean m = {.divisor = 0};
  st_op_scope c = {.status = st__pool_adaptive(self, output_size, n, &m.p)};
  m.is_plain = st__scope_ok(&c) && st__product_of(n, m.p.w.out) == 1;
  return run_mean(&c, &m, rets);
}

ST_BOXED(st__box_avg_pool1d) { return avg_pool(args, 1, rets); }
ST_BOXED(st__box_avg_pool2d) { return avg_pool(args, 2, rets); }
ST_BOXED(st__box_avg_pool3d) { return avg_pool(args, 3, rets); }
ST_BOXED_AS(st__box_adaptive_avg_pool1d, adaptive_avg_pool, args, 1)
ST_BOXED_AS(st__box_adaptive_avg_pool2d, adaptive_avg_pool, args, 2)
ST_BOXED_AS(st__box_adaptive_avg_pool3d, adaptive_avg_pool, args, 3)
