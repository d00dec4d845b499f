/* Eigenvalues and eigenvectors of small symmetric matrices; included for each
 * type and number of lanes (small_lanes.h). Reflections make the matrix
 * tridiagonal, then the implicit QL algorithm makes it diagonal (LAPACK's
 * sytd2 and steqr). All lanes find the value at one position; one that has it
 * rotates by nothing until the others do.
 */

#include "kernel/small_matrices/small_lanes.h"
#include "kernel/small_matrices/small_rotations.h"

#define FROM(k) (LANES == 1 ? 0 : (k))

/* -- Tridiagonal ---------------------------------------------------------- */

/* The trailing rows of a, from `first` on, become H a H with H = I - tau v v'.
 */
INLINE void NAME(reflect_both)(NAME(lanes) *a, int n, NAME(lanes) *v,
                               const T *tau, int first) {
  NAME(lanes) w[ST_SMALL], dot;
  for (int j = FROM(first); j < WIDE(n); j++) EACH w[j][l] = 0;
  for (int i = first; i < n; i++) {
    for (int j = FROM(first); j < WIDE(n); j++) {
      EACH w[j][l] += v[i][l] * a[i * ST_SMALL + j][l];
    }
  }
  EACH dot[l] = 0;
  for (int i = first; i < n; i++) EACH dot[l] += v[i][l] * w[i][l];
  EACH dot[l] *= tau[l] / 2;
  for (int j = FROM(first); j < WIDE(n); j++) {
    EACH w[j][l] = tau[l] * (w[j][l] - dot[l] * v[j][l]);
  }
  for (int i = first; i < n; i++) {
    for (int j = FROM(first); j < WIDE(n); j++) {
      T *const x = a[i * ST_SMALL + j];
      EACH x[l] -= v[i][l] * w[j][l] + w[i][l] * v[j][l];
    }
  }
}

/* d is the diagonal and e what is next to it; a is overwritten. The rows of z,
 * if it is wanted, are the columns of the Q with a = Q T Q'. */
INLINE void NAME(tridiagonal)(NAME(lanes) *a, int n, NAME(lanes) *d,
                              NAME(lanes) *e, NAME(lanes) *z) {
  if (z) NAME(identity)(z, n);
  for (int k = 0; k < n - 2; k++) {
    NAME(lanes) v[ST_SMALL], tau;
    for (int j = 0; j < WIDE(n); j++) {
      EACH v[j][l] = j > k ? a[k * ST_SMALL + j][l] : 0;
    }
    NAME(reflection)(v, k + 1, n, tau, e[k]);
    NAME(reflect_both)(a, n, v, tau, k + 1);
    if (z) NAME(reflect_rows)(z, n, v, tau, k + 1, n);
  }
  for (int k = 0; k < n; k++) EACH d[k][l] = a[k * (ST_SMALL + 1)][l];
  if (n < 2) return;
  EACH e[n - 2][l] = a[(n - 2) * ST_SMALL + n - 1][l];
}

/* -- QL ------------------------------------------------------------------- */

#if LANES == 1

#define QL_LANES ST_SMALL
#include "kernel/spectra/ql_template.h"
#undef QL_LANES

/* d becomes the eigenvalues; defect NaN where the iteration does not converge.
 */
INLINE void NAME(ql)(NAME(lanes) *d, NAME(lanes) *e, NAME(lanes) *z, int n,
                     T *defect) {
  const NAME(ql_matrix) q = {*d, *e, z ? *z : NULL, n, ST_SMALL, ST_SMALL};
  if (NAME(ql_values)(&q) != 0) *defect = (T)NAN;
}

#else

/* The same by the same operations: a lane with a matrix has its bits. */

/* Zeros what is negligible of e from k on. last is where the rows end that
 * belong to row k, d_last their last element of d. Returns the largest. */
INLINE int NAME(find_last)(NAME(lanes) *d, NAME(lanes) *e, int k, int n,
                           I *last, T *d_last) {
  int most = 0;
  EACH {
    last[l] = n - 1;
    d_last[l] = d[n - 1][l];
  }
  for (int i = n - 2; i >= k; i--) {
    EACH {
      const T square = e[i][l] * e[i][l];
      const T size = FABS(d[i][l]) * FABS(d[i + 1][l]) + EPS;
      const bool none = square <= EPS * EPS * size;
      e[i][l] = none ? 0 : e[i][l];
      last[l] = none ? i : last[l];
      d_last[l] = none ? d[i][l] : d_last[l];
    }
  }
  for (int l = 0; l < LANES; l++) most = last[l] > most ? (int)last[l] : most;
  return most;
}

