/* Operands and ctx of the product of a matrix of halves and a vector.
 *
 * c <- alpha a v + beta c for a matrix a of n1 rows of a half type and float32
 * vectors c and v. The operands are c, a, v. Inner strides: a and v along the
 * inner dimension, of n0 elements. Outer strides: c and a along the rows. If
 * beta is 0, c is not read.
 */
#ifndef ST_KERNEL_LINALG_HALF_MV_H
#define ST_KERNEL_LINALG_HALF_MV_H

typedef struct st_half_mv {
  float alpha, beta;
} st_half_mv;

#endif
