/* How many gradients the AccumulateGrad nodes of a pass still wait for.
 */
#ifndef ST_GRAD_ENGINE_AWAITED_H
#define ST_GRAD_ENGINE_AWAITED_H

#include "grad/engine/node_map.h"

/* Counts, for each AccumulateGrad node that the roots lead to, the edges to it,
 * roots included. Other nodes are in the table, too, with the value 0. */
st_status st__await(st_node_map *t, int n, const st_edge *roots);
/* Takes one edge to n off; true if none is left. False for other nodes, and if
 * nothing was counted. */
bool st__has_arrived(const st_node_map *t, const st_node *n);
/* True if n waits for more edges. */
bool st__is_awaited(const st_node_map *t, const st_node *n);

#endif
