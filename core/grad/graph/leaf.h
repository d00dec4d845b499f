/* The pointers between a leaf and its AccumulateGrad node.
 *
 * Note [AccumulateGrad nodes]
 * A leaf has at most one AccumulateGrad node. Neither owns the other: the node
 * lives while a graph leads to it, the leaf while it has references of its
 * own. So a leaf whose gradient has a history, or that was written with a
 * value computed from it, forms no cycle. The gradient of a freed leaf is
 * discarded. Hooks of a leaf must run even so: the node of a leaf with hooks
 * owns the leaf. Threads may begin graphs at the same leaf, and release it, at
 * the same time: a mutex protects the pointers between the two.
 */
#ifndef ST_GRAD_GRAPH_LEAF_H
#define ST_GRAD_GRAPH_LEAF_H

#include "grad/graph/history.h"

/* An AccumulateGrad node. */
typedef struct st_leaf_node {
  st_node node;
  st_tensor *leaf; /* NULL once it is freed */
  bool owns_leaf;
} st_leaf_node;

/* Returns t's node, retained. If t, which has a history, has none, makes n its
 * node, which may be NULL, and returns it. */
st_node *st__leaf_link(st_tensor *t, st_node *n);
/* The free function of such nodes. */
void st__leaf_unlink(st_node *n);
/* The leaf of such a node, retained; NULL when it is freed. */
st_tensor *st__leaf_take(const st_node *n);
/* Makes t's AccumulateGrad node, if there is one, own t. */
void st__leaf_keep(st_tensor *t);
/* Clears the node's pointer to a leaf that is about to be freed. */
void st__leaf_freed(st_history *h);

#endif
