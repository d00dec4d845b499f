/* QR factors of small matrices; included for each type and number of lanes
 * (small_lanes.h). The norm of a column is that of Blue's algorithm: large and
 * small elements are scaled by powers of two before they are squared (J. L.
 * Blue, A Portable Fortran Program to Find the Euclidean Norm of a Vector,
 * 1978). float32 is squared in float64, which needs no scale.
 */

#include "kernel/small_matrices/small_lanes.h"

/* The norm of column k below the diagonal of a, which has n columns; of all
 * elements from the diagonal on in full. */
INLINE void NAME(norms)(NAME(lanes) *a, int k, int m, int n, T *below,
                        T *full) {
  double most[LANES], scale[LANES], sum[LANES];
  EACH most[l] = 0;
  for (int i = k; i < m; i++) {
    EACH {
      const double x = fabs((double)a[i * n + k][l]);
      most[l] = x > most[l] ? x : most[l];
    }
  }
  EACH scale[l] = most[l] > LARGE ? 1 / SCALE : most[l] < TINY ? SCALE : 1;
  EACH sum[l] = 0;
  for (int i = k + 1; i < m; i++) {
    EACH {
      const double x = (double)a[i * n + k][l] * scale[l];
      sum[l] += x * x;
    }
  }
  EACH {
    const double x = (double)a[k * n + k][l] * scale[l];
    below[l] = sum[l] != 0; /* also for NaN */
    full[l] = (T)(sqrt(sum[l] + x * x) / scale[l]);
  }
}

/* The reflection I - tau v v' that zeros column k below the diagonal; v, whose
 * first element is 1, replaces it there. */
INLINE void NAME(reflect_column)(NAME(lanes) *a, int k, int m, int n,
                                 T *tau) {
  NAME(lanes) below, norm, divisor;
  T *const alpha = a[k * n + k];
  NAME(norms)(a, k, m, n, below, norm);
  EACH {
    const T beta = alpha[l] >= 0 ? -norm[l] : norm[l];
    const bool is_zero = below[l] == 0;
    const T whole = is_zero ? 1 : beta;
    tau[l] = is_zero ? 0 : (beta - alpha[l]) / whole;
    divisor[l] = is_zero ? 1 : alpha[l] - beta;
    alpha[l] = is_zero ? alpha[l] : beta;
  }
  for (int i = k + 1; i < m; i++) EACH a[i * n + k][l] /= divisor[l];
}

/* Column j of b, which has columns columns, is reflected by column k of a. */
INLINE void NAME(reflect)(NAME(lanes) *a, int k, int m, int n, const T *tau,
                          NAME(lanes) *b, int columns, int j) {
  NAME(lanes) dot;
  EACH dot[l] = b[k * columns + j][l];
  for (int i = k + 1; i < m; i++) {
    EACH dot[l] += a[i * n + k][l] * b[i * columns + j][l];
  }
  EACH dot[l] *= tau[l];
  EACH b[k * columns + j][l] -= dot[l];
  for (int i = k + 1; i < m; i++) {
    EACH b[i * columns + j][l] -= dot[l] * a[i * n + k][l];
  }
}

/* q, m x columns, becomes the product of the reflections in a. */
INLINE void NAME(multiply)(NAME(lanes) *a, int m, int n, NAME(lanes) *tau,
                           NAME(lanes) *q, int columns) {
  const int steps = m < n ? m : n;
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < columns; j++) EACH q[i * columns + j][l] = i == j;
  }
  for (int k = steps - 1; k >= 0; k--) {
    for (int j = k; j < columns; j++) {
      NAME(reflect)(a, k, m, n, tau[k], q, columns, j);
    }
  }
}

/* a becomes R and, below the diagonal, the reflections. */
INLINE void NAME(triangle)(NAME(lanes) *a, int m, int n, NAME(lanes) *tau) {
  for (int k = 0; k < m && k < n; k++) {
    NAME(reflect_column)(a, k, m, n, tau[k]);
    for (int j = k + 1; j < n; j++) {
      NAME(reflect)(a, k, m, n, tau[k], a, n, j);
    }
  }
}

static void NAME(qr)(char **data, const int64_t *next, int count,
                     const st_small *s) {
  NAME(lanes) a[ST_SMALL * ST_SMALL], q[ST_SMALL * ST_SMALL], tau[ST_SMALL];
  NAME(load)(a, data[2], next[2], s->row[2], s->col[2], s->m, s->n, count);
  NAME(triangle)(a, s->m, s->n, tau);
  if (data[0]) {
    NAME(multiply)(a, s->m, s->n, tau, q, s->k);
    NAME(store)(q, data[0], next[0], s->row[0], s->col[0], s->m, s->k, count);
  }
  for (int i = 1; i < s->k; i++) {
    for (int j = 0; j < i && j < s->n; j++) EACH a[i * s->n + j][l] = 0;
  }
  NAME(store)(a, data[1], next[1], s->row[1], s->col[1], s->k, s->n, count);
}

#include "kernel/small_matrices/small_lanes_end.h"
