/* The operators that move pixels: crop, hflip, vflip, pad, which are composed
 * of operators of aten, and rotate.
 */

#include <math.h>
#include <string.h>

#include "image.h"

/* -- crop, hflip, vflip, pad ---------------------------------------------- */

static st_tensor *narrow(image_scope *s, st_tensor *t, int64_t dim,
                         int64_t start, int64_t length) {
  const st_value args[] = {of_tensor(t), of_int(dim), of_int(start),
                           of_int(length)};
  return image_call(s, "aten::narrow", "", 4, args);
}

/* A negative position counts from the end. */
static st_status find_part(const char *what, int64_t length, int64_t size,
                           int64_t *at) {
  const int64_t first = *at;
  if (first < 0 && first >= -size) *at += size;
  if (*at >= 0 && length >= 0 && *at <= size && length <= size - *at) {
    return ST_OK;
  }
  const int base = st_count_from(0);
  st_count_from(base);
  return st_fail(ST_BAD_INDEX, "%lld %s from %lld are not in an image of "
                 "%lld", (long long)length, what,
                 (long long)(first < 0 ? first : first + base),
                 (long long)size);
}

/* crop(Tensor(a) self, Index top, Index left, int height, int width) ->
 * Tensor(a) */
static st_status crop(const st_call *call, const st_value *args,
                      st_value *rets) {
  image_scope s = {0};
  st_tensor *t = args[0].u.tensor;
  (void)call;
  TRY(image_check(t, 2, 0));
  const image_layout l = image_layout_of(t);
  int64_t top = args[1].u.i, left = args[2].u.i;
  TRY(find_part("rows", args[3].u.i, l.height, &top));
  TRY(find_part("columns", args[4].u.i, l.width, &left));
  t = narrow(&s, t, -2, top, args[3].u.i);
  t = narrow(&s, t, -1, left, args[4].u.i);
  return image_return(&s, t, rets);
}

static st_status flip(const st_value *args, int64_t dim, st_value *rets) {
  image_scope s = {0};
  TRY(image_check(args[0].u.tensor, 2, 0));
  st_tensor *t = image_call_tv(&s, "aten::flip", "", args[0].u.tensor,
                               of_ints(&dim, 1));
  return image_return(&s, t, rets);
}

static st_status hflip(const st_call *call, const st_value *args,
                       st_value *rets) {
  (void)call;
  return flip(args, -1, rets);
}

static st_status vflip(const st_call *call, const st_value *args,
                       st_value *rets) {
  (void)call;
  return flip(args, -2, rets);
}

/* One number for all sides, two for left and right, top and bottom, or four:
 * left, top, right, bottom, as in torchvision. */
static st_status parse_padding(const st_value *v, int64_t *sides) {
  const int64_t *p = v->u.ints;
  if (v->len == 1) {
    for (int i = 0; i < 4; i++) sides[i] = p[0];
  } else if (v->len == 2) {
    sides[0] = sides[2] = p[0];
    sides[1] = sides[3] = p[1];
  } else if (v->len == 4) {
    memcpy(sides, p, 4 * sizeof *sides);
  } else {
    return st_fail(ST_BAD_VALUE, "padding must be 1, 2 or 4 numbers, got %d",
                   (int)v->len);
  }
  for (int i = 0; i < 4; i++) {
    if (sides[i] > 1 << 30) {
      return st_fail(ST_BAD_VALUE, "padding must be at most 2^30, got %lld",
                     (long long)sides[i]);
    }
    if (sides[i] >= 0) continue;
    return st_fail(ST_BAD_VALUE, "padding must not be negative, got %lld; "
                   "crop makes images smaller", (long long)sides[i]);
  }
  return ST_OK;
}

/* Elements of the border by their rows and columns: positions in the image. */
static st_tensor *edge_indices(image_scope *s, const st_tensor *t, bool mirror,
                               int64_t before, int64_t size, int64_t after) {
  const int64_t n = before + size + after;
  st_tensor *index = NULL;
  if (s->status != ST_OK) return NULL;
  s->status = st_tensor_empty(ST_DEVICE_CPU, ST_INT64, 1, &n, NULL, &index);
  if (s->status != ST_OK) return NULL;
  image_keep(s, index);
  int64_t *p = st_tensor_data(index);
  for (int64_t i = 0; i < n; i++) {
    int64_t at = i - before;
    if (mirror) at = at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at;
    p[i] = at < 0 ? 0 : at >= size ? size - 1 : at;
  }
  if (st_tensor_device(t) == ST_DEVICE_CPU) return index;
  return image_call_tv(s, "aten::to", "prim_Device", index,
                       of_int(st_tensor_device(t)));
}

