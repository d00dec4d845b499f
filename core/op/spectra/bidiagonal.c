/* Singular values and vectors of bidiagonal matrices, as LAPACK's bdsdc:
 * M. Gu, S. C. Eisenstat, "A divide-and-conquer algorithm for the bidiagonal
 * SVD", SIAM J. Matrix Anal. Appl. 16, 1995.
 *
 * A matrix is divided at a row into two, which are decomposed by themselves;
 * the first has a column more than rows. A kernel decomposes the leaves; what
 * of a merge is not deflated, a secular equation and products, is shared among
 * threads, as the merges are.
 */

#include "op/spectra/bidiagonal.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "kernel/spectra/bdsqr.h"
#include "kernel/spectra/secular.h"
#include "op/lapack/chunks.h"
#include "op/spectra/coupling.h"
#include "op/spectra/deflation.h"

enum { LEAF = 25 };
_Static_assert((int)LEAF < (int)ST_BDSQR, "a leaf is for the kernel");
_Static_assert((int)ST_SECULAR % (int)ST_BDSQR_LANES == 0,
               "a row of distances is one of the kernel's room");

/* A block of the matrix, which no zero above the diagonal separates, in parts:
 * part p has the rows from ends[p] to ends[p + 1] - 1, behind which a row that
 * belongs to no part divides it from the next one. */
typedef struct tree {
  blasint n, ld; /* ld: of u and vt */
  char *d, *e, *u, *vt;
  blasint *order, *info;
  blasint *ends, *indices;  /* indices: four for each row */
  char *vectors;            /* four elements for each row */
  char *u2, *vt2;           /* rows: n + 1 elements */
  char *distances, *left, *right; /* rows: `wide` elements */
  int64_t parts, wide;
} tree;

/* One merge: nl and nr rows above and below the row between; a column more than
 * rows if `extra`; k values are not deflated. */
typedef struct merge {
  const tree *t;
  int64_t first;
  blasint n, nl, nr, extra, k;
  char *d, *u, *vt, *z, *poles, *weights, *u2, *vt2;
  char *distances, *left, *right;
  blasint *order, *columns, *types;
  int64_t row; /* elements of a row of distances, left, right */
} merge;

/* -- Merges --------------------------------------------------------------- */

static void find_roots(const st_step *s, int64_t from, int64_t to) {
  const merge *m = s->ctx;
  const int64_t size = st__size(s->j);
  const st_secular c = {from, true};
  char *data[] = {m->d + from * size, m->distances + from * size, m->poles,
                  m->weights};
  const int64_t st[] = {size, m->row * size, size, size, 0, 0, 0, 0};
  st__kernel(ST_K_secular_roots, s->j->dtype)(data, st, to - from, m->k, &c);
}

static void find_numerators(const st_step *s, int64_t from, int64_t to) {
  const merge *m = s->ctx;
  const int64_t size = st__size(s->j);
  const st_secular c = {from, true};
  char *data[] = {m->z + from * size, m->distances + from * m->row * size,
                  m->poles};
  const int64_t st[] = {size, m->row * size, size, 0, 0, 0};
  st__kernel(ST_K_secular_weights, s->j->dtype)(data, st, m->k, to - from, &c);
}

/* Element (row, col) of matrices of the merge. */
static char *left_at(const st_step *s, int64_t row, int64_t col) {
  const merge *m = s->ctx;
  return m->left + (row * m->row + col) * st__size(s->j);
}
static char *right_at(const st_step *s, int64_t row, int64_t col) {
  const merge *m = s->ctx;
  return m->right + (row * m->row + col) * st__size(s->j);
}

/* The product or, if its inner size is 0, zeros. */
static void set_product(const st_lapack_job *j, const st_gemm *p) {
  for (int64_t c = 0; p->k == 0 && c < p->n; c++) {
    memset(st__element(j, p->c, p->ldc, 0, c), 0,
           (size_t)(p->m * st__size(j)));
  }
  st__multiply(j, p);
}

/* Columns [from, to) of the part's u. Columns of u2: one of the row between,
 * then those that have elements above it, below it, and both. */
