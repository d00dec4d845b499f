/* Two passes over a matrix: Note [Long lines].
 */

#include "op/fourier/long_lines.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "kernel/fft/butterflies.h"
#include "kernel/fft/fft.h"
#include "kernel/fft/turn.h"
#include "kernel/kernel.h"
#include "kernel/stream_line.h"

enum {
  LEAST = 1 << 13,        /* numbers of a long line */
  MOST_RATIO = 16,        /* of a factor to the other */
  MOST_CACHED = 12 << 20, /* bytes of a line that caches are for */
  SPACING = 8,            /* rows between tiles that lie one behind the other,
                             so that not all begin in the same set of a cache */
  ROW = ST_FFT_ROW,
  BLOCK = 16              /* rows transposed at a time */
};

/* -- Lengths -------------------------------------------------------------- */

/* How far two factors of n are from each other. */
static int64_t ratio(int64_t n, int64_t d) {
  return d * d > n ? d * d / n : n / d / d;
}

bool st__fft_is_long(int64_t n) { return n >= LEAST && st__fft_is_smooth(n); }

/* Of the factors next to the root of n, the one with the fewest passes. A
 * number without large prime factors has one whose ratio is 13 or less. */
static int64_t rows_of(int64_t n) {
  int64_t best = 0;
  int least = 0;
  for (int64_t d = 2; d <= MOST_RATIO * (n / d); d++) {
    if (n % d != 0 || ratio(n, d) > MOST_RATIO) continue;
    const int count = st__fft_count_passes(d) + st__fft_count_passes(n / d);
    if (best > 0 && (count > least || (count == least &&
                     ratio(n, d) >= ratio(n, best)))) continue;
    best = d;
    least = count;
  }
  return best;
}

/* -- Tables --------------------------------------------------------------- */

typedef struct st_fft_matrix {
  int64_t length, rows, columns;
  st_fft_passes down, along; /* of columns and of rows */
  st_fft_powers powers;      /* with period length */
  void *fine;                /* fft_turn's, for `padded` rows */
  int64_t padded;            /* rows, up to a multiple of FINE */
  size_t bytes;              /* of the block, which begins here */
} st_fft_matrix;

static int64_t rounded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

static void put_fine(st_fft_matrix *m, bool is_double) {
  const int64_t lines = st__fft_tile_lines(is_double);
  char *to = m->fine;
  for (int64_t k = 0; k < m->padded; k++) {
    for (int64_t l = 0; l < lines; l++) {
      double w[2] = {0, 0};
      if (k < m->rows) st__fft_power(&m->powers, l * k, w);
      if (is_double) {
        const double parts[2][2] = {{w[0], w[0]}, {-w[1], w[1]}};
        for (int i = 0; i < 2; i++) {
          memcpy(to + i * ROW + l * 16, parts[i], sizeof parts[i]);
        }
      } else {
        const float re = (float)w[0], im = (float)w[1];
        const float parts[2][2] = {{re, re}, {-im, im}};
        for (int i = 0; i < 2; i++) {
          memcpy(to + i * ROW + l * 8, parts[i], sizeof parts[i]);
        }
      }
    }
    to += 2 * ROW;
  }
}

struct st_fft_matrix *st__fft_matrix(bool backward, bool is_double, int64_t n) {
  const int64_t rows = rows_of(n), padded = rounded(rows, ST_FFT_FINE);
  const int64_t head = rounded(sizeof(st_fft_matrix), ROW);
  const size_t bytes = (size_t)(head + padded * 2 * ROW);
  st_fft_matrix *m = st__alloc_block(bytes);
  if (!m) return NULL;
  *m = (st_fft_matrix){.length = n, .rows = rows, .columns = n / rows,
                       .padded = padded, .bytes = bytes};
  m->fine = (char *)m + head;
  if (st__fft_powers_init(&m->powers, n, !backward) &&
      st__fft_passes_init(&m->down, backward, is_double, rows,
                          ST_FFT_OF_MATRIX) == ST_OK &&
      st__fft_passes_init(&m->along, backward, is_double, n / rows,
                          ST_FFT_OF_MATRIX) == ST_OK) {
    put_fine(m, is_double);
    return m;
  }
  st__fft_matrix_free(m);
  return NULL;
}

void st__fft_matrix_free(struct st_fft_matrix *m) {
  if (!m) return;
  st__fft_powers_free(&m->powers);
  st__fft_passes_free(&m->down);
  st__fft_passes_free(&m->along);
  st__free_block(m, m->bytes);
}

/* -- Passes --------------------------------------------------------------- */

