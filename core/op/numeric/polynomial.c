/* Polynomials: polyval, polyfit, polyadd, polysub, polymul, polyder, polyint,
 * roots. The coefficients are a vector, from that of the highest power to the
 * constant, as NumPy has them.
 */

#include <inttypes.h>

#include "op/row/composite.h"

static st_status check_vector(const st_tensor *t, const char *name) {
  if (t->ndim == 1) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "%s must be a vector, its shape is %s", name,
                  ST_SHAPE_TEXT(t));
}

/* -- polyval -------------------------------------------------------------- */

/* Horner's rule. */
ST_BOXED(st__box_polyval) {
  ST_ARGS(TENSOR(p), TENSOR(x));
  st_op_scope c = {.status = check_vector(p, "p")};
  st_tensor *both[] = {(st_tensor *)(uintptr_t)p, (st_tensor *)(uintptr_t)x};
  const int64_t n = st__scope_ok(&c) ? p->sizes[0] : 0;
  st_dtype d = ST_DTYPE_NONE;
  if (st__scope_ok(&c)) c.status = st__promoted(st__result_type(both, 2), &d);
  st_tensor *y = st__apply_to(&c, st__apply1(&c, ST_OP_zeros_like, x), d);
  for (int64_t i = 0; i < n && st__scope_goes_on(&c); i++) {
    st_op_scope round = {.n = 0};
    const st_tensor *coefficient = ST_APPLY(&round, ST_OP_select_int, p, 0, i);
    y = st__mul(&round, y, x);
    y = st__plus(&round, y, coefficient);
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
  return ST_APPLY(c, ST_OP_unsqueeze, t, -1);
}

/* Least squares with the powers of x, whose columns are scaled to norm 1. */
static st_status polyfit(const st_tensor *x, const st_tensor *y, int64_t deg,
                         const st_tensor *w, st_value *rets) {
  const bool is_vector = y->ndim == 1;
  const st_value rows = st__of_ints((int64_t[]){0}, 1);
  st_op_scope c = {.status = check_samples(x, y, w, deg)};
  st_tensor *fit[4] = {NULL};
  const int64_t terms = deg < INT64_MAX ? deg + 1 : deg; /* too many anyway */
  const st_tensor *A = ST_APPLY(&c, ST_OP_vander, x, terms);
  if (is_vector) y = column(&c, y);
  if (w) {
    A = st__mul(&c, A, column(&c, w));
    y = st__mul(&c, y, column(&c, w));
  }
  const st_tensor *square = st__mul(&c, A, A);
  const st_tensor *norm = st__apply1(
    &c, ST_OP_sqrt, ST_APPLY(&c, ST_OP_sum_dim_IntList, square, rows));
  st__apply_multi(&c, ST_OP_linalg_lstsq, ST_VALUES(st__div(&c, A, norm), y), 4,
                  fit);
  st_tensor *p = st__div(&c, fit[0], column(&c, norm));
  if (is_vector) p = ST_APPLY(&c, ST_OP_squeeze_dim, p, -1);
  return st__scope_return(&c, p, rets);
}
ST_TYPED_ARGS(st__box_polyfit, polyfit, (TENSOR, TENSOR, INT, OPT_TENSOR))

/* -- Ends ---------------------------------------------------------------- */

/* The first and the last power whose coefficient is not 0; none if first is
 * behind last. */
static void find_ends(st_op_scope *c, const st_tensor *p, int64_t ends[2]) {
  const st_tensor *at = st__apply1(c, ST_OP_flatnonzero, p);
  ends[0] = 0;
  ends[1] = -1;
  for (int i = 0; st__scope_ok(c) && at->numel > 0 && i < 2; i++) {
    const st_value one =
      st__of_tensor(ST_APPLY(c, ST_OP_select_int, at, 0, i == 0 ? 0 : -1));
    st_value number;
    if (st__scope_ok(c)) c->status = st__invoke(ST_OP_item, 1, &one, &number);
    if (st__scope_ok(c)) ends[i] = number.u.i;
  }
}

/* -- polyadd, polysub, polymul -------------------------------------------- */

/* t with zeros for the highest of n powers. */
static const st_tensor *with_powers(st_op_scope *c, const st_tensor *t,
                                    int64_t n) {
  const int64_t pad[] = {n - t->sizes[0], 0};
  return pad[0] <= 0
           ? t
           : ST_APPLY(c, ST_OP_constant_pad_nd, t, st__of_ints(pad, 2));
}

static st_status combine(st_op_id op, const st_value *args, st_value *rets) {
  ST_ARGS(TENSOR(a), TENSOR(b));
  st_op_scope c = {.status = check_vector(a, "self")};
  if (st__scope_ok(&c)) c.status = check_vector(b, "other");
  if (!st__scope_ok(&c)) return c.status;
  const int64_t n = a->sizes[0] > b->sizes[0] ? a->sizes[0] : b->sizes[0];
  a = with_powers(&c, a, n);
  b = with_powers(&c, b, n);
  return st__scope_return(&c, st__apply2(&c, op, a, b), rets);
}

ST_BOXED(st__box_polyadd) { return combine(ST_OP_add_Tensor, args, rets); }

ST_BOXED(st__box_polysub) { return combine(ST_OP_sub_Tensor, args, rets); }

/* p, a vector, from its highest power whose coefficient is not 0; 0 if there
 * is none. */
static const st_tensor *trimmed(st_op_scope *c, const st_tensor *p) {
  int64_t ends[2];
  if (st__scope_ok(c) && p->numel == 0) {
    return ST_APPLY(c, ST_OP_constant_pad_nd, p, ST_INTS(0, 1));
  }
  if (!st__has_elements(p)) return p;
  find_ends(c, p, ends);
  const int64_t start = ends[1] < 0 ? p->numel - 1 : ends[0];
  return st__apply_narrow(c, p, 0, start, p->numel - start);
}

ST_BOXED(st__box_polymul) {
  ST_ARGS(TENSOR(a), TENSOR(b));
  st_op_scope c = {.status = check_vector(a, "self")};
  if (st__scope_ok(&c)) c.status = check_vector(b, "other");
  a = trimmed(&c, a);
  b = trimmed(&c, b);
  return st__scope_return(&c, st__apply2(&c, ST_OP_convolve, a, b), rets);
}

/* -- polyder, polyint ----------------------------------------------------- */

enum { MOST = 1024 }; /* derivatives, since each is a pass */

static st_status check_order(const st_tensor *p, int64_t m) {
  ST_TRY(check_vector(p, "p"));
  if (m >= 0 && m <= MOST) return ST_OK;
  return st__fail(ST_BAD_VALUE, "m must be from 0 to %d, it is %" PRId64, MOST,
                  m);
}

/* The exponents n, n - 1, ..., 1. */
static const st_tensor *exponents(st_op_scope *c, const st_tensor *p,
                                  int64_t n) {
  return ST_APPLY(c, ST_OP_arange_start_step, n, 0, -1, ST_INT64, st__none(),
                  p->device);
}

static st_status polyder(const st_tensor *p, int64_t m, st_value *rets) {
  st_op_scope c = {.status = check_order(p, m)};
  st_tensor *y = st__apply1(&c, ST_OP_clone, p);
  for (int64_t i = 0; i < m && st__scope_goes_on(&c) && y->sizes[0] > 0; i++) {
    st_op_scope round = {.n = 0};
    const int64_t n = y->sizes[0] - 1;
    y = st__mul(&round, st__apply_narrow(&round, y, 0, 0, n),
                exponents(&round, y, n));
    st__scope_replace(&c, &round, &y);
  }
  return st__scope_return(&c, y, rets);
}
ST_TYPED_ARGS(st__box_polyder, polyder, (TENSOR, INT))

/* The constants of integration k: none, one for all, or one of each. */
static st_status polyint(const st_tensor *p, int64_t m, const st_value *k,
                         st_value *rets) {
  const bool has_k = !st__is_none(k) && k->len > 0;
  st_op_scope c = {.status = check_order(p, m)};
  if (st__scope_ok(&c) && has_k && k->len != 1 && k->len != m) {
    c.status = st__fail(ST_BAD_VALUE, "k must have 1 or m = %" PRId64
                        " constants, not %u", m, k->len);
  }
  st_tensor *y = st__apply1(&c, ST_OP_clone, p);
  for (int64_t i = 0; i < m && st__scope_goes_on(&c); i++) {
    st_op_scope round = {.n = 0};
    const int64_t n = y->sizes[0];
    y = st__div(&round, y, exponents(&round, y, n));
    y = ST_APPLY(&round, ST_OP_constant_pad_nd, y, ST_INTS(0, 1),
                 has_k ? st__of_float(k->u.floats[k->len == 1 ? 0 : i])
                       : st__of_int(0));
    st__scope_replace(&c, &round, &y);
  }
  return st__scope_return(&c, y, rets);
}
ST_TYPED_ARGS(st__box_polyint, polyint, (TENSOR, INT, VALUE))

/* -- roots ---------------------------------------------------------------- */

/* The matrix whose characteristic polynomial is p, of n + 1 coefficients, after
 * division by the first one. */
static const st_tensor *companion(st_op_scope *c, const st_tensor *p,
                                  int64_t n) {
  const st_tensor *row = st__div(c, st__apply_narrow(c, p, 0, 1, n),
                                 st__apply_narrow(c, p, 0, 0, 1));
  row = ST_APPLY(c, ST_OP_unsqueeze, st__apply1(c, ST_OP_neg, row), 0);
  if (!st__scope_ok(c)) return NULL;
  st_tensor *rows[] = {
    (st_tensor *)(uintptr_t)row,
    ST_APPLY(c, ST_OP_eye_m, n - 1, n, row->dtype, st__none(), row->device)};
  const st_value all = st__of_tensors(rows, 2);
  return st__apply(c, ST_OP_cat, 1, &all);
}

/* Zeros behind the last coefficient are roots at 0. */
ST_BOXED(st__box_roots) {
  ST_ARGS(TENSOR(p));
  int64_t ends[2] = {0, -1};
  st_op_scope c = {.status = check_vector(p, "p")};
  if (!st__is_inexact(p->dtype)) p = st__apply_to(&c, p, st__default_dtype());
  if (st__scope_ok(&c)) find_ends(&c, p, ends);
  const int64_t n = ends[1] - ends[0];
  if (!st__scope_ok(&c)) return st__scope_return(&c, NULL, rets);
  const int64_t zeros[] = {0, ends[1] < 0 ? 0 : p->sizes[0] - 1 - ends[1]};
  const st_tensor *found = n < 1
    ? st__apply_to(&c, st__apply_narrow(&c, p, 0, 0, 0),
                   st__complex_dtype(p->dtype))
    : st__apply1(&c, ST_OP_linalg_eigvals,
                 companion(&c, st__apply_narrow(&c, p, 0, ends[0], n + 1), n));
  return st__scope_return(
    &c, ST_APPLY(&c, ST_OP_constant_pad_nd, found, st__of_ints(zeros, 2)),
    rets);
}
