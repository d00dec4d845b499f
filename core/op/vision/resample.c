/* The operators that run the kernels of kernel/vision/resample.c: a dimension
 * of an image resampled by tables of taps and weights, and the transpose of
 * that. Each is the other's derivative.
 */

#include "op/vision/resample.h"

#include <inttypes.h>

#include "base/threads.h"
#include "kernel/kernel.h"
#include "kernel/vision/resample.h"
#include "op/create/factory.h"

typedef struct resample_run {
  st_resample_ctx ctx;
  st_task task;
  char *data[2];
} resample_run;

static void run_units(void *ctx, int64_t begin, int64_t end) {
  const resample_run *r = ctx;
  char *data[] = {r->data[0], r->data[1]};
  st_resample_ctx units = r->ctx;
  units.begin = begin;
  units.end = end;
  r->task(data, &units);
}

/* -- Arguments ------------------------------------------------------------ */

static st_status check_tables(const st_tensor *self, const st_tensor *spans,
                              const st_tensor *weights) {
  if (spans->dtype != ST_INT64 || weights->dtype != self->dtype) {
    return st__fail(ST_BAD_DTYPE, "spans must be int64 and weights %s, not %s "
                    "and %s", st__dtype_name(self->dtype),
                    st__dtype_name(spans->dtype),
                    st__dtype_name(weights->dtype));
  }
  if (spans->ndim == 2 && weights->ndim == 2 && spans->sizes[1] == 2 &&
      spans->sizes[0] == weights->sizes[0]) {
    return ST_OK;
  }
  return st__fail(ST_BAD_SHAPE, "spans must be (out, 2) and weights (out, "
                  "taps), but their shapes are %s and %s",
                  ST_SHAPE_TEXT(spans), ST_SHAPE_TEXT(weights));
}

static st_status check_spans(const st_resample_ctx *c) {
  for (int64_t o = 0; o < c->out; o++) {
    const int64_t first = c->spans[2 * o], count = c->spans[2 * o + 1];
    if (first >= 0 && count >= 0 && count <= c->taps && first <= c->in &&
        count <= c->in - first) {
      continue;
    }
    return st__fail(ST_BAD_INDEX, "the %" PRId64 " taps from index %" PRId64
                    " on are not in a dimension of size %" PRId64 " with "
                    "weights for %" PRId64, count, first, c->in, c->taps);
  }
  return ST_OK;
}

/* The gradient of an image of those sizes, resampled along dim. */
static bool fits_image(const st_tensor *grad, const st_tensor *weights, int dim,
                       const st_ints *image) {
  if ((int)image->n != grad->ndim || image->p[dim] < 0) return false;
  for (int d = 0; d < grad->ndim; d++) {
    const int64_t want = d == dim ? weights->sizes[0] : image->p[d];
    if (grad->sizes[d] != want) return false;
  }
  return true;
}

/* -- Runs ----------------------------------------------------------------- */

/* Runs kernel id from `from` to `to`, which are contiguous. */
static st_status run_kernel(st_kernel_id id, const st_tensor *from,
                            st_tensor *to, int dim, resample_run *r) {
  st_resample_ctx *c = &r->ctx;
  const int64_t outer = st__product_of(dim, from->sizes);
  c->inner = st__product_of(from->ndim - dim - 1, from->sizes + dim + 1);
  if (to->numel == 0 || !st__is_cpu(to)) return ST_OK;
  ST_TRY(check_spans(c));
  if (from->numel == 0 || c->taps == 0) {
    return st__fill_new(to, st__scalar_float(0));
  }
  r->data[0] = st__data(to);
  r->data[1] = st__data(from);
  const int64_t block = c->inner < ST_RESAMPLE_BLOCK ? c->inner
                                                     : ST_RESAMPLE_BLOCK;
  const int64_t units = outer * ((c->inner + ST_RESAMPLE_BLOCK - 1) /
                                 ST_RESAMPLE_BLOCK);
  const int64_t size = c->in > c->out ? c->in : c->out;
  return st__parallel_try(0, units,
                          st__kernel_grain(id) / (size * block) + 1, run_units,
                          r);
}

