/* embedding_bag: sums, means or maxima of rows of a table for bags of indices;
 * embedding_renorm_, and the lookups that call it first.
 */

#include <inttypes.h>
#include <string.h>

#include "op/nn/spatial.h"

typedef enum bag_mode { SUM, MEAN, MAX } bag_mode;

/* A padding that no index is. */
#define NO_PADDING INT64_MIN

typedef struct bag_call {
  const st_tensor *weight, *indices, *offsets, *scales; /* scales or NULL */
  bag_mode mode;
  bool by_frequency, has_last;
  int64_t padding, base;
} bag_call;

/* What the kernels read: rows at positions of a float32 or float64 matrix. */
typedef struct bag_table {
  const st_tensor *rows, *at, *scales;
  int64_t padding;
} bag_table;

/* -- Operators with scalars ----------------------------------------------- */

static st_tensor *compared(st_op_scope *c, st_op_id id, const st_tensor *t,
                           int64_t x) {
  return ST_APPLY(c, id, t, x);
}

/* x where mask is true, else t. */
static st_tensor *choose(st_op_scope *c, const st_tensor *mask, int64_t x,
                         const st_tensor *t) {
  return ST_APPLY(c, ST_OP_where_ScalarSelf, mask, x, t);
}

static st_tensor *column(st_op_scope *c, const st_tensor *t) {
  return ST_APPLY(c, ST_OP_unsqueeze, t, 1);
}

static st_tensor *zeros(st_op_scope *c, const st_tensor *like, int n,
                        const int64_t *sizes, st_dtype dtype) {
  return ST_APPLY(c, ST_OP_new_zeros, like, st__of_ints(sizes, n), dtype);
}

/* n zeros plus source[i] at index[i]. */
static st_tensor *added_up(st_op_scope *c, int64_t n, const st_tensor *index,
                           const st_tensor *source) {
  if (!st__scope_ok(c)) return NULL;
  return ST_APPLY(c, ST_OP_index_add, zeros(c, source, 1, &n, source->dtype), 0,
                  index, source);
}

/* -- Positions ------------------------------------------------------------ */

/* t as int64 that counts from 0. */
static st_tensor *positions(st_op_scope *c, const st_tensor *t, int64_t base) {
  st_tensor *at = st__apply_to(c, t, ST_INT64);
  return base ? ST_APPLY(c, ST_OP_sub_Scalar, at, base) : at;
}

/* True at the indices that belong to no bag, or are padding. */
static st_tensor *skipped(st_op_scope *c, const st_tensor *at,
                          const st_tensor *numbers, int64_t padding) {
  st_tensor *none = compared(c, ST_OP_lt_Scalar, numbers, 0);
  if (padding == NO_PADDING) return none;
  return st__apply2(c, ST_OP_logical_or, none,
                    compared(c, ST_OP_eq_Scalar, at, padding));
}

static st_tensor *starts_of(st_op_scope *c, const bag_call *b) {
  st_tensor *starts = positions(c, b->offsets, b->base);
  if (b->has_last) return starts;
  st_tensor *parts[] = {starts,
                        ST_APPLY(c, ST_OP_new_full, b->offsets, ST_INTS(1),
                                 b->indices->numel, ST_INT64)};
  if (!st__scope_ok(c)) return NULL;
  return ST_APPLY(c, ST_OP_cat, st__of_tensors(parts, 2), 0);
}

/* The rows at all indices in float32, if weight has a dtype without kernel. */
static void find_table(st_op_scope *c, const bag_call *b, const st_tensor *at,
                       bag_table *t) {
  const st_tensor *w = b->weight;
  *t = (bag_table){w, at, b->scales, b->padding};
  if (w->dtype == ST_FLOAT32 || w->dtype == ST_FLOAT64) return;
  const int64_t n = b->indices->numel;
  const bool padded = b->padding != NO_PADDING;
  const st_tensor *is = padded ? compared(c, ST_OP_eq_Scalar, at, b->padding)
                               : NULL;
  const st_tensor *rows = st__apply_index_select(
    c, w, 0, padded ? choose(c, is, 0, at) : at);
  t->rows = st__apply_to(c, rows, ST_FLOAT32);
  t->at = ST_APPLY(c, ST_OP_arange, n, ST_INT64, st__none(), w->device);
  if (padded) {
    t->at = choose(c, is, n, t->at);
    t->padding = n;
  }
  if (b->scales) t->scales = st__apply_to(c, b->scales, ST_FLOAT32);
}

