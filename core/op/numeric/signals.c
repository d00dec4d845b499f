/* Sampled functions, as NumPy has them: convolve, correlate, unwrap,
 * interp.
 */

#include <math.h>
#include <string.h>

#include "iter/iter.h"
#include "op/row/composite.h"

static st_status check_samples(const st_tensor *t, const char *name) {
  if (t->ndim == 1 && t->sizes[0] > 0) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "%s must be a vector that is not empty, its "
                  "shape is %s", name, ST_SHAPE_TEXT(t));
}

/* -- convolve ------------------------------------------------------------- */

/* The zeros before and after the longer vector; m is the size of the other. */
static st_status read_mode(const st_value *v, int64_t m, int64_t pad[2]) {
  static const char *const words[] = {"full", "same", "valid"};
  const int64_t middle = (m - 1) / 2;
  const int64_t pads[][2] = {{m - 1, m - 1}, {m - 1 - middle, middle}, {0, 0}};
  for (int i = 0; i < 3; i++) {
    if (strcmp(v->u.string, words[i]) != 0) continue;
    memcpy(pad, pads[i], sizeof pads[i]);
    return ST_OK;
  }
  return st__fail(ST_BAD_VALUE, "mode must be 'full', 'same' or 'valid', not "
                  "'%s'", v->u.string);
}

/* t as one image of one channel. */
static st_tensor *image_of(st_op_scope *c, const st_tensor *t) {
  const int64_t sizes[] = {1, 1, t ? t->sizes[0] : 0};
  return ST_APPLY(c, ST_OP_reshape, t, st__of_ints(sizes, 3));
}

ST_BOXED(st__box_convolve) {
  ST_ARGS(TENSOR(a), TENSOR(v));
  st_tensor *both[] = {(st_tensor *)(uintptr_t)a, (st_tensor *)(uintptr_t)v};
  int64_t pad[2] = {0, 0};
  st_op_scope c = {.status = check_samples(a, "self")};
  if (st__scope_ok(&c)) c.status = check_samples(v, "v");
  if (!st__scope_ok(&c)) return c.status;
  st_dtype dtype;
  ST_TRY(st__promoted(st__result_type(both, 2), &dtype));
  if (v->sizes[0] > a->sizes[0]) {
    a = both[1];
    v = both[0];
  }
  c.status = read_mode(st__next(&args), v->sizes[0], pad);
  a = ST_APPLY(&c, ST_OP_constant_pad_nd, st__apply_to(&c, a, dtype),
               st__of_ints(pad, 2));
  v = ST_APPLY(&c, ST_OP_flip, st__apply_to(&c, v, dtype),
               st__of_ints((int64_t[]){0}, 1));
  st_tensor *sums = st__apply2(&c, ST_OP_conv1d, image_of(&c, a),
                               image_of(&c, v));
  return st__scope_return(
    &c, ST_APPLY(&c, ST_OP_reshape, sums, st__of_ints((int64_t[]){-1}, 1)),
    rets);
}

/* -- correlate ------------------------------------------------------------ */

/* The convolution with v reversed. If v is the longer one, the result is
 * that of the exchanged vectors, reversed. */
ST_BOXED(st__box_correlate) {
  ST_ARGS(TENSOR(a), TENSOR(v), VALUE(mode));
  const st_value all = st__of_ints((int64_t[]){0}, 1);
  st_op_scope c = {.status = check_samples(a, "self")};
  if (st__scope_ok(&c)) c.status = check_samples(v, "v");
  if (!st__scope_ok(&c)) return c.status;
  const bool is_swapped = v->sizes[0] > a->sizes[0];
  const st_tensor *kept = is_swapped ? v : a, *reversed = is_swapped ? a : v;
  reversed =
    ST_APPLY(&c, ST_OP_flip, st__apply1(&c, ST_OP_conj, reversed), all);
  st_tensor *t = ST_APPLY(&c, ST_OP_convolve, kept, reversed, mode);
  if (is_swapped) {
    t = st__apply1(&c, ST_OP_conj_physical, ST_APPLY(&c, ST_OP_flip, t, all));
  }
  return st__scope_return(&c, t, rets);
}

/* -- unwrap --------------------------------------------------------------- */

/* What is added to the steps d: multiples of the period that make them smaller
 * than half of it, where they are at least discont. */
static st_tensor *corrections(st_op_scope *c, const st_tensor *d,
                              double discont, double period) {
  const double half = period / 2;
  st_tensor *small = ST_APPLY(c, ST_OP_remainder_Scalar,
                              st__shifted(c, d, half), st__of_float(period));
  small = st__shifted(c, small, -half);
  const st_tensor *is_up = ST_APPLY(c, ST_OP_gt_Scalar, d, 0);
  const st_tensor *is_edge =
    ST_APPLY(c, ST_OP_eq_Scalar, small, st__of_float(-half));
  small =
    ST_APPLY(c, ST_OP_where_ScalarSelf,
             st__apply2(c, ST_OP_logical_and, is_up, is_edge), half, small);
  return ST_APPLY(
    c, ST_OP_where_ScalarSelf,
    ST_APPLY(c, ST_OP_lt_Scalar, st__apply1(c, ST_OP_abs, d), discont),
    st__of_float(0), st__minus(c, small, d));
}

