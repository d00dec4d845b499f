/* Composite products of tensors: tensordot, kron, vdot, linalg_multi_dot,
 * chain_matmul, linalg_matrix_power.
 */

#include <math.h>

#include "base/interrupt.h"
#include "base/sizes.h"
#include "op/elementwise/result_layout.h"
#include "op/row/composite.h"

/* -- tensordot ------------------------------------------------------------ */

/* A factor with the dimensions that are contracted, in the order listed. */
typedef struct contracted {
  const st_tensor *t;
  int n, dims[ST_MAX_DIMS];
  uint64_t set;
} contracted;

static st_status read_dims(const st_tensor *t, st_ints dims, contracted *out) {
  *out = (contracted){.t = t, .n = (int)dims.n};
  if (dims.n == 0) return ST_OK;
  if ((int)dims.n > t->ndim) {
    return st__fail(ST_BAD_DIM, "%u dimensions of a tensor of shape %s cannot "
                    "be contracted", dims.n, ST_SHAPE_TEXT(t));
  }
  ST_TRY(st__wrap_dims(dims.p, out->n, t->ndim, &out->set));
  for (int i = 0; i < out->n; i++) {
    ST_TRY(st__wrap_dim(dims.p[i], t->ndim, &out->dims[i]));
  }
  return ST_OK;
}

/* Sums the contracted dimensions of x that have size 1 in y. They keep size
 * 1. */
static void sum_broadcast(st_op_scope *c, contracted *x, const contracted *y) {
  int64_t dims[ST_MAX_DIMS];
  int n = 0;
  for (int i = 0; i < x->n; i++) {
    const int64_t own = x->t->sizes[x->dims[i]];
    if (own != 1 && y->t->sizes[y->dims[i]] == 1) dims[n++] = x->dims[i];
  }
  if (n == 0) return;
  x->t = ST_APPLY(c, ST_OP_sum_dim_IntList, x->t, st__of_ints(dims, n),
                  st__of_bool(true), x->t->dtype);
}

static st_status check_contracted(const contracted *x, const contracted *y) {
  for (int i = 0; i < x->n; i++) {
    const int64_t a = x->t->sizes[x->dims[i]], b = y->t->sizes[y->dims[i]];
    if (a == b || a == 1 || b == 1) continue;
    return st__fail(ST_BAD_SHAPE, "dimension %d of self and %d of other are "
                    "contracted, but have sizes %lld and %lld",
                    (int)st__display_index(x->dims[i]),
                    (int)st__display_index(y->dims[i]), (long long)a,
                    (long long)b);
  }
  return ST_OK;
}

/* t as a matrix: the contracted dimensions are its rows or its columns. Adds
 * the sizes of the others to `sizes`. */
static st_tensor *as_matrix(st_op_scope *c, const contracted *x, bool as_rows,
                            int64_t *sizes, int *n) {
  int64_t order[ST_MAX_DIMS], inner = 1, others = 1;
  const int first = as_rows ? x->n : 0;
  int k = 0;
  if (!st__scope_ok(c)) return NULL;
  for (int d = 0; d < x->t->ndim; d++) {
    if (x->set >> d & 1) continue;
    order[first + k++] = d;
    sizes[(*n)++] = x->t->sizes[d];
    others *= x->t->sizes[d];
  }
  for (int i = 0; i < x->n; i++) {
    order[as_rows ? i : k + i] = x->dims[i];
    inner *= x->t->sizes[x->dims[i]];
  }
  const int64_t shape[] = {as_rows ? inner : others, as_rows ? others : inner};
  const st_tensor *t =
    ST_APPLY(c, ST_OP_permute, x->t, st__of_ints(order, x->t->ndim));
  return ST_APPLY(c, ST_OP_reshape, t, st__of_ints(shape, 2));
}

