/* Operands of the kernel that makes a block of columns an upper triangle by
 * Householder's reflections, in place, as LAPACK's geqr2 does.
 *
 * data: A, the factors tau, and an int32 that becomes 1, or 0 if nothing was
 * done, because an element is not finite or its square may overflow. strides:
 * from row to row of A, which is the size of an element, and two that are not
 * used; then from column to column of A. n0: rows. n1: columns, at most as
 * many.
 */
#ifndef ST_KERNEL_LAPACK_REFLECT_H
#define ST_KERNEL_LAPACK_REFLECT_H

#include "kernel/loop.h"

#endif
