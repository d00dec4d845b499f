/* Eigenvalues and eigenvectors of symmetric tridiagonal matrices. */
#ifndef ST_OP_LAPACK_TRIDIAGONAL_H
#define ST_OP_LAPACK_TRIDIAGONAL_H

#include "op/lapack/lapack.h"

/* d: the diagonal, which becomes the eigenvalues, from the least on. e: the
 * n - 1 elements beside it, which are lost. z: n x n; its column order[i] - 1
 * becomes the eigenvector of d[i]. The elements are finite. scratch:
 * st__stedc_bytes. False: interrupted. info, if not 0, is the order of an
 * eigenvalue that was not found; nothing else is defined then. */
__attribute__((warn_unused_result))
bool st__stedc(const st_lapack_job *j, blasint n, char *d, char *e, char *z,
               blasint *order, blasint *info, char *scratch);
int64_t st__stedc_bytes(st_dtype dtype, int64_t n);

#endif