/* 1 / how often the row of each index occurs among them. */
static st_tensor *shares(st_op_scope *c, const bag_call *b,
                         const st_tensor *at, st_dtype dtype) {
  const st_tensor *ones =
    ST_APPLY(c, ST_OP_new_ones, at, st__of_ints(b->indices->sizes, 1), dtype);
  const st_tensor *counts = added_up(c, b->weight->sizes[0], at, ones);
  return st__apply1(c, ST_OP_reciprocal,
                    st__apply_index_select(c, counts, 0, at));
}

/* -- Modes ---------------------------------------------------------------- */

static st_tensor *sums(st_op_scope *c, const bag_table *t,
                       const st_tensor *starts, const st_tensor *numbers,
                       const st_tensor *share) {
  return ST_APPLY(c, ST_OP__bag_sums, t->rows, t->at, starts, t->padding,
                  t->scales, share, numbers);
}

/* The maxima and, as *index, their rows of weight; 0 in an empty bag. */
static st_tensor *maxima(st_op_scope *c, const bag_call *b, const bag_table *t,
                         const st_tensor *at, const st_tensor *starts,
                         st_tensor **index) {
  const st_tensor *found =
    ST_APPLY(c, ST_OP__bag_maxima, st__apply1(c, ST_OP_detach, t->rows), t->at,
             starts, t->padding);
  const st_tensor *none = compared(c, ST_OP_lt_Scalar, found, 0);
  st_tensor *where = choose(c, none, 0, found);
  if (!st__scope_ok(c)) return NULL;
  *index = where;
  if (t->rows->sizes[0] == 0) {
    return zeros(c, t->rows, 2, found->sizes, t->rows->dtype);
  }
  if (t->rows != b->weight) {
    *index = choose(c, none, 0, st__apply2(c, ST_OP_take, at, where));
  }
  return choose(c, none, 0, ST_APPLY(c, ST_OP_gather, t->rows, 0, where));
}

/* How many indices each bag has, without padding. */
static st_tensor *bag_sizes(st_op_scope *c, const st_tensor *at,
                            const st_tensor *starts, const st_tensor *numbers,
                            int64_t padding) {
  const st_tensor *skip = skipped(c, at, numbers, padding);
  const st_tensor *counted = st__apply_to(
    c, st__apply1(c, ST_OP_logical_not, skip), ST_INT64);
  if (!st__scope_ok(c)) return NULL;
  const int64_t bags = starts->numel - 1;
  if (bags == 0) return zeros(c, starts, 1, &bags, ST_INT64);
  return added_up(c, bags, choose(c, skip, 0, numbers), counted);
}

/* Writes out, the bag of each index, the sizes of the bags and the rows of the
 * maxima; the last two are missing (NULL) unless all are wanted. */
static void run(st_op_scope *c, const bag_call *b, bool all, st_tensor **out) {
  bag_table t;
  const st_dtype dtype = b->weight->dtype;
  const st_tensor *at = positions(c, b->indices, b->base);
  const st_tensor *starts = starts_of(c, b), *share = NULL;
  st_tensor *numbers =
    ST_APPLY(c, ST_OP__bag_numbers, starts, b->indices->numel);
  out[1] = numbers;
  find_table(c, b, at, &t);
  if (!st__scope_ok(c)) return;
  if (all || b->mode == MEAN) {
    out[2] = bag_sizes(c, at, starts, numbers, b->padding);
    out[3] = out[2];
  }
  if (b->mode == MAX) {
    out[0] = maxima(c, b, &t, at, starts, &out[3]);
  } else {
    if (b->by_frequency) share = shares(c, b, at, t.rows->dtype);
    out[0] = sums(c, &t, starts, numbers, share);
  }
  if (b->mode == MEAN) {
    const st_tensor *n = ST_APPLY(c, ST_OP_clamp_min, out[2], 1);
    if (st__scope_ok(c)) n = st__apply_to(c, n, t.rows->dtype);
    out[0] = st__div(c, out[0], column(c, n));
  }
  if (st__scope_ok(c)) out[0] = st__apply_to(c, out[0], dtype);
  if (!all || !b->base) return;
  out[1] = ST_APPLY(c, ST_OP_add_Scalar, out[1], b->base);
  if (b->mode != MAX) return;
  out[3] = ST_APPLY(c, ST_OP_add_Scalar, out[3], b->base);
}