ST_BOXED(st__box_unwrap) {
  ST_ARGS(TENSOR(self), FLOAT_OR(discont, 0), INT(axis),
          FLOAT_OR(period, 2 * 3.14159265358979323846));
  int dim = 0;
  st_op_scope c = {.status = st__wrap_dim(axis, self->ndim, &dim)};
  if (st__scope_ok(&c) && !(period > 0 && period < INFINITY)) {
    c.status = st__fail(ST_BAD_VALUE, "period must be positive and finite, it "
                        "is %g", period);
  }
  if (st__scope_ok(&c) && st__is_complex(self->dtype)) {
    c.status = st__fail(ST_BAD_DTYPE, "self must be real, not %s",
                        st__dtype_name(self->dtype));
  }
  if (!st__scope_ok(&c)) return c.status;
  if (self->ndim == 0 || self->sizes[dim] < 2) {
    return st__scope_return(&c, st__apply1(&c, ST_OP_clone, self), rets);
  }
  const int64_t n = self->sizes[dim];
  const st_value along = st__of_int(dim);
  const st_tensor *d = ST_APPLY(&c, ST_OP_diff, self, 1, along);
  const st_tensor *more = corrections(
    &c, d, discont > period / 2 ? discont : period / 2, period);
  more = ST_APPLY(&c, ST_OP_cumsum, more, along);
  st_tensor *parts[] = {
    st__apply_narrow(&c, self, dim, 0, 1),
    st__plus(&c, st__apply_narrow(&c, self, dim, 1, n - 1), more)};
  return st__scope_return(
    &c, ST_APPLY(&c, ST_OP_cat, st__of_tensors(parts, 2), along), rets);
}

/* -- interp --------------------------------------------------------------- */

static st_status check_points(const st_tensor *xp, const st_tensor *fp) {
  ST_TRY(check_samples(xp, "xp"));
  if (st__has_sizes(fp, 1, xp->sizes)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "fp of shape %s must have a value for each "
                  "element of xp, shape %s", ST_SHAPE_TEXT(fp),
                  ST_SHAPE_TEXT(xp));
}

/* y, but `given`, or else the value of fp at i, where x relates to that of
 * xp. */
static st_tensor *outside(st_op_scope *c, st_op_id relates, const st_tensor *x,
                          const st_tensor *xp, const st_tensor *fp, int64_t i,
                          const st_value *given, const st_tensor *y) {
  const st_value value[] = {st__of_tensor(fp), st__of_int(0), st__of_int(i)};
  const st_tensor *is_outside =
    st__apply2(c, relates, x, ST_APPLY(c, ST_OP_select_int, xp, 0, i));
  if (given && !st__is_none(given)) {
    const st_value with[] = {st__of_tensor(is_outside), *given,
                             st__of_tensor(y)};
    return st__apply(c, ST_OP_where_ScalarSelf, 3, with);
  }
  const st_value with[] = {
    st__of_tensor(is_outside),
    st__of_tensor(st__apply(c, ST_OP_select_int, 3, value)),
    st__of_tensor(y)};
  return st__apply(c, ST_OP_where_self, 3, with);
}

/* The values of lines between the points on the left and right of x. */
static st_tensor *between(st_op_scope *c, const st_tensor *x,
                          const st_tensor *xp, const st_tensor *fp) {
  const int64_t n = xp->sizes[0];
  const st_tensor *right = ST_APPLY(c, ST_OP_bucketize_Tensor, x, xp,
                                    st__of_bool(false), st__of_bool(true));
  right = ST_APPLY(c, ST_OP_clamp, right, 1, n - 1);
  const st_tensor *left = ST_APPLY(c, ST_OP_sub_Scalar, right, 1);
  const st_tensor *x0 = st__apply2(c, ST_OP_take, xp, left);
  const st_tensor *y0 = st__apply2(c, ST_OP_take, fp, left);
  const st_tensor *dx = st__minus(c, st__apply2(c, ST_OP_take, xp, right), x0);
  const st_tensor *dy = st__minus(c, st__apply2(c, ST_OP_take, fp, right), y0);
  const st_tensor *slope = st__div(c, dy, dx);
  return st__plus(c, y0, st__mul(c, slope, st__minus(c, x, x0)));
}

ST_BOXED(st__box_interp) {
  ST_ARGS(TENSOR(x), TENSOR(xp), TENSOR(fp), BOXED(left), BOXED(right));
  st_op_scope c = {.status = check_points(xp, fp)};
  if (!st__scope_ok(&c)) return c.status;
  const int64_t last = xp->sizes[0] - 1;
  const st_tensor *y =
    last > 0 ? between(&c, x, xp, fp)
             : st__plus(&c, st__apply1(&c, ST_OP_zeros_like, x),
                        ST_APPLY(&c, ST_OP_mul_Scalar, fp, st__of_float(1)));
  y = outside(&c, ST_OP_ge_Tensor, x, xp, fp, last, NULL, y);
  y = outside(&c, ST_OP_gt_Tensor, x, xp, fp, last, right, y);
  return st__scope_return(&c, outside(&c, ST_OP_lt_Tensor, x, xp, fp, 0, left,
                                      y), rets);
}
