/* Elementwise operators that select values: clamp, where, masked_fill, lerp;
 * and rows whose scalar defaults or kernels depend on the arguments.
 */

#include "op/elementwise/pointwise.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "iter/loop_report.h"
#include "op/create/copy_clone_to.h"

/* -- clamp ---------------------------------------------------------------- */

static int clamp_bounds(const st_run *r) {
  return r->row->kernel == ST_K_clamp ? 2 : 1;
}

/* The result dtype of self and the bounds. */
static st_status clamp_dtype(const st_run *r, st_dtype *out) {
  st_scalar s[2];
  int n = 0;
  for (int i = 1; i <= clamp_bounds(r); i++) {
    if (!st__is_none(&r->args[i])) s[n++] = st__scalar_of(&r->args[i]);
  }
  return st__dtype_among(r, s, n, out);
}

static st_scalar whole_bound(st_scalar s) {
  return st__scalar_is_int(s) ? s : st__scalar_int(st__scalar_to_int(s));
}

static bool is_negative(st_scalar s) {
  return s.kind == ST_SCALAR_INT && s.u.i < 0;
}

/* An integer bound may lie outside the range of dtype d if a value in the range
 * satisfies it. */
static st_status check_bound(st_scalar s, st_dtype d, const char *name) {
  if (!st__is_integral(d)) return st__check_scalar_fits(s, d);
  if (!st__scalar_is_int(s)) ST_TRY(st__check_scalar_fits(s, ST_INT64));
  const bool is_min = strncmp(name, "min", 3) == 0;
  const st_scalar bound = whole_bound(s);
  if (is_min ? st__compare_ints(bound, st__int_highest(d)) <= 0
             : st__compare_ints(bound, st__int_lowest(d)) >= 0) {
    return ST_OK;
  }
  return st__fail(ST_BAD_VALUE, "%s is %s%" PRIu64 ", %s every %s", name,
                  is_negative(bound) ? "-" : "",
                  is_negative(bound) ? 0 - bound.u.u : bound.u.u,
                  is_min ? "above" : "below", st__dtype_name(d));
}

static st_status check_bounds(const st_run *r, st_dtype d) {
  bool any = false;
  for (int i = 1; i <= clamp_bounds(r); i++) {
    if (st__is_none(&r->args[i])) continue;
    any = true;
    ST_TRY(check_bound(st__scalar_of(&r->args[i]), d,
                       r->call->schema->args[i].name));
  }
  if (any) return ST_OK;
  return st__fail(ST_BAD_VALUE, "at least one of min and max must be given");
}

/* clamp, clamp_min, clamp_max: a float bound promotes integers to floats. */
st_status st__clamp_meta(st_run *r) {
  st_dtype d;
  st_inputs in;
  ST_TRY(clamp_dtype(r, &d));
  if (st__is_complex(d)) return st__no_kernel_for(d);
  ST_TRY(check_bounds(r, d));
  st__get_self_as(r, d, &in);
  return st__build_pointwise(r, ST_ITER_UNARY, &in, ST_DTYPE_NONE);
}

st_status st__hardtanh_meta(st_run *r) {
  ST_TRY(check_bounds(r, st__arg_tensor(r, 0)->dtype));
  return st__like_self_meta(r);
}

/* The nearest integer of dtype d. */
static st_scalar saturated(st_scalar s, st_dtype d) {
  const st_scalar v = whole_bound(s);
  const st_scalar low = st__int_lowest(d), high = st__int_highest(d);
  return st__compare_ints(v, low) < 0 ? low
       : st__compare_ints(v, high) > 0 ? high : v;
}

st_status st__clamp_impl(st_run *r) {
  const st_dtype d = r->it.common_dtype;
  st_params k;
  st__get_scalars(r, &k);
  for (int i = 0; st__is_integral(d) && i < 2; i++) {
    k.s[i] = saturated(k.s[i], d);
  }
  if (r->row->kernel != ST_K_clamp) {
    return st__run_kernel(r, r->row->kernel, &k);
  }
  const st_value *min = &r->args[1], *max = &r->args[2];
  if (st__is_none(max)) return st__run_kernel(r, ST_K_clamp_min, &k);
  if (!st__is_none(min)) return st__run_kernel(r, ST_K_clamp, &k);
  k.s[0] = k.s[1];
  return st__run_kernel(r, ST_K_clamp_max, &k);
}