static st_status tensordot(const st_tensor *self, const st_tensor *other,
                           st_ints dims_self, st_ints dims_other,
                           st_value *rets) {
  contracted x, y;
  int64_t sizes[2 * ST_MAX_DIMS];
  int n = 0;
  st_op_scope c = {.n = 0};
  if (dims_self.n != dims_other.n) {
    return st__fail(ST_BAD_DIM, "dims_self lists %u dimensions, but dims_other "
                    "%u", dims_self.n, dims_other.n);
  }
  ST_TRY(read_dims(self, dims_self, &x));
  ST_TRY(read_dims(other, dims_other, &y));
  ST_TRY(check_contracted(&x, &y));
  if (self->ndim + other->ndim - 2 * x.n > ST_MAX_DIMS) {
    return st__fail(ST_BAD_SHAPE, "the result has more than %d dimensions",
                    ST_MAX_DIMS);
  }
  sum_broadcast(&c, &x, &y);
  if (st__scope_ok(&c)) sum_broadcast(&c, &y, &x);
  const st_tensor *a = as_matrix(&c, &x, false, sizes, &n);
  const st_tensor *b = as_matrix(&c, &y, true, sizes, &n);
  const st_tensor *product = st__apply2(&c, ST_OP_mm, a, b);
  return st__scope_return(
    &c, ST_APPLY(&c, ST_OP_reshape, product, st__of_ints(sizes, n)), rets);
}

ST_TYPED_ARGS(st__box_tensordot, tensordot, (TENSOR, TENSOR, INTS, INTS))

/* The last dims dimensions of self and the first ones of other. */
static st_status tensordot_int(const st_tensor *self, const st_tensor *other,
                               int64_t n, st_value *rets) {
  int64_t last[ST_MAX_DIMS], first[ST_MAX_DIMS];
  if (n < 0 || n > self->ndim || n > other->ndim) {
    return st__fail(ST_BAD_VALUE, "dims must be from 0 to the number of "
                    "dimensions of self and other, whose shapes are %s and %s, "
                    "not %lld", ST_SHAPE_TEXT(self), ST_SHAPE_TEXT(other),
                    (long long)n);
  }
  for (int i = 0; i < (int)n; i++) {
    last[i] = self->ndim - (int)n + i;
    first[i] = i;
  }
  return tensordot(self, other, (st_ints){last, (uint32_t)n},
                   (st_ints){first, (uint32_t)n}, rets);
}
ST_TYPED_ARGS(st__box_tensordot_int, tensordot_int, (TENSOR, TENSOR, INT))

/* -- kron ----------------------------------------------------------------- */

/* t with n dimensions, and one of size 1 after each of them, or before it. */
static st_tensor *interleaved(st_op_scope *c, const st_tensor *t, int n,
                              bool after) {
  int64_t sizes[ST_MAX_DIMS];
  for (int d = 0; d < n; d++) {
    const int own = d - (n - t->ndim);
    sizes[2 * d + !after] = own < 0 ? 1 : t->sizes[own];
    sizes[2 * d + after] = 1;
  }
  return ST_APPLY(c, ST_OP_view, t, st__of_ints(sizes, 2 * n));
}

/* The sizes of the Kronecker product. */
static st_status kron_sizes(const st_tensor *a, const st_tensor *b, int n,
                            int64_t *sizes) {
  for (int d = 0; d < n; d++) {
    const int i = d - (n - a->ndim), j = d - (n - b->ndim);
    if (!st__mul_sizes(i < 0 ? 1 : a->sizes[i], j < 0 ? 1 : b->sizes[j],
                       &sizes[d])) {
      return st__fail(ST_BAD_SHAPE, "the product of shapes %s and %s is too "
                      "large", ST_SHAPE_TEXT(a), ST_SHAPE_TEXT(b));
    }
  }
  return ST_OK;
}

ST_BOXED(st__box_kron) {
  ST_ARGS(TENSOR(self), TENSOR(other));
  const int n = self->ndim > other->ndim ? self->ndim : other->ndim;
  int64_t sizes[ST_MAX_DIMS];
  st_op_scope c = {.n = 0};
  if (2 * n > ST_MAX_DIMS) {
    return st__fail(ST_BAD_SHAPE, "self and other must have at most %d "
                    "dimensions, their shapes are %s and %s", ST_MAX_DIMS / 2,
                    ST_SHAPE_TEXT(self), ST_SHAPE_TEXT(other));
  }
  ST_TRY(kron_sizes(self, other, n, sizes));
  const st_tensor *product = st__mul(&c, interleaved(&c, self, n, true),
                                     interleaved(&c, other, n, false));
  return st__scope_return(
    &c, ST_APPLY(&c, ST_OP_reshape, product, st__of_ints(sizes, n)), rets);
}

