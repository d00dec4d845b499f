/* Operators that copy, convert and resize tensors or read their elements.
 */

#include "op/create/copy_clone_to.h"

#include <inttypes.h>

#include "op/create/factory.h"
#include "tensor/layout.h"
#include "tensor/subbyte.h"

/* -- Arguments ------------------------------------------------------------ */

/* The properties of the result of a conversion. */
typedef struct target {
  st_dtype dtype;
  st_device device;
  st_format format;
  bool copy; /* copy even if nothing changes */
} target;

/* Readers that check. For None, *out stays as it is. */

static st_status read_dtype(const st_value *v, st_dtype *out) {
  const int64_t d = st__to_int(v, *out);
  if (d < 0 || d >= ST_DTYPE_ALL) {
    return st__fail(ST_BAD_VALUE, "there is no dtype number %" PRId64, d);
  }
  *out = (st_dtype)d;
  return ST_OK;
}

static st_status read_device(const st_value *v, st_device *out) {
  return st__read_device(st__to_int(v, *out), out);
}

static st_status read_format(const st_value *v, st_format *out) {
  const int64_t f = st__to_int(v, *out);
  if (f < 0 || f >= ST_FORMAT_COUNT) {
    return st__fail(ST_BAD_VALUE, "there is no memory format number %" PRId64,
                    f);
  }
  *out = (st_format)f;
  return ST_OK;
}

static target unchanged(const st_tensor *t) {
  return (target){t->dtype, t->device, ST_FORMAT_PRESERVE, false};
}

/* -- Copies --------------------------------------------------------------- */

ST_TYPED_INPLACE(st__box_copy_, st__copy, (TENSOR, TENSOR))

/* For an extension device, or between devices, the copy is allocated and
 * copied through the dispatcher, with the kernels of the backend. */
static st_status copy_as(const st_tensor *t, const target *to,
                         st_tensor **out) {
  const st_options o = {to->dtype, to->device};
  st_tensor *made = NULL;
  if (to->device == t->device && !st__is_privateuse(t)) {
    return st__clone(t, to->dtype, to->format, out);
  }
  ST_TRY(st__new_empty_like(t, o, to->format, &made));
  const st_status status = st__invoke1(ST_OP_copy_, ST_VALUES(made, t), out);
  st__tensor_release(&made);
  return status;
}

/* A copy with copies of the parts. */
static st_status clone_parts(const st_tensor *t, st_format format,
                             st_tensor **out) {
  st_tensor *copy[ST_MAX_PARTS] = {NULL};
  st_status status = ST_OK;
  const int n = st_tensor_nparts(t);
  if (format != ST_FORMAT_PRESERVE) return st__refuse_memoryless(t);
  for (int i = 0; i < n && status == ST_OK; i++) {
    st_tensor *part = NULL;
    status = st_tensor_part(t, i, &part);
    const st_value self = st__of_tensor(part);
    if (status == ST_OK) status = st__invoke1(ST_OP_clone, 1, &self, &copy[i]);
    st__tensor_release(&part);
  }
  if (status == ST_OK) status = st__layout_like(t, copy, out);
  for (int i = 0; i < n; i++) st__tensor_release(&copy[i]);
  return status;
}

static st_status clone(const st_tensor *self, const st_value *memory_format,
                       st_tensor **out) {
  target to = unchanged(self);
  ST_TRY(read_format(memory_format, &to.format));
  if (self->storage->layout) return clone_parts(self, to.format, out);
  return copy_as(self, &to, out);
}
ST_TYPED(st__box_clone, clone, (TENSOR, VALUE))

st_status st__op_contiguous(const st_callees *ops, const st_tensor *self,
                            const st_value *memory_format, st_tensor **out) {
  st_format format = ST_FORMAT_CONTIGUOUS;
  ST_TRY(read_format(memory_format, &format));
  if (format == ST_FORMAT_PRESERVE) {
    return st__fail(ST_BAD_VALUE, "memory_format must not be preserve_format");
  }
  return st__is_contiguous_in(self, format) ? st__give(self, out)
                                            : ops->clone(self, format, out);
}
ST_TYPED_COMPOSITE(st__box_contiguous, st__op_contiguous, (TENSOR, VALUE))

