/* Composite operators on singular values: svd, svd_lowrank, pca_lowrank.
 *
 * Source of the last two: N. Halko, P. Martinsson, J. Tropp, "Finding structure
 * with randomness", arXiv:0909.4061, algorithms 4.4 and 5.1, as PyTorch has
 * them.
 */

#include <inttypes.h>

#include "op/lapack/lapack.h"
#include "op/row/composite.h"

/* -- svd ------------------------------------------------------------------ */

static void decompose(st_op_scope *c, const st_tensor *A, bool full,
                      st_tensor **f) {
  st__apply_multi(c, ST_OP_linalg_svd, ST_VALUES(A, st__of_bool(full)), 3, f);
}

/* Square matrices of zeros in place of vectors that are not wanted. */
static st_tensor *no_vectors(st_op_scope *c, const st_tensor *A, int64_t n) {
  int64_t sizes[ST_MAX_DIMS];
  for (int d = 0; d < A->ndim - 2; d++) sizes[d] = A->sizes[d];
  sizes[A->ndim - 2] = sizes[A->ndim - 1] = n;
  return ST_APPLY(c, ST_OP_new_zeros, A, st__of_ints(sizes, A->ndim));
}

ST_BOXED(st__box_svd) {
  ST_ARGS(TENSOR(self), BOOL(some), BOOL(vectors));
  st_op_scope c = {.status = st__check_matrices(self, "self")};
  st_tensor *out[3];
  if (!st__scope_ok(&c)) return c.status;
  if (vectors) {
    decompose(&c, self, !some, out);
    out[2] = st__adjoint(&c, out[2]);
  } else {
    out[0] = no_vectors(&c, self, st__rows(self));
    out[1] = st__apply1(&c, ST_OP_linalg_svdvals, self);
    out[2] = no_vectors(&c, self, st__cols(self));
  }
  return st__scope_end(&c, 3, out, rets);
}

/* -- svd_lowrank, pca_lowrank --------------------------------------------- */

/* The matrices A - M; a NULL M stands for zeros. */
typedef struct shifted { const st_tensor *A, *M; } shifted;

static st_tensor *product(st_op_scope *c, shifted s, const st_tensor *X) {
  st_tensor *all = st__times(c, s.A, X);
  return s.M ? st__minus(c, all, st__times(c, s.M, X)) : all;
}

static shifted adjoint(st_op_scope *c, shifted s) {
  return (shifted){st__adjoint(c, s.A), s.M ? st__adjoint(c, s.M) : NULL};
}

static st_tensor *orthonormal(st_op_scope *c, const st_tensor *X) {
  const st_value matrix = st__of_tensor(X);
  st_tensor *f[2];
  st__apply_multi(c, ST_OP_linalg_qr, 1, &matrix, 2, f);
  return f[0];
}

/* q columns whose span is near that of s.A - s.M; owned by `held`. */
static st_tensor *basis_of(st_op_scope *c, st_op_scope *held, shifted s,
                           int64_t q, int64_t rounds) {
  const shifted transposed = adjoint(c, s);
  st_tensor *Q = orthonormal(
    held, product(held, s,
                  ST_APPLY(held, ST_OP_randn, ST_INTS(st__cols(s.A), q),
                           s.A->dtype, st__none(), s.A->device)));
  for (int64_t i = 0; i < rounds && st__scope_goes_on(held); i++) {
    st_op_scope round = {.status = c->status};
    Q = orthonormal(&round, product(&round, transposed, Q));
    Q = orthonormal(&round, product(&round, s, Q));
    st__scope_replace(held, &round, &Q);
  }
  if (st__scope_ok(c)) c->status = held->status;
  return Q;
}

/* Matrices of floats that are not wide; *is_adjoint if these are the adjoints.
 */