typedef struct passes {
  const st_fft_matrix *m;
  const char *in;
  char *out;
  char *middle;      /* the tiles of rows */
  int64_t size;      /* of a number */
  int64_t lines;     /* of a tile */
  int64_t pitch;     /* between tiles of rows, in bytes */
  int64_t buffer;    /* bytes of one of the two of a chunk */
  double scale;
  st_task powers, turn;
  bool streams;      /* a long line is written past the caches */
  int64_t count;     /* tiles of a pass */
  int64_t period;    /* of them, between two questions whether to stop */
  int chunks;
  char *scratch;
  int64_t bytes;     /* of scratch memory for a chunk */
} passes;

/* A block of rows after the other: the kernel reads some columns of all rows
 * before it reads the next ones. */
void st__fft_transpose(int64_t size, char *dst, int64_t dst_row,
                       const char *src, int64_t src_row, int64_t src_rows,
                       int64_t src_columns) {
  const st_loop loop = st__kernel(ST_K_transpose, size == 4 ? ST_INT32 :
                                  size == 8 ? ST_INT64 : ST_COMPLEX128);
  const int64_t strides[] = {size, src_row, dst_row, size};
  for (int64_t i = 0; i < src_rows; i += BLOCK) {
    const int64_t n = src_rows - i < BLOCK ? src_rows - i : BLOCK;
    char *data[] = {dst + i * size, (char *)(uintptr_t)(src + i * src_row)};
    loop(data, strides, n, src_columns, NULL);
  }
}

/* w^(first k) and the scale, for all rows k; behind them is room. */
static void set_coarse(const passes *p, int64_t first, char *to) {
  const st_fft_matrix *const m = p->m;
  double *const rough = (double *)(void *)(to + m->padded * p->size);
  double fine[2 * ST_FFT_FINE];
  int64_t at = 0;
  for (int k = 0; k < ST_FFT_FINE; k++, at += first) {
    at %= m->length;
    st__fft_power(&m->powers, at, fine + 2 * k);
  }
  const int64_t step = ST_FFT_FINE * first % m->length;
  at = 0;
  for (int64_t k = 0; k < m->padded / ST_FFT_FINE; k++) {
    st__fft_power(&m->powers, at, rough + 2 * k);
    at += step;
    if (at >= m->length) at -= m->length;
  }
  char *data[] = {to, (char *)rough, (char *)fine};
  const st_fft_powers_of c = {m->padded, p->scale};
  p->powers(data, &c);
}

/* Writes n rows of `bytes` from contiguous ones past the caches. */
static void stream(char *to, int64_t pitch, const char *from, int64_t bytes,
                   int64_t n) {
  char *data[] = {to, (char *)(uintptr_t)from};
  const int64_t strides[] = {1, 1, pitch, bytes};
  st__kernel(ST_K_stream, ST_UINT8)(data, strides, bytes, n, NULL);
}

static void clear_behind(char *rows, int64_t n, int64_t end) {
  memset(rows + n * ROW, 0, (size_t)((end - n) * ROW));
}

/* Columns of a tile that is narrower than others have zeros beside them. */
static void columns_of_tile(const passes *p, int64_t i, char *scratch) {
  const st_fft_matrix *const m = p->m;
  const int64_t first = i * p->lines, row = m->columns * p->size;
  const int64_t lines = m->columns - first;
  char *const buffers[] = {scratch, scratch + p->buffer};
  char *const coarse = scratch + 2 * p->buffer;
  const char *const in = p->in + first * p->size;
  const bool swaps = m->down.backward;
  st_fft_rows_at from = {(char *)(uintptr_t)in, {row, true, swaps, 0}};
  if (lines < p->lines) {
    from = (st_fft_rows_at){buffers[0], {ROW, true, swaps, 0}};
    memset(buffers[0], 0, (size_t)(m->rows * ROW));
    for (int64_t k = 0; k < m->rows; k++) {
      memcpy(buffers[0] + k * ROW, in + k * row, (size_t)(lines * p->size));
    }
  }
  char *const to = st__fft_last_buffer(&m->down, from.at == buffers[0],
                                       buffers);
  st__fft_run_passes(&m->down, p->size == 16, 1, from,
                     (st_fft_rows_at){to, {ROW, true, swaps, 0}}, buffers);
  const int64_t end = rounded(m->rows, p->lines);
  clear_behind(to, m->rows, end);
  set_coarse(p, first, coarse);
  const int64_t block = p->lines * ROW;
  char *const middle = p->middle + first * ROW;
  char *const turned = p->streams ? buffers[to == buffers[0]] : middle;
  char *data[] = {turned, to, m->fine, coarse};
  const st_fft_turn c = {end, p->streams ? block : p->pitch};
  p->turn(data, &c);
  if (p->streams) {
    stream(middle, p->pitch, turned, block, end / p->lines);
  }
}

