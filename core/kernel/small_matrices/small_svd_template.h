/* Singular values and vectors of small matrices; included for each type and
 * number of lanes (small_lanes.h). Reflections from both sides make the matrix
 * bidiagonal, then the implicit QR algorithm makes it diagonal (LAPACK's gebd2
 * and bdsqr). All lanes find the value at one position; one that has it rotates
 * by nothing until the others do.
 */

#include "kernel/small_matrices/small_lanes.h"
#include "kernel/small_matrices/small_rotations.h"

/* -- Bidiagonal ----------------------------------------------------------- */

/* Rows first to m - 1 of a become a H with H = I - tau v v'. */
INLINE void NAME(reflect_columns)(NAME(lanes) *a, int first, int m, int n,
                                  NAME(lanes) *v, const T *tau) {
  for (int i = first; i < m; i++) {
    NAME(lanes) dot;
    EACH dot[l] = 0;
    for (int j = 0; j < n; j++) EACH dot[l] += a[i * ST_SMALL + j][l] * v[j][l];
    EACH dot[l] *= tau[l];
    for (int j = 0; j < WIDE(n); j++) {
      EACH a[i * ST_SMALL + j][l] -= dot[l] * v[j][l];
    }
  }
}

/* d is the diagonal and e what is right of it. The rows of u, if it is wanted,
 * are the columns of the U with a = U B V'; a becomes the reflections of V, in
 * the rows, with their factors tau. */
INLINE void NAME(bidiagonal)(NAME(lanes) *a, int m, int n, NAME(lanes) *d,
                             NAME(lanes) *e, NAME(lanes) *u,
                             NAME(lanes) *tau) {
  if (u) NAME(identity)(u, m);
  EACH e[n - 1][l] = 0;
  for (int k = 0; k < n; k++) {
    NAME(lanes) v[ST_SMALL], factor;
    for (int i = 0; i < m; i++) {
      EACH v[i][l] = i >= k ? a[i * ST_SMALL + k][l] : 0;
    }
    NAME(reflection)(v, k, m, factor, d[k]);
    NAME(reflect_rows)(a, n, v, factor, k, m);
    if (u) NAME(reflect_rows)(u, m, v, factor, k, m);
    if (k == n - 1) return;
    for (int j = 0; j < WIDE(n); j++) {
      EACH v[j][l] = j > k ? a[k * ST_SMALL + j][l] : 0;
    }
    NAME(reflection)(v, k + 1, n, tau[k], e[k]);
    NAME(reflect_columns)(a, k + 1, m, n, v, tau[k]);
    for (int j = 0; j < WIDE(n); j++) EACH a[k * ST_SMALL + j][l] = v[j][l];
  }
}

/* a, which has the reflections of V in its rows, becomes V'. */
INLINE void NAME(right_vectors)(NAME(lanes) *a, int n, NAME(lanes) *tau) {
  NAME(lanes) v[ST_SMALL];
  for (int k = n - 1; k >= 0; k--) {
    for (int j = 0; j < WIDE(n); j++) {
      EACH v[j][l] = a[k * ST_SMALL + j][l];
    }
    for (int j = 0; j < WIDE(n); j++) {
      EACH a[k * ST_SMALL + j][l] = j == k;
    }
    if (k == n - 1) continue;
    for (int i = k + 1; i < n; i++) EACH a[i * ST_SMALL + k][l] = 0;
    NAME(reflect_columns)(a, k + 1, n, n, v, tau[k]);
  }
}

/* -- QR ------------------------------------------------------------------- */

/* Where the block of rows that ends with row k begins, for each lane, and what
 * a step starts with: the first rotation is that of f and g. */
typedef struct NAME(block) {
  NAME(ints) first;
  NAME(lanes) f, g;
} NAME(block);

