/* Reflections and rotations of small matrices; included after small_lanes.h.
 *
 * A row has ST_SMALL elements, of which the first n are of the matrix. Where
 * one matrix is computed at a time, the rest are zeros and are computed too,
 * because then a row is one vector.
 */

/* For elements of magnitude 1: half the distance to the next larger number; the
 * square root of that; the least sum of squares to which those that underflow
 * add nothing. */
#define IS_SINGLE (sizeof(T) == sizeof(float))
#define EPS (IS_SINGLE ? (T)0x1p-24 : (T)0x1p-53)
#define ROOT_EPS (IS_SINGLE ? (T)0x1p-12 : (T)0x1p-26)
#define LEAST (IS_SINGLE ? (T)0x1p-98 : (T)0x1p-960)

/* -- Rows ----------------------------------------------------------------- */

/* Makes rows of ST_SMALL elements from rows of cols. */
INLINE void NAME(spread)(NAME(lanes) *a, int rows, int cols) {
  for (int i = rows - 1; i >= 0; i--) {
    for (int j = cols - 1; j >= 0; j--) {
      T *const x = a[i * ST_SMALL + j];
      const T *const y = a[i * cols + j];
      EACH x[l] = y[l];
    }
    for (int j = cols; j < WIDE(cols); j++) EACH a[i * ST_SMALL + j][l] = 0;
  }
}

INLINE void NAME(identity)(NAME(lanes) *a, int n) {
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < WIDE(n); j++) EACH a[i * ST_SMALL + j][l] = i == j;
  }
}

/* The largest element; defect is NaN if one is not finite, or else 0. Of one
 * matrix first those of the columns, whose order does not matter. */
INLINE void NAME(find_most)(NAME(lanes) *a, int rows, int cols, T *most,
                            T *defect) {
  enum { COLUMNS = LANES == 1 ? ST_SMALL : 1 };
  NAME(lanes) top[COLUMNS], bad[COLUMNS];
  for (int j = 0; j < COLUMNS; j++) {
    EACH {
      top[j][l] = 0;
      bad[j][l] = 0;
    }
  }
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < WIDE(cols); j++) {
      const T *const x = a[i * ST_SMALL + j];
      const int at = COLUMNS > 1 ? j : 0;
      EACH {
        const T size = FABS(x[l]);
        top[at][l] = size > top[at][l] ? size : top[at][l];
        bad[at][l] += size - size;
      }
    }
  }
  EACH {
    most[l] = top[0][l];
    defect[l] = bad[0][l];
  }
  for (int j = 1; j < COLUMNS; j++) {
    EACH {
      most[l] = top[j][l] > most[l] ? top[j][l] : most[l];
      defect[l] += bad[j][l];
    }
  }
}

/* Multiplies by the power of two that makes the largest element one from 1 to
 * 4. If an element is not finite, defect is NaN and the rest zeros; else it is
 * 0. */
INLINE void NAME(scale)(NAME(lanes) *a, int rows, int cols, T *scale,
                        T *defect) {
  const int mantissa = IS_SINGLE ? 23 : 52, bias = IS_SINGLE ? 127 : 1023;
  NAME(lanes) most;
  NAME(find_most)(a, rows, cols, most, defect);
  for (int l = 0; l < LANES; l++) {
    I bits;
    memcpy(&bits, &most[l], sizeof bits);
    bits >>= mantissa;
    bits = bits < 2 * bias - 1 ? bits : 2 * bias - 1;
    bits = (2 * bias - bits) << mantissa;
    memcpy(&scale[l], &bits, sizeof bits);
  }
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < WIDE(cols); j++) {
      T *const x = a[i * ST_SMALL + j];
      EACH x[l] = defect[l] == 0 ? x[l] * scale[l] : 0;
    }
  }
}

/* -- Reflections ---------------------------------------------------------- */

/* The reflection I - tau v v' that makes beta and zeros of elements first to
 * n - 1 of v; v, whose first element is 1, replaces them. */
