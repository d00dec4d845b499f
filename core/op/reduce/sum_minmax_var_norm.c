/* Reductions to values: sums, products, extrema, any and all, variances,
 * norms.
 */

#include <math.h>

#include "op/reduce/sums_out_of_range.h"
#include "op/row/composite.h"

/* -- Helpers -------------------------------------------------------------- */

static st_dtype dtype_of(const st_tensor *t) { return t->dtype; }

/* The dtype that elements of dtype d are accumulated in. */
static st_dtype acc_dtype(st_dtype d) {
  return st__is_complex(d) ? ST_COMPLEX128
       : st__is_floating(d) ? ST_FLOAT64 : ST_INT64;
}

/* The argument "dtype", or otherwise if it is absent. */
static st_dtype dtype_arg(const st_run *r, st_dtype otherwise) {
  const st_value *dtype = st__named_arg(r, "dtype");
  return dtype ? (st_dtype)dtype->u.i : otherwise;
}

/* True if sums of `from` and of its conversion to `to` accumulate equally. */
static bool sums_as(st_dtype from, st_dtype to) {
  if (from == to) return true;
  if (from == ST_BOOL || st__is_integral(from)) return st__is_integral(to);
  if (st__is_reduced_float(from)) return to == ST_FLOAT32 || to == ST_FLOAT64;
  return (from == ST_FLOAT32 && to == ST_FLOAT64) ||
         (from == ST_COMPLEX64 && to == ST_COMPLEX128);
}

/* t itself (retained), or a copy converted to dtype `to`; owned. */
static st_status convert(st_tensor *t, st_dtype to, st_tensor **out) {
  if (dtype_of(t) != to) {
    return st__clone(t, to, ST_FORMAT_PRESERVE, out);
  }
  st__tensor_retain(t);
  *out = t;
  return ST_OK;
}

/* Reduces self, converted to dtype `to`. */
static st_status reduce_as(st_run *r, st_reduction *red, st_dtype to) {
  st_dims d;
  st_tensor *in = NULL;
  ST_TRY(st__get_dims(r, &d));
  ST_TRY(convert(d.self, to, &in));
  const st_status status = st__reduce(red, in, d.set, d.keepdim);
  st__tensor_release(&in);
  return status;
}

static st_reduce_pass make_pass(st_kernel_id kernel, st_kernel_id combine,
                                st_dtype acc, st_scalar start) {
  return (st_reduce_pass){kernel, combine, acc, start};
}

static st_reduce_pass sum_pass(st_kernel_id kernel, st_dtype acc) {
  return make_pass(kernel, ST_K_sum, acc, st__scalar_int(0));
}

/* -- sum, prod, nansum, mean ---------------------------------------------- */

static st_dtype sum_dtype(const st_run *r, st_dtype self) {
  if (r->given[0] && !st__named_arg(r, "dtype")) return dtype_of(r->given[0]);
  return dtype_arg(r, st__is_inexact(self) ? self : ST_INT64);
}

st_status st__sum_meta(st_run *r) {
  st_dims d;
  ST_TRY(st__get_dims(r, &d));
  const st_dtype self = dtype_of(d.self);
  if (r->row->kernel == ST_K_nansum && st__is_complex(self)) {
    return st__no_kernel_for(self);
  }
  if (r->row->kernel == ST_K_nansum && st__is_floating(self) && r->given[0]) {
    ST_TRY(st__check_castable(dtype_arg(r, self), r->given[0]));
  }
  return st__set_reduced(r, 0, &d, sum_dtype(r, self));
}

st_status st__sum_impl(st_run *r) {
  const st_dtype self = dtype_of(st__arg_tensor(r, 0));
  const st_dtype out = dtype_of(r->out[0]);
  st_kernel_id kernel = r->row->kernel;
  const bool as_is = sums_as(self, out) &&
                     (kernel != ST_K_prod || self != ST_COMPLEX64);
  const st_dtype in = as_is ? self : out;
  if (kernel == ST_K_nansum && !st__is_floating(in)) kernel = ST_K_sum;
  st_reduction red = {.out_last = r->out[0]};
  red.first = sum_pass(kernel, acc_dtype(in));
  if (kernel == ST_K_prod) {
    red.first = make_pass(kernel, kernel,
                          in == ST_COMPLEX64 ? in : acc_dtype(in),
                          st__scalar_int(1));
  }
  return reduce_as(r, &red, in);
}

