/* Kernels that copy elements without conversion: transposed, in short runs,
 * and with non-temporal stores.
 *
 * Note [Transposing by interleaving]
 * K rows of K elements are transposed in log2 K rounds. Each round interleaves
 * row r with row r + K/2 into rows 2r and 2r + 1, so every round and every
 * element size uses the same shuffle. K elements fill a 16-byte register. With
 * 32-byte registers the upper half holds K more rows: a tile is 2K rows high
 * and its columns are 32 bytes long; with 64-byte registers, it is 4K rows high
 * and its columns are whole lines, if those of dst are. At an edge the last
 * tile overlaps the one before it and copies some elements a second time.
 */

#include "kernel/copy/transpose.h"

#include <string.h>

#include "kernel/loop.h"
#include "kernel/stream_line.h"
#include "kernel/unroll.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

enum { LINE = ST_LINE };

/* -- Registers of 16 bytes ------------------------------------------------ */

typedef uint8_t lane1 __attribute__((vector_size(16)));
typedef uint16_t lane2 __attribute__((vector_size(16)));
typedef uint32_t lane4 __attribute__((vector_size(16)));
typedef uint64_t lane8 __attribute__((vector_size(16)));
typedef uint64_t lane16 __attribute__((vector_size(16)));

#if defined(__clang__)
#define SHUFFLE(b, x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define SHUFFLE(b, x, y, ...) __builtin_shuffle(x, y, (lane##b){__VA_ARGS__})
#endif

#define lane_low1(x, y) \
  SHUFFLE(1, x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define lane_high1(x, y)                                                     \
  SHUFFLE(1, x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30,     \
          15, 31)
#define lane_low2(x, y)  SHUFFLE(2, x, y, 0, 8, 1, 9, 2, 10, 3, 11)
#define lane_high2(x, y) SHUFFLE(2, x, y, 4, 12, 5, 13, 6, 14, 7, 15)
#define lane_low4(x, y)  SHUFFLE(4, x, y, 0, 4, 1, 5)
#define lane_high4(x, y) SHUFFLE(4, x, y, 2, 6, 3, 7)
#define lane_low8(x, y)  SHUFFLE(8, x, y, 0, 2)
#define lane_high8(x, y) SHUFFLE(8, x, y, 1, 3)
#define lane_low16(x, y) (x) /* an element fills the register */
#define lane_high16(x, y) (y)
#define lane_load(to, p, next) memcpy(&(to), p, 16)

/* -- Registers of 32 bytes ------------------------------------------------ */

#if defined(__AVX2__)
typedef __m256i pair1, pair2, pair4, pair8, pair16;

#define pair_low1   _mm256_unpacklo_epi8
#define pair_high1  _mm256_unpackhi_epi8
#define pair_low2   _mm256_unpacklo_epi16
#define pair_high2  _mm256_unpackhi_epi16
#define pair_low4   _mm256_unpacklo_epi32
#define pair_high4  _mm256_unpackhi_epi32
#define pair_low8   _mm256_unpacklo_epi64
#define pair_high8  _mm256_unpackhi_epi64
#define pair_low16  lane_low16
#define pair_high16 lane_high16
#define pair_load(to, p, next)                                               \
  (to) = _mm256_inserti128_si256(_mm256_castsi128_si256(                     \
    _mm_loadu_si128((const __m128i *)(const void *)(p))),                    \
    _mm_loadu_si128((const __m128i *)(const void *)((p) + (next))), 1)
#endif

/* -- Registers of 64 bytes ------------------------------------------------ */

#if defined(__AVX512BW__)
typedef __m512i quad1, quad2, quad4, quad8, quad16;

#define quad_low1   _mm512_unpacklo_epi8
#define quad_high1  _mm512_unpackhi_epi8
#define quad_low2   _mm512_unpacklo_epi16
#define quad_high2  _mm512_unpackhi_epi16
#define quad_low4   _mm512_unpacklo_epi32
#define quad_high4  _mm512_unpackhi_epi32
#define quad_low8   _mm512_unpacklo_epi64
#define quad_high8  _mm512_unpackhi_epi64
#define quad_low16  lane_low16
#define quad_high16 lane_high16
#define quad_load(to, p, next)                                               \
  do {                                                                       \
    __m256i low, high;                                                       \
    pair_load(low, p, next);                                                 \
    pair_load(high, (p) + 2 * (next), next);                                 \
    (to) = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);         \
  } while (0)
