/* Code: a program on its way, whose instructions name values.
 */
#ifndef ST_FUSE_CODE_H
#define ST_FUSE_CODE_H

#include "fuse/program.h"

enum { ST_CODE_VALUES = 4096 };

typedef enum st_value_kind {
  ST_VALUE_INPUT, ST_VALUE_CONST, ST_VALUE_RESULT
} st_value_kind;

typedef struct st_code_value {
  uint8_t kind, dtype;
  bool is_single;     /* one element for all: of a number, or a constant */
  int maker;          /* the instruction that gives it, of a result */
  int last;           /* the last one that reads it */
  char bytes[16];     /* of a constant */
} st_code_value;

/* Values 0 .. ninputs - 1 are the inputs. */
typedef struct st_code {
  int ninputs, nvalues, ninstrs, noutputs, nchecks;
  int outputs[ST_PROGRAM_OPERANDS];
  int checks[ST_PROGRAM_CHECKS];
  st_code_value values[ST_CODE_VALUES];
  st_instr instrs[ST_PROGRAM_INSTRS];
} st_code;

st_status st__code_new(st_code **out);
void st__code_free(st_code **c);

/* Each gives the value in *out, an older one if it is the same. */
st_status st__code_input(st_code *c, st_dtype dtype, bool is_single,
                         int *out);
st_status st__code_const(st_code *c, st_dtype dtype, const void *bytes,
                         int *out);
/* v converted as copy_ does. */
st_status st__code_convert(st_code *c, int v, st_dtype dtype, int *out);
/* What v was converted from by the last instruction, v otherwise. */
int st__code_unconverted(const st_code *c, int v);
/* in: values; dtypes: of the nout results, which get values out[0] .. */
st_status st__code_loop(st_code *c, st_loop loop, const st_params *params,
                        int64_t grain, int nin, const int *in, int nout,
                        const st_dtype *dtypes, int *out);
/* v must not be zero when the program runs. */
st_status st__code_check(st_code *c, int v);

/* Joins instructions for which there is one kernel (kernel/fused_pairs.def). */
void st__code_pair(st_code *c);
/* The program for the outputs that are set. The code is used up. */
st_status st__code_assemble(st_code *c, st_program **out);

#endif
