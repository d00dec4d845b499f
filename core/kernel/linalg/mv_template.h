/* Products with a vector of one dtype; included once for each, after macros:
 * PARTS: of an element, real and imaginary, each a T. N(name): the name of a
 * function or type. If a has halves, WIDEN(from) makes a vector of
 * floats of them.
 */

#define V F(v)
#define MASK F(MASK)
#define GET F(GET)
#define SIZE ((int64_t)sizeof(T) * PARTS)
#define LANES (LINE / SIZE)
#define REALS (LINE / (int)sizeof(T))
#define NUMBERS (BYTES / (int)sizeof(T))
#define A_BYTES (NUMBERS * A_SIZE / PARTS)
/* The most columns of a narrow matrix, which a vector of rows takes one after
 * the other. With registers to spare, a partial sum may have several. */
#define NARROW (ST_VECTOR_REGISTERS > LANES * PARTS ? 4 * LANES : LANES)
#define BLOCK (ST_VECTOR_REGISTERS / 2 / PARTS)
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

/* The same where it happens once for many numbers. */
__attribute__((noinline))
static void N(halve_lanes)(T *x, int64_t n) { N(halve)(x, LANES, n); }

/* c = alpha sum + beta c */
typedef struct N(scale) {
  T alpha[2], beta[2];
  bool scales, adds; /* alpha != 1, beta != 0 */
} N(scale);

static N(scale) N(scale_of)(const st_mv_ctx *w) {
  double alpha[2], beta[2];
  st__scalar_to_complex(w->alpha, alpha);
  st__scalar_to_complex(w->beta, beta);
  N(scale) s = {{(T)alpha[0], (T)alpha[1]}, {(T)beta[0], (T)beta[1]}, 0, 0};
  s.scales = s.alpha[0] != 1 || (PARTS == 2 && s.alpha[1] != 0);
  s.adds = s.beta[0] != 0 || (PARTS == 2 && s.beta[1] != 0);
  return s;
}

INLINE void N(store)(char *c, const T *sum, const N(scale) *s) {
  const T *a = s->alpha, *b = s->beta;
  T *out = (T *)(void *)c;
#if PARTS == 2
  const T re = a[0] * sum[0] - a[1] * sum[1];
  const T im = a[0] * sum[1] + a[1] * sum[0];
  const T x = s->scales ? re : sum[0], y = s->scales ? im : sum[1];
  const T u = s->adds ? b[0] * out[0] - b[1] * out[1] : 0;
  const T v = s->adds ? b[0] * out[1] + b[1] * out[0] : 0;
  out[0] = s->adds ? x + u : x;
  out[1] = s->adds ? y + v : y;
#else
  const T x = s->scales ? a[0] * sum[0] : sum[0];
  out[0] = s->adds ? x + b[0] * out[0] : x;
#endif
}

/* The first n numbers of a vector of x, and zeros. */
INLINE V N(numbers)(const char *x, const int64_t n) {
  if (n >= NUMBERS) return *(const V *)(const void *)x;
  return GET((const T *)(const void *)x, MASK(n > 0 ? n : 0));
}

/* The same of a. */
INLINE V N(get)(const char *a, const int64_t n) {
#ifdef WIDEN
  char part[NUMBERS * A_SIZE] = {0};
  if (n < NUMBERS) a = memcpy(part, a, (size_t)(n > 0 ? n : 0) * A_SIZE);
  return WIDEN(a);
#else
  return N(numbers)(a, n);
#endif
}

/* -- Rows ----------------------------------------------------------------- */

/* The vectors of a line of x: of its parts in order and, if complex, of the
 * other parts. */
typedef struct N(line) { V x[VECTORS][PARTS]; } N(line);

INLINE N(line) N(load)(const char *x, const int64_t n) {
  N(line) l;
  UNROLL for (int v = 0; v < VECTORS; v++) {
    l.x[v][0] = N(numbers)(x + v * BYTES, n - v * NUMBERS);
#if PARTS == 2
    typedef INT indices __attribute__((vector_size(BYTES)));
    l.x[v][1] = ST_SHUFFLE(indices, l.x[v][0], l.x[v][0], F(SWAPPED));
#endif
  }
  return l;
}

