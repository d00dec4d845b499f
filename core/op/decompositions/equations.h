/* What operators that solve A X = B, or X A = B, have in common.
 */
#ifndef ST_OP_DECOMPOSITIONS_EQUATIONS_H
#define ST_OP_DECOMPOSITIONS_EQUATIONS_H

#include "op/row/composite.h"

/* The sizes of X, whose batch is that of A and B, broadcast. BAD_SHAPE if B
 * does not fit to A, which is called `name`. */
st_status st__equation_sizes(const st_tensor *A, const char *name,
                             const st_tensor *B, bool left, int64_t *sizes,
                             int *ndim);

/* The gradient of A by that of B and X. */
st_tensor *st__matrix_gradient(st_op_scope *c, const st_tensor *grad_B,
                               const st_tensor *X, bool left);

/* The shortcut of linalg_solve: for one small matrix. */
ST_SHORTCUT(st__shortcut_solve);

#endif
