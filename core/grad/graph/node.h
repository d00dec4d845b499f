/* Nodes: operations that were recorded, and how they hang together.
 *
 * Note [Graphs are acyclic]
 * A node owns the nodes that its inputs came from, and nothing in it leads to
 * a node that is newer than itself: what it saves are headers of its own over
 * the tensors' storages, without a history, beside the node that they came
 * from at that time. So whatever becomes of a tensor later, a graph has no
 * cycles and counting references frees it. Sequence numbers grow along it:
 * a node's is higher than those of all it leads to, which is why the engine
 * can run nodes by number alone.
 *
 * Note [Deferred release]
 * The last reference to a node may be the only thing that keeps a chain of a
 * million others. What is to be freed goes to a list of the thread, and
 * whoever finds that list idle empties it.
 */
#ifndef ST_GRAD_GRAPH_NODE_H
#define ST_GRAD_GRAPH_NODE_H

#include "base/memory.h"
#include "tensor/tensor.h"

/* What a gradient must look like. */
typedef struct st_input_metadata {
  uint8_t dtype, device, ndim;
  int64_t *sizes;           /* into dims, or into the heap */
  int64_t dims[ST_INLINE_DIMS];
} st_input_metadata;

typedef struct st_edge {
  st_node *node;            /* owned; NULL: no gradient is of use */
  int nr;                   /* which of its results */
} st_edge;

typedef struct st_hook {
  struct st_hook *next;
  uint64_t id;
  enum { ST_HOOK_RESULT, ST_HOOK_BEFORE, ST_HOOK_AFTER, ST_HOOK_POST } when;
  int nr;                   /* of a result */
  int running;              /* it is being called so often */
  bool is_removed;          /* but was called at the time */
  union { st_tensor_hook tensor; st_node_hook node; } u;
} st_hook;

/* What nodes of one kind do. grads: one per result, NULL where there is none;
 * out: one per input, all NULL, to be filled with owned tensors. */
typedef struct st_node_kind {
  st_status (*run)(st_node *n, st_tensor *const *grads, const bool *wanted,
                   st_tensor **out);
  void (*release)(st_node *n); /* of what was saved; may be called again */
  void (*free)(st_node *n);    /* of what its kind adds; NULL: nothing */
} st_node_kind;

struct st_node {
  st_refcount refs;
  int ninputs, nresults;
  uint64_t sequence;
  const st_node_kind *kind;
  const char *name;         /* owned by whoever is sure to live longer */
  size_t size;              /* of the block */
  st_edge *edges;           /* ninputs, and metas as many */
  st_input_metadata *inputs, *results;
  st_hook *hooks;
  char *where;              /* NULL, or owned */
  bool is_released;         /* its saved tensors are gone */
  bool has_saved;           /* so it cannot run without them */
  st_node *next;            /* Note [Deferred release] */
};

/* A node of `size` bytes, the struct of its kind first, edges and metas of
 * inputs empty. */
st_status st__node_new(const st_node_kind *kind, size_t size, int ninputs,
                       int nresults, st_node **out);
/* n is newer than all there are: to be called when its edges are there. */
void st__node_number(st_node *n);
void st__node_retain(st_node *n);
void st__node_release(st_node **n); /* nulls *n; NULL is fine */
/* Gives what it saved back. */
void st__node_release_saved(st_node *n);

st_status st__metadata_init(st_input_metadata *m, const st_tensor *t);
bool st__metadata_matches(const st_input_metadata *m, const st_tensor *t);

/* Puts a hook at the end of a list. id may be NULL. */
st_status st__hook_add(st_hook **list, const st_hook *hook, uint64_t *id);
bool st__hook_remove(st_hook **list, uint64_t id);
/* The hook of a kind that comes after the one with that id, to be called and
 * then ended: so a hook may remove any, itself too, and add others. */
st_hook *st__hook_begin(st_hook *list, int when, uint64_t after);
void st__hook_end(st_hook **list, st_hook *h);
void st__hooks_free(st_hook **list);

/* This thread's, see strided_grad.h. */
extern _Thread_local const st_anomaly *st__anomaly;

#endif
