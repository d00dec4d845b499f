/* Steps: what was recorded, put together as fusion groups, ready to run.
 *
 * Note [Fusion groups]
 * Pointwise calls of one shape become fusion groups, each of which is one loop;
 * all others stay calls through the dispatcher, and so does a fusion group of
 * one call. As nothing is written (Note [Recordings are functional]), only what
 * is read makes an order (Note [Order of fusion groups]), and fusion groups
 * grow around what cuts them: in a softmax the subtraction and the exponential
 * are one, the maximum before them and the sum behind them are calls.
 *
 * Note [Gradients of fusion groups]
 * A call records itself. A fusion group is recorded as one operation, which
 * saves what it reads, and whose gradients are a program, too. So what a fusion
 * group reads must not be written before the backward pass, even where its
 * calls would not mind.
 *
 * Note [Schedules for dynamic shapes]
 * Where nothing but pointwise calls was recorded, all of them in one fusion
 * group whose results depend on all that it reads, and nobody asked for a size,
 * the steps are good for all shapes of the same dtypes (Note [One program per
 * specialization]).
 */
#ifndef ST_FUSE_SCHEDULE_SCHEDULE_H
#define ST_FUSE_SCHEDULE_SCHEDULE_H

#include "fuse/schedule/compiled_graph.h"
#include "fuse/trace/recorder.h"

typedef struct st_schedule_step {
  const char *where;
  /* A call: */
  const st_op *op;
  const st_schema *schema;
  st_node_arg *args;
  /* Or a fusion group, if there is a program: */
  st_compiled_graph *compiled; /* owned */
  st_program *program; /* owned */
  uint32_t *depends;   /* of each output: the inputs that it has a gradient
                          of, as bits */
  int nin, nout, nfreed;
  int *in;             /* values that a fusion group reads */
  int *out;            /* values that it gives; -1: which nobody wants */
  int *freed;          /* those that nobody reads any more */
} st_schedule_step;

typedef struct st_captured { int value; st_tensor *tensor; } st_captured;

struct st_schedule {
  st_refcount refs;
  const char *name;
  int nargs, nvalues, nsteps, ncaptured, noutputs, max_listed;
  bool is_dynamic;     /* Note [Schedules for dynamic shapes] */
  bool has_random;
  int slot;            /* in the fusion's cache */
  st_schedule_step *steps;
  st_captured *captured; /* owned tensors */
  st_captured *fakes;  /* what they were like: fake tensors, owned */
  int outputs[ST_RECORD_OUTPUTS];
  st_arena arena;
};

/* schedule.c */
void st__schedule_retain(st_schedule *s);
void st__schedule_release(st_schedule **s);
/* Are the operators and what was kept as they were? */
bool st__schedule_is_current(const st_schedule *s);
st_status st__schedule_run(const st_schedule *s, st_tensor *const *inputs,
                           st_tensor **outs);
st_status st__schedule_text(const st_schedule *s, char **out);

/* build_schedule.c: what is recorded, its outputs among it, as steps. */
st_status st__schedule_new(const st_recorder *r, int nargs, st_schedule **out);

#endif
