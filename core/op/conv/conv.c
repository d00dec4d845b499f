/* Convolutions: of floats by a kernel (Note [Direct convolution]), otherwise
 * matrix products of the weight and the columns of images (Note [im2col]).
 */

#include <inttypes.h>
#include <string.h>

#include "os/machine.h"
#include "op/conv/conv.h"

/* -- Arguments ------------------------------------------------------------ */

static st_status check_dtypes(const st_conv *v) {
  const st_tensor *others[] = {v->weight, v->bias};
  for (int i = 0; i < 2; i++) {
    if (others[i] && others[i]->dtype != v->input->dtype) {
      return st__fail(ST_BAD_DTYPE, "input is %s, but %s is %s",
                      st__dtype_name(v->input->dtype),
                      i == 0 ? "weight" : "bias",
                      st__dtype_name(others[i]->dtype));
    }
  }
  return v->input->dtype == ST_BOOL ? st__no_kernel_for(ST_BOOL) : ST_OK;
}

/* A weight is (out, in / groups, kernel..) or, transposed, (in, out / groups,
 * kernel..). */
static st_status check_channels(const st_conv *v) {
  const int64_t *s = v->weight->sizes;
  const int64_t expected = v->transposed ? s[0] : s[1] * v->groups;
  if (v->in != expected) {
    return st__fail(ST_BAD_SHAPE, "weight of shape %s in %" PRId64 " group%s "
                    "needs an input of %" PRId64 " channels, but its shape is "
                    "%s", ST_SHAPE_TEXT(v->weight), v->groups,
                    v->groups == 1 ? "" : "s", expected,
                    ST_SHAPE_TEXT(v->input));
  }
  if (v->bias && (v->bias->ndim != 1 || v->bias->sizes[0] != v->out)) {
    return st__fail(ST_BAD_SHAPE, "bias must have an entry for each of %" PRId64
                    " channels, but its shape is %s", v->out,
                    ST_SHAPE_TEXT(v->bias));
  }
  return ST_OK;
}

static st_status check_weight(const st_conv *v) {
  const st_tensor *t = v->weight;
  if (t->numel == 0) {
    return st__fail(ST_BAD_SHAPE, "weight has no elements, its shape is %s",
                    ST_SHAPE_TEXT(t));
  }
  if (v->groups < 1 || t->sizes[0] % v->groups != 0) {
    return st__fail(ST_BAD_VALUE, "groups, %" PRId64 ", must be positive and "
                    "divide the %" PRId64 " channels of weight, whose shape is "
                    "%s", v->groups, t->sizes[0], ST_SHAPE_TEXT(t));
  }
  for (int d = 2; d < t->ndim; d++) {
    if (t->sizes[d] > INT32_MAX) {
      return st__fail(ST_BAD_SHAPE, "weight is too large, its shape is %s",
                      ST_SHAPE_TEXT(t));
    }
  }
  return ST_OK;
}

static st_status check_ranks(const st_conv *v) {
  const int n = v->weight->ndim - 2;
  if (n < 1 || n > ST_SPATIAL_MAX) {
    return st__fail(ST_BAD_SHAPE, "weight must have 3 to %d dimensions, but "
                    "its shape is %s", 2 + ST_SPATIAL_MAX,
                    ST_SHAPE_TEXT(v->weight));
  }
  if (v->input->ndim != n + 2) {
    return st__fail(ST_BAD_SHAPE, "input must have %d dimensions, as weight "
                    "has, but its shape is %s", n + 2, ST_SHAPE_TEXT(v->input));
  }
  return ST_OK;
}

/* Computes w->in, the size of the image that all windows of a transposed
 * convolution cover: the image for which a convolution would have this input as
 * its result. Afterwards the padding is cropped and output_padding is added. */
