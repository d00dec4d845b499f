/* A libFuzzer target: any bytes as a picture, FUZZ_TARGET png, jpeg or webp.
 * They are decoded or refused with a reason. What is decoded has every pixel
 * written, has the size that the header says, and comes back from a PNG.
 *
 *     ./dev fuzz 100000 png jpeg webp
 *
 * It is built from the decoders alone, with
 * FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION, which turns checksums off: inputs
 * that are changed at random get to the code behind them. For the same reason
 * the first bytes, which tell the format, stay in most inputs.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/codec.h"

#define CHECK(cond) do {                                                     \
    if (!(cond)) {                                                           \
      fprintf(stderr, "line %d: not so: %s\n", __LINE__, #cond);             \
      abort();                                                               \
    }                                                                        \
  } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
                               unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

enum { MAX_PIXELS = 1 << 14 };

/* Blocks of exactly their size, filled with a byte. */
typedef struct block { uint8_t *data; size_t n; int fill; } block;

static void *allocate(void *ctx, const codec_header *h) {
  block *b = ctx;
  CHECK(!b->data && h->channels >= 1 && h->channels <= 4);
  CHECK(h->bits == 8 || h->bits == 16);
  CHECK((uint64_t)h->width * h->height <= MAX_PIXELS);
  b->n = (size_t)h->width * h->height * (size_t)h->channels *
         (size_t)(h->bits / 8);
  b->data = malloc(b->n);
  if (b->data) memset(b->data, b->fill, b->n);
  return b->data;
}

/* Reasons are text of the library's and of ours. */
static void check_error(const codec_error *error) {
  const size_t n = strnlen(error->text, sizeof error->text);
  CHECK(n > 0 && n < sizeof error->text);
}

static bool decode(const uint8_t *data, size_t size, codec_mode mode,
                   bool permissive, block *b, codec_header *h) {
  codec_error error;
  const codec_reader r = {.mode = mode, .max_pixels = MAX_PIXELS,
                          .permissive = permissive, .allocate = allocate,
                          .ctx = b};
  memset(&error, 'x', sizeof error);
  if (codec_decode(data, size, &r, h, &error)) {
    CHECK(b->data && (mode == CODEC_UNCHANGED || h->channels == (int)mode));
    CHECK(h->orientation >= 1 && h->orientation <= 8);
    return true;
  }
  check_error(&error);
  free(b->data);
  b->data = NULL;
  return false;
}

/* As PNG and back. */
static void check_round_trip(const codec_header *h, const block *b) {
  const codec_writer w = {.format = CODEC_PNG, .compression = 1};
  codec_error error;
  codec_header again;
  codec_bytes bytes;
  block copy = {NULL, 0, 0};
  CHECK(codec_encode(h, b->data, &w, &bytes, &error));
  CHECK(decode(bytes.data, bytes.n, CODEC_UNCHANGED, false, &copy, &again));
  CHECK(again.width == h->width && again.height == h->height);
  CHECK(copy.n == b->n && memcmp(copy.data, b->data, b->n) == 0);
  free(bytes.data);
  free(copy.data);
}

/* What comes first in each format; the length in a RIFF is that of the file. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
                               unsigned seed) {
  static const size_t heads[] = {0, 16, 3, 16}; /* by codec_format */
  const codec_format format = codec_detect(data, size);
  size_t keep = heads[format];
  if (format == CODEC_PNG && seed % 2 == 1) keep = 33; /* with the size */
  if (seed % 16 == 0 || keep >= size) keep = 0;
  size = keep + LLVMFuzzerMutate(data + keep, size - keep, max - keep);
  if (format != CODEC_WEBP || keep == 0) return size;
  for (int i = 0; i < 4; i++) data[4 + i] = (uint8_t)((size - 8) >> 8 * i);
  return size;
}

/* Inputs of other formats are not kept in the corpus. */
static bool is_target(const uint8_t *data, size_t size) {
  const char *target = getenv("FUZZ_TARGET");
  return !target || strcmp(target, codec_name(codec_detect(data, size))) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  codec_header h, info, again;
  codec_error error;
  block b = {NULL, 0, 0}, other = {NULL, 0, 255};
  const codec_mode mode = size ? (codec_mode)(data[size - 1] % 5)
                               : CODEC_UNCHANGED;
  const bool permissive = size && data[size - 1] >= 128;
  memset(&error, 'x', sizeof error);
  const bool has_info = codec_info(data, size, &info, &error);
  if (!has_info) check_error(&error);
  if (!decode(data, size, mode, permissive, &b, &h)) {
    return is_target(data, size) ? 0 : -1;
  }
  CHECK(has_info && info.width == h.width && info.height == h.height);
  CHECK(info.bits == h.bits && info.format == h.format);
  CHECK(decode(data, size, mode, permissive, &other, &again));
  CHECK(b.n == other.n && memcmp(b.data, other.data, b.n) == 0);
  check_round_trip(&h, &b);
  free(b.data);
  free(other.data);
  return 0;
}
