/* Lowering of a program's instructions to vector IR.
 */
#ifndef ST_FUSE_JIT_KERNEL_LOWERING_H
#define ST_FUSE_JIT_KERNEL_LOWERING_H

#include "fuse/jit/kernel_parser.h"

/* The vector IR of a region, and the values of the slots in it. v.width is the
 * width of its lanes. */
typedef struct st_lowering {
  const st_program *p;
  st_vector_ir v;
  bool is_known[ST_PROGRAM_SLOTS];
  st_vector_value value[ST_PROGRAM_SLOTS];
  st_kernel_locals locals;
} st_lowering;

/* Bytes of a lane for an instruction; 0 if any width fits, -1 if it cannot be
 * lowered. */
int st__lower_width(const st_program *p, const st_instr *x);
void st__lower_begin(st_lowering *w, const st_program *p, int width);
/* Appends the operations of x, whose width must be v.width or 0, and binds the
 * result to its slot. False, and nothing appended, if x cannot be lowered or v
 * is full. */
bool st__lower_instr(st_lowering *w, const st_instr *x);
/* Appends a store of the slot's value. */
void st__lower_store(st_lowering *w, int slot);

#endif
