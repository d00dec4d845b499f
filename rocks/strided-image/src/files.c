/* The operators decode, encode and info: bytes to pixels and back.
 */

#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "image.h"

/* -- Bytes ---------------------------------------------------------------- */

/* A contiguous vector of bytes, which the scope keeps. Not NULL, even without
 * bytes, but after a failure. */
static const uint8_t *bytes_of(image_scope *s, st_tensor *t, size_t *n) {
  if (st_tensor_dtype(t) != ST_UINT8 || st_tensor_ndim(t) != 1) {
    s->status = st_fail(ST_BAD_VALUE, "bytes must be a vector of uint8, got "
                        "%d dimensions of %s", st_tensor_ndim(t),
                        st_dtype_name(st_tensor_dtype(t)));
    return NULL;
  }
  t = image_call_t(s, "aten::contiguous", "", t);
  if (!t) return NULL;
  *n = (size_t)st_tensor_numel(t);
  return *n ? st_tensor_data(t) : (const uint8_t *)"";
}

static st_status fail(const codec_error *error) {
  return st_fail(error->no_memory ? ST_NO_MEMORY : ST_IO, "%s", error->text);
}

/* -- decode --------------------------------------------------------------- */

/* ORDER MODE: codec_mode */
static const char *const MODES[] = {"unchanged", "gray", "gray_alpha", "rgb",
                                    "rgb_alpha"};

static st_status parse_mode(const st_value *v, codec_mode *out) {
  for (int i = 0; i < (int)(sizeof MODES / sizeof *MODES); i++) {
    if (v->len == strlen(MODES[i]) &&
        memcmp(v->u.string, MODES[i], v->len) == 0) {
      *out = (codec_mode)i;
      return ST_OK;
    }
  }
  return st_fail(ST_BAD_VALUE, "mode must be 'unchanged', 'gray', "
                 "'gray_alpha', 'rgb' or 'rgb_alpha', got '%.40s'",
                 v->u.string);
}

typedef struct target { st_status status; st_tensor *t; } target;

/* The tensor (C, H, W) whose memory is H x W x C. */
static void *allocate(void *ctx, const codec_header *h) {
  target *out = ctx;
  const int64_t sizes[] = {h->channels, h->height, h->width};
  const int64_t strides[] = {1, (int64_t)h->width * h->channels, h->channels};
  out->status = st_tensor_empty(ST_DEVICE_CPU,
                                h->bits == 16 ? ST_UINT16 : ST_UINT8, 3,
                                sizes, strides, &out->t);
  return out->status == ST_OK ? st_tensor_data(out->t) : NULL;
}

static bool stop(void *ctx) {
  target *out = ctx;
  out->status = st_poll_interrupt();
  return out->status != ST_OK;
}

static st_status decode(const st_call *call, const st_value *args,
                        st_value *rets) {
  image_scope s = {0};
  target out = {ST_OK, NULL};
  codec_reader r = {.max_pixels = args[2].u.i, .permissive = args[3].u.i != 0,
                    .allocate = allocate, .stop = stop, .ctx = &out};
  codec_header h;
  codec_error error;
  size_t n = 0;
  (void)call;
  TRY(parse_mode(&args[1], &r.mode));
  const uint8_t *bytes = bytes_of(&s, args[0].u.tensor, &n);
  if (bytes && !codec_decode(bytes, n, &r, &h, &error)) {
    s.status = out.status != ST_OK ? out.status : fail(&error);
  }
  if (out.t) image_keep(&s, out.t);
  TRY(image_return(&s, out.t, rets));
  rets[1] = of_int(h.orientation);
  return ST_OK;
}

/* -- info ----------------------------------------------------------------- */

static st_status info(const st_call *call, const st_value *args,
                      st_value *rets) {
  image_scope s = {0};
  codec_header h;
  codec_error error;
  size_t n = 0;
  (void)call;
  const uint8_t *bytes = bytes_of(&s, args[0].u.tensor, &n);
  if (bytes && !codec_info(bytes, n, &h, &error)) s.status = fail(&error);
  TRY(image_leave(&s));
  const char *name = codec_name(h.format);
  TRY(st_value_of_string(name, strlen(name), rets));
  rets[1] = of_int(h.height);
  rets[2] = of_int(h.width);
  rets[3] = of_int(h.channels);
  rets[4] = of_int(h.bits);
  rets[5] = of_int(h.orientation);
  return ST_OK;
}

/* -- encode --------------------------------------------------------------- */

static st_status parse_format(const st_value *v, codec_format *out) {
  for (int i = CODEC_PNG; i <= CODEC_WEBP; i++) {
    const char *name = codec_name((codec_format)i);
    if (v->len == strlen(name) && memcmp(v->u.string, name, v->len) == 0) {
      *out = (codec_format)i;
      return ST_OK;
    }
  }
  return st_fail(ST_BAD_VALUE, "format must be 'png', 'jpeg' or 'webp', got "
                 "'%.40s'", v->u.string);
}

static st_status parse_writer(const st_value *args, codec_writer *w) {
  const int64_t quality = args[2].u.i, compression = args[3].u.i;
  if (quality < 1 || quality > 100) {
    return st_fail(ST_BAD_VALUE, "quality must be 1 to 100, got %lld",
                   (long long)quality);
  }
  if (compression < 0 || compression > 9) {
    return st_fail(ST_BAD_VALUE, "compression must be 0 to 9, got %lld",
                   (long long)compression);
  }
  *w = (codec_writer){.quality = (int)quality,
                      .compression = (int)compression,
                      .progressive = args[4].u.i != 0,
                      .lossless = args[5].u.i != 0,
                      .full_chroma = args[6].u.i != 0};
  return parse_format(&args[1], &w->format);
}

