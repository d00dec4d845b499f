/* im2col and col2im: the windows of an image as columns (Note [im2col]).
 */

#include <inttypes.h>

#include "os/machine.h"
#include "op/create/factory.h"
#include "op/nn/spatial.h"

/* -- Arguments ------------------------------------------------------------ */

/* Reads the arguments kernel_size, dilation, padding and stride. One number
 * alone means two dimensions. */
static st_status read_window(const st_value *args, st_window *w) {
  ST_ARGS(INTS(kernel_size), INTS(dilation), INTS(padding), INTS(stride));
  w->n = kernel_size.n == ST_SPATIAL_MAX ? ST_SPATIAL_MAX : 2;
  ST_TRY(st__read_sizes(kernel_size, "kernel_size", w->n, 1, w->kernel));
  ST_TRY(st__read_sizes(dilation, "dilation", w->n, 1, w->dilation));
  ST_TRY(st__read_sizes(padding, "padding", w->n, 0, w->padding));
  return st__read_sizes(stride, "stride", w->n, 1, w->stride);
}

static st_status check_batch(const st_tensor *t, int n) {
  if (t->ndim == n + 2) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "a batch of images must have %d dimensions, "
                  "but its shape is %s", n + 2, ST_SHAPE_TEXT(t));
}

/* -- im2col --------------------------------------------------------------- */

/* im2col and col2im are ST_DATA rows: kernels for CPU and Meta that have their
 * own derivatives, although their bodies call operators. */

/* The strides of a padded image between elements of a window and between
 * windows; 0 for a dimension of size 1. */
static void window_strides(const st_tensor *image, const st_window *w,
                           int64_t *inside, int64_t *between) {
  const int64_t *s = image->strides + image->ndim - w->n;
  for (int d = 0; d < w->n; d++) {
    inside[d] = w->kernel[d] > 1 ? s[d] * w->dilation[d] : 0;
    between[d] = w->out[d] > 1 ? s[d] * w->stride[d] : 0;
  }
}

/* The padded image as a view (.., channels, kernel.., out..). */
static st_tensor *window_view(st_op_scope *c, const st_tensor *image,
                              const st_window *w) {
  int64_t sizes[2 + 2 * ST_SPATIAL_MAX], strides[2 + 2 * ST_SPATIAL_MAX];
  if (!st__scope_ok(c)) return NULL;
  const int lead = image->ndim - w->n;
  for (int i = 0; i < lead; i++) {
    sizes[i] = image->sizes[i];
    strides[i] = image->strides[i];
  }
  window_strides(image, w, strides + lead, strides + lead + w->n);
  for (int d = 0; d < w->n; d++) {
    sizes[lead + d] = w->kernel[d];
    sizes[lead + w->n + d] = w->out[d];
  }
  const int n = lead + 2 * w->n;
  return ST_APPLY(c, ST_OP_as_strided, image, st__of_ints(sizes, n),
                  st__of_ints(strides, n));
}

static st_tensor *zero_padded(st_op_scope *c, const st_tensor *self,
                              const st_window *w) {
  int64_t pad[2 * ST_SPATIAL_MAX];
  for (int d = 0; d < w->n; d++) {
    pad[2 * d] = pad[2 * d + 1] = w->padding[w->n - 1 - d];
  }
  return ST_APPLY(c, ST_OP_constant_pad_nd, self, st__of_ints(pad, 2 * w->n));
}

ST_BOXED(st__box_im2col) {
  ST_ARGS(TENSOR(self));
  st_window w;
  ST_TRY(read_window(args, &w));
  ST_TRY(st__check_images(self, "self", w.n));
  st__image_sizes(self, w.n, w.in);
  ST_TRY(st__window_count(&w));
  st_op_scope c = {.n = 0};
  const st_tensor *image = st__is_padded(&w) ? zero_padded(&c, self, &w) : self;
  const st_tensor *columns =
    ST_APPLY(&c, ST_OP_clone, window_view(&c, image, &w), ST_FORMAT_CONTIGUOUS);
  int64_t sizes[] = {self->sizes[self->ndim - w.n - 1],
                     st__product_of(w.n, w.out)};
  if (st__scope_ok(&c)) sizes[0] *= st__product_of(w.n, w.kernel);
  return st__scope_return(
    &c, st__reshape_tail(&c, columns, 2 * w.n + 1, 2, sizes), rets);
}

