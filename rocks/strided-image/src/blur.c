/* The operators gaussian_blur and box_blur: a filter along the rows, then one
 * along the columns. Borders are reflected, as in torchvision. Floats are
 * convolved by operators of aten, so they have derivatives; bytes have a loop
 * of their own, _blur_bytes.
 */

#include <math.h>
#include <string.h>

#include "image.h"

enum { MAX_KERNEL = 255, BLOCK = 256 };

/* -- Windows ------------------------------------------------------------- */

static st_status check_window(const st_tensor *self, const char *name,
                              int64_t nx, int64_t ny) {
  TRY(image_check(self, 2, 0));
  const image_layout l = image_layout_of(self);
  if (nx < 1 || ny < 1 || nx > MAX_KERNEL || ny > MAX_KERNEL ||
      nx % 2 == 0 || ny % 2 == 0) {
    return st_fail(ST_BAD_VALUE, "%s must be odd, from 1 to %d, got %lld x "
                   "%lld", name, MAX_KERNEL, (long long)ny, (long long)nx);
  }
  if (nx / 2 >= l.width || ny / 2 >= l.height) {
    return st_fail(ST_BAD_VALUE, "%s %lld x %lld is too large to reflect an "
                   "image of %lld x %lld", name, (long long)ny, (long long)nx,
                   (long long)l.height, (long long)l.width);
  }
  return ST_OK;
}

/* -- Bytes ---------------------------------------------------------------- */

/* A pass over rows (step: between the elements of a window) with float32 sums
 * in the order of the window, so that every machine gives the same bytes. */
typedef struct blur_job {
  const image_layout *from, *to;
  const uint8_t *in;
  uint8_t *out;
  float *between;      /* height x width x channels, blurred along the rows */
  const float *wx, *wy;
  int64_t nx, ny;      /* odd */
} blur_job;

static int64_t mirrored(int64_t i, int64_t n) {
  if (i < 0) i = -i;
  return i >= n ? 2 * (n - 1) - i : i;
}

/* Whether the elements of a row are next to each other. */
static bool is_adjacent(const image_layout *l) {
  return l->w == l->channels && (l->channels == 1 || l->c == 1);
}

/* n elements of a row from the x-th on, with all channels, as floats; the
 * columns beyond the image are reflected. */
static void gather(const blur_job *j, int64_t y, int64_t x, int64_t n,
                   float *to) {
  const image_layout *l = j->from;
  const int64_t channels = l->channels;
  const uint8_t *in = j->in + y * l->h;
  int64_t column = x / channels, c = x % channels;
  if (is_adjacent(l) && x >= 0 && x + n <= l->width * channels) {
    for (int64_t i = 0; i < n; i++) to[i] = (float)in[x + i];
    return;
  }
  if (c < 0) column--, c += channels;
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = mirrored(column, l->width);
    to[i] = (float)in[at * l->w + c * l->c];
    if (++c == channels) column++, c = 0;
  }
}

static void blur_across(void *ctx, int64_t begin, int64_t end) {
  const blur_job *j = ctx;
  const int64_t channels = j->from->channels;
  const int64_t row = j->from->width * channels;
  /* More channels are blurred in several turns: see blur_impl. */
  float line[BLOCK + 4 * MAX_KERNEL];
  for (int64_t y = begin; y < end; y++) {
    for (int64_t x = 0; x < row; x += BLOCK) {
      const int64_t n = row - x < BLOCK ? row - x : BLOCK;
      float *out = j->between + y * row + x;
      gather(j, y, x - j->nx / 2 * channels, n + (j->nx - 1) * channels, line);
      for (int64_t i = 0; i < n; i++) out[i] = 0;
      for (int64_t k = 0; k < j->nx; k++) {
        const float w = j->wx[k], *in = line + k * channels;
        for (int64_t i = 0; i < n; i++) out[i] += w * in[i];
      }
    }
  }
}

/* Rounded bytes from the x-th element of row y on. */
static void scatter(const blur_job *j, int64_t y, int64_t x, int64_t n,
                    const float *sum) {
  const image_layout *l = j->to;
  uint8_t *out = j->out + y * l->h, byte[BLOCK];
  for (int64_t i = 0; i < n; i++) {
    const float v = sum[i] < 0 ? 0 : sum[i] > 255 ? 255 : sum[i];
    byte[i] = (uint8_t)(int)(v + 0.5f);
  }
  if (is_adjacent(l)) {
    memcpy(out + x, byte, (size_t)n);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = x + i;
    out[at / l->channels * l->w + at % l->channels * l->c] = byte[i];
  }
}

static void blur_down(void *ctx, int64_t begin, int64_t end) {
  const blur_job *j = ctx;
  const image_layout *l = j->from;
  const int64_t row = l->width * l->channels;
  float sum[BLOCK];
  for (int64_t y = begin; y < end; y++) {
    for (int64_t x = 0; x < row; x += BLOCK) {
      const int64_t n = row - x < BLOCK ? row - x : BLOCK;
      for (int64_t i = 0; i < n; i++) sum[i] = 0;
      for (int64_t k = 0; k < j->ny; k++) {
        const float w = j->wy[k];
        const float *in = j->between +
                          mirrored(y + k - j->ny / 2, l->height) * row + x;
        for (int64_t i = 0; i < n; i++) sum[i] += w * in[i];
      }
      scatter(j, y, x, n, sum);
    }
  }
}

