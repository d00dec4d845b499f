/* Norms of matrices, and what singular values say of a matrix:
 * linalg_matrix_norm, linalg_norm, linalg_cond, linalg_matrix_rank,
 * linalg_pinv; the last two with tolerances for each matrix, too.
 */

#include <math.h>
#include <string.h>

#include "op/row/composite.h"

/* -- Norms ---------------------------------------------------------------- */

typedef enum norm_kind { FRO, NUC, TWO, ONE, INF } norm_kind;

typedef struct norm {
  norm_kind kind;
  bool is_least; /* of the values of which the norm is the greatest */
  int rows, cols; /* the dimensions */
  bool keepdim;
} norm;

static st_status read_number(const st_value *v, const char *name, norm *n) {
  const st_scalar s = st__scalar_of(v);
  const double ord = s.kind == ST_SCALAR_COMPLEX ? 0 : st__scalar_to_double(s);
  n->is_least = ord < 0;
  n->kind = fabs(ord) == 1 ? ONE : fabs(ord) == 2 ? TWO : INF;
  if (n->kind != INF || isinf(ord)) return ST_OK;
  return st__fail(ST_BAD_VALUE, "%s of a matrix must be 1, -1, 2, -2, inf, "
                  "-inf, 'fro' or 'nuc', not %g", name, ord);
}

static st_status read_name(const char *ord, const char *name, norm *n) {
  n->kind = strcmp(ord, "nuc") == 0 ? NUC : FRO;
  if (n->kind == NUC || strcmp(ord, "fro") == 0) return ST_OK;
  return st__fail(ST_BAD_VALUE, "%s must be 'fro' or 'nuc', not '%.40s'", name,
                  ord);
}

static st_status read_ord(const st_value *v, const char *name, norm *n) {
  return v->tag == ST_TAG_STRING ? read_name(v->u.string, name, n)
                                 : read_number(v, name, n);
}

static st_status read_dims(const st_tensor *t, st_ints dims, norm *n) {
  uint64_t set;
  if (t->ndim < 2) {
    return st__fail(ST_BAD_SHAPE, "self must have at least 2 dimensions, its "
                    "shape is %s", ST_SHAPE_TEXT(t));
  }
  if (dims.n != 2) {
    return st__fail(ST_BAD_DIM, "dim must list 2 dimensions, not %u", dims.n);
  }
  ST_TRY(st__wrap_dims(dims.p, 2, t->ndim, &set));
  ST_TRY(st__wrap_dim(dims.p[0], t->ndim, &n->rows));
  return st__wrap_dim(dims.p[1], t->ndim, &n->cols);
}

static st_status check_floats(const st_tensor *t) {
  return st__is_inexact(t->dtype) ? ST_OK : st__no_kernel_for(t->dtype);
}

/* The greatest, or least, values along dims; norms are not negative, so the
 * greatest of none is 0. */
static st_tensor *extreme(st_op_scope *c, const st_tensor *t, bool is_least,
                          const int64_t *dims, int n, bool keepdim) {
  if (!st__scope_ok(c)) return NULL;
  int64_t size = 1;
  for (int i = 0; i < n; i++) {
    size *= t->sizes[dims[i] < 0 ? dims[i] + t->ndim : dims[i]];
  }
  return ST_APPLY(c,
                  is_least   ? ST_OP_amin
                  : size > 0 ? ST_OP_amax
                             : ST_OP_sum_dim_IntList,
                  t, st__of_ints(dims, n), st__of_bool(keepdim));
}

static st_tensor *sum_over(st_op_scope *c, const st_tensor *t, int64_t dim,
                           bool keepdim) {
  return ST_APPLY(c, ST_OP_sum_dim_IntList, t, st__of_ints(&dim, 1),
                  st__of_bool(keepdim));
}

/* Sums of absolute values along one dimension, of which the extreme one. */
static st_tensor *sum_norm(st_op_scope *c, const st_tensor *t, const norm *n) {
  const int64_t dims[] = {n->rows, n->cols};
  const st_tensor *sums = sum_over(c, st__apply1(c, ST_OP_abs, t),
                                   n->kind == ONE ? n->rows : n->cols, true);
  return extreme(c, sums, n->is_least, dims, 2, n->keepdim);
}