static st_status transposed_size(st_conv *v) {
  st_window *w = &v->w;
  for (int d = 0; d < w->n; d++) {
    const int64_t in = v->input->sizes[2 + d], more = v->extra[d];
    int64_t size;
    if (more >= w->stride[d] && more >= w->dilation[d]) {
      return st__fail(ST_BAD_VALUE, "output_padding must be less than stride "
                      "or dilation, it is %" PRId64, more);
    }
    if (!st__mul_sizes(in - 1, w->stride[d], &size) ||
        !st__add_sizes(size, st__window_extent(w, d), &size) ||
        size > INT32_MAX) {
      return st__fail(ST_BAD_SHAPE, "the result would be too large in "
                      "dimension %d, for %" PRId64 " windows with a stride of %"
                      PRId64, (int)st__display_index(2 + d), in, w->stride[d]);
    }
    w->in[d] = size;
    v->before[d] = -w->padding[d];
    v->after[d] = more - w->padding[d];
    w->padding[d] = 0;
    size += v->before[d] + v->after[d];
    if (in < 1 || size < 1) {
      return st__fail(ST_BAD_SHAPE, "the result would have size %" PRId64 " in "
                      "dimension %d", size, (int)st__display_index(2 + d));
    }
  }
  return st__window_count(w);
}

st_status st__read_conv(const st_value *args, st_conv *v) {
  st_window *w = &v->w;
  ST_ARGS_TO(*v, TENSOR(input), TENSOR(weight), TENSOR(bias));
  ST_ARGS(INTS(stride), INTS(padding), INTS(dilation));
  v->transposed = st__next_bool(&args);
  ST_ARGS(INTS(output_padding));
  v->groups = st__next_int(&args);
  ST_TRY(check_ranks(v));
  ST_TRY(check_dtypes(v));
  ST_TRY(check_weight(v));
  w->n = v->weight->ndim - 2;
  ST_TRY(st__read_sizes(stride, "stride", w->n, 1, w->stride));
  ST_TRY(st__read_sizes(padding, "padding", w->n, 0, w->padding));
  ST_TRY(st__read_sizes(dilation, "dilation", w->n, 1, w->dilation));
  ST_TRY(st__read_sizes(output_padding, "output_padding", w->n, 0, v->extra));
  st__image_sizes(v->weight, w->n, w->kernel);
  v->taps = st__product_of(w->n, w->kernel);
  v->batch = v->input->sizes[0];
  v->in = v->input->sizes[1];
  v->out = v->transposed ? v->weight->sizes[1] * v->groups
                         : v->weight->sizes[0];
  ST_TRY(check_channels(v));
  if (v->transposed) return transposed_size(v);
  st__image_sizes(v->input, w->n, w->in);
  return st__window_count(w);
}

/* -- Products ------------------------------------------------------------- */

/* Repeats t (groups, rows, cols) for each image of the batch. */
static st_tensor *for_batch(st_op_scope *c, st_tensor *t, const st_conv *v) {
  if (!st__scope_ok(c) || v->batch == 1) return t;
  const int64_t rows = t->sizes[1], cols = t->sizes[2];
  const int64_t one[] = {1, v->groups, rows, cols};
  const int64_t grouped[] = {v->batch, v->groups, rows, cols};
  const int64_t matrices[] = {v->batch * v->groups, rows, cols};
  if (v->groups == 1) {
    return ST_APPLY(c, ST_OP_expand, t, st__of_ints(matrices, 3));
  }
  t = st__apply_reshape(c, t, 4, one);
  t = ST_APPLY(c, ST_OP_expand, t, st__of_ints(grouped, 4));
  return st__apply_reshape(c, t, 3, matrices);
}

/* The weight as one matrix of rows x cols per group. */
static st_tensor *weights(st_op_scope *c, const st_conv *v, int64_t rows,
                          int64_t cols) {
  return ST_APPLY(c, ST_OP_reshape, v->weight, ST_INTS(v->groups, rows, cols));
}

/* The bias with these sizes, as a view whose gradient depends on the weight, as
 * in ATen: Note [Zero second derivatives]. */
static st_tensor *bias_as(st_op_scope *c, const st_conv *v, int ndim,
                          const int64_t *sizes) {
  return st__apply_reshape(c, st__apply_attached(c, v->bias, v->weight), ndim,
                           sizes);
}

