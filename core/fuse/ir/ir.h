/* Code: a program on its way, whose instructions name values.
 */
#ifndef ST_FUSE_IR_IR_H
#define ST_FUSE_IR_IR_H

#include "fuse/ir/program.h"

enum { ST_IR_VALUES = 4096 };

typedef enum st_ir_value_kind {
  ST_IR_INPUT, ST_IR_CONST, ST_IR_RESULT
} st_ir_value_kind;

typedef struct st_ir_value {
  uint8_t kind, dtype;
  bool is_single;     /* one element for all: of a number, or a constant */
  int def;            /* the instruction that gives it, of a result */
  int last;           /* the last one that reads it */
  char bytes[16];     /* of a constant */
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

/* Each gives the value in *out, an older one if it is the same. */
st_status st__ir_input(st_ir *c, st_dtype dtype, bool is_single,
                       int *out);
st_status st__ir_const(st_ir *c, st_dtype dtype, const void *bytes,
                       int *out);
/* v converted as copy_ does. */
st_status st__ir_convert(st_ir *c, int v, st_dtype dtype, int *out);
/* What v was converted from by the last instruction, v otherwise. */
int st__ir_unconverted(const st_ir *c, int v);
/* in: values; dtypes: of the nout results, which get values out[0] .. */
st_status st__ir_instr(st_ir *c, st_loop loop, const st_params *params,
                       int64_t grain, int nin, const int *in, int nout,
                       const st_dtype *dtypes, int *out);
/* v must not be zero when the program runs. */
st_status st__ir_check(st_ir *c, int v);

/* Joins instructions for which there is one kernel (kernel/fused_pairs.def). */
void st__ir_peephole(st_ir *c);
/* The program for the outputs that are set. The code is used up. */
st_status st__ir_lower(st_ir *c, st_program **out);

#endif
