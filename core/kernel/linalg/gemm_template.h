/* Matrix products of one dtype; included once for each, after macros:
 * PARTS: of an element, real and imaginary, each a T. N(name): the name of a
 * function or type. ROWS, EACH_ROWS(M): rows of a tile, at most and all. WIDE,
 * EACH_WIDE(M): those of a tile of four vectors, and these. NARROW: whether
 * there are tiles of half a vector.
 */

#define V F(v)
#define FMA F(FMA)
#define MASK F(MASK)
#define GET F(GET)
#define PUT F(PUT)
#define SIZE ((int64_t)sizeof(T) * PARTS)

/* How a sum x is stored: c = alpha x + beta add. */
typedef struct N(scale) {
  T alpha[PARTS], beta[PARTS];
  bool is_unscaled; /* alpha = 1, beta = 0 */
  bool adds;        /* beta != 0 */
} N(scale);

/* -- Numbers -------------------------------------------------------------- */

#if PARTS == 2
/* i x */
INLINE V N(turned)(V x) {
  typedef INT indices __attribute__((vector_size(BYTES)));
  static const T signs[2] = {-1, 1};
  V sign;
  for (int i = 0; i < BYTES / (int)sizeof(T); i++) sign[i] = signs[i % 2];
  return ST_SHUFFLE(indices, x, x, F(SWAPPED)) * sign;
}

INLINE V N(times)(V x, const T *by) {
  return by[1] == 0 ? x * by[0] : x * by[0] + N(turned)(x) * by[1];
}

INLINE V N(whole)(const V *x) { return x[0] + N(turned)(x[1]); }
#else
INLINE V N(times)(V x, const T *by) { return x * by[0]; }
INLINE V N(whole)(const V *x) { return x[0]; }
#endif

static N(scale) N(scale_of)(const st_gemm_ctx *w) {
  N(scale) s = {.is_unscaled = false};
#ifdef IS_WHOLE
  s.alpha[0] = (T)st__scalar_to_int(w->alpha);
  s.beta[0] = (T)st__scalar_to_int(w->beta);
#else
  double alpha[2], beta[2];
  st__scalar_to_complex(w->alpha, alpha);
  st__scalar_to_complex(w->beta, beta);
  for (int i = 0; i < PARTS; i++) {
    s.alpha[i] = (T)alpha[i];
    s.beta[i] = (T)beta[i];
  }
#endif
  s.is_unscaled = true;
  for (int i = 0; i < PARTS; i++) {
    s.is_unscaled &= s.alpha[i] == (i == 0);
    s.adds |= s.beta[i] != 0;
  }
  s.is_unscaled &= !s.adds;
  return s;
}

/* Stores a vector, or the first n of its numbers. */
INLINE void N(store)(char *c, const char *add, V x, const N(scale) *s,
                     int64_t n) {
  const T *from = (const T *)(const void *)add;
  const bool is_full = n == BYTES / (int64_t)sizeof(T);
  const F(mask) mask = MASK(n);
  if (!s->is_unscaled) x = N(times)(x, s->alpha);
  if (s->adds) {
    const V y = is_full ? *(const V *)(const void *)add : GET(from, mask);
    x += N(times)(y, s->beta);
  }
  if (is_full) *(V *)(void *)c = x;
  else PUT((T *)(void *)c, mask, x);
}

/* -- Tiles ---------------------------------------------------------------- */

INLINE void N(tile)(char *c, int64_t next, const operands *o,
                    const N(scale) *s, const int rows, const int vectors) {
  V sum[ROWS][4][PARTS] = {{{{0}}}};
  const int64_t row = o->row, col = o->col, step = o->next;
  const char *b = o->b, *a[(ROWS + 2) / 3];
  const char *ahead = o->is_far ? b + EARLY * step : NULL;
  UNROLL for (int r = 0; r < rows; r += 3) a[r / 3] = o->a + r * row;
  UNROLL for (int r = 0; r < rows; r++) {
    UNROLL for (int v = 0; v < vectors; v++) {
      __builtin_prefetch(c + r * next + v * BYTES, 1);
    }
  }
  for (int64_t i = 0; i < o->k; i++, b += step) {
    V x[4];
    if (ahead) {
      UNROLL for (int v = 0; v < vectors; v++) {
        __builtin_prefetch(ahead + v * BYTES);
      }
      ahead = i + EARLY + 1 == o->k ? o->b + vectors * BYTES : ahead + step;
    }
    if (rows == ROWS) __builtin_prefetch(a[0] + AHEAD);
    UNROLL for (int v = 0; v < vectors; v++) {
      x[v] = *(const V *)(const void *)(b + v * BYTES);
    }
    UNROLL for (int r = 0; r < rows; r++) {
      const T *at = (const T *)(const void *)(a[r / 3] + r % 3 * row);
      UNROLL for (int p = 0; p < PARTS; p++) {
        const V w = at[p] - (V){0};
        UNROLL for (int v = 0; v < vectors; v++) {
          sum[r][v][p] = FMA(w, x[v], sum[r][v][p]);
        }
      }
    }
    UNROLL for (int r = 0; r < rows; r += 3) a[r / 3] += col;
  }
  UNROLL for (int r = 0; r < rows; r++) {
    UNROLL for (int v = 0; v < vectors; v++) {
      N(store)(c + r * next + v * BYTES, o->add + r * o->add_next + v * BYTES,
               N(whole)(sum[r][v]), s,
               v + 1 < vectors ? BYTES / (int64_t)sizeof(T) : o->last);
    }
  }
}

