/* View operators: the boxed kernels of the functions in tensor/view.h.
 *
 * Composite operators call other operators through the dispatcher, so that
 * autograd and dispatch modes see each view.
 */

#include <inttypes.h>
#include <string.h>

#include "op/registry/composite.h"
#include "tensor/view.h"

static st_status return_view(st_tensor *t, st_value *ret) {
  *ret = st__of_tensor(t);
  return ST_OK;
}

/* -- Views ---------------------------------------------------------------- */

ST_BOXED(st__box_as_strided) {
  const st_tensor *self = st__self_of(args);
  st_tensor *t = NULL;
  if (args[1].len != args[2].len) {
    return st__fail(ST_BAD_SHAPE, "size has %u entries, but stride has %u",
                    args[1].len, args[2].len);
  }
  ST_TRY(st__view_as_strided(self, (int)args[1].len, args[1].u.ints,
                             args[2].u.ints,
                             st__to_int(&args[3], self->offset), &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_view) {
  st_tensor *t = NULL;
  ST_TRY(st__view_view(st__self_of(args), (int)args[1].len, args[1].u.ints,
                       &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_view_dtype) {
  st_tensor *t = NULL;
  ST_TRY(st__view_dtype(st__self_of(args), (st_dtype)args[1].u.i, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_alias) {
  st_tensor *t = NULL;
  ST_TRY(st__view_alias(st__self_of(args), &t));
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
  ST_TRY(view_t(st__self_of(args), &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_transpose) {
  st_tensor *t = NULL;
  ST_TRY(st__view_transpose(st__self_of(args), args[1].u.i, args[2].u.i, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_permute) {
  st_tensor *t = NULL;
  ST_TRY(st__view_permute(st__self_of(args), (int)args[1].len, args[1].u.ints,
                          &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_select) {
  st_tensor *t = NULL;
  ST_TRY(st__view_select(st__self_of(args), args[1].u.i, args[2].u.i, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_slice) {
  st_tensor *t = NULL;
  ST_TRY(st__view_slice(st__self_of(args), args[1].u.i, st__to_int(&args[2], 0),
                        st__to_int(&args[3], INT64_MAX), args[4].u.i, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_squeeze) {
  st_tensor *t = NULL;
  ST_TRY(st__view_squeeze_all(st__self_of(args), &t));
  return return_view(t, rets);
}

static st_status view_squeeze(const st_tensor *self, int n,
                              const int64_t *dims, st_tensor **out) {
  uint64_t set = 0;
  if (n > 0) ST_TRY(st__wrap_dims(dims, n, self->ndim, &set));
  return st__view_squeeze(self, set, out);
}

ST_BOXED(st__box_squeeze_dim) {
  st_tensor *t = NULL;
  ST_TRY(view_squeeze(st__self_of(args), 1, &args[1].u.i, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_squeeze_dims) {
  st_tensor *t = NULL;
  ST_TRY(view_squeeze(st__self_of(args), (int)args[1].len, args[1].u.ints, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_unsqueeze) {
  st_tensor *t = NULL;
  ST_TRY(st__view_unsqueeze(st__self_of(args), args[1].u.i, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_expand) {
  st_tensor *t = NULL;
  ST_TRY(st__view_expand(st__self_of(args), (int)args[1].len, args[1].u.ints,
                         &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_diagonal) {
  st_tensor *t = NULL;
  ST_TRY(st__view_diagonal(st__self_of(args), args[1].u.i, args[2].u.i,
                           args[3].u.i, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_unfold) {
  st_tensor *t = NULL;
  ST_TRY(st__view_unfold(st__self_of(args), args[1].u.i, args[2].u.i,
                         args[3].u.i, &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_view_as_real) {
  st_tensor *t = NULL;
  ST_TRY(st__view_as_real(st__self_of(args), &t));
  return return_view(t, rets);
}

ST_BOXED(st__box_view_as_complex) {
  st_tensor *t = NULL;
  ST_TRY(st__view_as_complex(st__self_of(args), &t));
  return return_view(t, rets);
}

/* -- In place ------------------------------------------------------------- */

/* Gives self the sizes, strides and offset of view, and releases view. */
static st_status set_geometry(const st_value *args, st_tensor *view,
                              st_value *ret) {
  const st_status status =
    st__tensor_restride(st__to_tensor(&args[0]), view->ndim, view->sizes,
                        view->strides, view->offset);
  st__tensor_release(&view);
  return status == ST_OK ? st__return_self(args, ret) : status;
}

ST_BOXED(st__box_as_strided_) {
  st_value view = st__none();
  ST_TRY(st__box_as_strided(call, args, &view));
  return set_geometry(args, view.u.tensor, rets);
}

ST_BOXED(st__box_t_) {
  st_tensor *t = NULL;
  ST_TRY(view_t(st__self_of(args), &t));
  return set_geometry(args, t, rets);
}

ST_BOXED(st__box_transpose_) {
  st_tensor *t = NULL;
  ST_TRY(st__view_transpose(st__self_of(args), args[1].u.i, args[2].u.i, &t));
  return set_geometry(args, t, rets);
}

ST_BOXED(st__box_squeeze_) {
  st_tensor *t = NULL;
  ST_TRY(st__view_squeeze_all(st__self_of(args), &t));
  return set_geometry(args, t, rets);
}

ST_BOXED(st__box_squeeze_dim_) {
  st_tensor *t = NULL;
  ST_TRY(view_squeeze(st__self_of(args), 1, &args[1].u.i, &t));
  return set_geometry(args, t, rets);
}

ST_BOXED(st__box_squeeze_dims_) {
  st_tensor *t = NULL;
  ST_TRY(view_squeeze(st__self_of(args), (int)args[1].len, args[1].u.ints, &t));
  return set_geometry(args, t, rets);
}

ST_BOXED(st__box_unsqueeze_) {
  st_tensor *t = NULL;
  ST_TRY(st__view_unsqueeze(st__self_of(args), args[1].u.i, &t));
  return set_geometry(args, t, rets);
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
  return infer_and_reshape(st__self_of(args), (int)args[1].len, args[1].u.ints,
                           rets);
}

ST_BOXED(st__box_reshape_as) {
  const st_tensor *other = st__to_tensor(&args[1]);
  return infer_and_reshape(st__self_of(args), other->ndim, other->sizes, rets);
}

ST_BOXED(st__box_view_as) {
  const st_tensor *other = st__to_tensor(&args[1]);
  return call_view(st__self_of(args), other->ndim, other->sizes, rets);
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
  const st_tensor *self = st__self_of(args);
  int64_t sizes[ST_MAX_DIMS + 1];
  int n = 0;
  ST_TRY(st__view_flatten_shape(self, args[1].u.i, args[2].u.i, sizes, &n));
  return n == self->ndim ? st__return_self(args, rets)
                         : reshape(self, n, sizes, rets);
}

ST_BOXED(st__box_unflatten) {
  int64_t sizes[ST_MAX_DIMS];
  int n = 0;
  ST_TRY(st__view_unflatten_shape(st__self_of(args), args[1].u.i,
                                  (int)args[2].len, args[2].u.ints, sizes,
                                  &n));
  return call_view(st__self_of(args), n, sizes, rets);
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
  return movedim(st__self_of(args), 1, &args[1].u.i, &args[2].u.i, rets);
}

ST_BOXED(st__box_movedim_intlist) {
  if (args[1].len != args[2].len) {
    return st__fail(ST_BAD_DIM, "source lists %u dimensions, but destination "
                    "%u", args[1].len, args[2].len);
  }
  return movedim(st__self_of(args), (int)args[1].len, args[1].u.ints,
                 args[2].u.ints, rets);
}

ST_BOXED(st__box_swap) {
  return st__invoke(ST_OP_transpose_int, 3, args, rets);
}

ST_BOXED(st__box_numpy_T) {
  const st_tensor *self = st__self_of(args);
  int64_t dims[ST_MAX_DIMS];
  for (int d = 0; d < self->ndim; d++) dims[d] = self->ndim - 1 - d;
  return call_permute(self, dims, rets);
}

/* A 0-dim tensor is its own transpose, as for t. */
ST_BOXED(st__box_mT) {
  if (st__self_of(args)->ndim == 0) return st__return_self(args, rets);
  if (st__self_of(args)->ndim == 1) {
    return st__fail(ST_BAD_SHAPE, "self must have at least 2 dimensions, its "
                    "shape is %s", ST_SHAPE_TEXT(st__self_of(args)));
  }
  const st_value swap[] = {args[0], st__of_int(-2), st__of_int(-1)};
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
  const int64_t length = args[3].u.i;
  int64_t start = 0;
  ST_TRY(st__view_narrow_start(st__self_of(args), args[1].u.i, args[2].u.i,
                               length, &start));
  return call_slice(st__self_of(args), args[1].u.i, start, start + length,
                    rets);
}

/* start is a 0-dim tensor that holds an index, counted from base. */
ST_BOXED(st__box_narrow_tensor) {
  st_value start;
  if (st__to_tensor(&args[2])->ndim != 0 ||
      !st__is_integral(st__to_tensor(&args[2])->dtype)) {
    return st__fail(ST_BAD_DTYPE, "start must be a 0-dimensional tensor of "
                    "integers");
  }
  ST_TRY(st__invoke(ST_OP_item, 1, &args[2], &start));
  const int64_t base = args[4].u.i;
  if (start.u.i >= 0 && start.u.i < base) {
    return st__fail(ST_BAD_INDEX, "start %" PRId64 " is before the first "
                    "index %" PRId64, start.u.i, base);
  }
  if (start.u.i >= 0) start.u.i -= base;
  const st_value narrow[] = {args[0], args[1], start, args[3]};
  return st__invoke(ST_OP_narrow, 4, narrow, rets);
}

static st_status call_expand(const st_tensor *self, int n,
                             const int64_t *sizes, st_value *ret) {
  const st_value args[] = {st__of_tensor(self), st__of_ints(sizes, n)};
  return st__invoke(ST_OP_expand, 2, args, ret);
}

ST_BOXED(st__box_expand_as) {
  const st_tensor *other = st__to_tensor(&args[1]);
  return call_expand(st__self_of(args), other->ndim, other->sizes, rets);
}

ST_BOXED(st__box_broadcast_to) {
  return call_expand(st__self_of(args), (int)args[1].len, args[1].u.ints, rets);
}

ST_BOXED(st__box_broadcast_tensors) {
  const int n = (int)args[0].len;
  int64_t sizes[ST_MAX_DIMS];
  int ndim = 0;
  for (int i = 0; i < n; i++) {
    const st_tensor *t = args[0].u.tensors[i];
    ST_TRY(st__broadcast_shape(ndim, sizes, t->ndim, t->sizes, sizes,
                               &ndim));
  }
  st_value list, one;
  ST_TRY(st__value_new_tensors(n, &list));
  for (int i = 0; i < n; i++) {
    const st_status status =
      call_expand(args[0].u.tensors[i], ndim, sizes, &one);
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
static st_status view_half(const st_value *args, int64_t which,
                           st_value *ret) {
  st_tensor *t = st__to_tensor(&args[0]);
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
  return st__is_complex(st__self_of(args)->dtype)
       ? view_half(args, 0, rets) : st__return_self(args, rets);
}

ST_BOXED(st__box_imag) { return view_half(args, 1, rets); }