static st_tensor *move_dims(st_op_scope *c, const st_tensor *t,
                            const int64_t *from, const int64_t *to) {
  return ST_APPLY(c, ST_OP_movedim_intlist, t, st__of_ints(from, 2),
                  st__of_ints(to, 2));
}

static st_tensor *value_norm(st_op_scope *c, const st_tensor *t,
                             const norm *n) {
  const int64_t given[] = {n->rows, n->cols}, ends[] = {-2, -1}, last = -1;
  const st_tensor *s = st__apply1(c, ST_OP_linalg_svdvals,
                                  move_dims(c, t, given, ends));
  st_tensor *out = n->kind == NUC ? sum_over(c, s, last, false)
                                  : extreme(c, s, n->is_least, &last, 1, false);
  if (!n->keepdim) return out;
  for (int i = 0; i < 2; i++) { /* with stride 1 */
    out = ST_APPLY(c, ST_OP_unsqueeze, out, -1);
  }
  return move_dims(c, out, ends, given);
}

static st_tensor *matrix_norm(st_op_scope *c, const st_tensor *t,
                              const norm *n) {
  const int64_t dims[] = {n->rows, n->cols};
  if (n->kind == NUC || n->kind == TWO) return value_norm(c, t, n);
  if (n->kind != FRO) return sum_norm(c, t, n);
  return ST_APPLY(c, ST_OP_linalg_vector_norm, t, 2, st__of_ints(dims, 2),
                  st__of_bool(n->keepdim));
}

/* The arguments behind self and ord. */
static st_status run_norm(const st_tensor *self, const st_value *ord,
                          st_ints dims, bool keepdim, const st_value *dtype,
                          st_value *rets) {
  norm n = {.keepdim = keepdim};
  st_op_scope c = {.n = 0};
  ST_TRY(read_ord(ord, "ord", &n));
  ST_TRY(read_dims(self, dims, &n));
  if (!st__is_none(dtype)) {
    const st_dtype d = (st_dtype)dtype->u.i;
    if (st__is_complex(d) != st__is_complex(self->dtype) ||
        st__promote(d, self->dtype).number != d) {
      return st__fail(ST_BAD_DTYPE, "dtype %s does not fit self, which is %s",
                      st__dtype_name(d), st__dtype_name(self->dtype));
    }
    self = st__apply_to(&c, self, d);
  }
  if (st__scope_ok(&c)) c.status = check_floats(self);
  st_tensor *out = st__scope_ok(&c) ? matrix_norm(&c, self, &n) : NULL;
  return st__scope_return(&c, out, rets);
}

/* ord is a number or a name. */
ST_TYPED_ARGS(st__box_linalg_matrix_norm, run_norm,
              (TENSOR, VALUE, INTS, BOOL, VALUE))

static st_status check_rank(const st_tensor *t, const st_value *ord,
                            const st_value *dim) {
  if (!st__is_none(dim)) {
    if (st__is_none(ord) || dim->len == 1 || dim->len == 2) return ST_OK;
    return st__fail(ST_BAD_DIM, "dim must list 1 or 2 dimensions, not %u",
                    dim->len);
  }
  if (st__is_none(ord) || t->ndim == 1 || t->ndim == 2) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "without dim, self must have 1 or 2 "
                  "dimensions, its shape is %s", ST_SHAPE_TEXT(t));
}

ST_BOXED(st__box_linalg_norm) {
  static const int64_t both[] = {0, 1};
  ST_ARGS(TENSOR(self), BOXED(ord), BOXED(dim), BOXED(keepdim), BOXED(dtype));
  ST_TRY(check_rank(self, ord, dim));
  const bool is_matrix = st__is_none(dim) ? self->ndim == 2 : dim->len == 2;
  if (ord->tag == ST_TAG_STRING || (is_matrix && !st__is_none(ord))) {
    const st_ints dims = st__is_none(dim) ? (st_ints){both, 2}
                                          : (st_ints){dim->u.ints, dim->len};
    return run_norm(self, ord, dims, st__to_bool(keepdim, false), dtype, rets);
  }
  return st__invoke(ST_OP_linalg_vector_norm,
                    ST_VALUES(self, st__is_none(ord) ? st__of_int(2) : *ord,
                              *dim, *keepdim, *dtype),
                    rets);
}

/* -- Condition numbers ---------------------------------------------------- */