/* Zeros what is negligible of e up to k. Returns the least first row. */
INLINE int NAME(find_block)(NAME(lanes) *d, NAME(lanes) *e, int k,
                            NAME(block) *b) {
  NAME(lanes) least, most, none_above;
  int begin = k;
  EACH {
    b->first[l] = 0;
    b->f[l] = d[0][l];
    b->g[l] = e[0][l];
    least[l] = most[l] = FABS(d[0][l]);
    none_above[l] = 0;
  }
  for (int i = 0; i < k; i++) {
    EACH {
      const T size = FABS(d[i][l]) + FABS(d[i + 1][l]) + ROOT_EPS;
      const T off = FABS(e[i][l]), diagonal = FABS(d[i + 1][l]);
      const bool none = off <= 4 * EPS * size;
      const T low = diagonal < least[l] ? diagonal : least[l];
      const T larger = off > diagonal ? off : diagonal;
      const T high = larger > most[l] ? larger : most[l];
      e[i][l] = none ? 0 : e[i][l];
      least[l] = none ? diagonal : low;
      most[l] = none ? diagonal : high;
      b->first[l] = none ? i + 1 : b->first[l];
      b->f[l] = none ? d[i + 1][l] : b->f[l];
      b->g[l] = none ? e[i + 1][l] : b->g[l];
    }
  }
  const T *const above = k > 1 ? e[k - 2] : none_above;
  EACH { /* the singular value of the last two rows that is next to the last */
    const T p = FABS(d[k - 1][l]), q = FABS(d[k][l]), r = e[k - 1][l];
    const T sum = SQRT((p + q) * (p + q) + r * r) +
                  SQRT((p - q) * (p - q) + r * r);
    const bool larger = q * q + r * r > p * p + above[l] * above[l];
    const T value = larger ? sum / 2 : 2 * p * q / (sum > 0 ? sum : 1);
    const T size = FABS(b->f[l]);
    const T high = most[l] > EPS ? most[l] : EPS;
    const bool none = least[l] <= EPS * high ||
                      value * value <= EPS * size * size;
    const T shift = none ? 0 : value;
    const T f = (size - shift) * (1 + shift / (none ? 1 : size));
    b->f[l] = b->f[l] >= 0 ? f : -f;
  }
  for (int l = 0; l < LANES; l++) {
    begin = b->first[l] < begin ? (int)b->first[l] : begin;
  }
  return begin;
}

/* The rotation that makes (root, 0) of (f, g); none unless `on`. */
INLINE void NAME(rotation)(const T *f, const T *g, const I *on, T *c, T *s,
                           T *root) {
  EACH {
    const T square = f[l] * f[l] + g[l] * g[l];
    const bool some = on[l] && square >= LEAST;
    const T size = some ? square : 1, length = SQRT(size);
    const T inverse = length * (1 / size); /* sooner than 1 / length */
    c[l] = some ? f[l] * inverse : 1;
    s[l] = some ? g[l] * inverse : 0;
    root[l] = some ? length : f[l];
  }
}

/* Rows `begin` to k; u and v are NULL if they are not wanted. */
INLINE void NAME(qr_step)(NAME(lanes) *d, NAME(lanes) *e, int begin, int k,
                          NAME(block) *b, NAME(lanes) *u, int m,
                          NAME(lanes) *v, int n) {
  NAME(lanes) f, g, c, s, root, none;
  NAME(ints) on;
  EACH {
    f[l] = b->f[l];
    g[l] = b->g[l];
    none[l] = 0;
  }
  for (int i = begin; i < k; i++) {
    T *const before = i > begin ? e[i - 1] : none;
    T *const after = i + 1 < k ? e[i + 1] : none;
    EACH on[l] = i >= b->first[l];
    NAME(rotation)(f, g, on, c, s, root);
    EACH {
      before[l] = i > b->first[l] ? root[l] : before[l];
      const T x = d[i][l], y = e[i][l], z = d[i + 1][l];
      f[l] = on[l] ? c[l] * x + s[l] * y : f[l];
      e[i][l] = c[l] * y - s[l] * x;
      g[l] = on[l] ? s[l] * z : g[l];
      d[i + 1][l] = c[l] * z;
    }
    if (v) NAME(rotate)(v + i * ST_SMALL, v + (i + 1) * ST_SMALL, c, s, n);
    NAME(rotation)(f, g, on, c, s, root);
    EACH {
      const T y = e[i][l], z = d[i + 1][l], w = after[l];
      d[i][l] = on[l] ? root[l] : d[i][l];
      f[l] = on[l] ? c[l] * y + s[l] * z : f[l];
      d[i + 1][l] = c[l] * z - s[l] * y;
      g[l] = on[l] ? s[l] * w : g[l];
      after[l] = c[l] * w;
    }
    if (u) NAME(rotate)(u + i * ST_SMALL, u + (i + 1) * ST_SMALL, c, s, m);
  }
  EACH e[k - 1][l] = b->first[l] < k ? f[l] : e[k - 1][l];
}

