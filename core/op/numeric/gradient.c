/* gradient: slopes along dimensions, from differences of adjacent elements:
 * central differences inside, one-sided ones at the ends.
 */

#include "op/row/composite.h"

#include <inttypes.h>

/* -- Parts ---------------------------------------------------------------- */

/* A dimension of self and its spacing: a number, or the steps between
 * coordinates. */
typedef struct line {
  const st_tensor *self, *step; /* step is NULL for a number */
  st_value spacing;
  int dim;
  bool quadratic;               /* second order at the ends, too */
} line;

/* The elements of t from index i on, all but `fewer`; i below 0 counts from the
 * end. */
static st_tensor *part(st_op_scope *c, const st_tensor *t, int dim, int64_t i,
                       int64_t fewer) {
  const int64_t n = t && st__scope_ok(c) ? t->sizes[dim] : 0;
  return st__apply_narrow(c, t, dim, i < 0 ? n + i : i, n - fewer);
}

/* The element of self at index i. */
static st_tensor *at(st_op_scope *c, const line *l, int64_t i) {
  const int64_t n = l->self->sizes[l->dim];
  return part(c, l->self, l->dim, i, n - 1);
}

/* The i-th step, a number. */
static st_tensor *step_at(st_op_scope *c, const line *l, int64_t i) {
  return ST_APPLY(c, ST_OP_select_int, l->step, 0, i);
}

/* -- Equal steps ---------------------------------------------------------- */

static st_tensor *per_step(st_op_scope *c, const line *l, const st_tensor *t) {
  return ST_APPLY(c, ST_OP_div_Scalar, t, l->spacing);
}

/* The slope at an end; i is its index, k the one of its neighbour, j the one
 * behind that. In this order the sums round as in ATen. */
static st_tensor *end_slope(st_op_scope *c, const line *l, int64_t i, int64_t k,
                            int64_t j) {
  const double sign = i < 0 ? -1 : 1;
  if (!l->quadratic) {
    const st_tensor *rise = i < 0 ? st__minus(c, at(c, l, i), at(c, l, k))
                                  : st__minus(c, at(c, l, k), at(c, l, i));
    return per_step(c, l, rise);
  }
  const st_tensor *near = st__scaled(c, at(c, l, i), -1.5 * sign);
  const st_tensor *next = st__scaled(c, at(c, l, k), 2 * sign);
  const st_tensor *last = st__scaled(c, at(c, l, j), -0.5 * sign);
  const st_tensor *first = i < 0 ? last : near, *third = i < 0 ? near : last;
  return per_step(c, l, st__plus(c, st__plus(c, first, next), third));
}

/* Half the rise over two steps. */
static st_tensor *inner_slopes(st_op_scope *c, const line *l) {
  const st_tensor *rise = st__minus(c, part(c, l->self, l->dim, 2, 2),
                                    part(c, l->self, l->dim, 0, 2));
  return ST_APPLY(c, ST_OP_div_Scalar, per_step(c, l, rise), 2);
}

/* -- Steps between coordinates -------------------------------------------- */

/* t as the factor of slices of self along its dimension. */
static st_tensor *along_dim(st_op_scope *c, const line *l,
                            const st_tensor *t) {
  int64_t sizes[ST_MAX_DIMS];
  if (!st__scope_ok(c)) return NULL;
  for (int d = 0; d < l->self->ndim; d++) sizes[d] = 1;
  sizes[l->dim] = t->numel;
  return ST_APPLY(c, ST_OP_reshape, t, st__of_ints(sizes, l->self->ndim));
}

/* The factors of three adjacent elements in the slope at the first (-1), at the
 * one between (0) or at the last one (1), by the steps h and k between them. */
