/* Decompositions of large matrices in blocks: as LAPACK's functions of these
 * names, but the engine's threads share the columns.
 *
 * They are for the calls of a job, and run on the calling thread where the
 * job's matrices are shared already. If one is interrupted, j->status says so;
 * then its results are not complete, and those that others build on return
 * false.
 *
 * Note [Decompositions in blocks]
 * LAPACK's functions run on one thread here: OpenBLAS's own team waits
 * actively, which on busy processors costs a hundred times what it saves. So a
 * block of columns is factored by LAPACK, and the columns that follow are
 * updated by chunks of ST_CHUNK, each by a triangular solve and a product of
 * BLAS. The chunks depend on the sizes only, so the bits do not depend on the
 * number of threads.
 *
 * OpenBLAS 0.3.21 solves triangular systems at a tenth of the speed of its
 * products where the triangle has at most 64 rows. A kernel of the engine does
 * that for real matrices: LU factors of 500 rows take 1.9 ms, by LAPACK 2.9.
 * Another one makes the reflections of a block of QR factors.
 *
 * Eigenvectors and singular vectors of real matrices take LAPACK's reduction,
 * on one thread, then the engine's division of what is left (tridiagonal.h,
 * bidiagonal.h), and products with reflections by chunks.
 */
#ifndef ST_OP_LAPACK_BLOCKS_H
#define ST_OP_LAPACK_BLOCKS_H

#include "op/lapack/lapack.h"

/* True if the functions below share a matrix of these sizes. */
bool st__is_blocked(int64_t rows, int64_t cols);

__attribute__((warn_unused_result))
bool st__getrf(const st_lapack_job *j, blasint m, blasint n, char *a,
               blasint lda, blasint *pivots, blasint *info);
void st__getrs(const st_lapack_job *j, const char *trans, blasint n,
               blasint columns, const char *a, blasint lda,
               const blasint *pivots, char *b, blasint ldb);
/* By the factors and pivots of getrf, a gets the inverse. scratch:
 * st__getri_bytes. */
void st__getri(const st_lapack_job *j, blasint n, char *a, blasint lda,
               const blasint *pivots, char *scratch);
int64_t st__getri_bytes(st_dtype dtype, int64_t n);

void st__potrf(const st_lapack_job *j, bool upper, blasint n, char *a,
               blasint lda, blasint *info);

/* op(A) X = B, or X op(A) = B unless left; X, m x n, holds B. */
typedef struct st_triangle {
  const char *a;
  blasint lda;
  char *x;
  blasint ldx, m, n;
  bool left, upper, is_unit;
  char trans; /* 'N', 'T', 'C' */
} st_triangle;

void st__trsm(const st_lapack_job *j, const st_triangle *t);

/* scratch: st__qr_bytes. */
__attribute__((warn_unused_result))
bool st__geqrf(const st_lapack_job *j, blasint m, blasint n, char *a,
               blasint lda, char *tau, char *scratch);
/* Also ungqr. a, m x n, gets the product of the k reflections in it. */
void st__orgqr(const st_lapack_job *j, blasint m, blasint n, blasint k,
               char *a, blasint lda, const char *tau, char *scratch);
int64_t st__qr_bytes(st_dtype dtype, int64_t m, int64_t n);

/* C, m x n, becomes Q C, where Q is the product of the k reflections in a,
 * which loses what it has above them. scratch: st__apply_q_bytes. */
void st__apply_q(const st_lapack_job *j, blasint m, blasint n, blasint k,
                 char *a, blasint lda, const char *tau, char *c, blasint ldc,
                 char *scratch);
int64_t st__apply_q_bytes(st_dtype dtype, int64_t n, int64_t k);

#endif
