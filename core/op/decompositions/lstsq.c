/* Least squares: linalg_lstsq.
 */

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "op/lapack/blocks.h"
#include "op/row/composite.h"
#include "op/spectra/columns.h"
#include "op/spectra/singular.h"
#include "tensor/view.h"

/* -- Drivers -------------------------------------------------------------- */

typedef enum driver { GELSY, GELS, GELSD, GELSS } driver;

static const char *const drivers[] = {"gelsy", "gels", "gelsd", "gelss"};

static st_status read_driver(const st_value *v, driver *out) {
  for (int i = 0; i < 4; i++) {
    if (strcmp(v->u.string, drivers[i]) != 0) continue;
    *out = (driver)i;
    return ST_OK;
  }
  return st__fail(ST_BAD_VALUE, "driver must be 'gels', 'gelsy', 'gelsd' or "
                  "'gelss', not '%s'", v->u.string);
}

static bool has_rank(driver d) { return d != GELS; }
static bool has_values(driver d) { return d == GELSD || d == GELSS; }

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* -- LAPACK --------------------------------------------------------------- */

/* The least ||A X - B||. */
typedef struct problem {
  driver driver;
  double rcond;
  st_tensor *A, *B;          /* columns, of the same batch or one matrix */
  st_tensor *X;              /* columns */
  st_tensor *residuals;      /* NULL if they are not wanted, as what follows */
  st_tensor *rank, *values;
  st_tensor *info;
} problem;

/* B has a column at least. */
static int64_t columns_of(const problem *p) {
  return larger(st__cols(p->B), 1);
}

/* What a call works in: A, B, the values, and room for the steps. */
typedef struct gels_call {
  blasint m, n, columns, lda, ldb, rank;
  char *A, *B, *values, *room;
  blasint *info;
} gels_call;

static gels_call call_of(const problem *p, char *scratch) {
  const st_dtype dtype = p->A->dtype;
  gels_call c = {.m = (blasint)st__rows(p->A), .n = (blasint)st__cols(p->A),
                 .columns = (blasint)columns_of(p), .A = scratch};
  c.lda = c.m;
  c.ldb = c.m > c.n ? c.m : c.n;
  c.B = c.A + st__line_bytes(dtype, (int64_t)c.m * c.n);
  c.values = c.B + st__line_bytes(dtype, (int64_t)c.ldb * c.columns);
  c.room = c.values + st__line_bytes(st__real_dtype(dtype),
                                     smaller(c.m, c.n));
  return c;
}

static int64_t bytes_of(const problem *p) {
  const st_dtype dtype = p->A->dtype;
  const int64_t m = st__rows(p->A), n = st__cols(p->A), c = columns_of(p);
  return st__line_bytes(dtype, m * n) +
         st__line_bytes(dtype, larger(m, n) * c) +
         st__line_bytes(st__real_dtype(dtype), smaller(m, n)) +
         (has_values(p->driver) ? st__gelsd_bytes(dtype, m, n, c)
                                : st__gels_bytes(dtype, m, n, c));
}

/* By singular values, with LAPACK's limits. False: interrupted. */
static bool solve_by_values(const st_lapack_job *j, const problem *p,
                            gels_call *c) {
  const bool is_single = st__real_dtype(j->dtype) == ST_FLOAT32;
  const double half = is_single ? 0x1p-24 : 0x1p-53;
  double rcond = is_single ? (double)(float)p->rcond : p->rcond;
  st_singular_solution s = {
    .s = {st__columns_at(c->A, c->m, c->n, c->lda),
          st__columns_at(c->B, c->ldb, c->columns, c->ldb), rcond},
    .values = c->values, .rank = &c->rank, .info = c->info};
  if (p->driver == GELSS) s.least = is_single ? FLT_MIN : DBL_MIN;
  if (p->driver == GELSS && rcond < 0) s.s.rcond = 2 * half;
  if (p->driver == GELSD && !(rcond > 0 && rcond < 1)) s.s.rcond = half;
  return st__gelsd(j, &s, c->room);
}

/* By QR factors, which the engine has. False: interrupted. */
static bool solve_by_qr(const st_lapack_job *j, const problem *p,
                        gels_call *c) {
  const st_least_squares s = {st__columns_at(c->A, c->m, c->n, c->lda),
                              st__columns_at(c->B, c->ldb, c->columns, c->ldb),
                              p->rcond};
  *c->info = 0;
  return p->driver == GELS ? st__gels(j, &s, c->info, c->room)
                           : st__gelsy(j, &s, &c->rank, c->room);
}

