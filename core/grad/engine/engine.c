/* The backward pass.
 *
 * Note [Nodes run by sequence number]
 * Every node has a higher sequence number than the nodes that it leads to
 * (Note [Graphs are acyclic]). So the queued node with the highest number has
 * received all its gradients, and a heap of the queued nodes gives the order:
 * dependencies are not counted beforehand. If the pass computes the gradients
 * of some inputs only, one traversal of the part of the graph that is no older
 * than these inputs marks the nodes that lead to them. No function of this
 * file recurses.
 *
 * Note [Leaves with hooks are early]
 * An AccumulateGrad node may be older than all other nodes: it lives as long as
 * a graph leads to it. By its number it would run at the end of the pass. A
 * hook of a leaf that is called after the gradient was added shall not wait so
 * long: it may send the gradient to other processes, or step an optimizer. So
 * if there are such hooks, one traversal counts the gradients of each leaf, and
 * its node is queued, before all others, when the last one has come. Those
 * that wait for a gradient of a node that never runs are queued at the end.
 */

#include "grad/engine/engine.h"

#include <string.h>

#include "base/call_limits.h"
#include "grad/engine/awaited.h"
#include "grad/engine/growable.h"
#include "grad/engine/hook.h"
#include "grad/engine/validate_grad.h"
#include "op/row/composite.h"

/* -- State of a pass ------------------------------------------------------ */

/* A queued node and the sums of the gradients of its results so far. */
typedef struct ready_node {
  st_node *node;       /* owned */
  st_tensor **grads;   /* owned; NULL for one result, which uses grad */
  st_tensor *grad;
  bool is_early;       /* it runs before those that are not */
} ready_node;

enum { REACHES = 1, TARGET = 2, VISITED = 4 }; /* marks of nodes, in reach */

typedef struct graph_task {
  const st_backward_pass *pass;
  bool skips_hooks;         /* of tensors */
  st_tensor **results;
  ready_node *all;          /* slots of queued nodes; free_slots lists the
                               unused ones */
  int64_t nall, all_capacity;
  int64_t *free_slots, nfree_slots, free_slots_capacity;
  int64_t *heap, nheap, heap_capacity;
  st_node_map slots;        /* slots of the queued nodes */
  st_node_map reach;        /* marks of nodes; for a pass with inputs */
  st_node_map awaited;      /* Note [Leaves with hooks are early] */
  st_edge *targets;         /* edges of the inputs; owned */
} graph_task;

/* -- Queue ---------------------------------------------------------------- */

static bool is_before(const graph_task *k, int64_t a, int64_t b) {
  const ready_node *const x = &k->all[a], *const y = &k->all[b];
  if (x->is_early != y->is_early) return x->is_early;
  return x->node->sequence > y->node->sequence;
}

static void heap_up(graph_task *k, int64_t i) {
  while (i > 0 && is_before(k, k->heap[i], k->heap[(i - 1) / 2])) {
    const int64_t up = (i - 1) / 2, moved = k->heap[i];
    k->heap[i] = k->heap[up];
    k->heap[up] = moved;
    i = up;
  }
}

static void heap_down(graph_task *k) {
  for (int64_t i = 0;;) {
    int64_t best = i;
    for (int64_t child = 2 * i + 1; child <= 2 * i + 2; child++) {
      if (child < k->nheap && is_before(k, k->heap[child], k->heap[best])) {
        best = child;
      }
    }
    if (best == i) return;
    const int64_t moved = k->heap[i];
    k->heap[i] = k->heap[best];
    k->heap[best] = moved;
    i = best;
  }
}

static size_t grads_size(const st_node *n) {
  return (size_t)n->nresults * sizeof(st_tensor *);
}

static st_tensor **grads_of(ready_node *w) {
  return w->grads ? w->grads : &w->grad;
}

static void clear(ready_node *w) {
  if (!w->node) return;
  for (int i = 0; i < w->node->nresults; i++) {
    st__tensor_release(&grads_of(w)[i]);
  }
  if (w->grads) st__free(ST_MEM_SCRATCH, w->grads, grads_size(w->node));
  st__node_release(&w->node);
}

