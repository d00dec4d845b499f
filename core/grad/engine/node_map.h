/* Hash tables from nodes to integers.
 */
#ifndef ST_GRAD_ENGINE_NODE_MAP_H
#define ST_GRAD_ENGINE_NODE_MAP_H

#include "grad/graph/node.h"

typedef struct st_node_map_entry {
  const st_node *node;
  int64_t value;
} st_node_map_entry;

typedef struct st_node_map {
  size_t n, capacity; /* capacity: a power of two, or 0 */
  st_node_map_entry *entries;
} st_node_map; /* all zeros is an empty table */

/* The entry of n, or NULL. */
st_node_map_entry *st__node_map_find(const st_node_map *t, const st_node *n);
/* The entry of n, added with this value if there is none; valid until the next
 * call. */
st_status st__node_map_put(st_node_map *t, const st_node *n, int64_t value,
                           st_node_map_entry **out);
/* Removes n, which must be in the table. */
void st__node_map_remove(st_node_map *t, const st_node *n);
void st__node_map_free(st_node_map *t);

#endif