/* -- Gradients ------------------------------------------------------------ */

/* Positions and bags of the indices that count, 0 for the others. */
typedef struct bag_counted { st_tensor *skip, *at, *numbers; } bag_counted;

static bag_counted counted_ones(st_op_scope *c, const st_tensor *at,
                                const st_tensor *numbers, int64_t padding) {
  st_tensor *skip = skipped(c, at, numbers, padding);
  return (bag_counted){skip, choose(c, skip, 0, at),
                       choose(c, skip, 0, numbers)};
}

ST_BOXED(st__box_bag_sums_backward) {
  ST_ARGS(TENSOR(grad), TENSOR(indices), TENSOR(numbers), INT(padding));
  const st_tensor *factors[] = {st__next_tensor(&args),
                                st__next_tensor(&args)};
  const st_value sizes[] = {st__of_tensor(grad), *st__next(&args)};
  st_op_scope c = {.n = 0};
  st_tensor *none = st__apply(&c, ST_OP_new_zeros, 2, sizes);
  if (!st__scope_ok(&c) || grad->numel == 0) {
    return st__scope_return(&c, none, rets);
  }
  const bag_counted k = counted_ones(&c, indices, numbers, padding);
  const st_tensor *g = st__apply_index_select(&c, grad, 0, k.numbers);
  for (int i = 0; i < 2; i++) {
    if (!factors[i]) continue;
    g = st__mul(&c, g, column(&c, factors[i]));
  }
  g = choose(&c, column(&c, k.skip), 0, g);
  return st__scope_return(&c, ST_APPLY(&c, ST_OP_index_add, none, 0, k.at, g),
                          rets);
}

ST_BOXED(st__box_bag_scales_backward) {
  ST_ARGS(TENSOR(grad), TENSOR(weight), TENSOR(indices), TENSOR(numbers),
          INT(padding));
  st_op_scope c = {.n = 0};
  if (grad->numel == 0 || weight->numel == 0) {
    return st__scope_return(&c, zeros(&c, grad, 1, indices->sizes,
                                      grad->dtype), rets);
  }
  const bag_counted k = counted_ones(&c, indices, numbers, padding);
  const st_tensor *g =
    st__mul(&c, st__apply_index_select(&c, grad, 0, k.numbers),
            st__apply_index_select(&c, weight, 0, k.at));
  g = ST_APPLY(&c, ST_OP_sum_dim_IntList, g, ST_INTS(1));
  return st__scope_return(&c, choose(&c, k.skip, 0, g), rets);
}

/* -- Arguments ------------------------------------------------------------ */

static st_status check_tensors(const bag_call *b) {
  const st_tensor *w = b->weight, *o = b->offsets, *s = b->scales;
  if (w->ndim != 2) {
    return st__fail(ST_BAD_SHAPE, "weight must be a matrix, its shape is %s",
                    ST_SHAPE_TEXT(w));
  }
  if (!st__is_floating(w->dtype)) return st__no_kernel_for(w->dtype);
  if (!st__is_integral(b->indices->dtype) || !st__is_integral(o->dtype)) {
    return st__fail(ST_BAD_DTYPE, "indices and offsets must hold integers, not "
                    "%s and %s", st__dtype_name(b->indices->dtype),
                    st__dtype_name(o->dtype));
  }
  if (b->indices->ndim != 1 || o->ndim != 1 || o->numel < b->has_last) {
    return st__fail(ST_BAD_SHAPE, "indices and offsets must be vectors, with "
                    "include_last_offset not empty, but their shapes are %s "
                    "and %s", ST_SHAPE_TEXT(b->indices), ST_SHAPE_TEXT(o));
  }
  if (!s) return ST_OK;
  if (b->mode != SUM) {
    return st__fail(ST_BAD_VALUE, "per_sample_weights needs the mode 'sum'");
  }
  if (s->dtype != w->dtype || !st__same_sizes(s, b->indices)) {
    return st__fail(ST_BAD_SHAPE, "per_sample_weights must be %s of the shape "
                    "of indices, %s, not %s of shape %s",
                    st__dtype_name(w->dtype), ST_SHAPE_TEXT(b->indices),
                    st__dtype_name(s->dtype), ST_SHAPE_TEXT(s));
  }
  return ST_OK;
}

