/* isclose and allclose.
 */

#include "op/row/composite.h"

static st_status check_close(const st_tensor *self, const st_tensor *other,
                             double rtol, double atol) {
  if (self->dtype != other->dtype) {
    return st__fail(ST_BAD_DTYPE, "self and other must have the same dtype, "
                    "not %s and %s", st__dtype_name(self->dtype),
                    st__dtype_name(other->dtype));
  }
  if (!(rtol >= 0)) {
    return st__fail(ST_BAD_VALUE, "rtol must not be negative");
  }
  if (!(atol >= 0)) {
    return st__fail(ST_BAD_VALUE, "atol must not be negative");
  }
  return ST_OK;
}

/* |self - other| <= atol + |rtol * other|, and the left side is finite. */
static st_tensor *within(st_op_scope *c, const st_tensor *self,
                         const st_tensor *other, st_value rtol,
                         st_value atol) {
  const st_tensor *error = st__apply1(c, ST_OP_abs, st__minus(c, self, other));
  const st_tensor *scaled =
    st__apply1(c, ST_OP_abs, ST_APPLY(c, ST_OP_mul_Scalar, other, rtol));
  const st_tensor *allowed = ST_APPLY(c, ST_OP_add_Scalar, scaled, atol);
  return st__apply2(c, ST_OP_logical_and,
                    st__apply1(c, ST_OP_isfinite, error),
                    st__apply2(c, ST_OP_le_Tensor, error, allowed));
}

ST_BOXED(st__box_isclose) {
  ST_ARGS(TENSOR(self), TENSOR(other), VALUE(rtol), VALUE(atol),
          BOOL(equal_nan));
  const double relative = st__to_float(&rtol, 0);
  const double absolute = st__to_float(&atol, 0);
  const st_dtype d = self->dtype;
  const bool inexact = st__is_inexact(d);
  st_op_scope c = {.status = check_close(self, other, relative, absolute)};
  st_tensor *close = st__apply2(&c, ST_OP_eq_Tensor, self, other);
  if (equal_nan && inexact) {
    const st_tensor *both = st__apply2(&c, ST_OP_logical_and,
                                       st__apply1(&c, ST_OP_isnan, self),
                                       st__apply1(&c, ST_OP_isnan, other));
    ST_APPLY_INTO(&c, ST_OP_logical_or, close, both);
  }
  if (relative == 0 && absolute == 0) {
    return st__scope_return(&c, close, rets);
  }
  if (!inexact) {
    self = st__apply_to(&c, self, st__default_dtype());
    other = st__apply_to(&c, other, st__default_dtype());
  }
  ST_APPLY_INTO(&c, ST_OP_logical_or, close,
                 within(&c, self, other, rtol, atol));
  return st__scope_return(&c, close, rets);
}

ST_BOXED(st__box_allclose) {
  st_op_scope c = {.n = 0};
  const st_tensor *close = st__apply(&c, ST_OP_isclose, 5, args);
  const st_value all = st__of_tensor(st__apply1(&c, ST_OP_all, close));
  if (st__scope_ok(&c)) c.status = st__invoke(ST_OP_item, 1, &all, rets);
  return st__scope_end(&c, 0, NULL, NULL);
}
