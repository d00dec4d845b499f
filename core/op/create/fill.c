/* Filling: sets every element to one value.
 *
 * The elements of a dense tensor are one range of bytes, whatever its
 * dimensions are. So the value is repeated in a block, and the block is copied
 * to the range. Other tensors are filled through the iterator. Neither path
 * checks for overlap, because writing the same value twice is harmless.
 */

#include "op/create/copy_clone_to.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "os/machine.h"
#include "base/threads.h"
#include "iter/loop_report.h"
#include "kernel/stream_line.h"
#include "op/row/composite.h"
#include "tensor/subbyte.h"
#include "tensor/view.h"

/* -- Range checks --------------------------------------------------------- */

static bool float_fits(double f, st_dtype dtype) {
  return f != f || f - f != 0 || /* NaN and infinities are representable */
         fabs(f) <= st__float_limits(dtype)->max;
}

/* A negative number wraps into an unsigned dtype, as it does in ATen. */
static bool int_fits(st_scalar s, st_dtype d) {
  const st_scalar high = st__int_highest(d);
  const st_scalar low = !st__is_unsigned(d) ? st__int_lowest(d)
                      : st__scalar_int(high.kind == ST_SCALAR_UINT
                                       ? INT64_MIN : -high.u.i);
  return st__compare_ints(s, low) >= 0 && st__compare_ints(s, high) <= 0;
}

static bool fits(st_scalar v, st_dtype dtype) {
  const bool real = v.kind != ST_SCALAR_COMPLEX;
  const double f = st__scalar_to_double(v);
  if (st__is_packed(dtype)) return f == 0 && (real || v.u.c[1] == 0);
  if (dtype == ST_BOOL || v.kind == ST_SCALAR_BOOL) return true;
  if (st__is_complex(dtype)) {
    return float_fits(f, dtype) && (real || float_fits(v.u.c[1], dtype));
  }
  if (!real && v.u.c[1] != 0) return false;
  if (st__is_floating(dtype)) return float_fits(f, dtype);
  if (st__scalar_is_int(v)) return int_fits(v, dtype);
  const double low = st__scalar_to_double(st__int_lowest(dtype));
  const double high = st__scalar_to_double(st__int_highest(dtype));
  /* a double cannot hold the greatest values of 64 bits */
  return f >= low && (st__itemsize(dtype) == 8 ? f < high : f <= high);
}

st_status st__check_scalar_fits(st_scalar v, st_dtype dtype) {
  if (fits(v, dtype)) return ST_OK;
  if (v.kind == ST_SCALAR_INT) {
    return st__fail(ST_BAD_VALUE, "value %" PRId64 " does not fit in %s",
                    v.u.i, st__dtype_name(dtype));
  }
  if (v.kind == ST_SCALAR_UINT) {
    return st__fail(ST_BAD_VALUE, "value %" PRIu64 " does not fit in %s",
                    v.u.u, st__dtype_name(dtype));
  }
  if (v.kind == ST_SCALAR_COMPLEX) {
    return st__fail(ST_BAD_VALUE, "value %g%+gi does not fit in %s",
                    v.u.c[0], v.u.c[1], st__dtype_name(dtype));
  }
  return st__fail(ST_BAD_VALUE, "value %g does not fit in %s",
                  v.u.f == v.u.f ? v.u.f : (double)NAN, st__dtype_name(dtype));
}

static st_status check_named(const char *name, st_scalar v, st_dtype d) {
  char why[128];
  if (!st__is_tensor_dtype(d) || fits(v, d)) return ST_OK;
  const st_status status = st__check_scalar_fits(v, d);
  snprintf(why, sizeof why, "%s", st_message());
  return st__fail(status, "argument '%s': %s", name, why);
}

st_status st__check_scalar_named(const char *name, st_scalar v,
                                 st_dtype dtype) {
  return check_named(name, v, st__is_reduced_float(dtype) ? ST_FLOAT32
                            : st__is_complex_half(dtype) ? ST_COMPLEX64
                                                         : dtype);
}

st_status st__round_to_half(const char *name, st_scalar *s, st_dtype d) {
  char element[4];
  if (!st__is_reduced_float(d) && !st__is_complex_half(d)) return ST_OK;
  ST_TRY(check_named(name, *s, d));
  st__scalar_store(*s, d, element);
  *s = st__scalar_load(d, element);
  return ST_OK;
}

st_status st__check_scalar_arg(const st_run *r, int i, st_dtype dtype) {
  return st__check_scalar_named(r->call->schema->args[i].name,
                                st__scalar_of(&r->args[i]), dtype);
}