static st_status push(graph_task *k, int64_t slot, bool is_early) {
  ST_TRY(st__reserve((void **)&k->heap, k->nheap, &k->heap_capacity,
                     sizeof *k->heap));
  k->all[slot].is_early = is_early;
  k->heap[k->nheap++] = slot;
  heap_up(k, k->nheap - 1);
  return ST_OK;
}

static st_status take_slot(graph_task *k, int64_t *slot) {
  if (k->nfree_slots > 0) {
    *slot = k->free_slots[--k->nfree_slots];
    return ST_OK;
  }
  ST_TRY(st__reserve((void **)&k->all, k->nall, &k->all_capacity,
                     sizeof *k->all));
  *slot = k->nall;
  k->all[k->nall++] = (ready_node){0};
  return ST_OK;
}

/* The entry of n, added if there is none. It is queued at once, unless n is a
 * leaf's node that waits for more gradients. */
static st_status find_or_add_ready(graph_task *k, st_node *n,
                                   ready_node **out) {
  st_node_map_entry *e = st__node_map_find(&k->slots, n);
  int64_t slot;
  if (e) {
    *out = &k->all[e->value];
    return ST_OK;
  }
  ST_TRY(take_slot(k, &slot));
  ready_node *const w = *out = &k->all[slot];
  *w = (ready_node){0};
  if (n->nresults > 1) {
    w->grads = st__alloc_zero(ST_MEM_SCRATCH, grads_size(n));
    if (!w->grads) return ST_NO_MEMORY;
  }
  st_node_retain(n);
  w->node = n;
  ST_TRY(st__node_map_put(&k->slots, n, slot, &e));
  return st__is_awaited(&k->awaited, n) ? ST_OK : push(k, slot, false);
}

/* Takes note that a gradient has come along an edge, or that none will. */
static st_status arrive(graph_task *k, const st_node *n) {
  if (!k->awaited.n || !n || !st__has_arrived(&k->awaited, n)) return ST_OK;
  const st_node_map_entry *e = st__node_map_find(&k->slots, n);
  return e ? push(k, e->value, true) : ST_OK;
}

/* Queues the nodes that still wait. */
static st_status push_rest(graph_task *k) {
  const st_node_map rest = k->slots;
  for (size_t i = 0; i < rest.capacity; i++) {
    const st_node_map_entry *e = &rest.entries[i];
    if (e->node) ST_TRY(push(k, e->value, false));
  }
  return ST_OK;
}

/* -- Gradients ------------------------------------------------------------ */

/* True if the caller has the only reference to t and to its storage, so that
 * t can be added to in place. */
static bool is_exclusive(const st_tensor *t) {
  return st__ref_count(&t->refs) == 1 && !t->history && !st__is_lazy(t) &&
         st__ref_count(&t->storage->refs) == 1 &&
         (t->flags & ST_FLAG_DENSE);
}

/* Adds grad to *sum, which is NULL or owned. Takes the reference to grad. */
static st_status add_to(st_tensor **sum, st_tensor *grad) {
  if (!*sum) {
    *sum = grad;
    return ST_OK;
  }
  const st_value args[] = {st__of_tensor(*sum), st__of_tensor(grad),
                           st__of_int(1)};
  st_value ret = st__none();
  const bool fits = (*sum)->dtype == grad->dtype;
  const bool in_place = fits && is_exclusive(*sum) && !st__tls().grad;
  const st_status status =
    in_place ? st__call(st__op_variant(ST_OP_add_Tensor, ST_INPLACE), args,
                        &ret)
             : st__invoke(ST_OP_add_Tensor, 2, args, &ret);
  st__tensor_release(&grad);
  if (status != ST_OK) return status;
  if (in_place) {
    st__value_clear(&ret);
    return ST_OK;
  }
  st__tensor_release(sum);
  *sum = ret.u.tensor;
  return ST_OK;
}

