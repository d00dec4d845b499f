/* Convolution with adjacent channels, of one dtype; included once for each.
 *
 * T: the element type. TAG: its suffix. V: a vector of it. FMA: a b + c of
 * vectors.
 */

#define NAME_(name, tag) name##_##tag
#define NAME2(name, tag) NAME_(name, tag)
#define NAME(name) NAME2(name, TAG)
#define SPLAT(x) ((x) - (V){0}) /* exact, -0 too */
#define AT(p) (*(const V *)(const void *)(p))

/* -- Sums of windows ------------------------------------------------------ */

/* What a tile reads and writes, and byte strides from pixel to pixel. */
typedef struct NAME(window) {
  const st_nhwc_ctx *c;
  char *sums;
  const char *image, *weights, *bias;
  int64_t next, step;   /* of sums, of the image */
  int64_t panel;        /* bytes of weights between two taps */
} NAME(window);

INLINE void NAME(sum_windows)(const NAME(window) *w, const int pixels,
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

typedef struct NAME(pixels) {
  char *sums;
  const char *left, *right;
  int64_t next;                 /* of sums, from row to row of the tile */
  const int64_t *s;             /* strides of the operands */
  const st_conv_weight_ctx *c;
} NAME(pixels);

INLINE void NAME(sum_pixels)(const NAME(pixels) *w, const int rows,
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
  static void NAME(windows_##rows##_##vectors)(const NAME(window) *w) {      \
    NAME(sum_windows)(w, rows, vectors);                                     \
  }                                                                          \
  static void NAME(pixels_##rows##_##vectors)(const NAME(pixels) *w) {       \
    NAME(sum_pixels)(w, rows, vectors);                                      \
  }
#define WINDOWS(n) {NAME(windows_##n##_1), NAME(windows_##n##_2)},
#define PIXELS(n) {NAME(pixels_##n##_1), NAME(pixels_##n##_2)},
#define BOTH(n) TILE(n, 1) TILE(n, 2)
#if ST_VECTOR_REGISTERS >= 32
#define EACH(M) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12)
#else
#define EACH(M) M(1) M(2) M(3) M(4) M(5) M(6)
#endif

EACH(BOTH)

/* By rows less 1, and vectors less 1. */
static void (*const NAME(windows)[ROWS][2])(const NAME(window) *) = {
  EACH(WINDOWS)};
static void (*const NAME(pixels_of)[ROWS][2])(const NAME(pixels) *) = {
  EACH(PIXELS)};

/* Cuts n rows into *tiles of about the same size: the first *more have one row
 * more than the others. Returns that of the others. */
static inline int64_t NAME(cut)(int64_t n, int64_t *tiles, int64_t *more) {
  *tiles = (n + ROWS - 1) / ROWS;
  const int64_t each = n / *tiles;
  *more = n - each * *tiles;
  return each;
}

/* The bytes that a tile of a panel, of which `bytes` are left, is wide: two
 * vectors, or one. */
static inline int NAME(tile_vectors)(int64_t bytes) {
  return bytes >= 2 * BYTES ? 2 : 1;
}

static void NAME(nhwc)(char **data, const int64_t *s, int64_t n0, int64_t n1,
                       const void *ctx) {
  const st_nhwc_ctx *c = ctx;
  const int64_t panel = n1 * (int64_t)sizeof(T);
  int64_t tiles, more, n;
  const int64_t each = NAME(cut)(n0, &tiles, &more);
  for (int64_t i = 0, p = 0; i < tiles; i++, p += n) {
    n = each + (i < more);
    for (int64_t v = 0; v < panel; v += 2 * BYTES) {
      const NAME(window) w = {
        .c = c, .sums = data[0] + p * s[0] + v, .image = data[1] + p * s[1],
        .weights = data[2] + v, .bias = c->bias + v,
        .next = s[0], .step = s[1], .panel = panel};
      NAME(windows)[n - 1][NAME(tile_vectors)(panel - v) - 1](&w);
    }
  }
}

static void NAME(weight)(char **data, const int64_t *s, int64_t n0,
                         int64_t n1, const void *ctx) {
  const st_conv_weight_ctx *c = ctx;
  const int64_t bytes = n0 * (int64_t)sizeof(T);
  int64_t tiles, more, n;
  const int64_t each = NAME(cut)(n1, &tiles, &more);
  for (int64_t v = 0; v < bytes; v += 2 * BYTES) {
    for (int64_t i = 0, r = 0; i < tiles; i++, r += n) {
      n = each + (i < more);
      const NAME(pixels) w = {
        .sums = data[0] + r * s[3] + v,
        .left = data[1] + r * (int64_t)sizeof(T), .right = data[2] + v,
        .next = s[3], .s = s, .c = c};
      NAME(pixels_of)[n - 1][NAME(tile_vectors)(bytes - v) - 1](&w);
    }
  }
}

#undef NAME_
#undef NAME2
#undef NAME
#undef SPLAT
#undef AT
#undef TILE
#undef WINDOWS
#undef PIXELS
#undef BOTH
#undef EACH
#undef T
#undef TAG
#undef V
#undef FMA
