/* Graph nodes: creation, reference counting, release and hooks.
 */

#include "grad/graph/node.h"

#include <stdatomic.h>
#include <string.h>

_Thread_local const st_anomaly *st__anomaly;

/* -- Input metadata ------------------------------------------------------- */

st_status st__metadata_init(st_input_metadata *m, const st_tensor *t) {
  m->dtype = t->dtype;
  m->device = (uint8_t)t->device;
  m->sizes = m->dims;
  if (t->ndim > ST_INLINE_DIMS) {
    m->sizes = st__alloc(ST_MEM_GRAPH, t->ndim * sizeof(int64_t));
    if (!m->sizes) return ST_NO_MEMORY;
  }
  m->ndim = t->ndim;
  if (t->ndim) memcpy(m->sizes, t->sizes, t->ndim * sizeof(int64_t));
  return ST_OK;
}

static void metadata_free(st_input_metadata *m) {
  if (m->ndim > ST_INLINE_DIMS) {
    st__free(ST_MEM_GRAPH, m->sizes, m->ndim * sizeof(int64_t));
  }
}

bool st__metadata_matches(const st_input_metadata *m, const st_tensor *t) {
  return m->dtype == t->dtype && m->device == t->device &&
         st__has_sizes(t, m->ndim, m->sizes);
}

/* -- Hooks ---------------------------------------------------------------- */

static atomic_uint_fast64_t last_id;
static atomic_int_fast64_t npost_hooks;

bool st__has_post_hooks(void) {
  return atomic_load_explicit(&npost_hooks, memory_order_relaxed) > 0;
}

st_status st__hook_add(st_hook **list, const st_hook *hook, uint64_t *id) {
  st_hook *h = st__alloc(ST_MEM_GRAPH, sizeof *h);
  if (!h) return ST_NO_MEMORY;
  *h = *hook;
  h->next = NULL;
  h->id = atomic_fetch_add(&last_id, 1) + 1;
  h->running = 0;
  h->is_removed = false;
  if (id) *id = h->id;
  while (*list) list = &(*list)->next;
  *list = h;
  if (h->when == ST_HOOK_POST) atomic_fetch_add(&npost_hooks, 1);
  return ST_OK;
}

static void free_hook(st_hook *h) {
  if (h->when == ST_HOOK_POST) atomic_fetch_sub(&npost_hooks, 1);
  const bool is_node = h->when == ST_HOOK_BEFORE || h->when == ST_HOOK_AFTER;
  void (*const fn)(void *) = is_node ? h->u.node.free_ctx
                                     : h->u.tensor.free_ctx;
  void *const ctx = is_node ? h->u.node.ctx : h->u.tensor.ctx;
  if (fn) fn(ctx);
  st__free(ST_MEM_GRAPH, h, sizeof *h);
}

static void unlink_hook(st_hook **list, st_hook *h) {
  while (*list != h) list = &(*list)->next;
  *list = h->next;
  free_hook(h);
}

bool st__hook_remove(st_hook **list, uint64_t id) {
  st_hook *h = *list;
  while (h && (h->id != id || h->is_removed)) h = h->next;
  if (!h) return false;
  if (h->running > 0) h->is_removed = true;
  else unlink_hook(list, h);
  return true;
}

st_hook *st__hook_begin(st_hook *list, int when, uint64_t after) {
  for (st_hook *h = list; h; h = h->next) {
    if ((int)h->when != when || h->id <= after || h->is_removed) continue;
    h->running++;
    return h;
  }
  return NULL;
}

void st__hook_end(st_hook **list, st_hook *h) {
  if (--h->running == 0 && h->is_removed) unlink_hook(list, h);
}

void st__hooks_free(st_hook **list) {
  while (*list) {
    st_hook *const h = *list;
    *list = h->next;
    free_hook(h);
  }
}

/* -- Creation ------------------------------------------------------------- */

static atomic_uint_fast64_t last_sequence;

/* Stores where the operation is recorded, as the anomaly mode reports it. */
static st_status set_where(st_node *n) {
  char text[512] = "";
  ST_TRY(st__anomaly->where(st__anomaly->ctx, text, sizeof text));
  n->where = st__strndup(ST_MEM_GRAPH, text, strlen(text));
  return n->where ? ST_OK : ST_NO_MEMORY;
}

void st__node_number(st_node *n) {
  n->sequence = atomic_fetch_add_explicit(&last_sequence, 1,
                                          memory_order_relaxed) + 1;
}

st_status st__node_new(const st_node_kind *kind, size_t size, int ninputs,
                       int nresults, st_node **out) {
  const size_t head = (size + 15) / 16 * 16;
  const size_t nedges = (size_t)ninputs, nmetas = nedges + (size_t)nresults;
  const size_t whole = head + nedges * sizeof(st_edge) +
                       nmetas * sizeof(st_input_metadata);
  st_node *n = st__alloc_zero(ST_MEM_GRAPH, whole);
  if (!n) return ST_NO_MEMORY;
  st__ref_init(&n->refs);
  n->kind = kind;
  n->size = whole;
  n->ninputs = ninputs;
  n->nresults = nresults;
  n->edges = (st_edge *)(void *)((char *)n + head);
  n->inputs = (st_input_metadata *)(void *)(n->edges + nedges);
  n->results = n->inputs + nedges;
  st__node_number(n);
  const st_status status = st__anomaly && st__anomaly->where ? set_where(n)
                                                             : ST_OK;
  if (status == ST_OK) {
    *out = n;
    return ST_OK;
  }
  st__free(ST_MEM_GRAPH, n, whole); /* kind->free must not see it */
  return status;
}

/* -- Release -------------------------------------------------------------- */

void st_node_retain(st_node *n) { st__ref_take(&n->refs); }

void st__node_release_saved(st_node *n) {
  if (n->kind->release) n->kind->release(n);
  n->is_released = n->has_saved;
}

static void destroy(st_node *n) {
  if (n->kind->release) n->kind->release(n);
  if (n->kind->free) n->kind->free(n);
  for (int i = 0; i < n->ninputs; i++) st__node_release(&n->edges[i].node);
  for (int i = 0; i < n->ninputs + n->nresults; i++) {
    metadata_free(&n->inputs[i]);
  }
  st__hooks_free(&n->hooks);
  if (n->where) st__free(ST_MEM_GRAPH, n->where, strlen(n->where) + 1);
  st__free(ST_MEM_GRAPH, n, n->size);
}

void st__node_release(st_node **np) {
  static _Thread_local st_node *deferred;
  static _Thread_local bool is_releasing;
  st_node *n = *np;
  *np = NULL;
  if (!n || !st__ref_drop(&n->refs)) return;
  n->next = deferred;
  deferred = n;
  if (is_releasing) return;
  is_releasing = true;
  while ((n = deferred)) {
    deferred = n->next;
    destroy(n);
  }
  is_releasing = false;
}