INLINE void NAME(reflection)(NAME(lanes) *v, int first, int n, T *tau,
                             T *beta) {
  NAME(lanes) sum, factor;
  EACH sum[l] = 0;
  for (int i = first + 1; i < n; i++) EACH sum[l] += v[i][l] * v[i][l];
  EACH {
    const T alpha = v[first][l];
    const bool none = !(sum[l] >= LEAST);
    const T norm = SQRT(none ? 1 : sum[l] + alpha * alpha);
    const T other = alpha >= 0 ? -norm : norm;
    beta[l] = none ? alpha : other;
    tau[l] = none ? 0 : (other - alpha) / other;
    factor[l] = none ? 0 : 1 / (alpha - other);
    v[first][l] = 1;
  }
  for (int i = first + 1; i < n; i++) EACH v[i][l] *= factor[l];
}

/* Rows first to n - 1 of a are reflected. */
INLINE void NAME(reflect_rows)(NAME(lanes) *a, int cols, NAME(lanes) *v,
                               const T *tau, int first, int n) {
  NAME(lanes) y[ST_SMALL];
  for (int j = 0; j < WIDE(cols); j++) {
    EACH y[j][l] = a[first * ST_SMALL + j][l];
  }
  for (int i = first + 1; i < n; i++) {
    for (int j = 0; j < WIDE(cols); j++) {
      EACH y[j][l] += v[i][l] * a[i * ST_SMALL + j][l];
    }
  }
  for (int j = 0; j < WIDE(cols); j++) EACH y[j][l] *= tau[l];
  for (int i = first; i < n; i++) {
    for (int j = 0; j < WIDE(cols); j++) {
      EACH a[i * ST_SMALL + j][l] -= v[i][l] * y[j][l];
    }
  }
}

/* -- Rotations ------------------------------------------------------------ */

/* Rows x and y become c x + s y and c y - s x. */
INLINE void NAME(rotate)(NAME(lanes) *x, NAME(lanes) *y, const T *c,
                         const T *s, int n) {
  for (int j = 0; j < WIDE(n); j++) {
    EACH {
      const T a = x[j][l], b = y[j][l];
      x[j][l] = c[l] * a + s[l] * b;
      y[j][l] = c[l] * b - s[l] * a;
    }
  }
}

/* -- Signs ---------------------------------------------------------------- */

/* 1 or -1, with which the sum of weights by x is not negative. The weights are
 * powers of a number that makes no sum of simple fractions zero, so a small
 * change of a matrix leaves its vectors their signs. */
INLINE void NAME(find_sign)(NAME(lanes) *x, int n, T *sign) {
  const T weight = (T)0.7390851332151607; /* cos(weight) = weight */
  EACH sign[l] = x[n - 1][l];
  for (int j = n - 2; j >= 0; j--) EACH sign[l] = sign[l] * weight + x[j][l];
  EACH sign[l] = sign[l] < 0 ? -1 : 1;
}

INLINE void NAME(multiply_row)(NAME(lanes) *x, int n, const T *factor) {
  for (int j = 0; j < WIDE(n); j++) EACH x[j][l] *= factor[l];
}

/* -- Order ---------------------------------------------------------------- */

/* How many of the n values come before each, the largest first if descending;
 * equal ones keep their order. */
INLINE void NAME(order)(NAME(lanes) *d, int n, bool descending,
                        NAME(ints) *rank) {
  for (int i = 0; i < n; i++) EACH rank[i][l] = 0;
  for (int i = 0; i < n; i++) {
    for (int j = i + 1; j < n; j++) {
      EACH {
        const bool later = descending ? d[j][l] > d[i][l] : d[j][l] < d[i][l];
        rank[i][l] += later ? 1 : 0;
        rank[j][l] += later ? 0 : 1;
      }
    }
  }
}

/* A vector of each of count matrices goes to[...]; no zero is negative. */
INLINE void NAME(store_vector)(NAME(lanes) *x, int n, char *const *to,
                               int64_t element, int count) {
  for (int j = 0; j < n; j++) {
    const T *const y = x[j];
    for (int l = 0; l < count; l++) {
      *(T *)(void *)(to[l] + j * element) = y[l] + (T)0;
    }
  }
}
