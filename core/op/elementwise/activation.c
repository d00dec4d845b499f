/* Composite activations: relu6, selu, celu, prelu.
 */

#include "op/nn/spatial.h"
#include "op/registry/op.h"

ST_BOXED(st__box_relu6) {
  const st_value all[] = {args[0], st__of_int(0), st__of_int(6)};
  return st__invoke(ST_OP_hardtanh, 3, all, rets);
}

/* The two constants of Klambauer et al., Self-Normalizing Neural Networks. */
ST_BOXED(st__box_selu) {
  const st_value all[] = {args[0], st__of_float(1.6732632423543772),
                          st__of_float(1.0507009873554805)};
  return st__invoke(ST_OP_elu, 3, all, rets);
}

ST_BOXED(st__box_celu) {
  const double alpha = st__scalar_to_double(st__to_scalar(&args[1]));
  if (alpha == 0) return st__fail(ST_BAD_VALUE, "alpha must not be 0");
  const st_value all[] = {args[0], args[1], st__of_float(1),
                          st__of_float(1 / alpha)};
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
    return st__fail(ST_BAD_SHAPE, "weight has %lld elements for %lld channels",
                    (long long)weight->numel, (long long)channels);
  }
  return ST_OK;
}

/* One weight per channel broadcasts along the second dimension. */
ST_BOXED(st__box_prelu) {
  const st_tensor *self = args[0].u.tensor, *weight = args[1].u.tensor;
  st_op_scope c = {.status = check_prelu(self, weight)};
  int64_t sizes[ST_MAX_DIMS];
  for (int d = 0; d < self->ndim; d++) sizes[d] = 1;
  if (self->ndim > 1) sizes[1] = weight->numel;
  self = st__apply_attached(&c, self, self);
  weight = st__apply_with(&c, ST_OP_reshape,
                          st__apply_attached(&c, weight, weight),
                          st__of_ints(sizes, args[0].u.tensor->ndim));
  const st_value choice[] = {
    st__of_tensor(st__apply_with(&c, ST_OP_gt_Scalar, self, st__of_int(0))),
    st__of_tensor(self),
    st__of_tensor(st__apply2(&c, ST_OP_mul_Tensor, weight, self))};
  return st__scope_return(&c, st__apply(&c, ST_OP_where_self, 3, choice), rets);
}
