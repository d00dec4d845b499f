/* Elementwise operators made of others: isclose, float_power, ldexp, and
 * activations that are another one with numbers of their own.
 */

#include "op/registry/composite.h"
#include "op/nn/spatial.h"
#include "op/numeric/statistics.h"

/* -- isclose, allclose ---------------------------------------------------- */

static st_status check_close(const st_value *args) {
  const st_tensor *self = args[0].u.tensor, *other = args[1].u.tensor;
  if (self->dtype != other->dtype) {
    return st__fail(ST_BAD_DTYPE, "self is %s and other %s, their dtypes must "
                    "be the same", st__dtype_name((st_dtype)self->dtype),
                    st__dtype_name((st_dtype)other->dtype));
  }
  if (!(st__to_float(&args[2], 0) >= 0)) {
    return st__fail(ST_BAD_VALUE, "rtol must not be negative");
  }
  if (!(st__to_float(&args[3], 0) >= 0)) {
    return st__fail(ST_BAD_VALUE, "atol must not be negative");
  }
  return ST_OK;
}

/* |self - other| <= atol + |rtol other|, and finite. */
static st_tensor *within(st_chain *c, const st_tensor *self,
                         const st_tensor *other, const st_value *args) {
  const st_tensor *error = st__step1(
    c, ST_OP_abs, st__step2(c, ST_OP_sub_Tensor, self, other));
  const st_tensor *scaled = st__step1(
    c, ST_OP_abs, st__step_with(c, ST_OP_mul_Scalar, other, args[2]));
  const st_tensor *allowed = st__step_with(c, ST_OP_add_Scalar, scaled,
                                           args[3]);
  return st__step2(c, ST_OP_logical_and,
                   st__step1(c, ST_OP_isfinite, error),
                   st__step2(c, ST_OP_le_Tensor, error, allowed));
}

ST_BOXED(st__box_isclose) {
  const st_tensor *self = args[0].u.tensor, *other = args[1].u.tensor;
  const st_dtype d = (st_dtype)self->dtype;
  const bool inexact = st__is_floating(d) || st__is_complex(d);
  st_chain c = {.status = check_close(args)};
  st_tensor *close = st__step2(&c, ST_OP_eq_Tensor, self, other);
  if (args[4].u.i && inexact) {
    const st_tensor *both = st__step2(&c, ST_OP_logical_and,
                                      st__step1(&c, ST_OP_isnan, self),
                                      st__step1(&c, ST_OP_isnan, other));
    st__step_into(&c, ST_OP_logical_or, close, both);
  }
  if (st__to_float(&args[2], 0) == 0 && st__to_float(&args[3], 0) == 0) {
    return st__chain_return(&c, close, rets);
  }
  if (!inexact) {
    self = st__step_to(&c, self, st__default_dtype());
    other = st__step_to(&c, other, st__default_dtype());
  }
  st__step_into(&c, ST_OP_logical_or, close, within(&c, self, other, args));
  return st__chain_return(&c, close, rets);
}

ST_BOXED(st__box_allclose) {
  st_chain c = {.n = 0};
  const st_tensor *close = st__step(&c, ST_OP_isclose, 5, args);
  const st_value all = st__of_tensor(st__step1(&c, ST_OP_all, close));
  if (st__going(&c)) c.status = st__invoke(ST_OP_item, 1, &all, rets);
  return st__chain_end(&c, 0, NULL, NULL);
}

/* -- float_power ---------------------------------------------------------- */

static bool is_complex_value(const st_value *v) {
  return v->tag == ST_TAG_TENSOR ? st__is_complex((st_dtype)v->u.tensor->dtype)
                                 : v->tag == ST_TAG_COMPLEX;
}

static st_dtype power_dtype(const st_value *args) {
  return is_complex_value(&args[0]) || is_complex_value(&args[1])
       ? ST_COMPLEX128 : ST_FLOAT64;
}

/* A factor in dtype d; *s holds it if it is a plain number. */
static st_value factor(st_chain *c, const st_value *v, st_dtype d,
                       st_scalar *s) {
  if (v->tag == ST_TAG_TENSOR) {
    return st__of_tensor(st__step_to(c, v->u.tensor, d));
  }
  *s = st__to_scalar(v);
  if (s->kind != ST_SCALAR_COMPLEX) {
    *s = st__scalar_float(st__scalar_to_double(*s));
  }
  return st__of_scalar(s);
}

