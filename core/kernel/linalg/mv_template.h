/* Products with a vector of one dtype; included once for each, after macros:
 * PARTS: of an element, real and imaginary, each a T. N(name): the name of a
 * function or type. If a has halves, WIDEN(to, from) makes a line of floats of
 * them, WIDEN_ROW(to, from, 2, n) a row.
 */

#define V F(v)
#define SIZE ((int64_t)sizeof(T) * PARTS)
#define LANES (LINE / SIZE)
#define REALS (LINE / (int)sizeof(T))
#ifdef WIDEN
#define A_SIZE 2
#else
#define A_SIZE SIZE
#endif

/* -- Sums ----------------------------------------------------------------- */

/* Adds up `lanes` partial sums of n numbers each. */
INLINE void N(halve)(T *x, int64_t lanes, int64_t n) {
  for (int64_t l = lanes / 2; l > 0; l /= 2) {
    for (int64_t i = 0; i < l * n; i++) x[i] += x[i + l * n];
  }
}

/* c = alpha sum + beta c */
static void N(store)(char *c, const T *sum, const st_mv_ctx *w) {
  double alpha[2], beta[2];
  T *out = (T *)(void *)c;
  st__scalar_to_complex(w->alpha, alpha);
  st__scalar_to_complex(w->beta, beta);
  const T a[2] = {(T)alpha[0], (T)alpha[1]}, b[2] = {(T)beta[0], (T)beta[1]};
#if PARTS == 2
  const T re = a[0] * sum[0] - a[1] * sum[1];
  const T im = a[0] * sum[1] + a[1] * sum[0];
  const bool adds = b[0] != 0 || b[1] != 0, scales = a[0] != 1 || a[1] != 0;
  const T x = scales ? re : sum[0], y = scales ? im : sum[1];
  const T u = adds ? b[0] * out[0] - b[1] * out[1] : 0;
  const T v = adds ? b[0] * out[1] + b[1] * out[0] : 0;
  out[0] = adds ? x + u : x;
  out[1] = adds ? y + v : y;
#else
  const T x = a[0] == 1 ? sum[0] : a[0] * sum[0];
  out[0] = b[0] == 0 ? x : x + b[0] * out[0];
#endif
}

/* -- Rows ----------------------------------------------------------------- */

/* The vectors of a line of x: of its parts in order and, if complex, of the
 * other parts. */
typedef struct N(line) { V x[VECTORS][PARTS]; } N(line);

INLINE N(line) N(load)(const char *from) {
  N(line) l;
  UNROLL for (int v = 0; v < VECTORS; v++) {
    l.x[v][0] = *(const V *)(const void *)(from + v * BYTES);
#if PARTS == 2
    typedef INT indices __attribute__((vector_size(BYTES)));
    l.x[v][1] = ST_SHUFFLE(indices, l.x[v][0], l.x[v][0], F(SWAPPED));
#endif
  }
  return l;
}

INLINE void N(add)(V sum[VECTORS][PARTS], const char *a, const N(line) *x) {
#ifdef WIDEN
  float wide[FLOATS];
  WIDEN(wide, a);
  a = (const char *)wide;
#endif
  UNROLL for (int v = 0; v < VECTORS; v++) {
    const V y = *(const V *)(const void *)(a + v * BYTES);
    UNROLL for (int p = 0; p < PARTS; p++) sum[v][p] += y * x->x[v][p];
  }
}

/* Adds up the partial sums of a row. */
INLINE void N(total)(T *out, V sum[VECTORS][PARTS]) {
  T x[PARTS][REALS];
  UNROLL for (int p = 0; p < PARTS; p++) {
    UNROLL for (int v = 0; v < VECTORS; v++) {
      memcpy((char *)x[p] + v * BYTES, &sum[v][p], BYTES);
    }
    N(halve)(x[p], LANES, PARTS);
  }
#if PARTS == 2
  out[0] = x[0][0] - x[0][1];
  out[1] = x[1][0] + x[1][1];
#else
  out[0] = x[0][0];
#endif
}

/* n rows of k adjacent elements. */
INLINE void N(sum_rows)(T (*out)[PARTS], const char *a, int64_t row,
                        const char *x, int64_t k, const int n) {
  V sum[LINES][VECTORS][PARTS] = {{{{0}}}};
  int64_t i = 0;
  while (i + LANES <= k && !st__stops_at(i)) {
    for (const int64_t to = st__period_end(i, k); i + LANES <= to; i += LANES) {
      const N(line) y = N(load)(x + i * SIZE);
      UNROLL for (int r = 0; r < n; r++) {
        N(add)(sum[r], a + r * row + i * A_SIZE, &y);
      }
    }
  }
  if (i < k) {
    char rest[2][LINE] = {{0}};
    const size_t n_rest = (size_t)(k % LANES);
    memcpy(rest[0], x + i * SIZE, n_rest * SIZE);
    const N(line) y = N(load)(rest[0]);
    UNROLL for (int r = 0; r < n; r++) {
      memcpy(rest[1], a + r * row + i * A_SIZE, n_rest * A_SIZE);
      N(add)(sum[r], rest[1], &y);
    }
  }
  UNROLL for (int r = 0; r < n; r++) N(total)(out[r], sum[r]);
}

