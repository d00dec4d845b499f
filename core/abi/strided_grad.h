/* Part of strided.h: gradients.
 *
 * Operations on tensors that require a gradient are recorded as nodes. A node
 * has edges to the nodes of its inputs and saves what its derivative needs.
 * st_backward runs the nodes, newest first.
 */
#ifndef STRIDED_GRAD_H
#define STRIDED_GRAD_H

/* -- Gradients ------------------------------------------------------------ */

/* A leaf requires a gradient if this function says so, any other tensor if one
 * of its inputs does. Such a tensor has the Autograd key of its backend.
 * BAD_DTYPE unless floating or complex; BAD_STATE for an inference tensor, and
 * for a non-leaf when requires_grad is false. */
ST_API st_status st_tensor_set_requires_grad(st_tensor *t,
                                             bool requires_grad);
ST_API bool st_tensor_requires_grad(const st_tensor *t);
/* True if t was not computed from tensors that require a gradient. */
ST_API bool st_tensor_is_leaf(const st_tensor *t);
/* True if t was made in inference mode: it has neither the Autograd nor the
 * ADInplaceOrView key. */
ST_API bool st_tensor_is_inference(const st_tensor *t);
/* The accumulated gradient; borrowed, NULL if there is none. */
ST_API st_tensor *st_tensor_grad(const st_tensor *t);
/* NULL clears it. BAD_SHAPE, BAD_DTYPE or BAD_VALUE (device) if grad does not
 * match t. */
ST_API st_status st_tensor_set_grad(st_tensor *t, st_tensor *grad);
/* Makes backward passes set `grad` of a non-leaf as well. BAD_STATE if t does
 * not require a gradient. */
ST_API st_status st_tensor_retain_grad(st_tensor *t);
ST_API bool st_tensor_retains_grad(const st_tensor *t);
/* The number of in-place writes to t and to tensors that share its version
 * counter, such as its views. BAD_STATE for an inference tensor, which has no
 * version counter. */
ST_API st_status st_tensor_version(const st_tensor *t, uint32_t *out);
/* The tensor that t is a view of; borrowed, NULL if t is not a view. */
ST_API st_tensor *st_tensor_base(const st_tensor *t);
/* A tensor of the same elements without history; writes to it do not bump the
 * version of t. */
ST_API st_status st_tensor_untracked(const st_tensor *t, st_tensor **out);
/* Removes the history: t becomes a leaf that requires no gradient. BAD_STATE
 * for a view. */
ST_API st_status st_tensor_detach(st_tensor *t);

/* Computes gradients. grads receives ninputs owned tensors, NULL where an input
 * has no gradient; it may be NULL if there are no inputs. After an error the
 * graph stays usable, except for the nodes that have run. */
ST_API st_status st_backward(const st_backward_pass *pass,
                             st_tensor **grads);

/* -- Hooks ---------------------------------------------------------------- */

/* Registers a hook that is called with the gradient of t each time it is
 * computed. id is for removal. BAD_STATE if t does not require a gradient. */
ST_API st_status st_tensor_add_hook(st_tensor *t, const st_tensor_hook *hook,
                                    uint64_t *id);
/* The same for a hook that is called with a leaf after its `grad` was set or
 * added to. */
ST_API st_status st_tensor_add_post_hook(st_tensor *t,
                                         const st_tensor_hook *hook,
                                         uint64_t *id);
/* False if there is no such hook (any more). */
ST_API bool st_tensor_remove_hook(st_tensor *t, uint64_t id);

/* -- Nodes ---------------------------------------------------------------- */

/* The node that computed t, owned by the caller, and the index of t among its
 * results; NULL for a leaf. For a view whose elements were written since it was
 * made this builds a new node, which may fail. */
ST_API st_status st_tensor_grad_fn(st_tensor *t, st_node **out, int *nr);
/* The node that accumulates the gradient of the leaf t; owned by the caller. */
ST_API st_status st_tensor_accumulator(st_tensor *t, st_node **out);
ST_API void st_node_retain(st_node *n);
ST_API void st_node_release(st_node **n);
ST_API const char *st_node_name(const st_node *n); /* "MulBackward0" */
ST_API uint64_t st_node_sequence(const st_node *n);
ST_API int st_node_ninputs(const st_node *n);
ST_API int st_node_nresults(const st_node *n);
/* The node that computed input i of n, borrowed, and the index of that result.
 * NULL if the input has no gradient. */
ST_API st_node *st_node_next(const st_node *n, int i, int *nr);
/* The leaf of an accumulator node, borrowed. NULL for other nodes and after the
 * leaf was released: a graph keeps a leaf alive only if it has hooks. */
ST_API st_tensor *st_node_leaf(const st_node *n);
/* Where n was recorded, if anomaly mode was on then; otherwise "". */
ST_API const char *st_node_where(const st_node *n);
ST_API st_status st_node_add_hook(st_node *n, bool before,
                                  const st_node_hook *hook, uint64_t *id);
ST_API bool st_node_remove_hook(st_node *n, uint64_t id);
/* The ctx of the function that recorded n with this `backward`; NULL for any
 * other node. */
ST_API void *st_node_ctx(const st_node *n, st_function_fn backward);

/* -- Custom derivatives --------------------------------------------------- */

/* Records outputs as computed from inputs, unless gradients are disabled or no
 * input requires one. *recorded says which. NO_MEMORY. */
ST_API st_status st_record(const st_function *f, bool *recorded);

/* Registers the derivative of an operator of lib for the key Autograd: n
 * formulas such as "self: grad * cos(self)", in the syntax of
 * core/grad/derivatives.def. BAD_SCHEMA with the offset for a malformed
 * formula. */
ST_API st_status st_library_derive(st_library *lib, const char *name, int n,
                                   const char *const *formulas);
/* The same with a function. */
ST_API st_status st_library_derivative(st_library *lib, const char *name,
                                       const st_derivative *d);
/* The formulas of an operator's derivative, one per line, or "not
 * differentiable". NULL if it has no derivative registered: it is composed of
 * differentiable operators, or has no gradient. */
ST_API const char *st_op_derivative(const st_op *op);

/* -- Anomaly mode --------------------------------------------------------- */

/* Sets this thread's anomaly mode; NULL turns it off. The struct is borrowed
 * until then. */
ST_API void st_set_anomaly(const st_anomaly *a);

#endif
