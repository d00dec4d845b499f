/* Reflections of one dtype; included once for each.
 *
 * A column is followed by a line of zeros, so that all lines are whole. GROUP:
 * columns that pass at a time.
 */

enum { F(GROUP) = (ST_VECTOR_REGISTERS >= 32 ? 8 : 4) / PARTS,
       F(LEAF) = 64 / SIZE };

/* -- Sums ----------------------------------------------------------------- */

/* The parts of a line: halves are added until one is left. */
typedef T F(half) __attribute__((vector_size(32)));
typedef T F(quarter) __attribute__((vector_size(16)));

INLINE T F(fold)(const V *s) {
  F(half) low, high;
  F(quarter) first, last;
  memcpy(&low, s, 32);
  memcpy(&high, (const char *)s + 32, 32);
  low += high;
  memcpy(&first, &low, 16);
  memcpy(&last, (const char *)&low + 16, 16);
  first += last;
  return sizeof(T) == 8 ? first[0] + first[1]
                        : first[0] + first[2 % (16 / sizeof(T))] +
                          (first[1] + first[3 % (16 / sizeof(T))]);
}

static T F(squares)(const T *x, int64_t n) {
  const int lanes = BYTES / (int)sizeof(T);
  V s[LINE] = {{0}};
  for (int64_t i = 0; i < n; i += F(LEAF)) {
    UNROLL for (int w = 0; w < LINE; w++) {
      const V y = F(get)(x + i * PARTS + w * lanes);
      s[w] = FMA(y, y, s[w]);
    }
  }
  return F(fold)(s);
}

/* -- One reflection ------------------------------------------------------- */

static void F(scale)(T *x, int64_t n, T by) {
  for (int64_t i = 0; i < n * PARTS; i++) x[i] *= by;
}

/* The power of two that brings the greatest part of n numbers near 1, as far as
 * F(STEEP); 0 if all are 0. */
static T F(scale_of)(const T *x, int64_t n) {
  T most = 0;
  int exponent;
  for (int64_t i = 0; i < n * PARTS; i++) {
    most = M(fabs)(x[i]) > most ? M(fabs)(x[i]) : most;
  }
  if (most == 0) return 0;
  M(frexp)(most, &exponent);
  exponent = exponent < -F(STEEP) ? -F(STEEP) : exponent;
  return M(ldexp)(1, exponent > F(STEEP) ? -F(STEEP) : -exponent);
}

/* x's n numbers become v; the number above them becomes that of R. */
static void F(find_reflection)(T *x, int64_t n, T *tau) {
  T *const alpha = x - PARTS;
  T sum = F(squares)(x, n), by = 1, im = 0;
  memset(tau, 0, SIZE);
#if PARTS == 2
  im = alpha[1];
#endif
  if (!(sum >= F(LEAST) && FUSED(*alpha, *alpha, sum) <= F(MOST))) {
    if (sum == 0 && im == 0 && F(scale_of)(x, n) == 0) return;
    by = F(scale_of)(alpha, n + 1);
    F(scale)(alpha, n + 1, by);
    sum = F(squares)(x, n);
  }
  const T re = *alpha;
#if PARTS == 2
  im = alpha[1];
  sum = FUSED(im, im, sum);
#endif
  const T norm = M(sqrt)(FUSED(re, re, sum));
  const T beta = re < 0 ? norm : -norm;
#if PARTS == 2
  T w[2], scale;
  F(invert)((const T[]){re - beta, im}, w, &scale);
  w[0] = -w[0], w[1] = -w[1];
  for (int64_t i = 0; i < n; i += BYTES / SIZE) {
    const F(factor) y = F(as_factor)(F(get)(x + i * PARTS));
    F(put)(x + i * PARTS, F(minus)((V){0}, w, y, 1) * scale);
  }
  tau[1] = -im / beta;
  alpha[1] = 0;
#else
  F(scale)(x, n, 1 / (re - beta));
#endif
  tau[0] = (beta - re) / beta;
  *alpha = beta / by;
}

/* -- Its product ---------------------------------------------------------- */

/* The sums of conj(v) c for some columns at c, `next` parts apart, times
 * conj(tau), with the number above each column. */
