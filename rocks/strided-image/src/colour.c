/* Conversions of colours. Bytes, and HSV of floats, have loops of their own,
 * _convert_pixels; the others are composed of operators of aten, so they have
 * derivatives.
 */

#include <math.h>
#include <string.h>

#include "image.h"
#include "luma.h"

/* -- Rows of pixels ------------------------------------------------------- */

/* A row: n pixels, and the strides of channels and pixels, in elements. */
typedef struct pixel_row {
  const void *from;
  void *to;
  int64_t n, from_c, from_w, to_c, to_w;
} pixel_row;

static uint8_t clip(int x) { return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x); }

/* Luma by BT.601 in units of 2^-16, as in Pillow. */
static void gray_row(const pixel_row *p) {
  const uint8_t *in = p->from;
  uint8_t *out = p->to;
  const int64_t c = p->from_c;
  if (c == 1 && p->from_w == 3 && p->to_w == 1) {
    luma_row(in, out, p->n);
    return;
  }
  for (int64_t i = 0; i < p->n; i++, in += p->from_w, out += p->to_w) {
    out[0] = (uint8_t)((19595u * in[0] + 38470u * in[c] + 7471u * in[2 * c] +
                        32768u) >> 16);
  }
}

/* JFIF's matrix in units of 2^-16. */
static void to_ycbcr_row(const pixel_row *p) {
  const uint8_t *in = p->from;
  uint8_t *out = p->to;
  const int64_t c = p->from_c, d = p->to_c;
  const int half = 32768, middle = 128 << 16;
  for (int64_t i = 0; i < p->n; i++, in += p->from_w, out += p->to_w) {
    const int r = in[0], g = in[c], b = in[2 * c];
    out[0] = clip((19595 * r + 38470 * g + 7471 * b + half) >> 16);
    out[d] = clip((-11059 * r - 21709 * g + 32768 * b + middle + half - 1)
                  >> 16);
    out[2 * d] = clip((32768 * r - 27439 * g - 5329 * b + middle + half - 1)
                      >> 16);
  }
}

static void from_ycbcr_row(const pixel_row *p) {
  const uint8_t *in = p->from;
  uint8_t *out = p->to;
  const int64_t c = p->from_c, d = p->to_c;
  const int half = 32768;
  for (int64_t i = 0; i < p->n; i++, in += p->from_w, out += p->to_w) {
    const int y = in[0] << 16, u = in[c] - 128, v = in[2 * c] - 128;
    out[0] = clip((y + 91881 * v + half) >> 16);
    out[d] = clip((y - 22554 * u - 46802 * v + half) >> 16);
    out[2 * d] = clip((y + 116130 * u + half) >> 16);
  }
}

/* Hue, saturation and value, from 0 to 1; hue 0 is red. */
static void to_hsv(double r, double g, double b, double *h, double *s) {
  const double most = fmax(r, fmax(g, b)), least = fmin(r, fmin(g, b));
  const double range = most - least;
  *h = *s = 0;
  if (range == 0) return;
  *s = range / most;
  if (r == most) *h = (g - b) / range;
  else if (g == most) *h = 2 + (b - r) / range;
  else *h = 4 + (r - g) / range;
  *h /= 6;
  if (*h < 0) *h += 1;
}

/* The three values of a sector of the hue, by the sector's number. */
static void from_hsv(double h, double s, double v, double *rgb) {
  static const uint8_t order[6][3] = {{3, 2, 0}, {1, 3, 0}, {0, 3, 2},
                                      {0, 1, 3}, {2, 0, 3}, {3, 0, 1}};
  const double six = (h - floor(h)) * 6, f = six - floor(six);
  if (!(six >= 0 && six <= 6)) { /* the hue is no number */
    rgb[0] = rgb[1] = rgb[2] = NAN;
    return;
  }
  const double parts[] = {v * (1 - s), v * (1 - s * f),
                          v * (1 - s * (1 - f)), v};
  const int sector = (int)six % 6;
  for (int i = 0; i < 3; i++) rgb[i] = parts[order[sector][i]];
}

