/* Graph lowering: what a graph computes for certain dtypes, as code.
 *
 * Note [Fake tensors of a graph]
 * The nodes of a graph are called once with fake tensors of the arguments:
 * tensors on the meta device of the same dtypes, of two dimensions where the
 * arguments have any, so that type promotion goes as it will. Each loop that is
 * captured (Note [Captured loops]) becomes an instruction. Elements follow the
 * storages: a tensor is the value that was last written to its storage, and
 * must have the geometry that it was written with, or repeat a single element.
 * What is not written by an elementwise loop is not fused: ST_BAD_STATE names
 * the operator and where it is called.
 */
#ifndef ST_FUSE_IR_LOWER_GRAPH_H
#define ST_FUSE_IR_LOWER_GRAPH_H

#include "fuse/ir/ir.h"
#include "fuse/trace/graph.h"

/* What dispatch and promotion see of a tensor. dtype ST_DTYPE_NONE: none is
 * given. */
typedef struct st_arg_spec {
  uint8_t dtype;
  bool is_single;  /* of no dimension */
  bool is_wrapped; /* and a plain number */
} st_arg_spec;

static inline st_arg_spec st__arg_spec_of(const st_tensor *t) {
  return (st_arg_spec){t->dtype, t->ndim == 0,
                       (t->flags & ST_FLAG_WRAPPED) != 0};
}

/* Code for the graph's outputs; with outputs, cast to these dtypes (NONE: as
 * they come). params: the numbers of the call. */
st_status st__lower_graph(const st_graph *g, const st_arg_spec *inputs,
                          const st_scalar *params,
                          const uint8_t *out_dtypes, st_program **out);

/* The graph's outputs as the gradients that are given have them: of a graph
 * that does not use its largest input they are smaller. */
st_status st__expand_to_grads(int n, st_tensor **outs,
                              st_tensor *const *grads);

/* Code for the gradients: its inputs are those of the outputs that are given,
 * one after the other, and then the graph's. wanted: bits of the graph's
 * inputs; summed: those whose gradient is added up afterwards, and so is left
 * in the dtype that it is computed in. The outputs are the gradients of those
 * in *given. */
st_status st__lower_gradients(const st_graph *g, const st_arg_spec *inputs,
                              const st_scalar *params,
                              const st_arg_spec *grads, uint32_t wanted,
                              uint32_t summed, uint32_t *given,
                              st_program **out);

#endif