static void make_left(const st_step *s, int64_t from, int64_t to) {
  const merge *m = s->ctx;
  const st_lapack_job *j = s->j;
  const int64_t size = st__size(j), above = m->types[0], below = m->types[1];
  const int64_t both = m->types[2], count = to - from;
  const blasint ld2 = m->n;
  st_gemm p = {.ta = 'N', .tb = 'T', .n = count, .lda = ld2,
               .ldb = (blasint)m->row, .ldc = m->t->ld};
  char *data[] = {m->right + from * size, m->distances + from * size, m->z,
                  (char *)m->columns, m->left + from * size, m->poles};
  const int64_t st[] = {size, m->row * size, size, sizeof(blasint), 0, 0};
  st__kernel(ST_K_secular_vectors, j->dtype)(data, st, count, m->k, NULL);
  p.c = st__element(j, m->u, m->t->ld, 0, from);
  p.m = m->nl;
  p.k = above;
  p.a = st__element(j, m->u2, ld2, 0, 1);
  p.b = left_at(s, 1, from);
  set_product(j, &p);
  p.k = both;
  p.a = st__element(j, m->u2, ld2, 0, 1 + above + below);
  p.b = left_at(s, 1 + above + below, from);
  st__add(j, &p);
  for (int64_t c = 0; c < count; c++) {
    memcpy(st__element(j, p.c, p.ldc, m->nl, c), left_at(s, 0, from + c),
           (size_t)size);
  }
  p.c = st__element(j, p.c, p.ldc, m->nl + 1, 0);
  p.m = m->nr;
  p.k = below + both;
  p.a = st__element(j, m->u2, ld2, m->nl + 1, 1 + above);
  p.b = left_at(s, 1 + above, from);
  set_product(j, &p);
}

/* Columns [from, to) of vt, which belong to the rows above or to those below.
 * Row 0 of vt2 has elements of both. */
static void make_right_half(const st_step *s, int64_t from, int64_t to,
                            bool is_upper) {
  const merge *m = s->ctx;
  const st_lapack_job *j = s->j;
  const int64_t above = m->types[0], below = m->types[1], both = m->types[2];
  const int64_t rest = is_upper ? 1 + above + below : 1 + above;
  const blasint ld2 = m->n + m->extra;
  st_gemm p = {.ta = 'N', .tb = 'N', .m = m->k, .n = to - from,
               .lda = (blasint)m->row, .ldb = ld2, .ldc = m->t->ld};
  p.c = st__element(j, m->vt, m->t->ld, 0, from);
  p.k = is_upper ? 1 + above : 1;
  p.a = right_at(s, 0, 0);
  p.b = st__element(j, m->vt2, ld2, 0, from);
  st__multiply(j, &p);
  p.k = is_upper ? both : below + both;
  p.a = right_at(s, rest, 0);
  p.b = st__element(j, m->vt2, ld2, rest, from);
  st__add(j, &p);
}

static void make_right(const st_step *s, int64_t from, int64_t to) {
  const merge *m = s->ctx;
  const int64_t edge = m->nl + 1;
  if (from < edge) make_right_half(s, from, st__smaller(to, edge), true);
  if (to > edge) make_right_half(s, st__larger(from, edge), to, false);
}

static merge merge_of(const st_lapack_job *j, const tree *t, int64_t part) {
  const int64_t first = t->ends[part], size = st__size(j);
  const int64_t middle = t->ends[part + 1] - 1, end = t->ends[part + 2] - 1;
  merge m = {.t = t, .first = first};
  char *const vectors = t->vectors + 4 * first * size;
  m.n = (blasint)(end - first);
  m.nl = (blasint)(middle - first);
  m.nr = (blasint)(end - middle - 1);
  m.extra = end < t->n;
  m.d = t->d + first * size;
  m.u = st__element(j, t->u, t->ld, first, first);
  m.vt = st__element(j, t->vt, t->ld, first, first);
  m.z = vectors;
  m.poles = vectors + (m.n + 1) * size;
  m.weights = m.poles + (m.n + 1) * size;
  m.u2 = t->u2 + first * (t->n + 1) * size;
  m.vt2 = t->vt2 + first * (t->n + 1) * size;
  m.distances = t->distances + first * t->wide * size;
  m.left = t->left + first * t->wide * size;
  m.right = t->right + first * t->wide * size;
  m.order = t->order + first;
  return m;
}

/* d and the coupling elements are divided by the power of two that is
 * returned. */
static int scale_part(const st_lapack_job *j, const merge *m, double *alpha,
                      double *beta) {
  double most = fmax(fabs(*alpha), fabs(*beta));
  int exponent;
  for (int64_t i = 0; i < m->n; i++) {
    if (i != m->nl) most = fmax(most, fabs(st__value(j, m->d, i)));
  }
  frexp(most, &exponent);
  exponent = exponent < -1000 ? -1000 : exponent;
  *alpha = ldexp(*alpha, -exponent);
  *beta = ldexp(*beta, -exponent);
  st__scale(j, m->d, m->n, -exponent);
  st__set_value(j, m->d, m->nl, 0);
  return exponent;
}

