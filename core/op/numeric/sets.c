/* Vectors as sets, as NumPy has them: intersect1d, union1d, setdiff1d,
 * setxor1d; digitize and lexsort. Results are sorted; a set has at most one
 * NaN, which differs from that of another set.
 */

#include "op/row/composite.h"

/* -- Sets ----------------------------------------------------------------- */

static st_tensor *joined(st_op_scope *c, const st_tensor *a,
                         const st_tensor *b) {
  st_tensor *both[] = {(st_tensor *)(uintptr_t)a, (st_tensor *)(uintptr_t)b};
  const st_value list = st__of_tensors(both, 2);
  return st__apply(c, ST_OP_cat, 1, &list);
}

/* All elements of t, a vector, but the first, or but the last. */
static st_tensor *without_end(st_op_scope *c, const st_tensor *t,
                              bool first) {
  if (!st__scope_ok(c)) return NULL;
  const int64_t n = t->numel > 0 ? t->numel - 1 : 0;
  return st__apply_narrow(c, t, 0, first && t->numel > 0, n);
}

/* The sorted elements of t once each: one of its NaNs, which are last. */
static st_tensor *distinct(st_op_scope *c, const st_tensor *t) {
  st_tensor *elements = st__apply1(c, ST_OP_unique_values, t);
  const bool has_nan = st__is_inexact(t->dtype);
  if (!has_nan || !st__scope_ok(c) || elements->numel < 2) return elements;
  const st_tensor *is_nan = st__apply2(c, ST_OP_ne_Tensor, elements, elements);
  const st_tensor *repeats = st__apply2(c, ST_OP_logical_and,
                                        without_end(c, is_nan, true),
                                        without_end(c, is_nan, false));
  repeats = ST_APPLY(c, ST_OP_constant_pad_nd, repeats, ST_INTS(1, 0));
  return st__apply2(c, ST_OP_masked_select, elements,
                    st__apply1(c, ST_OP_logical_not, repeats));
}

/* The elements of t once each, or as they are. */
static const st_tensor *as_set(st_op_scope *c, const st_tensor *t,
                               bool is_unique) {
  return is_unique ? st__apply_flatten(c, t) : distinct(c, t);
}

ST_BOXED(st__box_union1d) {
  ST_ARGS(TENSOR(self), TENSOR(other));
  st_op_scope c = {.n = 0};
  const st_tensor *elements = joined(&c, st__apply_flatten(&c, self),
                                st__apply_flatten(&c, other));
  if (!st__scope_ok(&c)) return st__scope_return(&c, NULL, rets);
  return st__scope_return(&c, distinct(&c, elements), rets);
}

ST_BOXED(st__box_setdiff1d) {
  ST_ARGS(TENSOR(self), TENSOR(other));
  st_op_scope c = {.n = 0};
  const st_tensor *set = as_set(&c, self, st__next_bool(&args));
  const st_tensor *is_in = set;
  if (self->dtype == ST_BOOL) is_in = st__apply_to(&c, set, ST_UINT8);
  if (other->dtype == ST_BOOL) other = st__apply_to(&c, other, ST_UINT8);
  const st_tensor *is_left =
    ST_APPLY(&c, ST_OP_isin_Tensor_Tensor, is_in, other, st__of_bool(false),
             st__of_bool(true));
  return st__scope_return(&c, st__apply2(&c, ST_OP_masked_select, set,
                                         is_left), rets);
}

/* An element of the sorted union with repetitions is in one set only if it
 * differs from both neighbours. */
