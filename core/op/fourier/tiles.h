/* Transforms of lines side by side.
 *
 * Note [Lines side by side]
 * Where a call has enough lines, tiles of as many neighbours as fill a row
 * (ST_FFT_ROW, kernel/fft/butterflies.h) are transformed at once: row k of a
 * tile has the numbers k of all its lines, and vectors compute with rows. So no
 * transform is too short or too odd for vectors. Lines that are columns of a
 * matrix need no copy: the first pass reads the matrix, the last one writes it.
 * A tile with fewer lines has the last one several times, so that a line has
 * the same bits in any lane. Lines that are rows are transposed on their way,
 * which takes about as long as the passes; so those of most multiples of 8 are
 * transformed by eighths (Note [Lines by eighths], eighths.h).
 */
#ifndef ST_OP_FOURIER_TILES_H
#define ST_OP_FOURIER_TILES_H

#include "op/fourier/line.h"

/* True for lines of n numbers that may be transformed so: complex ones,
 * halves or odd real ones that have passes and are not long. */
bool st__fft_in_tiles(st_fft_kind kind, int64_t n);

/* A side of a tile; distances are in bytes. */
typedef struct st_fft_tile_side {
  char *data;
  int64_t size; /* of an element */
  int64_t step; /* between the elements of a line */
} st_fft_tile_side;

typedef struct st_fft_tile {
  const st_fft_passes *passes;
  st_fft_tile_side in, out;
  const void *halving; /* of real lines, or NULL */
  bool is_double;
  bool to_real;
  bool is_odd;    /* real lines without halving */
  bool fetches;   /* the memory of its results, before the passes */
  bool is_full;   /* real lines get the mirror image of their half */
  double scale;
} st_fft_tile;

/* Bytes of scratch memory, aligned to cache lines. */
int64_t st__fft_tile_bytes(const st_fft_tile *t);
/* The sides may be the same memory if all their distances are the same. `at` of
 * in and out says where lines begin; behind the last, it is that one again. */
void st__fft_run_tile(const st_fft_tile *t, int64_t lines, st_fft_lines *in,
                      st_fft_lines *out, char *scratch);

#endif
