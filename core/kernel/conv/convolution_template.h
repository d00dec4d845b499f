/* Convolution of one dtype; included once for each.
 *
 * V, LANES: a vector. LOAD, STORE, SPLAT, FMA: of vectors. A tile of sums stays
 * in registers: up to ROWS output channels and three vectors of pixels.
 */

#define V F(v)
#define LANES (BYTES / (int)sizeof(T))
#define LOAD(p) (*(const V *)(const void *)(p))
#define STORE(p, v) (*(V *)(void *)(p) = (v))
#define SPLAT(x) ((x) - (V){0}) /* exact, -0 too */
#define FMA F(FMA)

/* `panel` columns of weights, of which the first `rows` count. */
INLINE void F(tile)(const st_conv_ctx *c, char *sums, int64_t next,
                    const char *image, const T *weights, const T *bias,
                    const int panel, const int rows, const int vectors) {
  V sum[ROWS][3];
  UNROLL for (int r = 0; r < rows; r++) {
    UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = SPLAT(bias[r]);
  }
  for (int64_t i = 0; i < c->channels; i++, image += c->channel) {
    for (int64_t t = 0; t < c->taps; t++, weights += panel) {
      const T *at = (const T *)(const void *)(image + c->offsets[t]);
      V x[3];
      UNROLL for (int v = 0; v < vectors; v++) x[v] = LOAD(at + v * LANES);
      UNROLL for (int r = 0; r < rows; r++) {
        const V w = SPLAT(weights[r]);
        UNROLL for (int v = 0; v < vectors; v++) {
          sum[r][v] = FMA(w, x[v], sum[r][v]);
        }
      }
    }
  }
  UNROLL for (int r = 0; r < rows; r++) {
    T *to = (T *)(void *)(sums + r * next);
    UNROLL for (int v = 0; v < vectors; v++) STORE(to + v * LANES, sum[r][v]);
  }
}

#define TILE(panel, rows, vectors)                                           \
  static void F(tile_##panel##_##vectors)(                             \
    const st_conv_ctx *c, char *sums, int64_t next, const char *image,       \
    const T *weights, const T *bias) {                                       \
    F(tile)(c, sums, next, image, weights, bias, panel, rows, vectors);      \
  }

#define TILES(panel, rows)                                                   \
  TILE(panel, rows, 1)                                                       \
  TILE(panel, rows, 2)                                                       \
  TILE(panel, rows, 3)

TILES(8, ROWS)
TILES(4, 4)
TILES(2, 2)
TILES(1, 1)

typedef void (*F(tile_fn))(const st_conv_ctx *, char *, int64_t,
                           const char *, const T *, const T *);

/* By the logarithm of a panel's columns, and by the number of vectors. */
static const F(tile_fn) F(tiles)[4][3] = {
  {F(tile_1_1), F(tile_1_2), F(tile_1_3)},
  {F(tile_2_1), F(tile_2_2), F(tile_2_3)},
  {F(tile_4_1), F(tile_4_2), F(tile_4_3)},
  {F(tile_8_1), F(tile_8_2), F(tile_8_3)},
};

static ST_LOOP_FN(F(convolution), s) {
  const st_conv_ctx *c = ctx;
  const T *bias = (const T *)(const void *)c->bias;
  for (int64_t p = 0; p < n0; p += 3 * LANES) {
    const int64_t left = (n0 - p + LANES - 1) / LANES;
    const int vectors = left < 3 ? (int)left : 3;
    const int64_t at = p * (int64_t)sizeof(T);
    const T *weights = (const T *)(const void *)data[2];
    for (int64_t o = 0; o < n1; o += ST_CONV_ROWS) {
      const int panel = st__conv_panel(n1 - o);
      const F(tile_fn) tile =
        F(tiles)[__builtin_ctz((unsigned)panel)][vectors - 1];
      for (int r = 0; r < panel; r += ROWS) {
        tile(c, data[0] + (o + r) * s[3] + at, s[3], data[1] + at,
             weights + r, bias + o + r);
      }
      weights += panel * c->channels * c->taps;
    }
  }
}

/* PIXELS pixels of one vector of channels. */
INLINE void F(lanes)(const st_conv_ctx *c, char *sums, const char *image,
                     const int64_t *s, const T *weights, int64_t channels,
                     const T *bias, const int pixels) {
  V sum[PIXELS];
  UNROLL for (int p = 0; p < pixels; p++) sum[p] = LOAD(bias);
  for (int64_t t = 0; t < c->taps; t++, weights += channels) {
    const V w = LOAD(weights);
    UNROLL for (int p = 0; p < pixels; p++) {
      sum[p] = FMA(w, LOAD(image + c->offsets[t] + p * s[4]), sum[p]);
    }
  }
  UNROLL for (int p = 0; p < pixels; p++) STORE(sums + p * s[3], sum[p]);
}

static ST_LOOP_FN(F(depthwise), s) {
  const st_conv_ctx *c = ctx;
  const T *bias = (const T *)(const void *)c->bias;
  const T *weights = (const T *)(const void *)data[2];
  for (int64_t p = 0; p < n1; p += PIXELS) {
    for (int64_t i = 0; i < n0; i += LANES) {
      const int64_t at = i * (int64_t)sizeof(T);
      char *sums = data[0] + p * s[3] + at;
      const char *image = data[1] + p * s[4] + at;
      if (n1 - p >= PIXELS) {
        F(lanes)(c, sums, image, s, weights + i, n0, bias + i, PIXELS);
        continue;
      }
      for (int64_t k = 0; k < n1 - p; k++) {
        F(lanes)(c, sums + k * s[3], image + k * s[4], s, weights + i, n0,
                 bias + i, 1);
      }
    }
  }
}
