/* Loops over lines: the one-dimensional slices of tensors along one dimension.
 */
#ifndef ST_OP_REDUCE_LINES_H
#define ST_OP_REDUCE_LINES_H

#include "op/row/op.h"
#include "tensor/loop_dims.h"

enum { ST_LINE_OPERANDS = 3 };

/* Operands of the same sizes, as lines along one dimension. */
typedef struct st_lines {
  int n;                                     /* operands */
  st_tensor *t[ST_LINE_OPERANDS];            /* borrowed; outputs may be NULL */
  int dim;
  int64_t length, count;                     /* elements per line; lines */
  st_loop_dims dims;                         /* other dimensions; in bytes */
  int64_t strides[ST_LINE_OPERANDS * ST_MAX_DIMS]; /* theirs */
  int64_t along[ST_LINE_OPERANDS];
} st_lines;

/* Orders the lines by the strides of the last operand and takes the line
 * length from it; the lengths of the others may differ. */
void st__lines_init(st_lines *l, int n, st_tensor *const *t, int dim);
/* Calls loop for lines [begin, end), once per run of lines at a constant
 * stride. */
void st__lines_run(const st_lines *l, st_loop loop, const void *ctx,
                   int64_t begin, int64_t end);
/* Runs all lines, in parallel if the elements exceed the kernel's grain. */
__attribute__((warn_unused_result))
st_status st__lines_run_all(const st_lines *l, st_loop loop, const void *ctx,
                       st_kernel_id kernel);

#endif