/* Bytes: hue and saturation are cut off, as in Pillow. */
static void to_hsv_row(const pixel_row *p) {
  const uint8_t *in = p->from;
  uint8_t *out = p->to;
  const int64_t c = p->from_c, d = p->to_c;
  for (int64_t i = 0; i < p->n; i++, in += p->from_w, out += p->to_w) {
    double h, s;
    const uint8_t r = in[0], g = in[c], b = in[2 * c];
    to_hsv(r, g, b, &h, &s);
    out[0] = clip((int)(h * 255));
    out[d] = clip((int)(s * 255));
    out[2 * d] = r > g ? (r > b ? r : b) : g > b ? g : b;
  }
}

static void from_hsv_row(const pixel_row *p) {
  const uint8_t *in = p->from;
  uint8_t *out = p->to;
  const int64_t c = p->from_c, d = p->to_c;
  for (int64_t i = 0; i < p->n; i++, in += p->from_w, out += p->to_w) {
    double rgb[3];
    from_hsv(in[0] / 255., in[c] / 255., in[2 * c], rgb);
    for (int k = 0; k < 3; k++) out[k * d] = clip((int)(rgb[k] + 0.5));
  }
}

#define HSV_ROWS(type, to_name, from_name)                                    \
  static void to_name(const pixel_row *p) {                                   \
    const type *in = p->from;                                                 \
    type *out = p->to;                                                        \
    for (int64_t i = 0; i < p->n; i++, in += p->from_w, out += p->to_w) {     \
      const double r = in[0], g = in[p->from_c], b = in[2 * p->from_c];       \
      const double v = fmax(r, fmax(g, b));                                   \
      double h, s;                                                            \
      to_hsv(r, g, b, &h, &s);                                                \
      out[0] = (type)h;                                                       \
      out[p->to_c] = (type)s;                                                 \
      out[2 * p->to_c] = (type)v;                                             \
    }                                                                         \
  }                                                                           \
  static void from_name(const pixel_row *p) {                                 \
    const type *in = p->from;                                                 \
    type *out = p->to;                                                        \
    for (int64_t i = 0; i < p->n; i++, in += p->from_w, out += p->to_w) {     \
      double rgb[3];                                                          \
      from_hsv(in[0], in[p->from_c], in[2 * p->from_c], rgb);                 \
      for (int k = 0; k < 3; k++) out[k * p->to_c] = (type)rgb[k];            \
    }                                                                         \
  }

HSV_ROWS(float, to_hsv_f32, from_hsv_f32)
HSV_ROWS(double, to_hsv_f64, from_hsv_f64)

/* -- _convert_pixels ------------------------------------------------------ */

typedef enum conversion {
  TO_GRAY, TO_YCBCR, FROM_YCBCR, TO_HSV, FROM_HSV, NCONVERSIONS
} conversion;

typedef void (*row_fn)(const pixel_row *);

/* Loops for uint8, float32, float64. ORDER CONVERSION */
static const struct { int channels; row_fn loops[3]; } CONVERSIONS[] = {
  {1, {gray_row, NULL, NULL}},
  {3, {to_ycbcr_row, NULL, NULL}},
  {3, {from_ycbcr_row, NULL, NULL}},
  {3, {to_hsv_row, to_hsv_f32, to_hsv_f64}},
  {3, {from_hsv_row, from_hsv_f32, from_hsv_f64}},
};

static row_fn loop_of(int64_t kind, st_dtype dtype) {
  const int i = dtype == ST_UINT8 ? 0 : dtype == ST_FLOAT32 ? 1
              : dtype == ST_FLOAT64 ? 2 : -1;
  if (kind < 0 || kind >= NCONVERSIONS || i < 0) return NULL;
  return CONVERSIONS[kind].loops[i];
}

