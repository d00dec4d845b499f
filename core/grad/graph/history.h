/* What autograd knows of a tensor: where it came from, its gradient, and what
 * writing it in place means (A1 to A12).
 */
#ifndef ST_GRAD_GRAPH_HISTORY_H
#define ST_GRAD_GRAPH_HISTORY_H

#include "base/dtype.h"
#include "grad/graph/node.h"

/* A gradient that a tensor shows while a node fills it in. */
typedef struct st_retained_grad {
  st_refcount refs;
  st_tensor *grad;
} st_retained_grad;

/* A version counter of its own, for what is to be changed unseen. */
typedef struct st_version_counter {
  st_refcount refs;
  _Atomic uint32_t version;
} st_version_counter;

struct st_history {
  st_node *grad_fn;      /* owned; NULL for a leaf */
  int nr;                /* which of its results */
  bool requires_grad;    /* a leaf: to require a gradient */
  st_node *accumulator;  /* of a leaf; borrowed: Note [AccumulateGrad nodes] */
  bool has_accumulated;  /* there is one, or has been */
  st_tensor *grad;       /* owned */
  st_retained_grad *retained_grad; /* the gradient kept of a non-leaf */
  st_hook *hooks;        /* of a leaf */
  st_version_counter *version_counter; /* instead of the storage's version */
  struct st_history *next; /* that is dead as well */
};

/* t's history, made if it has none. */
st_status st__history_of(st_tensor *t, st_history **out);
/* Installs what frees histories; once. */
void st__history_set_up(void);

/* -- Versions ------------------------------------------------------------- */

uint32_t st__version(const st_tensor *t);
void st__bump_version(const st_tensor *t);
/* to counts as from does. */
st_status st__share_version(const st_tensor *from, st_tensor *to);

/* -- Asking --------------------------------------------------------------- */

static inline bool st__is_differentiable(const st_tensor *t) {
  return st__is_floating((st_dtype)t->dtype) ||
         st__is_complex((st_dtype)t->dtype);
}
/* Also of a view whose base began to. */
bool st__requires_grad(const st_tensor *t);
/* Where t's gradient goes, borrowed: node NULL for a leaf. Makes the node of a
 * view anew when its elements were written since (A5); that may fail. */
st_status st__grad_fn(st_tensor *t, st_edge *out);
/* The same with the node that accumulates for a leaf, and owned; NULL when t
 * requires no gradient, or only as a view that was made within no_grad. */
st_status st__gradient_edge(st_tensor *t, st_edge *out);
st_status st__accumulator(st_tensor *t, st_node **out); /* owned */
bool st__accumulates(const st_node *n);
/* The leaf of a node that accumulates, borrowed or owned; NULL for other nodes
 * and when it is gone. */
st_tensor *st__leaf_of(const st_node *n);
st_tensor *st__leaf_retain(const st_node *n);
/* t's node, if there is one, keeps it. */
void st__leaf_keep(st_tensor *t);
/* The tensor is about to go. */
void st__leaf_freed(st_history *h);
st_tensor *st__grad_of(const st_tensor *t);

/* -- Telling -------------------------------------------------------------- */

/* t is result nr of node from now on. */
st_status st__set_grad_fn(st_tensor *t, st_node *node, int nr);
/* May t be written in place while gradients are recorded (A4, A6)? */
st_status st__check_inplace(st_tensor *t);
/* The same after t was written in place by node, whose first input t was: the
 * history of a view is its base's (A5). */
st_status st__rebase(st_tensor *t, st_node *node, int nr);
/* Leaves t without a history. */
st_status st__detach(st_tensor *t);
st_status st__set_requires_grad(st_tensor *t, bool requires_grad);
st_status st__set_grad(st_tensor *t, st_tensor *grad);
st_status st__retain_grad(st_tensor *t);
st_status st__alias_unversioned(const st_tensor *t, st_tensor **out);
/* Adds to the leaf's gradient: what is nobody else's is taken as it is. */
st_status st__accumulate(st_tensor *leaf, st_tensor *grad, bool create_graph);

st_status st__tensor_hook(st_tensor *t, const st_tensor_hook *hook,
                          bool is_post, uint64_t *id);
bool st__tensor_unhook(st_tensor *t, uint64_t id);

#endif