/* -- Running one node ----------------------------------------------------- */

static st_status has_nan(st_tensor *t, bool *out) {
  st_op_scope c = {.status = ST_OK};
  st_scalar s = {0};
  const st_tensor *any = st__apply1(&c, ST_OP_any,
                                    st__apply1(&c, ST_OP_isnan, t));
  if (st__scope_ok(&c)) {
    st_value v, arg = st__of_tensor(any);
    c.status = st__invoke(ST_OP_item, 1, &arg, &v);
    if (st__scope_ok(&c)) s = st__scalar_of(&v);
  }
  *out = s.u.i != 0;
  return st__scope_end(&c, 0, NULL, NULL);
}

static st_status check_nan(const st_node *n, st_tensor *t, int i) {
  bool found;
  ST_TRY(has_nan(t, &found));
  if (!found) return ST_OK;
  return st__fail(ST_BAD_VALUE, "%s returned a gradient with NaN elements "
                  "for input %d", n->name, i + 1);
}

static bool leads_to_input(const graph_task *k, const st_edge *e) {
  if (!e->node) return false;
  if (!k->pass->ninputs) return true;
  const st_node_map_entry *found = st__node_map_find(&k->reach, e->node);
  return found && (found->value & (REACHES | TARGET));
}

static st_status propagate(graph_task *k, const st_node *n, int i,
                           st_tensor **grad) {
  const st_edge *e = &n->edges[i];
  ready_node *w;
  if (!*grad || !leads_to_input(k, e)) return ST_OK;
  ST_TRY(st__validate_grad(n, i, grad));
  if (st__anomaly && st__anomaly->checks_nan) {
    ST_TRY(check_nan(n, *grad, i));
  }
  ST_TRY(find_or_add_ready(k, e->node, &w));
  st_tensor *const moved = *grad;
  *grad = NULL;
  return add_to(&grads_of(w)[e->nr], moved);
}

/* Buffers for the gradients of a node's inputs and for which are needed. */
typedef struct input_grads {
  st_tensor **out;
  bool *wanted;
  size_t bytes;
  st_tensor *inline_out[8];
  bool inline_wanted[8];
} input_grads;

static st_status alloc_input_grads(input_grads *r, const graph_task *k,
                                   const st_node *n) {
  const size_t count = (size_t)n->ninputs;
  r->bytes = count > 8 ? count * (sizeof *r->out + 1) : 0;
  memset(r->inline_out, 0, sizeof r->inline_out);
  r->out = r->inline_out;
  r->wanted = r->inline_wanted;
  if (r->bytes) {
    r->out = st__alloc_zero(ST_MEM_SCRATCH, r->bytes);
    if (!r->out) return ST_NO_MEMORY;
    r->wanted = (bool *)(void *)(r->out + count);
  }
  for (size_t i = 0; i < count; i++) {
    r->wanted[i] = leads_to_input(k, &n->edges[i]);
  }
  return ST_OK;
}

static void free_input_grads(input_grads *r, const st_node *n) {
  for (int i = 0; i < n->ninputs; i++) st__tensor_release(&r->out[i]);
  if (r->bytes) st__free(ST_MEM_SCRATCH, r->out, r->bytes);
}

/* In anomaly mode, adds to the message where the operation was recorded. */
static st_status add_error_context(const st_node *n, st_status status) {
  if (status == ST_OK || !n->where || !*n->where) return status;
  char old[1024];
  snprintf(old, sizeof old, "%s", st_message());
  return st__fail(status, "%s\nin the gradient of an operation at %s", old,
                  n->where);
}

