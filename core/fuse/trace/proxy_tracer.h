/* The proxy tracer: a tracer for any arguments, which calls a function with
 * proxies.
 *
 * Stage trace of Note [Stages of fusion], for lib:elementwise and
 * lib:reduction. In: a function. Out: a graph (graph.h), which
 * fuse/ir/lower_graph.h lowers.
 */
#ifndef ST_FUSE_TRACE_PROXY_TRACER_H
#define ST_FUSE_TRACE_PROXY_TRACER_H

#include "fuse/trace/tracer.h"

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
