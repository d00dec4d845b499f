/* Singular values of bidiagonal matrices by quotients and differences. */
#ifndef ST_OP_SPECTRA_QD_H
#define ST_OP_SPECTRA_QD_H

#include "op/lapack/lapack.h"

/* d, the diagonal, becomes the n singular values, in some order; e: the n - 1
 * elements above it, the greatest of all near 1. room: st__qd_room numbers.
 * False if the job was interrupted or some were not found; d is lost then. */
__attribute__((warn_unused_result))
bool st__qd_values(const st_lapack_job *j, int64_t n, double *d,
                   const double *e, double *room);
static inline int64_t st__qd_room(int64_t n) { return 14 * n; }

#endif
