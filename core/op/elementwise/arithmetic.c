/* Metas and impls of arithmetic operators for which the generic ones do not
 * suffice.
 */

#include "op/elementwise/pointwise.h"

#include <inttypes.h>

#include "iter/loop_report.h"
#include "kernel/index/index.h"
#include "op/create/copy_clone_to.h"

/* -- Checks --------------------------------------------------------------- */

static bool is_integral_or_bool(st_dtype d) {
  return d == ST_BOOL || st__is_integral(d);
}

/* BAD_TYPE unless a scalar of alpha's kind may multiply tensors of dtype d. */
static st_status check_alpha(st_scalar alpha, st_dtype d) {
  if (alpha.kind == ST_SCALAR_BOOL && d != ST_BOOL) {
    return st__fail(ST_BAD_TYPE, "alpha must not be a boolean for a result of "
                    "dtype %s", st__dtype_name(d));
  }
  if (alpha.kind == ST_SCALAR_COMPLEX && !st__is_complex(d)) {
    return st__fail(ST_BAD_TYPE, "alpha must not be complex for a result of "
                    "dtype %s", st__dtype_name(d));
  }
  if (alpha.kind == ST_SCALAR_FLOAT && is_integral_or_bool(d)) {
    return st__fail(ST_BAD_TYPE, "alpha must be an integer for a result of "
                    "dtype %s", st__dtype_name(d));
  }
  return ST_OK;
}

static st_status check_no_bool(const st_inputs *in) {
  for (int i = 0; i < in->n; i++) {
    if (in->t[i]->dtype != ST_BOOL) continue;
    return st__fail(ST_BAD_DTYPE, "bool cannot be subtracted; use "
                    "logical_xor, or logical_not to invert a mask");
  }
  return ST_OK;
}

/* Note [Integer division by zero]
 * A kernel cannot fail, so the divisor is searched for zeros before the run.
 * The search counts the elements that are not zero. It reads only the second
 * input, and reads each element once along dimensions of stride 0. */
typedef struct zero_search { st_loop count; int64_t zeros; } zero_search;

static void find_zeros(char **data, const int64_t *strides, int64_t n0,
                       int64_t n1, const void *ctx) {
  zero_search *z = (zero_search *)(uintptr_t)ctx;
  const int64_t s[] = {strides[2], strides[5]};
  int64_t found = 0;
  const st_count_ctx count = {&found};
  if (s[0] == 0) n0 = 1;
  if (s[1] == 0) n1 = 1;
  z->count(data + 2, s, n0, n1, &count);
  z->zeros += n0 * n1 - found;
}

static st_status check_divisor(const st_run *r) {
  const st_dtype d = r->it.common_dtype;
  if (st__is_integral(d) && r->is_meta) st__capture_divisor(&r->it, 2);
  if (!st__is_integral(d) || r->it.numel == 0) return ST_OK;
  zero_search z = {st__kernel(ST_K_nonzero_count, d), 0};
  ST_TRY(st__iter_read(&r->it, find_zeros, &z));
  if (z.zeros == 0) return ST_OK;
  return st__fail(ST_BAD_VALUE, "division of %s by zero", st__dtype_name(d));
}

/* -- Sums ----------------------------------------------------------------- */

/* alpha is the last argument. */
static st_scalar get_alpha(const st_run *r) {
  return st__scalar_of(&r->args[2]);
}

static st_status build_sum(st_run *r, st_inputs *in) {
  ST_TRY(st__build_pointwise(r, ST_ITER_BINARY, in, ST_DTYPE_NONE));
  return check_alpha(get_alpha(r), r->it.common_dtype);
}

st_status st__add_meta(st_run *r) {
  st_inputs in;
  ST_TRY(st__get_inputs(r, &in));
  if (r->row->kernel == ST_K_sub) {
    ST_TRY(st__checked_inputs(&in, check_no_bool(&in)));
  }
  return build_sum(r, &in);
}

st_status st__rsub_meta(st_run *r) {
  st_inputs in;
  ST_TRY(st__get_inputs(r, &in));
  ST_TRY(st__checked_inputs(&in, check_no_bool(&in)));
  const st_inputs self = in;
  in.t[0] = self.t[1], in.borrowed[0] = self.borrowed[1];
  in.t[1] = self.t[0], in.borrowed[1] = self.borrowed[0];
  return build_sum(r, &in);
}

