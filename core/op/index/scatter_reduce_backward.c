/* The gradients of scatter_reduce and index_reduce.
 */

#include <string.h>

#include "op/row/composite.h"

/* The arguments of a scatter reduction. src is narrowed to index's shape. */
typedef struct scatter_args {
  const st_tensor *grad, *self, *index, *src, *result;
  int64_t dim, base;
  const char *how;
  bool includes_self;
} scatter_args;

/* The gradients of self and src. */
typedef struct gradients { st_tensor *self, *src; } gradients;

/* -- Helpers -------------------------------------------------------------- */

static st_tensor *gather(st_op_scope *c, const scatter_args *m,
                         const st_tensor *t) {
  return ST_APPLY(c, ST_OP_gather, t, m->dim, m->index, st__of_bool(false),
                  m->base);
}

static st_tensor *scatter_add(st_op_scope *c, const scatter_args *m,
                              const st_tensor *t, const st_tensor *src) {
  return ST_APPLY(c, ST_OP_scatter_add, t, m->dim, m->index, src, m->base);
}

static st_tensor *reduce(st_op_scope *c, const scatter_args *m,
                         const st_tensor *self, const st_tensor *src) {
  return ST_APPLY(c, ST_OP_scatter_reduce_two, self, m->dim, m->index, src,
                  st__of_text(m->how), st__of_bool(m->includes_self), m->base);
}

/* 1 where mask is true, else 0, in grad's dtype. */
static st_tensor *as_number(st_op_scope *c, const scatter_args *m,
                            const st_tensor *mask) {
  return st__apply_to(c, mask, m->grad->dtype);
}

static st_tensor *fill(st_op_scope *c, const st_tensor *t,
                       const st_tensor *mask, double value) {
  return ST_APPLY(c, ST_OP_masked_fill_Scalar, t, mask, value);
}

/* -- Derivatives by kind -------------------------------------------------- */

static gradients of_sum(st_op_scope *c, const scatter_args *m) {
  return (gradients){st__apply1(c, ST_OP_alias, m->grad),
                     gather(c, m, m->grad)};
}

static gradients of_mean(st_op_scope *c, const scatter_args *m) {
  const st_tensor *counted = scatter_add(
    c, m, st__apply1(c, m->includes_self ? ST_OP_ones_like : ST_OP_zeros_like,
                     m->grad), st__apply1(c, ST_OP_ones_like, m->src));
  const st_tensor *n = ST_APPLY(c, ST_OP_clamp_min, counted, 1);
  st_tensor *share = st__div(c, m->grad, n);
  return (gradients){share, gather(c, m, share)};
}

/* Where a equals b, as NaN does NaN. */
static st_tensor *is_same(st_op_scope *c, const st_tensor *a,
                          const st_tensor *b) {
  const st_tensor *both_nan = st__apply2(c, ST_OP_logical_and,
                                         st__apply2(c, ST_OP_ne_Tensor, a, a),
                                         st__apply2(c, ST_OP_ne_Tensor, b, b));
  return st__apply2(c, ST_OP_logical_or,
                    st__apply2(c, ST_OP_eq_Tensor, a, b), both_nan);
}

/* The gradient is shared equally among all elements equal to the result. */
static gradients of_extremum(st_op_scope *c, const scatter_args *m) {
  const st_tensor *self_is = as_number(
    c, m, is_same(c, m->self, m->result));
  const st_tensor *src_is = as_number(
    c, m, is_same(c, m->src, gather(c, m, m->result)));
  const st_tensor *share =
    st__div(c, m->grad, scatter_add(c, m, self_is, src_is));
  return (gradients){st__mul(c, self_is, share),
                     st__mul(c, src_is, gather(c, m, share))};
}

/* Where src is the only zero among the elements of its index. */
static st_tensor *unique_zeros(st_op_scope *c, const scatter_args *m,
                               const st_tensor *zero) {
  const st_tensor *none = st__apply1(c, ST_OP_zeros_like, m->grad);
  const st_tensor *n = gather(
    c, m, scatter_add(c, m, none, as_number(c, m, zero)));
  return st__apply2(c, ST_OP_logical_and, zero,
                    ST_APPLY(c, ST_OP_eq_Scalar, n, 1));
}

/* The product of the other factors is the result divided by a factor; where
 * the factor is 0, the product is computed again with 1 in its place. */
