/* combinations, cartesian_prod and block_diag.
 */

#include <inttypes.h>
#include <string.h>

#include "base/interrupt.h"
#include "op/create/factory.h"
#include "op/row/composite.h"
#include "op/shape/cat_stack.h"

/* -- combinations --------------------------------------------------------- */

/* Computes the binomial coefficient n over k as n (n - 1) ... / (1 2 ...), an
 * integer after every step; false on overflow. */
static bool binomial(int64_t n, int64_t k, int64_t *out) {
  *out = k >= 0 && k <= n;
  if (k > n - k) k = n - k;
  for (int64_t i = 1; i <= k; i++) {
    if (!st__mul_sizes(*out, n - k + i, out)) return false;
    *out /= i;
  }
  return true;
}

/* Counts the rows of r out of n elements, and the elements of all rows. */
static st_status count_rows(int64_t n, int64_t r, bool repeats,
                            int64_t *rows, int64_t *all) {
  int64_t among = n;
  const bool fits =
    (!repeats || n == 0 || st__add_sizes(n - 1, r, &among)) &&
    binomial(among, r, rows) && st__mul_sizes(*rows, r, all);
  return fits ? ST_OK
    : st__fail(ST_BAD_SHAPE, "too many combinations of %" PRId64 " of %" PRId64
               " elements", r, n);
}

/* Writes rows of indices in ascending order. An index may be repeated in a row
 * if repeats is 1. */
static st_status write_combinations(int64_t *to, int64_t rows, int64_t r,
                                    int64_t n, int repeats) {
  const int64_t apart = 1 - repeats;
  for (int64_t j = 0; rows > 0 && j < r; j++) to[j] = j * apart;
  for (int64_t i = 1; i < rows; i++, to += r) {
    int64_t j = r - 1;
    memcpy(to + r, to, (size_t)r * sizeof *to);
    while (to[j] == n - 1 - (r - 1 - j) * apart) j--;
    to[r + j]++;
    for (j++; j < r; j++) to[r + j] = to[r + j - 1] + apart;
    if (i % 4096 == 0) ST_TRY(st__poll_interrupt());
  }
  return ST_OK;
}

static st_status combination_indices(const st_tensor *self, int64_t r,
                                     bool repeats, st_tensor **out) {
  const int64_t n = self->numel;
  int64_t rows = 0, all = 0;
  st_tensor *t = NULL;
  ST_TRY(count_rows(n, r, repeats, &rows, &all));
  const bool has_data = !st__is_strided(self) || st__has_elements(self);
  ST_TRY(st__tensor_empty(has_data ? ST_DEVICE_CPU : ST_DEVICE_META, ST_INT64,
                          1, &all, ST_FORMAT_CONTIGUOUS, &t));
  if (has_data) {
    const st_status status = write_combinations(
      (int64_t *)(void *)st__data(t), rows, r, n, repeats);
    if (status != ST_OK) {
      st__tensor_release(&t);
      return status;
    }
  }
  return st__copy_to_device(&t, self->device, out);
}

ST_BOXED(st__box_combinations) {
  ST_ARGS(TENSOR(self));
  const int64_t r = st__next_int(&args), shape[] = {-1, r};
  ST_ARGS(BOOL(with_replacement));
  st_op_scope c = {.n = 0};
  if (self->ndim != 1) {
    return st__fail(ST_BAD_SHAPE, "self must be a vector, its shape is %s",
                    ST_SHAPE_TEXT(self));
  }
  if (r < 0) {
    return st__fail(ST_BAD_VALUE, "r must not be negative, it is %" PRId64, r);
  }
  if (r == 0) {
    return st__invoke(ST_OP_new_empty, ST_VALUES(self, ST_INTS(0)), rets);
  }
  st_tensor *at = NULL;
  c.status = combination_indices(self, r, with_replacement, &at);
  if (st__scope_ok(&c)) c.t[c.n++] = at;
  const st_tensor *line = ST_APPLY(&c, ST_OP_index_select, self, 0, at);
  return st__scope_return(
    &c, ST_APPLY(&c, ST_OP_reshape, line, st__of_ints(shape, 2)), rets);
}

/* -- cartesian_prod ------------------------------------------------------- */

/* Column i of the product: vector i, broadcast over the dimensions of the
 * others and flattened. */
