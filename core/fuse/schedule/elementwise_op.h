/* Elementwise operators that are made from a traced graph (lib:elementwise).
 *
 * Stage schedule of Note [Stages of fusion]. In: a graph from
 * fuse/trace/proxy_tracer.c, and a schema. Out: a registered operator that runs
 * a compiled graph (compiled_graph.h), and its derivative.
 */
#ifndef ST_FUSE_SCHEDULE_ELEMENTWISE_OP_H
#define ST_FUSE_SCHEDULE_ELEMENTWISE_OP_H

#include "fuse/schedule/compiled_graph.h"
#include "abi/strided_fuse.h"

/* See strided_fuse.h. Owns the graph on success. */
st_status st__library_elementwise(st_library *lib, const char *schema,
                                  st_graph *g, const char *doc,
                                  const char *debug);

/* st__explain, followed by the program's text for an elementwise operator made
 * from a graph. The text is left out if making it fails. */
st_status st__explain_all(const st_op *op, int n, const st_value *args,
                          char **out);

/* BAD_STATE if the schema of a run, or the arguments and results of a recorded
 * call, do not match own: Note [Redefined operators]. */
st_status st__check_run_schema(const st_schema *own, const st_run *r);
st_status st__check_values_schema(const st_schema *own, const st_op *op,
                                  const st_value *args, const st_value *rets);

#endif
