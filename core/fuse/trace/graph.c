/* Graphs: construction, and execution through the dispatcher.
 */

#include "fuse/trace/graph.h"

#include <math.h>
#include <string.h>

#include "base/dtype.h"

enum { CHUNK = 2048, MAX_SCALARS = 128 };

/* -- Building ------------------------------------------------------------- */

static size_t nodes_size(void) {
  return ST_GRAPH_NODES * sizeof(st_graph_node);
}

st_status st__graph_new(const char *name, int ninputs, int nparams,
                        st_graph **out) {
  st_graph *g = st__alloc_zero(ST_MEM_REGISTRY, sizeof *g);
  if (!g) return ST_NO_MEMORY;
  st__ref_init(&g->refs);
  g->arena.kind = ST_MEM_REGISTRY;
  g->name = st__arena_text(&g->arena, name, strlen(name));
  g->nodes = st__alloc(ST_MEM_REGISTRY, nodes_size());
  g->ninputs = g->ntensors = ninputs;
  g->nparams = g->nnumbers = nparams;
  if (!g->name || !g->nodes) {
    st_graph_release(&g);
    return ST_NO_MEMORY;
  }
  *out = g;
  return ST_OK;
}

void st__graph_retain(st_graph *g) { st__ref_take(&g->refs); }

void st_graph_release(st_graph **g) {
  st_graph *const dead = *g;
  *g = NULL;
  if (!dead || !st__ref_drop(&dead->refs)) return;
  if (dead->nodes) st__free(ST_MEM_REGISTRY, dead->nodes, nodes_size());
  st__arena_free(&dead->arena);
  st__free(ST_MEM_REGISTRY, dead, sizeof *dead);
}

st_status st__graph_scalar(st_graph *g, st_sym_scalar n, int *at) {
  if (g->nnumbers == MAX_SCALARS) {
    return st__fail(ST_BAD_STATE, "%s computes more than %d numbers", g->name,
                    MAX_SCALARS);
  }
  *at = g->nnumbers;
  g->numbers[g->nnumbers++] = n;
  return ST_OK;
}

st_status st__graph_constant(st_graph *g, const st_tensor *t, st_node_arg *r) {
  r->kind = ST_NODE_ARG_SCALAR;
  return st__graph_scalar(g, (st_sym_scalar){
    .op = 'c', .value = st__scalar_load(t->dtype, st__data(t))}, &r->at);
}

/* A copy of size bytes in the arena; `from` may be NULL if there are none. */
static void *copied(st_arena *arena, const void *from, size_t size) {
  void *copy = st__arena_alloc(arena, size + 1, CHUNK);
  if (copy && size > 0) memcpy(copy, from, size);
  return copy;
}

/* Copies the data that v points to into the arena. */
static st_status copy_value(st_arena *arena, st_value *v) {
  const size_t n = v->len;
  const void *from = v->u.ints;
  size_t size = 0;
  switch (v->tag) {
    case ST_TAG_STRING: size = strlen(v->u.string) + 1; break;
    case ST_TAG_COMPLEX: size = 2 * sizeof(double); break;
    case ST_TAG_INTS: size = n * sizeof(int64_t); break;
    case ST_TAG_FLOATS: size = n * sizeof(double); break;
    case ST_TAG_BOOLS: size = n * sizeof(bool); break;
    case ST_TAG_GENERATOR:
      return st__fail(ST_BAD_VALUE, "a random generator cannot be traced");
    default: return ST_OK;
  }
  void *copy = copied(arena, from, size);
  if (!copy) return ST_NO_MEMORY;
  v->u.ints = copy;
  return ST_OK;
}

static st_status copy_arg(st_arena *arena, st_node_arg *r) {
  if (r->kind == ST_NODE_ARG_VALUE) return copy_value(arena, &r->value);
  if (r->kind != ST_NODE_ARG_TENSORS) return ST_OK;
  r->list = copied(arena, r->list, (size_t)r->n * sizeof *r->list);
  if (!r->list) return ST_NO_MEMORY;
  return ST_OK;
}

