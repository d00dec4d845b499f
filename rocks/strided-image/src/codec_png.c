/* PNG through libpng.
 *
 * Note [Jumps]
 * libpng and libjpeg report an error by a longjmp to the setjmp of the call.
 * The function that calls setjmp has no variables that it needs afterwards: all
 * state is in a struct of its caller, which releases it on both ways.
 */

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "codec.h"

typedef struct reading {
  png_structp png;
  png_infop info;
  const uint8_t *bytes;
  size_t n, at;
  codec_header *h;
  codec_error *error;
  const codec_reader *to; /* NULL: only the header is read */
  int channels; /* of the rows that libpng gives */
  uint8_t *rows, *pixels;
  png_bytepp starts; /* of rows, for interlaced images */
} reading;

/* -- Reading -------------------------------------------------------------- */

static void on_error(png_structp png, png_const_charp text) {
  codec_error *error = png_get_error_ptr(png);
  if (!error->text[0]) codec_fail(error, "libpng: %s", text);
  png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
  (void)png, (void)text;
}

static void on_read(png_structp png, png_bytep to, size_t n) {
  reading *r = png_get_io_ptr(png);
  if (n > r->n - r->at) {
    codec_fail(r->error, "the data are truncated: they end after %zu bytes",
               r->n);
    png_error(png, "truncated");
  }
  memcpy(to, r->bytes + r->at, n);
  r->at += n;
}

static void on_row(png_structp png, png_uint_32 row, int pass) {
  reading *r = png_get_io_ptr(png);
  (void)row, (void)pass;
  if (!r->to->stop(r->to->ctx)) return;
  codec_fail(r->error, "stopped");
  png_longjmp(png, 1);
}

static bool open_png(reading *r) {
  r->error->text[0] = 0;
  r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r->error, on_error,
                                  on_warning);
  r->info = r->png ? png_create_info_struct(r->png) : NULL;
  return r->info || codec_no_memory(r->error);
}

static void close_png(reading *r) {
  if (r->png) png_destroy_read_struct(&r->png, &r->info, NULL);
  free(r->rows);
  free(r->starts);
}

