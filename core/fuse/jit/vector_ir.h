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

/* The operations are public: abi/backend_types.h. In the IR of a region a slot
 * is one of the program's, there is no PARAM, and COPY copies a load: Note
 * [Loads are rematerialized]. */

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

#endif
