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
#include "kernel/vectors.h"

enum { LINE = ST_LINE };

/* -- Registers ------------------------------------------------------------ */

/* A register is a lane of 16 bytes, a pair of lanes or four of them. Of lane j
 * of two registers of n elements of b bytes: the lower halves, interleaved, and
 * the upper ones. */
#define LOW1(j, n) MIX8(16 * (j), n)
#define HIGH1(j, n) MIX8(16 * (j) + 8, n)
#define LOW2(j, n) MIX4(8 * (j), n)
#define HIGH2(j, n) MIX4(8 * (j) + 4, n)
#define LOW4(j, n) MIX2(4 * (j), n)
#define HIGH4(j, n) MIX2(4 * (j) + 2, n)
#define LOW8(j, n) MIX1(2 * (j), n)
#define HIGH8(j, n) MIX1(2 * (j) + 1, n)
#define MIX8(i, n) MIX4(i, n), MIX4((i) + 4, n)
#define MIX4(i, n) MIX2(i, n), MIX2((i) + 2, n)
#define MIX2(i, n) MIX1(i, n), MIX1((i) + 1, n)
#define MIX1(i, n) (i), (n) + (i)

#define LANES_lane(M, n) M(0, n)
#define LANES_pair(M, n) M(0, n), M(1, n)
#define LANES_quad(M, n) M(0, n), M(1, n), M(2, n), M(3, n)

#define INTERLEAVE(reg, b, name, M)                                          \
  INLINE reg##b reg##_##name##b(reg##b x, reg##b y) {                        \
    return ST_SHUFFLE(reg##b, x, y, LANES_##reg(M##b, (int)sizeof x / b));   \
  }
#define ELEMENTS(reg, b, T, bytes)                                           \
  typedef T reg##b __attribute__((vector_size(bytes)));                      \
  INTERLEAVE(reg, b, low, LOW)                                               \
  INTERLEAVE(reg, b, high, HIGH)
#define REGISTERS(reg, bytes)                                                \
  ELEMENTS(reg, 1, uint8_t, bytes)                                           \
  ELEMENTS(reg, 2, uint16_t, bytes)                                          \
  ELEMENTS(reg, 4, uint32_t, bytes)                                          \
  ELEMENTS(reg, 8, uint64_t, bytes)                                          \
  typedef uint64_t reg##16 __attribute__((vector_size(bytes)));              \
  INLINE reg##16 reg##_low16(reg##16 x, reg##16 y) { (void)y; return x; }    \
  INLINE reg##16 reg##_high16(reg##16 x, reg##16 y) { (void)x; return y; }

REGISTERS(lane, 16)
INLINE lane16 lane_load(const char *p, int64_t next) {
  lane16 x;
  (void)next;
  memcpy(&x, p, sizeof x);
  return x;
}

/* The lanes of wider ones are loaded from addresses that are `next` apart. */
#if ST_VECTOR_BYTES >= 32
REGISTERS(pair, 32)
INLINE pair16 pair_load(const char *p, int64_t next) {
  return (pair16)LOAD_2x16(p, p + next);
}
#endif
#if ST_VECTOR_BYTES >= 64
REGISTERS(quad, 64)
INLINE quad16 quad_load(const char *p, int64_t next) {
  return (quad16)LOAD_4x16(p, p + next, p + 2 * next, p + 3 * next);
}
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
      row[r] = (reg##b)reg##_load(src + r * src_row, k * src_row);           \
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
#if ST_VECTOR_BYTES >= 32
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
#if ST_VECTOR_BYTES >= 64
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

#define ALL_COLUMNS(b, k)                                                    \
  COLUMNS(lane, b, k)                                                        \
  COLUMNS(pair, b, PAIR * k)                                                 \
  COLUMNS(quad, b, QUAD ? QUAD * k : k)

#define TRANSPOSE(b, k)                                                      \
  ALL_COLUMNS(b, k)                                                          \
  static ST_LOOP_FN(transpose##b, s) {                                       \
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

static ST_LOOP_FN(runs, s) {
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
static ST_LOOP_FN(stream, s) {
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