/* d becomes the singular values; defect NaN where the iteration does not
 * converge. */
INLINE void NAME(qr)(NAME(lanes) *d, NAME(lanes) *e, NAME(lanes) *u, int m,
                     NAME(lanes) *v, int n, T *defect) {
  enum { STEPS = 30 };
  NAME(block) b;
  for (int k = n - 1; k > 0; k--) {
    int begin = NAME(find_block)(d, e, k, &b);
    for (int step = 0; begin < k && step < STEPS; step++) {
      NAME(qr_step)(d, e, begin, k, &b, u, m, v, n);
      begin = NAME(find_block)(d, e, k, &b);
    }
    EACH defect[l] = b.first[l] < k ? (T)NAN : defect[l];
  }
  for (int k = 0; k < n; k++) {
    NAME(lanes) sign;
    if (v) {
      NAME(find_sign)(u + k * ST_SMALL, m, sign);
      NAME(multiply_row)(u + k * ST_SMALL, m, sign);
      EACH sign[l] = d[k][l] < 0 ? -sign[l] : sign[l];
      NAME(multiply_row)(v + k * ST_SMALL, n, sign);
    }
    EACH d[k][l] = FABS(d[k][l]);
  }
}

/* -- All ------------------------------------------------------------------ */

static void NAME(svd)(char **data, const int64_t *next, int count,
                      const st_small *s) {
  NAME(lanes) a[ST_SMALL * ST_SMALL], u[ST_SMALL * ST_SMALL];
  NAME(lanes) d[ST_SMALL], e[ST_SMALL], tau[ST_SMALL], scale, defect;
  NAME(ints) rank[ST_SMALL];
  char *to[LANES];
  const int m = s->m, n = s->n;
  NAME(load)(a, data[3], next[3], s->row[3], s->col[3], m, n, count);
  NAME(spread)(a, m, n);
  NAME(scale)(a, m, n, scale, defect);
  if (data[0]) {
    NAME(bidiagonal)(a, m, n, d, e, u, tau);
    NAME(right_vectors)(a, n, tau);
    NAME(qr)(d, e, u, m, a, n, defect);
  } else {
    NAME(bidiagonal)(a, m, n, d, e, NULL, tau);
    NAME(qr)(d, e, NULL, m, NULL, n, defect);
  }
  NAME(order)(d, n, true, rank);
  for (int i = n; i < s->k; i++) EACH rank[i][l] = i;
  for (int i = 0; i < n; i++) {
    EACH d[i][l] = d[i][l] / scale[l] + defect[l];
    for (int l = 0; l < count; l++) {
      to[l] = data[1] + l * next[1] + rank[i][l] * (int64_t)sizeof(T);
    }
    NAME(store_vector)(d + i, 1, to, 0, count);
    for (int l = 0; data[0] && l < count; l++) {
      to[l] = data[2] + l * next[2] + rank[i][l] * s->row[2];
    }
    if (!data[0]) continue;
    NAME(store_vector)(a + i * ST_SMALL, n, to, s->col[2], count);
  }
  for (int i = 0; data[0] && i < s->k; i++) {
    for (int l = 0; l < count; l++) {
      to[l] = data[0] + l * next[0] + rank[i][l] * s->col[0];
    }
    NAME(store_vector)(u + i * ST_SMALL, m, to, s->row[0], count);
  }
}

#include "kernel/small_matrices/small_rotations_end.h"
#include "kernel/small_matrices/small_lanes_end.h"
