/* Composite activations: relu6, selu, celu, prelu, softsign, tanhshrink.
 */

#include <inttypes.h>

#include "op/row/composite.h"

ST_BOXED(st__box_relu6) {
  ST_ARGS(VALUE(self));
  return st__invoke(ST_OP_hardtanh, ST_VALUES(self, 0, 6), rets);
}

/* The two constants of Klambauer et al., Self-Normalizing Neural Networks. */
ST_BOXED(st__box_selu) {
  ST_ARGS(VALUE(self));
  return st__invoke(
    ST_OP_elu, ST_VALUES(self, 1.6732632423543772, 1.0507009873554805), rets);
}

ST_BOXED(st__box_celu) {
  ST_ARGS(VALUE(self), VALUE(alpha));
  const double slope = st__scalar_to_double(st__scalar_of(&alpha));
  if (slope == 0) return st__fail(ST_BAD_VALUE, "alpha must not be 0");
  return st__invoke(
    ST_OP_elu, ST_VALUES(self, alpha, st__of_float(1), st__of_float(1 / slope)),
    rets);
}

static st_status check_prelu(const st_tensor *self, const st_tensor *weight) {
  const int64_t channels = self->ndim > 1 ? self->sizes[1] : 1;
  if (self->dtype != weight->dtype) {
    return st__fail(ST_BAD_DTYPE, "self and weight must have the same dtype, "
                    "not %s and %s", st__dtype_name(self->dtype),
                    st__dtype_name(weight->dtype));
  }
  if (weight->ndim > 1) {
    return st__fail(ST_BAD_SHAPE, "weight must have at most 1 dimension, its "
                    "shape is %s", ST_SHAPE_TEXT(weight));
  }
  if (weight->numel != 1 && weight->numel != channels) {
    return st__fail(ST_BAD_SHAPE, "weight has %" PRId64 " elements for %" PRId64
                    " channels", weight->numel, channels);
  }
  return ST_OK;
}

/* One weight per channel broadcasts along the second dimension. */
ST_BOXED(st__box_prelu) {
  ST_ARGS(TENSOR(self), TENSOR(weight));
  st_op_scope c = {.status = check_prelu(self, weight)};
  int64_t sizes[ST_MAX_DIMS];
  for (int d = 0; d < self->ndim; d++) sizes[d] = 1;
  if (self->ndim > 1) sizes[1] = weight->numel;
  const st_tensor *x = st__apply_attached(&c, self, self);
  weight = st__apply_reshape(&c, st__apply_attached(&c, weight, weight),
                             self->ndim, sizes);
  return st__scope_return(&c, st__apply2(&c, ST_OP__prelu_kernel, x, weight),
                          rets);
}

ST_BOXED(st__box_softsign) {
  ST_ARGS(TENSOR(self));
  st_op_scope c = {.n = 0};
  if (self->dtype == ST_FLOAT32 || self->dtype == ST_FLOAT64) {
    return st__scope_return(&c, st__apply1(&c, ST_OP__softsign, self), rets);
  }
  const st_tensor *size = st__apply1(&c, ST_OP_abs, self);
  size = ST_APPLY(&c, ST_OP_add_Scalar, size, 1);
  return st__scope_return(&c, st__div(&c, self, size), rets);
}

ST_BOXED(st__box_tanhshrink) {
  ST_ARGS(TENSOR(self));
  st_op_scope c = {.n = 0};
  const st_tensor *tanh = st__apply1(&c, ST_OP_tanh, self);
  return st__scope_return(&c, st__minus(&c, self, tanh), rets);
}
