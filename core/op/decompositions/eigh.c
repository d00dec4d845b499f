/* Eigenvalues of Hermitian matrices: linalg_eigh, linalg_eigvalsh.
 */

#include "op/lapack/small_matrices.h"

#include <limits.h>
#include <string.h>

#include "op/lapack/blocks.h"
#include "op/lapack/chunks.h"
#include "op/lapack/tridiagonal.h"
#include "tensor/view.h"

/* -- LAPACK --------------------------------------------------------------- */

typedef struct spectrum {
  st_tensor *A;       /* the matrices, which the vectors may replace */
  st_tensor *vectors; /* NULL if they are not wanted */
  st_tensor *values, *info;
  const char *uplo, *job;
  bool is_rest;       /* only matrices whose values are NaN */
  bool is_real;       /* of A, real, the lower triangle: decompose_real */
} spectrum;

/* What a call works in: elements, real numbers, integers. */
typedef struct work_sizes { int64_t elements, reals, integers; } work_sizes;

/* The least that LAPACK asks for, and a block of columns more. */
static work_sizes work_of(int64_t n, bool is_complex, bool vectors) {
  enum { BLOCK = 32 };
  if (!is_complex) {
    return vectors ? (work_sizes){1 + (6 + BLOCK) * n + 2 * n * n, 0, 3 + 5 * n}
                   : (work_sizes){1 + (2 + BLOCK) * n, 0, 1};
  }
  return vectors ? (work_sizes){(2 + BLOCK) * n + n * n,
                                1 + 5 * n + 2 * n * n, 3 + 5 * n}
                 : (work_sizes){1 + (1 + BLOCK) * n, 1 + n, 1};
}

/* True if the triangle that LAPACK reads is finite. */
static bool is_finite(const st_lapack_job *j, const char *a, int64_t n) {
  const spectrum *s = j->ctx;
  const int64_t size = (int64_t)st__itemsize(j->dtype);
  const bool lower = *s->uplo == 'L';
  bool all = true;
  for (int64_t c = 0; c < n && all; c++) {
    const int64_t first = lower ? c : 0, last = lower ? n : c + 1;
    all = st__all_finite(j->dtype, a + (c * n + first) * size, last - first);
  }
  return all;
}

static void decompose(const st_lapack_job *j, int64_t i, char *scratch) {
  const spectrum *s = j->ctx;
  const blasint n = (blasint)st__cols(s->A), lda = st__leading(s->A);
  const bool is_complex = st__is_complex(j->dtype);
  const int64_t real = (int64_t)st__itemsize(s->values->dtype);
  const work_sizes w = work_of(n, is_complex, *s->job == 'V');
  const int64_t size = (int64_t)st__itemsize(j->dtype);
  const size_t bytes = (size_t)(st__rows(s->A) * n * size);
  char *const a = scratch, *const work = a + st__padded(n, n) * size;
  char *const reals = work + w.elements * size;
  blasint *const integers = (blasint *)(void *)(reals + w.reals * real);
  const blasint lwork = (blasint)w.elements, lrwork = (blasint)w.reals;
  const blasint liwork = (blasint)w.integers;
  blasint *const info = (blasint *)(void *)st__data(s->info) + i;
  char *const matrix = st__matrix_at(s->A, i);
  char *const values = st__data(s->values) + i * n * real;
  *info = 0;
  if (s->is_rest && st__all_finite(s->values->dtype, values, n)) return;
  *info = -1;
  if (!is_finite(j, matrix, n)) return;
  memcpy(a, matrix, bytes);
  if (is_complex) {
    j->f->heevd(s->job, s->uplo, &n, a, &lda, values, work, &lwork, reals,
                &lrwork, integers, &liwork, info, 1, 1);
  } else {
    j->f->syevd(s->job, s->uplo, &n, a, &lda, values, work, &lwork, integers,
                &liwork, info, 1, 1);
  }
  if (s->vectors) memcpy(st__matrix_at(s->vectors, i), a, bytes);
}

/* -- Real eigenvectors ---------------------------------------------------- */

/* What a call works in: A, the tridiagonal matrix, the factors of reflections,
 * its eigenvectors and their order, and room for the steps. */
typedef struct parts { char *a, *d, *e, *tau, *z, *order, *room; } parts;

static parts parts_of(int64_t n, int64_t size, char *scratch) {
  const int64_t line = st__whole_lines(n * size);
  parts p = {.a = scratch};
  p.d = p.a + st__whole_lines(n * n * size);
  p.e = p.d + line;
  p.tau = p.e + line;
  p.z = p.tau + line;
  p.order = p.z + st__whole_lines(n * n * size);
  p.room = p.order + st__whole_lines(n * (int64_t)sizeof(blasint));
  return p;
}

static int64_t real_bytes(st_dtype dtype, int64_t n) {
  enum { BLOCK = 32 };
  const int64_t size = (int64_t)st__itemsize(dtype);
  const int64_t room = st__larger(st__stedc_bytes(dtype, n),
                              st__apply_q_bytes(dtype, n, n));
  return 2 * st__whole_lines(n * n * size) + 3 * st__whole_lines(n * size) +
         st__whole_lines(n * (int64_t)sizeof(blasint)) +
         st__larger(room, st__whole_lines(BLOCK * n * size));
}

/* The vectors of the tridiagonal matrix, in order. */
typedef struct columns {
  char *to;
  const char *z;
  const blasint *order;
  int64_t n;
} columns;

static void order_columns(const st_step *s, int64_t from, int64_t to) {
  const columns *c = s->ctx;
  const int64_t bytes = c->n * st__size(s->j);
  for (int64_t i = from; i < to; i++) {
    memcpy(c->to + i * bytes, c->z + (c->order[i] - 1) * bytes, (size_t)bytes);
  }
}

