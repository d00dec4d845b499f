/* Equations of tensors that are read as matrices: linalg_tensorinv,
 * linalg_tensorsolve.
 */

#include "op/lapack/lapack.h"
#include "op/row/composite.h"

static int64_t product(const int64_t *sizes, int n) {
  int64_t all = 1;
  for (int d = 0; d < n; d++) all *= sizes[d];
  return all;
}

/* BAD_SHAPE unless the sizes before and after dimension `first` have the same
 * product. */
static st_status check_products(const st_tensor *t, int64_t first) {
  const int k = (int)first;
  if (first <= t->ndim) {
    const int64_t before = product(t->sizes, k);
    const int64_t after = product(t->sizes + k, t->ndim - k);
    if (before == after) return ST_OK;
    return st__fail(ST_BAD_SHAPE, "self, shape %s, must be square: its first "
                    "%d dimensions have %lld elements, the others %lld",
                    ST_SHAPE_TEXT(t), k, (long long)before, (long long)after);
  }
  return st__fail(ST_BAD_SHAPE, "self of shape %s has no %lld dimensions",
                  ST_SHAPE_TEXT(t), (long long)first);
}

static st_tensor *as_matrix(st_op_scope *c, const st_tensor *t, int first) {
  if (!st__scope_ok(c)) return NULL;
  const int64_t n = product(t->sizes, first), sizes[] = {n, n};
  return ST_APPLY(c, ST_OP_reshape, t, st__of_ints(sizes, 2));
}

ST_BOXED(st__box_linalg_tensorinv) {
  ST_ARGS(TENSOR(self), INT(ind));
  st_op_scope c = {.status = ST_OK};
  int64_t sizes[ST_MAX_DIMS];
  int n = 0;
  if (ind <= 0) {
    return st__fail(ST_BAD_VALUE, "ind must be positive, not %lld",
                    (long long)ind);
  }
  ST_TRY(check_products(self, ind));
  for (int d = (int)ind; d < self->ndim; d++) sizes[n++] = self->sizes[d];
  for (int d = 0; d < (int)ind; d++) sizes[n++] = self->sizes[d];
  const st_tensor *inverse = st__apply1(&c, ST_OP_linalg_inv,
                                        as_matrix(&c, self, (int)ind));
  return st__scope_return(
    &c, ST_APPLY(&c, ST_OP_reshape, inverse, st__of_ints(sizes, n)), rets);
}

/* self with the dimensions `dims` after the others. */
static const st_tensor *moved_to_end(st_op_scope *c, const st_tensor *self,
                                     st_ints dims) {
  int64_t end[ST_MAX_DIMS];
  if (dims.n > (uint32_t)self->ndim) {
    c->status = st__fail(ST_BAD_SHAPE, "dims lists %u dimensions, self of "
                         "shape %s has %d", dims.n, ST_SHAPE_TEXT(self),
                         self->ndim);
    return NULL;
  }
  for (uint32_t i = 0; i < dims.n; i++) {
    end[i] = self->ndim - (int64_t)dims.n + i;
  }
  return ST_APPLY(c, ST_OP_movedim_intlist, self, st__of_ints(dims.p, dims.n),
                  st__of_ints(end, dims.n));
}

ST_BOXED(st__box_linalg_tensorsolve) {
  ST_ARGS(TENSOR(self), TENSOR(other), BOXED(dims));
  st_op_scope c = {.status = ST_OK};
  if (!st__is_none(dims)) {
    self = moved_to_end(&c, self, st__next_ints(&dims));
  }
  if (!st__scope_ok(&c)) return st__scope_end(&c, 0, NULL, NULL);
  c.status = check_products(self, other->ndim);
  if (st__scope_ok(&c) &&
      other->numel != product(self->sizes, other->ndim)) {
    c.status = st__fail(ST_BAD_SHAPE, "other, shape %s, has not as many "
                        "elements as the first dimensions of self, shape %s",
                        ST_SHAPE_TEXT(other), ST_SHAPE_TEXT(self));
  }
  const st_tensor *X = st__apply2(&c, ST_OP_linalg_solve,
                                  as_matrix(&c, self, other->ndim),
                                  st__apply_flatten(&c, other));
  return st__scope_return(
    &c,
    ST_APPLY(&c, ST_OP_reshape, X,
             st__of_ints(self->sizes + other->ndim, self->ndim - other->ndim)),
    rets);
}
