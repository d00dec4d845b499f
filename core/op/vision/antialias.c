/* Images resized by filters that grow with the reduction, so that each pixel of
 * the image counts: antialiasing as in Pillow and in interpolate. Images of
 * bytes are resized here without antialiasing, too.
 *
 * Note [Images of bytes]
 * As in Pillow and PyTorch, the weights of a dimension become integers of 16
 * bits: they are multiplied by the greatest power of two for which they fit,
 * and rounded. The sums are exact, and are rounded to bytes after each
 * dimension. They are computed in float64, which has all of these integers.
 */

#include <inttypes.h>
#include <math.h>

#include "kernel/numbers.h"
#include "op/vision/resample.h"
#include "tensor/memory_format.h"

typedef enum filter { TRIANGLE, CUBIC, LANCZOS } filter;

typedef struct resize {
  const st_tensor *self;
  filter filter;
  bool align_corners;
  bool is_plain;      /* no antialiasing */
  bool is_bytes;      /* Note [Images of bytes] */
  int bits[2];        /* of bytes: the power of two that weights are times */
  int64_t size[2];
  double factor[2];   /* scale factor; 0: the ratio of the sizes */
} resize;

/* -- Filters -------------------------------------------------------------- */

/* Cubic convolution with a = -0.5. */
static double cubic(double x) {
  const double a = -0.5;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

/* sinc(x) sinc(x / 3) */
static double lanczos(double x) {
  const double pi = 3.14159265358979323846;
  const double y[] = {pi * x, pi * (x / 3)};
  double sines[] = {y[0], y[1]};
  if (x == 0) return 1;
  if (!(x < 3)) return 0;
  st__map_numbers(ST_K_sin, sines, 2);
  return sines[0] / y[0] * (sines[1] / y[1]);
}

/* The weight without antialiasing: cubic convolution with a = -0.75. */
static double plain_filtered(filter f, double x) {
  const double a = -0.75;
  x = fabs(x);
  if (f == TRIANGLE) return x < 1 ? 1 - x : 0;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

/* The weight of a pixel at distance x, in pixels of the smaller image. */
static double filtered(filter f, double x) {
  x = fabs(x);
  if (f == CUBIC) return cubic(x);
  if (f == LANCZOS) return lanczos(x);
  return x < 1 ? 1 - x : 0;
}

/* -- Tables --------------------------------------------------------------- */

/* x in the precision of the elements, in which PyTorch computes weights. */
static double rounded(const resize *r, double x) {
  return r->self->dtype == ST_FLOAT64 ? x : (double)(float)x;
}

/* The distance in the image of adjacent elements of the result. */
static double step_size(const resize *r, int d, int64_t in) {
  const int64_t out = r->size[d];
  if (r->align_corners) {
    return out > 1 ? rounded(r, (double)(in - 1) / (double)(out - 1)) : 0;
  }
  return rounded(r, r->factor[d] > 0 ? 1 / r->factor[d]
                                     : (double)in / (double)out);
}

/* How filters lie on a dimension of size `in`. */
typedef struct reach {
  int64_t in;
  double step, support, shrink;
} reach;

static int64_t index_in(double x, int64_t in) {
  return (int64_t)fmin(fmax(x, 0), (double)in);
}

/* The taps of element i without antialiasing; returns the greatest weight. The
 * weights of pixels outside of the image are those of its first or last. */
static double fill_plain_taps(const resize *r, const reach *a, int64_t i,
                              int64_t taps, int64_t *span, double *weight) {
  const double shift = r->align_corners ? 0 : 0.5;
  const double x = a->step * ((double)i + shift) - shift;
  const int64_t half = taps / 2;
  const int64_t at = (int64_t)fmin(floor(x), (double)(a->in - 1));
  const double lambda = fmin(fmax(x - (double)at, 0), 1);
  const int64_t first = at - half + 1, begin = first > 0 ? first : 0;
  int64_t count = (at + half + 1 < a->in ? at + half + 1 : a->in) - begin;
  count = count < 0 ? 0 : count > taps ? taps : count;
  double most = 0;
  for (int64_t k = 0; k < taps; k++) weight[k] = 0;
  for (int64_t k = 0, to = 0; k < taps; k++, to++) {
    if (first + k <= 0) to = 0;
    else if (first + k >= a->in - 1) to = count - 1;
    weight[to] += plain_filtered(r->filter, (double)(k + 1 - half) - lambda);
    most = fmax(most, weight[to]);
  }
  span[0] = begin;
  span[1] = count;
  return most;
}

/* The taps of element i: span[0] and span[1], and their weights, of sum 1;
 * returns the greatest weight. */
static double fill_taps(const resize *r, const reach *a, int64_t i,
                        int64_t taps, int64_t *span, double *weight) {
  if (r->is_plain) return fill_plain_taps(r, a, i, taps, span, weight);
  const double center = rounded(r, a->step * ((double)i + 0.5));
  const int64_t first = index_in(rounded(r, center - a->support + 0.5), a->in);
  int64_t count = index_in(rounded(r, center + a->support + 0.5), a->in) -
                  first;
  double sum = 0;
  count = count < 0 ? 0 : count > taps ? taps : count;
  for (int64_t k = 0; k < count; k++) {
    const double x = ((double)(first + k) - center + 0.5) * a->shrink;
    sum += weight[k] = filtered(r->filter, x);
  }
  double most = 0;
  for (int64_t k = 0; k < count && sum != 0; k++) {
    weight[k] /= sum;
    most = fmax(most, weight[k]);
  }
  for (int64_t k = count; k < taps; k++) weight[k] = 0;
  span[0] = first;
  span[1] = count;
  return most;
}

/* Makes n weights integers of 16 bits, of which `most` is the greatest; returns
 * the bits behind the point. */
static int quantize(double *weight, int64_t n, double most) {
  int bits = 0;
  while (bits < 22 && floor(0.5 + ldexp(most, bits + 1)) < 1 << 15) bits++;
  for (int64_t i = 0; i < n; i++) {
    const double w = ldexp(weight[i], bits);
    weight[i] = trunc(w < 0 ? w - 0.5 : w + 0.5);
  }
  return bits;
}

/* How the filter lies on dimension d, and the number of its taps. */
static reach reach_of(const resize *r, int d, int64_t *taps) {
  static const double radius[] = {1, 2, 3};
  const int64_t in = r->self->sizes[2 + d];
  reach a = {.in = in, .step = step_size(r, d, in), .shrink = 1};
  a.support = radius[r->filter];
  *taps = 2 * (int64_t)a.support;
  if (r->is_plain) return a;
  if (a.step >= 1) a.support *= a.step;
  if (a.step >= 1) a.shrink = rounded(r, 1 / a.step);
  *taps = index_in(2 * ceil(a.support) + 1, in);
  return a;
}

static void find_taps(st_op_scope *c, resize *r, int d, st_taps *t) {
  const int64_t out = r->size[d];
  int64_t *span, cells, taps;
  const reach a = reach_of(r, d, &taps);
  double *weight, most = 0;
  if (st__scope_ok(c) && !st__mul_sizes(out, taps, &cells)) {
    c->status = st__fail(ST_BAD_VALUE, "there are too many weights: %" PRId64
                         " for each of %" PRId64 " pixels", taps, out);
  }
  if (!st__scope_ok(c)) return;
  const int64_t pairs[] = {out, 2}, table[] = {out, taps};
  if (!st__has_elements(r->self)) {
    t->spans = st__new_like(c, r->self, ST_INT64, 2, pairs);
    t->weights = st__new_like(c, r->self, r->self->dtype, 2, table);
    return;
  }
  const st_tensor *spans = st__new_cpu_vector(c, ST_INT64, 2 * out, &span);
  const st_tensor *weights = st__new_cpu_vector(c, ST_FLOAT64, cells, &weight);
  int64_t work = 0;
  for (int64_t i = 0; st__scope_ok(c) && i < out; i++) {
    most = fmax(most, fill_taps(r, &a, i, taps, span + 2 * i,
                                weight + i * taps));
    work += taps;
    if (work < 1 << 16) continue;
    work = 0;
    if (!st__scope_goes_on(c)) break;
  }
  if (st__scope_ok(c) && r->is_bytes) {
    r->bits[d] = quantize(weight, cells, most);
  }
  spans = st__to_device_of(c, spans, ST_INT64, r->self);
  weights = st__to_device_of(c, weights, r->self->dtype, r->self);
  t->spans = st__apply_reshape(c, spans, 2, pairs);
  t->weights = st__apply_reshape(c, weights, 2, table);
}

/* -- Images --------------------------------------------------------------- */

/* Sums of products with weights of so many bits as bytes. */
static st_tensor *to_bytes(st_op_scope *c, const st_tensor *t, int bits) {
  st_value limits[] = {st__of_tensor(NULL), st__of_int(0), st__of_int(255)};
  t = ST_APPLY(c, ST_OP_add_Scalar, t, st__of_float(ldexp(0.5, bits)));
  t = ST_APPLY(c, ST_OP_mul_Scalar, t, st__of_float(ldexp(1, -bits)));
  t = st__apply1(c, ST_OP_floor, t);
  limits[0] = st__of_tensor(t);
  return st__apply(c, ST_OP_clamp, 3, limits);
}

/* Half precision is resampled in float32. As in ATen, a dimension that keeps
 * its size is copied whatever its scale factor is. */
static st_status run(const resize *given, st_value *rets) {
  resize r = *given;
  const st_dtype dtype = r.self->dtype;
  const st_format format = st__suggest_format(r.self, false);
  const bool channels_last = format == ST_FORMAT_CHANNELS_LAST;
  const int64_t *in = r.self->sizes + 2;
  st_op_scope c = {.n = 0};
  if (st__same_dims(2, in, r.size)) {
    return st__scope_return(&c, ST_APPLY(&c, ST_OP_clone, r.self, format),
                            rets);
  }
  st_taps taps[2] = {{NULL, NULL}, {NULL, NULL}};
  st__check_resized(&c, r.self, 2, r.size);
  r.is_bytes = dtype == ST_UINT8;
  if (dtype != ST_FLOAT64) {
    r.self = st__apply_to(&c, r.self, r.is_bytes ? ST_FLOAT64 : ST_FLOAT32);
  }
  for (int d = 0; st__scope_ok(&c) && d < 2; d++) {
    if (in[d] != r.size[d]) find_taps(&c, &r, d, &taps[d]);
  }
  const st_tensor *t = r.self;
  if (channels_last) {
    t = ST_APPLY(&c, ST_OP_permute, t, ST_INTS(0, 2, 3, 1));
  }
  const int first = channels_last ? 1 : 2;
  for (int d = 1; d >= 0; d--) {
    if (!taps[d].spans) continue;
    t = st__apply_resample(&c, t, first + d, &taps[d]);
    if (r.is_bytes) t = to_bytes(&c, t, r.bits[d]);
  }
  if (channels_last) {
    t = ST_APPLY(&c, ST_OP_permute, t, ST_INTS(0, 3, 1, 2));
  }
  return st__scope_return(&c, st__apply_to(&c, t, dtype), rets);
}

st_status st__resize_bytes(const st_tensor *self, const st_resized *to,
                           st_value *rets) {
  resize r = {.self = self, .filter = to->is_cubic ? CUBIC : TRIANGLE,
              .align_corners = to->align_corners, .is_plain = true};
  for (int d = 0; d < 2; d++) {
    r.size[d] = to->size[d];
    r.factor[d] = to->factor[d];
  }
  return run(&r, rets);
}

/* -- Arguments ------------------------------------------------------------ */

static st_status check_images(const resize *r, const char *name) {
  const st_dtype dtype = r->self->dtype;
  ST_TRY(st__check_resizable(r->self, name, 2));
  return st__is_floating(dtype) || dtype == ST_UINT8 ? ST_OK
                                                     : st__no_kernel_for(dtype);
}

/* self, output_size, align_corners, one factor per dimension */
static st_status by_size(const st_value *args, filter f, st_value *rets) {
  resize r = {.self = st__next_tensor(&args), .filter = f};
  ST_ARGS(INTS(output_size));
  r.align_corners = st__next_bool(&args);
  for (int d = 0; d < 2; d++) r.factor[d] = st__next_float_or(&args, 0);
  ST_TRY(check_images(&r, "self"));
  ST_TRY(st__read_sizes(output_size, "output_size", 2, 1, r.size));
  return run(&r, rets);
}

/* input, output_size, align_corners, scale_factors */
static st_status by_factors(const st_value *args, filter f, st_value *rets) {
  resize r = {.self = st__next_tensor(&args), .filter = f};
  ST_ARGS(BOXED(output_size));
  r.align_corners = st__next_bool(&args);
  ST_TRY(check_images(&r, "input"));
  ST_TRY(st__read_resize(output_size, st__next(&args), 2, r.self->sizes + 2,
                         r.size, r.factor));
  return run(&r, rets);
}

/* -- Operators ------------------------------------------------------------ */

/* operator, filter */
#define ANTIALIAS_MAP(X)   \
  X(bilinear2d, TRIANGLE)  \
  X(bicubic2d,  CUBIC)     \
  X(lanczos2d,  LANCZOS)

#define ANTIALIAS(name, filter)                    \
  ST_BOXED(st__box_upsample_##name##_aa) {         \
    return by_size(args, filter, rets);            \
  }                                                \
  ST_BOXED(st__box_upsample_##name##_aa_vec) {     \
    return by_factors(args, filter, rets);         \
  }
ANTIALIAS_MAP(ANTIALIAS)
