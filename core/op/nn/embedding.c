/* embedding and one_hot.
 */

#include <inttypes.h>

#include "op/elementwise/result_layout.h"
#include "op/nn/spatial.h"

void st__check_rows(st_op_scope *c, const st_tensor *at, int64_t rows) {
  if (!st__scope_ok(c) || !st__has_elements(at)) return;
  at = st__scope_here(c, at);
  if (!st__scope_ok(c)) return;
  const int64_t *p = (const int64_t *)st__data(at);
  for (int64_t i = 0; st__scope_goes_on_at(c, i) && i < at->numel; i++) {
    if (p[i] >= 0) continue;
    c->status = st__fail(ST_BAD_INDEX, "index %" PRId64 " is out of range for "
                         "%" PRId64 " rows", p[i], rows);
  }
}

static st_status check_integers(const st_tensor *t, const char *name) {
  if (st__is_integral(t->dtype)) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "%s must hold integers, not %s", name,
                  st__dtype_name(t->dtype));
}

/* sparse is ignored: it would only change the layout of the gradient, which is
 * dense here. */
static st_status check_embedding(const st_tensor *weight,
                                 const st_tensor *indices, int64_t padding) {
  if (weight->ndim != 2) {
    return st__fail(ST_BAD_SHAPE, "weight must be a matrix, its shape is %s",
                    ST_SHAPE_TEXT(weight));
  }
  ST_TRY(check_integers(indices, "indices"));
  if (padding < -1 || padding >= weight->sizes[0]) {
    return st__fail(ST_BAD_INDEX, "padding_idx %" PRId64 " is out of range for "
                    "%" PRId64 " rows", st__display_index(padding),
                    weight->sizes[0]);
  }
  return ST_OK;
}

/* The rows, detached where their index is padding. */
static st_tensor *without_padding(st_op_scope *c, st_tensor *rows,
                                  const st_tensor *at, int64_t padding) {
  const st_tensor *is_padding =
    ST_APPLY(c, ST_OP_unsqueeze, ST_APPLY(c, ST_OP_eq_Scalar, at, padding), 1);
  const st_tensor *constant = st__apply1(c, ST_OP_detach, rows);
  return ST_APPLY(c, ST_OP_where_self, is_padding, constant, rows);
}

/* The rows, with gradients divided by the number of times that their index
 * occurs. lerp between a row and its detached copy does not change its
 * value. */
static st_tensor *by_frequency(st_op_scope *c, const st_tensor *weight,
                               st_tensor *rows, const st_tensor *at,
                               st_value base) {
  if (!st__scope_ok(c)) return NULL;
  const st_dtype counted = weight->dtype == ST_FLOAT64 ||
                           weight->dtype == ST_COMPLEX128
                         ? ST_FLOAT64 : ST_FLOAT32;
  const st_value first = st__of_int(0), here = st__of_tensor(at);
  const st_tensor *none = ST_APPLY(c, ST_OP_new_zeros, weight,
                                   st__of_ints(weight->sizes, 1), counted);
  const st_tensor *ones =
    ST_APPLY(c, ST_OP_new_ones, weight, st__of_ints(at->sizes, 1), counted);
  const st_tensor *counts =
    ST_APPLY(c, ST_OP_scatter_add, none, first, here, ones, base);
  const st_tensor *share = st__apply1(
    c, ST_OP_reciprocal, ST_APPLY(c, ST_OP_take, counts, here, base));
  share = st__apply_to(c, share, weight->dtype);
  share = ST_APPLY(c, ST_OP_unsqueeze, share, 1);
  const st_tensor *constant = st__apply1(c, ST_OP_detach, rows);
  return ST_APPLY(c, ST_OP_lerp_Tensor, constant, rows, share);
}

