/* View operators: the boxed kernels of the functions in tensor/view.h.
 *
 * Composite operators call other operators through the dispatcher, so that
 * autograd and dispatch modes see each view.
 */

#include <inttypes.h>
#include <string.h>

#include "op/row/composite.h"
#include "op/shape/view.h"
#include "tensor/view.h"

/* -- Views ---------------------------------------------------------------- */

static st_status as_strided(const st_tensor *self, st_ints size,
                            st_ints stride, st_opt_int storage_offset,
                            st_tensor **out) {
  const int64_t offset = storage_offset.has ? storage_offset.i : self->offset;
  if (size.n != stride.n) {
    return st__fail(ST_BAD_SHAPE, "size has %u entries, but stride has %u",
                    size.n, stride.n);
  }
  return st__view_as_strided(self, (int)size.n, size.p, stride.p, offset, out);
}

static st_status view_t(const st_tensor *self, st_tensor **out) {
  if (self->ndim > 2) {
    return st__fail(ST_BAD_SHAPE, "self has shape %s, but t is for at most "
                    "2 dimensions; use transpose", ST_SHAPE_TEXT(self));
  }
  return st__view_transpose(self, 0, -1, out);
}

static st_status view_dtype(const st_tensor *self, int64_t dtype,
                            st_tensor **out) {
  return st__view_dtype(self, (st_dtype)dtype, out);
}

static st_status slice(const st_tensor *self, int64_t dim, st_opt_int start,
                       st_opt_int end, int64_t step, st_tensor **out) {
  return st__view_slice(self, dim, start.has ? start.i : 0,
                        end.has ? end.i : INT64_MAX, step, out);
}

static st_status squeeze_dims(const st_tensor *self, int n,
                              const int64_t *dims, st_tensor **out) {
  uint64_t set = 0;
  if (n > 0) ST_TRY(st__wrap_dims(dims, n, self->ndim, &set));
  return st__view_squeeze(self, set, out);
}

static st_status squeeze_dim(const st_tensor *self, int64_t dim,
                             st_tensor **out) {
  return squeeze_dims(self, 1, &dim, out);
}

ST_TYPED(st__box_as_strided, as_strided, (TENSOR, INTS, INTS, OPT_INT))
ST_TYPED(st__box_view, st__view_view, (TENSOR, SIZES))
ST_TYPED(st__box_view_dtype, view_dtype, (TENSOR, INT))
ST_TYPED(st__box_alias, st__view_alias, (TENSOR))
ST_TYPED(st__box_t, view_t, (TENSOR))
ST_TYPED(st__box_transpose, st__view_transpose, (TENSOR, INT, INT))
ST_TYPED(st__box_permute, st__view_permute, (TENSOR, SIZES))
ST_TYPED(st__box_select, st__view_select, (TENSOR, INT, INT))
ST_TYPED(st__box_slice, slice, (TENSOR, INT, OPT_INT, OPT_INT, INT))
ST_TYPED(st__box_squeeze, st__view_squeeze_all, (TENSOR))
ST_TYPED(st__box_squeeze_dim, squeeze_dim, (TENSOR, INT))
ST_TYPED(st__box_squeeze_dims, squeeze_dims, (TENSOR, SIZES))
ST_TYPED(st__box_unsqueeze, st__view_unsqueeze, (TENSOR, INT))
ST_TYPED(st__box_expand, st__view_expand, (TENSOR, SIZES))
ST_TYPED(st__box_diagonal, st__view_diagonal, (TENSOR, INT, INT, INT))
ST_TYPED(st__box_unfold, st__view_unfold, (TENSOR, INT, INT, INT))
ST_TYPED(st__box_view_as_real, st__view_as_real, (TENSOR))
ST_TYPED(st__box_view_as_complex, st__view_as_complex, (TENSOR))

/* -- In place ------------------------------------------------------------- */

/* Gives self the sizes, strides and offset of view, and releases view. */
static st_status set_geometry(st_tensor *self, st_tensor *view,
                              st_value *ret) {
  const st_status status =
    st__tensor_restride(self, view->ndim, view->sizes, view->strides,
                        view->offset);
  st__tensor_release(&view);
  return status == ST_OK ? st__return_tensor(self, ret) : status;
}

/* Makes self what the function, a view of it, returns. */
#define BECOME(boxed, function, ARGS)               \
  ST_BOXED(boxed) {                                 \
    st_tensor *t = NULL;                            \
    ST_TRY(function(ST_UNBOXED(ARGS), &t));         \
    return set_geometry(args[0].u.tensor, t, rets); \
  }
