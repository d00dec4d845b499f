/* Elements at indices where a mask is true: _unsafe_masked_index,
 * _unsafe_masked_index_put_accumulate. An index where it is false may be out of
 * range.
 */

#include "op/index/index.h"
#include "op/row/composite.h"

/* The indices, owned by a scope or NULL. */
typedef struct clamped {
  uint32_t n;
  st_tensor *p[ST_MAX_DIMS];
} clamped;

static void clamp_index(st_op_scope *c, const st_tensor *self, int d,
                        int64_t base, st_tensor **index) {
  const st_dtype dtype = (*index)->dtype;
  if (!st__scope_ok(c)) return;
  if (dtype != ST_INT32 && dtype != ST_INT64) {
    c->status = st__fail(ST_BAD_DTYPE, "indices must be int32 or int64, not "
                         "%s", st__dtype_name(dtype));
    return;
  }
  const int64_t last = self->sizes[d] - 1 + base;
  *index = ST_APPLY(c, ST_OP_clamp, *index, -self->sizes[d], last);
}

static void clamp_indices(st_op_scope *c, const st_tensor *self,
                          st_tensors indices, int64_t base, clamped *out) {
  out->n = indices.n;
  if (indices.n == 0 || indices.n > (uint32_t)self->ndim) {
    c->status = st__fail(ST_BAD_VALUE, "self of shape %s has no %u dimensions "
                         "for the indices", ST_SHAPE_TEXT(self), indices.n);
    return;
  }
  for (int d = 0; d < (int)indices.n; d++) {
    out->p[d] = indices.p[d];
    if (out->p[d]) clamp_index(c, self, d, base, &out->p[d]);
  }
}

/* The elements that index.Tensor would give of a tensor with one element in
 * each dimension: only their shape counts. */
static st_tensor *like_elements(st_op_scope *c, const st_tensor *self,
                                const clamped *at) {
  int64_t sizes[ST_MAX_DIMS];
  clamped zeros = *at;
  for (int d = 0; d < self->ndim; d++) {
    sizes[d] = d < (int)at->n && at->p[d] ? 1 : self->sizes[d];
    if (d >= (int)at->n || !at->p[d]) continue;
    zeros.p[d] = st__apply1(c, ST_OP_zeros_like, at->p[d]);
  }
  const st_tensor *wide =
    ST_APPLY(c, ST_OP_new_zeros, self, st__of_ints(sizes, self->ndim));
  return ST_APPLY(c, ST_OP_index_Tensor, wide,
                  st__of_tensors(zeros.p, zeros.n));
}

static st_tensor *fill_outside(st_op_scope *c, const st_tensor *t,
                               const st_tensor *mask, st_value fill) {
  return ST_APPLY(c, ST_OP_masked_fill_Scalar, t,
                  st__apply1(c, ST_OP_logical_not, mask), fill);
}

ST_BOXED(st__box_unsafe_masked_index) {
  ST_ARGS(TENSOR(self), TENSOR(mask), TENSORS(indices), VALUE(fill), INT(base));
  st_op_scope c = {.status = ST_OK};
  clamped at;
  clamp_indices(&c, self, indices, base, &at);
  if (st__scope_ok(&c) && self->numel == 0) {
    const st_tensor *elements = like_elements(&c, self, &at);
    return st__scope_return(&c, ST_APPLY(&c, ST_OP_full_like, elements, fill),
                            rets);
  }
  const st_tensor *elements =
    ST_APPLY(&c, ST_OP_index_Tensor, self, st__of_tensors(at.p, at.n), base);
  return st__scope_return(&c, fill_outside(&c, elements, mask, fill), rets);
}

ST_BOXED(st__box_unsafe_masked_index_put_accumulate) {
  ST_ARGS(TENSOR(self), TENSOR(mask), TENSORS(indices), TENSOR(values),
          INT(base));
  st_op_scope c = {.status = ST_OK};
  clamped at;
  if (self->numel == 0) {
    return st__scope_return(&c, st__apply1(&c, ST_OP_clone, self), rets);
  }
  clamp_indices(&c, self, indices, base, &at);
  return st__scope_return(
    &c,
    ST_APPLY(&c, ST_OP_index_put, self, st__of_tensors(at.p, at.n),
             fill_outside(&c, values, mask, st__of_int(0)), st__of_bool(true),
             base),
    rets);
}