/* The greatest singular value divided by the least, or the inverse of that. */
static st_tensor *value_cond(st_op_scope *c, const st_tensor *t,
                             bool is_least) {
  const int64_t last = -1;
  const st_tensor *s = st__apply1(c, ST_OP_linalg_svdvals, t);
  const st_tensor *most = extreme(c, s, is_least, &last, 1, false);
  return st__div(c, most, extreme(c, s, !is_least, &last, 1, false));
}

/* t, or `value` in the matrices, or elements, where mask is true. */
static st_tensor *masked(st_op_scope *c, const st_tensor *t,
                         const st_tensor *mask, double value) {
  return ST_APPLY(c, ST_OP_masked_fill_Scalar, t, mask, value);
}

/* The norm times that of the inverse; inf for a singular matrix. */
static st_tensor *norm_cond(st_op_scope *c, const st_tensor *t,
                            const norm *n) {
  st_tensor *inverse[2] = {NULL};
  const st_value arg = st__of_tensor(t), last = st__of_int(-1);
  st__apply_multi(c, ST_OP_linalg_inv_ex, 1, &arg, 2, inverse);
  const st_tensor *singular = ST_APPLY(c, ST_OP_ne_Scalar, inverse[1], 0);
  const st_tensor *wide = ST_APPLY(
    c, ST_OP_unsqueeze, ST_APPLY(c, ST_OP_unsqueeze, singular, last), last);
  const st_tensor *other = matrix_norm(c, masked(c, inverse[0], wide, 0), n);
  const st_tensor *product = st__mul(c, matrix_norm(c, t, n), other);
  return masked(c, product, singular, INFINITY);
}

/* Condition numbers of matrices without elements: 0. */
static st_tensor *no_cond(st_op_scope *c, const st_tensor *t) {
  return ST_APPLY(c, ST_OP_new_zeros, t, st__of_ints(t->sizes, t->ndim - 2),
                  st__real_dtype(t->dtype));
}

/* p is a number, a name or none. */
ST_BOXED(st__box_linalg_cond) {
  ST_ARGS(TENSOR(self), BOXED(p));
  static const int64_t last[] = {-2, -1};
  norm n = {.kind = TWO};
  st_op_scope c = {.n = 0};
  ST_TRY(check_floats(self));
  ST_TRY(read_dims(self, (st_ints){last, 2}, &n));
  if (!st__is_none(p)) ST_TRY(read_ord(p, "p", &n));
  if (self->numel == 0) return st__scope_return(&c, no_cond(&c, self), rets);
  return st__scope_return(&c, n.kind == TWO ? value_cond(&c, self, n.is_least)
                                            : norm_cond(&c, self, &n), rets);
}

/* -- Ranks and pseudoinverses --------------------------------------------- */

/* Values below the larger of atol and rtol times the greatest one count as
 * zero. */
typedef struct tolerance { double atol, rtol; } tolerance;

static double epsilon_of(st_dtype d) {
  return d == ST_FLOAT64 || d == ST_COMPLEX128 ? 0x1p-52 : 0x1p-23;
}

/* rtol is, unless given, 0 if atol is given and positive, else the dtype's
 * epsilon times the larger size. */
static tolerance read_tolerance(const st_tensor *t, const st_value *atol,
                                const st_value *rtol) {
  const int64_t m = t->sizes[t->ndim - 2], n = t->sizes[t->ndim - 1];
  tolerance out = {st__to_float(atol, 0), 0};
  if (out.atol <= 0) out.rtol = epsilon_of(t->dtype) * (double)(m > n ? m : n);
  out.rtol = st__to_float(rtol, out.rtol);
  return out;
}

/* Which of the values, not negative, count. */
static st_tensor *counted(st_op_scope *c, const st_tensor *s, tolerance tol) {
  const int64_t last = -1;
  const st_tensor *most = extreme(c, s, false, &last, 1, true);
  const st_tensor *least =
    ST_APPLY(c, ST_OP_clamp_min,
             ST_APPLY(c, ST_OP_mul_Scalar, most, st__of_float(tol.rtol)),
             st__of_float(tol.atol));
  return st__apply2(c, ST_OP_gt_Tensor, s, least);
}

