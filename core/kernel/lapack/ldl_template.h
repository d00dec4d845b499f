/* LDL factors of one dtype; included once for each.
 */

enum { F(LANES) = BYTES / SIZE };

/* What is factored: m rows of a, and of w, whose columns are `next` and `wide`
 * parts apart. */
typedef struct F(ldl) {
  T *a, *w;
  int64_t next, wide, m;
  int32_t *pivots;
  bool hermitian;
} F(ldl);

INLINE T *F(at)(const F(ldl) *s, int64_t row, int64_t col) {
  return s->a + row * PARTS + col * s->next;
}

INLINE T *F(w_at)(const F(ldl) *s, int64_t row, int64_t col) {
  return s->w + row * PARTS + col * s->wide;
}

/* -- Numbers -------------------------------------------------------------- */

typedef struct F(one) { T x[PARTS]; } F(one);

INLINE F(one) F(load)(const T *p) {
  F(one) a;
  memcpy(&a, p, sizeof a);
  return a;
}

INLINE void F(store)(T *p, F(one) a) { memcpy(p, &a, sizeof a); }

INLINE F(one) F(conjugate)(F(one) a) {
#if PARTS == 2
  a.x[1] = -a.x[1];
#endif
  return a;
}

INLINE F(one) F(real)(F(one) a) {
#if PARTS == 2
  a.x[1] = 0;
#endif
  return a;
}

INLINE F(one) F(times)(F(one) a, F(one) b) {
#if PARTS == 2
  return (F(one)){{a.x[0] * b.x[0] - a.x[1] * b.x[1],
                   a.x[0] * b.x[1] + a.x[1] * b.x[0]}};
#else
  return (F(one)){{a.x[0] * b.x[0]}};
#endif
}

INLINE F(one) F(less)(F(one) a, F(one) b) {
  UNROLL for (int q = 0; q < PARTS; q++) a.x[q] -= b.x[q];
  return a;
}

/* What a / d needs of d. */
typedef struct F(divisor) { F(one) by; T scale; } F(divisor);

INLINE F(divisor) F(as_divisor)(F(one) d) {
  F(divisor) v = {d, 1};
#if PARTS == 2
  F(invert)(d.x, v.by.x, &v.scale);
#endif
  return v;
}

INLINE F(one) F(over)(F(one) a, F(divisor) d) {
#if PARTS == 2
  a = F(times)(a, d.by);
  a.x[0] *= d.scale, a.x[1] *= d.scale;
#else
  a.x[0] /= d.by.x[0];
#endif
  return a;
}

/* A block of two rows of D: below its diagonal is `off`, on it `first` and
 * `second`. By how much numbers are multiplied, as LAPACK's functions do. */
typedef struct F(pair) {
  F(one) first, second, factor;
  F(divisor) left, right; /* off, conjugated if Hermitian, and off */
} F(pair);

static F(pair) F(as_pair)(F(one) first, F(one) off, F(one) second,
                          bool hermitian) {
  const F(one) one = {{1}}, left = hermitian ? F(conjugate)(off) : off;
  F(pair) p = {.left = F(as_divisor)(left), .right = F(as_divisor)(off)};
  p.first = F(over)(first, p.left);
  p.second = F(over)(second, p.right);
  F(one) d = F(less)(F(times)(p.first, p.second), one);
  if (hermitian) d = F(real)(d);
  p.factor = F(over)(one, F(as_divisor)(d));
  return p;
}

/* -- Columns -------------------------------------------------------------- */

/* VECTORS of x lose the products of `count` columns of l and the numbers at w,
 * w + step ..., conjugated if sign is -1. */
INLINE void F(lose_vectors)(const F(ldl) *s, T *x, const T *l, int64_t count,
                            const T *w, const int vectors) {
  const int lanes = BYTES / (int)sizeof(T);
  const T sign = s->hermitian ? -1 : 1;
  V y[VECTORS];
  UNROLL for (int v = 0; v < vectors; v++) y[v] = F(get)(x + v * lanes);
  for (int64_t k = 0; k < count; k++, l += s->next, w += s->wide) {
    UNROLL for (int v = 0; v < vectors; v++) {
      y[v] = F(minus)(y[v], w, F(as_factor)(F(get)(l + v * lanes)), sign);
    }
  }
  UNROLL for (int v = 0; v < vectors; v++) F(put)(x + v * lanes, y[v]);
}

/* Column `to` of W becomes column `from` of what is left of the matrix when the
 * columns before c are factored. */