ST_BOXED(st__box_embedding) {
  ST_ARGS(TENSOR(weight), TENSOR(indices), INT(padding_idx),
          BOOL(scale_grad_by_freq));
  st__next(&args); /* sparse */
  ST_ARGS(VALUE(base));
  int64_t sizes[ST_MAX_DIMS + 1];
  ST_TRY(check_embedding(weight, indices, padding_idx));
  st_op_scope c = {.n = 0};
  const st_tensor *at = st__apply_flatten(&c,
                                          st__apply_to(&c, indices, ST_INT64));
  st__check_rows(&c, at, weight->sizes[0]);
  st_tensor *rows = ST_APPLY(&c, ST_OP_index_select, weight, 0, at, base);
  if (scale_grad_by_freq) rows = by_frequency(&c, weight, rows, at, base);
  if (padding_idx >= 0) {
    rows = without_padding(&c, rows, at, padding_idx + base.u.i);
  }
  for (int d = 0; d < indices->ndim; d++) sizes[d] = indices->sizes[d];
  sizes[indices->ndim] = weight->sizes[1];
  const st_value shape = st__of_ints(sizes, indices->ndim + 1);
  return st__scope_return(&c, ST_APPLY(&c, ST_OP_view, rows, shape), rets);
}

/* The smallest and the largest class. */
static void class_range(st_op_scope *c, const st_tensor *self,
                        int64_t range[2]) {
  st_tensor *ends[2];
  st_value v;
  st__apply_multi(c, ST_OP_aminmax, ST_VALUES(self), 2, ends);
  for (int i = 0; st__scope_ok(c) && i < 2; i++) {
    c->status = st__invoke(ST_OP_item, ST_VALUES(ends[i]), &v);
    if (st__scope_ok(c)) range[i] = v.u.i;
  }
}

/* The number of classes base .. last, at most INT64_MAX; 1 if last < base. */
static int64_t classes_up_to(int64_t base, int64_t last) {
  int64_t n;
  if (last < base) return 1;
  if (!st__sub_sizes(last, base, &n) || n == INT64_MAX) {
    return INT64_MAX;
  }
  return n + 1;
}

/* Sets *n, if it is -1, to the largest class plus 1, and checks that all
 * classes are in range. */
static void count_classes(st_op_scope *c, const st_tensor *self, int64_t base,
                          int64_t *n) {
  int64_t range[2] = {base, base}, end;
  const bool is_read = st__has_elements(self) && self->numel > 0;
  if (!st__scope_ok(c)) return;
  if (is_read) class_range(c, self, range);
  if (!st__scope_ok(c)) return;
  if (*n == -1 && is_read) *n = classes_up_to(base, range[1]);
  if (*n <= 0) {
    c->status = *n == -1
      ? st__fail(ST_BAD_VALUE, "num_classes is required: self has no "
                 "elements to infer it from")
      : st__fail(ST_BAD_VALUE, "num_classes must be positive, it is %" PRId64,
                 *n);
  } else if (!st__add_sizes(base, *n, &end)) {
    c->status = st__fail(ST_BAD_VALUE, "num_classes is %" PRId64 ", too many "
                         "from class %" PRId64 " on", *n, base);
  } else if (range[0] < base || classes_up_to(base, range[1]) > *n) {
    c->status = st__fail(ST_BAD_INDEX, "class %" PRId64 " is out of range for %"
                         PRId64 " classes; classes count from %" PRId64,
                         (range[0] < base ? range[0] : range[1]), *n, base);
  }
}

static st_status one_hot(const st_tensor *self, int64_t num_classes,
                         int64_t base, st_value *rets) {
  st_op_scope c = {.status = check_integers(self, "self")};
  count_classes(&c, self, base, &num_classes);
  const st_tensor *all = ST_APPLY(&c, ST_OP_arange_start, base,
                                  st__scope_ok(&c) ? base + num_classes : base,
                                  ST_INT64, st__none(), self->device);
  const st_tensor *each = ST_APPLY(&c, ST_OP_unsqueeze, self, -1);
  const st_tensor *is = st__apply_to(
    &c, st__apply2(&c, ST_OP_eq_Tensor, each, all), ST_INT64);
  return st__scope_return(&c, st__apply_fresh(&c, is), rets);
}
ST_TYPED_ARGS(st__box_one_hot, one_hot, (TENSOR, INT, INT))
