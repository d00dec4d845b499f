/* LU and Cholesky factors, inverses and triangular equations of large
 * matrices: Note [Decompositions in blocks].
 */

#include "op/lapack/blocks.h"

#include <math.h>
#include <string.h>

#include "iter/strided_copy.h"
#include "kernel/lapack/triangle.h"
#include "op/lapack/chunks.h"

/* Columns of a block and of a block's blocks. */
enum { BLOCK = ST_TRIANGLE, INNER = 16, LEAST = 64 };

bool st__is_blocked(int64_t rows, int64_t cols) {
  return rows > LEAST && cols > LEAST;
}

/* -- Triangles ------------------------------------------------------------ */

static void solve_by_library(const st_lapack_job *j, const st_triangle *t) {
  const st_number one = st__number(j, 1);
  j->f->trsm(t->left ? "L" : "R", t->upper ? "U" : "L", &t->trans,
             t->is_unit ? "U" : "N", &t->m, &t->n, &one, t->a, &t->lda, t->x,
             &t->ldx, 1, 1, 1, 1);
}

/* The rows [k, k + n) of op(A) X = B in the kernel's view: X has `count`
 * columns, and both matrices may be transposed. */
static void solve_block(const st_lapack_job *j, const st_triangle *t,
                        bool transposed, bool lower, int64_t k, int64_t n,
                        int64_t count) {
  const st_triangle_ctx ctx = {
    t->is_unit, st__kernel(ST_K_transpose, st__bits_of(st__size(j)))};
  const int64_t size = st__size(j), a_next = t->lda * size;
  const int64_t x_next = t->ldx * size, sign = lower ? 1 : -1;
  const int64_t first = lower ? k : k + n - 1;
  const int64_t x_row = t->left ? size : x_next;
  char *data[] = {t->x + first * x_row,
                  st__element(j, t->a, t->lda, first, first)};
  const int64_t st[] = {t->left ? x_next : size,
                        sign * (transposed ? size : a_next), sign * x_row,
                        sign * (transposed ? a_next : size)};
  st__kernel(ST_K_triangle, j->dtype)(data, st, count, n, &ctx);
}

/* Subtracts the products with the solved rows [k, k + n) from rows [from, to)
 * of X. */
static void subtract_block(const st_lapack_job *j, const st_triangle *t,
                           bool transposed, int64_t k, int64_t n, int64_t from,
                           int64_t to, int64_t count) {
  const char *const a = transposed ? st__element(j, t->a, t->lda, k, from)
                                   : st__element(j, t->a, t->lda, from, k);
  st_gemm p = {.k = n, .ldc = t->ldx};
  if (t->left) {
    p.ta = transposed ? 'T' : 'N', p.tb = 'N';
    p.m = to - from, p.n = count;
    p.a = a, p.lda = t->lda;
    p.b = t->x + k * st__size(j), p.ldb = t->ldx;
    p.c = t->x + from * st__size(j);
  } else {
    p.ta = 'N', p.tb = transposed ? 'N' : 'T';
    p.m = count, p.n = to - from;
    p.a = st__element(j, t->x, t->ldx, 0, k), p.lda = t->ldx;
    p.b = a, p.ldb = t->lda;
    p.c = st__element(j, t->x, t->ldx, 0, from);
  }
  st__subtract(j, &p);
}

/* X A = B is A' X' = B'. */
static void solve_triangle(const st_lapack_job *j, const st_triangle *t) {
  const bool transposed = (t->trans != 'N') == t->left;
  const bool lower = t->upper == transposed;
  const int64_t n = t->left ? t->m : t->n, count = t->left ? t->n : t->m;
  if (st__is_complex(j->dtype)) {
    solve_by_library(j, t);
    return;
  }
  for (int64_t done = 0, width; done < n; done += width) {
    width = st__smaller(n - done, BLOCK);
    const int64_t k = lower ? done : n - done - width;
    solve_block(j, t, transposed, lower, k, width, count);
    subtract_block(j, t, transposed, k, width, lower ? k + width : 0,
                   lower ? n : k, count);
  }
}

