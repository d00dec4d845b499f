/* Factories of constant or uninitialized tensors: empty, zeros, ones, full,
 * new_* and *_like.
 */

#include "op/create/factory.h"

#include <inttypes.h>

#include "op/create/copy_clone_to.h"
#include "tensor/layout.h"

/* -- Options -------------------------------------------------------------- */

static int64_t layout_of(const st_value *options) {
  return st__to_int(&options[1], ST_LAYOUT_STRIDED);
}

/* All but the layout. */
static st_status read_options(const st_value *options, st_options *out) {
  const int64_t dtype = st__next_int_or(&options, out->dtype);
  options++;
  const int64_t device = st__next_int_or(&options, out->device);
  const bool pin_memory = st__next_bool(&options);
  if (!st__is_tensor_dtype(dtype)) {
    return st__fail(ST_BAD_DTYPE, "no tensor can have dtype %s",
                    st__dtype_name((st_dtype)dtype));
  }
  ST_TRY(st__read_device(device, &out->device));
  if (pin_memory) {
    return st__fail(ST_BAD_VALUE, "pin_memory is not supported");
  }
  out->dtype = (st_dtype)dtype;
  return ST_OK;
}

st_status st__read_options(const st_value *options, st_options *out) {
  ST_TRY(read_options(options, out));
  return layout_of(options) == ST_LAYOUT_STRIDED ? ST_OK
    : st__fail(ST_BAD_VALUE, "argument 'layout' is '%s', but this operator "
               "makes strided tensors", st__layout_name(layout_of(options)));
}

static st_options default_options(void) {
  return (st_options){st__default_dtype(), ST_DEVICE_CPU};
}

static st_options options_of(const st_tensor *t) {
  return (st_options){t->dtype, t->device};
}

st_status st__check_cpu_or_meta(const st_tensor *t) {
  if (st__lacks_memory(t)) return st__refuse_memoryless(t);
  if (!st__is_privateuse(t)) return ST_OK;
  return st__fail(ST_NO_KERNEL, "not implemented for device '%s'",
                  st__device_name(t->device));
}

/* -- Allocation ----------------------------------------------------------- */

ST_BOXED(st__box_empty_memory_format) {
  ST_ARGS(INTS(size));
  const st_value *options = st__next_options(&args);
  ST_ARGS(INT_OR(format, ST_FORMAT_CONTIGUOUS));
  st_options o = default_options();
  st_tensor *t = NULL;
  ST_TRY(st__read_options(options, &o));
  ST_TRY(st__tensor_empty(o.device, o.dtype, (int)size.n, size.p,
                          (st_format)format, &t));
  rets[0] = st__of_tensor(t);
  return ST_OK;
}

ST_BOXED(st__box_empty_strided) {
  ST_ARGS(INTS(size), INTS(stride));
  st_options o = default_options();
  st_tensor *t = NULL;
  ST_TRY(st__read_options(st__next_options(&args), &o));
  if (size.n != stride.n) {
    return st__fail(ST_BAD_SHAPE, "size has %u entries, stride has %u",
                    size.n, stride.n);
  }
  ST_TRY(st__tensor_empty_strided(o.device, o.dtype, (int)size.n, size.p,
                                  stride.p, &t));
  rets[0] = st__of_tensor(t);
  return ST_OK;
}

/* The strides of a dense tensor whose dimensions lie in this order. */
static st_status strides_in_order(st_ints size, st_ints order,
                                  int64_t *strides) {
  bool seen[ST_MAX_DIMS] = {false};
  int64_t step = 1;
  int d;
  if (size.n != order.n) {
    return st__fail(ST_BAD_SHAPE, "size has %u entries, physical_layout has %u",
                    size.n, order.n);
  }
  if (size.n > ST_MAX_DIMS) {
    return st__fail(ST_BAD_SHAPE, "size has more than %d entries",
                    ST_MAX_DIMS);
  }
  for (int i = (int)order.n - 1; i >= 0; i--) {
    ST_TRY(st__wrap_dim(order.p[i], (int)size.n, &d));
    if (seen[d]) {
      return st__fail(ST_BAD_VALUE, "physical_layout names dimension %" PRId64
                      " twice", st__display_index(d));
    }
    seen[d] = true;
    strides[d] = step;
    if (size.p[d] > 1 && !st__mul_sizes(step, size.p[d], &step)) {
      return st__fail(ST_BAD_SHAPE, "size is of a tensor that is too large");
    }
  }
  return ST_OK;
}

ST_BOXED(st__box_empty_permuted) {
  ST_ARGS(INTS(size), INTS(order));
  int64_t strides[ST_MAX_DIMS];
  ST_TRY(strides_in_order(size, order, strides));
  return st__invoke(ST_OP_empty_strided,
                    ST_VALUES(st__of_ints(size.p, (int)size.n),
                              st__of_ints(strides, (int)size.n), args[0],
                              args[1], args[2], args[3]),
                    rets);
}

