/* LDL factors, and equations by them: Note [Decompositions in blocks].
 *
 * Panels go from left to right, as a column is chosen by what is left of the
 * matrix; what is behind a panel loses a product at its end.
 */

#include <string.h>

#include "kernel/lapack/ldl.h"
#include "op/lapack/blocks.h"
#include "op/lapack/chunks.h"
#include "op/lapack/panels.h"

/* The columns of the block that begins with column k. */
static int64_t width_of(const blasint *pivots, int64_t k) {
  return pivots[k] < 0 ? 2 : 1;
}

/* Rows that each row changes places with: of a block of two the second one, by
 * its own pivot or, as LAPACK reads them, that of the first. */
static void find_rows(const blasint *pivots, int64_t n, blasint *rows) {
  for (int64_t k = 0; k < n; k += width_of(pivots, k)) {
    const bool is_pair = pivots[k] < 0;
    rows[k] = is_pair ? (blasint)k + 1 : pivots[k];
    if (is_pair) rows[k + 1] = -pivots[k];
  }
}

/* -- Factors -------------------------------------------------------------- */

int64_t st__ldl_pitch(st_dtype dtype, int64_t n) {
  return st__panel_pitch((int64_t)st__itemsize(dtype), n);
}

int64_t st__ldl_bytes(st_dtype dtype, int64_t n) {
  return st__smaller(n, ST_PANEL) * st__ldl_pitch(dtype, n) +
         st__whole_lines(ST_PANEL * (int64_t)sizeof(blasint));
}

/* What the columns of a panel, l, and W say of the rest of the matrix. */
typedef struct update { st_part rest, l, w; } update;

static void update_columns(const st_step *s, int64_t from, int64_t to) {
  const update *u = s->ctx;
  const int64_t rows = u->rest.m - from, width = u->l.n;
  const st_part c = st__part(s->j, &u->rest, from, from, rows, to - from);
  const st_part l = st__part(s->j, &u->l, from, 0, rows, width);
  const st_part w = st__turned(st__part(s->j, &u->w, from, 0, to - from,
                                        width));
  const bool done = st__part_multiply(s->j, &c, &l, &w, -1, true);
  (void)done; /* the job says so */
}

/* Rows that are exchanged later than a column's are exchanged in it while a
 * panel is factored; LAPACK leaves them where they were. */
static void restore_rows(const st_lapack_job *j, const st_part *panel,
                         const blasint *pivots, blasint *rows) {
  st_row_exchange e = {.a = *panel, .pivots = rows, .back = true};
  find_rows(pivots, panel->n, rows);
  for (int64_t c = 0, n; c < panel->n; c += n) {
    n = width_of(pivots, c);
    e.k = c + n;
    e.n = panel->n - e.k;
    st__exchange_in(j, &e, c, c + n);
  }
}

/* Columns from k on; sets *n to how many were factored. */
static bool factor_panel(const st_lapack_job *j, const st_ldl *f, int64_t k,
                         char *scratch, blasint info[2]) {
  const int64_t m = f->a.m - k, size = st__size(j), next = f->a.col * size;
  const int64_t width = st__smaller(m, ST_PANEL);
  blasint *const pivots = f->pivots + k;
  blasint *const rows = (blasint *)(void *)scratch;
  char *const w = scratch +
                  st__whole_lines(ST_PANEL * (int64_t)sizeof(blasint));
  char *data[] = {st__part_at(j, &f->a, k, k), w, (char *)pivots,
                  (char *)info};
  st__kernel(ST_K_ldl_panel, j->dtype)(data, (int64_t[]){next, next}, m, width,
                                       &f->hermitian);
  const int64_t n = info[1], rest = m - n;
  const st_part panel = st__part(j, &f->a, k, k, m, n);
  const st_part all = st__columns_at(w, m, n, f->a.col);
  const update u = {st__part(j, &f->a, k + n, k + n, rest, rest),
                    st__part(j, &panel, n, 0, rest, n),
                    st__part(j, &all, n, 0, rest, n)};
  st_step s = {update_columns, j, &u, 0, rest};
  if (rest > 0 && !st__share_columns(&s)) return false;
  restore_rows(j, &panel, pivots, rows);
  for (int64_t i = 0; i < n; i++) {
    pivots[i] += (blasint)(pivots[i] < 0 ? -k : k);
  }
  return !st__is_stopped(j);
}