static st_status column(st_tensors tensors, int i, const int64_t *sizes,
                        st_value *out) {
  const int n = (int)tensors.n;
  const int64_t flat[] = {-1};
  int64_t own[ST_MAX_DIMS];
  const int64_t none[] = {0};
  bool is_empty = false;
  st_op_scope c = {.n = 0};
  for (int d = 0; d < n; d++) {
    own[d] = d == i ? sizes[d] : 1;
    is_empty |= sizes[d] == 0; /* a product of sizes might overflow */
  }
  const st_tensor *wide =
    ST_APPLY(&c, ST_OP_expand,
             ST_APPLY(&c, ST_OP_reshape, tensors.p[i], st__of_ints(own, n)),
             st__of_ints(sizes, n));
  return st__scope_return(
    &c,
    ST_APPLY(&c, ST_OP_reshape, wide, st__of_ints(is_empty ? none : flat, 1)),
    out);
}

ST_BOXED(st__box_cartesian_prod) {
  ST_ARGS(TENSORS(tensors));
  ST_TRY(st__check_vectors(tensors, 1));
  const int n = (int)tensors.n;
  int64_t sizes[ST_MAX_DIMS];
  st_value columns;
  st_status status = ST_OK;
  if (n == 1) return st__return_tensor(tensors.p[0], rets);
  for (int i = 0; i < n; i++) sizes[i] = tensors.p[i]->numel;
  ST_TRY(st__value_new_tensors(n, &columns));
  for (int i = 0; i < n && status == ST_OK; i++) {
    st_value one;
    status = column(tensors, i, sizes, &one);
    if (status == ST_OK) columns.u.tensors[i] = one.u.tensor;
  }
  if (status == ST_OK) {
    status = st__invoke(ST_OP_stack, ST_VALUES(columns, 1), rets);
  }
  st__value_clear(&columns);
  return status;
}

/* -- block_diag ----------------------------------------------------------- */

static int64_t height(const st_tensor *t) {
  return t->ndim == 2 ? t->sizes[0] : 1;
}

static int64_t width(const st_tensor *t) {
  return t->ndim ? t->sizes[t->ndim - 1] : 1;
}

static st_tensor *zeros(st_op_scope *c, const st_tensor *like, int64_t h,
                        int64_t w, st_dtype d) {
  return ST_APPLY(c, ST_OP_new_zeros, like, ST_INTS(h, w), d);
}

/* The rows of t in the result: `left` zeros, t, and zeros up to `all`
 * columns. */
static st_status block_rows(st_tensor *t, st_dtype d, int64_t left,
                            int64_t all, st_value *out) {
  const int64_t h = height(t), w = width(t), sizes[] = {h, w};
  st_op_scope c = {.n = 0};
  st_tensor *parts[] = {
    zeros(&c, t, h, left, d),
    st__apply_to(&c, ST_APPLY(&c, ST_OP_reshape, t, st__of_ints(sizes, 2)), d),
    zeros(&c, t, h, all - left - w, d)};
  if (!st__scope_ok(&c)) return st__scope_end(&c, 0, NULL, out);
  return st__scope_return(
    &c, ST_APPLY(&c, ST_OP_cat, st__of_tensors(parts, 3), 1), out);
}

static st_status check_blocks(st_tensors tensors, int64_t *all) {
  *all = 0;
  if (tensors.n == 0) {
    return st__fail(ST_BAD_VALUE, "tensors must not be empty");
  }
  for (uint32_t i = 0; i < tensors.n; i++) {
    const st_tensor *t = tensors.p[i];
    if (t->ndim > 2) {
      return st__fail(ST_BAD_SHAPE, "tensor number %u must have at most 2 "
                      "dimensions, its shape is %s", i + 1, ST_SHAPE_TEXT(t));
    }
    if (!st__add_sizes(*all, width(t), all)) {
      return st__fail(ST_BAD_SHAPE, "the joined size is too large");
    }
  }
  return ST_OK;
}

ST_BOXED(st__box_block_diag) {
  ST_ARGS(TENSORS(tensors));
  st_status status = ST_OK;
  int64_t all, left = 0;
  st_dtype d;
  st_value rows;
  ST_TRY(check_blocks(tensors, &all));
  ST_TRY(st__promoted(st__result_type(tensors.p, (int)tensors.n), &d));
  ST_TRY(st__value_new_tensors((int)tensors.n, &rows));
  for (uint32_t i = 0; i < tensors.n && status == ST_OK; i++) {
    st_value one;
    status = block_rows(tensors.p[i], d, left, all, &one);
    if (status == ST_OK) rows.u.tensors[i] = one.u.tensor;
    left += width(tensors.p[i]);
  }
  if (status == ST_OK) status = st__invoke(ST_OP_cat, 1, &rows, rets);
  st__value_clear(&rows);
  return status;
}
