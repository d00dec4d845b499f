/* The state of the code generator, and its register allocation.
 *
 * Note [Register allocation]
 * Values get registers as they come. When there is none left, the value that
 * is read farthest ahead gives up its own (L. A. Belady, "A Study of
 * Replacement Algorithms for a Virtual-Storage Computer", 1966): loads and
 * constants are simply read again, others go to the stack.
 */
#ifndef ST_FUSE_JIT_REGISTER_ALLOCATION_H
#define ST_FUSE_JIT_REGISTER_ALLOCATION_H

#include "fuse/jit/codegen.h"
#include "fuse/jit/x86_encoder.h"

enum {
  ST_CODEGEN_REGS = 15,   /* the 16th one is scratch */
  ST_CODEGEN_SPILLS = 32
};

#define ST_VMOVUPS_STORE ST_X64_OP(0, 1, 0x11, 0, ST_X64_WHOLE)

struct st_codegen {
  const st_vector_ir *v;
  st_x64 x;
  bool live[ST_VECTOR_OPS];
  int16_t last_use[ST_VECTOR_OPS]; /* the operation that reads it last */
  int8_t reg[ST_VECTOR_OPS], spill_slot[ST_VECTOR_OPS];
  int16_t owner[ST_CODEGEN_REGS];
  int nspills, npointers;
  int in_k1;                     /* AVX-512: the value whose lanes k1 has */
  bool has_failed;
  int8_t pointer[ST_PROGRAM_SLOTS];
};

static inline st_x64_operand st__spill_operand(int spill_slot) {
  return (st_x64_operand){ST_X64_SPILL, (uint8_t)spill_slot, 0, 0};
}

/* Finds the operations that are needed, and the last use of each value. */
void st__find_live_ops(st_codegen *c);
/* True for loads and constants, which are read again instead of spilled. */
bool st__is_rematerialized(const st_codegen *c, int v);
/* A register for what operation i reads or gives; those that it reads are
 * kept. */
int st__alloc_register(st_codegen *c, int i);
void st__assign_register(st_codegen *c, int reg, int v);
/* Frees the registers of values whose last use is operation i, op. */
void st__free_last_uses(st_codegen *c, const st_vector_op *op, int i);

#endif