static bool is_one(st_scalar s) {
  switch (s.kind) {
    case ST_SCALAR_FLOAT: return s.u.f == 1;
    case ST_SCALAR_COMPLEX: return s.u.c[0] == 1 && s.u.c[1] == 0;
    default: return s.u.i == 1;
  }
}

st_status st__add_impl(st_run *r) {
  st_params k = {.s = {get_alpha(r)}};
  const st_kernel_id plain = r->row->kernel;
  if (is_one(k.s[0])) return st__run_kernel(r, plain, &k);
  ST_TRY(st__check_scalars(r));
  ST_TRY(st__round_to_half("alpha", &k.s[0], r->it.common_dtype));
  return st__run_kernel(r, plain == ST_K_add ? ST_K_add_alpha
                                             : ST_K_sub_alpha, &k);
}

/* -- Quotients ------------------------------------------------------------ */

st_status st__floor_divide_meta(st_run *r) {
  st_inputs in;
  ST_TRY(st__get_inputs(r, &in));
  return st__build_product(r, ST_ITER_BINARY, &in, ST_K_div_floor);
}

st_status st__int_div_impl(st_run *r) {
  st_params k;
  st_loop loop;
  ST_TRY(st__find_kernel(r->row->kernel, r->it.common_dtype, &loop));
  ST_TRY(check_divisor(r));
  st__get_scalars(r, &k);
  return st__run_kernel(r, r->row->kernel, &k);
}

/* ST_K_NONE for an unknown mode. */
static st_kernel_id division_kernel(const st_value *rounding_mode) {
  if (st__is_none(rounding_mode)) return ST_K_div;
  if (strcmp(rounding_mode->u.string, "floor") == 0) return ST_K_div_floor;
  if (strcmp(rounding_mode->u.string, "trunc") == 0) return ST_K_div_trunc;
  return ST_K_NONE;
}

st_status st__div_mode_meta(st_run *r) {
  const st_value *rounding_mode = &r->args[2];
  const st_kernel_id kernel = division_kernel(rounding_mode);
  st_inputs in;
  if (kernel == ST_K_NONE) {
    return st__fail(ST_BAD_VALUE, "rounding_mode must be none, \"trunc\" or "
                    "\"floor\", not \"%s\"", rounding_mode->u.string);
  }
  ST_TRY(st__get_inputs(r, &in));
  return st__build_product(r, kernel == ST_K_div ? ST_ITER_BINARY_FLOAT
                                                 : ST_ITER_BINARY,
                           &in, kernel);
}

st_status st__div_mode_impl(st_run *r) {
  const st_kernel_id kernel = division_kernel(&r->args[2]);
  st_loop loop;
  ST_TRY(st__find_kernel(kernel, r->it.common_dtype, &loop));
  ST_TRY(check_divisor(r));
  return st__run_product(r, kernel);
}

/* -- Powers --------------------------------------------------------------- */

static st_status power_meta(st_run *r, st_scalar exponent) {
  st_dtype d;
  st_inputs in;
  ST_TRY(st__dtype_among(r, &exponent, 1, &d));
  if (is_integral_or_bool(d) && exponent.kind != ST_SCALAR_UINT &&
      exponent.u.i < 0) {
    return st__fail(ST_BAD_VALUE, "the exponent of an integer tensor must not "
                    "be negative, it is %" PRId64, exponent.u.i);
  }
  if (st__is_integral(d)) {
    ST_TRY(st__check_scalar_named("exponent", exponent, d));
  }
  st__get_self_as(r, d, &in);
  return st__build_pointwise(r, (ST_ITER_UNARY & ~ST_ITER_SAME_DTYPE) |
                             ST_ITER_CAST_OUTPUTS | ST_ITER_SAFE_CAST, &in,
                             ST_DTYPE_NONE);
}

/* A copy keeps a NaN of a half type and a bool that is not 0 or 1, which powers
 * change. */
static bool is_first_power(st_scalar exponent, st_dtype d) {
  return st__scalar_to_double(exponent) == 1 && st__is_tensor_dtype(d) &&
         d != ST_BOOL && !st__is_reduced_float(d);
}

