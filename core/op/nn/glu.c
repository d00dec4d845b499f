/* glu: one half of a tensor, gated by the sigmoid of the other. Elements of a
 * half type are computed as float32.
 */

#include "op/row/composite.h"

#include <inttypes.h>

ST_BOXED(st__box_glu) {
  ST_ARGS(TENSOR(self));
  int dim = 0;
  st_op_scope c = {.n = 0};
  if (self->ndim == 0) {
    return st__fail(ST_BAD_SHAPE, "self must have a dimension, but it is "
                    "0-dim");
  }
  ST_TRY(st__wrap_dim(st__next_int(&args), self->ndim, &dim));
  const int64_t half = self->sizes[dim] / 2;
  if (self->sizes[dim] % 2 != 0) {
    return st__fail(ST_BAD_SHAPE, "dimension %d of self must have an even "
                    "size, not %" PRId64, (int)st__display_index(dim),
                    self->sizes[dim]);
  }
  const st_dtype dtype = self->dtype;
  if (st__is_reduced_float(dtype)) self = st__apply_to(&c, self, ST_FLOAT32);
  const st_tensor *gate = st__apply1(
    &c, ST_OP_sigmoid, st__apply_narrow(&c, self, dim, half, half));
  const st_tensor *value = st__apply_narrow(&c, self, dim, 0, half);
  st_tensor *out = st__mul(&c, value, gate);
  if (st__is_reduced_float(dtype)) out = st__apply_to(&c, out, dtype);
  return st__scope_return(&c, out, rets);
}
