/* atleast_1d, atleast_2d and atleast_3d of lists of tensors.
 */

#include "op/row/op.h"

static st_status each(st_op_id id, const st_value *args, st_value *rets) {
  ST_ARGS(TENSORS(tensors));
  st_status status = ST_OK;
  ST_TRY(st__value_new_tensors((int)tensors.n, rets));
  for (uint32_t i = 0; i < tensors.n && status == ST_OK; i++) {
    const st_value one = st__of_tensor(tensors.p[i]);
    status = st__invoke1(id, 1, &one, &rets->u.tensors[i]);
  }
  if (status != ST_OK) st__value_clear(rets);
  return status;
}

ST_BOXED_AS(st__box_atleast_1d_Sequence, each, ST_OP_atleast_1d, args)
ST_BOXED_AS(st__box_atleast_2d_Sequence, each, ST_OP_atleast_2d, args)
ST_BOXED_AS(st__box_atleast_3d_Sequence, each, ST_OP_atleast_3d, args)