#endif

/* -- Tiles ---------------------------------------------------------------- */

/* `reg` is lane, pair or quad, b the element size, k = 16 / b, log = log2 k. */
#define ZIP(reg, b, k, log)                                                  \
  INLINE void reg##_zip##b(reg##b *row) {                                    \
    UNROLL for (int round = 0; round < log; round++) {                       \
      reg##b zip[k];                                                         \
      UNROLL for (int r = 0; r < k / 2; r++) {                               \
        zip[2 * r] = reg##_low##b(row[r], row[r + k / 2]);                   \
        zip[2 * r + 1] = reg##_high##b(row[r], row[r + k / 2]);              \
      }                                                                      \
      UNROLL for (int r = 0; r < k; r++) row[r] = zip[r];                    \
    }                                                                        \
  }

#define TILE(reg, b, k)                                                      \
  INLINE void reg##_tile##b(char *dst, int64_t dst_row, const char *src,     \
                            int64_t src_row) {                               \
    reg##b row[k];                                                           \
    UNROLL for (int r = 0; r < k; r++) {                                     \
      reg##_load(row[r], src + r * src_row, k * src_row);                    \
    }                                                                        \
    reg##_zip##b(row);                                                       \
    UNROLL for (int r = 0; r < k; r++) {                                     \
      memcpy(dst + r * dst_row, &row[r], sizeof row[r]);                     \
    }                                                                        \
  }

#define TILES(reg)                                                           \
  ZIP(reg, 1, 16, 4) TILE(reg, 1, 16)                                        \
  ZIP(reg, 2, 8, 3) TILE(reg, 2, 8)                                          \
  ZIP(reg, 4, 4, 2) TILE(reg, 4, 4)                                          \
  ZIP(reg, 8, 2, 1) TILE(reg, 8, 2)                                          \
  ZIP(reg, 16, 1, 0) TILE(reg, 16, 1)

TILES(lane)
#if defined(__AVX2__)
TILES(pair)
enum { PAIR = 2 };
#else
#define pair_tile1 lane_tile1
#define pair_tile2 lane_tile2
#define pair_tile4 lane_tile4
#define pair_tile8 lane_tile8
#define pair_tile16 lane_tile16
enum { PAIR = 1 };
#endif
#if defined(__AVX512BW__)
TILES(quad)
enum { QUAD = 4 };
#else
#define quad_tile1 lane_tile1
#define quad_tile2 lane_tile2
#define quad_tile4 lane_tile4
#define quad_tile8 lane_tile8
#define quad_tile16 lane_tile16
enum { QUAD = 0 };
#endif

/* -- Transposing ---------------------------------------------------------- */

/* Start of the tile after the one at i; the last tile ends at n. */
static inline int64_t next_tile(int64_t i, int64_t tile, int64_t n) {
  i += tile;
  return i < n && i > n - tile ? n - tile : i;
}

/* Element by element, for sizes smaller than a tile. */
INLINE void transpose_few(char *const *data, const int64_t *s, int64_t n0,
                          int64_t n1, size_t b) {
  for (int64_t j = 0; j < n1; j++) {
    char *to = data[0] + j * s[2];
    const char *from = data[1] + j * (int64_t)b;
    for (int64_t i = 0; i < n0; i++, to += b, from += s[1]) {
      memcpy(to, from, b);
    }
  }
}

/* True if the rows of dst begin with a line. */
static inline bool has_lines(char *const *data, const int64_t *s) {
  return ((int64_t)(uintptr_t)data[0] | s[2]) % LINE == 0;
}

/* Writes as many rows of dst as a tile has columns. */
#define COLUMNS(reg, b, tall)                                                \
  INLINE void reg##_columns##b(char *to, int64_t dst_row, const char *from,  \
                               int64_t src_row, int64_t n0) {                \
    for (int64_t i = 0; i < n0; i = next_tile(i, tall, n0)) {                \
      reg##_tile##b(to + i * b, dst_row, from + i * src_row, src_row);       \
    }                                                                        \
  }

