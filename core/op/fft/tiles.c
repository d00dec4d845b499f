/* Tiles: gathered, transformed pass by pass, scattered.
 */

#include "op/fft/tiles.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "kernel/fft/butterflies.h"
#include "kernel/kernel.h"
#include "op/fft/long_lines.h"

enum {
  ROW = ST_FFT_ROW,
  MOST_BYTES = 1 << 17, /* of a line */
  SHORT = 8            /* rows of a tile that vectors do not transpose */
};

int64_t st__fft_tile_lines(bool is_double) {
  return ROW / (is_double ? 16 : 8);
}

/* Rows for which FFTW takes 0.6 to 0.95 times as long, of those that are not
 * transformed by eighths. */
static bool is_fftws(bool is_double, int64_t n) {
  if (n > (is_double ? 2500 : 3600) && n % 2 == 0 && n % 9 != 0) return true;
  return n == 48 || n == 80 || (is_double && n == 100);
}

bool st__fft_in_tiles(st_fft_kind kind, bool is_double, int64_t n,
                      bool are_columns) {
  const bool is_real = kind == ST_FFT_R2C || kind == ST_FFT_C2R;
  const int64_t count = is_real ? n / 2 : n;
  return !(is_real && n % 2 != 0) && count >= 2 &&
         count <= MOST_BYTES / (is_double ? 16 : 8) &&
         st__fft_is_smooth(count) &&
         (are_columns || !(st__fft_is_long(count) ||
                           is_fftws(is_double, count)));
}

/* -- Passes --------------------------------------------------------------- */

/* What a row costs in a pass of each radix, about; 0: there is none. Those
 * that need more numbers at once than there are registers cost more. */
static const float costs[] = {
  [2] = 11, [3] = 15, [4] = 14.5f, [5] = 20, [6] = 18, [7] = 25, [8] = 18,
  [9] = 25, [10] = 24, [11] = 34, [12] = 23, [13] = 38, [15] = 34, [16] = 26};
enum { LARGEST = sizeof costs / sizeof *costs - 1 };

/* The cheapest factors of n that are `most` at most, in descending order. */
static float find_factors(int64_t n, int most, int *out) {
  if (n == 1) {
    *out = 0;
    return 0;
  }
  float best = INFINITY;
  for (int r = most; r >= 2; r--) {
    int rest[ST_FFT_MOST_PASSES + 1];
    if (costs[r] == 0 || n % r != 0) continue;
    const float cost = costs[r] + find_factors(n / r, r, rest);
    if (cost >= best) continue;
    best = cost;
    out[0] = r;
    memcpy(out + 1, rest, ST_FFT_MOST_PASSES * sizeof *out);
  }
  return best;
}

/* The last pass turns nothing, so it has the largest radix. */
static void factorize(st_fft_passes *p, int64_t n) {
  int factors[ST_FFT_MOST_PASSES + 1] = {0};
  find_factors(n, LARGEST, factors);
  while (factors[p->count] > 0) p->count++;
  for (int i = 0; i < p->count; i++) {
    p->radix[i] = factors[p->count - 1 - i];
  }
}