bool st__sytrf(const st_lapack_job *j, const st_ldl *f, blasint *info,
               char *scratch) {
  *info = 0;
  for (int64_t k = 0; k < f->a.m;) {
    blasint found[2] = {0};
    if (!factor_panel(j, f, k, scratch, found)) return false;
    if (found[0] > 0 && *info == 0) *info = found[0] + (blasint)k;
    k += found[1];
  }
  return true;
}

/* -- Equations ------------------------------------------------------------ */

/* As many columns the kernel solves as fast as it reads L. */
static bool are_few(int64_t columns) {
  enum { FEW = 4 };
  return columns <= FEW;
}

int64_t st__sytrs_bytes(st_dtype dtype, int64_t n, int64_t columns) {
  if (are_few(columns)) return 0;
  return st__whole_lines(n * n * (int64_t)st__itemsize(dtype)) +
         st__whole_lines(n * (int64_t)sizeof(blasint));
}

/* L as the product of all exchanges and one triangle has it: later exchanges
 * are made in its columns, and D's blocks have no place in it. */
static void copy_triangle(const st_lapack_job *j, const st_ldl *f,
                          const st_part *l, const blasint *rows) {
  st_row_exchange e = {.a = *l, .pivots = rows};
  const st_number zero = st__number(j, 0);
  for (int64_t c = 0, n; c < l->n; c += n) {
    const st_part from = st__part(j, &f->a, 0, c, l->m, width_of(f->pivots, c));
    const st_part to = st__part(j, l, 0, c, l->m, from.n);
    n = from.n;
    st__part_copy(j, &to, &from, false);
    if (n == 2) {
      memcpy(st__part_at(j, l, c + 1, c), &zero, (size_t)st__size(j));
    }
    e.k = c + n;
    e.n = l->m - e.k;
    st__exchange_in(j, &e, c, c + n);
  }
}

bool st__sytrs(const st_lapack_job *j, const st_ldl *f, const st_part *x,
               char *scratch) {
  const int64_t n = f->a.m, size = st__size(j);
  const bool conjugates = f->hermitian && st__is_complex(j->dtype);
  blasint *const rows = (blasint *)(void *)scratch;
  const st_part l = st__columns_at(
    scratch + st__whole_lines(n * (int64_t)sizeof(blasint)), n, n, n);
  const st_triangle lower = {.a = l, .x = *x, .is_unit = true};
  const st_triangle upper = {.a = st__turned(l), .x = *x, .upper = true,
                             .is_unit = true};
  st_row_exchange e = {*x, rows, 0, n, false};
  char *data[] = {x->p, f->a.p, (char *)f->pivots};
  const int64_t st[] = {x->col * size, f->a.col * size};
  if (are_few(x->n)) {
    st__kernel(ST_K_ldl_solve, j->dtype)(data, st, n, x->n, &conjugates);
    return true;
  }
  find_rows(f->pivots, n, rows);
  copy_triangle(j, f, &l, rows);
  if (!st__exchange_rows(j, &e) || !st__solve_triangle(j, &lower)) return false;
  st__kernel(ST_K_ldl_diagonal, j->dtype)(data, st, n, x->n, &conjugates);
  if (conjugates) st__part_conjugate(j, x);
  if (!st__solve_triangle(j, &upper)) return false;
  if (conjugates) st__part_conjugate(j, x);
  e.back = true;
  return st__exchange_rows(j, &e);
}