/* -- Dense tensors -------------------------------------------------------- */

enum { BLOCK = 4096, CHUNK = 1 << 18 }; /* bytes, multiples of itemsizes */

typedef struct fill_job {
  char *data;
  size_t itemsize;
  bool is_bytes; /* all bytes of the value are equal */
  st_loop stream; /* non-temporal stores; NULL for ordinary stores */
  st_loop fill;   /* a copy of one element to many */
  _Alignas(64) char block[BLOCK]; /* of elements if it streams, else one */
} fill_job;

static void fill_range(void *ctx, int64_t begin, int64_t end) {
  const fill_job *job = ctx;
  char *p = job->data + (size_t)begin * job->itemsize;
  size_t left = (size_t)(end - begin) * job->itemsize;
  if (job->stream) {
    const int64_t strides[] = {1, 1, BLOCK, 0};
    const size_t blocks = left / BLOCK;
    job->stream((char *[]){p, (char *)(uintptr_t)job->block}, strides, BLOCK,
                (int64_t)blocks, NULL);
    st__fence_streams();
    p += blocks * BLOCK;
    left -= blocks * BLOCK;
  } else if (job->is_bytes) {
    memset(p, job->block[0], left);
    return;
  }
  const int64_t strides[] = {(int64_t)job->itemsize, 0, 0, 0};
  job->fill((char *[]){p, (char *)(uintptr_t)job->block}, strides,
            (int64_t)(left / job->itemsize), 1, NULL);
}

static st_status fill_dense(st_tensor *t, const char *item) {
  fill_job job;
  const size_t size = st__itemsize(t->dtype);
  const size_t nbytes = (size_t)t->numel * size;
  job.data = st__data(t);
  job.itemsize = size;
  job.is_bytes = true;
  job.stream = nbytes < (size_t)st__machine.fill_streamed ? NULL
             : st__kernel(ST_K_stream, ST_UINT8);
  job.fill = st__copy_kernel((st_dtype)t->dtype, (st_dtype)t->dtype);
  for (size_t i = 1; i < size; i++) job.is_bytes &= item[i] == item[0];
  memcpy(job.block, item, size);
  for (size_t n = size; job.stream && n < BLOCK; n *= 2) {
    memcpy(job.block + n, job.block, n);
  }
  return st__parallel_try(0, t->numel, CHUNK / (int64_t)job.itemsize,
                          fill_range, &job);
}

/* -- Other layouts -------------------------------------------------------- */

static st_status fill_strided(st_tensor *t, st_scalar v) {
  const st_dtype dtype = t->dtype;
  st_tensor *value = NULL;
  st_iter it;
  ST_TRY(st__tensor_from_scalar(v, dtype, false, &value));
  st__iter_init(&it, 0);
  st__iter_output(&it, t, ST_DTYPE_NONE);
  st__iter_input(&it, value);
  st_status status = st__iter_build(&it);
  if (status == ST_OK) {
    it.kernel = st__copy_key(dtype, dtype);
    status = st__iter_run(&it, st__copy_kernel(dtype, dtype), NULL, ST_GRAIN);
  }
  st__iter_release(&it);
  st__tensor_release(&value);
  return status;
}

/* Repeats a byte that holds the element alone. */
static st_status fill_subbyte(st_tensor *t, st_scalar v) {
  st_tensor *one = NULL, *all = NULL;
  ST_TRY(st__check_layout(t));
  ST_TRY(st__tensor_from_scalar(v, st__byte_dtype(t->dtype), false, &one));
  st_status status = st__view_expand(one, t->ndim, t->sizes, &all);
  if (status == ST_OK) status = st__copy(t, all);
  st__tensor_release(&one);
  st__tensor_release(&all);
  return status;
}

st_status st__fill(st_tensor *t, st_scalar v) {
  char item[16];
  ST_TRY(st__check_scalar_fits(v, t->dtype));
  if (st__is_meta(t)) st__capture_fill(t, v);
  if (st__is_meta(t) || t->numel == 0) return ST_OK;
  if (!st__is_strided(t)) return fill_subbyte(t, v);
  if (!(t->flags & ST_FLAG_DENSE)) return fill_strided(t, v);
  st__scalar_store(v, t->dtype, item);
  return fill_dense(t, item);
}

/* -- Operators ------------------------------------------------------------ */

static st_status fill_self(st_tensor *self, st_scalar v, st_value *ret) {
  ST_TRY(st__fill(self, v));
  return st__return_tensor(self, ret);
}

