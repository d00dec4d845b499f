/* Max pooling over windows and adaptive bins, and max_unpool.
 */

#include <math.h>

#include "op/nn/pool.h"

/* -- Indices in the image ------------------------------------------------- */

static int64_t ravel_index(int n, const int64_t *sizes, const int64_t *at) {
  int64_t i = 0;
  for (int d = 0; d < n; d++) i = i * sizes[d] + at[d];
  return i;
}

/* The offset of each window element from the first one, in the flattened
 * image. */
static st_tensor *elem_offsets(st_op_scope *c, const st_pool *p) {
  const st_window *w = &p->w;
  int64_t *at, k[ST_SPATIAL_MAX];
  const st_tensor *table = st__new_cpu_vector(c, ST_INT64, p->kernel_numel,
                                              &at);
  for (int64_t i = 0; st__scope_goes_on_at(c, i) && i < p->kernel_numel; i++) {
    st__unravel_index(i, w->n, w->kernel, k);
    for (int d = 0; d < w->n; d++) k[d] *= w->dilation[d];
    at[i] = ravel_index(w->n, w->in, k);
  }
  return st__to_device_of(c, table, ST_INT64, p->self);
}

/* The index at which each window starts in the flattened image; it can lie
 * before the image. */
static st_tensor *window_starts(st_op_scope *c, const st_pool *p) {
  const st_window *w = &p->w;
  int64_t *at, o[ST_SPATIAL_MAX];
  const st_tensor *table = st__new_cpu_vector(c, ST_INT64, p->nwindows, &at);
  for (int64_t i = 0; st__scope_goes_on_at(c, i) && i < p->nwindows; i++) {
    st__unravel_index(i, w->n, w->out, o);
    for (int d = 0; d < w->n; d++) o[d] = st__pool_start(p, d, o[d]);
    at[i] = ravel_index(w->n, w->in, o);
  }
  return st__to_device_of(c, table, ST_INT64, p->self);
}

/* The first element of each window that is inside the image. If no element
 * exceeds the padding, it is the first maximum. */
static st_tensor *first_elems(st_op_scope *c, const st_pool *p) {
  const st_window *w = &p->w;
  int64_t *at, o[ST_SPATIAL_MAX];
  const st_tensor *table = st__new_cpu_vector(c, ST_INT64, p->nwindows, &at);
  for (int64_t i = 0; st__scope_goes_on_at(c, i) && i < p->nwindows; i++) {
    st__unravel_index(i, w->n, w->out, o);
    for (int d = 0; d < w->n; d++) {
      const int64_t start = st__pool_start(p, d, o[d]), step = w->dilation[d];
      o[d] = start < 0 ? (step - 1 - start) / step : 0;
    }
    at[i] = ravel_index(w->n, w->kernel, o);
  }
  return st__to_device_of(c, table, ST_INT64, p->self);
}

/* Indices in the flattened image for window elements (images, windows). */
static st_tensor *elem_indices(st_op_scope *c, const st_pool *p,
                               const st_tensor *elem) {
  elem = st__apply_to(c, elem, ST_INT64);
  if (!p->adaptive && st__is_padded(&p->w)) {
    elem = st__apply2(c, ST_OP_maximum, elem, first_elems(c, p));
  }
  return st__apply2(c, ST_OP_add_Tensor,
                    st__apply2(c, ST_OP_take, elem_offsets(c, p), elem),
                    window_starts(c, p));
}

/* -- Search of some images ------------------------------------------------ */

/* Some images with the maximum of each window so far and, if wanted, the index
 * of the element that has it first. */
typedef struct search {
  const st_tensor *image;   /* (images, 1, size..), padded */
  const st_window *w;
  bool wants_elem;
  st_tensor *best, *elem;
} search;

/* Replaces the results in scope c by best and elem from scope round, and ends
 * round. */
static void replace_results(st_op_scope *c, st_op_scope *round, st_tensor *best,
                            st_tensor *elem, search *s) {
  st_tensor *const kept[] = {best, elem};
  st_op_scope next = {.status = round->status};
  for (int i = 0; st__scope_ok(&next) && i < 2; i++) {
    if (!kept[i]) continue;
    st__tensor_retain(kept[i]);
    next.t[next.n++] = kept[i];
  }
  st__scope_end(round, 0, NULL, NULL);
  st__scope_end(c, 0, NULL, NULL);
  *c = next;
  s->best = best;
  s->elem = elem;
}

