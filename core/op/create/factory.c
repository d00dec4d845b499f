/* Factories of constant or uninitialized tensors: empty, zeros, ones, full,
 * new_* and *_like.
 */

#include "op/create/factory.h"

#include "op/create/copy.h"

/* -- Options -------------------------------------------------------------- */

st_status st__read_options(const st_value *args, st_options *out) {
  const int64_t dtype = st__to_int(&args[0], out->dtype);
  const int64_t device = st__to_int(&args[2], out->device);
  if (dtype < 0 || dtype >= ST_DTYPE_COUNT) {
    return st__fail(ST_BAD_DTYPE, "no tensor can have dtype %s",
                    st__dtype_name((st_dtype)dtype));
  }
  if (device < 0 || device >= ST_DEVICE_COUNT) {
    return st__fail(ST_BAD_VALUE, "there is no device number %lld",
                    (long long)device);
  }
  if (st__to_int(&args[1], 0) != 0) {
    return st__fail(ST_BAD_VALUE, "layout must be strided");
  }
  if (st__to_bool(&args[3], false)) {
    return st__fail(ST_BAD_VALUE, "pin_memory is not supported");
  }
  out->dtype = (st_dtype)dtype;
  out->device = (st_device)device;
  return ST_OK;
}

static st_options default_options(void) {
  return (st_options){st__default_dtype(), ST_DEVICE_CPU};
}

static st_options options_of(const st_tensor *t) {
  return (st_options){t->dtype, t->device};
}

st_status st__check_cpu_or_meta(const st_tensor *t) {
  if (st__lacks_memory(t)) return st__refuse_memoryless();
  if (!st__is_privateuse(t)) return ST_OK;
  return st__fail(ST_NO_KERNEL, "not implemented for device '%s'",
                  st__device_name(t->device));
}

/* -- Allocation ----------------------------------------------------------- */

ST_BOXED(st__box_empty_memory_format) {
  st_options o = default_options();
  st_tensor *t = NULL;
  ST_TRY(st__read_options(args + 1, &o));
  const int64_t format = st__to_int(&args[5], ST_FORMAT_CONTIGUOUS);
  ST_TRY(st__tensor_empty(o.device, o.dtype, (int)args[0].len,
                          args[0].u.ints, (st_format)format, &t));
  rets[0] = st__of_tensor(t);
  return ST_OK;
}

ST_BOXED(st__box_empty_strided) {
  st_options o = default_options();
  st_tensor *t = NULL;
  ST_TRY(st__read_options(args + 2, &o));
  if (args[0].len != args[1].len) {
    return st__fail(ST_BAD_SHAPE, "size has %u entries, stride has %u",
                    args[0].len, args[1].len);
  }
  ST_TRY(st__tensor_empty_strided(o.device, o.dtype, (int)args[0].len,
                                  args[0].u.ints, args[1].u.ints, &t));
  rets[0] = st__of_tensor(t);
  return ST_OK;
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
  const st_value args[] = {
    st__of_ints(sizes, ndim), st__of_int(o.dtype), st__none(),
    st__of_int(o.device), st__none(), st__of_int(format)};
  ST_TRY(st__invoke1(ST_OP_empty_memory_format, 6, args, out));
  return check_made(out, o, ndim, sizes, NULL, format);
}

static st_status new_strided(st_options o, int ndim, const int64_t *sizes,
                             const int64_t *strides, st_tensor **out) {
  const st_value args[] = {
    st__of_ints(sizes, ndim), st__of_ints(strides, ndim),
    st__of_int(o.dtype), st__none(), st__of_int(o.device), st__none()};
  ST_TRY(st__invoke1(ST_OP_empty_strided, 6, args, out));
  return check_made(out, o, ndim, sizes, strides, ST_FORMAT_CONTIGUOUS);
}

st_status st__new_empty_like(const st_tensor *t, st_options o,
                             st_format format, st_tensor **out) {
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
  const st_value args[] = {st__of_tensor(t), st__of_scalar(&s)};
  st_value ret;
  ST_TRY(st__invoke(ST_OP_fill__Scalar, 2, args, &ret));
  st__value_clear(&ret);
  return ST_OK;
}

