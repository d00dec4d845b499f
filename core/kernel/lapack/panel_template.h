/* Factors of panels of one dtype; included once for each.
 *
 * LEAF numbers fill a line of 64 bytes, which is whole vectors everywhere.
 * LANES: numbers of a vector.
 */

enum { F(LEAF) = 64 / SIZE, F(LANES) = BYTES / SIZE };

/* What is factored: m rows, the first of which is at a; columns are `next`
 * parts apart. */
typedef struct F(panel) {
  T *a;
  int64_t next, m, n;
  int32_t *info, *pivots;
} F(panel);

INLINE T *F(at)(const F(panel) *p, int64_t row, int64_t col) {
  return p->a + row * PARTS + col * p->next;
}

/* -- Products ------------------------------------------------------------- */

/* C -= A B: k columns of A, k rows of B. Number (i, j) of B is at
 * b[i * row + j * col], conjugated if sign is -1. */
typedef struct F(product) {
  T *c;
  const T *a, *b;
  int64_t next, row, col, k;
  T sign;
} F(product);

INLINE void F(tile)(const F(product) *p, const int vectors, const int columns) {
  const int lanes = BYTES / (int)sizeof(T);
  const int64_t next = p->next, row = p->row, col = p->col;
  const T *a = p->a, *b = p->b;
  V y[TILE][2];
  UNROLL for (int j = 0; j < columns; j++) {
    UNROLL for (int v = 0; v < vectors; v++) {
      y[j][v] = F(get)(p->c + j * next + v * lanes);
    }
  }
  for (int64_t i = 0; i < p->k; i++, a += next, b += row) {
    F(factor) x[2];
    UNROLL for (int v = 0; v < vectors; v++) {
      x[v] = F(as_factor)(F(get)(a + v * lanes));
    }
    UNROLL for (int j = 0; j < columns; j++) {
      UNROLL for (int v = 0; v < vectors; v++) {
        y[j][v] = F(minus)(y[j][v], b + j * col, x[v], p->sign);
      }
    }
  }
  UNROLL for (int j = 0; j < columns; j++) {
    UNROLL for (int v = 0; v < vectors; v++) {
      F(put)(p->c + j * next + v * lanes, y[j][v]);
    }
  }
}

static void F(tile_2)(const F(product) *p) { F(tile)(p, 2, TILE); }
static void F(tile_1)(const F(product) *p) { F(tile)(p, 1, TILE); }
static void F(strip_2)(const F(product) *p) { F(tile)(p, 2, 1); }
static void F(strip_1)(const F(product) *p) { F(tile)(p, 1, 1); }

/* m rows, rounded up to whole vectors, of n columns; of the lower triangle, if
 * `lower`, and some of what is above. */
static void F(subtract)(F(product) p, int64_t m, int64_t n, bool lower) {
  T *const c = p.c;
  const T *const b = p.b;
  for (int64_t i = 0, rows; i < m; i += rows) {
    const bool wide = m - i > F(LANES);
    rows = wide ? 2 * F(LANES) : F(LANES);
    const int64_t last = lower && i + rows < n ? i + rows : n;
    int64_t j = 0;
    for (; j + TILE <= last; j += TILE) {
      p.c = c + i * PARTS + j * p.next;
      p.b = b + j * p.col;
      (wide ? F(tile_2) : F(tile_1))(&p);
    }
    for (; j < last; j++) {
      p.c = c + i * PARTS + j * p.next;
      p.b = b + j * p.col;
      (wide ? F(strip_2) : F(strip_1))(&p);
    }
    p.a += rows * PARTS;
  }
}

/* -- Columns -------------------------------------------------------------- */

/* Row `row` and all below of column c lose the products of the `count` columns
 * before it and the numbers at w, w + next ..., conjugated if sign is -1. */
INLINE void F(lose)(const F(panel) *p, int64_t row, int64_t c, int count,
                    const T *w, int64_t next, T sign) {
  const T *const before = F(at)(p, 0, c - count);
  T *const x = F(at)(p, 0, c);
  for (int64_t i = row; i < p->m; i += F(LANES)) {
    V y = F(get)(x + i * PARTS);
    for (int k = 0; k < count; k++) {
      const V l = F(get)(before + k * p->next + i * PARTS);
      y = F(minus)(y, w + k * next, F(as_factor)(l), sign);
    }
    F(put)(x + i * PARTS, y);
  }
}

#if PARTS == 1
/* True if quotients by d are those of the function that follows, but for the
 * least numbers of the type. */
INLINE bool F(is_moderate)(T d) {
  const T most = sizeof(T) == 4 ? (T)0x1p60 : (T)0x1p500;
  return ST_HAS_FMA && M(fabs)(d) < most && M(fabs)(d) > 1 / most;
}

