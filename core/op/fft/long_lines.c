/* Two passes over a matrix: Note [Long lines].
 */

#include "op/fft/long_lines.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "kernel/fft/fft.h"
#include "kernel/kernel.h"

enum {
  LEAST = 1 << 16,      /* numbers of a long line with two fast factors */
  LEAST_SLOW = 1 << 17, /* of any other */
  MOST_FAST = 2048,     /* numbers for which FFTW is fast */
  MOST_RATIO = 16,      /* of a factor to the other */
  WIDTH = 16,           /* columns gathered at a time */
  BLOCK = 16,           /* rows transposed at a time */
  LINE = 64             /* bytes of a cache line */
};

/* -- Lengths -------------------------------------------------------------- */

bool st__fft_is_smooth(int64_t n) {
  static const int64_t primes[] = {2, 3, 5, 7, 11, 13};
  for (size_t i = 0; i < sizeof primes / sizeof *primes; i++) {
    while (n % primes[i] == 0) n /= primes[i];
  }
  return n == 1;
}

/* How far two factors of n are from each other. */
static int64_t ratio(int64_t n, int64_t d) {
  return d * d > n ? d * d / n : n / d / d;
}

bool st__fft_is_fast(int64_t n) {
  static const int16_t lengths[] = {128, 160, 192, 200, 240, 256, 320, 384,
                                    400, 512, 640, 1024, 1280, 2048};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    if (lengths[i] == n) return true;
  }
  return false;
}

/* The factors next to the root of n, one of them fast if possible. */
static int64_t factor_of(int64_t n) {
  int64_t fast = 0, root = 1;
  for (int64_t d = 2; d <= MOST_FAST; d++) {
    if (n % d != 0 || !st__fft_is_fast(d) || ratio(n, d) > MOST_RATIO) continue;
    if (fast == 0 || ratio(n, d) < ratio(n, fast)) fast = d;
  }
  if (fast > 0) return fast;
  while ((root + 1) * (root + 1) <= n) root++;
  while (n % root != 0) root--;
  return root;
}

bool st__fft_split(int64_t n, int64_t *rows, int64_t *columns) {
  if (n < LEAST || !st__fft_is_smooth(n)) return false;
  const int64_t d = factor_of(n);
  if (n < LEAST_SLOW && !(st__fft_is_fast(d) && st__fft_is_fast(n / d))) {
    return false;
  }
  *rows = d;
  *columns = n / d;
  return true;
}

/* -- Passes --------------------------------------------------------------- */

typedef struct passes {
  const st_fft_line *line;
  const char *in;
  char *out;
  char *middle;      /* the columns, each contiguous */
  int64_t size;      /* of a number */
  int64_t pitch;     /* between the columns in `middle`, in bytes */
  int64_t tile;      /* between the lines of a tile, in bytes */
  double scale;
  st_loop turn;
  int64_t count;     /* tiles of a pass */
  int chunks;
  char *scratch;
  int64_t bytes;     /* of scratch memory for a chunk */
} passes;

static int64_t padded(int64_t bytes) {
  return (bytes + 2 * LINE - 1) / LINE * LINE;
}

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

static int64_t tile_lines(int64_t first, int64_t n) {
  return n - first < WIDTH ? n - first : WIDTH;
}

/* Multiplies number k of column j by w^(j k); powers has room for those of a
 * column. */
static void turn_column(const passes *p, char *column, int64_t j,
                        double *powers) {
  const int64_t n = p->line->length, rows = p->line->rows;
  double fine[2 * ST_FFT_FINE];
  int64_t at = 0;
  for (int k = 0; k < ST_FFT_FINE; k++, at += j) {
    at %= n;
    st__fft_power(&p->line->powers, at, fine + 2 * k);
  }
  const int64_t step = ST_FFT_FINE * j % n;
  at = 0;
  for (int64_t k = 0; k * ST_FFT_FINE < rows; k++) {
    st__fft_power(&p->line->powers, at, powers + 2 * k);
    at += step;
    if (at >= n) at -= n;
  }
  char *data[] = {column, (char *)powers, (char *)fine};
  const st_fft_turn turn = {rows, p->scale};
  p->turn(data, NULL, 0, 0, &turn);
}

