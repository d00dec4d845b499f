/* Equations: linalg_solve_ex, linalg_solve.
 *
 * Note [Factors of an equation]
 * _linalg_solve_ex returns the LU factors, too, with which the gradient solves
 * the adjoint equation. They are those of A transposed, which a contiguous A
 * has in memory: also those of an A in another layout, so that this does not
 * decide on bits. There are none where a kernel for small matrices solves the
 * equation.
 */

#include "op/decompositions/equations.h"

#include "os/stack.h"
#include "op/decompositions/lu.h"
#include "op/lapack/small_matrices.h"
#include "tensor/view.h"

/* -- _linalg_solve_ex ----------------------------------------------------- */

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

enum { MOST_COLUMNS = 1024 }; /* of B, that the kernel takes at once */

/* True if each of A's matrices has an X, and the kernel can solve for it. X has
 * `ndim` sizes. The layout of X is that of matrices also where it has vectors,
 * which then are not at equal distances in a batch of two dimensions. */
static bool is_small(const st_tensor *A, bool vectors, int ndim,
                     const int64_t *sizes) {
  const int batch = vectors ? ndim - 1 : ndim - 2;
  int64_t count = 1;
  for (int d = 0; d < batch; d++) count *= sizes[d];
  const bool is_wide = !vectors && (sizes[batch] > MOST_COLUMNS ||
                                    sizes[batch + 1] > MOST_COLUMNS);
  return st__is_small(A) && st__batch_count(A) == count && !is_wide &&
         !(vectors && batch > 1);
}

st_status st__linalg_solve_ex_meta(st_run *r) {
  st_tensor *A = st__arg_tensor(r, 0), *B = st__arg_tensor(r, 1);
  const bool left = st__to_bool(&r->args[2], true);
  const int64_t none[] = {0};
  int64_t sizes[ST_MAX_DIMS];
  int ndim = 0;
  ST_TRY(st__check_square(A, "A"));
  ST_TRY(st__check_equal_dtypes(A, "A", B, "B"));
  ST_TRY(result_sizes(A, B, left, sizes, &ndim));
  ST_TRY(left ? st__set_columns(r, 0, ndim, sizes, B->dtype)
              : st__set_rows(r, 0, ndim, sizes, B->dtype));
  if (is_small(A, is_vectors(A, B), ndim, sizes)) {
    ST_TRY(st__set_rows(r, 1, 1, none, A->dtype));
    ST_TRY(st__set_rows(r, 2, 1, none, ST_INT32));
  } else {
    ST_TRY(st__set_columns(r, 1, A->ndim, A->sizes, A->dtype));
    ST_TRY(st__set_rows(r, 2, A->ndim - 1, A->sizes, ST_INT32));
  }
  return st__set_rows(r, 3, A->ndim - 2, A->sizes, ST_INT32);
}

/* False for what is_small is true for. */
static bool has_factors(const st_tensor *LU, const st_tensor *A) {
  return LU->ndim == A->ndim;
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
                           bool check_errors, const st_lu *f, st_tensor *X) {
  const st_lu_equation e = {f, left, false};
  st_tensor *transposed = NULL;
  st_status status;
  ST_TRY_FAIL(st__view_transpose(A, -2, -1, &transposed));
  ST_TRY_FAIL(st__lu_factor(transposed, f));
  if (check_errors) ST_TRY_FAIL(st__check_info(f->info, "A", ST_SINGULAR));
  status = st__lu_solve(&e, B, X);
fail:
  st__tensor_release(&transposed);
  return status;
}

st_status st__linalg_solve_ex_impl(st_run *r) {
  st_tensor *A = st__arg_tensor(r, 0), *B = st__arg_tensor(r, 1);
  const bool vectors = is_vectors(A, B), left = st__to_bool(&r->args[2], true);
  const bool check_errors = st__to_bool(&r->args[3], false);
  const st_lu f = {r->out[1], r->out[2], r->out[3], true};
  st_tensor *b = NULL, *x = NULL, *wide = NULL;
  st_status status;
  ST_TRY_FAIL(as_matrices(B, vectors, &b));
  ST_TRY_FAIL(as_matrices(r->out[0], vectors, &x));
  if (has_factors(f.LU, A)) {
    status = solve_all(A, b, left, check_errors, &f, x);
  } else {
    ST_TRY_FAIL(st__view_expand(b, x->ndim, x->sizes, &wide));
    ST_TRY_FAIL(solve_small(A, wide, left, x, f.info));
    if (check_errors) status = st__check_info(f.info, "A", ST_SINGULAR);
  }
fail:
  st__tensor_release(&b);
  st__tensor_release(&x);
  st__tensor_release(&wide);
  return status;
}

/* X of A' X = G, or X A' = G, by the factors: Note [Factors of an
 * equation]. */
static st_tensor *solve_adjoint(st_op_scope *c, const st_tensor *G,
                                const st_lu_equation *e) {
  G = st__apply1(c, ST_OP_conj, G);
  return st__apply1(c, ST_OP_conj,
                    ST_APPLY(c, ST_OP_linalg_lu_solve, e->f->LU, e->f->pivots,
                             G, st__of_bool(e->left), st__of_bool(false)));
}