/* Reads an optional padding_idx; a negative one counts from the end. */
static st_status read_padding(const st_value *v, bag_call *b) {
  const int64_t rows = b->weight->ndim == 2 ? b->weight->sizes[0] : 0;
  b->padding = NO_PADDING;
  if (st__is_none(v)) return ST_OK;
  const int64_t i = st__to_int(v, 0);
  if (i < -rows || i >= rows) {
    return st__fail(ST_BAD_INDEX, "padding_idx %" PRId64 " is out of range for "
                    "%" PRId64 " rows", st__display_index(i), rows);
  }
  b->padding = i < 0 ? i + rows : i;
  return ST_OK;
}

/* -- embedding_bag of ATen ------------------------------------------------ */

/* weight, indices, offsets, scale_grad_by_freq, mode, sparse,
 * per_sample_weights, include_last_offset, [padding_idx,] base. sparse is
 * ignored: the gradient is dense. */
static st_status bag(const st_value *args, bool has_padding, st_value *rets) {
  bag_call b = {0};
  ST_ARGS_TO(b, TENSOR(weight), TENSOR(indices), TENSOR(offsets),
             BOOL(by_frequency));
  ST_ARGS(INT(mode));
  st__next(&args);
  ST_ARGS_TO(b, TENSOR(scales), BOOL(has_last));
  const st_value none = st__none();
  ST_TRY(read_padding(has_padding ? st__next(&args) : &none, &b));
  b.base = st__next_int(&args);
  if (mode < SUM || mode > MAX) {
    return st__fail(ST_BAD_VALUE, "mode must be 0 (sum), 1 (mean) or 2 (max), "
                    "not %" PRId64, mode);
  }
  b.mode = (bag_mode)mode;
  st_op_scope c = {.status = check_tensors(&b)};
  st_tensor *out[4] = {NULL};
  if (st__scope_ok(&c)) run(&c, &b, true, out);
  return st__scope_end(&c, 4, out, rets);
}

ST_BOXED(st__box_embedding_bag) { return bag(args, false, rets); }
ST_BOXED(st__box_embedding_bag_padding_idx) { return bag(args, true, rets); }

/* -- embedding_bag of torch.nn.functional --------------------------------- */

static st_status find_mode(const char *name, bag_mode *mode) {
  static const char *const names[] = {"sum", "mean", "max"};
  for (int i = SUM; i <= MAX; i++) {
    if (strcmp(name, names[i]) != 0) continue;
    *mode = (bag_mode)i;
    return ST_OK;
  }
  return st__fail(ST_BAD_VALUE, "mode must be 'sum', 'mean' or 'max', not "
                  "'%s'", name);
}

/* Without offsets, a matrix of indices has a bag in each row. */
static void flatten_bags(st_op_scope *c, bag_call *b) {
  const st_tensor *at = b->indices;
  if (at->ndim != 2 || b->offsets) {
    c->status = st__fail(ST_BAD_VALUE, "indices must be a vector with offsets, "
                         "or a matrix without, but the shape is %s %s offsets",
                         ST_SHAPE_TEXT(at), b->offsets ? "with" : "without");
    return;
  }
  if (b->scales && !st__same_sizes(b->scales, at)) {
    c->status = st__fail(ST_BAD_SHAPE, "per_sample_weights must have the shape "
                         "of indices, %s, not %s", ST_SHAPE_TEXT(at),
                         ST_SHAPE_TEXT(b->scales));
    return;
  }
  const int64_t bags = at->sizes[0];
  st_tensor *starts =
    ST_APPLY(c, ST_OP_arange, bags, ST_INT64, st__none(), at->device);
  starts = ST_APPLY(c, ST_OP_mul_Scalar, starts, at->sizes[1]);
  b->offsets = ST_APPLY(c, ST_OP_add_Scalar, starts, b->base);
  b->indices = st__apply_flatten(c, at);
  if (b->scales) b->scales = st__apply_flatten(c, b->scales);
  b->has_last = false;
}