static gradients of_product(st_op_scope *c, const scatter_args *m) {
  const st_tensor *self_one = fill(c, m->self, st__equals_0(c, m->self), 1);
  const st_tensor *rest = st__div(c, reduce(c, m, self_one, m->src), self_one);
  const st_tensor *zero = st__equals_0(c, m->src);
  const st_tensor *unique = unique_zeros(c, m, zero);
  const st_tensor *without = reduce(c, m, m->self,
                                    fill(c, m->src, unique, 1));
  const st_tensor *at_lone = gather(c, m, st__mul(c, m->grad, without));
  const st_tensor *elsewhere = st__div(
    c, gather(c, m, st__mul(c, m->grad, m->result)), fill(c, m->src, zero, 1));
  return (gradients){st__mul(c, m->grad, rest),
                     ST_APPLY(c, ST_OP_where_self, unique, at_lone, elsewhere)};
}

static gradients gradients_of(st_op_scope *c, const scatter_args *m) {
  if (strcmp(m->how, "sum") == 0) return of_sum(c, m);
  if (strcmp(m->how, "mean") == 0) return of_mean(c, m);
  return strcmp(m->how, "prod") == 0 ? of_product(c, m) : of_extremum(c, m);
}

/* -- Operators ------------------------------------------------------------ */

/* src narrowed to index's shape. A tensor without dimensions is a vector of one
 * element, too. */
static const st_tensor *narrow_to(st_op_scope *c, const st_tensor *src,
                                  const st_tensor *index) {
  const int n = src->ndim < index->ndim ? src->ndim : index->ndim;
  for (int d = 0; d < n && st__scope_ok(c); d++) {
    if (src->sizes[d] == index->sizes[d]) continue;
    src = st__apply_narrow(c, src, d, 0, index->sizes[d]);
  }
  return src;
}

/* The inverse of narrow_to: appends zeros to t up to whole's sizes. */
static st_tensor *pad_to(st_op_scope *c, st_tensor *t, const st_tensor *whole) {
  int64_t sizes[ST_MAX_DIMS];
  for (int d = 0; st__scope_ok(c) && d < t->ndim && d < whole->ndim; d++) {
    if (t->sizes[d] == whole->sizes[d]) continue;
    memcpy(sizes, t->sizes, t->ndim * sizeof *sizes);
    sizes[d] = whole->sizes[d];
    t = ST_APPLY(c, ST_OP_slice_backward, t, st__of_ints(sizes, t->ndim), d, 0,
                 t->sizes[d], 1);
  }
  return t;
}

static st_status return_gradients(st_op_scope *c, const scatter_args *m,
                                  const st_tensor *src, st_value *rets) {
  gradients s = gradients_of(c, m);
  if (!m->includes_self) {
    s.self =
      ST_APPLY(c, ST_OP_scatter_value, s.self, m->dim, m->index, 0, m->base);
  }
  if (src) s.src = pad_to(c, s.src, src);
  return st__scope_end(c, 2, (st_tensor *[]){s.self, s.src}, rets);
}

static scatter_args read(const st_value *args) {
  scatter_args m;
  ST_ARGS_TO(m, TENSOR(grad), TENSOR(self), INT(dim), TENSOR(index),
             TENSOR(src));
  m.how = st__next(&args)->u.string;
  ST_ARGS_TO(m, BOOL_OR(includes_self, true), TENSOR(result), INT(base));
  return m;
}

ST_BOXED(st__box_scatter_reduce_backward) {
  st_op_scope c = {.n = 0};
  scatter_args m = read(args);
  const st_tensor *src = m.src;
  if ((src->ndim > 1 || m.index->ndim > 1) && src->ndim != m.index->ndim) {
    return st__fail(ST_BAD_SHAPE, "src and index must have as many dimensions "
                    "as each other, not shapes %s and %s", ST_SHAPE_TEXT(src),
                    ST_SHAPE_TEXT(m.index));
  }
  if (m.index->numel == 0) {
    st_tensor *none[] = {st__apply1(&c, ST_OP_alias, m.grad),
                         st__apply1(&c, ST_OP_zeros_like, src)};
    return st__scope_end(&c, 2, none, rets);
  }
  m.src = narrow_to(&c, src, m.index);
  return return_gradients(&c, &m, src, rets);
}

/* The indices of slices are expanded to indices of elements. */
ST_BOXED(st__box_index_reduce_backward) {
  int64_t sizes[ST_MAX_DIMS];
  int dim = 0;
  st_op_scope c = {.n = 0};
  scatter_args m = read(args);
  const int n = m.src->ndim;
  ST_TRY(st__wrap_dim(m.dim, n, &dim));
  for (int d = 0; d < n; d++) sizes[d] = d == dim ? m.index->numel : 1;
  m.index = st__apply_to(
    &c, ST_APPLY(&c, ST_OP_reshape, m.index, st__of_ints(sizes, n)), ST_INT64);
  m.index = ST_APPLY(&c, ST_OP_expand, m.index, st__of_ints(m.src->sizes, n));
  return return_gradients(&c, &m, NULL, rets);
}