static st_tensor *pad_edges(image_scope *s, st_tensor *t, const int64_t *side,
                            bool mirror) {
  const image_layout l = image_layout_of(t);
  const int64_t sizes[] = {l.width, l.height};
  for (int d = 0; s->status == ST_OK && d < 2; d++) {
    const int64_t least = side[d] > side[2 + d] ? side[d] : side[2 + d];
    if (sizes[d] < 1 || (mirror && least >= sizes[d])) {
      s->status = st_fail(ST_BAD_VALUE, "padding by %s of %lld needs more "
                          "than %lld pixels", mirror ? "reflect" : "replicate",
                          (long long)least, (long long)sizes[d]);
      return NULL;
    }
    if (side[d] == 0 && side[2 + d] == 0) continue;
    st_tensor *index = edge_indices(s, t, mirror, side[d], sizes[d],
                                    side[2 + d]);
    const st_value args[] = {of_tensor(t), of_int(-1 - d), of_tensor(index)};
    t = image_call(s, "aten::index_select", "", 3, args);
  }
  return t;
}

/* pad(Tensor self, int[] padding, str mode='constant', float value=0.) ->
 * Tensor */
static st_status pad(const st_call *call, const st_value *args,
                     st_value *rets) {
  image_scope s = {0};
  st_tensor *t = args[0].u.tensor;
  int64_t side[4];
  const char *mode = args[2].u.string;
  (void)call;
  TRY(image_check(t, 2, 0));
  TRY(parse_padding(&args[1], side));
  if (strcmp(mode, "constant") == 0) {
    const int64_t aten[] = {side[0], side[2], side[1], side[3]};
    const st_value pads[] = {of_tensor(t), of_ints(aten, 4),
                             of_float(float_of(&args[3]))};
    t = image_call(&s, "aten::constant_pad_nd", "", 3, pads);
  } else if (strcmp(mode, "reflect") == 0 || strcmp(mode, "replicate") == 0) {
    t = pad_edges(&s, t, side, mode[2] == 'f');
  } else {
    return st_fail(ST_BAD_VALUE, "mode must be 'constant', 'reflect' or "
                   "'replicate', got '%.40s'", mode);
  }
  return image_return(&s, t, rets);
}

/* -- rotate --------------------------------------------------------------- */

/* rotate(Tensor self, float angle, str mode='nearest', *, bool expand=False,
 * float fill=0.) -> Tensor
 *
 * Pixel (x, y) of the result is the point (a x + b y + c, d x + e y + f) of the
 * image, where pixels have their centers at 0.5. */
typedef struct rotation {
  double a, b, c, d, e, f;
  int64_t height, width; /* of the result */
} rotation;

/* Multiples of 90 degrees are exact. */
static void sine_cosine(double angle, double *sine, double *cosine) {
  static const double exact[] = {0, 1, 0, -1, 0};
  const double turn = angle - 360 * floor(angle / 360);
  const double quarter = turn / 90;
  if (quarter == floor(quarter)) {
    *sine = exact[(int)quarter % 4];
    *cosine = exact[(int)quarter % 4 + 1];
    return;
  }
  const double radians = turn * (3.14159265358979323846 / 180);
  *sine = sin(radians);
  *cosine = cos(radians);
}

/* Counterclockwise, around the center, as in Pillow and torchvision. */
static rotation rotate_by(double angle, bool expand, const image_layout *l) {
  double s, c;
  sine_cosine(angle, &s, &c);
  rotation r = {.a = c, .b = -s, .d = s, .e = c,
                .height = l->height, .width = l->width};
  if (expand) {
    const double w = (double)l->width, h = (double)l->height;
    r.width = (int64_t)ceil(fabs(c) * w + fabs(s) * h - 1e-6);
    r.height = (int64_t)ceil(fabs(s) * w + fabs(c) * h - 1e-6);
  }
  const double x = (double)r.width / 2, y = (double)r.height / 2;
  r.c = (double)l->width / 2 - r.a * x - r.b * y;
  r.f = (double)l->height / 2 - r.d * x - r.e * y;
  return r;
}

