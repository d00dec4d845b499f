/* The part of abi/types.h about devices that extensions bring. Included by it
 * only, and flattened with it.
 */
#ifndef ST_ABI_BACKEND_TYPES_H
#define ST_ABI_BACKEND_TYPES_H

/* -- Expressions of elementwise kernels ----------------------------------- */

/* The operations of an expression, X(name). Operands a, b and c are earlier
 * values; a lane is an element of `width` bytes.
 *
 *   LOAD     the elements of operand `slot` of the plan, which have `dtype`:
 *            floating ones converted to lanes, a bool as a mask, integers
 *            extended to 32-bit integers (see FLOAT)
 *   STORE    converts a, for a bool a mask, to `dtype`, rounded to nearest,
 *            and stores it in operand `slot`; has no value
 *   CONST    the lane whose bits are `bits`
 *   PARAM    the scalar argument number imm
 *   ADD SUB MUL DIV SQRT  rounded once; FMA: a * b + c, rounded once
 *   MIN MAX  a < b ? a : b and a > b ? a : b
 *   ROUND    to an integer; imm: an st_vector_rounding
 *   COMPARE  imm: an st_vector_predicate; gives a mask: a lane of ones or zeros
 *   AND AND_NOT OR XOR    of the bits of lanes; AND_NOT: ~a & b
 *   SELECT   c ? a : b, by a mask
 *   INT_ADD INT_SUB       of the bits of lanes, as integers that wrap
 *   SHIFT_LEFT SHIFT_RIGHT by imm bits; zeros move in
 *   FLOAT    converts lanes that are 32-bit integers
 *   COPY     a
 *   HALF     a, rounded to float16 and back
 */
#define ST_VECTOR_OPCODE_MAP(X) \
  X(LOAD) X(STORE) X(CONST) X(PARAM) X(ADD) X(SUB) X(MUL) X(DIV) X(MIN)      \
  X(MAX) X(SQRT) X(ROUND) X(COMPARE) X(AND) X(AND_NOT) X(OR) X(XOR)          \
  X(SELECT) X(FMA) X(INT_ADD) X(INT_SUB) X(SHIFT_LEFT) X(SHIFT_RIGHT)        \
  X(FLOAT) X(COPY) X(HALF)

typedef enum st_vector_opcode {
#define ST_VECTOR_OPCODE_ENUM(name) ST_V_##name,
  ST_VECTOR_OPCODE_MAP(ST_VECTOR_OPCODE_ENUM)
#undef ST_VECTOR_OPCODE_ENUM
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
  uint8_t dtype;       /* LOAD, STORE */
  int16_t slot;        /* LOAD, STORE: an operand of the plan */
  int16_t a, b, c;     /* indices of operations; -1: none */
  uint64_t bits;
} st_vector_op;

/* What one loop of a device computes of each element: the expression of an
 * elementwise operator, or of several that are fused. It has a STORE for each
 * output, at the end. Its values are the same
 * to the bit as on the CPU if each operation is rounded once (of two NaN
 * operands either may be the result). */
typedef struct st_expression {
  const char *text;        /* the expression in C, for people; "" if fused */
  int width;               /* bytes of a lane: 4 (float32) or 8 (float64) */
  int nparams;             /* scalar arguments */
  int noutputs, noperands; /* of the plans it runs over; outputs first */
  int nops;
  const st_vector_op *ops;
} st_expression;

/* -- Devices -------------------------------------------------------------- */

enum { ST_BACKEND_DEVICES = 16 /* most devices of a backend */ };

/* A place in memory: `offset` bytes into a block. */
typedef struct st_place {
  st_device device;    /* ST_DEVICE_CPU: the block is an address */
  void *block;
  size_t offset;
} st_place;

typedef struct st_device_properties {
  char name[64];       /* of the hardware */
  size_t alignment;    /* of blocks, in bytes */
  size_t max_bytes;    /* of one block; 0: no limit of its own */
  size_t total_bytes, free_bytes; /* of its memory; 0: unknown */
  int nunits;          /* processors that work at a time; 0: unknown */
} st_device_properties;

/* The devices of an extension: "name", "name:1", ... are number 0, 1, ... of
 * its `ndevices`. Any thread may call these functions, also while others run;
 * they fail with st_fail. What `fill`, `run` and copies within the backend
 * start may still run when they return, in the order of the calls; a copy to
 * the CPU has ended when it returns, and a copy from it has read everything. An
 * error of earlier work is the error of the next copy to the CPU, or of
 * synchronize. Members that may be NULL say what happens then. */
typedef struct st_backend {
  int ndevices;        /* 0 means 1; at most ST_BACKEND_DEVICES */
  void *ctx;           /* first argument of all functions */
  /* A block of nbytes > 0: an address or any other handle but NULL, which the
   * engine only passes back. NULL: out of memory. */
  void *(*allocate)(void *ctx, int device, size_t nbytes);
  /* May be called while work that uses the block still runs. */
  void (*free)(void *ctx, int device, void *block, size_t nbytes);
  /* Copies nbytes > 0 that do not overlap. One place at least is on a device
   * of the backend; the other is on one of them, too, or on the CPU. */
  st_status (*copy)(void *ctx, const st_place *to, const st_place *from,
                    size_t nbytes);
  /* Writes n > 0 elements of `size` bytes (1, 2, 4, 8 or 16), all equal. NULL:
   * they are copied from the CPU. */
  st_status (*fill)(void *ctx, const st_place *to, const void *element,
                    size_t size, int64_t n);
  /* Waits for all work. NULL: it never runs on. */
  st_status (*synchronize)(void *ctx, int device);
  /* Called by st_manual_seed. NULL: random numbers are those of the CPU. */
  void (*seed)(void *ctx, uint64_t seed);
  /* NULL: unknown. */
  st_status (*properties)(void *ctx, int device, st_device_properties *out);
  /* Compiles an expression, which is valid during the call; NO_KERNEL for one
   * that the device cannot compute: then the CPU does. NULL: it always does. */
  st_status (*compile)(void *ctx, const st_expression *e, void **code);
  /* Runs it on a device over the elements of a plan (strided_plan.h), whose
   * operands are on that device; a 0-dim input may be on the CPU, to be read by
   * st_plan_get. The plan and params are valid during the call. */
  st_status (*run)(void *ctx, int device, void *code, const st_plan *plan,
                   const st_scalar *params);
  void (*release)(void *ctx, void *code);
} st_backend;

#endif