/* -- to ------------------------------------------------------------------- */

static st_status check_layout(const st_tensor *t, const st_value *v) {
  const st_layout here = t->storage->layout;
  const int64_t layout = st__to_int(v, here);
  if (layout == here) return ST_OK;
  return st__fail(ST_BAD_VALUE, "argument 'layout' is '%s', but a tensor of "
                  "layout '%s' is converted by operators of these layouts",
                  st__layout_name(layout), st__layout_name(here));
}

/* The indices of the arguments of an overload; 0: it has none. Nothing depends
 * on pin_memory and non_blocking. */
typedef struct places { int dtype, layout, device, copy, format; } places;

static st_status read_target(const st_value *args, places at, target *to) {
  if (at.dtype) ST_TRY(read_dtype(&args[at.dtype], &to->dtype));
  if (at.layout) ST_TRY(check_layout(args->u.tensor, &args[at.layout]));
  if (at.device) ST_TRY(read_device(&args[at.device], &to->device));
  if (at.copy) to->copy = st__to_bool(&args[at.copy], false);
  return at.format ? read_format(&args[at.format], &to->format) : ST_OK;
}

static st_status to_copy(const st_value *args, st_tensor **out) {
  target to = unchanged(args->u.tensor);
  ST_TRY(read_target(args, (places){.dtype = 1, .layout = 2, .device = 3,
                                    .format = 6}, &to));
  return copy_as(args->u.tensor, &to, out);
}
ST_TYPED(st__box_to_copy, to_copy, (VALUE))

/* Returns self if nothing changes. A format other than the one that self
 * suggests is a change, so a tensor of ambiguous layout is copied (Note
 * [Ambiguous layouts]). */
static st_status convert(const st_callees *ops, const st_tensor *self,
                         const target *to, st_tensor **out) {
  if (!to->copy && to->dtype == self->dtype && to->device == self->device &&
      (to->format == ST_FORMAT_PRESERVE ||
       to->format == st__suggest_format(self, false))) {
    return st__give(self, out);
  }
  return ops->to_copy(self, to->dtype, to->device, to->format, out);
}

static st_status to(const st_callees *ops, const st_value *args, places at,
                    st_tensor **out) {
  target t = unchanged(args->u.tensor);
  ST_TRY(read_target(args, at, &t));
  return convert(ops, args->u.tensor, &t, out);
}

st_status st__op_to_dtype(const st_callees *ops, const st_value *args,
                          st_tensor **out) {
  return to(ops, args, (places){.dtype = 1, .copy = 3, .format = 4}, out);
}

static st_status to_dtype_layout(const st_callees *ops, const st_value *args,
                                 st_tensor **out) {
  return to(ops, args, (places){.dtype = 1, .layout = 2, .device = 3,
                                .copy = 6, .format = 7}, out);
}

static st_status to_device(const st_callees *ops, const st_value *args,
                           st_tensor **out) {
  return to(ops, args, (places){.device = 1, .dtype = 2, .copy = 4,
                                .format = 5}, out);
}

static st_status to_prim_device(const st_callees *ops, const st_value *args,
                                st_tensor **out) {
  return to(ops, args, (places){.device = 1, .dtype = 2, .copy = 4}, out);
}

static st_status to_other(const st_callees *ops, const st_value *args,
                          st_tensor **out) {
  target t = unchanged(args[1].u.tensor);
  ST_TRY(read_target(args, (places){.copy = 3, .format = 4}, &t));
  return convert(ops, args->u.tensor, &t, out);
}

static st_status type_as(const st_callees *ops, const st_tensor *self,
                         const st_tensor *other, st_tensor **out) {
  const target t = unchanged(other);
  return convert(ops, self, &t, out);
}