/* Adds the products of n numbers of a line. */
INLINE void N(add)(V sum[VECTORS][PARTS], const char *a, const N(line) *x,
                   const int64_t n) {
  UNROLL for (int v = 0; v < VECTORS; v++) {
    const V y = N(get)(a + v * A_BYTES, n - v * NUMBERS);
    UNROLL for (int p = 0; p < PARTS; p++) sum[v][p] += y * x->x[v][p];
  }
}

/* Adds up the partial sums of n rows. */
INLINE void N(totals)(T (*out)[PARTS], V (*sum)[VECTORS][PARTS], const int n) {
#if PARTS == 2
  for (int r = 0; r < n; r++) {
    T x[PARTS][REALS];
    UNROLL for (int p = 0; p < PARTS; p++) {
      UNROLL for (int v = 0; v < VECTORS; v++) {
        memcpy((char *)x[p] + v * BYTES, &sum[r][v][p], BYTES);
      }
      N(halve)(x[p], LANES, PARTS);
    }
    out[r][0] = x[0][0] - x[0][1];
    out[r][1] = x[1][0] + x[1][1];
  }
#else
  V x[LINES];
  UNROLL for (int r = 0; r < n; r++) {
    UNROLL for (int h = VECTORS / 2; h > 0; h /= 2) {
      UNROLL for (int v = 0; v < h; v++) sum[r][v][0] += sum[r][v + h][0];
    }
    x[r] = sum[r][0][0];
  }
  F(sum_lanes)(x, n);
  memcpy(out, x, (size_t)n * sizeof(T));
#endif
}

/* n rows of k adjacent elements. */
INLINE void N(sum_rows)(T (*out)[PARTS], const char *a, int64_t row,
                        const char *x, int64_t k, const int n) {
  V sum[LINES][VECTORS][PARTS] = {{{{0}}}};
  int64_t i = 0;
  while (i + LANES <= k && !st__stops_at(i)) {
    for (const int64_t to = st__period_end(i, k); i + LANES <= to; i += LANES) {
      const N(line) y = N(load)(x + i * SIZE, REALS);
      UNROLL for (int r = 0; r < n; r++) {
        N(add)(sum[r], a + r * row + i * A_SIZE, &y, REALS);
      }
    }
  }
  if (i < k) {
    const int64_t left = k % LANES * PARTS;
    const N(line) y = N(load)(x + i * SIZE, left);
    UNROLL for (int r = 0; r < n; r++) {
      N(add)(sum[r], a + r * row + i * A_SIZE, &y, left);
    }
  }
  N(totals)(out, sum, n);
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
                       const N(scale) *s) {
  T sum[LINES][PARTS];
  int64_t left = ST_PERIOD;
  for (int64_t i = 0, n; i < m; i += n) {
    const char *a = data[1] + i * st[4];
    n = m - i >= LINES ? LINES : 1;
    (n == LINES ? N(all_lines) : N(one_line))(sum, a, st[4], data[2], k);
    if (st__stops_after(&left, (k + LANES) * n)) return;
    for (int64_t r = 0; r < n; r++) {
      N(store)(data[0] + (i + r) * st[3], sum[r], s);
    }
  }
}

/* -- Columns -------------------------------------------------------------- */

/* Partial sums of the numbers in a vector of rows. */
typedef V N(sums)[LANES][PARTS];

/* For `= {0}` the compiler would write them all to memory (rep stos). */
INLINE void N(clear)(V (*s)[PARTS], const int lanes) {
  UNROLL for (int l = 0; l < lanes; l++) {
    UNROLL for (int p = 0; p < PARTS; p++) s[l][p] = (V){0};
  }
}

/* Adds a column, times an element of x. */
INLINE void N(add_column)(V *sum, const char *a, const char *x,
                          const int64_t n) {
  const T *by = (const T *)(const void *)x;
  const V y = N(get)(a, n);
  UNROLL for (int p = 0; p < PARTS; p++) sum[p] += y * by[p];
}

INLINE void N(add_up)(V (*s)[PARTS], const int lanes) {
  UNROLL for (int h = lanes / 2; h > 0; h /= 2) {
    UNROLL for (int l = 0; l < h; l++) {
      UNROLL for (int p = 0; p < PARTS; p++) s[l][p] += s[l + h][p];
    }
  }
}

