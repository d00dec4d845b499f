/* grid_sampler: images sampled at arbitrary points. Coordinates in the grid go
 * from -1 to 1 across the image, and list the last image dimension first.
 *
 * A kernel samples float32 and float64 without gradients, but not cubically.
 * Everything else is composed of operators; results are the same.
 */

#include <inttypes.h>

#include "base/threads.h"
#include "kernel/kernel.h"
#include "kernel/vision/grid_sample.h"
#include "op/create/factory.h"
#include "op/nn/spatial.h"

typedef enum grid_mode { BILINEAR, NEAREST, BICUBIC } grid_mode;

enum { MOST_TAPS = 4 };

typedef struct sampler {
  const st_tensor *input, *grid;
  int n;               /* spatial dimensions */
  grid_mode mode;
  st_grid_border border;
  bool align_corners;
  int64_t points;      /* points per image */
} sampler;

/* The taps of all points along one dimension: indices (multiplied by the stride
 * in the flattened image; 0 if outside), masks of those inside, and weights. */
typedef struct axis {
  st_tensor *at[MOST_TAPS], *inside[MOST_TAPS], *weight[MOST_TAPS];
} axis;

/* -- Operators with scalars ----------------------------------------------- */

/* x where mask is true, else t. */
static st_tensor *choose(st_op_scope *c, const st_tensor *mask, double x,
                         const st_tensor *t) {
  return ST_APPLY(c, ST_OP_where_ScalarSelf, mask, x, t);
}

/* -- Coordinates ---------------------------------------------------------- */

/* The coordinates of the points along dimension d, in pixels: (batch, 1,
 * points). */
static st_tensor *coordinates(st_op_scope *c, const sampler *s, int d) {
  const double size = (double)s->input->sizes[2 + d];
  const int64_t sizes[] = {s->grid->sizes[0], 1, s->points};
  const st_tensor *grid = st__apply_attached_none(c, s->grid, s->grid);
  const st_tensor *x = st__apply_reshape(
    c, ST_APPLY(c, ST_OP_select_int, grid, -1, s->n - 1 - d), 3, sizes);
  x = st__shifted(c, x, 1);
  if (s->align_corners) return st__scaled(c, st__scaled(c, x, 0.5), size - 1);
  x = st__shifted(c, st__scaled(c, x, size), -1);
  return st__scaled(c, x, 0.5);
}

/* Clips x to the image. There is no gradient at its border and beyond. */
static st_tensor *clipped(st_op_scope *c, const st_tensor *x, double last) {
  x = choose(c, ST_APPLY(c, ST_OP_le_Scalar, x, st__of_float(0)), 0, x);
  return choose(c, ST_APPLY(c, ST_OP_ge_Scalar, x, last), last, x);
}

/* Reflects x at the centres of the border pixels or, without align_corners, at
 * their outer edges. */
static st_tensor *reflected(st_op_scope *c, const sampler *s,
                            const st_tensor *x, int64_t size) {
  const double low = s->align_corners ? 0 : -0.5;
  const double span = (double)(s->align_corners ? size - 1 : size);
  if (span == 0) {
    return choose(c, ST_APPLY(c, ST_OP_ones_like, x, ST_BOOL), 0, x);
  }
  const st_tensor *far = st__apply1(c, ST_OP_abs, st__shifted(c, x, -low));
  const st_tensor *rest = ST_APPLY(c, ST_OP_fmod_Scalar, far, span);
  const st_tensor *periods = st__apply1(
    c, ST_OP_floor, st__scaled(c, st__apply1(c, ST_OP_detach, far), 1 / span));
  const st_tensor *odd =
    ST_APPLY(c, ST_OP_fmod_Scalar, periods, st__of_float(2));
  const st_tensor *back = st__shifted(c, st__apply1(c, ST_OP_neg, rest), span);
  return st__shifted(c,
                     ST_APPLY(c, ST_OP_where_self,
                              ST_APPLY(c, ST_OP_ne_Scalar, odd,
                                       st__of_float(0)), back, rest),
                     low);
}

