/* Pooling: windows of an image reduced to their mean or their greatest place
 * (Note [Columns]).
 */

#include <math.h>

#include "op/spatial.h"

/* Windows that slide, or, adaptive, share the image out: the one of place o
 * then starts at o in / out and ends before (o + 1) in / out, rounded up. */
typedef struct pool {
  const st_tensor *self;
  st_window w;
  bool ceil_mode, adaptive;
  int64_t taps, places;
} pool;

static int64_t share_end(const st_window *w, int d, int64_t o) {
  return ((o + 1) * w->in[d] + w->out[d] - 1) / w->out[d];
}

static int64_t start_of(const pool *p, int d, int64_t o) {
  const st_window *w = &p->w;
  return p->adaptive ? o * w->in[d] / w->out[d]
                     : o * w->stride[d] - w->padding[d];
}

/* -- Arguments ------------------------------------------------------------ */

static st_status read_images(const st_tensor *self, int n, pool *p) {
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

/* As st__window_count, but what is left over at the end gets a window of its
 * own, unless that would start in the padding. */
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

/* kernel_size, stride (none: as the kernel) and padding start at lists. */
static st_status read_window(const st_value *lists, const st_value *dilation,
                             pool *p) {
  st_window *w = &p->w;
  const st_value *stride = lists[1].len ? &lists[1] : &lists[0];
  const int64_t one = 1;
  const st_value dense = st__of_ints(&one, 1);
  ST_TRY(st__read_sizes(&lists[0], "kernel_size", w->n, 1, w->kernel));
  ST_TRY(st__read_sizes(stride, "stride", w->n, 1, w->stride));
  ST_TRY(st__read_sizes(&lists[2], "padding", w->n, 0, w->padding));
  ST_TRY(st__read_sizes(dilation ? dilation : &dense, "dilation", w->n, 1,
                        w->dilation));
  for (int d = 0; d < w->n; d++) {
    if (w->padding[d] > w->kernel[d] / 2) {
      return st__fail(ST_BAD_VALUE, "padding must be at most half of "
                      "kernel_size, it is %lld of %lld",
                      (long long)w->padding[d], (long long)w->kernel[d]);
    }
  }
  ST_TRY(p->ceil_mode ? count_ceil(w) : st__window_count(w));
  p->taps = st__product_of(w->n, w->kernel);
  p->places = st__product_of(w->n, w->out);
  return ST_OK;
}

/* Shares of equal size are windows that slide. */
static st_status read_shares(const st_value *args, int n, pool *p) {
  st_window *w = &p->w;
  bool even = true;
  ST_TRY(read_images(args[0].u.tensor, n, p));
  ST_TRY(st__read_sizes(&args[1], "output_size", n, 0, w->out));
  for (int d = 0; d < n; d++) {
    w->dilation[d] = 1;
    w->kernel[d] = w->padding[d] = 0;
    for (int64_t o = 0; o < w->out[d]; o++) {
      const int64_t size = share_end(w, d, o) - o * w->in[d] / w->out[d];
      if (size > w->kernel[d]) w->kernel[d] = size;
    }
    if (w->kernel[d] == 0) w->kernel[d] = 1;
    w->stride[d] = w->kernel[d];
    even = even && w->out[d] * w->kernel[d] == w->in[d];
  }
  p->adaptive = !even;
  p->taps = st__product_of(n, w->kernel);
  p->places = st__product_of(n, w->out);
  return ST_OK;
}

/* -- Columns -------------------------------------------------------------- */

/* self with so much around it that every window is inside. */
static st_tensor *padded(st_chain *c, const st_tensor *self, const pool *p,
                         st_value value) {
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
  const st_value args[] = {st__of_tensor(self), st__of_ints(pad, 2 * w->n),
                           value};
  return st__step(c, ST_OP_constant_pad_nd, 3, args);
}

/* All images, of one channel each. */
static int64_t image_count(const pool *p) {
  return st__product_of(p->self->ndim - p->w.n, p->self->sizes);
}

static st_tensor *as_images(st_chain *c, const st_tensor *t, const pool *p) {
  int64_t sizes[2 + ST_SPATIAL_MAX] = {image_count(p), 1};
  if (!st__going(c)) return NULL;
  st__image_sizes(t, p->w.n, sizes + 2);
  return st__step_reshape(c, t, 2 + p->w.n, sizes);
}

/* The places of share o in turn, its last one again where it is short. */
static st_tensor *share_positions(st_chain *c, const pool *p, int d) {
  const st_window *w = &p->w;
  int64_t *at;
  const st_tensor *table = st__step_table(c, ST_INT64,
                                          w->out[d] * w->kernel[d], &at);
  for (int64_t o = 0; at && o < w->out[d]; o++) {
    for (int64_t k = 0; k < w->kernel[d]; k++) {
      const int64_t i = start_of(p, d, o) + k, end = share_end(w, d, o);
      *at++ = i < end ? i : end - 1;
    }
  }
  return st__step_beside(c, table, ST_INT64, p->self);
}

/* Shares as columns: (images, taps, places). */
static st_tensor *share_columns(st_chain *c, const st_tensor *self,
                                const pool *p) {
  const int n = p->w.n;
  int64_t split[1 + 2 * ST_SPATIAL_MAX] = {image_count(p)};
  int64_t order[1 + 2 * ST_SPATIAL_MAX] = {0};
  st_tensor *t = as_images(c, self, p);
  for (int d = 0; d < n; d++) {
    t = st__step_select(c, t, 2 + d, share_positions(c, p, d));
    split[1 + 2 * d] = p->w.out[d];
    split[2 + 2 * d] = p->w.kernel[d];
    order[1 + d] = 2 + 2 * d;
    order[1 + n + d] = 1 + 2 * d;
  }
  t = st__step_reshape(c, t, 1 + 2 * n, split);
  t = st__step_with(c, ST_OP_permute, t, st__of_ints(order, 1 + 2 * n));
  const int64_t columns[] = {split[0], p->taps, p->places};
  return st__step_reshape(c, t, 3, columns);
}

/* Windows as columns: (images, taps, places). */
static st_tensor *pool_columns(st_chain *c, const st_tensor *self,
                               const pool *p, st_value padding) {
  st_window w = p->w;
  if (p->adaptive) return share_columns(c, self, p);
  for (int d = 0; d < w.n; d++) w.padding[d] = 0;
  return st__step_columns(c, as_images(c, padded(c, self, p, padding), p),
                          &w);
}

/* (images, places) as the result is. */
static st_tensor *as_result(st_chain *c, const st_tensor *t, const pool *p) {
  int64_t sizes[2 + ST_SPATIAL_MAX];
  const int lead = p->self->ndim - p->w.n;
  for (int d = 0; d < lead; d++) sizes[d] = p->self->sizes[d];
  for (int d = 0; d < p->w.n; d++) sizes[lead + d] = p->w.out[d];
  return st__step_reshape(c, t, p->self->ndim, sizes);
}

/* -- Places --------------------------------------------------------------- */

/* Number i of so many along each dimension, taken apart. */
static void apart(int64_t i, int n, const int64_t *sizes, int64_t *at) {
  for (int d = n - 1; d >= 0; d--) {
    at[d] = i % sizes[d];
    i /= sizes[d];
  }
}

static int64_t together(int n, const int64_t *sizes, const int64_t *at) {
  int64_t i = 0;
  for (int d = 0; d < n; d++) i = i * sizes[d] + at[d];
  return i;
}

/* How many places of the window at o are in the image, or, with the
 * padding, count. */
static int64_t window_size(const pool *p, const int64_t *o,
                           bool with_padding) {
  const st_window *w = &p->w;
  int64_t size = 1;
  for (int d = 0; d < w->n; d++) {
    int64_t start = start_of(p, d, o[d]), end, last = w->in[d];
    if (p->adaptive) {
      end = share_end(w, d, o[d]);
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

/* -- Means ---------------------------------------------------------------- */

typedef struct mean {
  pool p;
  bool with_padding;
  int64_t divisor; /* 0: the places of each window that count */
} mean;

/* 0 instead of what share_positions repeats. */
static st_tensor *without_repeats(st_chain *c, st_tensor *columns,
                                  const pool *p) {
  const st_window *w = &p->w;
  const int64_t sizes[] = {p->taps, p->places};
  int64_t k[ST_SPATIAL_MAX], o[ST_SPATIAL_MAX];
  bool *counts;
  const st_tensor *table = st__step_table(c, ST_BOOL, p->taps * p->places,
                                          &counts);
  for (int64_t i = 0; counts && i < p->taps * p->places; i++) {
    bool inside = true;
    apart(i / p->places, w->n, w->kernel, k);
    apart(i % p->places, w->n, w->out, o);
    for (int d = 0; d < w->n; d++) {
      inside = inside && start_of(p, d, o[d]) + k[d] < share_end(w, d, o[d]);
    }
    counts[i] = inside;
  }
  table = st__step_beside(c, table, ST_BOOL, p->self);
  const st_value where[] = {
    st__of_tensor(st__step_reshape(c, table, 2, sizes)),
    st__of_tensor(columns), st__of_int(0)};
  return st__step(c, ST_OP_where_ScalarOther, 3, where);
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

/* sum / by, of integers without the fraction. */
static st_tensor *divided_by(st_chain *c, const st_tensor *sum, st_value by) {
  static const char cut[] = "trunc";
  if (!st__going(c)) return NULL;
  const bool whole = st__is_integral((st_dtype)sum->dtype);
  const bool same = by.tag == ST_TAG_INT;
  const st_value args[] = {
    st__of_tensor(sum), by,
    {.tag = ST_TAG_STRING, .len = sizeof cut - 1, .u.string = cut}};
  const st_op_id id = whole ? same ? ST_OP_div_Scalar_mode
                                   : ST_OP_div_Tensor_mode
                            : same ? ST_OP_div_Scalar : ST_OP_div_Tensor;
  return st__step(c, id, whole ? 3 : 2, args);
}

static st_tensor *divided(st_chain *c, const st_tensor *sum, const mean *m) {
  const pool *p = &m->p;
  int64_t *size, o[ST_SPATIAL_MAX];
  const int64_t same = m->divisor ? m->divisor : is_even(m) ? p->taps : 0;
  if (same || !st__going(c)) return divided_by(c, sum, st__of_int(same));
  const st_tensor *table = st__step_table(c, ST_INT64, p->places, &size);
  for (int64_t i = 0; size && i < p->places; i++) {
    apart(i, p->w.n, p->w.out, o);
    size[i] = window_size(p, o, m->with_padding);
  }
  table = st__step_beside(c, table, (st_dtype)sum->dtype, p->self);
  return divided_by(c, sum, st__of_tensor(table));
}

/* t in a dtype that has room for sums. */
static st_tensor *wide(st_chain *c, st_tensor *t) {
  if (!st__going(c)) return NULL;
  const st_dtype dtype = (st_dtype)t->dtype;
  if (st__is_integral(dtype)) return st__step_to(c, t, ST_INT64);
  return st__is_reduced_float(dtype) ? st__step_to(c, t, ST_FLOAT32) : t;
}

/* The sum of each window or share: (images, places). */
static st_tensor *window_sums(st_chain *c, const st_tensor *self,
                              const pool *p) {
  const int64_t sizes[] = {image_count(p), p->places}, taps[] = {1};
  st_window w = p->w;
  if (p->adaptive) {
    st_tensor *t = without_repeats(c, share_columns(c, self, p), p);
    return st__step_with(c, ST_OP_sum_dim_IntList, t, st__of_ints(taps, 1));
  }
  for (int d = 0; d < w.n; d++) w.padding[d] = 0;
  const st_tensor *images = as_images(c, padded(c, self, p, st__of_int(0)),
                                      p);
  return st__step_reshape(c, st__step_sums(c, images, &w), 2, sizes);
}

static st_status run_mean(st_chain *c, const mean *m, st_value *rets) {
  const pool *p = &m->p;
  const st_dtype dtype = (st_dtype)p->self->dtype;
  if (st__going(c) && (st__is_complex(dtype) || dtype == ST_BOOL)) {
    c->status = st__no_kernel_for(dtype);
  }
  if (!st__going(c)) return st__chain_end(c, 0, NULL, NULL);
  const st_tensor *self = st__step_attached(c, p->self, p->self);
  const st_tensor *sum = divided(c, window_sums(c, wide(c, self), p), m);
  return st__chain_return(
    c, as_result(c, st__step_to(c, sum, dtype), p), rets);
}

/* self, kernel_size, stride, padding, ceil_mode, count_include_pad, and,
 * but for one dimension, divisor_override */
static st_status avg_pool(const st_value *args, int n, st_value *rets) {
  mean m = {.p.ceil_mode = args[4].u.i, .with_padding = args[5].u.i};
  st_chain c = {.status = read_images(args[0].u.tensor, n, &m.p)};
  if (st__going(&c)) c.status = read_window(args + 1, NULL, &m.p);
  if (st__going(&c) && n > 1 && !st__is_none(&args[6])) {
    m.divisor = args[6].u.i;
    if (m.divisor == 0) {
      c.status = st__fail(ST_BAD_VALUE, "divisor_override must not be 0");
    }
  }
  return run_mean(&c, &m, rets);
}

static st_status adaptive_avg_pool(const st_value *args, int n,
                                   st_value *rets) {
  mean m = {.divisor = 0};
  st_chain c = {.status = read_shares(args, n, &m.p)};
  return run_mean(&c, &m, rets);
}

ST_BOXED(st__box_avg_pool1d) { return avg_pool(args, 1, rets); }
ST_BOXED(st__box_avg_pool2d) { return avg_pool(args, 2, rets); }
ST_BOXED(st__box_avg_pool3d) { return avg_pool(args, 3, rets); }
ST_BOXED(st__box_adaptive_avg_pool1d) {
  return adaptive_avg_pool(args, 1, rets);
}
ST_BOXED(st__box_adaptive_avg_pool2d) {
  return adaptive_avg_pool(args, 2, rets);
}
ST_BOXED(st__box_adaptive_avg_pool3d) {
  return adaptive_avg_pool(args, 3, rets);
}

/* -- Greatest places ------------------------------------------------------ */

/* The least number of dtype. */
static st_value least(st_dtype dtype) {
  switch (dtype) {
    case ST_BOOL: case ST_UINT8: return st__of_int(0);
    case ST_INT8: return st__of_int(INT8_MIN);
    case ST_INT16: return st__of_int(INT16_MIN);
    case ST_INT32: return st__of_int(INT32_MIN);
    case ST_INT64: return st__of_int(INT64_MIN);
    default: return st__of_float(-HUGE_VAL);
  }
}

/* Where in the image, as a line, the tap of a window is that starts at its
 * first place. */
static st_tensor *tap_offsets(st_chain *c, const pool *p) {
  const st_window *w = &p->w;
  int64_t *at, k[ST_SPATIAL_MAX];
  const st_tensor *table = st__step_table(c, ST_INT64, p->taps, &at);
  for (int64_t i = 0; at && i < p->taps; i++) {
    apart(i, w->n, w->kernel, k);
    for (int d = 0; d < w->n; d++) k[d] *= w->dilation[d];
    at[i] = together(w->n, w->in, k);
  }
  return st__step_beside(c, table, ST_INT64, p->self);
}

/* Where each window starts, in front of the image maybe. */
static st_tensor *window_starts(st_chain *c, const pool *p) {
  const st_window *w = &p->w;
  int64_t *at, o[ST_SPATIAL_MAX];
  const st_tensor *table = st__step_table(c, ST_INT64, p->places, &at);
  for (int64_t i = 0; at && i < p->places; i++) {
    apart(i, w->n, w->out, o);
    for (int d = 0; d < w->n; d++) o[d] = start_of(p, d, o[d]);
    at[i] = together(w->n, w->in, o);
  }
  return st__step_beside(c, table, ST_INT64, p->self);
}

/* The first tap of each window that is in the image: where nothing is
 * greater than the padding, that one is the first of the greatest. */
static st_tensor *first_taps(st_chain *c, const pool *p) {
  const st_window *w = &p->w;
  int64_t *at, o[ST_SPATIAL_MAX];
  const st_tensor *table = st__step_table(c, ST_INT64, p->places, &at);
  for (int64_t i = 0; at && i < p->places; i++) {
    apart(i, w->n, w->out, o);
    for (int d = 0; d < w->n; d++) {
      const int64_t start = start_of(p, d, o[d]), step = w->dilation[d];
      o[d] = start < 0 ? (step - 1 - start) / step : 0;
    }
    at[i] = together(w->n, w->kernel, o);
  }
  return st__step_beside(c, table, ST_INT64, p->self);
}

/* Where in the image the greatest place of each window is: the first one, or
 * the first NaN. */
static st_tensor *find_greatest(st_chain *c, const pool *p) {
  const st_tensor *plain = st__step1(c, ST_OP_detach, p->self);
  const st_value max[] = {
    st__of_tensor(pool_columns(c, plain, p, least((st_dtype)p->self->dtype))),
    st__of_int(1)};
  st_tensor *best[2];
  st__steps(c, ST_OP_max_dim, 2, max, 2, best);
  const st_tensor *tap = best[1];
  if (!p->adaptive && st__is_padded(&p->w)) {
    tap = st__step2(c, ST_OP_maximum, tap, first_taps(c, p));
  }
  return st__step2(c, ST_OP_add_Tensor,
                   st__step2(c, ST_OP_take, tap_offsets(c, p), tap),
                   window_starts(c, p));
}

/* The elements there, which carry the gradient, and the positions. */
static st_status run_max(st_chain *c, const pool *p, int64_t base, int nrets,
                         st_value *rets) {
  if (st__going(c) && st__is_complex((st_dtype)p->self->dtype)) {
    c->status = st__no_kernel_for((st_dtype)p->self->dtype);
  }
  if (!st__going(c)) return st__chain_end(c, 0, NULL, NULL);
  const int64_t flat[] = {image_count(p), st__product_of(p->w.n, p->w.in)};
  const st_tensor *at = find_greatest(c, p);
  const st_tensor *self = st__step_attached(c, p->self, p->self);
  const st_value gather[] = {
    st__of_tensor(st__step_reshape(c, self, 2, flat)), st__of_int(1),
    st__of_tensor(at)};
  st_tensor *results[2] = {
    as_result(c, st__step(c, ST_OP_gather, 3, gather), p), NULL};
  if (nrets == 2) {
    if (base) at = st__step_with(c, ST_OP_add_Scalar, at, st__of_int(base));
    results[1] = as_result(c, at, p);
  }
  return st__chain_end(c, nrets, results, rets);
}

/* self, kernel_size, stride, padding, dilation, ceil_mode, and, with
 * positions as a second result, base */
static st_status max_pool(const st_value *args, int n, int nrets,
                          st_value *rets) {
  pool p = {.ceil_mode = args[5].u.i};
  st_chain c = {.status = read_images(args[0].u.tensor, n, &p)};
  if (st__going(&c)) c.status = read_window(args + 1, &args[4], &p);
  return run_max(&c, &p, nrets == 2 ? args[6].u.i : 0, nrets, rets);
}

/* self, output_size, base */
static st_status adaptive_max_pool(const st_value *args, int n,
                                   st_value *rets) {
  pool p = {.self = NULL};
  st_chain c = {.status = read_shares(args, n, &p)};
  return run_max(&c, &p, args[2].u.i, 2, rets);
}

ST_BOXED(st__box_max_pool1d) { return max_pool(args, 1, 1, rets); }
ST_BOXED(st__box_max_pool2d) { return max_pool(args, 2, 1, rets); }
ST_BOXED(st__box_max_pool3d) { return max_pool(args, 3, 1, rets); }
ST_BOXED(st__box_max_pool1d_with_indices) { return max_pool(args, 1, 2, rets); }
ST_BOXED(st__box_max_pool2d_with_indices) { return max_pool(args, 2, 2, rets); }
ST_BOXED(st__box_max_pool3d_with_indices) { return max_pool(args, 3, 2, rets); }
ST_BOXED(st__box_adaptive_max_pool1d) {
  return adaptive_max_pool(args, 1, rets);
}
ST_BOXED(st__box_adaptive_max_pool2d) {
  return adaptive_max_pool(args, 2, rets);
}
ST_BOXED(st__box_adaptive_max_pool3d) {
  return adaptive_max_pool(args, 3, rets);
}

/* -- Back to where they were ---------------------------------------------- */

/* self, indices, output_size, .., base at the end */
static st_status max_unpool(const st_value *args, int n, const st_value *base,
                            st_value *rets) {
  const st_tensor *self = args[0].u.tensor, *indices = args[1].u.tensor;
  pool p = {.self = self, .w.n = n};
  ST_TRY(st__check_images(self, "self", n));
  ST_TRY(st__read_sizes(&args[2], "output_size", n, 0, p.w.out));
  if (indices->dtype != ST_INT64 || !st__same_sizes(self, indices)) {
    return st__fail(ST_BAD_SHAPE, "indices must be int64 of self's shape %s, "
                    "not %s of shape %s", ST_SHAPE_TEXT(self),
                    st__dtype_name((st_dtype)indices->dtype),
                    ST_SHAPE_TEXT(indices));
  }
  const int64_t images = image_count(&p);
  int64_t in[ST_SPATIAL_MAX];
  st__image_sizes(self, n, in);
  const int64_t from[] = {images, st__product_of(n, in)};
  int64_t to[] = {images, 1};
  for (int d = 0; d < n; d++) {
    if (__builtin_mul_overflow(to[1], p.w.out[d], &to[1])) {
      return st__fail(ST_BAD_SHAPE, "output_size is too large");
    }
  }
  st_chain c = {.n = 0};
  const st_value scatter[] = {
    st__of_tensor(st__step_with(&c, ST_OP_new_zeros, self,
                                st__of_ints(to, 2))), st__of_int(1),
    st__of_tensor(st__step_reshape(&c, indices, 2, from)),
    st__of_tensor(st__step_reshape(&c, self, 2, from)), *base};
  const st_tensor *image = st__step(&c, ST_OP_scatter_src, 5, scatter);
  image = as_result(&c, image, &p);
  return st__chain_return(&c, st__step_format(&c, image, self), rets);
}

ST_BOXED(st__box_max_unpool2d) { return max_unpool(args, 2, &args[3], rets); }

/* The stride and the padding of the pooling play no role. */
ST_BOXED(st__box_max_unpool3d) { return max_unpool(args, 3, &args[5], rets); }
