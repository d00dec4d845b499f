/* segment_reduce: sums, means, extrema and products of the segments of a
 * dimension, which lengths or offsets tell apart.
 *
 * The boundaries of n segments are n + 1 positions. Each element has a number:
 * how many boundaries are not behind it. So element i of segment k has number
 * k + 1, and those outside of all segments have 0 or n + 1; scatter_reduce
 * reduces the elements of each number, and its derivative is that of the
 * composition.
 */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "op/row/composite.h"

/* ORDER SEGMENT */
typedef enum segment_kind { SUM, MEAN, MAX, MIN, PROD, KINDS } segment_kind;

static const struct {
  const char *name, *scatter; /* the names of the reductions */
  double identity;
} kinds[] = {
  {"sum",  "sum",  0},
  {"mean", "sum",  0},
  {"max",  "amax", -INFINITY},
  {"min",  "amin", INFINITY},
  {"prod", "prod", 1},
};

typedef struct segments {
  const st_tensor *data, *given; /* lengths or offsets */
  const char *name;              /* of given */
  bool by_offsets, is_checked;
  segment_kind kind;
  int axis;
  int64_t n, base;
} segments;

/* -- Arguments ------------------------------------------------------------ */

static st_status read_kind(const st_value *v, segment_kind *kind) {
  for (int i = 0; i < KINDS; i++) {
    *kind = (segment_kind)i;
    if (strcmp(v->u.string, kinds[i].name) == 0) return ST_OK;
  }
  return st__fail(ST_BAD_VALUE, "reduce must be \"sum\", \"mean\", \"max\", "
                  "\"min\" or \"prod\", not \"%s\"", v->u.string);
}

static st_status check_shapes(segments *s) {
  const st_tensor *t = s->given, *data = s->data;
  const bool is_index = t->dtype == ST_INT64 || t->dtype == ST_INT32;
  if (!st__is_floating(data->dtype)) {
    return st__fail(ST_BAD_DTYPE, "data must be floating-point, not %s",
                    st__dtype_name(data->dtype));
  }
  if (!is_index) {
    return st__fail(ST_BAD_DTYPE, "%s must have dtype int64 or int32, not %s",
                    s->name, st__dtype_name(t->dtype));
  }
  if (data->ndim == 0 || t->ndim != s->axis + 1 ||
      memcmp(t->sizes, data->sizes, (size_t)s->axis * sizeof *t->sizes) != 0) {
    return st__fail(ST_BAD_SHAPE, "%s of shape %s must have the sizes of data, "
                    "shape %s, before dimension %" PRId64 ", and a last "
                    "dimension for its segments", s->name, ST_SHAPE_TEXT(t),
                    ST_SHAPE_TEXT(data), st__display_index(s->axis));
  }
  s->n = t->sizes[s->axis] - s->by_offsets;
  if (s->n >= 0) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "offsets must have a position more than there "
                  "are segments, its shape is %s", ST_SHAPE_TEXT(t));
}

/* Rows of boundaries must ascend from 0 to the size. */
static st_status check_boundaries(const segments *s, const st_tensor *t) {
  const int64_t *p = (const int64_t *)(const void *)st__data(t);
  const int64_t size = s->data->sizes[s->axis], n = s->n;
  for (int64_t row = 0; row < t->numel; row += n + 1, p += n + 1) {
    bool ascends = p[0] == 0 && p[n] == size;
    for (int64_t i = 0; i < n; i++) ascends &= p[i] <= p[i + 1];
    if (ascends) continue;
    return s->by_offsets
      ? st__fail(ST_BAD_VALUE, "offsets must ascend from %" PRId64 " to %"
                 PRId64 ", unless unsafe", s->base, size + s->base)
      : st__fail(ST_BAD_VALUE, "lengths must not be negative, and their sum "
                 "must be the size of dimension %" PRId64 ", %" PRId64
                 ", unless unsafe", st__display_index(s->axis), size);
  }
  return ST_OK;
}

/* -- Segments ------------------------------------------------------------- */

/* A contiguous int64 tensor of the n + 1 boundaries of each row. */
static const st_tensor *boundaries(st_op_scope *c, const segments *s) {
  const st_tensor *t = st__apply_to(c, s->given, ST_INT64);
  if (s->by_offsets) {
    t = ST_APPLY(c, ST_OP_sub_Scalar, t, s->base);
  } else {
    t = ST_APPLY(c, ST_OP_cumsum, t, s->axis);
    t = ST_APPLY(c, ST_OP_constant_pad_nd, t, ST_INTS(1, 0));
  }
  t = st__apply1(c, ST_OP_contiguous, t);
  if (s->is_checked && st__scope_ok(c) && st__has_elements(t)) {
    const st_tensor *here = st__scope_here(c, t);
    if (st__scope_ok(c)) c->status = check_boundaries(s, here);
  }
  return t;
}

/* The numbers of the elements of a vector, whose segments hold all of it. */
static const st_tensor *repeated(st_op_scope *c, const segments *s,
                                 const st_tensor *bounds) {
  return ST_APPLY(c, ST_OP_repeat_interleave_self_Tensor,
                  ST_APPLY(c, ST_OP_arange_start, 1, s->n + 1, st__none(),
                           st__none(), s->data->device),
                  st__apply1(c, ST_OP_diff, bounds));
}

