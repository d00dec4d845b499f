/* The tracer: a mode that turns calls on proxies into nodes of a graph
 * (Note [Tracing]).
 */

#include "fuse/trace/proxy_tracer.h"

#include <string.h>

#include "base/dtype.h"

enum { MAX_PROXIES = 4096 };

/* at: the index of a tensor of the graph, or NUMBER - the index of a scalar. */
typedef struct proxy { st_tensor *tensor; int at; } proxy;
enum { NOT_FOUND = -1, NUMBER = -2 };

struct st_tracing {
  st_mode mode;
  st_tls tls;              /* the thread's state before the trace */
  st_graph *graph;
  void (*where)(void *ctx, char *text, size_t size);
  void *ctx;
  int n;
  proxy proxies[MAX_PROXIES];   /* owned; the inputs come first */
};

/* -- Proxies -------------------------------------------------------------- */

static int find(const st_tracing *t, const st_tensor *s) {
  for (int i = t->n - 1; i >= 0; i--) {
    if (t->proxies[i].tensor == s) return t->proxies[i].at;
  }
  return NOT_FOUND;
}

static st_status new_proxy(st_tracing *t, int at, st_tensor **out) {
  static const int64_t one = 1;
  if (t->n == MAX_PROXIES) {
    return st__fail(ST_BAD_STATE, "more than %d values in a trace",
                    MAX_PROXIES);
  }
  proxy *s = &t->proxies[t->n];
  ST_TRY(st__tensor_empty(ST_DEVICE_META, ST_FLOAT32, 1, &one,
                          ST_FORMAT_CONTIGUOUS, &s->tensor));
  s->tensor->flags |= ST_FLAG_SYMBOL;
  s->at = at;
  t->n++;
  if (out) *out = s->tensor;
  return ST_OK;
}

/* -- Arguments ------------------------------------------------------------ */

static bool is_proxy(const st_tensor *t) {
  return t && (t->flags & ST_FLAG_SYMBOL);
}

static bool is_number(const st_value *v) {
  return (v->tag == ST_TAG_FLOAT || v->tag == ST_TAG_INT ||
          v->tag == ST_TAG_BOOL) && v->len > 0;
}

static bool has_proxy(const st_schema *s, const st_value *args) {
  for (int i = 0; i < s->nargs; i++) {
    const st_value *v = &args[i];
    if (v->tag == ST_TAG_TENSOR && is_proxy(v->u.tensor)) return true;
    if (is_number(v)) return true;
    for (uint32_t k = 0; v->tag == ST_TAG_TENSORS && k < v->len; k++) {
      if (is_proxy(v->u.tensors[k])) return true;
    }
  }
  return false;
}

static st_status tensor_arg(const st_tracing *t, const st_arg *arg,
                            const st_tensor *tensor, int *at) {
  *at = find(t, tensor);
  if (*at != NOT_FOUND) return ST_OK;
  return st__fail(ST_BAD_STATE, "argument '%s' is a tensor from outside the "
                  "function: make it an argument of %s", arg->name,
                  t->graph->name);
}

static st_status list_arg(const st_tracing *t, const st_arg *arg,
                          const st_value *v, int *list, st_node_arg *r) {
  *r = (st_node_arg){.kind = ST_NODE_ARG_TENSORS, .n = (int)v->len,
                     .list = list};
  for (int i = 0; i < r->n; i++) {
    list[i] = -1;
    if (!v->u.tensors[i]) continue;
    ST_TRY(tensor_arg(t, arg, v->u.tensors[i], &list[i]));
    if (list[i] >= 0) continue;
    return st__fail(ST_BAD_STATE, "argument '%s' is a list with a symbolic "
                    "number in it", arg->name);
  }
  return ST_OK;
}

/* A number that the binding has wrapped in a tensor is a constant. */
static st_status scalar_arg(const st_tracing *t, const st_tensor *tensor,
                            st_node_arg *r) {
  r->kind = ST_NODE_ARG_SCALAR;
  return st__graph_scalar(t->graph, (st_sym_scalar){
    .op = 'c', .value = st__scalar_load(tensor->dtype,
                                        st__data(tensor))}, &r->at);
}

static bool is_wrapped(const st_tensor *t) {
  return (t->flags & ST_FLAG_WRAPPED) && t->ndim == 0 && st__data(t);
}

