/* fractional_max_pool: maxima of windows whose places random numbers choose, so
 * that the size of the result may be any part of that of the image (Graham,
 * Fractional Max-Pooling).
 */

#include <inttypes.h>
#include <math.h>

#include "base/threads.h"
#include "op/create/factory.h"
#include "op/pool/pool.h"

enum { SEARCH_GRAIN = 4096 };

/* -- Windows -------------------------------------------------------------- */

typedef struct fractional {
  st_window w;
  st_dtype dtype;         /* of the samples */
  bool is_double;         /* the image is float64, else float32 */
  int64_t pixels, windows;
  const char *image;
  const double *samples;  /* w.n per image, for each dimension */
  int64_t *index;
} fractional;

/* x in the precision of the samples, in which PyTorch computes places. */
static double rounded(st_dtype dtype, double x) {
  char number[16];
  if (dtype == ST_FLOAT64) return x;
  if (dtype == ST_FLOAT32) return (double)(float)x;
  st__scalar_store(st__scalar_float((double)(float)x), dtype, number);
  return st__scalar_to_double(st__scalar_load(dtype, number));
}

/* The first index of window o along dimension d, for a sample from 0 to 1. */
static int64_t window_start(const fractional *f, int d, double sample,
                            int64_t o) {
  const int64_t room = f->w.in[d] - f->w.kernel[d], out = f->w.out[d];
  const st_dtype t = f->dtype;
  if (o == out - 1) return room;
  const double alpha = rounded(t, rounded(t, (double)room) /
                                  rounded(t, (double)(out - 1)));
  const double at = rounded(t, rounded(t, (double)o) + sample);
  const double start = trunc(rounded(t, at * alpha)) -
                       trunc(rounded(t, sample * alpha));
  return start < (double)room ? start > 0 ? (int64_t)start : 0 : room;
}

static double pixel(const fractional *f, int64_t image, int64_t i) {
  const char *p = f->image;
  i += image * f->pixels;
  return f->is_double ? ((const double *)(const void *)p)[i]
                      : (double)((const float *)(const void *)p)[i];
}

/* The index of the maximum of the window that begins at start; the last NaN is
 * the greatest. */
static int64_t find_in_window(const fractional *f, int64_t image,
                              const int64_t *start) {
  const int64_t *k = f->w.kernel, *in = f->w.in;
  const int64_t first = (start[0] * in[1] + start[1]) * in[2] + start[2];
  double best = -INFINITY;
  int64_t where = first;
  for (int64_t a = 0; a < k[0]; a++) {
    for (int64_t b = 0; b < k[1]; b++) {
      const int64_t row = first + (a * in[1] + b) * in[2];
      for (int64_t i = row; i < row + k[2]; i++) {
        const double x = pixel(f, image, i);
        if (!(x > best) && !isnan(x)) continue;
        best = x;
        where = i;
      }
    }
  }
  return where;
}

static void search_images(void *ctx, int64_t begin, int64_t end) {
  const fractional *f = ctx;
  const int64_t *out = f->w.out;
  const int n = f->w.n;
  for (int64_t image = begin; image < end && !st__stops(); image++) {
    const double *samples = f->samples + image * n;
    for (int64_t i = 0; i < f->windows; i++) {
      /* The samples are those of width, then height, in two dimensions; of
       * depth, height and width in three. */
      const int64_t at[] = {i / (out[1] * out[2]), i / out[2] % out[1],
                            i % out[2]};
      int64_t start[ST_SPATIAL_MAX];
      for (int d = 0; d < ST_SPATIAL_MAX; d++) {
        const double s = n == 3 ? samples[d] : d ? samples[2 - d] : 0;
        start[d] = window_start(f, d, s, at[d]);
      }
      f->index[image * f->windows + i] = find_in_window(f, image, start);
      if (i % 4096 == 4095 && st__stops()) return;
    }
  }
}

/* -- Arguments ------------------------------------------------------------ */

/* The first dimension of three is 1 if there are two. */
static st_status read_windows(const st_tensor *self, st_ints kernel_size,
                              st_ints output_size, int n, st_pool *p) {
  st_window *w = &p->w;
  ST_TRY(st__pool_read(self, n, p));
  ST_TRY(st__read_sizes(kernel_size, "kernel_size", n, 1, w->kernel));
  ST_TRY(st__read_sizes(output_size, "output_size", n, 0, w->out));
  p->nwindows = 1;
  for (int d = 0; d < n; d++) {
    if (w->out[d] > 0 && w->kernel[d] + w->out[d] - 1 > w->in[d]) {
      return st__fail(ST_BAD_SHAPE, "%" PRId64 " windows of size %" PRId64
                      " do not fit dimension %d from the end of self, whose "
                      "shape is %s", w->out[d], w->kernel[d], n - d,
                      ST_SHAPE_TEXT(self));
    }
    p->nwindows *= w->out[d];
  }
  return ST_OK;
}

