/* Helpers for the derivatives of matrix factors and determinants.
 */

#include "grad/formula/helpers.h"

/* -- Cholesky factors ----------------------------------------------------- */

static st_tensor *solve_triangular(st_op_scope *c, const st_tensor *A,
                                   const st_tensor *B, bool upper, bool left) {
  return ST_APPLY(c, ST_OP_linalg_solve_triangular, A, B, st__of_bool(upper),
                  st__of_bool(left));
}

/* cholesky_back(grad, L, upper). The gradient is Hermitian:
 * L'^-1 (P + P')/2 L^-1, where P is the lower triangle of L' grad with half its
 * diagonal. */
ST_HELPER_FN(st__help_cholesky_back) {
  ST_READ(TENSOR(grad), TENSOR(L));
  st_op_scope c = {.status = ST_OK};
  if (st__read_bool(&args)) {
    grad = st__adjoint(&c, grad);
    L = st__adjoint(&c, L);
  }
  const st_tensor *adjoint = st__adjoint(&c, L);
  const st_tensor *full = st__times(&c, adjoint, grad);
  const st_tensor *twice = st__plus(&c, st__apply1(&c, ST_OP_tril, full),
                                    ST_APPLY(&c, ST_OP_tril, full, -1));
  const st_tensor *both = st__plus(&c, twice, st__adjoint(&c, twice));
  st_tensor *inner = ST_APPLY(&c, ST_OP_mul_Scalar, both, 0.25);
  inner = solve_triangular(&c, adjoint, inner, true, true);
  return st__scope_return(&c, solve_triangular(&c, L, inner, false, false),
                          out);
}

/* -- LU factors ----------------------------------------------------------- */

/* The factors L and U, or their gradients. */
typedef struct lu_pair { const st_tensor *L, *U; } lu_pair;

/* X where L' X = B. */
static st_tensor *solve_by_L(st_op_scope *c, const st_tensor *L,
                             const st_tensor *B) {
  return ST_APPLY(c, ST_OP_linalg_solve_triangular, st__adjoint(c, L), B,
                  st__of_bool(true), st__of_bool(true), st__of_bool(true));
}

/* X where X U' = B. */
static st_tensor *solve_by_U(st_op_scope *c, const st_tensor *U,
                             const st_tensor *B) {
  return solve_triangular(c, st__adjoint(c, U), B, false, false);
}

static st_tensor *minus_product(st_op_scope *c, const st_tensor *from,
                                const st_tensor *a, const st_tensor *b) {
  return st__minus(c, from, st__times(c, a, b));
}

/* Square factors: L'^-1 (what is below the diagonal of L' grad_L, and the rest
 * of grad_U U') U'^-1. */
static st_tensor *square_lu_back(st_op_scope *c, lu_pair grad, lu_pair f) {
  const st_tensor *lower =
    ST_APPLY(c, ST_OP_tril, st__times(c, st__adjoint(c, f.L), grad.L), -1);
  const st_tensor *upper =
    st__apply1(c, ST_OP_triu, st__times(c, grad.U, st__adjoint(c, f.U)));
  const st_tensor *both = st__plus(c, lower, upper);
  return solve_by_L(c, f.L, solve_by_U(c, f.U, both));
}

static st_tensor *join(st_op_scope *c, st_tensor *a, st_tensor *b, int dim) {
  st_tensor *parts[] = {a, b};
  if (!st__scope_ok(c)) return NULL;
  return ST_APPLY(c, ST_OP_cat, st__of_tensors(parts, 2), dim);
}

/* [B C] = L [U V]: as V = L^-1 C, grad_L gets -grad_C V'. */
static st_tensor *wide_lu_back(st_op_scope *c, lu_pair grad, lu_pair f,
                               int64_t m, int64_t more) {
  const lu_pair first = {f.L, st__apply_narrow(c, f.U, -1, 0, m)};
  const st_tensor *V = st__apply_narrow(c, f.U, -1, m, more);
  st_tensor *of_C = solve_by_L(c, f.L,
                               st__apply_narrow(c, grad.U, -1, m, more));
  grad.L = minus_product(c, grad.L, of_C, st__adjoint(c, V));
  grad.U = st__apply_narrow(c, grad.U, -1, 0, m);
  return join(c, square_lu_back(c, grad, first), of_C, -1);
}

/* The same for rows: M = C U^-1, and grad_U gets -M' grad_C. */
static st_tensor *tall_lu_back(st_op_scope *c, lu_pair grad, lu_pair f,
                               int64_t n, int64_t more) {
  const lu_pair first = {st__apply_narrow(c, f.L, -2, 0, n), f.U};
  const st_tensor *M = st__apply_narrow(c, f.L, -2, n, more);
  st_tensor *of_C = solve_by_U(c, f.U,
                               st__apply_narrow(c, grad.L, -2, n, more));
  grad.U = minus_product(c, grad.U, st__adjoint(c, M), of_C);
  grad.L = st__apply_narrow(c, grad.L, -2, 0, n);
  return join(c, square_lu_back(c, grad, first), of_C, -2);
}

