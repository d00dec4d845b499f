/* Vector IR: the operations of one iteration of a region's loop.
 *
 * Note [Vector IR]
 * A region of a program becomes a list of operations on vectors, each of which
 * gives one value. All values of a list have the same number of lanes, which
 * are as wide as the elements; a bool is a mask, a lane of ones or of zeros.
 * Equal operations are merged.
 *
 * Note [Loads are rematerialized]
 * Elements are loaded at each use, and loaded again if the value was evicted
 * from its register. So a load may only be used by operations of the
 * instruction that it was made for: a later instruction may have overwritten
 * the memory. An instruction whose result is a load copies it at once
 * (ST_V_COPY).
 */
#ifndef ST_FUSE_JIT_VECTOR_IR_H
#define ST_FUSE_JIT_VECTOR_IR_H

#include "fuse/program.h"

enum { ST_VECTOR_OPS = 1024 };

/* Operands a, b and c are earlier values. */
typedef enum st_vector_opcode {
  ST_V_LOAD,      /* the elements of a slot, as lanes */
  ST_V_STORE,     /* stores a to a slot, in its dtype; has no value */
  ST_V_CONST,     /* bits, in all lanes */
  ST_V_ADD, ST_V_SUB, ST_V_MUL, ST_V_DIV,
  ST_V_MIN,       /* a < b ? a : b */
  ST_V_MAX,       /* a > b ? a : b */
  ST_V_SQRT,
  ST_V_ROUND,     /* to an integer; imm: an st_vector_rounding */
  ST_V_COMPARE,   /* imm: an st_vector_predicate; gives a mask */
  ST_V_AND,
  ST_V_AND_NOT,   /* ~a & b */
  ST_V_OR, ST_V_XOR,
  ST_V_SELECT,    /* c ? a : b, by a mask */
  ST_V_FMA,       /* a * b + c, rounded once */
  ST_V_INT_ADD, ST_V_INT_SUB, /* of the bits of lanes */
  ST_V_SHIFT_LEFT, ST_V_SHIFT_RIGHT, /* by imm; zeros move in */
  ST_V_FLOAT,     /* converts 32-bit integers */
  ST_V_COPY,      /* copies a load: Note [Loads are rematerialized] */
  ST_V_HALF,      /* rounds to float16 */
  ST_V_COUNT
} st_vector_opcode;

/* Of NaN, ST_V_NE is true and the others are false. */
typedef enum st_vector_predicate {
  ST_V_EQ, ST_V_NE, ST_V_LT, ST_V_LE, ST_V_GE, ST_V_GT,
  ST_V_PREDICATES
} st_vector_predicate;

typedef enum st_vector_rounding {
  ST_V_EVEN,      /* to the nearest one, the even one of two */
  ST_V_FLOOR, ST_V_CEIL, ST_V_TRUNC,
  ST_V_ROUNDINGS
} st_vector_rounding;

typedef struct st_vector_op {
  uint8_t code, imm;
  uint8_t dtype;       /* LOAD, STORE: the slot's */
  int16_t slot;
  int16_t a, b, c;     /* -1: none */
  uint64_t bits;
} st_vector_op;

typedef struct st_vector_ir {
  int n, width;        /* width: bytes of a lane, 4 or 8 */
  bool is_full;        /* an operation was dropped */
  st_vector_op ops[ST_VECTOR_OPS];
  int16_t latency[ST_VECTOR_OPS]; /* cycles of the critical path, estimated */
} st_vector_ir;

/* Appends an operation and returns its value. An equal earlier one is shared,
 * and a constant one is folded. */
int st__vector_op(st_vector_ir *v, st_vector_opcode code, int imm, int a, int b,
                  int c);
int st__vector_load(st_vector_ir *v, int slot, st_dtype dtype);
void st__vector_store(st_vector_ir *v, int slot, st_dtype dtype, int a);
int st__vector_bits(st_vector_ir *v, uint64_t bits);
int st__vector_float(st_vector_ir *v, double number);
/* A mask of all ones or all zeros. */
int st__vector_bool(st_vector_ir *v, bool is_true);
bool st__vector_is_bool(const st_vector_ir *v, int a, bool is_true);

#endif
