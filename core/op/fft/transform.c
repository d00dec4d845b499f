/* The transforms that the others are made of: _fft_c2c, _fft_r2c, _fft_c2r.
 *
 * Several dimensions are transformed one after the other, the last one first
 * where the input is real or complex, last where the result is real. The
 * results are contiguous; ATen's are contiguous along the dimensions that it
 * transforms. The sums are scaled in the first pass.
 */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "op/fourier/lines.h"
#include "op/row/op.h"

/* -- Arguments ------------------------------------------------------------ */

/* ATen's numbers of normalizations: a sum is divided by 1, by the root of the
 * numbers that it is of, or by their count. */
enum { BY_1, BY_ROOT, BY_COUNT };

/* The dimensions, wrapped and in the order given, so that the last is the one
 * that is halved. */
typedef struct axes { int n, dim[ST_MAX_DIMS]; } axes;

static st_status read_axes(const st_tensor *self, const st_value *dims,
                           bool needs_one, axes *out) {
  uint64_t set = 0;
  out->n = (int)dims->len;
  if (out->n > 0) {
    ST_TRY(st__wrap_dims(dims->u.ints, out->n, self->ndim, &set));
  } else if (needs_one) {
    return st__fail(ST_BAD_VALUE, "dim is empty: at least one dimension must "
                    "be transformed");
  }
  for (int i = 0; i < out->n; i++) {
    ST_TRY(st__wrap_dim(dims->u.ints[i], self->ndim, &out->dim[i]));
  }
  return ST_OK;
}

static st_status check_lengths(const st_tensor *self, const axes *a) {
  for (int i = 0; i < a->n; i++) {
    if (self->ndim > 0 && self->sizes[a->dim[i]] > 0) continue;
    return st__fail(ST_BAD_SHAPE, "dimension %" PRId64 " of self, whose shape "
                    "is %s, has no numbers to transform",
                    st__display_index(a->dim[i]), ST_SHAPE_TEXT(self));
  }
  return ST_OK;
}

static st_status check_dtype(const st_tensor *self, bool is_complex) {
  const int d = self->dtype;
  if (is_complex ? d == ST_COMPLEX64 || d == ST_COMPLEX128
                 : d == ST_FLOAT32 || d == ST_FLOAT64) {
    return ST_OK;
  }
  return st__fail(ST_BAD_DTYPE, "self must be %s, not %s",
                  is_complex ? "complex64 or complex128"
                             : "float32 or float64", st__dtype_name(d));
}

static st_status check_normalization(int64_t normalization) {
  if (normalization >= BY_1 && normalization <= BY_COUNT) return ST_OK;
  return st__fail(ST_BAD_VALUE, "normalization must be 0 (none), 1 (by the "
                  "root of the count) or 2 (by the count), not %" PRId64,
                  normalization);
}

static st_status set_output(st_run *r, const int64_t *sizes, st_dtype dtype) {
  const st_tensor *self = st__arg_tensor(r, 0);
  ST_TRY(st_set_output_strided(r, 0, self->ndim, sizes, NULL, dtype));
  return st__forbid_alias(r, 0, self);
}

/* sizes: of the sums, one for each dimension of self. */
static double scale_of(int64_t normalization, const int64_t *sizes,
                       const axes *a) {
  double count = 1;
  for (int i = 0; i < a->n; i++) count *= (double)sizes[a->dim[i]];
  return normalization == BY_1 ? 1
       : 1 / (normalization == BY_ROOT ? sqrt(count) : count);
}

/* -- _fft_c2c ------------------------------------------------------------- */

st_status st__fft_c2c_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  axes a;
  ST_TRY(check_dtype(self, true));
  ST_TRY(read_axes(self, &r->args[1], false, &a));
  ST_TRY(check_lengths(self, &a));
  ST_TRY(check_normalization(r->args[2].u.i));
  return set_output(r, self->sizes, self->dtype);
}

/* Transforms complex numbers along all of axes but the last `skipped`: from in
 * to out, which may be in. */
static st_status transform_axes(st_fft_kind kind, const st_tensor *in,
                                const st_tensor *out, const axes *a,
                                int skipped, double scale) {
  for (int i = a->n - 1 - skipped; i >= 0; i--) {
    const st_lines l = {.kind = kind, .in = in, .out = out, .dim = a->dim[i],
                        .n = in->sizes[a->dim[i]], .scale = scale};
    ST_TRY(st__transform_lines(&l));
    in = out;
    scale = 1;
  }
  return ST_OK;
}

