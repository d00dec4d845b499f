/* Matrix products of one dtype; included once for each.
 * V: a vector. FMA: a b + c of vectors. MASK, GET, PUT: of a part of a vector.
 */

#define V F(v)
#define FMA F(FMA)
#define MASK F(MASK)
#define GET F(GET)
#define PUT F(PUT)
#define SIZE ((int64_t)sizeof(T))

/* How a sum x is stored: c = alpha x + beta add. */
typedef struct F(scale) {
  T alpha, beta;
  bool is_unscaled; /* alpha = 1, beta = 0 */
} F(scale);

INLINE void F(store)(char *c, const char *add, V x, const F(scale) *s) {
  if (!s->is_unscaled) {
    x *= s->alpha;
    if (s->beta != 0) x += s->beta * *(const V *)(const void *)add;
  }
  *(V *)(void *)c = x;
}

/* -- Tiles ---------------------------------------------------------------- */

INLINE void F(tile)(char *c, int64_t next, const operands *o,
                    const F(scale) *s, const int rows, const int vectors) {
  V sum[ROWS][2] = {{{0}}};
  const int64_t row = o->row, col = o->col, step = o->next;
  const char *b = o->b, *a[ROWS / 3];
  UNROLL for (int r = 0; r < rows; r += 3) a[r / 3] = o->a + r * row;
  UNROLL for (int r = 0; r < rows; r++) {
    UNROLL for (int v = 0; v < vectors; v++) {
      __builtin_prefetch(c + r * next + v * BYTES, 1);
    }
  }
  for (int64_t i = 0; i < o->k; i++, b += step) {
    V x[2];
    if (rows == ROWS) {
      __builtin_prefetch(a[0] + (ROWS + i % (64 / SIZE)) * row);
    }
    UNROLL for (int v = 0; v < vectors; v++) {
      x[v] = *(const V *)(const void *)(b + v * BYTES);
    }
    UNROLL for (int r = 0; r < rows; r++) {
      const char *at = a[r / 3] + r % 3 * row;
      const V w = *(const T *)(const void *)at - (V){0};
      UNROLL for (int v = 0; v < vectors; v++) {
        sum[r][v] = FMA(w, x[v], sum[r][v]);
      }
    }
    UNROLL for (int r = 0; r < rows; r += 3) a[r / 3] += col;
  }
  UNROLL for (int r = 0; r < rows; r++) {
    UNROLL for (int v = 0; v < vectors; v++) {
      F(store)(c + r * next + v * BYTES,
               o->add + r * o->add_next + v * BYTES, sum[r][v], s);
    }
  }
}

#define TILE(rows, vectors)                                                  \
  static void F(tile_##rows##_##vectors)(                                    \
    char *c, int64_t next, const operands *o, const F(scale) *s) {           \
    F(tile)(c, next, o, s, rows, vectors);                                   \
  }
#define TILES(rows) TILE(rows, 1) TILE(rows, 2)

#if ST_VECTOR_REGISTERS >= 32
TILES(12)
TILES(8)
#else
TILES(6)
#endif
TILES(4)
TILES(2)
TILES(1)

#define ROW(n) {n, {F(tile_##n##_1), F(tile_##n##_2)}}
static const struct {
  int rows;
  void (*run[2])(char *, int64_t, const operands *, const F(scale) *);
} F(tiles)[] = {
#if ST_VECTOR_REGISTERS >= 32
  ROW(12), ROW(8),
#else
  ROW(6),
#endif
  ROW(4), ROW(2), ROW(1)};

/* c = alpha x + beta add for n elements of each row of a tile, whose last
 * vector is not full. */
static void F(store_part)(char *c, int64_t next, const operands *o,
                          const char *x, int rows, int64_t n,
                          const F(scale) *s) {
  const int64_t first = n * SIZE > BYTES ? BYTES : 0;
  const F(mask) mask = MASK(n - first / SIZE);
  const char *add = o->add;
  for (int r = 0; r < rows; r++, c += next, add += o->add_next, x += WIDTH) {
    V y = *(const V *)(const void *)(x + first);
    if (first) F(store)(c, add, *(const V *)(const void *)x, s);
    if (!s->is_unscaled) y *= s->alpha;
    if (s->beta != 0) {
      y += s->beta * GET((const T *)(const void *)(add + first), mask);
    }
    PUT((T *)(void *)(c + first), mask, y);
  }
}

/* m rows of n elements, at most WIDTH bytes; b has room for WIDTH. */
static void F(rows)(char *c, int64_t next, operands o, int64_t m, int64_t n,
                    const F(scale) *s) {
  static const F(scale) unscaled = {1, 0, true};
  _Alignas(64) char part[ROWS * WIDTH];
  const int wide = n * SIZE > BYTES;
  const bool is_full = n * SIZE == (wide ? WIDTH : BYTES);
  const int64_t all = m;
  for (int t = 0; m > 0; t++) {
    const int rows = F(tiles)[t].rows;
    for (; m >= rows; m -= rows, c += rows * next, o.a += rows * o.row,
                      o.add += rows * o.add_next) {
      fetch(&o.ahead, all - m + rows, all);
      if (is_full) {
        F(tiles)[t].run[wide](c, next, &o, s);
      } else {
        F(tiles)[t].run[wide](part, WIDTH, &o, &unscaled);
        F(store_part)(c, next, &o, part, rows, n, s);
      }
    }
  }
}