ST_TYPED_COMPOSITE(st__box_to_dtype, st__op_to_dtype, (VALUE))
ST_TYPED_COMPOSITE(st__box_to_dtype_layout, to_dtype_layout, (VALUE))
ST_TYPED_COMPOSITE(st__box_to_device, to_device, (VALUE))
ST_TYPED_COMPOSITE(st__box_to_prim_device, to_prim_device, (VALUE))
ST_TYPED_COMPOSITE(st__box_to_other, to_other, (VALUE))
ST_TYPED_COMPOSITE(st__box_type_as, type_as, (TENSOR, TENSOR))

st_status st__to_cpu(const st_tensor *t, st_tensor **out) {
  ST_TRY(st__invoke1(ST_OP_to_prim_Device, ST_VALUES(t, ST_DEVICE_CPU), out));
  if (st__is_cpu(*out) && st__same_sizes(*out, t) &&
      (*out)->dtype == t->dtype) {
    return ST_OK;
  }
  st__tensor_release(out);
  return st__fail(ST_BAD_STATE, "the kernels of device '%s' returned a copy "
                  "with the wrong device, shape or dtype",
                  st__device_name(t->device));
}

/* -- Resizing ------------------------------------------------------------- */

/* Without memory_format, a tensor that has the size keeps its strides. */
static st_status resize_(st_tensor *self, st_ints size,
                         const st_value *memory_format, st_value *rets) {
  const int n = (int)size.n;
  st_format format = ST_FORMAT_CONTIGUOUS;
  ST_TRY(read_format(memory_format, &format));
  if (format == ST_FORMAT_PRESERVE) {
    return st__fail(ST_BAD_VALUE, "memory_format must not be preserve_format");
  }
  if (!st__is_none(memory_format) || !st__has_sizes(self, n, size.p)) {
    ST_TRY(st__tensor_resize(self, n, size.p, format));
  }
  return st__return_tensor(self, rets);
}
ST_TYPED_ARGS(st__box_resize_, resize_, (TENSOR, INTS, VALUE))

ST_BOXED(st__box_resize_as_) {
  ST_ARGS(VALUE(self), TENSOR(like));
  st_value format = *st__next(&args);
  if (st__to_int(&format, ST_FORMAT_CONTIGUOUS) == ST_FORMAT_PRESERVE) {
    format = st__of_int(st__suggest_format(like, false));
  }
  return st__invoke(
    ST_OP_resize_,
    ST_VALUES(self, st__of_ints(like->sizes, like->ndim), format), rets);
}

/* -- Reading and comparing ------------------------------------------------ */

static st_status check_single(const st_tensor *t) {
  if (t->numel == 1) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "self must have exactly one element, its "
                  "shape is %s", ST_SHAPE_TEXT(t));
}

ST_BOXED(st__box_item) {
  ST_ARGS(BOXED(self));
  ST_TRY(check_single(self->u.tensor));
  return st__invoke(ST_OP__local_scalar_dense, 1, self, rets);
}

ST_BOXED(st__box_local_scalar_dense) {
  ST_ARGS(TENSOR(self));
  ST_TRY(check_single(self));
  const bool has_elements = st__is_subbyte_tensor(self) ||
                            st__has_elements(self);
  if (!has_elements || !st__first_byte(self)) {
    return st__fail(ST_BAD_STATE, "self is on the meta device and has no "
                    "elements");
  }
  const st_scalar s = st__element_load(self, self->offset);
  const st_value v = st__of_scalar(&s);
  return st__value_copy(&v, rets);
}

static bool is_nonzero(const st_scalar *s) {
  switch (s->kind) {
    case ST_SCALAR_FLOAT: return s->u.f != 0;
    case ST_SCALAR_COMPLEX: return s->u.c[0] != 0 || s->u.c[1] != 0;
    default: return s->u.i != 0;
  }
}