/* The sum of the squared absolute values of n numbers. */
static double sum_squares(st_dtype dtype, const char *p, int64_t n) {
  const float *const f = (const float *)(const void *)p;
  const double *const d = (const double *)(const void *)p;
  const bool is_double = st__real_dtype(dtype) == ST_FLOAT64;
  double sum = 0;
  if (st__is_complex(dtype)) n *= 2;
  for (int64_t i = 0; i < n; i++) {
    const double x = is_double ? d[i] : f[i];
    sum += x * x;
  }
  return sum;
}

/* Solution i, and what LAPACK leaves below it: rows with the length of the
 * residual. */
static void store(const problem *p, int64_t i, const gels_call *c) {
  const st_dtype dtype = p->X->dtype, real = st__real_dtype(dtype);
  const int64_t n = c->n, columns = st__cols(p->X);
  const int64_t size = (int64_t)st__itemsize(dtype);
  const int64_t bytes = (int64_t)st__itemsize(real), k = smaller(c->m, n);
  for (int64_t col = 0; col < columns; col++) {
    const char *const from = c->B + col * c->ldb * size;
    memcpy(st__matrix_at(p->X, i) + col * n * size, from, (size_t)(n * size));
    if (!p->residuals) continue;
    st__scalar_store(
      st__scalar_float(sum_squares(dtype, from + n * size, c->m - n)), real,
      st__data(p->residuals) + (i * columns + col) * bytes);
  }
  if (p->rank) ((int64_t *)(void *)st__data(p->rank))[i] = c->rank;
  if (p->values) {
    memcpy(st__data(p->values) + i * k * bytes, c->values,
           (size_t)(k * bytes));
  }
}

/* Problem i into the scratch. */
static void load(const problem *p, int64_t i, const gels_call *c) {
  const int64_t size = (int64_t)st__itemsize(p->A->dtype), m = c->m;
  memcpy(c->A, st__matrix_at(p->A, i), (size_t)(m * c->n * size));
  memset(c->B, 0, (size_t)(c->ldb * c->columns * size));
  for (int64_t col = 0; col < st__cols(p->B); col++) {
    memcpy(c->B + col * c->ldb * size,
           st__matrix_at(p->B, i) + col * m * size, (size_t)(m * size));
  }
}

/* info is -1 if A is not finite, -2 if B is not. */
static void solve(const st_lapack_job *j, int64_t i, char *scratch) {
  const problem *p = j->ctx;
  gels_call c = call_of(p, scratch);
  c.info = (blasint *)(void *)st__data(p->info) + i;
  load(p, i, &c);
  *c.info = -2;
  if (!st__all_finite(j->dtype, c.A, (int64_t)c.m * c.n)) *c.info = -1;
  if (*c.info == -1 ||
      !st__all_finite(j->dtype, c.B, (int64_t)c.ldb * c.columns)) {
    return;
  }
  if (!(has_values(p->driver) ? solve_by_values : solve_by_qr)(j, p, &c)) {
    return;
  }
  if (*c.info == 0) store(p, i, &c);
}

/* -- _linalg_lstsq -------------------------------------------------------- */

static bool is_vectors(const st_tensor *A, const st_tensor *b) {
  return b->ndim == A->ndim - 1;
}

/* The batch, to which those of A and b broadcast, in sizes. */
static st_status check_batches(const st_tensor *A, const st_tensor *b,
                               int64_t *sizes) {
  const bool vectors = is_vectors(A, b);
  ST_TRY(st__check_matrices(A, "self"));
  ST_TRY(st__check_equal_dtypes(A, "self", b, "b"));
  if (!vectors && b->ndim != A->ndim) {
    return st__fail(ST_BAD_SHAPE, "b, shape %s, must have as many dimensions "
                    "as self, shape %s, or one less", ST_SHAPE_TEXT(b),
                    ST_SHAPE_TEXT(A));
  }
  const int64_t rows = b->sizes[vectors ? b->ndim - 1 : b->ndim - 2];
  int ndim;
  if (rows != st__rows(A)) {
    return st__fail(ST_BAD_SHAPE, "the %s of b, shape %s, are not as many as "
                    "the rows of self, shape %s",
                    vectors ? "elements of the vectors" : "rows",
                    ST_SHAPE_TEXT(b), ST_SHAPE_TEXT(A));
  }
  if (st__broadcast_shape(A->ndim - 2, A->sizes, A->ndim - 2, b->sizes, sizes,
                          &ndim) == ST_OK) {
    return ST_OK;
  }
  return st__fail(ST_BAD_SHAPE, "the batches of self, shape %s, and b, shape "
                  "%s, do not broadcast", ST_SHAPE_TEXT(A), ST_SHAPE_TEXT(b));
}

static st_status set_none(st_run *r, int i, st_dtype dtype) {
  return st__set_rows(r, i, 1, (int64_t[]){0}, dtype);
}

