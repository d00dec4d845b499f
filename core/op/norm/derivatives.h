/* Derivatives of normalizations, as formulas of operators.
 */
#ifndef ST_OP_NORM_DERIVATIVES_H
#define ST_OP_NORM_DERIVATIVES_H

#include "op/norm/normalization.h"

/* Note [Derivatives of layer_norm]
 * Let x^ = (x - mean(x)) r and r = 1 / sqrt(var(x) + eps), with means over a
 * layer. A small step dx changes
 *
 *   x^ by r P(dx)        P(v) = v - mean(v) - x^ mean(v x^)
 *   r  by -r^2 mean(x^ dx)
 *
 * P is symmetric, so the gradient of x is r P(g), where g is the gradient of
 * x^. If h is the gradient of r P(g), then the gradient of g is r P(h), and
 * that of x is, with b = mean(g x^) and a = mean(h x^),
 *
 *   -r^2 (x^ (mean(h g) - mean(h) mean(g) - a b) + P(b h + a g)). */
typedef struct layer {
  st_op_scope *c;
  st_value dims;              /* the dimensions of a layer */
  st_value outer;             /* the other dimensions */
  const st_tensor *xhat, *r;
} layer;

/* The means of v over each layer. */
static inline st_tensor *mean_of(const layer *l, const st_tensor *v) {
  return ST_APPLY(l->c, ST_OP_mean_dim, v, l->dims, st__of_bool(true));
}

/* a - b v */
static inline st_tensor *less(const layer *l, const st_tensor *a,
                              const st_tensor *b, const st_tensor *v) {
  return ST_APPLY(l->c, ST_OP_addcmul, a, b, v, -1);
}

/* P(v) */
static inline st_tensor *projected(const layer *l, const st_tensor *v) {
  const st_tensor *along = mean_of(l, st__mul(l->c, v, l->xhat));
  return less(l, st__minus(l->c, v, mean_of(l, v)), l->xhat, along);
}

/* The gradient of a weight or bias, which all layers share. */
static inline st_tensor *summed(const layer *l, st_tensor *v) {
  if (l->outer.len == 0) return v;
  return ST_APPLY(l->c, ST_OP_sum_dim_IntList, v, l->outer);
}

/* The gradient of x if h is the gradient of r P(g): Note [Derivatives of
 * layer_norm]. */
static inline st_tensor *curvature(const layer *l, const st_tensor *h,
                                   const st_tensor *g) {
  st_op_scope *c = l->c;
  const st_tensor *a = mean_of(l, st__mul(c, h, l->xhat));
  const st_tensor *b = mean_of(l, st__mul(c, g, l->xhat));
  const st_tensor *k = mean_of(l, st__mul(c, h, g));
  k = less(l, less(l, k, mean_of(l, h), mean_of(l, g)), a, b);
  const st_tensor *mixed = st__plus(c, st__mul(c, b, h), st__mul(c, a, g));
  const st_tensor *sum =
    st__plus(c, st__mul(c, k, l->xhat), projected(l, mixed));
  return st__mul(c, st__apply1(c, ST_OP_neg, st__apply1(c, ST_OP_square, l->r)),
                 sum);
}

#endif
