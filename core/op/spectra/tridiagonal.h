/* Eigenvalues and eigenvectors of Hermitian matrices, by tridiagonal ones. */
#ifndef ST_OP_LAPACK_TRIDIAGONAL_H
#define ST_OP_LAPACK_TRIDIAGONAL_H

#include "op/lapack/part.h"

/* A Hermitian matrix, of which the lower triangle is read, becomes a real
 * tridiagonal one, and a has the vectors of the n - 1 reflections below its
 * diagonal. d and e: of the real dtype; tau: of the job's. Columns of a are
 * those of st__take_columns. scratch: st__sytrd_bytes. */
typedef struct st_tridiagonal { char *d, *e, *tau; } st_tridiagonal;

__attribute__((warn_unused_result))
bool st__sytrd(const st_lapack_job *j, const st_part *a,
               const st_tridiagonal *t, char *scratch);
int64_t st__sytrd_bytes(st_dtype dtype, int64_t n);

/* d: the diagonal, which becomes the eigenvalues, from the least on. e: the
 * n - 1 elements beside it, which are lost. z: n x n; its column order[i] - 1
 * becomes the eigenvector of d[i]. The elements are finite. scratch:
 * st__stedc_bytes. False: interrupted. info, if not 0, is the order of an
 * eigenvalue that was not found; nothing else is defined then. */
__attribute__((warn_unused_result))
bool st__stedc(const st_lapack_job *j, blasint n, char *d, char *e, char *z,
               blasint *order, blasint *info, char *scratch);
int64_t st__stedc_bytes(st_dtype dtype, int64_t n);

/* The eigenvalues alone: d becomes them, from the least on, and e is lost.
 * Returns info. scratch: st__sterf_bytes. */
blasint st__sterf(const st_lapack_job *j, int64_t n, char *d, const char *e,
                  char *scratch);
int64_t st__sterf_bytes(int64_t n);

#endif
