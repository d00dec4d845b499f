/* Sampling of one dtype: T, INT, F, M.
 */

/* The taps of a block of points: the index of each pixel, 0 if it is outside
 * the image; a mask, all bits 1 if it is inside, else 0; and its weight. */
typedef struct F(taps) {
  INT at[MOST_TAPS][BLOCK], inside[MOST_TAPS][BLOCK];
  T weight[MOST_TAPS][BLOCK];
} F(taps);

/* The taps along one dimension: at most two. */
typedef struct F(axis) {
  INT at[2][BLOCK];
  T weight[2][BLOCK];
} F(axis);

/* -- Coordinates ---------------------------------------------------------- */

/* Reflects at the centres of the border pixels or at their outer edges. */
static void F(reflect)(T *x, int n, int64_t size, bool align_corners) {
  const T low = align_corners ? 0 : (T)-0.5;
  const T span = (T)(align_corners ? size - 1 : size);
  const T inverse = (T)(1 / (double)span);
  for (int i = 0; i < n; i++) {
    const T far = M(fabs)(x[i] + -low), rest = M(fmod)(far, span);
    const T odd = M(fmod)(M(floor)(far * inverse), 2);
    x[i] = span == 0 ? 0 : (odd != 0 ? -rest + span : rest) + low;
  }
}

/* Coordinates of n points along dimension d, in pixels. */
INLINE void F(coordinates)(const st_grid_ctx *c, const T *grid, int d, int n,
                           T *x) {
  const int step = c->dims;
  const T size = (T)c->size[d], last = (T)(c->size[d] - 1);
  grid += step - 1 - d;
  if (c->align_corners) {
    for (int i = 0; i < n; i++) x[i] = (grid[i * step] + 1) * (T)0.5 * last;
  } else {
    for (int i = 0; i < n; i++) {
      x[i] = ((grid[i * step] + 1) * size + -1) * (T)0.5;
    }
  }
  if (c->border == ST_GRID_ZEROS) return;
  if (c->border == ST_GRID_REFLECTION) {
    F(reflect)(x, n, c->size[d], c->align_corners);
  }
  for (int i = 0; i < n; i++) {
    const T y = x[i] <= 0 ? 0 : x[i];
    x[i] = y >= last ? last : y;
  }
}

/* -- Taps ----------------------------------------------------------------- */

/* x as an index, -1 if it is outside. */
INLINE INT F(inside)(T x, T last) {
  const bool in = x >= 0 && x <= last;
  const INT at = (INT)(in ? x : 0);
  return in ? at : -1;
}

/* All of the block is computed, so that the loops have a constant length. */
INLINE void F(find_axis)(const st_grid_ctx *c, const T *x, int d, F(axis) *a) {
  const T last = (T)(c->size[d] - 1);
  if (c->nearest) {
    for (int i = 0; i < BLOCK; i++) {
      a->at[0][i] = F(inside)(M(rint)(x[i]), last);
    }
    return;
  }
  for (int i = 0; i < BLOCK; i++) {
    const T first = M(floor)(x[i]), t = x[i] - first;
    a->at[0][i] = F(inside)(first, last);
    a->at[1][i] = F(inside)(first + 1, last);
    a->weight[0][i] = -t + 1;
    a->weight[1][i] = t;
  }
}

/* Adds an axis whose taps are `each` to `count` taps of the axes before it. The
 * last tap comes first, because the new ones replace the old ones. */
INLINE void F(add_axis)(const F(axis) *a, int64_t size, const int each,
                        const int count, F(taps) *t) {
  for (int k = count - 1; k >= 0; k--) {
    for (int j = each - 1; j >= 0; j--) {
      INT *to = t->at[k * each + j], *inside = t->inside[k * each + j];
      T *weight = t->weight[k * each + j];
      for (int i = 0; i < BLOCK; i++) {
        const INT outer = t->at[k][i], inner = a->at[j][i];
        const INT at = outer * (INT)size + inner;
        const INT both = t->inside[k][i] & (inner < 0 ? 0 : -1);
        to[i] = at & both;
        inside[i] = both;
      }
      if (each == 1) continue;
      for (int i = 0; i < BLOCK; i++) {
        weight[i] = t->weight[k][i] * a->weight[j][i];
      }
    }
  }
}