static void F(find_column)(const F(ldl) *s, int64_t from, int64_t c,
                           int64_t to) {
  T *const x = F(w_at)(s, 0, to), *const middle = x + from * PARTS;
  for (int64_t i = c; i < from; i++) {
    const F(one) y = F(load)(F(at)(s, from, i));
    F(store)(x + i * PARTS, s->hermitian ? F(conjugate)(y) : y);
  }
  memcpy(middle, F(at)(s, from, from), (size_t)((s->m - from) * SIZE));
  int64_t i = c;
  for (; s->m - i >= VECTORS * F(LANES); i += VECTORS * F(LANES)) {
    F(lose_vectors)(s, x + i * PARTS, F(at)(s, i, 0), c, F(w_at)(s, from, 0),
                    VECTORS);
  }
  for (; i < s->m; i += F(LANES)) {
    F(lose_vectors)(s, x + i * PARTS, F(at)(s, i, 0), c, F(w_at)(s, from, 0),
                    1);
  }
  if (s->hermitian) F(store)(middle, F(real)(F(load)(middle)));
}

/* The first of the largest numbers of x in [from, to), or from; its size. */
static int64_t F(find_largest)(const T *x, int64_t from, int64_t to,
                               T *size) {
  int64_t at = from;
  T most = 0;
  _Pragma("omp simd reduction(max:most)")
  for (int64_t i = from; i < to; i++) {
    const T y = F(size_of)(x + i * PARTS);
    most = y > most ? y : most;
  }
  while (at < to && F(size_of)(x + at * PARTS) != most) at++;
  *size = most;
  return at < to ? at : from;
}

static void F(swap_rows)(T *x, int64_t next, int64_t one, int64_t other,
                         int64_t count) {
  for (int64_t c = 0; c < count; c++, x += next) {
    const F(one) y = F(load)(x + one * PARTS);
    F(store)(x + one * PARTS, F(load)(x + other * PARTS));
    F(store)(x + other * PARTS, y);
  }
}

/* Rows and columns k and `other`, which is behind k, change places, in the
 * `count` factored columns of a too, and in those of w up to column k. Column k
 * is not read any more. */
static void F(exchange)(const F(ldl) *s, int64_t k, int64_t other,
                        int64_t count) {
  if (k == other) return;
  F(store)(F(at)(s, other, other), F(load)(F(at)(s, k, k)));
  for (int64_t i = k + 1; i < other; i++) {
    const F(one) y = F(load)(F(at)(s, i, k));
    F(store)(F(at)(s, other, i), s->hermitian ? F(conjugate)(y) : y);
  }
  memcpy(F(at)(s, other, other) + PARTS, F(at)(s, other, k) + PARTS,
         (size_t)((s->m - other - 1) * SIZE));
  F(swap_rows)(s->a, s->next, k, other, count);
  F(swap_rows)(s->w, s->wide, k, other, k + 1);
}

/* -- Factors -------------------------------------------------------------- */

/* Chooses rows for the place c: *other is the one that the last of 1 or 2 rows,
 * which it returns, is exchanged with. W gets their columns. J. R. Bunch,
 * L. Kaufman, "Some stable methods for calculating inertia and solving
 * symmetric linear systems", Math. Comp. 31, 1977. */
static int F(choose)(const F(ldl) *s, int64_t c, int64_t *other) {
  const T alpha = (T)0.640388203202207703; /* (1 + sqrt(17)) / 8 */
  T *const x = F(w_at)(s, 0, c), *const y = x + s->wide;
  T column = 0, row = 0, rest = 0;
  F(find_column)(s, c, c, c);
  *other = c;
  const T here = F(size_of)(x + c * PARTS);
  const int64_t at = F(find_largest)(x, c + 1, s->m, &column);
  if (!(here < alpha * column)) return 1;
  F(find_column)(s, at, c, c + 1);
  F(find_largest)(y, c, at, &row);
  F(find_largest)(y, at + 1, s->m, &rest);
  row = rest > row ? rest : row;
  if (here >= alpha * column * (column / row)) return 1;
  *other = at;
  if (!(F(size_of)(y + at * PARTS) >= alpha * row)) return 2;
  memcpy(x + c * PARTS, y + c * PARTS, (size_t)((s->m - c) * SIZE));
  return 1;
}

/* Column c of L from that of W; returns whether D has a zero there. */
static bool F(factor_one)(const F(ldl) *s, int64_t c) {
  T *const a = F(at)(s, 0, c);
  const T *const x = F(w_at)(s, 0, c);
  const bool is_zero = F(size_of)(x + c * PARTS) == 0;
  const F(one) pivot = F(load)(x + c * PARTS), one = {{1}};
  const F(divisor) d = F(as_divisor)(is_zero ? one : pivot);
  F(store)(a + c * PARTS, pivot);
  for (int64_t i = (c + 1) * PARTS; i < s->m * PARTS; i += PARTS) {
    F(store)(a + i, F(over)(F(load)(x + i), d));
  }
  return is_zero;
}

