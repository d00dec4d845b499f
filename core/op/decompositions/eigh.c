/* Eigenvalues of Hermitian matrices: linalg_eigh, linalg_eigvalsh.
 */

#include "op/lapack/small_matrices.h"

#include <string.h>

#include "op/lapack/blocks.h"
#include "op/lapack/chunks.h"
#include "op/spectra/columns.h"
#include "op/spectra/tridiagonal.h"
#include "tensor/view.h"

/* -- One matrix ----------------------------------------------------------- */

typedef struct spectrum {
  st_tensor *A;       /* the matrices, which the vectors may replace */
  st_tensor *vectors; /* NULL if they are not wanted */
  st_tensor *values, *info;
  bool upper;         /* A is transposed: its lower triangle is meant */
  bool is_rest;       /* only matrices whose values are NaN */
} spectrum;

/* What a call works in: A, the tridiagonal matrix, the factors of reflections,
 * its eigenvectors and their order, and room for the steps. */
typedef struct parts { char *a, *d, *e, *tau, *z, *order, *room; } parts;

static parts parts_of(st_dtype dtype, int64_t n, bool vectors, char *scratch) {
  const st_dtype real = st__real_dtype(dtype);
  parts p = {.a = scratch};
  p.d = p.a + st__line_bytes(dtype, n * st__column_step(dtype, n));
  p.e = p.d + st__line_bytes(real, n);
  p.tau = p.e + st__line_bytes(real, n);
  p.order = p.tau + st__line_bytes(dtype, n);
  p.z = p.order + st__whole_lines(n * (int64_t)sizeof(blasint));
  p.room = p.z + (vectors ? st__line_bytes(real, n * n) : 0);
  return p;
}

static int64_t bytes_of(st_dtype dtype, int64_t n, bool vectors) {
  const st_dtype real = st__real_dtype(dtype);
  const int64_t reduce = st__sytrd_bytes(dtype, n);
  const int64_t kept = st__line_bytes(dtype, n * st__column_step(dtype, n)) +
                       2 * st__line_bytes(real, n) + st__line_bytes(dtype, n) +
                       st__whole_lines(n * (int64_t)sizeof(blasint));
  if (!vectors) return kept + st__larger(reduce, st__sterf_bytes(n));
  const int64_t most = st__larger(st__stedc_bytes(real, n),
                                  st__qr_bytes(dtype, n, n, n));
  return kept + st__line_bytes(real, n * n) + st__larger(reduce, most);
}

/* The vectors of the tridiagonal matrix, in order, as numbers of A's dtype. */
typedef struct columns {
  char *to;
  const char *z;
  const blasint *order;
  int64_t n;
} columns;

static void order_columns(const st_step *s, int64_t from, int64_t to) {
  const columns *c = s->ctx;
  const int64_t n = c->n, real = (int64_t)st__itemsize(
                            st__real_dtype(s->j->dtype));
  const int64_t step = st__size(s->j);
  for (int64_t i = from; i < to; i++) {
    char *const at = c->to + i * n * step;
    const char *const z = c->z + (c->order[i] - 1) * n * real;
    if (step == real) {
      memcpy(at, z, (size_t)(n * step));
      continue;
    }
    memset(at, 0, (size_t)(n * step));
    for (int64_t k = 0; k < n; k++) {
      memcpy(at + k * step, z + k * real, (size_t)real);
    }
  }
}

/* The vectors of the tridiagonal matrix become those of A. */
static bool make_vectors(const st_lapack_job *j, const parts *p,
                         const st_part *a, char *vectors) {
  const int64_t n = a->n;
  const columns c = {vectors, p->z, (const blasint *)(void *)p->order, n};
  st_step s = {.fn = order_columns, .j = j, .ctx = &c, .to = n};
  const st_part all = st__columns_at(vectors, n, n, n);
  const st_part rows = st__part(j, &all, 1, 0, n - 1, n);
  const st_reflections q = {st__part(j, a, 1, 0, n - 1, n - 1), p->tau, false,
                            false};
  return st__share_columns(&s) &&
         (n == 1 || st__ormqr(j, &q, &rows, p->room));
}

/* The values of the tridiagonal matrix, and its vectors if they are wanted;
 * `real` is the job for its dtype. */
static bool find_values(const st_lapack_job *real, const parts *p, int64_t n,
                        bool vectors, blasint *info) {
  if (!vectors) {
    *info = st__sterf(real, n, p->d, p->e, p->room);
    return !st__is_stopped(real);
  }
  return st__stedc(real, (blasint)n, p->d, p->e, p->z,
                   (blasint *)(void *)p->order, info, p->room);
}

