/* Helpers for the derivatives of roots and polar factors of matrices, and of
 * inverses by Cholesky factors: Note [Derivatives of roots].
 */

#include "grad/formula/helpers.h"

/* lyapunov_back(grad, H, X): -(W X' + X' W), where H W + W H = grad. */
ST_HELPER_FN(st__help_lyapunov_back) {
  ST_READ(TENSOR(grad), TENSOR(H));
  st_op_scope c = {.status = ST_OK};
  const st_tensor *X = st__adjoint(&c, st__read_tensor(&args));
  const st_tensor *W = st__apply2(&c, ST_OP__linalg_lyapunov, H, grad);
  const st_tensor *both =
    st__plus(&c, st__times(&c, W, X), st__times(&c, X, W));
  return st__scope_return(&c, st__apply1(&c, ST_OP_neg, both), out);
}

/* (grad - U U' grad) H^-1: of what is orthogonal to U's columns. */
static st_tensor *outside(st_op_scope *c, const st_tensor *grad,
                          const st_tensor *U, const st_tensor *H) {
  st_tensor *solved[2];
  const st_tensor *inside =
    st__times(c, U, st__times(c, st__adjoint(c, U), grad));
  st__apply_multi(c, ST_OP_linalg_solve_ex,
                  ST_VALUES(H, st__minus(c, grad, inside), st__of_bool(false)),
                  2, solved);
  return solved[0];
}

/* polar_back(grad_U, grad_H, U, H). The differentials
 * are dU = U W + (I - U U') dA H^-1 and dH = U' dA - W H with H W + W H =
 * U' dA - dA' U. */
ST_HELPER_FN(st__help_polar_back) {
  ST_READ(TENSOR(grad_U), TENSOR(grad_H), TENSOR(U), TENSOR(H));
  st_op_scope c = {.status = ST_OK};
  const st_tensor *K = st__minus(&c, st__times(&c, st__adjoint(&c, U), grad_U),
                                 st__times(&c, grad_H, H));
  const st_tensor *skew = st__minus(&c, K, st__adjoint(&c, K));
  const st_tensor *W = st__apply2(&c, ST_OP__linalg_lyapunov, H, skew);
  st_tensor *grad = st__times(&c, U, st__plus(&c, W, grad_H));
  if (U->sizes[U->ndim - 2] > U->sizes[U->ndim - 1]) {
    grad = st__plus(&c, grad, outside(&c, grad_U, U, H));
  }
  return st__scope_return(&c, grad, out);
}

/* cholesky_inverse_back(grad, F, X, upper): with S = X (grad + grad') X it is
 * -S F of a lower factor and -F S of an upper one. As in ATen, the
 * triangle that is not read must be zero. */
ST_HELPER_FN(st__help_cholesky_inverse_back) {
  ST_READ(TENSOR(grad), TENSOR(F), TENSOR(X), BOOL(upper));
  st_op_scope c = {.status = ST_OK};
  const st_tensor *S = st__times(
    &c, X, st__times(&c, st__plus(&c, grad, st__adjoint(&c, grad)), X));
  const st_tensor *product = upper ? st__times(&c, F, S) : st__times(&c, S, F);
  return st__scope_return(&c, st__apply1(&c, ST_OP_neg, product), out);
}
