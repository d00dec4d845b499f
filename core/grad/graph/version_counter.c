/* Version counters, which in-place operators increment: a node whose saved
 * tensor was written since raises an error (A3). The counter is the storage's,
 * which its views share, or an alias's own (A2).
 */

#include "grad/graph/history.h"

#include "tensor/view.h"

static _Atomic uint32_t *counter_of(const st_tensor *t) {
  const st_history *h = t->history;
  return h && h->version_counter
         ? &h->version_counter->version : &t->storage->version;
}

uint32_t st__version(const st_tensor *t) {
  return atomic_load_explicit(counter_of(t), memory_order_relaxed);
}

/* Concurrent writes may increment the version only once; it changes all the
 * same. */
void st__bump_version(const st_tensor *t) {
  _Atomic uint32_t *const v = counter_of(t);
  const uint32_t now = atomic_load_explicit(v, memory_order_relaxed);
  atomic_store_explicit(v, now + 1, memory_order_relaxed);
}

st_status st__share_version(const st_tensor *from, st_tensor *to) {
  st_version_counter *const c = from->history
                                ? from->history->version_counter : NULL;
  st_history *h;
  if (!c) return ST_OK;
  ST_TRY(st__history_of(to, &h));
  st__version_counter_drop(&h->version_counter);
  st__ref_take(&c->refs);
  h->version_counter = c;
  return ST_OK;
}

st_status st_tensor_untracked(const st_tensor *t, st_tensor **out) {
  st_tensor *view;
  st_history *h;
  ST_TRY(st__view_alias(t, &view));
  st_version_counter *c = st__alloc_zero(ST_MEM_GRAPH, sizeof *c);
  const st_status status = c ? st__history_of(view, &h) : ST_NO_MEMORY;
  if (status != ST_OK) {
    if (c) st__free(ST_MEM_GRAPH, c, sizeof *c);
    st__tensor_release(&view);
    return status;
  }
  st__ref_init(&c->refs);
  h->version_counter = c;
  *out = view;
  return ST_OK;
}
