/* What normalisations share: their steps as operators.
 */
#ifndef ST_OP_NORM_NORMALIZATION_H
#define ST_OP_NORM_NORMALIZATION_H

#include "op/nn/spatial.h"
#include "op/row/composite.h"

/* t in the dtype that it is computed in. */
static inline st_tensor *precise(st_op_scope *c, st_tensor *t) {
  return st__is_reduced_float(t->dtype) ? st__apply_to(c, t, ST_FLOAT32) : t;
}

/* The inverse of precise: t in the dtype of like. */
static inline st_tensor *as_dtype_of(st_op_scope *c, st_tensor *t,
                                     const st_tensor *like) {
  return st__scope_ok(c) && t->dtype != like->dtype
       ? st__apply_to(c, t, like->dtype) : t;
}

/* 1 / sqrt(t + eps) */
static inline st_tensor *inverse_root(st_op_scope *c, const st_tensor *t,
                                      double eps) {
  return st__apply1(c, ST_OP_rsqrt, ST_APPLY(c, ST_OP_add_Scalar, t, eps));
}

/* Mean and biased variance over dims, which keep size 1. */
static inline void moments(st_op_scope *c, const st_tensor *x, st_value dims,
                           st_tensor **mean, st_tensor **var) {
  st_tensor *both[2];
  st__apply_multi(c, ST_OP_var_mean_correction,
                  ST_VALUES(x, dims, 0, st__of_bool(true)), 2, both);
  *var = both[0];
  *mean = both[1];
}

/* (x - mean) rstd */
static inline st_tensor *standardised(st_op_scope *c, const st_tensor *x,
                                      const st_tensor *mean,
                                      const st_tensor *rstd) {
  return st__mul(c, st__minus(c, x, mean), rstd);
}

/* x weight + bias; either may be NULL. */
static inline st_tensor *affine(st_op_scope *c, st_tensor *x,
                                const st_tensor *weight,
                                const st_tensor *bias) {
  if (weight && bias) return ST_APPLY(c, ST_OP_addcmul, bias, x, weight);
  if (weight) return st__mul(c, x, weight);
  return bias ? st__plus(c, x, bias) : x;
}

/* t, with one element per channel, reshaped to broadcast with an input of ndim
 * dimensions. */
static inline st_tensor *along_channels(st_op_scope *c, const st_tensor *t,
                                        int ndim) {
  int64_t sizes[ST_MAX_DIMS];
  for (int d = 0; d < ndim; d++) sizes[d] = 1;
  sizes[1] = -1;
  return st__apply_reshape(c, t, ndim, sizes);
}

static inline st_status check_parameter(const st_tensor *t, const char *name,
                                        const int64_t *sizes, int n) {
  char text[160];
  if (!t || st__has_sizes(t, n, sizes)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "%s must have shape %s, not %s", name,
                  st__shape_text(n, sizes, text, sizeof text),
                  ST_SHAPE_TEXT(t));
}

/* The first of the three results of operator id. */
static inline st_status first_of(st_op_id id, int n, const st_value *args,
                                 st_value *rets) {
  st_op_scope c = {.n = 0};
  st_tensor *all[3];
  st__apply_multi(&c, id, n, args, 3, all);
  return st__scope_return(&c, all[0], rets);
}

#endif
