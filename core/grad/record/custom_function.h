/* Custom autograd functions: operations whose gradient the caller computes.
 */
#ifndef ST_GRAD_RECORD_CUSTOM_FUNCTION_H
#define ST_GRAD_RECORD_CUSTOM_FUNCTION_H

#include "grad/graph/node.h"

/* See strided_grad.h. */
st_status st__record(const st_function *f, bool *recorded);
void *st__function_ctx(const st_node *n, st_function_fn backward);

#endif
