/* Normalisation over the last dimensions; composed of operators, computed in
 * float32 or wider.
 */

#include <float.h>
#include <inttypes.h>

#include "base/threads.h"
#include "kernel/kernel.h"
#include "kernel/nn/standardise.h"
#include "op/elementwise/result_layout.h"
#include "op/norm/derivatives.h"
#include "tensor/memory_format.h"

/* -- Over the last dimensions --------------------------------------------- */

/* x made contiguous if it has no elements: then it may have the strides of
 * bias. */
static st_tensor *dense(st_op_scope *c, st_tensor *x) {
  if (!st__scope_ok(c) || x->numel > 0) return x;
  return ST_APPLY(c, ST_OP_clone, x, ST_FORMAT_CONTIGUOUS);
}

static st_status check_normalized_shape(const st_tensor *input,
                                        st_ints shape) {
  const int n = (int)shape.n;
  char text[160];
  if (n == 0) {
    return st__fail(ST_BAD_SHAPE, "normalized_shape must not be empty");
  }
  if (n <= input->ndim &&
      st__same_dims(n, shape.p, input->sizes + input->ndim - n)) {
    return ST_OK;
  }
  return st__fail(ST_BAD_SHAPE, "input of shape %s does not end with "
                  "normalized_shape %s", ST_SHAPE_TEXT(input),
                  st__shape_text(n, shape.p, text, sizeof text));
}

static st_status check_layer(const st_tensor *input, st_ints shape,
                             const st_tensor *weight, const st_tensor *bias) {
  ST_TRY(check_normalized_shape(input, shape));
  ST_TRY(check_parameter(weight, "weight", shape.p, (int)shape.n));
  return check_parameter(bias, "bias", shape.p, (int)shape.n);
}

/* The dimensions -n to -1; dims holds them. */
static st_value last_dims(int n, int64_t *dims) {
  for (int i = 0; i < n; i++) dims[i] = i - n;
  return st__of_ints(dims, n);
}

/* True if a kernel may read t: NULL, or contiguous floats of dtype d. */
static bool is_line(const st_tensor *t, st_dtype d) {
  return !t || (st__is_plain(t) && t->dtype == d &&
                st__is_contiguous_in(t, ST_FORMAT_CONTIGUOUS));
}

typedef struct row_run {
  st_loop loop;
  char *data[4];
  int64_t strides[8], n;
  st_standardise_ctx ctx;
} row_run;

static void standardise_some(void *ctx, int64_t begin, int64_t end) {
  const row_run *r = ctx;
  char *data[4];
  for (int i = 0; i < 4; i++) data[i] = r->data[i] + begin * r->strides[4 + i];
  r->loop(data, r->strides, r->n, end - begin, &r->ctx);
}

/* (x - mean) rstd weight + bias for all rows of n elements of x, in one
 * pass. */
static st_tensor *standardised_rows(st_op_scope *c, const st_tensor *x,
                                    int64_t n, const st_tensor *const t[4]) {
  const int64_t size = (int64_t)st__itemsize(x->dtype);
  st_tensor *out =
    ST_APPLY(c, ST_OP_new_empty, x, st__of_ints(x->sizes, x->ndim));
  if (!st__scope_ok(c)) return NULL;
  row_run r = {
    .data = {st__data(out), st__data(x), st__data(t[0]), st__data(t[1])},
    .strides = {size, size, size, size, n * size, n * size, size, size},
    .n = n, .ctx = {t[2] ? st__data(t[2]) : NULL,
                    t[3] ? st__data(t[3]) : NULL}};
  c->status = st__find_kernel(ST_K_standardise, x->dtype, &r.loop);
  if (!st__scope_ok(c)) return NULL;
  c->status = st__parallel_try(
    0, x->numel / n, st__kernel_grain(ST_K_standardise) / n + 1,
    standardise_some, &r);
  return out;
}

ST_BOXED(st__box_layer_norm_forward) {
  st_tensor *input = st__next_tensor(&args), *mean, *var;
  ST_ARGS(INTS(shape), TENSOR(weight), TENSOR(bias), FLOAT(eps));
  int64_t dims[ST_MAX_DIMS];
  ST_TRY(check_layer(input, shape, weight, bias));
  st_op_scope c = {.n = 0};
  st_tensor *x = st__apply1(&c, ST_OP_contiguous, precise(&c, input));
  moments(&c, x, last_dims((int)shape.n, dims), &mean, &var);
  st_tensor *rstd = inverse_root(&c, var, eps);
  const st_tensor *const all[] = {mean, rstd, weight, bias};
  bool plain = st__scope_ok(&c) && x->numel > 0 && st__is_floating(x->dtype) &&
               is_line(x, x->dtype);
  for (int i = 0; i < 4; i++) plain = plain && is_line(all[i], x->dtype);
  x = plain ? standardised_rows(&c, x, st__product_of((int)shape.n, shape.p),
                                all)
            : affine(&c, standardised(&c, x, mean, rstd), weight, bias);
  st_tensor *const results[] = {dense(&c, as_dtype_of(&c, x, input)),
                                as_dtype_of(&c, mean, input),
                                as_dtype_of(&c, rstd, input)};
  return st__scope_end(&c, 3, results, rets);
}

/* The means and the reciprocal standard deviations carry no gradient. */
ST_BOXED(st__box_native_layer_norm) {
  st_op_scope c = {.n = 0};
  st_tensor *all[3];
  st__apply_multi(&c, ST_OP__layer_norm, 5, args, 3, all);
  for (int i = 1; i < 3; i++) all[i] = st__apply1(&c, ST_OP_detach, all[i]);
  return st__scope_end(&c, 3, all, rets);
}

ST_BOXED_AS(st__box_layer_norm, first_of, ST_OP__layer_norm, 5, args)

