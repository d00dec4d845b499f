/* Cholesky factors: linalg_cholesky_ex, linalg_cholesky, cholesky_solve,
 * cholesky_inverse.
 */

#include "op/lapack/blocks.h"
#include "op/lapack/small_matrices.h"
#include "op/row/composite.h"

/* -- linalg_cholesky_ex --------------------------------------------------- */

typedef struct factors {
  st_tensor *L, *info;
  bool upper;
} factors;

/* The part of which the lower triangle is meant. */
static st_part lower_of(const factors *c, int64_t i) {
  const st_part a = st__columns_of(c->L, i);
  return c->upper ? st__turned(a) : a;
}

static blasint *info_at(const factors *c, int64_t i) {
  return (blasint *)(void *)st__data(c->info) + i;
}

static void factor(const st_lapack_job *j, int64_t i, char *scratch) {
  const factors *c = j->ctx;
  const st_part a = lower_of(c, i);
  st__potrf(j, &a, info_at(c, i), scratch);
}

st_status st__linalg_cholesky_ex_meta(st_run *r) {
  return st__set_matrices_and_info(r, "self",
                                   st__to_bool(&r->args[2], false));
}

/* An upper factor is the transposed lower one of the upper triangle. */
static st_status factor_small(const st_tensor *self, const factors *f) {
  st_small_call c = st__small_call(ST_K_small_cholesky, self, 0);
  st__small_output(&c, 0, f->L, f->upper);
  st__small_values(&c, 1, f->info, 0);
  st_status status = st__small_input(&c, 2, self, f->upper);
  if (status == ST_OK) status = st__small_run(&c);
  st__small_end(&c);
  return status;
}

static st_status factor_all(const st_tensor *self, const factors *f) {
  const double n = (double)st__cols(self);
  st_lapack_job j = {.fn = factor, .ctx = f, .dtype = self->dtype,
                     .count = st__batch_count(self), .cost = n * n * n / 6,
                     .bytes = st__potrf_bytes(self->dtype, st__cols(self)),
                     .is_blocked = st__is_blocked(st__cols(self),
                                                  st__cols(self))};
  ST_TRY(st__lapack_begin(&j));
  st_status status = st__copy_unchecked(f->L, self);
  if (status == ST_OK) status = st__lapack_run(&j);
  st__lapack_end(&j);
  return status;
}

st_status st__linalg_cholesky_ex_impl(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const factors f = {r->out[0], r->out[1], st__to_bool(&r->args[1], false)};
  ST_TRY(st__is_small(self) ? factor_small(self, &f) : factor_all(self, &f));
  if (!st__to_bool(&r->args[2], false)) return ST_OK;
  return st__check_info(f.info, "self", ST_INDEFINITE);
}

/* -- linalg_cholesky ------------------------------------------------------ */

ST_BOXED(st__box_linalg_cholesky) {
  st_op_scope c = {.status = ST_OK};
  st_tensor *out[2];
  st__apply_multi(&c, ST_OP_linalg_cholesky_ex,
                  ST_VALUES(args[0], args[1], st__of_bool(true)), 2, out);
  return st__scope_return(&c, out[0], rets);
}

/* -- cholesky_solve ------------------------------------------------------- */

/* The X of F F' X = B, or of F' F X = B if F is upper. */
static st_tensor *solve(st_op_scope *c, const st_tensor *F, const st_tensor *B,
                        bool upper) {
  const st_tensor *adjoint = st__adjoint(c, F);
  const st_tensor *Y = ST_APPLY(c, ST_OP_linalg_solve_triangular,
                                upper ? adjoint : F, B, st__of_bool(false));
  return ST_APPLY(c, ST_OP_linalg_solve_triangular, upper ? F : adjoint, Y,
                  st__of_bool(true));
}

ST_BOXED(st__box_cholesky_solve) {
  ST_ARGS(TENSOR(self), TENSOR(factor));
  st_op_scope c = {.status = st__check_square(factor, "input2")};
  return st__scope_return(&c, solve(&c, factor, self, st__next_bool(&args)),
                          rets);
}

/* -- cholesky_inverse ----------------------------------------------------- */

/* The place from 1 of the first zero of the diagonal, or 0. */
static blasint find_zero(const st_lapack_job *j, const st_part *a) {
  for (int64_t i = 0; i < a->n; i++) {
    double x[2];
    st__scalar_to_complex(st__scalar_load(j->dtype, st__part_at(j, a, i, i)),
                          x);
    if (x[0] == 0 && x[1] == 0) return (blasint)i + 1;
  }
  return 0;
}

static void invert(const st_lapack_job *j, int64_t i, char *scratch) {
  const factors *c = j->ctx;
  const st_part a = lower_of(c, i);
  blasint *const info = info_at(c, i);
  *info = find_zero(j, &a);
  if (*info != 0) return;
  const bool whole = st__potri(j, &a, scratch);
  (void)whole; /* the job says if it was interrupted */
}

st_status st__cholesky_inverse_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  ST_TRY(st__check_square(self, "self"));
  ST_TRY(st__set_columns(r, 0, self->ndim, self->sizes, self->dtype));
  return st__write_apart(r, 0);
}

st_status st__cholesky_inverse_impl(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  factors c = {.L = r->out[0], .upper = st__to_bool(&r->args[1], false)};
  const double n = (double)st__cols(self);
  st_lapack_job j = {.fn = invert, .ctx = &c, .dtype = self->dtype,
                     .count = st__batch_count(self), .cost = n * n * n / 3,
                     .bytes = st__potri_bytes(self->dtype, st__cols(self)),
                     .is_blocked = st__is_blocked(st__cols(self),
                                                  st__cols(self))};
  st_status status;
  if (self->numel == 0) return ST_OK;
  ST_TRY(st__tensor_empty(ST_DEVICE_CPU, ST_INT32, self->ndim - 2, self->sizes,
                          ST_FORMAT_CONTIGUOUS, &c.info));
  ST_TRY_FAIL(st__lapack_begin(&j));
  status = st__copy_unchecked(c.L, self);
  if (status == ST_OK) status = st__lapack_run(&j);
  st__lapack_end(&j);
  if (status == ST_OK) status = st__check_info(c.info, "self", ST_SINGULAR);
fail:
  st__tensor_release(&c.info);
  return status;
}