/* -- col2im --------------------------------------------------------------- */

static st_status check_columns(const st_tensor *self, const st_window *w) {
  const int64_t kernel_numel = st__product_of(w->n, w->kernel);
  const int64_t nwindows = st__product_of(w->n, w->out);
  if (self->ndim != 2 && self->ndim != 3) {
    return st__fail(ST_BAD_SHAPE, "self must have 2 dimensions, or 3 with a "
                    "batch, but its shape is %s", ST_SHAPE_TEXT(self));
  }
  const int64_t *sizes = self->sizes + self->ndim - 2;
  if (sizes[0] % kernel_numel != 0 || sizes[1] != nwindows) {
    return st__fail(ST_BAD_SHAPE, "self must hold columns for %" PRId64 " "
                    "elements of a window and %" PRId64 " windows, but its "
                    "shape is %s", kernel_numel, nwindows, ST_SHAPE_TEXT(self));
  }
  return ST_OK;
}

/* Element elem of all windows, as a view of the padded image that carries no
 * gradient. */
static st_tensor *window_element(st_op_scope *c, const st_tensor *image,
                                 const st_window *w, int64_t elem) {
  int64_t sizes[2 + ST_SPATIAL_MAX], strides[2 + ST_SPATIAL_MAX];
  int64_t inside[ST_SPATIAL_MAX];
  if (!st__scope_ok(c)) return NULL;
  const int lead = image->ndim - w->n;
  int64_t offset = image->offset;
  for (int i = 0; i < lead; i++) {
    sizes[i] = image->sizes[i];
    strides[i] = image->strides[i];
  }
  window_strides(image, w, inside, strides + lead);
  for (int d = w->n - 1; d >= 0; d--) {
    sizes[lead + d] = w->out[d];
    offset += elem % w->kernel[d] * inside[d];
    elem /= w->kernel[d];
  }
  return ST_APPLY(c, ST_OP_as_strided, image, st__of_ints(sizes, image->ndim),
                  st__of_ints(strides, image->ndim), offset);
}

/* Adds columns (.., channels, elements, out..) to the image. */
static st_status add_elems(const st_tensor *image, const st_tensor *columns,
                           const st_window *w) {
  const int64_t kernel_numel = st__product_of(w->n, w->kernel);
  for (int64_t elem = 0; elem < kernel_numel; elem++) {
    st_op_scope c = {.n = 0};
    const st_tensor *from =
      ST_APPLY(&c, ST_OP_select_int, columns, columns->ndim - w->n - 1, elem);
    ST_APPLY_INTO(&c, ST_OP_add_Tensor, window_element(&c, image, w, elem),
                  from, 1);
    ST_TRY(st__scope_end(&c, 0, NULL, NULL));
  }
  return ST_OK;
}

static st_tensor *zero_image(st_op_scope *c, const st_tensor *self,
                             const st_window *w) {
  int64_t sizes[2 + ST_SPATIAL_MAX];
  int n = 0;
  if (self->ndim == 3) sizes[n++] = self->sizes[0];
  sizes[n++] = self->sizes[self->ndim - 2] / st__product_of(w->n, w->kernel);
  for (int d = 0; d < w->n; d++) sizes[n++] = w->in[d] + 2 * w->padding[d];
  return ST_APPLY(c, ST_OP_new_zeros, self, st__of_ints(sizes, n));
}

static st_tensor *without_padding(st_op_scope *c, st_tensor *image,
                                  const st_window *w) {
  for (int d = 0; st__scope_ok(c) && d < w->n; d++) {
    image = st__apply_narrow(c, image, d - w->n, w->padding[d], w->in[d]);
  }
  return st__apply1(c, ST_OP_contiguous, image);
}

