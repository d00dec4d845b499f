/* The proxy tracer: a tracer for any arguments, which calls a function with
 * proxies. Calls on proxies become nodes and are not run (Note [Tracing]).
 *
 * Stage trace of Note [Stages of fusion], for lib:elementwise and
 * lib:reduction. In: a function. Out: a graph (graph.h), which
 * fuse/ir/lower_graph.h lowers.
 */

#include "fuse/trace/tracer.h"

#include <string.h>

#include "base/dtype.h"

/* A proxy of a scalar is bound to NUMBER - its index. */
enum { NUMBER = -2 };

struct st_tracing { st_tracer base; };

/* -- Proxies -------------------------------------------------------------- */

/* *out is borrowed from its binding. */
static st_status new_proxy(st_tracer *t, int at, st_tensor **out) {
  static const int64_t one = 1;
  st_tensor *s = NULL;
  if (st__tracer_is_full(t, 1)) {
    return st__fail(ST_BAD_STATE, "more than %d values in a trace",
                    ST_TRACER_BINDINGS);
  }
  ST_TRY(st__tensor_empty(ST_DEVICE_META, ST_FLOAT32, 1, &one,
                          ST_FORMAT_CONTIGUOUS, &s));
  s->flags |= ST_FLAG_SYMBOL;
  st__tracer_bind(t, s, at);
  *out = s;
  st__tensor_release(&s);
  return ST_OK;
}

/* -- Arguments ------------------------------------------------------------ */

static bool is_proxy(const st_tensor *t) {
  return t && (t->flags & ST_FLAG_SYMBOL);
}

/* A symbolic number has its index plus 1 in len, which is 0 in plain ones. */
static bool is_number(const st_value *v) {
  return (v->tag == ST_TAG_FLOAT || v->tag == ST_TAG_INT ||
          v->tag == ST_TAG_BOOL) && v->len > 0;
}

static bool has_proxy(const st_schema *s, const st_value *args) {
  for (int i = 0; i < s->nargs; i++) {
    const st_value *v = &args[i];
    const st_tensors all = st__tensors_in(v);
    if (is_number(v)) return true;
    for (uint32_t k = 0; k < all.n; k++) {
      if (is_proxy(all.p[k])) return true;
    }
  }
  return false;
}

static st_status take_tensor(st_tracer *t, const st_arg *arg, st_tensor *s,
                             st_node_arg *r) {
  if (!arg->list && st__is_wrapped_number(s)) {
    return st__graph_constant(t->graph, s, r);
  }
  r->at = st__tracer_find(t, s);
  if (r->at == ST_UNBOUND) {
    return st__fail(ST_BAD_STATE, "argument '%s' is a tensor from outside the "
                    "function: make it an argument of %s", arg->name,
                    t->graph->name);
  }
  if (r->at >= 0) return ST_OK;
  if (arg->list) {
    return st__fail(ST_BAD_STATE, "argument '%s' is a list with a symbolic "
                    "number in it", arg->name);
  }
  r->kind = ST_NODE_ARG_SCALAR;
  r->at = NUMBER - r->at;
  return ST_OK;
}

static st_status take_value(st_tracer *t, const st_arg *arg, st_node_arg *r) {
  if (!is_number(&r->value)) return ST_OK;
  r->kind = ST_NODE_ARG_SCALAR;
  r->at = (int)r->value.len - 1;
  if (r->at < t->graph->nnumbers) return ST_OK;
  return st__fail(ST_BAD_STATE, "argument '%s' is a symbolic number of "
                  "another trace", arg->name);
}

static st_status fail_listed(st_tracer *t, const st_arg *arg) {
  (void)t;
  return st__fail(ST_BAD_STATE, "argument '%s' has more than %d tensors",
                  arg->name, ST_TRACER_BINDINGS);
}

static const st_tracer_kind KIND = {take_tensor, take_value, fail_listed};

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

static st_status check_writes(const st_tracer *t, const st_schema *s,
                              const st_value *args) {
  for (int i = 0; i < s->nargs; i++) {
    if (!s->args[i].is_write || args[i].tag != ST_TAG_TENSOR) continue;
    if (st__tracer_find(t, args[i].u.tensor) >= t->graph->ninputs) continue;
    return st__fail(ST_BAD_STATE, "argument '%s' is written, but it belongs "
                    "to the caller of %s", s->args[i].name, t->graph->name);
  }
  return ST_OK;
}

