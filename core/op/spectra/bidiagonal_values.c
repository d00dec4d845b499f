/* Singular values of bidiagonal matrices, without vectors. In double precision
 * for float32, too. QR steps find what quotients and differences do not.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/spectra/bdsqr.h"
#include "op/lapack/chunks.h"
#include "op/spectra/bidiagonal.h"
#include "op/spectra/qd.h"

int64_t st__bdsqr_bytes(int64_t n) {
  return st__whole_lines((3 * n + st__qd_room(n)) * (int64_t)sizeof(double));
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The kernel, in calls that take some milliseconds. */
static bool find_values(const st_lapack_job *j, int64_t n, double *d,
                        double *e, blasint *info) {
  enum { STEPS = 12, PERIOD = 1 << 18 };
  int64_t left = STEPS * n * n;
  const st_bdsqr c = {false, &left, PERIOD};
  const st_loop kernel = st__kernel(ST_K_bdsqr, ST_FLOAT64);
  char *data[] = {(char *)d, (char *)e, NULL, NULL, (char *)info, NULL};
  const int64_t st[12] = {0};
  do {
    kernel(data, st, n, 0, &c);
    if (st__is_stopped(j)) return false;
  } while (*info < 0);
  return true;
}

/* The greatest element becomes one near 1. */
bool st__bdsqr(const st_lapack_job *j, int64_t n, char *d, const char *e,
               blasint *info, char *scratch) {
  double *const x = (double *)(void *)scratch, *const y = x + n;
  double *const found = y + n;
  double most = 0;
  int exponent;
  for (int64_t i = 0; i < n; i++) {
    x[i] = st__value(j, d, i);
    y[i] = i + 1 < n ? st__value(j, e, i) : 0;
    most = fmax(most, fmax(fabs(x[i]), fabs(y[i])));
  }
  frexp(most, &exponent);
  exponent = exponent < -1000 ? -1000 : exponent;
  for (int64_t i = 0; i < n; i++) {
    x[i] = ldexp(x[i], -exponent);
    y[i] = ldexp(y[i], -exponent);
  }
  memcpy(found, x, (size_t)n * sizeof *x);
  *info = 0;
  if (st__qd_values(j, n, found, y, found + n)) {
    memcpy(x, found, (size_t)n * sizeof *x);
  } else if (st__is_stopped(j) || !find_values(j, n, x, y, info)) {
    return false;
  }
  for (int64_t i = 0; i < n; i++) x[i] = fabs(x[i]);
  qsort(x, (size_t)n, sizeof *x, compare);
  for (int64_t i = 0; i < n; i++) {
    st__set_value(j, d, i, ldexp(x[i], exponent));
  }
  return true;
}
