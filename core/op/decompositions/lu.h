/* LU factors of batches of matrices, and equations solved by them.
 */
#ifndef ST_OP_DECOMPOSITIONS_LU_H
#define ST_OP_DECOMPOSITIONS_LU_H

#include "op/lapack/lapack.h"

/* P L U = A, or A transposed if is_transposed; L and U in one matrix, as LAPACK
 * stores them. Tensors owned by the caller, info and pivots contiguous. */
typedef struct st_lu {
  st_tensor *LU, *pivots, *info;
  bool is_transposed;
} st_lu;

/* Factorizes A into the tensors of f. */
st_status st__lu_factor(const st_tensor *A, const st_lu *f);
/* The factors of A transposed in new tensors; info, if it is not NULL, is
 * given (Note [Factors of an equation]). */
st_status st__lu_factor_new(const st_tensor *A, st_lu *f);
/* Releases LU and pivots. */
void st__lu_release(st_lu *f);

/* -- Arguments ------------------------------------------------------------ */

/* BAD_DTYPE or BAD_SHAPE unless the pivots are int32 and as many as LU has. */
st_status st__check_pivots(const st_tensor *LU, const char *name,
                           const st_tensor *pivots, const char *pivots_name);
/* A contiguous copy, which no other thread changes; BAD_INDEX unless each is
 * from 1 to rows. Owned. */
st_status st__copy_pivots(const st_tensor *pivots, int64_t rows,
                          st_tensor **out);

/* The pivots, contiguous, with the batch of X unless there is one matrix. */
st_status st__spread_pivots(const st_tensor *pivots, const st_tensor *X,
                            st_tensor **out);
/* Those of matrix i, or of the only one. */
static inline blasint *st__pivots_at(const st_tensor *pivots, int64_t i) {
  const int64_t each = pivots->sizes[pivots->ndim - 1];
  return (blasint *)(void *)st__data(pivots) +
         (pivots->numel == each ? 0 : i * each);
}

/* -- Equations ------------------------------------------------------------ */

/* Sets X to the solution of op(A) X = B, or of X op(A) = B unless left, where
 * op(A) is A or its adjoint. The batches of A and B broadcast to that of X; the
 * pivots are from 1 to n. */
typedef struct st_lu_equation {
  const st_lu *f;
  bool left, adjoint;
} st_lu_equation;

st_status st__lu_solve(const st_lu_equation *e, const st_tensor *B,
                       st_tensor *X);

#endif
