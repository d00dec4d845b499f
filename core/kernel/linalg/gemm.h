/* Operands and ctx of the kernel of matrix products of moderate size.
 *
 * Operands, strides and sizes: kernel/linalg/matmul.h. The rows of c are
 * contiguous; a and b have any strides. Instruction sets without a fused
 * multiply-add have no such kernel.
 */
#ifndef ST_KERNEL_LINALG_GEMM_H
#define ST_KERNEL_LINALG_GEMM_H

#include "kernel/loop.h"

typedef struct st_gemm_ctx {
  int64_t k;
  int64_t block; /* bytes of a that stay in the cache: a multiple of 4 KB */
  st_scalar alpha, beta;
  const char *row; /* c = alpha a b + beta row instead of beta c; or NULL */
  st_loop transpose; /* ST_K_transpose for this dtype */
} st_gemm_ctx;

#endif