static st_tensor *convolve(st_op_scope *c, const st_conv *v) {
  const st_window *w = &v->w;
  const int64_t nwindows = st__product_of(w->n, w->out);
  const int64_t depth = v->in / v->groups * v->taps;
  const int64_t filters = v->out / v->groups;
  int64_t image[2 + ST_SPATIAL_MAX] = {v->batch, v->out};
  memcpy(image + 2, w->out, (size_t)w->n * sizeof *image);
  const st_tensor *columns = v->input;
  if (!st__is_pixelwise(w)) columns = st__apply_im2col(c, columns, w);
  columns = ST_APPLY(c, ST_OP_reshape, columns,
                     ST_INTS(v->batch * v->groups, depth, nwindows));
  const st_tensor *rows = for_batch(c, weights(c, v, filters, depth), v);
  st_tensor *product;
  if (v->bias) {
    const int64_t column[] = {v->groups, filters, 1};
    st_tensor *bias = for_batch(c, bias_as(c, v, 3, column), v);
    product = ST_APPLY(c, ST_OP_baddbmm, bias, rows, columns);
  } else {
    product = st__apply2(c, ST_OP_bmm, rows, columns);
  }
  return st__apply_reshape(c, product, 2 + w->n, image);
}

/* Without a gradient to record, convolves a few images at a time: their columns
 * stay in the caches and take little memory. */
static st_tensor *convolve_parts(st_op_scope *c, const st_conv *v,
                                 int64_t images) {
  int64_t sizes[2 + ST_SPATIAL_MAX] = {v->batch, v->out};
  memcpy(sizes + 2, v->w.out, (size_t)v->w.n * sizeof *sizes);
  st_tensor *out =
    ST_APPLY(c, ST_OP_new_empty, v->input, st__of_ints(sizes, 2 + v->w.n));
  for (int64_t i = 0; st__scope_goes_on(c) && i < v->batch; i += images) {
    st_conv part = *v;
    st_op_scope round = {.n = 0};
    part.batch = images < v->batch - i ? images : v->batch - i;
    part.input = st__apply_narrow(&round, v->input, 0, i, part.batch);
    const st_tensor *to = st__apply_narrow(&round, out, 0, i, part.batch);
    st__apply2(&round, ST_OP_copy_, to, convolve(&round, &part));
    c->status = st__scope_end(&round, 0, NULL, NULL);
  }
  return out;
}

/* The number of images to convolve at a time. */
static int64_t images_per_product(const st_conv *v) {
  enum { CACHED = ST_FIXED_conv_columns }; /* elements in cache */
  const st_keyset keys = v->input->keys | v->weight->keys |
                         (v->bias ? v->bias->keys : 0);
  const double numbers = (double)v->in * (double)v->taps *
                      (double)st__product_of(v->w.n, v->w.out);
  if (st__is_recorded(keys) || st__is_pixelwise(&v->w) ||
      !st__has_elements(v->input)) {
    return v->batch;
  }
  return numbers < CACHED ? (int64_t)(CACHED / numbers) : 1;
}

/* -- Transposed ----------------------------------------------------------- */

static st_tensor *with_borders(st_op_scope *c, st_tensor *image,
                               const st_conv *v) {
  int64_t pad[2 * ST_SPATIAL_MAX];
  bool any = false;
  for (int d = 0; d < v->w.n; d++) {
    const int k = 2 * (v->w.n - 1 - d);
    pad[k] = v->before[d];
    pad[k + 1] = v->after[d];
    any = any || pad[k] || pad[k + 1];
  }
  if (!any) return image;
  return ST_APPLY(c, ST_OP_constant_pad_nd, image,
                  st__of_ints(pad, 2 * v->w.n));
}

