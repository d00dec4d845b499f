/* Eigenvalues and eigenvectors of symmetric tridiagonal matrices, as LAPACK's
 * stedc: J. J. M. Cuppen, "A divide and conquer method for the symmetric
 * tridiagonal eigenproblem", Numer. Math. 36, 1981.
 *
 * A matrix is that of its two halves, which are decomposed by themselves, plus
 * a matrix of rank one. A kernel decomposes the leaves; what of a merge is not
 * deflated, a secular equation and products, is shared among threads, as the
 * merges are.
 */

#include "op/spectra/tridiagonal.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "kernel/spectra/secular.h"
#include "kernel/spectra/steqr.h"
#include "op/lapack/chunks.h"
#include "op/spectra/deflation.h"
#include "op/lapack/part.h"

enum { LEAF = 25 };
_Static_assert((int)LEAF <= (int)ST_STEQR, "a leaf is for the kernel");
_Static_assert((int)ST_SECULAR % (int)ST_STEQR_LANES == 0,
               "a row of distances is one of the kernel's room");

/* A block of the matrix, which no zero beside the diagonal separates, in parts:
 * part p has the rows from ends[p] to ends[p + 1]. */
typedef struct tree {
  blasint n, ldz;
  char *d, *e, *z;
  blasint *order, *info;
  blasint *ends, *indices;    /* indices: four for each row */
  char *vectors;              /* four elements for each row */
  char *q, *distances, *made; /* rows: n, `wide` and `wide` elements */
  int64_t parts, wide;
} tree;

/* One merge: the parts have n1 and n - n1 rows; k columns are not deflated. */
typedef struct merge {
  const tree *t;
  int64_t first;
  blasint n, n1, k;
  char *d, *z, *poles, *weights, *numerators, *q, *distances, *made;
  blasint *order, *columns, *types;
  int64_t row; /* elements of a row of distances, made */
} merge;

/* -- Merges --------------------------------------------------------------- */

static void find_roots(const st_step *s, int64_t from, int64_t to) {
  const merge *m = s->ctx;
  const int64_t size = st__size(s->j);
  const st_secular c = {from, false};
  char *data[] = {m->d + from * size, m->distances + from * size, m->poles,
                  m->weights};
  const int64_t st[] = {size, m->row * size, size, size, 0, 0, 0, 0};
  st__kernel(ST_K_secular_roots, s->j->dtype)(data, st, to - from, m->k, &c);
}

static void find_numerators(const st_step *s, int64_t from, int64_t to) {
  const merge *m = s->ctx;
  const int64_t size = st__size(s->j);
  const st_secular c = {from, false};
  char *data[] = {m->numerators + from * size,
                  m->distances + from * m->row * size, m->poles};
  const int64_t st[] = {size, m->row * size, size, 0, 0, 0};
  st__kernel(ST_K_secular_weights, s->j->dtype)(data, st, m->k, to - from, &c);
}

/* Rows [at, at + rows) of columns [from, to) of the part's vectors. */
static void multiply(const st_step *s, int64_t at, int64_t rows, const char *q,
                     int64_t first, int64_t inner, int64_t from, int64_t to) {
  const merge *m = s->ctx;
  const int64_t size = st__size(s->j);
  const st_part a = st__columns_at(q, rows, inner, rows);
  const st_part b = st__turned(st__columns_at(
    m->made + (first * m->row + from) * size, to - from, inner, m->row));
  const st_part c = st__columns_at(
    st__element(s->j, m->z, m->t->ldz, at, from), rows, to - from, m->t->ldz);
  for (int64_t i = 0; inner == 0 && i < to - from; i++) {
    memset(st__part_at(s->j, &c, 0, i), 0, (size_t)(rows * size));
  }
  const bool done = st__part_multiply(s->j, &c, &a, &b, 1, false);
  (void)done; /* the job says so */
}

static void make_vectors(const st_step *s, int64_t from, int64_t to) {
  const merge *m = s->ctx;
  const int64_t size = st__size(s->j), top = m->types[0] + m->types[1];
  char *data[] = {m->made + from * size, m->distances + from * size,
                  m->numerators, (char *)m->columns, NULL, NULL};
  const int64_t st[] = {size, m->row * size, size, sizeof(blasint), 0, 0};
  st__kernel(ST_K_secular_vectors, s->j->dtype)(data, st, to - from, m->k,
                                                NULL);
  multiply(s, 0, m->n1, m->q, 0, top, from, to);
  multiply(s, m->n1, m->n - m->n1, m->q + m->n1 * top * size, m->types[0],
           m->types[1] + m->types[2], from, to);
}

