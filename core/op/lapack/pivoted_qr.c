/* QR factors with pivots: G. Quintana-Orti, X. Sun, C. H. Bischof, "A BLAS-3
 * version of the QR factorization with column pivoting", SIAM J. Sci. Comput.
 * 19, 1998. The columns behind a block lose its reflections at its end: until
 * then only the row that their norms need, and the next column, are known. The
 * norms are those of Z. Drmac, Z. Bujanovic, "On the failure of rank-revealing
 * QR factorization software", ACM Trans. Math. Softw. 35, 2008.
 */

#include <math.h>
#include <string.h>

#include "kernel/numbers.h"
#include "op/lapack/chunks.h"
#include "op/lapack/least_squares.h"
#include "op/lapack/panels.h"

enum { BLOCK = 32 };

/* Columns from k on are left; `width` of them are in the block. A loses
 * V G', row by row of G; norm and last are the norms of what is left of the
 * columns, and what they were when they were last computed. */
typedef struct pivoted {
  const st_lapack_job *j;
  st_part a, g, v, w;
  double *norm, *last;
  blasint *order;
  char *tau, *panel;
  int64_t k, width;
  bool is_stale; /* a norm has lost its digits */
} pivoted;

static int64_t line_of(st_dtype dtype, int64_t n) {
  return st__whole_lines(n * (int64_t)st__itemsize(dtype));
}

int64_t st__geqp3_bytes(st_dtype dtype, int64_t m, int64_t n) {
  return line_of(dtype, n * BLOCK) + line_of(dtype, m) +
         line_of(dtype, BLOCK) +
         2 * st__whole_lines(n * (int64_t)sizeof(double)) +
         st__panel_bytes(dtype, m, 1);
}

static pivoted new_pivoted(const st_lapack_job *j, const st_part *a, char *tau,
                           blasint *order, char *scratch) {
  pivoted p = {.j = j, .a = *a, .tau = tau, .order = order};
  p.g = st__columns_at(scratch, a->n, BLOCK, a->n);
  scratch += line_of(j->dtype, a->n * BLOCK);
  p.v = st__columns_at(scratch, a->m, 1, a->m);
  scratch += line_of(j->dtype, a->m);
  p.w = st__columns_at(scratch, BLOCK, 1, BLOCK);
  scratch += line_of(j->dtype, BLOCK);
  p.norm = (double *)(void *)scratch;
  scratch += st__whole_lines(a->n * (int64_t)sizeof(double));
  p.last = (double *)(void *)scratch;
  p.panel = scratch + st__whole_lines(a->n * (int64_t)sizeof(double));
  return p;
}

/* -- Norms ---------------------------------------------------------------- */

static double part_of(const st_lapack_job *j, const char *p, int64_t i) {
  return st__real_dtype(j->dtype) == ST_FLOAT32
           ? (double)((const float *)(const void *)p)[i]
           : ((const double *)(const void *)p)[i];
}

/* Of rows from `row` on. Numbers of float64 are scaled where squares would be
 * lost or overflow. */
static double norm_of(const pivoted *p, int64_t row, int64_t col) {
  const char *const at = st__part_at(p->j, &p->a, row, col);
  const int64_t n = (p->a.m - row) * (st__is_complex(p->j->dtype) ? 2 : 1);
  double sum = 0, most = 0;
  for (int64_t i = 0; i < n; i++) {
    const double x = part_of(p->j, at, i);
    most = fmax(most, fabs(x));
    sum += x * x;
  }
  if (most == 0 || (most > 0x1p-400 && most < 0x1p400)) return sqrt(sum);
  sum = 0;
  for (int64_t i = 0; i < n; i++) {
    const double x = part_of(p->j, at, i) / most;
    sum += x * x;
  }
  return most * sqrt(sum);
}

/* The norms lose row `row`. */
static void shrink_norms(pivoted *p, int64_t row) {
  const double eps = st__real_dtype(p->j->dtype) == ST_FLOAT32 ? 0x1p-24
                                                               : 0x1p-53;
  const bool is_complex = st__is_complex(p->j->dtype);
  for (int64_t c = row + 1; c < p->a.n; c++) {
    const char *const at = st__part_at(p->j, &p->a, row, c);
    const double re = part_of(p->j, at, 0);
    const double im = is_complex ? part_of(p->j, at, 1) : 0;
    if (p->norm[c] == 0) continue;
    const double x = st__map_two(ST_K_hypot, re, im) / p->norm[c];
    const double left = fmax((1 + x) * (1 - x), 0);
    const double ratio = p->norm[c] / p->last[c];
    if (left * ratio * ratio <= sqrt(eps)) {
      p->last[c] = -1;
      p->is_stale = true;
    } else {
      p->norm[c] *= sqrt(left);
    }
  }
}

static void renew_norms(pivoted *p, int64_t row) {
  for (int64_t c = row; c < p->a.n; c++) {
    if (p->last[c] >= 0) continue;
    p->norm[c] = p->last[c] = norm_of(p, row, c);
  }
  p->is_stale = false;
}

/* -- Columns -------------------------------------------------------------- */

static void exchange_parts(const pivoted *p, const st_part *a,
                           const st_part *b) {
  const size_t size = (size_t)st__size(p->j);
  for (int64_t i = 0; i < a->m; i++) {
    char x[16];
    char *const one = st__part_at(p->j, a, i, 0);
    char *const other = st__part_at(p->j, b, i, 0);
    memcpy(x, one, size);
    memcpy(one, other, size);
    memcpy(other, x, size);
  }
}