st_tensor *st__convolve_transposed(st_op_scope *c, const st_conv *v) {
  const st_window *w = &v->w;
  const int64_t nwindows = st__product_of(w->n, w->out);
  const int64_t depth = v->in / v->groups;
  const int64_t results = v->out / v->groups * v->taps;
  int64_t along[1 + ST_SPATIAL_MAX] = {v->out, 1, 1, 1};
  st_tensor *rows =
    ST_APPLY(c, ST_OP_transpose_int, weights(c, v, depth, results), 1, 2);
  const st_tensor *product =
    st__apply2(c, ST_OP_bmm, for_batch(c, rows, v),
               ST_APPLY(c, ST_OP_reshape, v->input,
                        ST_INTS(v->batch * v->groups, depth, nwindows)));
  st_tensor *image =
    st__apply_col2im(c,
                     ST_APPLY(c, ST_OP_reshape, product,
                              ST_INTS(v->batch, v->out * v->taps, nwindows)),
                     w);
  image = with_borders(c, image, v);
  if (!v->bias) return image;
  return st__plus(c, image, bias_as(c, v, 1 + w->n, along));
}

/* -- Choice --------------------------------------------------------------- */

/* Windows, and channels. With few windows and many weights, to pack the weights
 * costs more than to write the columns. */
enum { FEW = 64 };

/* True if the kernel of direct_convolution.c computes the convolution. */
static bool is_direct(const st_conv *v) {
  const double windows = (double)v->batch * (double)v->groups *
                         (double)st__product_of(v->w.n, v->w.out);
  if (windows < FEW && v->in > FEW && v->out > FEW) return false;
  return st__has_image_kernels(v->input) &&
         st__is_floating(v->input->dtype);
}

/* Calls _direct_convolution. float16 and bfloat16 are computed in float32. */
static st_tensor *convolve_directly(st_op_scope *c, const st_conv *v,
                                    const st_value *args) {
  enum { TENSORS = 3, ALL = 9 };
  const st_dtype dtype = v->input->dtype;
  const st_tensor *t[TENSORS] = {v->input, v->weight, v->bias};
  st_value inputs[ALL];
  if (st__itemsize(dtype) >= 4) {
    return st__apply(c, ST_OP__direct_convolution, ALL, args);
  }
  memcpy(inputs, args, sizeof inputs);
  for (int i = 0; i < TENSORS; i++) {
    if (t[i]) inputs[i] = st__of_tensor(st__apply_to(c, t[i], ST_FLOAT32));
  }
  return st__apply_to(c, st__apply(c, ST_OP__direct_convolution, ALL, inputs),
                      dtype);
}

ST_BOXED(st__box_convolution) {
  st_conv v = {.batch = 0};
  st_op_scope c = {.status = st__read_conv(args, &v)};
  if (!st__scope_ok(&c)) return c.status;
  const bool direct = is_direct(&v);
  const int64_t images = direct ? v.batch : images_per_product(&v);
  st_tensor *out = direct ? convolve_directly(&c, &v, args)
                 : v.transposed ? st__convolve_transposed(&c, &v)
                 : images < v.batch ? convolve_parts(&c, &v, images)
                 : convolve(&c, &v);
  const st_format format = st__conv_format(&v);
  if (format != ST_FORMAT_CONTIGUOUS && !direct) {
    out = ST_APPLY(&c, ST_OP_clone, out, format);
  }
  return st__scope_return(&c, out, rets);
}

/* -- conv1d to conv_transpose3d ------------------------------------------- */

/* Calls convolution; adds a batch dimension if the input has none, and removes
 * it from the result. args: input, weight, bias, stride, padding; then dilation
 * and groups, or output_padding, groups and dilation if it is transposed. */
