/* Custom reductions: operators made from three graphs (lib:reduction). map is
 * applied to each element, combine to two accumulators, final to the last one.
 *
 * Stage reduce of Note [Stages of fusion]. In: three graphs from
 * fuse/trace/proxy_tracer.c, and a schema. Out: a registered operator and its
 * derivative (reduction_grad.c). A call compiles the graphs to programs
 * (fuse/schedule/compiled_graph.h), which reduction_loop.h runs.
 */
#ifndef ST_FUSE_REDUCE_REDUCTION_OP_H
#define ST_FUSE_REDUCE_REDUCTION_OP_H

#include "fuse/schedule/compiled_graph.h"
#include "fuse/reduce/reduction_loop.h"
#include "op/row/op.h"
#include "abi/strided_fuse.h"

/* The definition of a custom reduction. */
typedef struct st_reducer {
  st_refcount refs;
  st_schema *schema;           /* owned; with dim and keepdim */
  st_compiled_graph *map, *combine, *final; /* owned */
  int naccs;
  bool is_commutative;         /* combine consists of commutative operators */
  st_op_id builtin[ST_TREE_ACCS]; /* that operator, of each accumulator */
  bool has_init;
  st_scalar init[ST_TREE_ACCS];
} st_reducer;

/* The arguments of a call. */
typedef struct st_reducer_call {
  st_tensor *inputs[ST_GRAPH_INPUTS];  /* borrowed */
  st_scalar params[ST_GRAPH_SCALARS];  /* the number of elements of a result,
                                          then the schema's scalars */
  int ndim;                            /* of the inputs' broadcast shape */
  int64_t sizes[ST_MAX_DIMS];          /* the broadcast shape */
  uint64_t dims;                       /* reduced dimensions, as bits */
  bool keepdim;
} st_reducer_call;

/* Reads and checks the arguments of r's schema. BAD_SHAPE if a reduced
 * dimension is empty and there is no init. */
st_status st__reducer_call(const st_reducer *r, const st_value *args,
                           st_reducer_call *c);
/* The programs of a call, which the caller releases. outs: dtypes of the
 * results, or NONE. */
typedef struct st_reducer_programs {
  st_program *map, *combine, *final;
} st_reducer_programs;
st_status st__reducer_programs(const st_reducer *r, const st_reducer_call *c,
                               const uint8_t *outs, st_reducer_programs *p);
void st__reducer_release_programs(st_reducer_programs *p);

/* The derivative (reduction_grad.c); ctx is the reducer. */
st_status st__reducer_backward(void *ctx, const st_op *op,
                               const st_value *args, const st_value *rets,
                               st_tensor *const *grads, const bool *wanted,
                               st_tensor **inputs);

#endif
