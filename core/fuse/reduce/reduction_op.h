/* Reductions that are graphs: what is done with an element, how two values are
 * combined, and what is made of the last one.
 */
#ifndef ST_FUSE_REDUCE_REDUCTION_OP_H
#define ST_FUSE_REDUCE_REDUCTION_OP_H

#include "fuse/schedule/compiled_graph.h"
#include "fuse/reduce/reduction_loop.h"
#include "op/registry/op.h"

/* See strided_fuse.h. */
st_status st__library_reduction(st_library *lib, const st_custom_reduction *f);

/* What the operator is made of. */
typedef struct st_reducer {
  st_refcount refs;
  st_schema *schema;           /* owned; with dim and keepdim */
  st_compiled_graph *map, *combine, *final; /* owned */
  int naccs;
  bool is_commutative;         /* combine knows no order ... */
  st_op_id builtin[ST_TREE_ACCS]; /* ... and consists of these */
  bool has_init;
  st_scalar init[ST_TREE_ACCS];
} st_reducer;

void st__reducer_retain(void *reducer);
void st__reducer_release(void *reducer);

/* A call of it. */
typedef struct st_reducer_call {
  st_tensor *inputs[ST_GRAPH_INPUTS];  /* borrowed */
  st_scalar params[ST_GRAPH_SCALARS];  /* the number of elements, then those
                                          of the schema */
  int ndim;                            /* of what the inputs broadcast to */
  int64_t sizes[ST_MAX_DIMS];
  uint64_t dims;
  bool keepdim;
} st_reducer_call;

/* From arguments of its schema. */
st_status st__reducer_call(const st_reducer *r, const st_value *args,
                           st_reducer_call *c);
/* The programs for it, owned; outs: dtypes of the results, or NONE. */
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