static st_status blur_meta(st_run *r) {
  const st_tensor *self = st_run_tensor(r, 0);
  const st_value *args = st_run_args(r);
  TRY(check_window(self, "the window", args[1].len, args[2].len));
  if (st_tensor_dtype(self) != ST_UINT8) return image_bad_dtype(self, "uint8");
  const image_layout l = image_layout_of(self);
  return image_set_output(r, self, l.channels, l.height, l.width, ST_UINT8);
}

static void make_floats(const st_value *v, float *out) {
  for (uint32_t i = 0; i < v->len; i++) out[i] = (float)v->u.floats[i];
}

/* One image, or a plane of one. */
static void blur_image(blur_job *j) {
  const int64_t row = j->from->width * j->from->channels;
  st_parallel_for(0, j->from->height, 1 + 65536 / (row * j->nx + 1),
                  blur_across, j);
  st_parallel_for(0, j->from->height, 1 + 65536 / (row * j->ny + 1),
                  blur_down, j);
}

/* _blur_bytes(Tensor self, float[] across, float[] down) -> Tensor; images of
 * more than 4 channels are blurred channel by channel. */
static st_status blur_impl(st_run *r) {
  const st_tensor *self = st_run_tensor(r, 0);
  const st_tensor *out = st_maybe_get_output(r, 0);
  const st_value *args = st_run_args(r);
  image_layout from = image_layout_of(self), to = image_layout_of(out);
  float wx[MAX_KERNEL], wy[MAX_KERNEL];
  st_tensor *scratch = NULL;
  blur_job j = {&from, &to, NULL, NULL, NULL, wx, wy, args[1].len,
                args[2].len};
  if (st_tensor_numel(self) == 0) return ST_OK;
  make_floats(&args[1], wx);
  make_floats(&args[2], wy);
  const int64_t planes = from.channels > 4 ? from.channels : 1;
  from.channels /= planes;
  to.channels /= planes;
  const int64_t sizes[] = {from.height, from.width * from.channels};
  TRY(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 2, sizes, NULL, &scratch));
  j.between = st_tensor_data(scratch);
  st_status status = ST_OK;
  for (int64_t i = 0; status == ST_OK && i < from.batch * planes; i++) {
    j.in = (const uint8_t *)st_tensor_data(self) +
           image_offset(self, i / planes) + i % planes * from.c;
    j.out = (uint8_t *)st_tensor_data(out) + image_offset(out, i / planes) +
            i % planes * to.c;
    blur_image(&j);
    status = st_poll_interrupt();
  }
  st_tensor_release(&scratch);
  return status;
}

/* -- Floats --------------------------------------------------------------- */

/* A window of weights as the kernel of a convolution, (1, 1, n, 1) along the
 * columns or (1, 1, 1, n). */
static st_tensor *kernel(image_scope *s, const st_tensor *like,
                         const double *w, int64_t n, bool down) {
  const int64_t sizes[] = {1, 1, down ? n : 1, down ? 1 : n};
  st_tensor *t = NULL;
  if (s->status != ST_OK) return NULL;
  s->status = st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT64, 4, sizes, NULL, &t);
  if (s->status != ST_OK) return NULL;
  image_keep(s, t);
  memcpy(st_tensor_data(t), w, (size_t)n * sizeof *w);
  t = image_to(s, t, st_tensor_dtype(like));
  if (s->status != ST_OK || st_tensor_device(like) == ST_DEVICE_CPU) return t;
  return image_call_tv(s, "aten::to", "prim_Device", t,
                       of_int(st_tensor_device(like)));
}

typedef struct windows { int64_t nx, ny; const double *x, *y; } windows;

/* All images and channels as images of one channel. */
static st_tensor *blur_floats(image_scope *s, st_tensor *self,
                              const windows *w) {
  const image_layout l = image_layout_of(self);
  const int64_t planes[] = {l.batch * l.channels, 1, l.height, l.width};
  const int64_t sides[] = {w->nx / 2, w->ny / 2};
  st_tensor *across = kernel(s, self, w->x, w->nx, false);
  st_tensor *down = kernel(s, self, w->y, w->ny, true);
  st_tensor *t = image_call_tv(s, "aten::reshape", "", self,
                               of_ints(planes, 4));
  const st_value pads[] = {of_tensor(t), of_ints(sides, 2),
                           {.tag = ST_TAG_STRING, .len = 7,
                            .u.string = "reflect"}};
  if (s->status == ST_OK) t = image_call(s, "image::pad", "", 3, pads);
  t = image_call_tv(s, "aten::conv2d", "", t, of_tensor(across));
  t = image_call_tv(s, "aten::conv2d", "", t, of_tensor(down));
  if (s->status != ST_OK) return NULL;
  return image_call_tv(s, "aten::reshape", "", t,
                       of_ints(st_tensor_sizes(self), st_tensor_ndim(self)));
}

