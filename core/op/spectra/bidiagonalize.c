/* The reduction of matrices to bidiagonal ones: J. J. Dongarra, D. C. Sorensen,
 * S. J. Hammarling, "Block reduction of matrices to condensed forms for
 * eigenvalue computations", J. Comput. Appl. Math. 27, 1989.
 *
 * Reflections from the left, I - t v v', and from the right, I - s u u', make
 * zeros of a column and a row in turn. A block of them is applied to what
 * follows as A -= V Y' + X U'. Half of the work is the products of A and each
 * vector.
 *
 * Rows of a step begin at that of a whole line: what is above those of the
 * reflections is zero.
 */

#include <string.h>

#include "op/lapack/chunks.h"
#include "op/spectra/bidiagonal.h"
#include "op/spectra/columns.h"

enum { BLOCK = 32 };

/* Of columns from k on. u: the block's columns of rows'. left: [V X], right:
 * [Y U], conjugated, of what is behind the block. */
typedef struct reduction {
  const st_lapack_job *j;
  const st_bidiagonal *b;
  st_part a, u, x, y, small, negated, left, right;
  int64_t k, line; /* line: numbers in 64 bytes */
  st_number one;
} reduction;

int64_t st__gebrd_bytes(st_dtype dtype, int64_t m, int64_t n) {
  return BLOCK * (st__column_pitch(dtype, m) + st__column_pitch(dtype, n)) +
         st__line_bytes(dtype, BLOCK) + st__line_bytes(dtype, n) +
         st__line_bytes(dtype, 2 * BLOCK * m) +
         st__line_bytes(dtype, 2 * BLOCK * n);
}

int64_t st__gebrd_rows(int64_t n, bool all) {
  return all ? n : st__smaller(n, BLOCK);
}

static reduction new_reduction(const st_lapack_job *j, const st_part *a,
                               const st_bidiagonal *b, char *scratch) {
  const int64_t m = a->m, n = a->n;
  reduction r = {.j = j, .b = b, .a = *a, .line = 64 / st__size(j),
                 .one = st__number(j, 1)};
  r.x = st__take_columns(j, &scratch, m, BLOCK);
  r.y = st__take_columns(j, &scratch, n, BLOCK);
  r.small = st__take_matrix(j, &scratch, BLOCK, 1);
  r.negated = st__take_matrix(j, &scratch, n, 1);
  r.left = st__take_matrix(j, &scratch, m, 2 * BLOCK);
  r.right = st__take_matrix(j, &scratch, n, 2 * BLOCK);
  return r;
}

/* -- Vectors -------------------------------------------------------------- */

#define DEFINE_TIMES(name, T)                                                \
  /* n numbers at `to`, of which each has `step` parts, become by x. */      \
  static void name(T *to, const T *x, int64_t n, int step,                   \
                   const double by[2]) {                                     \
    const T re = (T)by[0], im = (T)by[1];                                    \
    for (int64_t i = 0; step == 1 && i < n; i++) to[i] = re * x[i];          \
    for (int64_t i = 0; step == 2 && i < n; i++, to += 2, x += 2) {          \
      const T a = x[0], b = x[1];                                            \
      to[0] = re * a - im * b;                                               \
      to[1] = re * b + im * a;                                               \
    }                                                                        \
  }
DEFINE_TIMES(times_f4, float)
DEFINE_TIMES(times_f8, double)

static void times(const reduction *r, char *to, const char *x, int64_t n,
                  const double by[2]) {
  const int step = st__is_complex(r->j->dtype) ? 2 : 1;
  if (st__real_dtype(r->j->dtype) == ST_FLOAT32) {
    times_f4((float *)(void *)to, (const float *)(const void *)x, n, step, by);
  } else {
    times_f8((double *)(void *)to, (const double *)(const void *)x, n, step,
             by);
  }
}

static void times_tau(const reduction *r, const st_part *x, const char *tau) {
  double by[2];
  st__scalar_to_complex(st__scalar_load(r->j->dtype, tau), by);
  times(r, x->p, x->p, x->m, by);
}

/* Rows [0, skip) become zeros. */
static void zero_above(const reduction *r, const st_part *x, int64_t skip) {
  memset(x->p, 0, (size_t)(skip * st__size(r->j)));
}