/* Columns c and c + 1. */
static void F(factor_two)(const F(ldl) *s, int64_t c) {
  const T *const x = F(w_at)(s, 0, c), *const y = x + s->wide;
  T *const a = F(at)(s, 0, c), *const b = a + s->next;
  const int64_t k = c * PARTS, l = k + PARTS;
  const F(pair) p = F(as_pair)(F(load)(x + k), F(load)(x + l), F(load)(y + l),
                               s->hermitian);
  F(store)(a + k, F(load)(x + k));
  F(store)(a + l, F(load)(x + l));
  F(store)(b + l, F(load)(y + l));
  for (int64_t i = l + PARTS; i < s->m * PARTS; i += PARTS) {
    const F(one) u = F(load)(x + i), v = F(load)(y + i);
    const F(one) one = F(less)(F(times)(p.second, u), v);
    const F(one) two = F(less)(F(times)(p.first, v), u);
    F(store)(a + i, F(times)(F(over)(one, p.left), p.factor));
    F(store)(b + i, F(times)(F(over)(two, p.right), p.factor));
  }
}

static ST_LOOP_FN(F(ldl_panel), st) {
  const int64_t size = sizeof(T);
  const F(ldl) s = {(T *)(void *)data[0], (T *)(void *)data[1], st[0] / size,
                    st[1] / size, n0, (int32_t *)(void *)data[2],
                    *(const bool *)ctx};
  int32_t *const info = (int32_t *)(void *)data[3];
  const int64_t end = n0 > n1 ? n1 - 1 : n0;
  int64_t c = 0, other;
  *info = 0;
  while (c < end) {
    const int n = F(choose)(&s, c, &other);
    F(exchange)(&s, c + n - 1, other, c);
    if (n == 2) {
      F(factor_two)(&s, c);
    } else if (F(factor_one)(&s, c) && *info == 0) {
      *info = (int32_t)c + 1;
    }
    for (int i = 0; i < n; i++) {
      s.pivots[c + i] = (int32_t)(n == 2 ? -other - 1 : other + 1);
    }
    c += n;
  }
  info[1] = (int32_t)c;
#if PARTS == 2
  for (int64_t k = 0; k < c && s.hermitian; k++) {
    T *const x = F(w_at)(&s, 0, k);
    for (int64_t i = c; i < n0; i++) x[2 * i + 1] = -x[2 * i + 1];
  }
#endif
}

/* -- Equations ------------------------------------------------------------ */

static ST_LOOP_FN(F(ldl_diagonal), st) {
  const int64_t next = st[0] / (int64_t)sizeof(T);
  const F(ldl) s = {.a = (T *)(void *)data[1],
                    .next = st[1] / (int64_t)sizeof(T),
                    .pivots = (int32_t *)(void *)data[2],
                    .hermitian = *(const bool *)ctx};
  for (int64_t k = 0; k < n0; k++) {
    T *x = (T *)(void *)data[0] + k * PARTS;
    const bool is_pair = s.pivots[k] < 0;
    F(one) first = F(load)(F(at)(&s, k, k));
    if (s.hermitian) first = F(real)(first);
    if (!is_pair) {
      const F(divisor) d = F(as_divisor)(first);
      for (int64_t c = 0; c < n1; c++, x += next) {
        F(store)(x, F(over)(F(load)(x), d));
      }
      continue;
    }
    F(one) second = F(load)(F(at)(&s, k + 1, k + 1));
    if (s.hermitian) second = F(real)(second);
    const F(pair) p = F(as_pair)(first, F(load)(F(at)(&s, k + 1, k)), second,
                                 s.hermitian);
    for (int64_t c = 0; c < n1; c++, x += next) {
      const F(one) u = F(over)(F(load)(x), p.left);
      const F(one) v = F(over)(F(load)(x + PARTS), p.right);
      F(store)(x, F(times)(F(less)(F(times)(p.second, u), v), p.factor));
      F(store)(x + PARTS,
               F(times)(F(less)(F(times)(p.first, v), u), p.factor));
    }
    k++;
  }
}

/* -- Equations with few columns ------------------------------------------- */

