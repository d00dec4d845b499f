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
 *
 * Note [Halves in registers]
 * For a quick expression, the conversion of blocks takes longer than the body.
 * So a kernel of half types has a second loop, which converts a few elements,
 * computes and converts the results without memory in between. It runs on
 * contiguous operands and single elements of which there are not few; the
 * rest goes through blocks. The conversions and the arithmetic, and so the
 * results, are the same.
 */
#ifndef ST_KERNEL_ELEMENTWISE_BLOCKS_H
#define ST_KERNEL_ELEMENTWISE_BLOCKS_H

#include "kernel/dtype_tags.h"

enum { ST_BLOCK_BYTES = 4096, ST_BLOCK_OPERANDS = 5, ST_HALVES_UNIT = 32 };

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

/* By st_elem. */
#define ST_SIZE_IN(bytes, tag, conversion) [ST_ELEM_##tag] = bytes,
static const uint8_t st_memory_size[ST_ELEM_COUNT] = {
  1, 2, 4, 8, 16, 2, 2, ST_FLOAT8_TAGS(ST_SIZE_IN, 1)
  [ST_ELEM_c2] = 4, [ST_ELEM_cb] = 4
};

/* A tile of an operand: m0 x m1 elements with byte strides s0, s1. Functions
 * take its address: a copy as an argument is loaded in whole vectors, which
 * wait until the stores of its members, and all before, have left for the
 * cache. */
typedef struct st_tile { int64_t s0, s1, m0, m1; } st_tile;

static inline bool st_is_dense(const st_tile *w, int64_t size) {
  return (w->m0 == 1 || w->s0 == size)
         && (w->m1 == 1 || w->s1 == w->m0 * size);
}

/* True if the rows are contiguous and have at least 16 bytes. */
static inline bool st_has_rows(const st_tile *w, int64_t size) {
  return w->s0 == size && w->m0 * size >= 16;
}

/* Runs operands that are not all contiguous, or that are converted. */
typedef struct st_block_driver {
  void (*run)(char **data, const int64_t *strides, int64_t n0, int64_t n1,
              const void *ctx, const st_blocks *k);
} st_block_driver;
extern const st_block_driver ST_ISA_NAME(st__block_driver);

#endif