/* Rows k to last, with a shift by Wilkinson. */
INLINE void NAME(ql_step)(NAME(lanes) *d, NAME(lanes) *e, NAME(lanes) *z,
                          int n, int k, int most, const I *last, T *g) {
  NAME(lanes) c, s, p;
  EACH {
    const T off = last[l] > k ? e[k][l] : 1;
    const T half = (d[k + 1][l] - d[k][l]) / 2;
    const T size = FABS(half) + SQRT(half * half + off * off);
    g[l] += (half >= 0 ? off : -off) * (off / size) - d[k][l];
    c[l] = 1;
    s[l] = 1;
    p[l] = 0;
  }
  for (int i = most - 1; i >= k; i--) {
    NAME(lanes) cos, sin;
    EACH {
      const bool on = i < last[l], below = i + 1 < last[l];
      const T f = s[l] * e[i][l], b = c[l] * e[i][l];
      const T square = f * f + g[l] * g[l];
      const bool some = square >= LEAST;
      const T size = some ? square : 1, root = SQRT(size);
      const T inverse = root * (1 / size); /* sooner than 1 / root */
      const T c1 = some ? g[l] * inverse : 1, s1 = some ? f * inverse : 0;
      const T next = d[i + 1][l] - p[l];
      const T t = (d[i][l] - next) * s1 + 2 * c1 * b;
      e[i + 1][l] = below ? (some ? root : g[l]) : e[i + 1][l];
      d[i + 1][l] = on ? next + s1 * t : d[i + 1][l];
      g[l] = on ? c1 * t - b : g[l];
      p[l] = on ? s1 * t : p[l];
      c[l] = on ? c1 : c[l];
      s[l] = on ? s1 : s[l];
      cos[l] = on ? c1 : 1;
      sin[l] = on ? -s1 : 0;
    }
    if (!z) continue;
    NAME(rotate)(z + i * ST_SMALL, z + (i + 1) * ST_SMALL, cos, sin, n);
  }
  EACH {
    d[k][l] = last[l] > k ? d[k][l] - p[l] : d[k][l];
    e[k][l] = last[l] > k ? g[l] : e[k][l];
  }
}

/* d becomes the eigenvalues; defect NaN where the iteration does not converge.
 */
INLINE void NAME(ql)(NAME(lanes) *d, NAME(lanes) *e, NAME(lanes) *z, int n,
                     T *defect) {
  enum { STEPS = 30 };
  for (int k = 0; k < n - 1; k++) {
    NAME(ints) last;
    NAME(lanes) d_last;
    int most = NAME(find_last)(d, e, k, n, last, d_last);
    for (int step = 0; most > k && step < STEPS; step++) {
      NAME(ql_step)(d, e, z, n, k, most, last, d_last);
      most = NAME(find_last)(d, e, k, n, last, d_last);
    }
    EACH defect[l] = last[l] > k ? (T)NAN : defect[l];
  }
}

#endif

/* -- All ------------------------------------------------------------------ */

static void NAME(eigh)(char **data, const int64_t *next, int count,
                       const st_small *s) {
  NAME(lanes) a[ST_SMALL * ST_SMALL], z[ST_SMALL * ST_SMALL];
  NAME(lanes) d[ST_SMALL], e[ST_SMALL], scale, defect, sign;
  NAME(ints) rank[ST_SMALL];
  char *to[LANES];
  const int n = s->n;
  NAME(load)(a, data[2], next[2], s->row[2], s->col[2], n, n, count);
  NAME(spread)(a, n, n);
  for (int i = 0; i < n; i++) {
    for (int j = i + 1; j < n; j++) {
      EACH a[i * ST_SMALL + j][l] = a[j * ST_SMALL + i][l];
    }
  }
  NAME(scale)(a, n, n, scale, defect);
  if (data[1]) {
    NAME(tridiagonal)(a, n, d, e, z);
    NAME(ql)(d, e, z, n, defect);
  } else {
    NAME(tridiagonal)(a, n, d, e, NULL);
    NAME(ql)(d, e, NULL, n, defect);
  }
  NAME(order)(d, n, false, rank);
  for (int i = 0; i < n; i++) {
    EACH d[i][l] = d[i][l] / scale[l] + defect[l];
    for (int l = 0; l < count; l++) {
      to[l] = data[0] + l * next[0] + rank[i][l] * (int64_t)sizeof(T);
    }
    NAME(store_vector)(d + i, 1, to, 0, count);
    for (int l = 0; data[1] && l < count; l++) {
      to[l] = data[1] + l * next[1] + rank[i][l] * s->col[1];
    }
    if (!data[1]) continue;
    NAME(find_sign)(z + i * ST_SMALL, n, sign);
    NAME(multiply_row)(z + i * ST_SMALL, n, sign);
    NAME(store_vector)(z + i * ST_SMALL, n, to, s->row[1], count);
  }
}

#undef FROM
#include "kernel/small_matrices/small_rotations_end.h"
#include "kernel/small_matrices/small_lanes_end.h"