/* -- Operators ------------------------------------------------------------ */

static st_status blur(st_tensor *self, const windows *w, st_value *rets) {
  image_scope s = {0};
  st_tensor *t;
  if (image_is_float(st_tensor_dtype(self))) {
    t = blur_floats(&s, self, w);
  } else if (st_tensor_dtype(self) == ST_UINT8) {
    const st_value args[] = {
      of_tensor(self),
      {.tag = ST_TAG_FLOATS, .len = (uint32_t)w->nx, .u.floats = w->x},
      {.tag = ST_TAG_FLOATS, .len = (uint32_t)w->ny, .u.floats = w->y}};
    t = image_call(&s, "image::_blur_bytes", "", 3, args);
  } else {
    return image_bad_dtype(self, "uint8 or floating");
  }
  return image_return(&s, t, rets);
}

static void bell(double *w, int64_t n, double sigma) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    const double x = ((double)i - (double)(n - 1) / 2) / sigma;
    sum += w[i] = exp(-x * x / 2);
  }
  for (int64_t i = 0; i < n; i++) w[i] /= sum;
}

/* kernel_size: {rows, columns}, or one number for both. */
static st_status parse_window(const st_value *args, int64_t *size) {
  const st_value *v = &args[1];
  if (v->len != 1 && v->len != 2) {
    return st_fail(ST_BAD_VALUE, "kernel_size must be a number or {rows, "
                   "columns}, got a list of %u", (unsigned)v->len);
  }
  size[0] = v->u.ints[0];
  size[1] = v->u.ints[v->len - 1];
  return check_window(args[0].u.tensor, "kernel_size", size[1], size[0]);
}

/* sigma: {of the columns, of the rows}, or one for both, or none. */
static st_status parse_sigma(const st_value *v, const int64_t *size,
                             double *sigma) {
  if (v->tag != ST_TAG_NONE && v->len != 1 && v->len != 2) {
    return st_fail(ST_BAD_VALUE, "sigma must be a number or {of the columns, "
                   "of the rows}, got a list of %u", (unsigned)v->len);
  }
  for (int i = 0; i < 2; i++) {
    sigma[i] = 0.3 * ((double)(size[i] - 1) / 2 - 1) + 0.8;
    if (v->tag != ST_TAG_NONE) sigma[i] = v->u.floats[v->len > 1 ? i : 0];
    if (!(sigma[i] > 0) || !isfinite(sigma[i])) {
      return st_fail(ST_BAD_VALUE, "sigma must be positive, got %g",
                     sigma[i]);
    }
  }
  return ST_OK;
}

/* gaussian_blur(Tensor self, int[2] kernel_size, float[2]? sigma=None) ->
 * Tensor */
static st_status gaussian_blur(const st_call *call, const st_value *args,
                               st_value *rets) {
  double x[MAX_KERNEL], y[MAX_KERNEL], sigma[2];
  int64_t size[2] = {1, 1};
  (void)call;
  TRY(parse_window(args, size));
  TRY(parse_sigma(&args[2], size, sigma));
  bell(y, size[0], sigma[0]);
  bell(x, size[1], sigma[1]);
  const windows w = {size[1], size[0], x, y};
  return blur(args[0].u.tensor, &w, rets);
}

/* box_blur(Tensor self, int[2] kernel_size) -> Tensor */
static st_status box_blur(const st_call *call, const st_value *args,
                          st_value *rets) {
  double x[MAX_KERNEL], y[MAX_KERNEL];
  int64_t size[2] = {1, 1};
  (void)call;
  TRY(parse_window(args, size));
  for (int64_t i = 0; i < size[1]; i++) x[i] = 1. / (double)size[1];
  for (int64_t i = 0; i < size[0]; i++) y[i] = 1. / (double)size[0];
  const windows w = {size[1], size[0], x, y};
  return blur(args[0].u.tensor, &w, rets);
}

/* -- Registration --------------------------------------------------------- */

st_status image_register_blur(st_library *lib) {
  TRY(image_define(lib, "gaussian_blur(Tensor self, int[2] kernel_size, "
        "float[2]? sigma=None) -> Tensor",
        "Images (..., H, W) blurred by a Gaussian window {rows, columns}, of "
        "odd sizes; borders are reflected.", gaussian_blur));
  TRY(image_define(lib, "box_blur(Tensor self, int[2] kernel_size) -> Tensor",
        "Images (..., H, W) averaged over a window {rows, columns}, of odd "
        "sizes; borders are reflected.", box_blur));
  return image_define_structured(lib, "_blur_bytes(Tensor self, float[] "
        "across, float[] down) -> Tensor",
        "Filters bytes along the rows, then along the columns.", blur_meta,
        blur_impl);
}