/* The sums of n numbers over some of all columns: from the partial sums so far
 * or from zero, to partial sums or to the sums themselves. Fetches what is
 * `ahead` bytes on. */
INLINE void N(sum_strip)(N(sums) *sums, const columns *o, int64_t n,
                         int64_t ahead) {
  N(sums) s;
  const char *a = o->a, *x = o->x;
  const int64_t col = o->col;
  int64_t left = o->k;
  if (o->is_first) N(clear)(s, LANES);
  else memcpy(s, *sums, sizeof s);
  for (; left >= LANES; left -= LANES, x += LANES * SIZE) {
    UNROLL for (int l = 0; l < LANES; l++, a += col) {
      __builtin_prefetch(a + ahead, 0, 2);
      N(add_column)(s[l], a, x + l * SIZE, n);
    }
  }
  UNROLL for (int l = 0; l < LANES; l++, a += col) {
    if (l < left) N(add_column)(s[l], a, x + l * SIZE, n);
  }
  if (o->is_last) {
    N(add_up)(s, LANES);
    memcpy(*sums, s, sizeof *s);
  } else {
    memcpy(*sums, s, sizeof s);
  }
}

/* The sums of m rows, CHUNK columns at a time; zeros of no columns. */
static void N(sum_strips)(N(sums) *sums, const columns *o) {
  const int64_t m = o->m * PARTS, all = (m + NUMBERS - 1) / NUMBERS;
  columns strip = *o;
  int64_t i = 0;
  do {
    strip.k = o->k - i < CHUNK ? o->k - i : CHUNK;
    strip.a = o->a + i * o->col;
    strip.x = o->x + i * SIZE;
    strip.is_first = i == 0;
    strip.is_last = i + strip.k == o->k;
    for (int64_t v = 0; v < all; v++, strip.a += A_BYTES) {
      const int64_t left = m - v * NUMBERS;
      const int64_t ahead = strip.k * o->col;
      if (left >= NUMBERS) N(sum_strip)(sums + v, &strip, NUMBERS, ahead);
      else N(sum_strip)(sums + v, &strip, left, ahead);
    }
    i += strip.k;
  } while (i < o->k && !st__stops());
}

/* The sums of `vectors` vectors of rows, `lanes` partial sums of each at a
 * time. Fetches what is `ahead` bytes on, if anything. */
INLINE void N(sum_block)(N(sums) *sums, const columns *o, int64_t ahead,
                         const int vectors, const int lanes) {
  const int64_t col = o->col, k = o->k;
  for (int l = 0; l < LANES && !(k > CHUNK && st__stops()); l += lanes) {
    V s[BLOCK][4][PARTS];
    const char *a = o->a + l * col;
    UNROLL for (int v = 0; v < vectors; v++) N(clear)(s[v], lanes);
    for (int64_t j = l; j < k; j += LANES, a += (LANES - lanes) * col) {
      UNROLL for (int i = 0; i < lanes; i++, a += col) {
        UNROLL for (int v = 0; v < vectors; v++) {
          const char *at = a + v * A_BYTES, *x = o->x + (j + i) * SIZE;
          if (ahead) __builtin_prefetch(at + ahead, 0, 2);
          if (i == 0 || j + i < k) N(add_column)(s[v][i], at, x, NUMBERS);
        }
      }
    }
    UNROLL for (int v = 0; v < vectors; v++) {
      UNROLL for (int i = 0; i < lanes; i++) {
        UNROLL for (int p = 0; p < PARTS; p++) sums[v][l + i][p] = s[v][i][p];
      }
    }
  }
  for (int v = 0; v < vectors; v++) N(add_up)(sums[v], LANES);
}

static void N(sum_most)(N(sums) *sums, const columns *o, int64_t ahead) {
  N(sum_block)(sums, o, ahead, BLOCK, 1);
}

static void N(sum_few)(N(sums) *sums, const columns *o, int64_t ahead) {
  N(sum_block)(sums, o, ahead, BLOCK / 4, 4);
}

/* The sums of n numbers over the columns of a narrow matrix, from the first
 * `lanes` partial sums: no column belongs to another one. last: the elements of
 * x for the last LANES columns or fewer, then zeros. */
