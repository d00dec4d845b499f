/* LU factors: linalg_lu_factor_ex, linalg_lu_factor, linalg_lu_solve, lu_solve.
 */

#include "op/decompositions/lu.h"

#include <inttypes.h>

#include "op/lapack/blocks.h"
#include "op/decompositions/equations.h"
#include "op/lapack/small_matrices.h"
#include "tensor/view.h"

/* -- Factors -------------------------------------------------------------- */

static int64_t pivots_of(const st_tensor *LU) {
  return st__rows(LU) < st__cols(LU) ? st__rows(LU) : st__cols(LU);
}

static void factor(const st_lapack_job *j, int64_t i, char *scratch) {
  const st_lu *f = j->ctx;
  const st_part a = st__columns_of(f->LU, i);
  const bool whole = st__getrf(j, &a, st__pivots_at(f->pivots, i),
                               (blasint *)(void *)st__data(f->info) + i,
                               scratch);
  (void)whole; /* the job says if it was interrupted */
}

static st_status factor_small(const st_tensor *A, const st_lu *f) {
  st_small_call c = st__small_call(ST_K_small_lu, A, 0);
  st__small_output(&c, 0, f->LU, false);
  st__small_values(&c, 1, f->pivots, 1);
  st__small_values(&c, 2, f->info, 0);
  st_status status = st__small_input(&c, 3, A, false);
  if (status == ST_OK) status = st__small_run(&c);
  st__small_end(&c);
  return status;
}

st_status st__lu_factor(const st_tensor *A, const st_lu *f) {
  if (st__is_small(A)) return factor_small(A, f);
  const double k = (double)pivots_of(A);
  st_lapack_job j = {.fn = factor, .ctx = f, .dtype = A->dtype,
                     .count = st__batch_count(A),
                     .cost = k * (double)(st__rows(A) * st__cols(A)) / 2,
                     .bytes = st__getrf_bytes(A->dtype, st__rows(A),
                                              st__cols(A)),
                     .is_blocked = st__is_blocked(st__rows(A), st__cols(A))};
  ST_TRY(st__lapack_begin(&j));
  st_status status = st__copy_unchecked(f->LU, A);
  if (status == ST_OK) status = st__lapack_run(&j);
  st__lapack_end(&j);
  return status;
}

st_status st__lu_factor_new(const st_tensor *A, st_lu *f) {
  st_tensor *transposed = NULL, *info = NULL;
  st_status status;
  st_lu all = *f;
  f->LU = f->pivots = NULL;
  f->is_transposed = true;
  ST_TRY_FAIL(st__view_transpose(A, -2, -1, &transposed));
  if (!all.info) {
    ST_TRY_FAIL(st__tensor_empty(ST_DEVICE_CPU, ST_INT32, A->ndim - 2,
                                 A->sizes, ST_FORMAT_CONTIGUOUS, &info));
    all.info = info;
  }
  ST_TRY_FAIL(st__new_columns(A->dtype, A->ndim, transposed->sizes, &f->LU));
  ST_TRY_FAIL(st__tensor_empty(ST_DEVICE_CPU, ST_INT32, A->ndim - 1, A->sizes,
                               ST_FORMAT_CONTIGUOUS, &f->pivots));
  all.LU = f->LU;
  all.pivots = f->pivots;
  status = st__lu_factor(transposed, &all);
fail:
  st__tensor_release(&transposed);
  st__tensor_release(&info);
  if (status != ST_OK) st__lu_release(f);
  return status;
}

void st__lu_release(st_lu *f) {
  st__tensor_release(&f->LU);
  st__tensor_release(&f->pivots);
}

/* -- linalg_lu_factor_ex, linalg_lu_factor -------------------------------- */

static bool wants_errors(const st_run *r) {
  return r->nouts == 2 || st__to_bool(&r->args[2], false);
}

/* Of linalg_lu_factor, too, which has no info. */
st_status st__linalg_lu_factor_meta(st_run *r) {
  const st_tensor *A = st__arg_tensor(r, 0);
  int64_t sizes[ST_MAX_DIMS];
  ST_TRY(st__check_matrices(A, "A"));
  if (!st__to_bool(&r->args[1], true)) {
    return st__fail(ST_BAD_VALUE, "pivot must be true: there are no factors "
                    "without pivots on the CPU");
  }
  memcpy(sizes, A->sizes, (size_t)A->ndim * sizeof *sizes);
  sizes[A->ndim - 2] = pivots_of(A);
  ST_TRY(st__set_columns(r, 0, A->ndim, A->sizes, A->dtype));
  ST_TRY(st__set_rows(r, 1, A->ndim - 1, sizes, ST_INT32));
  if (r->nouts == 3) ST_TRY(st__set_rows(r, 2, A->ndim - 2, sizes, ST_INT32));
  for (int i = 0; wants_errors(r) && i < r->nouts; i++) {
    ST_TRY(st__write_apart(r, i));
  }
  return ST_OK;
}

