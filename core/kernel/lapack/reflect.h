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
 */
#ifndef ST_KERNEL_LAPACK_REFLECT_H
#define ST_KERNEL_LAPACK_REFLECT_H

#include "kernel/loop.h"

enum { ST_REFLECT = 128 };

#endif