st_status st__fft_c2c_impl(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const bool forward = st__to_bool(&r->args[3], true);
  axes a;
  ST_TRY(read_axes(self, &r->args[1], false, &a));
  if (self->numel == 0) return ST_OK;
  if (a.n == 0) return st__copy_unchecked(r->out[0], self);
  return transform_axes(forward ? ST_FFT_FORWARD : ST_FFT_BACKWARD, self,
                        r->out[0], &a, 0,
                        scale_of(r->args[2].u.i, self->sizes, &a));
}

/* -- _fft_r2c ------------------------------------------------------------- */

st_status st__fft_r2c_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const bool onesided = st__to_bool(&r->args[3], true);
  int64_t sizes[ST_MAX_DIMS];
  axes a;
  ST_TRY(check_dtype(self, false));
  ST_TRY(read_axes(self, &r->args[1], true, &a));
  ST_TRY(check_lengths(self, &a));
  ST_TRY(check_normalization(r->args[2].u.i));
  memcpy(sizes, self->sizes, (size_t)self->ndim * sizeof *sizes);
  int64_t *const last = &sizes[a.dim[a.n - 1]];
  if (onesided) *last = *last / 2 + 1;
  return set_output(r, sizes, st__complex_dtype(self->dtype));
}

st_status st__fft_r2c_impl(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0), *out = r->out[0];
  const bool onesided = st__to_bool(&r->args[3], true);
  axes a;
  ST_TRY(read_axes(self, &r->args[1], true, &a));
  if (self->numel == 0) return ST_OK;
  const int dim = a.dim[a.n - 1];
  const st_lines l = {.kind = ST_FFT_R2C, .in = self, .out = out, .dim = dim,
                      .n = self->sizes[dim], .is_full = !onesided,
                      .scale = scale_of(r->args[2].u.i, self->sizes, &a)};
  ST_TRY(st__transform_lines(&l));
  return transform_axes(ST_FFT_FORWARD, out, out, &a, 1, 1);
}

/* -- _fft_c2r ------------------------------------------------------------- */

st_status st__fft_c2r_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const int64_t n = r->args[3].u.i;
  int64_t sizes[ST_MAX_DIMS];
  axes a;
  ST_TRY(check_dtype(self, true));
  ST_TRY(read_axes(self, &r->args[1], true, &a));
  ST_TRY(check_lengths(self, &a));
  ST_TRY(check_normalization(r->args[2].u.i));
  memcpy(sizes, self->sizes, (size_t)self->ndim * sizeof *sizes);
  int64_t *const last = &sizes[a.dim[a.n - 1]];
  if (n < 1 || n / 2 + 1 != *last) {
    return st__fail(ST_BAD_SHAPE, "last_dim_size %" PRId64 " needs half of it "
                    "and 1 numbers in dimension %" PRId64 " of self, whose "
                    "shape is %s", n, st__display_index(a.dim[a.n - 1]),
                    ST_SHAPE_TEXT(self));
  }
  *last = n;
  return set_output(r, sizes, st__real_dtype(self->dtype));
}

st_status st__fft_c2r_impl(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0), *out = r->out[0];
  axes a;
  ST_TRY(read_axes(self, &r->args[1], true, &a));
  if (self->numel == 0) return ST_OK;
  const double scale = scale_of(r->args[2].u.i, out->sizes, &a);
  st_lines l = {.kind = ST_FFT_C2R, .in = self, .out = out,
                .dim = a.dim[a.n - 1], .n = r->args[3].u.i, .scale = scale};
  if (a.n == 1) return st__transform_lines(&l);
  st_tensor *half = NULL;
  ST_TRY(st__tensor_empty(ST_DEVICE_CPU, (st_dtype)self->dtype, self->ndim,
                          self->sizes, ST_FORMAT_CONTIGUOUS, &half));
  st_status status = transform_axes(ST_FFT_BACKWARD, self, half, &a, 1, scale);
  l.in = half;
  l.scale = 1;
  if (status == ST_OK) status = st__transform_lines(&l);
  st__tensor_release(&half);
  return status;
}