static merge merge_of(const st_lapack_job *j, const tree *t, int64_t part) {
  const int64_t first = t->ends[part], size = st__size(j);
  merge m = {.t = t, .first = first};
  char *const vectors = t->vectors + 4 * first * size;
  m.n = t->ends[part + 2] - (blasint)first;
  m.n1 = t->ends[part + 1] - (blasint)first;
  m.d = t->d + first * size;
  m.z = st__element(j, t->z, t->ldz, first, first);
  m.poles = vectors + m.n * size;
  m.numerators = m.poles + m.n * size;
  m.weights = m.numerators + m.n * size;
  m.q = t->q + first * t->n * size;
  m.distances = t->distances + first * t->wide * size;
  m.made = t->made + first * t->wide * size;
  m.order = t->order + first;
  return m;
}

/* The parts' vectors in the rows of the coupling element. */
static void deflate(const st_lapack_job *j, merge *m) {
  const tree *t = m->t;
  const int64_t size = st__size(j);
  blasint *const indices = t->indices + 4 * m->first;
  char *const z = t->vectors + 4 * m->first * size;
  m->columns = indices + 2 * m->n;
  m->types = indices + 3 * m->n;
  for (int64_t i = 0; i < m->n; i++) {
    memcpy(z + i * size,
           st__element(j, m->z, t->ldz, i < m->n1 ? m->n1 - 1 : m->n1, i),
           (size_t)size);
  }
  st_deflation f = {
    .n = m->n, .n1 = m->n1, .ldq = t->ldz,
    .coupling = st__value(j, t->e, m->first + m->n1 - 1), .d = m->d,
    .q = m->z, .z = z, .order = m->order, .poles = m->poles,
    .weights = m->numerators, .q2 = m->q, .columns = m->columns,
    .types = m->types, .room = indices};
  m->k = st__deflate(j, &f);
  for (int64_t i = 0; i < m->k; i++) {
    const double x = st__value(j, m->numerators, i);
    st__set_value(j, m->weights, i, f.coupling * x * x);
  }
  m->row = st__secular_row(m->k);
}

static void merge_parts(const st_step *s, int64_t from, int64_t to) {
  const tree *t = s->ctx;
  const st_lapack_job *j = s->j;
  for (int64_t p = from; p < to; p++) {
    merge m = merge_of(j, t, 2 * p);
    st_step step = {.j = j, .ctx = &m};
    deflate(j, &m);
    if (m.k == 0) {
      for (blasint i = 0; i < m.n; i++) m.order[i] = i + 1;
      continue;
    }
    step.to = m.k;
    step.fn = find_roots;
    if (!st__share_columns(&step)) return;
    step.fn = find_numerators;
    if (!st__share_columns(&step)) return;
    step.fn = make_vectors;
    if (!st__share_columns(&step)) return;
    st__merge_order(j, m.k, m.n, m.d, m.order);
    st__sort_order(j, m.n, m.d, m.order);
  }
}

/* -- Leaves --------------------------------------------------------------- */

static void solve_leaves(const st_step *s, int64_t from, int64_t to) {
  const tree *t = s->ctx;
  const st_lapack_job *j = s->j;
  const int64_t size = st__size(j);
  for (int64_t p = from; p < to; p++) {
    const int64_t first = t->ends[p];
    const blasint n = t->ends[p + 1] - (blasint)first;
    int32_t info = 0;
    char *data[] = {t->d + first * size, t->e + first * size,
                    st__element(j, t->z, t->ldz, first, first), (char *)&info,
                    t->distances + first * t->wide * size};
    const int64_t st[] = {0, 0, t->ldz * size, 0, t->wide * size,
                          0, 0, 0, 0, 0};
    st__kernel(ST_K_steqr, j->dtype)(data, st, n, 1, NULL);
    for (blasint i = 0; i < n; i++) t->order[first + i] = i + 1;
    if (info > 0) *t->info = info;
  }
}

/* Divides the matrix until parts are leaves; what couples two is taken from the
 * diagonal. */
