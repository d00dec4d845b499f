/* Determinants: linalg_det, linalg_slogdet, logdet.
 */

#include <math.h>

#include "base/threads.h"
#include "kernel/numbers.h"
#include "op/decompositions/lu.h"
#include "op/lapack/small_matrices.h"
#include "op/row/composite.h"

/* -- The diagonal of U ---------------------------------------------------- */

static void load(st_dtype dtype, const char *p, double out[2]) {
  st__scalar_to_complex(st__scalar_load(dtype, p), out);
}

/* Element i at p. */
static void store(st_dtype dtype, char *p, int64_t i, const double v[2]) {
  st__scalar_store(st__is_complex(dtype) ? st__scalar_complex(v[0], v[1])
                                         : st__scalar_float(v[0]), dtype,
                   p + i * (int64_t)st__itemsize(dtype));
}

/* -1 if the pivots of matrix i exchange an odd number of rows, else 1. */
static double parity(const st_lu *f, int64_t i) {
  const int64_t n = st__cols(f->LU);
  const int32_t *p = (const int32_t *)(const void *)st__data(f->pivots);
  int odd = 0;
  for (int64_t k = 0; k < n; k++) odd ^= p[i * n + k] != k + 1;
  return odd ? -1 : 1;
}

/* Divides u by its absolute value, unless that is 0, and returns that. */
static double divide_by_abs(double u[2], bool is_complex) {
  const double abs = is_complex ? st__map_two(ST_K_hypot, u[0], u[1])
                                : fabs(u[0]);
  if (!is_complex && u[0] == u[0]) u[0] = (u[0] > 0) - (u[0] < 0);
  if (is_complex && abs > 0) {
    u[0] /= abs;
    u[1] /= abs;
  }
  return abs;
}

static double add_logs(double sum, double *x, int64_t n) {
  st__map_numbers(ST_K_log, x, n);
  for (int64_t i = 0; i < n; i++) sum += x[i];
  return sum;
}

/* The product of the diagonal; its sign, and in *log_abs the logarithm of its
 * absolute value, if log_abs is not NULL. Real if the matrix is. */
static void product(const st_lu *f, int64_t i, double all[2],
                    double *log_abs) {
  const st_dtype dtype = f->LU->dtype;
  const int64_t n = st__cols(f->LU), size = (int64_t)st__itemsize(dtype);
  const char *const p = st__matrix_at(f->LU, i);
  const bool is_complex = st__is_complex(dtype);
  enum { BLOCK = 64 }; /* logarithms at once */
  double sum = 0, logs[BLOCK];
  all[0] = parity(f, i);
  all[1] = 0;
  for (int64_t k = 0; k < n; k++) {
    double u[2];
    load(dtype, p + k * (n + 1) * size, u);
    if (log_abs) {
      const int64_t at = k % BLOCK;
      logs[at] = divide_by_abs(u, is_complex);
      if (at + 1 == BLOCK || k + 1 == n) sum = add_logs(sum, logs, at + 1);
    }
    const double real = all[0];
    if (!is_complex) {
      all[0] = real * u[0];
    } else {
      all[0] = real * u[0] - all[1] * u[1];
      all[1] = real * u[1] + all[1] * u[0];
    }
  }
  if (log_abs) *log_abs = sum;
}

/* -- linalg_det, linalg_slogdet ------------------------------------------- */

st_status st__linalg_det_meta(st_run *r) {
  const st_tensor *A = st__arg_tensor(r, 0);
  ST_TRY(st__check_square(A, "A"));
  return st__set_rows(r, 0, A->ndim - 2, A->sizes, A->dtype);
}

st_status st__linalg_slogdet_meta(st_run *r) {
  const st_tensor *A = st__arg_tensor(r, 0);
  ST_TRY(st__check_square(A, "A"));
  ST_TRY(st__set_rows(r, 0, A->ndim - 2, A->sizes, A->dtype));
  return st__set_rows(r, 1, A->ndim - 2, A->sizes,
                      st__real_dtype(A->dtype));
}

typedef struct determinants {
  const st_lu *f;
  st_tensor *det, *log_abs; /* log_abs is NULL if it is not wanted */
} determinants;

static void run_products(void *ctx, int64_t begin, int64_t end) {
  const determinants *d = ctx;
  for (int64_t i = begin; i < end; i++) {
    double all[2], log_abs[2] = {0, 0};
    product(d->f, i, all, d->log_abs ? log_abs : NULL);
    store(d->det->dtype, st__data(d->det), i, all);
    if (!d->log_abs) continue;
    store(d->log_abs->dtype, st__data(d->log_abs), i, log_abs);
  }
}

static st_status small_det(const st_tensor *A, st_tensor *det) {
  st_small_call c = st__small_call(ST_K_small_det, A, 0);
  st__small_values(&c, 0, det, 0);
  st_status status = st__small_input(&c, 1, A, false);
  if (status == ST_OK) status = st__small_run(&c);
  st__small_end(&c);
  return status;
}

/* Of both: linalg_det has one output. */
st_status st__linalg_det_impl(st_run *r) {
  const st_tensor *A = st__arg_tensor(r, 0);
  if (r->nouts == 1 && st__is_small(A)) return small_det(A, r->out[0]);
  st_lu f = {NULL, NULL, NULL, false};
  determinants d = {&f, r->out[0], r->nouts > 1 ? r->out[1] : NULL};
  ST_TRY(st__lu_factor_new(A, &f));
  const int64_t grain = ST_GRAIN / (16 * (st__cols(A) + 1)) + 1;
  const st_status status = st__parallel_try(0, st__batch_count(A), grain,
                                            run_products, &d);
  st__lu_release(&f);
  return status;
}

/* -- logdet --------------------------------------------------------------- */

/* NaN for a negative determinant, unless A is complex. */
ST_BOXED(st__box_logdet) {
  ST_ARGS(TENSOR(self));
  st_op_scope c = {.status = st__check_square(self, "self")};
  const st_value matrix = st__of_tensor(self);
  st_tensor *out[2];
  st__apply_multi(&c, ST_OP_linalg_slogdet, 1, &matrix, 2, out);
  if (st__is_complex(self->dtype)) {
    const st_tensor *angle = st__apply1(&c, ST_OP_log, out[0]);
    return st__scope_return(&c, st__plus(&c, angle, out[1]), rets);
  }
  return st__scope_return(&c,
                          ST_APPLY(&c, ST_OP_where_ScalarSelf,
                                   ST_APPLY(&c, ST_OP_eq_Scalar, out[0], -1),
                                   st__of_float(NAN), out[1]),
                          rets);
}
