/* Singular values and vectors of matrices, by bidiagonal ones. */
#ifndef ST_OP_LAPACK_BIDIAGONAL_H
#define ST_OP_LAPACK_BIDIAGONAL_H

#include "op/lapack/part.h"

/* An m x n matrix of at least as many rows becomes Q B P', where B is real and
 * upper bidiagonal. d and e, of the real dtype: the diagonal and the n - 1
 * elements above it. The n reflections of Q, with the factors tau_left, are in
 * the columns of a; the n - 1 of P, with tau_right, are in those of rows, from
 * row 1 on, or only the last block's if these are st__gebrd_rows(n, false)
 * columns. Columns of both are those of st__take_columns. scratch:
 * st__gebrd_bytes. False: interrupted. */
typedef struct st_bidiagonal {
  st_part rows;
  char *d, *e, *tau_left, *tau_right;
} st_bidiagonal;

__attribute__((warn_unused_result))
bool st__gebrd(const st_lapack_job *j, const st_part *a, const st_bidiagonal *b,
               char *scratch);
int64_t st__gebrd_bytes(st_dtype dtype, int64_t m, int64_t n);
int64_t st__gebrd_rows(int64_t n, bool all);

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

/* The singular values alone: d becomes them, from the least on, and e is lost.
 * False: interrupted. info: 0, or 1 if some were not found. scratch:
 * st__dqds_bytes. */
__attribute__((warn_unused_result))
bool st__dqds(const st_lapack_job *j, int64_t n, char *d, const char *e,
              blasint *info, char *scratch);
int64_t st__dqds_bytes(int64_t n);

#endif
