/* QR factors: linalg_qr.
 */

#include "op/lapack/small_matrices.h"

#include <string.h>

#include "op/lapack/blocks.h"
#include "op/lapack/chunks.h"

typedef enum qr_mode { REDUCED, COMPLETE, ONLY_R } qr_mode;

static st_status read_mode(const st_value *v, qr_mode *out) {
  static const char *const words[] = {"reduced", "complete", "r"};
  for (int i = 0; i < 3; i++) {
    if (strcmp(v->u.string, words[i]) != 0) continue;
    *out = (qr_mode)i;
    return ST_OK;
  }
  return st__fail(ST_BAD_VALUE, "mode must be 'reduced', 'complete' or 'r', "
                  "not '%s'", v->u.string);
}

/* The columns of Q, which are the rows of R. */
static int64_t inner_size(const st_tensor *A, qr_mode mode) {
  const int64_t m = st__rows(A), n = st__cols(A);
  return mode == COMPLETE || m < n ? m : n;
}

st_status st__linalg_qr_meta(st_run *r) {
  const st_tensor *A = st__arg_tensor(r, 0);
  int64_t sizes[ST_MAX_DIMS];
  qr_mode mode = REDUCED;
  ST_TRY(st__check_matrices(A, "A"));
  ST_TRY(read_mode(&r->args[1], &mode));
  memcpy(sizes, A->sizes, (size_t)A->ndim * sizeof *sizes);
  sizes[A->ndim - 1] = inner_size(A, mode);
  if (mode == ONLY_R) {
    ST_TRY(st__set_rows(r, 0, 1, (int64_t[]){0}, A->dtype));
  } else {
    ST_TRY(st__set_columns(r, 0, A->ndim, sizes, A->dtype));
  }
  sizes[A->ndim - 2] = inner_size(A, mode);
  sizes[A->ndim - 1] = st__cols(A);
  return st__set_columns(r, 1, A->ndim, sizes, A->dtype);
}

typedef struct factors {
  st_tensor *QR, *Q, *R; /* Q is NULL if it is not wanted */
} factors;

static int64_t tau_bytes(int64_t k, int64_t size) {
  return st__whole_lines(k * size);
}

/* The scratch: k factors of the reflections, then what st__geqrf needs. */
static void factor(const st_lapack_job *j, int64_t i, char *scratch) {
  const factors *f = j->ctx;
  const st_part a = st__columns_of(f->QR, i), r = st__columns_of(f->R, i);
  const int64_t k = a.m < a.n ? a.m : a.n, size = st__size(j);
  char *const tau = scratch, *const work = scratch + tau_bytes(k, size);
  if (!st__geqrf(j, &a, tau, work)) return;
  for (int64_t c = 0; c < r.n; c++) {
    const int64_t upper = c + 1 < r.m ? c + 1 : r.m;
    memcpy(st__part_at(j, &r, 0, c), st__part_at(j, &a, 0, c),
           (size_t)(upper * size));
    memset(st__part_at(j, &r, upper, c), 0, (size_t)((r.m - upper) * size));
  }
  if (!f->Q) return;
  const st_part q = st__columns_of(f->Q, i);
  memcpy(q.p, a.p, (size_t)(k * a.m * size));
  const bool whole = st__orgqr(j, &q, k, tau, work);
  (void)whole; /* the job says if it was interrupted */
}

static st_status factor_small(const st_tensor *A, const factors *f) {
  const int64_t k = st__rows(f->R);
  st_small_call c = st__small_call(ST_K_small_qr, A, k);
  if (f->Q) st__small_output(&c, 0, f->Q, false);
  st__small_output(&c, 1, f->R, false);
  st_status status = st__small_input(&c, 2, A, false);
  if (status == ST_OK) status = st__small_run(&c);
  st__small_end(&c);
  return status;
}

st_status st__linalg_qr_impl(st_run *r) {
  const st_tensor *A = st__arg_tensor(r, 0);
  const int64_t m = st__rows(A), n = st__cols(A), k = m < n ? m : n;
  factors f = {.Q = r->out[0], .R = r->out[1]};
  qr_mode mode = REDUCED;
  ST_TRY(read_mode(&r->args[1], &mode));
  if (mode == ONLY_R) f.Q = NULL;
  if (k == 0) {
    if (f.Q) st__set_identities(f.Q); /* a product of no reflections */
    return ST_OK;
  }
  if (st__is_small(A)) return factor_small(A, &f);
  const int64_t columns = f.Q && st__cols(f.Q) > n ? st__cols(f.Q) : n;
  st_lapack_job j = {.fn = factor, .ctx = &f, .dtype = A->dtype,
                     .count = st__batch_count(A),
                     .cost = 2.0 * (double)(k * columns) * (double)m,
                     .bytes = tau_bytes(k, (int64_t)st__itemsize(A->dtype)) +
                              st__qr_bytes(A->dtype, m, columns, k),
                     .is_blocked = st__is_blocked(m, n)};
  ST_TRY(st__new_columns(A->dtype, A->ndim, A->sizes, &f.QR));
  st_status status = st__lapack_begin(&j);
  if (status == ST_OK) {
    status = st__copy_unchecked(f.QR, A);
    if (status == ST_OK) status = st__lapack_run(&j);
    st__lapack_end(&j);
  }
  st__tensor_release(&f.QR);
  return status;
}