static int deflate(const st_lapack_job *j, merge *m) {
  const tree *t = m->t;
  blasint *const indices = t->indices + 4 * m->first;
  double alpha = st__value(j, t->d, m->first + m->nl);
  double beta = st__value(j, t->e, m->first + m->nl);
  const int exponent = scale_part(j, m, &alpha, &beta);
  m->columns = indices + 2 * m->n;
  m->types = indices + 3 * m->n;
  st_coupling c = {
    .n = m->n, .nl = m->nl, .extra = m->extra, .ld = t->ld, .alpha = alpha,
    .beta = beta, .d = m->d, .u = m->u, .vt = m->vt, .order = m->order,
    .z = m->z, .poles = m->poles, .u2 = m->u2, .vt2 = m->vt2,
    .columns = m->columns, .types = m->types, .numbers = m->weights,
    .room = indices};
  m->k = st__couple(j, &c);
  for (int64_t i = 0; i < m->k; i++) {
    const double x = st__value(j, m->z, i);
    st__set_value(j, m->weights, i, x * x);
  }
  m->row = st__secular_row(m->k);
  return exponent;
}

static bool merge_two(const st_lapack_job *j, merge *m) {
  st_step s = {.fn = find_roots, .j = j, .ctx = m, .to = m->k};
  if (!st__share_columns(&s)) return false;
  s.fn = find_numerators;
  if (!st__share_columns(&s)) return false;
  s.fn = make_left;
  if (!st__share_columns(&s)) return false;
  s.fn = make_right;
  s.to = m->n + m->extra;
  return st__share_columns(&s);
}

/* The next merge takes its poles in the order that remains, which is sorted
 * where what is left lies in between. */
static void merge_parts(const st_step *s, int64_t from, int64_t to) {
  const st_lapack_job *j = s->j;
  for (int64_t p = from; p < to; p++) {
    merge m = merge_of(j, s->ctx, 2 * p);
    const int exponent = deflate(j, &m);
    if (!merge_two(j, &m)) return;
    st__scale(j, m.d, m.n, exponent);
    st__merge_order(j, m.k, m.n, m.d, m.order);
    st__sort_order(j, m.n, m.d, m.order);
  }
}

/* -- Leaves --------------------------------------------------------------- */

/* Rows [first, first + n), with a column more if `extra`. Three rows of
 * distances, of which the matrix has one more than rows, are room for two of
 * the kernel's. */
static void solve_leaf(const st_lapack_job *j, const tree *t, int64_t first,
                       blasint n, bool extra) {
  const int64_t size = st__size(j);
  int32_t info = 0;
  char *data[] = {t->d + first * size, t->e + first * size,
                  st__element(j, t->u, t->ld, first, first),
                  st__element(j, t->vt, t->ld, first, first), (char *)&info,
                  t->distances + 3 * first * t->wide * size};
  const int64_t st[12] = {[2] = t->ld * size, [3] = t->ld * size,
                          [5] = st__bdsqr_row(n + extra) * size};
  st__kernel(ST_K_bdsqr, j->dtype)(data, st, n, extra, NULL);
  for (blasint i = 0; i < n; i++) t->order[first + i] = i + 1;
  if (info > 0) *t->info = info;
}

static void solve_leaves(const st_step *s, int64_t from, int64_t to) {
  const tree *t = s->ctx;
  for (int64_t p = from; p < to; p++) {
    const int64_t first = t->ends[p], end = t->ends[p + 1] - 1;
    solve_leaf(s->j, t, first, (blasint)(end - first), end < t->n);
  }
}

static void divide(tree *t) {
  t->parts = 1;
  t->ends[0] = 0;
  t->ends[1] = t->n + 1;
  while ((t->n + t->parts - 1) / t->parts > LEAF) {
    for (int64_t p = t->parts; p > 0; p--) {
      const blasint end = t->ends[p], first = t->ends[p - 1];
      t->ends[2 * p] = end;
      t->ends[2 * p - 1] = first + (end - first - 1) / 2 + 1;
    }
    t->parts *= 2;
  }
}

static bool conquer(const st_lapack_job *j, const tree *t) {
  st_step s = {.fn = solve_leaves, .j = j, .ctx = t, .to = t->parts};
  return st__conquer(&s, merge_parts, t->ends, t->info);
}

