/* Helpers for the derivatives of QR, eigenvalues and singular values.
 *
 * Note [Phases of complex vectors]
 * LAPACK returns complex eigenvectors and singular vectors with some phase out
 * of many. A loss that depends on it has no gradient, and the imaginary part of
 * the diagonal of V' grad_V shows that it does.
 */

#include "grad/formula/helpers.h"

/* A row, or a column, of the elements of t for each matrix. */
static st_tensor *row(st_op_scope *c, const st_tensor *t) {
  return ST_APPLY(c, ST_OP_unsqueeze, t, -2);
}
static st_tensor *column(st_op_scope *c, const st_tensor *t) {
  return ST_APPLY(c, ST_OP_unsqueeze, t, -1);
}

/* -- Eigenvalues ---------------------------------------------------------- */

/* x[j] - x[i] at row i and column j, 1 on the diagonal. */
static st_tensor *gaps(st_op_scope *c, const st_tensor *x) {
  const st_tensor *all = st__minus(c, row(c, x), column(c, x));
  const st_tensor *ones = st__apply1(c, ST_OP_ones_like, x);
  return st__plus(c, all, st__apply1(c, ST_OP_diag_embed, ones));
}

/* x / gap; 0 where both are 0, as where no gradient comes from vectors. */
static st_tensor *over_gaps(st_op_scope *c, const st_tensor *x,
                            const st_tensor *gap) {
  const st_tensor *both =
    st__apply2(c, ST_OP_logical_and, ST_APPLY(c, ST_OP_eq_Scalar, x, 0),
               ST_APPLY(c, ST_OP_eq_Scalar, gap, 0));
  const st_tensor *safe = ST_APPLY(c, ST_OP_masked_fill_Scalar, gap, both, 1);
  return st__div(c, x, safe);
}

static st_tensor *diagonal(st_op_scope *c, const st_tensor *t) {
  return ST_APPLY(c, ST_OP_diagonal, t, 0, -2, -1);
}

/* BAD_STATE if an imaginary part of the numbers t is not near 0: Note [Phases
 * of complex vectors]. */
static void check_phases(st_op_scope *c, const st_tensor *t,
                         const char *name) {
  if (!st__scope_ok(c) || !st__is_complex(t->dtype) ||
      !st__has_elements(t)) {
    return;
  }
  const st_tensor *imag = st__apply1(c, ST_OP_imag, t);
  const st_value args[] = {
    st__of_tensor(imag), st__of_tensor(st__apply1(c, ST_OP_zeros_like, imag)),
    st__of_float(1e-2), st__of_float(1e-2)};
  st_value is_close;
  if (!st__scope_ok(c)) return;
  c->status = st__invoke(ST_OP_allclose, 4, args, &is_close);
  if (!st__scope_ok(c) || st__to_bool(&is_close, true)) return;
  c->status = st__fail(ST_BAD_STATE, "the derivative of %s: the vectors are "
                       "given up to a factor of absolute value 1, on which the "
                       "loss depends", name);
}

/* t with zeros on the diagonal. */
static st_tensor *strict(st_op_scope *c, const st_tensor *t) {
  return st__plus(c, ST_APPLY(c, ST_OP_tril, t, -1),
                  ST_APPLY(c, ST_OP_triu, t, 1));
}

/* eigh_back(grad_values, grad_vectors, values, V):
 * V (diag(grad_values) + (V' grad_vectors) / gaps, without its diagonal) V'. */
ST_HELPER_FN(st__help_eigh_back) {
  ST_READ(TENSOR(grad), TENSOR(grad_V), TENSOR(values), TENSOR(V));
  st_op_scope c = {.status = ST_OK};
  const st_tensor *adjoint = st__adjoint(&c, V);
  const st_tensor *of_V = st__times(&c, adjoint, grad_V);
  const st_tensor *quotient = over_gaps(&c, of_V, gaps(&c, values));
  check_phases(&c, diagonal(&c, of_V), "linalg_eigh");
  const st_tensor *inner = st__plus(&c, strict(&c, quotient),
                                    st__apply1(&c, ST_OP_diag_embed, grad));
  return st__scope_return(&c, st__times(&c, V, st__times(&c, inner, adjoint)),
                          out);
}

/* eigvalsh_back(grad, self, UPLO): V diag(grad) V'. */
ST_HELPER_FN(st__help_eigvalsh_back) {
  ST_READ(TENSOR(grad));
  st_op_scope c = {.status = ST_OK};
  st_tensor *f[2];
  st__apply_multi(&c, ST_OP_linalg_eigh,
                  ST_VALUES(args[0].value, args[1].value), 2, f);
  const st_tensor *scaled_V = st__mul(&c, f[1], row(&c, grad));
  return st__scope_return(&c, st__times(&c, scaled_V, st__adjoint(&c, f[1])),
                          out);
}