typedef struct rotate_job {
  rotation r;
  image_layout from, to;
  const char *in;
  char *out;
  double fill;
  bool smooth;
} rotate_job;

/* The pixel at a point, or fill. */
#define NEAREST(name, type)                                                   \
  static void name(const rotate_job *j, double x, double y, int64_t at) {     \
    const type *in = (const type *)j->in;                                     \
    const int64_t i = (int64_t)floor(y), k = (int64_t)floor(x);               \
    const bool inside = x >= 0 && y >= 0 && k < j->from.width &&              \
                        i < j->from.height;                                   \
    for (int64_t c = 0; c < j->from.channels; c++) {                          \
      ((type *)j->out)[at + c * j->to.c] = inside                             \
        ? in[i * j->from.h + k * j->from.w + c * j->from.c]                   \
        : (type)j->fill;                                                      \
    }                                                                         \
  }
/* The mean of the four pixels around a point; outside there is fill. */
#define BILINEAR(name, type, round)                                           \
  static void name(const rotate_job *j, double x, double y, int64_t at) {     \
    const type *in = (const type *)j->in;                                     \
    const double left = floor(x - 0.5), top = floor(y - 0.5);                 \
    const double u = x - 0.5 - left, v = y - 0.5 - top;                       \
    for (int64_t c = 0; c < j->from.channels; c++) {                          \
      double sum = 0;                                                         \
      for (int q = 0; q < 4; q++) {                                           \
        const double k = left + (q & 1), i = top + (q >> 1);                  \
        const bool inside = k >= 0 && i >= 0 &&                               \
          k < (double)j->from.width && i < (double)j->from.height;            \
        sum += (q & 1 ? u : 1 - u) * (q >> 1 ? v : 1 - v) *                   \
          (inside ? (double)in[(int64_t)i * j->from.h +                       \
            (int64_t)k * j->from.w + c * j->from.c] : j->fill);               \
      }                                                                       \
      ((type *)j->out)[at + c * j->to.c] = (type)round(sum);                  \
    }                                                                         \
  }

NEAREST(nearest_u8, uint8_t)
NEAREST(nearest_i32, int32_t)
NEAREST(nearest_f32, float)
NEAREST(nearest_f64, double)
BILINEAR(bilinear_u8, uint8_t, rint)
BILINEAR(bilinear_i32, int32_t, rint)
BILINEAR(bilinear_f32, float, +)
BILINEAR(bilinear_f64, double, +)

static const struct {
  st_dtype dtype;
  void (*fn[2])(const rotate_job *, double, double, int64_t); /* smooth */
} LOOPS[] = {
  {ST_UINT8, {nearest_u8, bilinear_u8}},
  {ST_INT32, {nearest_i32, bilinear_i32}},
  {ST_FLOAT32, {nearest_f32, bilinear_f32}},
  {ST_FLOAT64, {nearest_f64, bilinear_f64}},
};

static int loops_of(st_dtype dtype) {
  for (int i = 0; i < (int)(sizeof LOOPS / sizeof *LOOPS); i++) {
    if (LOOPS[i].dtype == dtype) return i;
  }
  return -1;
}

typedef struct rotate_rows { rotate_job *job; int loop; } rotate_rows;

static void rotate_range(void *ctx, int64_t begin, int64_t end) {
  const rotate_rows *w = ctx;
  const rotate_job *j = w->job;
  const rotation *r = &j->r;
  for (int64_t y = begin; y < end; y++) {
    for (int64_t x = 0; x < r->width; x++) {
      const double px = (double)x + 0.5, py = (double)y + 0.5;
      LOOPS[w->loop].fn[j->smooth](j, r->a * px + r->b * py + r->c,
                                   r->d * px + r->e * py + r->f,
                                   y * j->to.h + x * j->to.w);
    }
  }
}

static st_status check_fill(st_dtype dtype, double fill) {
  const double most = dtype == ST_UINT8 ? 255 : 2147483647;
  const double least = dtype == ST_UINT8 ? 0 : -2147483648.;
  if (dtype == ST_FLOAT32 || dtype == ST_FLOAT64) return ST_OK;
  if (fill >= least && fill <= most && fill == floor(fill)) return ST_OK;
  return st_fail(ST_BAD_VALUE, "fill must be an element of %s, got %g",
                 st_dtype_name(dtype), fill);
}

