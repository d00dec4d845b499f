/* The driver of all elementwise loops: splits strided operands into
 * contiguous blocks.
 *
 * Note [Blocks]
 * The body of a kernel is a loop over a block, which is n contiguous elements
 * of each operand; the compiler vectorises it. If every operand is contiguous,
 * the driver calls the body once, in place. Otherwise it gathers inputs into
 * buffers in L1 and scatters the output from one; a scalar operand fills its
 * buffer once, and half types are converted to and from float32 on the way.
 * So each kernel is compiled once per dtype, and every element takes the same
 * path: a result never depends on strides, on the index of the element, or on
 * the number of threads.
 *
 * Note [Exact alias or no overlap]
 * An output either is exactly an input or does not overlap it, so bodies
 * promise the compiler that elements are independent (ST_SIMD_FOR). An
 * iterator without overlap checks, such as that of fill_, may pass an output
 * that overlaps itself: rows that may share elements are processed one after
 * the other.
 */
#ifndef ST_KERNEL_ELEMENTWISE_ELEMENTWISE_H
#define ST_KERNEL_ELEMENTWISE_ELEMENTWISE_H

#include "kernel/dtype_tags.h"
#include "kernel/elementwise/steps.h"
#include "kernel/math/halves.h"

enum { ST_BLOCK_BYTES = 4096, ST_BLOCK_OPERANDS = 5 };

/* p: one pointer per operand, output first, n elements each. */
typedef void (*st_block)(char *const *p, int64_t n, const void *ctx);

/* Note [Halves in registers]: p and the steps in bytes of the three inputs. */
typedef void (*st_halves)(char *const *restrict p,
                          const int64_t *restrict step, int64_t n,
                          const void *ctx);

typedef struct st_blocks {
  st_block body;
  uint8_t n;                       /* operands */
  uint8_t elem[ST_BLOCK_OPERANDS]; /* st_elem */
  st_halves halves;                /* NULL, or for n % ST_HALVES_UNIT == 0 */
} st_blocks;

/* One instance per object file: the compiler must not inline or clone it. */
#if defined(__clang__)
#define ST_SHARED __attribute__((noinline))
#else
#define ST_SHARED __attribute__((noinline, noclone))
#endif

#define ST_SIZE_IN(bytes, tag, conversion) [ST_ELEM_##tag] = bytes,
static const uint8_t st_memory_size[ST_ELEM_COUNT] = {
  1, 2, 4, 8, 16, 2, 2, ST_FLOAT8_TAGS(ST_SIZE_IN, 1)
  [ST_ELEM_c2] = 4, [ST_ELEM_cb] = 4
};
static const uint8_t st_block_size[ST_ELEM_COUNT] = {
  1, 2, 4, 8, 16, 4, 4, ST_FLOAT8_TAGS(ST_SIZE_IN, 4)
  [ST_ELEM_c2] = 8, [ST_ELEM_cb] = 8
};

/* -- Gather and scatter --------------------------------------------------- */

/* A tile of an operand: m0 x m1 elements with byte strides s0, s1. */
typedef struct st_tile { int64_t s0, s1, m0, m1; } st_tile;

/* The inner loop runs down the columns if it is longer that way, or if the
 * stride along a column is the smaller one, so that a cache line is read
 * once. */
