/* The functions of strided_fuse.h: one-line calls of fuse/.
 */

#include "strided.h"

#include "fuse/schedule/elementwise_op.h"
#include "fuse/schedule/compile_cache.h"
#include "iter/loop_report.h"

/* -- Tracing -------------------------------------------------------------- */

bool st_tensor_is_symbol(const st_tensor *t) {
  return (t->flags & ST_FLAG_SYMBOL) != 0;
}

bool st_is_capturing(void) { return st__captured() != NULL; }

int st_graph_noutputs(const st_graph *g) { return g->noutputs; }

/* -- Operators ------------------------------------------------------------ */

st_status st_library_elementwise(st_library *lib, const char *schema,
                                 st_graph **g, const char *doc,
                                 const char *debug) {
  ST_TRY(st__library_elementwise(lib, schema, *g, doc, debug));
  *g = NULL;
  return ST_OK;
}

/* -- Compile cache -------------------------------------------------------- */

bool st_recorder_was_refused(const st_recorder *r) {
  return r->was_refused;
}

void st_recorder_stop(st_recorder *r) { r->was_stopped = true; }

void st_recorder_uses_shape(st_recorder *r) { r->uses_sizes = true; }

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
