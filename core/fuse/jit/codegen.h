/* Vector code as a loop of machine code.
 */
#ifndef ST_FUSE_JIT_CODEGEN_H
#define ST_FUSE_JIT_CODEGEN_H

#include "fuse/jit/vector_ir.h"

/* void code(char *const *at, int64_t n): the loop over n elements, rounded up
 * to whole vectors, with at[slot] for the memory of a slot. */
typedef struct st_codegen st_codegen;

/* What compiling needs of memory, the caller's; NULL when there is none. */
st_codegen *st__codegen_new(void);
void st__codegen_free(st_codegen *c);
/* Writes code of at most max bytes; how many there are, whole vectors of them,
 * or 0 when it does not fit. v and code are borrowed for the call. */
size_t st__codegen_loop(st_codegen *c, const st_vector_ir *v, uint8_t *code,
                        size_t max);

#endif
