/* How many gradients the AccumulateGrad nodes of a pass still wait for: one
 * traversal of the graph, without recursion.
 */

#include "grad/engine/awaited.h"

#include "grad/engine/growable.h"
#include "grad/graph/history.h"

/* Nodes whose edges have not been followed yet. */
typedef struct pending {
  const st_node **nodes;
  int64_t n, capacity;
} pending;

static st_status push(pending *p, const st_node *n) {
  ST_TRY(st__reserve((void **)&p->nodes, p->n, &p->capacity,
                     sizeof *p->nodes));
  p->nodes[p->n++] = n;
  return ST_OK;
}

static st_status follow(st_node_map *t, pending *p, const st_node *n) {
  const size_t before = t->n;
  st_node_map_entry *e;
  if (!n) return ST_OK;
  ST_TRY(st__node_map_put(t, n, 0, &e));
  if (st__accumulates(n)) {
    e->value++;
    return ST_OK;
  }
  return t->n > before ? push(p, n) : ST_OK;
}

static st_status follow_all(st_node_map *t, pending *p, int n,
                            const st_edge *roots) {
  for (int i = 0; i < n; i++) ST_TRY(follow(t, p, roots[i].node));
  while (p->n > 0) {
    const st_node *at = p->nodes[--p->n];
    for (int i = 0; i < at->ninputs; i++) {
      ST_TRY(follow(t, p, at->edges[i].node));
    }
  }
  return ST_OK;
}

st_status st__await(st_node_map *t, int n, const st_edge *roots) {
  pending p = {0};
  const st_status status = follow_all(t, &p, n, roots);
  if (p.nodes) {
    st__free(ST_MEM_SCRATCH, p.nodes, (size_t)p.capacity * sizeof *p.nodes);
  }
  return status;
}

bool st__has_arrived(const st_node_map *t, const st_node *n) {
  st_node_map_entry *e = st__node_map_find(t, n);
  return e && e->value > 0 && --e->value == 0;
}

bool st__is_awaited(const st_node_map *t, const st_node *n) {
  const st_node_map_entry *e = st__node_map_find(t, n);
  return e && e->value > 0;
}
