/* Cholesky factors, and inverses by them: Note [Decompositions in blocks].
 *
 * A factor is that of the lower triangle. The upper one is room for the adjoint
 * of what is below a block, which its products take.
 */

#include "op/lapack/blocks.h"
#include "op/lapack/chunks.h"
#include "op/lapack/panels.h"

int64_t st__potrf_bytes(st_dtype dtype, int64_t n) {
  return st__panel_bytes(dtype, n, n);
}

/* -- Factors -------------------------------------------------------------- */

typedef struct factor {
  const st_lapack_job *j;
  st_part a;
  blasint *info;
  char *scratch;
} factor;

/* Columns [k, at), and what they say of columns [at, end). */
typedef struct update {
  const st_part *a;
  int64_t k, at, end;
} update;

static void update_columns(const st_step *s, int64_t from, int64_t to) {
  const update *u = s->ctx;
  const int64_t rows = u->a->m - from, width = u->at - u->k;
  const st_part left = st__part(s->j, u->a, from, u->k, rows, width);
  const st_part above = st__part(s->j, u->a, u->k, from, width, to - from);
  const st_part c = st__part(s->j, u->a, from, from, rows, to - from);
  const bool done = st__part_multiply(s->j, &c, &left, &above, -1, true);
  (void)done; /* the job says so */
}

static bool factor_panel(const factor *f, int64_t k, int64_t n) {
  const st_part a = st__part(f->j, &f->a, k, k, f->a.m - k, n);
  *f->info = st__factor_panel(f->j, ST_K_cholesky_panel, &a, NULL, f->scratch);
  if (*f->info > 0) *f->info += (blasint)k;
  return *f->info == 0 && !st__is_stopped(f->j);
}

/* Columns [k, k + n); false also if they have no factor. */
static bool factor_columns(const factor *f, int64_t k, int64_t n) {
  if (n <= ST_PANEL) return factor_panel(f, k, n);
  const int64_t half = st__half(n, ST_PANEL), at = k + half, rest = n - half;
  const st_part above = st__part(f->j, &f->a, k, at, half, rest);
  const st_part left = st__turned(st__part(f->j, &f->a, at, k, rest, half));
  const update u = {&f->a, k, at, k + n};
  st_step s = {update_columns, f->j, &u, at, k + n};
  if (!factor_columns(f, k, half)) return false;
  st__part_copy(f->j, &above, &left, true);
  return st__share_columns(&s) && !st__is_stopped(f->j) &&
         factor_columns(f, at, rest);
}

void st__potrf(const st_lapack_job *j, const st_part *a, blasint *info,
               char *scratch) {
  const factor f = {j, *a, info, scratch};
  *info = 0;
  if (a->m == 0) return;
  const bool whole = factor_columns(&f, 0, a->m);
  (void)whole; /* info and the job say so */
  st__part_zero_above(j, a);
}

/* -- Inverses ------------------------------------------------------------- */

int64_t st__potri_bytes(st_dtype dtype, int64_t n) {
  return st__whole_lines(n * n * (int64_t)st__itemsize(dtype));
}

/* a becomes the Hermitian matrix with the lower triangle of x. */
static void mirror(const st_lapack_job *j, const st_part *a, const st_part *x) {
  for (int64_t c = 0; c < a->n; c++) {
    const int64_t rest = a->n - c;
    const st_part below = st__part(j, x, c, c, rest, 1);
    const st_part column = st__part(j, a, c, c, rest, 1);
    const st_part row = st__turned(st__part(j, a, c, c, 1, rest));
    double d[2];
    st__part_copy(j, &column, &below, false);
    st__part_copy(j, &row, &below, true);
    st__scalar_to_complex(st__scalar_load(j->dtype, below.p), d);
    st__scalar_store(st__scalar_float(d[0]), j->dtype, column.p);
  }
}

bool st__potri(const st_lapack_job *j, const st_part *a, char *scratch) {
  const int64_t n = a->m;
  const st_part x = st__columns_at(scratch, n, n, n);
  const st_inversion v = {{.a = *a}, {.a = st__turned(*a), .upper = true}, x,
                          st__is_complex(j->dtype)};
  if (!st__invert_triangles(j, &v)) return false;
  mirror(j, a, &x);
  return !st__is_stopped(j);
}
