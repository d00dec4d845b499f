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
 * transformed by eighths (Note [Lines by eighths], eighths.h), and FFTW
 * transforms rows of the other lengths for which its plans are good.
 */
#ifndef ST_OP_FFT_TILES_H
#define ST_OP_FFT_TILES_H

#include "kernel/fft/butterflies.h"
#include "op/fft/fftw.h"
#include "op/fft/roots.h"

enum { ST_FFT_MOST_PASSES = 16 };

/* A transform of tiles; the roots of all passes are in one block. */
typedef struct st_fft_passes {
  int count; /* 0: none */
  int64_t length;
  int radix[ST_FFT_MOST_PASSES];
  int64_t at[ST_FFT_MOST_PASSES]; /* of a pass's roots, in bytes */
  bool backward;
  void *roots;
  size_t bytes;
} st_fft_passes;

/* Passes of a transform of n numbers. */
int st__fft_count_passes(int64_t n);

/* Lines of a whole tile. */
int64_t st__fft_tile_lines(bool is_double);

/* True for lines of n numbers that are transformed so: complex ones, or halves,
 * without large prime factors. Lines that are rows, and no columns, must be
 * transposed; so they are FFTW's where its plans are fast. */
bool st__fft_in_tiles(st_fft_kind kind, bool is_double, int64_t n,
                      bool are_columns);

/* n numbers; NO_MEMORY. */
st_status st__fft_passes_init(st_fft_passes *p, bool backward, bool is_double,
                              int64_t n);
void st__fft_passes_free(st_fft_passes *p);

/* Rows in memory. */
typedef struct st_fft_rows_at { char *at; st_fft_rows of; } st_fft_rows_at;

/* All passes, from `in` to `out`; their sums are multiplied by `factor`. Both
 * may be in a buffer of p->length rows, but only a single pass from one to
 * itself. */
void st__fft_run_passes(const st_fft_passes *p, bool is_double, double factor,
                        st_fft_rows_at in, st_fft_rows_at out,
                        char *const buffers[2]);
/* The buffer for the results of rows that are, or are not, in the first. */
char *st__fft_last_buffer(const st_fft_passes *p, bool is_in_first,
                          char *const buffers[2]);

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
