/* The functions of strided_grad.h: one-line calls of grad/.
 */

#include "strided.h"

#include <string.h>

#include "grad/record/derivatives.h"
#include "grad/engine/engine.h"
#include "grad/record/custom_function.h"

/* -- Tensors -------------------------------------------------------------- */

st_status st_tensor_set_requires_grad(st_tensor *t, bool requires_grad) {
  return st__set_requires_grad(t, requires_grad);
}

bool st_tensor_requires_grad(const st_tensor *t) {
  return st__requires_grad(t);
}

bool st_tensor_is_leaf(const st_tensor *t) {
  st_edge edge;
  if (st__grad_fn((st_tensor *)(uintptr_t)t, &edge) != ST_OK) return false;
  return !edge.node;
}

bool st_tensor_is_inference(const st_tensor *t) {
  return !(t->keys & ST_BIT(ST_FUNC_ADInplaceOrView));
}

st_tensor *st_tensor_grad(const st_tensor *t) { return st__grad_of(t); }

st_status st_tensor_set_grad(st_tensor *t, st_tensor *grad) {
  return st__set_grad(t, grad);
}

st_status st_tensor_retain_grad(st_tensor *t) { return st__retain_grad(t); }

bool st_tensor_retains_grad(const st_tensor *t) {
  return t->history && t->history->retained_grad;
}

st_status st_tensor_version(const st_tensor *t, uint32_t *out) {
  if (st_tensor_is_inference(t)) {
    return st__fail(ST_BAD_STATE, "an inference tensor has no version counter");
  }
  *out = st__version(t);
  return ST_OK;
}

st_tensor *st_tensor_base(const st_tensor *t) { return st__base(t); }

st_status st_tensor_untracked(const st_tensor *t, st_tensor **out) {
  return st__alias_unversioned(t, out);
}

st_status st_tensor_detach(st_tensor *t) { return st__detach(t); }

st_status st_backward(const st_backward_pass *pass, st_tensor **grads) {
  return st__backward(pass, grads);
}

/* -- Hooks ---------------------------------------------------------------- */

st_status st_tensor_add_hook(st_tensor *t, const st_tensor_hook *hook,
                             uint64_t *id) {
  return st__tensor_hook(t, hook, false, id);
}

st_status st_tensor_add_post_hook(st_tensor *t, const st_tensor_hook *hook,
                                  uint64_t *id) {
  return st__tensor_hook(t, hook, true, id);
}

bool st_tensor_remove_hook(st_tensor *t, uint64_t id) {
  return st__tensor_unhook(t, id);
}

/* -- Nodes ---------------------------------------------------------------- */

st_status st_tensor_grad_fn(st_tensor *t, st_node **out, int *nr) {
  st_edge edge;
  ST_TRY(st__grad_fn(t, &edge));
  if (edge.node) st__node_retain(edge.node);
  *out = edge.node;
  if (nr) *nr = edge.nr;
  return ST_OK;
}

st_status st_tensor_accumulator(st_tensor *t, st_node **out) {
  return st__accumulator(t, out);
}

void st_node_retain(st_node *n) { st__node_retain(n); }
void st_node_release(st_node **n) { st__node_release(n); }
const char *st_node_name(const st_node *n) { return n->name; }
uint64_t st_node_sequence(const st_node *n) { return n->sequence; }
int st_node_ninputs(const st_node *n) { return n->ninputs; }
int st_node_nresults(const st_node *n) { return n->nresults; }

st_node *st_node_next(const st_node *n, int i, int *nr) {
  if (nr) *nr = n->edges[i].nr;
  return n->edges[i].node;
}

st_tensor *st_node_leaf(const st_node *n) { return st__leaf_of(n); }
const char *st_node_where(const st_node *n) { return n->where ? n->where : ""; }

st_status st_node_add_hook(st_node *n, bool before, const st_node_hook *fn,
                           uint64_t *id) {
  const st_hook hook = {.when = before ? ST_HOOK_BEFORE : ST_HOOK_AFTER,
                        .u.node = *fn};
  return st__hook_add(&n->hooks, &hook, id);
}

bool st_node_remove_hook(st_node *n, uint64_t id) {
  return st__hook_remove(&n->hooks, id);
}

void *st_node_ctx(const st_node *n, st_function_fn backward) {
  return st__function_ctx(n, backward);
}

/* -- Custom derivatives --------------------------------------------------- */

st_status st_record(const st_function *f, bool *recorded) {
  return st__record(f, recorded);
}

st_status st_library_derive(st_library *lib, const char *name, int n,
                            const char *const *formulas) {
  return st__library_derive(lib, name, n, formulas);
}

st_status st_library_derivative(st_library *lib, const char *name,
                                const st_derivative *d) {
  return st__library_derivative(lib, name, d);
}

const char *st_op_derivative(const st_op *op) {
  return st__op_derivative(op);
}

/* -- Anomaly mode --------------------------------------------------------- */

void st_set_anomaly(const st_anomaly *a) { st__anomaly = a; }