BECOME(st__box_as_strided_, as_strided, (TENSOR, INTS, INTS, OPT_INT))
BECOME(st__box_t_, view_t, (TENSOR))
BECOME(st__box_transpose_, st__view_transpose, (TENSOR, INT, INT))
BECOME(st__box_squeeze_, st__view_squeeze_all, (TENSOR))
BECOME(st__box_squeeze_dim_, squeeze_dim, (TENSOR, INT))
BECOME(st__box_squeeze_dims_, squeeze_dims, (TENSOR, SIZES))
BECOME(st__box_unsqueeze_, st__view_unsqueeze, (TENSOR, INT))

/* -- Reshaping ------------------------------------------------------------ */

/* sizes contains no -1. */
static st_status reshape(const st_callees *ops, const st_tensor *self, int n,
                         const int64_t *sizes, st_tensor **out) {
  int64_t strides[ST_MAX_DIMS];
  if (st__view_strides(self, n, sizes, strides)) {
    return ops->view(self, n, sizes, strides, out);
  }
  st_tensor *copy = NULL;
  ST_TRY(ops->clone(self, ST_FORMAT_CONTIGUOUS, &copy));
  const st_status status = ops->view(copy, n, sizes, NULL, out);
  st__tensor_release(&copy);
  return status;
}

st_status st__op_reshape(const st_callees *ops, const st_tensor *self, int n,
                         const int64_t *shape, st_tensor **out) {
  int64_t full[ST_MAX_DIMS];
  ST_TRY(st__view_infer_size(self->numel, n, shape, full));
  return reshape(ops, self, n, full, out);
}

static st_status reshape_as(const st_callees *ops, const st_tensor *self,
                            const st_tensor *other, st_tensor **out) {
  return st__op_reshape(ops, self, other->ndim, other->sizes, out);
}

static st_status view_as(const st_callees *ops, const st_tensor *self,
                         const st_tensor *other, st_tensor **out) {
  return ops->view(self, other->ndim, other->sizes, NULL, out);
}

static st_status ravel(const st_callees *ops, const st_tensor *self,
                       st_tensor **out) {
  const int64_t all = -1;
  st_tensor *t = NULL;
  ST_TRY(st__invoke1(ST_OP_contiguous, ST_VALUES(self), &t));
  const st_status status = ops->view(t, 1, &all, NULL, out);
  st__tensor_release(&t);
  return status;
}

st_status st__op_flatten(const st_callees *ops, const st_tensor *self,
                         int64_t start_dim, int64_t end_dim, st_tensor **out) {
  int64_t sizes[ST_MAX_DIMS + 1];
  int n = 0;
  ST_TRY(st__view_flatten_shape(self, start_dim, end_dim, sizes, &n));
  return n == self->ndim ? st__give(self, out)
                         : reshape(ops, self, n, sizes, out);
}

static st_status unflatten(const st_callees *ops, const st_tensor *self,
                           int64_t dim, st_ints into, st_tensor **out) {
  int64_t sizes[ST_MAX_DIMS];
  int n = 0;
  ST_TRY(st__view_unflatten_shape(self, dim, (int)into.n, into.p, sizes, &n));
  return ops->view(self, n, sizes, NULL, out);
}

ST_TYPED_COMPOSITE(st__box_reshape, st__op_reshape, (TENSOR, SIZES))
ST_TYPED_COMPOSITE(st__box_reshape_as, reshape_as, (TENSOR, TENSOR))
ST_TYPED_COMPOSITE(st__box_view_as, view_as, (TENSOR, TENSOR))
ST_TYPED_COMPOSITE(st__box_ravel, ravel, (TENSOR))
ST_TYPED_COMPOSITE(st__box_flatten, st__op_flatten, (TENSOR, INT, INT))
ST_TYPED_COMPOSITE(st__box_unflatten, unflatten, (TENSOR, INT, INTS))

/* -- Permutations --------------------------------------------------------- */

static st_status movedim(const st_callees *ops, const st_tensor *self, int n,
                         const int64_t *from, const int64_t *to,
                         st_tensor **out) {
  int64_t dims[ST_MAX_DIMS];
  ST_TRY(st__view_movedim_dims(self->ndim, n, from, to, dims));
  return ops->permute(self, self->ndim, dims, out);
}

st_status st__op_movedim(const st_callees *ops, const st_tensor *self,
                         int64_t source, int64_t destination, st_tensor **out) {
  return movedim(ops, self, 1, &source, &destination, out);
}

static st_status movedim_list(const st_callees *ops, const st_tensor *self,
                              st_ints source, st_ints destination,
                              st_tensor **out) {
  if (source.n != destination.n) {
    return st__fail(ST_BAD_DIM, "source lists %u dimensions, but destination "
                    "%u", source.n, destination.n);
  }
  return movedim(ops, self, (int)source.n, source.p, destination.p, out);
}

static st_status numpy_T(const st_callees *ops, const st_tensor *self,
                         st_tensor **out) {
  int64_t dims[ST_MAX_DIMS];
  for (int d = 0; d < self->ndim; d++) dims[d] = self->ndim - 1 - d;
  return ops->permute(self, self->ndim, dims, out);
}