static st_status new_results(st_tracer *t, const st_schema *s,
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

static st_status record(st_tracer *t, const st_call *call,
                        const st_value *args, st_value *rets) {
  const st_schema *s = call->schema;
  st_traced_call w;
  int first;
  st_value results[ST_MAX_ARGS] = {{0}};
  ST_TRY(check_results(s));
  ST_TRY(check_writes(t, s, args));
  ST_TRY(st__tracer_take_args(t, s, args, &w));
  ST_TRY(st__tracer_add(t, &w, call->op, s, s->nrets, &first));
  const st_status status = new_results(t, s, args, first, results);
  for (int i = 0; i < s->nrets; i++) {
    if (status == ST_OK) rets[i] = results[i];
    else st__value_clear(&results[i]);
  }
  return status;
}

static st_status run_mode(const st_call *call, const st_value *args,
                          st_value *rets) {
  st_tracer *t = call->ctx;
  if (has_proxy(call->schema, args)) return record(t, call, args, rets);
  return st__redispatch_boxed(call->op, call->schema, call->keys, args, rets);
}

/* -- Beginning and end ---------------------------------------------------- */

static void free_tracing(st_tracing *t) {
  st__tracer_free(&t->base);
  st__free(ST_MEM_SCRATCH, t, sizeof *t);
}

st_status st_tracing_begin(const st_tracing_config *c, st_tracing **out) {
  st_tensor *proxy;
  if (c->ninputs > ST_GRAPH_INPUTS || c->nnumbers > ST_GRAPH_SCALARS) {
    return st__fail(ST_BAD_VALUE, "%s takes more than %d tensors or %d "
                    "numbers", c->name, ST_GRAPH_INPUTS, ST_GRAPH_SCALARS);
  }
  st_tracing *t = st__alloc(ST_MEM_SCRATCH, sizeof *t);
  if (!t) return ST_NO_MEMORY;
  st_status status = st__tracer_init(&t->base, &KIND, c);
  for (int i = 0; i < c->ninputs && status == ST_OK; i++) {
    status = new_proxy(&t->base, i, &proxy);
  }
  if (status != ST_OK) {
    free_tracing(t);
    return status;
  }
  st__tracer_enter(&t->base, run_mode, false);
  *out = t;
  return ST_OK;
}

st_tensor *st_tracing_input(const st_tracing *t, int i) {
  return t->base.bindings[i].tensor;
}

st_status st_tracing_number(st_tracing *t, char op, int a, int b,
                            st_scalar value, int *out) {
  const int n = t->base.graph->nnumbers;
  if (op != 'c' && op != 'z' && (a < 0 || a >= n || b < 0 || b >= n)) {
    return st__fail(ST_BAD_STATE, "a symbolic number of another trace");
  }
  return st__graph_scalar(t->base.graph, (st_sym_scalar){op, a, b, value}, out);
}

st_status st_tracing_number_symbol(st_tracing *t, int number,
                                   st_tensor **out) {
  if (number < 0 || number >= t->base.graph->nnumbers) {
    return st__fail(ST_BAD_STATE, "a symbolic number of another trace");
  }
  ST_TRY(new_proxy(&t->base, NUMBER - number, out));
  st__tensor_retain(*out);
  return ST_OK;
}

static st_status set_outputs(st_tracer *t, int n,
                             st_tensor *const *outputs) {
  if (n < 1 || n > ST_GRAPH_OUTPUTS) {
    return st__fail(ST_BAD_VALUE, "%s: its body returns %d results, 1 to %d "
                    "can be fused", t->graph->name, n, ST_GRAPH_OUTPUTS);
  }
  for (int i = 0; i < n; i++) {
    t->graph->outputs[i] = st__tracer_find(t, outputs[i]);
    if (t->graph->outputs[i] >= 0) continue;
    return st__fail(ST_BAD_VALUE, "%s: result %d of its body does not come "
                    "from its arguments", t->graph->name, i + 1);
  }
  t->graph->noutputs = n;
  return ST_OK;
}

st_status st_tracing_end(st_tracing **tracing, int n,
                         st_tensor *const *outputs, st_graph **out) {
  st_tracing *t = *tracing;
  *tracing = NULL;
  st__tracer_leave(&t->base);
  const st_status status = outputs ? set_outputs(&t->base, n, outputs) : ST_OK;
  if (status == ST_OK && outputs) {
    *out = t->base.graph;
    t->base.graph = NULL;
  }
  free_tracing(t);
  return status;
}
