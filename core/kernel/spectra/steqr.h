/* Operands of the kernel that decomposes a symmetric tridiagonal matrix, as
 * LAPACK's steqr does.
 *
 * data: d, the diagonal, becomes the eigenvalues, ascending; e, the n0 - 1
 * elements beside it, is lost; Z becomes the eigenvectors, in its columns; an
 * int32 becomes 0, or which eigenvalue, from 1, was not found; and room, n0
 * rows of st__steqr_row(n0) elements. strides: of Z and of room the distance of
 * columns, and of rows; the rest is not used. n0: at most ST_STEQR. The
 * greatest element is near 1, or all are 0.
 */
#ifndef ST_KERNEL_SPECTRA_STEQR_H
#define ST_KERNEL_SPECTRA_STEQR_H

#include "kernel/loop.h"

enum { ST_STEQR = 64, ST_STEQR_LANES = 16 };

static inline int64_t st__steqr_row(int64_t n) {
  return (n + ST_STEQR_LANES - 1) / ST_STEQR_LANES * ST_STEQR_LANES;
}

#endif
