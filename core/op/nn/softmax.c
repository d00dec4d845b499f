/* softmax, log_softmax and softmin, and their gradients. The loops are in
 * kernel/softmax/softmax.c; reduce/lines.c runs them along a dimension.
 */

#include "op/reduce/cumsum.h"
#include "op/reduce/line_tiles.h"
#include "op/row/op.h"

/* -- softmax -------------------------------------------------------------- */

st_status st__softmax_meta(st_run *r) {
  const st_value *args = r->args;
  ST_ARGS(TENSOR(self));
  st_dtype dtype;
  int dim;
  ST_TRY(st__wrap_dim(st__next_int(&args), self->ndim, &dim));
  ST_TRY(st__asked_dtype(r, self->dtype, &dtype));
  if (!st__is_floating(dtype) && self->numel > 0) {
    return st__no_kernel_for(dtype);
  }
  return st__set_output(r, 0, self->ndim, self->sizes, NULL, dtype);
}

ST_BOXED(st__box_softmin) {
  st_tensor *negative = NULL;
  ST_TRY(st__invoke1(ST_OP_neg, 1, args, &negative));
  const st_status status =
    st__invoke(ST_OP_softmax_int, ST_VALUES(negative, args[1], args[2]), rets);
  st__tensor_release(&negative);
  return status;
}

/* -- Gradients of softmax ------------------------------------------------- */

st_status st__softmax_backward_meta(st_run *r) {
  const st_value *args = r->args;
  ST_ARGS(TENSOR(grad), TENSOR(output));
  const st_dtype d = grad->dtype;
  int dim;
  ST_TRY(st__wrap_dim(st__next_int(&args), grad->ndim, &dim));
  const st_dtype input_dtype = (st_dtype)st__next_int(&args);
  if (!st__is_floating(d)) return st__no_kernel_for(d);
  if (!st__is_floating(input_dtype)) return st__no_kernel_for(input_dtype);
  if (output->dtype != d) {
    return st__fail(ST_BAD_DTYPE, "output has dtype %s, grad_output %s",
                    st__dtype_name(output->dtype),
                    st__dtype_name(d));
  }
  if (!st__same_sizes(grad, output)) {
    return st__fail(ST_BAD_SHAPE, "output has shape %s, grad_output %s",
                    ST_SHAPE_TEXT(output), ST_SHAPE_TEXT(grad));
  }
  return st__set_output(r, 0, grad->ndim, grad->sizes, NULL, input_dtype);
}

st_status st__softmax_backward_impl(st_run *r) {
  const st_value *args = r->args;
  ST_ARGS(MUTABLE(grad), MUTABLE(output));
  st_tensor *to = r->out[0], *own = NULL;
  const st_dtype d = grad->dtype;
  st_loop loop;
  st_lines lines;
  int dim;
  ST_TRY(st__wrap_dim(st__next_int(&args), grad->ndim, &dim));
  if (grad->numel == 0) return ST_OK;
  ST_TRY(st__find_kernel(r->row->kernel, d, &loop));
  if (to->dtype != d) {
    ST_TRY(st__tensor_empty(r->device, d, grad->ndim, grad->sizes,
                            ST_FORMAT_CONTIGUOUS, &own));
    to = own;
  }
  st__lines_init(&lines, 3, (st_tensor *[]){to, grad, output}, dim);
  st_status status = st__line_tiles_run_all(&lines, 1, 0, loop, NULL,
                                            r->row->kernel);
  if (own && status == ST_OK) status = st__copy_unchecked(r->out[0], own);
  st__tensor_release(&own);
  return status;
}
