/* Reductions and cumulative sums that pass over NaN: composites of those that
 * do not.
 *
 * A NaN is replaced by the value that does not change the result. Where a slice
 * holds nothing but NaN, extrema, means and variances are NaN, sums 0 and
 * products 1; nanargmax and nanargmin fail. Dtypes without NaN take the same
 * path as without these functions.
 */

#include "op/row/composite.h"

#include <math.h>

static st_status check_float(const st_tensor *self) {
  if (st__is_inexact(self->dtype)) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "self must have a floating point dtype, not %s",
                  st__dtype_name(self->dtype));
}

/* self, with value where it is NaN; self itself if its dtype has no NaN. */
static const st_tensor *replaced(st_op_scope *c, const st_tensor *self,
                                 double value) {
  if (!st__is_inexact(self->dtype)) return self;
  return ST_APPLY(c, ST_OP_where_ScalarSelf, st__apply1(c, ST_OP_isnan, self),
                  value, self);
}

/* The dtype in which sums of elements of dtype d do not overflow. */
static st_dtype sum_dtype(st_dtype d) {
  return st__is_reduced_float(d) ? ST_FLOAT32 : d;
}

/* The number of elements of each slice that are not NaN. */
static st_tensor *count_numbers(st_op_scope *c, const st_tensor *self,
                                st_value dim, st_value keepdim) {
  return ST_APPLY(
    c, ST_OP_sum_dim_IntList,
    st__apply1(c, ST_OP_logical_not, st__apply1(c, ST_OP_isnan, self)), dim,
    keepdim);
}

/* -- Means and variances -------------------------------------------------- */

ST_BOXED(st__box_nanmean) {
  ST_ARGS(TENSOR(self), BOXED(dim), BOXED(keepdim));
  const st_dtype asked = st__next_dtype_or(&args, self->dtype);
  st_op_scope c = {.status = check_float(self)};
  if (st__scope_ok(&c) && !st__is_inexact(asked)) {
    c.status = st__fail(ST_BAD_DTYPE, "the mean needs a floating point or "
                        "complex dtype, not %s", st__dtype_name(asked));
  }
  const st_tensor *count = st__scope_ok(&c)
    ? count_numbers(&c, self, *dim, *keepdim) : NULL;
  const st_tensor *sum =
    ST_APPLY(&c, ST_OP_nansum, self, *dim, *keepdim, sum_dtype(asked));
  return st__scope_return(&c, st__apply_to(&c, st__div(&c, sum, count), asked),
                          rets);
}

/* The squared distances from the means, 0 for NaN. */
static const st_tensor *squares(st_op_scope *c, const st_tensor *self,
                                st_value dim) {
  const st_value keep = st__of_bool(true);
  const st_value sum[] = {st__of_tensor(replaced(c, self, 0)), dim, keep};
  const st_tensor *mean =
    st__div(c, st__apply(c, ST_OP_sum_dim_IntList, 3, sum),
            count_numbers(c, self, dim, keep));
  const st_tensor *deviation = st__minus(c, self, mean);
  if (!st__scope_ok(c)) return NULL;
  deviation =
    ST_APPLY(c, ST_OP_where_ScalarSelf, st__apply1(c, ST_OP_isnan, self),
             st__of_float(0), deviation);
  if (!st__is_complex(self->dtype)) {
    return st__apply1(c, ST_OP_square, deviation);
  }
  const st_tensor *conj = st__apply1(c, ST_OP_conj, deviation);
  return st__apply1(c, ST_OP_real, st__mul(c, deviation, conj));
}

static st_tensor *nanvar(st_op_scope *c, const st_value *args) {
  ST_ARGS(TENSOR(self), VALUE(dim), VALUE(correction), VALUE(keepdim));
  if (st__scope_ok(c)) c->status = check_float(self);
  if (!st__scope_ok(c)) return NULL;
  self = st__apply_to(c, self, sum_dtype(self->dtype));
  if (!st__scope_ok(c)) return NULL;
  const st_tensor *total =
    ST_APPLY(c, ST_OP_sum_dim_IntList, squares(c, self, dim), dim, keepdim);
  const st_tensor *count = count_numbers(c, self, dim, keepdim);
  const st_value less = st__is_none(&correction) ? st__of_int(1) : correction;
  const st_tensor *freedom = ST_APPLY(c, ST_OP_sub_Scalar, count, less);
  freedom = ST_APPLY(c, ST_OP_clamp_min, freedom, 0);
  return ST_APPLY(c, ST_OP_where_ScalarSelf,
                  ST_APPLY(c, ST_OP_eq_Scalar, count, 0), st__of_float(NAN),
                  st__div(c, total, freedom));
}

/* t in the dtype of the argument self; a complex one has real variances. */
static st_status in_dtype_of(st_op_scope *c, const st_value *self, st_tensor *t,
                             st_value *rets) {
  const st_dtype d = self->u.tensor->dtype;
  return st__scope_return(c, st__is_reduced_float(d) ? st__apply_to(c, t, d)
                                                     : t, rets);
}

