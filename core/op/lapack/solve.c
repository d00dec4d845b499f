/* Equations: linalg_solve_ex, linalg_solve.
 */

#include "op/lapack/equations.h"
#include "op/lapack/lu.h"
#include "op/lapack/small.h"
#include "tensor/view.h"

/* -- linalg_solve_ex ------------------------------------------------------ */

/* True if B is a batch of vectors, as NumPy defines it. */
static bool is_vectors(const st_tensor *A, const st_tensor *B) {
  return B->ndim == 1 || st__has_sizes(B, A->ndim - 1, A->sizes);
}

/* t, retained, or with columns of its last dimension; owned. */
static st_status as_matrices(st_tensor *t, bool vectors, st_tensor **out) {
  if (vectors) return st__view_unsqueeze(t, -1, out);
  st__tensor_retain(t);
  *out = t;
  return ST_OK;
}

static st_status result_sizes(const st_tensor *A, st_tensor *B, bool left,
                              int64_t *sizes, int *ndim) {
  const bool vectors = is_vectors(A, B);
  st_tensor *b = NULL;
  st_status status;
  if (vectors && !left) {
    return st__fail(ST_BAD_SHAPE, "B of shape %s holds vectors, which have no "
                    "matrix on their right", ST_SHAPE_TEXT(B));
  }
  ST_TRY(as_matrices(B, vectors, &b));
  status = st__check_matrices(b, "B");
  if (status == ST_OK) {
    status = st__equation_sizes(A, "A", b, left, sizes, ndim);
  }
  st__tensor_release(&b);
  if (vectors) --*ndim;
  return status;
}

st_status st__linalg_solve_ex_meta(st_run *r) {
  st_tensor *A = st__arg_tensor(r, 0), *B = st__arg_tensor(r, 1);
  const bool left = st__to_bool(&r->args[2], true);
  int64_t sizes[ST_MAX_DIMS];
  int ndim = 0;
  ST_TRY(st__check_square(A, "A"));
  ST_TRY(st__check_equal_dtypes(A, "A", B, "B"));
  ST_TRY(result_sizes(A, B, left, sizes, &ndim));
  ST_TRY(left ? st__set_columns(r, 0, ndim, sizes, B->dtype)
              : st__set_rows(r, 0, ndim, sizes, B->dtype));
  ST_TRY(st__set_rows(r, 1, A->ndim - 2, A->sizes, ST_INT32));
  return st__to_bool(&r->args[3], false) ? st__write_apart(r, 1) : ST_OK;
}

/* True if each of A's matrices has an X, and the kernel can solve for it. The
 * vectors of a batch lie in the columns of an X of two dimensions. */
static bool is_small(const st_tensor *A, const st_tensor *X) {
  return st__is_small(A) && X->numel > 0 &&
         st__batch_count(A) == st__batch_count(X) && st__is_spaced(X);
}

/* X A = B: the transposed matrices are in A' X' = B'. B has X's sizes. */
static st_status solve_small(const st_tensor *A, const st_tensor *B, bool left,
                             st_tensor *X, st_tensor *info) {
  const int64_t columns = left ? st__cols(X) : st__rows(X);
  st_small_call c = st__small_call(ST_K_small_solve, A, columns);
  st_status status;
  st__small_output(&c, 0, X, !left);
  st__small_values(&c, 1, info, 0);
  ST_TRY_FAIL(st__small_input(&c, 2, A, !left));
  ST_TRY_FAIL(st__small_input(&c, 3, B, !left));
  status = st__small_run(&c);
fail:
  st__small_end(&c);
  return status;
}

static st_status solve_all(const st_tensor *A, const st_tensor *B, bool left,
                           bool check_errors, st_tensor *X, st_tensor *info) {
  st_lu f = {.info = info};
  const st_lu_equation e = {&f, left, false};
  st_status status;
  ST_TRY_FAIL(st__lu_factor_new(A, &f));
  if (check_errors) ST_TRY_FAIL(st__check_info(info, "A", ST_SINGULAR));
  status = st__lu_solve(&e, B, X);
fail:
  st__lu_release(&f);
  return status;
}

st_status st__linalg_solve_ex_impl(st_run *r) {
  st_tensor *A = st__arg_tensor(r, 0), *B = st__arg_tensor(r, 1);
  const bool vectors = is_vectors(A, B), left = st__to_bool(&r->args[2], true);
  const bool check_errors = st__to_bool(&r->args[3], false);
  st_tensor *const info = r->out[1];
  st_tensor *b = NULL, *x = NULL, *wide = NULL;
  st_status status;
  ST_TRY_FAIL(as_matrices(B, vectors, &b));
  ST_TRY_FAIL(as_matrices(r->out[0], vectors, &x));
  if (is_small(A, x)) {
    ST_TRY_FAIL(st__view_expand(b, x->ndim, x->sizes, &wide));
    ST_TRY_FAIL(solve_small(A, wide, left, x, info));
    if (check_errors) status = st__check_info(info, "A", ST_SINGULAR);
  } else {
    status = solve_all(A, b, left, check_errors, x, info);
  }
fail:
  st__tensor_release(&b);
  st__tensor_release(&x);
  st__tensor_release(&wide);
  return status;
}

/* The gradients of A and B. */
ST_BOXED(st__box_linalg_solve_backward) {
  const st_tensor *grad = st__next_tensor(&args);
  const st_tensor *A = st__next_tensor(&args), *X = st__next_tensor(&args);
  const bool left = st__next_bool(&args);
  const bool vectors = X->ndim < A->ndim;
  st_op_scope c = {.status = ST_OK};
  st_tensor *out[2], *solved[2];
  if (vectors) {
    grad = st__apply_with(&c, ST_OP_unsqueeze, grad, st__of_int(-1));
    X = st__apply_with(&c, ST_OP_unsqueeze, X, st__of_int(-1));
  }
  const st_value solve[] = {st__of_tensor(st__apply1(&c, ST_OP_mH, A)),
                            st__of_tensor(grad), st__of_bool(left)};
  st__apply_multi(&c, ST_OP_linalg_solve_ex, 3, solve, 2, solved);
  out[0] = st__matrix_gradient(&c, solved[0], X, left);
  out[1] = !vectors ? solved[0]
    : st__apply_with(&c, ST_OP_squeeze_dim, solved[0], st__of_int(-1));
  return st__scope_end(&c, 2, out, rets);
}

/* -- linalg_solve --------------------------------------------------------- */

ST_BOXED(st__box_linalg_solve) {
  const st_value ex[] = {args[0], args[1], args[2], st__of_bool(true)};
  st_op_scope c = {.status = ST_OK};
  st_tensor *out[2];
  st__apply_multi(&c, ST_OP_linalg_solve_ex, 4, ex, 2, out);
  return st__scope_return(&c, out[0], rets);
}
