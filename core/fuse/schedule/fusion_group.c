/* Fusion groups: pointwise calls of a recording are found and grouped
 * (Note [Fusion groups]).
 */

#include "fuse/schedule/fusion_group.h"

#include <string.h>

/* -- Operands of calls ---------------------------------------------------- */

int st__nth_read(const st_graph_node *c, int k, bool *more) {
  *more = true;
  for (int i = 0; i < c->schema->nargs; i++) {
    const st_node_arg *ref = &c->args[i];
    if (ref->kind == ST_NODE_ARG_TENSOR) {
      if (k-- == 0) return ref->at;
    } else if (ref->kind == ST_NODE_ARG_TENSORS) {
      if (k < ref->n) return ref->list[k];
      k -= ref->n;
    }
  }
  *more = false;
  return NO_VALUE;
}

bool st__may_draw(const st_graph_node *c) {
  return c->may_draw || st__op_tags(c->op) & ST_OPTAG_NONDETERMINISTIC_SEEDED;
}

bool st__reads(const st_graph_node *c, int v) {
  bool more = true;
  for (int k = 0; more; k++) {
    if (st__nth_read(c, k, &more) == v) return true;
  }
  return false;
}

static bool has_list(const st_graph_node *c) {
  for (int i = 0; i < c->schema->nargs; i++) {
    if (c->args[i].kind == ST_NODE_ARG_TENSORS) return true;
  }
  return false;
}

/* -- Subgraphs ------------------------------------------------------------ */

static bool is_inside(const st_subgraph *p, int call) {
  for (int i = 0; i < p->n; i++) {
    if (p->calls[i] == call) return true;
  }
  return false;
}

static bool escapes(const st_scheduler *b, int v) {
  if (b->is_output[v]) return true;
  for (int c = b->r->values[v].call + 1; c < b->g->nnodes; c++) {
    if (b->is_needed[c] && st__reads(&b->g->nodes[c], v) &&
        !is_inside(&b->subgraph, c)) {
      return true;
    }
  }
  return false;
}

static bool add_input(int *list, int *n, int v) {
  for (int i = 0; i < *n; i++) {
    if (list[i] == v) return true;
  }
  if (*n == ST_GRAPH_INPUTS) return false;
  list[(*n)++] = v;
  return true;
}

bool st__find_boundary(st_scheduler *b) {
  st_subgraph *p = &b->subgraph;
  p->nin = p->nout = 0;
  for (int i = 0; i < p->n; i++) {
    const st_graph_node *c = &b->g->nodes[p->calls[i]];
    bool more = true;
    for (int k = 0; more; k++) {
      const int v = st__nth_read(c, k, &more);
      if (v < 0 || b->r->values[v].origin == ST_ORIGIN_NUMBER) continue;
      const bool is_own = b->r->values[v].origin == ST_ORIGIN_CALL &&
                          is_inside(p, b->r->values[v].call);
      if (!is_own && !add_input(p->in, &p->nin, v)) return false;
    }
    for (int v = c->result; v < c->result + c->nresults; v++) {
      if (!escapes(b, v)) continue;
      if (p->nout == ST_GRAPH_OUTPUTS) return false;
      p->out[p->nout++] = v;
    }
  }
  return true;
}

static st_status add_call(st_scheduler *b, st_graph *g,
                          const st_graph_node *c) {
  st_graph_node call = *c;
  st_node_arg refs[ST_MAX_ARGS];
  int result;
  for (int i = 0; i < c->schema->nargs; i++) {
    refs[i] = c->args[i];
    if (refs[i].kind != ST_NODE_ARG_TENSOR) continue;
    const st_recorded_value *v = &b->r->values[refs[i].at];
    if (v->origin == ST_ORIGIN_NUMBER) {
      ST_TRY(st__graph_constant(g, v->tensor, &refs[i]));
    } else {
      refs[i].at = b->subgraph.graph_id[refs[i].at];
    }
  }
  call.args = refs;
  ST_TRY(st__graph_add_node(g, &call, &result));
  for (int k = 0; k < c->nresults; k++) {
    b->subgraph.graph_id[c->result + k] = result + k;
  }
  return ST_OK;
}

static st_status fill_graph(st_scheduler *b, st_graph *g) {
  st_subgraph *p = &b->subgraph;
  for (int i = 0; i < p->nin; i++) p->graph_id[p->in[i]] = i;
  for (int i = 0; i < p->n; i++) {
    ST_TRY(add_call(b, g, &b->g->nodes[p->calls[i]]));
  }
  for (int i = 0; i < p->nout; i++) g->outputs[i] = p->graph_id[p->out[i]];
  g->noutputs = p->nout;
  return ST_OK;
}

st_status st__extract_subgraph(st_scheduler *b, st_graph **out) {
  ST_TRY(st__graph_new(b->g->name, b->subgraph.nin, 0, out));
  const st_status status = fill_graph(b, *out);
  if (status != ST_OK) st_graph_release(out);
  return status;
}

/* -- Pointwise calls ------------------------------------------------------ */

