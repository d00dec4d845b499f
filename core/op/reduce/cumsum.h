/* Operators along one dimension: running sums and extrema, softmax.
 */
#ifndef ST_OP_REDUCE_CUMSUM_H
#define ST_OP_REDUCE_CUMSUM_H

#include "op/registry/op.h"

st_status st__cumsum_meta(st_run *r);  /* cumsum, cumprod */
st_status st__softmax_meta(st_run *r); /* the two softmaxes, logcumsumexp */
st_status st__scan_impl(st_run *r);    /* runs the row's kernel */
st_status st__softmax_backward_meta(st_run *r); /* of both */
st_status st__softmax_backward_impl(st_run *r);
st_status st__cummax_meta(st_run *r);  /* cummax, cummin */
st_status st__cummax_impl(st_run *r);

/* -- Lines ---------------------------------------------------------------- */

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

#endif