/* lu_back(grad, LU, pivots) */
ST_HELPER_FN(st__help_lu_back) {
  ST_READ(TENSOR(grad), TENSOR(LU));
  const st_value packed[] = {st__of_tensor(LU), *st__read_value(&args)};
  const int64_t rows = LU->sizes[LU->ndim - 2], cols = LU->sizes[LU->ndim - 1];
  const int64_t k = rows < cols ? rows : cols;
  st_op_scope c = {.status = ST_OK};
  st_tensor *f[3];
  st__apply_multi(&c, ST_OP_lu_unpack, 2, packed, 3, f);
  const lu_pair grads = {
    st__apply_narrow(&c, ST_APPLY(&c, ST_OP_tril, grad, -1), -1, 0, k),
    st__apply_narrow(&c, st__apply1(&c, ST_OP_triu, grad), -2, 0, k)};
  const lu_pair factors = {f[1], f[2]};
  const st_tensor *of_A =
    rows < cols ? wide_lu_back(&c, grads, factors, rows, cols - rows)
    : rows > cols ? tall_lu_back(&c, grads, factors, cols, rows - cols)
    : square_lu_back(&c, grads, factors);
  return st__scope_return(&c, st__times(&c, f[0], of_A), out);
}

/* -- Determinants --------------------------------------------------------- */

static st_tensor *diagonal(st_op_scope *c, const st_tensor *t) {
  return ST_APPLY(c, ST_OP_diagonal, t, 0, -2, -1);
}

/* Matrices of the size of A whose diagonals hold an element of t each. */
static st_tensor *scaled_identity(st_op_scope *c, const st_tensor *t,
                                  const st_tensor *A) {
  int64_t sizes[ST_MAX_DIMS];
  for (int d = 0; d < A->ndim - 1; d++) sizes[d] = A->sizes[d];
  const st_tensor *wide =
    ST_APPLY(c, ST_OP_expand, ST_APPLY(c, ST_OP_unsqueeze, t, -1),
             st__of_ints(sizes, A->ndim - 1));
  return st__apply1(c, ST_OP_diag_embed, wide);
}

static st_tensor *conjugate(st_op_scope *c, const st_tensor *t) {
  return st__apply1(c, ST_OP_conj, t);
}

/* det(A) by the diagonal of U and the pivots, which count from 1. */
static st_tensor *det_of(st_op_scope *c, const st_tensor *diagonal_of_U,
                         const st_tensor *pivots) {
  if (!st__scope_ok(c)) return NULL;
  const int64_t n = pivots->sizes[pivots->ndim - 1];
  const st_tensor *moved =
    st__apply2(c, ST_OP_ne_Tensor, pivots,
               ST_APPLY(c, ST_OP_arange_start, 1, n + 1, st__none(), st__none(),
                        pivots->device));
  const st_tensor *times =
    ST_APPLY(c, ST_OP_sum_dim_IntList, moved, ST_INTS(-1));
  const st_tensor *odd = ST_APPLY(c, ST_OP_remainder_Scalar, times, 2);
  const st_tensor *sign =
    ST_APPLY(c, ST_OP_add_Scalar, ST_APPLY(c, ST_OP_mul_Scalar, odd, -2), 1);
  return st__mul(c, ST_APPLY(c, ST_OP_prod_dim_int, diagonal_of_U, -1), sign);
}

/* The diagonal of U with something small in place of each zero. */
static st_tensor *without_zeros(st_op_scope *c, const st_tensor *u,
                                st_dtype dtype) {
  const bool is_single = dtype == ST_FLOAT32 || dtype == ST_COMPLEX64;
  const st_tensor *most = ST_APPLY(c, ST_OP_amax, st__apply1(c, ST_OP_abs, u),
                                   ST_INTS(-1), st__of_bool(true));
  const st_tensor *one = ST_APPLY(c, ST_OP_masked_fill_Scalar, most,
                                  ST_APPLY(c, ST_OP_eq_Scalar, most, 0), 1);
  const st_tensor *small = ST_APPLY(
    c, ST_OP_mul_Scalar, one, st__of_float(is_single ? 0x1p-23 : 0x1p-52));
  return ST_APPLY(c, ST_OP_where_self, ST_APPLY(c, ST_OP_eq_Scalar, u, 0),
                  small, u);
}

/* grad times the conjugate of A's adjugate, transposed: by the factors of A,
 * also where A is singular. */
