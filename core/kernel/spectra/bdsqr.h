/* Operands of the kernel that decomposes a bidiagonal matrix, as LAPACK's bdsqr
 * does.
 *
 * data: d, the diagonal; e, the elements above it; U and V', of which the
 * matrix is U S V'; an int32; and room, 2 n0 + 1 rows of st__bdsqr_row(n0 + 1)
 * elements. strides: of U, V' and room the distance of columns or rows; the
 * rest is not used. n0: rows. ctx: st_bdsqr. The greatest element is near 1, or
 * all are 0.
 *
 * With vectors: at most ST_BDSQR rows. n1: 1 if the matrix has a column more
 * than rows, which e has an element for; V' has a row more then. d becomes the
 * singular values, ascending; U and V' those of the vectors in this order. The
 * int32 becomes 0, or which value, from 1, was not found.
 *
 * Without: d becomes the singular values, in some order, in several calls. The
 * int32 becomes -1 if another one has to follow.
 */
#ifndef ST_KERNEL_SPECTRA_BDSQR_H
#define ST_KERNEL_SPECTRA_BDSQR_H

#include "kernel/loop.h"

enum { ST_BDSQR = 64, ST_BDSQR_LANES = 16 };

typedef struct st_bdsqr {
  bool vectors;
  int64_t *left;  /* rotations that may follow; less after the call */
  int64_t period; /* those of a call */
} st_bdsqr;

static inline int64_t st__bdsqr_row(int64_t n) {
  return (n + ST_BDSQR_LANES - 1) / ST_BDSQR_LANES * ST_BDSQR_LANES;
}

#endif