static void rows_of_tile(const passes *p, int64_t i, char *scratch) {
  const st_fft_matrix *const m = p->m;
  const int64_t first = i * p->lines, row = m->rows * p->size;
  const int64_t lines = m->rows - first;
  char *const buffers[] = {scratch, scratch + p->buffer};
  char *const out = p->out + first * p->size;
  const bool swaps = m->along.backward;
  const st_fft_rows_at from = {p->middle + i * p->pitch, {ROW, true, swaps, 0}};
  st_fft_rows_at to = {out, {row, true, swaps, 0}};
  const bool is_whole = lines >= p->lines;
  if (!is_whole || p->streams) {
    to.at = st__fft_last_buffer(&m->along, false, buffers);
    to.of.step = ROW;
  }
  st__fft_run_passes(&m->along, p->size == 16, 1, from, to, buffers);
  if (is_whole) {
    if (p->streams) stream(out, row, to.at, ROW, m->columns);
    return;
  }
  for (int64_t k = 0; k < m->columns; k++) {
    memcpy(out + k * row, to.at + k * ROW, (size_t)(lines * p->size));
  }
}

#define PASS(name, tile)                                                    \
  static void name(void *ctx, int64_t begin, int64_t end) {                 \
    const passes *p = ctx;                                                  \
    for (int64_t k = begin; k < end; k++) {                                 \
      const int64_t last = p->count * (k + 1) / p->chunks;                  \
      for (int64_t i = p->count * k / p->chunks; i < last; i++) {           \
        if (i % p->period == 0 && st__stops()) break;                       \
        tile(p, i, p->scratch + k * p->bytes);                              \
      }                                                                     \
    }                                                                       \
    if (p->streams) st__fence_streams();                                    \
  }
PASS(run_columns, columns_of_tile)
PASS(run_rows, rows_of_tile)

static void set_count(passes *p, int64_t lines, int64_t numbers) {
  p->count = (lines + p->lines - 1) / p->lines;
  p->period = 1 + ST_PERIOD / (p->lines * numbers);
}

static st_status run_passes(passes *p) {
  set_count(p, p->m->columns, p->m->rows);
  ST_TRY(st__parallel_try(0, p->chunks, 1, run_columns, p));
  set_count(p, p->m->rows, p->m->columns);
  return st__parallel_try(0, p->chunks, 1, run_rows, p);
}

/* Sizes in bytes. */
typedef struct room { int64_t pitch, middle, buffer, chunk; } room;

static room room_of(const st_fft_matrix *m, bool is_double) {
  const int64_t lines = st__fft_tile_lines(is_double);
  const int64_t most = m->padded > m->columns ? m->padded : m->columns;
  const int64_t pitch = (rounded(m->columns, lines) + SPACING) * ROW;
  return (room){.pitch = pitch, .middle = (m->rows + lines - 1) / lines * pitch,
                .buffer = most * ROW,
                .chunk = 2 * most * ROW + m->padded * (is_double ? 16 : 8) +
                         rounded(m->padded / ST_FFT_FINE * 16, ROW)};
}

int st__fft_matrix_shares(const st_fft_matrix *m) {
  return st__num_shares(m->length, ST_GRAIN / 2);
}

int64_t st__fft_matrix_bytes(const st_fft_matrix *m, bool is_double,
                             int shares) {
  const room r = room_of(m, is_double);
  return r.middle + r.chunk * shares;
}

st_status st__fft_run_matrix(const st_fft_call *c, const char *in, char *out) {
  const st_fft_matrix *const m = c->line->matrix;
  const st_dtype real = c->is_double ? ST_FLOAT64 : ST_FLOAT32;
  const room r = room_of(m, c->is_double);
  passes p = {.m = m, .in = in, .out = out, .scale = c->scale,
              .size = c->is_double ? 16 : 8,
              .lines = st__fft_tile_lines(c->is_double),
              .pitch = r.pitch, .buffer = r.buffer, .bytes = r.chunk,
              .middle = c->scratch, .scratch = c->scratch + r.middle,
              .chunks = c->shares,
              .powers = st__task(ST_K_fft_powers, real),
              .turn = st__task(ST_K_fft_turn, real)};
  p.streams = m->length * p.size >= MOST_CACHED;
  return run_passes(&p);
}