static st_status new_filled(const st_tensor *self, st_scalar v,
                            st_value *ret) {
  int64_t strides[ST_MAX_DIMS];
  st_tensor *t = NULL;
  st__preserved_strides(self, strides);
  if (st__is_subbyte(self->dtype)) {
    st__new_strides(self->dtype, self->ndim, self->sizes, strides);
  }
  ST_TRY(st__tensor_empty_strided(self->device,
                                  self->dtype, self->ndim,
                                  self->sizes, strides, &t));
  const st_status status = st__fill(t, v);
  if (status != ST_OK) {
    st__tensor_release(&t);
    return status;
  }
  *ret = st__of_tensor(t);
  return ST_OK;
}

/* The element of the 0-dim argument value. It may be on the meta device, which
 * gives 0, only if self is too. */
static st_status value_of(const st_tensor *self, const st_tensor *value,
                          st_scalar *out) {
  if (value->ndim != 0) {
    return st__fail(ST_BAD_SHAPE, "value must be a 0-dimensional tensor, its "
                    "shape is %s", ST_SHAPE_TEXT(value));
  }
  if (st__is_meta(value) && !st__is_meta(self)) {
    return st__fail(ST_BAD_STATE, "value is on the meta device and has no "
                    "elements");
  }
  if (st__is_meta(value)) st__capture_data_read(value);
  *out = st__is_meta(value) ? st__scalar_int(0)
       : st__element_load(value, value->offset);
  return ST_OK;
}

static st_status fill_tensor_(st_tensor *self, const st_tensor *value,
                              st_value *rets) {
  st_scalar v;
  ST_TRY(value_of(self, value, &v));
  return fill_self(self, v, rets);
}

static st_status fill_tensor(const st_tensor *self, const st_tensor *value,
                             st_value *rets) {
  st_scalar v;
  ST_TRY(value_of(self, value, &v));
  return new_filled(self, v, rets);
}

ST_TYPED_ARGS(st__box_fill_scalar_, fill_self, (TENSOR, SCALAR))
ST_TYPED_ARGS(st__box_fill_scalar, new_filled, (TENSOR, SCALAR))
ST_TYPED_ARGS(st__box_fill_tensor_, fill_tensor_, (TENSOR, TENSOR))
ST_TYPED_ARGS(st__box_fill_tensor, fill_tensor, (TENSOR, TENSOR))
ST_BOXED_AS(st__box_zero_, fill_self, st__next_tensor(&args), st__scalar_int(0))
ST_BOXED_AS(st__box_zero, new_filled, st__next_tensor(&args), st__scalar_int(0))

/* -- fill_diagonal_ ------------------------------------------------------- */

static st_status check_square(const st_tensor *self) {
  if (self->ndim < 2) {
    return st__fail(ST_BAD_SHAPE, "self must have at least 2 dimensions, has "
                    "%d", self->ndim);
  }
  for (int d = 1; self->ndim > 2 && d < self->ndim; d++) {
    if (self->sizes[d] != self->sizes[0]) {
      return st__fail(ST_BAD_SHAPE, "all dimensions of self must have one "
                      "size, as it has more than 2");
    }
  }
  return ST_OK;
}

/* Fills n elements of self, step apart, from `start` behind its first one. */
static void fill_spaced(st_op_scope *c, const st_tensor *self, int64_t n,
                        int64_t step, int64_t start, st_value value) {
  const st_tensor *view =
    ST_APPLY(c, ST_OP_as_strided, self, st__of_ints(&n, 1),
             st__of_ints(&step, 1), self->offset + start);
  ST_APPLY(c, ST_OP_fill__Scalar, view, value);
}

ST_BOXED(st__box_fill_diagonal_) {
  ST_ARGS(TENSOR(self), VALUE(value), BOOL(wrap));
  ST_TRY(check_square(self));
  int64_t step = 0, n = self->sizes[0];
  for (int d = 0; d < self->ndim; d++) {
    step += self->strides[d];
    if (self->sizes[d] < n) n = self->sizes[d];
  }
  st_op_scope c = {0};
  fill_spaced(&c, self, n, step, 0, value);
  const int64_t rows = self->sizes[0], below = self->sizes[1] + 1;
  const bool wraps = wrap && self->ndim == 2 && self->numel > 0;
  const int64_t end = wraps ? rows : 0;
  for (int64_t r = below; r < end && st__scope_goes_on(&c); r += below) {
    st_op_scope band = {0};
    const int64_t left = rows - r;
    fill_spaced(&band, self, left < n ? left : n, step, self->strides[0] * r,
                value);
    c.status = st__scope_end(&band, 0, NULL, NULL);
  }
  ST_TRY(st__scope_end(&c, 0, NULL, rets));
  return st__return_tensor(self, rets);
}
