/* The words of blocks of Philox 4x32-10: J. K. Salmon, M. A. Moraes, R. O.
 * Dror, D. E. Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC11.
 */

#include "kernel/inline.h"
#include "kernel/loop.h"
#include "kernel/random/random.h"
#include "kernel/vectors.h"

#define UNROLL _Pragma("GCC unroll 16")

/* LANES blocks side by side: ORDER says which, so that pairing the even and
 * the odd elements of two vectors (PAIR_EVEN, PAIR_ODD) leaves the blocks in
 * order. */
enum { LANES = BYTES / 8 };
#if ST_VECTOR_BYTES == 64
#define ORDER     {0, 4, 1, 5, 2, 6, 3, 7}
#define PAIR_EVEN 0, 8, 2, 10, 4, 12, 6, 14
#define PAIR_ODD  1, 9, 3, 11, 5, 13, 7, 15
#elif ST_VECTOR_BYTES == 32
#define ORDER     {0, 2, 1, 3}
#define PAIR_EVEN 0, 4, 2, 6
#define PAIR_ODD  1, 5, 3, 7
#else
#define ORDER     {0, 1}
#define PAIR_EVEN 0, 2
#define PAIR_ODD  1, 3
#endif

enum { WIDTH = 4 }; /* vectors at a time */

typedef v_u8 vec;
typedef uint64_t unaligned __attribute__((vector_size(8 * LANES), aligned(4),
                                          may_alias));

#define SHUFFLE(x, y, ...) ST_SHUFFLE(vec, x, y, __VA_ARGS__)

/* The products of the low halves of the elements and m. */
INLINE vec times(vec a, uint32_t m) {
  return MULTIPLY_u8(a, (vec){0} + m);
}

/* A counter's words in the low halves of a, b, c, d; the high ones are
 * anything. */
typedef struct counter { vec a, b, c, d; } counter;

INLINE void do_round(counter *n, uint32_t k0, uint32_t k1) {
  const vec x = times(n->a, 0xd2511f53u), y = times(n->c, 0xcd9e8d57u);
  n->a = (y >> 32) ^ n->b ^ k0, n->b = y;
  n->c = (x >> 32) ^ n->d ^ k1, n->d = x;
}

INLINE void store(const counter *n, uint32_t *words) {
  const vec low = (n->a & 0xffffffffu) | n->b << 32;
  const vec high = (n->c & 0xffffffffu) | n->d << 32;
  unaligned *out = (unaligned *)(void *)words;
  out[0] = (unaligned)SHUFFLE(low, high, PAIR_EVEN);
  out[1] = (unaligned)SHUFFLE(low, high, PAIR_ODD);
}

/* WIDTH * LANES blocks: the rounds of the vectors overlap. */
INLINE void some_blocks(const st_philox_at *at, uint32_t *words) {
  const vec zero = {0};
  counter n[WIDTH];
  UNROLL for (int v = 0; v < WIDTH; v++) {
    const vec low = (vec)ORDER + (uint64_t)(v * LANES) + at->block;
    n[v] = (counter){low, low >> 32, zero + at->stream,
                     zero + (at->stream >> 32)};
  }
  uint32_t k0 = (uint32_t)at->key, k1 = (uint32_t)(at->key >> 32);
  UNROLL for (int round = 0; round < 10; round++) {
    UNROLL for (int v = 0; v < WIDTH; v++) do_round(&n[v], k0, k1);
    k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
  }
  UNROLL for (int v = 0; v < WIDTH; v++) {
    store(&n[v], words + ST_PHILOX_WORDS * LANES * v);
  }
}

static ST_LOOP_FN(philox, strides) {
  uint32_t *words = (uint32_t *)(void *)data[0];
  st_philox_at at = *(const st_philox_at *)ctx;
  int64_t i = 0;
  for (; i + WIDTH * LANES <= n0; i += WIDTH * LANES) {
    some_blocks(&at, words + ST_PHILOX_WORDS * i);
    at.block += WIDTH * LANES;
  }
  for (; i < n0; i++, at.block++) {
    st__philox_block(&at, words + ST_PHILOX_WORDS * i);
  }
}

/* -- Rows ----------------------------------------------------------------- */

static const st_kernel_row rows[] = {
  {"philox", {[ST_INT32] = philox}},
};

ST_EXPORT(st__philox, rows)
