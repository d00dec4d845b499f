/* Singular values: linalg_svd, linalg_svdvals.
 */

#include "op/lapack/small_matrices.h"

#include <limits.h>
#include <string.h>

#include "op/spectra/bidiagonal.h"
#include "op/lapack/blocks.h"
#include "op/lapack/chunks.h"
#include "tensor/view.h"

/* -- LAPACK --------------------------------------------------------------- */

typedef struct singular {
  st_tensor *A;
  st_tensor *U, *Vh;  /* NULL if they are not wanted */
  st_tensor *S, *info;
  const char *job;    /* "A": all of U and Vh, "S": some, "N": none */
  bool is_rest;       /* only matrices whose values are NaN */
  bool is_real;       /* of A, real, with at least as many rows as columns:
                       * decompose_real */
  bool is_transposed;     /* A is transposed, so U is what V would be */
} singular;

/* What a call works in: elements for A, U, Vh and LAPACK, real numbers,
 * integers. */
typedef struct work_sizes {
  int64_t A, U, Vh, elements, reals, integers;
} work_sizes;

/* The least that LAPACK asks for, and a block of columns more. */
static work_sizes work_of(const singular *s) {
  enum { BLOCK = 32 };
  const int64_t m = st__rows(s->A), n = st__cols(s->A);
  const int64_t k = m < n ? m : n, l = m < n ? n : m;
  const bool vectors = s->U != NULL;
  work_sizes w = {.A = st__padded(m, n), .elements = BLOCK * (m + n) + l,
                  .integers = 8 * k};
  if (vectors) {
    w.U = st__padded(m, st__cols(s->U));
    w.Vh = st__padded(st__rows(s->Vh), n);
  }
  if (!st__is_complex(s->A->dtype)) {
    w.elements += vectors ? 4 * k * k + 7 * k : 11 * k;
  } else {
    w.elements += vectors ? k * k + 3 * k : 2 * k;
    w.reals = vectors ? 7 * k * k + 5 * k + 2 * l * k : 7 * k;
  }
  return w;
}

/* Matrix i of t, if there is one, and p, which is in the scratch. */
static void from_scratch(const st_tensor *t, int64_t i, const char *p) {
  if (!t) return;
  const int64_t numel = st__rows(t) * st__cols(t);
  memcpy(st__matrix_at(t, i), p, (size_t)numel * st__itemsize(t->dtype));
}

static void to_scratch(const st_tensor *t, int64_t i, char *p) {
  const int64_t numel = st__rows(t) * st__cols(t);
  memcpy(p, st__matrix_at(t, i), (size_t)numel * st__itemsize(t->dtype));
}

static void decompose(const st_lapack_job *j, int64_t i, char *scratch) {
  const singular *s = j->ctx;
  const work_sizes w = work_of(s);
  const int64_t size = (int64_t)st__itemsize(j->dtype);
  const int64_t real = (int64_t)st__itemsize(s->S->dtype);
  const blasint m = (blasint)st__rows(s->A), n = (blasint)st__cols(s->A);
  const blasint ldvt = s->Vh ? st__leading(s->Vh) : 1;
  const blasint lwork = (blasint)w.elements;
  char *const a = scratch, *const u = a + w.A * size;
  char *const vh = u + w.U * size, *const work = vh + w.Vh * size;
  char *const reals = work + w.elements * size;
  blasint *const integers = (blasint *)(void *)(reals + w.reals * real);
  blasint *const info = (blasint *)(void *)st__data(s->info) + i;
  const int64_t k = m < n ? m : n;
  char *const values = st__data(s->S) + i * k * real;
  *info = 0;
  if (s->is_rest && st__all_finite(s->S->dtype, values, k)) return;
  *info = -1;
  to_scratch(s->A, i, a);
  if (!st__all_finite(j->dtype, a, st__rows(s->A) * n)) return;
  if (st__is_complex(j->dtype)) {
    j->f->complex_gesdd(s->job, &m, &n, a, &m, values, u, &m, vh, &ldvt, work,
                        &lwork, reals, integers, info, 1);
  } else {
    j->f->gesdd(s->job, &m, &n, a, &m, values, u, &m, vh, &ldvt, work, &lwork,
                integers, info, 1);
  }
  from_scratch(s->U, i, u);
  from_scratch(s->Vh, i, vh);
}

/* -- Real singular vectors ------------------------------------------------ */

/* What a call works in beside A: the bidiagonal matrix, the factors of
 * reflections, its vectors and their order, and room for the steps. When the
 * vectors are known, the room is for the row reflections as columns, for U or V
 * where it is to be transposed, and for the products with reflections. */
typedef struct parts {
  char *d, *e, *tau_left, *tau_right, *u, *vt, *order, *room;
  char *rows, *transposed, *products;
} parts;

/* The bytes of U or V, where it is to be transposed. */
static int64_t transposed_bytes(const singular *s) {
  const int64_t m = st__rows(s->A), n = st__cols(s->A);
  const int64_t size = (int64_t)st__itemsize(s->A->dtype);
  const int64_t cols = st__rows(s->Vh);
  return st__whole_lines((s->is_transposed ? m * cols : n * n) * size);
}