static st_tensor *bordered(st_op_scope *c, const sampler *s, st_tensor *x,
                           int d) {
  const int64_t size = s->input->sizes[2 + d];
  if (s->border == ST_GRID_ZEROS) return x;
  if (s->border == ST_GRID_REFLECTION) x = reflected(c, s, x, size);
  return clipped(c, x, (double)(size - 1));
}

/* -- Taps ----------------------------------------------------------------- */

/* Stores index x, an integral value, of dimension d as tap k of the axis. */
static void add_tap(st_op_scope *c, const sampler *s, const st_tensor *x, int d,
                    axis *a, int k) {
  const int64_t *sizes = s->input->sizes + 2;
  const int64_t step = st__product_of(s->n - d - 1, sizes + d + 1);
  st_op_scope round = {.status = c->status};
  a->inside[k] = st__scope_keep(
    c, &round,
    st__apply2(&round, ST_OP_logical_and,
               ST_APPLY(&round, ST_OP_ge_Scalar, x, st__of_float(0)),
               ST_APPLY(&round, ST_OP_le_Scalar, x,
                        st__of_float((double)(sizes[d] - 1)))));
  round = (st_op_scope){.status = c->status};
  const st_tensor *at =
    ST_APPLY(&round, ST_OP_where_ScalarOther, a->inside[k], x, 0);
  at = st__apply_to(&round, at, ST_INT64);
  a->at[k] =
    st__scope_keep(c, &round, ST_APPLY(&round, ST_OP_mul_Scalar, at, step));
}

/* ((p[0] x + p[1]) x + p[2]) x + p[3] */
static st_tensor *cubic(st_op_scope *c, const st_tensor *x, const double *p) {
  const st_tensor *y = st__shifted(c, st__scaled(c, x, p[0]), p[1]);
  y = st__shifted(c, st__mul(c, y, x), p[2]);
  return st__shifted(c, st__mul(c, y, x), p[3]);
}

/* The weight of tap k for a point at distance t after the index below it. */
static st_tensor *tap_weight(st_op_scope *c, const sampler *s,
                             const st_tensor *t, int k) {
  static const double near[] = {1.25, -2.25, 0, 1};
  static const double far[] = {-0.75, 3.75, -6, 3};
  st_op_scope round = {.status = c->status};
  const bool behind = s->mode == BILINEAR ? k == 0 : k >= 2;
  const double more = s->mode == BILINEAR ? k == 0 : k == 3 ? 2 : k != 1;
  const st_tensor *x = behind ? st__apply1(&round, ST_OP_neg, t) : t;
  st_tensor *weight = st__shifted(&round, x, more);
  if (s->mode == BICUBIC) {
    weight = cubic(&round, weight, k == 1 || k == 2 ? near : far);
  }
  return st__scope_keep(c, &round, weight);
}

/* The nearest index is not differentiated; as a weight it stays in the
 * graph. */
static void find_nearest(st_op_scope *c, const sampler *s, int d,
                         const st_tensor *x, axis *a) {
  st_op_scope round = {.status = c->status};
  const st_tensor *whole = st__apply1(&round, ST_OP_round, x);
  const st_tensor *plain = st__apply1(&round, ST_OP_detach, whole);
  c->status = round.status;
  add_tap(c, s, plain, d, a, 0);
  round.status = c->status;
  a->weight[0] = st__scope_keep(
    c, &round,
    ST_APPLY(&round, ST_OP_where_ScalarOther, a->inside[0], whole, 0));
}

/* The taps around each point, in order. */
static void find_around(st_op_scope *c, const sampler *s, int d,
                        const st_tensor *x, axis *a) {
  const int taps = s->mode == BILINEAR ? 2 : 4;
  st_op_scope round = {.status = c->status};
  const st_tensor *first = st__apply1(&round, ST_OP_floor,
                                      st__apply1(&round, ST_OP_detach, x));
  const st_tensor *t = st__minus(&round, x, first);
  for (int k = 0; k < taps; k++) {
    st_op_scope tap = {.status = round.status};
    st_tensor *at = st__shifted(&tap, first, taps == 2 ? k : k - 1);
    if (s->mode == BICUBIC) at = bordered(&tap, s, at, d);
    at = st__scope_keep(&round, &tap, at);
    if (st__scope_ok(c)) c->status = round.status;
    add_tap(c, s, at, d, a, k);
    a->weight[k] = tap_weight(c, s, t, k);
  }
  st__scope_keep(c, &round, NULL);
}

