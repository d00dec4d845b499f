/* The backward pass.
 */
#ifndef ST_GRAD_ENGINE_ENGINE_H
#define ST_GRAD_ENGINE_ENGINE_H

#include "grad/graph/history.h"
#include "abi/strided_grad.h"

/* st_backward for a pass within another one: hooks of tensors, which may change
 * gradients, are not called. */
st_status st__differentiate(const st_backward_pass *pass, st_tensor **grads);

#endif
