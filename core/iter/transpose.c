/* Tiled transposed copies. */

#include "iter/transpose.h"

enum {
  TILE = 64,      /* rows and columns of a tile of up to 4 bytes */
  WIDE_TILE = 32, /* ... of 8 and 16 bytes */
  PAD = 16,       /* keeps columns of the buffer in different cache sets */
  STAGE = TILE * (TILE * 4 + PAD), /* bytes of the buffer */
  MIN_NUMEL = 256 /* below, tiles do not pay */
};
_Static_assert(STAGE >= WIDE_TILE * (WIDE_TILE * 16 + PAD), "tiles fit");

/* -- Tiles ---------------------------------------------------------------- */

typedef struct plane {
  char *dst;
  const char *src;
  int64_t dst_row, src_row; /* byte strides across the fast dimensions */
} plane;

static inline size_t tile_of(size_t size) {
  return size <= 4 ? TILE : WIDE_TILE;
}

/* Four elements of a column of the buffer become neighbours. Left to a plain
 * loop, compilers gather them in a way that takes three times as long. */
static inline __attribute__((always_inline))
void copy_four(char *to, const char *from, size_t pitch, size_t size) {
  char four[4 * 16];
  memcpy(four, from, size);
  memcpy(four + size, from + pitch, size);
  memcpy(four + 2 * size, from + 2 * pitch, size);
  memcpy(four + 3 * size, from + 3 * pitch, size);
  memcpy(to, four, 4 * size);
}

/* n0 x n1 elements at (i, j): dst is fast along i, src along j. `size` is a
 * constant in every caller, so that the copies of elements are moves. */
static inline __attribute__((always_inline))
void copy_tile(const plane *p, int64_t n0, int64_t n1, size_t size) {
  char stage[STAGE];
  const size_t pitch = tile_of(size) * size + PAD;
  for (int64_t i = 0; i < n0; i++) {
    memcpy(stage + (size_t)i * pitch, p->src + i * p->src_row,
           (size_t)n1 * size);
  }
  for (int64_t j = 0; j < n1; j++) {
    char *to = p->dst + j * p->dst_row;
    const char *from = stage + (size_t)j * size;
    int64_t i = 0;
    for (; i + 4 <= n0; i += 4, to += 4 * size, from += 4 * pitch) {
      copy_four(to, from, pitch, size);
    }
    for (; i < n0; i++, to += size, from += pitch) memcpy(to, from, size);
  }
}

static inline __attribute__((always_inline))
void copy_plane(char **data, const int64_t *strides, int64_t n0, int64_t n1,
                size_t size) {
  const int64_t step = (int64_t)size, tile = (int64_t)tile_of(size);
  for (int64_t j = 0; j < n1; j += tile) {
    for (int64_t i = 0; i < n0; i += tile) {
      const plane p = {
        .dst = data[0] + i * step + j * strides[2],
        .src = data[1] + i * strides[1] + j * step,
        .dst_row = strides[2], .src_row = strides[1] };
      copy_tile(&p, n0 - i < tile ? n0 - i : tile,
                n1 - j < tile ? n1 - j : tile, size);
    }
  }
}

/* -- Loops ---------------------------------------------------------------- */

#define TRANSPOSE(size)                                                 \
  static void transpose##size(char **data, const int64_t *strides,      \
                              int64_t n0, int64_t n1, const void *ctx) { \
    (void)ctx;                                                          \
    copy_plane(data, strides, n0, n1, size);                            \
  }
TRANSPOSE(1)
TRANSPOSE(2)
TRANSPOSE(4)
TRANSPOSE(8)
TRANSPOSE(16)
#undef TRANSPOSE

st_loop st__transpose_loop(size_t itemsize) {
  switch (itemsize) {
    case 1: return transpose1;
    case 2: return transpose2;
    case 4: return transpose4;
    case 8: return transpose8;
    default: ST_ASSERT(itemsize == 16); return transpose16;
  }
}

/* -- Which copies --------------------------------------------------------- */

static void swap(int64_t *a, int64_t *b) {
  const int64_t t = *a;
  *a = *b;
  *b = t;
}

static void swap_dims(st_iter *it, int a, int b) {
  swap(&it->shape[a], &it->shape[b]);
  swap(&it->op[0].stride[a], &it->op[0].stride[b]);
  swap(&it->op[1].stride[a], &it->op[1].stride[b]);
}

int st__transpose_dim(const st_iter *it) {
  const int64_t *dst = it->op[0].stride, *src = it->op[1].stride;
  const int64_t size = (int64_t)st__itemsize(it->op[0].target);
  if (it->ndim < 2 || it->numel < MIN_NUMEL) return 0;
  if (dst[0] != size || src[0] == size || src[0] == 0) return 0;
  for (int d = 1; d < it->ndim; d++) {
    if (src[d] == size && it->shape[d] >= 4 && it->shape[0] >= 4) return d;
  }
  return 0;
}

bool st__transpose_prepare(st_iter *it) {
  const int d = st__transpose_dim(it);
  if (d) swap_dims(it, 1, d);
  return d != 0;
}
