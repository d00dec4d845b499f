/* The autograd metadata of a tensor: the node that computed it, its gradient
 * and its version counter (A1 to A12).
 */
#ifndef ST_GRAD_GRAPH_HISTORY_H
#define ST_GRAD_GRAPH_HISTORY_H

#include "base/dtype.h"
#include "grad/graph/node.h"
#include "abi/strided_grad.h"

/* The retained gradient of a non-leaf, shared by its history and by the hook
 * that stores it. */
typedef struct st_retained_grad {
  st_refcount refs;
  st_tensor *grad;
} st_retained_grad;

/* A version counter other than the storage's, for an alias whose writes do not
 * count as writes of the tensor. */
typedef struct st_version_counter {
  st_refcount refs;
  _Atomic uint32_t version;
} st_version_counter;

struct st_history {
  st_node *grad_fn;      /* owned; NULL for a leaf */
  int nr;                /* the tensor is this result of grad_fn */
  bool requires_grad;    /* of a leaf */
  st_node *accumulator;  /* of a leaf; borrowed: Note [AccumulateGrad nodes] */
  bool has_accumulated;  /* accumulator is or was set */
  st_tensor *grad;       /* owned */
  st_retained_grad *retained_grad; /* of a non-leaf */
  st_hook *hooks;        /* of a leaf */
  st_version_counter *version_counter; /* instead of the storage's version */
  struct st_history *next; /* next in the list of histories to free */
};

/* t's history, borrowed; creates one if there is none. */
st_status st__history_of(st_tensor *t, st_history **out);
/* Releases an st_retained_grad; may be NULL. */
void st__retained_grad_drop(void *ctx);
/* Installs the function that frees histories. Called once. */
void st__history_set_up(void);

/* -- Versions ------------------------------------------------------------- */

uint32_t st__version(const st_tensor *t);
/* Releases a counter that is not the storage's, if there is one. */
void st__version_counter_drop(st_version_counter **c);
void st__bump_version(const st_tensor *t);
/* Makes `to` share the version counter of `from`, if that has its own. */
st_status st__share_version(const st_tensor *from, st_tensor *to);

/* -- Queries -------------------------------------------------------------- */

static inline bool st__is_differentiable(const st_tensor *t) {
  return st__is_inexact(t->dtype);
}
/* True also for a view whose base began to require a gradient later. */
static inline bool st__requires_grad(const st_tensor *t) {
  if (t->keys & ST_AUTOGRAD_BITS) return true;
  const st_tensor *base = st__base(t);
  return base && (base->keys & ST_AUTOGRAD_BITS) && st__is_differentiable(t);
}
/* The node that computed t, borrowed, NULL for a leaf. For a view written since
 * its node was made this creates a new node (A5), which may fail. */
st_status st__grad_fn(st_tensor *t, st_edge *out);
/* The edge that t's gradient follows, owned: grad_fn, or the AccumulateGrad
 * node of a leaf. NULL if t requires no gradient or is a view that was made
 * within no_grad. */
st_status st__gradient_edge(st_tensor *t, st_edge *out);
/* True if n is an AccumulateGrad node. */
bool st__accumulates(const st_node *n);
/* st_node_leaf, owned. NULL for other nodes and when the leaf is freed. */
st_tensor *st__leaf_retain(const st_node *n);

/* -- Updates -------------------------------------------------------------- */

/* Makes t result nr of node, which it retains. */
st_status st__set_grad_fn(st_tensor *t, st_node *node, int nr);
/* BAD_STATE if t must not be written in place while gradients are recorded
 * (A4, A6). */
st_status st__check_inplace(st_tensor *t);
/* As st__set_grad_fn, for a node that writes its first input t in place. For a
 * view the history of the base changes (A5). What can fail is done before the
 * write: *next becomes the next node of t or of its base, owned. */
st_status st__rebase_prepare(st_tensor *t, st_node *node, int nr,
                             st_node **next);
/* After the write: t, or its base, gets *next, which becomes NULL. A view gets
 * a new node at its next use. */
void st__rebase(st_tensor *t, st_node **next, int nr);

st_status st__tensor_hook(st_tensor *t, const st_tensor_hook *hook,
                          bool is_post, uint64_t *id);

#endif