INLINE void F(dots)(const T *v, const T *c, int64_t next, int64_t n,
                    const T *tau, T w[][PARTS], const int columns) {
  const int lanes = BYTES / (int)sizeof(T);
  V s[F(GROUP)][PARTS][LINE] = {{{{0}}}};
  for (int64_t i = 0; i < n; i += F(LEAF)) {
    UNROLL for (int l = 0; l < LINE; l++) {
      const int64_t at = i * PARTS + l * lanes;
      const V x = F(get)(v + at);
      UNROLL for (int j = 0; j < columns; j++) {
        const V y = F(get)(c + j * next + at);
        s[j][0][l] = FMA(x, y, s[j][0][l]);
#if PARTS == 2
        s[j][1][l] = FMA(x, F(turned)(y), s[j][1][l]);
#endif
      }
    }
  }
  for (int j = 0; j < columns; j++) {
    const T *const above = c + j * next - PARTS;
    const T re = above[0] + F(fold)(s[j][0]);
#if PARTS == 2
    const T im = above[1] + F(fold)(s[j][1]);
    w[j][0] = FUSED(tau[0], re, tau[1] * im);
    w[j][1] = FUSED(tau[0], im, -(tau[1] * re));
#else
    w[j][0] = tau[0] * re;
#endif
  }
}

INLINE void F(reflect)(const T *v, T *c, int64_t next, int64_t n,
                       const T *tau, const int columns) {
  T w[F(GROUP)][PARTS];
  F(dots)(v, c, next, n, tau, w, columns);
  for (int j = 0; j < columns; j++) {
    for (int q = 0; q < PARTS; q++) c[j * next - PARTS + q] -= w[j][q];
  }
  for (int64_t i = 0; i < n; i += BYTES / SIZE) {
    const F(factor) x = F(as_factor)(F(get)(v + i * PARTS));
    UNROLL for (int j = 0; j < columns; j++) {
      T *const y = c + j * next + i * PARTS;
      F(put)(y, F(minus)(F(get)(y), w[j], x, 1));
    }
  }
}

static void F(reflect_group)(const T *v, T *c, int64_t next, int64_t n,
                             const T *tau) {
  F(reflect)(v, c, next, n, tau, F(GROUP));
}
static void F(reflect_one)(const T *v, T *c, int64_t next, int64_t n,
                           const T *tau) {
  F(reflect)(v, c, next, n, tau, 1);
}

static bool F(is_zero)(const T *x) {
  return F(size_of)(x) == 0;
}

static ST_LOOP_FN(F(reflect_panel), st) {
  T *const a = (T *)(void *)data[0], *const tau = (T *)(void *)data[2];
  const int64_t next = st[3] / (int64_t)sizeof(T);
  *(int32_t *)(void *)data[1] = 0;
  for (int64_t c = 0; c < n1; c++) {
    memset(a + c * next + n0 * PARTS, 0, ST_PANEL_SPARE);
  }
  for (int64_t k = 0; k < n1; k++) {
    T *const x = a + k * next + (k + 1) * PARTS, *const by = tau + k * PARTS;
    const int64_t n = n0 - k - 1;
    int64_t c = 1;
    F(find_reflection)(x, n, by);
    if (F(is_zero)(by)) continue;
    for (; c + F(GROUP) <= n1 - k; c += F(GROUP)) {
      F(reflect_group)(x, x + c * next, next, n, by);
    }
    for (; c < n1 - k; c++) F(reflect_one)(x, x + c * next, next, n, by);
  }
}

/* -- T -------------------------------------------------------------------- */

/* y - w x, not fused: eigenvectors have the same bits without fused
 * multiply-adds. */
INLINE V F(minus_rounded)(V y, const T *w, const T *x) {
  const V z = F(get)(x);
#if PARTS == 2
  y -= *w * z;
  return y + w[1] * F(turned)(z);
#else
  return y - *w * z;
#endif
}