static st_status setxor1d(const st_tensor *self, const st_tensor *other,
                          bool is_unique, st_value *rets) {
  st_op_scope c = {.n = 0};
  st_tensor *sorted[2];
  const st_value elements = st__of_tensor(
    joined(&c, as_set(&c, self, is_unique), as_set(&c, other, is_unique)));
  st__apply_multi(&c, ST_OP_sort, 1, &elements, 2, sorted);
  if (st__scope_ok(&c) && sorted[0]->numel < 2) {
    return st__scope_return(&c, sorted[0], rets);
  }
  const st_tensor *differs = st__apply2(&c, ST_OP_ne_Tensor,
                                        without_end(&c, sorted[0], true),
                                        without_end(&c, sorted[0], false));
  differs = ST_APPLY(&c, ST_OP_constant_pad_nd, differs, ST_INTS(1, 1), 1);
  const st_tensor *is_single = st__apply2(&c, ST_OP_logical_and,
                                          without_end(&c, differs, true),
                                          without_end(&c, differs, false));
  return st__scope_return(&c, st__apply2(&c, ST_OP_masked_select, sorted[0],
                                         is_single), rets);
}
ST_TYPED_ARGS(st__box_setxor1d, setxor1d, (TENSOR, TENSOR, BOOL))

/* -- intersect1d ---------------------------------------------------------- */

/* A set, and the positions in the flattened tensor, from base. */
static void set_with_positions(st_op_scope *c, const st_tensor *t,
                               bool is_unique, int64_t base,
                               const st_tensor *out[2]) {
  st_tensor *parts[4];
  if (is_unique) {
    out[0] = st__apply_flatten(c, t);
    out[1] = ST_APPLY(c, ST_OP_add_Scalar,
                      ST_APPLY(c, ST_OP_arange_start, 0, t->numel, st__none(),
                               st__none(), t->device),
                      base);
    return;
  }
  st__apply_multi(c, ST_OP_unique_all, ST_VALUES(t, base), 4, parts);
  out[0] = parts[0];
  out[1] = parts[1];
}

/* Each common element is twice in the sorted union with repetitions, first
 * that of self. */
static st_status intersect1d(const st_tensor *self, const st_tensor *other,
                             bool is_unique, bool with_indices, int64_t base,
                             st_value *rets) {
  st_op_scope c = {.n = 0};
  const st_tensor *a[2] = {NULL}, *b[2] = {NULL};
  st_tensor *sorted[2], *out[3] = {NULL};
  if (with_indices) {
    set_with_positions(&c, self, is_unique, base, a);
    set_with_positions(&c, other, is_unique, base, b);
  } else {
    a[0] = as_set(&c, self, is_unique);
    b[0] = as_set(&c, other, is_unique);
  }
  const st_value elements = st__of_tensor(joined(&c, a[0], b[0]));
  st__apply_multi(&c, ST_OP_sort, 1, &elements, 2, sorted);
  const st_tensor *first = without_end(&c, sorted[0], false);
  const st_tensor *is_common = st__apply2(&c, ST_OP_eq_Tensor, first,
                                          without_end(&c, sorted[0], true));
  out[0] = st__apply2(&c, ST_OP_masked_select, first, is_common);
  const st_value none[] = {st__of_tensor(sorted[1]),
                           st__of_ints((int64_t[]){0}, 1)};
  for (int i = 1; i < 3; i++) {
    if (!with_indices) {
      out[i] = st__apply(&c, ST_OP_new_empty, 2, none);
      continue;
    }
    const st_tensor *positions = joined(&c, a[1], b[1]);
    const st_tensor *at = st__apply2(
      &c, ST_OP_masked_select, without_end(&c, sorted[1], i == 2), is_common);
    out[i] = st__apply2(&c, ST_OP_take, positions, at);
  }
  return st__scope_end(&c, 3, out, rets);
}
ST_TYPED_ARGS(st__box_intersect1d, intersect1d,
              (TENSOR, TENSOR, BOOL, BOOL, INT))

/* -- digitize ------------------------------------------------------------- */

/* Whether no neighbours of bins, a vector, relate; NaN is behind all others. */
static bool none_relate(st_op_scope *c, st_op_id relates,
                        const st_tensor *bins) {
  const st_tensor *any = st__apply1(c, ST_OP_any, st__apply2(
    c, relates, without_end(c, bins, false), without_end(c, bins, true)));
  const st_value none = st__of_tensor(st__apply1(c, ST_OP_logical_not, any));
  st_value is_true = st__of_bool(false);
  if (st__scope_ok(c)) {
    c->status = st__invoke(ST_OP_is_nonzero, 1, &none, &is_true);
  }
  return is_true.u.i != 0;
}