ST_BOXED(st__box_nanvar) {
  st_op_scope c = {.n = 0};
  return in_dtype_of(&c, args, nanvar(&c, args), rets);
}

ST_BOXED(st__box_nanstd) {
  st_op_scope c = {.n = 0};
  return in_dtype_of(&c, args, st__apply1(&c, ST_OP_sqrt, nanvar(&c, args)),
                     rets);
}

/* -- Extrema -------------------------------------------------------------- */

/* NaN where every element of a slice is one, otherwise values. */
static st_tensor *or_nan(st_op_scope *c, const st_tensor *self, st_value dim,
                         st_value keepdim, st_tensor *values) {
  if (!st__scope_ok(c) || !st__is_inexact(self->dtype)) return values;
  return ST_APPLY(c, ST_OP_where_ScalarSelf,
                  ST_APPLY(c, ST_OP_all_dims, st__apply1(c, ST_OP_isnan, self),
                           dim.len > 0 ? dim : st__none(), keepdim),
                  st__of_float(NAN), values);
}

static st_status extremum(st_op_id id, const st_value *args, double least,
                          st_value *rets) {
  ST_ARGS(TENSOR(self), VALUE(dim), VALUE(keepdim));
  st_op_scope c = {.n = 0};
  st_tensor *values = ST_APPLY(&c, id, replaced(&c, self, least), dim, keepdim);
  return st__scope_return(&c, or_nan(&c, self, dim, keepdim, values), rets);
}

ST_BOXED_AS(st__box_nanmax, extremum, ST_OP_amax, args, -INFINITY)
ST_BOXED_AS(st__box_nanmin, extremum, ST_OP_amin, args, INFINITY)

/* Which elements are the extremum of their slice, as bytes. */
static st_tensor *is_extreme(st_op_scope *c, st_op_id id,
                             const st_tensor *self, const st_value *dim) {
  const int64_t along[] = {st__to_int(dim, 0)};
  const st_tensor *extreme =
    ST_APPLY(c, id, self, st__of_ints(along, st__is_none(dim) ? 0 : 1),
             st__of_bool(true));
  if (!st__scope_ok(c)) return NULL;
  const st_tensor *any = st__apply1(c, ST_OP_any,
                                    st__apply1(c, ST_OP_isnan, extreme));
  if (st__scope_is_true(c, any)) {
    c->status = st__fail(ST_BAD_VALUE, "a slice of self has only NaN");
  }
  return st__apply_to(c, st__apply2(c, ST_OP_eq_Tensor, self, extreme),
                      ST_UINT8);
}

static st_status position(st_op_id plain, st_op_id extreme,
                          const st_value *args, st_value *rets) {
  const st_tensor *self = st__to_tensor(args);
  st_op_scope c = {.n = 0};
  if (!st__is_inexact(self->dtype) || self->numel == 0) {
    return st__invoke(plain, 4, args, rets);
  }
  return st__scope_return(&c,
                          ST_APPLY(&c, ST_OP_argmax,
                                   is_extreme(&c, extreme, self, &args[1]),
                                   args[1], args[2], args[3]),
                          rets);
}

ST_BOXED_AS(st__box_nanargmax, position, ST_OP_argmax, ST_OP_nanmax, args)
ST_BOXED_AS(st__box_nanargmin, position, ST_OP_argmin, ST_OP_nanmin, args)

/* -- Products and cumulative sums ----------------------------------------- */

ST_BOXED(st__box_nanprod) {
  ST_ARGS(TENSOR(self), VALUE(dim), VALUE(keepdim), VALUE(dtype));
  int64_t ones[ST_MAX_DIMS];
  st_op_scope c = {.n = 0};
  const st_value numbers = st__of_tensor(replaced(&c, self, 1));
  if (!st__is_none(&dim)) {
    return st__scope_return(
      &c, ST_APPLY(&c, ST_OP_prod_dim_int, numbers, dim, keepdim, dtype), rets);
  }
  st_tensor *product = ST_APPLY(&c, ST_OP_prod, numbers, dtype);
  if (st__to_bool(&keepdim, false)) {
    for (int d = 0; d < self->ndim; d++) ones[d] = 1;
    product =
      ST_APPLY(&c, ST_OP_reshape, product, st__of_ints(ones, self->ndim));
  }
  return st__scope_return(&c, product, rets);
}

static st_status scan(st_op_id id, const st_value *args, double neutral,
                      st_value *rets) {
  st_op_scope c = {.n = 0};
  return st__scope_return(&c,
                          ST_APPLY(&c, id,
                                   replaced(&c, st__to_tensor(args), neutral),
                                   args[1], args[2]),
                          rets);
}

ST_BOXED(st__box_nancumsum) { return scan(ST_OP_cumsum, args, 0, rets); }
ST_BOXED(st__box_nancumprod) { return scan(ST_OP_cumprod, args, 1, rets); }
