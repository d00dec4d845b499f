/* local_response_norm: elements divided by a power of the mean square of
 * neighbouring channels.
 */

#include <inttypes.h>

#include "op/nn/spatial.h"

/* The means of `size` channels around each, as in avg_pool2d with padding. */
static st_tensor *channel_means(st_op_scope *c, const st_tensor *squares,
                                int64_t size) {
  const int64_t flat[] = {squares->sizes[0], 1, squares->sizes[1],
                          st__product_of(squares->ndim - 2,
                                         squares->sizes + 2)};
  const st_tensor *t = st__apply_reshape(c, squares, 4, flat);
  t = ST_APPLY(c, ST_OP_constant_pad_nd, t,
               ST_INTS(0, 0, size / 2, (size - 1) / 2));
  t = ST_APPLY(c, ST_OP_avg_pool2d, t, ST_INTS(size, 1), ST_INTS(1));
  return st__apply_reshape(c, t, squares->ndim, squares->sizes);
}

ST_BOXED(st__box_local_response_norm) {
  ST_ARGS(MUTABLE(input), INT(size), BOXED(alpha), BOXED(beta), BOXED(k));
  if (input->ndim < 3) {
    return st__fail(ST_BAD_SHAPE, "input must have 3 dimensions or more, but "
                    "its shape is %s", ST_SHAPE_TEXT(input));
  }
  if (size < 1 || size > INT32_MAX) {
    return st__fail(ST_BAD_VALUE, "size must be positive and fit in 32 bits, "
                    "it is %" PRId64, size);
  }
  st_op_scope c = {.n = 0};
  if (input->numel == 0) return st__scope_return(&c, input, rets);
  const st_tensor *t = st__mul(&c, input, input);
  if (st__scope_ok(&c)) t = channel_means(&c, t, size);
  t = ST_APPLY(&c, ST_OP_mul_Scalar, t, *alpha);
  t = ST_APPLY(&c, ST_OP_add_Scalar, t, *k);
  t = ST_APPLY(&c, ST_OP_pow_Tensor_Scalar, t, *beta);
  return st__scope_return(&c, st__div(&c, input, t), rets);
}