/* Bins that descend are reversed, and so are the indices. */
static st_status digitize(const st_tensor *self, const st_tensor *bins,
                          bool right, int64_t base, st_value *rets) {
  st_op_scope c = {.n = 0};
  if (bins->ndim != 1) {
    return st__fail(ST_BAD_SHAPE, "bins must be a vector, its shape is %s",
                    ST_SHAPE_TEXT(bins));
  }
  const bool ascends = !st__has_elements(bins) ||
                       none_relate(&c, ST_OP_gt_Tensor, bins);
  if (!ascends && st__scope_ok(&c) && !none_relate(&c, ST_OP_lt_Tensor, bins) &&
      st__scope_ok(&c)) {
    c.status = st__fail(ST_BAD_VALUE, "bins must ascend or descend");
  }
  const st_tensor *edges =
    ascends ? bins
            : ST_APPLY(&c, ST_OP_flip, bins, st__of_ints((int64_t[]){0}, 1));
  const st_tensor *at =
    ST_APPLY(&c, ST_OP_bucketize_Tensor, self, edges, st__of_bool(false),
             st__of_bool(!right), ascends ? base : 0);
  if (ascends) return st__scope_return(&c, (st_tensor *)(uintptr_t)at, rets);
  at = st__apply1(&c, ST_OP_neg, at);
  at = ST_APPLY(&c, ST_OP_add_Scalar, at, bins->numel);
  return st__scope_return(&c, ST_APPLY(&c, ST_OP_add_Scalar, at, base), rets);
}
ST_TYPED_ARGS(st__box_digitize, digitize, (TENSOR, TENSOR, BOOL, INT))

/* -- lexsort -------------------------------------------------------------- */

static st_status no_dimension(void) {
  return st__fail(ST_BAD_SHAPE, "keys must have at least 1 dimension");
}

/* Sorts by each key, stably, the last one last. */
static st_status lexsort(st_tensors keys, int64_t dim, int64_t base,
                         st_value *rets) {
  st_op_scope c = {.n = 0};
  st_tensor *order = NULL;
  int at;
  if (keys.n == 0) return st__fail(ST_BAD_VALUE, "keys must not be empty");
  for (uint32_t k = 1; k < keys.n; k++) {
    if (st__same_sizes(keys.p[k], keys.p[0])) continue;
    return st__fail(ST_BAD_SHAPE, "keys must have the same shape, not %s and "
                    "%s", ST_SHAPE_TEXT(keys.p[0]), ST_SHAPE_TEXT(keys.p[k]));
  }
  if (keys.p[0]->ndim == 0) return no_dimension();
  ST_TRY(st__wrap_dim(dim, keys.p[0]->ndim, &at));
  const st_value along = st__of_int(at);
  for (uint32_t k = 0; k < keys.n && st__scope_ok(&c); k++) {
    st_op_scope round = {.n = 0};
    const st_tensor *key =
      k == 0 ? keys.p[0]
             : ST_APPLY(&round, ST_OP_gather, keys.p[k], along, order);
    st_tensor *next = ST_APPLY(&round, ST_OP_argsort, key, along);
    order = k == 0 ? next : ST_APPLY(&round, ST_OP_gather, order, along, next);
    st__scope_replace(&c, &round, &order);
  }
  return st__scope_return(&c, ST_APPLY(&c, ST_OP_add_Scalar, order, base),
                          rets);
}

ST_TYPED_ARGS(st__box_lexsort, lexsort, (TENSORS, INT, INT))

/* The keys are the slices of the first dimension. */
ST_BOXED(st__box_lexsort_Tensor) {
  ST_ARGS(TENSOR(rows), INT(dim), INT(base));
  st_value keys;
  if (rows->ndim == 0) return no_dimension();
  ST_TRY(st__invoke(ST_OP_unbind_int, ST_VALUES(rows, 0), &keys));
  const st_status status = lexsort((st_tensors){keys.u.tensors, keys.len}, dim,
                                   base, rets);
  st__value_clear(&keys);
  return status;
}