static void N(all_lines)(T (*out)[PARTS], const char *a, int64_t row,
                         const char *x, int64_t k) {
  N(sum_rows)(out, a, row, x, k, LINES);
}

static void N(one_line)(T (*out)[PARTS], const char *a, int64_t row,
                        const char *x, int64_t k) {
  N(sum_rows)(out, a, row, x, k, 1);
}

static void N(by_rows)(char **data, const int64_t *st, int64_t k, int64_t m,
                       const st_mv_ctx *w) {
  T sum[LINES][PARTS];
  int64_t left = ST_PERIOD;
  for (int64_t i = 0, n; i < m; i += n) {
    const char *a = data[1] + i * st[4];
    n = m - i >= LINES ? LINES : 1;
    (n == LINES ? N(all_lines) : N(one_line))(sum, a, st[4], data[2], k);
    if (st__stops_after(&left, (k + LANES) * n)) return;
    for (int64_t r = 0; r < n; r++) {
      N(store)(data[0] + (i + r) * st[3], sum[r], w);
    }
  }
}

/* -- Columns -------------------------------------------------------------- */

/* Adds n columns, `next` bytes apart and each times an element of x, to partial
 * sums of m numbers; those of x are LANES apart. */
INLINE void N(add_columns)(T *restrict sum, const char *a, int64_t next,
                           const T *x, int64_t m, const int n) {
  const T *at[DEEP];
  T by[DEEP];
  UNROLL for (int c = 0; c < n; c++) {
    at[c] = (const T *)(const void *)(a + c * next);
    by[c] = x[c * LANES * PARTS];
  }
  for (int64_t i = 0; i < m; i++) {
    T y = sum[i];
    UNROLL for (int c = 0; c < n; c++) y += at[c][i] * by[c];
    sum[i] = y;
  }
}

static void N(columns)(T *sum, const char *a, int64_t next, const char *x,
                       int64_t m, int n) {
#ifdef WIDEN
  float wide[DEEP][ROWS];
  for (int c = 0; c < n; c++) WIDEN_ROW(wide[c], a + c * next, A_SIZE, m);
  a = (const char *)wide;
  next = sizeof *wide;
#endif
  for (int p = 0; p < PARTS; p++) {
    const T *by = (const T *)(const void *)x + p;
    T *to = sum + p * LANES * ROWS * PARTS;
    if (n == DEEP) N(add_columns)(to, a, next, by, m * PARTS, DEEP);
    else for (int c = 0; c < n; c++) {
      N(add_columns)(to, a + c * next, next, by + c * LANES * PARTS, m * PARTS,
                     1);
    }
  }
}

/* The sums of m rows, at most ROWS. */
static void N(sum_columns)(T *sum, const char *a, int64_t col, const char *x,
                           int64_t m, int64_t k) {
  enum { SUM = ROWS * PARTS, ALL = LANES * SUM };
  int64_t left = ST_PERIOD;
  memset(sum, 0, ALL * PARTS * sizeof(T));
  for (int64_t i = 0; i < k; i += DEEP * LANES) {
    for (int64_t l = 0; l < LANES && i + l < k; l++) {
      const int64_t n = (k - i - l + LANES - 1) / LANES;
      N(columns)(sum + l * SUM, a + (i + l) * col, LANES * col,
                 x + (i + l) * SIZE, m, n < DEEP ? (int)n : DEEP);
    }
    if (st__stops_after(&left, DEEP * LANES * m)) return;
  }
  for (int p = 0; p < PARTS; p++) N(halve)(sum + p * ALL, LANES, SUM);
}

static void N(by_columns)(char **data, const int64_t *st, int64_t k,
                          int64_t m, const st_mv_ctx *w) {
  enum { ALL = LANES * ROWS * PARTS };
  T sum[PARTS * ALL];
  for (int64_t i = 0, n; i < m && (i == 0 || !st__stops()); i += n) {
    n = m - i < ROWS ? m - i : ROWS;
    N(sum_columns)(sum, data[1] + i * A_SIZE, st[1], data[2], n, k);
    for (int64_t r = 0; r < n; r++) {
#if PARTS == 2
      const T x[2] = {sum[2 * r] - sum[ALL + 2 * r + 1],
                      sum[ALL + 2 * r] + sum[2 * r + 1]};
#else
      const T *x = sum + r;
#endif
      N(store)(data[0] + (i + r) * st[3], x, w);
    }
  }
}

static ST_LOOP_FN(N(mv), st) {
  (st[1] == A_SIZE ? N(by_rows) : N(by_columns))(data, st, n0, n1, ctx);
}

#undef A_SIZE
