/* Singular values: linalg_svd, linalg_svdvals.
 */

#include "op/lapack/small_matrices.h"

#include <string.h>

#include "op/lapack/chunks.h"
#include "op/spectra/columns.h"
#include "op/spectra/singular.h"
#include "tensor/view.h"

/* -- One matrix ----------------------------------------------------------- */

typedef struct decomposition {
  st_tensor *A;           /* with at least as many rows as columns */
  st_tensor *U, *Vh;      /* NULL if they are not wanted */
  st_tensor *S, *info;
  bool full;              /* all columns of U and rows of Vh */
  bool is_rest;           /* only matrices whose values are NaN */
  bool is_transposed;     /* A is transposed, so U is what conj(V) would be */
} decomposition;

/* Columns of A's left vectors. */
static int64_t left_columns(const decomposition *s) {
  return s->full ? st__rows(s->A) : st__cols(s->A);
}

/* One of the sides' vectors, of which the rows of Vh are made, is room. */
static int64_t room_bytes(const decomposition *s) {
  const int64_t m = st__rows(s->A), n = st__cols(s->A);
  const int64_t numel = s->is_transposed ? m * left_columns(s) : n * n;
  return s->U ? st__line_bytes(s->A->dtype, numel) : 0;
}

static int64_t bytes_of(const decomposition *s) {
  return room_bytes(s) +
         st__singular_bytes(s->A->dtype, st__rows(s->A), st__cols(s->A),
                            left_columns(s), s->U != NULL);
}

/* The vectors of the bidiagonal matrix, in the order of A's, as its numbers;
 * columns behind them are those of the identity matrix. */
typedef struct columns {
  st_part to;
  const char *from;
  int64_t row, col; /* strides of `from` */
  const st_singular *s;
} columns;

#define DEFINE_ORDER(name, T)                                                \
  static void name(T *to, const T *from, int64_t n, int64_t row, int step) { \
    for (int64_t i = 0; i < n; i++, to += step) *to = from[i * row];         \
  }
DEFINE_ORDER(order_f4, float)
DEFINE_ORDER(order_f8, double)

static void order_columns(const st_step *s, int64_t from, int64_t to) {
  const columns *c = s->ctx;
  const int64_t n = c->s->n, size = st__size(s->j);
  const st_dtype dtype = st__real_dtype(s->j->dtype);
  const int step = st__is_complex(s->j->dtype) ? 2 : 1;
  const st_number one = st__number(s->j, 1);
  for (int64_t i = from; i < to; i++) {
    void *const at = st__part_at(s->j, &c->to, 0, i);
    memset(at, 0, (size_t)(c->to.m * size));
    if (i >= n) {
      memcpy((char *)at + i * size, &one, (size_t)size);
      continue;
    }
    const int64_t place = c->s->order[n - 1 - i] - 1;
    const void *const x =
      c->from + place * c->col * (int64_t)st__itemsize(dtype);
    if (dtype == ST_FLOAT32) order_f4(at, x, n, c->row, step);
    else order_f8(at, x, n, c->row, step);
  }
}

static bool order(const st_lapack_job *j, const columns *c) {
  st_step s = {.fn = order_columns, .j = j, .ctx = c, .to = c->to.n};
  return st__share_columns(&s);
}

/* room: room_bytes. */
static bool make_vectors(const st_lapack_job *j, const decomposition *d,
                         const st_singular *s, int64_t i, char *room) {
  const int64_t m = s->m, n = s->n, count = left_columns(d);
  const bool is_transposed = d->is_transposed;
  const st_part U = st__columns_of(d->U, i), Vh = st__columns_of(d->Vh, i);
  const st_part left =
    is_transposed ? st__columns_at(room, m, count, m) : U;
  const st_part right = is_transposed ? U : st__columns_at(room, n, n, n);
  const st_part rows = st__turned(is_transposed ? left : right);
  const columns u = {left, s->u, 1, n, s}, v = {right, s->vt, n, 1, s};
  if (!order(j, &u) || !order(j, &v) ||
      !st__singular_left(j, s, &left, false) ||
      !st__singular_right(j, s, &right, false)) {
    return false;
  }
  st__part_copy(j, &Vh, &rows, !is_transposed);
  if (is_transposed && st__is_complex(j->dtype)) st__part_conjugate(j, &U);
  return true;
}

static void decompose(const st_lapack_job *j, int64_t i, char *scratch) {
  const decomposition *d = j->ctx;
  const int64_t n = st__cols(d->A);
  const st_part from = st__columns_of(d->A, i);
  st_lapack_job real = *j;
  real.dtype = d->S->dtype;
  blasint *const info = (blasint *)(void *)st__data(d->info) + i;
  char *const values = st__data(d->S) + i * n * st__size(&real);
  st_singular s = st__new_singular(j, st__rows(d->A), n, d->U != NULL,
                                   scratch + room_bytes(d));
  *info = 0;
  if (d->is_rest && st__all_finite(real.dtype, values, n)) return;
  if (!st__find_singular(j, &s, &from, false, info) || *info != 0) return;
  for (int64_t k = 0; k < n; k++) {
    st__set_value(&real, values, k, st__value(&real, s.d, n - 1 - k));
  }
  if (!d->U) return;
  const bool whole = make_vectors(j, d, &s, i, scratch);
  (void)whole; /* the job says if it was interrupted */
}