static void init_search(st_op_scope *c, search *s, int64_t kernel_numel) {
  st_op_scope round = {.status = c->status};
  st_tensor *best = st__window_element(&round, s->image, s->w, 0), *elem = NULL;
  if (s->wants_elem && st__scope_ok(&round)) {
    const st_value zeros[] = {
      st__of_tensor(best), st__of_ints(best->sizes, best->ndim),
      st__of_int(kernel_numel <= UINT8_MAX ? ST_UINT8 : ST_INT64)};
    elem = st__apply(&round, ST_OP_new_zeros, 3, zeros);
  }
  replace_results(c, &round, best, elem, s);
}

/* elem where mask is true, else the element so far. */
static st_tensor *choose_elem(st_op_scope *c, const st_tensor *mask,
                              int64_t elem, const search *s) {
  const st_value where[] = {st__of_tensor(mask), st__of_int(elem),
                            st__of_tensor(s->elem)};
  return st__apply(c, ST_OP_where_ScalarSelf, 3, where);
}

static void try_elem(st_op_scope *c, search *s, int64_t k) {
  st_op_scope round = {.status = c->status};
  st_tensor *elem = NULL;
  const st_tensor *x = st__window_element(&round, s->image, s->w, k);
  if (s->wants_elem) {
    elem = choose_elem(&round, st__apply2(&round, ST_OP_lt_Tensor, s->best, x),
                       k, s);
  }
  replace_results(c, &round, st__apply2(&round, ST_OP_maximum, s->best, x),
                  elem, s);
}

/* The first NaN is the maximum; comparisons skip NaN. */
static void try_nan(st_op_scope *c, search *s, int64_t k) {
  st_op_scope round = {.status = c->status};
  const st_tensor *x = st__window_element(&round, s->image, s->w, k);
  const st_tensor *is_nan = st__apply1(&round, ST_OP_isnan, x);
  replace_results(c, &round, s->best, choose_elem(&round, is_nan, k, s), s);
}

/* True if a maximum is NaN. Elements of meta tensors are unknown. */
static bool has_nan(st_op_scope *c, const search *s) {
  if (!st__scope_ok(c) || s->best->device != ST_DEVICE_CPU ||
      !st__is_floating(s->best->dtype)) {
    return false;
  }
  st_op_scope round = {.n = 0};
  const st_tensor *any = st__apply1(&round, ST_OP_any,
                                    st__apply1(&round, ST_OP_isnan, s->best));
  const bool has = st__scope_ok(&round) && *st__data(any);
  c->status = st__scope_end(&round, 0, NULL, NULL);
  return has;
}

static void run_search(st_op_scope *c, search *s) {
  const int64_t kernel_numel = st__product_of(s->w->n, s->w->kernel);
  init_search(c, s, kernel_numel);
  for (int64_t k = 1; st__scope_goes_on(c) && k < kernel_numel; k++) {
    try_elem(c, s, k);
  }
  if (!s->wants_elem || !has_nan(c, s)) return;
  for (int64_t k = kernel_numel - 1; st__scope_goes_on(c) && k >= 0; k--) {
    try_nan(c, s, k);
  }
}

/* -- Search of all images ------------------------------------------------- */

/* The maximum of each window and the index of its element: (images,
 * windows). */
typedef struct max_result { st_tensor *best, *elem; } max_result;

static st_tensor *new_results(st_op_scope *c, const st_tensor *image,
                              const st_pool *p, st_dtype dtype) {
  const int64_t sizes[] = {st__pool_images(p), 1, p->nwindows};
  const st_value args[] = {st__of_tensor(image), st__of_ints(sizes, 3),
                           st__of_int(dtype)};
  return st__apply(c, ST_OP_new_empty, 3, args);
}

