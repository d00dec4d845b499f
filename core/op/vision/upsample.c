/* Resampling of images: each element of the result is a weighted sum of
 * elements of the image (taps), one dimension after the other.
 */

#include <inttypes.h>
#include <math.h>

#include "op/vision/resample.h"
#include "tensor/memory_format.h"

typedef enum resample_mode { NEAREST, EXACT, LINEAR, CUBIC } resample_mode;

typedef struct resample {
  const st_tensor *self;
  resample_mode mode;
  bool align_corners;
  int n;                          /* spatial dimensions, the last ones */
  int64_t size[ST_SPATIAL_MAX];
  double factor[ST_SPATIAL_MAX];  /* scale factor; 0: the ratio of the sizes */
} resample;

/* -- Coordinates ---------------------------------------------------------- */

/* x in the precision of the elements, in which PyTorch computes coordinates;
 * the choice of the nearest pixel may depend on it. */
static double rounded(const resample *r, double x) {
  return r->self->dtype == ST_FLOAT64 ? x : (double)(float)x;
}

/* ATen computes small images and channels_last ones by another kernel, which
 * copies the pixels of an image of the same or half the size without regard to
 * a scale factor. */
static bool ignores_factor(const resample *r) {
  const st_tensor *t = r->self;
  const bool by_channels =
    t->sizes[1] > 3 &&
    st__is_contiguous_in(t, r->n == 2 ? ST_FORMAT_CHANNELS_LAST
                                      : ST_FORMAT_CHANNELS_LAST_3D);
  if (r->mode != NEAREST || r->n == 1) return false;
  return by_channels || (r->n == 2 && r->size[0] + r->size[1] <= 128);
}

/* The distance in the image of adjacent elements of the result. */
static double step_size(const resample *r, int d, int64_t in) {
  const int64_t out = r->size[d];
  if (r->mode >= LINEAR && r->align_corners) {
    return out > 1 ? rounded(r, (double)(in - 1) / (double)(out - 1)) : 0;
  }
  if (out == 2 * in && ignores_factor(r)) return 0.5;
  return rounded(r, r->factor[d] > 0 ? 1 / r->factor[d]
                                     : (double)in / (double)out);
}

/* The coordinate in the image of element i of the result. */
static double coordinate(const resample *r, double step, int64_t i) {
  if (r->mode == NEAREST) return rounded(r, step * (double)i);
  if (r->mode == EXACT) return rounded(r, step * ((double)i + 0.5));
  if (r->align_corners) return rounded(r, step * (double)i);
  const double x = rounded(r, rounded(r, step * ((double)i + 0.5)) - 0.5);
  return r->mode == LINEAR && x < 0 ? 0 : x;
}

static int64_t clamp(int64_t i, int64_t n) {
  return i < 0 ? 0 : i < n ? i : n - 1;
}

/* -- Weights -------------------------------------------------------------- */

/* The weight of cubic convolution with a = -0.75, by the distance from a
 * tap. */