static st_status run_kind(graph_task *k, st_node *n, st_tensor **grads) {
  input_grads r;
  if (n->is_released) {
    return st__fail(ST_BAD_STATE, "%s: its saved tensors were freed by an "
                    "earlier backward pass:\nset retain_graph in that pass "
                    "to run another one", n->name);
  }
  ST_TRY(alloc_input_grads(&r, k, n));
  st_status status = n->kind->run(n, grads, r.wanted, r.out);
  if (status == ST_OK) status = st__run_hooks_after(n, r.out, grads);
  for (int i = 0; status == ST_OK && i < n->ninputs; i++) {
    status = propagate(k, n, i, &r.out[i]);
    if (status == ST_OK) status = arrive(k, n->edges[i].node);
  }
  free_input_grads(&r, n);
  if (status == ST_OK && !k->pass->retain_graph) st__node_release_saved(n);
  return status;
}

/* Hooks may have removed all gradients; then the node does not run. */
static bool has_any(const st_node *n, st_tensor *const *grads) {
  for (int i = 0; i < n->nresults; i++) {
    if (grads[i]) return true;
  }
  return false;
}

static st_status run_node(graph_task *k, st_node *n, st_tensor **grads) {
  st_status status = st__run_hooks_before(n, grads);
  if (status == ST_OK && has_any(n, grads)) status = run_kind(k, n, grads);
  return add_error_context(n, status);
}

/* -- Gradients of inputs -------------------------------------------------- */

static st_status capture(graph_task *k, const st_node *n, st_tensor **grads) {
  for (int i = 0; i < k->pass->ninputs; i++) {
    const st_edge *e = &k->targets[i];
    if (e->node != n || !grads[e->nr]) continue;
    st__tensor_retain(grads[e->nr]);
    st__tensor_release(&k->results[i]);
    k->results[i] = grads[e->nr];
  }
  return ST_OK;
}

/* A pass with inputs runs only the nodes that lead to them. The AccumulateGrad
 * node of an input runs only if the pass accumulates. */
static bool needs_run(const graph_task *k, const st_node *n) {
  if (!k->pass->ninputs) return true;
  const st_node_map_entry *e = st__node_map_find(&k->reach, n);
  return e && (e->value & REACHES);
}

/* The hooks of a leaf, which is NULL for other nodes, and of its node. */
static st_status run_hooks(st_tensor *leaf, st_node *node, st_tensor **grads) {
  if (leaf) ST_TRY(st__run_result_hooks(&leaf->history->hooks, grads));
  return st__run_result_hooks(&node->hooks, grads);
}

static st_status run_next(graph_task *k) {
  const int64_t slot = k->heap[0];
  ready_node w = k->all[slot];
  st_tensor **const grads = grads_of(&w);
  st_status status = ST_OK;
  ST_TRY(st__limits_check());
  ST_TRY(st__reserve((void **)&k->free_slots, k->nfree_slots,
                     &k->free_slots_capacity, sizeof *k->free_slots));
  k->heap[0] = k->heap[--k->nheap];
  heap_down(k);
  st__node_map_remove(&k->slots, w.node);
  k->all[slot].node = NULL;
  k->free_slots[k->nfree_slots++] = slot;
  st_tensor *leaf = st__leaf_retain(w.node);
  if (!k->skips_hooks) status = run_hooks(leaf, w.node, grads);
  if (status == ST_OK && k->results) status = capture(k, w.node, grads);
  if (status == ST_OK && needs_run(k, w.node)) {
    status = run_node(k, w.node, grads);
  }
  st__tensor_release(&leaf);
  clear(&w);
  return status;
}

/* -- Nodes that lead to the inputs ---------------------------------------- */

static int64_t mark(const graph_task *k, const st_node *n) {
  const st_node_map_entry *e = n ? st__node_map_find(&k->reach, n) : NULL;
  return e ? e->value : 0;
}

typedef struct step { const st_node *node; int at; } step;

typedef struct walk {
  step *steps;
  int64_t n, capacity;
  uint64_t oldest; /* lowest sequence number of the inputs' nodes: no older
                      node leads to an input */
} walk;

static st_status enter(graph_task *k, walk *w, const st_node *n) {
  st_node_map_entry *e;
  if (!n || n->sequence < w->oldest) return ST_OK;
  ST_TRY(st__node_map_put(&k->reach, n, 0, &e));
  if (e->value & VISITED) return ST_OK;
  e->value |= VISITED; /* each node is visited once */
  ST_TRY(st__reserve((void **)&w->steps, w->n, &w->capacity, sizeof *w->steps));
  w->steps[w->n++] = (step){n, 0};
  return ST_OK;
}

