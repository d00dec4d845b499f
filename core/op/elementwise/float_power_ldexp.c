/* float_power and ldexp, composed of pow, mul and _ldexp.
 */

#include "op/row/composite.h"

/* -- float_power ---------------------------------------------------------- */

static bool is_complex_value(const st_value *v) {
  return v->tag == ST_TAG_TENSOR ? st__is_complex(v->u.tensor->dtype)
                                 : v->tag == ST_TAG_COMPLEX;
}

/* v converted to dtype d. A scalar is stored in *s, which the result borrows.
 */
static st_value factor(st_op_scope *c, const st_value *v, st_dtype d,
                       st_scalar *s) {
  if (v->tag == ST_TAG_TENSOR) {
    return st__of_tensor(st__apply_to(c, v->u.tensor, d));
  }
  *s = st__scalar_of(v);
  if (s->kind != ST_SCALAR_COMPLEX) {
    *s = st__scalar_float(st__scalar_to_double(*s));
  }
  return st__of_scalar(s);
}

ST_BOXED(st__box_float_power) {
  ST_ARGS(BOXED(self), BOXED(exponent));
  const st_op_id id = self->tag != ST_TAG_TENSOR ? ST_OP_pow_Scalar
                    : exponent->tag != ST_TAG_TENSOR ? ST_OP_pow_Tensor_Scalar
                                                     : ST_OP_pow_Tensor_Tensor;
  const bool complex = is_complex_value(self) || is_complex_value(exponent);
  const st_dtype d = complex ? ST_COMPLEX128 : ST_FLOAT64;
  st_op_scope c = {.n = 0};
  st_scalar s[2];
  return st__scope_return(&c,
                          ST_APPLY(&c, id, factor(&c, self, d, &s[0]),
                                   factor(&c, exponent, d, &s[1])),
                          rets);
}

static st_op_id float_power_of(const st_value *args) {
  ST_ARGS(BOXED(self), BOXED(exponent));
  return self->tag != ST_TAG_TENSOR ? ST_OP_float_power_Scalar
       : exponent->tag != ST_TAG_TENSOR ? ST_OP_float_power_Tensor_Scalar
                                        : ST_OP_float_power_Tensor_Tensor;
}

ST_BOXED_AS(st__box_float_power_out, st__compose_out, float_power_of(args), 2,
            args)
ST_BOXED_AS(st__box_float_power_, st__compose_self, float_power_of(args), 2,
            args)

/* -- ldexp ---------------------------------------------------------------- */

static bool has_exact_kernel(const st_value *args) {
  ST_ARGS(TENSOR(self), TENSOR(other));
  return st__is_integral(other->dtype) && st__is_floating(self->dtype);
}

/* other in the promoted dtype of both, in which 2^other is computed; integers
 * have the default dtype there. */
static const st_tensor *exponent_of(st_op_scope *c, const st_value *both) {
  st_value dtype;
  if (st__is_integral(both[0].u.tensor->dtype) &&
      st__is_integral(both[1].u.tensor->dtype)) {
    return both[1].u.tensor;
  }
  c->status = st__invoke(ST_OP_result_type_Tensor, 2, both, &dtype);
  if (!st__scope_ok(c)) return NULL;
  return st__apply_to(c, both[1].u.tensor, (st_dtype)dtype.u.i);
}

/* Floats and integral exponents: calls this variant of _ldexp, which is
 * exact. Others: of mul with self and 2^other. Both cast to the dtype of their
 * output. */
static st_status scaled(st_variant variant, const st_value *args,
                        st_value *rets) {
  if (has_exact_kernel(args)) {
    return st__call(st__op_variant(ST_OP__ldexp, variant), args, rets);
  }
  ST_ARGS(VALUE(self), VALUE(other));
  const st_value out = variant == ST_OUT ? *st__next(&args) : st__none();
  const st_value both[] = {self, other};
  st_op_scope c = {.n = 0};
  const st_tensor *scale =
    ST_APPLY(&c, ST_OP_pow_Scalar, st__of_float(2), exponent_of(&c, both));
  if (st__scope_ok(&c)) {
    const st_value all[] = {self, st__of_tensor(scale), out};
    c.status = st__call(st__op_variant(ST_OP_mul_Tensor, variant), all, rets);
  }
  return st__scope_end(&c, 0, NULL, rets);
}

ST_BOXED(st__box_ldexp) { return scaled(ST_FUNCTIONAL, args, rets); }
ST_BOXED(st__box_ldexp_out) { return scaled(ST_OUT, args, rets); }
ST_BOXED(st__box_ldexp_) { return scaled(ST_INPLACE, args, rets); }