st_status st__clamp_tensor_meta(st_run *r) {
  st_inputs in;
  ST_TRY(st__get_inputs(r, &in));
  if (in.n > 1) {
    return st__build_pointwise(r, ST_ITER_BINARY, &in, ST_DTYPE_NONE);
  }
  st__release_inputs(&in);
  return st__fail(ST_BAD_VALUE, "at least one of min and max must be given");
}

st_status st__clamp_tensor_impl(st_run *r) {
  const st_kernel_id id = !st__arg_tensor(r, 2) ? ST_K_maximum
                        : !st__arg_tensor(r, 1) ? ST_K_minimum
                                                : ST_K_clamp_tensor;
  return st__run_kernel(r, id, NULL);
}

/* -- where ---------------------------------------------------------------- */

enum {
  MOVE = ST_ITER_CHECK_OVERLAP | ST_ITER_RESIZE_OUTPUTS | ST_ITER_SAME_DEVICE |
         ST_ITER_CPU_SCALARS
};

static st_status check_mask(const st_tensor *mask, const char *name) {
  if (mask->dtype == ST_BOOL || mask->dtype == ST_UINT8) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "%s must be a bool tensor, not %s", name,
                  st__dtype_name(mask->dtype));
}

/* Sets the dtype of the result. */
static st_status check_where(const st_run *r, const st_inputs *in,
                             st_dtype *d) {
  ST_TRY(check_mask(in->t[0], "condition"));
  ST_TRY(st__promoted(st__result_type(in->t + 1, 2), d));
  for (int i = 1; i < 3; i++) {
    if (!st__arg_tensor(r, i)) ST_TRY(st__check_scalar_arg(r, i, *d));
  }
  if (r->given[0] && r->given[0]->dtype != *d) {
    return st__fail(ST_BAD_DTYPE, "out has dtype %s, but the result is %s",
                    st__dtype_name(r->given[0]->dtype),
                    st__dtype_name(*d));
  }
  return ST_OK;
}

st_status st__where_meta(st_run *r) {
  st_inputs in;
  ST_TRY(st__get_inputs(r, &in));
  st_dtype d = ST_DTYPE_NONE;
  ST_TRY(st__checked_inputs(&in, check_where(r, &in, &d)));
  in.as = d;
  in.casts[1] = in.casts[2] = true;
  return st__build_pointwise(r, MOVE, &in, d);
}

/* The kernel copies elements, so it is selected by the output's dtype. */
st_status st__where_impl(st_run *r) {
  st_loop loop;
  ST_TRY(st__find_kernel(ST_K_where, r->out[0]->dtype, &loop));
  r->it.kernel = (st_kernel_key){ST_K_where, r->out[0]->dtype};
  return st__iter_map(&r->it, loop, NULL, st__kernel_grain(ST_K_where));
}

/* -- masked_fill ---------------------------------------------------------- */

/* The value as a 0-dim tensor of self's dtype. */
static st_status masked_value(const st_run *r, st_tensor **out) {
  const st_dtype d = st__arg_tensor(r, 0)->dtype;
  const st_tensor *t = st__arg_tensor(r, 2);
  st_scalar v = st__scalar_int(0);
  if (t && t->ndim > 0) {
    return st__fail(ST_BAD_SHAPE, "value must be a 0-dim tensor, it has "
                    "shape %s", ST_SHAPE_TEXT(t));
  }
  if (!t) {
    v = st__scalar_of(&r->args[2]);
  } else if (st__is_privateuse(t)) {
    return ST_NO_KERNEL; /* the CPU reads it: Note [Loops on devices] */
  } else if (!st__is_meta(t)) {
    v = st__scalar_load(t->dtype, st__data(t));
  } else {
    st__capture_data_read(t);
  }
  ST_TRY(st__check_scalar_fits(v, d));
  return st__tensor_from_scalar(v, d, false, out);
}