static st_status check_matrices(const st_tensor *t) {
  norm n;
  ST_TRY(check_floats(t));
  return read_dims(t, (st_ints){(const int64_t[]){-2, -1}, 2}, &n);
}

static st_status rank(const st_tensor *t, tolerance tol, bool hermitian,
                      st_value *rets) {
  st_op_scope c = {.n = 0};
  const bool is_empty = t->sizes[t->ndim - 1] == 0 ||
                        t->sizes[t->ndim - 2] == 0;
  if (is_empty) {
    return st__scope_return(&c,
                            ST_APPLY(&c, ST_OP_new_zeros, t,
                                     st__of_ints(t->sizes, t->ndim - 2),
                                     ST_INT64),
                            rets);
  }
  const st_tensor *s = hermitian
    ? st__apply1(&c, ST_OP_abs, st__apply1(&c, ST_OP_linalg_eigvalsh, t))
    : st__apply1(&c, ST_OP_linalg_svdvals, t);
  return st__scope_return(&c, sum_over(&c, counted(&c, s, tol), -1, false),
                          rets);
}

ST_BOXED(st__box_linalg_matrix_rank) {
  ST_ARGS(TENSOR(self), FLOAT(tol));
  ST_TRY(check_matrices(self));
  return rank(self, (tolerance){tol, 0}, st__next_bool(&args), rets);
}

ST_BOXED(st__box_linalg_matrix_rank_float) {
  ST_ARGS(TENSOR(self), BOXED(atol), BOXED(rtol));
  ST_TRY(check_matrices(self));
  return rank(self, read_tolerance(self, atol, rtol), st__next_bool(&args),
              rets);
}

/* 1 / s where it counts, else 0, as a row. */
static st_tensor *inverted(st_op_scope *c, const st_tensor *s,
                           const st_tensor *counts) {
  return ST_APPLY(c, ST_OP_unsqueeze,
                  ST_APPLY(c, ST_OP_where_ScalarOther, counts,
                           st__apply1(c, ST_OP_reciprocal, s), 0),
                  -2);
}

/* The sizes of the transposed matrices of t. */
static void turned_sizes(const st_tensor *t, int64_t *sizes) {
  const int n = t->ndim;
  for (int d = 0; d < n - 2; d++) sizes[d] = t->sizes[d];
  sizes[n - 2] = t->sizes[n - 1];
  sizes[n - 1] = t->sizes[n - 2];
}

/* The implementation of linalg_pinv: V diag(1 / S) U'. */
ST_BOXED(st__box_linalg_pinv_implementation) {
  ST_ARGS(TENSOR(self));
  tolerance tol;
  ST_ARGS_TO(tol, FLOAT(atol), FLOAT(rtol));
  ST_ARGS(BOOL(hermitian));
  st_op_scope c = {.n = 0};
  st_tensor *f[3] = {NULL};
  if (self->numel == 0 && self->ndim >= 2) { /* else svd raises */
    int64_t sizes[ST_MAX_DIMS];
    turned_sizes(self, sizes);
    return st__scope_return(
      &c, ST_APPLY(&c, ST_OP_new_zeros, self, st__of_ints(sizes, self->ndim)),
      rets);
  }
  const st_value arg[] = {st__of_tensor(self), st__of_bool(false)};
  const st_tensor *s, *left, *right;
  if (hermitian) {
    st__apply_multi(&c, ST_OP_linalg_eigh, 1, arg, 2, f);
    s = f[0];
    left = right = f[1];
  } else {
    st__apply_multi(&c, ST_OP_linalg_svd, 2, arg, 3, f);
    s = f[1];
    right = f[0];
    left = st__adjoint(&c, f[2]);
  }
  const st_tensor *counts = counted(&c, hermitian ? st__apply1(&c, ST_OP_abs, s)
                                                  : s, tol);
  const st_tensor *scaled = st__mul(&c, left, inverted(&c, s, counts));
  return st__scope_return(&c, st__times(&c, scaled, st__adjoint(&c, right)),
                          rets);
}

static st_status pinv(const st_tensor *self, tolerance tol, bool hermitian,
                      st_value *rets) {
  return st__invoke(ST_OP__linalg_pinv,
                    ST_VALUES(self, st__of_float(tol.atol),
                              st__of_float(tol.rtol), st__of_bool(hermitian)),
                    rets);
}

