/* Casts of parameters, kept until the outermost autocast region ends.
 *
 * Note [Cached casts]
 * A parameter is often used several times in a forward pass. Its cast to lower
 * precision is kept, by thread, in a table keyed by the parameter. A kept cast
 * serves again if the parameter was not written since, the dtype is the same,
 * and, where gradients are recorded, it has a history: one that was made within
 * no_grad or in inference mode has none.
 */

#include "grad/autocast/autocast.h"

#include "op/row/op.h"

typedef struct entry {
  st_tensor *source, *cast; /* owned; source NULL: empty */
  uint32_t version;         /* of source, when it was cast */
} entry;

typedef struct cast_cache {
  size_t n, capacity; /* capacity: a power of two, or 0 */
  entry *entries;
} cast_cache;

static _Thread_local cast_cache cache;

/* -- The table ------------------------------------------------------------ */

/* Open addressing, linear probing; nothing is removed. */
static entry *slot_of(const cast_cache *k, const st_tensor *t) {
  size_t i = ((uintptr_t)t >> 6) * 0x9e3779b97f4a7c15u >> 20;
  for (;; i++) {
    entry *e = &k->entries[i & (k->capacity - 1)];
    if (!e->source || e->source == t) return e;
  }
}

static void free_entries(cast_cache *k) {
  if (!k->entries) return;
  st__free(ST_MEM_GRAPH, k->entries, k->capacity * sizeof *k->entries);
}

static st_status grow(cast_cache *k) {
  cast_cache more = {k->n, k->capacity ? 2 * k->capacity : 64, NULL};
  more.entries = st__alloc_zero(ST_MEM_GRAPH,
                                more.capacity * sizeof *more.entries);
  if (!more.entries) return ST_NO_MEMORY;
  for (size_t i = 0; i < k->capacity; i++) {
    const st_tensor *t = k->entries[i].source;
    if (t) *slot_of(&more, t) = k->entries[i];
  }
  free_entries(k);
  *k = more;
  return ST_OK;
}

/* The table is empty before the first release, which may free hooks. */
void st_autocast_clear(void) {
  cast_cache old = cache;
  cache = (cast_cache){.n = 0};
  for (size_t i = 0; i < old.capacity; i++) {
    st__tensor_release(&old.entries[i].cast);
    st__tensor_release(&old.entries[i].source);
  }
  free_entries(&old);
}

/* -- Casts ---------------------------------------------------------------- */

bool st__is_cached_cast(const st_tensor *t) {
  const st_history *h = t->history;
  return t->dtype == ST_FLOAT32 && h && h->requires_grad && !h->grad_fn &&
         !st__base(t);
}

static bool serves(const entry *e, st_dtype to) {
  const st_tls now = st__tls();
  if (e->cast->dtype != to || e->version != st__version(e->source)) {
    return false;
  }
  return !now.grad || now.inference || e->cast->keys & ST_AUTOGRAD_BITS;
}

static st_status cast(const st_tensor *t, st_dtype to, st_tensor **out) {
  return st__invoke1(ST_OP_to_dtype, ST_VALUES(t, to), out);
}

static st_status replace(const st_tensor *t, st_tensor *made) {
  if (2 * cache.n >= cache.capacity) ST_TRY(grow(&cache));
  entry *const e = slot_of(&cache, t);
  const entry old = *e;
  *e = (entry){(st_tensor *)(uintptr_t)t, made, st__version(t)};
  st__tensor_retain(made);
  if (old.source) {
    st_tensor *last = old.cast;
    st__tensor_release(&last);
  } else {
    st__tensor_retain(e->source);
    cache.n++;
  }
  return ST_OK;
}

st_status st__cached_cast(const st_tensor *t, st_dtype to, st_tensor **out) {
  const entry *e = cache.capacity ? slot_of(&cache, t) : NULL;
  st_tensor *made = NULL;
  if (e && e->source && serves(e, to)) {
    st__tensor_retain(*out = e->cast);
    return ST_OK;
  }
  ST_TRY(cast(t, to, &made));
  const st_status status = replace(t, made);
  if (status != ST_OK) st__tensor_release(&made);
  *out = made;
  return status;
}
