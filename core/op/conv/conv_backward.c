/* The gradients of convolutions.
 *
 * That of the input is the transposed convolution of the result's gradient,
 * and the other way round. That of the weight is a sum of products of the
 * result's gradient and the windows of the input; for a transposed convolution,
 * of the input and the windows of the result's gradient. For floats a kernel
 * computes it (Note [Direct gradient of a weight]), otherwise and where a
 * gradient is recorded it is a matrix product (Note [im2col]).
 */

#include <inttypes.h>
#include <string.h>

#include "op/conv/conv_weight.h"

/* BAD_SHAPE unless all have n + 2 dimensions, n from 1 to 3, and sizes of 0 to
 * INT32_MAX. */
static st_status check_ranks(int n, const st_tensor *a, const st_tensor *b,
                             st_ints sizes) {
  for (uint32_t d = 0; d < sizes.n; d++) {
    if (sizes.p[d] < 0 || sizes.p[d] > INT32_MAX) {
      return st__fail(ST_BAD_SHAPE, "no dimension has size %" PRId64,
                      sizes.p[d]);
    }
  }
  if (n >= 1 && n <= ST_SPATIAL_MAX && a->ndim == n + 2 && b->ndim == n + 2 &&
      (int64_t)sizes.n == n + 2) {
    return ST_OK;
  }
  return st__fail(ST_BAD_SHAPE, "the shapes %s and %s and a size of %" PRId64
                  " dimensions are not those of a convolution",
                  ST_SHAPE_TEXT(a), ST_SHAPE_TEXT(b), (int64_t)sizes.n);
}

/* -- The input ------------------------------------------------------------ */

/* The size of x in its last dimensions, cut to that of `sizes`: with an
 * output_padding of a stride or more, a result has more windows. */
static st_tensor *cut_to(st_op_scope *c, st_tensor *x, st_ints sizes) {
  for (int d = 2; st__scope_ok(c) && d < x->ndim; d++) {
    if (x->sizes[d] > sizes.p[d]) x = st__apply_narrow(c, x, d, 0, sizes.p[d]);
  }
  return x;
}

ST_BOXED(st__box_convolution_input_backward) {
  ST_ARGS(TENSOR(grad), INTS(sizes), TENSOR(weight), INTS(stride),
          INTS(padding), INTS(dilation), BOOL(transposed),
          SKIP()); /* output_padding: the gradient has it already */
  ST_ARGS(VALUE(groups));
  const int n = weight->ndim - 2;
  int64_t s[ST_SPATIAL_MAX], p[ST_SPATIAL_MAX], dilations[ST_SPATIAL_MAX];
  int64_t output_padding[ST_SPATIAL_MAX] = {0};
  ST_TRY(check_ranks(n, grad, weight, sizes));
  ST_TRY(st__read_sizes(stride, "stride", n, 1, s));
  ST_TRY(st__read_sizes(padding, "padding", n, 0, p));
  ST_TRY(st__read_sizes(dilation, "dilation", n, 1, dilations));
  for (int d = 0; d < n && !transposed; d++) { /* what the stride cut off */
    output_padding[d] = sizes.p[2 + d] + 2 * p[d] - 1 -
                        (grad->sizes[2 + d] - 1) * s[d] -
                        dilations[d] * (weight->sizes[2 + d] - 1);
  }
  st_op_scope c = {.n = 0};
  const st_value inputs[] = {
    st__of_tensor(grad), st__of_tensor(weight), st__none(), st__of_ints(s, n),
    st__of_ints(p, n), st__of_ints(dilations, n), st__of_bool(!transposed),
    st__of_ints(output_padding, n), groups};
  st_tensor *out = st__apply(&c, ST_OP_convolution, 9, inputs);
  return st__scope_return(&c, cut_to(&c, out, sizes), rets);
}

/* -- The weight ----------------------------------------------------------- */

/* The products of images [i, i + n), summed: (groups, m, k). */
static st_tensor *sum_products(st_op_scope *c, const st_conv_products *p,
                               int64_t i, int64_t n) {
  const int64_t windows = st__product_of(p->w.n, p->w.out);
  const int64_t row_sizes[] = {n * p->groups, p->m, windows};
  const int64_t column_sizes[] = {n * p->groups, p->k, windows};
  const st_value swap[] = {st__none(), st__of_int(1), st__of_int(2)};
  st_value columns[3];
  const st_tensor *rows = p->rows, *image = p->image;
  if (n < p->batch) {
    rows = st__apply_narrow(c, rows, 0, i, n);
    image = st__apply_narrow(c, image, 0, i, n);
  }
  memcpy(columns, swap, sizeof columns);
  if (!st__is_pixelwise(&p->w)) image = st__apply_im2col(c, image, &p->w);
  columns[0] = st__of_tensor(st__apply_reshape(c, image, 3, column_sizes));
  st_tensor *products = st__apply2(
    c, ST_OP_bmm, st__apply_reshape(c, rows, 3, row_sizes),
    st__apply(c, ST_OP_transpose_int, 3, columns));
  if (n == 1) return products;
  return ST_APPLY(
    c, ST_OP_sum_dim_IntList,
    ST_APPLY(c, ST_OP_reshape, products, ST_INTS(n, p->groups, p->m, p->k)),
    ST_INTS(0));
}

