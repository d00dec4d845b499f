/* Square roots and polar factors of matrices: linalg_matrix_sqrth,
 * linalg_polar, and the equations that their derivatives solve.
 *
 * Note [Derivatives of roots]
 * The differential of the root X of A is the solution of X dX + dX X = dA,
 * which has one wherever X is definite. The equation is an operator of its own,
 * _linalg_lyapunov: its derivative is the same equation again, so that second
 * derivatives exist where eigenvalues are equal, too.
 */

#include "op/lapack/lapack.h"
#include "op/row/composite.h"

/* V diag(s) V' */
static st_tensor *by_spectrum(st_op_scope *c, const st_tensor *V,
                              const st_tensor *s) {
  const st_tensor *rows = ST_APPLY(c, ST_OP_unsqueeze, s, -2);
  return st__times(c, st__mul(c, V, rows), st__adjoint(c, V));
}

/* -- linalg_matrix_sqrth -------------------------------------------------- */

/* Of negative eigenvalues the root is 0, as in ATen. */
ST_BOXED(st__box_linalg_matrix_sqrth_implementation) {
  ST_ARGS(TENSOR(self));
  st_op_scope c = {.status = st__check_square(self, "self")};
  const st_value matrices = st__of_tensor(self);
  st_tensor *f[2];
  st__apply_multi(&c, ST_OP_linalg_eigh, 1, &matrices, 2, f);
  const st_tensor *roots =
    st__apply1(&c, ST_OP_sqrt, ST_APPLY(&c, ST_OP_clamp_min, f[0], 0));
  return st__scope_return(&c, by_spectrum(&c, f[1], roots), rets);
}

ST_BOXED(st__box_linalg_matrix_sqrth) {
  st_op_scope c = {.status = ST_OK};
  return st__scope_return(&c, st__apply(&c, ST_OP__linalg_matrix_sqrth, 1,
                                        args), rets);
}

/* -- _linalg_lyapunov ----------------------------------------------------- */

/* In the basis of H's eigenvectors an element is divided by the sum of the
 * eigenvalues of its row and its column. */
ST_BOXED(st__box_linalg_lyapunov) {
  ST_ARGS(TENSOR(H), TENSOR(C));
  st_op_scope c = {.status = st__check_square(H, "H")};
  const st_value matrices = st__of_tensor(H);
  st_tensor *f[2];
  st__apply_multi(&c, ST_OP_linalg_eigh, 1, &matrices, 2, f);
  const st_tensor *adjoint = st__adjoint(&c, f[1]);
  const st_tensor *inner = st__times(&c, adjoint, st__times(&c, C, f[1]));
  const st_tensor *sums = st__plus(&c, ST_APPLY(&c, ST_OP_unsqueeze, f[0], -1),
                                   ST_APPLY(&c, ST_OP_unsqueeze, f[0], -2));
  inner = st__div(&c, inner, sums);
  return st__scope_return(
    &c, st__times(&c, f[1], st__times(&c, inner, adjoint)), rets);
}

/* -- linalg_polar --------------------------------------------------------- */

static st_status check_tall(const st_tensor *A) {
  ST_TRY(st__check_matrices(A, "A"));
  if (st__rows(A) >= st__cols(A)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "A must have as many rows as columns, or more, "
                  "its shape is %s", ST_SHAPE_TEXT(A));
}

/* By A = W S V': U is W V', H is V S V'. */
ST_BOXED(st__box_linalg_polar_implementation) {
  ST_ARGS(TENSOR(A));
  st_op_scope c = {.status = check_tall(A)};
  st_tensor *f[3], *out[2];
  st__apply_multi(&c, ST_OP_linalg_svd, ST_VALUES(A, st__of_bool(false)), 3, f);
  out[0] = st__times(&c, f[0], f[2]);
  out[1] = by_spectrum(&c, st__adjoint(&c, f[2]), f[1]);
  return st__scope_end(&c, 2, out, rets);
}

ST_BOXED(st__box_linalg_polar) {
  st_op_scope c = {.status = ST_OK};
  st_tensor *out[2];
  st__apply_multi(&c, ST_OP__linalg_polar, 1, args, 2, out);
  return st__scope_end(&c, 2, out, rets);
}