ST_BOXED(st__box_linalg_pinv) {
  ST_ARGS(TENSOR(self), FLOAT(rcond));
  ST_TRY(check_matrices(self));
  return pinv(self, (tolerance){0, rcond}, st__next_bool(&args), rets);
}

ST_BOXED(st__box_linalg_pinv_float) {
  ST_ARGS(TENSOR(self), BOXED(atol), BOXED(rtol));
  ST_TRY(check_matrices(self));
  return pinv(self, read_tolerance(self, atol, rtol), st__next_bool(&args),
              rets);
}

static st_status pinverse(const st_tensor *self, double rcond, st_value *rets) {
  ST_TRY(check_matrices(self));
  return pinv(self, (tolerance){0, rcond}, false, rets);
}
ST_TYPED_ARGS(st__box_pinverse, pinverse, (TENSOR, FLOAT))

/* -- Tolerances for each matrix ------------------------------------------- */

/* args: atol, rtol, which broadcast to the batch; as those of read_tolerance,
 * in float64. */
static void tensor_tolerances(st_op_scope *c, const st_tensor *self,
                              const st_tensor *atol, const st_tensor *rtol,
                              const st_tensor *out[2]) {
  const tolerance usual = read_tolerance(self, &(st_value){.tag = ST_TAG_NONE},
                                         &(st_value){.tag = ST_TAG_NONE});
  const st_tensor *none = ST_APPLY(c, ST_OP_full, st__of_ints(NULL, 0), 0,
                                   ST_FLOAT64, st__none(), self->device);
  out[0] = atol ? st__apply_to(c, atol, ST_FLOAT64) : none;
  if (rtol) {
    out[1] = st__apply_to(c, rtol, ST_FLOAT64);
    return;
  }
  out[1] = st__apply_to(c,
                        ST_APPLY(c, ST_OP_where_Scalar,
                                 ST_APPLY(c, ST_OP_gt_Scalar, out[0], 0),
                                 st__of_float(0), st__of_float(usual.rtol)),
                        ST_FLOAT64);
}

static st_status tensor_rank(const st_tensor *self, const st_tensor *atol,
                             const st_tensor *rtol, bool hermitian,
                             st_value *rets) {
  const st_tensor *tol[2], *least = NULL;
  const int64_t last = -1;
  ST_TRY(check_matrices(self));
  if (self->sizes[self->ndim - 1] == 0 || self->sizes[self->ndim - 2] == 0) {
    return rank(self, (tolerance){0, 0}, hermitian, rets);
  }
  st_op_scope c = {.n = 0};
  tensor_tolerances(&c, self, atol, rtol, tol);
  const st_tensor *s = hermitian
    ? st__apply1(&c, ST_OP_abs, st__apply1(&c, ST_OP_linalg_eigvalsh, self))
    : st__apply1(&c, ST_OP_linalg_svdvals, self);
  for (int i = 0; i < 2; i++) {
    tol[i] = ST_APPLY(&c, ST_OP_unsqueeze, tol[i], -1);
  }
  least = st__mul(&c, tol[1], extreme(&c, s, false, &last, 1, true));
  least = st__apply2(&c, ST_OP_maximum, least, tol[0]);
  return st__scope_return(
    &c, sum_over(&c, st__apply2(&c, ST_OP_gt_Tensor, s, least), -1, false),
    rets);
}

/* args: self, atol, rtol, hermitian */
ST_TYPED_ARGS(st__box_linalg_matrix_rank_tensor, tensor_rank,
              (TENSOR, OPT_TENSOR, OPT_TENSOR, BOOL))

ST_BOXED(st__box_linalg_matrix_rank_tol_tensor) {
  ST_ARGS(TENSOR(self), TENSOR(tol), BOOL(hermitian));
  st_op_scope c = {.n = 0};
  const st_tensor *none = st__apply1(&c, ST_OP_zeros_like, tol);
  st_value found;
  if (st__scope_ok(&c)) c.status = tensor_rank(self, tol, none, hermitian,
                                               &found);
  if (!st__scope_ok(&c)) return st__scope_end(&c, 0, NULL, rets);
  c.t[c.n++] = found.u.tensor;
  return st__scope_return(&c, found.u.tensor, rets);
}

