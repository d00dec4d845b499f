/* The implicit QL algorithm for one tridiagonal matrix; included for each type
 * where NAME(x) is x with the type's suffix.
 *
 * T: the element type. QL_LANES: a row is whole vectors of so many elements.
 * FABS, SQRT: of T. EPS: half the distance from 1 to the next number. LEAST:
 * the least sum of squares to which those that underflow add nothing. The
 * greatest element of the matrix is near 1.
 */

/* A matrix and the rows that become its eigenvectors, or NULL. */
typedef struct NAME(ql_matrix) {
  T *d, *e, *rows;
  int64_t n, next, width; /* next: from row to row, width: elements of each */
} NAME(ql_matrix);

INLINE bool NAME(is_negligible)(const NAME(ql_matrix) *q, int64_t i) {
  const T size = FABS(q->d[i]) * FABS(q->d[i + 1]) + EPS;
  return q->e[i] * q->e[i] <= EPS * EPS * size;
}

/* Rows x and y become c x - s y and c y + s x. */
INLINE void NAME(turn_rows)(T *x, T *y, T c, T s, int64_t width) {
  for (int64_t at = 0; at < width; at += QL_LANES) {
    _Pragma("omp simd")
    for (int64_t k = at; k < at + QL_LANES; k++) {
      const T a = x[k], b = y[k];
      x[k] = c * a - s * b;
      y[k] = c * b + s * a;
    }
  }
}

/* One step for rows k to last, with a shift by Wilkinson. Zeros of e what is
 * negligible then; returns the last row that still belongs to k. */
INLINE int64_t NAME(ql_sweep)(const NAME(ql_matrix) *q, int64_t k,
                              int64_t last) {
  T *const d = q->d, *const e = q->e;
  const T half = (d[k + 1] - d[k]) / 2;
  const T far = FABS(half) + SQRT(half * half + e[k] * e[k]);
  const T shift = (half >= 0 ? e[k] : -e[k]) * (e[k] / far);
  T g = d[last] + (shift - d[k]), c = 1, s = 1, p = 0;
  int64_t end = last;
  for (int64_t i = last - 1; i >= k; i--) {
    const T f = s * e[i], b = c * e[i], square = f * f + g * g;
    const bool some = square >= LEAST;
    const T size = some ? square : 1, root = SQRT(size);
    const T inverse = root * (1 / size); /* sooner than 1 / root */
    const T next = d[i + 1] - p;
    c = some ? g * inverse : 1;
    s = some ? f * inverse : 0;
    const T t = (d[i] - next) * s + 2 * c * b;
    p = s * t;
    d[i + 1] = next + p;
    if (i + 1 < last) {
      e[i + 1] = some ? root : g;
      if (NAME(is_negligible)(q, i + 1)) e[end = i + 1] = 0;
    }
    g = c * t - b;
    if (!q->rows) continue;
    NAME(turn_rows)(q->rows + i * q->next, q->rows + (i + 1) * q->next, c, s,
                 q->width);
  }
  d[k] -= p;
  e[k] = g;
  if (NAME(is_negligible)(q, k)) e[end = k] = 0;
  return end;
}

/* d becomes the eigenvalues. Returns 0, or which one, from 1, was not found. */
INLINE int NAME(ql_values)(const NAME(ql_matrix) *q) {
  enum { STEPS = 30 };
  for (int64_t i = 0; i + 1 < q->n; i++) {
    if (NAME(is_negligible)(q, i)) q->e[i] = 0;
  }
  for (int64_t k = 0; k + 1 < q->n; k++) {
    int64_t last = k;
    int steps = 0;
    while (last + 1 < q->n && q->e[last] != 0) last++;
    while (last > k && steps++ < STEPS) last = NAME(ql_sweep)(q, k, last);
    if (last > k) return (int)k + 1;
  }
  return 0;
}
