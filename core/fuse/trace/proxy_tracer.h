/* Tracing: a function's calls become a graph.
 *
 * Note [Tracing]
 * While a trace is on, a mode of its thread sees every operator that is called.
 * One that is given a proxy is not run: it becomes a node, and gives proxies
 * in its turn. Operators that have nothing to do with proxies run as ever.
 */
#ifndef ST_FUSE_TRACE_PROXY_TRACER_H
#define ST_FUSE_TRACE_PROXY_TRACER_H

#include "fuse/trace/graph.h"

/* See strided_fuse.h. */
st_status st__tracing_begin(const st_tracing_config *c, st_tracing **out);
st_tensor *st__tracing_input(const st_tracing *t, int i);
st_status st__tracing_number(st_tracing *t, char op, int a, int b,
                             st_scalar value, int *out);
st_status st__tracing_number_symbol(st_tracing *t, int number,
                                    st_tensor **out);
st_status st__tracing_end(st_tracing **t, int n, st_tensor *const *outputs,
                          st_graph **out);

#endif
