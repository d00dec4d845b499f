/* Panels of factors, which kernels factor in scratch memory:
 * columns there are as far apart as caches and vectors want them. */

#include "op/lapack/panels.h"

#include "kernel/lapack/panel.h"
#include "op/lapack/chunks.h"

/* Bytes from column to column: an odd number of lines, so that the columns do
 * not share the sets of a cache. */
int64_t st__panel_pitch(int64_t size, int64_t m) {
  return st__whole_lines(m * size + ST_PANEL_SPARE) | 64;
}

int64_t st__panel_bytes(st_dtype dtype, int64_t m, int64_t n) {
  const int64_t k = st__smaller(st__smaller(m, n), ST_PANEL);
  return k * st__panel_pitch((int64_t)st__itemsize(dtype), m);
}

blasint st__factor_panel(const st_lapack_job *j, st_kernel_id kernel,
                         const st_part *a, void *other, char *scratch) {
  const int64_t size = st__size(j), pitch = st__panel_pitch(size, a->m);
  const st_part panel = {scratch, a->m, a->n, 1, pitch / size};
  const int64_t st[] = {size, 0, 0, pitch, 0, 0};
  int32_t info = 0;
  char *data[] = {scratch, (char *)&info, other};
  st__part_copy(j, &panel, a, false);
  st__kernel(kernel, j->dtype)(data, st, a->m, a->n, NULL);
  st__part_copy(j, a, &panel, false);
  return info;
}
