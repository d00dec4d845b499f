/* Composite products: inner, linalg_vecdot, addr, addbmm.
 */

#include "op/create/copy_clone_to.h"
#include "op/elementwise/result_layout.h"
#include "op/row/composite.h"
#include "tensor/view.h"

/* -- Inner products ------------------------------------------------------- */

/* t as a matrix whose rows are its lines along the last dimension. */
static const st_tensor *as_rows(st_op_scope *c, const st_tensor *t) {
  if (t->ndim == 2) return t;
  int64_t sizes[] = {1, t->sizes[t->ndim - 1]};
  for (int d = 0; d < t->ndim - 1; d++) sizes[0] *= t->sizes[d];
  return ST_APPLY(c, ST_OP_reshape, t, st__of_ints(sizes, 2));
}

static st_status check_inner(const st_tensor *a, const st_tensor *b) {
  if (a->ndim + b->ndim - 2 > ST_MAX_DIMS) {
    return st__fail(ST_BAD_SHAPE, "the result has more than %d dimensions",
                    ST_MAX_DIMS);
  }
  if (a->sizes[a->ndim - 1] == b->sizes[b->ndim - 1]) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "the last dimensions of shapes %s and %s have "
                  "different sizes", ST_SHAPE_TEXT(a), ST_SHAPE_TEXT(b));
}

ST_BOXED(st__box_inner) {
  ST_ARGS(TENSOR(self), TENSOR(other));
  int64_t sizes[2 * ST_MAX_DIMS];
  st_op_scope c = {.n = 0};
  if (self->ndim == 0 || other->ndim == 0) {
    return st__scope_return(&c, st__mul(&c, self, other), rets);
  }
  ST_TRY(check_inner(self, other));
  const int n = self->ndim - 1, m = other->ndim - 1;
  for (int d = 0; d < n; d++) sizes[d] = self->sizes[d];
  for (int d = 0; d < m; d++) sizes[n + d] = other->sizes[d];
  const st_tensor *rows = as_rows(&c, self);
  const st_tensor *columns = st__apply1(&c, ST_OP_t, as_rows(&c, other));
  st_tensor *out = st__apply2(&c, ST_OP_mm, rows, columns);
  if (n != 1 || m != 1) {
    out = ST_APPLY(&c, ST_OP_reshape, out, st__of_ints(sizes, n + m));
  }
  return st__scope_return(&c, out, rets);
}

static st_status check_vecdot(const st_tensor *x, const st_tensor *y) {
  const st_dtype dx = x->dtype, dy = y->dtype;
  if (!st__is_floating(dx) && !st__is_complex(dx)) {
    return st__fail(ST_BAD_DTYPE, "x must be floating point or complex, not "
                    "%s", st__dtype_name(dx));
  }
  if (dx == dy) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "x and y must have the same dtype, not %s and "
                  "%s", st__dtype_name(dx), st__dtype_name(dy));
}

ST_BOXED(st__box_linalg_vecdot) {
  ST_ARGS(TENSOR(x), TENSOR(y), INT(dim));
  st_op_scope c = {.status = check_vecdot(x, y)};
  const st_tensor *conj = st__apply1(&c, ST_OP_conj, x);
  const st_tensor *each = st__mul(&c, conj, y);
  st_tensor *sum =
    ST_APPLY(&c, ST_OP_sum_dim_IntList, each, st__of_ints(&dim, 1));
  return st__scope_return(&c, sum, rets);
}

/* -- Products added to self ----------------------------------------------- */

/* The arguments of addr. */
typedef struct addends {
  const st_tensor *self, *vec1, *vec2;
  const st_value *beta, *alpha;
} addends;

static bool scalar_equals(const st_value *v, double x) {
  const st_scalar s = st__scalar_of(v);
  return s.kind != ST_SCALAR_COMPLEX && st__scalar_to_double(s) == x;
}

