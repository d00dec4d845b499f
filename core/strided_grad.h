/* Part of strided.h: gradients.
 *
 * Operations on tensors that require a gradient are recorded as nodes: each
 * knows the nodes of its inputs and what its derivative needs. st_backward
 * runs them, the newest first.
 */
#ifndef STRIDED_GRAD_H
#define STRIDED_GRAD_H

/* -- Gradients ------------------------------------------------------------ */

/* A leaf requires a gradient because it was told to, every other tensor
 * because it was computed from one. Such a tensor has the Autograd key of its
 * backend. BAD_DTYPE unless floating or complex, BAD_STATE for an inference
 * tensor, and for one that is no leaf when requires_grad is false. */
ST_API st_status st_tensor_set_requires_grad(st_tensor *t,
                                             bool requires_grad);
ST_API bool st_tensor_requires_grad(const st_tensor *t);
/* Was it not computed from tensors that require a gradient? */
ST_API bool st_tensor_is_leaf(const st_tensor *t);
/* Made in the inference mode: no Autograd, no ADInplaceOrView. */
ST_API bool st_tensor_is_inference(const st_tensor *t);
/* The gradient that was accumulated; borrowed, NULL without. */
ST_API st_tensor *st_tensor_grad(const st_tensor *t);
/* NULL: none. BAD_SHAPE, BAD_DTYPE, BAD_VALUE (device) unless it is like t. */
ST_API st_status st_tensor_set_grad(st_tensor *t, st_tensor *grad);
/* A tensor that is no leaf gets its gradient in `grad`, too. BAD_STATE unless
 * it requires one. */
ST_API st_status st_tensor_retain_grad(st_tensor *t);
ST_API bool st_tensor_retains_grad(const st_tensor *t);
/* How often t, or a view of the same elements, was written in place.
 * BAD_STATE for an inference tensor, which does not count. */
ST_API st_status st_tensor_version(const st_tensor *t, uint32_t *out);
/* What t is a view of, borrowed; NULL for what is no view. */
ST_API st_tensor *st_tensor_base(const st_tensor *t);
/* The same elements without a history, whose changes do not count as
 * changes of t. */
ST_API st_status st_tensor_untracked(const st_tensor *t, st_tensor **out);
/* Takes the history away: t is a leaf from now on, and requires no gradient.
 * BAD_STATE for a view. */
ST_API st_status st_tensor_detach(st_tensor *t);

/* Computes gradients. grads: ninputs owned tensors, NULL where there is none;
 * may be NULL when there are no inputs. An error leaves the graph usable, but
 * for the nodes that have run. */
ST_API st_status st_backward(const st_backward_pass *pass,
                             st_tensor **grads);

/* -- Hooks ---------------------------------------------------------------- */

/* Called with the gradient of t whenever one is computed; id is for removal.
 * BAD_STATE unless t requires a gradient. */
ST_API st_status st_tensor_add_hook(st_tensor *t, const st_tensor_hook *hook,
                                    uint64_t *id);
/* The same after a leaf's `grad` was set or added to: fn gets the leaf. */
ST_API st_status st_tensor_add_post_hook(st_tensor *t,
                                         const st_tensor_hook *hook,
                                         uint64_t *id);
/* False when there is no such hook (any more). */
ST_API bool st_tensor_remove_hook(st_tensor *t, uint64_t id);

/* -- Nodes ---------------------------------------------------------------- */

/* The node that computed t, and which result of it t is; NULL for a leaf. A
 * view whose elements were written since gets a new one: that may fail. */
ST_API st_status st_tensor_grad_fn(st_tensor *t, st_node **out, int *nr);
/* That which adds gradients to the leaf t. */
ST_API st_status st_tensor_accumulator(st_tensor *t, st_node **out);
ST_API void st_node_retain(st_node *n);
ST_API void st_node_release(st_node **n);
ST_API const char *st_node_name(const st_node *n); /* "MulBackward0" */
ST_API uint64_t st_node_sequence(const st_node *n);
ST_API int st_node_ninputs(const st_node *n);
ST_API int st_node_nresults(const st_node *n);
/* The node that input i came from, borrowed, NULL for one without a gradient;
 * and which result of it. */
ST_API st_node *st_node_next(const st_node *n, int i, int *nr);
/* The leaf of a node that accumulates, borrowed; NULL for other nodes, and when
 * nobody has the leaf any more: a graph does not keep it, unless it has
 * hooks. */
ST_API st_tensor *st_node_leaf(const st_node *n);
/* Where it was recorded, if an anomaly was set then; "" otherwise. */
ST_API const char *st_node_where(const st_node *n);
ST_API st_status st_node_add_hook(st_node *n, bool before,
                                  const st_node_hook *hook, uint64_t *id);
ST_API bool st_node_remove_hook(st_node *n, uint64_t id);
/* The ctx of the function that recorded n with this `backward`; NULL for any
 * other node. */
ST_API void *st_node_ctx(const st_node *n, st_function_fn backward);

/* -- Derivatives of one's own --------------------------------------------- */

/* Records outputs as computed from inputs, unless gradients are off or no
 * input requires one; *recorded says which. NO_MEMORY. */
ST_API st_status st_record(const st_function *f, bool *recorded);

/* The derivative of an operator of lib, registered for the key Autograd:
 * formulas such as "self: grad * cos(self)", n of them, as in
 * core/grad/derivatives.def, or NULL and a function. BAD_SCHEMA with the
 * position for a formula that cannot be read. */
ST_API st_status st_library_derive(st_library *lib, const char *name, int n,
                                   const char *const *formulas);
/* The same with a function. */
ST_API st_status st_library_derivative(st_library *lib, const char *name,
                                       const st_derivative *d);
/* The formulas of an operator's derivative, one per line, "not
 * differentiable", or NULL when there is none: it is made of operators that
 * have them, or has no gradient. */
ST_API const char *st_op_derivative(const st_op *op);

/* -- Anomalies ------------------------------------------------------------ */

/* For this thread; NULL: none. The struct is the caller's until then. */
ST_API void st_set_anomaly(const st_anomaly *a);

#endif
