/* Tiles: gathered, transformed pass by pass, scattered.
 */

#include "op/fft/tiles.h"

#include <string.h>

#include "base/memory.h"
#include "kernel/fft/butterflies.h"
#include "kernel/kernel.h"
#include "op/fft/long_lines.h"

enum {
  ROW = ST_FFT_ROW,
  MOST_BYTES = 1 << 17, /* of a line */
  LEAST_ROW = 1000      /* numbers of one of float64 that is a row */
};

int64_t st__fft_tile_lines(bool is_double) {
  return ROW / (is_double ? 16 : 8);
}

/* Rows for which FFTW takes up to 0.7 times as long. */
static bool is_fftws(bool is_double, int64_t n) {
  static const int16_t lengths[] = {48, 60, 64, 80, 96, 100, 120, 144};
  if (is_double && n < LEAST_ROW) return true;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    if (lengths[i] == n) return true;
  }
  return st__fft_is_fast(n);
}

bool st__fft_in_tiles(st_fft_kind kind, bool is_double, int64_t n,
                      bool are_columns) {
  const bool is_real = kind == ST_FFT_R2C || kind == ST_FFT_C2R;
  const int64_t count = is_real ? n / 2 : n;
  return !(is_real && n % 2 != 0) && count >= 2 &&
         count <= MOST_BYTES / (is_double ? 16 : 8) &&
         st__fft_is_smooth(count) &&
         (are_columns || !is_fftws(is_double, count));
}

/* -- Passes --------------------------------------------------------------- */

/* Factors 15 and 10, powers of 2 up to 16, about the same, and odd primes. */
static void factorize(st_fft_passes *p, int64_t n) {
  static const int primes[] = {13, 11, 7, 5, 3};
  int twos = 0;
  for (; n % 15 == 0; n /= 15) p->radix[p->count++] = 15;
  for (; n % 10 == 0; n /= 10) p->radix[p->count++] = 10;
  for (; n % 2 == 0; n /= 2) twos++;
  for (int left = (twos + 3) / 4; left > 0; left--) {
    const int bits = (twos + left - 1) / left;
    p->radix[p->count++] = 1 << bits;
    twos -= bits;
  }
  for (size_t i = 0; i < sizeof primes / sizeof *primes; i++) {
    for (; n % primes[i] == 0; n /= primes[i]) p->radix[p->count++] = primes[i];
  }
}

static void put_root(char *to, bool is_double, int64_t j, int64_t n) {
  double root[2];
  st__fft_root(j, n, root);
  if (is_double) {
    memcpy(to, root, sizeof root);
  } else {
    const float rounded[] = {(float)root[0], (float)root[1]};
    memcpy(to, rounded, sizeof rounded);
  }
}

/* n: numbers of the transforms that the pass leaves to the next, times R. */
static char *put_roots(char *to, bool is_double, int radix, int64_t n) {
  for (int64_t p = 0; p < n / radix; p++) {
    for (int64_t k = 1; k < radix; k++) {
      put_root(to, is_double, p * k, n);
      to += is_double ? 16 : 8;
    }
  }
  return to;
}

st_status st__fft_passes_init(st_fft_passes *p, bool backward, bool is_double,
                              int64_t n) {
  *p = (st_fft_passes){.length = n, .backward = backward};
  factorize(p, n);
  int64_t roots = 0, left = n;
  for (int i = 0; i < p->count; i++) {
    p->at[i] = roots * (is_double ? 16 : 8);
    roots += left / p->radix[i] * (p->radix[i] - 1);
    left /= p->radix[i];
  }
  p->bytes = (size_t)roots * (is_double ? 16 : 8);
  p->roots = st__alloc_block(p->bytes);
  if (!p->roots) return ST_NO_MEMORY;
  char *to = p->roots;
  left = n;
  for (int i = 0; i < p->count; i++) {
    to = put_roots(to, is_double, p->radix[i], left);
    left /= p->radix[i];
  }
  return ST_OK;
}

void st__fft_passes_free(st_fft_passes *p) {
  if (p->roots) st__free_block(p->roots, p->bytes);
  *p = (st_fft_passes){.count = 0};
}

/* -- Gathering and scattering --------------------------------------------- */

/* Elements of lines that are neither contiguous nor next to each other. A real
 * line is two elements to a row. */
#define EACH_ELEMENT(e, copy)                                               \
  for (int64_t i = 0; i < rows; i++) {                                      \
    for (int64_t part = 0; part < parts; part++) {                          \
      char *const row = tile + i * ROW + part * (e);                        \
      for (int64_t k = 0; k < lines; k++) {                                 \
        const int64_t at = (i * parts + part) * s->step + k * s->pitch;     \
        char *const lane = row + k * parts * (e);                           \
        copy;                                                               \
      }                                                                     \
    }                                                                       \
  }

static void gather(const st_fft_tile_side *s, int64_t rows, int64_t parts,
                   int64_t lines, const char *from, char *tile) {
  const int64_t number = s->size * parts;
  if (lines * number < ROW) memset(tile, 0, (size_t)(rows * ROW));
  if (s->step == s->size) {
    st__fft_transpose(number, tile, ROW, from, s->pitch, lines, rows);
  } else if (s->size == 4) {
    EACH_ELEMENT(4, memcpy(lane, from + at, 4))
  } else if (s->size == 8) {
    EACH_ELEMENT(8, memcpy(lane, from + at, 8))
  } else {
    EACH_ELEMENT(16, memcpy(lane, from + at, 16))
  }
}