/* eig_back(grad_values, grad_vectors, values, V):
 * V'^-1 (diag(grad_values) + (D - V' V Re diag(D)) / conj(gaps), without its
 * diagonal) V', where D = V' grad_V. */
ST_HELPER_FN(st__help_eig_back) {
  ST_READ(TENSOR(grad), TENSOR(grad_V), TENSOR(values), TENSOR(V));
  st_op_scope c = {.status = ST_OK};
  const st_tensor *adjoint = st__adjoint(&c, V);
  const st_tensor *of_V = st__times(&c, adjoint, grad_V);
  const st_tensor *lengths = diagonal(&c, of_V);
  check_phases(&c, lengths, "linalg_eig");
  const st_tensor *scaled_V =
    st__mul(&c, V, row(&c, st__apply1(&c, ST_OP_real, lengths)));
  const st_tensor *quotient = over_gaps(
    &c, st__minus(&c, of_V, st__times(&c, adjoint, scaled_V)),
    st__apply1(&c, ST_OP_conj, gaps(&c, values)));
  const st_tensor *inner = st__plus(&c, strict(&c, quotient),
                                    st__apply1(&c, ST_OP_diag_embed, grad));
  return st__scope_return(&c, st__apply2(&c, ST_OP_linalg_solve, adjoint,
                                         st__times(&c, inner, adjoint)), out);
}

/* eigvals_back(grad, self): V'^-1 diag(grad) V'. */
ST_HELPER_FN(st__help_eigvals_back) {
  ST_READ(TENSOR(grad));
  st_op_scope c = {.status = ST_OK};
  st_tensor *f[2];
  st__apply_multi(&c, ST_OP_linalg_eig, 1, &args[0].value, 2, f);
  const st_tensor *adjoint = st__adjoint(&c, f[1]);
  return st__scope_return(&c,
                          st__apply2(&c, ST_OP_linalg_solve, adjoint,
                                     st__mul(&c, column(&c, grad), adjoint)),
                          out);
}

/* -- Singular values ------------------------------------------------------ */

/* svdvals_back(grad, A): U diag(grad) Vh. */
ST_HELPER_FN(st__help_svdvals_back) {
  ST_READ(TENSOR(grad));
  st_op_scope c = {.status = ST_OK};
  st_tensor *f[3];
  st__apply_multi(&c, ST_OP_linalg_svd,
                  ST_VALUES(args[0].value, st__of_bool(false)), 3, f);
  const st_tensor *scaled_U = st__mul(&c, f[0], row(&c, grad));
  return st__scope_return(&c, st__times(&c, scaled_U, f[2]), out);
}

/* (x - x') / gaps of the squared singular values. */
static st_tensor *skew_over(st_op_scope *c, const st_tensor *x,
                            const st_tensor *gap) {
  return over_gaps(c, st__minus(c, x, st__adjoint(c, x)), gap);
}

/* What is left of x in the columns of U: x - U U' x. */
static st_tensor *rest(st_op_scope *c, const st_tensor *U,
                       const st_tensor *x) {
  return st__minus(c, x, st__times(c, U, st__times(c, st__adjoint(c, U), x)));
}

/* i Im(diagonal) / S; none for real matrices. */
static st_tensor *phases(st_op_scope *c, const st_tensor *of_U,
                         const st_tensor *S) {
  if (!st__scope_ok(c)) return NULL;
  if (!st__is_complex(of_U->dtype)) return st__apply1(c, ST_OP_zeros_like, S);
  const st_scalar i = st__scalar_complex(0, 1);
  const st_tensor *parts = st__apply1(c, ST_OP_imag, diagonal(c, of_U));
  return ST_APPLY(c, ST_OP_mul_Scalar, st__div(c, parts, S), st__of_scalar(&i));
}

/* svd_back(grad_U, grad_S, grad_Vh, U, S, Vh), of the singular vectors that
 * belong to singular values. */
