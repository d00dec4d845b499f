/* The functions of strided_fuse.h: one-line calls of fuse/.
 */

#include "strided.h"

#include "fuse/jit/jit_compile.h"
#include "fuse/schedule/elementwise_op.h"
#include "fuse/schedule/compile_cache.h"
#include "fuse/reduce/reduction_op.h"
#include "fuse/trace/proxy_tracer.h"
#include "iter/loop_report.h"

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
  return st__graph_arguments(s, ninputs, nnumbers);
}

st_status st_library_elementwise(st_library *lib, const char *schema,
                                 st_graph **g, const char *doc,
                                 const char *debug) {
  ST_TRY(st__library_elementwise(lib, schema, *g, doc, debug));
  *g = NULL;
  return ST_OK;
}

st_status st_library_reduction(st_library *lib, const st_custom_reduction *f) {
  return st__library_reduction(lib, f);
}

/* -- Compile cache -------------------------------------------------------- */

bool st_is_jit_enabled(void) { return st__jit_enabled(); }

bool st_set_jit_enabled(bool is_enabled) { return st__set_jit(is_enabled); }

st_status st_compile_cache_new(const char *name, st_compile_cache **out) {
  return st__compile_cache_new(name, out);
}

void st_compile_cache_release(st_compile_cache **f) {
  st__compile_cache_release(f);
}

void st_compile_cache_clear(st_compile_cache *f) { st__compile_cache_clear(f); }

const char *st_compile_cache_name(const st_compile_cache *f) {
  return st__compile_cache_name(f);
}

bool st_compile_cache_find(st_compile_cache *f, int n,
                           const st_compile_cache_arg *args,
                           st_schedule **steps) {
  return st__compile_cache_find(f, n, args, steps);
}

const char *st_compile_cache_why(st_compile_cache *f, int n,
                                 const st_compile_cache_arg *args) {
  return st__compile_cache_why(f, n, args);
}

st_status st_recorder_begin(const st_tracing_config *c,
                            st_tensor *const *inputs, st_recorder **out) {
  return st__recorder_begin(c, inputs, out);
}

st_tensor *st_recorder_input(const st_recorder *r, int i) {
  return st__recorder_input(r, i);
}

st_device st_recorder_device(const st_recorder *r) {
  return st__recorder_device(r);
}
bool st_recorder_is_fake(const st_recorder *r, const st_tensor *t) {
  return st__recorder_is_fake(r, t);
}

void st_recorder_refuse(st_recorder *r, const char *why) {
  st__recorder_refuse(r, why);
}

bool st_recorder_was_refused(const st_recorder *r) {
  return r->was_refused;
}

st_status st_recorder_reject_read(st_recorder *r) {
  return st__recorder_reject_read(r);
}

void st_recorder_stop(st_recorder *r) { r->was_stopped = true; }

void st_recorder_uses_shape(st_recorder *r) { r->uses_sizes = true; }

st_status st_compile_cache_end(st_compile_cache *f, int n,
                               const st_compile_cache_arg *args,
                               st_recorder **r, int noutputs,
                               st_tensor *const *outputs, st_schedule **steps) {
  return st__compile_cache_end(f, n, args, r, noutputs, outputs, steps);
}

void st_schedule_release(st_schedule **s) { st__schedule_release(s); }

int st_schedule_slot(const st_schedule *s) { return s->slot; }

bool st_schedule_is_random(const st_schedule *s) { return s->has_random; }

int st_schedule_noutputs(const st_schedule *s) { return s->noutputs; }

int st_schedule_ncaptured(const st_schedule *s) { return s->ncaptured; }

st_tensor *st_schedule_captured(const st_schedule *s, int i) {
  return s->captured[i].tensor;
}

int st_schedule_output(const st_schedule *s, int i) {
  return s->outputs[i] < s->nargs ? s->outputs[i] : -1;
}

st_status st_schedule_run(const st_schedule *s, st_tensor *const *inputs,
                          st_tensor **outs) {
  return st__schedule_run(s, inputs, outs);
}

st_status st_schedule_text(const st_schedule *s, char **out) {
  return st__schedule_text(s, out);
}
