/* Operands of the kernels of LDL factors, L D L' or L D L^T: D has blocks of
 * one and of two rows. Columns are contiguous. The ctx is a bool: the matrix is
 * Hermitian, not symmetric.
 *
 * ldl_panel: the lower triangle of the first columns, in place. data: the
 * matrix, W, int32 pivots, two int32. strides: from column to column of the
 * matrix and of W. n0: its rows. n1: the columns of W, at least two unless
 * there is one row. All columns are factored if there are at most n1; else
 * n1 - 1 or n1 of them: the second int32 says how many. The first is as info
 * of LAPACK's functions: 0, or the place from 1 of the first zero of D. W
 * becomes L D, below what is factored, conjugated if Hermitian: the rest of the
 * matrix has to lose L W^T. Rows are exchanged in all columns up to theirs.
 * Pivots: see op/decompositions/ldl.c. The bytes behind columns, as far as
 * ST_PANEL_SPARE (kernel/lapack/panel.h), are scratch.
 *
 * ldl_diagonal: X with D X = B, in place. data: X, L and D, the pivots.
 * strides: from column to column of X and of L. n0: rows. n1: columns of X.
 * ldl_solve: the same of the whole equation, for few columns.
 */
#ifndef ST_KERNEL_LAPACK_LDL_H
#define ST_KERNEL_LAPACK_LDL_H

#include "kernel/loop.h"

#endif
