/* Tracers: the mode's beginning and end, bindings, and the arguments of calls
 * (Note [Tracing]).
 */

#include "fuse/trace/tracer.h"

/* -- Beginning and end ---------------------------------------------------- */

st_status st__tracer_init(st_tracer *t, const st_tracer_kind *kind,
                          const st_tracing_config *c) {
  t->kind = kind;
  t->graph = NULL;
  t->where = c->where;
  t->ctx = c->ctx;
  t->nbindings = 0;
  return st__graph_new(c->name, c->ninputs, c->nnumbers, &t->graph);
}

void st__tracer_free(st_tracer *t) {
  for (int i = 0; i < t->nbindings; i++) {
    st__tensor_release(&t->bindings[i].tensor);
  }
  st_graph_release(&t->graph);
}

void st__tracer_enter(st_tracer *t, st_kernel_fn fn, bool grad) {
  st_tls tls = t->tls = st__tls();
  tls.grad = grad;
  tls.excluded |= ST_AUTOGRAD_BITS | ST_BIT(ST_FUNC_ADInplaceOrView);
  st__set_tls(tls);
  t->mode = (st_mode){.fn = fn, .ctx = t};
  st_mode_push(&t->mode);
}

void st__tracer_leave(const st_tracer *t) {
  st_mode_pop();
  st_tls tls = t->tls;
  tls.included = st__tls().included;
  st__set_tls(tls);
}

/* -- Bindings ------------------------------------------------------------- */

int st__tracer_find(const st_tracer *t, const st_tensor *s) {
  for (int i = t->nbindings - 1; i >= 0; i--) {
    if (t->bindings[i].tensor == s) return t->bindings[i].at;
  }
  return ST_UNBOUND;
}

bool st__tracer_is_full(const st_tracer *t, int nmore) {
  return nmore > ST_TRACER_BINDINGS - t->nbindings;
}

void st__tracer_bind(st_tracer *t, st_tensor *s, int at) {
  ST_ASSERT(!st__tracer_is_full(t, 1));
  st__tensor_retain(s);
  t->bindings[t->nbindings++] = (st_binding){s, at};
}

/* -- Calls ---------------------------------------------------------------- */

static st_status take_list(st_tracer *t, const st_arg *arg, const st_value *v,
                           st_traced_call *w, st_node_arg *r) {
  const int n = (int)v->len;
  int *list = w->listed + w->nlisted;
  if (n > ST_TRACER_LISTED - w->nlisted) return t->kind->fail_listed(t, arg);
  w->nlisted += n;
  for (int k = 0; k < n; k++) {
    st_node_arg element = {.at = -1};
    if (v->u.tensors[k]) {
      ST_TRY(t->kind->take_tensor(t, arg, v->u.tensors[k], &element));
    }
    list[k] = element.at;
  }
  *r = (st_node_arg){.kind = ST_NODE_ARG_TENSORS, .n = n, .list = list};
  return ST_OK;
}

st_status st__tracer_take_args(st_tracer *t, const st_schema *s,
                               const st_value *args, st_traced_call *w) {
  w->nlisted = 0;
  for (int i = 0; i < s->nargs; i++) {
    const st_arg *arg = &s->args[i];
    const st_value *v = &args[i];
    st_node_arg *r = &w->args[i];
    *r = (st_node_arg){.kind = ST_NODE_ARG_VALUE, .value = *v};
    if (v->tag == ST_TAG_TENSOR) {
      r->kind = ST_NODE_ARG_TENSOR;
      ST_TRY(t->kind->take_tensor(t, arg, v->u.tensor, r));
    } else if (v->tag == ST_TAG_TENSORS) {
      ST_TRY(take_list(t, arg, v, w, r));
    } else {
      ST_TRY(t->kind->take_value(t, arg, r));
    }
  }
  return ST_OK;
}

st_status st__tracer_add(st_tracer *t, const st_traced_call *w,
                         const st_op *op, const st_schema *s, int nresults,
                         int *result) {
  char where[128] = "";
  if (t->where) t->where(t->ctx, where, sizeof where);
  const st_graph_node n = {.op = op, .schema = s, .where = where,
                           .args = w->args, .nresults = nresults};
  return st__graph_add_node(t->graph, &n, result);
}
