/* Decoders and encoders of PNG, JPEG and WebP, which know no tensors: they take
 * bytes and fill memory that a function of the caller provides. So a program
 * that fuzzes them needs only the files codec_*.c.
 *
 * Pixels are rows of height x width x channels: gray, gray and alpha, RGB, or
 * RGB and alpha, of 8 bits (uint8_t) or 16 bits (uint16_t).
 */
#ifndef STRIDED_IMAGE_CODEC_H
#define STRIDED_IMAGE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum codec_format {
  CODEC_NONE, CODEC_PNG, CODEC_JPEG, CODEC_WEBP
} codec_format;

/* The channels of decoded pixels; UNCHANGED: those of the file. */
typedef enum codec_mode {
  CODEC_UNCHANGED, CODEC_GRAY, CODEC_GRAY_ALPHA, CODEC_RGB, CODEC_RGB_ALPHA
} codec_mode;

/* Palettes count as RGB, CMYK as RGB, transparent colours as alpha. */
typedef struct codec_header {
  codec_format format;
  uint32_t width, height;
  int channels;    /* 1 to 4 */
  int bits;        /* 8 or 16 */
  int orientation; /* of EXIF, 1 to 8; 1 if the file has none */
} codec_header;

typedef struct codec_error {
  bool no_memory;
  char text[200]; /* why, to follow a name and a colon */
} codec_error;

/* Memory for all pixels of an image; NULL if there is none. The caller frees
 * it, also after a failure. */
typedef void *(*codec_allocate)(void *ctx, const codec_header *h);

typedef struct codec_reader {
  codec_mode mode;
  int64_t max_pixels;  /* larger images are refused before any allocation */
  bool permissive;     /* damage that the decoder can hide is no error */
  codec_allocate allocate;
  /* May be NULL; asked after each row of PNG and JPEG, which ends if it returns
   * true. libwebp cannot be asked to stop. */
  bool (*stop)(void *ctx);
  void *ctx;
} codec_reader;

typedef struct codec_writer {
  codec_format format;
  int quality;       /* of JPEG and WebP, 1 to 100 */
  int compression;   /* of PNG, 0 to 9 */
  bool progressive;  /* JPEG; PNG: interlaced */
  bool lossless;     /* WebP */
  bool full_chroma;  /* JPEG: colour in full resolution (4:4:4) */
} codec_writer;

/* Bytes that codec_encode wrote, from malloc. */
typedef struct codec_bytes { uint8_t *data; size_t n, room; } codec_bytes;

/* What the first bytes say. */
codec_format codec_detect(const uint8_t *bytes, size_t n);
const char *codec_name(codec_format format); /* "png" */

/* All return false with a reason in *error. */

/* Reads the header only. */
bool codec_info(const uint8_t *bytes, size_t n, codec_header *h,
                codec_error *error);
/* h is that of the decoded pixels. */
bool codec_decode(const uint8_t *bytes, size_t n, const codec_reader *r,
                  codec_header *h, codec_error *error);
/* Encodes rows of h->width * h->channels elements. The caller frees
 * out->data. */
bool codec_encode(const codec_header *h, const void *pixels,
                  const codec_writer *w, codec_bytes *out,
                  codec_error *error);

/* -- For the decoders ----------------------------------------------------- */

__attribute__((format(printf, 2, 3)))
bool codec_fail(codec_error *error, const char *format, ...);
bool codec_no_memory(codec_error *error);
/* Checks the size, and sets the channels that the mode asks for. */
bool codec_accept(const codec_reader *r, codec_header *h, codec_error *error);
/* Converts a row of n pixels to other channels: alpha is dropped, or opaque;
 * gray is the luma of BT.601. `from` and `to` do not overlap. */
void codec_convert_row(const void *from, int channels, void *to, int wanted,
                       int bits, size_t n);
/* The orientation in a block of EXIF that begins with the header of TIFF. */
int codec_orientation(const uint8_t *exif, size_t n);
bool codec_append(codec_bytes *out, const void *data, size_t n);

bool codec_png_info(const uint8_t *bytes, size_t n, codec_header *h,
                    codec_error *error);
bool codec_png_decode(const uint8_t *bytes, size_t n, const codec_reader *r,
                      codec_header *h, codec_error *error);
bool codec_png_encode(const codec_header *h, const void *pixels,
                      const codec_writer *w, codec_bytes *out,
                      codec_error *error);
bool codec_jpeg_info(const uint8_t *bytes, size_t n, codec_header *h,
                     codec_error *error);
bool codec_jpeg_decode(const uint8_t *bytes, size_t n, const codec_reader *r,
                       codec_header *h, codec_error *error);
bool codec_jpeg_encode(const codec_header *h, const void *pixels,
                       const codec_writer *w, codec_bytes *out,
                       codec_error *error);
bool codec_webp_info(const uint8_t *bytes, size_t n, codec_header *h,
                     codec_error *error);
bool codec_webp_decode(const uint8_t *bytes, size_t n, const codec_reader *r,
                       codec_header *h, codec_error *error);
bool codec_webp_encode(const codec_header *h, const void *pixels,
                       const codec_writer *w, codec_bytes *out,
                       codec_error *error);

#endif
