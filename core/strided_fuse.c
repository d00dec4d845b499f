/* The bodies of strided_fuse.h: each a line or two over fuse/.
 */

#include "strided.h"

#include "fuse/elementwise.h"
#include "fuse/trace.h"

/* -- Tracing -------------------------------------------------------------- */

st_status st_tracing_begin(const st_tracing_config *c, st_tracing **out) {
  return st__tracing_begin(c, out);
}

st_tensor *st_tracing_input(const st_tracing *t, int i) {
  return st__tracing_input(t, i);
}

st_status st_tracing_number(st_tracing *t, char op, int a, int b,
                            st_scalar value, int *out) {
  return st__tracing_number(t, op, a, b, value, out);
}

st_status st_tracing_number_symbol(st_tracing *t, int number,
                                   st_tensor **out) {
  return st__tracing_number_symbol(t, number, out);
}

st_status st_tracing_end(st_tracing **t, int n, st_tensor *const *outputs,
                         st_graph **out) {
  return st__tracing_end(t, n, outputs, out);
}

bool st_tensor_is_symbol(const st_tensor *t) {
  return (t->flags & ST_FLAG_SYMBOL) != 0;
}

void st_graph_release(st_graph **g) { st__graph_release(g); }

/* -- Operators ------------------------------------------------------------ */

st_status st_graph_arguments(const st_schema *s, int *ninputs,
                             int *nnumbers) {
  return st__fused_schema(s, ninputs, nnumbers);
}

st_status st_library_elementwise(st_library *lib, const char *schema,
                                 st_graph **g, const char *doc,
                                 const char *debug) {
  ST_TRY(st__library_elementwise(lib, schema, *g, doc, debug));
  *g = NULL;
  return ST_OK;
}
