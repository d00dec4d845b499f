/* The driver of elementwise loops whose operands are strided or converted: Note
 * [Blocks].
 */

#include "kernel/elementwise/blocks.h"

#include "kernel/elementwise/reduced_floats.h"
#include "kernel/elementwise/steps.h"

static const uint8_t block_size[ST_ELEM_COUNT] = {
  1, 2, 4, 8, 16, 4, 4, ST_FLOAT8_TAGS(ST_SIZE_IN, 4)
  [ST_ELEM_c2] = 8, [ST_ELEM_cb] = 8
};

/* -- Gather and scatter --------------------------------------------------- */

/* The inner loop runs down the columns if it is longer that way, or if the
 * stride along a column is the smaller one, so that a cache line is read
 * once. */
#define GATHER_ROW(b)                                                        \
  static inline void gather_row##b(st_bits##b *to, const char *p, int64_t n, \
                                   int64_t stride) {                         \
    if (n >= 8 && stride % b == 0 &&                                         \
        st_copy_step##b(to, (const st_bits##b *)p, n, stride / b)) return;   \
    for (int64_t i = 0; i < n; i++) {                                        \
      to[i] = *(const st_bits##b *)(p + i * stride);                         \
    }                                                                        \
  }
#define GATHER(b)                                                            \
  GATHER_ROW(b)                                                              \
  static void gather##b(char *block, const char *p, const st_tile *tile) {   \
    const st_tile w = *tile;                                                 \
    st_bits##b *to = (st_bits##b *)block;                                    \
    const bool down = w.s1 > 0 && w.s1 < w.s0 ? w.m1 > 1 : w.m0 < w.m1;      \
    for (int64_t i = 0; down && w.s0 != 0 && i < w.m0; i++) {                \
      for (int64_t j = 0; j < w.m1; j++) {                                   \
        to[j * w.m0 + i] = *(const st_bits##b *)(p + j * w.s1 + i * w.s0);   \
      }                                                                      \
    }                                                                        \
    for (int64_t j = 0; (!down || w.s0 == 0) && j < w.m1; j++) {             \
      gather_row##b(to + j * w.m0, p + j * w.s1, w.m0, w.s0);                \
    }                                                                        \
  }
GATHER(1)
GATHER(2)
GATHER(4)
GATHER(8)
GATHER(16)
#undef GATHER
#undef GATHER_ROW

#define SCATTER(b)                                                           \
  static void scatter##b(char *p, const char *block, const st_tile *tile) {  \
    const st_tile w = *tile;                                                 \
    const st_bits##b *from = (const st_bits##b *)block;                      \
    for (int64_t j = 0; j < w.m1; j++) {                                     \
      for (int64_t i = 0; i < w.m0; i++) {                                   \
        *(st_bits##b *)(p + j * w.s1 + i * w.s0) = from[j * w.m0 + i];       \
      }                                                                      \
    }                                                                        \
  }
SCATTER(1)
SCATTER(2)
SCATTER(4)
SCATTER(8)
SCATTER(16)
#undef SCATTER

/* -- One operand, one tile ------------------------------------------------ */

/* The floats that a block holds of a tile. */
static inline int64_t floats_of(const st_tile *w, int elem) {
  return w->m0 * w->m1 * (elem >= ST_ELEM_c2 ? 2 : 1);
}

ST_SHARED static void gather_floats(char *block, const char *p,
                                    const st_tile *w, int elem) {
  const int64_t size = st_memory_size[elem];
  _Alignas(4) char raw[ST_BLOCK_BYTES / 2];
  const bool dense = st_is_dense(w, size);
  if (!dense && size == 1) gather1(raw, p, w);
  if (!dense && size == 2) gather2(raw, p, w);
  if (!dense && size == 4) gather4(raw, p, w);
  st_widen((float *)block, dense ? p : raw, floats_of(w, elem), elem);
}

static inline void gather(char *block, const char *p, const st_tile *w,
                          int elem) {
  const int64_t size = st_memory_size[elem];
  if (elem >= ST_ELEM_f2) {
    gather_floats(block, p, w, elem);
    return;
  }
  if (st_has_rows(w, size)) {
    for (int64_t j = 0; j < w->m1; j++) {
      memcpy(block + j * w->m0 * size, p + j * w->s1, (size_t)(w->m0 * size));
    }
    return;
  }
  switch (elem) {
    case ST_ELEM_1: gather1(block, p, w); break;
    case ST_ELEM_2: gather2(block, p, w); break;
    case ST_ELEM_4: gather4(block, p, w); break;
    case ST_ELEM_8: gather8(block, p, w); break;
    default: gather16(block, p, w);
  }
}

static void scatter_bits(char *p, const char *block, const st_tile *w,
                         int elem) {
  const int64_t size = st_memory_size[elem];
  if (st_has_rows(w, size)) {
    for (int64_t j = 0; j < w->m1; j++) {
      memcpy(p + j * w->s1, block + j * w->m0 * size, (size_t)(w->m0 * size));
    }
    return;
  }
  switch (elem) {
    case ST_ELEM_1: scatter1(p, block, w); break;
    case ST_ELEM_2: scatter2(p, block, w); break;
    case ST_ELEM_4: scatter4(p, block, w); break;
    case ST_ELEM_8: scatter8(p, block, w); break;
    default: scatter16(p, block, w);
  }
}

ST_SHARED static void scatter_floats(char *p, const char *block,
                                     const st_tile *w, int elem) {
  const int64_t size = st_memory_size[elem];
  _Alignas(4) char raw[ST_BLOCK_BYTES / 2];
  const bool dense = st_is_dense(w, size);
  st_narrow(dense ? p : raw, (const float *)block, floats_of(w, elem),
            elem);
  if (dense) return;
  scatter_bits(p, raw, w,
               size == 1 ? ST_ELEM_1 : size == 2 ? ST_ELEM_2 : ST_ELEM_4);
}

static inline void scatter(char *p, const char *block, const st_tile *w,
                           int elem) {
  if (elem >= ST_ELEM_f2) scatter_floats(p, block, w, elem);
  else scatter_bits(p, block, w, elem);
}

/* -- The driver ----------------------------------------------------------- */

/* Tiles of c0 inner elements and c1 rows, of n0 x n1 elements. */
typedef struct tiling {
  int64_t n0, n1, c0, c1;
  bool direct[ST_BLOCK_OPERANDS];   /* the body reads or writes in place */
} tiling;

/* True if two rows of the output may share an element. */
static inline bool rows_overlap(int64_t s0, int64_t s1, int64_t n0,
                                int64_t n1) {
  const int64_t a = s0 < 0 ? -s0 : s0, b = s1 < 0 ? -s1 : s1;
  return b < n0 * a && a < n1 * b;
}

static void plan_tiling(tiling *cut, const st_blocks *k,
                        const int64_t *strides) {
  const int64_t *outer = strides + k->n;
  int64_t room = ST_BLOCK_BYTES;
  bool all_rows = true;
  for (int i = 0; i < k->n; i++) {
    const int64_t fits = ST_BLOCK_BYTES / block_size[k->elem[i]];
    if (fits < room) room = fits;
    cut->direct[i] = k->elem[i] < ST_ELEM_f2 &&
                     strides[i] == st_memory_size[k->elem[i]];
    all_rows &= cut->direct[i];
  }
  cut->c0 = all_rows || cut->n0 < room ? cut->n0 : room;
  cut->c1 = cut->c0 < cut->n0 || (cut->direct[0] && cut->n0 >= 64) ||
            rows_overlap(strides[0], outer[0], cut->n0, cut->n1)
          ? 1 : room / cut->n0;
  if (cut->c1 < 1) cut->c1 = 1;
  for (int i = 0; i < k->n; i++) {
    const int64_t row = cut->n0 * st_memory_size[k->elem[i]];
    if (cut->c1 > 1) cut->direct[i] &= outer[i] == row;
  }
}

static void run_tiles(const st_blocks *k, const tiling *cut,
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
        gather(buffer[i], at, &w, k->elem[i]);
        held[i] = at;
        count[i] = w.m0 * w.m1;
      }
      k->body(p, w.m0 * w.m1, ctx);
      if (cut->direct[0]) continue;
      scatter(data[0] + q * w.s0 + r * w.s1, buffer[0], &w, k->elem[0]);
    }
  }
}

