/* Decompositions of large matrices in blocks: as LAPACK's functions of these
 * names, but the engine's threads share the columns.
 *
 * They are for the calls of a job, and run on the calling thread where the
 * job's matrices are shared already. What returns a bool returns false if the
 * job was stopped or has no memory, as j->status says; its results are not
 * complete then.
 *
 * Note [Decompositions in blocks]
 * Columns are divided into halves, down to panels of ST_PANEL columns, which a
 * kernel factors. What the left half says of the right one is a triangular
 * solve, divided in the same way, and a product of half the columns' size, in
 * which nearly all of the work is; threads share the products, and chunks of
 * ST_CHUNK columns of the rest. Halves, panels and chunks depend on the sizes
 * only, and so do the bits.
 *
 * QR factors go from left to right: a kernel makes the reflections of a panel,
 * which three products apply to what is left of a block, and then those of the
 * block to the columns behind it.
 *
 * Eigenvalues of Hermitian matrices take a reduction of the same kind, then the
 * division of what is left (op/spectra/tridiagonal.h), and products with
 * reflections. So do singular values (op/spectra/bidiagonal.h).
 */
#ifndef ST_OP_LAPACK_BLOCKS_H
#define ST_OP_LAPACK_BLOCKS_H

#include "op/lapack/part.h"

/* True if the functions below share a matrix of these sizes. */
bool st__is_blocked(int64_t rows, int64_t cols);

/* Rows [k, k + n) of a change places with those of the pivots, from 1, in order
 * or in reverse. */
typedef struct st_row_exchange {
  st_part a;
  const blasint *pivots;
  int64_t k, n;
  bool back;
} st_row_exchange;

__attribute__((warn_unused_result))
bool st__exchange_rows(const st_lapack_job *j, const st_row_exchange *e);
/* In columns [from, to), on the calling thread. */
void st__exchange_in(const st_lapack_job *j, const st_row_exchange *e,
                     int64_t from, int64_t to);

/* The pivots of LAPACK: of the numbers with the largest |re| + |im|, the first.
 * scratch: st__getrf_bytes. */
__attribute__((warn_unused_result))
bool st__getrf(const st_lapack_job *j, const st_part *a, blasint *pivots,
               blasint *info, char *scratch);
int64_t st__getrf_bytes(st_dtype dtype, int64_t m, int64_t n);
/* x becomes the X of op(A) X = x; trans is 'N', 'T' or 'C'. */
__attribute__((warn_unused_result))
bool st__getrs(const st_lapack_job *j, const st_part *lu,
               const blasint *pivots, char trans, const st_part *x);
/* By the factors and pivots of getrf, a gets the inverse. scratch:
 * st__getri_bytes. */
__attribute__((warn_unused_result))
bool st__getri(const st_lapack_job *j, const st_part *a,
               const blasint *pivots, char *scratch);
int64_t st__getri_bytes(st_dtype dtype, int64_t n);

/* The factor of the lower triangle, and zeros above it; that of the upper one
 * is the factor of the turned part. scratch: st__potrf_bytes. */
void st__potrf(const st_lapack_job *j, const st_part *a, blasint *info,
               char *scratch);
int64_t st__potrf_bytes(st_dtype dtype, int64_t n);
/* The inverse by a factor, whose diagonal has no zeros. scratch:
 * st__potri_bytes. */
__attribute__((warn_unused_result))
bool st__potri(const st_lapack_job *j, const st_part *a, char *scratch);
int64_t st__potri_bytes(st_dtype dtype, int64_t n);

/* As LAPACK's sytrf or hetrf: the lower triangle of a becomes L and D, and the
 * pivots are those of op/decompositions/ldl.c. a's columns are st__ldl_pitch
 * bytes apart; what is above the diagonal is scratch. scratch:
 * st__ldl_bytes. */
typedef struct st_ldl {
  st_part a;
  blasint *pivots;
  bool hermitian;
} st_ldl;

__attribute__((warn_unused_result))
bool st__sytrf(const st_lapack_job *j, const st_ldl *f, blasint *info,
               char *scratch);
int64_t st__ldl_pitch(st_dtype dtype, int64_t n);
int64_t st__ldl_bytes(st_dtype dtype, int64_t n);
/* x becomes the X of A X = x, by its factors and pivots, whose pairs are
 * complete. scratch: st__sytrs_bytes. */
__attribute__((warn_unused_result))
bool st__sytrs(const st_lapack_job *j, const st_ldl *f, const st_part *x,
               char *scratch);
int64_t st__sytrs_bytes(st_dtype dtype, int64_t n, int64_t columns);

/* x becomes the X of A X = x; A is square, and a triangle of it is read. X A =
 * B is A' X' = B', of the turned parts. */
typedef struct st_triangle {
  st_part a, x;
  bool upper, is_unit;
} st_triangle;

__attribute__((warn_unused_result))
bool st__solve_triangle(const st_lapack_job *j, const st_triangle *t);

/* x, with contiguous columns, becomes U^-1 L^-1, or conj(U)^-1 L^-1 if
 * `conjugates`; the x of the triangles are not read. */
typedef struct st_inversion {
  st_triangle lower, upper;
  st_part x;
  bool conjugates;
} st_inversion;

__attribute__((warn_unused_result))
bool st__invert_triangles(const st_lapack_job *j, const st_inversion *v);

/* As LAPACK's geqrf: a becomes R and the vectors of reflections. scratch:
 * st__qr_bytes for the columns that the reflections are applied to, and k
 * reflections. */
__attribute__((warn_unused_result))
bool st__geqrf(const st_lapack_job *j, const st_part *a, char *tau,
               char *scratch);
int64_t st__qr_bytes(st_dtype dtype, int64_t m, int64_t n, int64_t k);
/* a, with contiguous columns, gets those of the product of the k reflections in
 * it. */
__attribute__((warn_unused_result))
bool st__orgqr(const st_lapack_job *j, const st_part *a, int64_t k,
               const char *tau, char *scratch);

/* The product Q of the reflections in a, or its adjoint, or the conjugate of
 * either. */
typedef struct st_reflections {
  st_part a;
  const char *tau;
  bool adjoint, conjugates;
} st_reflections;

/* c becomes Q c. */
__attribute__((warn_unused_result))
bool st__ormqr(const st_lapack_job *j, const st_reflections *q,
               const st_part *c, char *scratch);

#endif
