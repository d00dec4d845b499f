/* JPEG through libjpeg-turbo. See Note [Jumps] in codec_png.c.
 */

#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs FILE */
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "codec.h"

enum { MAX_SCANS = 500 }; /* each decodes the whole image again */

typedef struct reading {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_error_mgr errors;
  struct jpeg_progress_mgr progress;
  jmp_buf jump;
  bool permissive;
  const codec_reader *to; /* NULL: only the header is read */
  const uint8_t *bytes;
  size_t n;
  codec_header *h;
  codec_error *error;
  uint8_t *pixels, *row; /* row: of CMYK, and of gray that gets alpha */
} reading;

/* -- Errors --------------------------------------------------------------- */

static void say(j_common_ptr jpeg, codec_error *error) {
  char text[JMSG_LENGTH_MAX];
  if (jpeg->err->msg_code == JERR_OUT_OF_MEMORY) {
    codec_no_memory(error);
    return;
  }
  jpeg->err->format_message(jpeg, text);
  codec_fail(error, "libjpeg: %s", text);
}

_Noreturn static void on_error(j_common_ptr jpeg) {
  reading *r = jpeg->client_data;
  say(jpeg, r->error);
  longjmp(r->jump, 1);
}

/* A level of -1 is a warning: the data are damaged, and libjpeg goes on. */
static void on_message(j_common_ptr jpeg, int level) {
  const reading *r = jpeg->client_data;
  if (level < 0 && !r->permissive) on_error(jpeg);
}

/* Called for each row. Thousands of scans in a small file would take
 * minutes. */
static void on_progress(j_common_ptr jpeg) {
  reading *r = jpeg->client_data;
  if (r->to && r->to->stop && r->to->stop(r->to->ctx)) {
    codec_fail(r->error, "stopped");
    longjmp(r->jump, 1);
  }
  if (r->jpeg.input_scan_number <= MAX_SCANS) return;
  codec_fail(r->error, "the image has more than %d scans", MAX_SCANS);
  longjmp(r->jump, 1);
}

/* -- Reading -------------------------------------------------------------- */

static void read_exif(reading *r) {
  for (jpeg_saved_marker_ptr m = r->jpeg.marker_list; m; m = m->next) {
    if (m->data_length < 6 || memcmp(m->data, "Exif\0", 6) != 0) continue;
    r->h->orientation = codec_orientation(m->data + 6, m->data_length - 6);
    return;
  }
}

static bool try_header(reading *r) {
  r->jpeg.err = jpeg_std_error(&r->errors);
  r->jpeg.client_data = r;
  r->errors.error_exit = on_error;
  r->errors.emit_message = on_message;
  r->progress.progress_monitor = on_progress;
  if (setjmp(r->jump)) return false;
  jpeg_create_decompress(&r->jpeg);
  r->jpeg.client_data = r;
  r->jpeg.progress = &r->progress;
  jpeg_mem_src(&r->jpeg, r->bytes, (unsigned long)r->n);
  jpeg_save_markers(&r->jpeg, JPEG_APP0 + 1, 0xffff);
  jpeg_read_header(&r->jpeg, TRUE);
  r->h->width = r->jpeg.image_width;
  r->h->height = r->jpeg.image_height;
  r->h->channels = r->jpeg.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3;
  r->h->bits = 8;
  read_exif(r);
  return true;
}

/* libjpeg converts all but CMYK, and but gray with alpha. */
static void choose_colours(reading *r) {
  static const J_COLOR_SPACE spaces[] = {JCS_GRAYSCALE, JCS_GRAYSCALE,
                                         JCS_RGB, JCS_EXT_RGBA};
  const J_COLOR_SPACE space = r->jpeg.jpeg_color_space;
  const bool is_cmyk = space == JCS_CMYK || space == JCS_YCCK;
  r->jpeg.out_color_space = is_cmyk ? JCS_CMYK : spaces[r->h->channels - 1];
  if (space == JCS_RGB && r->h->channels <= 2) {
    r->jpeg.out_color_space = JCS_RGB;
  }
}

/* CMYK to RGB in place: the ink that is not there, times that of black. Files
 * have the complement of the ink, as Adobe's do, whether they have Adobe's
 * marker or not: browsers and Pillow take all of them so. */
static void convert_cmyk(uint8_t *row, size_t n) {
  uint8_t *to = row;
  for (size_t i = 0; i < n; i++, row += 4, to += 3) {
    const unsigned k = row[3];
    for (int c = 0; c < 3; c++) to[c] = (uint8_t)((row[c] * k + 127) / 255);
  }
}

static void read_rows(reading *r) {
  const size_t width = r->h->width, row = width * (size_t)r->h->channels;
  while (r->jpeg.output_scanline < r->jpeg.output_height) {
    uint8_t *to = r->pixels + r->jpeg.output_scanline * row;
    JSAMPROW into = r->row ? r->row : to;
    int channels = r->jpeg.output_components;
    jpeg_read_scanlines(&r->jpeg, &into, 1);
    if (!r->row) continue;
    if (channels == 4) {
      convert_cmyk(into, width);
      channels = 3;
    }
    codec_convert_row(into, channels, to, r->h->channels, 8, width);
  }
}

static bool try_start(reading *r) {
  if (setjmp(r->jump)) return false;
  choose_colours(r);
  jpeg_start_decompress(&r->jpeg);
  return true;
}

static bool try_rows(reading *r) {
  if (setjmp(r->jump)) return false;
  read_rows(r);
  jpeg_finish_decompress(&r->jpeg);
  return true;
}