static st_status convert_meta(st_run *r) {
  const st_tensor *self = st_run_tensor(r, 0);
  const int64_t kind = st_run_args(r)[1].u.i;
  TRY(image_check(self, 3, 3));
  if (!loop_of(kind, st_tensor_dtype(self))) {
    return image_bad_dtype(self, kind >= TO_HSV ? "uint8, float32 or float64"
                                                : "uint8");
  }
  const image_layout l = image_layout_of(self);
  return image_set_output(r, self, CONVERSIONS[kind].channels, l.height,
                          l.width, st_tensor_dtype(self));
}

typedef struct convert_job {
  image_layout from, to;
  const char *in;
  char *out;
  int64_t size;
  row_fn loop;
} convert_job;

static void convert_rows(void *ctx, int64_t begin, int64_t end) {
  const convert_job *j = ctx;
  for (int64_t y = begin; y < end; y++) {
    const pixel_row row = {.from = j->in + y * j->from.h * j->size,
                           .to = j->out + y * j->to.h * j->size,
                           .n = j->from.width, .from_c = j->from.c,
                           .from_w = j->from.w, .to_c = j->to.c,
                           .to_w = j->to.w};
    j->loop(&row);
  }
}

static st_status convert_impl(st_run *r) {
  const st_tensor *self = st_run_tensor(r, 0);
  const st_tensor *out = st_maybe_get_output(r, 0);
  const st_dtype dtype = st_tensor_dtype(self);
  convert_job j = {.from = image_layout_of(self), .to = image_layout_of(out),
                   .size = (int64_t)st_dtype_size(dtype),
                   .loop = loop_of(st_run_args(r)[1].u.i, dtype)};
  if (st_tensor_numel(self) == 0) return ST_OK;
  for (int64_t i = 0; i < j.from.batch; i++) {
    j.in = (const char *)st_tensor_data(self) + image_offset(self, i) * j.size;
    j.out = (char *)st_tensor_data(out) + image_offset(out, i) * j.size;
    st_parallel_for(0, j.from.height, 1 + 65536 / (j.from.width + 1),
                    convert_rows, &j);
    TRY(st_poll_interrupt());
  }
  return ST_OK;
}

static st_status convert(const st_value *args, conversion kind,
                         st_value *rets) {
  image_scope s = {0};
  st_tensor *t = image_call_tv(&s, "image::_convert_pixels", "",
                               args[0].u.tensor, of_int(kind));
  return image_return(&s, t, rets);
}

/* -- Matrices of floats --------------------------------------------------- */

/* m[0] red + m[1] green + m[2] blue + m[3] */
static st_tensor *combine(image_scope *s, st_tensor *const *channel,
                          const double *m) {
  st_tensor *t = image_call_tv(s, "aten::mul", "Scalar", channel[0],
                               of_float(m[0]));
  for (int i = 1; i < 3; i++) {
    const st_value args[] = {of_tensor(t), of_tensor(channel[i]),
                             of_float(m[i])};
    if (s->status == ST_OK && m[i] != 0) {
      t = image_call(s, "aten::add", "Tensor", 3, args);
    }
  }
  if (m[3] == 0) return t;
  return image_call_tv(s, "aten::add", "Scalar", t, of_float(m[3]));
}

/* n rows of a matrix over the three channels. */
static st_status multiply(const st_value *args, int n, const double (*m)[4],
                          st_value *rets) {
  image_scope s = {0};
  st_tensor *channel[3], *row[3], *t;
  for (int i = 0; i < 3; i++) {
    const st_value part[] = {args[0], of_int(-3), of_int(i), of_int(1)};
    channel[i] = image_call(&s, "aten::narrow", "", 4, part);
  }
  for (int i = 0; i < n; i++) row[i] = combine(&s, channel, m[i]);
  t = row[0];
  if (n > 1 && s.status == ST_OK) {
    const st_value all[] = {{.tag = ST_TAG_TENSORS, .len = (uint32_t)n,
                             .u.tensors = row}, of_int(-3)};
    t = image_call(&s, "aten::cat", "", 2, all);
  }
  return image_return(&s, t, rets);
}

