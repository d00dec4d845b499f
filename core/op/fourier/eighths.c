/* Lines by eighths: the roots of the first pass, and the passes.
 */

#include "op/fourier/eighths.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "kernel/kernel.h"
#include "op/fourier/long_lines.h"

enum {
  ROW = ST_FFT_ROW,
  RADIX = 8,
  OCTET = 8,                        /* blocks */
  ROOTS = (RADIX - 1) * 2 * OCTET   /* of 8 bytes, of an octet */
};

/* Not if they fill an octet and a part of another. */
static bool is_efficient(int64_t blocks) {
  return blocks == OCTET / 2 || blocks == OCTET || blocks > OCTET + 3;
}

bool st__fft_by_eighths(st_fft_kind kind, int64_t n) {
  const bool is_real = kind == ST_FFT_R2C || kind == ST_FFT_C2R;
  const int64_t count = is_real ? n / 2 : n;
  return !(is_real && n % 2 != 0) && st__fft_has_eighths(count) &&
         is_efficient(count / RADIX) && !st__fft_is_long(count);
}

static size_t roots_bytes(int64_t blocks) {
  return (size_t)((blocks + OCTET - 1) / OCTET * ROOTS * 8);
}

/* A part of 8 bytes: of float32, it is there for both lines. */
static void put_part(void *roots, bool is_double, int64_t at, double x) {
  if (is_double) {
    ((double *)roots)[at] = x;
  } else {
    const float both[] = {(float)x, (float)x};
    memcpy((char *)roots + 8 * at, both, sizeof both);
  }
}

/* ORDER fft_eighths */
static void put_roots(void *roots, bool is_double, int64_t blocks) {
  int64_t to = 0;
  for (int64_t first = 0; first < blocks; first += OCTET) {
    const int64_t p = first + OCTET <= blocks ? first :
                      blocks > OCTET ? blocks - OCTET : 0;
    for (int64_t k = 1; k < RADIX; k++, to += 2 * OCTET) {
      for (int i = 0; i < OCTET; i++) {
        const int64_t at =
          blocks < OCTET ? (is_double ? i / 2 : i % blocks)
                         : p + (is_double ? i / 2 + i % 2 * 4 : i);
        double w[2];
        st__fft_root(at * k, RADIX * blocks, w);
        put_part(roots, is_double, to + i, w[0]);
        put_part(roots, is_double, to + OCTET + i, w[1]);
      }
    }
  }
}

st_status st__fft_eighths_init(st_fft_eighths *e, bool backward, bool is_double,
                               int64_t n) {
  const int64_t blocks = n / RADIX;
  ST_TRY(st__fft_passes_init(&e->passes, backward, is_double, n,
                             ST_FFT_OF_LINES));
  e->roots = st__alloc_block(roots_bytes(blocks));
  if (!e->roots) return ST_NO_MEMORY;
  put_roots(e->roots, is_double, blocks);
  return ST_OK;
}

static int64_t blocks_of(const st_fft_eighths *e) {
  return e->passes.length / RADIX;
}

void st__fft_eighths_free(st_fft_eighths *e) {
  if (e->roots) st__free_block(e->roots, roots_bytes(blocks_of(e)));
  e->roots = NULL;
  st__fft_passes_free(&e->passes);
}

int64_t st__fft_eighths_bytes(const st_fft_eighths *e) {
  const int64_t blocks = blocks_of(e), rows = blocks > OCTET ? blocks : OCTET;
  return 2 * rows * ROW;
}

void st__fft_run_eighths(const st_fft_eighths *e, bool is_double, double scale,
                         const st_fft_eighths_lines *l, char *scratch) {
  const st_fft_passes *const p = &e->passes;
  const st_fft_eighths_of c = {
    .blocks = blocks_of(e), .lines = l->count, .in = l->in_pitch,
    .out = l->out_pitch, .are_swapped = p->backward, .factor = scale,
    .count = p->count - 1, .radix = p->radix + 1, .at = p->at + 1};
  char *data[] = {l->out, l->in, e->roots, p->roots, scratch};
  st__task(ST_K_fft_eighths, is_double ? ST_FLOAT64 : ST_FLOAT32)(data, &c);
}