static void solve_chunk(const st_step *s, int64_t from, int64_t to) {
  st_triangle t = *(const st_triangle *)s->ctx;
  if (t.left) {
    t.x = st__element(s->j, t.x, t.ldx, 0, from);
    t.n = (blasint)(to - from);
  } else {
    t.x = st__element(s->j, t.x, t.ldx, from, 0);
    t.m = (blasint)(to - from);
  }
  solve_triangle(s->j, &t);
}

void st__trsm(const st_lapack_job *j, const st_triangle *t) {
  st_step s = {solve_chunk, j, t, 0, t->left ? t->n : t->m};
  if ((t->left ? t->m : t->n) <= INNER || s.to == 1) solve_by_library(j, t);
  else st__share_columns(&s);
}

/* -- LU ------------------------------------------------------------------- */

/* The factors of a, of which columns [k, k + width) were found last, with the
 * swaps of these rows. */
typedef struct factors {
  char *a;
  blasint m, n, lda, *pivots, *info;
  int64_t k, width;
} factors;

static void swap_rows(const st_lapack_job *j, char *a, blasint lda,
                      int64_t columns, int64_t from, int64_t to,
                      const blasint *pivots, bool back) {
  const blasint n = (blasint)columns, first = (blasint)from + 1;
  const blasint last = (blasint)to, way = back ? -1 : 1;
  j->f->laswp(&n, a, &lda, &first, &last, pivots, &way);
}

/* Swaps, and what the new columns say of those to their right. */
static void update(const st_step *s, int64_t from, int64_t to) {
  const factors *f = s->ctx;
  const st_lapack_job *j = s->j;
  const int64_t k = f->k, next = k + f->width;
  char *const c = st__element(j, f->a, f->lda, k, from);
  swap_rows(j, st__element(j, f->a, f->lda, 0, from), f->lda, to - from, k,
            next, f->pivots, false);
  if (from < next) return;
  const st_triangle t = {
    .a = st__element(j, f->a, f->lda, k, k), .lda = f->lda, .x = c,
    .ldx = f->lda, .m = (blasint)f->width, .n = (blasint)(to - from),
    .left = true, .is_unit = true, .trans = 'N'};
  const st_gemm p = {
    'N', 'N', f->m - next, to - from, f->width,
    st__element(j, f->a, f->lda, next, k), c,
    st__element(j, f->a, f->lda, next, from),
    f->lda, f->lda, f->lda};
  solve_triangle(j, &t);
  st__subtract(j, &p);
}

/* Columns [k, k + width), with the swaps of these columns only. */
static void factor_block(const st_lapack_job *j, factors *f) {
  const int64_t first = f->k, last = f->k + f->width;
  for (int64_t k = first; k < last; k += f->width) {
    const blasint m = (blasint)(f->m - k);
    const blasint n = (blasint)st__smaller(last - k, INNER);
    const st_step s = {update, j, f, 0, 0};
    blasint info = 0;
    f->k = k;
    f->width = n;
    j->f->getrf(&m, &n, st__element(j, f->a, f->lda, k, k), &f->lda,
                f->pivots + k, &info);
    for (int64_t i = k; i < k + n; i++) f->pivots[i] += (blasint)k;
    if (info > 0 && *f->info == 0) *f->info = info + (blasint)k;
    if (k > first) update(&s, first, k);
    if (k + n < last) update(&s, k + n, last);
  }
  f->k = first;
  f->width = last - first;
}

bool st__getrf(const st_lapack_job *j, blasint m, blasint n, char *a,
               blasint lda, blasint *pivots, blasint *info) {
  const int64_t k = st__smaller(m, n);
  factors f = {a, m, n, lda, pivots, info, 0, 0};
  st_step s = {.fn = update, .j = j, .ctx = &f};
  *info = 0;
  if (!st__is_blocked(m, n)) {
    j->f->getrf(&m, &n, a, &lda, pivots, info);
    return true;
  }
  for (f.k = 0; f.k < k; f.k += f.width) {
    f.width = st__smaller(k - f.k, BLOCK);
    factor_block(j, &f);
    s.from = f.k + f.width;
    s.to = n;
    if (!st__share_columns(&s)) return false;
    s.from = 0;
    s.to = f.k;
    if (!st__share_columns(&s)) return false;
  }
  return true;
}

/* -- Equations ------------------------------------------------------------ */

typedef struct equations {
  const blasint *pivots;
  st_triangle lower, upper;
} equations;

