/* Recording: the calls of a function with arguments of a certain geometry.
 *
 * Note [Fake tensors of a recording]
 * Other than a trace with proxies (Note [Tracing]), a recording knows dtypes,
 * sizes and strides. The function is called with fake tensors of its arguments:
 * tensors on the meta device that are like them in everything but their
 * elements. A mode of the thread sees the operators. One that is made of
 * others is entered, so that its parts are recorded; any other is run on the
 * fake tensors, which gives the fake tensors of its results, and becomes a
 * call. Other tensors that it meets are kept, and doubled, too: each run of
 * what was recorded reads them as they are by then.
 *
 * Note [Recordings are functional]
 * A call in place of something that the function made itself, and that has no
 * views, is recorded as the call that gives a new tensor, and from then on the
 * fake tensor stands for that. So the calls only depend on each other by what
 * they read, and may be put together as one likes. What else writes is refused.
 *
 * Note [What cannot be recorded]
 * What cannot be recorded is refused: the function is to be called as it is,
 * and nobody notices. But what a function does once it has seen an element
 * holds for that element only, so whoever asks a fake tensor for one is told.
 */
#ifndef ST_FUSE_TRACE_RECORDER_H
#define ST_FUSE_TRACE_RECORDER_H

#include "fuse/trace/graph.h"

enum {
  ST_RECORD_ARGS = 32,     /* tensors that the function is called with */
  ST_RECORD_OUTPUTS = 16,
  ST_RECORD_CALLS = 1024,
  ST_RECORD_VALUES = 2048
};

typedef enum st_origin {
  ST_ORIGIN_ARG,    /* what the function was called with */
  ST_ORIGIN_CAPTURED, /* what it has met */
  ST_ORIGIN_NUMBER, /* a plain number where a tensor must be */
  ST_ORIGIN_CALL    /* a result */
} st_origin;

/* A tensor of the function. */
typedef struct st_recorded_value {
  uint8_t origin;
  int call;            /* of a result, by which */
  st_tensor *tensor;   /* owned; KEPT, NUMBER: itself */
  st_tensor *fake;     /* owned; its fake tensor. A number is its own */
} st_recorded_value;

/* A call; its results are the values result, result + 1, ... What refs point
 * to is in the arena. */
typedef struct st_recorded_call {
  const st_op *op;
  const st_schema *schema;
  const char *where;   /* "file:line", or "" */
  st_node_arg *args;
  int nresults, result;
} st_recorded_call;

struct st_recorder {
  st_mode mode;
  st_tls tls;              /* what was in force before */
  const char *name;        /* borrowed */
  void (*where)(void *ctx, char *text, size_t size);
  void *ctx;
  bool was_refused, was_read, lacks_memory;
  bool uses_sizes;         /* what was recorded depends on the sizes */
  char why[256];           /* it was refused or asked */
  int ncalls, nvalues, nbindings, noutputs;
  int max_listed;          /* tensors in the lists of one call */
  int outputs[ST_RECORD_OUTPUTS];
  st_recorded_call calls[ST_RECORD_CALLS];
  st_recorded_value values[ST_RECORD_VALUES];
  struct { st_tensor *tensor; int value; } bindings[2 * ST_RECORD_VALUES];
  st_arena arena;
};

/* On the CPU, and nothing but its elements. */
bool st__is_plain(const st_tensor *t);

/* See strided_fuse.h. */
st_status st__recorder_begin(const st_tracing_config *c,
                             st_tensor *const *inputs, st_recorder **out);
st_tensor *st__recorder_input(const st_recorder *r, int i);
bool st__recorder_is_fake(const st_recorder *r, const st_tensor *t);
void st__recorder_refuse(st_recorder *r, const char *why);
st_status st__recorder_reject_read(st_recorder *r);

/* Nothing is recorded any more. */
void st__recorder_leave(st_recorder *r);
/* The values that the outputs are; false: they were refused. */
bool st__recorder_outputs(st_recorder *r, int n, st_tensor *const *outputs);
void st__recorder_free(st_recorder **r);

#endif
