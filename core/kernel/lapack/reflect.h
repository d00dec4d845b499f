/* Operands of the kernels of Householder's reflections. Columns are contiguous.
 *
 * reflect_panel: a panel becomes R and, below its diagonal, the vectors of
 * reflections, as LAPACK's geqr2 does; operands and scratch are those of
 * kernel/lapack/panel.h, with the factors tau instead of pivots.
 *
 * reflect_factor: the upper triangle T, with zeros below, of which the product
 * of the reflections is I - V T V', from V' V and tau. data: T, V' V, tau.
 * strides: none; then from column to column of T and V' V. n0: their rows and
 * columns, at most ST_REFLECT; those of T are in whole lines.
 *
 * multiply_hermitian: columns of a Hermitian matrix, of which the lower
 * triangle is read, times those numbers of x, and their adjoints times x.
 * data: y, the sum of both, the first column, from its diagonal on, and x.
 * strides: none; then from column to column. n0: rows. n1: columns.
 *
 * subtract_columns: y loses n1 columns times the numbers at w, which are
 * conjugated if ctx, a bool, is true. data: y, the columns, w. strides: none;
 * none, then from column to column and from number to number. n0: rows.
 * column_dots: the adjoints of n1 columns times x. data: the products, the
 * columns, x. strides, n0, n1: as before.
 *
 * Their columns and vectors are followed by a line of zeros.
 */
#ifndef ST_KERNEL_LAPACK_REFLECT_H
#define ST_KERNEL_LAPACK_REFLECT_H

#include "kernel/loop.h"

enum { ST_REFLECT = 128 };

#endif