st_status st__linalg_lstsq_meta(st_run *r) {
  const st_tensor *A = st__arg_tensor(r, 0), *b = st__arg_tensor(r, 1);
  const bool vectors = is_vectors(A, b);
  int64_t sizes[ST_MAX_DIMS];
  driver d = GELSY;
  ST_TRY(check_batches(A, b, sizes));
  ST_TRY(read_driver(&r->args[3], &d));
  const st_dtype real = st__real_dtype(A->dtype);
  const int64_t m = st__rows(A), n = st__cols(A);
  const int64_t count = vectors ? 1 : st__cols(b);
  const int batch = A->ndim - 2;
  sizes[batch] = n;
  sizes[batch + 1] = count;
  ST_TRY(vectors ? st__set_rows(r, 0, batch + 1, sizes, A->dtype)
                 : st__set_columns(r, 0, batch + 2, sizes, A->dtype));
  sizes[batch] = count;
  ST_TRY(m > n && d != GELSY ? st__set_rows(r, 1, batch + 1, sizes, real)
                             : set_none(r, 1, real));
  ST_TRY(has_rank(d) ? st__set_rows(r, 2, batch, sizes, ST_INT64)
                     : set_none(r, 2, ST_INT64));
  sizes[batch] = smaller(m, n);
  return has_values(d) ? st__set_rows(r, 3, batch + 1, sizes, real)
                       : set_none(r, 3, real);
}

/* X is 0 where A has no elements. */
static void solve_empty(const problem *p) {
  st_tensor *const zeros[] = {p->X, p->rank, p->values};
  for (int i = 0; i < 3; i++) {
    if (!zeros[i] || zeros[i]->numel == 0) continue;
    memset(st__data(zeros[i]), 0,
           (size_t)zeros[i]->numel * st__itemsize(zeros[i]->dtype));
  }
  if (!p->residuals) return;
  const int64_t m = st__rows(p->B), count = st__cols(p->B);
  const int64_t size = (int64_t)st__itemsize(p->B->dtype);
  const st_dtype real = p->residuals->dtype;
  for (int64_t i = 0; i < p->residuals->numel; i++) {
    const char *const at = st__matrix_at(p->B, i / count) +
                           i % count * m * size;
    st__scalar_store(st__scalar_float(sum_squares(p->B->dtype, at, m)), real,
                     st__data(p->residuals) +
                       i * (int64_t)st__itemsize(real));
  }
}

static st_status check_problems(const problem *p) {
  const int32_t *info = (const int32_t *)(const void *)st__data(p->info);
  int64_t i = 0;
  while (i < p->info->numel && info[i] == 0) i++;
  if (i == p->info->numel) return ST_OK;
  return st__check_info(p->info, info[i] == -2 ? "b" : "self",
                        info[i] > 0 && p->driver == GELS ? ST_RANK_DEFICIENT
                                                         : ST_DIVERGENT);
}

static st_status run(problem *p) {
  const double m = (double)st__rows(p->A), n = (double)st__cols(p->A);
  st_lapack_job j = {.fn = solve, .ctx = p, .dtype = p->A->dtype,
                     .count = st__batch_count(p->X), .bytes = bytes_of(p),
                     .is_blocked = st__is_blocked(st__rows(p->A),
                                                  st__cols(p->A))};
  j.cost = (has_values(p->driver) ? 8.0 : 2.0) * m * n * (m < n ? m : n);
  ST_TRY(st__tensor_empty(ST_DEVICE_CPU, ST_INT32, p->X->ndim - 2, p->X->sizes,
                          ST_FORMAT_CONTIGUOUS, &p->info));
  st_status status = st__lapack_begin(&j);
  if (status == ST_OK) {
    status = st__lapack_run(&j);
    st__lapack_end(&j);
  }
  return status == ST_OK ? check_problems(p) : status;
}

st_status st__linalg_lstsq_impl(st_run *r) {
  st_tensor *A = st__arg_tensor(r, 0), *b = st__arg_tensor(r, 1);
  const bool vectors = is_vectors(A, b);
  problem p = {.rcond = r->args[2].u.f};
  st_tensor *wide_b = NULL;
  int64_t sizes[ST_MAX_DIMS];
  st_status status;
  ST_TRY(read_driver(&r->args[3], &p.driver));
  if (st__rows(A) > st__cols(A) && p.driver != GELSY) p.residuals = r->out[1];
  if (has_rank(p.driver)) p.rank = r->out[2];
  if (has_values(p.driver)) p.values = r->out[3];
  if (vectors) {
    ST_TRY_FAIL(st__view_unsqueeze(b, -1, &wide_b));
    ST_TRY_FAIL(st__view_unsqueeze(r->out[0], -1, &p.X));
  } else {
    st__tensor_retain(wide_b = b);
    st__tensor_retain(p.X = r->out[0]);
  }
  st__batch_sizes(A, p.X, sizes);
  ST_TRY_FAIL(st__as_columns(A, p.X->ndim, sizes, &p.A));
  st__batch_sizes(wide_b, p.X, sizes);
  ST_TRY_FAIL(st__as_columns(wide_b, p.X->ndim, sizes, &p.B));
  if (A->numel > 0) status = run(&p);
  else solve_empty(&p);
fail:
  st__tensor_release(&wide_b);
  st__tensor_release(&p.X);
  st__tensor_release(&p.A);
  st__tensor_release(&p.B);
  st__tensor_release(&p.info);
  return status;
}

