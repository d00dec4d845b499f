/* Eigenvalues of symmetric tridiagonal matrices by the QL iteration with
 * implicit shifts: A. Dubrulle, R. S. Martin, J. H. Wilkinson, "The implicit QL
 * algorithm", Numer. Math. 12, 1968. In double precision for float32, too.
 */

#include <math.h>
#include <stdlib.h>

#include "base/threads.h"
#include "kernel/numbers.h"
#include "op/lapack/chunks.h"
#include "op/spectra/tridiagonal.h"

int64_t st__sterf_bytes(int64_t n) {
  return st__whole_lines(2 * n * (int64_t)sizeof(double));
}

/* The end of the block that begins at `first`. */
static int64_t end_of(const double *d, const double *e, int64_t first,
                      int64_t n) {
  int64_t i = first;
  while (i + 1 < n && fabs(e[i]) > 0x1p-53 * (fabs(d[i]) + fabs(d[i + 1]))) {
    i++;
  }
  return i;
}

/* As hypot, which takes longer. */
static double length(double x, double y) {
  const double sum = x * x + y * y;
  return sum > 0x1p-900 && sum < 0x1p900 ? sqrt(sum)
         : st__map_two(ST_K_hypot, x, y);
}

/* One step on rows [first, last]. */
static void iterate(double *d, double *e, int64_t first, int64_t last) {
  const double half = (d[first + 1] - d[first]) / (2 * e[first]);
  double g = d[last] - d[first] +
             e[first] / (half + copysign(length(half, 1), half));
  double s = 1, c = 1, p = 0;
  int64_t i = last - 1;
  for (; i >= first; i--) {
    const double f = s * e[i], b = c * e[i], norm = length(f, g);
    e[i + 1] = norm;
    if (norm == 0) break;
    s = f / norm;
    c = g / norm;
    g = d[i + 1] - p;
    const double r = (d[i] - g) * s + 2 * c * b;
    p = s * r;
    d[i + 1] = g + p;
    g = c * r - b;
  }
  if (i >= first) {
    d[i + 1] -= p;
  } else {
    d[first] -= p;
    e[first] = g;
  }
  e[last] = 0;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

blasint st__sterf(const st_lapack_job *j, int64_t n, char *d, const char *e,
                  char *scratch) {
  enum { STEPS = 30 }; /* for a value, on average */
  double *const x = (double *)(void *)scratch, *const y = x + n;
  for (int64_t i = 0; i < n; i++) {
    x[i] = st__value(j, d, i);
    y[i] = i + 1 < n ? st__value(j, e, i) : 0;
  }
  int64_t left = STEPS * n;
  for (int64_t first = 0; first < n; first++) {
    for (int64_t last; (last = end_of(x, y, first, n)) > first;) {
      if (left-- == 0) return (blasint)first + 1;
      iterate(x, y, first, last);
    }
    if (st__stops()) return 0;
  }
  qsort(x, (size_t)n, sizeof *x, compare);
  for (int64_t i = 0; i < n; i++) st__set_value(j, d, i, x[i]);
  return 0;
}
