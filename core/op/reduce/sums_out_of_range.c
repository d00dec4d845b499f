/* Note [Sums that leave the range].
 */

#include "op/reduce/sums_out_of_range.h"

#include <math.h>

#include "op/registry/composite.h"

/* The reduced dimensions, and for each output what it is and the magnitude of
 * the element that counts most, with dimensions of size 1 for the reduced
 * ones. */
typedef struct outputs {
  const st_tensor *self, *plain, *top;
  int64_t list[ST_MAX_DIMS];
  st_value dims;
} outputs;

static st_status find_outputs(const st_run *r, double order, st_op_scope *c,
                              outputs *o) {
  int n = 0;
  st_dims d;
  ST_TRY(st__get_dims(r, &d));
  for (int i = 0; i < d.self->ndim; i++) {
    if (d.set >> i & 1) o->list[n++] = i;
  }
  o->self = d.self;
  o->dims = st__of_ints(o->list, n);
  o->top = st__apply(c, ST_OP_linalg_vector_norm, 4, (st_value[]){
    st__of_tensor(d.self), st__of_float(order), o->dims, st__of_bool(true)});
  o->top = st__apply_to(c, o->top, ST_FLOAT64);
  if (!st__scope_ok(c)) return ST_OK;
  o->plain = st__apply_with(c, ST_OP_reshape,
                            st__apply_to(c, r->out[0], ST_FLOAT64),
                            st__of_ints(o->top->sizes, o->top->ndim));
  return ST_OK;
}

/* True where the plain result is beyond `limit` or what an overflow gives, and
 * top is a number to divide by; NULL if that is nowhere. */
static st_tensor *outside(st_op_scope *c, const outputs *o, st_op_id beyond,
                          double limit, double overflown) {
  const st_tensor *left = st__apply2(
    c, ST_OP_logical_or,
    st__apply_with(c, beyond, o->plain, st__of_float(limit)),
    st__apply_with(c, ST_OP_eq_Scalar, o->plain, st__of_float(overflown)));
  const st_tensor *divides = st__apply2(
    c, ST_OP_logical_and, st__apply1(c, ST_OP_isfinite, o->top),
    st__apply_with(c, ST_OP_gt_Scalar, o->top, st__of_int(0)));
  st_tensor *mask = st__apply2(c, ST_OP_logical_and, left, divides);
  const st_tensor *any = st__apply1(c, ST_OP_any, mask);
  return st__scope_ok(c) && *(const bool *)st__data(any) ? mask : NULL;
}

/* Writes `better` where mask is true. */
static void replace(st_op_scope *c, const st_run *r, const outputs *o,
                    const st_tensor *mask, const st_tensor *better) {
  st_tensor *const out = r->out[0];
  const st_tensor *all = st__apply(c, ST_OP_where_self, 3, (st_value[]){
    st__of_tensor(mask), st__of_tensor(better), st__of_tensor(o->plain)});
  all = st__apply_with(c, ST_OP_reshape, all,
                       st__of_ints(out->sizes, out->ndim));
  if (st__scope_ok(c)) c->status = st__copy_unchecked(out, all);
}

/* -- Norms ---------------------------------------------------------------- */

/* top times the norms of self / top. */
static st_tensor *scaled_norm(st_op_scope *c, const outputs *o, double p) {
  const st_tensor *x = st__apply1(c, ST_OP_abs, o->self);
  x = st__apply2(c, ST_OP_div_Tensor, st__apply_to(c, x, ST_FLOAT64), o->top);
  x = st__apply_with(c, ST_OP_pow_Tensor_Scalar, x, st__of_float(p));
  x = st__apply(c, ST_OP_sum_dim_IntList, 3,
                (st_value[]){st__of_tensor(x), o->dims, st__of_bool(true)});
  x = st__apply_with(c, ST_OP_pow_Tensor_Scalar, x, st__of_float(1 / p));
  return st__apply2(c, ST_OP_mul_Tensor, o->top, x);
}

st_status st__norm_out_of_range(st_run *r, double p) {
  const double limit = pow(ST_LEAST_SUM, 1 / p);
  st_op_scope c = {.n = 0};
  outputs o = {.plain = NULL};
  const st_status status = find_outputs(r, copysign(INFINITY, p), &c, &o);
  const st_tensor *mask = status != ST_OK ? NULL
    : p > 0 ? outside(&c, &o, ST_OP_lt_Scalar, limit, INFINITY)
            : outside(&c, &o, ST_OP_gt_Scalar, limit, 0);
  if (mask) replace(&c, r, &o, mask, scaled_norm(&c, &o, p));
  if (status != ST_OK) c.status = status;
  return st__scope_end(&c, 0, NULL, NULL);
}

/* -- Standard deviations -------------------------------------------------- */

/* The greatest power of two up to top: dividing by it loses no bits. */
static st_tensor *power_of_two(st_op_scope *c, const st_tensor *top) {
  st_tensor *parts[2];
  st__apply_multi(c, ST_OP_frexp_Tensor, 1,
                  (st_value[]){st__of_tensor(top)}, 2, parts);
  return !st__scope_ok(c) ? NULL
    : st__apply2(c, ST_OP_div_Tensor, top, st__scaled(c, parts[0], 2));
}

st_status st__std_out_of_range(st_run *r, double correction) {
  static const double limit = 1e-130; /* also with few degrees of freedom */
  st_op_scope c = {.n = 0};
  outputs o = {.plain = NULL};
  const st_status status = find_outputs(r, INFINITY, &c, &o);
  const st_tensor *mask = status != ST_OK ? NULL
    : outside(&c, &o, ST_OP_lt_Scalar, limit, INFINITY);
  if (mask) {
    const st_tensor *unit = power_of_two(&c, o.top);
    const st_tensor *x = st__apply2(&c, ST_OP_div_Tensor, o.self, unit);
    x = st__apply(&c, ST_OP_var_correction, 4, (st_value[]){
      st__of_tensor(x), o.dims, st__of_float(correction), st__of_bool(true)});
    x = st__apply2(&c, ST_OP_mul_Tensor, st__apply1(&c, ST_OP_sqrt, x), unit);
    replace(&c, r, &o, mask, x);
  }
  if (status != ST_OK) c.status = status;
  return st__scope_end(&c, 0, NULL, NULL);
}
