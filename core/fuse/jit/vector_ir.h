/* Vector code: what one step of a loop computes, operation by operation.
 *
 * Note [Vector IR]
 * A run of instructions of a program becomes a list of operations on vectors
 * of the processor, each of which gives one value. All values of a list have
 * as many lanes, which are as wide as the elements; a bool is a lane of ones
 * or of zeros. What is written twice is computed once.
 *
 * Note [Loads are rematerialized]
 * Elements are loaded where an operation reads them, and again when there was
 * no register to keep them in. So nobody may refer to a load behind the
 * instruction that asked for it: what is there may have been overwritten. If
 * its value is what it has loaded, that is copied at once.
 */
#ifndef ST_FUSE_JIT_VECTOR_IR_H
#define ST_FUSE_JIT_VECTOR_IR_H

#include "fuse/ir/program.h"

enum { ST_VECTOR_OPS = 1024 };

/* Arguments a, b, c are values before; m is a mask. */
typedef enum st_vector_opcode {
  ST_V_LOAD,      /* the elements at a slot, as lanes */
  ST_V_STORE,     /* a to a slot, in its dtype; gives nothing */
  ST_V_CONST,     /* bits in all lanes */
  ST_V_ADD, ST_V_SUB, ST_V_MUL, ST_V_DIV,
  ST_V_MIN,       /* a < b ? a : b */
  ST_V_MAX,       /* a > b ? a : b */
  ST_V_SQRT,
  ST_V_ROUND,     /* imm: a rounding of SSE4.1 */
  ST_V_COMPARE,   /* imm: a predicate of AVX */
  ST_V_AND,
  ST_V_AND_NOT,   /* ~a & b */
  ST_V_OR, ST_V_XOR,
  ST_V_SELECT,    /* c ? a : b */
  ST_V_FLOAT,     /* of an integer of 32 bits */
  ST_V_COPY,      /* of a load: Note [Loads are rematerialized] */
  ST_V_HALF,      /* rounded to float16 */
  ST_V_COUNT
} st_vector_opcode;

/* Predicates and roundings. */
enum {
  ST_V_EQ = 0x00, ST_V_NE = 0x04, ST_V_LT = 0x11, ST_V_LE = 0x12,
  ST_V_GE = 0x1d, ST_V_GT = 0x1e,
  ST_V_EVEN = 0x08, ST_V_FLOOR = 0x09, ST_V_CEIL = 0x0a, ST_V_TRUNC = 0x0b
};

typedef struct st_vector_op {
  uint8_t code, imm;
  uint8_t dtype;       /* of the slot, of LOAD and STORE */
  int16_t slot;
  int16_t a, b, c;     /* -1: none */
  uint64_t bits;
} st_vector_op;

typedef struct st_vector_ir {
  int n, width;        /* width: bytes of a lane, 4 or 8 */
  bool is_full;        /* what came last is not there */
  st_vector_op ops[ST_VECTOR_OPS];
  int16_t latency[ST_VECTOR_OPS]; /* cycles until it is there, about */
} st_vector_ir;

/* The value of an operation: an older one if it is the same, a constant if it
 * always is. */
int st__vector_op(st_vector_ir *v, st_vector_opcode code, int imm, int a, int b,
                  int c);
int st__vector_load(st_vector_ir *v, int slot, st_dtype dtype);
void st__vector_store(st_vector_ir *v, int slot, st_dtype dtype, int a);
int st__vector_bits(st_vector_ir *v, uint64_t bits);
int st__vector_float(st_vector_ir *v, double number);
/* All ones, or all zeros. */
int st__vector_bool(st_vector_ir *v, bool is_true);
bool st__vector_is_bool(const st_vector_ir *v, int a, bool is_true);

#endif
