/* Singular values and vectors of bidiagonal matrices. */
#ifndef ST_OP_LAPACK_BIDIAGONAL_H
#define ST_OP_LAPACK_BIDIAGONAL_H

#include "op/lapack/lapack.h"

/* d: the diagonal, which becomes the singular values, from the least on. e: the
 * n - 1 elements above it, which are lost. u, vt: n x n; the matrix is U S V'
 * where column order[i] - 1 of u and this row of vt belong to d[i]. The
 * elements are finite. scratch: st__bdsdc_bytes. False: interrupted. info, if
 * not 0, is the order of a value that was not found; nothing else is defined
 * then. */
__attribute__((warn_unused_result))
bool st__bdsdc(const st_lapack_job *j, blasint n, char *d, char *e, char *u,
               char *vt, blasint *order, blasint *info, char *scratch);
int64_t st__bdsdc_bytes(st_dtype dtype, int64_t n);

#endif