/* -- linalg_svd, linalg_svdvals ------------------------------------------- */

static st_status check_driver(const st_value *v) {
  if (st__is_none(v)) return ST_OK;
  return st__fail(ST_BAD_VALUE, "driver must be none on the CPU, not '%s'",
                  v->u.string);
}

/* Of both: linalg_svdvals has one output. */
st_status st__linalg_svd_meta(st_run *r) {
  const st_tensor *A = st__arg_tensor(r, 0);
  const bool vectors = r->nouts > 1;
  const bool full = vectors && st__to_bool(&r->args[1], true);
  int64_t sizes[ST_MAX_DIMS];
  ST_TRY(st__check_matrices(A, "A"));
  ST_TRY(check_driver(&r->args[vectors ? 2 : 1]));
  const int64_t m = st__rows(A), n = st__cols(A), k = m < n ? m : n;
  const int ndim = A->ndim;
  memcpy(sizes, A->sizes, (size_t)ndim * sizeof *sizes);
  if (vectors) {
    sizes[ndim - 1] = full ? m : k;
    ST_TRY(st__set_columns(r, 0, ndim, sizes, A->dtype));
    sizes[ndim - 2] = full ? n : k;
    sizes[ndim - 1] = n;
    ST_TRY(st__set_columns(r, 2, ndim, sizes, A->dtype));
  }
  sizes[ndim - 2] = k;
  ST_TRY(st__set_rows(r, vectors ? 1 : 0, ndim - 1, sizes,
                      st__real_dtype(A->dtype)));
  for (int i = 0; i < r->nouts; i++) ST_TRY(st__write_apart(r, i));
  return ST_OK;
}

static st_status decompose_all(const st_tensor *A, decomposition *s) {
  enum { LEAST = 128 };
  st_lapack_job j = {.fn = decompose, .ctx = s, .dtype = A->dtype,
                     .count = st__batch_count(A)};
  st_tensor *transposed = NULL;
  st_status status;
  s->is_transposed = st__rows(A) < st__cols(A);
  if (s->is_transposed) {
    ST_TRY(st__view_transpose(A, A->ndim - 2, A->ndim - 1, &transposed));
    A = transposed;
  }
  const double m = (double)st__rows(A), n = (double)st__cols(A);
  ST_TRY_FAIL(st__tensor_empty(ST_DEVICE_CPU, ST_INT32, A->ndim - 2, A->sizes,
                               ST_FORMAT_CONTIGUOUS, &s->info));
  ST_TRY_FAIL(st__new_columns(A->dtype, A->ndim, A->sizes, &s->A));
  j.cost = (s->U ? 10.0 : 3.0) * m * n * n;
  j.bytes = bytes_of(s);
  j.is_blocked = st__cols(A) >= LEAST;
  ST_TRY_FAIL(st__lapack_begin(&j));
  status = st__copy_unchecked(s->A, A);
  if (status == ST_OK) status = st__lapack_run(&j);
  st__lapack_end(&j);
  if (status == ST_OK) status = st__check_info(s->info, "A", ST_DIVERGENT);
fail:
  st__tensor_release(&s->info);
  st__tensor_release(&transposed);
  st__tensor_release(&s->A);
  return status;
}

/* A matrix with more columns than rows is transposed. The values of what the
 * kernel cannot decompose become NaN. */
static st_status decompose_small(const st_tensor *A,
                                 const decomposition *s) {
  const bool wide = st__rows(A) < st__cols(A);
  const st_tensor *const left = wide ? s->Vh : s->U;
  const int64_t n = wide ? st__rows(A) : st__cols(A);
  const int64_t m = wide ? st__cols(A) : st__rows(A);
  st_small_call c = st__small_call(ST_K_small_svd, A, s->full ? m : n);
  c.s.m = (int)m;
  c.s.n = (int)n;
  c.cost *= left ? 3 : 1;
  if (left) {
    st__small_output(&c, 0, left, wide);
    st__small_output(&c, 2, wide ? s->U : s->Vh, wide);
  }
  st__small_values(&c, 1, s->S, 1);
  st_status status = st__small_input(&c, 3, A, wide);
  if (status == ST_OK) status = st__small_run(&c);
  st__small_end(&c);
  return status;
}

st_status st__linalg_svd_impl(st_run *r) {
  const st_tensor *A = st__arg_tensor(r, 0);
  const bool vectors = r->nouts > 1;
  const bool full = vectors && st__to_bool(&r->args[1], true);
  decomposition s = {.S = r->out[vectors ? 1 : 0], .full = full,
                     .is_rest = st__is_small(A)};
  if (vectors) {
    s.U = r->out[0];
    s.Vh = r->out[2];
  }
  if (A->numel == 0) {
    if (vectors) {
      st__set_identities(s.U);
      st__set_identities(s.Vh);
    }
    return ST_OK;
  }
  if (s.is_rest) {
    ST_TRY(decompose_small(A, &s));
    if (st__all_finite(s.S->dtype, st__data(s.S), s.S->numel)) return ST_OK;
  }
  return decompose_all(A, &s);
}
