/* Fused functions: a graph together with the programs that were made of it.
 *
 * Note [One program per specialization]
 * A program is made at the first call with arguments of certain dtypes, of
 * which some have no dimension and some are plain numbers, and of certain
 * values of its numbers: those are constants of the program. It serves all
 * shapes and strides. A function keeps the last PROGRAMS of them. A program has
 * the engine's kernels in it: those that somebody puts before them for CPU are
 * not asked.
 */
#ifndef ST_FUSE_SCHEDULE_COMPILED_GRAPH_H
#define ST_FUSE_SCHEDULE_COMPILED_GRAPH_H

#include "fuse/ir/lower_graph.h"
#include "op/registry/op.h"

enum { ST_COMPILED_PROGRAMS = 32 };

/* What a program is for. Zeroed before it is filled in: it is compared as
 * bytes. */
typedef struct st_specialization {
  st_arg_spec in[ST_GRAPH_INPUTS], grads[ST_GRAPH_OUTPUTS];
  uint8_t out_dtypes[ST_GRAPH_OUTPUTS];
  uint8_t default_dtype;
  bool has_jit;
  uint64_t epoch;   /* of the registry: what is part of the graph may have been
                       defined anew since */
  uint32_t wanted;  /* of gradients: bits of the inputs; 0: not of gradients */
  uint32_t summed;  /* those that are added up afterwards */
  st_scalar params[ST_GRAPH_SCALARS];
} st_specialization;

typedef struct st_specialized {
  st_specialization key;
  st_program *program;  /* owned; NULL: there is none, the gradients have to
                           be computed call by call */
  uint32_t given;
} st_specialized;

typedef struct st_compiled_graph {
  st_refcount refs;
  st_graph *graph;      /* owned */
  st_schema *schema;    /* owned; of the operator that it is, or NULL */
  int n, next;          /* entries, and which one goes next; under the mutex of
                           the registry, which forks wait for */
  st_specialized *entries[ST_COMPILED_PROGRAMS];
} st_compiled_graph;

/* Takes the graph over on success. */
st_status st__compiled_new(st_graph *g, st_compiled_graph **out);
void st__compiled_retain(st_compiled_graph *f);
void st__compiled_release(void *fused);

/* Fills in what does not depend on the arguments: no dtypes are asked for. */
void st__specialization_init(st_specialization *key);
void st__specialize(const st_compiled_graph *f, st_tensor *const *inputs,
                    const st_scalar *params, st_specialization *key);
/* The program for key, owned. */
st_status st__compiled_program(st_compiled_graph *f,
                               const st_specialization *key, st_program **out);

/* Builds it over the program's operands, which are borrowed; outputs that are
 * NULL are made. To be released, also on failure. */
st_status st__program_iter(st_iter *it, const st_program *p,
                           st_tensor *const *inputs, st_tensor *const *outs);
/* BAD_VALUE for integers that would be divided by zero. */
st_status st__program_check(const st_program *p, st_iter *it);

/* One of its programs, run on the spot. */
st_status st__program_apply(const st_program *p, st_tensor *const *inputs,
                            st_tensor **outs);
/* New tensors, computed here and now: no gradient is recorded. */
st_status st__compiled_run(st_compiled_graph *f, st_tensor *const *inputs,
                           const st_scalar *params, st_tensor **outs);
/* The gradients of the wanted inputs; NULL where there is none. While
 * gradients are recorded, these are, too. */
st_status st__compiled_backward(st_compiled_graph *f, st_tensor *const *inputs,
                                const st_scalar *params,
                                st_tensor *const *grads, const bool *wanted,
                                st_tensor **out);

#endif