static st_kernel_id power_kernel(st_scalar exponent, st_dtype d) {
  static const struct { double exponent; st_kernel_id kernel; } cheap[] = {
    {2, ST_K_square}, {3, ST_K_cube}, {0.5, ST_K_sqrt}, {-0.5, ST_K_rsqrt},
    {-1, ST_K_reciprocal}, {-2, ST_K_reciprocal_square},
  };
  if (exponent.kind == ST_SCALAR_COMPLEX) return ST_K_pow_number;
  if (is_first_power(exponent, d)) return st__copy_key(d, d).id;
  for (size_t i = 0; i < sizeof cheap / sizeof *cheap; i++) {
    if (st__scalar_to_double(exponent) == cheap[i].exponent) {
      return cheap[i].kernel;
    }
  }
  return ST_K_pow_number;
}

static st_status power_impl(st_run *r, st_scalar exponent) {
  ST_TRY(st__round_to_half("exponent", &exponent, r->it.common_dtype));
  const st_params k = {.s = {exponent}};
  const st_kernel_id id = power_kernel(exponent, r->it.common_dtype);
  const bool has_kernel = st__is_tensor_dtype(r->it.common_dtype) &&
                          st__kernel(id, r->it.common_dtype) != NULL;
  return st__run_kernel(r, has_kernel ? id : ST_K_pow_number, &k);
}

st_status st__pow_scalar_meta(st_run *r) {
  return power_meta(r, st__scalar_of(&r->args[1]));
}

st_status st__pow_scalar_impl(st_run *r) {
  return power_impl(r, st__scalar_of(&r->args[1]));
}

st_status st__square_meta(st_run *r) {
  return power_meta(r, st__scalar_int(2));
}

st_status st__square_impl(st_run *r) {
  return power_impl(r, st__scalar_int(2));
}

/* A new result is contiguous, independent of the exponent's strides. */
st_status st__pow_number_meta(st_run *r) {
  const st_tensor *e = st__arg_tensor(r, 1);
  st_inputs in;
  ST_TRY(st__get_inputs(r, &in));
  st_dtype d;
  ST_TRY(st__checked_inputs(
    &in, st__promoted(st__result_type(in.t, in.n), &d)));
  if (r->variant == ST_FUNCTIONAL) {
    ST_TRY(st__checked_inputs(
      &in, st__set_output(r, 0, e->ndim, e->sizes, NULL, d)));
  }
  return st__build_pointwise(r, ST_ITER_BINARY, &in, ST_DTYPE_NONE);
}

/* -- ldexp ---------------------------------------------------------------- */

/* A new result of self's shape has self's layout. */
st_status st__ldexp_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0), *other = st__arg_tensor(r, 1);
  int64_t sizes[ST_MAX_DIMS];
  int ndim;
  st_inputs in;
  ST_TRY(st__broadcast_shape(self->ndim, self->sizes, other->ndim,
                             other->sizes, sizes, &ndim));
  ST_TRY(st__get_inputs(r, &in));
  if (st__has_sizes(self, ndim, sizes)) {
    st_dtype d;
    ST_TRY(st__checked_inputs(
      &in, st__promoted(st__result_type(in.t, in.n), &d)));
    ST_TRY(st__checked_inputs(
      &in, st__new_like_self(r, d, ST_FORMAT_PRESERVE)));
  }
  return st__build_pointwise(r, ST_ITER_BINARY_FLOAT, &in, ST_DTYPE_NONE);
}

/* -- In-place variants with overloads ------------------------------------- */

static st_status into_self(st_op_id id, st_value self, st_value other,
                           st_value *rets) {
  const st_value all[] = {self, other, self};
  return st__call(st__op_variant(id, ST_OUT), all, rets);
}

ST_BOXED(st__box_pow_) {
  ST_ARGS(VALUE(self), VALUE(exponent));
  return into_self(exponent.tag == ST_TAG_TENSOR ? ST_OP_pow_Tensor_Tensor
                                                 : ST_OP_pow_Tensor_Scalar,
                   self, exponent, rets);
}

ST_BOXED(st__box_floor_divide_) {
  ST_ARGS(VALUE(self), VALUE(other));
  return into_self(ST_OP_floor_divide, self, other, rets);
}