/* The gradients of self and of b. With the pseudoinverse P of A, R = B - A X
 * and Y = P' G that of A is R (P Y)' + P' X (G - A' Y)' - Y X', that of B is Y.
 * The squared length of a column of R has the gradients -2 R X' and 2 R. */
ST_BOXED(st__box_linalg_lstsq_backward) {
  ST_ARGS(TENSOR(G), TENSOR(of_squares), TENSOR(A), TENSOR(B), TENSOR(X));
  const bool vectors = is_vectors(A, B);
  st_op_scope c = {.status = ST_OK};
  const st_value last = st__of_int(-1), matrix = st__of_tensor(A);
  st_tensor *out[2];
  if (vectors) {
    G = ST_APPLY(&c, ST_OP_unsqueeze, G, last);
    B = ST_APPLY(&c, ST_OP_unsqueeze, B, last);
    X = ST_APPLY(&c, ST_OP_unsqueeze, X, last);
  }
  const st_tensor *P = st__apply(&c, ST_OP_linalg_pinv_atol_rtol_float, 1,
                                 &matrix);
  const st_tensor *adjoint = st__adjoint(&c, P);
  const st_tensor *R = st__minus(&c, B, st__times(&c, A, X));
  out[1] = st__times(&c, adjoint, G);
  const st_tensor *rest = st__minus(
    &c, G, st__times(&c, st__adjoint(&c, A), out[1]));
  out[0] = st__minus(
    &c, st__plus(&c, st__times(&c, R, st__adjoint(
                       &c, st__times(&c, P, out[1]))),
                 st__times(&c, st__times(&c, adjoint, X),
                           st__adjoint(&c, rest))),
    st__times(&c, out[1], st__adjoint(&c, X)));
  if (of_squares->numel > 0) {
    const st_tensor *twice = st__scaled(
      &c, st__mul(&c, R, ST_APPLY(&c, ST_OP_unsqueeze, of_squares, -2)), 2);
    out[0] = st__minus(&c, out[0], st__times(&c, twice, st__adjoint(&c, X)));
    out[1] = st__plus(&c, out[1], twice);
  }
  if (vectors) out[1] = ST_APPLY(&c, ST_OP_squeeze_dim, out[1], last);
  return st__scope_end(&c, 2, out, rets);
}

/* -- linalg_lstsq --------------------------------------------------------- */

static double default_rcond(const st_tensor *A) {
  const double eps =
    st__real_dtype(A->dtype) == ST_FLOAT32 ? 0x1p-23 : 0x1p-52;
  return eps * (double)larger(st__rows(A), st__cols(A));
}

/* True if a rank is known to be less than n. */
static bool is_deficient(st_op_scope *c, const st_tensor *rank, int64_t n) {
  rank = st__scope_here(c, rank);
  if (!st__scope_ok(c) || !st__is_cpu(rank)) return false;
  const int64_t *const p = (const int64_t *)(const void *)st__data(rank);
  for (int64_t i = 0; i < rank->numel; i++) {
    if (p[i] < n) return true;
  }
  return false;
}

/* There are no residuals unless all matrices have full rank, and no gradient
 * of the singular values, as in ATen. */
ST_BOXED(st__box_linalg_lstsq) {
  const st_value usual = st__of_text("gelsy");
  const st_tensor *A = args[0].u.tensor;
  st_op_scope c = {.status = st__check_matrices(A, "self")};
  st_tensor *out[4];
  if (!st__scope_ok(&c)) return c.status;
  st__apply_multi(
    &c, ST_OP__linalg_lstsq,
    ST_VALUES(args[0], args[1],
              st__is_none(&args[2]) ? st__of_float(default_rcond(A)) : args[2],
              st__is_none(&args[3]) ? usual : args[3]),
    4, out);
  out[3] = st__apply1(&c, ST_OP_detach, out[3]);
  if (st__scope_ok(&c) && out[1]->numel > 0 &&
      is_deficient(&c, out[2], st__cols(A))) {
    out[1] = ST_APPLY(&c, ST_OP_new_zeros, out[1], ST_INTS(0));
  }
  return st__scope_end(&c, 4, out, rets);
}