static void weights_of(st_op_scope *c, const st_tensor *h, const st_tensor *k,
                       int where, const st_tensor *w[3]) {
  const st_tensor *both = st__plus(c, h, k);
  const st_tensor *hb = st__mul(c, h, both), *hk = st__mul(c, h, k);
  const st_tensor *kb = st__mul(c, k, both), *top[3];
  if (where < 0) {
    top[0] = st__scaled(c, st__plus(c, st__scaled(c, h, 2), k), -1);
    top[1] = both;
    top[2] = st__scaled(c, h, -1);
  } else if (where > 0) {
    top[0] = k;
    top[1] = st__scaled(c, both, -1);
    top[2] = st__plus(c, st__scaled(c, k, 2), h);
  } else {
    top[0] = st__scaled(c, k, -1);
    top[1] = st__minus(c, k, h);
    top[2] = h;
  }
  w[0] = st__div(c, top[0], hb);
  w[1] = st__div(c, top[1], hk);
  w[2] = st__div(c, top[2], kb);
}

static st_tensor *weighted(st_op_scope *c, const st_tensor *const w[3],
                           const st_tensor *const x[3]) {
  st_tensor *sum = st__mul(c, w[0], x[0]);
  for (int i = 1; i < 3; i++) sum = st__plus(c, sum, st__mul(c, w[i], x[i]));
  return sum;
}

static st_tensor *end_by_steps(st_op_scope *c, const line *l, bool last) {
  const st_tensor *w[3], *x[3];
  const int64_t i = last ? -1 : 0;
  if (!l->quadratic) {
    const st_tensor *rise = last ? st__minus(c, at(c, l, -1), at(c, l, -2))
                                 : st__minus(c, at(c, l, 1), at(c, l, 0));
    return st__div(c, rise, step_at(c, l, i));
  }
  weights_of(c, step_at(c, l, last ? -2 : 0), step_at(c, l, last ? -1 : 1),
             last ? 1 : -1, w);
  for (int k = 0; k < 3; k++) x[k] = at(c, l, last ? k - 3 : k);
  return weighted(c, w, x);
}

static st_tensor *inner_by_steps(st_op_scope *c, const line *l) {
  const st_tensor *w[3], *x[3];
  weights_of(c, part(c, l->step, 0, 0, 1), part(c, l->step, 0, 1, 1), 0, w);
  for (int k = 0; k < 3; k++) {
    w[k] = along_dim(c, l, w[k]);
    x[k] = part(c, l->self, l->dim, k, 2);
  }
  return weighted(c, w, x);
}

static st_tensor *slopes(st_op_scope *c, const line *l) {
  st_tensor *parts[3];
  if (l->step) {
    parts[0] = end_by_steps(c, l, false);
    parts[1] = inner_by_steps(c, l);
    parts[2] = end_by_steps(c, l, true);
  } else {
    parts[0] = end_slope(c, l, 0, 1, 2);
    parts[1] = inner_slopes(c, l);
    parts[2] = end_slope(c, l, -1, -2, -3);
  }
  return st__scope_ok(c)
           ? ST_APPLY(c, ST_OP_cat, st__of_tensors(parts, 3), l->dim)
           : NULL;
}

/* -- Spacing -------------------------------------------------------------- */

typedef struct request {
  const st_tensor *self;
  const st_value *spacing; /* none, a scalar, or a list */
  int64_t edge_order;
  int n, dims[ST_MAX_DIMS];
} request;

static bool is_list(const st_value *v) { return v->tag >= ST_TAG_INTS; }

/* The i-th spacing. */
static st_value spacing_of(const request *q, int i) {
  const st_value *v = q->spacing;
  switch (v->tag) {
    case ST_TAG_NONE: return st__of_int(1);
    case ST_TAG_INTS: return st__of_int(v->u.ints[i]);
    case ST_TAG_FLOATS: return st__of_float(v->u.floats[i]);
    case ST_TAG_BOOLS: return st__of_int(v->u.bools[i]);
    default: return *v;
  }
}

static st_status check_coordinates(const st_tensor *t, const st_tensor *self,
                                   int dim) {
  if (t->ndim == 1 && t->sizes[0] == self->sizes[dim]) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "spacing for dimension %d must be a vector of %"
                  PRId64 " coordinates, its shape is %s",
                  (int)st__display_index(dim), self->sizes[dim],
                  ST_SHAPE_TEXT(t));
}

/* Steps between coordinates. Those of integers are floating point, so that
 * products of them do not wrap around. */