static st_status check_pixels(const st_tensor *t, codec_header *h) {
  const st_dtype dtype = st_tensor_dtype(t);
  const int n = st_tensor_ndim(t);
  if (n < 2) {
    return st_fail(ST_BAD_SHAPE, "image must be (C, H, W) with 1 to 4 "
                   "channels, or (H, W), got %d dimension%s", n,
                   n == 1 ? "" : "s");
  }
  const image_layout l = image_layout_of(t);
  if (n > 3 || l.channels < 1 || l.channels > 4) {
    return st_fail(ST_BAD_SHAPE, "image must be (C, H, W) with 1 to 4 "
                   "channels, or (H, W), got %d dimensions and %lld channels",
                   n, (long long)l.channels);
  }
  if (l.height < 1 || l.width < 1 || l.height > INT32_MAX ||
      l.width > INT32_MAX / 8) {
    return st_fail(ST_BAD_SHAPE, "image must have 1 to 2^28 pixels in a row "
                   "and a column, got %lld x %lld", (long long)l.height,
                   (long long)l.width);
  }
  if (dtype != ST_UINT8 && dtype != ST_UINT16 && dtype != ST_INT32) {
    return st_fail(ST_BAD_DTYPE, "image must be uint8, or uint16 or int32 for "
                   "16 bits, got %s%s", st_dtype_name(dtype),
                   image_is_float(dtype) ? "; for elements from 0 to 1 write "
                   "(t * 255):round():clamp(0, 255):to 'uint8'" : "");
  }
  *h = (codec_header){.width = (uint32_t)l.width,
                      .height = (uint32_t)l.height,
                      .channels = (int)l.channels,
                      .bits = dtype == ST_UINT8 ? 8 : 16, .orientation = 1};
  return ST_OK;
}

/* int32 to uint16. */
static st_tensor *narrow(image_scope *s, st_tensor *t) {
  if (s->status != ST_OK) return NULL;
  const int32_t *from = st_tensor_data(t);
  const int64_t n = st_tensor_numel(t);
  st_tensor *out = NULL;
  for (int64_t i = 0; i < n; i++) {
    if (from[i] >= 0 && from[i] <= 65535) continue;
    s->status = st_fail(ST_BAD_VALUE, "elements of int32 must be 0 to 65535, "
                        "got %d", (int)from[i]);
    return NULL;
  }
  s->status = st_tensor_empty(ST_DEVICE_CPU, ST_UINT16, 1, &n, NULL, &out);
  if (s->status != ST_OK) return NULL;
  uint16_t *to = st_tensor_data(out);
  for (int64_t i = 0; i < n; i++) to[i] = (uint16_t)from[i];
  return image_keep(s, out);
}

static void free_bytes(void *ctx, void *data, size_t nbytes) {
  (void)ctx, (void)nbytes;
  free(data);
}

/* The rows of an image, H x W x C. */
static const void *rows_of(image_scope *s, st_tensor *t) {
  static const int64_t last[] = {1, 2, 0};
  if (st_tensor_ndim(t) == 3) {
    t = image_call_tv(s, "aten::permute", "", t, of_ints(last, 3));
  }
  t = image_call_t(s, "aten::contiguous", "", t);
  if (s->status == ST_OK && st_tensor_dtype(t) == ST_INT32) t = narrow(s, t);
  return s->status == ST_OK ? st_tensor_data(t) : NULL;
}

static st_status encode(const st_call *call, const st_value *args,
                        st_value *rets) {
  image_scope s = {0};
  codec_writer w;
  codec_header h;
  codec_bytes bytes = {NULL, 0, 0};
  codec_error error;
  st_tensor *out = NULL;
  (void)call;
  TRY(parse_writer(args, &w));
  TRY(check_pixels(args[0].u.tensor, &h));
  const void *rows = rows_of(&s, args[0].u.tensor);
  if (rows && !codec_encode(&h, rows, &w, &bytes, &error)) {
    s.status = error.no_memory ? fail(&error)
                               : st_fail(ST_BAD_VALUE, "%s", error.text);
  }
  if (s.status == ST_OK) {
    const int64_t n = (int64_t)bytes.n;
    s.status = st_tensor_wrap(bytes.data, bytes.n, ST_UINT8, 1, &n, NULL, 0,
                              free_bytes, NULL, &out);
  }
  if (s.status == ST_OK) image_keep(&s, out);
  else free(bytes.data);
  return image_return(&s, out, rets);
}

/* -- Registration --------------------------------------------------------- */

static const struct { const char *name, *schema, *doc; st_kernel_fn fn; }
operators[] = {
  {"decode", "decode(Tensor bytes, str mode='unchanged', *, int "
   "max_pixels=134217728, bool permissive=False) -> (Tensor pixels, int "
   "orientation)",
   "The pixels of a PNG, JPEG or WebP file, as (C, H, W) over memory of "
   "H x W x C: uint8, or uint16 for PNG files of 16 bits.", decode},
  {"info", "info(Tensor bytes) -> (str format, int height, int width, int "
   "channels, int bits, int orientation)",
   "The header of a PNG, JPEG or WebP file.", info},
  {"encode", "encode(Tensor image, str format, *, int quality=75, int "
   "compression=6, bool progressive=False, bool lossless=False, bool "
   "full_chroma=False) -> Tensor",
   "The bytes of a PNG, JPEG or WebP file.", encode},
};

st_status image_register_files(st_library *lib) {
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    const st_kernel kernel = {.fn = operators[i].fn,
                              .debug = "strided.image"};
    TRY(st_library_define(lib, operators[i].schema, operators[i].doc, 0,
                          "strided.image"));
    TRY(st_library_implement(lib, operators[i].name, "CPU", &kernel));
  }
  return ST_OK;
}
