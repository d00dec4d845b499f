/* Convolution of one dtype; included once for each.
 *
 * T: the element type. TAG: its suffix. V, LANES: a vector of it. LOAD, STORE,
 * SPLAT, FMA: of vectors. A tile of sums stays in registers: up to ROWS output
 * channels and three vectors of pixels.
 */

#define NAME_(name, tag) name##_##tag
#define NAME2(name, tag) NAME_(name, tag)
#define NAME(name) NAME2(name, TAG)

/* `panel` columns of weights, of which the first `rows` count. */
INLINE void NAME(tile)(const st_conv_ctx *c, char *sums, int64_t next,
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
  static void NAME(tile_##panel##_##vectors)(                          \
    const st_conv_ctx *c, char *sums, int64_t next, const char *image,       \
    const T *weights, const T *bias) {                                       \
    NAME(tile)(c, sums, next, image, weights, bias, panel, rows, vectors);   \
  }

#define TILES(panel, rows)                                                   \
  TILE(panel, rows, 1)                                                       \
  TILE(panel, rows, 2)                                                       \
  TILE(panel, rows, 3)

TILES(8, ROWS)
TILES(4, 4)
TILES(2, 2)
TILES(1, 1)

typedef void (*NAME(tile_fn))(const st_conv_ctx *, char *, int64_t,
                              const char *, const T *, const T *);

/* By the logarithm of a panel's columns, and by the number of vectors. */
static const NAME(tile_fn) NAME(tiles)[4][3] = {
  {NAME(tile_1_1), NAME(tile_1_2), NAME(tile_1_3)},
  {NAME(tile_2_1), NAME(tile_2_2), NAME(tile_2_3)},
  {NAME(tile_4_1), NAME(tile_4_2), NAME(tile_4_3)},
  {NAME(tile_8_1), NAME(tile_8_2), NAME(tile_8_3)},
};

static void NAME(convolution)(char **data, const int64_t *s, int64_t n0,
                              int64_t n1, const void *ctx) {
  const st_conv_ctx *c = ctx;
  const T *bias = (const T *)(const void *)c->bias;
  for (int64_t p = 0; p < n0; p += 3 * LANES) {
    const int64_t left = (n0 - p + LANES - 1) / LANES;
    const int vectors = left < 3 ? (int)left : 3;
    const int64_t at = p * (int64_t)sizeof(T);
    const T *weights = (const T *)(const void *)data[2];
    for (int64_t o = 0; o < n1; o += ST_CONV_ROWS) {
      const int panel = st__conv_panel(n1 - o);
      const NAME(tile_fn) tile =
        NAME(tiles)[__builtin_ctz((unsigned)panel)][vectors - 1];
      for (int r = 0; r < panel; r += ROWS) {
        tile(c, data[0] + (o + r) * s[3] + at, s[3], data[1] + at,
             weights + r, bias + o + r);
      }
      weights += panel * c->channels * c->taps;
    }
  }
}

/* PIXELS pixels of one vector of channels. */
INLINE void NAME(lanes)(const st_conv_ctx *c, char *sums, const char *image,
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

static void NAME(depthwise)(char **data, const int64_t *s, int64_t n0,
                            int64_t n1, const void *ctx) {
  const st_conv_ctx *c = ctx;
  const T *bias = (const T *)(const void *)c->bias;
  const T *weights = (const T *)(const void *)data[2];
  for (int64_t p = 0; p < n1; p += PIXELS) {
    for (int64_t i = 0; i < n0; i += LANES) {
      const int64_t at = i * (int64_t)sizeof(T);
      char *sums = data[0] + p * s[3] + at;
      const char *image = data[1] + p * s[4] + at;
      if (n1 - p >= PIXELS) {
        NAME(lanes)(c, sums, image, s, weights + i, n0, bias + i, PIXELS);
        continue;
      }
      for (int64_t k = 0; k < n1 - p; k++) {
        NAME(lanes)(c, sums + k * s[3], image + k * s[4], s, weights + i, n0,
                    bias + i, 1);
      }
    }
  }
}

#undef NAME_
#undef NAME2
#undef NAME
#undef TILE
#undef TILES
#undef T
#undef TAG
#undef V
#undef LANES
#undef LOAD
#undef STORE
#undef SPLAT
#undef FMA
