/* Operands and ctx of the matrix product kernel.
 *
 * c <- alpha a b + beta c for an m x k matrix a and a k x n matrix b. The
 * operands are c, a, b; n0 is n, n1 is m. Inner strides: c and b along n, a
 * along k. Outer strides: c and a along m, b along k. If beta is 0, c is not
 * read. A batch is done in one call: its matrices lie `next` bytes apart.
 */
#ifndef ST_KERNEL_LINALG_MATMUL_H
#define ST_KERNEL_LINALG_MATMUL_H

#include "abi/types.h"

typedef struct st_matmul {
  int64_t k;
  st_scalar alpha, beta;
  int64_t batch, next[3]; /* at least 1; of c, a, b */
} st_matmul;

#endif