#if NARROW
/* A tile of half a vector, which takes half the time where a processor splits
 * full ones. */
INLINE void N(narrow_tile)(char *c, int64_t next, const operands *o,
                           const N(scale) *s, const int rows) {
  F(narrow) sum[ROWS] = {{0}};
  const int64_t row = o->row, col = o->col, step = o->next;
  const char *b = o->b, *a[(ROWS + 2) / 3];
  UNROLL for (int r = 0; r < rows; r += 3) a[r / 3] = o->a + r * row;
  for (int64_t i = 0; i < o->k; i++, b += step) {
    const F(narrow) x = *(const F(narrow) *)(const void *)b;
    if (rows == ROWS) __builtin_prefetch(a[0] + AHEAD);
    UNROLL for (int r = 0; r < rows; r++) {
      const T *at = (const T *)(const void *)(a[r / 3] + r % 3 * row);
      sum[r] = F(FMA_NARROW)(*at - (F(narrow)){0}, x, sum[r]);
    }
    UNROLL for (int r = 0; r < rows; r += 3) a[r / 3] += col;
  }
  UNROLL for (int r = 0; r < rows; r++) {
    N(store)(c + r * next, o->add + r * o->add_next, F(WIDE)(sum[r]), s,
             o->last);
  }
}

#define NARROW_TILE(rows)                                                    \
  static void N(tile_##rows##_0)(char *c, int64_t next, const operands *o,   \
                                 const N(scale) *s) {                        \
    N(narrow_tile)(c, next, o, s, rows);                                     \
  }
EACH_ROWS(NARROW_TILE)
#endif

#define TILE(rows, vectors)                                                  \
  static void N(tile_##rows##_##vectors)(                                    \
    char *c, int64_t next, const operands *o, const N(scale) *s) {           \
    N(tile)(c, next, o, s, rows, vectors);                                   \
  }
#define TILES(rows) TILE(rows, 1) TILE(rows, 2)
EACH_ROWS(TILES)
EACH_WIDE(TILE)

typedef void (*N(run))(char *, int64_t, const operands *, const N(scale) *);

#if NARROW
#define ROW(n) [n] = {N(tile_##n##_0), N(tile_##n##_1), N(tile_##n##_2)},
#else
#define ROW(n) [n] = {N(tile_##n##_1), N(tile_##n##_1), N(tile_##n##_2)},
#endif
/* By rows; of half a vector, one and two. */
static const N(run) N(tiles)[ROWS + 1][3] = {EACH_ROWS(ROW)};
#undef ROW
#define WIDE_ROW(n, vectors) [n] = N(tile_##n##_##vectors),
static const N(run) N(wide_tiles)[WIDE + 1] = {EACH_WIDE(WIDE_ROW)};

/* `rows` rows of n elements, in panels; two at a time where b has them side by
 * side and there are few rows. */
static void N(panels)(char *c, int64_t next, operands o, int rows, int64_t n,
                      const N(scale) *s) {
  const int64_t most = WIDTH / SIZE;
  const bool is_wide = rows <= WIDE && o.panel == WIDTH;
  for (int64_t j = 0, taken; j < n; j += taken) {
    const int64_t left = n - j < most ? n - j : most;
    const int64_t first = left * SIZE > BYTES ? BYTES : 0;
    const int width = first > 0 ? 2 : left * SIZE > BYTES / 2;
    taken = is_wide && n - j >= 2 * most ? 2 * most : most;
    o.last = (left * SIZE - first) / (int64_t)sizeof(T);
    if (taken > most) N(wide_tiles)[rows](c, next, &o, s);
    else N(tiles)[rows][width](c, next, &o, s);
    c += taken * SIZE;
    o.add += taken * SIZE;
    o.b += taken / most * o.panel;
  }
}

