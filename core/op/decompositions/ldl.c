/* Factors of symmetric and Hermitian matrices that need not be definite:
 * linalg_ldl_factor_ex, linalg_ldl_factor, linalg_ldl_solve.
 *
 * Note [Pivots of LDL factors]
 * D has blocks of one and of two rows. A positive pivot, from 1, says with
 * which row that of a block of one was exchanged; two negative ones belong to a
 * block of two.
 */

#include <inttypes.h>

#include "op/decompositions/equations.h"
#include "op/decompositions/lu.h"
#include "op/lapack/blocks.h"
#include "tensor/view.h"

/* -- linalg_ldl_factor_ex, linalg_ldl_factor ------------------------------ */

typedef struct factors {
  st_tensor *LD, *pivots, *info;
  bool hermitian;
} factors;

static bool wants_errors(const st_run *r) {
  return r->nouts == 2 || st__to_bool(&r->args[2], false);
}

/* Of linalg_ldl_factor, too, which has no info. */
st_status st__linalg_ldl_factor_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  ST_TRY(st__check_square(self, "self"));
  ST_TRY(st__set_columns(r, 0, self->ndim, self->sizes, self->dtype));
  ST_TRY(st__set_rows(r, 1, self->ndim - 1, self->sizes, ST_INT32));
  if (r->nouts == 3) {
    ST_TRY(st__set_rows(r, 2, self->ndim - 2, self->sizes, ST_INT32));
  }
  for (int i = 0; wants_errors(r) && i < r->nouts; i++) {
    ST_TRY(st__write_apart(r, i));
  }
  return ST_OK;
}

/* Works in scratch, whose columns are as far apart as the kernel wants them.
 * What is above the diagonal becomes 0. */
static void factor(const st_lapack_job *j, int64_t i, char *scratch) {
  const factors *f = j->ctx;
  const int64_t n = st__cols(f->LD);
  const int64_t pitch = st__ldl_pitch(j->dtype, n);
  const st_part out = st__columns_of(f->LD, i);
  const st_ldl l = {
    .a = st__columns_at(scratch, n, n, pitch / (int64_t)st__itemsize(j->dtype)),
    .pivots = (blasint *)(void *)st__data(f->pivots) + i * n,
    .hermitian = f->hermitian};
  st__part_copy(j, &l.a, &out, false);
  if (!st__sytrf(j, &l, (blasint *)(void *)st__data(f->info) + i,
                 scratch + n * pitch)) {
    return;
  }
  st__part_copy(j, &out, &l.a, false);
  st__part_zero_above(j, &out);
}

st_status st__linalg_ldl_factor_impl(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const int64_t n = st__cols(self);
  st_tensor *own = NULL;
  factors f = {.LD = r->out[0], .pivots = r->out[1],
               .hermitian = st__to_bool(&r->args[1], false) &&
                            st__is_complex(self->dtype)};
  st_lapack_job j = {.fn = factor, .ctx = &f, .dtype = self->dtype,
                     .count = st__batch_count(self),
                     .cost = (double)n * (double)n * (double)n / 6,
                     .bytes = n * st__ldl_pitch(self->dtype, n) +
                              st__ldl_bytes(self->dtype, n),
                     .is_blocked = st__is_blocked(n, n)};
  st_status status;
  if (r->nouts < 3) {
    ST_TRY(st__tensor_empty(ST_DEVICE_CPU, ST_INT32, self->ndim - 2,
                            self->sizes, ST_FORMAT_CONTIGUOUS, &own));
  }
  f.info = own ? own : r->out[2];
  ST_TRY_FAIL(st__lapack_begin(&j));
  status = st__copy_unchecked(f.LD, self);
  if (status == ST_OK) status = st__lapack_run(&j);
  st__lapack_end(&j);
  if (status == ST_OK && wants_errors(r)) {
    status = st__check_info(f.info, "self", ST_NO_DIAGONAL);
  }
fail:
  st__tensor_release(&own);
  return status;
}

/* -- linalg_ldl_solve ----------------------------------------------------- */