ST_HELPER_FN(st__help_svd_back) {
  ST_READ(TENSOR(gU), TENSOR(gS), TENSOR(gVh), TENSOR(U), TENSOR(S),
          TENSOR(Vh));
  st_op_scope c = {.status = ST_OK};
  const int64_t k = S->sizes[S->ndim - 1];
  gU = st__apply_narrow(&c, gU, -1, 0, k);
  U = st__apply_narrow(&c, U, -1, 0, k);
  gVh = st__apply_narrow(&c, gVh, -2, 0, k);
  Vh = st__apply_narrow(&c, Vh, -2, 0, k);
  const st_tensor *V = st__adjoint(&c, Vh), *gV = st__adjoint(&c, gVh);
  if (!st__scope_ok(&c)) return st__scope_end(&c, 0, NULL, out);
  const st_tensor *gap = gaps(&c, st__apply1(&c, ST_OP_square, S));
  const st_tensor *of_U = st__times(&c, st__adjoint(&c, U), gU);
  const st_tensor *of_V = st__times(&c, Vh, gV);
  check_phases(&c, diagonal(&c, st__plus(&c, of_U, of_V)), "linalg_svd");
  const st_tensor *inner =
    st__plus(&c, st__mul(&c, skew_over(&c, of_U, gap), row(&c, S)),
             st__mul(&c, column(&c, S), skew_over(&c, of_V, gap)));
  inner = st__plus(&c, strict(&c, inner), st__apply1(
    &c, ST_OP_diag_embed, st__plus(&c, gS, phases(&c, of_U, S))));
  st_tensor *sum = st__times(&c, st__times(&c, U, inner), Vh);
  if (U->sizes[U->ndim - 2] > k) {
    const st_tensor *left = rest(&c, U, st__div(&c, gU, row(&c, S)));
    sum = st__plus(&c, sum, st__times(&c, left, Vh));
  }
  if (V->sizes[V->ndim - 2] > k) {
    const st_tensor *right = rest(&c, V, st__div(&c, gV, row(&c, S)));
    sum = st__plus(&c, sum, st__times(&c, U, st__adjoint(&c, right)));
  }
  return st__scope_return(&c, sum, out);
}

/* -- QR ------------------------------------------------------------------- */

/* For a square R: (Q (X + X' - Re diag X) + grad_Q) R'^-1, where X is the upper
 * triangle of grad_R R' - Q' grad_Q. */
static st_tensor *qr_gradient(st_op_scope *c, const st_tensor *gQ,
                              const st_tensor *gR, const st_tensor *Q,
                              const st_tensor *R) {
  const st_tensor *adjoint = st__adjoint(c, R);
  const st_tensor *X = st__apply1(c, ST_OP_triu, st__minus(
    c, st__times(c, gR, adjoint), st__times(c, st__adjoint(c, Q), gQ)));
  const st_tensor *real = st__apply1(c, ST_OP_real, diagonal(c, X));
  const st_tensor *sum = st__minus(
    c, st__plus(c, X, st__adjoint(c, X)),
    st__apply1(c, ST_OP_diag_embed, real));
  const st_tensor *left = st__plus(c, st__times(c, Q, sum), gQ);
  return ST_APPLY(c, ST_OP_linalg_solve_triangular, adjoint, left,
                  st__of_bool(false), st__of_bool(false));
}

/* A wide A is [B C] = Q [R S]. As S = Q' C, grad_Q gets C grad_S'. */
static st_tensor *wide_qr_gradient(st_op_scope *c, const st_tensor *gQ,
                                   const st_tensor *gR, const st_tensor *Q,
                                   const st_tensor *R) {
  const int64_t m = R->sizes[R->ndim - 2], more = R->sizes[R->ndim - 1] - m;
  const st_tensor *gS = st__apply_narrow(c, gR, -1, m, more);
  const st_tensor *C = st__times(c, Q, st__apply_narrow(c, R, -1, m, more));
  gQ = st__plus(c, gQ, st__times(c, C, st__adjoint(c, gS)));
  st_tensor *parts[] = {
    qr_gradient(c, gQ, st__apply_narrow(c, gR, -1, 0, m), Q,
                st__apply_narrow(c, R, -1, 0, m)),
    st__times(c, Q, gS)};
  if (!st__scope_ok(c)) return NULL;
  return ST_APPLY(c, ST_OP_cat, st__of_tensors(parts, 2), -1);
}

/* qr_back(grad_Q, grad_R, Q, R). */
ST_HELPER_FN(st__help_qr_back) {
  ST_READ(TENSOR(gQ), TENSOR(gR), TENSOR(Q), TENSOR(R));
  st_op_scope c = {.status = ST_OK};
  const int64_t rows = R->sizes[R->ndim - 2], cols = R->sizes[R->ndim - 1];
  if (Q->ndim < 2) {
    return st__fail(ST_BAD_STATE, "the derivative of linalg_qr needs Q: mode "
                    "must not be 'r'");
  }
  if (rows > cols) {
    return st__fail(ST_BAD_STATE, "linalg_qr has no derivative in mode "
                    "'complete' for more rows than columns");
  }
  st_tensor *grad = rows < cols ? wide_qr_gradient(&c, gQ, gR, Q, R)
                                : qr_gradient(&c, gQ, gR, Q, R);
  return st__scope_return(&c, grad, out);
}