st_status st__linalg_lu_factor_impl(st_run *r) {
  const st_tensor *A = st__arg_tensor(r, 0);
  st_lu f = {.LU = r->out[0], .pivots = r->out[1]};
  st_tensor *own = NULL;
  st_status status = ST_OK;
  if (r->nouts < 3) {
    ST_TRY(st__tensor_empty(ST_DEVICE_CPU, ST_INT32, A->ndim - 2, A->sizes,
                            ST_FORMAT_CONTIGUOUS, &own));
  }
  f.info = own ? own : r->out[2];
  ST_TRY_FAIL(st__lu_factor(A, &f));
  if (wants_errors(r)) status = st__check_info(f.info, "A", ST_SINGULAR);
fail:
  st__tensor_release(&own);
  return status;
}

/* -- Equations ------------------------------------------------------------ */

/* What a call of getrs gets: op(LU) Y = Y. */
typedef struct lu_system {
  const st_tensor *LU, *pivots;
  st_tensor *Y;
  char trans;
  bool conjugates; /* Y before and after */
} lu_system;

static void solve(const st_lapack_job *j, int64_t i, char *scratch) {
  const lu_system *s = j->ctx;
  const st_part lu = st__columns_of(s->LU, i), y = st__columns_of(s->Y, i);
  (void)scratch;
  if (s->conjugates) st__part_conjugate(j, &y);
  const bool whole = st__getrs(j, &lu, st__pivots_at(s->pivots, i), s->trans,
                               &y);
  if (whole && s->conjugates) st__part_conjugate(j, &y);
}

/* X' is solved for instead, with the transposed matrix, unless left. */
static char trans_of(const st_lu_equation *e) {
  if (e->adjoint) return e->left ? 'C' : 'N';
  return e->left == e->f->is_transposed ? 'T' : 'N';
}

static st_status run_system(lu_system *s, const st_tensor *B) {
  const double n = (double)st__rows(s->Y);
  st_lapack_job j = {.fn = solve, .ctx = s, .dtype = s->Y->dtype,
                     .count = st__batch_count(s->Y),
                     .cost = n * n * (double)st__cols(s->Y),
                     .is_blocked = st__is_blocked(st__rows(s->Y),
                                                  st__cols(s->Y))};
  ST_TRY(st__lapack_begin(&j));
  st_status status = st__copy_unchecked(s->Y, B);
  if (status == ST_OK) status = st__lapack_run(&j);
  st__lapack_end(&j);
  return status;
}

/* t, retained, or transposed; owned. */
static st_status transpose_if(st_tensor *t, bool transposes, st_tensor **out) {
  if (transposes) return st__view_transpose(t, -2, -1, out);
  st__tensor_retain(t);
  *out = t;
  return ST_OK;
}

st_status st__lu_solve(const st_lu_equation *e, const st_tensor *B,
                       st_tensor *X) {
  lu_system s = {.trans = trans_of(e),
                 .conjugates = e->adjoint && !e->left &&
                               st__is_complex(X->dtype)};
  st_tensor *wide = NULL, *b = NULL, *x = NULL, *LU = NULL, *pivots = NULL;
  int64_t sizes[ST_MAX_DIMS], strides[ST_MAX_DIMS];
  st_status status;
  if (X->numel == 0) return ST_OK;
  ST_TRY_FAIL(st__view_expand(B, X->ndim, X->sizes, &wide));
  ST_TRY_FAIL(transpose_if(wide, !e->left, &b));
  ST_TRY_FAIL(transpose_if(X, !e->left, &x));
  st__batch_sizes(e->f->LU, X, sizes);
  ST_TRY_FAIL(st__as_columns(e->f->LU, X->ndim, sizes, &LU));
  ST_TRY_FAIL(st__spread_pivots(e->f->pivots, X, &pivots));
  st__column_strides(x->ndim, x->sizes, strides);
  if (st__same_dims(x->ndim, x->strides, strides)) {
    ST_TRY_FAIL(transpose_if(x, false, &s.Y));
  } else {
    ST_TRY_FAIL(st__new_columns(x->dtype, x->ndim, x->sizes, &s.Y));
  }
  s.LU = LU;
  s.pivots = pivots;
  ST_TRY_FAIL(run_system(&s, b));
  if (s.Y != x) status = st__copy_unchecked(x, s.Y);
fail:
  st__tensor_release(&wide);
  st__tensor_release(&b);
  st__tensor_release(&x);
  st__tensor_release(&LU);
  st__tensor_release(&pivots);
  st__tensor_release(&s.Y);
  return status;
}