st_status st__mean_meta(st_run *r) {
  st_dims d;
  ST_TRY(st__get_dims(r, &d));
  const st_dtype dtype = sum_dtype(r, dtype_of(d.self));
  if (!st__is_inexact(dtype_arg(r, dtype_of(d.self)))) {
    const st_dtype given = dtype_arg(r, dtype_of(d.self));
    return st__fail(ST_BAD_DTYPE, "the mean of %s needs a floating point or "
                    "complex dtype, such as {dtype = \"float32\"}%s",
                    st__dtype_name(given), given != ST_INT64 ? ""
                    : ": numbers without a fraction make int64");
  }
  if (!st__is_inexact(dtype)) { /* out='s */
    ST_TRY(st__check_castable(dtype_arg(r, dtype_of(d.self)), r->given[0]));
  }
  return st__set_reduced(r, 0, &d, dtype);
}

/* Both accumulator dtypes are arrays of float64. */
static void divide(void *acc, int64_t n, st_dtype dtype, double by) {
  double *a = acc;
  if (dtype == ST_COMPLEX128) n *= 2;
  for (int64_t i = 0; i < n; i++) a[i] /= by;
}

static void finish_mean(const st_reduction *r, void *acc, const void *ref,
                        int64_t n) {
  (void)ref;
  divide(acc, n, r->first.acc, (double)r->count);
}

st_status st__mean_impl(st_run *r) {
  const st_dtype self = dtype_of(st__arg_tensor(r, 0));
  const st_dtype out = dtype_of(r->out[0]);
  const st_dtype in = sums_as(self, out) ? self : out;
  st_reduction red = {.out_last = r->out[0], .finish = finish_mean};
  red.first = sum_pass(ST_K_sum, acc_dtype(in));
  return reduce_as(r, &red, in);
}

/* -- Extrema -------------------------------------------------------------- */

static st_status check_ordered(const st_dims *d) {
  if (st__is_complex(dtype_of(d->self))) {
    return st__no_kernel_for(dtype_of(d->self));
  }
  return st__check_not_empty(d);
}

st_status st__amax_meta(st_run *r) {
  st_dims d;
  ST_TRY(st__get_dims(r, &d));
  ST_TRY(check_ordered(&d));
  return st__set_reduced(r, 0, &d, dtype_of(d.self));
}

st_status st__max_meta(st_run *r) {
  r->casts_out = true;
  return st__amax_meta(r);
}

static st_reduce_pass extremum_pass(st_kernel_id kernel, st_dtype self) {
  const st_dtype acc = st__is_reduced_float(self) ? ST_FLOAT32 : self;
  return make_pass(kernel, kernel, acc, kernel == ST_K_amax
                                          ? st__lowest(acc)
                                          : st__highest(acc));
}

st_status st__amax_impl(st_run *r) {
  const st_dtype self = dtype_of(st__arg_tensor(r, 0));
  st_reduction red = {.out_last = r->out[0]};
  red.first = extremum_pass(r->row->kernel, self);
  return reduce_as(r, &red, self);
}

st_status st__aminmax_meta(st_run *r) {
  st_dims d;
  ST_TRY(st__get_dims(r, &d));
  ST_TRY(check_ordered(&d));
  ST_TRY(st__set_reduced(r, 0, &d, dtype_of(d.self)));
  return st__set_reduced(r, 1, &d, dtype_of(d.self));
}

st_status st__aminmax_impl(st_run *r) {
  const st_dtype self = dtype_of(st__arg_tensor(r, 0));
  st_reduction red = {.out_first = r->out[0], .out_last = r->out[1]};
  red.first = extremum_pass(ST_K_amin, self);
  red.second = extremum_pass(ST_K_amax, self);
  return reduce_as(r, &red, self);
}

/* -- any, all, count_nonzero ---------------------------------------------- */

static bool is_bool_or_uint8(st_dtype d) {
  return d == ST_BOOL || d == ST_UINT8;
}

/* any.dims, all.dims: an empty list reduces no dimension. */
static st_status get_any_dims(const st_run *r, st_dims *d) {
  const st_value *dim = st__named_arg(r, "dim");
  ST_TRY(st__get_dims(r, d));
  if (dim && dim->tag != ST_TAG_INT && dim->len == 0) d->set = 0;
  return ST_OK;
}

