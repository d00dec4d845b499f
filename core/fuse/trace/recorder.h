/* The recorder: a tracer for certain arguments, which calls a function with
 * fake tensors.
 *
 * Stage trace of Note [Stages of fusion], for st.fuse. In: a function and its
 * arguments. Out: a recording, st_recorder: a graph, and what its tensors are.
 * schedule/ divides its calls into fusion groups (schedule.h).
 *
 * Note [Fake tensors of a recording]
 * The function is called with one fake tensor per argument: a tensor on the
 * meta device with the argument's dtype, sizes and strides (Note [Tracing]). A
 * composite operator is entered, and its parts are recorded, if they can be
 * (Note [Composites recorded whole]). Any other operator runs on the fake
 * tensors, which computes the fake tensors of its results, and is recorded as
 * one call. A captured tensor, which the function uses and which
 * is no argument, is retained and gets a fake tensor, too; every run of the
 * recording reads the captured tensor's current elements.
 *
 * Note [Recordings are functional]
 * An in-place call on a tensor that the function has created, and that has no
 * views, is recorded as the call of the functional operator; from then on the
 * tensor is bound to the new value. So calls depend on each other only by what
 * they read, and may be reordered and grouped. All other writes are refused.
 *
 * Note [Gradients of a recording]
 * Composite operators choose other inner operators where a gradient is recorded
 * (st__is_recorded). So a fake tensor has an Autograd key if the tensor of the
 * later call requires a gradient in grad mode: that of an argument or of a
 * captured tensor as the tensor does now, that of a result if the call passes a
 * gradient on. No history is recorded, and the Autograd kernels do not run. A
 * recording is valid for calls with the same required gradients only: the
 * compile cache compares them.
 *
 * Note [Composites recorded whole]
 * A composite operator calls what its arguments need. If it looks at elements,
 * checks them, or fills a tensor itself, what it calls for fake tensors is not
 * what it calls for others: the thread notes that elements were missed (Note
 * [Elements that are not there]). Then, and if the operator warns, if a part of
 * it cannot be recorded, or if a result comes from no call, the recording goes
 * back to where the operator began, and the operator is recorded as one call,
 * which checks, chooses and fills when it runs, and has its own derivative. Its
 * meta results describe those to come; a run in which they differ is given up,
 * and the function is called, then and later.
 *
 * Note [What cannot be recorded]
 * A function that cannot be recorded is refused: the caller runs it without
 * fusion, which computes the same. So is a function that reads an element,
 * since what it does next may depend on it. A refusal is an error where it
 * happens, so the function goes no further; the calls that it makes after it
 * has caught the error fail, too. Until then it has changed no tensor.
 */
#ifndef ST_FUSE_TRACE_RECORDER_H
#define ST_FUSE_TRACE_RECORDER_H

#include "fuse/trace/tracer.h"
#include "abi/strided_fuse.h"

enum {
  ST_RECORD_ARGS = 32,     /* tensor arguments of the function */
  ST_RECORD_VALUES = 2048
};

typedef enum st_origin {
  ST_ORIGIN_ARG,      /* an argument of the function */
  ST_ORIGIN_CAPTURED, /* a captured tensor */
  ST_ORIGIN_NUMBER,   /* a scalar, wrapped in a 0-dim tensor */
  ST_ORIGIN_CALL      /* a result of a call */
} st_origin;

/* A value: a tensor of the graph. */
typedef struct st_recorded_value {
  uint8_t origin;
  int call;            /* of a result: the index of the node */
  st_tensor *tensor;   /* owned; CAPTURED, NUMBER: the tensor, else NULL */
  st_tensor *fake;     /* owned; the fake tensor; of a NUMBER: tensor */
} st_recorded_value;

struct st_recorder {
  st_tracer base;
  bool was_refused, was_stopped, lacks_memory;
  bool uses_sizes;         /* the calls may depend on the sizes */
  bool has_gradients;      /* the run will be in grad mode */
  st_device device;        /* of the tensors */
  uint64_t changes;        /* st__registry_changes when it began */
  int ninputs, depth;      /* composite operators being recorded */
  const st_op *op;         /* being recorded, or NULL */
  st_tensor *inputs[ST_RECORD_ARGS]; /* owned: the function may drop them */
  char why[320];           /* reason of the refusal, and where it was */
  st_recorded_value values[ST_RECORD_VALUES]; /* of the graph's tensors */
};

/* True for a tensor without keys beyond the default ones, that is neither lazy
 * nor a proxy, on the CPU or on a device that runs programs. */
bool st__is_recordable(const st_tensor *t);

/* True if an input is not as it was when the recording began. */
bool st__recorder_input_changed(const st_recorder *r);

/* Ends the recording: removes the mode and restores the thread's state. */
void st__recorder_leave(st_recorder *r);
/* Sets the values that the function returns; false if the recording is
 * refused or has failed. */
bool st__recorder_outputs(st_recorder *r, int n, st_tensor *const *outputs);
void st__recorder_free(st_recorder **r);

#endif