/* m rows of n elements. */
static void N(rows)(char *c, int64_t next, operands o, int64_t m, int64_t n,
                    const N(scale) *s) {
  const int64_t all = m;
  for (int64_t rows; m > 0; m -= rows, c += rows * next) {
    rows = rows_of_tile(m, ROWS);
    if (o.tile != o.row) o.col = rows * SIZE;
    fetch(&o.ahead, all - m + rows, all);
    N(panels)(c, next, o, (int)rows, n, s);
    o.a += rows * o.tile;
    o.add += rows * o.add_next;
    o.is_far = false; /* the rows that follow find b in the cache */
  }
}

/* -- Copies --------------------------------------------------------------- */

/* n lines of k elements, `next` bytes apart, from elements st[1] and, along a
 * line, st[0] bytes apart. */
static void N(copy)(char *to, int64_t next, const char *from,
                    const int64_t *st, int64_t n, int64_t k,
                    st_loop transpose) {
  if (st[0] == SIZE) {
    for (int64_t i = 0; i < n; i++) {
      memcpy(to + i * next, from + i * st[1], (size_t)(k * SIZE));
    }
  } else if (st[1] == SIZE) {
    char *data[2] = {to, (char *)(uintptr_t)from};
    transpose(data, (int64_t[]){SIZE, st[0], next, SIZE}, k, n, NULL);
  } else {
    for (int64_t i = 0; i < n; i++) {
      for (int64_t j = 0; j < k; j++) {
        memcpy(to + i * next + j * SIZE, from + i * st[1] + j * st[0], SIZE);
      }
    }
  }
}

/* k rows of n adjacent elements, `next` bytes apart, as rows of a panel. */
static void N(pack_rows)(char *to, const char *b, int64_t next, int64_t n,
                         int64_t k) {
  if (n * SIZE == WIDTH) {
    for (int64_t i = 0; i < k; i++) memcpy(to + i * WIDTH, b + i * next, WIDTH);
    return;
  }
  const int64_t most = BYTES / (int64_t)sizeof(T), second = n * PARTS - most;
  const F(mask) masks[] = {MASK(second < 0 ? n * PARTS : most),
                           MASK(second < 0 ? 0 : second)};
  for (int64_t i = 0; i < k; i++, to += WIDTH, b += next) {
    for (int v = 0; v < 2; v++) {
      const T *from = (const T *)(const void *)(b + v * BYTES);
      *(V *)(void *)(to + v * BYTES) = GET(from, masks[v]);
    }
  }
}

/* A panel: k rows of n elements of b, WIDTH bytes apart; zeros fill them up. */
static void N(pack)(char *to, const char *b, const int64_t *st, int64_t n,
                    int64_t k, st_loop transpose) {
  if (st[2] == SIZE) {
    N(pack_rows)(to, b, st[5], n, k);
    return;
  }
  if (n * SIZE < WIDTH) memset(to, 0, (size_t)(k * WIDTH));
  N(copy)(to, WIDTH, b, (int64_t[]){st[2], st[5]}, k, n, transpose);
}

/* All panels of k rows of n0 elements, one after the other. */
static void N(pack_all)(char *to, const char *b, const int64_t *st, int64_t n0,
                        int64_t k, st_loop transpose) {
  const int64_t most = WIDTH / SIZE;
  for (int64_t j = 0, n; j < n0; j += n, to += k * WIDTH) {
    n = n0 - j < most ? n0 - j : most;
    if (j > 0 && k == DEPTH && st__stops()) return;
    N(pack)(to, b + j * st[2], st, n, k, transpose);
  }
}

/* The m rows of a block of a, the rows of each tile by turns, DEPTH times as
 * many elements apart. */
static void N(interleave)(char *to, const char *a, const int64_t *st,
                          int64_t m, int64_t k, st_loop transpose) {
  for (int64_t rows; m > 0; m -= rows, a += rows * st[4]) {
    rows = rows_of_tile(m, ROWS);
    N(copy)(to, rows * SIZE, a, (int64_t[]){st[4], st[1]}, k, rows, transpose);
    to += rows * DEPTH * SIZE;
  }
}

/* n columns of b, if they are to be packed in lines. */
static lines N(lines_of)(const char *b, const int64_t *st, int64_t j,
                         int64_t n, int64_t k) {
  if (n <= 0) return (lines){NULL, 0, 0, 0, 0};
  b += j * st[2];
  if (st[5] == SIZE) return (lines){b, n, st[2], k * SIZE, 0};
  if (st[2] == SIZE) return (lines){b, k, st[5], n * SIZE, 0};
  return (lines){NULL, 0, 0, 0, 0};
}

