/* Polynomials: polyval, polyfit. The coefficients are a vector, from that of
 * the highest power to the constant, as NumPy has them.
 */

#include <inttypes.h>

#include "op/registry/composite.h"

static st_status check_vector(const st_tensor *t, const char *name) {
  if (t->ndim == 1) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "%s must be a vector, its shape is %s", name,
                  ST_SHAPE_TEXT(t));
}

/* -- polyval -------------------------------------------------------------- */

/* Horner's rule. */
ST_BOXED(st__box_polyval) {
  const st_tensor *p = st__next_tensor(&args), *x = st__next_tensor(&args);
  st_op_scope c = {.status = check_vector(p, "p")};
  st_tensor *both[] = {(st_tensor *)(uintptr_t)p, (st_tensor *)(uintptr_t)x};
  const int64_t n = st__scope_ok(&c) ? p->sizes[0] : 0;
  st_tensor *y = st__apply1(&c, ST_OP_zeros_like, x);
  if (y) y = st__apply_to(&c, y, st__result_type(both, 2));
  for (int64_t i = 0; i < n && st__scope_goes_on(&c); i++) {
    st_op_scope round = {.n = 0};
    const st_value one[] = {st__of_tensor(p), st__of_int(0), st__of_int(i)};
    const st_tensor *coefficient = st__apply(&round, ST_OP_select_int, 3, one);
    y = st__apply2(&round, ST_OP_mul_Tensor, y, x);
    y = st__apply2(&round, ST_OP_add_Tensor, y, coefficient);
    st__scope_replace(&c, &round, &y);
  }
  return st__scope_return(&c, y, rets);
}

/* -- polyfit -------------------------------------------------------------- */

static st_status check_samples(const st_tensor *x, const st_tensor *y,
                               const st_tensor *w, int64_t deg) {
  ST_TRY(check_vector(x, "x"));
  if (deg < 0) {
    return st__fail(ST_BAD_VALUE, "deg must not be negative, it is %" PRId64,
                    deg);
  }
  if (y->ndim < 1 || y->ndim > 2 || y->sizes[0] != x->sizes[0]) {
    return st__fail(ST_BAD_SHAPE, "y of shape %s must be a vector or a matrix "
                    "with a row for each element of x, shape %s",
                    ST_SHAPE_TEXT(y), ST_SHAPE_TEXT(x));
  }
  if (w && !st__has_sizes(w, 1, x->sizes)) {
    return st__fail(ST_BAD_SHAPE, "w of shape %s must have a weight for each "
                    "element of x, shape %s", ST_SHAPE_TEXT(w),
                    ST_SHAPE_TEXT(x));
  }
  return ST_OK;
}

static st_tensor *column(st_op_scope *c, const st_tensor *t) {
  return st__apply_with(c, ST_OP_unsqueeze, t, st__of_int(-1));
}

/* Least squares with the powers of x, whose columns are scaled to norm 1. */
ST_BOXED(st__box_polyfit) {
  const st_tensor *x = st__next_tensor(&args), *y = st__next_tensor(&args);
  const int64_t deg = st__next_int(&args);
  const st_tensor *w = st__next_tensor(&args);
  const bool is_vector = y->ndim == 1;
  const st_value rows = st__of_ints((int64_t[]){0}, 1);
  st_op_scope c = {.status = check_samples(x, y, w, deg)};
  st_tensor *fit[4] = {NULL};
  const st_tensor *A = st__apply_with(&c, ST_OP_vander, x,
                                      st__of_int(deg + 1));
  if (is_vector) y = column(&c, y);
  if (w) {
    A = st__apply2(&c, ST_OP_mul_Tensor, A, column(&c, w));
    y = st__apply2(&c, ST_OP_mul_Tensor, y, column(&c, w));
  }
  const st_tensor *square = st__apply2(&c, ST_OP_mul_Tensor, A, A);
  const st_tensor *norm = st__apply1(
    &c, ST_OP_sqrt, st__apply_with(&c, ST_OP_sum_dim_IntList, square, rows));
  const st_value pair[] = {
    st__of_tensor(st__apply2(&c, ST_OP_div_Tensor, A, norm)),
    st__of_tensor(y)};
  st__apply_multi(&c, ST_OP_linalg_lstsq, 2, pair, 4, fit);
  st_tensor *p = st__apply2(&c, ST_OP_div_Tensor, fit[0], column(&c, norm));
  if (is_vector) p = st__apply_with(&c, ST_OP_squeeze_dim, p, st__of_int(-1));
  return st__scope_return(&c, p, rets);
}
