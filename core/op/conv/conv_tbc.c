/* conv_tbc: conv1d of (time, batch, channels).
 */

#include "op/nn/spatial.h"

static st_status conv_tbc(const st_tensor *self, const st_tensor *weight,
                          const st_tensor *bias, int64_t pad, st_value *rets) {
  if (self->ndim != 3 || weight->ndim != 3 || bias->ndim != 1 ||
      self->sizes[2] != weight->sizes[1] ||
      bias->sizes[0] != weight->sizes[2]) {
    return st__fail(ST_BAD_SHAPE, "self must be (time, batch, in), weight "
                    "(width, in, out) and bias (out), but their shapes are %s, "
                    "%s and %s", ST_SHAPE_TEXT(self), ST_SHAPE_TEXT(weight),
                    ST_SHAPE_TEXT(bias));
  }
  st_op_scope c = {.n = 0};
  const st_tensor *y = ST_APPLY(
    &c, ST_OP_conv1d, ST_APPLY(&c, ST_OP_permute, self, ST_INTS(1, 2, 0)),
    ST_APPLY(&c, ST_OP_permute, weight, ST_INTS(2, 1, 0)), bias, ST_INTS(1),
    st__of_ints(&pad, 1));
  y = ST_APPLY(&c, ST_OP_permute, y, ST_INTS(2, 0, 1));
  return st__scope_return(&c, st__apply1(&c, ST_OP_contiguous, y), rets);
}
ST_TYPED_ARGS(st__box_conv_tbc, conv_tbc, (TENSOR, TENSOR, TENSOR, INT))
