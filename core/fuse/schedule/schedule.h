/* Steps: what was recorded, put together as pieces, ready to run.
 *
 * Note [Pieces]
 * Pointwise calls of one shape become pieces, each of which is one loop; all
 * others stay calls through the dispatcher, and so does a piece of one call. As
 * nothing is written (Note [Recordings write nothing]), only what is read makes
 * an order (Note [Levels]), and pieces grow around what cuts them: in a softmax
 * the subtraction and the exponential are one, the maximum before them and the
 * sum behind them are calls.
 *
 * Note [Gradients of pieces]
 * A call records itself. A piece is recorded as one operation, which saves
 * what it reads, and whose gradients are a program, too. So what a piece reads
 * must not be written before the backward pass, even where its calls would not
 * mind.
 *
 * Note [Steps without a shape]
 * Where nothing but pointwise calls was recorded, all of them in one piece
 * whose results depend on all that it reads, and nobody asked for a size, the
 * steps are good for all shapes of the same dtypes (Note [Programs are for
 * classes]).
 */
#ifndef ST_FUSE_SCHEDULE_SCHEDULE_H
#define ST_FUSE_SCHEDULE_SCHEDULE_H

#include "fuse/schedule/compiled_graph.h"
#include "fuse/trace/recorder.h"

typedef struct st_step {
  const char *where;
  /* A call: */
  const st_op *op;
  const st_schema *schema;
  st_ref *args;
  /* Or a piece, if there is a program: */
  st_fused *fused;     /* owned */
  st_program *program; /* owned */
  uint32_t *depends;   /* of each output: the inputs that it has a gradient
                          of, as bits */
  int nin, nout, ndead;
  int *in;             /* values that a piece reads */
  int *out;            /* values that it gives; -1: which nobody wants */
  int *dead;           /* those that nobody reads any more */
} st_step;

typedef struct st_kept { int value; st_tensor *tensor; } st_kept;

struct st_steps {
  st_refcount refs;
  const char *name;
  int nargs, nvalues, nsteps, nkept, noutputs, most_listed;
  bool is_free;        /* Note [Steps without a shape] */
  bool has_random;
  int slot;            /* in the fusion's cache */
  st_step *steps;
  st_kept *kept;       /* owned tensors */
  st_kept *likes;      /* what they were like: doubles, owned */
  int outputs[ST_RECORD_OUTPUTS];
  st_arena arena;
};

/* schedule.c */
void st__steps_retain(st_steps *s);
void st__steps_release(st_steps **s);
/* Are the operators and what was kept as they were? */
bool st__steps_are_current(const st_steps *s);
st_status st__steps_run(const st_steps *s, st_tensor *const *inputs,
                        st_tensor **outs);
st_status st__steps_text(const st_steps *s, char **out);

/* build_schedule.c: what is recorded, its outputs among it, as steps. */
st_status st__steps_new(const st_rehearsal *r, int nargs, st_steps **out);

#endif