/* True if the body runs on whole rows, in place. */
static bool has_whole_rows(const st_blocks *k, const tiling *cut) {
  bool all_direct = true;
  for (int i = 0; i < k->n; i++) all_direct &= cut->direct[i];
  return all_direct && cut->c0 == cut->n0 && cut->c1 == 1;
}

static void run_rows(const st_blocks *k, const tiling *cut, char *const *data,
                     const int64_t *strides, const void *ctx) {
  char *p[ST_BLOCK_OPERANDS];
  for (int i = 0; i < k->n; i++) p[i] = data[i];
  for (int64_t r = 0; r < cut->n1; r++) {
    k->body(p, cut->n0, ctx);
    for (int i = 0; i < k->n; i++) p[i] += strides[k->n + i];
  }
}

/* Note [Pieces of rows]
 * If an input has one element per row, as in an outer product, copies of it
 * for a whole row are as many stores as the results. A body that runs on
 * pieces of the row needs copies for one piece. */
enum { PIECE = 128 };

/* True if the output and its inputs have contiguous rows, except inputs of one
 * element per row, of which at least one differs from row to row. */
static bool has_pieces(const st_blocks *k, const tiling *cut,
                       const int64_t *strides) {
  bool is_one_per_row = false;
  for (int i = 0; i < k->n; i++) {
    if (cut->direct[i]) continue;
    if (i == 0 || strides[i] != 0) return false;
    is_one_per_row |= strides[k->n + i] != 0;
  }
  return is_one_per_row && cut->n1 > 1 && cut->n0 > PIECE;
}

