/* Tiles: gathered, transformed pass by pass, scattered.
 */

#include "op/fourier/tiles.h"

#include <string.h>

#include "base/memory.h"
#include "kernel/fft/butterflies.h"
#include "kernel/kernel.h"
#include "op/fourier/long_lines.h"

enum {
  ROW = ST_FFT_ROW,
  SHORT = 8 /* rows of a tile that vectors do not transpose */
};

bool st__fft_in_tiles(st_fft_kind kind, int64_t n) {
  const bool is_real = kind == ST_FFT_R2C || kind == ST_FFT_C2R;
  const int64_t count = is_real && n % 2 == 0 ? n / 2 : n;
  return count >= 2 &&
         st__fft_has_passes(count) && !st__fft_is_long(count);
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
  return (!t->halving ? n : t->is_full ? 2 * n : n + 1) * ROW;
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

/* Rows k and n - k of pairs are conjugates. */
static void mirror_rows(const st_fft_tile *t, char *tile) {
  const int64_t n = t->passes->length;
  for (int64_t k = 1; k <= n / 2; k++) {
    char *const from = tile + k * ROW, *const to = tile + (n - k) * ROW;
    for (int64_t i = 0; i < ROW; i += t->is_double ? 16 : 8) {
      if (t->is_double) {
        double x[2];
        memcpy(x, from + i, sizeof x);
        x[1] = -x[1];
        memcpy(to + i, x, sizeof x);
      } else {
        float x[2];
        memcpy(x, from + i, sizeof x);
        x[1] = -x[1];
        memcpy(to + i, x, sizeof x);
      }
    }
  }
}

/* Real lines of an odd length: pairs, whose imaginary parts are 0, or halves
 * that are completed. */
static rows read_odd(const st_fft_tile *t, st_fft_lines *in, char *buffer) {
  const st_fft_tile_side *const s = &t->in;
  const int64_t lines = st__fft_tile_lines(t->is_double);
  const size_t part = t->is_double ? 8 : 4;
  in->rows = t->to_real ? t->passes->length / 2 + 1 : t->passes->length;
  if (t->to_real) {
    gather_elements(s, in, 1, lines, buffer);
    for (int64_t k = 0; k < lines; k++) {
      memset(buffer + (2 * (size_t)k + 1) * part, 0, part);
    }
    mirror_rows(t, buffer);
    return (rows){buffer, {ROW, true, true, 0}};
  }
  memset(buffer, 0, (size_t)(in->rows * ROW));
  for (int64_t i = 0; i < in->rows; i++) {
    const char *const from = s->data + i * s->step;
    char *const to = buffer + i * ROW;
    for (int64_t k = 0; k < lines; k++) {
      if (t->is_double) memcpy(to + k * 16, from + in->at[k], 8);
      else memcpy(to + k * 8, from + in->at[k], 4);
    }
  }
  return (rows){buffer, {ROW, true, false, 0}};
}

static void write_real_parts(const st_fft_tile *t, int64_t lines,
                             const st_fft_lines *out, const char *buffer) {
  for (int64_t i = 0; i < t->passes->length; i++, buffer += ROW) {
    char *const to = t->out.data + i * t->out.step;
    for (int64_t k = 0; k < lines; k++) {
      if (t->is_double) memcpy(to + out->at[k], buffer + k * 16, 8);
      else memcpy(to + out->at[k], buffer + k * 8, 4);
    }
  }
}

/* The rows that the passes read first. */
static rows read_rows(const st_fft_tile *t, int64_t lines, st_fft_lines *in,
                      char *buffer) {
  const st_fft_tile_side *const s = &t->in;
  const bool is_half = t->halving && t->to_real;
  if (t->is_odd) return read_odd(t, in, buffer);
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
  if (t->is_odd && t->to_real) {
    write_real_parts(t, lines, out, buffer);
    return;
  }
  if (t->is_odd && t->is_full) mirror_rows(t, buffer);
  else if (t->is_odd) out->rows = n / 2 + 1;
  char *data[] = {s->data, buffer};
  if (l == CONTIGUOUS) {
    st__task(ST_K_fft_scatter, part_of(t))(data, out);
  } else if (l == ELSEWHERE) {
    scatter_elements(s, out, t->to_real ? 2 : 1, lines, buffer);
  }
}

/* Half of the results of odd real lines is written, from a buffer. */
static layout result_layout(const st_fft_tile *t, const st_fft_lines *out,
                            int64_t lines) {
  const layout l = layout_of(t, &t->out, out, lines);
  if (!t->is_odd) return l;
  return l == CONTIGUOUS && !t->to_real && !t->is_full &&
         t->passes->length / 2 + 1 >= SHORT ? CONTIGUOUS : ELSEWHERE;
}

void st__fft_run_tile(const st_fft_tile *t, int64_t lines, st_fft_lines *in,
                      st_fft_lines *out, char *scratch) {
  const bool is_half = t->halving && !t->to_real;
  char *const buffers[2] = {scratch, scratch + buffer_bytes(t)};
  const rows from = read_rows(t, lines, in, buffers[0]);
  char *const last = st__fft_last_buffer(t->passes, from.at == buffers[0],
                                         buffers);
  const layout l = result_layout(t, out, lines);
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
