/* Expressions for devices: what a loop computes of each element, as vector IR
 * whose slots are the operands of a plan (abi/backend_types.h).
 */
#ifndef ST_FUSE_DEVICE_EXPRESSION_H
#define ST_FUSE_DEVICE_EXPRESSION_H

#include "fuse/jit/kernel_lowering.h"

/* An operand of a loop: the dtype in memory, and the one that the loop reads or
 * writes. */
typedef struct st_loop_operand { uint8_t memory, seen; } st_loop_operand;

/* What tells the expressions of kernels apart; compared as bytes. */
typedef struct st_loop_key {
  uint16_t kernel;
  uint8_t dtype, noutputs, noperands;
  st_loop_operand operands[ST_INSTR_OPERANDS];
} st_loop_key;

typedef struct st_expression_builder {
  st_lowering w;
  st_expression e; /* its ops are those of w.v */
} st_expression_builder;

/* The expression of a kernel over operands; false if it has none: its dtype is
 * not real floating, it is not an expression, or an operand's dtype has no
 * lanes. */
bool st__kernel_expression(st_expression_builder *b, const st_loop_key *key);
/* That of a program, over its outputs and inputs. */
bool st__program_expression(st_expression_builder *b, const st_program *p);

#endif