ST_BOXED(st__box_col2im) {
  ST_ARGS(TENSOR(self), INTS(output_size));
  int64_t split[2 + ST_SPATIAL_MAX];
  st_window w;
  ST_TRY(read_window(args, &w));
  ST_TRY(st__read_sizes(output_size, "output_size", w.n, 1, w.in));
  ST_TRY(st__window_count(&w));
  ST_TRY(check_columns(self, &w));
  split[1] = st__product_of(w.n, w.kernel);
  split[0] = self->sizes[self->ndim - 2] / split[1];
  for (int d = 0; d < w.n; d++) split[2 + d] = w.out[d];
  st_op_scope c = {.n = 0};
  const st_tensor *columns = st__reshape_tail(&c, self, 2, w.n + 2, split);
  st_tensor *image = zero_image(&c, self, &w);
  if (st__scope_ok(&c)) c.status = add_elems(image, columns, &w);
  if (st__is_padded(&w)) image = without_padding(&c, image, &w);
  return st__scope_return(&c, image, rets);
}

/* The arguments of col2im, but self_sizes has all sizes of the image. */
ST_BOXED(st__box_im2col_backward) {
  ST_ARGS(VALUE(grad_output), INTS(self_sizes), VALUE(kernel_size),
          VALUE(dilation), VALUE(padding), VALUE(stride));
  const int ndim = (int)self_sizes.n;
  const int n = kernel_size.len == ST_SPATIAL_MAX ? ST_SPATIAL_MAX : 2;
  if (ndim < n) {
    return st__fail(ST_BAD_VALUE, "self_sizes must have %d entries or more, "
                    "it has %d", n, ndim);
  }
  return st__invoke(ST_OP_col2im,
                    ST_VALUES(grad_output,
                              st__of_ints(self_sizes.p + ndim - n, n),
                              kernel_size, dilation, padding, stride),
                    rets);
}

/* -- Sums of windows ------------------------------------------------------ */

/* How many of (images, channels, ..) to process at a time so that results of
 * `pixels` pixels each stay in the caches. */
static int64_t images_at_once(const st_tensor *images, int64_t pixels) {
  enum { CACHED = ST_FIXED_window_sums }; /* elements that fit the caches */
  const double numbers = (double)images->sizes[1] * (double)pixels;
  if (!st__has_elements(images)) return INT64_MAX;
  return numbers < CACHED ? (int64_t)(CACHED / (numbers > 0 ? numbers : 1)) : 1;
}

/* Writes the window sums of images [first, first + n) to out. */
static st_status sum_windows(const st_tensor *image, const st_tensor *out,
                             const st_window *w, int64_t first, int64_t n) {
  const int64_t kernel_numel = st__product_of(w->n, w->kernel);
  st_op_scope c = {.n = 0};
  const st_tensor *from = st__apply_narrow(&c, image, 0, first, n);
  const st_tensor *to = st__apply_narrow(&c, out, 0, first, n);
  st__apply2(&c, ST_OP_copy_, to, window_element(&c, from, w, 0));
  for (int64_t elem = 1; st__scope_goes_on(&c) && elem < kernel_numel; elem++) {
    st_op_scope round = {.n = 0};
    ST_APPLY_INTO(&round, ST_OP_add_Tensor, to,
                  window_element(&round, from, w, elem), 1);
    st__scope_keep(&c, &round, NULL);
  }
  return st__scope_end(&c, 0, NULL, NULL);
}

ST_BOXED(st__box_window_sum) {
  ST_ARGS(TENSOR(self));
  int64_t sizes[2 + ST_SPATIAL_MAX] = {0};
  st_window w;
  ST_TRY(read_window(args, &w));
  ST_TRY(check_batch(self, w.n));
  st__image_sizes(self, w.n, w.in);
  ST_TRY(st__window_count(&w));
  for (int d = 0; d < 2; d++) sizes[d] = self->sizes[d];
  for (int d = 0; d < w.n; d++) sizes[2 + d] = w.out[d];
  st_op_scope c = {.n = 0};
  const st_tensor *image = st__is_padded(&w) ? zero_padded(&c, self, &w)
                                             : self;
  st_tensor *out =
    ST_APPLY(&c, ST_OP_new_empty, self, st__of_ints(sizes, 2 + w.n));
  const int64_t images = images_at_once(
    self, st__product_of(w.n, w.out));
  for (int64_t i = 0; st__scope_goes_on(&c) && i < sizes[0]; i += images) {
    const int64_t left = sizes[0] - i;
    c.status = sum_windows(image, out, &w, i, images < left ? images : left);
  }
  return st__scope_return(&c, out, rets);
}