static st_tensor *steps(st_op_scope *c, const st_tensor *coordinates,
                        const st_tensor *self, int dim) {
  st_value dtype;
  if (st__scope_ok(c)) c->status = check_coordinates(coordinates, self, dim);
  st_tensor *all = st__minus(c, part(c, coordinates, 0, 1, 1),
                             part(c, coordinates, 0, 0, 1));
  if (!st__scope_ok(c) || !st__is_integral(all->dtype)) return all;
  c->status = st__invoke(ST_OP_result_type_Scalar,
                         ST_VALUES(all, st__of_float(1)), &dtype);
  return st__apply_to(c, all, (st_dtype)dtype.u.i);
}

static st_status along(const request *q, int i, st_value *ret) {
  st_op_scope c = {.n = 0};
  line l = {.self = q->self, .dim = q->dims[i],
            .quadratic = q->edge_order == 2};
  if (q->spacing->tag == ST_TAG_TENSORS) {
    l.step = steps(&c, q->spacing->u.tensors[i], q->self, l.dim);
    if (!st__scope_ok(&c)) return st__scope_end(&c, 0, NULL, ret);
  } else {
    l.spacing = spacing_of(q, i);
  }
  return st__scope_return(&c, slopes(&c, &l), ret);
}

/* -- Operators ------------------------------------------------------------ */

static st_status read_dims(const st_value *dim, request *q) {
  const int ndim = q->self->ndim;
  uint64_t set;
  if (st__is_none(dim)) {
    for (q->n = 0; q->n < ndim; q->n++) q->dims[q->n] = q->n;
    return ST_OK;
  }
  const int64_t *dims = is_list(dim) ? dim->u.ints : &dim->u.i;
  q->n = is_list(dim) ? (int)dim->len : 1;
  ST_TRY(st__wrap_dims(dims, q->n, ndim, &set));
  for (int i = 0; i < q->n; i++) {
    ST_TRY(st__wrap_dim(dims[i], ndim, &q->dims[i]));
  }
  return ST_OK;
}

static st_status check(const request *q) {
  if (st__is_unsigned(q->self->dtype) || q->self->dtype == ST_BOOL) {
    return st__no_kernel_for(q->self->dtype);
  }
  if (q->edge_order != 1 && q->edge_order != 2) {
    return st__fail(ST_BAD_VALUE, "edge_order must be 1 or 2, it is %" PRId64,
                    q->edge_order);
  }
  if (is_list(q->spacing) && (int)q->spacing->len != q->n) {
    return st__fail(ST_BAD_SHAPE, "spacing has %u entries for %d dimensions",
                    q->spacing->len, q->n);
  }
  for (int i = 0; i < q->n; i++) {
    const int64_t size = q->self->ndim ? q->self->sizes[q->dims[i]] : 1;
    if (size > q->edge_order) continue;
    return st__fail(ST_BAD_SHAPE, "dimension %d has size %" PRId64 ", but "
                    "edge_order %" PRId64 " needs more",
                    (int)st__display_index(q->dims[i]), size, q->edge_order);
  }
  return ST_OK;
}

static st_status gradient(request *q, const st_value *dim, st_value *rets) {
  st_value list;
  ST_TRY(read_dims(dim, q));
  ST_TRY(check(q));
  ST_TRY(st__value_new_tensors(q->n, &list));
  for (int i = 0; i < q->n; i++) {
    st_value one;
    const st_status status = along(q, i, &one);
    if (status != ST_OK) {
      st__value_clear(&list);
      return status;
    }
    list.u.tensors[i] = one.u.tensor;
  }
  rets[0] = list;
  return ST_OK;
}

ST_BOXED(st__box_gradient) {
  ST_ARGS(TENSOR(self), BOXED(spacing), BOXED(dim));
  request q = {.self = self, .spacing = spacing,
               .edge_order = st__next_int(&args)};
  return gradient(&q, dim, rets);
}

ST_BOXED(st__box_gradient_array) {
  ST_ARGS(TENSOR(self));
  const st_value *dim = st__next(&args), one = st__none();
  request q = {.self = self, .spacing = &one,
               .edge_order = st__next_int(&args)};
  return gradient(&q, dim, rets);
}
