/* The code generator: emits vector IR as a loop of machine code.
 *
 * Stage jit of Note [Stages of fusion]. In: vector IR (vector_ir.h). Out: bytes
 * of machine code, by way of register_allocation.h and a target (jit_target.h).
 */
#ifndef ST_FUSE_JIT_CODEGEN_H
#define ST_FUSE_JIT_CODEGEN_H

#include "fuse/jit/vector_ir.h"

/* The state of one compilation. The generated function is
 *   void code(char *const *at, int64_t n);
 * it loops over n elements, rounded up to whole vectors; at[slot] is the memory
 * of a slot. */
typedef struct st_codegen st_codegen;
typedef struct st_jit_target st_jit_target;

/* The target of this processor; NULL if there is none. */
const st_jit_target *st__jit_target(void);
/* True if the target has all operations of v. */
bool st__codegen_has(const st_jit_target *target, const st_vector_ir *v);

/* The caller owns the result; NULL when out of memory. */
st_codegen *st__codegen_new(const st_jit_target *target);
void st__codegen_free(st_codegen *c);
/* Emits at most max bytes into code. Returns their number, a multiple of the
 * vector size, or 0 if max or the spill slots do not suffice. v and code are
 * borrowed for the call. */
size_t st__codegen_loop(st_codegen *c, const st_vector_ir *v, uint8_t *code,
                        size_t max);

#endif
