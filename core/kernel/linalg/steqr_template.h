/* The QL algorithm of one dtype; included once for each.
 *
 * T: the element type. TAG: its suffix. LANES: elements of a vector. FABS,
 * SQRT: of T. EPS: half the distance from 1 to the next number. LEAST: the
 * least sum of squares to which those that underflow add nothing.
 */

#define NAME_(name, tag) name##_##tag
#define NAME2(name, tag) NAME_(name, tag)
#define NAME(name) NAME2(name, TAG)

/* A matrix and the rows that become its eigenvectors. */
typedef struct NAME(ql) {
  T *d, *e, *rows;
  int64_t n, next, width; /* next: from row to row, width: elements of each */
} NAME(ql);

static bool NAME(is_negligible)(const NAME(ql) *q, int64_t i) {
  const T size = FABS(q->d[i]) * FABS(q->d[i + 1]) + EPS;
  return q->e[i] * q->e[i] <= EPS * EPS * size;
}

/* Rows x and y become c x - s y and c y + s x. */
INLINE void NAME(rotate)(T *x, T *y, T c, T s, int64_t width) {
  for (int64_t at = 0; at < width; at += LANES) {
    _Pragma("omp simd")
    for (int64_t k = at; k < at + LANES; k++) {
      const T a = x[k], b = y[k];
      x[k] = c * a - s * b;
      y[k] = c * b + s * a;
    }
  }
}

/* One step for rows k to last, with a shift by Wilkinson. Zeros of e what is
 * negligible then; returns the last row that still belongs to k. */
static int64_t NAME(step)(const NAME(ql) *q, int64_t k, int64_t last) {
  T *const d = q->d, *const e = q->e;
  const T half = (d[k + 1] - d[k]) / 2;
  const T far = FABS(half) + SQRT(half * half + e[k] * e[k]);
  const T shift = (half >= 0 ? e[k] : -e[k]) * (e[k] / far);
  T g = d[last] + shift - d[k], c = 1, s = 1, p = 0;
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
    NAME(rotate)(q->rows + i * q->next, q->rows + (i + 1) * q->next, c, s,
                 q->width);
  }
  d[k] -= p;
  e[k] = g;
  if (NAME(is_negligible)(q, k)) e[end = k] = 0;
  return end;
}

/* Returns 0, or which eigenvalue, from 1, was not found. */
static int NAME(iterate)(const NAME(ql) *q) {
  enum { STEPS = 30 };
  for (int64_t i = 0; i + 1 < q->n; i++) {
    if (NAME(is_negligible)(q, i)) q->e[i] = 0;
  }
  for (int64_t k = 0; k + 1 < q->n; k++) {
    int64_t last = k;
    int steps = 0;
    while (last + 1 < q->n && q->e[last] != 0) last++;
    while (last > k && steps++ < STEPS) last = NAME(step)(q, k, last);
    if (last > k) return (int)k + 1;
  }
  return 0;
}

/* The rows become those of the identity. The algorithm finds the first values
 * first, in fewer steps if they are small: else it gets the matrix reversed. */
static void NAME(begin)(const NAME(ql) *q) {
  const int64_t n = q->n;
  const bool turned = FABS(q->d[n - 1]) < FABS(q->d[0]);
  for (int64_t i = 0; i < n; i++) {
    memset(q->rows + i * q->next, 0, (size_t)q->width * sizeof(T));
    q->rows[i * q->next + (turned ? n - 1 - i : i)] = 1;
  }
  for (int64_t i = 0; turned && i < n / 2; i++) {
    const T x = q->d[i];
    q->d[i] = q->d[n - 1 - i];
    q->d[n - 1 - i] = x;
  }
  for (int64_t i = 0; turned && i < (n - 1) / 2; i++) {
    const T x = q->e[i];
    q->e[i] = q->e[n - 2 - i];
    q->e[n - 2 - i] = x;
  }
}

/* Sorts the values, and copies the vectors to z. */
static void NAME(finish)(const NAME(ql) *q, char *z, int64_t column) {
  T sorted[ST_STEQR];
  for (int64_t i = 0; i < q->n; i++) {
    const T x = q->d[i];
    int64_t rank = 0;
    for (int64_t j = 0; j < i; j++) rank += q->d[j] <= x;
    for (int64_t j = i + 1; j < q->n; j++) rank += q->d[j] < x;
    sorted[rank] = x;
    memcpy(z + rank * column, q->rows + i * q->next,
           (size_t)q->n * sizeof(T));
  }
  memcpy(q->d, sorted, (size_t)q->n * sizeof(T));
}

static void NAME(steqr)(char **data, const int64_t *st, int64_t n0,
                        int64_t n1, const void *ctx) {
  const NAME(ql) q = {(T *)(void *)data[0], (T *)(void *)data[1],
                      (T *)(void *)data[4], n0,
                      st[4] / (int64_t)sizeof(T),
                      (n0 + LANES - 1) / LANES * LANES};
  (void)n1;
  (void)ctx;
  NAME(begin)(&q);
  const int info = NAME(iterate)(&q);
  *(int32_t *)(void *)data[3] = info;
  if (info == 0) NAME(finish)(&q, data[2], st[2]);
}

#undef NAME
#undef NAME2
#undef NAME_
#undef T
#undef TAG
#undef LANES
#undef FABS
#undef SQRT
#undef EPS
#undef LEAST