static bool make_row(reading *r) {
  const size_t wide = (size_t)r->jpeg.output_components;
  if (r->jpeg.output_width != r->h->width ||
      r->jpeg.output_height != r->h->height) {
    return codec_fail(r->error, "libjpeg gives another size");
  }
  if (wide == (size_t)r->h->channels && r->jpeg.out_color_space != JCS_CMYK) {
    return true;
  }
  r->row = malloc(wide * r->h->width);
  return r->row || codec_no_memory(r->error);
}

static void close_jpeg(reading *r) {
  jpeg_destroy_decompress(&r->jpeg);
  free(r->row);
}

bool codec_jpeg_info(const uint8_t *bytes, size_t n, codec_header *h,
                     codec_error *error) {
  reading r = {.bytes = bytes, .n = n, .h = h, .error = error,
               .permissive = true};
  const bool ok = try_header(&r);
  close_jpeg(&r);
  return ok;
}

/* The pixels come before jpeg_start_decompress, which allocates as many
 * coefficients for progressive images. */
bool codec_jpeg_decode(const uint8_t *bytes, size_t n, const codec_reader *to,
                       codec_header *h, codec_error *error) {
  reading r = {.bytes = bytes, .n = n, .h = h, .error = error,
               .permissive = to->permissive, .to = to};
  bool ok = try_header(&r) && codec_accept(to, h, error);
  if (ok) {
    r.pixels = to->allocate(to->ctx, h);
    ok = r.pixels || codec_no_memory(error);
  }
  ok = ok && try_start(&r) && make_row(&r) && try_rows(&r);
  close_jpeg(&r);
  return ok;
}

/* -- Writing -------------------------------------------------------------- */

typedef struct writing {
  struct jpeg_compress_struct jpeg;
  struct jpeg_error_mgr errors;
  struct jpeg_destination_mgr to;
  jmp_buf jump;
  codec_error *error;
  codec_bytes *out;
  const codec_header *h;
  const uint8_t *pixels;
  const codec_writer *w;
  uint8_t buffer[4096];
} writing;

_Noreturn static void on_write_error(j_common_ptr jpeg) {
  writing *s = jpeg->client_data;
  say(jpeg, s->error);
  longjmp(s->jump, 1);
}

static void on_write_message(j_common_ptr jpeg, int level) {
  (void)jpeg, (void)level;
}

static void on_begin(j_compress_ptr jpeg) {
  writing *s = jpeg->client_data;
  s->to.next_output_byte = s->buffer;
  s->to.free_in_buffer = sizeof s->buffer;
}

static void append(writing *s, size_t n) {
  if (codec_append(s->out, s->buffer, n)) return;
  codec_no_memory(s->error);
  longjmp(s->jump, 1);
}

static boolean on_full(j_compress_ptr jpeg) {
  writing *s = jpeg->client_data;
  append(s, sizeof s->buffer);
  on_begin(jpeg);
  return TRUE;
}

static void on_end(j_compress_ptr jpeg) {
  writing *s = jpeg->client_data;
  append(s, sizeof s->buffer - s->to.free_in_buffer);
}

static void set_up(writing *s) {
  s->jpeg.client_data = s;
  s->to.init_destination = on_begin;
  s->to.empty_output_buffer = on_full;
  s->to.term_destination = on_end;
  s->jpeg.dest = &s->to;
  s->jpeg.image_width = s->h->width;
  s->jpeg.image_height = s->h->height;
  s->jpeg.input_components = s->h->channels;
  s->jpeg.in_color_space = s->h->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&s->jpeg);
  jpeg_set_quality(&s->jpeg, s->w->quality, TRUE);
  if (s->w->full_chroma && s->h->channels == 3) {
    s->jpeg.comp_info[0].h_samp_factor = s->jpeg.comp_info[0].v_samp_factor = 1;
  }
  if (s->w->progressive) jpeg_simple_progression(&s->jpeg);
}

static bool try_write(writing *s) {
  s->jpeg.err = jpeg_std_error(&s->errors);
  s->jpeg.client_data = s;
  s->errors.error_exit = on_write_error;
  s->errors.emit_message = on_write_message;
  if (setjmp(s->jump)) return false;
  jpeg_create_compress(&s->jpeg);
  set_up(s);
  jpeg_start_compress(&s->jpeg, TRUE);
  while (s->jpeg.next_scanline < s->h->height) {
    union { const uint8_t *from; JSAMPROW row; } line = {
      s->pixels + (size_t)s->jpeg.next_scanline * s->h->width *
                  (size_t)s->h->channels};
    jpeg_write_scanlines(&s->jpeg, &line.row, 1);
  }
  jpeg_finish_compress(&s->jpeg);
  return true;
}

bool codec_jpeg_encode(const codec_header *h, const void *pixels,
                       const codec_writer *w, codec_bytes *out,
                       codec_error *error) {
  if (h->channels != 1 && h->channels != 3) {
    return codec_fail(error, "JPEG has no alpha: it takes 1 or 3 channels, "
                      "got %d", h->channels);
  }
  if (h->bits != 8) return codec_fail(error, "JPEG has 8 bits per channel");
  if (h->width > JPEG_MAX_DIMENSION || h->height > JPEG_MAX_DIMENSION) {
    return codec_fail(error, "JPEG has at most %ld pixels in a row or column, "
                      "got %u x %u", JPEG_MAX_DIMENSION, (unsigned)h->width,
                      (unsigned)h->height);
  }
  writing *s = calloc(1, sizeof *s);
  if (!s) return codec_no_memory(error);
  s->h = h;
  s->pixels = pixels;
  s->w = w;
  s->out = out;
  s->error = error;
  const bool ok = try_write(s);
  jpeg_destroy_compress(&s->jpeg);
  free(s);
  return ok;
}