/* x loses n numbers l times the one at w. */
static void F(lose_column)(T *x, const T *l, int64_t n, const T *w) {
  int64_t i = 0;
  for (; n - i >= F(LANES); i += F(LANES)) {
    const F(factor) y = F(as_factor)(F(get)(l + i * PARTS));
    F(put)(x + i * PARTS, F(minus)(F(get)(x + i * PARTS), w, y, 1));
  }
  for (; i < n; i++) F(minus_one)(x + i * PARTS, w, l + i * PARTS, 1);
}

/* Sums of products, a line of 64 bytes wide: of parts with the same ones and,
 * of complex numbers, with the other ones. */
typedef struct F(sums) { V same[64 / BYTES], other[64 / BYTES]; } F(sums);

INLINE void F(add_line)(F(sums) *s, const T *l, const T *x) {
  const int lanes = BYTES / (int)sizeof(T);
  UNROLL for (int v = 0; v < 64 / BYTES; v++) {
    const V a = F(get)(l + v * lanes), b = F(get)(x + v * lanes);
    s->same[v] = FMA(a, b, s->same[v]);
#if PARTS == 2
    s->other[v] = FMA(a, F(exchanged)(b), s->other[v]);
#endif
  }
}

/* The sum of what stands at multiples of PARTS from `from` on. */
INLINE T F(sum_of)(const V *line, int from) {
  T x[64 / sizeof(T)];
  memcpy(x, line, sizeof x);
  for (int n = 64 / (int)sizeof(T); n > PARTS; n /= 2) {
    for (int i = 0; i < n / 2; i++) x[i] += x[i + n / 2];
  }
  return x[from];
}

/* The number at to loses the products of n numbers l, which are conjugated if
 * Hermitian, and x. */
static void F(lose_dot)(const F(ldl) *s, T *to, const T *l, const T *x,
                        int64_t n) {
  enum { LINE_NUMBERS = 64 / SIZE };
  F(sums) all = {{{0}}, {{0}}};
  T rest[2][64 / sizeof(T)] = {{0}, {0}};
  int64_t i = 0;
  for (; n - i >= LINE_NUMBERS; i += LINE_NUMBERS) {
    F(add_line)(&all, l + i * PARTS, x + i * PARTS);
  }
  memcpy(rest[0], l + i * PARTS, (size_t)((n - i) * SIZE));
  memcpy(rest[1], x + i * PARTS, (size_t)((n - i) * SIZE));
  F(add_line)(&all, rest[0], rest[1]);
#if PARTS == 2
  const T sign = s->hermitian ? -1 : 1;
  to[0] -= F(sum_of)(all.same, 0) - sign * F(sum_of)(all.same, 1);
  to[1] -= F(sum_of)(all.other, 0) + sign * F(sum_of)(all.other, 1);
#else
  (void)s;
  to[0] -= F(sum_of)(all.same, 0);
#endif
}

/* The rows of the block that begins, or ends, with row k. */
INLINE int F(rows_at)(const F(ldl) *s, int64_t k) {
  return s->pivots[k] < 0 ? 2 : 1;
}

/* The last row of a block and the one that its pivot says change places. */
static void F(swap_last)(const F(ldl) *s, int64_t k, int64_t n) {
  const int64_t last = k + F(rows_at)(s, k) - 1;
  const int64_t pivot = s->pivots[k];
  F(swap_rows)(s->w, s->wide, last, (pivot < 0 ? -pivot : pivot) - 1, n);
}

static ST_LOOP_FN(F(ldl_solve), st) {
  const int64_t size = sizeof(T);
  const F(ldl) s = {(T *)(void *)data[1], (T *)(void *)data[0], st[1] / size,
                    st[0] / size, n0, (int32_t *)(void *)data[2],
                    *(const bool *)ctx};
  for (int64_t k = 0, end; k < n0; k = end) {
    F(swap_last)(&s, k, n1);
    end = k + F(rows_at)(&s, k);
    for (int64_t c = 0; c < n1; c++) {
      for (int64_t i = k; i < end; i++) {
        F(lose_column)(F(w_at)(&s, end, c), F(at)(&s, end, i), n0 - end,
                       F(w_at)(&s, i, c));
      }
    }
  }
  F(ldl_diagonal)(data, st, n0, n1, ctx);
  for (int64_t end = n0, k; end > 0; end = k) {
    k = end - F(rows_at)(&s, end - 1);
    for (int64_t c = 0; c < n1; c++) {
      for (int64_t i = k; i < end; i++) {
        F(lose_dot)(&s, F(w_at)(&s, i, c), F(at)(&s, end, i),
                    F(w_at)(&s, end, c), n0 - end);
      }
    }
    F(swap_last)(&s, k, n1);
  }
}