st_status st__node_copy(st_arena *arena, st_graph_node *n) {
  const size_t size = (size_t)n->schema->nargs * sizeof *n->args;
  st_node_arg *args = copied(arena, n->args, size);
  n->where = st__arena_text(arena, n->where, strlen(n->where));
  if (!n->where || !args) return ST_NO_MEMORY;
  n->args = args;
  for (int i = 0; i < n->schema->nargs; i++) {
    ST_TRY(copy_arg(arena, &args[i]));
  }
  return ST_OK;
}

st_status st__graph_add_node(st_graph *g, const st_graph_node *call,
                             int *result) {
  if (g->nnodes == ST_GRAPH_NODES) {
    return st__fail(ST_BAD_STATE, "%s calls more than %d operators", g->name,
                    ST_GRAPH_NODES);
  }
  st_graph_node *n = &g->nodes[g->nnodes];
  int listed = 0;
  *n = *call;
  n->result = g->ntensors;
  n->written = -1;
  ST_TRY(st__node_copy(&g->arena, n));
  for (int i = 0; i < n->schema->nargs; i++) {
    const st_node_arg *arg = &n->args[i];
    if (arg->kind == ST_NODE_ARG_TENSORS) listed += arg->n;
    if (n->schema->args[i].is_write && arg->kind == ST_NODE_ARG_TENSOR) {
      n->written = arg->at;
    }
  }
  if (listed > g->max_listed) g->max_listed = listed;
  *result = g->ntensors;
  g->ntensors += n->nresults;
  g->nnodes++;
  return ST_OK;
}

/* -- Scalars -------------------------------------------------------------- */

static double to_double(st_scalar s) { return st__scalar_to_double(s); }

static bool is_integral(st_scalar s) {
  return s.kind == ST_SCALAR_INT || s.kind == ST_SCALAR_BOOL;
}

static double float_result(char op, double a, double b) {
  switch (op) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return a / b;
    case '%': return a - floor(a / b) * b;
    case '^': return pow(a, b);
    default: return -a;
  }
}

/* Integers give an integer for + - * and negation, with wraparound; all else
 * is computed in double. */
static st_scalar compute(char op, st_scalar a, st_scalar b) {
  const uint64_t x = (uint64_t)a.u.i, y = (uint64_t)b.u.i;
  if (is_integral(a) && is_integral(b)) {
    switch (op) {
      case '+': return st__scalar_int((int64_t)(x + y));
      case '-': return st__scalar_int((int64_t)(x - y));
      case '*': return st__scalar_int((int64_t)(x * y));
      case 'n': return st__scalar_int((int64_t)-x);
      default: break;
    }
  }
  return st__scalar_float(float_result(op, to_double(a), to_double(b)));
}

static bool is_minus_zero(const st_graph *g, int at) {
  return g->numbers[at].op == 'z';
}

/* Scalar a as an operand beside scalar b. */
static st_scalar operand(const st_graph *g, const st_scalar *all, int a,
                         int b) {
  const bool is_int = is_minus_zero(g, a) &&
                      (is_minus_zero(g, b) || is_integral(all[b]));
  return is_int ? st__scalar_int(0) : all[a];
}

/* Computes all nnumbers scalars of the graph from the scalar inputs. */
static void compute_all(const st_graph *g, const st_scalar *params,
                        st_scalar *all) {
  for (int i = 0; i < g->nnumbers; i++) {
    const st_sym_scalar *n = &g->numbers[i];
    if (i < g->nparams) all[i] = params[i];
    else if (n->op == 'c' || n->op == 'z') all[i] = n->value;
    else all[i] = compute(n->op, operand(g, all, n->a, n->b),
                          operand(g, all, n->b, n->a));
  }
}

