/* Instructions of a program as vector code.
 */
#ifndef ST_FUSE_JIT_KERNEL_LOWERING_H
#define ST_FUSE_JIT_KERNEL_LOWERING_H

#include "fuse/jit/kernel_parser.h"

/* What slots hold while a run is written: v.width is that of its lanes. */
typedef struct st_lowering {
  const st_program *p;
  st_vector_ir v;
  bool is_known[ST_PROGRAM_SLOTS];
  st_vector_value value[ST_PROGRAM_SLOTS];
} st_lowering;

/* Bytes of a lane for an instruction, 0 when any would do, -1 when it has no
 * vector code. */
int st__lower_width(const st_program *p, const st_instr *x);
void st__lower_begin(st_lowering *w, const st_program *p, int width);
/* Appends what x does, which needs lanes of this width; its result is the
 * value of its slot. False, and nothing appended, when it cannot be, or when
 * v is full. */
bool st__lower_instr(st_lowering *w, const st_instr *x);
/* Appends that the value of a slot is written there. */
void st__lower_store(st_lowering *w, int slot);

#endif
