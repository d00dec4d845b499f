/* Equations with triangular matrices: linalg_solve_triangular,
 * triangular_solve.
 */

#include "op/lapack/blocks.h"
#include "op/decompositions/equations.h"
#include "tensor/view.h"

/* -- linalg_solve_triangular ---------------------------------------------- */

/* A X = B, or X A = B unless left; X holds B. */
typedef struct triangular_system {
  const st_tensor *A;
  st_tensor *X;
  bool left, upper, is_unit, is_transposed; /* is_transposed: A is */
} triangular_system;

/* X A = B is A' X' = B'. */
static void solve(const st_lapack_job *j, int64_t i, char *scratch) {
  const triangular_system *s = j->ctx;
  st_triangle t = {.a = st__columns_of(s->A, i), .x = st__columns_of(s->X, i),
                   .upper = s->upper, .is_unit = s->is_unit};
  (void)scratch;
  if (s->is_transposed != !s->left) {
    t.a = st__turned(t.a);
    t.upper = !t.upper;
  }
  if (!s->left) t.x = st__turned(t.x);
  const bool whole = st__solve_triangle(j, &t);
  (void)whole; /* the job says if it was interrupted */
}

st_status st__linalg_solve_triangular_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0), *B = st__arg_tensor(r, 1);
  int64_t sizes[ST_MAX_DIMS];
  int ndim;
  ST_TRY(st__check_square(self, "self"));
  ST_TRY(st__check_matrices(B, "B"));
  ST_TRY(st__check_equal_dtypes(self, "self", B, "B"));
  ST_TRY(st__equation_sizes(self, "self", B, st__to_bool(&r->args[3], true),
                            sizes, &ndim));
  return st__set_columns(r, 0, ndim, sizes, B->dtype);
}

/* A transposed view, whose rows are contiguous, is passed as the transpose of
 * the triangle on the other side. */
static st_status columns_of(const st_tensor *self, const st_tensor *X,
                            triangular_system *s, st_tensor **A) {
  int64_t sizes[ST_MAX_DIMS];
  st_tensor *transposed = NULL;
  st_status status = ST_OK;
  s->is_transposed = st__is_contiguous(self);
  if (s->is_transposed) {
    ST_TRY_FAIL(st__view_transpose(self, -2, -1, &transposed));
    s->upper = !s->upper;
  }
  st__batch_sizes(transposed ? transposed : self, X, sizes);
  status = st__as_columns(transposed ? transposed : self, X->ndim, sizes, A);
fail:
  st__tensor_release(&transposed);
  return status;
}

st_status st__linalg_solve_triangular_impl(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0), *B = st__arg_tensor(r, 1);
  triangular_system s = {
    .X = r->out[0], .upper = st__to_bool(&r->args[2], false),
    .left = st__to_bool(&r->args[3], true),
    .is_unit = st__to_bool(&r->args[4], false)};
  const double n = (double)st__cols(self);
  st_lapack_job j = {.fn = solve, .ctx = &s, .dtype = B->dtype,
                     .count = st__batch_count(s.X),
                     .is_blocked = st__is_blocked(st__rows(s.X),
                                                  st__cols(s.X))};
  st_tensor *A = NULL, *wide = NULL;
  st_status status;
  if (s.X->numel == 0) return ST_OK;
  j.cost = n * (double)(st__rows(s.X) * st__cols(s.X)) / 2;
  ST_TRY_FAIL(columns_of(self, s.X, &s, &A));
  ST_TRY_FAIL(st__view_expand(B, s.X->ndim, s.X->sizes, &wide));
  s.A = A;
  ST_TRY_FAIL(st__lapack_begin(&j));
  status = st__copy_unchecked(s.X, wide);
  if (status == ST_OK) status = st__lapack_run(&j);
  st__lapack_end(&j);
fail:
  st__tensor_release(&A);
  st__tensor_release(&wide);
  return status;
}

/* -- The gradient --------------------------------------------------------- */

/* Both gradients: of self, in its triangle, and of B. */
ST_BOXED(st__box_solve_triangular_backward) {
  ST_ARGS(TENSOR(grad), TENSOR(self), TENSOR(X), BOOL(upper), BOOL(left),
          BOOL(is_unit));
  st_op_scope c = {.status = ST_OK};
  st_tensor *out[2];
  out[1] =
    ST_APPLY(&c, ST_OP_linalg_solve_triangular, st__adjoint(&c, self), grad,
             st__of_bool(!upper), st__of_bool(left), st__of_bool(is_unit));
  out[0] = st__matrix_gradient(&c, out[1], X, left);
  out[0] = ST_APPLY(&c, upper ? ST_OP_triu : ST_OP_tril, out[0],
                    !is_unit ? 0
                    : upper  ? 1
                             : -1);
  return st__scope_end(&c, 2, out, rets);
}

/* -- triangular_solve ----------------------------------------------------- */

/* A copy of A with the batch of X, in columns. */
static st_tensor *clone_wide(st_op_scope *c, const st_tensor *A,
                             const st_tensor *X) {
  int64_t sizes[ST_MAX_DIMS];
  if (!st__scope_ok(c)) return NULL;
  st__batch_sizes(A, X, sizes);
  const st_tensor *wide =
    ST_APPLY(c, ST_OP_expand, A, st__of_ints(sizes, X->ndim));
  const st_tensor *transposed = st__apply1(c, ST_OP_mT, wide);
  return st__apply1(c, ST_OP_mT,
                    ST_APPLY(c, ST_OP_clone, transposed, ST_FORMAT_CONTIGUOUS));
}

ST_BOXED(st__box_triangular_solve) {
  ST_ARGS(TENSOR(self), TENSOR(A), BOOL(upper), BOOL(transpose));
  st_op_scope c = {.status = st__check_square(A, "A")};
  st_tensor *out[2];
  out[0] = ST_APPLY(&c, ST_OP_linalg_solve_triangular,
                    transpose ? st__apply1(&c, ST_OP_mT, A) : A, self,
                    st__of_bool(upper != transpose), st__of_bool(true),
                    *st__next(&args));
  out[1] = clone_wide(&c, A, out[0]);
  return st__scope_end(&c, 2, out, rets);
}
