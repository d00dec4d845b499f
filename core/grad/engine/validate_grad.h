/* Checks of the outputs of a pass; conversion of gradients to the shape and
 * dtype of their inputs.
 */
#ifndef ST_GRAD_ENGINE_VALIDATE_GRAD_H
#define ST_GRAD_ENGINE_VALIDATE_GRAD_H

#include "grad/graph/node.h"

/* BAD_STATE, BAD_SHAPE or BAD_DTYPE unless t can be output i of a pass, with
 * this gradient or without one, as NULL. */
st_status st__check_root(const st_tensor *t, const st_tensor *grad, int i);
/* Converts *grad, the gradient that n computed for its input i, to the input's
 * shape and dtype: takes the real part for a real input and sums over
 * broadcast dimensions. BAD_SHAPE, naming n, if the input's shape does not
 * broadcast to the gradient's. */
st_status st__validate_grad(const st_node *n, int i, st_tensor **grad);

#endif