ST_BOXED(st__box_float_power) {
  const st_op_id id = args[0].tag != ST_TAG_TENSOR ? ST_OP_pow_Scalar
                    : args[1].tag != ST_TAG_TENSOR ? ST_OP_pow_Tensor_Scalar
                                                   : ST_OP_pow_Tensor_Tensor;
  const st_dtype d = power_dtype(args);
  st_chain c = {.n = 0};
  st_scalar s[2];
  const st_value both[] = {factor(&c, &args[0], d, &s[0]),
                           factor(&c, &args[1], d, &s[1])};
  return st__chain_return(&c, st__step(&c, id, 2, both), rets);
}

static st_op_id float_power_of(const st_value *args) {
  return args[0].tag != ST_TAG_TENSOR ? ST_OP_float_power_Scalar
       : args[1].tag != ST_TAG_TENSOR ? ST_OP_float_power_Tensor_Scalar
                                      : ST_OP_float_power_Tensor_Tensor;
}

ST_BOXED(st__box_float_power_out) {
  return st__compose_out(float_power_of(args), 2, args, rets);
}

/* -- In place ------------------------------------------------------------- */

ST_BOXED(st__box_float_power_) {
  return st__compose_self(float_power_of(args), 2, args, rets);
}
ST_BOXED(st__box_relu6_) {
  return st__compose_self(ST_OP_relu6, 1, args, rets);
}
ST_BOXED(st__box_selu_) {
  return st__compose_self(ST_OP_selu, 1, args, rets);
}
ST_BOXED(st__box_celu_) {
  return st__compose_self(ST_OP_celu, 2, args, rets);
}

/* -- ldexp ---------------------------------------------------------------- */

/* self times 2^other as that variant of mul has it, which casts. */
static st_status scaled(st_variant variant, const st_value *args,
                        st_value *rets) {
  st_chain c = {.n = 0};
  const st_value power[] = {st__of_float(2), args[1]};
  const st_tensor *scale = st__step(&c, ST_OP_pow_Scalar, 2, power);
  if (st__going(&c)) {
    st_value all[3] = {args[0], st__of_tensor(scale)};
    if (variant == ST_OUT) all[2] = args[2];
    c.status = st__call(st__op_variant(ST_OP_mul_Tensor, variant), all, rets);
  }
  return st__chain_end(&c, 0, NULL, rets);
}

ST_BOXED(st__box_ldexp) { return scaled(ST_FUNCTIONAL, args, rets); }
ST_BOXED(st__box_ldexp_out) { return scaled(ST_OUT, args, rets); }
ST_BOXED(st__box_ldexp_) { return scaled(ST_INPLACE, args, rets); }

/* -- Activations ---------------------------------------------------------- */

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
    return st__fail(ST_BAD_DTYPE, "self is %s and weight %s, their dtypes must "
                    "be the same", st__dtype_name((st_dtype)self->dtype),
                    st__dtype_name((st_dtype)weight->dtype));
  }
  if (weight->ndim > 1) {
    return st__fail(ST_BAD_SHAPE, "weight must be a number or a vector, its "
                    "shape is %s", ST_SHAPE_TEXT(weight));
  }
  if (weight->numel != 1 && weight->numel != channels) {
    return st__fail(ST_BAD_SHAPE, "weight has %lld elements for %lld channels",
                    (long long)weight->numel, (long long)channels);
  }
  return ST_OK;
}

/* A weight per channel lies along the second dimension. */
ST_BOXED(st__box_prelu) {
  const st_tensor *self = args[0].u.tensor, *weight = args[1].u.tensor;
  st_chain c = {.status = check_prelu(self, weight)};
  int64_t sizes[ST_MAX_DIMS];
  for (int d = 0; d < self->ndim; d++) sizes[d] = 1;
  if (self->ndim > 1) sizes[1] = weight->numel;
  self = st__step_attached(&c, self, self);
  weight = st__step_with(&c, ST_OP_reshape,
                         st__step_attached(&c, weight, weight),
                         st__of_ints(sizes, args[0].u.tensor->ndim));
  const st_value choice[] = {
    st__of_tensor(st__step_with(&c, ST_OP_gt_Scalar, self, st__of_int(0))),
    st__of_tensor(self),
    st__of_tensor(st__step2(&c, ST_OP_mul_Tensor, weight, self))};
  return st__chain_return(&c, st__step(&c, ST_OP_where_self, 3, choice), rets);
}
