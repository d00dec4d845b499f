/* Products of Householder's reflections, as QR factors are stored: geqrf,
 * linalg_householder_product, ormqr.
 */

#include "op/lapack/lapack.h"

#include <string.h>

#include "op/lapack/blocks.h"
#include "op/row/composite.h"

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* The factors of the reflections of matrix i, or of the only one. */
static char *tau_at(const st_tensor *tau, int64_t i) {
  const int64_t each = tau->sizes[tau->ndim - 1];
  if (tau->numel == each) i = 0;
  return st__data(tau) + i * each * (int64_t)st__itemsize(tau->dtype);
}

static st_status run(st_lapack_job *j, st_tensor *to, const st_tensor *from) {
  ST_TRY(st__lapack_begin(j));
  st_status status = st__copy_unchecked(to, from);
  if (status == ST_OK) status = st__lapack_run(j);
  st__lapack_end(j);
  return status;
}

/* -- geqrf ---------------------------------------------------------------- */

typedef struct reflections {
  st_tensor *A, *tau; /* columns; rows */
} reflections;

st_status st__geqrf_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  int64_t sizes[ST_MAX_DIMS];
  ST_TRY(st__check_matrices(self, "self"));
  memcpy(sizes, self->sizes, (size_t)self->ndim * sizeof *sizes);
  sizes[self->ndim - 2] = smaller(st__rows(self), st__cols(self));
  ST_TRY(st__set_columns(r, 0, self->ndim, self->sizes, self->dtype));
  return st__set_rows(r, 1, self->ndim - 1, sizes, self->dtype);
}

static void factor(const st_lapack_job *j, int64_t i, char *scratch) {
  const reflections *f = j->ctx;
  const st_part a = st__columns_of(f->A, i);
  const bool whole = st__geqrf(j, &a, tau_at(f->tau, i), scratch);
  (void)whole; /* the job says if it was interrupted */
}

st_status st__geqrf_impl(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const reflections f = {r->out[0], r->out[1]};
  const int64_t m = st__rows(self), n = st__cols(self);
  st_lapack_job j = {.fn = factor, .ctx = &f, .dtype = self->dtype,
                     .count = st__batch_count(self),
                     .cost = (double)(m * n) * (double)smaller(m, n),
                     .bytes = st__qr_bytes(self->dtype, m, n, smaller(m, n)),
                     .is_blocked = st__is_blocked(m, n)};
  return self->numel > 0 ? run(&j, f.A, self) : ST_OK;
}

/* -- linalg_householder_product ------------------------------------------- */

static st_status check_tau(const st_tensor *A, const char *name,
                           const st_tensor *tau, const char *tau_name) {
  ST_TRY(st__check_matrices(A, name));
  ST_TRY(st__check_equal_dtypes(A, name, tau, tau_name));
  if (tau->ndim == A->ndim - 1 &&
      st__same_dims(tau->ndim - 1, tau->sizes, A->sizes)) {
    return ST_OK;
  }
  return st__fail(ST_BAD_SHAPE, "%s, shape %s, must have a row for each matrix "
                  "of %s, shape %s", tau_name, ST_SHAPE_TEXT(tau), name,
                  ST_SHAPE_TEXT(A));
}

st_status st__householder_meta(st_run *r) {
  const st_tensor *A = st__arg_tensor(r, 0), *tau = st__arg_tensor(r, 1);
  ST_TRY(check_tau(A, "input", tau, "tau"));
  if (st__rows(A) < st__cols(A)) {
    return st__fail(ST_BAD_SHAPE, "input must not have more columns than rows, "
                    "its shape is %s", ST_SHAPE_TEXT(A));
  }
  if (tau->sizes[tau->ndim - 1] > st__cols(A)) {
    return st__fail(ST_BAD_SHAPE, "tau, shape %s, must not have more elements "
                    "than input, shape %s, has columns", ST_SHAPE_TEXT(tau),
                    ST_SHAPE_TEXT(A));
  }
  return st__set_columns(r, 0, A->ndim, A->sizes, A->dtype);
}

static void multiply(const st_lapack_job *j, int64_t i, char *scratch) {
  const reflections *f = j->ctx;
  const st_part a = st__columns_of(f->A, i);
  const int64_t k = f->tau->sizes[f->tau->ndim - 1];
  const bool whole = st__orgqr(j, &a, k, tau_at(f->tau, i), scratch);
  (void)whole; /* the job says if it was interrupted */
}