st_status st__to_device(st_tensor **t, st_device device, st_tensor **out) {
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
    const st_value args[] = {st__of_tensor(there), st__of_tensor(*t)};
    st_value ret;
    status = st__invoke(ST_OP_copy_, 2, args, &ret);
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

static st_status filled(const st_value *size, const st_value *options,
                        st_options o, const st_scalar *s, st_value *ret) {
  st_tensor *t = NULL;
  ST_TRY(st__read_options(options, &o));
  const st_status made = st__new_empty(o, (int)size->len, size->u.ints,
                                       ST_FORMAT_CONTIGUOUS, &t);
  return finish(made, t, s, ret);
}

ST_BOXED(st__box_zeros) {
  const st_scalar s = st__scalar_int(0);
  return filled(&args[0], args + 1, default_options(), &s, rets);
}

ST_BOXED(st__box_ones) {
  const st_scalar s = st__scalar_int(1);
  return filled(&args[0], args + 1, default_options(), &s, rets);
}

/* The dtype follows from fill_value unless it is given. */
ST_BOXED(st__box_full) {
  const st_scalar s = st__to_scalar(&args[1]);
  const st_options o = {st__scalar_dtype(s), ST_DEVICE_CPU};
  return filled(&args[0], args + 2, o, &s, rets);
}

ST_BOXED(st__box_scalar_tensor) {
  const st_scalar s = st__to_scalar(&args[0]);
  const st_value size = st__of_ints(NULL, 0);
  return filled(&size, args + 1, default_options(), &s, rets);
}

ST_BOXED(st__box_new_empty) {
  return filled(&args[1], args + 2, options_of(args[0].u.tensor), NULL, rets);
}

ST_BOXED(st__box_new_empty_strided) {
  st_options o = options_of(args[0].u.tensor);
  st_tensor *t = NULL;
  ST_TRY(st__read_options(args + 3, &o));
  if (args[1].len != args[2].len) {
    return st__fail(ST_BAD_SHAPE, "size has %u entries, stride has %u",
                    args[1].len, args[2].len);
  }
  const st_status made = new_strided(o, (int)args[1].len, args[1].u.ints,
                                     args[2].u.ints, &t);
  return finish(made, t, NULL, rets);
}

ST_BOXED(st__box_new_zeros) {
  const st_scalar s = st__scalar_int(0);
  return filled(&args[1], args + 2, options_of(args[0].u.tensor), &s, rets);
}

ST_BOXED(st__box_new_ones) {
  const st_scalar s = st__scalar_int(1);
  return filled(&args[1], args + 2, options_of(args[0].u.tensor), &s, rets);
}

ST_BOXED(st__box_new_full) {
  const st_scalar s = st__to_scalar(&args[2]);
  return filled(&args[1], args + 3, options_of(args[0].u.tensor), &s, rets);
}

/* -- Factories like another tensor ---------------------------------------- */

/* options: dtype, layout, device, pin_memory, memory_format. */
static st_status like(const st_tensor *t, const st_value *options,
                      const st_scalar *s, st_value *ret) {
  st_options o = options_of(t);
  st_tensor *made = NULL;
  ST_TRY(st__read_options(options, &o));
  const int64_t format = st__to_int(&options[4], ST_FORMAT_PRESERVE);
  const st_status status = st__new_empty_like(t, o, (st_format)format, &made);
  return finish(status, made, s, ret);
}

ST_BOXED(st__box_empty_like) {
  return like(args[0].u.tensor, args + 1, NULL, rets);
}

ST_BOXED(st__box_zeros_like) {
  const st_scalar s = st__scalar_int(0);
  return like(args[0].u.tensor, args + 1, &s, rets);
}

ST_BOXED(st__box_ones_like) {
  const st_scalar s = st__scalar_int(1);
  return like(args[0].u.tensor, args + 1, &s, rets);
}

ST_BOXED(st__box_full_like) {
  const st_scalar s = st__to_scalar(&args[1]);
  return like(args[0].u.tensor, args + 2, &s, rets);
}