/* The factor of a bool tensor is converted to bool. */
static st_value factor(const st_value *v, st_dtype d) {
  return d == ST_BOOL ? st__of_bool(!scalar_equals(v, 0)) : *v;
}

/* ATen expands self before it promotes: dimensions do not count. */
static st_status common_dtype(const addends *a, st_dtype *out) {
  ST_TRY(st__promoted(st__promote(a->vec1->dtype, a->vec2->dtype), out));
  return st__promoted(st__promote(a->self->dtype, *out), out);
}

/* beta self + alpha product; self is broadcast. */
static st_tensor *added(st_op_scope *c, const addends *a,
                        st_tensor *product) {
  st_dtype d = ST_DTYPE_NONE;
  if (st__scope_ok(c)) c->status = common_dtype(a, &d);
  if (!st__scope_ok(c)) return NULL;
  const st_value beta = factor(a->beta, d), alpha = factor(a->alpha, d);
  const st_tensor *self = st__apply_to(c, a->self, d);
  product = st__apply_to(c, product, d);
  if (!st__scope_ok(c)) return NULL;
  self =
    ST_APPLY(c, ST_OP_expand, self, st__of_ints(product->sizes, product->ndim));
  if (!scalar_equals(&alpha, 1)) {
    product = ST_APPLY(c, ST_OP_mul_Scalar, product, alpha);
  }
  if (scalar_equals(&beta, 0)) { /* zero gradient for self, without its NaN */
    return self && st__is_recorded(self->keys)
             ? st__plus(c, product, st__apply1(c, ST_OP_zero, self))
             : product;
  }
  if (!scalar_equals(&beta, 1)) {
    self = ST_APPLY(c, ST_OP_mul_Scalar, self, beta);
  }
  return st__plus(c, self, product);
}

/* True if self broadcasts to a matrix of these sizes. */
static bool fits(const st_tensor *self, const int64_t *sizes) {
  bool all = self->ndim <= 2;
  for (int d = 0; all && d < self->ndim; d++) {
    all = self->sizes[d] == 1 || self->sizes[d] == sizes[d + 2 - self->ndim];
  }
  return all;
}

/* True if the matrix has the strides of a new contiguous one. */
static bool is_row_major(const st_tensor *t) {
  return t->strides[1] == 1 &&
         t->strides[0] == (t->sizes[1] > 0 ? t->sizes[1] : 1);
}

/* A meta tensor, owned, with the layout of ATen's result, or NULL if the shapes
 * do not fit: its iterator reads self, vec1 as a column and vec2 as a row. */
static st_status addr_layout(const st_tensor *self, const st_tensor *vec1,
                             const st_tensor *vec2, st_tensor **out) {
  const int64_t sizes[] = {vec1->numel, vec2->numel};
  const int64_t column[] = {vec1->numel, 1};
  st_tensor *wide = NULL, *made[3] = {NULL};
  st_status status = ST_OK;
  if (vec1->ndim != 1 || vec2->ndim != 1 || !fits(self, sizes)) return ST_OK;
  const int64_t step = vec1->numel > 0 ? vec1->strides[0] : 1;
  const int64_t along[] = {step, step};
  ST_TRY_FAIL(st__view_expand(self, 2, sizes, &wide));
  ST_TRY_FAIL(st__meta_twin(wide, 2, sizes, wide->strides, &made[0]));
  ST_TRY_FAIL(st__meta_twin(vec1, 2, column, along, &made[1]));
  ST_TRY_FAIL(st__meta_twin(vec2, 1, vec2->sizes, vec2->strides, &made[2]));
  ST_TRY_FAIL(st__result_layout(3, made, out));
fail:
  st__tensor_release(&wide);
  for (int i = 0; i < 3; i++) st__tensor_release(&made[i]);
  return status;
}

/* t in row-major order, with the strides of a new tensor. */
static st_tensor *row_major(st_op_scope *c, st_tensor *t) {
  if (!st__scope_ok(c) || is_row_major(t)) return t;
  return ST_APPLY(c, ST_OP_clone, t, ST_FORMAT_CONTIGUOUS);
}