st_status st__householder_impl(st_run *r) {
  const st_tensor *A = st__arg_tensor(r, 0);
  const int64_t m = st__rows(A), n = st__cols(A);
  reflections f = {.A = r->out[0]};
  st_lapack_job j = {.fn = multiply, .ctx = &f, .dtype = A->dtype,
                     .count = st__batch_count(A),
                     .cost = (double)(m * n) * (double)n,
                     .bytes = st__qr_bytes(A->dtype, m, n, n),
                     .is_blocked = st__is_blocked(m, n)};
  if (A->numel == 0) return ST_OK;
  ST_TRY(st__contiguous(st__arg_tensor(r, 1), ST_FORMAT_CONTIGUOUS, &f.tau));
  const st_status status = run(&j, f.A, A);
  st__tensor_release(&f.tau);
  return status;
}

/* -- ormqr ---------------------------------------------------------------- */

typedef struct product {
  reflections q;
  st_tensor *C;
  bool left, adjoint;
} product;

st_status st__ormqr_meta(st_run *r) {
  const st_tensor *A = st__arg_tensor(r, 0), *tau = st__arg_tensor(r, 1);
  const st_tensor *C = st__arg_tensor(r, 2);
  const bool left = st__to_bool(&r->args[3], true);
  ST_TRY(check_tau(A, "self", tau, "input2"));
  ST_TRY(st__check_matrices(C, "input3"));
  ST_TRY(st__check_equal_dtypes(A, "self", C, "input3"));
  if (C->ndim != A->ndim || !st__same_dims(A->ndim - 2, A->sizes, C->sizes)) {
    return st__fail(ST_BAD_SHAPE, "self, shape %s, and input3, shape %s, must "
                    "be batches of the same sizes", ST_SHAPE_TEXT(A),
                    ST_SHAPE_TEXT(C));
  }
  if ((left ? st__rows(C) : st__cols(C)) != st__rows(A)) {
    return st__fail(ST_BAD_SHAPE, "the %s of input3, shape %s, are not as many "
                    "as the rows of self, shape %s", left ? "rows" : "columns",
                    ST_SHAPE_TEXT(C), ST_SHAPE_TEXT(A));
  }
  if (tau->sizes[tau->ndim - 1] != smaller(st__rows(A), st__cols(A))) {
    return st__fail(ST_BAD_SHAPE, "input2, shape %s, must have an element for "
                    "each of the diagonal of self, shape %s",
                    ST_SHAPE_TEXT(tau), ST_SHAPE_TEXT(A));
  }
  return st__set_columns(r, 0, C->ndim, C->sizes, C->dtype);
}

/* C Q is (Q' C')' of transposed matrices, with the conjugates of Q. */
static void apply(const st_lapack_job *j, int64_t i, char *scratch) {
  const product *p = j->ctx;
  st_reflections q = {.a = st__columns_of(p->q.A, i),
                      .tau = tau_at(p->q.tau, i),
                      .adjoint = p->adjoint == p->left,
                      .conjugates = !p->left};
  st_part c = st__columns_of(p->C, i);
  q.a.n = p->q.tau->sizes[p->q.tau->ndim - 1];
  if (!p->left) c = st__turned(c);
  const bool whole = st__ormqr(j, &q, &c, scratch);
  (void)whole; /* the job says if it was interrupted */
}

static st_status run_apply(product *p, const st_tensor *from) {
  const int64_t k = p->q.tau->sizes[p->q.tau->ndim - 1];
  const int64_t m = st__rows(p->C), n = st__cols(p->C);
  st_lapack_job j = {.fn = apply, .ctx = p, .dtype = p->C->dtype,
                     .count = st__batch_count(p->C),
                     .cost = 2.0 * (double)(m * n) * (double)k,
                     .is_blocked = st__is_blocked(m, n)};
  j.bytes = st__qr_bytes(j.dtype, st__rows(p->q.A), p->left ? n : m, k);
  return run(&j, p->C, from);
}

st_status st__ormqr_impl(st_run *r) {
  const st_tensor *A = st__arg_tensor(r, 0), *C = st__arg_tensor(r, 2);
  product p = {.C = r->out[0], .left = st__to_bool(&r->args[3], true),
               .adjoint = st__to_bool(&r->args[4], false)};
  st_status status;
  if (C->numel == 0) return ST_OK;
  if (st__cols(A) == 0) return st__copy_unchecked(p.C, C);
  ST_TRY_FAIL(st__as_columns(A, A->ndim, A->sizes, &p.q.A));
  ST_TRY_FAIL(st__contiguous(st__arg_tensor(r, 1), ST_FORMAT_CONTIGUOUS,
                             &p.q.tau));
  status = run_apply(&p, C);
fail:
  st__tensor_release(&p.q.A);
  st__tensor_release(&p.q.tau);
  return status;
}

/* -- Gradients ------------------------------------------------------------ */

/* The first columns of Q = I - V T V': they are E - V Y. V holds the
 * reflections, with ones on the diagonal, and T is (I + D S)^-1 D, where D is
 * diag(tau) and S what is above the diagonal of V' V. E are columns of I,
 * W = V' E and Y = T W. Source: R. Schreiber, C. Van Loan, "A storage-efficient
 * WY representation for products of Householder transformations", SIAM Journal
 * on Scientific and Statistical Computing 10(1), 1989. */
