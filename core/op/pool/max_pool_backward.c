/* The gradient of max pooling, and its own.
 */

#include <inttypes.h>

#include "base/threads.h"
#include "kernel/kernel.h"
#include "kernel/pool/pool.h"
#include "op/pool/pool.h"

/* The arguments: a tensor like the result of pooling, the image and the indices
 * of the maxima. */
typedef struct pool_back {
  st_tensor *grad, *self, *indices;
  int n; /* spatial dimensions */
  int64_t base, images, pixels, windows;
} pool_back;

static st_status read_back(const st_value *args, pool_back *b) {
  ST_ARGS_TO(*b, TENSOR(grad), TENSOR(self), TENSOR(indices));
  ST_ARGS(INTS(size));
  b->base = st__next_int(&args);
  int64_t in[ST_SPATIAL_MAX];
  b->n = (int)size.n;
  if (b->n < 1 || b->n > ST_SPATIAL_MAX) {
    return st__fail(ST_BAD_VALUE, "size must have 1 to 3 entries, it has %d",
                    b->n);
  }
  ST_TRY(st__check_images(b->self, "self", b->n));
  if (b->grad->device != b->self->device ||
      b->indices->device != b->self->device) {
    return st__fail(ST_BAD_VALUE, "the tensors are on different devices");
  }
  const int lead = b->self->ndim - b->n;
  if (b->indices->dtype != ST_INT64 || b->indices->ndim != b->self->ndim ||
      !st__same_dims(lead, b->indices->sizes, b->self->sizes)) {
    return st__fail(ST_BAD_SHAPE, "indices must be int64, of a pooled image of "
                    "shape %s, not %s of shape %s", ST_SHAPE_TEXT(b->self),
                    st__dtype_name(b->indices->dtype),
                    ST_SHAPE_TEXT(b->indices));
  }
  st__image_sizes(b->self, b->n, in);
  b->images = st__product_of(lead, b->self->sizes);
  b->pixels = st__product_of(b->n, in);
  b->windows = b->images ? b->indices->numel / b->images : 0;
  return ST_OK;
}

/* t as a matrix, a row per image. */
static st_tensor *as_rows(st_op_scope *c, const pool_back *b,
                          const st_tensor *t, int64_t length) {
  return st__apply_reshape(c, t, 2, (int64_t[]){b->images, length});
}

/* t in the shape and format of like. */
static st_tensor *shaped_like(st_op_scope *c, const st_tensor *t,
                              const st_tensor *like) {
  t = st__apply_reshape(c, t, like->ndim, like->sizes);
  return st__apply_format(c, t, like);
}

/* -- By a kernel ---------------------------------------------------------- */

typedef struct back_run {
  st_loop loop;
  char *data[3];
  int64_t strides[6], windows;
  st_max_pool_back ctx;
} back_run;

static void back_some(void *ctx, int64_t begin, int64_t end) {
  const back_run *r = ctx;
  char *data[3];
  for (int i = 0; i < 3; i++) data[i] = r->data[i] + begin * r->strides[3 + i];
  r->loop(data, r->strides, r->windows, end - begin, &r->ctx);
}

/* The format in which the kernel reads all tensors; PRESERVE if there is
 * none. */
static st_format common_format(const pool_back *b) {
  const st_format formats[] = {
    ST_FORMAT_CONTIGUOUS, b->self->ndim != b->n + 2 ? ST_FORMAT_CONTIGUOUS :
    b->n == 2 ? ST_FORMAT_CHANNELS_LAST :
    b->n == 3 ? ST_FORMAT_CHANNELS_LAST_3D : ST_FORMAT_CONTIGUOUS};
  for (int i = 0; i < 2; i++) {
    const st_format f = formats[i];
    if (st__is_plain(b->grad) && st__is_plain(b->indices) &&
        st__is_contiguous_in(b->grad, f) &&
        st__is_contiguous_in(b->indices, f) &&
        st__is_contiguous_in(b->self, f)) {
      return f;
    }
  }
  return ST_FORMAT_PRESERVE;
}

