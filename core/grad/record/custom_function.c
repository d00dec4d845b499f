/* Custom autograd functions: operations whose gradient the caller computes.
 */

#include "grad/graph/node.h"

#include <string.h>

#include "dispatch/dispatch.h"
#include "grad/graph/saved_tensor.h"

typedef struct function {
  st_node node;
  st_function f;     /* only nsaved and the callbacks with their ctx are set */
  char *name;        /* owned */
  st_saved *saved;
} function;

static function *of(const st_node *n) { return (function *)(uintptr_t)n; }

/* -- Running -------------------------------------------------------------- */

static st_status unpack_all(st_node *n, st_tensor **out) {
  const function *fn = of(n);
  for (int i = 0; i < fn->f.nsaved; i++) {
    st_value v;
    char name[32];
    if (fn->saved[i].value.tag == ST_TAG_NONE) continue;
    snprintf(name, sizeof name, "saved tensor %d", i + 1);
    ST_TRY(st__saved_unpack(&fn->saved[i], n, name, &v));
    out[i] = v.u.tensor;
  }
  return ST_OK;
}

static st_status run(st_node *n, st_tensor *const *grads, const bool *wanted,
                     st_tensor **out) {
  const function *fn = of(n);
  const size_t bytes = ((size_t)fn->f.nsaved + 1) * sizeof(st_tensor *);
  st_tensor **saved = st__alloc_zero(ST_MEM_SCRATCH, bytes);
  if (!saved) return ST_NO_MEMORY;
  st_status status = unpack_all(n, saved);
  if (status == ST_OK) {
    status = fn->f.backward(fn->f.ctx, grads, saved, wanted, out);
  }
  for (int i = 0; i < fn->f.nsaved; i++) st__tensor_release(&saved[i]);
  st__free(ST_MEM_SCRATCH, saved, bytes);
  return status;
}

static void release(st_node *n) {
  function *const fn = of(n);
  for (int i = 0; fn->saved && i < fn->f.nsaved; i++) {
    st__saved_release(&fn->saved[i]);
  }
  if (fn->f.release) fn->f.release(fn->f.ctx);
}

static void free_function(st_node *n) {
  function *const fn = of(n);
  if (fn->saved) {
    st__free(ST_MEM_GRAPH, fn->saved,
             ((size_t)fn->f.nsaved + 1) * sizeof *fn->saved);
  }
  if (fn->f.free_ctx) fn->f.free_ctx(fn->f.ctx);
  if (fn->name) st__free(ST_MEM_GRAPH, fn->name, strlen(fn->name) + 1);
}

static const st_node_kind kind = {run, release, free_function};

/* -- Recording ------------------------------------------------------------ */

static bool is_among(const st_tensor *t, int n, st_tensor *const *list) {
  for (int i = 0; i < n; i++) {
    if (list[i] == t) return true;
  }
  return false;
}

static st_status connect(function *fn, const st_function *f) {
  for (int i = 0; i < f->ninputs; i++) {
    st_tensor *const t = f->inputs[i];
    if (!t || !st__requires_grad(t)) continue;
    ST_TRY(st__gradient_edge(t, &fn->node.edges[i]));
    ST_TRY(st__metadata_init(&fn->node.inputs[i], t));
  }
  return ST_OK;
}

static int index_of(const st_tensor *t, const st_function *f) {
  for (int i = 0; i < f->noutputs; i++) {
    if (f->outputs[i] == t) return i;
  }
  return -1;
}

static st_status save_all(function *fn, const st_function *f) {
  fn->saved = st__alloc_zero(ST_MEM_GRAPH,
                             ((size_t)f->nsaved + 1) * sizeof *fn->saved);
  if (!fn->saved) return ST_NO_MEMORY;
  for (int i = 0; i < f->nsaved; i++) {
    if (!f->saved[i]) continue;
    const st_value v = st__of_tensor(f->saved[i]);
    const int at = index_of(f->saved[i], f);
    ST_TRY(st__save(&fn->saved[i], &v, at >= 0));
    if (at >= 0) fn->saved[i].nr = at;
    fn->node.has_saved = true;
  }
  return ST_OK;
}

static st_status give_histories(function *fn, const st_function *f) {
  for (int i = 0; i < f->noutputs; i++) {
    st_tensor *const t = f->outputs[i];
    ST_TRY(st__metadata_init(&fn->node.results[i], t));
    if (!st__is_differentiable(t) ||
        (f->differentiable && !f->differentiable[i])) {
      continue;
    }
    if (is_among(t, f->ninputs, f->inputs)) {
      st_node *next;
      ST_TRY(st__rebase_prepare(t, &fn->node, i, &next));
      st__rebase(t, &next, i);
    } else {
      ST_TRY(st__set_grad_fn(t, &fn->node, i));
      if (st__base(t)) {
        ((st_view_tensor *)(void *)t)->creation = ST_CREATION_FUNCTION;
      }
    }
  }
  return ST_OK;
}

static bool any_requires(const st_function *f) {
  for (int i = 0; i < f->ninputs; i++) {
    if (f->inputs[i] && st__requires_grad(f->inputs[i])) return true;
  }
  return false;
}

static st_status check_written(const st_function *f) {
  for (int i = 0; i < f->noutputs; i++) {
    if (is_among(f->outputs[i], f->ninputs, f->inputs)) {
      ST_TRY(st__check_inplace(f->outputs[i]));
    }
  }
  return ST_OK;
}

st_status st_record(const st_function *f, bool *recorded) {
  st_node *n;
  *recorded = false;
  if (!st__tls().grad || !any_requires(f)) return ST_OK;
  ST_TRY(check_written(f));
  ST_TRY(st__node_new(&kind, sizeof(function), f->ninputs, f->noutputs, &n));
  function *const fn = of(n);
  fn->f.nsaved = f->nsaved;
  fn->f.backward = f->backward;
  fn->name = st__strndup(ST_MEM_GRAPH, f->name, strlen(f->name));
  st_status status = fn->name ? connect(fn, f) : ST_NO_MEMORY;
  if (status == ST_OK) status = save_all(fn, f);
  st__node_number(n);
  if (status == ST_OK) status = give_histories(fn, f);
  if (status == ST_OK) {
    n->name = fn->name;
    fn->f.ctx = f->ctx;
    fn->f.release = f->release;
    fn->f.free_ctx = f->free_ctx;
    *recorded = true;
  }
  st__node_release(&n);
  return status;
}

void *st_node_ctx(const st_node *n, st_function_fn backward) {
  if (n->kind != &kind || of(n)->f.backward != backward) return NULL;
  return of(n)->f.ctx;
}
