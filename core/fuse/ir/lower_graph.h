/* Graph lowering: from a graph to a program for given dtypes.
 *
 * Stage ir of Note [Stages of fusion]. In: a graph (fuse/trace/graph.h), and
 * the dtypes of its inputs. Out: a program (program.h), by way of the IR
 * (ir.h).
 *
 * Note [Fake tensors of a graph]
 * The nodes of a graph are called once on fake tensors: tensors on the meta
 * device with the dtypes of the arguments, of two dimensions where the argument
 * has any and of none otherwise, so that type promotion takes its course. Each
 * captured loop (Note [Captured loops]) becomes an instruction. A storage
 * stands for one value: a tensor is the value that was last written to its
 * storage, and must have the geometry it was written with, or repeat a single
 * element. A result that no elementwise loop writes cannot be fused:
 * ST_BAD_STATE names the operator and where it is called.
 */
#ifndef ST_FUSE_IR_LOWER_GRAPH_H
#define ST_FUSE_IR_LOWER_GRAPH_H

#include "fuse/ir/ir.h"
#include "fuse/trace/graph.h"

/* The properties of a tensor argument on which type promotion depends. dtype
 * ST_DTYPE_NONE: there is no tensor. */
typedef struct st_arg_spec {
  uint8_t dtype;
  bool is_0dim;
  bool is_wrapped; /* 0-dim, made of a plain number */
} st_arg_spec;

static inline st_arg_spec st__arg_spec_of(const st_tensor *t) {
  return (st_arg_spec){t->dtype, t->ndim == 0,
                       (t->flags & ST_FLAG_WRAPPED) != 0};
}

/* The program that computes the graph's outputs; the caller owns it. params:
 * the scalar inputs. out_dtypes: dtypes to cast the outputs to (NONE: no cast),
 * or NULL. */
st_status st__lower_graph(const st_graph *g, const st_arg_spec *inputs,
                          const st_scalar *params,
                          const uint8_t *out_dtypes, st_program **out);
/* Whether that succeeds for float32 and scalars of 1. It makes the program,
 * since a graph may exceed the limits of programs. */
st_status st__lower_for_float32(const st_graph *g);
/* Whether a graph without scalar inputs can be lowered, and whether its program
 * checks elements; makes no program. */
st_status st__is_pointwise(const st_graph *g, const st_arg_spec *inputs,
                           bool *out, bool *checks);

/* Expands each output to the sizes of its gradient (NULL: unchanged). An output
 * is smaller if the graph does not use its largest input. */
st_status st__expand_to_grads(int n, st_tensor **outs,
                              st_tensor *const *grads);

/* What the gradients of a graph are computed for. */
typedef struct st_gradient_spec {
  const st_arg_spec *inputs;
  const st_scalar *params;
  const st_arg_spec *grads; /* of the outputs; dtype ST_DTYPE_NONE: none */
  uint32_t wanted;          /* the inputs to differentiate by, as bits */
  uint32_t summed;          /* those whose gradient the caller sums, which keeps
                               the dtype it is computed in */
} st_gradient_spec;

/* The program that computes the gradients of the inputs; the caller owns it.
 * Its inputs are the gradients of the outputs that have one, in order, then the
 * graph's inputs. *given becomes the inputs that have a gradient; the outputs
 * are those gradients, in order. */
st_status st__lower_gradients(const st_graph *g, const st_gradient_spec *spec,
                              uint32_t *given, st_program **out);

#endif
