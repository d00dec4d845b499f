/* Graphs: calls of operators on tensors that are not there yet.
 *
 * Note [Graphs are symbolic]
 * A function of tensors is traced once: it is called with proxies in place of
 * tensors and numbers, and the operators that it calls with them are written
 * down as nodes, in order. Proxies have no dtype, no shape and no elements,
 * so a graph holds for all of them, and whoever asks a proxy is refused. What
 * a graph computes for certain dtypes is found by running its nodes once on
 * the meta device (fuse/ir/lower_graph.h).
 */
#ifndef ST_FUSE_TRACE_GRAPH_H
#define ST_FUSE_TRACE_GRAPH_H

#include "base/refcount.h"
#include "dispatch/schema/arena.h"
#include "dispatch/dispatch.h"

enum {
  ST_GRAPH_INPUTS = 12,   /* tensors */
  ST_GRAPH_OUTPUTS = ST_MAX_OUTS,
  ST_GRAPH_SCALARS = 16,  /* plain numbers that it is called with */
  ST_GRAPH_NODES = 1024
};

/* A number that depends on those of the call: '+', '-', '*', '/', '^', '%',
 * 'n' (negative) of two others; 0 for a number of the call, 'c' a constant. */
typedef struct st_sym_scalar {
  char op;
  int a, b;
  st_scalar value;
} st_sym_scalar;

/* What an argument of a node is. */
typedef enum st_node_arg_kind {
  ST_NODE_ARG_VALUE, /* as it is */
  ST_NODE_ARG_TENSOR, /* a tensor of the graph */
  ST_NODE_ARG_TENSORS, /* a list of them */
  ST_NODE_ARG_SCALAR /* a number of the graph */
} st_node_arg_kind;

typedef struct st_node_arg {
  st_node_arg_kind kind;
  int at;
  int n;
  int *list;        /* -1: none */
  st_value value;
} st_node_arg;

/* What it points to becomes the arena's. BAD_VALUE for a generator. */
st_status st__node_arg_copy(st_arena *arena, st_node_arg *r);

/* One call. Its results are the tensors result, result + 1, ... */
typedef struct st_graph_node {
  const st_op *op;
  const st_schema *schema; /* when it was traced */
  const char *where;       /* "file:line", or "" */
  st_node_arg *args;
  int nresults, result;
  int written;             /* the tensor that it writes in place, or -1 */
} st_graph_node;

struct st_graph {
  st_refcount refs;
  const char *name;
  int ninputs, nparams;    /* tensors 0 .. and numbers 0 .. of a call */
  int ntensors, nnumbers;
  int nnodes, noutputs;
  int max_listed;          /* tensors in lists of one node */
  st_sym_scalar numbers[128];
  st_graph_node *nodes;    /* room for ST_GRAPH_NODES */
  int outputs[ST_GRAPH_OUTPUTS]; /* tensors */
  st_arena arena;
};

st_status st__graph_new(const char *name, int ninputs, int nparams,
                        st_graph **out);
void st__graph_retain(st_graph *g);
void st__graph_release(st_graph **g);

/* Appends a number; *at becomes its index. BAD_STATE when there are too
 * many. */
st_status st__graph_scalar(st_graph *g, st_sym_scalar n, int *at);
/* Appends a call of op; the refs are copied. Tensors among the results get
 * numbers from *result on. */
st_status st__graph_add_node(st_graph *g, const st_op *op, const char *where,
                             const st_node_arg *args, int *result);

/* The numbers of a call, computed: all has room for nnumbers. */
void st__graph_scalars(const st_graph *g, const st_scalar *params,
                       st_scalar *all);
/* Sees a node of a run before it is called (results NULL) and afterwards with
 * its tensors. A failure ends the run. */
typedef st_status (*st_graph_fn)(void *ctx, const st_graph_node *n,
                                 st_tensor *const *results);
/* Calls the nodes in order, through the dispatcher. outs are owned; on failure
 * they may be set, too. fn may be NULL. */
st_status st__graph_run(const st_graph *g, st_tensor *const *inputs,
                        const st_scalar *params, st_tensor **outs,
                        st_graph_fn fn, void *ctx);

#endif
