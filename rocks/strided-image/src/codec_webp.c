/* WebP through libwebp, which reports errors by status and does not jump.
 */

#include <stdlib.h>
#include <string.h>

#include <webp/decode.h>
#include <webp/encode.h>

#include "codec.h"

/* -- Reading -------------------------------------------------------------- */

static bool fail(codec_error *error, VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return codec_no_memory(error);
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return codec_fail(error, "libwebp: the data are truncated");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return codec_fail(error, "libwebp: a feature is not supported");
    default: return codec_fail(error, "libwebp: the data are damaged");
  }
}

static uint32_t read32(const uint8_t *p) {
  return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
         (uint32_t)p[3] << 24;
}

/* Chunks are a name, a length and bytes, to an even number of them. */
static int read_orientation(const uint8_t *bytes, size_t n) {
  size_t at = 12;
  while (n - at >= 8) {
    const size_t length = read32(bytes + at + 4), left = n - at - 8;
    const uint8_t *data = bytes + at + 8;
    if (length > left) return 1;
    if (memcmp(bytes + at, "EXIF", 4) == 0) {
      const bool named = length >= 6 && memcmp(data, "Exif\0", 6) == 0;
      return codec_orientation(data + (named ? 6 : 0),
                               length - (named ? 6 : 0));
    }
    if (length + (length & 1) > left) return 1;
    at += 8 + length + (length & 1);
  }
  return 1;
}

bool codec_webp_info(const uint8_t *bytes, size_t n, codec_header *h,
                     codec_error *error) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(bytes, n, &features);
  if (status != VP8_STATUS_OK) return fail(error, status);
  if (features.has_animation) {
    return codec_fail(error, "this WebP image is an animation, which is not "
                      "read");
  }
  h->width = (uint32_t)features.width;
  h->height = (uint32_t)features.height;
  h->channels = features.has_alpha ? 4 : 3;
  h->bits = 8;
  h->orientation = read_orientation(bytes, n);
  return true;
}

/* Decodes to RGB, or RGB and alpha. */
static bool decode(const uint8_t *bytes, size_t n, const codec_header *h,
                   int channels, uint8_t *to, codec_error *error) {
  WebPDecoderConfig config;
  const size_t row = (size_t)h->width * (size_t)channels;
  if (!WebPInitDecoderConfig(&config)) return codec_no_memory(error);
  config.output.colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = to;
  config.output.u.RGBA.stride = (int)row;
  config.output.u.RGBA.size = row * h->height;
  const VP8StatusCode status = WebPDecode(bytes, n, &config);
  WebPFreeDecBuffer(&config.output);
  return status == VP8_STATUS_OK || fail(error, status);
}

bool codec_webp_decode(const uint8_t *bytes, size_t n, const codec_reader *r,
                       codec_header *h, codec_error *error) {
  if (!codec_webp_info(bytes, n, h, error)) return false;
  if (!codec_accept(r, h, error)) return false;
  uint8_t *pixels = r->allocate(r->ctx, h), *colours = pixels;
  const size_t size = (size_t)h->width * h->height;
  const int channels = (h->channels & 1) == 0 ? 4 : 3;
  if (!pixels) return codec_no_memory(error);
  if (h->channels < 3) colours = malloc(size * (size_t)channels);
  if (!colours) return codec_no_memory(error);
  const bool ok = decode(bytes, n, h, channels, colours, error);
  if (colours != pixels) {
    if (ok) codec_convert_row(colours, channels, pixels, h->channels, 8, size);
    free(colours);
  }
  return ok;
}

/* -- Writing -------------------------------------------------------------- */

static int on_write(const uint8_t *data, size_t n, const WebPPicture *p) {
  return codec_append(p->custom_ptr, data, n);
}

static bool import(WebPPicture *p, const codec_header *h, const uint8_t *rows,
                   codec_error *error) {
  const int row = (int)h->width * h->channels;
  const int ok = h->channels == 4 ? WebPPictureImportRGBA(p, rows, row)
                                  : WebPPictureImportRGB(p, rows, row);
  return ok || codec_no_memory(error);
}

static bool encode(WebPPicture *p, const codec_header *h, const uint8_t *rows,
                   const codec_writer *w, codec_error *error) {
  WebPConfig config;
  if (!WebPConfigInit(&config)) return codec_no_memory(error);
  config.quality = w->lossless ? 75 : (float)w->quality;
  config.lossless = w->lossless;
  config.exact = w->lossless; /* also the colours of transparent pixels */
  p->use_argb = w->lossless;
  p->width = (int)h->width;
  p->height = (int)h->height;
  p->writer = on_write;
  if (!import(p, h, rows, error)) return false;
  if (WebPEncode(&config, p)) return true;
  if (p->error_code == VP8_ENC_ERROR_OUT_OF_MEMORY ||
      p->error_code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY ||
      p->error_code == VP8_ENC_ERROR_BAD_WRITE) {
    return codec_no_memory(error);
  }
  return codec_fail(error, "libwebp: error %d", (int)p->error_code);
}

bool codec_webp_encode(const codec_header *h, const void *pixels,
                       const codec_writer *w, codec_bytes *out,
                       codec_error *error) {
  codec_header colour = *h;
  const size_t size = (size_t)h->width * h->height;
  uint8_t *colours = NULL;
  WebPPicture picture;
  if (h->bits != 8) return codec_fail(error, "WebP has 8 bits per channel");
  if (h->width > WEBP_MAX_DIMENSION || h->height > WEBP_MAX_DIMENSION) {
    return codec_fail(error, "WebP has at most %d pixels in a row or column, "
                      "got %u x %u", WEBP_MAX_DIMENSION, (unsigned)h->width,
                      (unsigned)h->height);
  }
  if (!WebPPictureInit(&picture)) return codec_no_memory(error);
  picture.custom_ptr = out;
  if (h->channels < 3) {
    colour.channels = h->channels + 2;
    colours = malloc(size * (size_t)colour.channels);
    if (!colours) return codec_no_memory(error);
    codec_convert_row(pixels, h->channels, colours, colour.channels, 8, size);
  }
  const bool ok = encode(&picture, &colour, colours ? colours : pixels, w,
                         error);
  WebPPictureFree(&picture);
  free(colours);
  return ok;
}
