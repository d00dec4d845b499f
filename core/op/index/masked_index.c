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
  *index = st__apply(c, ST_OP_clamp, 3, (st_value[]){
    st__of_tensor(*index), st__of_int(-self->sizes[d]), st__of_int(last)});
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
  const st_tensor *wide = st__apply_with(c, ST_OP_new_zeros, self,
                                         st__of_ints(sizes, self->ndim));
  return st__apply_with(c, ST_OP_index_Tensor, wide,
                        st__of_tensors(zeros.p, zeros.n));
}

static st_tensor *fill_outside(st_op_scope *c, const st_tensor *t,
                               const st_tensor *mask, st_value fill) {
  return st__apply(c, ST_OP_masked_fill_Scalar, 3, (st_value[]){
    st__of_tensor(t), st__of_tensor(st__apply1(c, ST_OP_logical_not, mask)),
    fill});
}

ST_BOXED(st__box_unsafe_masked_index) {
  const st_tensor *self = st__next_tensor(&args);
  const st_tensor *mask = st__next_tensor(&args);
  const st_tensors indices = st__next_tensors(&args);
  const st_value fill = *st__next(&args);
  const int64_t base = st__next_int(&args);
  st_op_scope c = {.status = ST_OK};
  clamped at;
  clamp_indices(&c, self, indices, base, &at);
  if (st__scope_ok(&c) && self->numel == 0) {
    const st_tensor *elements = like_elements(&c, self, &at);
    return st__scope_return(&c, st__apply_with(&c, ST_OP_full_like, elements,
                                               fill), rets);
  }
  const st_value read[] = {st__of_tensor(self), st__of_tensors(at.p, at.n),
                           st__of_int(base)};
  const st_tensor *elements = st__apply(&c, ST_OP_index_Tensor, 3, read);
  return st__scope_return(&c, fill_outside(&c, elements, mask, fill), rets);
}

ST_BOXED(st__box_unsafe_masked_index_put_accumulate) {
  const st_tensor *self = st__next_tensor(&args);
  const st_tensor *mask = st__next_tensor(&args);
  const st_tensors indices = st__next_tensors(&args);
  const st_tensor *values = st__next_tensor(&args);
  const int64_t base = st__next_int(&args);
  st_op_scope c = {.status = ST_OK};
  clamped at;
  if (self->numel == 0) {
    return st__scope_return(&c, st__apply1(&c, ST_OP_clone, self), rets);
  }
  clamp_indices(&c, self, indices, base, &at);
  const st_value write[] = {
    st__of_tensor(self), st__of_tensors(at.p, at.n),
    st__of_tensor(fill_outside(&c, values, mask, st__of_int(0))),
    st__of_bool(true), st__of_int(base)};
  return st__scope_return(&c, st__apply(&c, ST_OP_index_put, 5, write), rets);
}