/* -- Blocks --------------------------------------------------------------- */

/* The product of a block of a, m rows of k elements, and k rows of b, whose
 * panels follow each other in `packed` if that is given. */
static void N(block)(char **data, const int64_t *st, int64_t n0, int64_t m,
                     operands *o, const N(scale) *s, const char *packed,
                     st_loop transpose) {
  _Alignas(64) char room[DEPTH * WIDTH];
  const int64_t k = o->k, wide = WIDTH / SIZE;
  const bool is_near = k * st[5] <= NEAR && k * st[5] > -NEAR;
  const bool in_place =
    !packed && st[2] == SIZE && (m < PACKED || (m < PACKED_NEAR && is_near));
  const int64_t most = in_place && m <= ROWS ? LONG : DEPTH / k * wide;
  const char *add = o->add;
  int64_t left = ST_PERIOD;
  for (int64_t j = 0, n; j < n0; j += n) {
    n = n0 - j < most ? n0 - j : most;
    if (j > 0 && st__stops_after(&left, m * k)) return;
    if (in_place && n > wide) n -= n % wide;
    const int64_t after = n0 - j - n < most ? n0 - j - n : most;
    const char *b = data[2] + j * st[2];
    o->next = WIDTH;
    o->panel = k * WIDTH;
    o->is_far = false;
    if (packed) {
      o->b = packed + j * SIZE * k;
      o->ahead = (lines){after > 0 ? o->b + n * SIZE * k : NULL, k,
                         after * SIZE, after * SIZE, 0};
    } else if (in_place && n % wide == 0) {
      o->b = b;
      o->next = st[5];
      o->panel = WIDTH;
      o->is_far = k * st[5] > FAR;
    } else {
      N(pack_all)(room, b, st, n, k, transpose);
      o->b = room;
      if (m >= FETCHED) {
        o->ahead = N(lines_of)(data[2], st, j + n, after, k);
      }
    }
    o->add = add + j * SIZE;
    N(rows)(data[0] + j * SIZE, st[3], *o, m, n, s);
  }
}

/* The products of all blocks of rows with k rows of b. */
static void N(blocks)(char **data, const int64_t *st, int64_t n0, int64_t n1,
                      int64_t k, const N(scale) *s, const st_gemm_ctx *w,
                      const char *row) {
  const int64_t most = st__gemm_rows(w->block, SIZE), width = WIDTH / SIZE;
  const bool copies_a = w->copies && (n0 > COPIED * width || st[1] != SIZE);
  char *packed = w->copies && n1 > most ? w->copies + most * DEPTH * SIZE
                                               : NULL;

  if (packed) N(pack_all)(packed, data[2], st, n0, k, w->transpose);
  for (int64_t r = 0, m; r < n1 && (r == 0 || !st__stops()); r += m) {
    char *at[3] = {data[0] + r * st[3], data[1] + r * st[4], data[2]};
    operands o = {at[1], NULL, st[4], st[1], st[4], 0, 0, k, 0,
                  row ? row : at[0], row ? 0 : st[3], false,
                  {NULL, 0, 0, 0, 0}};
    m = n1 - r < most ? n1 - r : most;
    if (copies_a) {
      N(interleave)(w->copies, at[1], st, m, k, w->transpose);
      o.a = w->copies;
      o.row = SIZE;
      o.tile = DEPTH * SIZE;
    }
    N(block)(at, st, n0, m, &o, s, packed, w->transpose);
  }
}

static ST_LOOP_FN(N(gemm), st) {
  const st_gemm_ctx *w = ctx;
  const int64_t most = w->copies ? ST_GEMM_COLUMNS / SIZE : n0;
  for (int64_t j = 0; j < n0 && (j == 0 || !st__stops()); j += most) {
    N(scale) s = N(scale_of)(w);
    const int64_t n = n0 - j < most ? n0 - j : most;
    for (int64_t i = 0; i < w->k && (i == 0 || !st__stops()); i += DEPTH) {
      char *at[3] = {data[0] + j * SIZE, data[1] + i * st[1],
                     data[2] + i * st[5] + j * st[2]};
      N(blocks)(at, st, n, n1, w->k - i < DEPTH ? w->k - i : DEPTH, &s, w,
                i == 0 && w->row ? w->row + j * SIZE : NULL);
      if (i > 0) continue;
      memset(s.beta, 0, sizeof s.beta);
      s.beta[0] = 1;
      s.adds = true;
      s.is_unscaled = false;
    }
  }
}