/* -- Angles in degrees ---------------------------------------------------- */

static st_status times(st_run *r, double factor) {
  const st_scalar s = st__scalar_float(factor);
  st_dtype d;
  st_inputs in;
  ST_TRY(st__dtype_among(r, &s, 1, &d));
  if (st__is_complex(d)) return st__no_kernel_for(d);
  ST_TRY(st__new_like_self(r, d, ST_FORMAT_PRESERVE));
  ST_TRY(st__get_inputs(r, &in));
  ST_TRY(st__checked_inputs(&in, st__add_scalar(&in, s)));
  return st__build_product(r, ST_ITER_BINARY, &in, r->row->kernel);
}

st_status st__deg2rad_meta(st_run *r) {
  return times(r, 0.017453292519943295769);
}

st_status st__rad2deg_meta(st_run *r) {
  return times(r, 57.295779513082320877);
}

/* -- Signs and real results ----------------------------------------------- */

static st_status refuse_bool(const st_tensor *t) {
  if (t->dtype != ST_BOOL) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "not supported for bool tensors; use "
                  "logical_not to invert a mask");
}

st_status st__neg_meta(st_run *r) {
  ST_TRY(refuse_bool(st__arg_tensor(r, 0)));
  return st__unary_meta(r);
}

/* format: the layout of the new real result of a complex input. */
static st_status build_to_real(st_run *r, uint32_t flags, st_format format) {
  const st_dtype d = st__arg_tensor(r, 0)->dtype;
  const st_dtype real = st__is_complex(d) ? st__real_dtype(d) : ST_DTYPE_NONE;
  st_inputs in;
  if (st__is_complex(d)) {
    ST_TRY(st__new_like_self(r, real, format));
  }
  ST_TRY(st__get_inputs(r, &in));
  return st__build_pointwise(r, flags, &in, real);
}

st_status st__to_real_meta(st_run *r) {
  const st_dtype d = st__arg_tensor(r, 0)->dtype;
  if (r->variant == ST_INPLACE && st__is_complex(d)) {
    return st__fail(ST_BAD_DTYPE, "the result has dtype %s, but self has "
                    "dtype %s", st__dtype_name(st__real_dtype(d)),
                    st__dtype_name(d));
  }
  return build_to_real(r, ST_ITER_UNARY_FLOAT & ~ST_ITER_INT_TO_FLOAT,
                       ST_FORMAT_PRESERVE);
}

st_status st__to_real_float_meta(st_run *r) {
  return build_to_real(r, ST_ITER_UNARY_FLOAT, ST_FORMAT_CONTIGUOUS);
}

/* -- frexp ---------------------------------------------------------------- */

/* Both outputs have self's layout, as the outputs of pointwise rows do. */
st_status st__frexp_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const st_dtype d = self->dtype;
  int64_t strides[ST_MAX_DIMS];
  if (!st__is_floating(d)) return st__no_kernel_for(d);
  st__preserved_strides(self, strides);
  ST_TRY(st__set_output(r, 0, self->ndim, self->sizes, strides, d));
  return st__set_output(r, 1, self->ndim, self->sizes, strides, ST_INT32);
}

st_status st__frexp_impl(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const st_kernel_id id = r->row->kernel;
  st_loop loop;
  ST_TRY(st__find_kernel(id, self->dtype, &loop));
  r->has_iter = true;
  st__iter_init(&r->it, ST_ITER_BORROWED);
  st__iter_output(&r->it, r->out[0], ST_DTYPE_NONE);
  st__iter_output(&r->it, r->out[1], ST_DTYPE_NONE);
  st__iter_input(&r->it, self);
  ST_TRY(st__iter_build(&r->it));
  r->it.kernel = (st_kernel_key){id, self->dtype};
  return st__iter_run(&r->it, loop, NULL, st__kernel_grain(id));
}

/* -- Composite operators -------------------------------------------------- */

ST_TYPED_INPLACE(st__box_positive, refuse_bool, (TENSOR))

/* Returns a real tensor itself. */
ST_BOXED(st__box_conj_physical) {
  const st_tensor *self = st__to_tensor(args);
  return st__is_complex(self->dtype)
       ? st__invoke(ST_OP__conj_physical, 1, args, rets)
       : st__return_tensor(self, rets);
}