int st__fft_count_passes(int64_t n) {
  st_fft_passes p = {.count = 0};
  factorize(&p, n);
  return p.count;
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

void st__fft_run_passes(const st_fft_passes *p, bool is_double, double factor,
                        st_fft_rows_at in, st_fft_rows_at out,
                        char *const buffers[2]) {
  const st_task task = st__task(ST_K_fft_pass, is_double ? ST_FLOAT64
                                                         : ST_FLOAT32);
  st_fft_pass pass = {.blocks = p->length, .stride = 1, .factor = factor};
  for (int i = 0; i < p->count; i++) {
    const st_fft_rows_at next = {
      in.at == buffers[0] ? buffers[1] : buffers[0], {.step = ROW}};
    const st_fft_rows_at to = i == p->count - 1 ? out : next;
    char *data[] = {to.at, in.at, (char *)p->roots + p->at[i]};
    pass.radix = p->radix[i];
    pass.blocks /= pass.radix;
    pass.from = in.of;
    pass.to = to.of;
    task(data, &pass);
    pass.stride *= pass.radix;
    in = to;
  }
}

/* Not where the last pass reads, unless it is the only one. */
char *st__fft_last_buffer(const st_fft_passes *p, bool is_in_first,
                          char *const buffers[2]) {
  const bool is_even = p->count % 2 == 0;
  return buffers[is_in_first ? !is_even : is_even];
}

/* -- Gathering and scattering --------------------------------------------- */

static st_dtype part_of(const st_fft_tile *t) {
  return t->is_double ? ST_FLOAT64 : ST_FLOAT32;
}

/* Elements of lines that are neither contiguous nor next to each other, to
 * pairs. A real line is two elements to a row. */
#define EACH_ELEMENT(e, copy)                                               \
  for (int64_t i = 0; i < rows; i++) {                                      \
    for (int64_t part = 0; part < parts; part++) {                          \
      char *const row = tile + i * ROW + part * (e);                        \
      for (int64_t k = 0; k < lines; k++) {                                 \
        const int64_t at = (i * parts + part) * s->step + c->at[k];         \
        char *const lane = row + k * parts * (e);                           \
        copy;                                                               \
      }                                                                     \
    }                                                                       \
  }

static void gather_elements(const st_fft_tile_side *s, const st_fft_lines *c,
                            int64_t parts, int64_t lines, char *tile) {
  const int64_t rows = c->rows;
  const char *const from = s->data;
  if (s->size == 4) {
    EACH_ELEMENT(4, memcpy(lane, from + at, 4))
  } else if (s->size == 8) {
    EACH_ELEMENT(8, memcpy(lane, from + at, 8))
  } else {
    EACH_ELEMENT(16, memcpy(lane, from + at, 16))
  }
}

static void scatter_elements(const st_fft_tile_side *s, const st_fft_lines *c,
                             int64_t parts, int64_t lines, char *tile) {
  const int64_t rows = c->rows;
  char *const to = s->data;
  if (s->size == 4) {
    EACH_ELEMENT(4, memcpy(to + at, lane, 4))
  } else if (s->size == 8) {
    EACH_ELEMENT(8, memcpy(to + at, lane, 8))
  } else {
    EACH_ELEMENT(16, memcpy(to + at, lane, 16))
  }
}

/* -- A tile --------------------------------------------------------------- */

typedef st_fft_rows_at rows;

static int64_t buffer_bytes(const st_fft_tile *t) {
  const int64_t n = t->passes->length;
  return (t->is_full ? 2 * n : t->halving ? n + 1 : n) * ROW;
}

int64_t st__fft_tile_bytes(const st_fft_tile *t) { return 2 * buffer_bytes(t); }

static void pairs(const st_fft_tile *t, rows to, rows from) {
  char *data[] = {to.at, from.at, (char *)(uintptr_t)t->halving};
  const st_fft_pairs c = {t->passes->length, to.of, from.of, t->scale,
                          t->to_real, t->is_full};
  st__task(ST_K_fft_pairs, part_of(t))(data, &c);
}

/* How the lines of a side lie in memory. */
typedef enum layout { CONTIGUOUS, SIDE_BY_SIDE, ELSEWHERE } layout;

static layout layout_of(const st_fft_tile *t, const st_fft_tile_side *s,
                        const st_fft_lines *c, int64_t lines) {
  if (s->step == s->size && t->passes->length >= SHORT) return CONTIGUOUS;
  if (s->size * lines != ROW) return ELSEWHERE;
  for (int64_t k = 1; k < lines; k++) {
    if (c->at[k] - c->at[k - 1] != s->size) return ELSEWHERE;
  }
  return SIDE_BY_SIDE;
}

/* The rows that the passes read first. */
static rows read_rows(const st_fft_tile *t, int64_t lines, st_fft_lines *in,
                      char *buffer) {
  const st_fft_tile_side *const s = &t->in;
  const bool is_half = t->halving && t->to_real;
  in->are_swapped = t->passes->backward && !t->to_real;
  in->rows = t->passes->length + is_half;
  char *data[] = {buffer, s->data};
  rows from = {buffer, {ROW, true, in->are_swapped, 0}};
  switch (layout_of(t, s, in, lines)) {
  case CONTIGUOUS:
    st__task(ST_K_fft_gather, part_of(t))(data, in);
    from.of.are_pairs = false;
    break;
  case SIDE_BY_SIDE:
    from.at = s->data + in->at[0];
    from.of.step = s->step;
    break;
  default:
    gather_elements(s, in, t->halving && !is_half ? 2 : 1,
                    st__fft_tile_lines(t->is_double), buffer);
  }
  if (!is_half) return from;
  const rows to = {buffer, {.step = ROW, .are_swapped = true}};
  pairs(t, to, from);
  return to;
}

/* Fetches the memory of short results, which the scattering would wait for. */
static void fetch_lines(const st_fft_tile *t, int64_t lines,
                        const st_fft_lines *out) {
  const int64_t bytes = t->passes->length * (t->is_double ? 16 : 8);
  for (int64_t k = 0; k < lines; k++) {
    const char *const line = t->out.data + out->at[k];
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(line + i, 1);
  }
}

static void write_rows(const st_fft_tile *t, int64_t lines, st_fft_lines *out,
                       layout l, char *buffer) {
  const st_fft_tile_side *const s = &t->out;
  const bool is_half = t->halving && !t->to_real;
  const int64_t n = t->passes->length;
  out->are_swapped = t->passes->backward;
  out->rows = !is_half ? n : t->is_full ? 2 * n : n + 1;
  char *data[] = {s->data, buffer};
  if (l == CONTIGUOUS) {
    st__task(ST_K_fft_scatter, part_of(t))(data, out);
  } else if (l == ELSEWHERE) {
    scatter_elements(s, out, t->to_real ? 2 : 1, lines, buffer);
  }
}

void st__fft_run_tile(const st_fft_tile *t, int64_t lines, st_fft_lines *in,
                      st_fft_lines *out, char *scratch) {
  const bool is_half = t->halving && !t->to_real;
  char *const buffers[2] = {scratch, scratch + buffer_bytes(t)};
  const rows from = read_rows(t, lines, in, buffers[0]);
  char *const last = st__fft_last_buffer(t->passes, from.at == buffers[0],
                                         buffers);
  const layout l = layout_of(t, &t->out, out, lines);
  if (l == CONTIGUOUS && t->fetches) fetch_lines(t, lines, out);
  const rows to = {last, {.step = ROW}};
  rows results = {last, {ROW, l != CONTIGUOUS, t->passes->backward, 0}};
  if (l == SIDE_BY_SIDE) {
    results.at = t->out.data + out->at[0];
    results.of.step = t->out.step;
  }
  st__fft_run_passes(t->passes, t->is_double, t->halving ? 1 : t->scale, from,
                     is_half ? to : results, buffers);
  if (is_half) pairs(t, results, to);
  write_rows(t, lines, out, l, last);
}