static const double LUMA[1][4] = {{0.299, 0.587, 0.114, 0}};
static const double YCBCR[3][4] = {
  {0.299, 0.587, 0.114, 0},
  {-0.299 / 1.772, -0.587 / 1.772, 0.886 / 1.772, 0.5},
  {0.701 / 1.402, -0.587 / 1.402, -0.114 / 1.402, 0.5}};
static const double RGB[3][4] = {
  {1, 0, 1.402, -0.701},
  {1, -0.114 * 1.772 / 0.587, -0.299 * 1.402 / 0.587,
   (0.114 * 1.772 + 0.299 * 1.402) / 0.587 / 2},
  {1, 1.772, 0, -0.886}};

/* Bytes by a loop, floats by a matrix. */
static st_status linear(const st_value *args, conversion kind, int n,
                        const double (*m)[4], st_value *rets) {
  const st_tensor *self = args[0].u.tensor;
  TRY(image_check(self, 3, 3));
  if (image_is_float(st_tensor_dtype(self))) {
    return multiply(args, n, m, rets);
  }
  if (st_tensor_dtype(self) != ST_UINT8) {
    return image_bad_dtype(self, "uint8 or floating");
  }
  return convert(args, kind, rets);
}

/* -- Transfer curves ------------------------------------------------------ */