static double cubic(double x) {
  const double a = -0.75;
  x = fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

static int tap_count(resample_mode mode) {
  return mode == CUBIC ? 4 : mode == LINEAR ? 2 : 1;
}

/* Writes the indices of the taps for coordinate x and their weights, at a
 * distance of `out` elements. */
static void fill_taps(const resample *r, double x, int64_t in, int64_t out,
                      int64_t *at, double *weight) {
  const double first = fmin(floorf((float)x), (double)(in - 1));
  const double t = fmin(fmax(rounded(r, x - first), 0), 1);
  const int64_t i = (int64_t)first;
  switch (r->mode) {
    case NEAREST: case EXACT:
      at[0] = clamp(i, in);
      break;
    case LINEAR:
      at[0] = clamp(i, in);
      at[out] = clamp(i + 1, in);
      weight[0] = 1 - t;
      weight[out] = t;
      break;
    case CUBIC:
      for (int k = 0; k < 4; k++) {
        at[k * out] = clamp(i - 1 + k, in);
        weight[k * out] = cubic(t + 1 - k);
      }
  }
}

/* -- One dimension -------------------------------------------------------- */

/* The taps of all elements along a dimension, `out` of them per tap. */
typedef struct axis {
  const st_tensor *indices, *weights;
  int64_t out;
  bool is_read;                   /* the image is now its slices at indices */
} axis;

static void find_taps(st_op_scope *c, const resample *r, int d, axis *a) {
  const int taps = tap_count(r->mode);
  const int64_t in = r->self->sizes[2 + d], out = r->size[d];
  const double step = step_size(r, d, in);
  const int64_t n = taps * out;
  int64_t *at;
  double *weight;
  a->out = out;
  if (!st__has_elements(r->self)) {
    a->indices = st__new_like(c, r->self, ST_INT64, 1, &n);
    if (taps > 1) {
      a->weights = st__new_like(c, r->self, r->self->dtype, 1, &n);
    }
    return;
  }
  const st_tensor *indices = st__new_cpu_vector(c, ST_INT64, n, &at);
  const st_tensor *weights = st__new_cpu_vector(c, ST_FLOAT64, n, &weight);
  for (int64_t i = 0; st__scope_goes_on_at(c, i) && i < out; i++) {
    fill_taps(r, coordinate(r, step, i), in, out, at + i, weight + i);
  }
  a->indices = st__to_device_of(c, indices, ST_INT64, r->self);
  if (taps > 1) {
    a->weights = st__to_device_of(c, weights, r->self->dtype, r->self);
  }
}

/* The slices of t along dim at the indices of tap k. */
static st_tensor *slices(st_op_scope *c, const st_tensor *t, int dim,
                         const axis *a, int k) {
  if (a->is_read) return st__apply_narrow(c, t, dim, k * a->out, a->out);
  return st__apply_index_select(
    c, t, dim, st__apply_narrow(c, a->indices, 0, k * a->out, a->out));
}

/* The sum over taps of slices of t along a dimension, times their weights. */
static st_tensor *resample_dim(st_op_scope *c, const st_tensor *t, int d,
                               const axis *a, const resample *r) {
  int64_t sizes[ST_SPATIAL_MAX] = {a->out, 1, 1};
  st_tensor *sum = slices(c, t, 2 + d, a, 0);
  for (int k = 0; a->weights && k < tap_count(r->mode); k++) {
    const st_tensor *x = k == 0 ? sum : slices(c, t, 2 + d, a, k);
    const st_tensor *weight = st__apply_reshape(
      c, st__apply_narrow(c, a->weights, 0, k * a->out, a->out), r->n - d,
      sizes);
    sum = k == 0 ? st__mul(c, x, weight)
                 : ST_APPLY(c, ST_OP_addcmul, sum, x, weight);
  }
  return sum;
}

/* True if the dimension needs no resampling. */
static bool is_kept(const resample *r, int d) {
  const int64_t in = r->self->sizes[2 + d];
  return in == r->size[d] &&
         (r->align_corners || r->factor[d] == 0 || r->factor[d] == 1 ||
          r->mode == LINEAR || ignores_factor(r));
}

/* Where the taps along a dimension are fewer than the slices of the image, the
 * dimensions after it are resampled in these only. A recorded gradient sums
 * slices first. */
static st_tensor *read_taps(st_op_scope *c, st_tensor *t, const resample *r,
                            axis *axes) {
  const int taps = tap_count(r->mode);
  int last = r->n - 1;
  while (last > 0 && is_kept(r, last)) last--;
  for (int d = 0; !st__is_recorded(r->self->keys) && d < last; d++) {
    if (!st__scope_ok(c)) break;
    if (is_kept(r, d) || taps * r->size[d] >= t->sizes[2 + d]) continue;
    t = st__apply_index_select(c, t, 2 + d, axes[d].indices);
    axes[d].is_read = true;
  }
  return t;
}

/* t, or a copy, with the strides of a new tensor in the format of self. */
static st_tensor *in_format(st_op_scope *c, const resample *r,
                            const st_tensor *t) {
  const st_format format = r->n == 1 ? ST_FORMAT_CONTIGUOUS
                                     : st__suggest_format(r->self, false);
  int64_t strides[ST_SPATIAL_MAX + 2];
  if (!st__scope_ok(c)) return NULL;
  c->status = st__format_strides(t->ndim, t->sizes, format, strides);
  if (st__scope_ok(c) && t != r->self &&
      st__same_dims(t->ndim, t->strides, strides)) {
    return (st_tensor *)(uintptr_t)t;
  }
  return ST_APPLY(c, ST_OP_clone, t, format);
}

static st_tensor *resample_dims(st_op_scope *c, const resample *r,
                                axis *axes) {
  const st_tensor *first = r->self;
  st_tensor *t = read_taps(c, (st_tensor *)(uintptr_t)first, r, axes);
  for (int d = r->n - 1; st__scope_ok(c) && d >= 0; d--) {
    if (is_kept(r, d) || (axes[d].is_read && !axes[d].weights)) continue;
    st_op_scope round = {.n = 0};
    t = resample_dim(&round, t, d, &axes[d], r);
    st__scope_replace(c, &round, &t);
  }
  return in_format(c, r, t);
}

/* Sums of halves are computed in float32, and rounded once. */
static st_status run(const resample *given, st_value *rets) {
  resample r = *given;
  if (r.mode >= LINEAR && r.self->dtype == ST_UINT8) {
    return st__resize_bytes(r.self, &(st_resized){
      r.mode == CUBIC, r.align_corners, r.size, r.factor}, rets);
  }
  const st_dtype dtype = r.self->dtype;
  st_op_scope c = {.n = 0}, sum = {.n = 0};
  axis axes[ST_SPATIAL_MAX] = {{NULL, NULL, 0, false}};
  st__check_resized(&c, r.self, r.n, r.size);
  if (r.mode >= LINEAR && st__is_reduced_float(dtype)) {
    r.self = st__apply_to(&c, r.self, ST_FLOAT32);
  }
  for (int d = 0; st__scope_ok(&c) && d < r.n; d++) {
    if (!is_kept(&r, d)) find_taps(&c, &r, d, &axes[d]);
  }
  sum.status = c.status;
  st_tensor *out = st__scope_ok(&sum) ? resample_dims(&sum, &r, axes) : NULL;
  if (st__scope_ok(&sum) && out->dtype != dtype) {
    out = st__apply_to(&sum, out, dtype);
  }
  const st_status status = st__scope_return(&sum, out, rets);
  st__scope_end(&c, 0, NULL, NULL);
  return status;
}

/* -- Arguments ------------------------------------------------------------ */

st_status st__check_resizable(const st_tensor *t, const char *name, int n) {
  if (t->ndim != n + 2) {
    return st__fail(ST_BAD_SHAPE, "%s must have %d dimensions, but its shape "
                    "is %s", name, n + 2, ST_SHAPE_TEXT(t));
  }
  for (int d = 0; d < n; d++) {
    if (t->sizes[2 + d] < 1 || t->sizes[2 + d] > INT32_MAX) {
      return st__fail(ST_BAD_SHAPE, "the images of %s are empty or too large, "
                      "its shape is %s", name, ST_SHAPE_TEXT(t));
    }
  }
  return ST_OK;
}

static st_status check_images(const resample *r, const char *name) {
  const st_dtype dtype = r->self->dtype;
  ST_TRY(st__check_resizable(r->self, name, r->n));
  const bool is_bytes = dtype == ST_UINT8 && r->n == 2;
  if (r->mode >= LINEAR && !st__is_floating(dtype) && !is_bytes) {
    return st__no_kernel_for(dtype);
  }
  return ST_OK;
}

/* self, output_size, [align_corners,] one factor per dimension */
static st_status by_size(const st_value *args, resample_mode mode, int n,
                         st_value *rets) {
  resample r = {.self = st__next_tensor(&args), .mode = mode, .n = n};
  ST_ARGS(INTS(output_size));
  if (mode >= LINEAR) r.align_corners = st__next_bool(&args);
  for (int d = 0; d < n; d++) r.factor[d] = st__next_float_or(&args, 0);
  ST_TRY(check_images(&r, "self"));
  ST_TRY(st__read_sizes(output_size, "output_size", n, 1, r.size));
  return run(&r, rets);
}

static st_status read_factors(const st_value *v, int n, const int64_t *in,
                              int64_t *size, double *factor) {
  if ((int)v->len != n && v->len != 1) {
    return st__fail(ST_BAD_VALUE, "scale_factors must have %d entries, it has "
                    "%u", n, v->len);
  }
  for (int d = 0; d < n; d++) {
    factor[d] = v->u.floats[v->len == 1 ? 0 : d];
    const double whole = floor((double)in[d] * factor[d]);
    if (!(whole >= 1 && whole <= INT32_MAX)) {
      return st__fail(ST_BAD_VALUE, "scale_factors would give size %g for an "
                      "input of size %" PRId64, whole, in[d]);
    }
    size[d] = (int64_t)whole;
  }
  return ST_OK;
}

st_status st__read_resize(const st_value *output_size,
                          const st_value *scale_factors, int n,
                          const int64_t *in, int64_t *size, double *factor) {
  const bool has_size = !st__is_none(output_size);
  if (has_size == !st__is_none(scale_factors)) {
    return st__fail(ST_BAD_VALUE, "either output_size or scale_factors must "
                    "be given");
  }
  if (!has_size) return read_factors(scale_factors, n, in, size, factor);
  return st__read_sizes((st_ints){output_size->u.ints, output_size->len},
                        "output_size", n, 1, size);
}

/* input, output_size, [align_corners,] scale_factors */
static st_status by_factors(const st_value *args, resample_mode mode, int n,
                            st_value *rets) {
  resample r = {.self = st__next_tensor(&args), .mode = mode, .n = n};
  ST_ARGS(BOXED(output_size));
  if (mode >= LINEAR) r.align_corners = st__next_bool(&args);
  ST_TRY(check_images(&r, "input"));
  ST_TRY(st__read_resize(output_size, st__next(&args), n, r.self->sizes + 2,
                         r.size, r.factor));
  return run(&r, rets);
}

/* -- Operators ------------------------------------------------------------ */

/* operator, mode, number of dimensions */
#define UPSAMPLE_MAP(X)            \
  X(nearest1d,       NEAREST, 1) \
  X(nearest2d,       NEAREST, 2) \
  X(nearest3d,       NEAREST, 3) \
  X(nearest_exact1d, EXACT,   1) \
  X(nearest_exact2d, EXACT,   2) \
  X(nearest_exact3d, EXACT,   3) \
  X(linear1d,        LINEAR,  1) \
  X(bilinear2d,      LINEAR,  2) \
  X(trilinear3d,     LINEAR,  3) \
  X(bicubic2d,       CUBIC,   2)

#define UPSAMPLE(name, mode, n)                 \
  ST_BOXED(st__box_upsample_##name) {           \
    return by_size(args, mode, n, rets);        \
  }                                             \
  ST_BOXED(st__box_upsample_##name##_vec) {     \
    return by_factors(args, mode, n, rets);     \
  }
UPSAMPLE_MAP(UPSAMPLE)
