/* The functions of strided_grad.h: one-line calls of grad/.
 */

#include "strided.h"

#include <string.h>

#include "grad/record/derivatives.h"
#include "grad/engine/engine.h"

/* -- Tensors -------------------------------------------------------------- */

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

/* -- Hooks ---------------------------------------------------------------- */

st_status st_tensor_add_hook(st_tensor *t, const st_tensor_hook *hook,
                             uint64_t *id) {
  return st__tensor_hook(t, hook, false, id);
}

st_status st_tensor_add_post_hook(st_tensor *t, const st_tensor_hook *hook,
                                  uint64_t *id) {
  return st__tensor_hook(t, hook, true, id);
}

/* -- Nodes ---------------------------------------------------------------- */

st_status st_tensor_grad_fn(st_tensor *t, st_node **out, int *nr) {
  st_edge edge;
  ST_TRY(st__grad_fn(t, &edge));
  if (edge.node) st_node_retain(edge.node);
  *out = edge.node;
  if (nr) *nr = edge.nr;
  return ST_OK;
}

void st_node_release(st_node **n) { st__node_release(n); }
const char *st_node_name(const st_node *n) { return n->name; }
uint64_t st_node_sequence(const st_node *n) { return n->sequence; }
int st_node_ninputs(const st_node *n) { return n->ninputs; }
int st_node_nresults(const st_node *n) { return n->nresults; }

st_node *st_node_next(const st_node *n, int i, int *nr) {
  if (nr) *nr = n->edges[i].nr;
  return n->edges[i].node;
}

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

/* -- Custom derivatives --------------------------------------------------- */

/* -- Anomaly mode --------------------------------------------------------- */

void st_set_anomaly(const st_anomaly *a) { st__anomaly = a; }