static st_status to_node_arg(st_tracing *t, const st_arg *arg,
                             const st_value *v,
                             int **room, int *left, st_node_arg *r) {
  *r = (st_node_arg){.kind = ST_NODE_ARG_VALUE, .value = *v};
  if (v->tag == ST_TAG_TENSOR) {
    if (is_wrapped(v->u.tensor)) return scalar_arg(t, v->u.tensor, r);
    ST_TRY(tensor_arg(t, arg, v->u.tensor, &r->at));
    r->kind = r->at >= 0 ? ST_NODE_ARG_TENSOR : ST_NODE_ARG_SCALAR;
    if (r->at < 0) r->at = NUMBER - r->at;
    return ST_OK;
  }
  if (v->tag == ST_TAG_TENSORS) {
    if ((int)v->len > *left) {
      return st__fail(ST_BAD_STATE, "argument '%s' has more than %d tensors",
                      arg->name, MAX_PROXIES);
    }
    ST_TRY(list_arg(t, arg, v, *room, r));
    *room += r->n;
    *left -= r->n;
  } else if (is_number(v)) {
    r->kind = ST_NODE_ARG_SCALAR;
    r->at = (int)v->len - 1;
    if (r->at >= t->graph->nnumbers) {
      return st__fail(ST_BAD_STATE, "argument '%s' is a symbolic number of "
                      "another trace", arg->name);
    }
  }
  return ST_OK;
}

/* -- Results -------------------------------------------------------------- */

static st_status check_results(const st_schema *s) {
  for (int i = 0; i < s->nrets; i++) {
    if (s->rets[i].type == ST_TYPE_TENSOR && !s->rets[i].list) continue;
    return st__fail(ST_BAD_STATE, "returns %s, which is not known while a "
                    "function is traced", s->rets[i].text);
  }
  return ST_OK;
}

/* The argument that the call writes and returns as result i; NULL for a new
 * tensor. */
static st_tensor *written_arg(const st_schema *s, const st_value *args, int i) {
  if (!s->rets[i].is_write) return NULL;
  for (int k = 0; k < s->nargs; k++) {
    if (s->args[k].is_write && args[k].tag == ST_TAG_TENSOR &&
        strcmp(s->args[k].alias, s->rets[i].alias) == 0) {
      return args[k].u.tensor;
    }
  }
  return NULL;
}

static st_status check_writes(const st_tracing *t, const st_schema *s,
                              const st_value *args) {
  for (int i = 0; i < s->nargs; i++) {
    if (!s->args[i].is_write || args[i].tag != ST_TAG_TENSOR) continue;
    if (find(t, args[i].u.tensor) >= t->graph->ninputs) continue;
    return st__fail(ST_BAD_STATE, "argument '%s' is written, but it belongs "
                    "to the caller of %s", s->args[i].name, t->graph->name);
  }
  return ST_OK;
}

static st_status new_results(st_tracing *t, const st_schema *s,
                             const st_value *args, int first,
                             st_value *rets) {
  for (int i = 0; i < s->nrets; i++) {
    st_tensor *tensor = written_arg(s, args, i);
    if (!tensor) ST_TRY(new_proxy(t, first + i, &tensor));
    st__tensor_retain(tensor);
    rets[i] = st__of_tensor(tensor);
  }
  return ST_OK;
}

/* -- The mode ------------------------------------------------------------- */

static st_status record(st_tracing *t, const st_call *call,
                        const st_value *args, st_value *rets) {
  const st_schema *s = call->schema;
  st_node_arg refs[ST_MAX_ARGS];
  int lists[256], *room = lists, left = 256, first;
  char where[128] = "";
  st_value results[ST_MAX_ARGS] = {{0}};
  ST_TRY(check_results(s));
  ST_TRY(check_writes(t, s, args));
  for (int i = 0; i < s->nargs; i++) {
    ST_TRY(to_node_arg(t, &s->args[i], &args[i], &room, &left, &refs[i]));
  }
  if (t->where) t->where(t->ctx, where, sizeof where);
  ST_TRY(st__graph_add_node(t->graph, call->op, where, refs, &first));
  const st_status status = new_results(t, s, args, first, results);
  for (int i = 0; i < s->nrets; i++) {
    if (status == ST_OK) rets[i] = results[i];
    else st__value_clear(&results[i]);
  }
  return status;
}

