/* Columns that a reduction works on: see columns.h. */

#include "op/spectra/columns.h"

#include <string.h>

#include "kernel/lapack/panel.h"
#include "op/lapack/chunks.h"

int64_t st__line_bytes(st_dtype dtype, int64_t n) {
  return st__whole_lines(n * (int64_t)st__itemsize(dtype));
}

/* An odd number of lines, so that columns do not share the sets of a cache. */
int64_t st__column_pitch(st_dtype dtype, int64_t m) {
  return (st__line_bytes(dtype, m) + ST_PANEL_SPARE) | 64;
}

st_part st__take_columns(const st_lapack_job *j, char **scratch, int64_t m,
                         int64_t n) {
  const st_part a = st__columns_at(*scratch, m, n,
                                   st__column_step(j->dtype, m));
  *scratch += n * st__column_pitch(j->dtype, m);
  return a;
}

st_part st__take_matrix(const st_lapack_job *j, char **scratch, int64_t m,
                        int64_t n) {
  const st_part a = st__columns_at(*scratch, m, n, m);
  *scratch += st__line_bytes(j->dtype, m * n);
  return a;
}

void st__zero_behind(const st_lapack_job *j, const st_part *a) {
  for (int64_t c = 0; c < a->n; c++) {
    memset(st__part_at(j, a, a->m, c), 0, ST_PANEL_SPARE);
  }
}

void st__subtract_columns(const st_lapack_job *j, const st_part *y,
                          const st_part *a, const st_part *w,
                          bool conjugates) {
  const int64_t size = st__size(j);
  const int64_t step = (w->n == 1 ? w->row : w->col) * size;
  char *data[] = {y->p, a->p, w->p};
  const int64_t st[] = {0, 0, 0, 0, a->col * size, step};
  st__kernel(ST_K_subtract_columns, j->dtype)(data, st, a->m, a->n,
                                              &conjugates);
}

void st__column_dots(const st_lapack_job *j, const st_part *to,
                     const st_part *a, const st_part *x) {
  char *data[] = {to->p, a->p, x->p};
  const int64_t st[] = {0, 0, 0, 0, a->col * st__size(j), 0};
  st__kernel(ST_K_column_dots, j->dtype)(data, st, a->m, a->n, NULL);
}

void st__subtract_product(const st_lapack_job *j, const st_part *y,
                          const st_part *left, const st_part *right,
                          const st_part *x, const st_part *small) {
  const st_part s = st__part(j, small, 0, 0, right->n, 1);
  if (right->n == 0) return;
  st__column_dots(j, &s, right, x);
  st__subtract_columns(j, y, left, &s, false);
}

void st__store_real(const st_lapack_job *j, const char *p, char *out,
                    int64_t at) {
  const st_dtype real = st__real_dtype(j->dtype);
  double x[2];
  st__scalar_to_complex(st__scalar_load(j->dtype, p), x);
  st__scalar_store(st__scalar_float(x[0]), real,
                   out + at * (int64_t)st__itemsize(real));
}