ST_TYPED_COMPOSITE(st__box_movedim_int, st__op_movedim, (TENSOR, INT, INT))
ST_TYPED_COMPOSITE(st__box_movedim_intlist, movedim_list,
                   (TENSOR, INTS, INTS))
ST_TYPED_COMPOSITE(st__box_numpy_T, numpy_T, (TENSOR))

ST_BOXED_AS(st__box_swap, st__invoke, ST_OP_transpose_int, 3, args)

/* A 0-dim tensor is its own transpose, as for t. */
static st_status mT(const st_tensor *self, st_tensor **out) {
  if (self->ndim == 0) return st__give(self, out);
  if (self->ndim == 1) {
    return st__fail(ST_BAD_SHAPE, "self must have at least 2 dimensions, its "
                    "shape is %s", ST_SHAPE_TEXT(self));
  }
  return st__invoke1(ST_OP_transpose_int, ST_VALUES(self, -2, -1), out);
}
ST_TYPED(st__box_mT, mT, (TENSOR))

/* -- Slices and broadcasts ------------------------------------------------ */

st_status st__op_narrow(const st_callees *ops, const st_tensor *self,
                        int64_t dim, int64_t start, int64_t length,
                        st_tensor **out) {
  ST_TRY(st__view_narrow_start(self, dim, start, length, &start));
  return ops->slice(self, dim, start, start + length, 1, out);
}
ST_TYPED_COMPOSITE(st__box_narrow, st__op_narrow, (TENSOR, INT, INT, INT))

/* start is a 0-dim tensor that holds an index, counted from base. */
ST_BOXED(st__box_narrow_tensor) {
  ST_ARGS(VALUE(self), VALUE(dim), VALUE(at), VALUE(length), INT(base));
  st_value start;
  if (at.u.tensor->ndim != 0 || !st__is_integral(at.u.tensor->dtype)) {
    return st__fail(ST_BAD_DTYPE, "start must be a 0-dimensional tensor of "
                    "integers");
  }
  ST_TRY(st__invoke(ST_OP_item, 1, &at, &start));
  if (start.u.i >= 0 && start.u.i < base) {
    return st__fail(ST_BAD_INDEX, "start %" PRId64 " is before the first "
                    "index %" PRId64, start.u.i, base);
  }
  if (start.u.i >= 0) start.u.i -= base;
  return st__invoke(ST_OP_narrow, ST_VALUES(self, dim, start, length), rets);
}

static st_status expand(const st_tensor *self, int n, const int64_t *sizes,
                        st_tensor **out) {
  return st__invoke1(ST_OP_expand, ST_VALUES(self, st__of_ints(sizes, n)), out);
}

static st_status expand_as(const st_tensor *self, const st_tensor *other,
                           st_tensor **out) {
  return expand(self, other->ndim, other->sizes, out);
}

ST_TYPED(st__box_expand_as, expand_as, (TENSOR, TENSOR))
ST_TYPED(st__box_broadcast_to, expand, (TENSOR, SIZES))

ST_BOXED(st__box_broadcast_tensors) {
  ST_ARGS(TENSORS(tensors));
  const int n = (int)tensors.n;
  int64_t sizes[ST_MAX_DIMS];
  int ndim = 0;
  for (int i = 0; i < n; i++) {
    const st_tensor *t = tensors.p[i];
    ST_TRY(st__broadcast_shape(ndim, sizes, t->ndim, t->sizes, sizes,
                               &ndim));
  }
  st_value list;
  ST_TRY(st__value_new_tensors(n, &list));
  for (int i = 0; i < n; i++) {
    const st_status status = expand(tensors.p[i], ndim, sizes,
                                    &list.u.tensors[i]);
    if (status != ST_OK) {
      st__value_clear(&list);
      return status;
    }
  }
  *rets = list;
  return ST_OK;
}

/* which is 0 for the real parts, 1 for the imaginary parts. */
static st_status view_half(st_tensor *t, int64_t which, st_value *ret) {
  const bool is_conj = st__is_conj(t);
  st_op_scope c = {.n = 0};
  if (is_conj) t = st__apply1(&c, ST_OP__conj, t);
  t = st__apply1(&c, ST_OP_view_as_real, t);
  t = ST_APPLY(&c, ST_OP_select_int, t, -1, which);
  if (is_conj && which == 1) t = st__apply1(&c, ST_OP__neg_view, t);
  return st__scope_return(&c, t, ret);
}

ST_BOXED(st__box_real) {
  ST_ARGS(MUTABLE(self));
  return st__is_complex(self->dtype) ? view_half(self, 0, rets)
                                     : st__return_tensor(self, rets);
}

ST_BOXED_AS(st__box_imag, view_half, st__next_tensor(&args), 1)
