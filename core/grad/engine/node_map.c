/* Hash tables from nodes to integers: open addressing, linear probing.
 */

#include "grad/engine/node_map.h"

static size_t slot_of(const st_node_map *t, const st_node *n) {
  size_t i = ((uintptr_t)n >> 6) * 0x9e3779b97f4a7c15u >> 20;
  while (t->entries[i & (t->capacity - 1)].node &&
         t->entries[i & (t->capacity - 1)].node != n) {
    i++;
  }
  return i & (t->capacity - 1);
}

st_node_map_entry *st__node_map_find(const st_node_map *t, const st_node *n) {
  if (!t->capacity) return NULL;
  st_node_map_entry *const e = &t->entries[slot_of(t, n)];
  return e->node ? e : NULL;
}

static st_status grow(st_node_map *t) {
  st_node_map more = {.capacity = t->capacity ? 2 * t->capacity : 64};
  more.entries = st__alloc_zero(ST_MEM_SCRATCH,
                                more.capacity * sizeof(st_node_map_entry));
  if (!more.entries) return ST_NO_MEMORY;
  for (size_t i = 0; i < t->capacity; i++) {
    const st_node_map_entry *e = &t->entries[i];
    if (!e->node) continue;
    more.entries[slot_of(&more, e->node)] = *e;
    more.n++;
  }
  if (t->entries) {
    st__free(ST_MEM_SCRATCH, t->entries,
             t->capacity * sizeof(st_node_map_entry));
  }
  *t = more;
  return ST_OK;
}

/* The entry of n, added with this value if there is none. */
st_status st__node_map_put(st_node_map *t, const st_node *n, int64_t value,
                     st_node_map_entry **out) {
  if (2 * t->n >= t->capacity) ST_TRY(grow(t));
  *out = &t->entries[slot_of(t, n)];
  if ((*out)->node) return ST_OK;
  **out = (st_node_map_entry){n, value};
  t->n++;
  return ST_OK;
}

/* Deletion by backward shift: reinserts the entries that follow n's. */
void st__node_map_remove(st_node_map *t, const st_node *n) {
  const size_t mask = t->capacity - 1;
  size_t i = slot_of(t, n);
  t->entries[i].node = NULL;
  t->n--;
  for (size_t k = (i + 1) & mask; t->entries[k].node; k = (k + 1) & mask) {
    const st_node_map_entry moved = t->entries[k];
    t->entries[k].node = NULL;
    t->entries[slot_of(t, moved.node)] = moved;
  }
}

void st__node_map_free(st_node_map *t) {
  if (t->entries) {
    st__free(ST_MEM_SCRATCH, t->entries,
             t->capacity * sizeof(st_node_map_entry));
  }
}