static void solve_columns(const st_step *s, int64_t from, int64_t to) {
  const equations *e = s->ctx;
  const bool forward = e->lower.trans == 'N';
  st_triangle l = e->lower, u = e->upper;
  l.x = u.x = st__element(s->j, l.x, l.ldx, 0, from);
  l.n = u.n = (blasint)(to - from);
  if (forward) {
    swap_rows(s->j, l.x, l.ldx, l.n, 0, l.m, e->pivots, false);
    solve_triangle(s->j, &l);
    solve_triangle(s->j, &u);
  } else {
    solve_triangle(s->j, &u);
    solve_triangle(s->j, &l);
    swap_rows(s->j, l.x, l.ldx, l.n, 0, l.m, e->pivots, true);
  }
}

void st__getrs(const st_lapack_job *j, const char *trans, blasint n,
               blasint columns, const char *a, blasint lda,
               const blasint *pivots, char *b, blasint ldb) {
  const st_triangle t = {.a = a, .lda = lda, .x = b, .ldx = ldb, .m = n,
                         .n = columns, .left = true, .trans = *trans};
  equations e = {pivots, t, t};
  st_step s = {solve_columns, j, &e, 0, columns};
  blasint info;
  e.lower.is_unit = e.upper.upper = true;
  if (n > INNER && columns > 1) {
    st__share_columns(&s);
  } else {
    j->f->getrs(trans, &n, &columns, a, &lda, pivots, b, &ldb, &info, 1);
  }
}

/* -- Inverses ------------------------------------------------------------- */

/* The columns of U^-1 L^-1, which are those of the inverse in another order. */
typedef struct inverse {
  char *a;
  blasint n, lda;
  char *columns;
  blasint *order;
} inverse;

int64_t st__getri_bytes(st_dtype dtype, int64_t n) {
  return st__whole_lines(n * n * (int64_t)st__itemsize(dtype)) +
         st__whole_lines(n * (int64_t)sizeof(blasint));
}

static void invert_columns(const st_step *s, int64_t from, int64_t to) {
  const inverse *v = s->ctx;
  const st_lapack_job *j = s->j;
  const st_number one = st__number(j, 1);
  st_triangle t = {.a = v->a, .lda = v->lda, .ldx = v->n, .left = true,
                   .upper = true, .m = v->n, .n = (blasint)(to - from),
                   .trans = 'N'};
  t.x = st__element(j, v->columns, v->n, 0, from);
  memset(t.x, 0, (size_t)((to - from) * v->n * st__size(j)));
  for (int64_t i = from; i < to; i++) {
    memcpy(st__element(j, v->columns, v->n, i, i), &one, (size_t)st__size(j));
  }
  st_triangle l = t;
  l.a = st__element(j, v->a, v->lda, from, from);
  l.x = st__element(j, v->columns, v->n, from, from);
  l.m = v->n - (blasint)from;
  l.upper = false;
  l.is_unit = true;
  solve_triangle(j, &l);
  solve_triangle(j, &t);
}

static void order_columns(const st_step *s, int64_t from, int64_t to) {
  const inverse *v = s->ctx;
  for (int64_t i = from; i < to; i++) {
    memcpy(st__element(s->j, v->a, v->lda, 0, v->order[i]),
           st__element(s->j, v->columns, v->n, 0, i),
           (size_t)(v->n * st__size(s->j)));
  }
}

void st__getri(const st_lapack_job *j, blasint n, char *a, blasint lda,
               const blasint *pivots, char *scratch) {
  const int64_t bytes = st__whole_lines(n * (int64_t)n * st__size(j));
  const inverse v = {a, n, lda, scratch, (blasint *)(void *)(scratch + bytes)};
  st_step s = {invert_columns, j, &v, 0, n};
  for (blasint i = 0; i < n; i++) v.order[i] = i;
  for (blasint i = 0; i < n; i++) {
    const blasint k = v.order[i];
    v.order[i] = v.order[pivots[i] - 1];
    v.order[pivots[i] - 1] = k;
  }
  if (!st__share_columns(&s)) return;
  s.fn = order_columns;
  st__share_columns(&s);
}

/* -- Cholesky ------------------------------------------------------------- */

/* After the factor of the block at k: what lies beside it in its triangle, and
 * the rest of the triangle. */