static void run_pieces(const st_blocks *k, const tiling *cut,
                       char *const *data, const int64_t *strides,
                       const void *ctx) {
  _Alignas(64) char copies[ST_BLOCK_OPERANDS][16 * PIECE];
  const st_tile piece = {0, 0, PIECE, 1};
  char *p[ST_BLOCK_OPERANDS];
  for (int64_t r = 0; r < cut->n1; r++) {
    for (int i = 0; i < k->n; i++) {
      p[i] = data[i] + r * strides[k->n + i];
      if (cut->direct[i]) continue;
      if (r == 0 || strides[k->n + i] != 0) {
        gather(copies[i], p[i], &piece, k->elem[i]);
      }
      p[i] = copies[i];
    }
    for (int64_t q = 0; q < cut->n0; q += PIECE) {
      k->body(p, cut->n0 - q < PIECE ? cut->n0 - q : PIECE, ctx);
      for (int i = 0; i < k->n; i++) p[i] += PIECE * strides[i];
    }
  }
}

/* Runs operands that are not all contiguous. Rows of one element are treated
 * as one row. */
static void run_strided(const st_blocks *k, char **data,
                        const int64_t *strides, int64_t n0, int64_t n1,
                        const void *ctx) {
  int64_t s[2 * ST_BLOCK_OPERANDS] = {0};
  const bool swap = n0 == 1;
  for (int i = 0; i < k->n; i++) {
    s[i] = strides[swap ? k->n + i : i];
    s[k->n + i] = swap ? 0 : strides[k->n + i];
  }
  tiling cut = {.n0 = swap ? n1 : n0, .n1 = swap ? 1 : n1};
  plan_tiling(&cut, k, s);
  if (has_whole_rows(k, &cut)) run_rows(k, &cut, data, s, ctx);
  else if (has_pieces(k, &cut, s)) run_pieces(k, &cut, data, s, ctx);
  else run_tiles(k, &cut, data, s, ctx);
}

enum { FEW_HALVES = 512 }; /* from which the loop in registers pays */

/* Runs the loop in registers, if it applies, on a multiple of ST_HALVES_UNIT
 * elements; returns their number. */
static int64_t run_halves(const st_blocks *k, char *const *data,
                          const int64_t *strides, int64_t n0, int64_t n1,
                          const void *ctx) {
  uint16_t same[3][ST_HALVES_UNIT];
  const int64_t whole = n0 * n1 - n0 * n1 % ST_HALVES_UNIT;
  char *p[4];
  int64_t step[3] = {2, 2, 2};
  if (!k->halves || whole < FEW_HALVES) return 0;
  for (int i = 0; i < k->n; i++) {
    const st_tile w = {strides[i], strides[k->n + i], n0, n1};
    p[i] = data[i];
    if (st_is_dense(&w, 2)) continue;
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
static void run_rest(const st_blocks *k, char *const *data,
                     const int64_t *strides, int64_t n1, int64_t done,
                     int64_t rest, const void *ctx) {
  char *p[ST_BLOCK_OPERANDS];
  int64_t step[2 * ST_BLOCK_OPERANDS] = {0};
  for (int i = 0; i < k->n; i++) {
    step[i] = strides[i] || (n1 > 1 && strides[k->n + i]) ? 2 : 0;
    p[i] = data[i] + done * step[i];
  }
  if (rest) run_strided(k, p, step, rest, 1, ctx);
}

static void run_blocks(char **data, const int64_t *strides, int64_t n0,
                       int64_t n1, const void *ctx, const st_blocks *k) {
  const int64_t done = run_halves(k, data, strides, n0, n1, ctx);
  if (done == 0) run_strided(k, data, strides, n0, n1, ctx);
  else run_rest(k, data, strides, n1, done, n0 * n1 - done, ctx);
}

const st_block_driver ST_ISA_NAME(st__block_driver) = {run_blocks};
