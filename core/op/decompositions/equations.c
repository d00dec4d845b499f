/* Shapes and gradients of the operators that solve equations.
 */

#include "op/decompositions/equations.h"

#include "op/lapack/lapack.h"

st_status st__equation_sizes(const st_tensor *A, const char *name,
                             const st_tensor *B, bool left, int64_t *sizes,
                             int *ndim) {
  const int64_t n = left ? st__rows(B) : st__cols(B);
  int batch;
  if (n != st__cols(A)) {
    return st__fail(ST_BAD_SHAPE, "the %s of B, shape %s, are not as many as "
                    "those of %s, shape %s", left ? "rows" : "columns",
                    ST_SHAPE_TEXT(B), name, ST_SHAPE_TEXT(A));
  }
  if (st__broadcast_shape(A->ndim - 2, A->sizes, B->ndim - 2, B->sizes, sizes,
                          &batch) != ST_OK) {
    return st__fail(ST_BAD_SHAPE, "the batches of %s, shape %s, and B, shape "
                    "%s, do not broadcast", name, ST_SHAPE_TEXT(A),
                    ST_SHAPE_TEXT(B));
  }
  sizes[batch] = st__rows(B);
  sizes[batch + 1] = st__cols(B);
  *ndim = batch + 2;
  return ST_OK;
}

/* A X = B: -grad_B X'. X A = B: -X' grad_B. */
st_tensor *st__matrix_gradient(st_op_scope *c, const st_tensor *grad_B,
                               const st_tensor *X, bool left) {
  const st_tensor *adjoint = st__adjoint(c, X);
  const st_tensor *product =
    left ? st__times(c, grad_B, adjoint) : st__times(c, adjoint, grad_B);
  return st__apply1(c, ST_OP_neg, product);
}