/* -- Running -------------------------------------------------------------- */

typedef struct run {
  const st_graph *g;
  st_scalar numbers[MAX_SCALARS];
  st_tensor **tensors;  /* owned, except the inputs */
  st_tensor **lists;    /* buffer for the list arguments of one call */
} run;

static size_t run_size(const st_graph *g) {
  return (size_t)(g->ntensors + g->max_listed + 1) * sizeof(st_tensor *);
}

void st__node_args(const st_graph_node *n, st_tensor *const *tensors,
                   st_tensor **lists, st_value *args) {
  for (int i = 0; i < n->schema->nargs; i++) {
    const st_node_arg *arg = &n->args[i];
    if (arg->kind == ST_NODE_ARG_TENSOR) {
      args[i] = st__of_tensor(tensors[arg->at]);
    } else if (arg->kind == ST_NODE_ARG_TENSORS) {
      for (int k = 0; k < arg->n; k++) {
        lists[k] = arg->list[k] < 0 ? NULL : tensors[arg->list[k]];
      }
      args[i] = st__of_tensors(lists, arg->n);
      lists += arg->n;
    } else if (arg->kind == ST_NODE_ARG_VALUE) {
      args[i] = arg->value;
    }
  }
}

/* True if a tensor among the arguments is floating or complex. */
static bool is_beside_floats(const run *r, const st_graph_node *n) {
  for (int i = 0; i < n->schema->nargs; i++) {
    const st_node_arg *a = &n->args[i];
    const int count = a->kind == ST_NODE_ARG_TENSOR ? 1
                    : a->kind == ST_NODE_ARG_TENSORS ? a->n : 0;
    for (int k = 0; k < count; k++) {
      const int at = a->kind == ST_NODE_ARG_TENSOR ? a->at : a->list[k];
      if (at < 0) continue;
      const st_dtype d = r->tensors[at]->dtype;
      if (st__is_inexact(d)) return true;
    }
  }
  return false;
}

/* The scalar as a value of the argument's type; BAD_TYPE if it has another. */
static st_status read_number(const run *r, const st_graph_node *n, int i,
                             st_value *v) {
  const st_arg *arg = &n->schema->args[i];
  st_scalar zero = st__scalar_int(0);
  const st_scalar *s = &r->numbers[n->args[i].at];
  if (is_minus_zero(r->g, n->args[i].at) && arg->type != ST_TYPE_FLOAT &&
      !is_beside_floats(r, n)) {
    s = &zero;
  }
  *v = st__of_scalar(s);
  if (arg->type == ST_TYPE_SCALAR || arg->type == ST_TYPE_TENSOR) {
    return ST_OK;
  }
  const bool fits = arg->type == ST_TYPE_FLOAT
                    ? s->kind == ST_SCALAR_FLOAT || s->kind == ST_SCALAR_INT
                  : arg->type == ST_TYPE_BOOL ? s->kind == ST_SCALAR_BOOL
                  : arg->type == ST_TYPE_INT && s->kind == ST_SCALAR_INT;
  if (fits && !arg->list) return ST_OK;
  return st__fail(ST_BAD_TYPE, "argument '%s' must be %s, not this number",
                  arg->name, arg->text);
}

static st_dtype scalar_dtype(st_scalar_kind kind) {
  return kind == ST_SCALAR_BOOL ? ST_BOOL : kind == ST_SCALAR_INT ? ST_INT64
       : kind == ST_SCALAR_UINT ? ST_UINT64
       : kind == ST_SCALAR_FLOAT ? ST_FLOAT64 : ST_COMPLEX128;
}