typedef struct cholesky {
  char *a;
  blasint n, lda;
  int64_t k, width;
  bool upper;
} cholesky;

/* Element (row, col) of the lower triangle; of the upper one, its mirror. */
static char *mirrored(const st_step *s, int64_t row, int64_t col) {
  const cholesky *c = s->ctx;
  return c->upper ? st__element(s->j, c->a, c->lda, col, row)
                  : st__element(s->j, c->a, c->lda, row, col);
}

static void solve_beside(const st_step *s, int64_t from, int64_t to) {
  const cholesky *c = s->ctx;
  const blasint count = (blasint)(to - from), width = (blasint)c->width;
  const st_triangle t = {
    .a = mirrored(s, c->k, c->k), .lda = c->lda, .x = mirrored(s, from, c->k),
    .ldx = c->lda, .m = c->upper ? width : count,
    .n = c->upper ? count : width, .left = c->upper, .upper = c->upper,
    .trans = st__adjoint_of(s->j)};
  solve_triangle(s->j, &t);
}

static void subtract_square(const st_step *s, int64_t from, int64_t to) {
  const cholesky *c = s->ctx;
  const blasint n = (blasint)(to - from), k = (blasint)c->width;
  const double minus = -1, one = 1;
  const float minus_f = -1, one_f = 1;
  const bool is_double = st__real_dtype(s->j->dtype) == ST_FLOAT64;
  const char trans = c->upper ? st__adjoint_of(s->j) : 'N';
  s->j->f->herk(c->upper ? "U" : "L", &trans, &n, &k,
                is_double ? (const void *)&minus : &minus_f,
                mirrored(s, from, c->k), &c->lda,
                is_double ? (const void *)&one : &one_f,
                mirrored(s, from, from), &c->lda, 1, 1);
}

static void update_triangle(const st_step *s, int64_t from, int64_t to) {
  const cholesky *c = s->ctx;
  const int64_t rest = c->n - to, width = to - from;
  st_gemm p = {.k = c->width, .lda = c->lda, .ldb = c->lda, .ldc = c->lda};
  subtract_square(s, from, to);
  if (rest == 0) return;
  p.ta = c->upper ? st__adjoint_of(s->j) : 'N';
  p.tb = c->upper ? 'N' : st__adjoint_of(s->j);
  p.m = c->upper ? width : rest;
  p.n = c->upper ? rest : width;
  p.a = mirrored(s, c->upper ? from : to, c->k);
  p.b = mirrored(s, c->upper ? to : from, c->k);
  p.c = mirrored(s, to, from);
  st__subtract(s->j, &p);
}

/* potrf, which sees no NaN: info says the first on the diagonal, too. */
static blasint factor_square(const st_lapack_job *j, const char *uplo,
                             blasint n, char *a, blasint lda) {
  blasint info = 0;
  j->f->potrf(uplo, &n, a, &lda, &info, 1);
  for (blasint i = 0; i < n && info == 0; i++) {
    const char *const p = st__element(j, a, lda, i, i);
    const bool is_float = st__real_dtype(j->dtype) == ST_FLOAT32;
    const double x = is_float ? *(const float *)(const void *)p
                              : *(const double *)(const void *)p;
    if (isnan(x)) info = i + 1;
  }
  return info;
}

void st__potrf(const st_lapack_job *j, bool upper, blasint n, char *a,
               blasint lda, blasint *info) {
  const char *const uplo = upper ? "U" : "L";
  cholesky c = {a, n, lda, 0, 0, upper};
  st_step s = {.j = j, .ctx = &c, .to = n};
  *info = 0;
  if (!st__is_blocked(n, n)) {
    *info = factor_square(j, uplo, n, a, lda);
    return;
  }
  for (c.k = 0; c.k < n; c.k += c.width) {
    const blasint width = (blasint)st__smaller(n - c.k, BLOCK);
    *info = factor_square(j, uplo, width, st__element(j, a, lda, c.k, c.k),
                          lda);
    if (*info != 0) {
      *info += (blasint)c.k;
      return;
    }
    c.width = width;
    s.from = c.k + width;
    s.fn = solve_beside;
    if (!st__share_columns(&s)) return;
    s.fn = update_triangle;
    if (!st__share_columns(&s)) return;
  }
}