/* -- Panels --------------------------------------------------------------- */

/* k rows of n elements of b, WIDTH bytes apart; zeros fill them up. */
static void F(pack)(char *to, const char *b, const int64_t *st, int64_t n,
                    int64_t k, st_loop transpose) {
  const size_t bytes = (size_t)(n * SIZE);
  if (st[2] == SIZE && bytes == WIDTH) {
    for (int64_t i = 0; i < k; i++) {
      memcpy(to + i * WIDTH, b + i * st[5], WIDTH);
    }
    return;
  }
  if (bytes < WIDTH) memset(to, 0, (size_t)(k * WIDTH));
  if (st[2] == SIZE) {
    for (int64_t i = 0; i < k; i++) {
      memcpy(to + i * WIDTH, b + i * st[5], bytes);
    }
  } else if (st[5] == SIZE) {
    char *data[2] = {to, (char *)(uintptr_t)b};
    transpose(data, (int64_t[]){SIZE, st[2], WIDTH, SIZE}, n, k, NULL);
  } else {
    for (int64_t i = 0; i < k; i++) {
      for (int64_t j = 0; j < n; j++) {
        ((T *)(void *)(to + i * WIDTH))[j] =
          *(const T *)(const void *)(b + i * st[5] + j * st[2]);
      }
    }
  }
}

/* The panel after column j of b, if it is to be packed in lines. */
static lines F(next_panel)(const char *b, const int64_t *st, int64_t j,
                           int64_t n0, int64_t m, int64_t k) {
  const int64_t most = WIDTH / SIZE;
  const int64_t n = n0 - j < most ? n0 - j : most;
  if (n <= 0 || m < FETCHED) return (lines){NULL, 0, 0, 0, 0};
  b += j * st[2];
  if (st[5] == SIZE) return (lines){b, n, st[2], k * SIZE, 0};
  if (st[2] == SIZE) return (lines){b, k, st[5], n * SIZE, 0};
  return (lines){NULL, 0, 0, 0, 0};
}

/* The product of a block of a, m rows of k elements, and k rows of b, by panels
 * of WIDTH bytes. add: a row to add beta times to every row, or NULL for c. */
static void F(block)(char **data, const int64_t *st, int64_t n0, int64_t m,
                     int64_t k, const F(scale) *s, const char *add,
                     st_loop transpose) {
  _Alignas(64) char packed[DEPTH * WIDTH];
  const int64_t most = WIDTH / SIZE;
  operands o = {data[1], data[2], st[4], st[1], st[5], k, NULL,
                add ? 0 : st[3], {NULL, 0, 0, 0, 0}};
  for (int64_t j = 0, n; j < n0 && (j == 0 || !st__stops()); j += n) {
    n = n0 - j < most ? n0 - j : most;
    const bool in_place = st[2] == SIZE && n == most && m < PACKED;
    o.b = in_place ? data[2] + j * SIZE : packed;
    o.next = in_place ? st[5] : WIDTH;
    if (!in_place) {
      F(pack)(packed, data[2] + j * st[2], st, n, k, transpose);
      o.ahead = F(next_panel)(data[2], st, j + n, n0, m, k);
    }
    o.add = (add ? add : data[0]) + j * SIZE;
    F(rows)(data[0] + j * SIZE, st[3], o, m, n, s);
  }
}

/* m rows of c, which are added to from the second block of the inner size
 * on. */
static void F(block_row)(char **data, const int64_t *st, int64_t n0,
                         int64_t m, const st_gemm_ctx *w) {
  F(scale) s = {(T)st__scalar_to_double(w->alpha),
                (T)st__scalar_to_double(w->beta), false};
  for (int64_t i = 0; i < w->k && (i == 0 || !st__stops()); i += DEPTH) {
    char *at[3] = {data[0], data[1] + i * st[1], data[2] + i * st[5]};
    if (i > 0) s.beta = 1;
    s.is_unscaled = s.alpha == 1 && s.beta == 0;
    F(block)(at, st, n0, m, w->k - i < DEPTH ? w->k - i : DEPTH, &s,
             i == 0 ? w->row : NULL, w->transpose);
  }
}

static ST_LOOP_FN(F(gemm), st) {
  const st_gemm_ctx *w = ctx;
  const int64_t most = w->block / (DEPTH * SIZE);
  for (int64_t r = 0; r < n1 && (r == 0 || !st__stops()); r += most) {
    char *at[3] = {data[0] + r * st[3], data[1] + r * st[4], data[2]};
    F(block_row)(at, st, n0, n1 - r < most ? n1 - r : most, w);
  }
}