/* -- linalg_lu_solve ------------------------------------------------------ */

st_status st__check_pivots(const st_tensor *LU, const char *name,
                           const st_tensor *pivots, const char *pivots_name) {
  if (pivots->dtype != ST_INT32) {
    return st__fail(ST_BAD_DTYPE, "%s must be int32, not %s", pivots_name,
                    st__dtype_name(pivots->dtype));
  }
  if (pivots->ndim == LU->ndim - 1 &&
      st__same_dims(LU->ndim - 2, pivots->sizes, LU->sizes) &&
      pivots->sizes[pivots->ndim - 1] == pivots_of(LU)) {
    return ST_OK;
  }
  return st__fail(ST_BAD_SHAPE, "%s must have a number for each element of the "
                  "diagonal of %s, their shapes are %s and %s", pivots_name,
                  name, ST_SHAPE_TEXT(pivots), ST_SHAPE_TEXT(LU));
}

st_status st__linalg_lu_solve_meta(st_run *r) {
  const st_tensor *LU = st__arg_tensor(r, 0), *B = st__arg_tensor(r, 2);
  const bool left = st__to_bool(&r->args[3], true);
  int64_t sizes[ST_MAX_DIMS];
  int ndim;
  ST_TRY(st__check_square(LU, "LU"));
  ST_TRY(st__check_matrices(B, "B"));
  ST_TRY(st__check_equal_dtypes(LU, "LU", B, "B"));
  ST_TRY(st__check_pivots(LU, "LU", st__arg_tensor(r, 1), "pivots"));
  ST_TRY(st__equation_sizes(LU, "LU", B, left, sizes, &ndim));
  return left ? st__set_columns(r, 0, ndim, sizes, B->dtype)
              : st__set_rows(r, 0, ndim, sizes, B->dtype);
}

st_status st__copy_pivots(const st_tensor *pivots, int64_t rows,
                          st_tensor **out) {
  ST_TRY(st__clone(pivots, ST_INT32, ST_FORMAT_CONTIGUOUS, out));
  const int32_t *p = (const int32_t *)(const void *)st__data(*out);
  for (int64_t i = 0; i < pivots->numel; i++) {
    if (p[i] >= 1 && p[i] <= rows) continue;
    const st_status status = st__fail(ST_BAD_INDEX, "pivots must be from 1 to "
                                      "%" PRId64 ", one is %d", rows,
                                      (int)p[i]);
    st__tensor_release(out);
    return status;
  }
  return ST_OK;
}

st_status st__spread_pivots(const st_tensor *pivots, const st_tensor *X,
                            st_tensor **out) {
  const int64_t n = pivots->sizes[pivots->ndim - 1];
  int64_t sizes[ST_MAX_DIMS];
  st_tensor *wide = NULL;
  if (pivots->numel == n) {
    return st__contiguous(pivots, ST_FORMAT_CONTIGUOUS, out);
  }
  for (int d = 0; d < X->ndim - 2; d++) sizes[d] = X->sizes[d];
  sizes[X->ndim - 2] = n;
  ST_TRY(st__view_expand(pivots, X->ndim - 1, sizes, &wide));
  const st_status status = st__contiguous(wide, ST_FORMAT_CONTIGUOUS, out);
  st__tensor_release(&wide);
  return status;
}

st_status st__linalg_lu_solve_impl(st_run *r) {
  st_lu f = {.LU = st__arg_tensor(r, 0)};
  const st_lu_equation e = {&f, st__to_bool(&r->args[3], true),
                            st__to_bool(&r->args[4], false)};
  ST_TRY(st__copy_pivots(st__arg_tensor(r, 1), st__cols(f.LU), &f.pivots));
  const st_status status = st__lu_solve(&e, st__arg_tensor(r, 2), r->out[0]);
  st__tensor_release(&f.pivots);
  return status;
}

/* The same, with B as self. */
ST_BOXED(st__box_lu_solve) {
  return st__invoke(ST_OP_linalg_lu_solve, ST_VALUES(args[1], args[2], args[0]),
                    rets);
}