/* The numbers of t, broadcast to the batch. */
static const st_tensor *per_matrix(st_op_scope *c, st_ints batch,
                                   const st_tensor *t) {
  t = ST_APPLY(c, ST_OP_expand, t, st__of_ints(batch.p, (int)batch.n));
  t = st__scope_here(c, st__apply_flatten(c, t));
  if (st__scope_ok(c) && t->numel > 0 && !st__data(t)) {
    c->status = st__fail(ST_BAD_VALUE, "a tolerance is on device '%s', but "
                         "its elements are read", st__device_name(t->device));
  }
  return t;
}

/* The batch dimensions of the result: those of self broadcast with those of
 * the tolerances. */
static st_ints result_batch(st_op_scope *c, const st_tensor *self,
                            const st_tensor *const tol[2], int64_t *sizes) {
  int n = self->ndim - 2;
  for (int d = 0; d < n; d++) sizes[d] = self->sizes[d];
  for (int i = 0; st__scope_ok(c) && i < 2; i++) {
    c->status = st__broadcast_shape(n, sizes, tol[i]->ndim, tol[i]->sizes,
                                    sizes, &n);
  }
  if (st__scope_ok(c) && n > ST_MAX_DIMS - 2) {
    c->status = st__fail(ST_BAD_SHAPE, "the result has more than %d dimensions",
                         ST_MAX_DIMS);
  }
  return (st_ints){sizes, st__scope_ok(c) ? (uint32_t)n : 0};
}

/* Matrices with tolerances of their own, one after another: the derivative is
 * that of _linalg_pinv. */
static st_status tensor_pinv(const st_tensor *self, const st_tensor *atol,
                             const st_tensor *rtol, bool hermitian,
                             st_value *rets) {
  const st_tensor *tol[2];
  st_value list = {.tag = ST_TAG_NONE};
  ST_TRY(check_matrices(self));
  if (self->numel == 0 || !st__has_elements(self)) {
    return pinv(self, (tolerance){0, 0}, hermitian, rets);
  }
  st_op_scope c = {.n = 0};
  tensor_tolerances(&c, self, atol, rtol, tol);
  int64_t sizes[ST_MAX_DIMS];
  const st_ints batch = result_batch(&c, self, tol, sizes);
  for (int i = 0; i < 2; i++) tol[i] = per_matrix(&c, batch, tol[i]);
  const int64_t m = self->sizes[self->ndim - 2];
  const int64_t n = self->sizes[self->ndim - 1];
  const int ndim = (int)batch.n + 2;
  sizes[ndim - 2] = m;
  sizes[ndim - 1] = n;
  const st_tensor *all =
    ST_APPLY(&c, ST_OP_expand, self, st__of_ints(sizes, ndim));
  all = ST_APPLY(&c, ST_OP_reshape, all, ST_INTS(-1, m, n));
  if (st__scope_ok(&c)) {
    c.status = st__value_new_tensors((int)all->sizes[0], &list);
  }
  for (uint32_t i = 0; st__scope_ok(&c) && i < list.len; i++) {
    st_op_scope round = {.n = 0};
    const tolerance own = {((double *)(void *)st__data(tol[0]))[i],
                           ((double *)(void *)st__data(tol[1]))[i]};
    const st_tensor *matrix = ST_APPLY(&round, ST_OP_select_int, all, 0, i);
    st_value found;
    if (st__scope_ok(&round)) {
      round.status = pinv(matrix, own, hermitian, &found);
      if (st__scope_ok(&round)) list.u.tensors[i] = found.u.tensor;
    }
    c.status = st__scope_end(&round, 0, NULL, rets);
  }
  sizes[ndim - 2] = n;
  sizes[ndim - 1] = m;
  st_tensor *out =
    ST_APPLY(&c, ST_OP_reshape, st__apply(&c, ST_OP_stack, 1, &list),
             st__of_ints(sizes, ndim));
  if (!st__is_none(&list)) st__value_clear(&list);
  return st__scope_return(&c, out, rets);
}

/* args: self, atol, rtol, hermitian */
ST_TYPED_ARGS(st__box_linalg_pinv_tensor, tensor_pinv,
              (TENSOR, OPT_TENSOR, OPT_TENSOR, BOOL))

ST_BOXED_AS(st__box_linalg_pinv_rcond_tensor, tensor_pinv, args[0].u.tensor,
            NULL, args[1].u.tensor, args[2].u.i)