/* True if the shape of the results and the captured loops can decide. A call
 * with dimensions or sizes among its arguments is excluded, because the graph
 * lowering runs it on fake tensors of other sizes. */
static bool may_be_pointwise(const st_graph_node *c) {
  const int tags = st__op_tags(c->op);
  if (c->is_whole || has_list(c) ||
      (tags & ST_OPTAG_NONDETERMINISTIC_SEEDED)) {
    return false;
  }
  for (int i = 0; i < c->schema->nrets; i++) {
    if (c->schema->rets[i].list || c->schema->rets[i].is_alias) return false;
  }
  if (c->nresults > ST_GRAPH_OUTPUTS) return false;
  for (int i = 0; i < c->schema->nargs; i++) {
    const st_type type = c->schema->args[i].type;
    if (tags & ST_OPTAG_POINTWISE) break;
    if (type == ST_TYPE_INT || type == ST_TYPE_DIM || type == ST_TYPE_INDEX ||
        type == ST_TYPE_END || c->schema->args[i].list) {
      return false;
    }
  }
  return true;
}

/* True if the results have the broadcast shape of the operands. */
static bool has_broadcast_sizes(const st_scheduler *b,
                                const st_graph_node *c) {
  int64_t sizes[ST_MAX_DIMS];
  int ndim = 0;
  bool more = true;
  for (int k = 0; more; k++) {
    const int v = st__nth_read(c, k, &more);
    if (v < 0) continue;
    const st_tensor *t = b->r->values[v].fake;
    if (st__broadcast_shape(ndim, sizes, t->ndim, t->sizes, sizes, &ndim) !=
        ST_OK) {
      return false;
    }
  }
  for (int i = 0; i < c->nresults; i++) {
    if (!st__has_sizes(b->r->values[c->result + i].fake, ndim, sizes)) {
      return false;
    }
  }
  return true;
}

static void arg_specs_of(const st_scheduler *b, st_arg_spec *out) {
  for (int i = 0; i < b->subgraph.nin; i++) {
    out[i] = st__arg_spec_of(b->r->values[b->subgraph.in[i]].fake);
  }
}

/* True if a library has a kernel of its own for the device of the recording. */
static bool has_own_kernel(const st_scheduler *b, const st_op *op) {
  const st_device d = b->r->device;
  return d > ST_DEVICE_META &&
         st__kernel_facts(op, st__device_key(d)).is_of_library;
}

/* A call is fusible if a graph of this call alone is pointwise. */
static st_status is_fusible(st_scheduler *b, int call, bool *is_pointwise) {
  const st_graph_node *c = &b->g->nodes[call];
  st_subgraph *p = &b->subgraph;
  st_arg_spec specs[ST_GRAPH_INPUTS];
  st_graph *g = NULL;
  *is_pointwise = b->checks[call] = false;
  if (!may_be_pointwise(c) || !has_broadcast_sizes(b, c) ||
      has_own_kernel(b, c->op)) {
    return ST_OK;
  }
  p->n = 1;
  p->calls[0] = call;
  if (!st__find_boundary(b)) return ST_OK;
  p->nout = c->nresults;
  for (int i = 0; i < p->nout; i++) p->out[i] = c->result + i;
  arg_specs_of(b, specs);
  st_status status = st__extract_subgraph(b, &g);
  if (status == ST_OK) {
    status = st__is_pointwise(g, specs, is_pointwise, &b->checks[call]);
  }
  st_graph_release(&g);
  return status == ST_NO_MEMORY ? status : ST_OK;
}

/* -- Live calls ----------------------------------------------------------- */

static void mark_inputs(st_scheduler *b, int call) {
  bool more = true;
  for (int k = 0; more; k++) {
    const int v = st__nth_read(&b->g->nodes[call], k, &more);
    if (v >= 0) b->is_wanted[v] = true;
  }
}

/* Finds live calls, from the last to the first. Pointwise calls without uses
 * are dead, unless they may fail: those run on their own. All others are
 * live. */
static void find_live(st_scheduler *b) {
  const st_graph *g = b->g;
  memset(b->is_wanted, 0, sizeof b->is_wanted);
  memset(b->is_output, 0, sizeof b->is_output);
  for (int i = 0; i < g->noutputs; i++) {
    b->is_wanted[g->outputs[i]] = b->is_output[g->outputs[i]] = true;
  }
  for (int c = g->nnodes - 1; c >= 0; c--) {
    const st_graph_node *call = &g->nodes[c];
    b->is_needed[c] = !b->is_pointwise[c];
    for (int k = 0; k < call->nresults; k++) {
      if (b->is_wanted[call->result + k]) b->is_needed[c] = true;
    }
    if (!b->is_needed[c] && b->checks[c]) {
      b->is_pointwise[c] = false;
      b->is_needed[c] = b->has_unfused = true;
    }
    if (b->is_needed[c]) mark_inputs(b, c);
  }
}

/* -- Groups --------------------------------------------------------------- */

