/* The matrices that LU factors and pivots stand for: lu_unpack, linalg_lu; and
 * gradients that need them.
 */

#include <string.h>

#include "base/threads.h"
#include "op/decompositions/equations.h"
#include "op/decompositions/lu.h"

/* -- lu_unpack ------------------------------------------------------------ */

/* Sizes of the batch of t with matrices of these; none if they are not
 * wanted. */
static st_status set_matrices(st_run *r, int i, const st_tensor *t,
                              int64_t rows, int64_t cols, bool wanted) {
  int64_t sizes[ST_MAX_DIMS] = {0};
  if (!wanted) return st__set_rows(r, i, 1, sizes, t->dtype);
  memcpy(sizes, t->sizes, (size_t)t->ndim * sizeof *sizes);
  sizes[t->ndim - 2] = rows;
  sizes[t->ndim - 1] = cols;
  return st__set_rows(r, i, t->ndim, sizes, t->dtype);
}

st_status st__lu_unpack_meta(st_run *r) {
  const st_tensor *LU = st__arg_tensor(r, 0);
  const bool data = st__to_bool(&r->args[2], true);
  const bool pivots = st__to_bool(&r->args[3], true);
  ST_TRY(st__check_matrices(LU, "LU_data"));
  ST_TRY(st__check_pivots(LU, "LU_data", st__arg_tensor(r, 1), "LU_pivots"));
  const int64_t m = st__rows(LU), n = st__cols(LU), k = m < n ? m : n;
  ST_TRY(set_matrices(r, 0, LU, m, m, pivots));
  ST_TRY(set_matrices(r, 1, LU, m, k, data));
  return set_matrices(r, 2, LU, k, n, data);
}

static void store_one(const st_tensor *t, int64_t matrix, int64_t row,
                      int64_t col) {
  const int64_t size = (int64_t)st__itemsize(t->dtype);
  st__scalar_store(st__scalar_int(1), t->dtype, st__matrix_at(t, matrix) +
                   (row * st__cols(t) + col) * size);
}

static void swap_bytes(char *a, char *b, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const char kept = a[i];
    a[i] = b[i];
    b[i] = kept;
  }
}

/* Sets P of matrix i, whose elements are 0: the identity, whose rows are
 * exchanged in the order opposite to LAPACK's. */
static void unpack_pivots(const st_tensor *pivots, int64_t i,
                          const st_tensor *P) {
  const int64_t m = st__cols(P), k = pivots->sizes[pivots->ndim - 1];
  const int64_t bytes = m * (int64_t)st__itemsize(P->dtype);
  const int32_t *p = (const int32_t *)(const void *)st__data(pivots) + i * k;
  char *const at = st__matrix_at(P, i);
  for (int64_t row = 0; row < m; row++) store_one(P, i, row, row);
  for (int64_t row = k - 1; row >= 0; row--) {
    const int64_t other = p[row] - 1;
    if (other == row) continue;
    swap_bytes(at + row * bytes, at + other * bytes, bytes);
  }
}

/* Copies one triangle of matrix i of LU to L, the other to U; both are 0 and
 * have rows, as LU has. */
static void unpack_data(const st_tensor *LU, int64_t i, const st_tensor *L,
                        const st_tensor *U) {
  const int64_t m = st__rows(LU), n = st__cols(LU), k = st__cols(L);
  const int64_t size = (int64_t)st__itemsize(LU->dtype);
  for (int64_t row = 0; row < m; row++) {
    const char *const from = st__matrix_at(LU, i) + row * n * size;
    const int64_t lower = row < k ? row : k;
    memcpy(st__matrix_at(L, i) + row * k * size, from, (size_t)(lower * size));
    if (row >= k) continue;
    store_one(L, i, row, row);
    memcpy(st__matrix_at(U, i) + (row * n + row) * size, from + row * size,
           (size_t)((n - row) * size));
  }
}

static void zero(const st_tensor *t) {
  if (t->numel == 0) return;
  memset(st__data(t), 0, (size_t)t->numel * st__itemsize(t->dtype));
}

/* Arguments, contiguous, and results, NULL if they are not wanted. */
typedef struct unpacking {
  st_tensor *LU, *pivots;
  const st_tensor *P, *L, *U;
} unpacking;

static void unpack(void *ctx, int64_t begin, int64_t end) {
  const unpacking *u = ctx;
  for (int64_t i = begin; i < end && (i == begin || !st__stops()); i++) {
    if (u->P) unpack_pivots(u->pivots, i, u->P);
    if (u->L) unpack_data(u->LU, i, u->L, u->U);
  }
}

st_status st__lu_unpack_impl(st_run *r) {
  const st_tensor *LU = st__arg_tensor(r, 0);
  const bool data = st__to_bool(&r->args[2], true);
  const bool pivots = st__to_bool(&r->args[3], true);
  unpacking u = {NULL, NULL, pivots ? r->out[0] : NULL,
                 data ? r->out[1] : NULL, data ? r->out[2] : NULL};
  const int64_t each = st__rows(LU) * (st__rows(LU) + st__cols(LU)) + 1;
  st_status status;
  ST_TRY_FAIL(st__contiguous(LU, ST_FORMAT_CONTIGUOUS, &u.LU));
  ST_TRY_FAIL(st__copy_pivots(st__arg_tensor(r, 1), st__rows(LU), &u.pivots));
  for (int i = 0; i < 3; i++) zero(r->out[i]);
  status = st__parallel_try(0, st__batch_count(LU), ST_GRAIN / each + 1, unpack,
                            &u);
fail:
  st__tensor_release(&u.LU);
  st__tensor_release(&u.pivots);
  return status;
}

/* -- linalg_lu ------------------------------------------------------------ */

ST_BOXED(st__box_linalg_lu) {
  st_op_scope c = {.status = ST_OK};
  st_tensor *f[3], *out[3];
  st__apply_multi(&c, ST_OP_linalg_lu_factor_ex, 2, args, 3, f);
  st__apply_multi(&c, ST_OP_lu_unpack, ST_VALUES(f[0], f[1]), 3, out);
  return st__scope_end(&c, 3, out, rets);
}

/* -- Gradients ------------------------------------------------------------ */

/* Both gradients of linalg_lu_solve: of LU and of B. With A = P L U and its
 * gradient G, that of L is P' G U', and that of U is L' P' G. */
ST_BOXED(st__box_linalg_lu_solve_backward) {
  ST_ARGS(BOXED(grad), BOXED(LU), BOXED(pivots), TENSOR(X), BOOL(left),
          BOOL(adjoint));
  st_op_scope c = {.status = ST_OK};
  st_tensor *out[2], *f[3];
  out[1] = ST_APPLY(&c, ST_OP_linalg_lu_solve, *LU, *pivots, *grad,
                    st__of_bool(left), st__of_bool(!adjoint));
  const st_tensor *G = st__matrix_gradient(&c, out[1], X, left);
  if (adjoint) G = st__adjoint(&c, G);
  st__apply_multi(&c, ST_OP_lu_unpack, ST_VALUES(*LU, *pivots), 3, f);
  G = st__times(&c, st__apply1(&c, ST_OP_mT, f[0]), G);
  const st_tensor *of_L =
    ST_APPLY(&c, ST_OP_tril, st__times(&c, G, st__adjoint(&c, f[2])), -1);
  const st_tensor *of_U =
    st__apply1(&c, ST_OP_triu, st__times(&c, st__adjoint(&c, f[1]), G));
  out[0] = st__plus(&c, of_L, of_U);
  return st__scope_end(&c, 2, out, rets);
}
