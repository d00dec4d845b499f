/* Operands of the kernels that factor a panel: a block of columns with all rows
 * below its diagonal, in place.
 *
 * data: the panel, whose columns are contiguous, an int32 info and, of
 * lu_panel, int32 pivots. strides: from row to row, which is the size of an
 * element, and two that are not used; then from column to column. n0: rows.
 * n1: columns, at most as many. The bytes behind a column, as far as
 * ST_PANEL_SPARE, are scratch.
 *
 * info becomes 0 or the place from 1 of the first zero of U's diagonal, or of
 * the first minor that is not positive, where cholesky_panel ends. Pivots are
 * rows of the panel from 1; rows are exchanged in the panel only. Cholesky
 * factors are those of the lower triangle; what is above is scratch.
 */
#ifndef ST_KERNEL_LAPACK_PANEL_H
#define ST_KERNEL_LAPACK_PANEL_H

#include "kernel/loop.h"

enum { ST_PANEL = 64, ST_PANEL_SPARE = 64 };

#endif