static st_status run_mode(const st_call *call, const st_value *args,
                          st_value *rets) {
  st_tracing *t = call->ctx;
  if (has_proxy(call->schema, args)) return record(t, call, args, rets);
  return st__redispatch_boxed(call->op, call->schema, call->keys, args, rets);
}

/* -- Beginning and end ---------------------------------------------------- */

/* Proxies have neither history nor views, so the Autograd keys and
 * ADInplaceOrView are excluded. */
static void enter(st_tracing *t) {
  st_tls tls = t->tls = st__tls();
  tls.grad = false;
  tls.excluded |= ST_AUTOGRAD_BITS | ST_BIT(ST_FUNC_ADInplaceOrView);
  st__set_tls(tls);
  t->mode = (st_mode){.fn = run_mode, .ctx = t};
  st__mode_push(&t->mode);
}

static void leave(const st_tracing *t) {
  st__mode_pop();
  st_tls tls = t->tls;
  tls.included = st__tls().included;
  st__set_tls(tls);
}

static void free_tracing(st_tracing *t) {
  for (int i = 0; i < t->n; i++) st__tensor_release(&t->proxies[i].tensor);
  st__graph_release(&t->graph);
  st__free(ST_MEM_SCRATCH, t, sizeof *t);
}

st_status st__tracing_begin(const st_tracing_config *c, st_tracing **out) {
  st_tracing *t = st__alloc(ST_MEM_SCRATCH, sizeof *t);
  if (!t) return ST_NO_MEMORY;
  t->n = 0;
  t->graph = NULL;
  t->where = c->where;
  t->ctx = c->ctx;
  st_status status = st__graph_new(c->name, c->ninputs, c->nnumbers,
                                   &t->graph);
  for (int i = 0; i < c->ninputs && status == ST_OK; i++) {
    status = new_proxy(t, i, NULL);
  }
  if (status != ST_OK) return free_tracing(t), status;
  enter(t);
  *out = t;
  return ST_OK;
}

st_tensor *st__tracing_input(const st_tracing *t, int i) {
  return t->proxies[i].tensor;
}

st_status st__tracing_number(st_tracing *t, char op, int a, int b,
                             st_scalar value, int *out) {
  const int n = t->graph->nnumbers;
  if (op != 'c' && (a < 0 || a >= n || b < 0 || b >= n)) {
    return st__fail(ST_BAD_STATE, "a symbolic number of another trace");
  }
  return st__graph_scalar(t->graph, (st_sym_scalar){op, a, b, value}, out);
}

st_status st__tracing_number_symbol(st_tracing *t, int number,
                                    st_tensor **out) {
  if (number < 0 || number >= t->graph->nnumbers) {
    return st__fail(ST_BAD_STATE, "a symbolic number of another trace");
  }
  ST_TRY(new_proxy(t, NUMBER - number, out));
  st__tensor_retain(*out);
  return ST_OK;
}

static st_status set_outputs(st_tracing *t, int n,
                             st_tensor *const *outputs) {
  if (n < 1 || n > ST_GRAPH_OUTPUTS) {
    return st__fail(ST_BAD_VALUE, "%s: its body returns %d results, 1 to %d "
                    "can be fused", t->graph->name, n, ST_GRAPH_OUTPUTS);
  }
  for (int i = 0; i < n; i++) {
    t->graph->outputs[i] = find(t, outputs[i]);
    if (t->graph->outputs[i] >= 0) continue;
    return st__fail(ST_BAD_VALUE, "%s: result %d of its body does not come "
                    "from its arguments", t->graph->name, i + 1);
  }
  t->graph->noutputs = n;
  return ST_OK;
}

st_status st__tracing_end(st_tracing **tracing, int n,
                          st_tensor *const *outputs, st_graph **out) {
  st_tracing *t = *tracing;
  *tracing = NULL;
  leave(t);
  const st_status status = outputs ? set_outputs(t, n, outputs) : ST_OK;
  if (status == ST_OK && outputs) {
    *out = t->graph;
    t->graph = NULL;
  }
  free_tracing(t);
  return status;
}