static st_status walk_all(graph_task *k, walk *w) {
  while (w->n > 0) {
    step *const s = &w->steps[w->n - 1];
    const st_node *n = s->node;
    if (s->at > 0 && (mark(k, n->edges[s->at - 1].node) &
                      (REACHES | TARGET))) {
      st__node_map_find(&k->reach, n)->value |= REACHES;
    }
    if (s->at == n->ninputs) {
      w->n--;
      continue;
    }
    const st_node *next = n->edges[s->at++].node;
    ST_TRY(enter(k, w, next));
  }
  return ST_OK;
}

static st_status mark_targets(graph_task *k, walk *w) {
  st_node_map_entry *e;
  w->oldest = UINT64_MAX;
  for (int i = 0; i < k->pass->ninputs; i++) {
    const st_node *n = k->targets[i].node;
    if (!n) continue;
    if (n->sequence < w->oldest) w->oldest = n->sequence;
    ST_TRY(st__node_map_put(&k->reach, n, 0, &e));
    e->value |= TARGET;
    if (k->pass->accumulate && st__accumulates(n)) e->value |= REACHES;
  }
  return ST_OK;
}

static st_status mark_reachable(graph_task *k, const st_edge *roots) {
  walk w = {0};
  st_status status = mark_targets(k, &w);
  for (int i = 0; status == ST_OK && i < k->pass->noutputs; i++) {
    status = enter(k, &w, roots[i].node);
    if (status == ST_OK) status = walk_all(k, &w);
  }
  if (w.steps) {
    st__free(ST_MEM_SCRATCH, w.steps, (size_t)w.capacity * sizeof *w.steps);
  }
  return status;
}

/* -- Roots ---------------------------------------------------------------- */

static st_status add_root_grad(graph_task *k, const st_edge *root, st_tensor *t,
                               st_tensor *grad) {
  ready_node *w;
  st_tensor *first;
  if (grad && grad->dtype == t->dtype) {
    st__tensor_retain(grad);
    first = grad;
  } else if (grad) {
    ST_TRY(st__invoke1(ST_OP_to_dtype, ST_VALUES(grad, t->dtype), &first));
  } else {
    const st_value like = st__of_tensor(t);
    ST_TRY(st__invoke1(ST_OP_ones_like, 1, &like, &first));
  }
  const st_status status = find_or_add_ready(k, root->node, &w);
  if (status != ST_OK) {
    st__tensor_release(&first);
    return status;
  }
  ST_TRY(add_to(&grads_of(w)[root->nr], first));
  return arrive(k, root->node);
}

static st_status run_all(graph_task *k, const st_edge *roots) {
  const st_backward_pass *p = k->pass;
  if (p->ninputs) ST_TRY(mark_reachable(k, roots));
  if (p->accumulate && st__has_post_hooks()) {
    ST_TRY(st__await(&k->awaited, p->noutputs, roots));
  }
  for (int i = 0; i < p->noutputs; i++) {
    ST_TRY(add_root_grad(k, &roots[i], p->outputs[i],
                         p->grad_outputs ? p->grad_outputs[i] : NULL));
  }
  while (k->nheap > 0) {
    ST_TRY(run_next(k));
    if (k->nheap == 0) ST_TRY(push_rest(k));
  }
  for (int i = 0; i < p->ninputs && !p->allow_unused; i++) {
    if (k->results && !k->results[i]) {
      return st__fail(ST_BAD_VALUE, "the outputs do not depend on input %d:\n"
                      "set allow_unused to allow inputs without a gradient",
                      i + 1);
    }
  }
  return ST_OK;
}

/* The pass records its operations only if create_graph is set. It runs without
 * autocast: Note [Autocast]. */
