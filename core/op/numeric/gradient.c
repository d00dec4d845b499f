/* gradient: slopes along dimensions, from differences of adjacent elements:
 * central differences inside, one-sided ones at the ends.
 */

#include "op/registry/composite.h"

#include <inttypes.h>

/* -- One dimension -------------------------------------------------------- */

static st_tensor *but_last(st_op_scope *c, const st_tensor *t, int dim) {
  const int64_t n = t ? t->sizes[dim] - 1 : 0;
  return st__apply_narrow(c, t, dim, 0, n);
}

static st_tensor *but_first(st_op_scope *c, const st_tensor *t, int dim) {
  const int64_t n = t ? t->sizes[dim] - 1 : 0;
  return st__apply_narrow(c, t, dim, 1, n);
}

static st_tensor *differences(st_op_scope *c, const st_tensor *t, int dim) {
  return st__apply2(c, ST_OP_sub_Tensor, but_first(c, t, dim),
                    but_last(c, t, dim));
}

/* Extrapolates slopes: a + (a - b) h / (h + k), where h and k are steps; NULL
 * for equal steps. */
static st_tensor *extrapolate(st_op_scope *c, const st_tensor *a,
                              const st_tensor *b, const st_tensor *h,
                              const st_tensor *k) {
  const st_tensor *change = st__apply2(c, ST_OP_sub_Tensor, a, b);
  if (!h) {
    change = st__apply_with(c, ST_OP_mul_Scalar, change, st__of_float(0.5));
  } else {
    const st_tensor *share = st__apply2(c, ST_OP_div_Tensor, h,
                                        st__apply2(c, ST_OP_add_Tensor, h, k));
    change = st__apply2(c, ST_OP_mul_Tensor, change, share);
  }
  return st__apply2(c, ST_OP_add_Tensor, a, change);
}

/* Slopes between adjacent elements, and the steps between these; step is NULL
 * if all are equal. */
typedef struct slopes {
  const st_tensor *slope, *step;
  int dim;
  bool quadratic; /* second order at the ends, too */
} slopes;

static st_tensor *at(st_op_scope *c, const slopes *s, const st_tensor *t,
                     int64_t i) {
  if (!t || !st__scope_ok(c)) return NULL;
  return st__apply_narrow(c, t, s->dim, i < 0 ? i + t->sizes[s->dim] : i, 1);
}

/* The slope at an end; `near` is the index of the adjacent slope, `far` that
 * of the next one. */
static st_tensor *at_end(st_op_scope *c, const slopes *s, int64_t near,
                         int64_t far) {
  st_tensor *a = at(c, s, s->slope, near);
  if (!s->quadratic) return a;
  return extrapolate(c, a, at(c, s, s->slope, far), at(c, s, s->step, near),
                     at(c, s, s->step, far));
}

/* Slopes inside: means of the two adjacent slopes, each weighted by the step
 * of the other. */
static st_tensor *inside(st_op_scope *c, const slopes *s) {
  const st_tensor *a = but_last(c, s->slope, s->dim);
  const st_tensor *b = but_first(c, s->slope, s->dim);
  if (!s->step) {
    return st__apply_with(c, ST_OP_mul_Scalar,
                          st__apply2(c, ST_OP_add_Tensor, a, b),
                          st__of_float(0.5));
  }
  const st_tensor *h = but_last(c, s->step, s->dim);
  const st_tensor *k = but_first(c, s->step, s->dim);
  const st_tensor *sum = st__apply2(
    c, ST_OP_add_Tensor, st__apply2(c, ST_OP_mul_Tensor, a, k),
    st__apply2(c, ST_OP_mul_Tensor, b, h));
  return st__apply2(c, ST_OP_div_Tensor, sum,
                    st__apply2(c, ST_OP_add_Tensor, h, k));
}

static st_tensor *join(st_op_scope *c, const slopes *s) {
  st_tensor *parts[] = {at_end(c, s, 0, 1), inside(c, s),
                        at_end(c, s, -1, -2)};
  const st_value args[] = {st__of_tensors(parts, 3), st__of_int(s->dim)};
  return st__scope_ok(c) ? st__apply(c, ST_OP_cat, 2, args) : NULL;
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

/* Steps between coordinates, along dim of self. */
static st_tensor *steps(st_op_scope *c, const st_tensor *coordinates,
                        const st_tensor *self, int dim) {
  int64_t sizes[ST_MAX_DIMS];
  if (st__scope_ok(c)) c->status = check_coordinates(coordinates, self, dim);
  for (int d = 0; d < self->ndim; d++) sizes[d] = 1;
  sizes[dim] = self->sizes[dim] - 1;
  return st__apply_with(c, ST_OP_reshape,
                        st__scope_ok(c) ? differences(c, coordinates, 0) : NULL,
                        st__of_ints(sizes, self->ndim));
}

static st_status along(const request *q, int i, st_value *ret) {
  st_op_scope c = {.n = 0};
  slopes s = {.dim = q->dims[i], .quadratic = q->edge_order == 2};
  const st_tensor *rise = differences(&c, q->self, s.dim);
  if (q->spacing->tag == ST_TAG_TENSORS) {
    s.step = steps(&c, q->spacing->u.tensors[i], q->self, s.dim);
    s.slope = st__apply2(&c, ST_OP_div_Tensor, rise, s.step);
  } else {
    s.slope = st__apply_with(&c, ST_OP_div_Scalar, rise, spacing_of(q, i));
  }
  return st__scope_return(&c, join(&c, &s), ret);
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
  const st_tensor *self = st__next_tensor(&args);
  const st_value *spacing = st__next(&args), *dim = st__next(&args);
  request q = {.self = self, .spacing = spacing,
               .edge_order = st__next_int(&args)};
  return gradient(&q, dim, rets);
}

ST_BOXED(st__box_gradient_array) {
  const st_tensor *self = st__next_tensor(&args);
  const st_value *dim = st__next(&args), one = st__none();
  request q = {.self = self, .spacing = &one,
               .edge_order = st__next_int(&args)};
  return gradient(&q, dim, rets);
}
