/* _fft_r2r: cosine and sine transforms of real numbers, of types I to IV.
 *
 * Note [Cosine transforms]
 * With c = cos, or sin for a sine transform, result k of n numbers x is
 *
 *   I    sum_j 2 x[j] c(pi j k / (n - 1)), of cosines half of the first and
 *        the last j; of sines sum_j 2 x[j] c(pi (j + 1) (k + 1) / (n + 1))
 *   II   sum_j 2 x[j] c(pi (j + 1/2) k / n), of sines k + 1 for k
 *   III  sum_j 2 x[j] c(pi j (k + 1/2) / n), half of j = 0; of sines j + 1 for
 *        j, and half of the last one
 *   IV   sum_j 2 x[j] c(pi (j + 1/2) (k + 1/2) / n)
 *
 * half_in and half_out say where there is + 1/2. A sine transform is a cosine
 * transform whose numbers are reversed, or change their signs by turns, before
 * and behind it. Type I is the transform of x and its mirror image. J. Makhoul
 * (A fast cosine transform in one and two dimensions, 1980) has II and III as
 * real transforms of n numbers, which are parted by even and odd indices. Type
 * IV is a complex one of n / 2 numbers, or of 2 n if n is odd.
 *
 * `first` multiplies the numbers x at the ends that count half, `last` the
 * results k that are the ends of the other type: so each is the transpose of
 * another, and its own derivative (derivatives.def).
 */

#include <inttypes.h>
#include <string.h>

#include "base/threads.h"
#include "op/fourier/lines.h"
#include "op/row/op.h"

enum { BLOCK = 1 << 17 /* numbers of the lines that are computed at a time */ };

typedef struct dct {
  const st_tensor *self, *out;
  int dim;
  int64_t n, in_step, out_step;
  bool is_double, is_sine, half_in, half_out;
  double scale, first, last;
  int64_t reals, numbers; /* of a line; reals: 0 for type IV */
  int64_t begin, count;   /* the lines of a block */
  st_tensor *real, *spectrum;
  void *real_data, *spectrum_data;
  const void *twist;
} dct;

/* Where a line begins, in elements. */
static int64_t line_at(const dct *d, const st_tensor *t, int64_t line) {
  int64_t at = 0;
  for (int i = t->ndim - 1; i >= 0; i--) {
    if (i == d->dim) continue;
    at += line % t->sizes[i] * t->strides[i];
    line /= t->sizes[i];
  }
  return at;
}

#define T float
#define TAG f32
#include "op/fft/dct_template.h"
#define T double
#define TAG f64
#include "op/fft/dct_template.h"

/* -- A block of lines ------------------------------------------------------ */

static st_status make(st_dtype dtype, int64_t lines, int64_t n,
                      st_tensor **out, void **data) {
  const int64_t sizes[] = {lines, n};
  *data = NULL;
  if (n == 0) return ST_OK;
  ST_TRY(st__tensor_empty(ST_DEVICE_CPU, dtype, 2, sizes, ST_FORMAT_CONTIGUOUS,
                          out));
  *data = st__data(*out);
  return ST_OK;
}

static st_status make_room(dct *d, int64_t lines) {
  if (lines == d->count) return ST_OK;
  st__tensor_release(&d->real);
  st__tensor_release(&d->spectrum);
  d->count = lines;
  ST_TRY(make(d->is_double ? ST_FLOAT64 : ST_FLOAT32, lines, d->reals, &d->real,
              &d->real_data));
  return make(d->is_double ? ST_COMPLEX128 : ST_COMPLEX64, lines, d->numbers,
              &d->spectrum, &d->spectrum_data);
}