static void find_taps(st_op_scope *c, const sampler *s, int d, axis *a) {
  st_op_scope round = {.status = c->status};
  st_tensor *x = coordinates(&round, s, d);
  if (s->mode != BICUBIC) x = bordered(&round, s, x, d);
  x = st__scope_keep(c, &round, x);
  if (s->mode == NEAREST) find_nearest(c, s, d, x, a);
  else find_around(c, s, d, x, a);
}

/* -- Points --------------------------------------------------------------- */

/* Combines one tap of each axis: indices are added, weights multiplied. */
static st_tensor *combined(st_op_scope *c, st_op_id id, int n,
                           st_tensor *const *parts) {
  st_tensor *t = parts[0];
  for (int d = 1; d < n; d++) t = st__apply2(c, id, t, parts[d]);
  return t;
}

/* The elements of images (batch, channels, pixels) at one tap of each axis, 0
 * if outside: (batch, channels, points). */
static st_tensor *read_taps(st_op_scope *c, const sampler *s,
                            const st_tensor *images, const axis *axes,
                            const int *taps) {
  st_tensor *at[ST_SPATIAL_MAX] = {NULL}, *inside[ST_SPATIAL_MAX] = {NULL};
  const int64_t sizes[] = {-1, s->input->sizes[1], -1};
  for (int d = 0; d < s->n; d++) {
    at[d] = axes[d].at[taps[d]];
    inside[d] = axes[d].inside[taps[d]];
  }
  const st_tensor *indices =
    ST_APPLY(c, ST_OP_expand, combined(c, ST_OP_add_Tensor, s->n, at),
             st__of_ints(sizes, 3));
  return ST_APPLY(c, ST_OP_where_ScalarOther,
                  combined(c, ST_OP_logical_and, s->n, inside),
                  ST_APPLY(c, ST_OP_gather, images, 2, indices), 0);
}

static st_tensor *weighted(st_op_scope *c, const sampler *s, const st_tensor *t,
                           const axis *axes, const int *taps) {
  st_tensor *weight[ST_SPATIAL_MAX] = {NULL};
  for (int d = 0; d < s->n; d++) weight[d] = axes[d].weight[taps[d]];
  st_tensor *all = combined(c, s->mode == NEAREST ? ST_OP_add_Tensor
                                                  : ST_OP_mul_Tensor,
                            s->n, weight);
  if (s->mode != NEAREST) return st__mul(c, t, all);
  /* Rounding to the nearest pixel has a gradient of 0. */
  const st_tensor *none = st__minus(c, all, st__apply1(c, ST_OP_detach, all));
  return st__plus(c, t, none);
}

static st_tensor *sum_taps(st_op_scope *sum, const sampler *s,
                           const st_tensor *images, const axis *axes) {
  const int each = s->mode == NEAREST ? 1 : s->mode == BILINEAR ? 2 : 4;
  int count = 1, taps[ST_SPATIAL_MAX];
  st_tensor *total = NULL;
  for (int d = 0; d < s->n; d++) count *= each;
  for (int i = 0; st__scope_goes_on(sum) && i < count; i++) {
    st_op_scope round = {.n = 0};
    for (int d = s->n - 1, k = i; d >= 0; d--, k /= each) taps[d] = k % each;
    st_tensor *t = weighted(&round, s, read_taps(&round, s, images, axes, taps),
                            axes, taps);
    if (total) t = st__plus(&round, total, t);
    st__scope_replace(sum, &round, &t);
    total = t;
  }
  return total;
}