/* The vector of the reflection that makes zeros of the numbers of x below
 * `skip`; what that leaves is element `at` of value. */
static void reflect(const reduction *r, const st_part *x, int64_t skip,
                    char *tau, char *value, int64_t at) {
  const st_lapack_job *j = r->j;
  char *const first = st__part_at(j, x, skip, 0);
  const int64_t st[] = {0, 0, 0, 0, 0, 0};
  int32_t info;
  char *data[] = {first, (char *)&info, tau};
  st__kernel(ST_K_reflect_panel, j->dtype)(data, st, x->m - skip, 1, NULL);
  st__store_real(j, first, value, at);
  memcpy(first, &r->one, (size_t)st__size(j));
  zero_above(r, x, skip);
}

/* -- A times a vector ----------------------------------------------------- */

/* to = A' x or A x. */
typedef struct product {
  st_part to, a, x;
} product;

static void multiply_adjoint(const st_step *s, int64_t from, int64_t to) {
  const product *p = s->ctx;
  const st_part a = st__part(s->j, &p->a, 0, from, p->a.m, to - from);
  const st_part y = st__part(s->j, &p->to, from, 0, to - from, 1);
  st__column_dots(s->j, &y, &a, &p->x);
}

/* x is negated. */
static void multiply_rows(const st_step *s, int64_t from, int64_t to) {
  const product *p = s->ctx;
  const st_part a = st__part(s->j, &p->a, from, 0, to - from, p->a.n);
  const st_part y = st__part(s->j, &p->to, from, 0, to - from, 1);
  memset(y.p, 0, (size_t)(y.m * st__size(s->j)));
  st__subtract_columns(s->j, &y, &a, &p->x, false);
}

/* On one thread, where that is soon done. */
static bool multiply(const reduction *r, const product *p,
                     void (*fn)(const st_step *, int64_t, int64_t),
                     int64_t count) {
  enum { FEW = 1 << 14 };
  st_step s = {fn, r->j, p, 0, count};
  if (p->a.m * p->a.n > FEW) return st__share_columns(&s);
  fn(&s, 0, count);
  return true;
}

/* -- Steps ---------------------------------------------------------------- */

static int64_t start_of(const reduction *r, int64_t i) {
  return i / r->line * r->line;
}

/* The first n columns of the block of a, x, y or u, from row `row` on. */
static st_part block_of(const reduction *r, const st_part *a, int64_t row,
                        int64_t n) {
  return st__part(r->j, a, row, 0, a->m - row, n);
}
static st_part v_of(const reduction *r, int64_t row, int64_t n) {
  return st__part(r->j, &r->a, row, r->k, r->a.m - row, n);
}

static st_part column_of(const reduction *r, const st_part *a, int64_t row,
                         int64_t col) {
  return st__part(r->j, a, row, col, a->m - row, 1);
}

static st_part row_of(const reduction *r, const st_part *a, int64_t row,
                      int64_t n) {
  return st__part(r->j, a, row, 0, 1, n);
}

/* Column c of the block loses what those before it say; then V and Y of it. */
static bool reduce_column(const reduction *r, int64_t c) {
  const st_lapack_job *j = r->j;
  const int64_t i = r->k + c, rest = r->a.n - i - 1, size = st__size(j);
  const int64_t row = start_of(r, i), col = start_of(r, i + 1);
  const st_part v = column_of(r, &r->a, row, i);
  const st_part old_v = v_of(r, row, c), old_x = block_of(r, &r->x, row, c);
  char *const tau = r->b->tau_left + i * size;
  if (c > 0) {
    const st_part y = row_of(r, &r->y, i, c), u = row_of(r, &r->u, i, c);
    st__subtract_columns(j, &v, &old_v, &y, true);
    st__subtract_columns(j, &v, &old_x, &u, true);
  }
  reflect(r, &v, i - row, tau, r->b->d, i);
  if (rest == 0) return true;
  const st_part y = column_of(r, &r->y, col, c);
  const st_part old_y = block_of(r, &r->y, col, c);
  const st_part old_u = block_of(r, &r->u, col, c);
  const product p = {column_of(r, &r->y, i + 1, c),
                     st__part(j, &r->a, row, i + 1, v.m, rest), v};
  if (!multiply(r, &p, multiply_adjoint, rest)) return false;
  st__subtract_product(j, &y, &old_y, &old_v, &v, &r->small);
  st__subtract_product(j, &y, &old_u, &old_x, &v, &r->small);
  times_tau(r, &y, tau);
  zero_above(r, &y, i + 1 - col);
  return true;
}