/* y / d, where r is 1 / d: P. Markstein, "Computation of elementary functions
 * on the IBM RISC System/6000 processor", IBM J. Res. Dev. 34, 1990. It takes a
 * fifth of the time. What is left of infinity is no number. */
INLINE V F(quotient)(V y, T d, T r) {
  const V q = y * r, rest = FMA(-q, F(spread)(d), y);
  const V z = FMA(rest, F(spread)(r), q);
  const __typeof__(z == z) is_number = z == z;
  return (V)((is_number & (__typeof__(z == z))z) |
             (~is_number & (__typeof__(z == z))q));
}
#endif

/* Divides m numbers, and what is behind them to a whole vector. */
static void F(divide_by_real)(T *x, int64_t m, T by) {
#if PARTS == 1
  if (F(is_moderate)(by)) {
    const T r = 1 / by;
    for (int64_t i = 0; i < m; i += F(LANES)) {
      F(put)(x + i, F(quotient)(F(get)(x + i), by, r));
    }
    return;
  }
#endif
  for (int64_t i = 0; i < m; i += F(LANES)) {
    F(put)(x + i * PARTS, F(get)(x + i * PARTS) / by);
  }
}

static void F(divide)(T *x, int64_t m, const T *by) {
#if PARTS == 2
  T w[2], scale;
  F(invert)(by, w, &scale);
  w[0] = -w[0], w[1] = -w[1];
  for (int64_t i = 0; i < m; i += F(LANES)) {
    const F(factor) y = F(as_factor)(F(get)(x + i * PARTS));
    F(put)(x + i * PARTS, F(minus)((V){0}, w, y, 1) * scale);
  }
#else
  F(divide_by_real)(x, m, *by);
#endif
}

/* -- LU ------------------------------------------------------------------- */

/* The first of the largest of m numbers; NaN is largest if it is the first, and
 * else is not found. */
static int64_t F(find_pivot)(const T *x, int64_t m) {
  T most = 0;
  int64_t i = 0;
  if (F(size_of)(x) != F(size_of)(x)) return 0;
  _Pragma("omp simd reduction(max:most)")
  for (int64_t k = 0; k < m; k++) {
    const T y = F(size_of)(x + k * PARTS);
    most = y > most ? y : most;
  }
  while (F(size_of)(x + i * PARTS) != most) i++;
  return i;
}

/* Exchanges what the pivots [k, k + n) say in columns [from, to). */
static void F(exchange)(const F(panel) *p, int64_t k, int64_t n, int64_t from,
                        int64_t to) {
  for (int64_t c = from; c < to; c++) {
    T *const x = F(at)(p, 0, c);
    for (int64_t i = k; i < k + n; i++) {
      T *const one = x + i * PARTS, *const other = x + (p->pivots[i] - 1) *
                                                     (int64_t)PARTS;
      for (int q = 0; q < PARTS; q++) {
        const T y = one[q];
        one[q] = other[q];
        other[q] = y;
      }
    }
  }
}

/* Column k + c of the leaf [k, end), in which rows are exchanged. */
static void F(lu_column)(const F(panel) *p, int64_t k, int c, int64_t end) {
  const int64_t at = k + c;
  T *const x = F(at)(p, 0, at), *const first = x + at * PARTS;
  for (int i = 1; i < c; i++) {
    for (int j = 0; j < i; j++) {
      F(minus_one)(x + (k + i) * PARTS, x + (k + j) * PARTS,
                   F(at)(p, k + i, k + j), 1);
    }
  }
  F(lose)(p, at, at, c, x + k * PARTS, PARTS, 1);
  p->pivots[at] = (int32_t)(at + F(find_pivot)(first, p->m - at) + 1);
  F(exchange)(p, at, 1, k, end);
  if (F(size_of)(first) == 0) {
    if (*p->info == 0) *p->info = (int32_t)(at + 1);
    return;
  }
  T pivot[PARTS];
  memcpy(pivot, first, sizeof pivot);
  F(divide)(first + PARTS, p->m - at - 1, pivot);
}