static parts parts_of(const singular *s, char *scratch) {
  const int64_t n = st__cols(s->A);
  const int64_t size = (int64_t)st__itemsize(s->A->dtype);
  const int64_t line = st__whole_lines(n * size);
  const int64_t square = st__whole_lines(n * n * size);
  parts p = {.d = scratch};
  p.e = p.d + line;
  p.tau_left = p.e + line;
  p.tau_right = p.tau_left + line;
  p.u = p.tau_right + line;
  p.vt = p.u + square;
  p.order = p.vt + square;
  p.room = p.order + st__whole_lines(n * (int64_t)sizeof(blasint));
  p.rows = p.room;
  p.transposed = p.rows + square;
  p.products = p.transposed + transposed_bytes(s);
  return p;
}

static int64_t real_bytes(const singular *s) {
  enum { BLOCK = 32 };
  const int64_t m = st__rows(s->A), n = st__cols(s->A);
  const int64_t size = (int64_t)st__itemsize(s->A->dtype);
  const int64_t square = st__whole_lines(n * n * size);
  const int64_t reduce = st__whole_lines(BLOCK * (m + n) * size);
  const int64_t divide = st__bdsdc_bytes(s->A->dtype, n);
  const int64_t products = square + transposed_bytes(s) +
                           st__apply_q_bytes(s->A->dtype, m, n);
  return 4 * st__whole_lines(n * size) + 2 * square +
         st__whole_lines(n * (int64_t)sizeof(blasint)) +
         st__larger(products, st__larger(divide, reduce));
}

/* Copies of a matrix for a step of columns. */
typedef struct copy {
  const char *from;
  char *to;
  const blasint *order; /* from the last one on */
  int64_t rows, n, ld;  /* ld: of `to` */
} copy;

/* Columns [from, to) of U's last n rows and columns: those of the bidiagonal
 * matrix, then those of the identity matrix. */
static void order_left(const st_step *s, int64_t from, int64_t to) {
  const copy *c = s->ctx;
  const int64_t size = st__size(s->j);
  const st_number one = st__number(s->j, 1);
  for (int64_t i = from; i < to; i++) {
    char *const column = c->to + i * c->ld * size;
    memset(column, 0, (size_t)(c->ld * size));
    if (i < c->n) {
      memcpy(column, c->from + (c->order[c->n - 1 - i] - 1) * c->n * size,
             (size_t)(c->n * size));
    } else {
      memcpy(column + i * size, &one, (size_t)size);
    }
  }
}

#define DEFINE_TRANSPOSE(name, T)                                            \
  /* Columns [i, end) of `to` are rows of `from`, ld apart, in order. */     \
  static void name(const copy *c, int64_t i, int64_t end) {                  \
    const T *const from = (const T *)(const void *)c->from;                  \
    for (T *to = (T *)(void *)c->to + i * c->rows; i < end; i++) {           \
      const int64_t row = c->order ? c->order[c->n - 1 - i] - 1 : i;         \
      for (int64_t k = 0; k < c->rows; k++) *to++ = from[k * c->ld + row];   \
    }                                                                        \
  }
DEFINE_TRANSPOSE(transpose_f4, float)
DEFINE_TRANSPOSE(transpose_f8, double)

/* By tiles, so that lines are read once. */
static void transpose(const st_step *s, int64_t from, int64_t to) {
  enum { TILE = 16 };
  const copy *c = s->ctx;
  const bool is_float = s->j->dtype == ST_FLOAT32;
  for (; from < to; from += TILE) {
    const int64_t end = st__smaller(from + TILE, to);
    if (is_float) transpose_f4(c, from, end);
    else transpose_f8(c, from, end);
  }
}

static bool share(const st_lapack_job *j, const copy *c, int64_t columns,
                  void (*fn)(const st_step *, int64_t, int64_t)) {
  st_step s = {.fn = fn, .j = j, .ctx = c, .to = columns};
  return st__share_columns(&s);
}

/* left, m x columns, gets Q times U; right, n x n, gets the row reflections
 * times V. */
static bool transform(const st_lapack_job *j, const singular *s,
                      const parts *p, char *a, char *left, char *right) {
  const blasint m = (blasint)st__rows(s->A), n = (blasint)st__cols(s->A);
  const blasint rest = n - 1;
  const int64_t size = st__size(j);
  const int64_t columns = s->is_transposed ? st__rows(s->Vh) : st__cols(s->U);
  const blasint *const order = (const blasint *)(const void *)p->order;
  const copy rows = {a + m * size, p->rows, NULL, rest, rest, m};
  const copy u = {p->u, left, order, m, n, m};
  const copy v = {p->vt, right, order, n, n, n};
  if (!share(j, &rows, rest, transpose)) return false;
  if (!share(j, &u, columns, order_left)) return false;
  if (!share(j, &v, n, transpose)) return false;
  st__apply_q(j, m, (blasint)columns, n, a, m, p->tau_left, left, m,
              p->products);
  if (rest > 0) {
    st__apply_q(j, rest, n, rest, p->rows, rest, p->tau_right, right + size, n,
                p->products);
  }
  return !st__is_stopped(j);
}