static st_status run_sampler(const sampler *s, st_value *rets) {
  st_op_scope c = {.n = 0}, sum = {.n = 0};
  axis axes[ST_SPATIAL_MAX] = {{{NULL}, {NULL}, {NULL}}};
  const st_tensor *input = s->input;
  const int64_t flat[] = {input->sizes[0], input->sizes[1],
                          st__product_of(s->n, input->sizes + 2)};
  const st_tensor *images = st__apply_attached_none(&c, input, input);
  /* The gradient of the weights depends on the grid; here there are none. */
  if (s->mode == NEAREST) images = st__apply_attached(&c, images, s->grid);
  images = st__apply_reshape(&c, images, 3, flat);
  for (int d = 0; d < s->n; d++) find_taps(&c, s, d, &axes[d]);
  sum.status = c.status;
  const st_tensor *total = sum_taps(&sum, s, images, axes);
  st_tensor *out = st__reshape_tail(&sum, total, 1, s->n, s->grid->sizes + 1);
  out = st__apply1(&sum, ST_OP_contiguous, out);
  st__scope_end(&c, 0, NULL, NULL);
  return st__scope_return(&sum, out, rets);
}

/* -- Arguments ------------------------------------------------------------ */

static st_status check_shapes(const sampler *s) {
  const st_tensor *x = s->input, *g = s->grid;
  if (x->ndim != s->n + 2 || g->ndim != s->n + 2 ||
      x->sizes[0] != g->sizes[0] || g->sizes[s->n + 1] != s->n) {
    return st__fail(ST_BAD_SHAPE, "input must be (batch, channels, size..) "
                    "and grid (batch, points.., %d), but their shapes are %s "
                    "and %s", s->n, ST_SHAPE_TEXT(x), ST_SHAPE_TEXT(g));
  }
  for (int d = 0; d < s->n; d++) {
    if (x->sizes[2 + d] == 0) {
      return st__fail(ST_BAD_SHAPE, "the images of input are empty, its shape "
                      "is %s",
                      ST_SHAPE_TEXT(x));
    }
  }
  return ST_OK;
}

static st_status check_modes(int64_t mode, int64_t border, int n) {
  if (mode < BILINEAR || mode > BICUBIC || (mode == BICUBIC && n != 2)) {
    return st__fail(ST_BAD_VALUE, "interpolation_mode must be 0 (bilinear), 1 "
                    "(nearest) or, for 2-d images, 2 (bicubic), not %" PRId64,
                    mode);
  }
  if (border < ST_GRID_ZEROS || border > ST_GRID_REFLECTION) {
    return st__fail(ST_BAD_VALUE, "padding_mode must be 0 (zeros), 1 (border) "
                    "or 2 (reflection), not %" PRId64, border);
  }
  return ST_OK;
}

static st_status read_sampler(const st_value *args, int n, sampler *s) {
  ST_ARGS(TENSOR(input), TENSOR(grid), INT(interpolation_mode),
          INT(padding_mode));
  *s = (sampler){.input = input, .grid = grid, .n = n,
                 .mode = (grid_mode)interpolation_mode,
                 .border = (st_grid_border)padding_mode,
                 .align_corners = st__next_bool(&args)};
  ST_TRY(check_shapes(s));
  ST_TRY(check_modes(interpolation_mode, padding_mode, n));
  if (!st__is_floating(input->dtype)) {
    return st__no_kernel_for(input->dtype);
  }
  if (grid->dtype != input->dtype) {
    return st__fail(ST_BAD_DTYPE, "input is %s, but grid is %s",
                    st__dtype_name(input->dtype),
                    st__dtype_name(grid->dtype));
  }
  s->points = st__product_of(n, grid->sizes + 1);
  return ST_OK;
}

/* -- By the kernel -------------------------------------------------------- */

typedef struct grid_run {
  st_grid_ctx ctx;
  st_task task;
  char *data[3];
} grid_run;

static void run_blocks(void *ctx, int64_t begin, int64_t end) {
  const grid_run *r = ctx;
  char *data[] = {r->data[0], r->data[1], r->data[2]};
  st_grid_ctx units = r->ctx;
  units.begin = begin;
  units.end = end;
  r->task(data, &units);
}

/* The kernel keeps positions of pixels in 32 bits, and the last one along a
 * dimension in a float32 without rounding. */
