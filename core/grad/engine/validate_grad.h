/* Gradients made to look like what they are the gradient of.
 */
#ifndef ST_GRAD_ENGINE_VALIDATE_GRAD_H
#define ST_GRAD_ENGINE_VALIDATE_GRAD_H

#include "grad/graph/node.h"

/* What came out for input i of n gets the input's shape and dtype: real out of
 * complex, added up where broadcasting had repeated. BAD_SHAPE names n when
 * that is not how they differ. */
st_status st__validate_grad(const st_node *n, int i, st_tensor **grad);

#endif