/* uint8 gives uint8, other dtypes bool; out= may have either. */
st_status st__any_meta(st_run *r) {
  st_dims d;
  ST_TRY(get_any_dims(r, &d));
  st_dtype dtype = dtype_of(d.self) == ST_UINT8 ? ST_UINT8 : ST_BOOL;
  if (r->given[0] && is_bool_or_uint8(dtype_of(r->given[0]))) {
    dtype = dtype_of(r->given[0]);
  }
  return st__set_reduced(r, 0, &d, dtype);
}

st_status st__any_impl(st_run *r) {
  const st_kernel_id kernel = r->row->kernel;
  st_reduction red = {.out_last = r->out[0]};
  st_dims d;
  red.first = make_pass(kernel, kernel, ST_BOOL,
                        st__scalar_int(kernel == ST_K_all));
  ST_TRY(get_any_dims(r, &d));
  return st__reduce(&red, d.self, d.set, d.keepdim);
}

st_status st__count_meta(st_run *r) {
  st_dims d;
  ST_TRY(st__get_dims(r, &d));
  return st__set_reduced(r, 0, &d, ST_INT64);
}

st_status st__count_impl(st_run *r) {
  st_reduction red = {.out_last = r->out[0]};
  red.first = sum_pass(ST_K_count, ST_INT64);
  return reduce_as(r, &red, dtype_of(st__arg_tensor(r, 0)));
}

/* -- var, std ------------------------------------------------------------- */

static st_status check_correction(const st_run *r) {
  const st_value *correction = st__named_arg(r, "correction");
  if (!correction || correction->tag != ST_TAG_COMPLEX) return ST_OK;
  return st__fail(ST_BAD_TYPE, "correction must be real, not complex");
}

/* The argument "correction", or 1 or 0 for "unbiased" true or false. */
static double get_correction(const st_run *r) {
  const st_value *correction = st__named_arg(r, "correction");
  const st_value *unbiased = st__named_arg(r, "unbiased");
  if (correction) return st__to_float(correction, 1);
  return unbiased && !unbiased->u.i ? 0 : 1;
}

static st_status get_inexact_dims(const st_run *r, st_dims *d) {
  ST_TRY(st__get_dims(r, d));
  if (st__is_inexact(dtype_of(d->self))) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "self must be floating point or complex, not "
                  "%s", st__dtype_name(dtype_of(d->self)));
}

st_status st__var_meta(st_run *r) {
  st_dims d;
  ST_TRY(get_inexact_dims(r, &d));
  r->casts_out = true;
  ST_TRY(check_correction(r));
  return st__set_reduced(r, 0, &d, st__real_dtype(dtype_of(d.self)));
}

/* Squares of narrower types stay in the range of doubles. */
static bool is_wide(st_dtype d) {
  return st__real_dtype(d) == ST_FLOAT64;
}

st_status st__std_meta(st_run *r) {
  ST_TRY(st__var_meta(r));
  return is_wide(dtype_of(st__arg_tensor(r, 0))) ? st__write_apart(r, 0)
                                                 : ST_OK;
}

st_status st__var_mean_meta(st_run *r) {
  st_dims d;
  ST_TRY(st__var_meta(r));
  ST_TRY(st__get_dims(r, &d));
  return st__set_reduced(r, 1, &d, dtype_of(d.self));
}

static void pivot_mean(const st_reduction *r, const void *first, void *ref,
                       int64_t n) {
  memcpy(ref, first, (size_t)n * st__itemsize(r->first.acc));
  divide(ref, n, r->first.acc, (double)r->count);
}

static void finish_var(const st_reduction *r, void *acc, const void *ref,
                       int64_t n) {
  const double by = (double)r->count - r->correction;
  (void)ref;
  divide(acc, n, ST_FLOAT64, by > 0 && r->count > 0 ? by : 0);
}

static void finish_std(const st_reduction *r, void *acc, const void *ref,
                       int64_t n) {
  double *a = acc;
  bool has_left = false;
  for (int64_t i = 0; i < n; i++) has_left |= st__is_out_of_range(a[i]);
  if (has_left) *r->left_range = true;
  finish_var(r, acc, ref, n);
  for (int64_t i = 0; i < n; i++) a[i] = sqrt(a[i]);
}