static st_status run_lines(dct *d, bool is_before) {
  const int64_t grain = ST_GRAIN / d->n + 1;
  const bool needs_twist = d->half_in || d->half_out;
  st_fft_hold hold;
  if (needs_twist) {
    const bool is_iv = d->half_in && d->half_out;
    ST_TRY(st__fft_plan(is_iv ? ST_FFT_TWIST_IV : ST_FFT_TWIST, d->is_double,
                        d->n, ST_FFT_LINE, &hold));
    d->twist = hold.plan->twist;
  }
  const st_range_fn fn = d->is_double ? (is_before ? before_f64 : behind_f64)
                                      : (is_before ? before_f32 : behind_f32);
  const st_status status = st__parallel_try(0, d->count, grain, fn, d);
  if (needs_twist) st__fft_done(&hold);
  return status;
}

static st_status run_block(dct *d) {
  const bool is_iv = d->half_in && d->half_out, to_real = d->half_out;
  const st_lines l = {
    .kind = is_iv ? ST_FFT_FORWARD : to_real ? ST_FFT_C2R : ST_FFT_R2C,
    .in = is_iv || to_real ? d->spectrum : d->real,
    .out = is_iv || !to_real ? d->spectrum : d->real,
    .dim = 1, .n = is_iv ? d->numbers : d->reals,
    .scale = d->half_in ? 2 * d->scale : d->scale};
  ST_TRY(run_lines(d, true));
  ST_TRY(st__transform_lines(&l));
  return run_lines(d, false);
}

/* -- The operator ---------------------------------------------------------- */

static st_status read_dct(const st_run *r, dct *d) {
  const st_tensor *self = r->args[0].u.tensor;
  d->self = self;
  d->is_double = self->dtype == ST_FLOAT64;
  d->is_sine = st__to_bool(&r->args[2], false);
  d->half_in = st__to_bool(&r->args[3], false);
  d->half_out = st__to_bool(&r->args[4], false);
  d->scale = r->args[5].u.f;
  d->first = r->args[6].u.f;
  d->last = r->args[7].u.f;
  ST_TRY(st__wrap_dim(r->args[1].u.i, self->ndim, &d->dim));
  d->n = self->ndim > 0 ? self->sizes[d->dim] : 0;
  return ST_OK;
}

st_status st__fft_r2r_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  dct d;
  if (self->dtype != ST_FLOAT32 && self->dtype != ST_FLOAT64) {
    return st__fail(ST_BAD_DTYPE, "self must be float32 or float64, not %s",
                    st__dtype_name((st_dtype)self->dtype));
  }
  ST_TRY(read_dct(r, &d));
  const int64_t least = !d.is_sine && !d.half_in && !d.half_out ? 2 : 1;
  if (d.n < least) {
    return st__fail(ST_BAD_SHAPE, "this transform needs at least %" PRId64
                    " numbers, but self has shape %s", least,
                    ST_SHAPE_TEXT(self));
  }
  ST_TRY(st_set_output_strided(r, 0, self->ndim, self->sizes, NULL,
                               (st_dtype)self->dtype));
  return st__forbid_alias(r, 0, self);
}

st_status st__fft_r2r_impl(st_run *r) {
  dct d = {.count = 0};
  ST_TRY(read_dct(r, &d));
  const int64_t n = d.n, lines = d.self->numel / n;
  d.out = r->out[0];
  d.in_step = d.self->strides[d.dim];
  d.out_step = d.out->strides[d.dim];
  if (!d.half_in && !d.half_out) {
    d.reals = d.is_sine ? 2 * (n + 1) : 2 * (n - 1);
  } else if (!(d.half_in && d.half_out)) {
    d.reals = n;
  }
  d.numbers = d.reals > 0 ? d.reals / 2 + 1 : n % 2 == 0 ? n / 2 : 2 * n;
  const int64_t most = BLOCK / n + 1;
  st_status status = ST_OK;
  for (; status == ST_OK && d.begin < lines; d.begin += d.count) {
    const int64_t left = lines - d.begin;
    status = make_room(&d, left < most ? left : most);
    if (status == ST_OK) status = run_block(&d);
  }
  st__tensor_release(&d.real);
  st__tensor_release(&d.spectrum);
  return status;
}
