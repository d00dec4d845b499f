/* Complex numbers made of two real tensors: complex and polar.
 */

#include "op/row/composite.h"

static st_status check_parts(const st_tensor *a, const char *a_name,
                             const st_tensor *b, const char *b_name) {
  const st_dtype d = a->dtype;
  if (d == b->dtype && (d == ST_FLOAT16 || d == ST_FLOAT32 ||
                        d == ST_FLOAT64)) {
    return ST_OK;
  }
  return st__fail(ST_BAD_DTYPE, "%s and %s must both be float16, float32 or "
                  "float64, not %s and %s", a_name, b_name, st__dtype_name(d),
                  st__dtype_name(b->dtype));
}

static st_tensor *join(st_op_scope *c, const st_tensor *real,
                       const st_tensor *imag) {
  int64_t sizes[ST_MAX_DIMS];
  int n = 0;
  if (!st__scope_ok(c)) return NULL;
  c->status = st__broadcast_shape(real->ndim, real->sizes, imag->ndim,
                                  imag->sizes, sizes, &n);
  const st_value shape = st__of_ints(sizes, n);
  st_tensor *parts[] = {ST_APPLY(c, ST_OP_expand, real, shape),
                        ST_APPLY(c, ST_OP_expand, imag, shape)};
  return st__apply1(c, ST_OP_view_as_complex,
                    ST_APPLY(c, ST_OP_stack, st__of_tensors(parts, 2), -1));
}

ST_BOXED(st__box_complex) {
  ST_ARGS(TENSOR(real), TENSOR(imag));
  st_op_scope c = {.status = check_parts(real, "real", imag, "imag")};
  return st__scope_return(&c, join(&c, real, imag), rets);
}

ST_BOXED(st__box_polar) {
  ST_ARGS(TENSOR(abs), TENSOR(angle));
  st_op_scope c = {.status = check_parts(abs, "abs", angle, "angle")};
  const st_tensor *cos = st__apply1(&c, ST_OP_cos, angle);
  const st_tensor *sin = st__apply1(&c, ST_OP_sin, angle);
  const st_tensor *real = st__mul(&c, abs, cos);
  const st_tensor *imag = st__mul(&c, abs, sin);
  return st__scope_return(&c, join(&c, real, imag), rets);
}