/* The number of each element, in the shape of data. */
static const st_tensor *numbers(st_op_scope *c, const segments *s,
                                const st_tensor *bounds) {
  const st_tensor *data = s->data;
  const int axis = s->axis;
  int64_t sizes[ST_MAX_DIMS];
  if (data->ndim == 1 && s->is_checked && st__has_elements(data)) {
    return repeated(c, s, bounds);
  }
  const st_tensor *at =
    ST_APPLY(c, ST_OP_arange_start_step, 0, data->sizes[axis], 1, ST_INT64,
             st__none(), data->device);
  at = ST_APPLY(c, ST_OP_expand, at, st__of_ints(data->sizes, axis + 1));
  const st_tensor *t = ST_APPLY(c, ST_OP_searchsorted_Tensor, bounds, at,
                                st__of_bool(false), st__of_bool(true));
  for (int d = 0; d < data->ndim; d++) {
    sizes[d] = d <= axis ? data->sizes[d] : 1;
  }
  t = ST_APPLY(c, ST_OP_reshape, t, st__of_ints(sizes, data->ndim));
  return ST_APPLY(c, ST_OP_expand, t, st__of_ints(data->sizes, data->ndim));
}

/* A tensor of the shape of the result with `size` elements along axis. */
static const st_tensor *filled(st_op_scope *c, const segments *s, int64_t size,
                               st_value value) {
  int64_t sizes[ST_MAX_DIMS];
  memcpy(sizes, s->data->sizes, (size_t)s->data->ndim * sizeof *sizes);
  sizes[s->axis] = size;
  return ST_APPLY(c, ST_OP_full, st__of_ints(sizes, s->data->ndim), value,
                  s->data->dtype, st__none(), s->data->device);
}

/* Divides sums by the lengths of the segments; an empty one has the initial
 * value, or NaN. */
static const st_tensor *divide(st_op_scope *c, const segments *s,
                               const st_tensor *sum, const st_tensor *bounds,
                               bool has_initial) {
  int64_t sizes[ST_MAX_DIMS];
  const st_tensor *n = ST_APPLY(c, ST_OP_diff, bounds, 1, s->axis);
  for (int d = 0; d < s->data->ndim; d++) {
    sizes[d] = d < s->axis ? s->data->sizes[d] : d == s->axis ? s->n : 1;
  }
  n = ST_APPLY(c, ST_OP_reshape, n, st__of_ints(sizes, s->data->ndim));
  const st_tensor *least = ST_APPLY(c, ST_OP_clamp_min, n, 1);
  sum = st__div(c, sum, least);
  if (has_initial) return sum;
  return ST_APPLY(c, ST_OP_masked_fill_Scalar, sum,
                  ST_APPLY(c, ST_OP_le_Scalar, n, 0), st__of_float(NAN));
}

/* The gradient of an extremum that equals the bound is that of its elements. */
static const st_tensor *bound(st_op_scope *c, const segments *s,
                              const st_tensor *t, const st_value *initial) {
  const st_op_id is_outside = s->kind == MAX ? ST_OP_lt_Scalar
                                             : ST_OP_gt_Scalar;
  return ST_APPLY(c, ST_OP_masked_fill_Scalar, t,
                  ST_APPLY(c, is_outside, t, *initial), *initial);
}

static bool is_nan(const st_value *v) {
  return v->tag == ST_TAG_FLOAT && isnan(v->u.f);
}

ST_BOXED(st__box_segment_reduce) {
  segments s = {.data = st__next_tensor(&args)};
  ST_ARGS(BOXED(kind), TENSOR(lengths), TENSOR(indices), TENSOR(offsets),
          INT(axis));
  s.is_checked = !st__next_bool(&args);
  ST_ARGS(BOXED(initial));
  s.base = st__next_int(&args);
  if (indices || !lengths == !offsets) {
    return st__fail(ST_BAD_VALUE, indices ? "indices is not supported: give "
                    "lengths or offsets" : lengths ? "lengths and offsets must "
                    "not both be given" : "either lengths or offsets must be "
                    "given");
  }
  s.by_offsets = offsets != NULL;
  s.given = offsets ? offsets : lengths;
  s.name = offsets ? "offsets" : "lengths";
  ST_TRY(read_kind(kind, &s.kind));
  ST_TRY(st__wrap_dim(axis, s.data->ndim, &s.axis));
  ST_TRY(check_shapes(&s));
  st_op_scope c = {.n = 0};
  const bool has_initial = !st__is_none(initial);
  const bool is_bounded = has_initial && !is_nan(initial) &&
                          (s.kind == MAX || s.kind == MIN);
  const st_tensor *bounds = boundaries(&c, &s);
  const st_tensor *start = filled(&c, &s, s.n + 2,
    has_initial && !is_bounded ? *initial
                               : st__of_float(kinds[s.kind].identity));
  const st_tensor *t = ST_APPLY(
    &c, ST_OP_scatter_reduce_two, start, s.axis, numbers(&c, &s, bounds),
    s.data, st__of_text(kinds[s.kind].scatter), st__of_bool(true));
  t = st__apply_narrow(&c, t, s.axis, 1, s.n);
  if (is_bounded) t = bound(&c, &s, t, initial);
  if (s.kind == MEAN) t = divide(&c, &s, t, bounds, has_initial);
  return st__scope_return(&c, s.kind == MEAN ? (st_tensor *)(uintptr_t)t
                          : st__apply1(&c, ST_OP_contiguous, t), rets);
}