/* weight, indices, offsets, scale_grad_by_freq, mode, sparse,
 * per_sample_weights, include_last_offset, padding_idx, base */
static st_status functional(const st_value *args, st_value *rets) {
  bag_call b = {0};
  ST_ARGS_TO(b, TENSOR(weight), TENSOR(indices), TENSOR(offsets),
             BOOL(by_frequency));
  ST_TRY(find_mode(st__next(&args)->u.string, &b.mode));
  st__next(&args);
  ST_ARGS_TO(b, TENSOR(scales), BOOL(has_last));
  ST_TRY(read_padding(st__next(&args), &b));
  b.base = st__next_int(&args);
  if (b.mode == MAX && b.by_frequency) {
    return st__fail(ST_BAD_VALUE, "the mode 'max' has no scale_grad_by_freq");
  }
  st_op_scope c = {.n = 0};
  st_tensor *out[4] = {NULL};
  if (b.indices->ndim != 1 || !b.offsets) flatten_bags(&c, &b);
  if (st__scope_ok(&c)) c.status = check_tensors(&b);
  if (st__scope_ok(&c)) run(&c, &b, false, out);
  return st__scope_return(&c, out[0], rets);
}

ST_BOXED(st__box_embedding_bag_functional) { return functional(args, rets); }

/* -- Norms of rows -------------------------------------------------------- */

static st_status check_matrix(const st_tensor *self, const st_tensor *indices,
                              const char *name) {
  if (self->ndim != 2) {
    return st__fail(ST_BAD_SHAPE, "%s must be a matrix, its shape is %s", name,
                    ST_SHAPE_TEXT(self));
  }
  if (!st__is_floating(self->dtype)) return st__no_kernel_for(self->dtype);
  if (st__is_integral(indices->dtype)) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "indices must hold integers, not %s",
                  st__dtype_name(indices->dtype));
}

/* The rows of a matrix before embedding_renorm_, and their positions. */
typedef struct old_rows { const st_tensor *rows, *at; } old_rows;

/* Scales the rows of self at indices whose norm exceeds max_norm. */
static old_rows renorm(st_op_scope *c, const st_tensor *self,
                       const st_tensor *indices, double max_norm,
                       st_value order, st_value base) {
  old_rows old = {NULL, NULL};
  const st_value at = st__of_tensor(st__apply_flatten(
    c, st__apply_to(c, indices, ST_INT64)));
  st__check_rows(c, st__to_tensor(&at), self->sizes[0]);
  const st_value zero = st__of_int(0), whole = st__of_tensor(self);
  const st_tensor *rows =
    ST_APPLY(c, ST_OP_index_select, whole, zero, at, base);
  const st_tensor *norms = ST_APPLY(c, ST_OP_norm_ScalarOpt_dim, rows, order,
                                    ST_INTS(1), st__of_bool(true));
  if (!st__scope_ok(c)) return old;
  norms = st__apply_to(c, norms, ST_FLOAT64);
  const st_tensor *factor = st__apply1(c, ST_OP_reciprocal,
                                       st__shifted(c, norms, 1e-7));
  factor = st__scaled(c, factor, max_norm);
  const st_tensor *fits = ST_APPLY(c, ST_OP_gt_Scalar, norms, max_norm);
  fits = st__apply1(c, ST_OP_logical_not, fits);
  factor = choose(c, fits, 1, factor);
  if (!st__scope_ok(c)) return old;
  factor = st__apply_to(c, factor, self->dtype);
  const st_tensor *scaled = st__mul(c, rows, factor);
  if (!st__scope_ok(c)) return old;
  ST_APPLY_INTO(c, ST_OP_index_copy, whole, zero, at,
                st__apply_to(c, scaled, self->dtype), base);
  return st__scope_ok(c) ? (old_rows){rows, st__to_tensor(&at)} : old;
}