static st_tensor *back_by_kernel(st_op_scope *c, const pool_back *b,
                                 st_format format) {
  const int64_t size = (int64_t)st__itemsize(b->self->dtype);
  const int64_t channels =
    format == ST_FORMAT_CONTIGUOUS ? 1 : b->self->sizes[1];
  const int64_t in = b->pixels * channels, out = b->windows * channels;
  _Atomic bool bad = false;
  const st_tensor *t = ST_APPLY(c, ST_OP_new_zeros, b->self,
                                st__of_ints(&(int64_t){b->self->numel}, 1));
  if (!st__scope_ok(c)) return NULL;
  back_run r = {
    .data = {st__data(t), st__data(b->grad), st__data(b->indices)},
    .strides = {size, size, sizeof(int64_t), in * size, out * size,
                out * (int64_t)sizeof(int64_t)},
    .windows = b->windows,
    .ctx = {channels, b->pixels, b->base, &bad}};
  c->status = st__find_kernel(ST_K_max_pool_back, b->self->dtype, &r.loop);
  if (!st__scope_ok(c)) return NULL;
  c->status = st__parallel_try(
    0, b->images / channels,
    st__kernel_grain(ST_K_max_pool_back) / (in + out) + 1, back_some, &r);
  if (st__scope_ok(c) && bad) {
    c->status = st__fail(ST_BAD_INDEX, "indices must be from %" PRId64 " to %"
                         PRId64 ", positions in an image", b->base,
                         b->base + b->pixels - 1);
  }
  int64_t strides[ST_MAX_DIMS];
  if (st__scope_ok(c)) {
    c->status = st__format_strides(b->self->ndim, b->self->sizes, format,
                                   strides);
  }
  return ST_APPLY(c, ST_OP_as_strided, t,
                  st__of_ints(b->self->sizes, b->self->ndim),
                  st__of_ints(strides, b->self->ndim));
}

/* -- Operators ------------------------------------------------------------ */

ST_BOXED(st__box_max_pool_back) {
  pool_back b;
  ST_TRY(read_back(args, &b));
  if (!st__same_sizes(b.grad, b.indices) || b.grad->dtype != b.self->dtype) {
    return st__fail(ST_BAD_SHAPE, "grad_output is %s of shape %s, indices "
                    "have shape %s and self is %s",
                    st__dtype_name(b.grad->dtype), ST_SHAPE_TEXT(b.grad),
                    ST_SHAPE_TEXT(b.indices),
                    st__dtype_name(b.self->dtype));
  }
  st_op_scope c = {.n = 0};
  const st_format format = common_format(&b);
  st_loop loop = st__kernel(ST_K_max_pool_back, b.self->dtype);
  if (loop && format != ST_FORMAT_PRESERVE && b.grad->numel > 0) {
    return st__scope_return(&c, back_by_kernel(&c, &b, format), rets);
  }
  const st_tensor *image =
    ST_APPLY(&c, ST_OP_scatter_add,
             ST_APPLY(&c, ST_OP_new_zeros, b.grad, ST_INTS(b.images, b.pixels)),
             1, as_rows(&c, &b, b.indices, b.windows),
             as_rows(&c, &b, b.grad, b.windows), b.base);
  return st__scope_return(&c, shaped_like(&c, image, b.self), rets);
}

ST_BOXED(st__box_max_pool_take) {
  pool_back b;
  ST_TRY(read_back(args, &b));
  if (!st__same_sizes(b.grad, b.self)) {
    return st__fail(ST_BAD_SHAPE, "values have shape %s, self has %s",
                    ST_SHAPE_TEXT(b.grad), ST_SHAPE_TEXT(b.self));
  }
  st_op_scope c = {.n = 0};
  const st_tensor *taken =
    ST_APPLY(&c, ST_OP_gather, as_rows(&c, &b, b.grad, b.pixels), 1,
             as_rows(&c, &b, b.indices, b.windows), st__of_bool(false), b.base);
  return st__scope_return(&c, shaped_like(&c, taken, b.indices), rets);
}