st_status st__linalg_ldl_solve_meta(st_run *r) {
  const st_tensor *LD = st__arg_tensor(r, 0), *B = st__arg_tensor(r, 2);
  int64_t sizes[ST_MAX_DIMS];
  int ndim;
  ST_TRY(st__check_square(LD, "LD"));
  ST_TRY(st__check_matrices(B, "B"));
  ST_TRY(st__check_equal_dtypes(LD, "LD", B, "B"));
  ST_TRY(st__check_pivots(LD, "LD", st__arg_tensor(r, 1), "pivots"));
  ST_TRY(st__equation_sizes(LD, "LD", B, true, sizes, &ndim));
  return st__set_columns(r, 0, ndim, sizes, B->dtype);
}

/* How many pivots from p on, of n at most, make a block: 0 if they do not. */
static int64_t block_of(const int32_t *p, int64_t left, int64_t n) {
  if (*p > 0) return *p <= n;
  const bool is_pair = left > 1 && *p < 0 && *p >= -n && p[1] < 0 &&
                       p[1] >= -n;
  return is_pair ? 2 : 0;
}

/* BAD_INDEX unless they are as Note [Pivots of LDL factors] says. */
static st_status check_blocks(const st_tensor *pivots) {
  const int32_t *p = (const int32_t *)(const void *)st__data(pivots);
  const int64_t n = pivots->sizes[pivots->ndim - 1];
  for (int64_t i = 0; i < pivots->numel;) {
    const int64_t rows = block_of(p + i, n - i % n, n);
    if (rows == 0) {
      return st__fail(ST_BAD_INDEX, "pivots must be from 1 to %" PRId64 ", or "
                      "two from -%" PRId64 " to -1, one is %d", n, n,
                      (int)p[i]);
    }
    i += rows;
  }
  return ST_OK;
}

typedef struct equation {
  const st_tensor *LD, *pivots;
  st_tensor *X;
  bool hermitian;
} equation;

static void solve(const st_lapack_job *j, int64_t i, char *scratch) {
  const equation *s = j->ctx;
  const st_ldl f = {st__columns_of(s->LD, i), st__pivots_at(s->pivots, i),
                    s->hermitian};
  const st_part x = st__columns_of(s->X, i);
  const bool done = st__sytrs(j, &f, &x, scratch);
  (void)done; /* the job says so */
}

static st_status run(equation *s, const st_tensor *B) {
  const int64_t n = st__rows(s->X);
  st_lapack_job j = {.fn = solve, .ctx = s, .dtype = B->dtype,
                     .count = st__batch_count(s->X),
                     .cost = (double)n * (double)n *
                             (double)st__cols(s->X),
                     .bytes = st__sytrs_bytes(B->dtype, n, st__cols(s->X)),
                     .is_blocked = st__is_blocked(n, st__cols(s->X))};
  ST_TRY(st__lapack_begin(&j));
  st_status status = st__copy_unchecked(s->X, B);
  if (status == ST_OK) status = st__lapack_run(&j);
  st__lapack_end(&j);
  return status;
}

st_status st__linalg_ldl_solve_impl(st_run *r) {
  const st_tensor *LD = st__arg_tensor(r, 0), *B = st__arg_tensor(r, 2);
  equation s = {
    .X = r->out[0], .hermitian = st__to_bool(&r->args[3], false) &&
                                 st__is_complex(LD->dtype)};
  st_tensor *own = NULL, *factor = NULL, *pivots = NULL, *wide = NULL;
  int64_t sizes[ST_MAX_DIMS];
  st_status status;
  if (s.X->numel == 0) return ST_OK;
  ST_TRY_FAIL(st__clone(st__arg_tensor(r, 1), ST_INT32, ST_FORMAT_CONTIGUOUS,
                        &own));
  ST_TRY_FAIL(check_blocks(own));
  ST_TRY_FAIL(st__spread_pivots(own, s.X, &pivots));
  st__batch_sizes(LD, s.X, sizes);
  ST_TRY_FAIL(st__as_columns(LD, s.X->ndim, sizes, &factor));
  ST_TRY_FAIL(st__view_expand(B, s.X->ndim, s.X->sizes, &wide));
  s.LD = factor;
  s.pivots = pivots;
  status = run(&s, wide);
fail:
  st__tensor_release(&own);
  st__tensor_release(&factor);
  st__tensor_release(&pivots);
  st__tensor_release(&wide);
  return status;
}
