/* Singular values of one matrix: see singular.h.
 */

#include "op/spectra/singular.h"

#include <math.h>
#include <string.h>

#include "op/lapack/blocks.h"
#include "op/lapack/chunks.h"
#include "op/spectra/columns.h"

/* As LAPACK has it: QR factors pay. */
static bool is_tall(int64_t m, int64_t n) { return 6 * m >= 11 * n; }

static int64_t columns_bytes(st_dtype dtype, int64_t m, int64_t n) {
  return n * st__column_pitch(dtype, m);
}

static int64_t room_bytes(st_dtype dtype, int64_t m, int64_t n,
                          int64_t columns, bool vectors) {
  const int64_t rows = is_tall(m, n) ? n : m;
  const int64_t reduce = st__gebrd_bytes(dtype, rows, n);
  const int64_t apply = st__qr_bytes(dtype, m, st__larger(columns, n), n);
  const int64_t values = vectors
    ? st__bdsdc_bytes(st__real_dtype(dtype), n) : st__dqds_bytes(n);
  return st__larger(reduce, st__larger(apply, values));
}

/* What lies in scratch, which is NULL where only its end is asked for. */
typedef struct layout {
  char *scratch;
  int64_t end;
} layout;

static char *take(layout *l, int64_t bytes) {
  char *const p = l->scratch ? l->scratch + l->end : NULL;
  l->end += bytes;
  return p;
}

static st_singular lay_out(st_dtype dtype, int64_t m, int64_t n, bool vectors,
                           layout *l) {
  const st_dtype real = st__real_dtype(dtype);
  const int64_t all = st__gebrd_rows(n, vectors);
  const int64_t square = vectors ? st__line_bytes(real, n * n) : 0;
  const int64_t rows = is_tall(m, n) ? n : m;
  st_singular s = {.m = m, .n = n, .vectors = vectors,
                   .is_tall = is_tall(m, n)};
  s.a = st__columns_at(take(l, columns_bytes(dtype, rows, n)), rows, n,
                       st__column_step(dtype, rows));
  s.b.rows = st__columns_at(take(l, columns_bytes(dtype, n, all)), n, all,
                            st__column_step(dtype, n));
  s.qr = st__columns_at(
    take(l, s.is_tall ? st__line_bytes(dtype, m * n) : 0), m, n, m);
  s.d = s.b.d = take(l, st__line_bytes(real, n));
  s.b.e = take(l, st__line_bytes(real, n));
  s.b.tau_left = take(l, st__line_bytes(dtype, n));
  s.b.tau_right = take(l, st__line_bytes(dtype, n));
  s.tau_qr = take(l, st__line_bytes(dtype, n));
  s.u = take(l, square);
  s.vt = take(l, square);
  s.order = (blasint *)(void *)take(
    l, st__whole_lines(n * (int64_t)sizeof(blasint)));
  s.room = take(l, 0);
  return s;
}

st_singular st__new_singular(const st_lapack_job *j, int64_t m, int64_t n,
                             bool vectors, char *scratch) {
  layout l = {scratch, 0};
  return lay_out(j->dtype, m, n, vectors, &l);
}

int64_t st__singular_bytes(st_dtype dtype, int64_t m, int64_t n,
                           int64_t columns, bool vectors) {
  layout l = {NULL, 0};
  (void)lay_out(dtype, m, n, vectors, &l);
  return l.end + room_bytes(dtype, m, n, columns, vectors);
}

/* -- Values --------------------------------------------------------------- */

/* The matrix, or R of its QR factors, in a. */
static bool load(const st_lapack_job *j, const st_singular *s,
                 const st_part *from, bool conjugates, int exponent) {
  const st_part *const to = s->is_tall ? &s->qr : &s->a;
  st__part_copy(j, to, from, conjugates);
  for (int64_t c = 0; c < s->n && exponent != 0; c++) {
    st__scale(j, st__part_at(j, to, 0, c), to->m, -exponent);
  }
  if (!s->is_tall) return true;
  const st_part r = st__part(j, &s->qr, 0, 0, s->n, s->n);
  const st_part lower = st__turned(s->a);
  if (!st__geqrf(j, &s->qr, s->tau_qr, s->room)) return false;
  st__part_copy(j, &s->a, &r, false);
  st__part_zero_above(j, &lower);
  return true;
}

/* The job with the dtype of the values. */
static st_lapack_job real_job(const st_lapack_job *j) {
  st_lapack_job real = *j;
  real.dtype = st__real_dtype(j->dtype);
  return real;
}

bool st__find_singular(const st_lapack_job *j, st_singular *s,
                       const st_part *from, bool conjugates, blasint *info) {
  const st_lapack_job real = real_job(j);
  const st_part columns = from->row == 1 ? *from : st__turned(*from);
  int exponent;
  *info = -1;
  if (!st__find_scale(j, columns.p, columns.m, columns.n, false, &exponent)) {
    return true;
  }
  *info = 0;
  if (!load(j, s, from, conjugates, exponent)) return false;
  if (!st__gebrd(j, &s->a, &s->b, s->room)) return false;
  if (!(s->vectors ? st__bdsdc(&real, (blasint)s->n, s->d, s->b.e, s->u, s->vt,
                               s->order, info, s->room)
                   : st__dqds(&real, s->n, s->d, s->b.e, info, s->room))) {
    return false;
  }
  if (*info == 0 && exponent != 0) st__scale(&real, s->d, s->n, exponent);
  return true;
}

/* -- Products ------------------------------------------------------------- */

static bool apply(const st_lapack_job *j, const st_singular *s,
                  const st_reflections *q, const st_part *c) {
  return q->a.n == 0 || st__ormqr(j, q, c, s->room);
}

bool st__singular_left(const st_lapack_job *j, const st_singular *s,
                       const st_part *c, bool adjoint) {
  const st_reflections outer = {s->qr, s->tau_qr, adjoint, false};
  const st_reflections inner = {s->a, s->b.tau_left, adjoint, false};
  const st_part rows = st__part(j, c, 0, 0, s->a.m, c->n);
  if (s->is_tall && adjoint && !apply(j, s, &outer, c)) return false;
  if (!apply(j, s, &inner, &rows)) return false;
  return !s->is_tall || adjoint || apply(j, s, &outer, c);
}

bool st__singular_right(const st_lapack_job *j, const st_singular *s,
                        const st_part *c, bool adjoint) {
  const int64_t n = s->n - 1;
  const st_reflections q = {st__part(j, &s->b.rows, 1, 0, n, n),
                            s->b.tau_right, adjoint, false};
  const st_part rows = st__part(j, c, 1, 0, n, c->n);
  return apply(j, s, &q, &rows);
}