static st_status run_in_mode(graph_task *k, const st_edge *roots) {
  const st_tls old = st__tls();
  st_tls tls = old;
  tls.grad = k->pass->create_graph;
  tls.excluded |= ST_AUTOCAST_BITS;
  st__set_tls(tls);
  const st_status status = run_all(k, roots);
  st__set_tls(old);
  return status;
}

static void end(graph_task *k) {
  for (int64_t i = 0; i < k->nall; i++) clear(&k->all[i]);
  if (k->all) {
    st__free(ST_MEM_SCRATCH, k->all, (size_t)k->all_capacity * sizeof *k->all);
  }
  if (k->free_slots) {
    st__free(ST_MEM_SCRATCH, k->free_slots,
             (size_t)k->free_slots_capacity * sizeof *k->free_slots);
  }
  if (k->heap) {
    st__free(ST_MEM_SCRATCH, k->heap,
             (size_t)k->heap_capacity * sizeof *k->heap);
  }
  st__node_map_free(&k->slots);
  st__node_map_free(&k->reach);
  st__node_map_free(&k->awaited);
}

/* -- The public function -------------------------------------------------- */

static st_status find_edges(int n, st_tensor *const *t, st_edge *edges) {
  for (int i = 0; i < n; i++) ST_TRY(st__gradient_edge(t[i], &edges[i]));
  return ST_OK;
}

/* A view made within no_grad requires a gradient if its base does, but has no
 * history: it cannot be an output, and no output depends on it as an input. */
static st_status check_outputs(int n, const st_edge *edges) {
  for (int i = 0; i < n; i++) {
    if (edges[i].node) continue;
    return st__fail(ST_BAD_STATE, "output %d has no history: it is a view "
                    "that was made within no_grad", i + 1);
  }
  return ST_OK;
}

static st_status check_pass(const st_backward_pass *p) {
  for (int i = 0; i < p->noutputs; i++) {
    ST_TRY(st__check_root(p->outputs[i], p->grad_outputs ? p->grad_outputs[i]
                                                         : NULL, i));
  }
  for (int i = 0; i < p->ninputs; i++) {
    if (st__requires_grad(p->inputs[i])) continue;
    return st__fail(ST_BAD_STATE, "input %d does not require a gradient",
                    i + 1);
  }
  return ST_OK;
}

typedef struct pass_run { graph_task *task; const st_edge *roots; } pass_run;

static st_status run_pass(void *arg) {
  const pass_run *r = arg;
  return run_in_mode(r->task, r->roots);
}

static st_status backward(const st_backward_pass *p, bool skips_hooks,
                          st_tensor **grads) {
  const size_t n = (size_t)(p->noutputs + p->ninputs) + 1;
  graph_task k = {.pass = p, .skips_hooks = skips_hooks, .results = grads};
  ST_TRY(check_pass(p));
  st_edge *edges = st__alloc_zero(ST_MEM_SCRATCH, n * sizeof *edges);
  if (!edges) return ST_NO_MEMORY;
  k.targets = edges + p->noutputs;
  for (int i = 0; grads && i < p->ninputs; i++) grads[i] = NULL;
  st_status status = find_edges(p->noutputs, p->outputs, edges);
  if (status == ST_OK) {
    status = find_edges(p->ninputs, p->inputs, k.targets);
  }
  if (status == ST_OK) status = check_outputs(p->noutputs, edges);
  if (status == ST_OK) {
    status = st__run_pass(run_pass, &(pass_run){&k, edges});
  }
  for (int i = 0; status != ST_OK && grads && i < p->ninputs; i++) {
    st__tensor_release(&grads[i]);
  }
  end(&k);
  for (size_t i = 0; i < n; i++) st__node_release(&edges[i].node);
  st__free(ST_MEM_SCRATCH, edges, n * sizeof *edges);
  return status;
}

st_status st_backward(const st_backward_pass *p, st_tensor **grads) {
  return backward(p, false, grads);
}

st_status st__differentiate(const st_backward_pass *p, st_tensor **grads) {
  return backward(p, true, grads);
}
