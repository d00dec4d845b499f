/* What the decoders and encoders have in common: detecting a format, checking
 * sizes, converting channels, EXIF.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"

/* -- Errors --------------------------------------------------------------- */

bool codec_fail(codec_error *error, const char *format, ...) {
  va_list args;
  va_start(args, format);
  error->no_memory = false;
  vsnprintf(error->text, sizeof error->text, format, args);
  va_end(args);
  return false;
}

bool codec_no_memory(codec_error *error) {
  codec_fail(error, "out of memory");
  error->no_memory = true;
  return false;
}

/* -- Formats -------------------------------------------------------------- */

codec_format codec_detect(const uint8_t *bytes, size_t n) {
  if (n >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0) return CODEC_PNG;
  if (n >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0) return CODEC_JPEG;
  if (n >= 12 && memcmp(bytes, "RIFF", 4) == 0 &&
      memcmp(bytes + 8, "WEBP", 4) == 0) {
    return CODEC_WEBP;
  }
  return CODEC_NONE;
}

const char *codec_name(codec_format format) {
  static const char *const names[] = {"", "png", "jpeg", "webp"};
  return names[format];
}

static bool unknown(size_t n, codec_error *error) {
  return codec_fail(error, n == 0 ? "there are no bytes"
                                  : "this is no PNG, JPEG or WebP image");
}

/* -- Sizes and channels --------------------------------------------------- */

bool codec_accept(const codec_reader *r, codec_header *h, codec_error *error) {
  const uint64_t pixels = (uint64_t)h->width * h->height;
  if (pixels == 0) return codec_fail(error, "the image has no pixels");
  if (r->max_pixels < 0 || pixels > (uint64_t)r->max_pixels) {
    return codec_fail(error, "%u x %u pixels are more than max_pixels, %lld",
                      (unsigned)h->width, (unsigned)h->height,
                      (long long)r->max_pixels);
  }
  if (r->mode != CODEC_UNCHANGED) h->channels = (int)r->mode; /* ORDER MODE */
  return true;
}

static unsigned luma(unsigned red, unsigned green, unsigned blue) {
  return (unsigned)((19595 * (uint64_t)red + 38470 * (uint64_t)green +
                     7471 * (uint64_t)blue + 32768) >> 16);
}

/* A macro, because the elements have two types. */
#define CONVERT(name, type, opaque)                                           \
  static void name(const type *from, int have, type *to, int want,            \
                   size_t n) {                                                \
    const bool gray = want <= 2, is_gray = have <= 2;                         \
    for (size_t i = 0; i < n; i++, from += have, to += want) {                \
      const type alpha = (have & 1) == 0 ? from[have - 1] : (opaque);         \
      if (gray) to[0] = is_gray ? from[0]                                     \
                                : (type)luma(from[0], from[1], from[2]);      \
      else for (int c = 0; c < 3; c++) to[c] = from[is_gray ? 0 : c];         \
      if ((want & 1) == 0) to[want - 1] = alpha;                              \
    }                                                                         \
  }

CONVERT(convert8, uint8_t, 255)
CONVERT(convert16, uint16_t, 65535)

void codec_convert_row(const void *from, int channels, void *to, int wanted,
                       int bits, size_t n) {
  if (channels == wanted) {
    memcpy(to, from, n * (size_t)channels * (size_t)(bits / 8));
  } else if (bits == 16) {
    convert16(from, channels, to, wanted, n);
  } else {
    convert8(from, channels, to, wanted, n);
  }
}

/* -- EXIF ----------------------------------------------------------------- */

static unsigned read_int(const uint8_t *p, int n, bool big) {
  unsigned value = 0;
  for (int i = 0; i < n; i++) {
    value |= (unsigned)p[i] << 8 * (big ? n - 1 - i : i);
  }
  return value;
}

int codec_orientation(const uint8_t *exif, size_t n) {
  if (n < 8) return 1;
  const bool big = memcmp(exif, "MM\0*", 4) == 0;
  if (!big && memcmp(exif, "II*\0", 4) != 0) return 1;
  const size_t at = read_int(exif + 4, 4, big);
  if (at > n - 2) return 1;
  const unsigned entries = read_int(exif + at, 2, big);
  for (size_t i = 0, entry = at + 2; i < entries; i++, entry += 12) {
    if (entry + 12 > n) return 1;
    if (read_int(exif + entry, 2, big) != 0x0112) continue;
    const unsigned value = read_int(exif + entry + 8, 2, big);
    return value >= 1 && value <= 8 ? (int)value : 1;
  }
  return 1;
}

/* -- Bytes ---------------------------------------------------------------- */

bool codec_append(codec_bytes *out, const void *data, size_t n) {
  if (n > out->room - out->n) {
    size_t room = out->room ? out->room : 1 << 14;
    while (room - out->n < n) room *= 2;
    uint8_t *grown = realloc(out->data, room);
    if (!grown) return false;
    out->data = grown;
    out->room = room;
  }
  memcpy(out->data + out->n, data, n);
  out->n += n;
  return true;
}

/* -- Entry points --------------------------------------------------------- */

bool codec_info(const uint8_t *bytes, size_t n, codec_header *h,
                codec_error *error) {
  *h = (codec_header){.format = codec_detect(bytes, n), .orientation = 1};
  switch (h->format) {
    case CODEC_PNG: return codec_png_info(bytes, n, h, error);
    case CODEC_JPEG: return codec_jpeg_info(bytes, n, h, error);
    case CODEC_WEBP: return codec_webp_info(bytes, n, h, error);
    case CODEC_NONE: break;
  }
  return unknown(n, error);
}

bool codec_decode(const uint8_t *bytes, size_t n, const codec_reader *r,
                  codec_header *h, codec_error *error) {
  *h = (codec_header){.format = codec_detect(bytes, n), .orientation = 1};
  switch (h->format) {
    case CODEC_PNG: return codec_png_decode(bytes, n, r, h, error);
    case CODEC_JPEG: return codec_jpeg_decode(bytes, n, r, h, error);
    case CODEC_WEBP: return codec_webp_decode(bytes, n, r, h, error);
    case CODEC_NONE: break;
  }
  return unknown(n, error);
}

bool codec_encode(const codec_header *h, const void *pixels,
                  const codec_writer *w, codec_bytes *out,
                  codec_error *error) {
  *out = (codec_bytes){NULL, 0, 0};
  switch (w->format) {
    case CODEC_PNG: return codec_png_encode(h, pixels, w, out, error);
    case CODEC_JPEG: return codec_jpeg_encode(h, pixels, w, out, error);
    case CODEC_WEBP: return codec_webp_encode(h, pixels, w, out, error);
    case CODEC_NONE: break;
  }
  return codec_fail(error, "there is no encoder for this format");
}