static void scatter(const st_fft_tile_side *s, int64_t rows, int64_t parts,
                    int64_t lines, char *tile, char *to) {
  if (s->step == s->size) {
    st__fft_transpose(s->size * parts, to, s->pitch, tile, ROW, rows, lines);
  } else if (s->size == 4) {
    EACH_ELEMENT(4, memcpy(to + at, lane, 4))
  } else if (s->size == 8) {
    EACH_ELEMENT(8, memcpy(to + at, lane, 8))
  } else {
    EACH_ELEMENT(16, memcpy(to + at, lane, 16))
  }
}

/* Row n - k becomes the conjugate of row k, for 0 < k < n - k. */
static void mirror(char *tile, bool is_double, int64_t n) {
  for (int64_t k = 1; k < n - k; k++) {
    char *const from = tile + k * ROW, *const to = tile + (n - k) * ROW;
    if (is_double) {
      const double *const x = (const double *)(const void *)from;
      double *const y = (double *)(void *)to;
      for (int i = 0; i < ROW / 8; i += 2) y[i] = x[i], y[i + 1] = -x[i + 1];
    } else {
      const float *const x = (const float *)(const void *)from;
      float *const y = (float *)(void *)to;
      for (int i = 0; i < ROW / 4; i += 2) y[i] = x[i], y[i + 1] = -x[i + 1];
    }
  }
}

/* -- A tile --------------------------------------------------------------- */

/* Rows in memory. */
typedef struct rows { char *at; int64_t step; } rows;

static int64_t buffer_bytes(const st_fft_tile *t) {
  const int64_t n = t->passes->length;
  return (t->is_full ? 2 * n : t->halving ? n + 1 : n) * ROW;
}

int64_t st__fft_tile_bytes(const st_fft_tile *t) { return 2 * buffer_bytes(t); }

static void transform(const st_fft_tile *t, double factor, rows in, rows out,
                      char *const buffers[2]) {
  const st_fft_passes *const p = t->passes;
  const st_loop loop = st__kernel(ST_K_fft_pass, t->is_double ? ST_FLOAT64
                                                              : ST_FLOAT32);
  st_fft_pass pass = {.backward = p->backward, .blocks = p->length,
                      .stride = 1, .factor = factor};
  for (int i = 0; i < p->count; i++) {
    const rows next = {in.at == buffers[0] ? buffers[1] : buffers[0], ROW};
    const rows to = i == p->count - 1 ? out : next;
    char *data[] = {to.at, in.at, (char *)p->roots + p->at[i]};
    pass.radix = p->radix[i];
    pass.blocks /= pass.radix;
    pass.from_row = in.step;
    pass.to_row = to.step;
    loop(data, NULL, 0, 0, &pass);
    pass.stride *= pass.radix;
    in = to;
  }
}

static void pairs(const st_fft_tile *t, double factor, char *to,
                  const char *from) {
  char *data[] = {to, (char *)(uintptr_t)from, (char *)(uintptr_t)t->halving};
  const st_fft_pairs c = {t->passes->length, factor, t->to_real};
  st__kernel(ST_K_fft_pairs, t->is_double ? ST_FLOAT64 : ST_FLOAT32)
    (data, NULL, 0, 0, &c);
}

static bool is_direct(const st_fft_tile *t, const st_fft_tile_side *s,
                      int64_t lines) {
  return !t->halving && s->pitch == s->size && lines * s->size == ROW;
}

/* Where the last pass writes its tile: not where it reads, unless it is the
 * only one. */
static char *last_buffer(const st_fft_tile *t, bool in_first,
                         char *const buffers[2]) {
  const bool is_even = t->passes->count % 2 == 0;
  return buffers[in_first ? !is_even : is_even];
}

void st__fft_run_tile(const st_fft_tile *t, int64_t lines, const char *in,
                      char *out, char *scratch) {
  const int64_t n = t->passes->length;
  char *const buffers[2] = {scratch, scratch + buffer_bytes(t)};
  rows from = {buffers[0], ROW};
  const bool gathers = !is_direct(t, &t->in, lines);
  if (!gathers) {
    from = (rows){(char *)(uintptr_t)in, t->in.step};
  } else if (t->halving && t->to_real) {
    gather(&t->in, n + 1, 1, lines, in, from.at);
    pairs(t, t->scale, from.at, from.at);
  } else {
    gather(&t->in, n, t->halving ? 2 : 1, lines, in, from.at);
  }
  rows to = {last_buffer(t, gathers, buffers), ROW};
  const bool scatters = !is_direct(t, &t->out, lines);
  if (!scatters) to = (rows){out, t->out.step};
  transform(t, t->halving ? 1 : t->scale, from, to, buffers);
  if (!scatters) return;
  int64_t results = n;
  if (t->halving && !t->to_real) {
    pairs(t, t->scale, to.at, to.at);
    if (t->is_full) mirror(to.at, t->is_double, 2 * n);
    results = t->is_full ? 2 * n : n + 1;
  }
  scatter(&t->out, results, t->halving && t->to_real ? 2 : 1, lines, to.at,
          out);
}