/* Wraps scalars in 0-dim tensors where the schema has a Tensor. */
static st_status wrap_numbers(const st_graph_node *n, st_value *args,
                              st_tensor **wrapped) {
  for (int i = 0; i < n->schema->nargs; i++) {
    wrapped[i] = NULL;
    if (n->args[i].kind != ST_NODE_ARG_SCALAR ||
        n->schema->args[i].type != ST_TYPE_TENSOR) {
      continue;
    }
    const st_scalar s = st__scalar_of(&args[i]);
    ST_TRY(st__tensor_from_scalar(s, scalar_dtype(s.kind), true, &wrapped[i]));
    args[i] = st__of_tensor(wrapped[i]);
  }
  return ST_OK;
}

static st_status call_wrapped(const st_graph_node *n, st_value *args,
                              st_value *rets) {
  st_tensor *wrapped[ST_MAX_ARGS] = {NULL};
  st_status status = wrap_numbers(n, args, wrapped);
  if (status == ST_OK) status = st__call_boxed(n->op, n->schema, args, rets);
  for (int i = 0; i < n->schema->nargs; i++) st__tensor_release(&wrapped[i]);
  return status;
}

static bool has_fake(const st_graph_node *n, const st_value *args) {
  for (int i = 0; i < n->schema->nargs; i++) {
    const st_tensors all = st__tensors_in(&args[i]);
    for (uint32_t k = 0; k < all.n; k++) {
      if (all.p[k] && st__is_meta(all.p[k])) return true;
    }
  }
  return false;
}

/* A call that names the device of its result was recorded with that of the
 * recording; on fake tensors it makes fake ones. */
static void follow_fakes(const st_graph_node *n, st_value *args) {
  for (int i = 0; i < n->schema->nargs; i++) {
    if (n->schema->args[i].type == ST_TYPE_DEVICE &&
        args[i].tag == ST_TAG_INT && has_fake(n, args)) {
      args[i] = st__of_int(ST_DEVICE_META);
    }
  }
}

static st_status call_node(const run *r, const st_graph_node *n) {
  st_value args[ST_MAX_ARGS], rets[ST_MAX_ARGS];
  int at = n->result;
  st__node_args(n, r->tensors, r->lists, args);
  for (int i = 0; i < n->schema->nargs; i++) {
    if (n->args[i].kind == ST_NODE_ARG_SCALAR) {
      ST_TRY(read_number(r, n, i, &args[i]));
    }
  }
  follow_fakes(n, args);
  ST_TRY(call_wrapped(n, args, rets));
  for (int i = 0; i < n->schema->nrets; i++) {
    if (n->schema->rets[i].type != ST_TYPE_TENSOR) {
      st__value_clear(&rets[i]);
    } else {
      r->tensors[at++] = st__to_tensor(&rets[i]);
    }
  }
  return ST_OK;
}

st_status st__graph_run(const st_graph *g, st_tensor *const *inputs,
                        const st_scalar *params, st_tensor **outs,
                        st_graph_fn fn, void *ctx) {
  run r = {.g = g};
  st_status status = ST_OK;
  r.tensors = st__alloc_zero(ST_MEM_SCRATCH, run_size(g));
  if (!r.tensors) return ST_NO_MEMORY;
  r.lists = r.tensors + g->ntensors;
  compute_all(g, params, r.numbers);
  for (int i = 0; i < g->ninputs; i++) r.tensors[i] = inputs[i];
  for (int i = 0; i < g->nnodes && status == ST_OK; i++) {
    const st_graph_node *n = &g->nodes[i];
    if (fn) status = fn(ctx, n, NULL);
    if (status == ST_OK) status = call_node(&r, n);
    if (status == ST_OK && fn) status = fn(ctx, n, r.tensors + n->result);
  }
  for (int i = 0; i < g->noutputs && status == ST_OK; i++) {
    outs[i] = r.tensors[g->outputs[i]];
    st__tensor_retain(outs[i]);
  }
  for (int i = g->ninputs; i < g->ntensors; i++) {
    st__tensor_release(&r.tensors[i]);
  }
  st__free(ST_MEM_SCRATCH, r.tensors, run_size(g));
  return status;
}