static st_status conv_nd(const st_value *args, int n, bool transposed,
                         st_value *rets) {
  const st_tensor *input = args[0].u.tensor, *weight = args[1].u.tensor;
  ST_TRY(st__check_images(input, "input", n));
  if (weight->ndim != n + 2) {
    return st__fail(ST_BAD_SHAPE, "weight must have %d dimensions, but its "
                    "shape is %s", n + 2, ST_SHAPE_TEXT(weight));
  }
  const bool is_batch = input->ndim == n + 2;
  const st_value first = st__of_int(0);
  st_op_scope c = {.n = 0};
  if (!is_batch) input = ST_APPLY(&c, ST_OP_unsqueeze, input, first);
  const st_value inputs[] = {
    st__of_tensor(input), args[1], args[2], args[3], args[4],
    args[transposed ? 7 : 5], st__of_bool(transposed),
    transposed ? args[5] : ST_INTS(0), args[6]};
  st_tensor *out = st__apply(&c, ST_OP_convolution, 9, inputs);
  if (!is_batch) out = ST_APPLY(&c, ST_OP_squeeze_dim, out, first);
  return st__scope_return(&c, out, rets);
}
ST_BOXED_AS(st__box_conv1d, conv_nd, args, 1, false)
ST_BOXED_AS(st__box_conv2d, conv_nd, args, 2, false)
ST_BOXED_AS(st__box_conv3d, conv_nd, args, 3, false)
ST_BOXED_AS(st__box_conv_transpose1d, conv_nd, args, 1, true)
ST_BOXED_AS(st__box_conv_transpose2d, conv_nd, args, 2, true)
ST_BOXED_AS(st__box_conv_transpose3d, conv_nd, args, 3, true)

/* -- Padding by name ------------------------------------------------------ */

/* The padding that keeps the size: half of the window extent less 1 on each
 * side; if that is odd, one more at the end. */
static st_status same_padding(const st_tensor *weight, st_ints strides,
                              st_ints dilations, int n, int64_t *padding,
                              int64_t *pad) {
  int64_t stride[ST_SPATIAL_MAX], dilation[ST_SPATIAL_MAX];
  ST_TRY(st__read_sizes(strides, "stride", n, 1, stride));
  ST_TRY(st__read_sizes(dilations, "dilation", n, 1, dilation));
  if (weight->ndim != n + 2) return ST_OK; /* the convolution reports it */
  for (int d = 0; d < n; d++) {
    int64_t reach;
    if (stride[d] != 1) {
      return st__fail(ST_BAD_VALUE, "padding \"same\" needs a stride of 1, not "
                      "%" PRId64, stride[d]);
    }
    if (!st__mul_sizes(weight->sizes[2 + d] - 1, dilation[d], &reach) ||
        reach > INT32_MAX || reach < 0) {
      return st__fail(ST_BAD_SHAPE, "padding \"same\" does not fit a weight "
                      "of shape %s", ST_SHAPE_TEXT(weight));
    }
    padding[d] = reach / 2;
    pad[2 * (n - 1 - d) + 1] = reach % 2;
  }
  return ST_OK;
}

static st_status conv_by_name(const st_value *args, int n, st_value *rets) {
  ST_ARGS(TENSOR(input), TENSOR(weight), VALUE(bias), INTS(stride));
  const char *name = st__next(&args)->u.string;
  ST_ARGS(INTS(dilation), VALUE(groups));
  int64_t padding[ST_SPATIAL_MAX] = {0}, pad[2 * ST_SPATIAL_MAX] = {0};
  const bool same = strcmp(name, "same") == 0;
  if (!same && strcmp(name, "valid") != 0) {
    return st__fail(ST_BAD_VALUE, "padding must be \"same\", \"valid\" or "
                    "numbers, not \"%s\"", name);
  }
  if (same) ST_TRY(same_padding(weight, stride, dilation, n, padding, pad));
  st_op_scope c = {.n = 0};
  if (pad[1] + pad[3] + pad[5] > 0) {
    input = ST_APPLY(&c, ST_OP_constant_pad_nd, input, st__of_ints(pad, 2 * n));
  }
  static const st_op_id ids[] = {ST_OP_conv1d, ST_OP_conv2d, ST_OP_conv3d};
  return st__scope_return(
    &c,
    ST_APPLY(&c, ids[n - 1], input, weight, bias,
             st__of_ints(stride.p, (int)stride.n), st__of_ints(padding, n),
             st__of_ints(dilation.p, (int)dilation.n), groups),
    rets);
}

ST_BOXED(st__box_conv1d_padding) { return conv_by_name(args, 1, rets); }
ST_BOXED(st__box_conv2d_padding) { return conv_by_name(args, 2, rets); }
ST_BOXED(st__box_conv3d_padding) { return conv_by_name(args, 3, rets); }
