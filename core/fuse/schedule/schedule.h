/* Schedules: the steps that run in place of a recorded function.
 *
 * Stage schedule of Note [Stages of fusion]. In: a recording
 * (fuse/trace/recorder.h). fusion_group.c groups its calls, build_schedule.c
 * makes the steps, schedule.c runs them, compile_cache.h keeps the schedule.
 *
 * Note [Fusion groups]
 * Pointwise calls of one shape become fusion groups, each of which runs as one
 * loop; all other calls go through the dispatcher, and so does the call of a
 * group of one. As recordings are functional (Note [Recordings are
 * functional]), only data dependencies order the calls (Note [Order of fusion
 * groups]), and a group may collect calls from both sides of a call that is not
 * pointwise: in a softmax the subtraction and the exponential are one group,
 * the maximum before them and the sum after them are calls.
 *
 * Note [Gradients of fusion groups]
 * A call records its own history. A fusion group is recorded as one node, which
 * saves the group's inputs, and whose gradients are a program, too. So no input
 * of a group may be written before the backward pass, even if the formulas of
 * its calls do not read it.
 *
 * Note [Schedules for dynamic shapes]
 * A schedule is valid for all shapes of the same dtypes if all calls are
 * pointwise and in one step, and the recording does not depend on sizes
 * (Note [One program per specialization]). A fusion group must have one output,
 * which then depends on all of its inputs.
 */
#ifndef ST_FUSE_SCHEDULE_SCHEDULE_H
#define ST_FUSE_SCHEDULE_SCHEDULE_H

#include "fuse/schedule/compiled_graph.h"
#include "fuse/trace/recorder.h"
#include "abi/strided_fuse.h"

typedef struct st_schedule_step {
  st_graph_node call;  /* unused by a fusion group */
  /* Of a fusion group; program is NULL for a call: */
  st_compiled_graph *compiled; /* owned */
  st_program *program; /* owned */
  st_tensor **like;    /* of a call recorded whole, its results' fake tensors,
                          owned; or NULL */
  uint32_t *depends;   /* of each output: the inputs to which its gradient
                          flows, as bits */
  int nin, nout, nfreed;
  int *in;             /* values that a fusion group reads */
  int *out;            /* values that the step computes; -1: unused */
  int *freed;          /* values whose last use is this step */
} st_schedule_step;

typedef struct st_captured { int value; st_tensor *tensor; } st_captured;

struct st_schedule {
  st_refcount refs;
  const char *name;
  int nargs, nvalues, nsteps, ncaptured, noutputs, max_listed;
  bool is_dynamic;     /* Note [Schedules for dynamic shapes] */
  bool has_random;
  bool may_fail_later; /* a step after one that draws random numbers may fail */
  int slot;            /* index in the compile cache */
  st_device device;    /* of the tensors */
  uint64_t changes;    /* st__registry_changes when it was recorded */
  const char **differs; /* the call whose results were not what was recorded
                          (Note [Composites recorded whole]), or NULL */
  st_schedule_step *steps;
  st_captured *captured; /* captured tensors, owned */
  st_captured *fakes;  /* their fake tensors when recorded, owned */
  int outputs[ST_RECORD_OUTPUTS];
  st_arena arena;
};

/* schedule.c */
void st__schedule_retain(st_schedule *s);
/* False if an operator was redefined, or a captured tensor has another dtype,
 * shape or strides; on the device of an extension also after any registration,
 * since kernels of the device are called as they are there, not fused. */
bool st__schedule_is_current(const st_schedule *s);
/* True if the captured tensors require gradients, if there are any, as they did
 * when they were recorded. */
bool st__schedule_derives_same(const st_schedule *s, bool has_gradients);

/* build_schedule.c: makes the schedule of a recording whose outputs are set. */
st_status st__schedule_new(const st_recorder *r, int nargs, st_schedule **out);

#endif