/* Writes the rows back, which needs no memory. Positions that a script has
 * changed since are checked: Note [Snapshots of elements]. */
static void put_back(const st_tensor *self, const old_rows *old,
                     int64_t base) {
  if (!old->rows || !st__is_cpu(self) || st__is_neg(self)) return;
  const size_t size = st__itemsize(self->dtype);
  const int64_t *at = (const int64_t *)st__data(old->at);
  const int64_t n = old->rows->sizes[0], m = old->rows->sizes[1];
  for (int64_t i = 0; i < n; i++) {
    const uint64_t row = (uint64_t)at[i] - (uint64_t)base;
    if (row >= (uint64_t)self->sizes[0]) continue;
    for (int64_t j = 0; j < m; j++) {
      const int64_t to = (int64_t)row * self->strides[0] +
                         j * self->strides[1];
      const int64_t from = i * old->rows->strides[0] +
                           j * old->rows->strides[1];
      memcpy((char *)st__data(self) + to * (int64_t)size,
             (const char *)st__data(old->rows) + from * (int64_t)size, size);
    }
  }
}

/* The same on the device of an extension, by an operator. The message stays
 * that of the failure before. */
static st_status put_back_there(const st_tensor *self, const old_rows *old,
                                int64_t base, st_status before) {
  char why[1024];
  st_op_scope c = {.n = 0};
  if (!old->rows) return before;
  snprintf(why, sizeof why, "%s", st_message());
  ST_APPLY_INTO(&c, ST_OP_index_copy, self, 0, old->at, old->rows, base);
  return st__fail(before, "%s", why);
}

/* args: self, indices, max_norm, order, base. Scales rows of self, or of a
 * copy. */
static st_status renorm_rows(const st_value *args, bool copies,
                             st_value *rets) {
  ST_ARGS(MUTABLE(out), TENSOR(indices), FLOAT(max_norm));
  st_op_scope c = {.status = check_matrix(out, indices, "self")};
  if (copies) out = st__apply1(&c, ST_OP_clone, out);
  if (st__scope_ok(&c)) renorm(&c, out, indices, max_norm, args[0], args[1]);
  return st__scope_return(&c, out, rets);
}
ST_BOXED_AS(st__box_embedding_renorm_, renorm_rows, args, false)
ST_BOXED_AS(st__box_embedding_renorm, renorm_rows, args, true)

enum { RENORM_ARGS = 10 };

/* Calls op after embedding_renorm_ of its first argument; its n arguments are
 * followed by max_norm, norm_type and base. If op fails, the rows are as
 * before. */
static st_status after_renorm(const st_value *args, int n, st_kernel_fn op,
                              st_value *rets) {
  st_value plain[RENORM_ARGS];
  old_rows old = {NULL, NULL};
  const int64_t base = args[n + 2].u.i;
  st_op_scope c = {.status = check_matrix(
    st__to_tensor(args), st__to_tensor(&args[1]), "weight")};
  ST_ASSERT(n < RENORM_ARGS);
  const st_tensor *weight = st__apply1(&c, ST_OP_detach, st__to_tensor(args));
  if (st__scope_ok(&c)) {
    old = renorm(&c, weight, st__to_tensor(&args[1]),
                 st__to_float(&args[n], 0), args[n + 1], args[n + 2]);
  }
  for (int i = 0; i < n; i++) plain[i] = args[i];
  plain[n] = args[n + 2];
  if (!st__scope_ok(&c)) return st__scope_end(&c, 0, NULL, NULL);
  st_status status = op(NULL, plain, rets);
  if (status != ST_OK && st__is_privateuse(weight)) {
    status = put_back_there(weight, &old, base, status);
  } else if (status != ST_OK) {
    put_back(weight, &old, base);
  }
  ST_TRY(st__scope_end(&c, 0, NULL, NULL));
  return status;
}

ST_BOXED_AS(st__box_embedding_max_norm, after_renorm, args, 5,
            st__box_embedding)
ST_BOXED_AS(st__box_embedding_bag_max_norm, after_renorm, args, 9,
            st__box_embedding_bag_functional)
