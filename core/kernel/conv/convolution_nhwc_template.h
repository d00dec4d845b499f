/* Convolution with adjacent channels, of one dtype; included once for each.
 *
 * V: a vector. FMA: a b + c of vectors.
 */

#define V F(v)
#define FMA F(FMA)
#define SPLAT(x) ((x) - (V){0}) /* exact, -0 too */
#define AT(p) (*(const V *)(const void *)(p))

/* -- Sums of windows ------------------------------------------------------ */

/* What a tile reads and writes, and byte strides from pixel to pixel. */
typedef struct F(window) {
  const st_nhwc_ctx *c;
  char *sums;
  const char *image, *weights, *bias;
  int64_t next, step;   /* of sums, of the image */
  int64_t panel;        /* bytes of weights between two taps */
} F(window);

INLINE void F(sum_windows)(const F(window) *w, const int pixels,
                           const int vectors) {
  const st_nhwc_ctx *c = w->c;
  const int64_t step = w->step, panel = w->panel;
  const int64_t *offsets = c->offsets;
  const char *image = w->image, *first = w->weights;
  V sum[ROWS][2];
  UNROLL for (int p = 0; p < pixels; p++) {
    UNROLL for (int v = 0; v < vectors; v++) {
      sum[p][v] = AT(w->bias + v * BYTES);
      __builtin_prefetch(w->sums + p * w->next + v * BYTES, 1);
    }
  }
  for (int64_t i = 0; i < c->channels; i++) {
    const char *weights = first;
    for (int64_t t = 0; t < c->taps; t++, weights += panel) {
      const char *at[ROWS / 3];
      V x[2];
      at[0] = image + offsets[t];
      UNROLL for (int p = 3; p < pixels; p += 3) {
        at[p / 3] = at[p / 3 - 1] + 3 * step;
      }
      UNROLL for (int v = 0; v < vectors; v++) x[v] = AT(weights + v * BYTES);
      UNROLL for (int p = 0; p < pixels; p++) {
        const char *from = at[p / 3] + p % 3 * step;
        const V a = SPLAT(*(const T *)(const void *)from);
        UNROLL for (int v = 0; v < vectors; v++) {
          sum[p][v] = FMA(a, x[v], sum[p][v]);
        }
      }
    }
    image += sizeof(T);
    first += c->next;
  }
  UNROLL for (int p = 0; p < pixels; p++) {
    UNROLL for (int v = 0; v < vectors; v++) {
      *(V *)(void *)(w->sums + p * w->next + v * BYTES) = sum[p][v];
    }
  }
}

/* -- Sums of pixels ------------------------------------------------------- */

typedef struct F(pixels) {
  char *sums;
  const char *left, *right;
  int64_t next;                 /* of sums, from row to row of the tile */
  const int64_t *s;             /* strides of the operands */
  const st_conv_weight_ctx *c;
} F(pixels);

INLINE void F(sum_pixels)(const F(pixels) *w, const int rows,
                          const int vectors) {
  V sum[ROWS][2] = {{{0}}};
  const int64_t left = w->s[1], right = w->s[2], cols = w->c->cols;
  for (int64_t i = 0; i < w->c->images * w->c->rows; i++) {
    const int64_t image = i / w->c->rows, y = i - image * w->c->rows;
    const char *a = w->left + image * w->c->left + y * w->s[4];
    const char *b = w->right + image * w->c->right + y * w->s[5];
    for (int64_t x = 0; x < cols; x++, a += left, b += right) {
      V g[2];
      UNROLL for (int v = 0; v < vectors; v++) g[v] = AT(b + v * BYTES);
      UNROLL for (int r = 0; r < rows; r++) {
        const V f = SPLAT(((const T *)(const void *)a)[r]);
        UNROLL for (int v = 0; v < vectors; v++) {
          sum[r][v] = FMA(f, g[v], sum[r][v]);
        }
      }
    }
  }
  UNROLL for (int r = 0; r < rows; r++) {
    UNROLL for (int v = 0; v < vectors; v++) {
      *(V *)(void *)(w->sums + r * w->next + v * BYTES) += sum[r][v];
    }
  }
}

/* -- Tiles ---------------------------------------------------------------- */

#define TILE(rows, vectors)                                                  \
  static void F(windows_##rows##_##vectors)(const F(window) *w) {            \
    F(sum_windows)(w, rows, vectors);                                        \
  }                                                                          \
  static void F(pixels_##rows##_##vectors)(const F(pixels) *w) {             \
    F(sum_pixels)(w, rows, vectors);                                         \
  }
#define WINDOWS(n) {F(windows_##n##_1), F(windows_##n##_2)},
#define PIXELS(n) {F(pixels_##n##_1), F(pixels_##n##_2)},
#define BOTH(n) TILE(n, 1) TILE(n, 2)
#if ST_VECTOR_REGISTERS >= 32
#define EACH(M) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12)
#else
#define EACH(M) M(1) M(2) M(3) M(4) M(5) M(6)
#endif

EACH(BOTH)

/* By rows less 1, and vectors less 1. */
static void (*const F(windows)[ROWS][2])(const F(window) *) = {
  EACH(WINDOWS)};
static void (*const F(pixels_of)[ROWS][2])(const F(pixels) *) = {
  EACH(PIXELS)};

/* Cuts n rows into *tiles of about the same size: the first *more have one row
 * more than the others. Returns that of the others. */
static inline int64_t F(cut)(int64_t n, int64_t *tiles, int64_t *more) {
  *tiles = (n + ROWS - 1) / ROWS;
  const int64_t each = n / *tiles;
  *more = n - each * *tiles;
  return each;
}

/* The bytes that a tile of a panel, of which `bytes` are left, is wide: two
 * vectors, or one. */
static inline int F(tile_vectors)(int64_t bytes) {
  return bytes >= 2 * BYTES ? 2 : 1;
}

static ST_LOOP_FN(F(nhwc), s) {
  const st_nhwc_ctx *c = ctx;
  const int64_t panel = n1 * (int64_t)sizeof(T);
  int64_t tiles, more, n;
  const int64_t each = F(cut)(n0, &tiles, &more);
  for (int64_t i = 0, p = 0; i < tiles; i++, p += n) {
    n = each + (i < more);
    for (int64_t v = 0; v < panel; v += 2 * BYTES) {
      const F(window) w = {
        .c = c, .sums = data[0] + p * s[0] + v, .image = data[1] + p * s[1],
        .weights = data[2] + v, .bias = c->bias + v,
        .next = s[0], .step = s[1], .panel = panel};
      F(windows)[n - 1][F(tile_vectors)(panel - v) - 1](&w);
    }
  }
}

static ST_LOOP_FN(F(weight), s) {
  const st_conv_weight_ctx *c = ctx;
  const int64_t bytes = n0 * (int64_t)sizeof(T);
  int64_t tiles, more, n;
  const int64_t each = F(cut)(n1, &tiles, &more);
  for (int64_t v = 0; v < bytes; v += 2 * BYTES) {
    for (int64_t i = 0, r = 0; i < tiles; i++, r += n) {
      n = each + (i < more);
      const F(pixels) w = {
        .sums = data[0] + r * s[3] + v,
        .left = data[1] + r * (int64_t)sizeof(T), .right = data[2] + v,
        .next = s[3], .s = s, .c = c};
      F(pixels_of)[n - 1][F(tile_vectors)(bytes - v) - 1](&w);
    }
  }
}