static st_status rotate_meta(st_run *run) {
  const st_tensor *self = st_run_tensor(run, 0);
  const st_value *args = st_run_args(run);
  const double angle = float_of(&args[1]);
  const char *mode = args[2].u.string;
  const st_dtype dtype = st_tensor_dtype(self);
  TRY(image_check(self, 2, 0));
  if (loops_of(dtype) < 0) {
    return image_bad_dtype(self, "uint8, int32, float32 or float64");
  }
  if (!isfinite(angle)) {
    return st_fail(ST_BAD_VALUE, "angle must be finite");
  }
  if (strcmp(mode, "nearest") != 0 && strcmp(mode, "bilinear") != 0) {
    return st_fail(ST_BAD_VALUE, "mode must be 'nearest' or 'bilinear', got "
                   "'%.40s'", mode);
  }
  TRY(check_fill(dtype, float_of(&args[4])));
  const image_layout l = image_layout_of(self);
  if (l.height > 1 << 30 || l.width > 1 << 30) {
    return st_fail(ST_BAD_SHAPE, "self must have at most 2^30 pixels in a row "
                   "or column, got %lld x %lld", (long long)l.height,
                   (long long)l.width);
  }
  const rotation r = rotate_by(angle, args[3].u.i != 0, &l);
  return image_set_output(run, self, l.channels, r.height, r.width, dtype);
}

static st_status rotate_images(st_run *run, const st_tensor *self) {
  const st_tensor *out = st_maybe_get_output(run, 0);
  const st_value *args = st_run_args(run);
  const size_t size = st_dtype_size(st_tensor_dtype(self));
  rotate_job j = {.from = image_layout_of(self), .to = image_layout_of(out),
                  .fill = float_of(&args[4]),
                  .smooth = args[2].u.string[0] == 'b'};
  rotate_rows work = {&j, loops_of(st_tensor_dtype(self))};
  j.r = rotate_by(float_of(&args[1]), args[3].u.i != 0, &j.from);
  for (int64_t i = 0; i < j.from.batch; i++) {
    j.in = (const char *)st_tensor_data(self) +
           (size_t)image_offset(self, i) * size;
    j.out = (char *)st_tensor_data(out) + (size_t)image_offset(out, i) * size;
    st_parallel_for(0, j.r.height, 1 + 16384 / (j.r.width + 1), rotate_range,
                    &work);
    TRY(st_poll_interrupt());
  }
  return ST_OK;
}

/* A result in the memory of self, which structured operators allow, would
 * overwrite pixels that are still to be read: self is copied. */
static st_status rotate_impl(st_run *run) {
  image_scope s = {0};
  st_tensor *self = st_run_tensor(run, 0), *out = st_maybe_get_output(run, 0);
  if (st_tensor_numel(out) == 0) return ST_OK;
  if (st_tensor_data(out) == st_tensor_data(self)) {
    self = image_call_t(&s, "aten::clone", "", self);
  }
  if (s.status == ST_OK) s.status = rotate_images(run, self);
  return image_leave(&s);
}

/* -- Registration --------------------------------------------------------- */

st_status image_register_geometry(st_library *lib) {
  TRY(image_define(lib, "crop(Tensor(a) self, Index top, Index left, int "
        "height, int width) -> Tensor(a)",
        "The part of images (..., H, W) from row top and column left on, "
        "which count from the end if they are negative; a view.", crop));
  TRY(image_define(lib, "hflip(Tensor self) -> Tensor",
        "Images (..., H, W) with left and right exchanged.", hflip));
  TRY(image_define(lib, "vflip(Tensor self) -> Tensor",
        "Images (..., H, W) with top and bottom exchanged.", vflip));
  TRY(image_define(lib, "pad(Tensor self, int[] padding, str "
        "mode='constant', float value=0.) -> Tensor",
        "Images (..., H, W) with a border: padding is one number, {left and "
        "right, top and bottom} or {left, top, right, bottom}; mode: constant, "
        "reflect or replicate.", pad));
  return image_define_structured(lib, "rotate(Tensor self, float angle, str "
        "mode='nearest', *, bool expand=False, float fill=0.) -> Tensor",
        "Images (..., H, W) rotated counterclockwise by an angle in degrees "
        "around the center; mode: nearest or bilinear; expand: the result has "
        "all pixels.", rotate_meta, rotate_impl);
}