/* -- vdot ----------------------------------------------------------------- */

ST_BOXED(st__box_vdot) {
  ST_ARGS(TENSOR(self), TENSOR(other));
  st_op_scope c = {.n = 0};
  const st_tensor *conj = st__apply1(&c, ST_OP_conj, self);
  return st__scope_return(&c, st__apply2(&c, ST_OP_dot, conj, other), rets);
}

/* -- Chains of matrices --------------------------------------------------- */

enum { CHAIN = 32 }; /* matrices: a scope owns their products and views */

/* Source: T. H. Cormen et al., "Introduction to Algorithms", matrix-chain
 * multiplication: cost[i][j] is the least number of multiplications for the
 * matrices from i to j, and split[i][j] the last one of the first factor. */
typedef struct chain {
  int n;
  const st_tensor *t[CHAIN];
  double cost[CHAIN][CHAIN];
  uint8_t split[CHAIN][CHAIN];
} chain;

static st_status check_chain(st_tensors all) {
  const int n = (int)all.n;
  if (n < 2 || n > CHAIN) {
    return st__fail(ST_BAD_VALUE, "2 to %d tensors can be multiplied, not %d",
                    CHAIN, n);
  }
  for (int i = 0; i < n; i++) {
    const st_tensor *t = all.p[i];
    const bool is_end = i == 0 || i == n - 1;
    if (t->ndim == 2 || (is_end && t->ndim == 1)) continue;
    return st__fail(ST_BAD_SHAPE, "tensor %d must have %s2 dimensions, its "
                    "shape is %s", i + 1, is_end ? "1 or " : "",
                    ST_SHAPE_TEXT(t));
  }
  for (int i = 1; i < n; i++) {
    const st_tensor *a = all.p[i - 1], *b = all.p[i];
    if (a->dtype != b->dtype) {
      return st__fail(ST_BAD_DTYPE, "tensor %d is %s, but tensor %d is %s: "
                      "convert one of them", i, st__dtype_name(a->dtype), i + 1,
                      st__dtype_name(b->dtype));
    }
    if (a->sizes[a->ndim - 1] == b->sizes[0]) continue;
    return st__fail(ST_BAD_SHAPE, "tensors %d and %d, of shapes %s and %s, "
                    "cannot be multiplied", i, i + 1, ST_SHAPE_TEXT(a),
                    ST_SHAPE_TEXT(b));
  }
  return ST_OK;
}

/* The matrices; a vector at the beginning is a row, at the end a column. */
static void read_chain(st_op_scope *c, st_tensors all, chain *h) {
  h->n = (int)all.n;
  for (int i = 0; i < h->n; i++) {
    h->t[i] = all.p[i]->ndim == 2
                ? all.p[i]
                : ST_APPLY(c, ST_OP_unsqueeze, all.p[i], st__of_int(i > 0));
  }
}

static void choose_splits(chain *h) {
  for (int i = 0; i < h->n; i++) h->cost[i][i] = 0;
  for (int length = 1; length < h->n; length++) {
    for (int i = 0; i + length < h->n; i++) {
      const int j = i + length;
      const double ends = (double)h->t[i]->sizes[0] *
                          (double)h->t[j]->sizes[1];
      h->cost[i][j] = HUGE_VAL;
      for (int k = i; k < j; k++) {
        const double cost = h->cost[i][k] + h->cost[k + 1][j] +
                            ends * (double)h->t[k]->sizes[1];
        if (cost >= h->cost[i][j]) continue;
        h->cost[i][j] = cost;
        h->split[i][j] = (uint8_t)k;
      }
    }
  }
}

static const st_tensor *multiply_chain(st_op_scope *c, const chain *h, int i,
                                       int j) {
  if (i == j) return h->t[i];
  const int k = h->split[i][j];
  const st_tensor *a = multiply_chain(c, h, i, k);
  const st_tensor *b = multiply_chain(c, h, k + 1, j);
  return st__scope_goes_on(c) ? st__apply2(c, ST_OP_mm, a, b) : NULL;
}