static st_status check_samples(const st_tensor *self, const st_tensor *samples,
                               int n) {
  const int lead = self->ndim - n;
  const int64_t batch = lead == 2 ? self->sizes[0] : 1;
  if (!st__is_floating(self->dtype)) return st__no_kernel_for(self->dtype);
  if (samples->dtype != self->dtype) {
    return st__fail(ST_BAD_DTYPE, "random_samples must be %s, as self is, not "
                    "%s", st__dtype_name(self->dtype),
                    st__dtype_name(samples->dtype));
  }
  if (samples->ndim == 3 && samples->sizes[0] >= batch &&
      samples->sizes[1] == self->sizes[lead - 1] && samples->sizes[2] == n) {
    return ST_OK;
  }
  return st__fail(ST_BAD_SHAPE, "random_samples must have shape [%" PRId64 ", %"
                  PRId64 ", %d], not %s", batch, self->sizes[lead - 1], n,
                  ST_SHAPE_TEXT(samples));
}

static st_status check_range(const double *samples, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    if (samples[i] >= 0 && samples[i] <= 1) continue;
    return st__fail(ST_BAD_VALUE, "random_samples must be from 0 to 1, one is "
                    "%g", samples[i]);
  }
  return ST_OK;
}

/* -- The search ----------------------------------------------------------- */

static void set_windows(fractional *f, const st_pool *p) {
  const int n = p->w.n, lead = ST_SPATIAL_MAX - n;
  f->w.n = n;
  for (int d = 0; d < ST_SPATIAL_MAX; d++) {
    f->w.in[d] = d < lead ? 1 : p->w.in[d - lead];
    f->w.out[d] = d < lead ? 1 : p->w.out[d - lead];
    f->w.kernel[d] = d < lead ? 1 : p->w.kernel[d - lead];
  }
  f->pixels = st__product_of(n, p->w.in);
  f->windows = p->nwindows;
}

ST_BOXED(st__box_fractional_max_indices) {
  ST_ARGS(TENSOR(self), INTS(kernel_size), INTS(output_size), TENSOR(samples));
  const int n = (int)kernel_size.n;
  st_pool p = {.self = NULL};
  ST_TRY(st__check_cpu_or_meta(self));
  if (n != 2 && n != 3) {
    return st__fail(ST_BAD_VALUE, "kernel_size must have 2 or 3 entries, it "
                    "has %d", n);
  }
  ST_TRY(read_windows(self, kernel_size, output_size, n, &p));
  ST_TRY(check_samples(self, samples, n));
  const int64_t sizes[] = {st__pool_images(&p), p.nwindows};
  fractional f = {.dtype = samples->dtype,
                  .is_double = self->dtype == ST_FLOAT64};
  st_op_scope c = {.n = 0};
  const st_tensor *image = st__apply1(&c, ST_OP_contiguous, st__apply_to(
    &c, self, f.is_double ? ST_FLOAT64 : ST_FLOAT32));
  const st_tensor *numbers = st__apply1(
    &c, ST_OP_contiguous, st__apply_to(&c, samples, ST_FLOAT64));
  st_tensor *index = ST_APPLY(&c, ST_OP_new_empty, st__meta_or(samples, self),
                              st__of_ints(sizes, 2), ST_INT64);
  if (st__scope_ok(&c) && index->numel > 0 &&
      st__is_cpu(index)) {
    set_windows(&f, &p);
    f.image = st__data(image);
    f.samples = (const double *)st__data(numbers);
    f.index = (int64_t *)st__data(index);
    c.status = check_range(f.samples, sizes[0] * n);
    const double work = (double)p.nwindows *
                        (double)st__product_of(n, p.w.kernel);
    if (st__scope_ok(&c)) {
      c.status = st__parallel_try(0, sizes[0],
                                  (int64_t)(SEARCH_GRAIN / (work + 1)) + 1,
                                  search_images, &f);
    }
  }
  return st__scope_return(&c, index, rets);
}

/* -- Operators ------------------------------------------------------------ */

