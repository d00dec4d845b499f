/* histogram and histogramdd: points in bins along each of their coordinates;
 * composed of operators.
 */

#include <inttypes.h>
#include <math.h>

#include "op/row/composite.h"

/* The points, as a matrix with a row for each, and what is counted. */
typedef struct points {
  int d;
  st_tensor *x, *weight;     /* owned; (n, d), and (n) or NULL */
  st_value edges;            /* owned; a list, bins + 1 of each coordinate */
  int64_t bins[ST_MAX_DIMS];
} points;

/* -- Arguments ------------------------------------------------------------ */

/* self holds points in its last dimension or, if `is_flat`, a point of one
 * coordinate per element. */
static st_status check_points(const st_tensor *self, const st_tensor *weight,
                              bool is_flat) {
  const st_dtype t = self->dtype;
  if (t != ST_FLOAT32 && t != ST_FLOAT64) return st__no_kernel_for(t);
  if (!is_flat && (self->ndim < 2 || self->sizes[self->ndim - 1] < 1 ||
                   self->sizes[self->ndim - 1] > ST_MAX_DIMS)) {
    return st__fail(ST_BAD_SHAPE, "self must hold points of 1 to %d "
                    "coordinates in its last dimension, its shape is %s",
                    ST_MAX_DIMS, ST_SHAPE_TEXT(self));
  }
  if (!weight) return ST_OK;
  if (weight->dtype != t) {
    return st__fail(ST_BAD_DTYPE, "weight must have self's dtype %s, not %s",
                    st__dtype_name(t), st__dtype_name(weight->dtype));
  }
  if (st__has_sizes(weight, self->ndim - !is_flat, self->sizes)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "weight has shape %s, which does not match "
                  "self of shape %s", ST_SHAPE_TEXT(weight),
                  ST_SHAPE_TEXT(self));
}

static st_status read_points(const st_tensor *self, const st_tensor *weight,
                             bool is_flat, points *p) {
  ST_TRY(check_points(self, weight, is_flat));
  p->d = is_flat ? 1 : (int)self->sizes[self->ndim - 1];
  const int64_t n = self->numel / p->d, sizes[] = {n, p->d};
  ST_TRY(st__invoke1(ST_OP_reshape, ST_VALUES(self, st__of_ints(sizes, 2)),
                     &p->x));
  if (weight) {
    ST_TRY(st__invoke1(ST_OP_reshape, ST_VALUES(weight, st__of_ints(&n, 1)),
                       &p->weight));
  }
  return st__value_new_tensors(p->d, &p->edges);
}

static st_tensor *coordinate(st_op_scope *c, const points *p, int d) {
  return ST_APPLY(c, ST_OP_select_int, p->x, 1, d);
}

/* -- Edges ---------------------------------------------------------------- */

/* ends: the least and the greatest coordinate, 0 and 1 if there is none. */
static st_status find_ends(const points *p, int d, double ends[2]) {
  st_op_scope c = {.n = 0};
  st_tensor *both[2];
  ends[0] = 0, ends[1] = 1;
  if (p->x->sizes[0] == 0) return ST_OK;
  const st_value x = st__of_tensor(coordinate(&c, p, d));
  st__apply_multi(&c, ST_OP_aminmax, 1, &x, 2, both);
  for (int i = 0; st__scope_ok(&c) && i < 2; i++) {
    const st_value end = st__of_tensor(both[i]);
    st_value v;
    c.status = st__invoke(ST_OP_item, 1, &end, &v);
    if (st__scope_ok(&c)) ends[i] = v.u.f;
  }
  return st__scope_end(&c, 0, NULL, NULL);
}

static st_status check_ends(const double ends[2]) {
  if (!isfinite(ends[0]) || !isfinite(ends[1])) {
    return st__fail(ST_BAD_VALUE, "the range from %g to %g is not finite",
                    ends[0], ends[1]);
  }
  if (ends[0] <= ends[1]) return ST_OK;
  return st__fail(ST_BAD_VALUE, "the range from %g to %g goes backwards",
                  ends[0], ends[1]);
}

/* `bins` bins of one width. range holds both ends of each coordinate, or is
 * none. */