static void divide(const st_lapack_job *j, tree *t) {
  t->parts = 1;
  t->ends[0] = 0;
  t->ends[1] = t->n;
  while ((t->n + t->parts - 1) / t->parts > LEAF) {
    for (int64_t p = t->parts; p > 0; p--) {
      const blasint end = t->ends[p], first = t->ends[p - 1];
      t->ends[2 * p] = end;
      t->ends[2 * p - 1] = first + (end - first) / 2;
    }
    t->parts *= 2;
  }
  for (int64_t p = 1; p < t->parts; p++) {
    const int64_t i = t->ends[p];
    const double e = fabs(st__value(j, t->e, i - 1));
    st__set_value(j, t->d, i - 1, st__value(j, t->d, i - 1) - e);
    st__set_value(j, t->d, i, st__value(j, t->d, i) - e);
  }
}

static bool conquer(const st_lapack_job *j, const tree *t) {
  st_step s = {.fn = solve_leaves, .j = j, .ctx = t, .to = t->parts};
  return st__conquer(&s, merge_parts, t->ends, t->info);
}

/* -- Blocks --------------------------------------------------------------- */

int64_t st__stedc_bytes(st_dtype dtype, int64_t n) {
  const int64_t size = (int64_t)st__itemsize(dtype);
  return st__whole_lines((5 * n + 1) * (int64_t)sizeof(blasint)) +
         st__whole_lines(4 * n * size) + st__whole_lines(n * n * size) +
         2 * st__whole_lines(n * st__secular_row(n) * size);
}

static tree tree_of(const st_lapack_job *j, blasint n, char *scratch) {
  const int64_t size = st__size(j);
  tree t = {.n = n, .wide = st__secular_row(n)};
  t.ends = (blasint *)(void *)scratch;
  t.indices = t.ends + n + 1;
  t.vectors = scratch + st__whole_lines((5 * (int64_t)n + 1) *
                                        (int64_t)sizeof(blasint));
  t.q = t.vectors + st__whole_lines(4 * n * size);
  t.distances = t.q + st__whole_lines(n * n * size);
  t.made = t.distances + st__whole_lines(n * t.wide * size);
  return t;
}

/* The matrix is scaled by a power of two near its greatest element. */
static bool solve_block(const st_lapack_job *j, tree *t) {
  double most = 0;
  int exponent;
  for (int64_t i = 0; i < t->n; i++) {
    most = fmax(most, fabs(st__value(j, t->d, i)));
    if (i + 1 < t->n) most = fmax(most, fabs(st__value(j, t->e, i)));
  }
  frexp(most, &exponent);
  exponent = exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
  st__scale(j, t->d, t->n, -exponent);
  st__scale(j, t->e, t->n - 1, -exponent);
  divide(j, t);
  const bool done = conquer(j, t);
  st__scale(j, t->d, t->n, exponent);
  return done;
}

/* The rows of the block from `first` on. */
static blasint block_at(const st_lapack_job *j, blasint n, const char *d,
                        const char *e, int64_t first) {
  const double eps = j->dtype == ST_FLOAT32 ? 0x1p-24 : 0x1p-53;
  int64_t i = first;
  for (; i + 1 < n; i++) {
    const double x = fabs(st__value(j, d, i)), y = st__value(j, d, i + 1);
    if (fabs(st__value(j, e, i)) <= eps * sqrt(x) * sqrt(fabs(y))) break;
  }
  return (blasint)(i + 1 - first);
}

bool st__stedc(const st_lapack_job *j, blasint n, char *d, char *e, char *z,
               blasint *order, blasint *info, char *scratch) {
  const int64_t size = st__size(j);
  *info = 0;
  memset(z, 0, (size_t)(n * (int64_t)n * size));
  for (int64_t first = 0; first < n;) {
    const blasint count = block_at(j, n, d, e, first);
    tree t = tree_of(j, count, scratch);
    t.ldz = n;
    t.d = d + first * size;
    t.e = e + first * size;
    t.z = st__element(j, z, n, first, first);
    t.order = order + first;
    t.info = info;
    if (!solve_block(j, &t)) return false;
    if (*info > 0) {
      *info += (blasint)first;
      return true;
    }
    for (blasint i = 0; i < count; i++) t.order[i] += (blasint)first;
    first += count;
  }
  st__sort_values(j, n, d, order, tree_of(j, n, scratch).vectors);
  return true;
}
