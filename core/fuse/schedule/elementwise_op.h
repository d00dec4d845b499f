/* Elementwise operators that are graphs.
 */
#ifndef ST_FUSE_SCHEDULE_ELEMENTWISE_OP_H
#define ST_FUSE_SCHEDULE_ELEMENTWISE_OP_H

#include "fuse/schedule/compiled_graph.h"

/* See strided_fuse.h. Takes the graph over on success. */
st_status st__library_elementwise(st_library *lib, const char *schema,
                                  st_graph *g, const char *doc,
                                  const char *debug);

/* st__explain, and what the program of an operator of these does; what fails
 * about that goes unsaid. */
st_status st__explain_all(const st_op *op, int n, const st_value *args,
                          char **out);

/* How the arguments of a schema are handed to a graph: tensors in order, and
 * numbers in order. BAD_SCHEMA for other ones. */
st_status st__graph_arguments(const st_schema *s, int *ninputs, int *nparams);
/* BAD_STATE when a run is that of another operator than own, or when what was
 * recorded is: Note [Redefined operators]. */
st_status st__check_run_schema(const st_schema *own, const st_run *r);
st_status st__check_values_schema(const st_schema *own, const st_op *op,
                                  const st_value *args, const st_value *rets);
/* Those of a call. */
void st__graph_args(const st_schema *s, int nargs, const st_value *args,
                    st_tensor **inputs, st_scalar *params);
/* The derivative of operator `name`, which computes f. */
st_status st__compiled_derive(st_library *lib, const char *name,
                              st_compiled_graph *f);

#endif