/* Zeros after the rows of windows that the image has, but rows does not. */
static const st_tensor *padded_rows(st_op_scope *c, const st_conv_products *p) {
  int64_t pad[2 * ST_SPATIAL_MAX] = {0};
  bool any = false;
  for (int d = 0; d < p->w.n; d++) {
    int64_t *after = &pad[2 * (p->w.n - 1 - d) + 1];
    *after = p->w.out[d] - p->rows->sizes[2 + d];
    any = any || *after;
  }
  if (!any) return p->rows;
  return ST_APPLY(c, ST_OP_constant_pad_nd, p->rows,
                  st__of_ints(pad, 2 * p->w.n));
}

/* Without a gradient to record, one image at a time: its columns stay in the
 * caches. */
static st_tensor *sum_images(st_op_scope *c, const st_conv_products *p) {
  st_tensor *sum = NULL;
  for (int64_t i = 0; st__scope_goes_on(c) && i < p->batch; i++) {
    st_op_scope round = {.n = 0};
    st_tensor *one = sum_products(&round, p, i, 1);
    if (sum) {
      ST_APPLY_INTO(&round, ST_OP_add_Tensor, sum, one);
      one = NULL;
    }
    one = st__scope_keep(c, &round, one);
    if (!sum) sum = one;
  }
  return sum;
}

static st_status check_products(const st_conv_products *p, st_ints sizes,
                                const st_tensor *grad,
                                const st_tensor *input) {
  const int n = (int)sizes.n - 2;
  ST_TRY(check_ranks(n, grad, input, sizes));
  if (p->groups < 1 || grad->sizes[1] % p->groups != 0 ||
      input->sizes[1] % p->groups != 0) {
    return st__fail(ST_BAD_VALUE, "groups, %" PRId64 ", must be positive and "
                    "divide the channels of %s and %s", p->groups,
                    ST_SHAPE_TEXT(grad), ST_SHAPE_TEXT(input));
  }
  if (grad->sizes[0] != input->sizes[0]) {
    return st__fail(ST_BAD_SHAPE, "grad_output of shape %s and input of shape "
                    "%s have different numbers of images", ST_SHAPE_TEXT(grad),
                    ST_SHAPE_TEXT(input));
  }
  for (int d = 0; d < n; d++) {
    if (sizes.p[2 + d] < 1) {
      return st__fail(ST_BAD_SHAPE, "a weight has no size 0");
    }
  }
  return ST_OK;
}

st_status st__read_conv_products(const st_value *args, st_conv_products *p,
                                 st_ints *weight_sizes) {
  ST_ARGS(TENSOR(grad), TENSOR(input));
  const st_ints sizes = *weight_sizes = st__next_ints(&args);
  ST_ARGS(INTS(stride), INTS(padding), INTS(dilation), BOOL(transposed),
          SKIP()); /* output_padding: the gradient has it already */
  const int n = (int)sizes.n - 2;
  *p = (st_conv_products){.rows = transposed ? input : grad,
                          .image = transposed ? grad : input,
                          .groups = st__next_int(&args)};
  ST_TRY(check_products(p, sizes, grad, input));
  p->w.n = n;
  ST_TRY(st__read_sizes(stride, "stride", n, 1, p->w.stride));
  ST_TRY(st__read_sizes(padding, "padding", n, 0, p->w.padding));
  ST_TRY(st__read_sizes(dilation, "dilation", n, 1, p->w.dilation));
  memcpy(p->w.kernel, sizes.p + 2, (size_t)n * sizeof *sizes.p);
  st__image_sizes(p->image, n, p->w.in);
  ST_TRY(st__window_count(&p->w));
  p->batch = grad->sizes[0];
  p->m = p->rows->sizes[1] / p->groups;
  p->channels = p->k = p->image->sizes[1] / p->groups;
  p->fits = sizes.p[0] == p->rows->sizes[1] && sizes.p[1] == p->channels;
  for (int d = 0; d < n; d++) {
    if (!st__mul_sizes(p->k, p->w.kernel[d], &p->k)) {
      return st__fail(ST_BAD_SHAPE, "a weight of that size is too large");
    }
  }
  return ST_OK;
}

ST_BOXED(st__box_convolution_weight_backward) {
  st_conv_products p;
  st_ints sizes;
  ST_TRY(st__read_conv_products(args, &p, &sizes));
  const bool recorded = st__is_recorded(p.rows->keys | p.image->keys);
  if (!recorded && st__is_direct_weight(&p)) {
    return st__invoke(ST_OP__direct_weight_backward, 9, args, rets);
  }
  st_op_scope c = {.n = 0};
  p.rows = padded_rows(&c, &p);
  const bool whole = p.batch < 2 || !st__has_elements(p.image) || recorded;
  st_tensor *sum = whole ? sum_products(&c, &p, 0, p.batch)
                         : sum_images(&c, &p);
  return st__scope_return(&c, st__apply_reshape(&c, sum, (int)sizes.n, sizes.p),
                          rets);
}
