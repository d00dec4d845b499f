/* Operands and ctx of the kernels of small matrices.
 *
 * Note [Small matrices]
 * A call of LAPACK for a 3x3 matrix takes longer than its arithmetic. These
 * kernels factor LANES matrices at once: element (i, j) of all of them is one
 * vector, and a branch, such as the choice of a pivot, becomes a selection by
 * lane. One or two matrices that are left over are computed one at a time, by
 * the same operations in the same order, so the place of a matrix in a batch
 * does not matter.
 *
 * The algorithms are those of LAPACK's unblocked functions (getf2, getrs,
 * potf2, geqr2, org2r), with the same choice of pivots and signs, and, for
 * eigenvalues and singular values, sytd2 and gebd2 with the iterations of steqr
 * and bdsqr in one direction. The signs of the vectors are those of
 * small_rotations.h.
 *
 * A step, along n0, is a matrix; the inner strides lead from one to the next.
 * Within a matrix ctx has the strides. An operand whose pointer is NULL is not
 * wanted. Outputs may share memory with inputs of the same matrix.
 *
 *     kernel          operands
 *     small_lu        LU, pivots, info, A       A is m x n
 *     small_det       det, A                    A is n x n
 *     small_solve     X, info, A, B             A is n x n, B n x k
 *     small_inverse   X, info, A                A is n x n; NaN if singular
 *     small_cholesky  L, info, A                reads A's lower triangle
 *     small_qr        Q, R, A                   A is m x n, Q has k columns and
 *                                               R k rows
 *     small_eigh      values, vectors, A        reads A's lower triangle
 *     small_svd       U, S, Vh, A               A is m x n, m >= n; U has k
 *                                               columns
 *
 * Without vectors, U or Vh only the values are computed. The values of a matrix
 * that is not finite, or for which the iteration does not converge, are NaN.
 *
 * The pivots (from 1) and info (0 or a position from 1) are int32, as LAPACK
 * returns them.
 */
#ifndef ST_KERNEL_SMALL_MATRICES_SMALL_MATRICES_H
#define ST_KERNEL_SMALL_MATRICES_SMALL_MATRICES_H

#include "kernel/loop.h"

enum {
  ST_SMALL = 8,          /* rows and columns at most */
  ST_SMALL_OPERANDS = 4
};

typedef struct st_small {
  int m, n, k;
  int64_t row[ST_SMALL_OPERANDS], col[ST_SMALL_OPERANDS]; /* byte strides */
} st_small;

#endif
