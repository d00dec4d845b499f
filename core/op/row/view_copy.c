/* Copies of views: NAME_copy returns what the view operator NAME returns, as
 * new contiguous tensors.
 */

#include "op/row/kernel_context.h"

/* Replaces a view by a copy of its elements. */
static st_status copy(st_tensor **view) {
  st_tensor *own = NULL;
  ST_TRY(st__invoke1(ST_OP_clone, ST_VALUES(*view, ST_FORMAT_CONTIGUOUS),
                     &own));
  st__tensor_release(view);
  *view = own;
  return ST_OK;
}

/* Calls the row's view operator, which has the same arguments. */
ST_BOXED(st__view_copy) {
  const st_structured_ctx *ctx = call->ctx;
  const st_op_id view = (st_op_id)ctx->row->target;
  st_value made;
  st_status status = ST_OK;
  ST_TRY(st__invoke(view, call->schema->nargs, args, &made));
  if (made.tag == ST_TAG_TENSOR) {
    status = copy(&made.u.tensor);
  } else {
    for (uint32_t i = 0; status == ST_OK && i < made.len; i++) {
      status = copy(&made.u.tensors[i]);
    }
  }
  if (status == ST_OK) *rets = made;
  else st__value_clear(&made);
  return status;
}
