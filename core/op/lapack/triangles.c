/* Equations with triangular matrices, and inverses by two of them. */

#include <string.h>

#include "iter/strided_copy.h"
#include "kernel/lapack/triangle.h"
#include "op/lapack/blocks.h"
#include "op/lapack/chunks.h"

bool st__is_blocked(int64_t rows, int64_t cols) {
  enum { LEAST = 64 };
  return rows > LEAST && cols > LEAST;
}

/* -- Equations ------------------------------------------------------------ */

/* Columns [from, to) by the kernel, which takes lower triangles: an upper one
 * is that in reverse. */
static void solve_columns(const st_step *s, int64_t from, int64_t to) {
  const st_triangle *t = s->ctx;
  const int64_t size = st__size(s->j), sign = t->upper ? -1 : 1;
  const int64_t first = t->upper ? t->a.m - 1 : 0;
  const st_triangle_ctx ctx = {
    t->is_unit, st__kernel(ST_K_transpose, st__bits_of(size))};
  char *data[] = {st__part_at(s->j, &t->x, first, from),
                  st__part_at(s->j, &t->a, first, first)};
  const int64_t st[] = {t->x.col * size, sign * t->a.col * size,
                        sign * t->x.row * size, sign * t->a.row * size};
  st__kernel(ST_K_triangle, s->j->dtype)(data, st, to - from, t->a.m, &ctx);
}

/* One half of the rows, which the other half of a is multiplied by. */
bool st__solve_triangle(const st_lapack_job *j, const st_triangle *t) {
  const int64_t n = t->a.m, count = t->x.n;
  st_step s = {solve_columns, j, t, 0, count};
  if (n == 0 || count == 0) return true;
  if (n <= ST_TRIANGLE) return st__share_columns(&s);
  const int64_t half = st__half(n, ST_TRIANGLE), rest = n - half;
  st_triangle one = *t, other = *t;
  one.a = st__part(j, &t->a, 0, 0, half, half);
  one.x = st__part(j, &t->x, 0, 0, half, count);
  other.a = st__part(j, &t->a, half, half, rest, rest);
  other.x = st__part(j, &t->x, half, 0, rest, count);
  const st_part a = t->upper ? st__part(j, &t->a, 0, half, half, rest)
                             : st__part(j, &t->a, half, 0, rest, half);
  const st_triangle *const first = t->upper ? &other : &one;
  const st_triangle *const last = t->upper ? &one : &other;
  return st__solve_triangle(j, first) &&
         st__part_multiply(j, &last->x, &a, &first->x, -1, true) &&
         st__solve_triangle(j, last);
}

/* -- Inverses ------------------------------------------------------------- */

/* Columns [from, to) of U^-1 L^-1. Those of L^-1 begin with zeros. */
static void invert_columns(const st_step *s, int64_t from, int64_t to) {
  const st_inversion *v = s->ctx;
  const st_lapack_job *j = s->j;
  const int64_t n = v->lower.a.m, rows = n - from;
  st_triangle l = v->lower, u = v->upper;
  const st_part x = st__part(j, &v->x, 0, from, n, to - from);
  const st_part top = st__part(j, &x, 0, 0, from, to - from);
  l.a = st__part(j, &l.a, from, from, rows, rows);
  l.x = st__part(j, &x, from, 0, rows, to - from);
  u.x = x;
  for (int64_t c = 0; c < top.n; c++) {
    memset(st__part_at(j, &top, 0, c), 0, (size_t)(from * st__size(j)));
  }
  st__part_set_identity(j, &l.x);
  if (!st__solve_triangle(j, &l)) return;
  if (v->conjugates) st__part_conjugate(j, &x);
  if (!st__solve_triangle(j, &u)) return;
  if (v->conjugates) st__part_conjugate(j, &x);
}

bool st__invert_triangles(const st_lapack_job *j, const st_inversion *v) {
  st_step s = {invert_columns, j, v, 0, v->lower.a.m};
  return st__share_columns(&s);
}