/* A new result is contiguous, independent of self's strides. */
static st_status masked_output(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0), *mask = st__arg_tensor(r, 1);
  int64_t sizes[ST_MAX_DIMS];
  int ndim;
  ST_TRY(check_mask(mask, "mask"));
  if (r->variant == ST_INPLACE) return ST_OK;
  ST_TRY(st__broadcast_shape(self->ndim, self->sizes, mask->ndim,
                             mask->sizes, sizes, &ndim));
  return st__set_output(r, 0, ndim, sizes, NULL, self->dtype);
}

/* Runs the kernel of where: value where mask is set, self elsewhere. */
st_status st__masked_fill_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  st_tensor *value = NULL;
  ST_TRY(masked_output(r));
  ST_TRY(masked_value(r, &value));
  st__iter_init(&r->it, MOVE & ~ST_ITER_RESIZE_OUTPUTS);
  r->has_iter = true;
  st__iter_output(&r->it, r->out[0] ? r->out[0] : self, ST_DTYPE_NONE);
  st__iter_input(&r->it, st__arg_tensor(r, 1));
  st__iter_input(&r->it, value);
  st__iter_input(&r->it, self);
  const st_status status = st__run_iter_build(r);
  st__tensor_release(&value);
  return status;
}

/* -- lerp ----------------------------------------------------------------- */

/* lerp.Scalar: the weight must be representable in the common dtype. */
st_status st__lerp_meta(st_run *r) {
  const st_scalar weight = st__scalar_of(&r->args[2]);
  st_inputs in;
  ST_TRY(st__get_inputs(r, &in));
  ST_TRY(st__build_pointwise(r, ST_ITER_BINARY, &in, ST_DTYPE_NONE));
  return st__check_scalar_fits(weight, r->it.common_dtype);
}

/* -- nan_to_num, round, gelu ---------------------------------------------- */

/* Defaults: 0 for NaN, the largest finite values of the dtype for infinities.
 */
st_status st__nan_to_num_impl(st_run *r) {
  const st_value *posinf = &r->args[2], *neginf = &r->args[3];
  const st_dtype d = r->it.common_dtype;
  const double max = st__is_integral(d) || d == ST_BOOL
                     ? DBL_MAX : st__float_limits(d)->max;
  st_params k;
  st__get_scalars(r, &k);
  if (st__is_none(posinf)) k.s[1] = st__scalar_float(max);
  if (st__is_none(neginf)) k.s[2] = st__scalar_float(-max);
  return st__run_kernel(r, ST_K_nan_to_num, &k);
}

st_status st__round_decimals_impl(st_run *r) {
  const int64_t decimals = st__to_int(&r->args[1], 0);
  const double power = pow(10, fabs((double)decimals));
  const st_params k = {.s = {st__scalar_float(power),
                             st__scalar_int(decimals < 0)}};
  return st__run_kernel(r, decimals == 0 ? ST_K_round : ST_K_round_decimals,
                        &k);
}

st_status st__gelu_impl(st_run *r) {
  const char *approximate = r->args[1].u.string;
  if (strcmp(approximate, "none") == 0) {
    return st__run_kernel(r, ST_K_gelu, NULL);
  }
  if (strcmp(approximate, "tanh") == 0) {
    return st__run_kernel(r, ST_K_gelu_tanh, NULL);
  }
  return st__fail(ST_BAD_VALUE, "approximate must be \"none\" or \"tanh\", "
                  "not \"%s\"", approximate);
}

/* -- logit ---------------------------------------------------------------- */

st_status st__logit_meta(st_run *r) {
  st_inputs in;
  ST_TRY(st__get_inputs(r, &in));
  return st__build_pointwise(r, ST_ITER_UNARY_FLOAT, &in, ST_DTYPE_NONE);
}

st_status st__logit_impl(st_run *r) {
  const double eps = st__to_float(&r->args[1], -1);
  const st_params k = {.s = {st__scalar_float(eps)}};
  return st__run_kernel(r, ST_K_logit, &k);
}
