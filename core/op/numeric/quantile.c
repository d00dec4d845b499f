/* quantile and nanquantile, percentile and nanpercentile.
 */

#include <math.h>
#include <string.h>

#include "op/row/composite.h"

enum { LINEAR, LOWER, HIGHER, MIDPOINT, NEAREST, NMODES };

typedef struct quantile {
  const st_tensor *self, *q;
  int whole; /* the q of the greatest element: 1 or 100 */
  bool ignore_nan, keepdim, flat;
  int dim, mode;
} quantile;

static st_status read_mode(const char *name, int *mode) {
  static const char *const names[NMODES] = {"linear", "lower", "higher",
                                            "midpoint", "nearest"};
  for (*mode = 0; *mode < NMODES; ++*mode) {
    if (strcmp(name, names[*mode]) == 0) return ST_OK;
  }
  return st__fail(ST_BAD_VALUE, "interpolation must be \"linear\", \"lower\", "
                  "\"higher\", \"midpoint\" or \"nearest\", not \"%s\"", name);
}

/* BAD_VALUE unless every q is in [0, whole]. Meta tensors are not checked. */
static void check_range(st_op_scope *c, const st_tensor *q, int whole) {
  if (!st__scope_ok(c) || !st__has_elements(q)) return;
  const st_tensor *inside =
    st__apply2(c, ST_OP_logical_and, ST_APPLY(c, ST_OP_ge_Scalar, q, 0),
               ST_APPLY(c, ST_OP_le_Scalar, q, whole));
  const st_tensor *all = st__apply1(c, ST_OP_all, inside);
  if (!st__scope_is_true(c, all) && st__scope_ok(c)) {
    c->status = st__fail(ST_BAD_VALUE, "q must be in the range from 0 to %d",
                         whole);
  }
}

/* q is NULL for a number. */
static st_status check_quantile(const st_tensor *self, const st_tensor *q) {
  if (self->numel == 0) {
    return st__fail(ST_BAD_SHAPE, "self has no elements");
  }
  if (self->dtype != ST_FLOAT32 && self->dtype != ST_FLOAT64) {
    return st__fail(ST_BAD_DTYPE, "self must be float32 or float64, not %s%s",
                    st__dtype_name(self->dtype), st__is_complex(self->dtype)
                    ? "" : ": convert it, as self:to(\"float64\") does");
  }
  if (q && q->ndim > 1) {
    return st__fail(ST_BAD_SHAPE, "q must be a scalar or a vector, its shape "
                    "is %s", ST_SHAPE_TEXT(q));
  }
  if (q && q->dtype != self->dtype) {
    return st__fail(ST_BAD_DTYPE, "q and self must have the same dtype, not %s "
                    "and %s", st__dtype_name(q->dtype),
                    st__dtype_name(self->dtype));
  }
  return ST_OK;
}

static void read_quantile(st_op_scope *c, const st_value *args, quantile *k) {
  k->self = st__next_tensor(&args);
  ST_ARGS(BOXED(q), BOXED(dim));
  k->q = st__to_tensor(q);
  k->flat = st__is_none(dim);
  k->keepdim = st__next_bool(&args);
  const char *interpolation = st__next(&args)->u.string;
  if (st__scope_ok(c)) c->status = check_quantile(k->self, k->q);
  if (st__scope_ok(c)) c->status = read_mode(interpolation, &k->mode);
  if (st__scope_ok(c) && !k->flat) {
    c->status = st__wrap_dim(dim->u.i, k->self->ndim, &k->dim);
  }
  k->flat = k->flat || k->self->ndim == 0;
  if (!k->q) {
    k->q = ST_APPLY(c, ST_OP_new_full, k->self, st__of_ints(NULL, 0), *q);
  }
  check_range(c, k->q, k->whole);
}

/* Sorts along a new last dimension; dim stays with size 1. When flattened, the
 * result has as many dimensions of size 1 as it keeps. */
static st_tensor *sorted_last(st_op_scope *c, const quantile *k) {
  int64_t sizes[ST_MAX_DIMS + 1];
  const int n = k->keepdim ? k->self->ndim : 0;
  const st_tensor *t;
  st_tensor *sorted[2];
  if (k->flat) {
    for (int d = 0; d < n; d++) sizes[d] = 1;
    sizes[n] = k->self->numel;
    t = ST_APPLY(c, ST_OP_reshape, k->self, st__of_ints(sizes, n + 1));
  } else {
    t = ST_APPLY(c, ST_OP_transpose_int,
                 ST_APPLY(c, ST_OP_unsqueeze, k->self, -1), k->dim, -1);
  }
  const st_value all = st__of_tensor(t);
  st__apply_multi(c, ST_OP_sort, 1, &all, 2, sorted);
  return sorted[0];
}