static void decompose(const st_lapack_job *j, int64_t i, char *scratch) {
  const spectrum *s = j->ctx;
  const int64_t n = st__cols(s->A);
  const bool vectors = s->vectors != NULL;
  const parts p = parts_of(j->dtype, n, vectors, scratch);
  const st_part from = st__columns_of(s->A, i);
  const st_part a = st__columns_at(p.a, n, n, st__column_step(j->dtype, n));
  const st_tridiagonal t = {p.d, p.e, p.tau};
  const st_dtype dtype = st__real_dtype(j->dtype);
  blasint *const info = (blasint *)(void *)st__data(s->info) + i;
  char *const values = st__data(s->values) +
                       i * n * (int64_t)st__itemsize(dtype);
  st_lapack_job real = *j;
  int exponent;
  real.dtype = dtype;
  *info = 0;
  if (s->is_rest && st__all_finite(dtype, values, n)) return;
  *info = -1;
  if (!st__find_scale(j, from.p, n, n, true, &exponent)) return;
  st__part_copy(j, &a, &from, s->upper);
  for (int64_t c = 0; c < n && exponent != 0; c++) {
    st__scale(j, st__part_at(j, &a, 0, c), n, -exponent);
  }
  if (!st__sytrd(j, &a, &t, p.room)) return;
  if (!find_values(&real, &p, n, vectors, info) || *info != 0) return;
  if (exponent != 0) st__scale(&real, p.d, n, exponent);
  memcpy(values, p.d, (size_t)(n * st__size(&real)));
  if (!vectors) return;
  const bool whole = make_vectors(j, &p, &a, st__matrix_at(s->vectors, i));
  (void)whole; /* the job says if it was interrupted */
}

/* -- linalg_eigh, linalg_eigvalsh ----------------------------------------- */

static st_status read_uplo(const st_value *v, bool *upper) {
  const char c = v->u.string[0];
  if (c == 0 || v->u.string[1] || !strchr("LlUu", c)) {
    return st__fail(ST_BAD_VALUE, "UPLO must be 'L' or 'U', not '%s'",
                    v->u.string);
  }
  *upper = c == 'U' || c == 'u';
  return ST_OK;
}

/* Of both: linalg_eigvalsh has one output. */
st_status st__linalg_eigh_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  bool upper;
  ST_TRY(st__check_square(self, "self"));
  ST_TRY(read_uplo(&r->args[1], &upper));
  ST_TRY(st__set_rows(r, 0, self->ndim - 1, self->sizes,
                      st__real_dtype(self->dtype)));
  if (r->nouts > 1) {
    ST_TRY(st__set_columns(r, 1, self->ndim, self->sizes, self->dtype));
  }
  for (int i = 0; i < r->nouts; i++) ST_TRY(st__write_apart(r, i));
  return ST_OK;
}

/* The lower triangle is read: that of the transposed matrix for the upper one,
 * which is conjugated. */
static st_status decompose_all(const st_tensor *self, spectrum *s) {
  enum { LEAST = 128 };
  const int64_t n = st__cols(self);
  const bool vectors = s->vectors != NULL, in_place = vectors && !s->is_rest;
  st_lapack_job j = {.fn = decompose, .ctx = s, .dtype = self->dtype,
                     .count = st__batch_count(self),
                     .cost = (vectors ? 4.0 : 1.0) * (double)n * (double)n *
                             (double)n,
                     .bytes = bytes_of(self->dtype, n, vectors),
                     .is_blocked = n >= LEAST};
  st_tensor *own = NULL, *lower = NULL;
  st_status status;
  ST_TRY_FAIL(st__tensor_empty(ST_DEVICE_CPU, ST_INT32, self->ndim - 2,
                               self->sizes, ST_FORMAT_CONTIGUOUS, &s->info));
  if (!in_place) {
    ST_TRY_FAIL(st__new_columns(self->dtype, self->ndim, self->sizes, &own));
  }
  s->A = in_place ? s->vectors : own;
  if (s->upper) {
    ST_TRY_FAIL(st__view_transpose(self, self->ndim - 2, self->ndim - 1,
                                  &lower));
  }
  ST_TRY_FAIL(st__lapack_begin(&j));
  status = st__copy_unchecked(s->A, lower ? lower : self);
  if (status == ST_OK) status = st__lapack_run(&j);
  st__lapack_end(&j);
  if (status == ST_OK) status = st__check_info(s->info, "self", ST_DIVERGENT);
fail:
  st__tensor_release(&s->info);
  st__tensor_release(&lower);
  st__tensor_release(&own);
  return status;
}

/* The values of what the kernel cannot decompose become NaN. */
static st_status decompose_small(const st_tensor *self, const spectrum *s) {
  const int64_t n = st__cols(self);
  st_small_call c = st__small_call(ST_K_small_eigh, self,
                                   s->vectors ? 3 * n : 0);
  st__small_values(&c, 0, s->values, 1);
  if (s->vectors) st__small_output(&c, 1, s->vectors, false);
  st_status status = st__small_input(&c, 2, self, s->upper);
  if (status == ST_OK) status = st__small_run(&c);
  st__small_end(&c);
  return status;
}

st_status st__linalg_eigh_impl(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const bool vectors = r->nouts > 1;
  spectrum s = {.values = r->out[0], .vectors = vectors ? r->out[1] : NULL,
                .is_rest = st__is_small(self)};
  if (self->numel == 0) return ST_OK;
  ST_TRY(read_uplo(&r->args[1], &s.upper));
  if (s.is_rest) {
    ST_TRY(decompose_small(self, &s));
    if (st__all_finite(s.values->dtype, st__data(s.values), s.values->numel)) {
      return ST_OK;
    }
  }
  return decompose_all(self, &s);
}
