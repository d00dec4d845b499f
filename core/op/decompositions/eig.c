/* Eigenvalues of any square matrices: linalg_eig, linalg_eigvals.
 */

#include "op/lapack/lapack.h"

#include <string.h>

/* -- LAPACK --------------------------------------------------------------- */

typedef struct spectrum {
  st_tensor *A;       /* columns */
  st_tensor *values;  /* complex, as what follows */
  st_tensor *vectors; /* NULL if they are not wanted */
  st_tensor *info;
} spectrum;

/* What a call works in: elements of A's dtype for A, the vectors and LAPACK,
 * then real numbers. For real matrices these are the values, in two parts. */
typedef struct work_sizes { int64_t A, vectors, elements, reals; } work_sizes;

/* The least that LAPACK asks for, and two blocks of columns more. */
static work_sizes work_of(const spectrum *s) {
  enum { BLOCK = 64 };
  const int64_t n = st__cols(s->A);
  return (work_sizes){st__padded(n, n), s->vectors ? st__padded(n, n) : 0,
                      (4 + 2 * BLOCK) * n, 2 * n};
}

/* Complex numbers of n parts at re and im, the latter times sign; a NULL im
 * stands for zeros. */
static void join(st_dtype dtype, char *out, const char *re, const char *im,
                 int64_t n, int sign) {
  const bool is_double = dtype == ST_FLOAT64;
  const float *fr = (const float *)(const void *)re;
  const float *fi = (const float *)(const void *)im;
  const double *dr = (const double *)(const void *)re;
  const double *di = (const double *)(const void *)im;
  float *const f = (float *)(void *)out;
  double *const d = (double *)(void *)out;
  for (int64_t k = 0; k < n; k++) {
    if (is_double) {
      d[2 * k] = dr[k];
      d[2 * k + 1] = im ? sign * di[k] : 0;
    } else {
      f[2 * k] = fr[k];
      f[2 * k + 1] = im ? (float)sign * fi[k] : 0;
    }
  }
}

static bool is_zero(st_dtype dtype, const char *p, int64_t k) {
  if (dtype == ST_FLOAT64) return ((const double *)(const void *)p)[k] == 0;
  return ((const float *)(const void *)p)[k] == 0;
}

/* The vectors of a real matrix: a column for a real value; two, the real and
 * the imaginary parts, for two conjugate values. */
static void join_vectors(st_dtype dtype, char *out, const char *columns,
                         const char *im, int64_t n) {
  const int64_t size = n * (int64_t)st__itemsize(dtype);
  for (int64_t k = 0; k < n; k++) {
    const char *const at = columns + k * size;
    char *const to = out + 2 * k * size;
    const bool is_pair = !is_zero(dtype, im, k) && k + 1 < n;
    join(dtype, to, at, is_pair ? at + size : NULL, n, 1);
    if (!is_pair) continue;
    join(dtype, to + 2 * size, at, at + size, n, -1);
    k++;
  }
}

static void decompose(const st_lapack_job *j, int64_t i, char *scratch) {
  const spectrum *s = j->ctx;
  const work_sizes w = work_of(s);
  const int64_t size = (int64_t)st__itemsize(j->dtype);
  const blasint n = (blasint)st__cols(s->A), one = 1;
  const blasint length = (blasint)w.elements;
  const char *const right = s->vectors ? "V" : "N";
  char *const a = scratch, *const v = a + w.A * size;
  char *const work = v + w.vectors * size;
  char *const reals = work + w.elements * size;
  char *const im = reals + n * size; /* of real matrices */
  blasint *const info = (blasint *)(void *)st__data(s->info) + i;
  char *const values = st__data(s->values) +
                       i * n * (int64_t)st__itemsize(s->values->dtype);
  memcpy(a, st__matrix_at(s->A, i), (size_t)(n * size) * (size_t)n);
  *info = -1;
  if (!st__all_finite(j->dtype, a, (int64_t)n * n)) return;
  if (st__is_complex(j->dtype)) {
    j->f->complex_geev("N", right, &n, a, &n, values, NULL, &one, v, &n, work,
                       &length, reals, info, 1, 1);
    if (s->vectors) {
      memcpy(st__matrix_at(s->vectors, i), v, (size_t)(n * size) * (size_t)n);
    }
  } else {
    j->f->geev("N", right, &n, a, &n, reals, im, NULL, &one, v, &n, work,
               &length, info, 1, 1);
    join(j->dtype, values, reals, im, n, 1);
    if (s->vectors && *info == 0) {
      join_vectors(j->dtype, st__matrix_at(s->vectors, i), v, im, n);
    }
  }
}

/* -- linalg_eig, linalg_eigvals ------------------------------------------- */

/* Of both: linalg_eigvals has one output. */
st_status st__linalg_eig_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  ST_TRY(st__check_square(self, "self"));
  const st_dtype dtype = st__complex_dtype(self->dtype);
  ST_TRY(st__set_rows(r, 0, self->ndim - 1, self->sizes, dtype));
  if (r->nouts > 1) {
    ST_TRY(st__set_columns(r, 1, self->ndim, self->sizes, dtype));
  }
  for (int i = 0; i < r->nouts; i++) ST_TRY(st__write_apart(r, i));
  return ST_OK;
}

st_status st__linalg_eig_impl(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const double n = (double)st__cols(self);
  const int64_t size = (int64_t)st__itemsize(self->dtype);
  spectrum s = {.values = r->out[0],
                .vectors = r->nouts > 1 ? r->out[1] : NULL};
  st_lapack_job j = {.fn = decompose, .ctx = &s, .dtype = self->dtype,
                     .count = st__batch_count(self),
                     .uses_library = true};
  st_status status;
  if (self->numel == 0) return ST_OK;
  ST_TRY_FAIL(st__tensor_empty(ST_DEVICE_CPU, ST_INT32, self->ndim - 2,
                               self->sizes, ST_FORMAT_CONTIGUOUS, &s.info));
  ST_TRY_FAIL(st__as_columns(self, self->ndim, self->sizes, &s.A));
  const work_sizes w = work_of(&s);
  j.cost = (s.vectors ? 25.0 : 10.0) * n * n * n;
  j.bytes = ((w.A + w.vectors + w.elements + w.reals) * size + 63) / 64 * 64;
  ST_TRY_FAIL(st__lapack_begin(&j));
  status = st__lapack_run(&j);
  st__lapack_end(&j);
  if (status == ST_OK) status = st__check_info(s.info, "self", ST_DIVERGENT);
fail:
  st__tensor_release(&s.info);
  st__tensor_release(&s.A);
  return status;
}
