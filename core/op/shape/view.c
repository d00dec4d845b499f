/* View operators: the boxed kernels of the functions in tensor/view.h.
 *
 * Composite operators call other operators through the dispatcher, so that
 * autograd and dispatch modes see each view.
 */

#include <inttypes.h>
#include <string.h>

#include "op/row/composite.h"
#include "tensor/view.h"

static st_status return_view(st_tensor *t, st_value *ret) {
  *ret = st__of_tensor(t);
  return ST_OK;
}

/* -- Views ---------------------------------------------------------------- */

ST_BOXED(st__box_as_strided) {
  const st_tensor *self = st__next_tensor(&args);
  const st_ints size = st__next_ints(&args), stride = st__next_ints(&args);
  const int64_t offset = st__next_int_or(&args, self->offset);
  st_tensor *t = NULL;
  if (size.n != stride.n) {
    return st__fail(ST_BAD_SHAPE, "size has %u entries, but stride has %u",
                    size.n, stride.n);
  }
  ST_TRY(st__view_as_strided(self, (int)size.n, size.p, stride.p, offset, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_view) {
  const st_tensor *self = st__next_tensor(&args);
  const st_ints size = st__next_ints(&args);
  st_tensor *t = NULL;
  ST_TRY(st__view_view(self, (int)size.n, size.p, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_view_dtype) {
  const st_tensor *self = st__next_tensor(&args);
  const st_dtype dtype = st__next_dtype_or(&args, self->dtype);
  st_tensor *t = NULL;
  ST_TRY(st__view_dtype(self, dtype, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_alias) {
  st_tensor *t = NULL;
  ST_TRY(st__view_alias(st__next_tensor(&args), &t));
  return return_view(t, rets);
}

static st_status view_t(const st_tensor *self, st_tensor **out) {
  if (self->ndim > 2) {
    return st__fail(ST_BAD_SHAPE, "self has shape %s, but t is for at most "
                    "2 dimensions; use transpose", ST_SHAPE_TEXT(self));
  }
  return st__view_transpose(self, 0, -1, out);
}

ST_BOXED(st__box_t) {
  st_tensor *t = NULL;
  ST_TRY(view_t(st__next_tensor(&args), &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_transpose) {
  const st_tensor *self = st__next_tensor(&args);
  const int64_t dim0 = st__next_int(&args), dim1 = st__next_int(&args);
  st_tensor *t = NULL;
  ST_TRY(st__view_transpose(self, dim0, dim1, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_permute) {
  const st_tensor *self = st__next_tensor(&args);
  const st_ints dims = st__next_ints(&args);
  st_tensor *t = NULL;
  ST_TRY(st__view_permute(self, (int)dims.n, dims.p, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_select) {
  const st_tensor *self = st__next_tensor(&args);
  const int64_t dim = st__next_int(&args), index = st__next_int(&args);
  st_tensor *t = NULL;
  ST_TRY(st__view_select(self, dim, index, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_slice) {
  const st_tensor *self = st__next_tensor(&args);
  const int64_t dim = st__next_int(&args);
  const int64_t start = st__next_int_or(&args, 0);
  const int64_t end = st__next_int_or(&args, INT64_MAX);
  const int64_t step = st__next_int(&args);
  st_tensor *t = NULL;
  ST_TRY(st__view_slice(self, dim, start, end, step, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_squeeze) {
  st_tensor *t = NULL;
  ST_TRY(st__view_squeeze_all(st__next_tensor(&args), &t));
  return return_view(t, rets);
}

static st_status view_squeeze(const st_tensor *self, int n,
                              const int64_t *dims, st_tensor **out) {
  uint64_t set = 0;
  if (n > 0) ST_TRY(st__wrap_dims(dims, n, self->ndim, &set));
  return st__view_squeeze(self, set, out);
}

ST_BOXED(st__box_squeeze_dim) {
  const st_tensor *self = st__next_tensor(&args);
  const int64_t dim = st__next_int(&args);
  st_tensor *t = NULL;
  ST_TRY(view_squeeze(self, 1, &dim, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_squeeze_dims) {
  const st_tensor *self = st__next_tensor(&args);
  const st_ints dims = st__next_ints(&args);
  st_tensor *t = NULL;
  ST_TRY(view_squeeze(self, (int)dims.n, dims.p, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_unsqueeze) {
  const st_tensor *self = st__next_tensor(&args);
  const int64_t dim = st__next_int(&args);
  st_tensor *t = NULL;
  ST_TRY(st__view_unsqueeze(self, dim, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_expand) {
  const st_tensor *self = st__next_tensor(&args);
  const st_ints size = st__next_ints(&args);
  st_tensor *t = NULL;
  ST_TRY(st__view_expand(self, (int)size.n, size.p, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_diagonal) {
  const st_tensor *self = st__next_tensor(&args);
  const int64_t offset = st__next_int(&args);
  const int64_t dim1 = st__next_int(&args), dim2 = st__next_int(&args);
  st_tensor *t = NULL;
  ST_TRY(st__view_diagonal(self, offset, dim1, dim2, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_unfold) {
  const st_tensor *self = st__next_tensor(&args);
  const int64_t dim = st__next_int(&args);
  const int64_t size = st__next_int(&args), step = st__next_int(&args);
  st_tensor *t = NULL;
  ST_TRY(st__view_unfold(self, dim, size, step, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_view_as_real) {
  st_tensor *t = NULL;
  ST_TRY(st__view_as_real(st__next_tensor(&args), &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_view_as_complex) {
  st_tensor *t = NULL;
  ST_TRY(st__view_as_complex(st__next_tensor(&args), &t));
  return return_view(t, rets);
}

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

ST_BOXED(st__box_as_strided_) {
  st_value view = st__none();
  ST_TRY(st__box_as_strided(call, args, &view));
  return set_geometry(st__next_tensor(&args), view.u.tensor, rets);
}

ST_BOXED(st__box_t_) {
  st_tensor *self = st__next_tensor(&args), *t = NULL;
  ST_TRY(view_t(self, &t));
  return set_geometry(self, t, rets);
}

ST_BOXED(st__box_transpose_) {
  st_tensor *self = st__next_tensor(&args);
  const int64_t dim0 = st__next_int(&args), dim1 = st__next_int(&args);
  st_tensor *t = NULL;
  ST_TRY(st__view_transpose(self, dim0, dim1, &t));
  return set_geometry(self, t, rets);
}

ST_BOXED(st__box_squeeze_) {
  st_tensor *self = st__next_tensor(&args), *t = NULL;
  ST_TRY(st__view_squeeze_all(self, &t));
  return set_geometry(self, t, rets);
}

ST_BOXED(st__box_squeeze_dim_) {
  st_tensor *self = st__next_tensor(&args);
  const int64_t dim = st__next_int(&args);
  st_tensor *t = NULL;
  ST_TRY(view_squeeze(self, 1, &dim, &t));
  return set_geometry(self, t, rets);
}

ST_BOXED(st__box_squeeze_dims_) {
  st_tensor *self = st__next_tensor(&args);
  const st_ints dims = st__next_ints(&args);
  st_tensor *t = NULL;
  ST_TRY(view_squeeze(self, (int)dims.n, dims.p, &t));
  return set_geometry(self, t, rets);
}

ST_BOXED(st__box_unsqueeze_) {
  st_tensor *self = st__next_tensor(&args);
  const int64_t dim = st__next_int(&args);
  st_tensor *t = NULL;
  ST_TRY(st__view_unsqueeze(self, dim, &t));
  return set_geometry(self, t, rets);
}

/* -- Reshaping ------------------------------------------------------------ */

static st_status call_view(const st_tensor *self, int n, const int64_t *sizes,
                           st_value *ret) {
  const st_value args[] = {st__of_tensor(self), st__of_ints(sizes, n)};
  return st__invoke(ST_OP_view, 2, args, ret);
}

/* sizes contains no -1. */
static st_status reshape(const st_tensor *self, int n, const int64_t *sizes,
                         st_value *ret) {
  int64_t strides[ST_MAX_DIMS];
  if (st__view_strides(self, n, sizes, strides)) {
    return call_view(self, n, sizes, ret);
  }
  const st_value args[] = {st__of_tensor(self),
                           st__of_int(ST_FORMAT_CONTIGUOUS)};
  st_tensor *copy = NULL;
  ST_TRY(st__invoke1(ST_OP_clone, 2, args, &copy));
  const st_status status = call_view(copy, n, sizes, ret);
  st__tensor_release(&copy);
  return status;
}

static st_status infer_and_reshape(const st_tensor *self, int n,
                                   const int64_t *sizes, st_value *ret) {
  int64_t full[ST_MAX_DIMS];
  ST_TRY(st__view_infer_size(self->numel, n, sizes, full));
  return reshape(self, n, full, ret);
}

ST_BOXED(st__box_reshape) {
  const st_tensor *self = st__next_tensor(&args);
  const st_ints shape = st__next_ints(&args);
  return infer_and_reshape(self, (int)shape.n, shape.p, rets);
}

ST_BOXED(st__box_reshape_as) {
  const st_tensor *self = st__next_tensor(&args);
  const st_tensor *other = st__next_tensor(&args);
  return infer_and_reshape(self, other->ndim, other->sizes, rets);
}

ST_BOXED(st__box_view_as) {
  const st_tensor *self = st__next_tensor(&args);
  const st_tensor *other = st__next_tensor(&args);
  return call_view(self, other->ndim, other->sizes, rets);
}

ST_BOXED(st__box_ravel) {
  const int64_t all = -1;
  st_tensor *t = NULL;
  ST_TRY(st__invoke1(ST_OP_contiguous, 1, args, &t));
  const st_status status = call_view(t, 1, &all, rets);
  st__tensor_release(&t);
  return status;
}

ST_BOXED(st__box_flatten) {
  const st_tensor *self = st__next_tensor(&args);
  const int64_t start_dim = st__next_int(&args), end_dim = st__next_int(&args);
  int64_t sizes[ST_MAX_DIMS + 1];
  int n = 0;
  ST_TRY(st__view_flatten_shape(self, start_dim, end_dim, sizes, &n));
  return n == self->ndim ? st__return_tensor(self, rets)
                         : reshape(self, n, sizes, rets);
}

ST_BOXED(st__box_unflatten) {
  const st_tensor *self = st__next_tensor(&args);
  const int64_t dim = st__next_int(&args);
  const st_ints into = st__next_ints(&args);
  int64_t sizes[ST_MAX_DIMS];
  int n = 0;
  ST_TRY(st__view_unflatten_shape(self, dim, (int)into.n, into.p, sizes, &n));
  return call_view(self, n, sizes, rets);
}

/* -- Permutations --------------------------------------------------------- */

static st_status call_permute(const st_tensor *self, const int64_t *dims,
                              st_value *ret) {
  const st_value args[] = {st__of_tensor(self),
                           st__of_ints(dims, self->ndim)};
  return st__invoke(ST_OP_permute, 2, args, ret);
}

static st_status movedim(const st_tensor *self, int n, const int64_t *from,
                         const int64_t *to, st_value *ret) {
  int64_t dims[ST_MAX_DIMS];
  ST_TRY(st__view_movedim_dims(self->ndim, n, from, to, dims));
  return call_permute(self, dims, ret);
}

ST_BOXED(st__box_movedim_int) {
  const st_tensor *self = st__next_tensor(&args);
  const int64_t from = st__next_int(&args), to = st__next_int(&args);
  return movedim(self, 1, &from, &to, rets);
}

ST_BOXED(st__box_movedim_intlist) {
  const st_tensor *self = st__next_tensor(&args);
  const st_ints from = st__next_ints(&args), to = st__next_ints(&args);
  if (from.n != to.n) {
    return st__fail(ST_BAD_DIM, "source lists %u dimensions, but destination "
                    "%u", from.n, to.n);
  }
  return movedim(self, (int)from.n, from.p, to.p, rets);
}

ST_BOXED(st__box_swap) {
  return st__invoke(ST_OP_transpose_int, 3, args, rets);
}

ST_BOXED(st__box_numpy_T) {
  const st_tensor *self = st__next_tensor(&args);
  int64_t dims[ST_MAX_DIMS];
  for (int d = 0; d < self->ndim; d++) dims[d] = self->ndim - 1 - d;
  return call_permute(self, dims, rets);
}

/* A 0-dim tensor is its own transpose, as for t. */
ST_BOXED(st__box_mT) {
  const st_tensor *self = st__next_tensor(&args);
  if (self->ndim == 0) return st__return_tensor(self, rets);
  if (self->ndim == 1) {
    return st__fail(ST_BAD_SHAPE, "self must have at least 2 dimensions, its "
                    "shape is %s", ST_SHAPE_TEXT(self));
  }
  const st_value swap[] = {st__of_tensor(self), st__of_int(-2),
                           st__of_int(-1)};
  return st__invoke(ST_OP_transpose_int, 3, swap, rets);
}

/* -- Slices and broadcasts ------------------------------------------------ */

static st_status call_slice(const st_tensor *self, int64_t dim, int64_t start,
                            int64_t end, st_value *ret) {
  const st_value args[] = {st__of_tensor(self), st__of_int(dim),
                           st__of_int(start), st__of_int(end)};
  return st__invoke(ST_OP_slice_Tensor, 4, args, ret);
}

ST_BOXED(st__box_narrow) {
  const st_tensor *self = st__next_tensor(&args);
  const int64_t dim = st__next_int(&args), from = st__next_int(&args);
  const int64_t length = st__next_int(&args);
  int64_t start = 0;
  ST_TRY(st__view_narrow_start(self, dim, from, length, &start));
  return call_slice(self, dim, start, start + length, rets);
}

/* start is a 0-dim tensor that holds an index, counted from base. */
ST_BOXED(st__box_narrow_tensor) {
  const st_value self = *st__next(&args), dim = *st__next(&args);
  const st_value at = *st__next(&args), length = *st__next(&args);
  const int64_t base = st__next_int(&args);
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
  const st_value narrow[] = {self, dim, start, length};
  return st__invoke(ST_OP_narrow, 4, narrow, rets);
}

static st_status call_expand(const st_tensor *self, int n,
                             const int64_t *sizes, st_value *ret) {
  const st_value args[] = {st__of_tensor(self), st__of_ints(sizes, n)};
  return st__invoke(ST_OP_expand, 2, args, ret);
}

ST_BOXED(st__box_expand_as) {
  const st_tensor *self = st__next_tensor(&args);
  const st_tensor *other = st__next_tensor(&args);
  return call_expand(self, other->ndim, other->sizes, rets);
}

ST_BOXED(st__box_broadcast_to) {
  const st_tensor *self = st__next_tensor(&args);
  const st_ints size = st__next_ints(&args);
  return call_expand(self, (int)size.n, size.p, rets);
}

ST_BOXED(st__box_broadcast_tensors) {
  const st_tensors tensors = st__next_tensors(&args);
  const int n = (int)tensors.n;
  int64_t sizes[ST_MAX_DIMS];
  int ndim = 0;
  for (int i = 0; i < n; i++) {
    const st_tensor *t = tensors.p[i];
    ST_TRY(st__broadcast_shape(ndim, sizes, t->ndim, t->sizes, sizes,
                               &ndim));
  }
  st_value list, one;
  ST_TRY(st__value_new_tensors(n, &list));
  for (int i = 0; i < n; i++) {
    const st_status status = call_expand(tensors.p[i], ndim, sizes, &one);
    if (status != ST_OK) {
      st__value_clear(&list);
      return status;
    }
    list.u.tensors[i] = one.u.tensor;
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
  t = st__apply(&c, ST_OP_select_int, 3,
                (st_value[]){st__of_tensor(t), st__of_int(-1),
                             st__of_int(which)});
  if (is_conj && which == 1) t = st__apply1(&c, ST_OP__neg_view, t);
  return st__scope_return(&c, t, ret);
}

ST_BOXED(st__box_real) {
  st_tensor *self = st__next_tensor(&args);
  return st__is_complex(self->dtype) ? view_half(self, 0, rets)
                                     : st__return_tensor(self, rets);
}

ST_BOXED(st__box_imag) {
  return view_half(st__next_tensor(&args), 1, rets);
}
