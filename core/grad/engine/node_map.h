/* Hash tables from nodes to numbers.
 */
#ifndef ST_GRAD_ENGINE_NODE_MAP_H
#define ST_GRAD_ENGINE_NODE_MAP_H

#include "grad/graph/node.h"

typedef struct st_node_map_entry {
  const st_node *node;
  int64_t value;
} st_node_map_entry;

typedef struct st_node_map {
  size_t n, capacity; /* a power of two, or 0 */
  st_node_map_entry *entries;
} st_node_map; /* starts zeroed */

/* The entry of n, or NULL. */
st_node_map_entry *st__node_map_find(const st_node_map *t, const st_node *n);
/* The entry of n, new with this value if there was none; valid until the next
 * call. */
st_status st__node_map_put(st_node_map *t, const st_node *n, int64_t value,
                           st_node_map_entry **out);
/* n is in it. */
void st__node_map_remove(st_node_map *t, const st_node *n);
void st__node_map_free(st_node_map *t);

#endif
