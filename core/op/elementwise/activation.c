/* Composite activations: relu6, selu, celu, prelu, softsign, tanhshrink.
 */

#include <inttypes.h>

#include "op/row/composite.h"

ST_BOXED(st__box_relu6) {
  const st_value self = *st__next(&args);
  const st_value all[] = {self, st__of_int(0), st__of_int(6)};
  return st__invoke(ST_OP_hardtanh, 3, all, rets);
}

/* The two constants of Klambauer et al., Self-Normalizing Neural Networks. */
ST_BOXED(st__box_selu) {
  const st_value self = *st__next(&args);
  const st_value all[] = {self, st__of_float(1.6732632423543772),
                          st__of_float(1.0507009873554805)};
  return st__invoke(ST_OP_elu, 3, all, rets);
}

ST_BOXED(st__box_celu) {
  const st_value self = *st__next(&args), alpha = *st__next(&args);
  const double slope = st__scalar_to_double(st__scalar_of(&alpha));
  if (slope == 0) return st__fail(ST_BAD_VALUE, "alpha must not be 0");
  const st_value all[] = {self, alpha, st__of_float(1),
                          st__of_float(1 / slope)};
  return st__invoke(ST_OP_elu, 4, all, rets);
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
  const st_tensor *self = st__next_tensor(&args);
  const st_tensor *weight = st__next_tensor(&args);
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
  const st_tensor *self = st__next_tensor(&args);
  st_op_scope c = {.n = 0};
  if (self->dtype == ST_FLOAT32 || self->dtype == ST_FLOAT64) {
    return st__scope_return(&c, st__apply1(&c, ST_OP__softsign, self), rets);
  }
  const st_tensor *size = st__apply1(&c, ST_OP_abs, self);
  size = st__apply_with(&c, ST_OP_add_Scalar, size, st__of_int(1));
  return st__scope_return(&c, st__apply2(&c, ST_OP_div_Tensor, self, size),
                          rets);
}

ST_BOXED(st__box_tanhshrink) {
  const st_tensor *self = st__next_tensor(&args);
  st_op_scope c = {.n = 0};
  const st_tensor *tanh = st__apply1(&c, ST_OP_tanh, self);
  return st__scope_return(&c, st__apply2(&c, ST_OP_sub_Tensor, self, tanh),
                          rets);
}
