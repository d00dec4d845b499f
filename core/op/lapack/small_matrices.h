/* Batches of matrices of at most 8 rows and columns: Note [Small matrices].
 */
#ifndef ST_OP_LAPACK_SMALL_MATRICES_H
#define ST_OP_LAPACK_SMALL_MATRICES_H

#include "kernel/small_matrices/small_matrices.h"
#include "op/lapack/lapack.h"

/* A call of a kernel for a batch. An operand that is not set is not wanted. */
typedef struct st_small_call {
  st_kernel_id kernel;
  st_dtype dtype;
  int64_t count; /* matrices */
  double cost;   /* multiplications for one */
  st_small s;
  char *data[ST_SMALL_OPERANDS];
  int64_t next[ST_SMALL_OPERANDS];
  st_tensor *own[ST_SMALL_OPERANDS]; /* copies of inputs */
} st_small_call;

/* True if there is a kernel for t's matrices. */
bool st__is_small(const st_tensor *t);

/* The call for A's matrices; k is the number of columns of another operand. */
st_small_call st__small_call(st_kernel_id kernel, const st_tensor *A,
                             int64_t k);
/* Operand i: an input, perhaps transposed, copied if its matrices are not at
 * equal distances. */
st_status st__small_input(st_small_call *c, int i, const st_tensor *t,
                          bool is_transposed);
/* Operand i: an output of matrices at equal distances, or a contiguous one of
 * `trailing` dimensions each. */
void st__small_output(st_small_call *c, int i, const st_tensor *t,
                      bool is_transposed);
void st__small_values(st_small_call *c, int i, const st_tensor *t,
                      int trailing);
/* Runs the kernel, on several threads if that pays. */
st_status st__small_run(st_small_call *c);
/* Releases the copies. */
void st__small_end(st_small_call *c);

#endif