/* Each element of a window has the gradient of the window's sum. */
ST_BOXED(st__box_window_sum_backward) {
  ST_ARGS(TENSOR(grad), INTS(self_sizes));
  int64_t sizes[3];
  st_window w;
  ST_TRY(read_window(args, &w));
  ST_TRY(check_batch(grad, w.n));
  int64_t kernel_numel = 1;
  for (int d = 0; d < w.n; d++) {
    if (!st__mul_sizes(kernel_numel, w.kernel[d], &kernel_numel)) {
      return st__fail(ST_BAD_VALUE, "kernel_size is too large");
    }
  }
  st_op_scope c = {.n = 0};
  sizes[0] = grad->sizes[0] * grad->sizes[1];
  sizes[1] = 1;
  sizes[2] = st__product_of(w.n, grad->sizes + 2);
  const st_tensor *t = st__apply_reshape(&c, grad, 3, sizes);
  sizes[1] = kernel_numel;
  t = ST_APPLY(&c, ST_OP_expand, t, st__of_ints(sizes, 3));
  const int n = (int)self_sizes.n;
  ST_ARGS(VALUE(kernel_size), VALUE(dilation), VALUE(padding), VALUE(stride));
  t = ST_APPLY(&c, ST_OP_im2col_backward, t, st__of_ints(self_sizes.p, n),
               kernel_size, dilation, padding, stride);
  return st__scope_return(&c, st__apply_reshape(&c, t, n, self_sizes.p), rets);
}

/* -- Calls of operators --------------------------------------------------- */

/* Extends a window over one dimension to two. */
static st_window with_height(const st_window *w) {
  if (w->n > 1) return *w;
  return (st_window){
    .n = 2, .in = {1, w->in[0]}, .kernel = {1, w->kernel[0]},
    .stride = {1, w->stride[0]}, .padding = {0, w->padding[0]},
    .dilation = {1, w->dilation[0]}, .out = {1, w->out[0]}};
}

/* Calls op(x, kernel, dilation, padding, stride). */
static st_tensor *apply_windowed(st_op_scope *c, st_op_id op,
                                 const st_tensor *x, const st_window *w) {
  const st_window v = with_height(w);
  if (w->n == 1) x = ST_APPLY(c, ST_OP_unsqueeze, x, -2);
  return ST_APPLY(c, op, x, st__of_ints(v.kernel, v.n),
                  st__of_ints(v.dilation, v.n), st__of_ints(v.padding, v.n),
                  st__of_ints(v.stride, v.n));
}

st_tensor *st__apply_im2col(st_op_scope *c, const st_tensor *x,
                            const st_window *w) {
  return apply_windowed(c, ST_OP_im2col, x, w);
}

st_tensor *st__apply_col2im(st_op_scope *c, const st_tensor *columns,
                            const st_window *w) {
  const st_window v = with_height(w);
  st_tensor *image =
    ST_APPLY(c, ST_OP_col2im, columns, st__of_ints(v.in, v.n),
             st__of_ints(v.kernel, v.n), st__of_ints(v.dilation, v.n),
             st__of_ints(v.padding, v.n), st__of_ints(v.stride, v.n));
  if (w->n > 1) return image;
  return ST_APPLY(c, ST_OP_squeeze_dim, image, -2);
}

st_tensor *st__window_sums(st_op_scope *c, const st_tensor *x,
                           const st_window *w) {
  return apply_windowed(c, ST_OP__window_sum, x, w);
}

ST_BOXED(st__box_fold) { return st__invoke(ST_OP_col2im, 6, args, rets); }