static st_status make_edges(points *p, int d, int64_t bins,
                            const st_value *range) {
  double ends[2];
  if (bins < 1 || bins == INT64_MAX) {
    return st__fail(ST_BAD_VALUE, "bins must be positive, got %" PRId64, bins);
  }
  if (range->tag == ST_TAG_NONE) {
    ST_TRY(find_ends(p, d, ends));
  } else if (range->len == 2 * (uint32_t)p->d) {
    for (int i = 0; i < 2; i++) ends[i] = range->u.floats[2 * d + i];
  } else {
    return st__fail(ST_BAD_VALUE, "range must have %d entries, two for each "
                    "coordinate, not %u", 2 * p->d, range->len);
  }
  ST_TRY(check_ends(ends));
  if (ends[0] == ends[1]) ends[0] -= 0.5, ends[1] += 0.5;
  p->bins[d] = bins;
  return st__invoke1(ST_OP_linspace,
                     ST_VALUES(st__of_float(ends[0]), st__of_float(ends[1]),
                               bins + 1, p->x->dtype, st__none(), p->x->device),
                     &p->edges.u.tensors[d]);
}

static st_status copy_edges(points *p, int d, const st_tensor *edges) {
  if (edges->ndim != 1 || edges->numel < 1) {
    return st__fail(ST_BAD_SHAPE, "bins must be vectors of at least one edge, "
                    "not of shape %s", ST_SHAPE_TEXT(edges));
  }
  if (edges->dtype != p->x->dtype) {
    return st__fail(ST_BAD_DTYPE, "bins must have self's dtype %s, not %s",
                    st__dtype_name(p->x->dtype), st__dtype_name(edges->dtype));
  }
  p->bins[d] = edges->numel - 1;
  return st__invoke1(ST_OP_clone, ST_VALUES(edges, ST_FORMAT_CONTIGUOUS),
                     &p->edges.u.tensors[d]);
}

/* bins: a number, or a tensor of edges; or a list of one of these per
 * coordinate. */
static st_status set_edges(points *p, const st_value *bins,
                           const st_value *range) {
  const bool is_list = bins->tag == ST_TAG_INTS || bins->tag == ST_TAG_TENSORS;
  if (is_list && bins->len != (uint32_t)p->d) {
    return st__fail(ST_BAD_VALUE, "bins has %u entries for points of %d "
                    "coordinates", bins->len, p->d);
  }
  for (int d = 0; d < p->d; d++) {
    switch ((st_tag)bins->tag) {
      case ST_TAG_TENSOR: ST_TRY(copy_edges(p, d, bins->u.tensor)); break;
      case ST_TAG_TENSORS: ST_TRY(copy_edges(p, d, bins->u.tensors[d])); break;
      case ST_TAG_INTS: ST_TRY(make_edges(p, d, bins->u.ints[d], range)); break;
      default: ST_TRY(make_edges(p, d, bins->u.i, range));
    }
  }
  return ST_OK;
}

/* -- Counts --------------------------------------------------------------- */

static st_tensor *with_int(st_op_scope *c, st_op_id id, const st_tensor *t,
                           int64_t i) {
  return ST_APPLY(c, id, t, i);
}

/* The bin of each coordinate d. *inside: it is in one. The last edge belongs to
 * the last bin. */
static st_tensor *find_bins(st_op_scope *c, const points *p, int d,
                            st_tensor **inside) {
  const st_value edges = st__of_tensor(p->edges.u.tensors[d]);
  const st_value x = st__of_tensor(coordinate(c, p, d));
  const st_tensor *after = ST_APPLY(c, ST_OP_bucketize_Tensor, x, edges,
                                    st__of_bool(false), st__of_bool(true));
  const st_value at[] = {st__of_tensor(ST_APPLY(c, ST_OP_sub_Scalar, after, 1)),
                         st__of_int(0), st__of_int(p->bins[d] - 1)};
  *inside = st__apply2(c, ST_OP_logical_and,
                       st__apply2(c, ST_OP_ge_Tensor, x.u.tensor,
                                  ST_APPLY(c, ST_OP_select_int, edges, 0, 0)),
                       st__apply2(c, ST_OP_le_Tensor, x.u.tensor,
                                  ST_APPLY(c, ST_OP_select_int, edges, 0, -1)));
  return st__apply(c, ST_OP_clamp, 3, at);
}

