/* Tracers: a mode of the thread that writes operator calls down as the nodes
 * of a graph.
 *
 * Stage trace of Note [Stages of fusion]. This file is what the two tracers
 * have in common: proxy_tracer.c makes a graph for any arguments, recorder.h
 * one for certain arguments.
 *
 * Note [Tracing]
 * A function is called once, with a stand-in for each of its tensors, while a
 * mode of the thread intercepts every operator call. A call that is traced
 * becomes a node of the graph: its arguments are copied, and the tensors among
 * them are replaced by indices, for which they are looked up in the bindings.
 * What a stand-in is, and how the results of a call are made, differs:
 *
 *   proxy_tracer  A proxy has no dtype, no sizes and no elements. A call with a
 *                 proxy does not run; its results are new proxies. Other calls
 *                 run as usual.
 *   recorder      A fake tensor has a dtype, sizes and strides. A call runs on
 *                 fake tensors, which gives its results.
 */
#ifndef ST_FUSE_TRACE_TRACER_H
#define ST_FUSE_TRACE_TRACER_H

#include "fuse/trace/graph.h"

enum {
  ST_TRACER_BINDINGS = 4096,
  ST_TRACER_LISTED = 256,   /* tensors in the list arguments of a call */
  ST_UNBOUND = -1
};

typedef struct st_tracer st_tracer;

/* What differs between tracers when they take the arguments of a call. */
typedef struct st_tracer_kind {
  /* Sets r, an argument or an element of a list, to the index of tensor t. */
  st_status (*take_tensor)(st_tracer *tracer, const st_arg *arg, st_tensor *t,
                           st_node_arg *r);
  /* Accepts or changes an argument without tensors. */
  st_status (*take_value)(st_tracer *tracer, const st_arg *arg,
                          st_node_arg *r);
  /* The failure for more than ST_TRACER_LISTED tensors in lists. */
  st_status (*fail_listed)(st_tracer *tracer, const st_arg *arg);
} st_tracer_kind;

/* The tensor has an index in the graph, or a number that take_tensor
 * understands. */
typedef struct st_binding { st_tensor *tensor; int at; } st_binding;

struct st_tracer {
  const st_tracer_kind *kind;
  st_mode mode;
  st_tls tls;               /* the thread's state before the trace */
  st_graph *graph;          /* owned */
  void (*where)(void *ctx, char *text, size_t size);
  void *ctx;
  int nbindings;
  st_binding bindings[ST_TRACER_BINDINGS]; /* tensors owned */
};

/* A call to write down. */
typedef struct st_traced_call {
  st_node_arg args[ST_MAX_ARGS];
  int nlisted;
  int listed[ST_TRACER_LISTED];  /* the indices of list arguments */
} st_traced_call;

/* True for a 0-d tensor that the binding has made from a plain number. */
static inline bool st__is_wrapped_number(const st_tensor *t) {
  return (t->flags & ST_FLAG_WRAPPED) && t->ndim == 0 && st__data(t);
}

/* Sets all but the mode; NO_MEMORY. */
st_status st__tracer_init(st_tracer *t, const st_tracer_kind *kind,
                          const st_tracing_config *c);
void st__tracer_free(st_tracer *t);
/* Intercepts the calls of this thread with fn, whose ctx is t, in grad mode or
 * not, with the Autograd keys and ADInplaceOrView excluded. */
void st__tracer_enter(st_tracer *t, st_kernel_fn fn, bool grad);
/* Ends that, and restores the thread's state. */
void st__tracer_leave(const st_tracer *t);

/* What s was bound to last, or ST_UNBOUND. */
int st__tracer_find(const st_tracer *t, const st_tensor *s);
bool st__tracer_is_full(const st_tracer *t, int nmore);
/* Binds s, which is retained, from now on. There must be room. */
void st__tracer_bind(st_tracer *t, st_tensor *s, int at);

/* The arguments of a call as those of a node. */
st_status st__tracer_take_args(st_tracer *t, const st_schema *s,
                               const st_value *args, st_traced_call *w);
/* Appends the call of op with w's arguments as a node of s; its results have
 * the indices from *result on. */
st_status st__tracer_add(st_tracer *t, const st_traced_call *w,
                         const st_op *op, const st_schema *s, int nresults,
                         int *result);

#endif