static void write_slice(st_op_scope *c, const st_tensor *all,
                        const st_tensor *part, int64_t first, int64_t n) {
  if (!part) return;
  const int64_t sizes[] = {n, 1, all->sizes[2]};
  st__apply2(c, ST_OP_copy_, st__apply_narrow(c, all, 0, first, n),
             st__apply_reshape(c, part, 3, sizes));
}

/* A few images at a time, element by element of the windows. */
static void run_windows(st_op_scope *c, const st_pool *p,
                        const st_tensor *image,
                        bool wants_elem, max_result *out) {
  const st_dtype narrow = p->kernel_numel <= UINT8_MAX ? ST_UINT8 : ST_INT64;
  st_window w = p->w;
  for (int d = 0; d < w.n; d++) w.padding[d] = 0;
  out->best = new_results(c, image, p, p->self->dtype);
  out->elem = wants_elem ? new_results(c, image, p, narrow) : NULL;
  if (!st__scope_ok(c)) return;
  const int64_t each = st__images_at_once(image, p->nwindows);
  const int64_t all = image->sizes[0];
  for (int64_t i = 0; st__scope_goes_on(c) && i < all; i += each) {
    const int64_t n = each < all - i ? each : all - i;
    st_op_scope round = {.n = 0}, parts = {.n = 0};
    search s = {.w = &w, .wants_elem = wants_elem};
    s.image = st__apply_narrow(&round, image, 0, i, n);
    parts.status = round.status;
    run_search(&parts, &s);
    if (st__scope_ok(&round)) round.status = parts.status;
    if (st__scope_ok(&round)) {
      write_slice(&round, out->best, s.best, i, n);
      write_slice(&round, out->elem, s.elem, i, n);
    }
    st__scope_end(&parts, 0, NULL, NULL);
    c->status = st__scope_end(&round, 0, NULL, NULL);
  }
}

/* Bins of unequal size and large windows, as columns. */
static void search_columns(st_op_scope *c, const st_pool *p,
                           const st_tensor *image, max_result *out) {
  st_window w = p->w;
  st_tensor *best[2];
  for (int d = 0; d < w.n; d++) w.padding[d] = 0;
  const st_value max[] = {
    st__of_tensor(p->adaptive ? st__pool_bin_columns(c, image, p)
                              : st__apply_im2col(c, image, &w)),
    st__of_int(1)};
  st__apply_multi(c, ST_OP_max_dim, 2, max, 2, best);
  *out = (max_result){best[0], best[1]};
}

/* The smallest value of dtype. */
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

static void find_max(st_op_scope *c, const st_pool *p, bool wants_elem,
                     max_result *out) {
  const int64_t sizes[] = {st__pool_images(p), p->nwindows};
  const st_tensor *image = st__apply1(c, ST_OP_detach, p->self);
  if (!p->adaptive) {
    image = st__pool_padded(c, image, p, least(p->self->dtype));
    image = st__pool_lay_out(c, image, p);
  }
  if (p->adaptive || p->kernel_numel > ST_POOL_SMALL) {
    search_columns(c, p, image, out);
  }
  else run_windows(c, p, image, wants_elem, out);
  out->best = st__apply_reshape(c, out->best, 2, sizes);
  if (wants_elem) out->elem = st__apply_reshape(c, out->elem, 2, sizes);
}

/* -- max_pool ------------------------------------------------------------- */

/* Gathers the elements of self at indices (images, windows); they carry the
 * gradient. */
static st_tensor *gather_max(st_op_scope *c, const st_pool *p,
                             const st_tensor *at) {
  const int64_t flat[] = {st__pool_images(p),
                          st__product_of(p->w.n, p->w.in)};
  const st_tensor *self = st__apply_attached(c, p->self, p->self);
  const st_value gather[] = {
    st__of_tensor(st__apply_reshape(c, self, 2, flat)), st__of_int(1),
    st__of_tensor(at)};
  return st__apply(c, ST_OP_gather, 3, gather);
}