/* -- Channels ------------------------------------------------------------- */

/* x where the bits of mask are 1, 0 where they are 0. There is no condition,
 * so that compilers load x by vectors. */
INLINE T F(masked)(T x, INT mask) {
  INT bits;
  memcpy(&bits, &x, sizeof bits);
  bits &= mask;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Outside the image the value is 0, and yet times the weight, which may be no
 * number. */
INLINE void F(mix)(const F(taps) *t, const T *restrict image,
                   T *restrict out, int n, const int count) {
  for (int i = 0; i < n; i++) {
    T sum = 0;
    UNROLL for (int k = 0; k < count; k++) {
      const T pixel = F(masked)(image[t->at[k][i]], t->inside[k][i]);
      const T value = pixel * t->weight[k][i];
      sum = k ? sum + value : value;
    }
    out[i] = sum;
  }
}

/* Adding 0 makes a 0 of -0, as does the sum with a gradient of zeros. */
INLINE void F(pick)(const F(taps) *t, const T *restrict image,
                    T *restrict out, int n) {
  for (int i = 0; i < n; i++) {
    out[i] = F(masked)(image[t->at[0][i]], t->inside[0][i]) + (T)0;
  }
}

/* A block of n points of one image. */
INLINE void F(block)(const st_grid_ctx *c, T *out, const T *image,
                     const T *grid, int n, const int dims, const int each) {
  int64_t pixels = 1;
  int count = 1;
  T x[BLOCK] = {0};
  F(axis) axis;
  F(taps) taps;
  for (int i = 0; i < BLOCK; i++) {
    taps.at[0][i] = 0;
    taps.inside[0][i] = -1;
    taps.weight[0][i] = 1;
  }
  for (int d = 0; d < dims; d++, count *= each) {
    F(coordinates)(c, grid, d, n, x);
    F(find_axis)(c, x, d, &axis);
    F(add_axis)(&axis, c->size[d], each, count, &taps);
    pixels *= c->size[d];
  }
  for (int64_t k = 0; k < c->channels; k++) {
    const T *from = image + k * pixels;
    T *to = out + k * c->points;
    if (k % 256 == 255 && st__stops()) return;
    if (each == 1) F(pick)(&taps, from, to, n);
    else F(mix)(&taps, from, to, n, dims == 2 ? 4 : 8);
  }
}

/* -- Loops ---------------------------------------------------------------- */

static void F(linear_2d)(const st_grid_ctx *c, T *out, const T *image,
                         const T *grid, int n) {
  F(block)(c, out, image, grid, n, 2, 2);
}

static void F(linear_3d)(const st_grid_ctx *c, T *out, const T *image,
                         const T *grid, int n) {
  F(block)(c, out, image, grid, n, 3, 2);
}

static void F(nearest)(const st_grid_ctx *c, T *out, const T *image,
                       const T *grid, int n) {
  F(block)(c, out, image, grid, n, c->dims, 1);
}

static void F(grid_sample)(char **data, const void *ctx) {
  const st_grid_ctx *c = ctx;
  const int64_t blocks = (c->points + BLOCK - 1) / BLOCK;
  int64_t pixels = c->channels;
  for (int d = 0; d < c->dims; d++) pixels *= c->size[d];
  for (int64_t i = c->begin; i < c->end; i++) {
    const int64_t batch = i / blocks, at = i % blocks * BLOCK;
    const int64_t left = c->points - at;
    const int n = left < BLOCK ? (int)left : BLOCK;
    const T *image = (const T *)(const void *)data[1] + batch * pixels;
    const T *grid = (const T *)(const void *)data[2] +
                    (batch * c->points + at) * c->dims;
    T *out = (T *)(void *)data[0] + batch * c->channels * c->points + at;
    if (i % 64 == 63 && st__stops()) return;
    if (c->nearest) F(nearest)(c, out, image, grid, n);
    else if (c->dims == 2) F(linear_2d)(c, out, image, grid, n);
    else F(linear_3d)(c, out, image, grid, n);
  }
}
