/* Inverse matrices: linalg_inv_ex, linalg_inv.
 */

#include <string.h>

#include "op/lapack/blocks.h"
#include "op/lapack/chunks.h"
#include "op/lapack/small_matrices.h"
#include "op/row/composite.h"

/* -- linalg_inv_ex -------------------------------------------------------- */

typedef struct inverses { st_tensor *A, *info; } inverses;

static int64_t pivot_bytes(int64_t n) {
  return st__whole_lines(n * (int64_t)sizeof(blasint));
}

/* What has no inverse becomes NaN, which has all bits set. */
static void invert(const st_lapack_job *j, int64_t i, char *scratch) {
  const inverses *v = j->ctx;
  const st_part a = st__columns_of(v->A, i);
  const size_t bytes = (size_t)(a.m * a.n) * st__itemsize(j->dtype);
  blasint *const info = (blasint *)(void *)st__data(v->info) + i;
  blasint *const pivots = (blasint *)(void *)scratch;
  char *const room = scratch + pivot_bytes(a.n);
  *info = 0;
  if (a.n == 0 || !st__getrf(j, &a, pivots, info, room)) return;
  if (*info != 0) memset(a.p, 0xff, bytes);
  else if (!st__getri(j, &a, pivots, room)) return;
}

st_status st__linalg_inv_ex_meta(st_run *r) {
  return st__set_matrices_and_info(r, "A", st__to_bool(&r->args[1], false));
}

static st_status invert_small(const st_tensor *A, const inverses *v) {
  st_small_call c = st__small_call(ST_K_small_inverse, A, st__cols(A));
  st__small_output(&c, 0, v->A, false);
  st__small_values(&c, 1, v->info, 0);
  st_status status = st__small_input(&c, 2, A, false);
  if (status == ST_OK) status = st__small_run(&c);
  st__small_end(&c);
  return status;
}

static st_status invert_all(const st_tensor *A, const inverses *v) {
  const int64_t n = st__cols(A);
  st_lapack_job j = {.fn = invert, .ctx = v, .dtype = A->dtype,
                     .count = st__batch_count(A),
                     .cost = (double)n * (double)n * (double)n,
                     .bytes = pivot_bytes(n) +
                              st__larger(st__getrf_bytes(A->dtype, n, n),
                                         st__getri_bytes(A->dtype, n)),
                     .is_blocked = st__is_blocked(n, n)};
  ST_TRY(st__lapack_begin(&j));
  st_status status = st__copy_unchecked(v->A, A);
  if (status == ST_OK) status = st__lapack_run(&j);
  st__lapack_end(&j);
  return status;
}

st_status st__linalg_inv_ex_impl(st_run *r) {
  const st_tensor *A = st__arg_tensor(r, 0);
  const inverses v = {r->out[0], r->out[1]};
  ST_TRY(st__is_small(A) ? invert_small(A, &v) : invert_all(A, &v));
  if (!st__to_bool(&r->args[1], false)) return ST_OK;
  return st__check_info(v.info, "A", ST_SINGULAR);
}

/* -- linalg_inv ----------------------------------------------------------- */

ST_BOXED(st__box_linalg_inv) {
  st_op_scope c = {.status = ST_OK};
  st_tensor *out[2];
  st__apply_multi(&c, ST_OP_linalg_inv_ex,
                  ST_VALUES(args[0], st__of_bool(true)), 2, out);
  return st__scope_return(&c, out[0], rets);
}