#define TRANSPOSE(b, k)                                                      \
  COLUMNS(lane, b, k)                                                        \
  COLUMNS(pair, b, PAIR * k)                                                 \
  COLUMNS(quad, b, QUAD ? QUAD * k : k)                                      \
  static void transpose##b(char **data, const int64_t *s, int64_t n0,        \
                           int64_t n1, const void *ctx) {                    \
    const bool is_quad = QUAD && n0 >= QUAD * k && has_lines(data, s);       \
    (void)ctx;                                                               \
    if (n0 < k || n1 < k) transpose_few(data, s, n0, n1, b);                 \
    else for (int64_t j = 0; j < n1; j = next_tile(j, k, n1)) {              \
      char *to = data[0] + j * s[2];                                         \
      const char *from = data[1] + j * b;                                    \
      if (is_quad) quad_columns##b(to, s[2], from, s[1], n0);                \
      else if (n0 >= PAIR * k) pair_columns##b(to, s[2], from, s[1], n0);    \
      else lane_columns##b(to, s[2], from, s[1], n0);                        \
    }                                                                        \
  }

TRANSPOSE(1, 16)
TRANSPOSE(2, 8)
TRANSPOSE(4, 4)
TRANSPOSE(8, 2)
TRANSPOSE(16, 1)

/* -- Runs ----------------------------------------------------------------- */

/* Copies runs of w to 2w bytes as two blocks of w bytes, which may overlap. */
#define RUNS(w)                                                              \
  static void runs##w(char *const *data, const int64_t *s, int64_t n0,       \
                      int64_t n1, size_t bytes) {                            \
    for (int64_t j = 0; j < n1; j++) {                                       \
      char *to = data[0] + j * s[2];                                         \
      const char *from = data[1] + j * s[3];                                 \
      for (int64_t i = 0; i < n0; i++, to += s[0], from += s[1]) {           \
        memcpy(to, from, w);                                                 \
        memcpy(to + bytes - (w), from + bytes - (w), w);                     \
      }                                                                      \
    }                                                                        \
  }
RUNS(1)
RUNS(2)
RUNS(4)
RUNS(8)
RUNS(16)
RUNS(32)

static void runs(char **data, const int64_t *s, int64_t n0, int64_t n1,
                 const void *ctx) {
  const size_t bytes = ((const st_runs_ctx *)ctx)->bytes;
  if (bytes <= 2) runs1(data, s, n0, n1, bytes);
  else if (bytes <= 4) runs2(data, s, n0, n1, bytes);
  else if (bytes <= 8) runs4(data, s, n0, n1, bytes);
  else if (bytes <= 16) runs8(data, s, n0, n1, bytes);
  else if (bytes <= 32) runs16(data, s, n0, n1, bytes);
  else runs32(data, s, n0, n1, bytes);
}

/* -- Streaming ------------------------------------------------------------ */

static void stream_row(char *to, const char *from, size_t n) {
  const size_t off = (uintptr_t)to % LINE;
  const size_t head = off && n >= LINE ? LINE - off : 0;
  if (head) memcpy(to, from, head);
  to += head, from += head, n -= head;
  if (off && !head) {
    memcpy(to, from, n);
    return;
  }
  for (; n >= LINE; n -= LINE, to += LINE, from += LINE) {
    st__stream_line(to, from);
  }
  if (n) memcpy(to, from, n);
}

/* The caller orders the stores: st__fence_streams. A fence for each block would
 * wait for its stores. */
static void stream(char **data, const int64_t *s, int64_t n0, int64_t n1,
                   const void *ctx) {
  (void)ctx;
  for (int64_t j = 0; j < n1; j++) {
    stream_row(data[0] + j * s[2], data[1] + j * s[3], (size_t)n0);
  }
}

/* -- Rows ----------------------------------------------------------------- */

static const st_kernel_row rows[] = {
  {"transpose", {
    [ST_UINT8] = transpose1, [ST_INT16] = transpose2,
    [ST_INT32] = transpose4, [ST_INT64] = transpose8,
    [ST_COMPLEX128] = transpose16}},
  {"runs", {[ST_UINT8] = runs}},
  {"stream", {[ST_UINT8] = stream}}};

ST_EXPORT(st__transpose, rows)
