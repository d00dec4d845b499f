/* Compiled graphs: a graph and the programs that were made from it.
 *
 * Stage schedule of Note [Stages of fusion]. In: a graph (fuse/trace/graph.h).
 * Out: programs of its outputs and of its gradients, one per specialization,
 * made by fuse/ir/lower_graph.h. Fusion groups (schedule.h), elementwise
 * operators (elementwise_op.h) and reductions (fuse/reduce/reduction_op.h) are
 * compiled graphs.
 *
 * Note [One program per specialization]
 * A program is made at the first call with a new specialization: the dtypes of
 * the arguments, which of them are 0-dim or plain numbers, and the values of
 * the scalars, which are constants of the program; also the default dtype, the
 * JIT switch and the epoch of the registry, since a definition anywhere may
 * change what the calls run. It is valid for all shapes and strides. A compiled
 * graph keeps the newest ST_COMPILED_PROGRAMS programs.
 * A program contains the built-in kernels: kernels that a library registers
 * for CPU in front of them are not called.
 */
#ifndef ST_FUSE_SCHEDULE_COMPILED_GRAPH_H
#define ST_FUSE_SCHEDULE_COMPILED_GRAPH_H

#include "fuse/ir/lower_graph.h"
#include "op/row/op.h"

enum { ST_COMPILED_PROGRAMS = 32 };

/* The key of a program. It is compared as bytes, so it is zeroed before it is
 * filled in. */
typedef struct st_specialization {
  st_arg_spec in[ST_GRAPH_INPUTS], grads[ST_GRAPH_OUTPUTS];
  uint8_t out_dtypes[ST_GRAPH_OUTPUTS];
  uint8_t default_dtype;
  bool has_jit;
  uint64_t epoch;   /* of the registry: operators of the graph may have been
                       redefined since */
  uint32_t wanted;  /* inputs to differentiate by, as bits; 0: the program
                       computes the outputs */
  uint32_t summed;  /* inputs whose gradient is summed afterwards */
  st_scalar params[ST_GRAPH_SCALARS];
} st_specialization;

typedef struct st_specialized {
  st_specialization key;
  st_program *program;  /* owned; NULL: the gradients cannot be fused and are
                           computed operator by operator */
  uint32_t given;       /* inputs that have a gradient, as bits */
} st_specialized;

typedef struct st_compiled_graph {
  st_refcount refs;
  st_graph *graph;      /* owned */
  st_schema *schema;    /* owned; of the operator it implements, or NULL */
  int n, next;          /* entries; the one to evict next. Guarded by the
                           registry's mutex, which fork handlers take */
  st_specialized *entries[ST_COMPILED_PROGRAMS];
} st_compiled_graph;

/* Owns the graph on success. */
st_status st__compiled_new(st_graph *g, st_compiled_graph **out);
void st__compiled_retain(st_compiled_graph *f);
void st__compiled_release(void *compiled);

/* Sets what does not depend on the arguments, and no output dtypes. */
void st__specialization_init(st_specialization *key);
/* The key of a call with these arguments. */
void st__specialize(const st_compiled_graph *f, st_tensor *const *inputs,
                    const st_scalar *params, st_specialization *key);
/* Finds or makes the program for key; the caller releases it. */
st_status st__compiled_program(st_compiled_graph *f,
                               const st_specialization *key, st_program **out);

/* Builds an iterator over the program's operands, which are borrowed; NULL
 * outputs are created. The caller releases the iterator, also on failure. */
st_status st__program_iter(st_iter *it, const st_program *p,
                           st_tensor *const *inputs, st_tensor *const *outs);
/* BAD_VALUE if the program would divide an integer by zero. */
st_status st__program_check(const st_program *p, st_iter *it);

/* Runs a program and creates outs, which the caller owns. Inputs may be lazy
 * (Note [Operands of programs]). */
st_status st__program_apply(st_program *p, st_tensor *const *inputs,
                            st_tensor **outs);
/* Computes the outputs, which the caller owns. Records no history. */
st_status st__compiled_run(st_compiled_graph *f, st_tensor *const *inputs,
                           const st_scalar *params, st_tensor **outs);
/* Computes the gradients of the wanted inputs, which the caller owns; NULL
 * where there is none. In grad mode they have a history themselves. */
st_status st__compiled_backward(st_compiled_graph *f, st_tensor *const *inputs,
                                const st_scalar *params,
                                st_tensor *const *grads, const bool *wanted,
                                st_tensor **out);

#endif