/* Sets *index, which `held` owns, to the bins by coordinates up to d: an index
 * in row-major order, -1 outside of all. */
static void add_coordinate(st_op_scope *held, const points *p, int d,
                           st_tensor **index) {
  st_op_scope c = {.status = held->status};
  st_tensor *inside, *at = find_bins(&c, p, d, &inside);
  if (d > 0) {
    at = st__plus(&c, at, with_int(&c, ST_OP_mul_Scalar, *index, p->bins[d]));
    inside = st__apply2(&c, ST_OP_logical_and, inside,
                        with_int(&c, ST_OP_ge_Scalar, *index, 0));
  }
  *index = ST_APPLY(&c, ST_OP_where_ScalarOther, inside, at, -1);
  st__scope_replace(held, &c, index);
}

/* The number or the weight of the points in each of `total` bins. Those
 * outside of all are counted in one more. */
static st_tensor *count(st_op_scope *c, const points *p, int64_t total) {
  st_tensor *index = NULL;
  for (int d = 0; d < p->d; d++) add_coordinate(c, p, d, &index);
  const st_tensor *inside = with_int(c, ST_OP_ge_Scalar, index, 0);
  index = ST_APPLY(c, ST_OP_where_ScalarOther, inside, index, total);
  const st_tensor *sums =
    ST_APPLY(c, ST_OP_bincount, index, p->weight, total + 1);
  sums = st__apply_narrow(c, sums, 0, 0, total);
  sums = st__apply_to(c, sums, p->x->dtype);
  return ST_APPLY(c, ST_OP_reshape, sums, st__of_ints(p->bins, p->d));
}

/* hist / widths, which broadcast along dimension d. */
static void divide(st_op_scope *held, const points *p, int d,
                   st_tensor **hist) {
  st_op_scope c = {.status = held->status};
  int64_t sizes[ST_MAX_DIMS];
  for (int i = 0; i < p->d; i++) sizes[i] = 1;
  sizes[d] = -1;
  const st_tensor *widths = st__apply1(&c, ST_OP_diff, p->edges.u.tensors[d]);
  widths = ST_APPLY(&c, ST_OP_reshape, widths, st__of_ints(sizes, p->d));
  *hist = st__div(&c, *hist, widths);
  st__scope_replace(held, &c, hist);
}

static st_status make_histogram(const points *p, bool density,
                                st_value *rets) {
  int64_t total = 1;
  for (int d = 0; d < p->d; d++) {
    if (!st__mul_sizes(total, p->bins[d], &total) || total == INT64_MAX) {
      return st__fail(ST_BAD_VALUE, "there are too many bins");
    }
  }
  st_op_scope c = {.n = 0};
  st_tensor *hist = count(&c, p, total);
  if (density) {
    hist = st__div(&c, hist, st__apply1(&c, ST_OP_sum, hist));
    for (int d = 0; d < p->d; d++) divide(&c, p, d, &hist);
  }
  return st__scope_return(&c, hist, rets);
}

/* args: self, bins, range, weight, density */
static st_status run(const st_value *args, bool is_flat, st_value *rets) {
  points p = {.edges = st__none()};
  st_value hist = st__none();
  st_status status;
  ST_TRY_FAIL(read_points(args[0].u.tensor, st__to_tensor(&args[3]), is_flat,
                          &p));
  ST_TRY_FAIL(set_edges(&p, &args[1], &args[2]));
  ST_TRY_FAIL(make_histogram(&p, args[4].u.i, &hist));
  rets[0] = hist;
  if (is_flat) ST_TRY_FAIL(st__return_tensor(p.edges.u.tensors[0], &rets[1]));
  else rets[1] = p.edges, p.edges = st__none();
fail:
  st__tensor_release(&p.x);
  st__tensor_release(&p.weight);
  st__value_clear(&p.edges);
  return status;
}

ST_BOXED(st__box_histogram_bins) {
  const st_value all[] = {args[0], args[1], st__none(), args[2], args[3]};
  return run(all, true, rets);
}

ST_BOXED(st__box_histogram) { return run(args, true, rets); }
ST_BOXED(st__box_histogramdd) { return run(args, false, rets); }