static double linear_of(double x) {
  return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

static double srgb_of(double x) {
  return x <= 0.0031308 ? x * 12.92 : 1.055 * pow(x, 1 / 2.4) - 0.055;
}

/* Bytes by a table of 256. */
static st_tensor *look_up(image_scope *s, st_tensor *t,
                          double (*curve)(double)) {
  static const int64_t n = 256;
  st_tensor *table = NULL;
  s->status = st_tensor_empty(ST_DEVICE_CPU, ST_UINT8, 1, &n, NULL, &table);
  if (s->status != ST_OK) return NULL;
  image_keep(s, table);
  uint8_t *p = st_tensor_data(table);
  for (int i = 0; i < n; i++) p[i] = (uint8_t)lrint(curve(i / 255.) * 255);
  if (st_tensor_device(t) != ST_DEVICE_CPU) {
    table = image_call_tv(s, "aten::to", "prim_Device", table,
                          of_int(st_tensor_device(t)));
  }
  t = image_to(s, t, ST_INT64);
  return image_call_tv(s, "aten::take", "", table, of_tensor(t));
}

/* where(self <= knee, straight, curved); the curve is taken from the knee on,
 * so that its derivative is finite where it is not used. */
static st_tensor *bend(image_scope *s, st_tensor *t, bool to_linear) {
  const double knee = to_linear ? 0.04045 : 0.0031308;
  st_tensor *low = image_call_tv(s, "aten::le", "Scalar", t, of_float(knee));
  st_tensor *straight = image_call_tv(s, "aten::mul", "Scalar", t,
                                      of_float(to_linear ? 1 / 12.92 : 12.92));
  st_tensor *x = image_call_tv(s, "aten::clamp_min", "", t, of_float(knee));
  if (to_linear) {
    x = image_call_tv(s, "aten::add", "Scalar", x, of_float(0.055));
    x = image_call_tv(s, "aten::div", "Scalar", x, of_float(1.055));
  }
  x = image_call_tv(s, "aten::pow", "Tensor_Scalar", x,
                    of_float(to_linear ? 2.4 : 1 / 2.4));
  if (!to_linear) {
    x = image_call_tv(s, "aten::mul", "Scalar", x, of_float(1.055));
    x = image_call_tv(s, "aten::sub", "Scalar", x, of_float(0.055));
  }
  const st_value args[] = {of_tensor(low), of_tensor(straight), of_tensor(x)};
  return image_call(s, "aten::where", "self", 3, args);
}

static st_status transfer(const st_value *args, bool to_linear,
                          st_value *rets) {
  image_scope s = {0};
  st_tensor *self = args[0].u.tensor, *t = NULL;
  if (image_is_float(st_tensor_dtype(self))) {
    t = bend(&s, self, to_linear);
  } else if (st_tensor_dtype(self) == ST_UINT8) {
    t = look_up(&s, self, to_linear ? linear_of : srgb_of);
  } else {
    return image_bad_dtype(self, "uint8 or floating");
  }
  return image_return(&s, t, rets);
}

/* -- Operators ------------------------------------------------------------ */

static st_status rgb_to_gray(const st_call *call, const st_value *args,
                             st_value *rets) {
  (void)call;
  return linear(args, TO_GRAY, 1, LUMA, rets);
}

/* gray_to_rgb(Tensor self) -> Tensor: the channel three times. */
static st_status gray_to_rgb(const st_call *call, const st_value *args,
                             st_value *rets) {
  image_scope s = {0};
  st_tensor *t = args[0].u.tensor, *three[3] = {t, t, t};
  const st_value all[] = {{.tag = ST_TAG_TENSORS, .len = 3,
                           .u.tensors = three}, of_int(-3)};
  (void)call;
  TRY(image_check(t, 3, 1));
  t = image_call(&s, "aten::cat", "", 2, all);
  return image_return(&s, t, rets);
}

static st_status rgb_to_ycbcr(const st_call *call, const st_value *args,
                              st_value *rets) {
  (void)call;
  return linear(args, TO_YCBCR, 3, YCBCR, rets);
}

static st_status ycbcr_to_rgb(const st_call *call, const st_value *args,
                              st_value *rets) {
  (void)call;
  return linear(args, FROM_YCBCR, 3, RGB, rets);
}

static st_status rgb_to_hsv(const st_call *call, const st_value *args,
                            st_value *rets) {
  (void)call;
  return convert(args, TO_HSV, rets);
}

static st_status hsv_to_rgb(const st_call *call, const st_value *args,
                            st_value *rets) {
  (void)call;
  return convert(args, FROM_HSV, rets);
}

static st_status srgb_to_linear(const st_call *call, const st_value *args,
                                st_value *rets) {
  (void)call;
  return transfer(args, true, rets);
}

static st_status linear_to_srgb(const st_call *call, const st_value *args,
                                st_value *rets) {
  (void)call;
  return transfer(args, false, rets);
}

/* -- Registration --------------------------------------------------------- */

static const struct { const char *schema, *doc; st_kernel_fn fn; }
operators[] = {
  {"rgb_to_gray(Tensor self) -> Tensor",
   "Luma by BT.601: 0.299 red + 0.587 green + 0.114 blue.", rgb_to_gray},
  {"gray_to_rgb(Tensor self) -> Tensor", "The channel three times.",
   gray_to_rgb},
  {"rgb_to_ycbcr(Tensor self) -> Tensor",
   "Full-range YCbCr as in JPEG; Cb and Cr are 128 (0.5) for gray.",
   rgb_to_ycbcr},
  {"ycbcr_to_rgb(Tensor self) -> Tensor", "The inverse of rgb_to_ycbcr.",
   ycbcr_to_rgb},
  {"rgb_to_hsv(Tensor self) -> Tensor",
   "Hue, saturation and value, from 0 to 1, of bytes to 255.", rgb_to_hsv},
  {"hsv_to_rgb(Tensor self) -> Tensor", "The inverse of rgb_to_hsv.",
   hsv_to_rgb},
  {"srgb_to_linear(Tensor self) -> Tensor",
   "Linear light from the curve of sRGB, for elements from 0 to 1 or bytes.",
   srgb_to_linear},
  {"linear_to_srgb(Tensor self) -> Tensor", "The inverse of srgb_to_linear.",
   linear_to_srgb},
};

st_status image_register_colour(st_library *lib) {
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    TRY(image_define(lib, operators[i].schema, operators[i].doc,
                     operators[i].fn));
  }
  return image_define_structured(lib, "_convert_pixels(Tensor self, int kind) "
        "-> Tensor", "Converts the colours of pixels; kind: 0 to gray, 1 to "
        "and 2 from YCbCr, 3 to and 4 from HSV.", convert_meta, convert_impl);
}
