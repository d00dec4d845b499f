/* Passes of transforms: the order of sums of a length.
 *
 * Note [The order of a transform]
 * The radices of a length, in their order, say what is added to what: lines
 * side by side (tiles.h), by eighths (eighths.h) and single ones (line.h) take
 * the same passes, with the same roots. So a line has the same bits however it
 * is transformed, on each processor, and for any number of threads. Long lines
 * and lengths with large primes are computed in one way each (long_lines.h,
 * convolution.h), which contains such passes.
 */
#ifndef ST_OP_FOURIER_PASSES_H
#define ST_OP_FOURIER_PASSES_H

#include "kernel/fft/butterflies.h"
#include "op/fourier/roots.h"

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

/* Whose passes: of lines, however they are transformed, or of the columns and
 * rows of a long one. */
typedef enum st_fft_use { ST_FFT_OF_LINES, ST_FFT_OF_MATRIX } st_fft_use;

/* Passes of a matrix of n rows. */
int st__fft_count_passes(int64_t n);

/* True if n has no prime factor above 13. */
bool st__fft_is_smooth(int64_t n);
/* True if lines of n numbers have passes: the others are convolutions. */
bool st__fft_has_passes(int64_t n);
/* True if n is 8 m and the first pass has radix 8. */
bool st__fft_has_eighths(int64_t n);

/* Lines of a whole tile. */
int64_t st__fft_tile_lines(bool is_double);

/* n numbers, of which no prime factor is above ST_FFT_PRIME; NO_MEMORY. */
st_status st__fft_passes_init(st_fft_passes *p, bool backward, bool is_double,
                              int64_t n, st_fft_use use);
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

#endif