static double epsilon(st_dtype d) {
  return d == ST_FLOAT64 || d == ST_COMPLEX128 ? DBL_EPSILON : FLT_EPSILON;
}

ST_BOXED(st__box_rms_norm) {
  ST_ARGS(MUTABLE(input), INTS(shape), TENSOR(weight),
          FLOAT_OR(eps, epsilon(input->dtype)));
  int64_t dims[ST_MAX_DIMS];
  ST_TRY(check_layer(input, shape, weight, NULL));
  st_op_scope c = {.n = 0};
  st_tensor *x = precise(&c, input);
  const st_tensor *squares =
    ST_APPLY(&c, ST_OP_mean_dim, st__apply1(&c, ST_OP_square, x),
             last_dims((int)shape.n, dims), st__of_bool(true));
  x = st__mul(&c, x, inverse_root(&c, squares, eps));
  x = as_dtype_of(&c, affine(&c, x, weight, NULL), input);
  return st__scope_return(&c, st__apply_fresh(&c, x), rets);
}

/* -- Gradients of layer_norm ---------------------------------------------- */

static st_tensor *no_gradient(st_op_scope *c, const st_tensor *like,
                              st_ints shape) {
  return ST_APPLY(c, ST_OP_new_zeros, like, st__of_ints(shape.p, (int)shape.n));
}

/* dims, outer: arrays for ST_MAX_DIMS dimensions each. */
static layer layer_of(st_op_scope *c, const st_tensor *input, int n,
                      int64_t *dims, int64_t *outer) {
  const int more = input->ndim - n;
  for (int d = 0; d < more; d++) outer[d] = d;
  return (layer){.c = c, .dims = last_dims(n, dims),
                 .outer = st__of_ints(outer, more)};
}

static st_status check_layer_gradient(const st_tensor *grad,
                                      const st_tensor *input, st_ints shape) {
  ST_TRY(check_normalized_shape(input, shape));
  if (st__same_sizes(grad, input)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "grad_out has shape %s, input has %s",
                  ST_SHAPE_TEXT(grad), ST_SHAPE_TEXT(input));
}

ST_BOXED(st__box_layer_norm_backward) {
  ST_ARGS(MUTABLE(grad_out), MUTABLE(input), INTS(shape), MUTABLE(mean),
          MUTABLE(rstd), TENSOR(weight), TENSOR(bias));
  int64_t dims[ST_MAX_DIMS], outer[ST_MAX_DIMS];
  ST_TRY(check_layer_gradient(grad_out, input, shape));
  st_op_scope c = {.n = 0};
  layer l = layer_of(&c, input, (int)shape.n, dims, outer);
  st_tensor *grad = precise(&c, grad_out);
  l.r = precise(&c, rstd);
  l.xhat = standardised(&c, precise(&c, input), precise(&c, mean), l.r);
  const st_tensor *g = weight ? st__mul(&c, grad, weight) : grad;
  st_tensor *gx = st__mul(&c, projected(&l, g), l.r);
  st_tensor *gw = weight ? summed(&l, st__mul(&c, grad, l.xhat))
                         : no_gradient(&c, input, shape);
  st_tensor *gb = bias ? summed(&l, grad) : no_gradient(&c, input, shape);
  st_tensor *const results[] = {
    as_dtype_of(&c, gx, input), as_dtype_of(&c, gw, weight ? weight : input),
    as_dtype_of(&c, gb, input)};
  return st__scope_end(&c, 3, results, rets);
}

/* Recomputes x^ and r from x, so that further derivatives depend on x. eps is
 * not an argument: it follows from the saved r and the variance. */
static void layer_stats(layer *l, const st_tensor *x, const st_tensor *r) {
  st_op_scope *c = l->c;
  st_tensor *mean, *var;
  moments(c, x, l->dims, &mean, &var);
  const st_tensor *under = st__apply1(c, ST_OP_reciprocal,
                                      st__apply1(c, ST_OP_square, r));
  const st_tensor *eps = st__apply1(c, ST_OP_detach, st__minus(c, under, var));
  l->r = st__apply1(c, ST_OP_rsqrt, st__plus(c, var, eps));
  l->xhat = standardised(c, x, mean, l->r);
}

/* h, hw, hb: the gradients of the results of layer_norm_backward, whose
 * arguments follow. */
ST_BOXED(st__box_layer_norm_double_backward) {
  ST_ARGS(TENSOR(h), TENSOR(hw), TENSOR(hb), TENSOR(grad), TENSOR(input),
          INTS(shape));
  st__next(&args); /* mean */
  ST_ARGS(TENSOR(rstd), TENSOR(weight));
  int64_t dims[ST_MAX_DIMS], outer[ST_MAX_DIMS];
  ST_TRY(check_layer_gradient(grad, input, shape));
  st_op_scope c = {.n = 0};
  layer l = layer_of(&c, input, (int)shape.n, dims, outer);
  layer_stats(&l, input, rstd);
  const st_tensor *g = weight ? st__mul(&c, grad, weight) : grad;
  st_tensor *scaled = st__mul(&c, projected(&l, h), l.r);
  st_tensor *gg = weight ? st__mul(&c, scaled, weight) : scaled;
  gg = st__plus(&c, gg, hb);
  st_tensor *gx = curvature(&l, h, g);
  st_tensor *gw = no_gradient(&c, input, shape);
  if (weight) {
    gg = st__plus(&c, gg, st__mul(&c, hw, l.xhat));
    gx =
      st__plus(&c, gx, st__mul(&c, projected(&l, st__mul(&c, hw, grad)), l.r));
    gw = summed(&l, st__mul(&c, grad, scaled));
  }
  return st__scope_end(&c, 3, (st_tensor *[]){gg, gx, gw}, rets);
}
