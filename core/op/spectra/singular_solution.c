/* Least squares by singular values: see singular.h. With A = Q u S vt P', X is
 * P vt' S^+ u' Q' B, and of a matrix with more columns than rows, whose adjoint
 * is Q u S vt P', Q u S^+ vt P' B.
 */

#include <math.h>
#include <string.h>

#include "op/lapack/chunks.h"
#include "op/spectra/columns.h"
#include "op/spectra/singular.h"

int64_t st__gelsd_bytes(st_dtype dtype, int64_t m, int64_t n,
                        int64_t columns) {
  const int64_t rows = st__larger(m, n), k = st__smaller(m, n);
  return st__line_bytes(dtype, k * columns) +
         st__singular_bytes(dtype, rows, k, columns, true);
}

/* to = a x, where a is real: so for both parts of complex numbers. */
static bool multiply(const st_lapack_job *j, const st_part *to,
                     const st_part *a, const st_part *x) {
  const int parts = st__is_complex(j->dtype) ? 2 : 1;
  st_lapack_job real = *j;
  real.dtype = st__real_dtype(j->dtype);
  for (int p = 0; p < parts; p++) {
    const int64_t skip = p * st__size(&real);
    const st_part from = {x->p + skip, x->m, x->n, x->row * parts,
                          x->col * parts};
    const st_part out = {to->p + skip, to->m, to->n, to->row * parts,
                         to->col * parts};
    if (!st__part_multiply(&real, &out, a, &from, 1, false)) return false;
  }
  return true;
}

/* A row of c is divided by its value, or becomes zeros. */
static void divide_row(const st_lapack_job *j, const st_part *c, int64_t row,
                       double by) {
  const int parts = st__is_complex(j->dtype) ? 2 : 1;
  for (int64_t col = 0; col < c->n; col++) {
    void *const at = st__part_at(j, c, row, col);
    for (int p = 0; p < parts; p++) {
      if (st__real_dtype(j->dtype) == ST_FLOAT32) {
        float *const x = (float *)at + p;
        *x = by == 0 ? 0 : (float)(*x / by);
      } else {
        double *const x = (double *)at + p;
        *x = by == 0 ? 0 : *x / by;
      }
    }
  }
}

/* The values, and the rows of c divided by those that count. */
static void divide_rows(const st_lapack_job *j, const st_singular_solution *p,
                        const st_singular *s, const st_part *c) {
  st_lapack_job real = *j;
  real.dtype = st__real_dtype(j->dtype);
  const double most = st__value(&real, s->d, s->n - 1);
  /* LAPACK has made small values larger before it compares. */
  const double half = real.dtype == ST_FLOAT32 ? 0x1p-24 : 0x1p-53;
  const double floor = fmin(p->least, 2 * half * most);
  const double least = fmax(p->s.rcond * most, floor);
  *p->rank = 0;
  for (int64_t i = 0; i < s->n; i++) {
    const double value = st__value(&real, s->d, i);
    const bool counts = value > least;
    st__set_value(&real, p->values, s->n - 1 - i, value);
    divide_row(j, c, s->order[i] - 1, counts ? value : 0);
    if (counts) ++*p->rank;
  }
}

static void zero_rows(const st_lapack_job *j, const st_part *b, int64_t first,
                      int64_t end) {
  for (int64_t c = 0; c < b->n && first < end; c++) {
    memset(st__part_at(j, b, first, c), 0,
           (size_t)((end - first) * st__size(j)));
  }
}

static bool solve(const st_lapack_job *j, const st_singular_solution *p,
                  const st_singular *s, const st_part *c) {
  const bool is_wide = p->s.a.m < p->s.a.n;
  const int64_t n = s->n;
  const st_part *const b = &p->s.b;
  const st_part all = st__part(j, b, 0, 0, s->m, b->n);
  const st_part rows = st__part(j, b, 0, 0, n, b->n);
  const st_part u = st__columns_at(s->u, n, n, n);
  const st_part vt = st__columns_at(s->vt, n, n, n);
  const st_part to = is_wide ? vt : st__turned(u);
  const st_part from = is_wide ? u : st__turned(vt);
  if (!(is_wide ? st__singular_right(j, s, &rows, true)
                : st__singular_left(j, s, &all, true)) ||
      !multiply(j, c, &to, &rows)) {
    return false;
  }
  divide_rows(j, p, s, c);
  if (!multiply(j, &rows, &from, c)) return false;
  if (!is_wide) return st__singular_right(j, s, &rows, false);
  zero_rows(j, b, n, b->m);
  return st__singular_left(j, s, &all, false);
}

bool st__gelsd(const st_lapack_job *j, const st_singular_solution *p,
               char *scratch) {
  const st_part *const a = &p->s.a, *const b = &p->s.b;
  const bool is_wide = a->m < a->n;
  const st_part from = is_wide ? st__turned(*a) : *a;
  const st_part c = st__columns_at(scratch, from.n, b->n, from.n);
  const int64_t numel = b->m * b->n;
  st_singular s = st__new_singular(
    j, from.m, from.n, true,
    scratch + st__line_bytes(j->dtype, from.n * b->n));
  int of_b = 0;
  if (!st__find_singular(j, &s, &from, is_wide, p->info)) return false;
  if (*p->info != 0) return true;
  if (!st__find_scale(j, b->p, b->m, b->n, false, &of_b)) of_b = 0;
  if (of_b != 0) st__scale(j, b->p, numel, -of_b);
  if (!solve(j, p, &s, &c)) return false;
  if (*p->rank == 0) zero_rows(j, b, 0, b->m);
  if (of_b != 0) st__scale(j, b->p, numel, of_b);
  return true;
}
