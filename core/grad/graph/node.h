/* Nodes of the autograd graph: recorded operations, and edges to the nodes of
 * their inputs.
 *
 * Note [Graphs are acyclic]
 * A node owns the nodes that computed its inputs, and nothing in it leads to a
 * newer node: a saved tensor is a new header of the tensor's storage, without
 * a history, and the node that had computed it when it was saved. So a graph
 * has no cycles, whatever happens to its tensors later, and reference counts
 * free it. The sequence number of a node is higher than those of all nodes that
 * it leads to, so the engine can order nodes by number alone.
 *
 * Note [Deferred release]
 * A node may hold the only reference to a chain of a million others. To avoid
 * recursion, a node to be freed is added to a list of the thread, which the
 * outermost release empties.
 */
#ifndef ST_GRAD_GRAPH_NODE_H
#define ST_GRAD_GRAPH_NODE_H

#include "base/memory.h"
#include "tensor/tensor.h"
#include "abi/strided_grad.h"

/* The shape, dtype and device that a gradient must have. */
typedef struct st_input_metadata {
  uint8_t dtype, device, ndim;
  int64_t *sizes;           /* dims, or allocated */
  int64_t dims[ST_INLINE_DIMS];
} st_input_metadata;

typedef struct st_edge {
  st_node *node;            /* owned; NULL: no gradient is needed */
  int nr;                   /* index of its result */
} st_edge;

typedef struct st_hook {
  struct st_hook *next;
  uint64_t id;
  enum { ST_HOOK_RESULT, ST_HOOK_BEFORE, ST_HOOK_AFTER, ST_HOOK_POST } when;
  int nr;                   /* index of the result, for ST_HOOK_RESULT */
  int running;              /* number of calls in progress */
  bool is_removed;          /* removed during a call, freed after it */
  union { st_tensor_hook tensor; st_node_hook node; } u;
} st_hook;

/* The functions of one kind of node. grads: one per result, NULL if undefined.
 * wanted: one per input, true if its gradient is needed. out: one per input,
 * NULL on entry; run stores owned tensors. */
typedef struct st_node_kind {
  st_status (*run)(st_node *n, st_tensor *const *grads, const bool *wanted,
                   st_tensor **out);
  void (*release)(st_node *n); /* frees saved tensors; may be called again */
  void (*free)(st_node *n);    /* frees the fields of the kind; or NULL */
} st_node_kind;

struct st_node {
  st_refcount refs;
  int ninputs, nresults;
  uint64_t sequence;
  const st_node_kind *kind;
  const char *name;         /* borrowed; must outlive the node */
  size_t size;              /* bytes of the block */
  st_edge *edges;           /* ninputs of them */
  st_input_metadata *inputs, *results;
  st_hook *hooks;
  char *where;              /* where it was recorded: owned, or NULL */
  bool is_released;         /* its saved tensors were freed */
  bool has_saved;           /* it saved tensors, without which it cannot run */
  st_node *next;            /* Note [Deferred release] */
};

/* A new node, owned. size: of the struct of its kind, which begins with an
 * st_node. Edges and metadata are zero. */
st_status st__node_new(const st_node_kind *kind, size_t size, int ninputs,
                       int nresults, st_node **out);
/* Gives n the highest sequence number. Call it once the edges are set. */
void st__node_number(st_node *n);
void st__node_release(st_node **n); /* nulls *n; NULL is fine */
/* Frees the tensors that n saved. */
void st__node_release_saved(st_node *n);

st_status st__metadata_init(st_input_metadata *m, const st_tensor *t);
bool st__metadata_matches(const st_input_metadata *m, const st_tensor *t);

/* Appends a copy of the hook to a list. id may be NULL. */
st_status st__hook_add(st_hook **list, const st_hook *hook, uint64_t *id);
bool st__hook_remove(st_hook **list, uint64_t id);
/* The next hook of a kind after the one with id `after`, or NULL. The caller
 * calls it and then st__hook_end, so that a hook may remove hooks, itself
 * included, and add others. */
st_hook *st__hook_begin(st_hook *list, int when, uint64_t after);
void st__hook_end(st_hook **list, st_hook *h);
void st__hooks_free(st_hook **list);
/* True if some leaf of the process has a hook of the kind ST_HOOK_POST. */
bool st__has_post_hooks(void);

/* The anomaly mode of this thread, or NULL; see strided_grad.h. */
extern _Thread_local const st_anomaly *st__anomaly;

#endif