/* Chunks that are not needed are skipped, among them all that inflate. */
static void set_limits(reading *r) {
  png_set_read_fn(r->png, r, on_read);
  if (r->to && r->to->stop) png_set_read_status_fn(r->png, on_row);
  png_set_user_limits(r->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_chunk_malloc_max(r->png, 1 << 20);
  png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
  png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_AS_DEFAULT,
                              (png_const_bytep)"eXIf", 1);
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  png_set_crc_action(r->png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
  png_set_option(r->png, PNG_IGNORE_ADLER32, PNG_OPTION_ON);
#endif
}

static void read_header(reading *r) {
  png_bytep exif;
  png_uint_32 n;
  set_limits(r);
  png_read_info(r->png, r->info);
  const int type = png_get_color_type(r->png, r->info);
  const bool has_alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 ||
                         png_get_valid(r->png, r->info, PNG_INFO_tRNS);
  r->h->width = png_get_image_width(r->png, r->info);
  r->h->height = png_get_image_height(r->png, r->info);
  r->h->bits = png_get_bit_depth(r->png, r->info) == 16 ? 16 : 8;
  r->h->channels = (type & PNG_COLOR_MASK_COLOR ? 3 : 1) + has_alpha;
  r->channels = r->h->channels;
  if (png_get_eXIf_1(r->png, r->info, &n, &exif)) {
    r->h->orientation = codec_orientation(exif, n);
  }
}

static bool try_header(reading *r) {
  if (setjmp(png_jmpbuf(r->png))) return false;
  read_header(r);
  return true;
}

bool codec_png_info(const uint8_t *bytes, size_t n, codec_header *h,
                    codec_error *error) {
  reading r = {.bytes = bytes, .n = n, .h = h, .error = error};
  const bool ok = open_png(&r) && try_header(&r);
  close_png(&r);
  return ok;
}

/* Elements of 8 or 16 bits in the order of this machine. */
static void set_transforms(reading *r) {
  const uint16_t one = 1;
  png_set_expand(r->png);
  if (*(const uint8_t *)&one == 1) png_set_swap(r->png);
  png_set_interlace_handling(r->png);
  png_read_update_info(r->png, r->info);
}

static void finish(reading *r) {
  const size_t wide = (size_t)r->h->width * (size_t)(r->h->bits / 8);
  const size_t to = wide * (size_t)r->h->channels;
  const bool whole = r->starts != NULL;
  if (whole) png_read_image(r->png, r->starts);
  for (uint32_t y = 0; y < r->h->height; y++) {
    uint8_t *out = r->pixels + y * to;
    uint8_t *row = whole ? r->starts[y] : r->rows ? r->rows : out;
    if (!whole) png_read_row(r->png, row, NULL);
    if (row == out) continue;
    codec_convert_row(row, r->channels, out, r->h->channels, r->h->bits,
                      r->h->width);
  }
  png_read_end(r->png, NULL);
}

static bool try_prepare(reading *r) {
  if (setjmp(png_jmpbuf(r->png))) return false;
  set_transforms(r);
  return true;
}

static bool try_pixels(reading *r) {
  if (setjmp(png_jmpbuf(r->png))) return false;
  finish(r);
  return true;
}

/* The rows go to the pixels directly, unless their channels are converted. */
static bool make_rows(reading *r) {
  const size_t row = png_get_rowbytes(r->png, r->info);
  const size_t height = r->h->height;
  const bool whole = png_get_interlace_type(r->png, r->info) !=
                     PNG_INTERLACE_NONE;
  uint8_t *at = r->pixels;
  if (row != (size_t)r->h->width * (size_t)(r->h->bits / 8) *
             (size_t)r->channels) {
    return codec_fail(r->error, "libpng gives rows of %zu bytes", row);
  }
  if (r->channels != r->h->channels) {
    at = r->rows = malloc(whole ? row * height : row);
    if (!at) return codec_no_memory(r->error);
  }
  if (!whole) return true;
  r->starts = malloc(height * sizeof *r->starts);
  if (!r->starts) return codec_no_memory(r->error);
  for (size_t y = 0; y < height; y++) r->starts[y] = at + y * row;
  return true;
}

bool codec_png_decode(const uint8_t *bytes, size_t n, const codec_reader *to,
                      codec_header *h, codec_error *error) {
  reading r = {.bytes = bytes, .n = n, .h = h, .error = error, .to = to};
  bool ok = open_png(&r) && try_header(&r) && codec_accept(to, h, error) &&
            try_prepare(&r);
  if (ok) {
    r.pixels = to->allocate(to->ctx, h);
    ok = r.pixels ? make_rows(&r) : codec_no_memory(error);
  }
  ok = ok && try_pixels(&r);
  close_png(&r);
  return ok;
}

/* -- Writing -------------------------------------------------------------- */

typedef struct writing {
  png_structp png;
  png_infop info;
  const codec_header *h;
  const uint8_t *pixels;
  const codec_writer *w;
  codec_bytes *out;
} writing;

static void on_write(png_structp png, png_bytep data, size_t n) {
  if (!codec_append(png_get_io_ptr(png), data, n)) {
    codec_no_memory(png_get_error_ptr(png));
    png_error(png, "out of memory");
  }
}

static void on_flush(png_structp png) { (void)png; }

static bool try_write(writing *s) {
  static const int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                              PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  const codec_header *h = s->h;
  const uint16_t one = 1;
  const size_t row = (size_t)h->width * (size_t)h->channels *
                     (size_t)(h->bits / 8);
  if (setjmp(png_jmpbuf(s->png))) return false;
  png_set_write_fn(s->png, s->out, on_write, on_flush);
  png_set_compression_level(s->png, s->w->compression);
  png_set_IHDR(s->png, s->info, h->width, h->height, h->bits,
               types[h->channels - 1], s->w->progressive
               ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(s->png, s->info);
  if (h->bits == 16 && *(const uint8_t *)&one == 1) png_set_swap(s->png);
  for (int pass = png_set_interlace_handling(s->png); pass > 0; pass--) {
    for (uint32_t y = 0; y < h->height; y++) {
      png_write_row(s->png, s->pixels + y * row);
    }
  }
  png_write_end(s->png, s->info);
  return true;
}

bool codec_png_encode(const codec_header *h, const void *pixels,
                      const codec_writer *w, codec_bytes *out,
                      codec_error *error) {
  writing s = {.h = h, .pixels = pixels, .w = w, .out = out};
  error->text[0] = 0;
  s.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, error, on_error,
                                  on_warning);
  s.info = s.png ? png_create_info_struct(s.png) : NULL;
  const bool ok = s.info ? try_write(&s) : codec_no_memory(error);
  if (s.png) png_destroy_write_struct(&s.png, &s.info);
  return ok;
}
