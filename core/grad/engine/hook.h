/* Running the hooks of a backward pass.
 */
#ifndef ST_GRAD_ENGINE_HOOK_H
#define ST_GRAD_ENGINE_HOOK_H

#include "grad/graph/node.h"

/* Runs tensor hooks on the gradients that are not NULL. Each may replace its
 * gradient by one of the same dtype, shape and device. */
st_status st__run_result_hooks(st_hook **list, st_tensor **grads);
/* Runs node hooks before n. Each may replace gradients of n's results by such
 * a gradient or by NULL. */
st_status st__run_hooks_before(st_node *n, st_tensor **grads);
/* Runs node hooks after n. Each may replace gradients of n's inputs freely. */
st_status st__run_hooks_after(st_node *n, st_tensor **inputs,
                              st_tensor **grads);

#endif