INLINE void N(sum_vector)(V *sum, const char *a, const columns *o,
                          const T *last, int64_t n, const int lanes) {
  const V none = {0};
  const int64_t col = o->col, left = (o->k - 1) % LANES + 1;
  const char *x = o->x;
  N(sums) s;
  N(clear)(s, lanes);
  if (lanes == LANES) {
    for (int64_t i = left; i < o->k; i += LANES, x += LANES * SIZE) {
      UNROLL for (int l = 0; l < LANES; l++, a += col) {
        N(add_column)(s[l], a, x + l * SIZE, n);
      }
    }
  }
  UNROLL for (int l = 0; l < lanes; l++, a += col) {
    const char *at = l < left ? a : (const char *)&none;
    N(add_column)(s[l], at, (const char *)(last + l * PARTS), n);
  }
  N(add_up)(s, lanes);
  memcpy(sum, s, sizeof *s);
}

INLINE void N(sum_vectors)(N(sums) *sums, const columns *o, const int lanes) {
  const int64_t m = o->m * PARTS, left = (o->k - 1) % LANES + 1;
  const char *a = o->a;
  T last[LANES * PARTS] = {0};
  int64_t i = 0;
  memcpy(last, o->x + (o->k - left) * SIZE, (size_t)(left * SIZE));
  for (; i + NUMBERS <= m; i += NUMBERS, sums++, a += A_BYTES) {
    N(sum_vector)(**sums, a, o, last, NUMBERS, lanes);
  }
  if (i < m) N(sum_vector)(**sums, a, o, last, m - i, lanes);
}

static void N(sum_narrow)(N(sums) *sums, const columns *o) {
  if (o->k <= LANES / 4) N(sum_vectors)(sums, o, LANES / 4);
  else if (o->k <= LANES / 2) N(sum_vectors)(sums, o, LANES / 2);
  else N(sum_vectors)(sums, o, LANES);
}

/* n elements of c, `next` bytes apart, of their sums. */
__attribute__((noinline))
static void N(store_all)(char *c, int64_t next, N(sums) *sums, int64_t n,
                         const N(scale) *s) {
#if PARTS == 1
  if (!s->scales && !s->adds && next == SIZE) {
    for (; n > 0; n -= NUMBERS, sums++, c += BYTES) {
      memcpy(c, (*sums)[0], (size_t)(n < NUMBERS ? n * SIZE : BYTES));
    }
    return;
  }
#endif
  for (int64_t r = 0; r < n; r++, c += next) {
    const V *sum = sums[r * PARTS / NUMBERS][0];
    const int64_t at = r * PARTS % NUMBERS;
#if PARTS == 2
    const T x[2] = {sum[0][at] - sum[1][at + 1], sum[0][at + 1] + sum[1][at]};
#else
    const T x[1] = {sum[0][at]};
#endif
    N(store)(c, x, s);
  }
}

/* -- Tall columns --------------------------------------------------------- */

/* Adds n numbers of `count` columns of one partial sum, times elements of x. */
INLINE void N(add_some)(V *sum, const char *a, const columns *o, int64_t n,
                        const int count) {
  V s[PARTS];
  UNROLL for (int p = 0; p < PARTS; p++) s[p] = sum[p];
  UNROLL for (int c = 0; c < count; c++, a += LANES * o->col) {
    __builtin_prefetch(a + FETCHED, 0, 3);
    N(add_column)(s, a, o->x + c * LANES * SIZE, n);
  }
  UNROLL for (int p = 0; p < PARTS; p++) sum[p] = s[p];
}

/* The same of all numbers in a column. */
INLINE void N(add_tall)(V *sum, const columns *o, const int count) {
  const int64_t m = o->m * PARTS;
  const char *a = o->a;
  int64_t i = 0;
  for (; i + NUMBERS <= m; i += NUMBERS, sum += PARTS, a += A_BYTES) {
    N(add_some)(sum, a, o, NUMBERS, count);
  }
  columns one = *o;
  for (int c = 0; c < count && i < m; c++, one.x += LANES * SIZE) {
    N(add_some)(sum, a + c * LANES * o->col, &one, m - i, 1);
  }
}

static void N(add_eight)(V *s, const columns *o) { N(add_tall)(s, o, 8); }

static void N(add_two)(V *s, const columns *o) { N(add_tall)(s, o, 2); }

static void N(add_one)(V *s, const columns *o) { N(add_tall)(s, o, 1); }