/* The quotient is rounded once: a percentile that is an element has its
 * index. */
static st_tensor *of_whole(st_op_scope *c, const quantile *k, st_tensor *t) {
  return k->whole == 1 ? t : ST_APPLY(c, ST_OP_div_Scalar, t, k->whole);
}

/* The fractional index of each quantile in the sorted line. In a line with NaN
 * it is that of the last element, a NaN; if NaN is ignored, only the other
 * elements count. */
static st_tensor *ranks_of(st_op_scope *c, const quantile *k,
                           const st_tensor *sorted) {
  if (!st__scope_ok(c)) return NULL;
  const st_value line = ST_INTS(-1);
  const st_tensor *q = ST_APPLY(c, ST_OP_reshape, k->q, line);
  const st_tensor *nan = st__apply1(c, ST_OP_isnan, sorted);
  const int64_t last = sorted->sizes[sorted->ndim - 1] - 1;
  if (k->ignore_nan) {
    const st_tensor *count =
      ST_APPLY(c, ST_OP_sum_dim_IntList, st__apply1(c, ST_OP_logical_not, nan),
               ST_INTS(-1), st__of_bool(true));
    count = ST_APPLY(c, ST_OP_sub_Scalar, count, 1);
    count = ST_APPLY(c, ST_OP_clamp_min, count, 0);
    return of_whole(c, k, st__mul(c, q, count));
  }
  return ST_APPLY(c, ST_OP_where_ScalarSelf,
                  ST_APPLY(c, ST_OP_any_dim, nan, -1, st__of_bool(true)), last,
                  of_whole(c, k, ST_APPLY(c, ST_OP_mul_Scalar, q, last)));
}

static st_tensor *gathered(st_op_scope *c, const st_tensor *sorted,
                           const st_tensor *ranks) {
  return ST_APPLY(c, ST_OP_gather, sorted, -1,
                  st__apply_to(c, ranks, ST_INT64));
}

static st_tensor *interpolated(st_op_scope *c, const quantile *k,
                               const st_tensor *sorted) {
  const st_tensor *ranks = ranks_of(c, k, sorted);
  if (k->mode == HIGHER) ranks = st__apply1(c, ST_OP_ceil, ranks);
  if (k->mode == NEAREST) ranks = st__apply1(c, ST_OP_round, ranks);
  st_tensor *below = gathered(c, sorted, ranks);
  if (k->mode != LINEAR && k->mode != MIDPOINT) return below;
  const st_tensor *above = gathered(c, sorted,
                                    st__apply1(c, ST_OP_ceil, ranks));
  const st_tensor *weight = st__apply1(c, ST_OP_frac, ranks);
  if (k->mode == MIDPOINT) {
    weight = ST_APPLY(c, ST_OP_full_like, weight, 0.5);
  }
  return ST_APPLY(c, ST_OP_lerp_Tensor, below, above, weight);
}

static st_status run_quantile(const st_value *args, int whole,
                              bool ignore_nan, st_value *rets) {
  quantile k = {.whole = whole, .ignore_nan = ignore_nan};
  st_op_scope c = {.n = 0};
  read_quantile(&c, args, &k);
  if (!st__scope_ok(&c)) return st__scope_end(&c, 0, NULL, rets);
  st_tensor *out = interpolated(&c, &k, sorted_last(&c, &k));
  if (!k.flat && !k.keepdim) {
    out = ST_APPLY(&c, ST_OP_squeeze_dim, out, k.dim);
  }
  if (k.q->ndim == 0) {
    out = ST_APPLY(&c, ST_OP_squeeze_dim, out, -1);
  } else {
    out = ST_APPLY(&c, ST_OP_movedim_int, out, -1, 0);
  }
  return st__scope_return(&c, out, rets);
}

ST_BOXED(st__box_quantile) { return run_quantile(args, 1, false, rets); }
ST_BOXED(st__box_nanquantile) { return run_quantile(args, 1, true, rets); }
ST_BOXED(st__box_percentile) { return run_quantile(args, 100, false, rets); }
ST_BOXED_AS(st__box_nanpercentile, run_quantile, args, 100, true)

/* q is a tensor or a number. */
static bool has_tensor_q(const st_value *args) {
  st__next(&args);
  return st__next(&args)->tag == ST_TAG_TENSOR;
}

ST_BOXED(st__box_quantile_out) {
  const st_op_id id = has_tensor_q(args) ? ST_OP_quantile
                                         : ST_OP_quantile_scalar;
  return st__compose_out(id, 5, args, rets);
}

ST_BOXED(st__box_nanquantile_out) {
  const st_op_id id = has_tensor_q(args) ? ST_OP_nanquantile
                                         : ST_OP_nanquantile_scalar;
  return st__compose_out(id, 5, args, rets);
}
