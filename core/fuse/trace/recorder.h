/* Recording: the calls of a function with arguments of a certain geometry.
 *
 * Note [Doubles]
 * Other than a trace with symbols (Note [Tracing]), a recording knows dtypes,
 * sizes and strides. The function is called with doubles of its arguments:
 * tensors on the meta device that are like them in everything but their
 * elements. A mode of the thread sees the operators. One that is made of
 * others is entered, so that its parts are recorded; any other is run on the
 * doubles, which gives the doubles of its results, and becomes a call. Other
 * tensors that it meets are kept, and doubled, too: each run of what was
 * recorded reads them as they are by then.
 *
 * Note [Recordings write nothing]
 * A call in place of something that the function made itself, and that has no
 * views, is recorded as the call that gives a new tensor, and from then on the
 * double stands for that. So the calls only depend on each other by what they
 * read, and may be put together as one likes. What else writes is refused.
 *
 * Note [Refusals]
 * What cannot be recorded is refused: the function is to be called as it is,
 * and nobody notices. But what a function does once it has seen an element
 * holds for that element only, so whoever asks a double for one is told.
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
  ST_ORIGIN_KEPT,   /* what it has met */
  ST_ORIGIN_NUMBER, /* a plain number where a tensor must be */
  ST_ORIGIN_CALL    /* a result */
} st_origin;

/* A tensor of the function. */
typedef struct st_recorded {
  uint8_t origin;
  int call;            /* of a result, by which */
  st_tensor *tensor;   /* owned; KEPT, NUMBER: itself */
  st_tensor *twin;     /* owned; its double. A number is its own */
} st_recorded;

/* A call; its results are the values result, result + 1, ... What refs point
 * to is in the arena. */
typedef struct st_recorded_call {
  const st_op *op;
  const st_schema *schema;
  const char *where;   /* "file:line", or "" */
  st_ref *args;
  int nresults, result;
} st_recorded_call;

struct st_rehearsal {
  st_mode mode;
  st_tls tls;              /* what was in force before */
  const char *name;        /* borrowed */
  void (*where)(void *ctx, char *text, size_t size);
  void *ctx;
  bool was_refused, was_asked, lacks_memory;
  bool is_shaped;          /* what was recorded depends on the sizes */
  char why[256];           /* it was refused or asked */
  int ncalls, nvalues, nknown, noutputs;
  int most_listed;         /* tensors in the lists of one call */
  int outputs[ST_RECORD_OUTPUTS];
  st_recorded_call calls[ST_RECORD_CALLS];
  st_recorded values[ST_RECORD_VALUES];
  struct { st_tensor *tensor; int value; } known[2 * ST_RECORD_VALUES];
  st_arena arena;
};

/* On the CPU, and nothing but its elements. */
bool st__is_plain(const st_tensor *t);

/* See strided_fuse.h. */
st_status st__rehearsal_begin(const st_tracing_config *c,
                              st_tensor *const *inputs, st_rehearsal **out);
st_tensor *st__rehearsal_input(const st_rehearsal *r, int i);
bool st__rehearsal_has(const st_rehearsal *r, const st_tensor *t);
void st__rehearsal_refuse(st_rehearsal *r, const char *why);
st_status st__rehearsal_ask(st_rehearsal *r);

/* Nothing is recorded any more. */
void st__rehearsal_leave(st_rehearsal *r);
/* The values that the outputs are; false: they were refused. */
bool st__rehearsal_outputs(st_rehearsal *r, int n, st_tensor *const *outputs);
void st__rehearsal_free(st_rehearsal **r);

#endif
