/* Covariances and correlations of the rows of a matrix.
 */

#include "op/row/composite.h"

#include <inttypes.h>

/* -- Weights -------------------------------------------------------------- */

typedef struct observations {
  const st_tensor *rows;
  int64_t n;                  /* observations, one per column */
  const st_tensor *frequency; /* repetitions of each (fweights), or NULL */
  const st_tensor *weight;    /* importance of each (aweights), or NULL */
  const st_tensor *both;      /* the product of the two, or NULL */
} observations;

static bool is_negative(const st_tensor *t, st_status *status) {
  st_value least, number;
  const st_value arg = st__of_tensor(t);
  if (t->numel == 0 || !st__has_elements(t)) return false;
  *status = st__invoke(ST_OP_min, 1, &arg, &least);
  if (*status != ST_OK) return false;
  *status = st__invoke(ST_OP_item, 1, &least, &number);
  st__value_clear(&least);
  if (*status != ST_OK) return false;
  return st__scalar_to_double(st__scalar_of(&number)) < 0;
}

static st_status check_weights(const st_tensor *t, const observations *o,
                               const char *name, bool is_dtype_right) {
  st_status status = ST_OK;
  if (!is_dtype_right) {
    return st__fail(ST_BAD_DTYPE, "%s must not have dtype %s", name,
                    st__dtype_name(t->dtype));
  }
  if (t->ndim > 1 || t->numel != o->n) {
    return st__fail(ST_BAD_SHAPE, "%s of shape %s for %" PRId64 " observations",
                    name, ST_SHAPE_TEXT(t), o->n);
  }
  if (!is_negative(t, &status)) return status;
  return st__fail(ST_BAD_VALUE, "%s must not be negative", name);
}

/* Checks the weights and sets o->both. */
static void multiply_weights(st_op_scope *c, observations *o) {
  const st_tensor *f = o->frequency, *w = o->weight;
  o->both = f ? f : w;
  if (st__scope_ok(c) && f) {
    c->status = check_weights(f, o, "fweights", st__is_integral(f->dtype));
  }
  if (st__scope_ok(c) && w) {
    c->status = check_weights(w, o, "aweights", st__is_floating(w->dtype));
  }
  if (f && w) o->both = st__mul(c, f, w);
}

/* -- cov ------------------------------------------------------------------ */

static st_tensor *sum_rows(st_op_scope *c, const st_tensor *t) {
  return ST_APPLY(c, ST_OP_sum_dim_IntList, t, ST_INTS(1), st__of_bool(true));
}

/* The rows minus their means. */
static st_tensor *centered(st_op_scope *c, const observations *o,
                           const st_tensor *total) {
  const st_tensor *mean;
  if (!o->both) {
    mean = ST_APPLY(c, ST_OP_div_Scalar, sum_rows(c, o->rows), o->n);
  } else {
    const st_tensor *weighted = st__mul(c, o->rows, o->both);
    mean = st__div(c, sum_rows(c, weighted), total);
  }
  return st__minus(c, o->rows, mean);
}

/* The divisor of the products, at least 0: the total weight minus the
 * correction. With aweights the correction is scaled by the mean of aweights,
 * weighted by all weights. */
static st_tensor *divisor(st_op_scope *c, const observations *o,
                          const st_tensor *total, int64_t correction) {
  const st_tensor *less;
  if (o->weight && correction != 0) {
    const st_tensor *squares =
      st__apply1(c, ST_OP_sum, st__mul(c, o->both, o->weight));
    less =
      ST_APPLY(c, ST_OP_mul_Scalar, st__div(c, squares, total), correction);
    less = st__minus(c, total, less);
  } else {
    less = ST_APPLY(c, ST_OP_sub_Scalar, total, o->weight ? 0 : correction);
  }
  return ST_APPLY(c, ST_OP_clamp_min, less, 0);
}

static st_tensor *products(st_op_scope *c, const observations *o,
                           const st_tensor *rows) {
  const st_tensor *other = rows;
  if (o->both) other = st__mul(c, rows, o->both);
  return st__apply2(c, ST_OP_mm, rows,
                    st__apply1(c, ST_OP_conj, st__apply1(c, ST_OP_t, other)));
}

static st_tensor *covariance(st_op_scope *c, const observations *o,
                             int64_t correction) {
  const st_tensor *product;
  if (!o->both) {
    int64_t freedom = 0;
    if (o->n > correction && !st__sub_sizes(o->n, correction, &freedom)) {
      freedom = INT64_MAX;
    }
    product = products(c, o, centered(c, o, NULL));
    return ST_APPLY(c, ST_OP_div_Scalar, product, freedom);
  }
  const st_tensor *total = st__apply1(c, ST_OP_sum, o->both);
  product = products(c, o, centered(c, o, total));
  return st__div(c, product, divisor(c, o, total, correction));
}

ST_BOXED(st__box_cov) {
  ST_ARGS(TENSOR(self), INT(correction));
  observations o = {.rows = self};
  ST_ARGS_TO(o, TENSOR(frequency), TENSOR(weight));
  st_op_scope c = {.n = 0};
  if (self->ndim > 2) {
    return st__fail(ST_BAD_SHAPE, "self must be a matrix, its shape is %s",
                    ST_SHAPE_TEXT(self));
  }
  if (self->dtype == ST_BOOL) return st__no_kernel_for(ST_BOOL);
  if (self->ndim < 2) {
    o.rows = ST_APPLY(&c, ST_OP_reshape, self, ST_INTS(1, self->numel));
  }
  if (st__scope_ok(&c)) o.n = o.rows->sizes[1];
  multiply_weights(&c, &o);
  return st__scope_return(
    &c, st__apply1(&c, ST_OP_squeeze, covariance(&c, &o, correction)), rets);
}

/* -- corrcoef ------------------------------------------------------------- */

static st_tensor *clamp_to_one(st_op_scope *c, const st_tensor *t) {
  if (!st__scope_ok(c)) return NULL;
  const bool complex = st__is_complex(t->dtype);
  if (complex) t = st__apply1(c, ST_OP_view_as_real, t);
  st_tensor *clamped = ST_APPLY(c, ST_OP_clamp, t, -1, 1);
  return complex ? st__apply1(c, ST_OP_view_as_complex, clamped) : clamped;
}

ST_BOXED(st__box_corrcoef) {
  st_op_scope c = {.n = 0};
  const st_tensor *cov = st__apply1(&c, ST_OP_cov, st__next_tensor(&args));
  if (st__scope_ok(&c) && cov->ndim == 0) {
    return st__scope_return(&c, st__div(&c, cov, cov), rets);
  }
  const st_tensor *deviation = st__apply1(
    &c, ST_OP_sqrt,
    st__apply1(&c, ST_OP_real, st__apply1(&c, ST_OP_diagonal, cov)));
  const st_tensor *column = ST_APPLY(&c, ST_OP_unsqueeze, deviation, 1);
  const st_tensor *scaled = st__div(&c, st__div(&c, cov, column), deviation);
  return st__scope_return(&c, clamp_to_one(&c, scaled), rets);
}
