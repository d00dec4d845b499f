/* Register allocation, and the state that codegen.c and the targets share.
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

#include "fuse/jit/jit_target.h"

struct st_codegen {
  const st_jit_target *target;
  const st_vector_ir *v;
  uint8_t *code;                   /* borrowed; n bytes of at most max */
  size_t n, max;
  bool live[ST_VECTOR_OPS];
  int16_t last_use[ST_VECTOR_OPS]; /* the last operation that reads a value */
  int8_t reg[ST_VECTOR_OPS], spill_slot[ST_VECTOR_OPS]; /* of a value, or -1 */
  int16_t owner[ST_JIT_REGISTERS]; /* the value in a register, or -1 */
  int nspills;
  bool has_failed;                 /* code or spill slots do not suffice */
};

/* Sets live and last_use. */
void st__find_live_ops(st_codegen *c);
/* True for loads and constants, which are not spilled. */
bool st__is_rematerialized(const st_codegen *c, int v);
/* A register for an operand or the result of operation i. Evicts the value with
 * the farthest next use from i on, so no operand of i. */
int st__alloc_register(st_codegen *c, int i);
void st__assign_register(st_codegen *c, int reg, int v);
/* The register of value v for operation i, which is filled if v has none. */
int st__register_of(st_codegen *c, int v, int i);
/* Frees the registers of values whose last use is operation i, op. */
void st__free_last_uses(st_codegen *c, const st_vector_op *op, int i);

#endif
