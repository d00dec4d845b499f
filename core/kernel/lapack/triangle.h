/* Operands and ctx of the kernel that solves A X = B for a lower triangle A of
 * at most ST_TRIANGLE rows, in place.
 *
 * data: X, which holds B, and A. strides: from column to column of X and of A,
 * then from row to row of X and of A, all of them positive or negative. n0: the
 * columns of X. n1: the rows of X and A. What is above the diagonal of A is not
 * read. An upper triangle is a lower one whose rows and columns are reversed.
 */
#ifndef ST_KERNEL_LAPACK_TRIANGLE_H
#define ST_KERNEL_LAPACK_TRIANGLE_H

#include "kernel/loop.h"

enum { ST_TRIANGLE = 64 };

typedef struct st_triangle_ctx {
  bool is_unit;      /* the diagonal is 1 and is not read */
  st_loop transpose; /* ST_K_transpose for this dtype */
} st_triangle_ctx;

#endif