/* -- Blocks --------------------------------------------------------------- */

int64_t st__bdsdc_bytes(st_dtype dtype, int64_t n) {
  const int64_t size = (int64_t)st__itemsize(dtype), m = n + 1;
  return st__whole_lines((5 * m + 1) * (int64_t)sizeof(blasint)) +
         st__whole_lines(4 * m * size) + 2 * st__whole_lines(m * m * size) +
         3 * st__whole_lines(m * st__secular_row(n) * size);
}

static tree tree_of(const st_lapack_job *j, blasint n, char *scratch) {
  const int64_t size = st__size(j), m = (int64_t)n + 1;
  tree t = {.n = n, .wide = st__secular_row(n)};
  const int64_t square = st__whole_lines(m * m * size);
  const int64_t wide = st__whole_lines(m * t.wide * size);
  t.ends = (blasint *)(void *)scratch;
  t.indices = t.ends + m + 1;
  t.vectors = scratch +
              st__whole_lines((5 * m + 1) * (int64_t)sizeof(blasint));
  t.u2 = t.vectors + st__whole_lines(4 * m * size);
  t.vt2 = t.u2 + square;
  t.distances = t.vt2 + square;
  t.left = t.distances + wide;
  t.right = t.left + wide;
  return t;
}

static void set_identity(const st_lapack_job *j, char *a, int64_t n) {
  memset(a, 0, (size_t)(n * n * st__size(j)));
  for (int64_t i = 0; i < n; i++) st__set_value(j, a, i * (n + 1), 1);
}

/* The elements are at most 1. Those below the epsilon vanish; what vanishes on
 * the diagonal would keep its zero apart, and becomes the epsilon. */
static void solve_blocks(const st_lapack_job *j, blasint n, tree *all,
                         char *scratch, bool *done) {
  const int64_t size = st__size(j);
  const double eps = j->dtype == ST_FLOAT32 ? 0x1p-24 : 0x1p-53;
  for (int64_t i = 0; i < n; i++) {
    const double x = st__value(j, all->d, i);
    if (fabs(x) < eps) st__set_value(j, all->d, i, copysign(eps, x));
  }
  for (int64_t first = 0; first < n;) {
    int64_t last = first;
    while (last + 1 < n && fabs(st__value(j, all->e, last)) >= eps) last++;
    tree t = tree_of(j, (blasint)(last + 1 - first), scratch);
    t.ld = n;
    t.d = all->d + first * size;
    t.e = all->e + first * size;
    t.u = st__element(j, all->u, n, first, first);
    t.vt = st__element(j, all->vt, n, first, first);
    t.order = all->order + first;
    t.info = all->info;
    divide(&t);
    *done = conquer(j, &t);
    if (!*done) return;
    if (*t.info > 0) {
      *t.info += (blasint)first;
      return;
    }
    for (blasint i = 0; i < t.n; i++) t.order[i] += (blasint)first;
    first = last + 1;
  }
}

static double greatest(const st_lapack_job *j, int64_t n, const char *d,
                       const char *e) {
  double most = 0;
  for (int64_t i = 0; i < n; i++) {
    most = fmax(most, fabs(st__value(j, d, i)));
    if (i + 1 < n) most = fmax(most, fabs(st__value(j, e, i)));
  }
  return most;
}

bool st__bdsdc(const st_lapack_job *j, blasint n, char *d, char *e, char *u,
               char *vt, blasint *order, blasint *info, char *scratch) {
  const double most = greatest(j, n, d, e);
  tree t = tree_of(j, n, scratch);
  bool done = true;
  int exponent;
  *info = 0;
  t.ld = n;
  t.d = d;
  t.e = e;
  t.u = u;
  t.vt = vt;
  t.order = order;
  t.info = info;
  set_identity(j, u, n);
  set_identity(j, vt, n);
  for (blasint i = 0; i < n; i++) order[i] = i + 1;
  if (most == 0) return true;
  frexp(most, &exponent);
  exponent = exponent < -1000 ? -1000 : exponent;
  st__scale(j, d, n, -exponent);
  st__scale(j, e, n - 1, -exponent);
  if (n <= LEAF) solve_leaf(j, &t, 0, n, false);
  else solve_blocks(j, n, &t, scratch, &done);
  if (!done) return false;
  if (*info > 0) return true;
  st__scale(j, d, n, exponent);
  st__sort_values(j, n, d, order, t.vectors);
  return true;
}