/* Partial sums of all rows, in memory: LANES times as many vectors as a column
 * has. */
static void N(sum_tall)(V *sum, int64_t vectors, const columns *all) {
  memset(sum, 0, (size_t)(LANES * vectors * PARTS * BYTES));
  for (int64_t i = 0, n; i < all->k && !st__stops(); i += n * LANES) {
    const int64_t left = all->k - i;
    n = left >= 8 * LANES ? 8 : left >= 2 * LANES ? 2 : 1;
    for (int64_t l = 0; l < LANES && l < left; l++) {
      const columns o = {all->a + (i + l) * all->col,
                         all->x + (i + l) * SIZE, all->col, all->m, n, 0, 0};
      V *at = sum + l * vectors * PARTS;
      (n == 8 ? N(add_eight) : n == 2 ? N(add_two) : N(add_one))(at, &o);
    }
  }
}

/* The sums of n rows, stored in c, `next` bytes apart. */
static void N(store_tall)(char *c, int64_t next, const V *sum, int64_t vectors,
                          int64_t n, const N(scale) *s) {
  for (int64_t left = n; left > 0; left -= NUMBERS / PARTS, sum += PARTS) {
    T x[LANES][PARTS * NUMBERS];
    for (int l = 0; l < LANES; l++) {
      memcpy(x[l], sum + l * vectors * PARTS, sizeof *x);
    }
    N(halve_lanes)(*x, PARTS * NUMBERS);
    N(store_all)(c, next, (N(sums) *)(void *)x,
                 left < NUMBERS / PARTS ? left : NUMBERS / PARTS, s);
    c += NUMBERS / PARTS * next;
  }
}

static void N(by_tall_columns)(char **data, const int64_t *st, int64_t k,
                               int64_t m, const st_mv_ctx *w,
                               const N(scale) *s) {
  V *sum = (V *)(void *)w->sums;
  for (int64_t i = 0, n; i < m; i += n) {
    n = m - i < w->rows ? m - i : w->rows;
    const columns o = {data[1] + i * A_SIZE, data[2], st[1], n, k, 0, 0};
    const int64_t vectors = (n * PARTS + NUMBERS - 1) / NUMBERS;
    N(sum_tall)(sum, vectors, &o);
    if (st__stops()) return;
    N(store_tall)(data[0] + i * st[3], st[3], sum, vectors, n, s);
  }
}

#if PARTS == 1 && ST_VECTOR_BYTES >= 32
#include "kernel/linalg/mv_adjacent_template.h"
#endif

static void N(by_columns)(char **data, const int64_t *st, int64_t k,
                          int64_t m, const N(scale) *s) {
  enum { MOST = BLOCK * NUMBERS / PARTS, FEW = MOST / 4 };
  const int64_t far = FETCHED_COLUMNS * LANES;
  const int64_t next = k > far ? far * st[1] : BLOCK * A_BYTES;
  const int64_t ahead = k * st[1] > LARGE ? next : 0;
  const bool is_narrow = k > 0 && k <= NARROW;
  N(sums) sums[BLOCK];
  for (int64_t i = 0, n; i < m && (i == 0 || !st__stops()); i += n) {
    n = m - i >= MOST ? MOST : m - i >= FEW && !is_narrow ? FEW : m - i;
    const columns o = {data[1] + i * A_SIZE, data[2], st[1], n, k, 0, 0};
    if (is_narrow) N(sum_narrow)(sums, &o);
    else if (n == MOST) N(sum_most)(sums, &o, ahead);
    else if (n == FEW) N(sum_few)(sums, &o, ahead);
    else N(sum_strips)(sums, &o);
    N(store_all)(data[0] + i * st[3], st[3], sums, n, s);
  }
}

static ST_LOOP_FN(N(mv), st) {
  const st_mv_ctx *w = ctx;
  const N(scale) s = N(scale_of)(w);
#if PARTS == 1 && ST_VECTOR_BYTES >= 32
  if (N(by_adjacent)(data, st, n0, n1, &s)) return;
#endif
  if (w->sums && n0 > 0) N(by_tall_columns)(data, st, n0, n1, w, &s);
  else (st[1] == A_SIZE ? N(by_rows) : N(by_columns))(data, st, n0, n1, &s);
}

#undef NARROW
#undef A_SIZE
