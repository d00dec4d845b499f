/* The bodies of strided_fuse.h: each a line or two over fuse/.
 */

#include "strided.h"

#include "fuse/jit/jit_compile.h"
#include "fuse/schedule/elementwise_op.h"
#include "fuse/schedule/compile_cache.h"
#include "fuse/reduce/reduction_op.h"
#include "fuse/trace/proxy_tracer.h"
#include "iter/dry_run.h"

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

bool st_is_capturing(void) { return st__captured() != NULL; }

void st_graph_release(st_graph **g) { st__graph_release(g); }

int st_graph_noutputs(const st_graph *g) { return g->noutputs; }

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

st_status st_library_reduction(st_library *lib, const st_folding *f) {
  return st__library_reduction(lib, f);
}

/* -- Functions in steps --------------------------------------------------- */

bool st_is_jit_enabled(void) { return st__jit(); }

bool st_set_jit_enabled(bool is_enabled) { return st__set_jit(is_enabled); }

st_status st_fusion_new(const char *name, st_fusion **out) {
  return st__fusion_new(name, out);
}

void st_fusion_release(st_fusion **f) { st__fusion_release(f); }

void st_fusion_clear(st_fusion *f) { st__fusion_clear(f); }

const char *st_fusion_name(const st_fusion *f) { return st__fusion_name(f); }

bool st_fusion_find(st_fusion *f, int n, const st_fusion_arg *args,
                    st_steps **steps) {
  return st__fusion_find(f, n, args, steps);
}

const char *st_fusion_why(st_fusion *f, int n, const st_fusion_arg *args) {
  return st__fusion_why(f, n, args);
}

st_status st_rehearsal_begin(const st_tracing_config *c,
                             st_tensor *const *inputs, st_rehearsal **out) {
  return st__rehearsal_begin(c, inputs, out);
}

st_tensor *st_rehearsal_input(const st_rehearsal *r, int i) {
  return st__rehearsal_input(r, i);
}

bool st_rehearsal_has(const st_rehearsal *r, const st_tensor *t) {
  return st__rehearsal_has(r, t);
}

void st_rehearsal_refuse(st_rehearsal *r, const char *why) {
  st__rehearsal_refuse(r, why);
}

bool st_rehearsal_was_refused(const st_rehearsal *r) {
  return r->was_refused;
}

st_status st_rehearsal_ask(st_rehearsal *r) { return st__rehearsal_ask(r); }

void st_rehearsal_ask_shape(st_rehearsal *r) { r->is_shaped = true; }

st_status st_fusion_end(st_fusion *f, int n, const st_fusion_arg *args,
                        st_rehearsal **r, int noutputs,
                        st_tensor *const *outputs, st_steps **steps) {
  return st__fusion_end(f, n, args, r, noutputs, outputs, steps);
}

void st_steps_release(st_steps **s) { st__steps_release(s); }

int st_steps_slot(const st_steps *s) { return s->slot; }

bool st_steps_are_random(const st_steps *s) { return s->has_random; }

int st_steps_noutputs(const st_steps *s) { return s->noutputs; }

int st_steps_nkept(const st_steps *s) { return s->nkept; }

st_tensor *st_steps_kept(const st_steps *s, int i) {
  return s->kept[i].tensor;
}

int st_steps_output(const st_steps *s, int i) {
  return s->outputs[i] < s->nargs ? s->outputs[i] : -1;
}

st_status st_steps_run(const st_steps *s, st_tensor *const *inputs,
                       st_tensor **outs) {
  return st__steps_run(s, inputs, outs);
}

st_status st_steps_text(const st_steps *s, char **out) {
  return st__steps_text(s, out);
}