/* Column c of T is -tau[c] T g's column c, above tau[c]. */
static ST_LOOP_FN(F(reflect_factor), st) {
  const int64_t next = st[3] / (int64_t)sizeof(T);
  const int64_t g_next = st[4] / (int64_t)sizeof(T);
  T *const all = (T *)(void *)data[0];
  const T *g = (const T *)(const void *)data[1];
  const T *tau = (const T *)(const void *)data[2];
  for (int64_t c = 0; c < n0; c++, g += g_next, tau += PARTS) {
    T w[ST_REFLECT][PARTS], *const t = all + c * next;
    memset(t, 0, (size_t)st[3]);
    for (int64_t k = 0; k < c; k++) {
#if PARTS == 2
      const T re = g[2 * k], im = g[2 * k + 1];
      w[k][0] = FUSED(tau[0], re, -(tau[1] * im));
      w[k][1] = FUSED(tau[0], im, tau[1] * re);
#else
      w[k][0] = *tau * g[k];
#endif
    }
    for (int64_t i = 0; i < c; i += BYTES / SIZE) {
      V y = {0};
      for (int64_t k = i; k < c; k++) {
        y = F(minus_rounded)(y, w[k], all + k * next + i * PARTS);
      }
      F(put)(t + i * PARTS, y);
    }
    memcpy(t + c * PARTS, tau, SIZE);
  }
}

/* -- Hermitian matrices --------------------------------------------------- */

/* Rows [0, n) at y, a and x, below the diagonal, of some columns, which are
 * `next` parts apart; w: the numbers of x for the columns, negated. sums: what
 * y gets in the rows of the columns. */
INLINE void F(multiply_rows)(T *y, const T *a, int64_t next, int64_t n,
                             const T *x, T w[][PARTS], T sums[][PARTS],
                             const int columns) {
  const int lanes = BYTES / (int)sizeof(T);
  V s[4][PARTS][LINE] = {{{{0}}}};
  for (int64_t i = 0; i < n; i += F(LEAF)) {
    UNROLL for (int l = 0; l < LINE; l++) {
      const int64_t at = i * PARTS + l * lanes;
      const V z = F(get)(x + at);
      V sum = F(get)(y + at);
      UNROLL for (int j = 0; j < columns; j++) {
        const V c = F(get)(a + j * next + at);
        sum = F(minus)(sum, w[j], F(as_factor)(c), 1);
        s[j][0][l] = FMA(c, z, s[j][0][l]);
#if PARTS == 2
        s[j][1][l] = FMA(c, F(turned)(z), s[j][1][l]);
#endif
      }
      F(put)(y + at, sum);
    }
  }
  for (int j = 0; j < columns; j++) {
    for (int q = 0; q < PARTS; q++) sums[j][q] = F(fold)(s[j][q]);
  }
}

static void F(rows_of_4)(T *y, const T *a, int64_t next, int64_t n,
                         const T *x, T w[][PARTS], T sums[][PARTS]) {
  F(multiply_rows)(y, a, next, n, x, w, sums, 4);
}
static void F(rows_of_1)(T *y, const T *a, int64_t next, int64_t n,
                         const T *x, T w[][PARTS], T sums[][PARTS]) {
  F(multiply_rows)(y, a, next, n, x, w, sums, 1);
}

/* The square of some columns on the diagonal. */
static void F(multiply_square)(T *y, const T *a, int64_t next, const T *x,
                               T w[][PARTS], int columns) {
  for (int c = 0; c < columns; c++) {
    const T *const column = a + c * next;
    const T d[PARTS] = {column[c * PARTS]};
    F(minus_one)(y + c * PARTS, w[c], d, 1);
    for (int r = c + 1; r < columns; r++) {
      const T *const at = column + r * PARTS;
      T negated[PARTS];
      for (int q = 0; q < PARTS; q++) negated[q] = -at[q];
      F(minus_one)(y + r * PARTS, w[c], at, 1);
      F(minus_one)(y + c * PARTS, negated, x + r * PARTS, -1);
    }
  }
}

static ST_LOOP_FN(F(multiply_hermitian), st) {
  T *const y = (T *)(void *)data[0];
  const T *const a = (const T *)(const void *)data[1];
  const T *const x = (const T *)(const void *)data[2];
  const int64_t next = st[4] / (int64_t)sizeof(T);
  memset(y, 0, (size_t)(n0 * SIZE) + 64);
  for (int64_t c = 0, columns; c < n1; c += columns) {
    columns = n1 - c < 4 ? 1 : 4;
    const T *const at = a + c * (next + PARTS);
    T *const to = y + c * PARTS;
    T w[4][PARTS], sums[4][PARTS];
    for (int j = 0; j < columns; j++) {
      for (int q = 0; q < PARTS; q++) w[j][q] = -x[(c + j) * PARTS + q];
    }
    (columns == 4 ? F(rows_of_4) : F(rows_of_1))(
      to + columns * PARTS, at + columns * PARTS, next, n0 - c - columns,
      x + (c + columns) * PARTS, w, sums);
    F(multiply_square)(to, at, next, x + c * PARTS, w, (int)columns);
    for (int j = 0; j < columns; j++) {
      for (int q = 0; q < PARTS; q++) to[j * PARTS + q] += sums[j][q];
    }
  }
}

