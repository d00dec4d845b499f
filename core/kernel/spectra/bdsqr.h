/* Operands of the kernel that decomposes a bidiagonal matrix, as LAPACK's bdsqr
 * does.
 *
 * data: d, the diagonal, becomes the singular values, ascending; e, the
 * elements above it, is lost; U and V' of U S V' become those of the vectors in
 * this order; an int32 becomes 0, or which value, from 1, was not found; and
 * room, 2 n0 + n1 rows of st__bdsqr_row(n0 + n1) elements. strides: of U, V'
 * and room the distance of columns or rows; the rest is not used. n0: rows, at
 * most ST_BDSQR. n1: 1 if the matrix has a column more than rows, which e has
 * an element for; V' has a row more then. The greatest element is near 1, or
 * all are 0.
 */
#ifndef ST_KERNEL_SPECTRA_BDSQR_H
#define ST_KERNEL_SPECTRA_BDSQR_H

#include "kernel/loop.h"

enum { ST_BDSQR = 64, ST_BDSQR_LANES = 16 };

static inline int64_t st__bdsqr_row(int64_t n) {
  return (n + ST_BDSQR_LANES - 1) / ST_BDSQR_LANES * ST_BDSQR_LANES;
}

#endif
