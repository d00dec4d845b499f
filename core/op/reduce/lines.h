/* Tensors seen as lines along one dimension.
 */
#ifndef ST_OP_REDUCE_LINES_H
#define ST_OP_REDUCE_LINES_H

#include "op/registry/op.h"

enum { ST_LINE_OPERANDS = 3 };

/* Operands of the same sizes, seen as lines along one dimension. */
typedef struct st_lines {
  int n;                                     /* operands */
  st_tensor *t[ST_LINE_OPERANDS];            /* borrowed; outputs may be NULL */
  int dim;
  int64_t length, count;                     /* of a line; lines */
  int ndim;                                  /* the other dimensions, */
  int64_t sizes[ST_MAX_DIMS];                /* fastest first */
  int64_t strides[ST_LINE_OPERANDS][ST_MAX_DIMS]; /* bytes */
  int64_t along[ST_LINE_OPERANDS];
} st_lines;

/* The last operand decides the order of the lines; lengths may differ, the
 * last operand's is the one that counts. */
void st__lines_init(st_lines *l, int n, st_tensor *const *t, int dim);
/* Calls loop for lines [begin, end), as many at a time as lie on a stride. */
void st__lines_run(const st_lines *l, st_loop loop, const void *ctx,
                   int64_t begin, int64_t end);
/* All lines, on the team where there are enough for the kernel's grain. */
void st__lines_run_all(const st_lines *l, st_loop loop, const void *ctx,
                       st_kernel_id kernel);

#endif