static void decompose_real(const st_lapack_job *j, int64_t i, char *scratch) {
  enum { BLOCK = 32 };
  const singular *s = j->ctx;
  const blasint m = (blasint)st__rows(s->A), n = (blasint)st__cols(s->A);
  const int64_t size = st__size(j), numel = m * (int64_t)n;
  const parts p = parts_of(s, scratch);
  const blasint length = st__work_length(BLOCK * ((int64_t)m + n));
  blasint *const info = (blasint *)(void *)st__data(s->info) + i;
  blasint *const order = (blasint *)(void *)p.order;
  char *const a = st__matrix_at(s->A, i);
  char *const U = st__matrix_at(s->U, i), *const Vh = st__matrix_at(s->Vh, i);
  char *const values = st__data(s->S) + i * n * size;
  const int64_t columns = s->is_transposed ? st__rows(s->Vh) : st__cols(s->U);
  char *const left = s->is_transposed ? p.transposed : U;
  char *const right = s->is_transposed ? U : p.transposed;
  const copy c = {p.transposed, Vh, NULL, s->is_transposed ? columns : n,
                  s->is_transposed ? m : n, s->is_transposed ? m : n};
  int exponent;
  *info = -1;
  if (!st__find_scale(j, a, m, n, false, &exponent)) return;
  if (exponent != 0) st__scale(j, a, numel, -exponent);
  j->f->gebrd(&m, &n, a, &m, p.d, p.e, p.tau_left, p.tau_right, p.room,
              &length, info);
  if (!st__bdsdc(j, n, p.d, p.e, p.u, p.vt, order, info, p.room)) return;
  if (*info != 0) return;
  if (exponent != 0) st__scale(j, p.d, n, exponent);
  for (int64_t k = 0; k < n; k++) {
    st__set_value(j, values, k, st__value(j, p.d, n - 1 - k));
  }
  if (!transform(j, s, &p, a, left, right)) return;
  share(j, &c, s->is_transposed ? m : n, transpose);
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

static st_status prepare(const singular *s, st_lapack_job *j) {
  enum { LEAST = 128 };
  const double m = (double)st__rows(s->A), n = (double)st__cols(s->A);
  const int64_t size = (int64_t)st__itemsize(s->A->dtype);
  const int64_t real = (int64_t)st__itemsize(s->S->dtype);
  const work_sizes w = work_of(s);
  if (w.elements > INT_MAX) {
    return st__fail(ST_BAD_SHAPE, "A of shape %s has matrices too large for "
                    "LAPACK", ST_SHAPE_TEXT(s->A));
  }
  j->dtype = s->A->dtype;
  j->count = st__batch_count(s->A);
  j->cost = (s->U ? 10.0 : 3.0) * m * n * (m < n ? m : n);
  j->bytes = (w.A + w.U + w.Vh + w.elements) * size + w.reals * real +
             w.integers * (int64_t)sizeof(blasint);
  j->bytes = (j->bytes + 63) / 64 * 64; /* the next thread's is aligned */
  j->fn = decompose;
  if (s->is_real) {
    j->fn = decompose_real;
    j->bytes = real_bytes(s);
    j->is_blocked = n >= LEAST;
  }
  return ST_OK;
}

/* LAPACK finds QR factors first where there are many more rows or columns. */
static bool is_near_square(const st_tensor *A) {
  const int64_t m = st__rows(A), n = st__cols(A);
  return 6 * m < 11 * n && 6 * n < 11 * m;
}

static st_status decompose_all(const st_tensor *A, singular *s) {
  st_lapack_job j = {.ctx = s, .uses_library = true};
  st_tensor *transposed = NULL;
  st_status status;
  if (s->U && !s->is_rest && is_near_square(A)) {
    ST_TRY(st__lapack_divides(A->dtype, &s->is_real));
  }
  s->is_transposed = s->is_real && st__rows(A) < st__cols(A);
  if (s->is_transposed) {
    ST_TRY(st__view_transpose(A, A->ndim - 2, A->ndim - 1, &transposed));
    A = transposed;
  }
  ST_TRY_FAIL(st__tensor_empty(ST_DEVICE_CPU, ST_INT32, A->ndim - 2, A->sizes,
                               ST_FORMAT_CONTIGUOUS, &s->info));
  ST_TRY_FAIL(st__new_columns(A->dtype, A->ndim, A->sizes, &s->A));
  ST_TRY_FAIL(prepare(s, &j));
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
static st_status decompose_small(const st_tensor *A, const singular *s) {
  const bool wide = st__rows(A) < st__cols(A);
  const st_tensor *const left = wide ? s->Vh : s->U;
  const int64_t n = wide ? st__rows(A) : st__cols(A);
  const int64_t m = wide ? st__cols(A) : st__rows(A);
  const bool full = *s->job == 'A';
  st_small_call c = st__small_call(ST_K_small_svd, A, full ? m : n);
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
  singular s = {.S = r->out[vectors ? 1 : 0], .is_rest = st__is_small(A),
                .job = !vectors ? "N" : full ? "A" : "S"};
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