/* self, dim, spans, weights, and the sizes of the image of a gradient */
static st_status resample(st_kernel_id id, const st_value *args, bool back,
                          st_value *rets) {
  ST_ARGS(TENSOR(self), INT(given_dim), TENSOR(spans), TENSOR(weights));
  const st_ints image = back ? st__next_ints(&args) : (st_ints){NULL, 0};
  const st_tensor *like = st__meta_or(spans, st__meta_or(weights, self));
  resample_run r = {.task = NULL};
  int64_t sizes[ST_MAX_DIMS];
  st_tensor *out = NULL;
  int dim;
  ST_TRY(st__check_cpu_or_meta(self));
  ST_TRY(st__find_task(id, self->dtype, &r.task));
  ST_TRY(st__wrap_dim(given_dim, self->ndim, &dim));
  ST_TRY(check_tables(self, spans, weights));
  if (self->ndim == 0) {
    return st__fail(ST_BAD_SHAPE, "self must have a dimension");
  }
  if (back && !fits_image(self, weights, dim, &image)) {
    return st__fail(ST_BAD_SHAPE, "a gradient of shape %s and weights of shape "
                    "%s do not fit an image with the %u sizes of self_sizes",
                    ST_SHAPE_TEXT(self), ST_SHAPE_TEXT(weights), image.n);
  }
  for (int d = 0; d < self->ndim; d++) sizes[d] = self->sizes[d];
  sizes[dim] = back ? image.p[dim] : weights->sizes[0];
  st_op_scope c = {.n = 0};
  const st_tensor *from = st__apply1(&c, ST_OP_contiguous, self);
  const st_tensor *w = st__apply1(&c, ST_OP_contiguous, weights);
  out = st__new_like(&c, like, self->dtype, self->ndim, sizes);
  const int64_t *where = st__scope_ok(&c) && st__is_cpu(out)
                       ? st__scope_snapshot(&c, spans) : NULL;
  if (st__scope_ok(&c)) {
    r.ctx = (st_resample_ctx){
      .in = back ? image.p[dim] : self->sizes[dim], .out = weights->sizes[0],
      .taps = weights->sizes[1], .spans = where, .weights = st__data(w)};
    c.status = run_kernel(id, from, out, dim, &r);
  }
  return st__scope_return(&c, out, rets);
}

/* -- Operators ------------------------------------------------------------ */

ST_BOXED_AS(st__box_resample, resample, ST_K_resample, args, false)
ST_BOXED_AS(st__box_resample_backward, resample, ST_K_resample_back, args, true)

st_tensor *st__new_like(st_op_scope *c, const st_tensor *like, st_dtype dtype,
                        int n, const int64_t *sizes) {
  if (!st__scope_ok(c)) return NULL;
  return ST_APPLY(c, ST_OP_new_empty, like, st__of_ints(sizes, n), dtype);
}

void st__check_resized(st_op_scope *c, const st_tensor *self, int n,
                       const int64_t *size) {
  int64_t sizes[ST_SPATIAL_MAX + 2] = {self->sizes[0], self->sizes[1]};
  st_tensor *room = NULL;
  if (!st__scope_ok(c)) return;
  for (int d = 0; d < n; d++) sizes[2 + d] = size[d];
  c->status = st__tensor_empty(self->device, self->dtype, n + 2, sizes,
                               ST_FORMAT_CONTIGUOUS, &room);
  st__tensor_release(&room);
}

st_tensor *st__apply_resample(st_op_scope *c, const st_tensor *t, int64_t dim,
                              const st_taps *taps) {
  if (!st__scope_ok(c)) return NULL;
  return ST_APPLY(c, ST_OP__resample, t, dim, taps->spans, taps->weights);
}