static st_status multi_dot(st_tensors all, st_value *rets) {
  chain h;
  int64_t sizes[2];
  int n = 0;
  st_op_scope c = {.n = 0};
  ST_TRY(check_chain(all));
  read_chain(&c, all, &h);
  if (!st__scope_ok(&c)) return st__scope_end(&c, 0, NULL, rets);
  choose_splits(&h);
  const st_tensor *first = all.p[0], *last = all.p[h.n - 1];
  st_tensor *out = (st_tensor *)(uintptr_t)multiply_chain(&c, &h, 0, h.n - 1);
  if (first->ndim == 2) sizes[n++] = first->sizes[0];
  if (last->ndim == 2) sizes[n++] = last->sizes[1];
  if (n < 2) out = ST_APPLY(&c, ST_OP_view, out, st__of_ints(sizes, n));
  return st__scope_return(&c, out, rets);
}

ST_BOXED_AS(st__box_linalg_multi_dot, multi_dot, st__next_tensors(&args))

ST_BOXED(st__box_chain_matmul) {
  ST_ARGS(TENSORS(all));
  for (int i = 0; i < (int)all.n; i++) {
    if (all.p[i]->ndim == 2) continue;
    return st__fail(ST_BAD_SHAPE, "tensor %d must have 2 dimensions, its shape "
                    "is %s", i + 1, ST_SHAPE_TEXT(all.p[i]));
  }
  if (all.n != 1) return multi_dot(all, rets);
  st_op_scope c = {.n = 0};
  return st__scope_return(&c, st__apply1(&c, ST_OP_clone, all.p[0]), rets);
}

/* -- Powers of matrices --------------------------------------------------- */

/* *to = a b, owned, in place of what *to was. */
static st_status multiply_into(const st_tensor *a, const st_tensor *b,
                               st_tensor **to) {
  st_tensor *product = NULL;
  ST_TRY(st__poll_interrupt());
  ST_TRY(st__invoke1(ST_OP_matmul, ST_VALUES(a, b), &product));
  st__tensor_release(to);
  *to = product;
  return ST_OK;
}

/* n is 3 or more: the product of the squares that n has as binary digits. */
static st_status power(const st_tensor *t, uint64_t n, st_value *rets) {
  st_tensor *square = (st_tensor *)(uintptr_t)t, *out = NULL;
  st_status status = ST_OK;
  st__tensor_retain(square);
  for (;; n >>= 1) {
    if (n & 1 && out) ST_TRY_FAIL(multiply_into(out, square, &out));
    if (n & 1 && !out) {
      out = square;
      st__tensor_retain(out);
    }
    if (n < 2) break;
    ST_TRY_FAIL(multiply_into(square, square, &square));
  }
  *rets = st__of_tensor(out);
  out = NULL;
fail:
  st__tensor_release(&square);
  st__tensor_release(&out);
  return status;
}

/* Identity matrices; the gradient of t is zero. */
static st_tensor *identities(st_op_scope *c, const st_tensor *t) {
  const st_tensor *ones = st__apply1(c, ST_OP_ones_like, t);
  const st_tensor *diagonal = st__apply1(c, ST_OP_tril,
                                         st__apply1(c, ST_OP_triu, ones));
  return st__plus(c, st__apply1(c, ST_OP_zero, t), diagonal);
}

ST_BOXED(st__box_linalg_matrix_power) {
  ST_ARGS(TENSOR(self), INT(n));
  st_op_scope c = {.n = 0};
  if (self->ndim < 2 ||
      self->sizes[self->ndim - 1] != self->sizes[self->ndim - 2]) {
    return st__fail(ST_BAD_SHAPE, "self must have square matrices in its last "
                    "2 dimensions, its shape is %s", ST_SHAPE_TEXT(self));
  }
  if (n == 0) {
    const st_tensor *all = identities(&c, self);
    return st__scope_return(&c, st__apply_fresh(&c, all), rets);
  }
  if (n == 1) {
    return st__scope_return(
      &c, ST_APPLY(&c, ST_OP_clone, self, ST_FORMAT_CONTIGUOUS), rets);
  }
  if (n > 0) return power(self, (uint64_t)n, rets);
  const st_tensor *inverse = st__apply1(&c, ST_OP_linalg_inv, self);
  if (st__scope_ok(&c)) c.status = power(inverse, -(uint64_t)n, rets);
  return st__scope_end(&c, 0, NULL, NULL);
}
