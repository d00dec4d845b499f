/* Helpers for the derivatives of roots and polar factors of matrices, and of
 * inverses by Cholesky factors: Note [Derivatives of roots].
 */

#include "grad/formula/helpers.h"

static st_tensor *times(st_op_scope *c, const st_tensor *a,
                        const st_tensor *b) {
  return st__apply2(c, ST_OP_matmul, a, b);
}

static st_tensor *plus(st_op_scope *c, const st_tensor *a,
                       const st_tensor *b) {
  return st__apply2(c, ST_OP_add_Tensor, a, b);
}

static st_tensor *minus(st_op_scope *c, const st_tensor *a,
                        const st_tensor *b) {
  return st__apply2(c, ST_OP_sub_Tensor, a, b);
}

static st_tensor *adjoint(st_op_scope *c, const st_tensor *t) {
  return st__apply1(c, ST_OP_mH, t);
}

/* lyapunov_back(grad, H, X): -(W X' + X' W), where H W + W H = grad. */
st_status st__help_lyapunov_back(int n, const st_helper_arg *args,
                                 st_value *out) {
  const st_tensor *grad = st__read_tensor(&args), *H = st__read_tensor(&args);
  st_op_scope c = {.status = ST_OK};
  (void)n;
  const st_tensor *X = adjoint(&c, st__read_tensor(&args));
  const st_tensor *W = st__apply2(&c, ST_OP__linalg_lyapunov, H, grad);
  const st_tensor *both = plus(&c, times(&c, W, X), times(&c, X, W));
  return st__scope_return(&c, st__apply1(&c, ST_OP_neg, both), out);
}

/* (grad - U U' grad) H^-1: of what is orthogonal to U's columns. */
static st_tensor *outside(st_op_scope *c, const st_tensor *grad,
                          const st_tensor *U, const st_tensor *H) {
  st_tensor *solved[2];
  const st_tensor *inside = times(c, U, times(c, adjoint(c, U), grad));
  const st_value solve[] = {st__of_tensor(H),
                            st__of_tensor(minus(c, grad, inside)),
                            st__of_bool(false)};
  st__apply_multi(c, ST_OP_linalg_solve_ex, 3, solve, 2, solved);
  return solved[0];
}

/* polar_back(grad_U, grad_H, U, H). The differentials
 * are dU = U W + (I - U U') dA H^-1 and dH = U' dA - W H with H W + W H =
 * U' dA - dA' U. */
st_status st__help_polar_back(int n, const st_helper_arg *args,
                              st_value *out) {
  const st_tensor *grad_U = st__read_tensor(&args);
  const st_tensor *grad_H = st__read_tensor(&args);
  const st_tensor *U = st__read_tensor(&args), *H = st__read_tensor(&args);
  st_op_scope c = {.status = ST_OK};
  (void)n;
  const st_tensor *K = minus(&c, times(&c, adjoint(&c, U), grad_U),
                             times(&c, grad_H, H));
  const st_tensor *skew = minus(&c, K, adjoint(&c, K));
  const st_tensor *W = st__apply2(&c, ST_OP__linalg_lyapunov, H, skew);
  st_tensor *grad = times(&c, U, plus(&c, W, grad_H));
  if (U->sizes[U->ndim - 2] > U->sizes[U->ndim - 1]) {
    grad = plus(&c, grad, outside(&c, grad_U, U, H));
  }
  return st__scope_return(&c, grad, out);
}

/* cholesky_inverse_back(grad, F, X, upper): with S = X (grad + grad') X it is
 * -S F of a lower factor and -F S of an upper one. As in ATen, the
 * triangle that is not read must be zero. */
st_status st__help_cholesky_inverse_back(int n, const st_helper_arg *args,
                                         st_value *out) {
  const st_tensor *grad = st__read_tensor(&args), *F = st__read_tensor(&args);
  const st_tensor *X = st__read_tensor(&args);
  const bool upper = st__read_bool(&args);
  st_op_scope c = {.status = ST_OK};
  (void)n;
  const st_tensor *S = times(&c, X, times(&c, plus(&c, grad, adjoint(&c, grad)),
                                          X));
  const st_tensor *product = upper ? times(&c, F, S) : times(&c, S, F);
  return st__scope_return(&c, st__apply1(&c, ST_OP_neg, product), out);
}