static void decompose_real(const st_lapack_job *j, int64_t i, char *scratch) {
  enum { BLOCK = 32 };
  const spectrum *s = j->ctx;
  const blasint n = (blasint)st__cols(s->A), rest = n - 1;
  const int64_t size = st__size(j);
  const parts p = parts_of(n, size, scratch);
  const blasint length = st__work_length((int64_t)BLOCK * n);
  blasint *const info = (blasint *)(void *)st__data(s->info) + i;
  blasint *const order = (blasint *)(void *)p.order;
  char *const vectors = st__matrix_at(s->vectors, i);
  columns c = {vectors, p.z, order, n};
  st_step step = {.fn = order_columns, .j = j, .ctx = &c, .to = n};
  int exponent;
  *info = -1;
  if (!st__find_scale(j, vectors, n, n, true, &exponent)) return;
  memcpy(p.a, vectors, (size_t)(n * (int64_t)n * size));
  if (exponent != 0) st__scale(j, p.a, n * (int64_t)n, -exponent);
  j->f->sytrd("L", &n, p.a, &n, p.d, p.e, p.tau, p.room, &length, info, 1);
  if (!st__stedc(j, n, p.d, p.e, p.z, order, info, p.room)) return;
  if (*info != 0) return;
  if (exponent != 0) st__scale(j, p.d, n, exponent);
  memcpy(st__data(s->values) + i * n * size, p.d, (size_t)(n * size));
  if (!st__share_columns(&step)) return;
  st__apply_q(j, rest, n, rest, p.a + size, n, p.tau, vectors + size, n,
              p.room);
}

/* -- linalg_eigh, linalg_eigvalsh ----------------------------------------- */

static st_status read_uplo(const st_value *v, const char **out) {
  const char c = v->u.string[0];
  if (c == 0 || v->u.string[1] || !strchr("LlUu", c)) {
    return st__fail(ST_BAD_VALUE, "UPLO must be 'L' or 'U', not '%s'",
                    v->u.string);
  }
  *out = c == 'L' || c == 'l' ? "L" : "U";
  return ST_OK;
}

/* Of both: linalg_eigvalsh has one output. */
st_status st__linalg_eigh_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const char *uplo;
  ST_TRY(st__check_square(self, "self"));
  ST_TRY(read_uplo(&r->args[1], &uplo));
  ST_TRY(st__set_rows(r, 0, self->ndim - 1, self->sizes,
                      st__real_dtype(self->dtype)));
  if (r->nouts > 1) {
    ST_TRY(st__set_columns(r, 1, self->ndim, self->sizes, self->dtype));
  }
  for (int i = 0; i < r->nouts; i++) ST_TRY(st__write_apart(r, i));
  return ST_OK;
}

static st_status prepare(const st_tensor *self, const spectrum *s,
                         st_lapack_job *j) {
  enum { LEAST = 128 };
  const bool vectors = s->vectors != NULL;
  const int64_t n = st__cols(self), size = (int64_t)st__itemsize(self->dtype);
  const work_sizes w = work_of(n, st__is_complex(self->dtype), vectors);
  const int64_t real = (int64_t)st__itemsize(st__real_dtype(self->dtype));
  if (w.elements > INT_MAX || w.reals > INT_MAX) {
    return st__fail(ST_BAD_SHAPE, "self of shape %s has matrices too large for "
                    "LAPACK", ST_SHAPE_TEXT(self));
  }
  j->dtype = self->dtype;
  j->count = st__batch_count(self);
  j->cost = (vectors ? 4.0 : 1.0) * (double)n * (double)n * (double)n;
  j->bytes = (st__padded(n, n) + w.elements) * size + w.reals * real +
             w.integers * (int64_t)sizeof(blasint);
  j->bytes = (j->bytes + 63) / 64 * 64; /* the next thread's is aligned */
  j->fn = decompose;
  if (s->is_real) {
    j->fn = decompose_real;
    j->bytes = real_bytes(self->dtype, n);
    j->is_blocked = n >= LEAST;
  }
  return ST_OK;
}

static st_status decompose_all(const st_tensor *self, spectrum *s) {
  const bool in_place = s->vectors && !s->is_rest;
  st_lapack_job j = {.ctx = s, .uses_library = true};
  st_tensor *own = NULL, *lower = NULL;
  st_status status;
  if (in_place) ST_TRY(st__lapack_divides(self->dtype, &s->is_real));
  ST_TRY(prepare(self, s, &j));
  ST_TRY_FAIL(st__tensor_empty(ST_DEVICE_CPU, ST_INT32, self->ndim - 2,
                               self->sizes, ST_FORMAT_CONTIGUOUS, &s->info));
  if (!in_place) {
    ST_TRY_FAIL(st__new_columns(self->dtype, self->ndim, self->sizes, &own));
  }
  s->A = in_place ? s->vectors : own;
  if (s->is_real && *s->uplo == 'U') {
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
  st_status status = st__small_input(&c, 2, self, *s->uplo == 'U');
  if (status == ST_OK) status = st__small_run(&c);
  st__small_end(&c);
  return status;
}

st_status st__linalg_eigh_impl(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const bool vectors = r->nouts > 1;
  spectrum s = {.values = r->out[0], .vectors = vectors ? r->out[1] : NULL,
                .job = vectors ? "V" : "N", .is_rest = st__is_small(self)};
  if (self->numel == 0) return ST_OK;
  ST_TRY(read_uplo(&r->args[1], &s.uplo));
  if (s.is_rest) {
    ST_TRY(decompose_small(self, &s));
    if (st__all_finite(s.values->dtype, st__data(s.values), s.values->numel)) {
      return ST_OK;
    }
  }
  return decompose_all(self, &s);
}
