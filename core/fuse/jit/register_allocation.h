/* Register allocation, and the state that it shares with codegen.c.
 *
 * Note [Register allocation]
 * Values get registers in the order of the operations. When none is free, the
 * value with the farthest next use is evicted (L. A. Belady, "A Study of
 * Replacement Algorithms for a Virtual-Storage Computer", 1966): loads and
 * constants are rematerialized at that use, other values are spilled to the
 * stack.
 */
#ifndef ST_FUSE_JIT_REGISTER_ALLOCATION_H
#define ST_FUSE_JIT_REGISTER_ALLOCATION_H

#include "fuse/jit/codegen.h"
#include "fuse/jit/x86_encoder.h"

enum {
  ST_CODEGEN_REGS = 15,   /* allocated registers; the 16th is scratch */
  ST_CODEGEN_SPILLS = 32
};

#define ST_VMOVUPS_STORE ST_X64_OP(0, 1, 0x11, 0, ST_X64_WHOLE)

struct st_codegen {
  const st_vector_ir *v;
  st_x64 x;
  bool live[ST_VECTOR_OPS];
  int16_t last_use[ST_VECTOR_OPS]; /* the last operation that reads a value */
  int8_t reg[ST_VECTOR_OPS], spill_slot[ST_VECTOR_OPS]; /* of a value, or -1 */
  int16_t owner[ST_CODEGEN_REGS];  /* the value in a register, or -1 */
  int nspills, npointers;
  int in_k1;                       /* AVX-512: the mask in k1, or -1 */
  bool has_failed;
  int8_t pointer[ST_PROGRAM_SLOTS]; /* general register of a slot, or -1 */
};

static inline st_x64_operand st__spill_operand(int spill_slot) {
  return (st_x64_operand){ST_X64_SPILL, (uint8_t)spill_slot, 0, 0};
}

/* Sets live and last_use. */
void st__find_live_ops(st_codegen *c);
/* True for loads and constants, which are not spilled. */
bool st__is_rematerialized(const st_codegen *c, int v);
/* A register for an operand or the result of operation i. Evicts the value with
 * the farthest next use from i on, so no operand of i. */
int st__alloc_register(st_codegen *c, int i);
void st__assign_register(st_codegen *c, int reg, int v);
/* Frees the registers of values whose last use is operation i, op. */
void st__free_last_uses(st_codegen *c, const st_vector_op *op, int i);

#endif