static void columns_of_tile(const passes *p, int64_t i, char *scratch) {
  const st_fft_line *const l = p->line;
  const int64_t first = i * WIDTH;
  const int64_t lines = tile_lines(first, l->columns);
  double *const powers = (double *)(void *)(scratch + WIDTH * p->tile);
  st__fft_transpose(p->size, scratch, p->tile, p->in + first * p->size,
                    l->columns * p->size, l->rows, lines);
  for (int64_t k = 0; k < lines; k++) {
    char *const to = p->middle + (first + k) * p->pitch;
    l->execute(l->plan, scratch + k * p->tile, to);
    turn_column(p, to, first + k, powers);
  }
}

static void rows_of_tile(const passes *p, int64_t i, char *scratch) {
  const st_fft_line *const l = p->line;
  const int64_t first = i * WIDTH;
  const int64_t lines = tile_lines(first, l->rows);
  char *const results = scratch + WIDTH * p->tile;
  st__fft_transpose(p->size, scratch, p->tile, p->middle + first * p->size,
                    p->pitch, l->columns, lines);
  for (int64_t k = 0; k < lines; k++) {
    l->execute(l->row_plan, scratch + k * p->tile,
                  results + k * p->tile);
  }
  st__fft_transpose(p->size, p->out + first * p->size, l->rows * p->size,
                    results, p->tile, lines, l->columns);
}

#define PASS(name, tile)                                                    \
  static void name(void *ctx, int64_t begin, int64_t end) {                 \
    const passes *p = ctx;                                                  \
    for (int64_t k = begin; k < end; k++) {                                 \
      const int64_t last = p->count * (k + 1) / p->chunks;                  \
      for (int64_t i = p->count * k / p->chunks; i < last; i++) {           \
        if (st__stops()) return;                                            \
        tile(p, i, p->scratch + k * p->bytes);                              \
      }                                                                     \
    }                                                                       \
  }
PASS(run_columns, columns_of_tile)
PASS(run_rows, rows_of_tile)

static st_status run_passes(passes *p) {
  p->count = (p->line->columns + WIDTH - 1) / WIDTH;
  ST_TRY(st__parallel_try(0, p->chunks, 1, run_columns, p));
  p->count = (p->line->rows + WIDTH - 1) / WIDTH;
  return st__parallel_try(0, p->chunks, 1, run_rows, p);
}

st_status st__fft_long_line(const st_fft_line *l, bool is_double,
                            double scale, const char *in, char *out) {
  passes p = {.line = l, .in = in, .out = out, .scale = scale,
              .size = is_double ? 16 : 8};
  const int64_t longest = l->rows > l->columns ? l->rows
                                                     : l->columns;
  p.turn = st__kernel(ST_K_fft_turn, is_double ? ST_FLOAT64 : ST_FLOAT32);
  p.pitch = padded(l->rows * p.size);
  p.tile = padded(longest * p.size);
  p.bytes = 2 * WIDTH * p.tile;
  p.chunks = st__num_shares(l->length, ST_GRAIN / 2);
  ST_TRY(st__fft_reserve(l, p.chunks));
  const int64_t middle = l->columns * p.pitch;
  const size_t bytes = (size_t)(middle + p.bytes * p.chunks);
  p.middle = st__alloc(ST_MEM_SCRATCH, bytes);
  if (!p.middle) return ST_NO_MEMORY;
  p.scratch = p.middle + middle;
  const st_status status = run_passes(&p);
  st__free(ST_MEM_SCRATCH, p.middle, bytes);
  return status;
}

st_status st__fft_execute(const st_fft_line *l, bool is_double, double scale,
                          char *in, char *out) {
  if (l->rows > 0) return st__fft_long_line(l, is_double, scale, in, out);
  l->execute(l->plan, in, out);
  return ST_OK;
}