/* -- Columns and vectors -------------------------------------------------- */

/* Some vectors of y. */
INLINE void F(subtract_rows)(T *y, const T *a, const T *w, const int64_t *st,
                             int64_t n, T sign, const int vectors) {
  const int64_t next = st[4] / (int64_t)sizeof(T);
  const int64_t step = st[5] / (int64_t)sizeof(T);
  const int lanes = BYTES / (int)sizeof(T);
  V z[8];
  UNROLL for (int v = 0; v < vectors; v++) z[v] = F(get)(y + v * lanes);
  for (int64_t c = 0; c < n; c++, a += next, w += step) {
    UNROLL for (int v = 0; v < vectors; v++) {
      z[v] = F(minus)(z[v], w, F(as_factor)(F(get)(a + v * lanes)), sign);
    }
  }
  UNROLL for (int v = 0; v < vectors; v++) F(put)(y + v * lanes, z[v]);
}

static void F(subtract_8)(T *y, const T *a, const T *w, const int64_t *st,
                          int64_t n, T sign) {
  F(subtract_rows)(y, a, w, st, n, sign, 8);
}
static void F(subtract_2)(T *y, const T *a, const T *w, const int64_t *st,
                          int64_t n, T sign) {
  F(subtract_rows)(y, a, w, st, n, sign, 2);
}
static void F(subtract_1)(T *y, const T *a, const T *w, const int64_t *st,
                          int64_t n, T sign) {
  F(subtract_rows)(y, a, w, st, n, sign, 1);
}

static ST_LOOP_FN(F(subtract_columns), st) {
  const int64_t vector = BYTES / SIZE;
  T *y = (T *)(void *)data[0];
  const T *a = (const T *)(const void *)data[1];
  const T *const w = (const T *)(const void *)data[2];
  const T sign = *(const bool *)ctx ? -1 : 1;
  int64_t i = 0;
  for (; i + 7 * vector < n0; i += 8 * vector) {
    F(subtract_8)(y + i * PARTS, a + i * PARTS, w, st, n1, sign);
  }
  for (; i + vector < n0; i += 2 * vector) {
    F(subtract_2)(y + i * PARTS, a + i * PARTS, w, st, n1, sign);
  }
  for (; i < n0; i += vector) {
    F(subtract_1)(y + i * PARTS, a + i * PARTS, w, st, n1, sign);
  }
}

INLINE void F(some_dots)(T *to, const T *a, int64_t next, int64_t n,
                         const T *x, const int columns) {
  const int lanes = BYTES / (int)sizeof(T);
  V s[4][PARTS][LINE] = {{{{0}}}};
  for (int64_t i = 0; i < n; i += F(LEAF)) {
    UNROLL for (int l = 0; l < LINE; l++) {
      const int64_t at = i * PARTS + l * lanes;
      const V z = F(get)(x + at);
      UNROLL for (int j = 0; j < columns; j++) {
        const V c = F(get)(a + j * next + at);
        s[j][0][l] = FMA(c, z, s[j][0][l]);
#if PARTS == 2
        s[j][1][l] = FMA(c, F(turned)(z), s[j][1][l]);
#endif
      }
    }
  }
  for (int j = 0; j < columns; j++) {
    for (int q = 0; q < PARTS; q++) to[j * PARTS + q] = F(fold)(s[j][q]);
  }
}

static ST_LOOP_FN(F(column_dots), st) {
  T *const to = (T *)(void *)data[0];
  const T *const a = (const T *)(const void *)data[1];
  const T *const x = (const T *)(const void *)data[2];
  const int64_t next = st[4] / (int64_t)sizeof(T);
  int64_t c = 0;
  for (; c + 4 <= n1; c += 4) {
    F(some_dots)(to + c * PARTS, a + c * next, next, n0, x, 4);
  }
  for (; c < n1; c++) {
    F(some_dots)(to + c * PARTS, a + c * next, next, n0, x, 1);
  }
}