static bool fits_kernel(const sampler *s) {
  int64_t pixels = 1;
  for (int d = 0; d < s->n; d++) {
    const int64_t size = s->input->sizes[2 + d];
    if (size > 1 << 24 || size > INT32_MAX / pixels) return false;
    pixels *= size;
  }
  return s->mode != BICUBIC && s->n <= ST_SPATIAL_MAX;
}

static st_status run_kernel(const sampler *s, const st_tensor *input,
                            const st_tensor *grid, st_tensor *out) {
  const int64_t channels = input->sizes[1];
  grid_run r = {
    .ctx = {.dims = s->n, .nearest = s->mode == NEAREST, .border = s->border,
            .align_corners = s->align_corners, .channels = channels,
            .points = s->points}};
  ST_TRY(st__find_task(ST_K_grid_sample, input->dtype, &r.task));
  if (out->numel == 0 || !st__is_cpu(out)) return ST_OK;
  for (int d = 0; d < s->n; d++) r.ctx.size[d] = input->sizes[2 + d];
  r.data[0] = st__data(out);
  r.data[1] = st__data(input);
  r.data[2] = st__data(grid);
  const int64_t blocks = (s->points + ST_GRID_BLOCK - 1) / ST_GRID_BLOCK;
  return st__parallel_try(
    0, blocks * input->sizes[0],
    st__kernel_grain(ST_K_grid_sample) / (ST_GRID_BLOCK * (channels + 4)) + 1,
    run_blocks, &r);
}

ST_BOXED(st__box_grid_samples) {
  const st_tensor *self = st__to_tensor(args), *input, *grid;
  int64_t sizes[2 + ST_SPATIAL_MAX];
  st_tensor *out = NULL;
  st_op_scope c = {.n = 0};
  sampler s;
  ST_TRY(st__check_cpu_or_meta(self));
  ST_TRY(read_sampler(args, self->ndim == 5 ? 3 : 2, &s));
  if (!fits_kernel(&s)) {
    return st__fail(ST_BAD_VALUE, "the kernel reads at most 2^31 - 1 pixels, "
                    "2^24 along a dimension, and not cubically");
  }
  input = st__apply1(&c, ST_OP_contiguous, s.input);
  grid = st__apply1(&c, ST_OP_contiguous, s.grid);
  sizes[0] = self->sizes[0];
  sizes[1] = self->sizes[1];
  for (int d = 0; d < s.n; d++) sizes[2 + d] = s.grid->sizes[1 + d];
  if (st__scope_ok(&c)) {
    const st_tensor *like = st__meta_or(grid, input);
    out = ST_APPLY(&c, ST_OP_new_empty, like, st__of_ints(sizes, s.n + 2));
  }
  if (st__scope_ok(&c)) c.status = run_kernel(&s, input, grid, out);
  return st__scope_return(&c, out, rets);
}

/* -- Operators ------------------------------------------------------------ */

static st_status sample(const st_value *args, int n, st_value *rets) {
  sampler s;
  ST_TRY(read_sampler(args, n, &s));
  const st_dtype dtype = s.input->dtype;
  if ((dtype == ST_FLOAT32 || dtype == ST_FLOAT64) && fits_kernel(&s) &&
      st__has_image_kernels(s.input) &&
      !st__is_recorded(s.input->keys | s.grid->keys)) {
    return st__invoke(ST_OP__grid_samples, 5, args, rets);
  }
  return run_sampler(&s, rets);
}

ST_BOXED(st__box_grid_sampler_2d) { return sample(args, 2, rets); }
ST_BOXED(st__box_grid_sampler_3d) { return sample(args, 3, rets); }

ST_BOXED(st__box_grid_sampler) {
  const st_tensor *input = st__to_tensor(args);
  if (input->ndim != 4 && input->ndim != 5) {
    return st__fail(ST_BAD_SHAPE, "input must have 4 or 5 dimensions, but its "
                    "shape is %s", ST_SHAPE_TEXT(input));
  }
  return st__invoke(input->ndim == 4 ? ST_OP_grid_sampler_2d
                                     : ST_OP_grid_sampler_3d, 5, args, rets);
}