/* beta self + alpha outer(vec1, vec2) as a row-major matrix. */
static st_tensor *addr_rows(st_op_scope *c, const addends *a) {
  st_tensor *product = st__apply2(c, ST_OP_outer, a->vec1, a->vec2);
  return row_major(c, added(c, a, product));
}

/* A column-major result is the transpose of a row-major one. */
static st_tensor *addr_columns(st_op_scope *c, const addends *a) {
  const st_tensor *self = a->self;
  if (self->ndim == 2) self = st__apply1(c, ST_OP_t, self);
  const addends swapped = {self, a->vec2, a->vec1, a->beta, a->alpha};
  return st__apply1(c, ST_OP_t, addr_rows(c, &swapped));
}

/* BAD_VALUE unless the dtype of the result can hold beta and alpha. */
static st_status check_scalars(const addends *a) {
  st_dtype d;
  ST_TRY(common_dtype(a, &d));
  ST_TRY(st__check_scalar_named("beta", st__scalar_of(a->beta), d));
  return st__check_scalar_named("alpha", st__scalar_of(a->alpha), d);
}

ST_BOXED(st__box_addr) {
  addends a;
  ST_ARGS_TO(a, TENSOR(self), TENSOR(vec1), TENSOR(vec2), BOXED(beta),
             BOXED(alpha));
  st_op_scope c = {.status = check_scalars(&a)};
  st_tensor *like = NULL;
  ST_TRY(addr_layout(a.self, a.vec1, a.vec2, &like));
  st_tensor *sum = !like || is_row_major(like) ? addr_rows(&c, &a)
                                               : addr_columns(&c, &a);
  if (st__scope_ok(&c) && like && sum->numel == 0) { /* a stride may be 0 */
    sum = ST_APPLY(&c, ST_OP_as_strided, sum, st__of_ints(like->sizes, 2),
                   st__of_ints(like->strides, 2));
  }
  st__tensor_release(&like);
  return st__scope_return(&c, sum, rets);
}

static st_status check_batches(const st_tensor *a, const st_tensor *b) {
  if (a->ndim != 3 || b->ndim != 3) {
    return st__fail(ST_BAD_SHAPE, "batch1 and batch2 must have three "
                    "dimensions, their shapes are %s and %s", ST_SHAPE_TEXT(a),
                    ST_SHAPE_TEXT(b));
  }
  if (a->sizes[0] == b->sizes[0] && a->sizes[2] == b->sizes[1]) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "batches of shapes %s and %s cannot be "
                  "multiplied", ST_SHAPE_TEXT(a), ST_SHAPE_TEXT(b));
}

/* The sum of the products is one product: of batch1's matrices concatenated
 * horizontally and batch2's vertically. */
static st_status addbmm(const st_value *self, const st_tensor *batch1,
                        const st_tensor *batch2, const st_value *beta,
                        const st_value *alpha, st_value *rets) {
  st_op_scope c = {.status = check_batches(batch1, batch2)};
  if (!st__scope_ok(&c)) return c.status;
  const int64_t inner = batch1->sizes[0] * batch1->sizes[2];
  const int64_t left[] = {batch1->sizes[1], inner};
  const int64_t right[] = {inner, batch2->sizes[2]};
  const st_tensor *a = ST_APPLY(&c, ST_OP_permute, batch1, ST_INTS(1, 0, 2));
  a = ST_APPLY(&c, ST_OP_reshape, a, st__of_ints(left, 2));
  const st_tensor *b =
    ST_APPLY(&c, ST_OP_reshape, batch2, st__of_ints(right, 2));
  return st__scope_return(
    &c, ST_APPLY(&c, ST_OP_addmm, *self, a, b, *beta, *alpha), rets);
}
ST_TYPED_ARGS(st__box_addbmm, addbmm, (VALUE, TENSOR, TENSOR, VALUE, VALUE))