static st_tensor *adjugate(st_op_scope *c, const st_tensor *grad,
                           const st_tensor *A) {
  const st_value matrix = st__of_tensor(A);
  st_tensor *f[3];
  st__apply_multi(c, ST_OP_linalg_lu_factor_ex, 1, &matrix, 3, f);
  const st_tensor *u = diagonal(c, f[0]);
  const st_tensor *changed = without_zeros(c, u, A->dtype);
  const st_tensor *LU = st__plus(
    c, f[0], st__apply1(c, ST_OP_diag_embed, st__minus(c, changed, u)));
  const st_tensor *scale =
    st__mul(c, grad, conjugate(c, det_of(c, changed, f[1])));
  return ST_APPLY(c, ST_OP_linalg_lu_solve, LU, f[1],
                  scaled_identity(c, scale, A), st__of_bool(true),
                  st__of_bool(true));
}

static bool has_zero(st_op_scope *c, const st_tensor *t) {
  if (!st__scope_ok(c) || !st__has_elements(t)) return false;
  const st_tensor *any =
    st__apply1(c, ST_OP_any, ST_APPLY(c, ST_OP_eq_Scalar, t, 0));
  return st__scope_is_true(c, any);
}

/* The product of the other elements of each row, for every element. */
static st_tensor *products_of_others(st_op_scope *c, const st_tensor *S) {
  const st_tensor *rows = ST_APPLY(c, ST_OP_unsqueeze, S, -2);
  const st_tensor *rest = st__apply1(
    c, ST_OP_diag_embed, st__shifted(c, st__apply1(c, ST_OP_neg, S), 1));
  return ST_APPLY(c, ST_OP_prod_dim_int, st__plus(c, rows, rest), -1);
}

/* The same adjugate by A = U diag(S) Vh, which has a derivative. */
static st_tensor *adjugate_by_svd(st_op_scope *c, const st_tensor *grad,
                                  const st_tensor *A) {
  const st_value matrix = st__of_tensor(A);
  st_tensor *f[3];
  st__apply_multi(c, ST_OP_linalg_svd, 1, &matrix, 3, f);
  const st_tensor *phase = st__mul(c, st__apply1(c, ST_OP_linalg_det, f[0]),
                                   st__apply1(c, ST_OP_linalg_det, f[2]));
  const st_tensor *scale =
    ST_APPLY(c, ST_OP_unsqueeze, st__mul(c, grad, conjugate(c, phase)), -1);
  const st_tensor *weights = ST_APPLY(
    c, ST_OP_unsqueeze, st__mul(c, scale, products_of_others(c, f[1])), -2);
  return st__times(c, st__mul(c, f[0], weights), f[2]);
}

/* det_back(grad, A, det): grad conj(det) A'^-1, where A has an inverse. Its own
 * derivative needs one if A is complex: the vectors of the singular value 0
 * have phases that do not cancel. */
ST_HELPER_FN(st__help_det_back) {
  ST_READ(TENSOR(grad), TENSOR(A), TENSOR(det));
  st_op_scope c = {.status = ST_OK};
  if (!st__tls().grad) {
    return st__scope_return(&c, A->numel > 0
                                ? adjugate(&c, grad, A)
                                : st__apply1(&c, ST_OP_zeros_like, A), out);
  }
  if (!st__is_complex(A->dtype) && has_zero(&c, det)) {
    return st__scope_return(&c, adjugate_by_svd(&c, grad, A), out);
  }
  const st_tensor *scale = st__mul(&c, grad, conjugate(&c, det));
  return st__scope_return(&c,
                          st__apply2(&c, ST_OP_linalg_solve, st__adjoint(&c, A),
                                     scaled_identity(&c, scale, A)),
                          out);
}

/* slogdet_back(grad_sign, grad_log, A, sign): (grad_log - i Im(conj(grad_sign)
 * sign)) A'^-1. */
ST_HELPER_FN(st__help_slogdet_back) {
  ST_READ(TENSOR(grad_sign), TENSOR(grad), TENSOR(A), TENSOR(sign));
  st_op_scope c = {.status = ST_OK};
  st_tensor *solved[2];
  if (st__is_complex(A->dtype)) {
    const st_scalar minus_i = st__scalar_complex(0, -1);
    const st_tensor *products = st__mul(&c, conjugate(&c, grad_sign), sign);
    const st_tensor *angle =
      ST_APPLY(&c, ST_OP_mul_Scalar, st__apply1(&c, ST_OP_imag, products),
               st__of_scalar(&minus_i));
    grad = st__plus(&c, angle, grad);
  }
  st__apply_multi(&c, ST_OP_linalg_solve_ex,
                  ST_VALUES(st__adjoint(&c, A), scaled_identity(&c, grad, A)),
                  2, solved);
  return st__scope_return(&c, solved[0], out);
}