/* The same of the row; then U and X. */
static bool reduce_row(const reduction *r, int64_t c) {
  const st_lapack_job *j = r->j;
  const int64_t i = r->k + c, rest = r->a.n - i - 1, size = st__size(j);
  const int64_t row = start_of(r, i + 1), col = row;
  const st_part u = column_of(r, &r->u, col, c);
  const st_part below = column_of(r, &r->u, i + 1, c);
  const st_part from = st__turned(st__part(j, &r->a, i, i + 1, 1, rest));
  const st_part old_y = block_of(r, &r->y, col, c + 1);
  const st_part old_u = block_of(r, &r->u, col, c);
  const st_part v_row = st__part(j, &r->a, i, r->k, 1, c + 1);
  const st_part x_row = row_of(r, &r->x, i, c);
  char *const tau = r->b->tau_right + i * size;
  st__part_copy(j, &below, &from, true);
  st__subtract_columns(j, &u, &old_y, &v_row, true);
  st__subtract_columns(j, &u, &old_u, &x_row, true);
  reflect(r, &u, i + 1 - col, tau, r->b->e, i);
  times(r, r->negated.p, below.p, rest, (const double[]){-1, 0});
  const st_part x = column_of(r, &r->x, row, c);
  const st_part old_v = v_of(r, row, c + 1);
  const st_part old_x = block_of(r, &r->x, row, c);
  const product p = {x, st__part(j, &r->a, row, i + 1, x.m, rest), r->negated};
  if (!multiply(r, &p, multiply_rows, x.m)) return false;
  st__subtract_product(j, &x, &old_v, &old_y, &u, &r->small);
  st__subtract_product(j, &x, &old_x, &old_u, &u, &r->small);
  times_tau(r, &x, tau);
  zero_above(r, &x, i + 1 - row);
  return true;
}

/* -- Blocks --------------------------------------------------------------- */

/* What follows the block of `width` columns. */
static bool update_rest(const reduction *r, int64_t width) {
  const st_lapack_job *j = r->j;
  const int64_t at = r->k + width, m = r->a.m - at, n = r->a.n - at;
  const st_part rest = st__part(j, &r->a, at, at, m, n);
  const st_part left = st__part(j, &r->left, 0, 0, m, 2 * width);
  const st_part right = st__part(j, &r->right, 0, 0, n, 2 * width);
  const st_part adjoint = st__turned(right);
  for (int i = 0; i < 2; i++) {
    const st_part to = st__part(j, &left, 0, i * width, m, width);
    const st_part conj = st__part(j, &right, 0, i * width, n, width);
    const st_part one = i == 0 ? v_of(r, at, width)
                               : block_of(r, &r->x, at, width);
    const st_part other = block_of(r, i == 0 ? &r->y : &r->u, at, width);
    st__part_copy(j, &to, &one, false);
    st__part_copy(j, &conj, &other, true);
  }
  return st__part_multiply(j, &rest, &left, &adjoint, -1, true);
}

/* The kernels write behind the columns that they read. */
bool st__gebrd(const st_lapack_job *j, const st_part *a, const st_bidiagonal *b,
               char *scratch) {
  const int64_t n = a->n;
  const bool all = b->rows.n == n;
  reduction r = new_reduction(j, a, b, scratch);
  st__zero_behind(j, a);
  st__zero_behind(j, &b->rows);
  st__zero_behind(j, &r.x);
  st__zero_behind(j, &r.y);
  for (int64_t width; r.k < n; r.k += width) {
    width = st__smaller(n - r.k, BLOCK);
    r.u = st__part(j, &b->rows, 0, all ? r.k : 0, n, width);
    for (int64_t c = 0; c < width; c++) {
      if (!reduce_column(&r, c)) return false;
      if (r.k + c + 1 < n && !reduce_row(&r, c)) return false;
    }
    if (st__is_stopped(j)) return false;
    if (r.k + width < n && !update_rest(&r, width)) return false;
  }
  return true;
}