static st_status reduce_var(st_run *r, bool root) {
  const st_dtype self = dtype_of(st__arg_tensor(r, 0));
  _Atomic bool left_range = false;
  st_reduction red = {.out_first = r->nouts > 1 ? r->out[1] : NULL,
                      .out_last = r->out[0], .pivot = pivot_mean,
                      .finish = root ? finish_std : finish_var,
                      .correction = get_correction(r),
                      .left_range = &left_range};
  red.first = sum_pass(ST_K_sum, acc_dtype(self));
  red.second = sum_pass(ST_K_sqdev, ST_FLOAT64);
  ST_TRY(reduce_as(r, &red, self));
  return left_range && is_wide(self) && red.count > 0
    ? st__std_out_of_range(r, red.correction) : ST_OK;
}

st_status st__var_impl(st_run *r) { return reduce_var(r, false); }
st_status st__std_impl(st_run *r) { return reduce_var(r, true); }

/* -- Norms ---------------------------------------------------------------- */

/* The argument "ord" or "p"; 2 if absent. */
static double get_power(const st_run *r) {
  const st_value *p = st__named_arg(r, "ord");
  if (!p) p = st__named_arg(r, "p");
  return p ? st__scalar_to_double(st__scalar_of(p)) : 2;
}

/* True if powers of elements of dtype d, or sums of up to 2^63 of them, can
 * leave the range: float16 has numbers from 6e-8 to 65504, float32 and bfloat16
 * from 1e-45 to 4e38. */
static bool can_leave_range(double p, st_dtype d) {
  const st_dtype real = st__real_dtype(d);
  const double stays = real == ST_FLOAT64 ? 0.8 : real == ST_FLOAT16 ? 37 : 6;
  return p != 1 && isfinite(p) && fabs(p) > stays;
}

st_status st__norm_meta(st_run *r) {
  st_dims d;
  ST_TRY(get_inexact_dims(r, &d));
  const st_dtype self = dtype_of(d.self), dtype = dtype_arg(r, self);
  if (!st__is_inexact(dtype) || st__promote(self, dtype).number != dtype ||
      st__is_complex(self) != st__is_complex(dtype)) {
    return st__fail(ST_BAD_DTYPE, "dtype %s does not fit self, which is %s",
                    st__dtype_name(dtype), st__dtype_name(self));
  }
  if (isinf(get_power(r)) || get_power(r) < 0) ST_TRY(st__check_not_empty(&d));
  ST_TRY(st__set_reduced(r, 0, &d, st__real_dtype(dtype)));
  return can_leave_range(get_power(r), dtype) ? st__write_apart(r, 0) : ST_OK;
}

static void finish_norm(const st_reduction *r, void *acc, const void *ref,
                        int64_t n) {
  double *a = acc;
  bool has_left = false;
  (void)ref;
  for (int64_t i = 0; i < n; i++) {
    has_left |= st__is_out_of_range(a[i]);
    a[i] = r->power == 2 ? sqrt(a[i]) : pow(a[i], 1 / r->power);
  }
  if (has_left) *r->left_range = true;
}

static st_reduce_pass norm_pass(double p) {
  if (p == 0) return sum_pass(ST_K_count, ST_INT64);
  if (p == 1) return sum_pass(ST_K_norm1, ST_FLOAT64);
  if (p == 2) return sum_pass(ST_K_norm2, ST_FLOAT64);
  if (p == INFINITY) {
    return make_pass(ST_K_norm_inf, ST_K_amax, ST_FLOAT64, st__scalar_int(0));
  }
  if (p == -INFINITY) {
    return make_pass(ST_K_norm_neginf, ST_K_amin, ST_FLOAT64,
                     st__scalar_float(INFINITY));
  }
  return sum_pass(ST_K_normp, ST_FLOAT64);
}

st_status st__norm_impl(st_run *r) {
  const double p = get_power(r);
  _Atomic bool left_range = false;
  st_reduction red = {.out_last = r->out[0], .ref = p, .power = p,
                      .left_range = &left_range};
  red.first = norm_pass(p);
  if (red.first.kernel == ST_K_norm2 || red.first.kernel == ST_K_normp) {
    red.finish = finish_norm;
  }
  const st_dtype dtype = dtype_arg(r, dtype_of(st__arg_tensor(r, 0)));
  ST_TRY(reduce_as(r, &red, dtype));
  return left_range && can_leave_range(p, dtype) && red.count > 0
    ? st__norm_out_of_range(r, p) : ST_OK;
}