ST_BOXED(st__box_is_nonzero) {
  ST_ARGS(BOXED(self));
  st_value item;
  if (self->u.tensor->numel != 1) {
    return st__fail(ST_BAD_SHAPE, "self must have exactly one element, its "
                    "shape is %s: reduce it with any or all first",
                    ST_SHAPE_TEXT(self->u.tensor));
  }
  ST_TRY(st__invoke(ST_OP_item, 1, self, &item));
  const st_scalar s = st__scalar_of(&item);
  st__value_clear(&item);
  *rets = st__of_bool(is_nonzero(&s));
  return ST_OK;
}

ST_BOXED(st__box_is_same_size) {
  ST_ARGS(TENSOR(self));
  *rets = st__of_bool(st__same_sizes(self, st__next_tensor(&args)));
  return ST_OK;
}

ST_BOXED(st__box_is_set_to) {
  ST_ARGS(TENSOR(self), TENSOR(other));
  bool same = self->storage == other->storage &&
              self->offset == other->offset && st__same_sizes(self, other);
  for (int d = 0; same && d < self->ndim; d++) {
    same = self->strides[d] == other->strides[d];
  }
  *rets = st__of_bool(same);
  return ST_OK;
}

ST_BOXED(st__box_equal) {
  ST_ARGS(TENSOR(self), TENSOR(other));
  if (st__is_wrapped(other)) {
    return st__fail(ST_BAD_TYPE, "other must be a Tensor, not a number");
  }
  if (self->device != other->device) {
    return st__fail(ST_BAD_VALUE, "self (%s) and other (%s) must be on the "
                    "same device", st__device_name(self->device),
                    st__device_name(other->device));
  }
  if (!st__same_sizes(self, other)) {
    *rets = st__of_bool(false);
    return ST_OK;
  }
  st_tensor *eq = NULL, *all = NULL;
  st_status status;
  st_value arg;
  ST_TRY_FAIL(st__invoke1(ST_OP_eq_Tensor, ST_VALUES(self, other), &eq));
  arg = st__of_tensor(eq);
  ST_TRY_FAIL(st__invoke1(ST_OP_all, 1, &arg, &all));
  arg = st__of_tensor(all);
  status = st__invoke(ST_OP_item, 1, &arg, rets);
fail:
  st__tensor_release(&eq);
  st__tensor_release(&all);
  return status;
}

/* -- Dtype promotion ------------------------------------------------------ */

/* A tensor argument, retained, or a scalar as a wrapped 0-dim tensor. */
static st_status operand(const st_value *v, st_tensor **out) {
  if (v->tag == ST_TAG_TENSOR) return st__give(v->u.tensor, out);
  const st_scalar s = st__scalar_of(v);
  return st__tensor_from_scalar(s, st__scalar_dtype(s), true, out);
}

/* int128 is an answer. */
static st_status return_promoted(st_promotion p, st_value *rets) {
  if (p.number >= ST_NOTHING_PROMOTED) return st__refuse_promoted(p.number);
  *rets = st__of_int(p.number);
  return ST_OK;
}

ST_BOXED(st__box_result_type) {
  st_tensor *t[2] = {NULL, NULL};
  st_status status = operand(st__next(&args), &t[0]);
  if (status == ST_OK) status = operand(st__next(&args), &t[1]);
  if (status == ST_OK) status = return_promoted(st__result_type(t, 2), rets);
  st__tensor_release(&t[0]);
  st__tensor_release(&t[1]);
  return status;
}

ST_BOXED(st__box_can_cast) {
  st_dtype from = ST_DTYPE_NONE, to = ST_DTYPE_NONE;
  ST_TRY(read_dtype(st__next(&args), &from));
  ST_TRY(read_dtype(st__next(&args), &to));
  *rets = st__of_bool(st_can_cast(from, to));
  return ST_OK;
}

ST_BOXED(st__box_promote_types) {
  st_dtype a = ST_DTYPE_NONE, b = ST_DTYPE_NONE;
  ST_TRY(read_dtype(st__next(&args), &a));
  ST_TRY(read_dtype(st__next(&args), &b));
  return return_promoted(st__promote(a, b), rets);
}