static shifted prepare(st_op_scope *c, const st_tensor *A, const st_tensor *M,
                       bool *is_adjoint) {
  if (st__is_integral(A->dtype)) A = st__apply_to(c, A, ST_FLOAT32);
  if (st__scope_ok(c)) c->status = st__check_matrices(A, "A");
  if (!st__scope_ok(c)) return (shifted){A, NULL};
  if (M) M = ST_APPLY(c, ST_OP_expand, M, st__of_ints(A->sizes, A->ndim));
  *is_adjoint = st__rows(A) < st__cols(A);
  return *is_adjoint ? adjoint(c, (shifted){A, M}) : (shifted){A, M};
}

static st_status lowrank(const st_tensor *A, const st_tensor *M, int64_t q,
                         int64_t rounds, st_value *rets) {
  st_op_scope c = {.status = ST_OK}, held = {.status = ST_OK};
  st_tensor *f[3] = {NULL, NULL, NULL}, *out[3];
  bool is_adjoint = false;
  const shifted s = prepare(&c, A, M, &is_adjoint);
  if (st__scope_ok(&c)) {
    const st_tensor *Q = basis_of(&c, &held, s, q, rounds);
    const st_tensor *B = st__times(&c, st__adjoint(&c, Q), s.A);
    if (s.M) B = st__minus(&c, B, st__times(&c, st__adjoint(&c, Q), s.M));
    decompose(&c, B, false, f);
    out[is_adjoint ? 2 : 0] = st__times(&c, Q, f[0]);
    out[1] = f[1];
    out[is_adjoint ? 0 : 2] = st__adjoint(&c, f[2]);
  }
  const st_status status = st__scope_end(&c, 3, out, rets);
  st__scope_end(&held, 0, NULL, NULL);
  return status;
}

/* So that a wrong number does not compute for hours: some rounds suffice. */
enum { MOST_ROUNDS = 10000 };

static st_status check_counts(int64_t q, int64_t most, int64_t rounds) {
  if (q < 0 || q > most) {
    return st__fail(ST_BAD_VALUE, "q must be from 0 to %" PRId64 ", it is %"
                    PRId64, most, q);
  }
  if (rounds >= 0 && rounds <= MOST_ROUNDS) return ST_OK;
  return st__fail(ST_BAD_VALUE, "niter must be from 0 to %d, it is %" PRId64,
                  MOST_ROUNDS, rounds);
}

static int64_t or_default(const st_value *v, int64_t usual) {
  return st__is_none(v) ? usual : v->u.i;
}

ST_BOXED(st__box_svd_lowrank) {
  ST_ARGS(TENSOR(A));
  const int64_t q = or_default(st__next(&args), 6);
  const int64_t rounds = or_default(st__next(&args), 2);
  ST_TRY(check_counts(q, INT32_MAX, rounds));
  return lowrank(A, st__next_tensor(&args), q, rounds, rets);
}

static st_status check_rank(const st_tensor *A) {
  if (A->ndim >= 2) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "A must have at least 2 dimensions, its shape "
                  "is %s", ST_SHAPE_TEXT(A));
}

static st_status pca_lowrank(const st_tensor *A, const st_value *q, bool center,
                             int64_t rounds, st_value *rets) {
  ST_TRY(check_rank(A));
  const int64_t k = st__rows(A) < st__cols(A) ? st__rows(A) : st__cols(A);
  const int64_t count = or_default(q, k < 6 ? k : 6);
  st_op_scope c = {.status = check_counts(count, k, rounds)};
  if (st__scope_ok(&c) && center) {
    if (st__is_integral(A->dtype)) A = st__apply_to(&c, A, ST_FLOAT32);
    A = st__minus(
      &c, A, ST_APPLY(&c, ST_OP_mean_dim, A, ST_INTS(-2), st__of_bool(true)));
  }
  if (st__scope_ok(&c)) c.status = lowrank(A, NULL, count, rounds, rets);
  return st__scope_end(&c, 0, NULL, rets);
}
ST_TYPED_ARGS(st__box_pca_lowrank, pca_lowrank, (TENSOR, VALUE, BOOL, INT))