static st_status run_max(st_op_scope *c, const st_pool *p, int64_t base,
                         int nrets, st_value *rets) {
  st_tensor *results[2] = {NULL, NULL};
  max_result found = {NULL, NULL};
  if (st__scope_ok(c) && st__is_complex(p->self->dtype)) {
    c->status = st__no_kernel_for(p->self->dtype);
  }
  if (!st__scope_ok(c)) return st__scope_end(c, 0, NULL, NULL);
  const bool derives = st__is_recorded(p->self->keys);
  find_max(c, p, derives || nrets == 2, &found);
  const st_tensor *at = derives || nrets == 2 ? elem_indices(c, p, found.elem)
                                              : NULL;
  results[0] = st__pool_result(c, derives ? gather_max(c, p, at)
                                          : found.best, p);
  if (nrets == 2) {
    if (base) at = st__apply_with(c, ST_OP_add_Scalar, at, st__of_int(base));
    results[1] = st__pool_result(c, at, p);
  }
  return st__scope_end(c, nrets, results, rets);
}

/* With indices as a second result there is an argument base. */
static st_status max_pool(const st_value *args, int n, int nrets,
                          st_value *rets) {
  const st_tensor *self = st__next_tensor(&args);
  const st_ints kernel_size = st__next_ints(&args);
  const st_ints stride = st__next_ints(&args), padding = st__next_ints(&args);
  const st_ints dilation = st__next_ints(&args);
  st_pool p = {.ceil_mode = st__next_bool(&args)};
  const int64_t base = nrets == 2 ? st__next_int(&args) : 0;
  st_op_scope c = {.status = st__pool_read(self, n, &p)};
  if (st__scope_ok(&c)) {
    c.status = st__pool_window(kernel_size, stride, padding, dilation, &p);
  }
  return run_max(&c, &p, base, nrets, rets);
}

static st_status adaptive_max_pool(const st_value *args, int n,
                                   st_value *rets) {
  const st_tensor *self = st__next_tensor(&args);
  const st_ints output_size = st__next_ints(&args);
  const int64_t base = st__next_int(&args);
  st_pool p = {.self = NULL};
  st_op_scope c = {.status = st__pool_adaptive(self, output_size, n, &p)};
  return run_max(&c, &p, base, 2, rets);
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

/* -- max_unpool ----------------------------------------------------------- */

static st_status max_unpool(const st_value *args, int n, st_value *rets) {
  const st_tensor *self = st__next_tensor(&args);
  const st_tensor *indices = st__next_tensor(&args);
  const st_ints output_size = st__next_ints(&args);
  if (n == 3) args += 2; /* stride and padding are not used */
  const st_value base = *st__next(&args);
  st_pool p = {.self = self, .w.n = n};
  ST_TRY(st__check_images(self, "self", n));
  ST_TRY(st__read_sizes(output_size, "output_size", n, 0, p.w.out));
  if (indices->dtype != ST_INT64 || !st__same_sizes(self, indices)) {
    return st__fail(ST_BAD_SHAPE, "indices must be int64 of self's shape %s, "
                    "not %s of shape %s", ST_SHAPE_TEXT(self),
                    st__dtype_name(indices->dtype),
                    ST_SHAPE_TEXT(indices));
  }
  const int64_t images = st__pool_images(&p);
  int64_t in[ST_SPATIAL_MAX];
  st__image_sizes(self, n, in);
  const int64_t from[] = {images, st__product_of(n, in)};
  int64_t to[] = {images, 1};
  for (int d = 0; d < n; d++) {
    if (!st__mul_sizes(to[1], p.w.out[d], &to[1])) {
      return st__fail(ST_BAD_SHAPE, "output_size is too large");
    }
  }
  st_op_scope c = {.n = 0};
  const st_value scatter[] = {
    st__of_tensor(st__apply_with(&c, ST_OP_new_zeros, self,
                                 st__of_ints(to, 2))), st__of_int(1),
    st__of_tensor(st__apply_reshape(&c, indices, 2, from)),
    st__of_tensor(st__apply_reshape(&c, self, 2, from)), base};
  const st_tensor *image = st__apply(&c, ST_OP_scatter_src, 5, scatter);
  image = st__pool_result(&c, image, &p);
  return st__scope_return(&c, st__apply_format(&c, image, self), rets);
}

ST_BOXED(st__box_max_unpool2d) { return max_unpool(args, 2, rets); }
ST_BOXED(st__box_max_unpool3d) { return max_unpool(args, 3, rets); }