/* Checks the result of empty: the kernel of an extension may return a different
 * tensor, but callers fill it by the requested shape, dtype and device. */
static st_status check_made(st_tensor **t, st_options o, int ndim,
                            const int64_t *sizes, const int64_t *strides,
                            st_format format) {
  const st_tensor *made = *t;
  const size_t bytes = (size_t)ndim * sizeof *sizes;
  if (made->dtype == o.dtype && made->device == o.device &&
      made->ndim == ndim &&
      (ndim == 0 || memcmp(made->sizes, sizes, bytes) == 0) &&
      (strides ? memcmp(made->strides, strides, bytes) == 0
               : st__is_contiguous_in(made, format))) {
    return ST_OK;
  }
  st__tensor_release(t);
  return st__fail(ST_BAD_STATE, "the kernel of empty returned a tensor with "
                  "the wrong shape, strides, dtype or device");
}

st_status st__new_empty(st_options o, int ndim, const int64_t *sizes,
                        st_format format, st_tensor **out) {
  ST_TRY(st__invoke1(ST_OP_empty_memory_format,
                     ST_VALUES(st__of_ints(sizes, ndim), o.dtype, st__none(),
                               o.device, st__none(), format),
                     out));
  return check_made(out, o, ndim, sizes, NULL, format);
}

static st_status new_strided(st_options o, int ndim, const int64_t *sizes,
                             const int64_t *strides, st_tensor **out) {
  ST_TRY(st__invoke1(ST_OP_empty_strided,
                     ST_VALUES(st__of_ints(sizes, ndim),
                               st__of_ints(strides, ndim), o.dtype,
                               st__none(), o.device, st__none()),
                     out));
  return check_made(out, o, ndim, sizes, strides, ST_FORMAT_CONTIGUOUS);
}

st_status st__new_empty_like(const st_tensor *t, st_options o,
                             st_format format, st_tensor **out) {
  if (format == ST_FORMAT_PRESERVE &&
      (st__is_subbyte(o.dtype) || st__is_subbyte(t->dtype))) {
    format = ST_FORMAT_CONTIGUOUS; /* strides are of whole bytes */
  }
  if (format != ST_FORMAT_PRESERVE) {
    return st__new_empty(o, t->ndim, t->sizes, format, out);
  }
  int64_t strides[ST_MAX_DIMS];
  st__preserved_strides(t, strides);
  return new_strided(o, t->ndim, t->sizes, strides, out);
}

/* -- Filling and copying -------------------------------------------------- */

st_status st__fill_new(st_tensor *t, st_scalar s) {
  if (t->device <= ST_DEVICE_META) return st__fill(t, s);
  st_value ret;
  ST_TRY(st__invoke(ST_OP_fill__Scalar, ST_VALUES(t, st__of_scalar(&s)), &ret));
  st__value_clear(&ret);
  return ST_OK;
}

st_status st__copy_to_device(st_tensor **t, st_device device, st_tensor **out) {
  if (device == (st_device)(*t)->device) {
    *out = *t;
    *t = NULL;
    return ST_OK;
  }
  const st_options o = {(st_dtype)(*t)->dtype, device};
  st_tensor *there = NULL;
  st_status status = st__new_empty(o, (*t)->ndim, (*t)->sizes,
                                   ST_FORMAT_CONTIGUOUS, &there);
  if (status == ST_OK && device != ST_DEVICE_META) {
    st_value ret;
    status = st__invoke(ST_OP_copy_, ST_VALUES(there, *t), &ret);
    if (status == ST_OK) st__value_clear(&ret);
  }
  st__tensor_release(t);
  if (status == ST_OK) {
    *out = there;
  } else {
    st__tensor_release(&there);
  }
  return status;
}

/* Fills t if s is not NULL, and makes ret its owner. Releases t after a
 * failure. */
static st_status finish(st_status made, st_tensor *t, const st_scalar *s,
                        st_value *ret) {
  if (made == ST_OK && s) made = st__fill_new(t, *s);
  if (made != ST_OK) {
    st__tensor_release(&t);
    return made;
  }
  *ret = st__of_tensor(t);
  return ST_OK;
}

/* -- Factories with a size ------------------------------------------------ */

static const st_scalar zero = {ST_SCALAR_INT, {.i = 0}};
static const st_scalar one = {ST_SCALAR_INT, {.i = 1}};

static bool is_in_layout(const st_tensor *t, st_ints size, st_options o,
                         int64_t layout) {
  return t->storage->layout == layout && t->dtype == o.dtype &&
         t->device == o.device && st__has_sizes(t, (int)size.n, size.p);
}