/* Note [Order of fusion groups]
 * The level of a call is the largest number of calls on a path to it that are
 * not pointwise. A fusion group has calls of one level and one shape. In each
 * level the fusion groups run first, then the other calls. Groups of one level
 * may read each other: broadcasting only enlarges results, which have more
 * dimensions, or as many and fewer of size 1, so groups are ordered by their
 * number of dimensions, then by that of sizes 1. Calls that may draw random
 * numbers keep their order. */
static int find_level(st_scheduler *b, int call) {
  const st_graph_node *c = &b->g->nodes[call];
  int level = 0;
  bool more = true;
  for (int k = 0; more; k++) {
    const int v = st__nth_read(c, k, &more);
    if (v < 0 || b->r->values[v].origin != ST_ORIGIN_CALL) continue;
    const int from = b->r->values[v].call;
    const int after = b->level_of[from] + !b->is_pointwise[from];
    if (after > level) level = after;
  }
  if (st__may_draw(c)) {
    if (level < b->random_level) level = b->random_level;
    b->random_level = level;
  }
  return level;
}

/* The first group that the call may join: the last one of its level and shape
 * that computes an operand of it, or 0. */
static int first_candidate(const st_scheduler *b, int call) {
  int first = 0;
  bool more = true;
  for (int k = 0; more; k++) {
    const int v = st__nth_read(&b->g->nodes[call], k, &more);
    if (v < 0 || b->r->values[v].origin != ST_ORIGIN_CALL) continue;
    const int from = b->r->values[v].call, g = b->group_of[from];
    if (b->is_pointwise[from] && b->level_of[from] == b->level_of[call] &&
        g > first && st__same_sizes(b->groups[g].like,
                                    b->r->values[b->g->nodes[call].result]
                                      .fake)) {
      first = g;
    }
  }
  return first;
}

/* Adds the call to group `at` if level, shape and limits allow. */
static bool try_join(st_scheduler *b, int call, int at) {
  const st_graph_node *c = &b->g->nodes[call];
  st_fusion_group *g = &b->groups[at], with = *g;
  bool more = true;
  if (!g->is_fused || g->level != b->level_of[call] ||
      g->ncalls == ST_GROUP_CALLS ||
      !st__same_sizes(g->like, b->r->values[c->result].fake)) {
    return false;
  }
  for (int k = 0; more; k++) {
    const int v = st__nth_read(c, k, &more);
    if (v < 0 || b->r->values[v].origin == ST_ORIGIN_NUMBER) continue;
    const bool is_own = b->r->values[v].origin == ST_ORIGIN_CALL &&
                        b->group_of[b->r->values[v].call] == at;
    if (!is_own && !add_input(with.in, &with.nin, v)) return false;
  }
  with.ncalls++;
  *g = with;
  b->group_of[call] = at;
  return true;
}

static void assign_group(st_scheduler *b, int call) {
  const st_graph_node *c = &b->g->nodes[call];
  b->level_of[call] = find_level(b, call);
  if (b->is_pointwise[call]) {
    for (int g = first_candidate(b, call); g < b->ngroups; g++) {
      if (try_join(b, call, g)) return;
    }
  }
  st_fusion_group *g = &b->groups[b->ngroups];
  *g = (st_fusion_group){.is_fused = b->is_pointwise[call],
               .level = b->level_of[call],
               .like = b->r->values[c->result].fake};
  b->group_of[call] = b->ngroups++;
  if (g->is_fused) try_join(b, call, b->ngroups - 1);
  else g->ncalls = 1;
}

static int count_ones(const st_tensor *t) {
  int n = 0;
  for (int d = 0; d < t->ndim; d++) n += t->sizes[d] == 1;
  return n;
}

/* True if x runs before y (Note [Order of fusion groups]); ties are broken by
 * the order of creation. */
static bool comes_before(const st_fusion_group *x, const st_fusion_group *y) {
  if (x->level != y->level) return x->level < y->level;
  if (x->is_fused != y->is_fused) return x->is_fused;
  if (!x->is_fused) return x < y;
  if (x->like->ndim != y->like->ndim) return x->like->ndim < y->like->ndim;
  const int n = count_ones(x->like), m = count_ones(y->like);
  return n != m ? n > m : x < y;
}

static void order_groups(st_scheduler *b) {
  for (int g = 0; g < b->ngroups; g++) {
    int at = g;
    while (at > 0 && comes_before(&b->groups[g],
                                  &b->groups[b->order[at - 1]])) {
      b->order[at] = b->order[at - 1];
      at--;
    }
    b->order[at] = g;
  }
}

st_status st__choose_groups(st_scheduler *b) {
  const int n = b->g->nnodes;
  memset(b->is_output, 0, sizeof b->is_output);
  memset(b->is_needed, 0, sizeof b->is_needed);
  b->ngroups = b->random_level = 0;
  b->has_unfused = false;
  for (int c = 0; c < n; c++) {
    ST_TRY(is_fusible(b, c, &b->is_pointwise[c]));
    if (!b->is_pointwise[c]) b->has_unfused = true;
  }
  find_live(b);
  for (int c = 0; c < n; c++) {
    if (b->is_needed[c]) assign_group(b, c);
  }
  order_groups(b);
  return ST_OK;
}
