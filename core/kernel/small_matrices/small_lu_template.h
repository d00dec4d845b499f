/* LU and Cholesky factors of small matrices, and what follows from them;
 * included for each type and number of lanes (small_lanes.h).
 */

#include "kernel/small_matrices/small_lanes.h"

/* -- LU ------------------------------------------------------------------- */

/* Rows k and p of a, which has n columns, change places, for each lane. */
INLINE void NAME(exchange)(NAME(lanes) *a, const I *p, int k, int rows,
                           int n) {
  if (LANES == 1) {
    const int i = (int)p[0];
    if (i == k) return;
    for (int j = 0; j < n; j++) {
      const T x = a[k * n + j][0];
      a[k * n + j][0] = a[i * n + j][0];
      a[i * n + j][0] = x;
    }
    return;
  }
  for (int i = k + 1; i < rows; i++) {
    for (int j = 0; j < n; j++) {
      T *const x = a[k * n + j], *const y = a[i * n + j];
      EACH {
        const T upper = x[l], lower = y[l];
        x[l] = p[l] == i ? lower : upper;
        y[l] = p[l] == i ? upper : lower;
      }
    }
  }
}

/* The row of the largest element of column k on or below the diagonal, the
 * first of equal ones. */
INLINE void NAME(find_pivot)(NAME(lanes) *a, int k, int m, int n, I *p) {
  NAME(lanes) best;
  EACH {
    best[l] = FABS(a[k * n + k][l]);
    p[l] = k;
  }
  for (int i = k + 1; i < m; i++) {
    const T *const x = a[i * n + k];
    EACH {
      const T size = FABS(x[l]);
      p[l] = size > best[l] ? i : p[l];
      best[l] = size > best[l] ? size : best[l];
    }
  }
}

/* Row i minus its multiple of row k that zeros column k. */
INLINE void NAME(eliminate)(NAME(lanes) *a, int k, int i, int n) {
  const T *const pivot = a[k * n + k];
  T *const first = a[i * n + k];
  if (LANES == 1) {
    const T factor = first[0] / (pivot[0] != 0 ? pivot[0] : 1);
    _Pragma("omp simd")
    for (int j = 0; j < ST_SMALL; j++) {
      const T x = a[i * ST_SMALL + j][0], y = a[k * ST_SMALL + j][0];
      const T rest = j > k ? x - factor * y : x;
      a[i * ST_SMALL + j][0] = j == k ? factor : rest;
    }
    return;
  }
  EACH {
    const T divisor = pivot[l] != 0 ? pivot[l] : 1;
    first[l] /= divisor;
  }
  for (int j = k + 1; j < n; j++) {
    T *const x = a[i * n + j];
    const T *const y = a[k * n + j];
    EACH x[l] -= first[l] * y[l];
  }
}

/* a, whose rows have WIDE(n) elements, becomes L and U, p the rows of the
 * pivots from 0 on, info the first zero of U's diagonal from 1 on, or 0. */
INLINE void NAME(factor)(NAME(lanes) *a, int m, int n, NAME(ints) *p,
                         I *info) {
  EACH info[l] = 0;
  for (int k = 0; k < m && k < n; k++) {
    NAME(find_pivot)(a, k, m, WIDE(n), p[k]);
    NAME(exchange)(a, p[k], k, m, WIDE(n));
    const T *const pivot = a[k * WIDE(n) + k];
    EACH info[l] = pivot[l] == 0 && info[l] == 0 ? k + 1 : info[l];
    for (int i = k + 1; i < m; i++) NAME(eliminate)(a, k, i, WIDE(n));
  }
}

/* b, n x k, becomes the x with L U x = P b. */
INLINE void NAME(substitute)(NAME(lanes) *a, NAME(ints) *p, int n,
                             NAME(lanes) *b, int k) {
  for (int i = 0; i < n; i++) NAME(exchange)(b, p[i], i, n, k);
  for (int i = 0; i < n; i++) {
    for (int r = i + 1; r < n; r++) {
      const T *const w = a[r * WIDE(n) + i];
      for (int c = 0; c < k; c++) {
        EACH b[r * k + c][l] -= w[l] * b[i * k + c][l];
      }
    }
  }
  for (int i = n - 1; i >= 0; i--) {
    const T *const pivot = a[i * WIDE(n) + i];
    for (int c = 0; c < k; c++) EACH b[i * k + c][l] /= pivot[l];
    for (int r = 0; r < i; r++) {
      const T *const w = a[r * WIDE(n) + i];
      for (int c = 0; c < k; c++) {
        EACH b[r * k + c][l] -= w[l] * b[i * k + c][l];
      }
    }
  }
}

static void NAME(lu)(char **data, const int64_t *next, int count,
                     const st_small *s) {
  NAME(lanes) a[ST_SMALL * ST_SMALL];
  NAME(ints) p[ST_SMALL], info;
  const int k = s->m < s->n ? s->m : s->n;
  NAME(load_rows)(a, WIDE(s->n), data[3], next[3], s->row[3], s->col[3],
                  s->m, s->n, count);
  NAME(factor)(a, s->m, s->n, p, info);
  NAME(store_rows)(a, WIDE(s->n), data[0], next[0], s->row[0], s->col[0],
                   s->m, s->n, count);
  for (int i = 0; i < k; i++) {
    EACH p[i][l]++;
    NAME(store_ints)(p[i], data[1] + i * (int64_t)sizeof(int32_t), next[1],
                     count);
  }
  NAME(store_ints)(info, data[2], next[2], count);
}

