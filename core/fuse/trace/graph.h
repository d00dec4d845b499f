/* Graphs: operator calls on symbolic tensors, in order.
 *
 * Note [Stages of fusion]
 *
 *   trace      A function is called once, and its calls become a graph (this
 *              file). tracer.h intercepts them; the function is called with
 *              proxies (proxy_tracer.c), or with fake tensors (recorder.h):
 *              then the graph is part of a recording.
 *   ir         lower_graph.h: a graph becomes IR for given dtypes (ir.h);
 *              lower_to_program.c: the IR becomes a program (program.h),
 *              which interpreter.c runs block by block.
 *   jit        jit_compile.h: regions of a program become machine code, by way
 *              of kernel_lowering.h, vector_ir.h and codegen.h.
 *   schedule   fusion_group.h: the pointwise calls of a recording become
 *              fusion groups, each of them a graph, and so a program
 *              (compiled_graph.h); schedule.h: groups and other calls become
 *              the steps that run; compile_cache.h keeps schedules.
 *              elementwise_op.h: a traced graph becomes an operator.
 *   reduce     reduction_op.h: three traced graphs (map, combine, final)
 *              become a reduction; their programs run in reduction_loop.h
 *              and reduction_tree.h.
 *
 *   st.fuse:          recording -> fusion groups -> graphs -> IR -> programs
 *                     (-> machine code) -> schedule
 *   lib:elementwise:  graph -> IR -> program (-> machine code) -> operator
 *   lib:reduction:    3 graphs -> 3 programs -> operator
 *
 * Note [Graphs are symbolic]
 * The nodes of a graph are operator calls, in order. Its tensors are indices:
 * no dtype, no shape and no elements. A graph that was traced with proxies, and
 * with symbolic scalars in place of numbers, is valid for all of them. Running
 * the nodes once on the meta device gives what a graph computes for certain
 * dtypes (fuse/ir/lower_graph.h). The graph of a recording is valid for the
 * tensors it was traced with, which the recording describes (recorder.h).
 */
#ifndef ST_FUSE_TRACE_GRAPH_H
#define ST_FUSE_TRACE_GRAPH_H

#include "base/refcount.h"
#include "dispatch/schema/arena.h"
#include "dispatch/dispatch.h"
#include "abi/strided_fuse.h"

enum {
  /* of a graph that becomes a program: */
  ST_GRAPH_INPUTS = 12,    /* tensor inputs */
  ST_GRAPH_SCALARS = 16,   /* scalar inputs */
  ST_GRAPH_OUTPUTS = ST_MAX_OUTS,
  /* of any graph: */
  ST_GRAPH_NODES = 1024,
  ST_RECORD_OUTPUTS = 16
};

/* A symbolic scalar. op is '+', '-', '*', '/', '^' or '%' of the scalars a and
 * b, 'n' for the negative of a, 'c' for the constant value, 'z' for the
 * constant value -0.0 that is the integer 0 beside integers, and 0 for a scalar
 * input. */
typedef struct st_sym_scalar {
  char op;
  int a, b;
  st_scalar value;
} st_sym_scalar;

/* The kind of a node's argument. */
typedef enum st_node_arg_kind {
  ST_NODE_ARG_VALUE,   /* a constant value */
  ST_NODE_ARG_TENSOR,  /* a tensor of the graph */
  ST_NODE_ARG_TENSORS, /* a list of tensors of the graph */
  ST_NODE_ARG_SCALAR   /* a scalar of the graph */
} st_node_arg_kind;

typedef struct st_node_arg {
  st_node_arg_kind kind;
  int at;           /* TENSOR, SCALAR: its index */
  int n;
  int *list;        /* TENSORS: n indices; -1 for None */
  st_value value;
} st_node_arg;

/* One call. Its results are the tensors result, result + 1, ... */
typedef struct st_graph_node {
  const st_op *op;
  const st_schema *schema; /* op's schema when it was traced */
  const char *where;       /* "file:line", or "" */
  const st_node_arg *args;
  int nresults, result;
  int written;             /* the tensor that the call writes in place, or -1 */
  bool is_whole, may_draw; /* Note [Composites recorded whole]; and it may draw
                              random numbers */
} st_graph_node;

/* Replaces what n points to with copies that the arena owns. BAD_VALUE for a
 * generator. */
st_status st__node_copy(st_arena *arena, st_graph_node *n);
/* The arguments of the call, except scalars: the graph's tensors are in
 * `tensors`, and lists has room for those in list arguments. */
void st__node_args(const st_graph_node *n, st_tensor *const *tensors,
                   st_tensor **lists, st_value *args);

struct st_graph {
  st_refcount refs;
  const char *name;
  int ninputs, nparams;    /* tensors and scalars from 0 on are the inputs */
  int ntensors, nnumbers;
  int nnodes, noutputs;
  int max_listed;          /* most tensors in the list arguments of a node */
  st_sym_scalar numbers[128];
  st_graph_node *nodes;    /* owned; ST_GRAPH_NODES long */
  int outputs[ST_RECORD_OUTPUTS]; /* indices of tensors */
  st_arena arena;
};

st_status st__graph_new(const char *name, int ninputs, int nparams,
                        st_graph **out);
void st__graph_retain(st_graph *g);

/* Appends a scalar; *at becomes its index. BAD_STATE when there are too
 * many. */
st_status st__graph_scalar(st_graph *g, st_sym_scalar n, int *at);
/* Appends the element of t as a constant, to which r is set. */
st_status st__graph_constant(st_graph *g, const st_tensor *t, st_node_arg *r);
/* Appends a copy of a call, whose results get the indices from *result on.
 * BAD_STATE when there are too many nodes. */
st_status st__graph_add_node(st_graph *g, const st_graph_node *call,
                             int *result);

/* Called for each node of a run: before the node runs, with results NULL, and
 * afterwards with its result tensors. A failure ends the run. */
typedef st_status (*st_graph_fn)(void *ctx, const st_graph_node *n,
                                 st_tensor *const *results);
/* Calls the nodes in order, through the dispatcher. The caller owns outs; some
 * may be set on failure, too. fn may be NULL. */
st_status st__graph_run(const st_graph *g, st_tensor *const *inputs,
                        const st_scalar *params, st_tensor **outs,
                        st_graph_fn fn, void *ctx);

#endif