static st_status fill_in_layout(st_tensor *t, const st_scalar *s) {
  st_value ret;
  const st_value args[] = {st__of_tensor(t),
                           s ? st__of_scalar(s) : st__none()};
  if (!s) return ST_OK;
  ST_TRY(s == &zero ? st__invoke(ST_OP_zero_, 1, args, &ret)
                    : st__invoke(ST_OP_fill__Scalar, 2, args, &ret));
  st__value_clear(&ret);
  return ST_OK;
}

/* A tensor of an extension's layout, by the layout's kernels of empty, and of
 * zero_ or fill_. */
static st_status filled_in_layout(st_ints size, const st_value *options,
                                  st_options o, const st_scalar *s,
                                  st_value *ret) {
  st_tensor *t = NULL;
  ST_TRY(read_options(options, &o));
  ST_TRY(st__invoke1(ST_OP_empty_memory_format,
                     ST_VALUES(st__of_ints(size.p, (int)size.n), o.dtype,
                               options[1], o.device, st__none(), st__none()),
                     &t));
  const st_status status = is_in_layout(t, size, o, layout_of(options))
    ? fill_in_layout(t, s)
    : st__fail(ST_BAD_STATE, "the kernel of empty returned a tensor with the "
               "wrong shape, layout, dtype or device");
  return finish(status, t, NULL, ret);
}

static st_status filled(st_ints size, const st_value *options, st_options o,
                        const st_scalar *s, st_value *ret) {
  st_tensor *t = NULL;
  if (layout_of(options) != ST_LAYOUT_STRIDED) {
    return filled_in_layout(size, options, o, s, ret);
  }
  ST_TRY(st__read_options(options, &o));
  const st_status made = st__new_empty(o, (int)size.n, size.p,
                                       ST_FORMAT_CONTIGUOUS, &t);
  return finish(made, t, s, ret);
}

static st_status filled_by_default(const st_value *args, const st_scalar *s,
                                   st_value *ret) {
  ST_ARGS(INTS(size));
  return filled(size, st__next_options(&args), default_options(), s, ret);
}

ST_BOXED_AS(st__box_zeros, filled_by_default, args, &zero)
ST_BOXED_AS(st__box_ones, filled_by_default, args, &one)

/* The dtype follows from fill_value unless it is given. */
ST_BOXED(st__box_full) {
  ST_ARGS(INTS(size), SCALAR(fill_value));
  const st_options o = {st__scalar_dtype(fill_value), ST_DEVICE_CPU};
  return filled(size, st__next_options(&args), o, &fill_value, rets);
}

ST_BOXED(st__box_scalar_tensor) {
  ST_ARGS(SCALAR(s));
  const st_ints size = {NULL, 0};
  return filled(size, st__next_options(&args), default_options(), &s, rets);
}

static st_status new_filled(const st_value *args, const st_scalar *s,
                            st_value *ret) {
  ST_ARGS(TENSOR(self), INTS(size));
  return filled(size, st__next_options(&args), options_of(self), s, ret);
}

ST_BOXED_AS(st__box_new_empty, new_filled, args, NULL)
ST_BOXED_AS(st__box_new_zeros, new_filled, args, &zero)
ST_BOXED_AS(st__box_new_ones, new_filled, args, &one)

ST_BOXED(st__box_new_full) {
  ST_ARGS(TENSOR(self), INTS(size), SCALAR(fill_value));
  return filled(size, st__next_options(&args), options_of(self), &fill_value,
                rets);
}

ST_BOXED(st__box_new_empty_strided) {
  ST_ARGS(TENSOR(self), INTS(size), INTS(stride));
  st_options o = options_of(self);
  st_tensor *t = NULL;
  ST_TRY(st__read_options(st__next_options(&args), &o));
  if (size.n != stride.n) {
    return st__fail(ST_BAD_SHAPE, "size has %u entries, stride has %u",
                    size.n, stride.n);
  }
  const st_status made = new_strided(o, (int)size.n, size.p, stride.p, &t);
  return finish(made, t, NULL, rets);
}

/* -- Factories like another tensor ---------------------------------------- */

/* rest: the options, memory_format. */
static st_status like(const st_tensor *self, const st_value *rest,
                      const st_scalar *s, st_value *ret) {
  st_options o = options_of(self);
  st_tensor *t = NULL;
  ST_TRY(st__read_options(st__next_options(&rest), &o));
  const int64_t format = st__next_int_or(&rest, ST_FORMAT_PRESERVE);
  const st_status made = st__new_empty_like(self, o, (st_format)format, &t);
  return finish(made, t, s, ret);
}

ST_BOXED_AS(st__box_empty_like, like, args->u.tensor, args + 1, NULL)
ST_BOXED_AS(st__box_zeros_like, like, args->u.tensor, args + 1, &zero)
ST_BOXED_AS(st__box_ones_like, like, args->u.tensor, args + 1, &one)

ST_BOXED(st__box_full_like) {
  ST_ARGS(TENSOR(self), SCALAR(fill_value));
  return like(self, args, &fill_value, rets);
}
