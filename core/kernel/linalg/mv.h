/* Operands and ctx of the kernel of a matrix times a vector.
 *
 * c <- alpha a x + beta c for an m x k matrix a. The operands are c, a, x; n0
 * is k, n1 is m. Strides: st[1] of a along k, st[3] and st[4] of c and a along
 * m; elements of x are adjacent, and so are those of rows or of columns of a.
 * If beta is 0, c is not read. x and c of a matrix of halves are float32.
 *
 * Note [The order of a product with a vector]
 * 64 bytes hold L elements. Product i of a sum is rounded and added to partial
 * sum i mod L, in order; the second half of these is added to the first half,
 * and so on until one is left. A complex product has four such sums, of the
 * products of real and imaginary parts. So the bits are a function of k alone,
 * on every instruction set.
 */
#ifndef ST_KERNEL_LINALG_MV_H
#define ST_KERNEL_LINALG_MV_H

#include "abi/types.h"

/* Bytes of partial sums of a row: 64, of complex numbers twice as many. */
#define ST_MV_SUMS 128

/* sums: scratch of the caller for the partial sums of `rows` rows, a multiple
 * of 16, or NULL; only if elements of columns are adjacent. The result is the
 * same without it. */
typedef struct st_mv_ctx {
  st_scalar alpha, beta;
  char *sums;
  int64_t rows;
} st_mv_ctx;

#endif