static void NAME(det)(char **data, const int64_t *next, int count,
                      const st_small *s) {
  NAME(lanes) a[ST_SMALL * ST_SMALL];
  NAME(ints) p[ST_SMALL], info;
  double product[LANES];
  const int n = s->n;
  NAME(load_rows)(a, WIDE(n), data[1], next[1], s->row[1], s->col[1],
                  n, n, count);
  NAME(factor)(a, n, n, p, info);
  EACH product[l] = 1;
  for (int k = 0; k < n; k++) EACH product[l] *= p[k][l] == k ? 1 : -1;
  for (int k = 0; k < n; k++) EACH product[l] *= (double)a[k * WIDE(n) + k][l];
  for (int l = 0; l < count; l++) {
    *(T *)(void *)(data[0] + l * next[0]) = (T)product[l];
  }
}

static void NAME(solve)(char **data, const int64_t *next, int count,
                        const st_small *s) {
  NAME(lanes) a[ST_SMALL * ST_SMALL], b[ST_SMALL * ST_SMALL];
  NAME(ints) p[ST_SMALL], info;
  const int n = s->n;
  NAME(load_rows)(a, WIDE(n), data[2], next[2], s->row[2], s->col[2],
                  n, n, count);
  NAME(factor)(a, n, n, p, info);
  for (int c = 0; c < s->k; c += ST_SMALL) {
    const int k = s->k - c < ST_SMALL ? s->k - c : ST_SMALL;
    NAME(load)(b, data[3] + c * s->col[3], next[3], s->row[3], s->col[3], n, k,
               count);
    if (LANES == 1 && k == 1) NAME(substitute)(a, p, n, b, 1);
    else NAME(substitute)(a, p, n, b, k);
    NAME(store)(b, data[0] + c * s->col[0], next[0], s->row[0], s->col[0], n,
                k, count);
  }
  NAME(store_ints)(info, data[1], next[1], count);
}

static void NAME(inverse)(char **data, const int64_t *next, int count,
                          const st_small *s) {
  NAME(lanes) a[ST_SMALL * ST_SMALL], b[ST_SMALL * ST_SMALL];
  NAME(ints) p[ST_SMALL], info;
  const int n = s->n;
  NAME(load_rows)(a, WIDE(n), data[2], next[2], s->row[2], s->col[2],
                  n, n, count);
  NAME(factor)(a, n, n, p, info);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      EACH b[i * n + j][l] = info[l] != 0 ? (T)NAN : (T)(i == j);
    }
  }
  NAME(substitute)(a, p, n, b, n);
  NAME(store)(b, data[0], next[0], s->row[0], s->col[0], n, n, count);
  NAME(store_ints)(info, data[1], next[1], count);
}

/* -- Cholesky ------------------------------------------------------------- */

/* The lower triangle of a becomes the factor; info is the order of the first
 * leading minor that is not positive, or 0. From there on the lane stays. */
INLINE void NAME(cholesky_factor)(NAME(lanes) *a, int n, I *info) {
  EACH info[l] = 0;
  for (int j = 0; j < n; j++) {
    T *const d = a[j * n + j];
    for (int k = 0; k < j; k++) {
      const T *const x = a[j * n + k];
      EACH d[l] = info[l] == 0 ? d[l] - x[l] * x[l] : d[l];
    }
    EACH {
      const bool positive = d[l] > 0;
      info[l] = info[l] == 0 && !positive ? j + 1 : info[l];
      const T root = SQRT(positive ? d[l] : 1);
      d[l] = info[l] == 0 ? root : d[l];
    }
    for (int i = j + 1; i < n; i++) {
      T *const x = a[i * n + j];
      for (int k = 0; k < j; k++) {
        const T *const y = a[i * n + k], *const z = a[j * n + k];
        EACH x[l] = info[l] == 0 ? x[l] - y[l] * z[l] : x[l];
      }
      EACH {
        const T divisor = info[l] == 0 ? d[l] : 1;
        x[l] /= divisor;
      }
    }
  }
}

static void NAME(cholesky)(char **data, const int64_t *next, int count,
                           const st_small *s) {
  NAME(lanes) a[ST_SMALL * ST_SMALL];
  NAME(ints) info;
  const int n = s->n;
  NAME(load)(a, data[2], next[2], s->row[2], s->col[2], n, n, count);
  NAME(cholesky_factor)(a, n, info);
  for (int i = 0; i < n; i++) {
    for (int j = i + 1; j < n; j++) EACH a[i * n + j][l] = 0;
  }
  NAME(store)(a, data[0], next[0], s->row[0], s->col[0], n, n, count);
  NAME(store_ints)(info, data[1], next[1], count);
}

#include "kernel/small_matrices/small_lanes_end.h"
