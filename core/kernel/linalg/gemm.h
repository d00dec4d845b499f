/* Operands and ctx of the kernel of matrix products.
 *
 * Operands, strides and sizes: kernel/linalg/matmul.h. The rows of c are
 * contiguous; a and b have any strides.
 *
 * Note [The order of a product]
 * An element of c = alpha a b + beta c is computed from blocks of DEPTH
 * products each. The sum of a block begins with zero and takes its products
 * from the first to the last, each by a fused multiply-add. Blocks are added
 * to c in order, alpha times each; beta c, or beta times a row, is added to
 * the first one. So the bits are a function of K alone: not of the strides, the
 * instruction set, the threads or the caches. Complex products add up those of
 * the real and those of the imaginary part of a apart, and add both at the end
 * of a block. Instruction sets without a fused multiply-add, SSE2 among them,
 * round products, and have other bits. NaN's sign is the processor's.
 */
#ifndef ST_KERNEL_LINALG_GEMM_H
#define ST_KERNEL_LINALG_GEMM_H

#include "kernel/loop.h"

enum {
  ST_GEMM_DEPTH = 256,   /* Note [The order of a product] */
  ST_GEMM_COLUMNS = 8192 /* bytes of a row of a copy of b */
};

typedef struct st_gemm_ctx {
  int64_t k;
  int64_t block;   /* bytes of a that stay in the cache: a multiple of 4 KB */
  st_scalar alpha, beta;
  const char *row; /* c = alpha a b + beta row instead of beta c; or NULL */
  st_loop transpose; /* ST_K_transpose for this dtype */
  char *copies;    /* st__gemm_copies bytes for copies of a and b, aligned to a
                      line; or NULL: the result is the same */
} st_gemm_ctx;

/* The rows of a block of a, whose elements have `size` bytes; whole tiles. */
static inline int64_t st__gemm_rows(int64_t block, int64_t size) {
  enum { TILE = 24 };
  const int64_t tiles = block / (ST_GEMM_DEPTH * TILE * size);
  return TILE * (tiles > 0 ? tiles : 1);
}

/* Bytes of the copies of a product of m x k and k x n elements. */
static inline int64_t st__gemm_copies(int64_t block, int64_t m, int64_t n,
                                      int64_t size) {
  const int64_t most = st__gemm_rows(block, size), row = n * size + 127;
  const int64_t a = ST_GEMM_DEPTH * size * (m < most ? m : most);
  if (m <= most) return a;
  return a + ST_GEMM_DEPTH * (row < ST_GEMM_COLUMNS ? row / 128 * 128
                                                    : ST_GEMM_COLUMNS);
}

#endif