/* LEAF rows of X, n columns, become those with L X = B; L's diagonal is 1. */
static void F(solve_leaf)(const F(panel) *p, int64_t k, int64_t at, int64_t n) {
  enum { VECTORS = 64 / BYTES };
  const int lanes = BYTES / (int)sizeof(T);
  V l[F(LEAF)][VECTORS];
  for (int c = 0; c < F(LEAF); c++) {
    T column[F(LEAF) * PARTS] = {0};
    memcpy(column + (c + 1) * PARTS, F(at)(p, k + c + 1, k + c),
           (size_t)((F(LEAF) - c - 1) * SIZE));
    for (int v = 0; v < VECTORS; v++) l[c][v] = F(get)(column + v * lanes);
  }
  for (int64_t j = at; j < at + n; j++) {
    T *const x = F(at)(p, k, j);
    V y[VECTORS];
    UNROLL for (int v = 0; v < VECTORS; v++) y[v] = F(get)(x + v * lanes);
    UNROLL for (int c = 0; c + 1 < F(LEAF); c++) {
      const int part = c * PARTS;
      T w[PARTS];
      UNROLL for (int q = 0; q < PARTS; q++) {
        w[q] = y[part / lanes][part % lanes + q];
      }
      UNROLL for (int v = part / lanes; v < VECTORS; v++) {
        y[v] = F(minus)(y[v], w, F(as_factor)(l[c][v]), 1);
      }
    }
    UNROLL for (int v = 0; v < VECTORS; v++) F(put)(x + v * lanes, y[v]);
  }
}

/* The product with the numbers at (k, at), for n columns and k's. */
INLINE F(product) F(product_at)(const F(panel) *p, int64_t row, int64_t k,
                                int64_t at, int64_t count) {
  return (F(product)){F(at)(p, row, at), F(at)(p, row, k), F(at)(p, k, at),
                      p->next, PARTS, p->next, count, 1};
}

/* Rows [k, k + count) of columns [at, at + n); count is a multiple of LEAF. */
static void F(solve)(const F(panel) *p, int64_t k, int64_t count, int64_t at,
                     int64_t n) {
  if (count <= F(LEAF)) {
    F(solve_leaf)(p, k, at, n);
    return;
  }
  const int64_t half = (count / 2 + F(LEAF) - 1) / F(LEAF) * F(LEAF);
  F(solve)(p, k, half, at, n);
  F(subtract)(F(product_at)(p, k + half, k, at, half), count - half, n, false);
  F(solve)(p, k + half, count - half, at, n);
}

/* Columns [k, k + n). */
static void F(lu_columns)(const F(panel) *p, int64_t k, int64_t n) {
  if (n <= F(LEAF)) {
    for (int c = 0; c < n; c++) F(lu_column)(p, k, c, k + n);
    F(exchange)(p, k, n, 0, k);
    F(exchange)(p, k, n, k + n, p->n);
    return;
  }
  const int64_t half = (n / 2 + F(LEAF) - 1) / F(LEAF) * F(LEAF);
  const int64_t at = k + half;
  F(lu_columns)(p, k, half);
  F(solve)(p, k, half, at, n - half);
  F(subtract)(F(product_at)(p, at, k, at, half), p->m - at, n - half, false);
  F(lu_columns)(p, at, n - half);
}

static ST_LOOP_FN(F(lu_panel), st) {
  const F(panel) p = {(T *)(void *)data[0], st[3] / (int64_t)sizeof(T), n0, n1,
                      (int32_t *)(void *)data[1], (int32_t *)(void *)data[2]};
  *p.info = 0;
  F(lu_columns)(&p, 0, n1);
}

/* -- Cholesky ------------------------------------------------------------- */

/* Column k + c, of which the columns from k on were factored before. */
static bool F(cholesky_column)(const F(panel) *p, int64_t k, int c) {
  const int64_t at = k + c;
  T *const first = F(at)(p, at, at);
  F(lose)(p, at, at, c, F(at)(p, at, k), p->next, -1);
  if (!(*first > 0)) {
    *p->info = (int32_t)(at + 1);
    return false;
  }
  const T root[PARTS] = {M(sqrt)(*first)};
  F(divide_by_real)(first + PARTS, p->m - at - 1, *root);
  memcpy(first, root, sizeof root);
  return true;
}

static bool F(cholesky_columns)(const F(panel) *p, int64_t k, int64_t n) {
  if (n <= F(LEAF)) {
    for (int c = 0; c < n; c++) {
      if (!F(cholesky_column)(p, k, c)) return false;
    }
    return true;
  }
  const int64_t half = (n / 2 + F(LEAF) - 1) / F(LEAF) * F(LEAF);
  const int64_t at = k + half;
  if (!F(cholesky_columns)(p, k, half)) return false;
  F(product) d = F(product_at)(p, at, k, at, half);
  d.b = F(at)(p, at, k);
  d.row = p->next;
  d.col = PARTS;
  d.sign = -1;
  F(subtract)(d, p->m - at, n - half, true);
  return F(cholesky_columns)(p, at, n - half);
}

static ST_LOOP_FN(F(cholesky_panel), st) {
  const F(panel) p = {(T *)(void *)data[0], st[3] / (int64_t)sizeof(T), n0, n1,
                      (int32_t *)(void *)data[1], NULL};
  *p.info = 0;
  (void)F(cholesky_columns)(&p, 0, n1);
}
