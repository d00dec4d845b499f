/* A machine that the code generator emits for.
 *
 * codegen.c walks the vector IR and calls the target for each operation;
 * register_allocation.h says where values are. A new machine is a file with an
 * st_jit_target, and a line in codegen.c.
 */
#ifndef ST_FUSE_JIT_JIT_TARGET_H
#define ST_FUSE_JIT_JIT_TARGET_H

#include "fuse/jit/codegen.h"

enum { ST_JIT_REGISTERS = 32, ST_JIT_SPILLS = 32 };

struct st_jit_target {
  int vector;     /* bytes of a vector */
  int registers;  /* of vectors, that are allocated: at most ST_JIT_REGISTERS */
  size_t size;    /* of its state, which begins with an st_codegen */
  /* True if it has an operation on lanes of `width` bytes. A region ends before
   * one that it has not. */
  bool (*has)(const st_vector_op *op, int width);
  /* Emits what comes before the loop. */
  void (*begin)(st_codegen *c);
  /* Emits operation i, which is live, and frees the registers of its operands.
   * Loads and constants are emitted where they are used. */
  void (*emit)(st_codegen *c, int i);
  /* Emits a store of a register to a spill slot, and what gives a register the
   * value v, which is in a spill slot, a constant or a load. */
  void (*spill)(st_codegen *c, int reg, int spill_slot);
  void (*fill)(st_codegen *c, int reg, int v);
  /* Emits the end of the loop, the return and the constants. */
  void (*end)(st_codegen *c);
};

/* The x86-64 target of the instruction set in use; NULL: none. */
const st_jit_target *st__x86_target(void);

#endif
