/* LU factors, and equations and inverses by them: Note [Decompositions in
 * blocks]. */

#include <string.h>

#include "op/lapack/blocks.h"
#include "op/lapack/chunks.h"
#include "op/lapack/panels.h"

int64_t st__getrf_bytes(st_dtype dtype, int64_t m, int64_t n) {
  return st__panel_bytes(dtype, m, n);
}

/* -- Exchanges ------------------------------------------------------------ */

#define DEFINE_EXCHANGE(name, T)                                             \
  static void name(T *x, int64_t columns, const st_row_exchange *e) {        \
    for (int64_t i = 0; i < e->n; i++) {                                     \
      const int64_t k = e->k + (e->back ? e->n - 1 - i : i);                 \
      T *one = x + k * e->a.row;                                             \
      T *other = x + ((int64_t)e->pivots[k] - 1) * e->a.row;                 \
      for (int64_t c = 0; c < columns && one != other; c++) {                \
        const T y = one[c * e->a.col];                                       \
        one[c * e->a.col] = other[c * e->a.col];                             \
        other[c * e->a.col] = y;                                             \
      }                                                                      \
    }                                                                        \
  }
DEFINE_EXCHANGE(exchange_4, uint32_t)
DEFINE_EXCHANGE(exchange_8, uint64_t)
typedef struct bits_16 { uint64_t x[2]; } bits_16;
DEFINE_EXCHANGE(exchange_16, bits_16)

/* Some at a time, whose parts stay in the cache. */
void st__exchange_in(const st_lapack_job *j, const st_row_exchange *e,
                     int64_t from, int64_t to) {
  enum { COLUMNS = 8 };
  for (int64_t c = from; c < to; c += COLUMNS) {
    const int64_t n = st__smaller(to - c, COLUMNS);
    void *const x = st__part_at(j, &e->a, 0, c);
    switch (st__size(j)) {
      case 4: exchange_4(x, n, e); break;
      case 8: exchange_8(x, n, e); break;
      default: exchange_16(x, n, e);
    }
  }
}

static void exchange_columns(const st_step *s, int64_t from, int64_t to) {
  st__exchange_in(s->j, s->ctx, from, to);
}

bool st__exchange_rows(const st_lapack_job *j, const st_row_exchange *e) {
  st_step s = {exchange_columns, j, e, 0, e->a.n};
  return st__share_columns(&s);
}

/* -- Factors -------------------------------------------------------------- */

typedef struct factors {
  const st_lapack_job *j;
  st_part a;
  blasint *pivots, *info;
  char *scratch;
} factors;

static bool factor_panel(const factors *f, int64_t k, int64_t n) {
  const st_part a = st__part(f->j, &f->a, k, k, f->a.m - k, n);
  const blasint info = st__factor_panel(f->j, ST_K_lu_panel, &a, f->pivots + k,
                                        f->scratch);
  for (int64_t i = k; i < k + n; i++) f->pivots[i] += (blasint)k;
  if (info > 0 && *f->info == 0) *f->info = info + (blasint)k;
  return !st__is_stopped(f->j);
}

/* What columns [k, k + n) say of `count` columns from `at` on: exchanges, then
 * a triangle and a product. */
static bool update(const factors *f, int64_t k, int64_t n, int64_t at,
                   int64_t count) {
  const st_lapack_job *j = f->j;
  const st_part *a = &f->a;
  const int64_t rest = a->m - k - n;
  const st_row_exchange e = {st__part(j, a, 0, at, a->m, count), f->pivots, k,
                             n, false};
  const st_triangle t = {.a = st__part(j, a, k, k, n, n),
                         .x = st__part(j, a, k, at, n, count),
                         .is_unit = true};
  const st_part below = st__part(j, a, k + n, k, rest, n);
  const st_part c = st__part(j, a, k + n, at, rest, count);
  return st__exchange_rows(j, &e) && st__solve_triangle(j, &t) &&
         st__part_multiply(j, &c, &below, &t.x, -1, true);
}

/* Columns [k, k + n), with the exchanges in these columns only. */
static bool factor_columns(const factors *f, int64_t k, int64_t n) {
  if (n <= ST_PANEL) return factor_panel(f, k, n);
  const int64_t half = st__half(n, ST_PANEL), at = k + half;
  const st_row_exchange e = {st__part(f->j, &f->a, 0, k, f->a.m, half),
                             f->pivots, at, n - half, false};
  return factor_columns(f, k, half) && update(f, k, half, at, n - half) &&
         factor_columns(f, at, n - half) && st__exchange_rows(f->j, &e);
}

bool st__getrf(const st_lapack_job *j, const st_part *a, blasint *pivots,
               blasint *info, char *scratch) {
  const int64_t k = st__smaller(a->m, a->n);
  const factors f = {j, *a, pivots, info, scratch};
  *info = 0;
  return k == 0 || (factor_columns(&f, 0, k) &&
                    (k == a->n || update(&f, 0, k, k, a->n - k)));
}

/* -- Equations ------------------------------------------------------------ */

bool st__getrs(const st_lapack_job *j, const st_part *lu,
               const blasint *pivots, char trans, const st_part *x) {
  const bool forward = trans == 'N', conjugates = trans == 'C' &&
                                                  st__is_complex(j->dtype);
  const st_part a = forward ? *lu : st__turned(*lu);
  const st_triangle l = {.a = a, .x = *x, .upper = !forward, .is_unit = true};
  const st_triangle u = {.a = a, .x = *x, .upper = forward};
  const st_row_exchange e = {*x, pivots, 0, x->m, !forward};
  if (forward) {
    return st__exchange_rows(j, &e) && st__solve_triangle(j, &l) &&
           st__solve_triangle(j, &u);
  }
  if (conjugates) st__part_conjugate(j, x);
  if (!st__solve_triangle(j, &u) || !st__solve_triangle(j, &l)) return false;
  if (conjugates) st__part_conjugate(j, x);
  return st__exchange_rows(j, &e);
}

/* -- Inverses ------------------------------------------------------------- */

int64_t st__getri_bytes(st_dtype dtype, int64_t n) {
  return st__whole_lines(n * n * (int64_t)st__itemsize(dtype)) +
         st__whole_lines(n * (int64_t)sizeof(blasint));
}

/* The columns of U^-1 L^-1 are those of the inverse in another order. */
typedef struct order {
  st_part to, from;
  blasint *at;
} order;

static void order_columns(const st_step *s, int64_t from, int64_t to) {
  const order *o = s->ctx;
  for (int64_t i = from; i < to; i++) {
    const st_part x = st__part(s->j, &o->from, 0, i, o->from.m, 1);
    const st_part y = st__part(s->j, &o->to, 0, o->at[i], o->to.m, 1);
    st__part_copy(s->j, &y, &x, false);
  }
}

bool st__getri(const st_lapack_job *j, const st_part *a,
               const blasint *pivots, char *scratch) {
  const int64_t n = a->m;
  const st_part x = st__columns_at(scratch, n, n, n);
  const st_inversion v = {{.a = *a, .is_unit = true},
                          {.a = *a, .upper = true}, x, false};
  const order o = {*a, x, (blasint *)(void *)(
    scratch + st__whole_lines(n * n * st__size(j)))};
  st_step s = {order_columns, j, &o, 0, n};
  for (int64_t i = 0; i < n; i++) o.at[i] = (blasint)i;
  for (int64_t i = 0; i < n; i++) {
    const blasint k = o.at[i];
    o.at[i] = o.at[pivots[i] - 1];
    o.at[pivots[i] - 1] = k;
  }
  return st__invert_triangles(j, &v) && st__share_columns(&s);
}