/* The same by A. */
static st_tensor *solve_again(st_op_scope *c, const st_tensor *G,
                              const st_tensor *A, bool left) {
  const st_value solve[] = {st__of_tensor(st__adjoint(c, A)), st__of_tensor(G),
                            st__of_bool(left)};
  st_tensor *out[4];
  st__apply_multi(c, ST_OP__linalg_solve_ex, 3, solve, 4, out);
  return out[0];
}

/* The gradients of A and B. solve_again has a derivative. */
ST_BOXED(st__box_linalg_solve_backward) {
  ST_ARGS(TENSOR(G), TENSOR(A), TENSOR(X));
  st_lu f = {.is_transposed = true};
  ST_ARGS_TO(f, TENSOR(LU), TENSOR(pivots));
  const st_lu_equation e = {&f, st__next_bool(&args), false};
  const bool vectors = X->ndim < A->ndim;
  const bool again = st__tls().grad || !has_factors(f.LU, A);
  st_op_scope c = {.status = ST_OK};
  st_tensor *out[2];
  if (vectors) {
    G = ST_APPLY(&c, ST_OP_unsqueeze, G, -1);
    X = ST_APPLY(&c, ST_OP_unsqueeze, X, -1);
  }
  out[1] = again ? solve_again(&c, G, A, e.left) : solve_adjoint(&c, G, &e);
  out[0] = st__matrix_gradient(&c, out[1], X, e.left);
  if (vectors) out[1] = ST_APPLY(&c, ST_OP_squeeze_dim, out[1], -1);
  return st__scope_end(&c, 2, out, rets);
}

/* -- linalg_solve_ex, linalg_solve ---------------------------------------- */

ST_BOXED(st__box_linalg_solve_ex) {
  st_op_scope c = {.status = ST_OK};
  st_tensor *out[4];
  st__apply_multi(&c, ST_OP__linalg_solve_ex, 4, args, 4, out);
  return st__scope_end(&c, 2, (st_tensor *[]){out[0], out[3]}, rets);
}

/* True if A is one small matrix, and B fits to it. */
static bool is_single(const st_tensor *A, const st_tensor *B, bool left) {
  if (A->ndim != 2 || !st__is_small(A) || st__rows(A) != st__cols(A) ||
      B->dtype != A->dtype || B->numel == 0) {
    return false;
  }
  if (B->ndim == 1) return left && B->sizes[0] == st__rows(A);
  return B->ndim == 2 && B->sizes[left ? 0 : 1] == st__rows(A) &&
         B->sizes[left ? 1 : 0] <= MOST_COLUMNS;
}

/* X and a single A of small_solve; returns info. */
static int32_t solve_single(const st_tensor *A, const st_tensor *B, bool left,
                            const st_tensor *X) {
  const int64_t size = (int64_t)st__itemsize(A->dtype), none[4] = {0};
  const int row = left ? 0 : 1, col = 1 - row;
  const bool vector = B->ndim == 1;
  int32_t info = 0;
  const st_small s = {
    .m = (int)st__rows(A), .n = (int)st__rows(A),
    .k = vector ? 1 : (int)B->sizes[col],
    .row = {X->strides[row] * size, 0, A->strides[row] * size,
            B->strides[row] * size},
    .col = {vector ? 0 : X->strides[col] * size, 0, A->strides[col] * size,
            vector ? 0 : B->strides[col] * size}};
  char *data[] = {st__data(X), (char *)&info, st__data(A), st__data(B)};
  st__kernel(ST_K_small_solve, A->dtype)(data, none, 1, 1, &s);
  return info;
}

/* The usual path has the error of a singular matrix. */
ST_SHORTCUT(st__shortcut_solve) {
  const st_tensor *A = args[0].u.tensor, *B = args[1].u.tensor;
  const bool left = st__to_bool(&args[2], true);
  st_tensor *X = NULL;
  if (args[0].tag != ST_TAG_TENSOR || args[1].tag != ST_TAG_TENSOR) {
    return false; /* a number where a tensor belongs */
  }
  if (!is_single(A, B, left) || !st__stack_is_large()) return false;
  *status = left ? st__new_columns(B->dtype, B->ndim, B->sizes, &X)
                 : st__tensor_empty(ST_DEVICE_CPU, B->dtype, B->ndim, B->sizes,
                                    ST_FORMAT_CONTIGUOUS, &X);
  if (*status != ST_OK) return *status == ST_NO_MEMORY;
  if (solve_single(A, B, left, X) != 0) {
    st__tensor_release(&X);
    return false;
  }
  rets[0] = st__of_tensor(X);
  return true;
}

ST_BOXED(st__box_linalg_solve) {
  st_op_scope c = {.status = ST_OK};
  st_tensor *out[4];
  st__apply_multi(&c, ST_OP__linalg_solve_ex,
                  ST_VALUES(args[0], args[1], args[2], st__of_bool(true)), 4,
                  out);
  return st__scope_return(&c, out[0], rets);
}