/* -- logsumexp ------------------------------------------------------------ */

/* Integers are converted to a floating point out='s dtype. */
static st_dtype logsumexp_dtype(const st_run *r, st_dtype self) {
  if (st__is_inexact(self)) return self;
  return r->given[0] && st__is_floating(dtype_of(r->given[0]))
    ? dtype_of(r->given[0]) : st__default_dtype();
}

st_status st__logsumexp_meta(st_run *r) {
  st_dims d;
  ST_TRY(st__get_dims(r, &d));
  const st_dtype self = dtype_of(d.self);
  r->casts_out = true;
  return st__set_reduced(r, 0, &d, logsumexp_dtype(r, self));
}

/* Complex numbers: log(sum(exp(self - m))) + m, where m is the greatest real
 * part, or 0 if that is infinite. */
static st_status complex_logsumexp(const st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0), *top = NULL;
  const st_value dim = r->args[1], keep = st__of_bool(true);
  st_op_scope c = {.n = 0};
  if (self->numel > 0) {
    top = st__apply1(&c, ST_OP_real, self);
    top = ST_APPLY(&c, ST_OP_amax, top, dim, keep);
    top = ST_APPLY(&c, ST_OP_masked_fill_Scalar, top,
                   st__apply1(&c, ST_OP_isinf, top), 0);
    self = st__minus(&c, self, top);
  }
  st_tensor *sum = ST_APPLY(&c, ST_OP_sum_dim_IntList,
                            st__apply1(&c, ST_OP_exp, self), dim, keep);
  sum = st__apply1(&c, ST_OP_log, sum);
  if (top) sum = st__plus(&c, sum, top);
  sum = ST_APPLY(&c, ST_OP_reshape, sum,
                 st__of_ints(r->out[0]->sizes, r->out[0]->ndim));
  if (st__scope_ok(&c)) c.status = st__copy_unchecked(r->out[0], sum);
  return st__scope_end(&c, 0, NULL, NULL);
}

/* An infinite maximum is not subtracted: inf - inf would be NaN. */
static void pivot_max(const st_reduction *r, const void *first, void *ref,
                      int64_t n) {
  double *to = ref;
  for (int64_t i = 0; i < n; i++) {
    to[i] = r->first.acc == ST_FLOAT32 ? (double)((const float *)first)[i]
                                       : ((const double *)first)[i];
    if (isinf(to[i])) to[i] = 0;
  }
}

static void finish_log(const st_reduction *r, void *acc, const void *ref,
                       int64_t n) {
  double *a = acc;
  const double *m = ref;
  (void)r;
  for (int64_t i = 0; i < n; i++) a[i] = log(a[i]) + m[i];
}

st_status st__logsumexp_impl(st_run *r) {
  const st_dtype in = dtype_of(r->out[0]);
  if (st__is_complex(dtype_of(st__arg_tensor(r, 0)))) {
    return complex_logsumexp(r);
  }
  st_reduction red = {.out_last = r->out[0], .pivot = pivot_max,
                      .finish = finish_log};
  red.first = make_pass(ST_K_amax, ST_K_amax,
                        in == ST_FLOAT64 ? ST_FLOAT64 : ST_FLOAT32,
                        st__scalar_float(-INFINITY));
  red.second = sum_pass(ST_K_sumexp, ST_FLOAT64);
  return reduce_as(r, &red, in);
}

/* args: self, p, dim and keepdim if has_dim, dtype */
static st_status norm_in(const st_value *args, bool has_dim, st_value *rets) {
  ST_ARGS(VALUE(self), VALUE(p));
  const st_value dim = has_dim ? *st__next(&args) : st__none();
  const st_value keepdim = has_dim ? *st__next(&args) : st__of_bool(false);
  return st__invoke(ST_OP_linalg_vector_norm,
                    ST_VALUES(self, st__is_none(&p) ? st__of_int(2) : p, dim,
                              keepdim, *st__next(&args)),
                    rets);
}

ST_BOXED(st__box_norm_dtype) { return norm_in(args, false, rets); }

ST_BOXED(st__box_norm_dim_dtype) { return norm_in(args, true, rets); }
