/* Hooks as a backward pass calls them.
 */
#ifndef ST_GRAD_ENGINE_HOOK_H
#define ST_GRAD_ENGINE_HOOK_H

#include "grad/graph/node.h"

/* Of tensors, with the gradients that there are: each may put another one of
 * the same dtype, shape and device in its place. */
st_status st__run_result_hooks(st_hook **list, st_tensor **grads);
/* Before n runs: the same, or NULL, for any of the gradients of its results. */
st_status st__run_hooks_before(st_node *n, st_tensor **grads);
/* After it: anything in the place of the gradients of its inputs. */
st_status st__run_hooks_after(st_node *n, st_tensor **inputs,
                              st_tensor **grads);

#endif
