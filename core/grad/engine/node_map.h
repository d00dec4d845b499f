/* Hash tables from nodes to numbers.
 */
#ifndef ST_GRAD_ENGINE_NODE_MAP_H
#define ST_GRAD_ENGINE_NODE_MAP_H

#include "grad/graph/node.h"

typedef struct st_map_entry {
  const st_node *node;
  int64_t value;
} st_map_entry;

typedef struct st_map {
  size_t n, capacity; /* a power of two, or 0 */
  st_map_entry *entries;
} st_map; /* starts zeroed */

st_map_entry *st__map_find(const st_map *t, const st_node *n); /* or NULL */
/* The entry of n, new with this value if there was none; valid until the next
 * call. */
st_status st__map_put(st_map *t, const st_node *n, int64_t value,
                      st_map_entry **out);
/* n is in it. */
void st__map_take(st_map *t, const st_node *n);
void st__map_free(st_map *t);

#endif