/* The maxima and, if nrets is 2, their indices. */
static st_status pool(st_op_scope *c, const st_pool *p,
                      const st_tensor *samples, int64_t base, int nrets,
                      st_value *rets) {
  const int n = p->w.n;
  if (st__scope_ok(c)) c->status = check_samples(p->self, samples, n);
  if (!st__scope_ok(c)) return st__scope_end(c, 0, NULL, NULL);
  const int64_t flat[] = {st__pool_images(p), st__product_of(n, p->w.in)};
  const st_tensor *at =
    ST_APPLY(c, ST_OP__fractional_max_indices,
             st__apply1(c, ST_OP_detach, p->self), st__of_ints(p->w.kernel, n),
             st__of_ints(p->w.out, n), st__apply1(c, ST_OP_detach, samples));
  const st_tensor *self = st__apply_attached(c, p->self, p->self);
  st_tensor *results[] = {
    st__pool_result(
      c, ST_APPLY(c, ST_OP_gather, st__apply_reshape(c, self, 2, flat), 1, at),
      p),
    NULL};
  if (nrets == 2) {
    if (base) at = ST_APPLY(c, ST_OP_add_Scalar, at, base);
    results[1] = st__pool_result(c, at, p);
  }
  return st__scope_end(c, nrets, results, rets);
}

static st_status by_samples(const st_value *args, int n, st_value *rets) {
  ST_ARGS(TENSOR(self), INTS(kernel_size), INTS(output_size), TENSOR(samples));
  st_pool p = {.self = NULL};
  st_op_scope c = {.status = read_windows(self, kernel_size, output_size, n,
                                          &p)};
  return pool(&c, &p, samples, st__next_int(&args), 2, rets);
}

/* The sizes that the factors give. */
static st_status size_by_ratio(const st_tensor *input, const st_value *ratio,
                               int n, int64_t *size) {
  if (st__is_none(ratio) || ((int)ratio->len != n && ratio->len != 1)) {
    return st__fail(ST_BAD_VALUE, "output_size or output_ratio must be given, "
                    "one or %d numbers", n);
  }
  ST_TRY(st__check_images(input, "input", n));
  st__image_sizes(input, n, size);
  for (int d = 0; d < n; d++) {
    const double part = ratio->u.floats[ratio->len == 1 ? 0 : d];
    if (!(part >= 0 && part <= 1)) {
      return st__fail(ST_BAD_VALUE, "output_ratio must be from 0 to 1, not %g",
                      part);
    }
    size[d] = (int64_t)((double)size[d] * part);
  }
  return ST_OK;
}

/* input, kernel_size, output_size, output_ratio, _random_samples and, for two
 * results, base */
static st_status by_size(const st_value *args, int n, int nrets,
                         st_value *rets) {
  ST_ARGS(TENSOR(input), INTS(kernel_size));
  const bool has_size = !st__is_none(args);
  st_ints output_size = st__next_ints(&args);
  ST_ARGS(BOXED(ratio), TENSOR(samples));
  int64_t size[ST_SPATIAL_MAX];
  st_pool p = {.self = NULL};
  if (!has_size) {
    ST_TRY(size_by_ratio(input, ratio, n, size));
    output_size = (st_ints){size, (uint32_t)n};
  }
  ST_TRY(read_windows(input, kernel_size, output_size, n, &p));
  if (!st__is_floating(input->dtype)) return st__no_kernel_for(input->dtype);
  st_op_scope c = {.n = 0};
  if (!samples) {
    const int lead = input->ndim - n;
    const int64_t sizes[] = {lead == 2 ? input->sizes[0] : 1,
                             input->sizes[lead - 1], n};
    samples = ST_APPLY(&c, ST_OP_rand, st__of_ints(sizes, 3), input->dtype,
                       st__none(), input->device);
  }
  return pool(&c, &p, samples, nrets == 2 ? st__next_int(&args) : 0, nrets,
              rets);
}

ST_BOXED(st__box_fractional_max_pool2d) { return by_samples(args, 2, rets); }
ST_BOXED(st__box_fractional_max_pool3d) { return by_samples(args, 3, rets); }
ST_BOXED_AS(st__box_fractional_max_pool2d_functional, by_size, args, 2, 1)
ST_BOXED_AS(st__box_fractional_max_pool3d_functional, by_size, args, 3, 1)
ST_BOXED_AS(st__box_fractional_max_pool2d_with_indices, by_size, args, 2, 2)
ST_BOXED_AS(st__box_fractional_max_pool3d_with_indices, by_size, args, 3, 2)