typedef struct compact {
  const st_tensor *V, *E, *D, *S, *DS, *W, *Y;
} compact;

static st_tensor *above_diagonal(st_op_scope *c, const st_tensor *t) {
  return ST_APPLY(c, ST_OP_triu, t, 1);
}

static st_tensor *below_diagonal(st_op_scope *c, const st_tensor *t) {
  return ST_APPLY(c, ST_OP_tril, t, -1);
}

/* Ones on the diagonals of matrices with the sizes of t. */
static st_tensor *ones_on_diagonal(st_op_scope *c, const st_tensor *t) {
  return st__apply1(c, ST_OP_triu, st__apply1(
    c, ST_OP_tril, st__apply1(c, ST_OP_ones_like, t)));
}

/* X of (I + A) X = B, where A is strictly triangular. */
static st_tensor *solve_unit(st_op_scope *c, const st_tensor *A,
                             const st_tensor *B, bool upper) {
  return ST_APPLY(c, ST_OP_linalg_solve_triangular, A, B, st__of_bool(upper),
                  st__of_bool(true), st__of_bool(true));
}

/* As many columns as `like` has. */
static compact compact_of(st_op_scope *c, const st_tensor *self,
                          const st_tensor *tau, const st_tensor *like) {
  const int64_t k = tau->sizes[tau->ndim - 1];
  const st_tensor *first = st__apply_narrow(c, self, -1, 0, k);
  compact q = {.E = ones_on_diagonal(c, like)};
  q.V = st__plus(c, below_diagonal(c, first), ones_on_diagonal(c, first));
  q.D = ST_APPLY(c, ST_OP_unsqueeze, tau, -1);
  const st_tensor *adjoint = st__adjoint(c, q.V);
  q.S = above_diagonal(c, st__times(c, adjoint, q.V));
  q.DS = st__mul(c, q.D, q.S);
  q.W = st__times(c, adjoint, q.E);
  q.Y = solve_unit(c, q.DS, st__mul(c, q.D, q.W), true);
  return q;
}

/* The sums of rows of a conj(b). */
static st_tensor *row_products(st_op_scope *c, const st_tensor *a,
                               const st_tensor *b) {
  return ST_APPLY(c, ST_OP_sum_dim_IntList,
                  st__mul(c, a, st__apply1(c, ST_OP_conj, b)), ST_INTS(-1));
}

/* Both gradients, of self and of tau, by the gradient G of the first columns of
 * the product; zeros if there are no reflections. */
ST_BOXED(st__box_householder_backward) {
  ST_ARGS(TENSOR(G), TENSOR(self), TENSOR(tau));
  st_op_scope c = {.status = ST_OK};
  st_tensor *out[2];
  if (self->ndim < 2 || tau->ndim < 1) {
    return st__fail(ST_BAD_SHAPE, "self must have matrices and tau vectors, "
                    "not shapes %s and %s", ST_SHAPE_TEXT(self),
                    ST_SHAPE_TEXT(tau));
  }
  if (tau->numel == 0) {
    out[0] = st__apply1(&c, ST_OP_zeros_like, self);
    out[1] = st__apply1(&c, ST_OP_zeros_like, tau);
    return st__scope_end(&c, 2, out, rets);
  }
  const compact q = compact_of(&c, self, tau, G);
  const st_tensor *of_DW = st__apply1(&c, ST_OP_neg, solve_unit(
    &c, st__adjoint(&c, q.DS), st__times(&c, st__adjoint(&c, q.V), G), false));
  const st_tensor *Y = st__adjoint(&c, q.Y);
  const st_tensor *of_DS = st__apply1(&c, ST_OP_neg, above_diagonal(
    &c, st__times(&c, of_DW, Y)));
  out[1] = st__plus(&c, row_products(&c, of_DW, q.W),
                    row_products(&c, of_DS, q.S));
  const st_tensor *conj = st__apply1(&c, ST_OP_conj, q.D);
  const st_tensor *of_W = st__mul(&c, conj, of_DW);
  const st_tensor *of_S = st__mul(&c, conj, of_DS);
  const st_tensor *twice = st__plus(&c, of_S, st__adjoint(&c, of_S));
  st_tensor *of_V = st__plus(&c, st__times(&c, q.V, twice),
                             st__times(&c, q.E, st__adjoint(&c, of_W)));
  of_V = st__minus(&c, of_V, st__times(&c, G, Y));
  const int64_t more = st__cols(self) - tau->sizes[tau->ndim - 1];
  out[0] = ST_APPLY(&c, ST_OP_constant_pad_nd, below_diagonal(&c, of_V),
                    ST_INTS(0, more));
  return st__scope_end(&c, 2, out, rets);
}