#define ST_GATHER_ROW(b)                                                     \
  static inline void st_gather_row##b(st_bits##b *to, const char *p,         \
                                      int64_t n, int64_t stride) {           \
    if (n >= 8 && stride % b == 0 &&                                         \
        st_copy_step##b(to, (const st_bits##b *)p, n, stride / b)) return;   \
    for (int64_t i = 0; i < n; i++) {                                        \
      to[i] = *(const st_bits##b *)(p + i * stride);                         \
    }                                                                        \
  }
#define ST_GATHER(b)                                                         \
  ST_GATHER_ROW(b)                                                           \
  static void st_gather##b(char *block, const char *p, st_tile w) {          \
    st_bits##b *to = (st_bits##b *)block;                                    \
    const bool down = w.s1 > 0 && w.s1 < w.s0 ? w.m1 > 1 : w.m0 < w.m1;      \
    for (int64_t i = 0; down && w.s0 != 0 && i < w.m0; i++) {                \
      for (int64_t j = 0; j < w.m1; j++) {                                   \
        to[j * w.m0 + i] = *(const st_bits##b *)(p + j * w.s1 + i * w.s0);   \
      }                                                                      \
    }                                                                        \
    for (int64_t j = 0; (!down || w.s0 == 0) && j < w.m1; j++) {             \
      st_gather_row##b(to + j * w.m0, p + j * w.s1, w.m0, w.s0);             \
    }                                                                        \
  }
ST_GATHER(1)
ST_GATHER(2)
ST_GATHER(4)
ST_GATHER(8)
ST_GATHER(16)
#undef ST_GATHER
#undef ST_GATHER_ROW

#define ST_SCATTER(b)                                                        \
  static void st_scatter##b(char *p, const char *block, st_tile w) {         \
    const st_bits##b *from = (const st_bits##b *)block;                      \
    for (int64_t j = 0; j < w.m1; j++) {                                     \
      for (int64_t i = 0; i < w.m0; i++) {                                   \
        *(st_bits##b *)(p + j * w.s1 + i * w.s0) = from[j * w.m0 + i];       \
      }                                                                      \
    }                                                                        \
  }
ST_SCATTER(1)
ST_SCATTER(2)
ST_SCATTER(4)
ST_SCATTER(8)
ST_SCATTER(16)
#undef ST_SCATTER

static inline bool st_is_dense(st_tile w, int64_t size) {
  return (w.m0 == 1 || w.s0 == size) && (w.m1 == 1 || w.s1 == w.m0 * size);
}

/* True if the rows are contiguous and have at least 16 bytes. */
static inline bool st_has_rows(st_tile w, int64_t size) {
  return w.s0 == size && w.m0 * size >= 16;
}

/* -- Half types ----------------------------------------------------------- */

#define ST_WIDEN_CASE(p, tag, conversion)                                    \
  case ST_ELEM_##tag:                                                        \
    ST_SIMD_FOR(i, n) to[i] = st__##conversion##_to_float(p[i]);             \
    break;
static void st_widen(float *to, const char *p, int64_t n, int elem) {
  const st_bits2 *from = (const st_bits2 *)p;
  switch (elem) {
    ST_FLOAT8_TAGS(ST_WIDEN_CASE, ((const uint8_t *)p))
    case ST_ELEM_bf: case ST_ELEM_cb:
      ST_SIMD_FOR(i, n) to[i] = st__bf16_to_float(from[i]);
      break;
    default: {
      const int64_t done = st_widen_eights(to, from, n);
      to += done, from += done;
      ST_SIMD_FOR(i, n - done) to[i] = st__half_to_float(from[i]);
    }
  }
}

#define ST_NARROW_CASE(p, tag, conversion)                                   \
  case ST_ELEM_##tag:                                                        \
    ST_SIMD_FOR(i, n) p[i] = st__float_to_##conversion(from[i]);             \
    break;
static void st_narrow(char *p, const float *from, int64_t n, int elem) {
  st_bits2 *to = (st_bits2 *)p;
  switch (elem) {
    ST_FLOAT8_TAGS(ST_NARROW_CASE, ((uint8_t *)p))
    case ST_ELEM_bf: case ST_ELEM_cb:
      ST_SIMD_FOR(i, n) to[i] = st__float_to_bf16(from[i]);
      break;
    default: {
      const int64_t done = st_narrow_eights(to, from, n);
      to += done, from += done;
      ST_SIMD_FOR(i, n - done) to[i] = st__float_to_half(from[i]);
    }
  }
}

/* Note [Halves in registers]
 * For a quick expression, the conversion of blocks takes longer than the body.
 * So a kernel of half types has a second loop, which converts a few elements,
 * computes and converts the results without memory in between. It runs on
 * contiguous operands and single elements of which there are not few; the
 * rest goes through blocks. The conversions and the arithmetic, and so the
 * results, are the same. */
enum { ST_CHUNK_bf = 32, ST_HALVES_UNIT = 32, ST_FEW_HALVES = 512 };

enum { ST_CHUNK_f2 = ST_HALVES };
#define st_load_f2 st_load_halves
#define st_store_f2 st_store_halves

static inline void st_load_bf(float *to, const char *p) {
  const st_bits2 *from = (const st_bits2 *)p;
  ST_SIMD_FOR(i, ST_CHUNK_bf) to[i] = st__bf16_to_float(from[i]);
}

static inline void st_store_bf(char *p, const float *from) {
  st_bits2 *to = (st_bits2 *)p;
  ST_SIMD_FOR(i, ST_CHUNK_bf) to[i] = st__float_to_bf16(from[i]);
}

/* -- One operand, one tile ------------------------------------------------ */

/* Elements that are not converted are gathered and scattered in the loop over
 * the tiles, the others behind a call. */

/* The floats that a block holds of a tile. */
static inline int64_t st_floats_of(st_tile w, int elem) {
  return w.m0 * w.m1 * (elem >= ST_ELEM_c2 ? 2 : 1);
}

ST_SHARED static void st_gather_floats(char *block, const char *p, st_tile w,
                                       int elem) {
  const int64_t size = st_memory_size[elem];
  _Alignas(4) char raw[ST_BLOCK_BYTES / 2];
  const bool dense = st_is_dense(w, size);
  if (!dense && size == 1) st_gather1(raw, p, w);
  if (!dense && size == 2) st_gather2(raw, p, w);
  if (!dense && size == 4) st_gather4(raw, p, w);
  st_widen((float *)block, dense ? p : raw, st_floats_of(w, elem), elem);
}

static inline void st_gather(char *block, const char *p, st_tile w, int elem) {
  const int64_t size = st_memory_size[elem];
  if (elem >= ST_ELEM_f2) {
    st_gather_floats(block, p, w, elem);
    return;
  }
  if (st_has_rows(w, size)) {
    for (int64_t j = 0; j < w.m1; j++) {
      memcpy(block + j * w.m0 * size, p + j * w.s1, (size_t)(w.m0 * size));
    }
    return;
  }
  switch (elem) {
    case ST_ELEM_1: st_gather1(block, p, w); break;
    case ST_ELEM_2: st_gather2(block, p, w); break;
    case ST_ELEM_4: st_gather4(block, p, w); break;
    case ST_ELEM_8: st_gather8(block, p, w); break;
    default: st_gather16(block, p, w);
  }
}

static void st_scatter_bits(char *p, const char *block, st_tile w,
                            int elem) {
  const int64_t size = st_memory_size[elem];
  if (st_has_rows(w, size)) {
    for (int64_t j = 0; j < w.m1; j++) {
      memcpy(p + j * w.s1, block + j * w.m0 * size, (size_t)(w.m0 * size));
    }
    return;
  }
  switch (elem) {
    case ST_ELEM_1: st_scatter1(p, block, w); break;
    case ST_ELEM_2: st_scatter2(p, block, w); break;
    case ST_ELEM_4: st_scatter4(p, block, w); break;
    case ST_ELEM_8: st_scatter8(p, block, w); break;
    default: st_scatter16(p, block, w);
  }
}

ST_SHARED static void st_scatter_floats(char *p, const char *block, st_tile w,
                                        int elem) {
  const int64_t size = st_memory_size[elem];
  _Alignas(4) char raw[ST_BLOCK_BYTES / 2];
  const bool dense = st_is_dense(w, size);
  st_narrow(dense ? p : raw, (const float *)block, st_floats_of(w, elem),
            elem);
  if (dense) return;
  st_scatter_bits(p, raw, w,
                  size == 1 ? ST_ELEM_1 : size == 2 ? ST_ELEM_2 : ST_ELEM_4);
}

static inline void st_scatter(char *p, const char *block, st_tile w,
                              int elem) {
  if (elem >= ST_ELEM_f2) st_scatter_floats(p, block, w, elem);
  else st_scatter_bits(p, block, w, elem);
}

/* -- The driver ----------------------------------------------------------- */

/* Tiles of c0 inner elements and c1 rows, of n0 x n1 elements. */
typedef struct st_tiling {
  int64_t n0, n1, c0, c1;
  bool direct[ST_BLOCK_OPERANDS];   /* the body reads or writes in place */
} st_tiling;

/* True if two rows of the output may share an element. */
static inline bool st_rows_overlap(int64_t s0, int64_t s1, int64_t n0,
                                   int64_t n1) {
  const int64_t a = s0 < 0 ? -s0 : s0, b = s1 < 0 ? -s1 : s1;
  return b < n0 * a && a < n1 * b;
}

static void st_plan_tiling(st_tiling *cut, const st_blocks *k,
                           const int64_t *strides) {
  const int64_t *outer = strides + k->n;
  int64_t room = ST_BLOCK_BYTES;
  bool all_rows = true;
  for (int i = 0; i < k->n; i++) {
    const int64_t fits = ST_BLOCK_BYTES / st_block_size[k->elem[i]];
    if (fits < room) room = fits;
    cut->direct[i] = k->elem[i] < ST_ELEM_f2 &&
                     strides[i] == st_memory_size[k->elem[i]];
    all_rows &= cut->direct[i];
  }
  cut->c0 = all_rows || cut->n0 < room ? cut->n0 : room;
  cut->c1 = cut->c0 < cut->n0 || (cut->direct[0] && cut->n0 >= 64) ||
            st_rows_overlap(strides[0], outer[0], cut->n0, cut->n1)
          ? 1 : room / cut->n0;
  if (cut->c1 < 1) cut->c1 = 1;
  for (int i = 0; i < k->n; i++) {
    const int64_t row = cut->n0 * st_memory_size[k->elem[i]];
    if (cut->c1 > 1) cut->direct[i] &= outer[i] == row;
  }
}

static void st_run_tiles(const st_blocks *k, const st_tiling *cut,
                         char *const *data, const int64_t *strides,
                         const void *ctx) {
  _Alignas(64) char buffer[ST_BLOCK_OPERANDS][ST_BLOCK_BYTES];
  char *p[ST_BLOCK_OPERANDS];
  const char *held[ST_BLOCK_OPERANDS] = {NULL}; /* address of a buffer's ... */
  int64_t count[ST_BLOCK_OPERANDS]; /* ... elements, and their number */
  st_tile w = {0, 0, 0, 0};
  for (int64_t r = 0; r < cut->n1; r += cut->c1) {
    w.m1 = cut->n1 - r < cut->c1 ? cut->n1 - r : cut->c1;
    for (int64_t q = 0; q < cut->n0; q += cut->c0) {
      w.m0 = cut->n0 - q < cut->c0 ? cut->n0 - q : cut->c0;
      for (int i = k->n - 1; i >= 0; i--) {
        w.s0 = strides[i], w.s1 = strides[k->n + i];
        char *at = data[i] + q * w.s0 + r * w.s1;
        p[i] = cut->direct[i] ? at : buffer[i];
        if (i == 0 || cut->direct[i]) continue;
        if (held[i] == at && count[i] >= w.m0 * w.m1) continue;
        st_gather(buffer[i], at, w, k->elem[i]);
        held[i] = at;
        count[i] = w.m0 * w.m1;
      }
      k->body(p, w.m0 * w.m1, ctx);
      if (cut->direct[0]) continue;
      st_scatter(data[0] + q * w.s0 + r * w.s1, buffer[0], w, k->elem[0]);
    }
  }
}

/* Note [Pieces of rows]
 * If an input has one element per row, as in an outer product, copies of it
 * for a whole row are as many stores as the results. A body that runs on
 * pieces of the row needs copies for one piece. */
enum { ST_PIECE = 128 };

/* True if the output and its inputs have contiguous rows, except inputs of one
 * element per row, of which at least one differs from row to row. */
static bool st_has_pieces(const st_blocks *k, const st_tiling *cut,
                          const int64_t *strides) {
  bool has_pieces = false;
  for (int i = 0; i < k->n; i++) {
    if (cut->direct[i]) continue;
    if (i == 0 || strides[i] != 0) return false;
    has_pieces |= strides[k->n + i] != 0;
  }
  return has_pieces && cut->n1 > 1 && cut->n0 > ST_PIECE;
}

static void st_run_pieces(const st_blocks *k, const st_tiling *cut,
                          char *const *data, const int64_t *strides,
                          const void *ctx) {
  _Alignas(64) char copies[ST_BLOCK_OPERANDS][16 * ST_PIECE];
  const st_tile piece = {0, 0, ST_PIECE, 1};
  char *p[ST_BLOCK_OPERANDS];
  for (int64_t r = 0; r < cut->n1; r++) {
    for (int i = 0; i < k->n; i++) {
      p[i] = data[i] + r * strides[k->n + i];
      if (cut->direct[i]) continue;
      if (r == 0 || strides[k->n + i] != 0) {
        st_gather(copies[i], p[i], piece, k->elem[i]);
      }
      p[i] = copies[i];
    }
    for (int64_t q = 0; q < cut->n0; q += ST_PIECE) {
      k->body(p, cut->n0 - q < ST_PIECE ? cut->n0 - q : ST_PIECE, ctx);
      for (int i = 0; i < k->n; i++) p[i] += ST_PIECE * strides[i];
    }
  }
}

/* Runs operands that are not all contiguous. Rows of one element are treated
 * as one row. */
static void st_run_strided(const st_blocks *k, char **data,
                           const int64_t *strides, int64_t n0, int64_t n1,
                           const void *ctx) {
  int64_t s[2 * ST_BLOCK_OPERANDS] = {0};
  const bool swap = n0 == 1;
  for (int i = 0; i < k->n; i++) {
    s[i] = strides[swap ? k->n + i : i];
    s[k->n + i] = swap ? 0 : strides[k->n + i];
  }
  st_tiling cut = {.n0 = swap ? n1 : n0, .n1 = swap ? 1 : n1};
  st_plan_tiling(&cut, k, s);
  if (st_has_pieces(k, &cut, s)) st_run_pieces(k, &cut, data, s, ctx);
  else st_run_tiles(k, &cut, data, s, ctx);
}

/* Runs the loop in registers, if it applies, on a multiple of ST_HALVES_UNIT
 * elements; returns their number. */
static int64_t st_run_halves(const st_blocks *k, char *const *data,
                             const int64_t *strides, int64_t n0, int64_t n1,
                             const void *ctx) {
  uint16_t same[3][ST_HALVES_UNIT];
  const int64_t whole = n0 * n1 - n0 * n1 % ST_HALVES_UNIT;
  char *p[4];
  int64_t step[3] = {2, 2, 2};
  if (!k->halves || whole < ST_FEW_HALVES) return 0;
  for (int i = 0; i < k->n; i++) {
    const st_tile w = {strides[i], strides[k->n + i], n0, n1};
    p[i] = data[i];
    if (st_is_dense(w, 2)) continue;
    if (i == 0 || w.s0 != 0 || (w.s1 != 0 && n1 > 1)) return 0;
    for (int j = 0; j < ST_HALVES_UNIT; j++) memcpy(&same[i - 1][j], p[i], 2);
    p[i] = (char *)same[i - 1];
    step[i - 1] = 0;
  }
  /* Without optimization, inputs that do not exist are loaded, too. */
  for (int i = k->n; i < 4; i++) p[i] = p[1], step[i - 1] = step[0];
  k->halves(p, step, whole, ctx);
  return whole;
}

/* The last elements, in blocks: operands are contiguous or single elements. */
static void st_run_rest(const st_blocks *k, char *const *data,
                        const int64_t *strides, int64_t n1, int64_t done,
                        int64_t rest, const void *ctx) {
  char *p[ST_BLOCK_OPERANDS];
  int64_t step[2 * ST_BLOCK_OPERANDS] = {0};
  for (int i = 0; i < k->n; i++) {
    step[i] = strides[i] || (n1 > 1 && strides[k->n + i]) ? 2 : 0;
    p[i] = data[i] + done * step[i];
  }
  if (rest) st_run_strided(k, p, step, rest, 1, ctx);
}

/* The driver: every st_loop that ST_BLOCK_LOOP defines calls it. */
ST_SHARED static void st_run_blocks(const st_blocks *k, char **data,
                                    const int64_t *strides, int64_t n0,
                                    int64_t n1, const void *ctx) {
  bool direct = true;
  for (int i = 0; i < k->n; i++) {
    const st_tile w = {strides[i], strides[k->n + i], n0, n1};
    direct &= k->elem[i] < ST_ELEM_f2 &&
              st_is_dense(w, st_memory_size[k->elem[i]]);
  }
  if (direct) {
    k->body(data, n0 * n1, ctx);
  } else if (n0 > 0 && n1 > 0) {
    const int64_t done = st_run_halves(k, data, strides, n0, n1, ctx);
    if (done == 0) st_run_strided(k, data, strides, n0, n1, ctx);
    else st_run_rest(k, data, strides, n1, done, n0 * n1 - done, ctx);
  }
}

/* Defines the st_loop fn of n operands that runs body on blocks; then the
 * st_elem of each operand, output first. */
#define ST_BLOCK_LOOP(fn, body, n, ...)                                      \
  static void fn(char **data, const int64_t *strides, int64_t n0,            \
                 int64_t n1, const void *ctx) {                              \
    static const st_blocks k = {body, n, {__VA_ARGS__}, NULL};               \
    st_run_blocks(&k, data, strides, n0, n1, ctx);                           \
  }

#endif