/* Column c of the block becomes the largest that is left. */
static void choose_column(pivoted *p, int64_t c) {
  const int64_t at = p->k + c;
  int64_t best = at;
  for (int64_t i = at + 1; i < p->a.n; i++) {
    if (p->norm[i] > p->norm[best]) best = i;
  }
  if (best == at) return;
  const st_part a = st__part(p->j, &p->a, 0, at, p->a.m, 1);
  const st_part b = st__part(p->j, &p->a, 0, best, p->a.m, 1);
  const st_part f = st__turned(st__part(p->j, &p->g, at, 0, 1, c));
  const st_part g = st__turned(st__part(p->j, &p->g, best, 0, 1, c));
  const blasint place = p->order[at];
  exchange_parts(p, &a, &b);
  exchange_parts(p, &f, &g);
  p->order[at] = p->order[best];
  p->order[best] = place;
  p->norm[best] = p->norm[at];
  p->last[best] = p->last[at];
}

/* x, a column, times -tau of column `at`, conjugated, or times tau. */
static void scale_by_tau(const pivoted *p, const st_part *x, int64_t at,
                         int sign) {
  const char *const t = p->tau + at * st__size(p->j);
  double tau[2], z[2];
  st__scalar_to_complex(st__scalar_load(p->j->dtype, t), tau);
  for (int64_t i = 0; i < x->m; i++) {
    char *const to = st__part_at(p->j, x, i, 0);
    st__scalar_to_complex(st__scalar_load(p->j->dtype, to), z);
    const double re = tau[0] * z[0] + tau[1] * z[1];
    const double im = tau[0] * z[1] - tau[1] * z[0];
    st__scalar_store(st__is_complex(p->j->dtype)
                       ? st__scalar_complex(sign * re, sign * im)
                       : st__scalar_float(sign * tau[0] * z[0]),
                     p->j->dtype, to);
  }
}

/* Column c of G, for the rows of A's columns behind: conj(tau) A' conj(v), less
 * what the columns before it take of that. */
static bool find_row(pivoted *p, int64_t c) {
  const st_lapack_job *j = p->j;
  const int64_t at = p->k + c, rows = p->a.m - at, rest = p->a.n - at - 1;
  const st_part column = st__part(j, &p->a, at, at, rows, 1);
  const st_part v = st__part(j, &p->v, 0, 0, rows, 1);
  const st_part behind = st__turned(st__part(j, &p->a, at, at + 1, rows, rest));
  const st_part before = st__turned(st__part(j, &p->a, at, p->k, rows, c));
  const st_part g = st__part(j, &p->g, at + 1, c, rest, 1);
  const st_part old = st__part(j, &p->g, at + 1, 0, rest, c);
  const st_part w = st__part(j, &p->w, 0, 0, c, 1);
  st__part_copy(j, &v, &column, true);
  if (!st__part_multiply(j, &g, &behind, &v, 1, false) ||
      !st__part_multiply(j, &w, &before, &v, 1, false)) {
    return false;
  }
  scale_by_tau(p, &g, at, 1);
  scale_by_tau(p, &w, at, -1);
  return st__part_multiply(j, &g, &old, &w, 1, true);
}

static bool factor_column(pivoted *p, int64_t c) {
  const st_lapack_job *j = p->j;
  const int64_t at = p->k + c, rest = p->a.n - at - 1;
  const st_number one = st__number(j, 1);
  const st_part column = st__part(j, &p->a, at, at, p->a.m - at, 1);
  const st_part before = st__part(j, &p->a, at, p->k, p->a.m - at, c);
  const st_part row = st__part(j, &p->a, at, at + 1, 1, rest);
  const st_part left = st__part(j, &p->a, at, p->k, 1, c + 1);
  const st_part g = st__turned(st__part(j, &p->g, at + 1, 0, rest, c + 1));
  char diagonal[16];
  choose_column(p, c);
  const st_part w = st__turned(st__part(j, &p->g, at, 0, 1, c));
  if (!st__part_multiply(j, &column, &before, &w, -1, true)) return false;
  st__factor_panel(j, ST_K_reflect_panel, &column, p->tau + at * st__size(j),
                   p->panel);
  memcpy(diagonal, column.p, (size_t)st__size(j));
  memcpy(column.p, &one, (size_t)st__size(j));
  if (!find_row(p, c) || !st__part_multiply(j, &row, &left, &g, -1, true)) {
    return false;
  }
  memcpy(column.p, diagonal, (size_t)st__size(j));
  shrink_norms(p, at);
  return true;
}

/* At most BLOCK columns, fewer where a norm has to be computed. */
static bool factor_block(pivoted *p, int64_t all) {
  const st_lapack_job *j = p->j;
  int64_t c = 0;
  const int64_t most = st__smaller(all - p->k, BLOCK);
  while (c < most && !p->is_stale) {
    if (!factor_column(p, c++)) return false;
  }
  p->k += c;
  const int64_t rows = p->a.m - p->k, rest = p->a.n - p->k;
  const st_part v = st__part(j, &p->a, p->k, p->k - c, rows, c);
  const st_part g = st__turned(st__part(j, &p->g, p->k, 0, rest, c));
  const st_part behind = st__part(j, &p->a, p->k, p->k, rows, rest);
  if (!st__part_multiply(j, &behind, &v, &g, -1, true)) return false;
  if (p->is_stale) renew_norms(p, p->k);
  return true;
}

bool st__geqp3(const st_lapack_job *j, const st_part *a, char *tau,
               blasint *order, char *scratch) {
  const int64_t all = st__smaller(a->m, a->n);
  pivoted p = new_pivoted(j, a, tau, order, scratch);
  for (int64_t c = 0; c < a->n; c++) {
    order[c] = (blasint)c;
    p.norm[c] = p.last[c] = norm_of(&p, 0, c);
  }
  while (p.k < all) {
    if (!factor_block(&p, all)) return false;
  }
  return true;
}
