/* Least squares by QR factors. */
#ifndef ST_OP_LAPACK_LEAST_SQUARES_H
#define ST_OP_LAPACK_LEAST_SQUARES_H

#include "op/lapack/part.h"

/* The pivoted factors A P = Q R: column i of A P is column order[i] of A, of
 * those that are left the one with the largest norm. a becomes R and the
 * vectors of reflections. scratch: st__geqp3_bytes. */
__attribute__((warn_unused_result))
bool st__geqp3(const st_lapack_job *j, const st_part *a, char *tau,
               blasint *order, char *scratch);
int64_t st__geqp3_bytes(st_dtype dtype, int64_t m, int64_t n);

/* The least ||A X - B||; b has as many rows as A has rows or columns, and
 * becomes X above what is left of B. The elements are finite; a is lost.
 * scratch: st__gels_bytes. */
typedef struct st_least_squares {
  st_part a, b;
  double rcond; /* of gelsy: the least reciprocal condition that counts */
} st_least_squares;

/* info: of the first element of R's diagonal that is zero, from 1, or 0; there
 * is no X then. */
__attribute__((warn_unused_result))
bool st__gels(const st_lapack_job *j, const st_least_squares *s, blasint *info,
              char *scratch);
/* The least X of these. */
__attribute__((warn_unused_result))
bool st__gelsy(const st_lapack_job *j, const st_least_squares *s,
               blasint *rank, char *scratch);
int64_t st__gels_bytes(st_dtype dtype, int64_t m, int64_t n, int64_t columns);

#endif
