/* The IR: instructions in SSA form, which the graph lowering writes and
 * from which a program is made.
 *
 * Stage ir of Note [Stages of fusion]. In: a graph and dtypes
 * (lower_graph.h). Then, in this order: common subexpressions and constant
 * folding while instructions are appended (ir_cse.c), peephole rules
 * (peephole.c), liveness and slots (lower_to_program.c). Out: a program
 * (program.h).
 */
#ifndef ST_FUSE_IR_IR_H
#define ST_FUSE_IR_IR_H

#include "fuse/program.h"

enum { ST_IR_VALUES = 4096 };

typedef enum st_ir_value_kind {
  ST_IR_INPUT, ST_IR_CONST, ST_IR_RESULT
} st_ir_value_kind;

typedef struct st_ir_value {
  uint8_t kind, dtype;
  bool is_uniform;     /* one element for all blocks: 0-dim or a constant */
  int def;            /* of a result: the instruction that defines it */
  int last;           /* its last use, an instruction */
  char bytes[16];     /* of a constant: its element */
} st_ir_value;

/* Values 0 .. ninputs - 1 are the inputs. */
typedef struct st_ir {
  int ninputs, nvalues, ninstrs, noutputs, nchecks;
  int outputs[ST_PROGRAM_OPERANDS];
  int checks[ST_PROGRAM_CHECKS];
  st_ir_value values[ST_IR_VALUES];
  st_instr instrs[ST_PROGRAM_INSTRS];
} st_ir;

st_status st__ir_new(st_ir **out);
void st__ir_free(st_ir **c);

/* Each sets *out to the new value, or to an equal older one. */
st_status st__ir_input(st_ir *c, st_dtype dtype, bool is_uniform,
                       int *out);
st_status st__ir_const(st_ir *c, st_dtype dtype, const void *bytes,
                       int *out);
/* v converted to dtype, as copy_ converts. */
st_status st__ir_convert(st_ir *c, int v, st_dtype dtype, int *out);
/* The operand of the conversion that defines v; v if no conversion does. */
int st__ir_unconverted(const st_ir *c, int v);
/* A loop, its operands and its results. */
typedef struct st_ir_call {
  st_loop loop;
  st_kernel_key kernel;    /* of the loop */
  const st_params *params; /* or NULL */
  int64_t grain;           /* elements worth a thread */
  int nin, nout;
  int in[ST_INSTR_OPERANDS];          /* values */
  st_dtype dtypes[ST_INSTR_OPERANDS]; /* of the results */
} st_ir_call;

/* Appends a call, whose results are stored in out. BAD_STATE when there are too
 * many instructions or operands. */
st_status st__ir_instr(st_ir *c, const st_ir_call *call, int *out);
/* Adds a check: no element of v may be zero when the program runs. */
st_status st__ir_check(st_ir *c, int v);

/* Replaces two instructions by one where a row of
 * kernel/elementwise/fused_pairs.def does both. */
void st__ir_peephole(st_ir *c);
/* Makes the program that computes c->outputs. Changes the IR, which can only
 * be freed afterwards. */
st_status st__ir_lower(st_ir *c, st_program **out);

#endif
