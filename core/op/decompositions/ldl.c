/* Factors of symmetric and Hermitian matrices that need not be definite:
 * linalg_ldl_factor_ex, linalg_ldl_factor, linalg_ldl_solve.
 *
 * Note [Pivots of LDL factors]
 * D has blocks of one and of two rows. A positive pivot, from 1, says with
 * which row that of a block of one was exchanged; two negative ones belong to a
 * block of two.
 */

#include <inttypes.h>
#include <string.h>

#include "op/decompositions/equations.h"
#include "op/decompositions/lu.h"
#include "tensor/view.h"

/* -- linalg_ldl_factor_ex, linalg_ldl_factor ------------------------------ */

typedef struct factors {
  st_tensor *LD, *pivots, *info;
  bool hermitian;
} factors;

enum { BLOCK = 64 }; /* columns that LAPACK works with at once */

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

/* Works in the scratch: Note [Reads behind a matrix]. What is above the
 * diagonal becomes 0. */
static void factor(const st_lapack_job *j, int64_t i, char *scratch) {
  const factors *f = j->ctx;
  const int64_t size = (int64_t)st__itemsize(j->dtype);
  const blasint n = (blasint)st__cols(f->LD), lda = st__leading(f->LD);
  const blasint length = BLOCK * n;
  const size_t column = (size_t)(n * size);
  char *const a = st__matrix_at(f->LD, i);
  char *const work = scratch + st__padded(n, n) * size;
  blasint *const pivots = (blasint *)(void *)st__data(f->pivots) + i * n;
  blasint *const info = (blasint *)(void *)st__data(f->info) + i;
  *info = 0;
  if (n == 0) return;
  memcpy(scratch, a, column * (size_t)n);
  (f->hermitian ? j->f->hetrf : j->f->sytrf)("L", &n, scratch, &lda, pivots,
                                             work, &length, info, 1);
  for (int64_t c = 0; c < n; c++) {
    char *const to = a + c * n * size;
    memset(to, 0, (size_t)(c * size));
    memcpy(to + c * size, scratch + (c * n + c) * size,
           column - (size_t)(c * size));
  }
}

st_status st__linalg_ldl_factor_impl(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const double n = (double)st__cols(self);
  st_tensor *own = NULL;
  factors f = {.LD = r->out[0], .pivots = r->out[1],
               .hermitian = st__to_bool(&r->args[1], false) &&
                            st__is_complex(self->dtype)};
  st_lapack_job j = {.fn = factor, .ctx = &f, .dtype = self->dtype,
                     .count = st__batch_count(self),
                     .uses_library = true, .cost = n * n * n / 6};
  st_status status;
  j.bytes = (st__padded(st__cols(self), st__cols(self)) +
             BLOCK * st__cols(self)) * (int64_t)st__itemsize(j.dtype);
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
  const blasint n = (blasint)st__rows(s->X), columns = (blasint)st__cols(s->X);
  const blasint lda = st__leading(s->LD), ldb = st__leading(s->X);
  blasint info;
  (void)scratch;
  (s->hermitian ? j->f->hetrs : j->f->sytrs)(
    "L", &n, &columns, st__matrix_at(s->LD, i), &lda,
    st__pivots_at(s->pivots, i), st__matrix_at(s->X, i), &ldb, &info, 1);
}

static st_status run(equation *s, const st_tensor *B) {
  const double n = (double)st__rows(s->X);
  st_lapack_job j = {.fn = solve, .ctx = s, .dtype = B->dtype,
                     .count = st__batch_count(s->X),
                     .uses_library = true,
                     .cost = n * n * (double)st__cols(s->X)};
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
