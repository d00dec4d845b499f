/* The backward pass.
 */
#ifndef ST_GRAD_ENGINE_ENGINE_H
#define ST_GRAD_ENGINE_ENGINE_H

#include "grad/graph/history.h"

/* See strided_grad.h. */
st_status st__backward(const st_backward_pass *pass, st_tensor **grads);
/* The same for a pass within another one: hooks of tensors, which may change
 * gradients, are not called. */
st_status st__differentiate(const st_backward_pass *pass, st_tensor **grads);

#endif
