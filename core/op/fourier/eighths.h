/* Transforms of lines that are rows in memory, by eighths.
 *
 * Note [Lines by eighths]
 * A line of n = 8 m numbers is a matrix of 8 rows. Its columns, which lie side
 * by side, are transformed and turned by the first pass. The results are 8
 * lines of length m, side by side: the passes of tiles transform them (Note
 * [Lines side by side], tiles.h), and the last one writes a contiguous line. So
 * numbers are transposed once, in registers, and all memory of a line stays in
 * a near cache; the rows of a tile are in the same sets of it if n is a power
 * of 2. As 8 float32 numbers are half a row, two lines share the rows. Lines of
 * 64 numbers stay in registers of 64 bytes, as do two or four of 32.
 */
#ifndef ST_OP_FOURIER_EIGHTHS_H
#define ST_OP_FOURIER_EIGHTHS_H

#include "op/fourier/tiles.h"

typedef struct st_fft_eighths {
  st_fft_passes passes; /* of n numbers; none: no such transform */
  void *roots;          /* of the first pass, in octets */
} st_fft_eighths;

/* True for lines of n complex numbers, or of halves, that are transformed so
 * where they are rows. */
bool st__fft_by_eighths(st_fft_kind kind, int64_t n);

/* n numbers; NO_MEMORY. It must be freed after a failure, too. */
st_status st__fft_eighths_init(st_fft_eighths *e, bool backward, bool is_double,
                               int64_t n);
void st__fft_eighths_free(st_fft_eighths *e);

/* Bytes of scratch memory, aligned to cache lines. */
int64_t st__fft_eighths_bytes(const st_fft_eighths *e);
/* Lines of contiguous numbers; distances in bytes. */
typedef struct st_fft_eighths_lines {
  char *in, *out; /* may be the same */
  int64_t in_pitch, out_pitch;
  int64_t count;
} st_fft_eighths_lines;

void st__fft_run_eighths(const st_fft_eighths *e, bool is_double, double scale,
                         const st_fft_eighths_lines *l, char *scratch);

#endif
