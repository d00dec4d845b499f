/* Operands and ctx of the tasks of kernel/fft/butterflies.c: tiles of lines.
 *
 * Row k of a tile has numbers k of ST_FFT_ROW / (size of a number) lines, one
 * beside the other; parts are of the dtype. Rows need no alignment.
 */
#ifndef ST_KERNEL_FFT_BUTTERFLIES_H
#define ST_KERNEL_FFT_BUTTERFLIES_H

#include <stdbool.h>
#include <stdint.h>

enum {
  ST_FFT_ROW = 128, /* bytes */
  ST_FFT_LANES = 16, /* at most: lines of float32 in a row */
  ST_FFT_PRIME = 31  /* the largest radix */
};

/* The rows of an operand. Split ones have vectors of real parts, each with a
 * vector of imaginary parts behind it; which lines come first in a vector
 * depends on the instruction set. Pairs are numbers in the order of the lines,
 * as in a matrix. */
typedef struct st_fft_rows {
  int64_t step;     /* bytes from row to row */
  bool are_pairs;
  bool are_swapped; /* the parts of each number are exchanged; fft_pass heeds
                       that of pairs only */
  int64_t gap;      /* of fft_pass's results that are pairs: bytes between the
                       halves of a row */
} st_fft_rows;

/* fft_pass: dst, src, roots. A transform of blocks * radix * stride rows takes
 * a pass per factor of its length: the first has stride 1, the next stride
 * radix, and so on until blocks is 1. With p < blocks, q < stride, k < radix,
 *
 *   dst[stride (radix p + k) + q] = w^(p k) sum_i v^(i k)
 *                                   src[q + stride (p + blocks i)]
 *
 * where v is the radix-th root of unity and w the (blocks * radix)-th one, of
 * forward transforms; a backward one is that of numbers whose parts are
 * exchanged. roots has cosine and sine of -w^(p k)'s angle, for each p those of
 * k = 1, 2, ... If blocks is 1, there are none, and the sums are multiplied by
 * `factor`. dst may be src if stride is 1, too. A prime radix above 13 is the
 * last one, and has the roots -v^i, i = 0, 1, ... */
typedef struct st_fft_pass {
  int radix; /* 2 to 16, but not 14, or a prime up to ST_FFT_PRIME */
  int64_t blocks, stride;
  st_fft_rows to, from;
  double factor;
} st_fft_pass;

/* fft_line: dst, src, first, turns, scratch. Transforms a contiguous line of n
 * complex numbers; dst may be src. Passes, their radices and their order are
 * those of a tile with the same radices, so that the bits are, too. The first
 * radix is at most 16 unless it is the only one. `first` has the roots of the
 * first pass: for each k = 1, 2, ... the cosines of all p, then the sines.
 * turns has those of the others, `at` bytes from its beginning. scratch has
 * ST_FFT_LINE_SCRATCH(n) numbers. */
typedef struct st_fft_line_of {
  int64_t n;
  bool are_swapped;
  double factor;
  int count; /* of passes */
  const int *radix;
  const int64_t *at;
} st_fft_line_of;
/* Two buffers of real and imaginary parts, and a vector behind each. */
#define ST_FFT_PLANE(n) (((n) + 15) / 16 * 16 + 16)
#define ST_FFT_LINE_SCRATCH(n) (2 * ST_FFT_PLANE(n))

/* fft_eighths: dst, src, roots, turns, scratch. Transforms contiguous lines of
 * 8 * `blocks` complex numbers, two of float32 at once; blocks is 4, 8 or more.
 * The first pass has radix 8. Row p of its results is block p, line after line,
 * so the other passes are those of lines of `blocks` numbers, side by side.
 *
 * An octet is 8 blocks from p on. The last one begins at blocks - 8, the others
 * at multiples of 8; if blocks is 4, there is one, of two lines or of two pairs
 * of them. For each octet and k = 1, 2, ... 7, roots has 64 bytes of cosines
 * and 64 of sines, of k times the angle of p, p, p + 1, p + 1, ... (float32) or
 * of p, p + 4, p + 1, p + 5, ... (float64); of 4 blocks they are 0, 0, 1, 1, 2,
 * 2, 3, 3, and again for float32. turns has the other passes' roots, `at` bytes
 * from its beginning. scratch has 2 * blocks rows, and 16 at least. dst may be
 * src. */
typedef struct st_fft_eighths_of {
  int64_t blocks, lines;
  int64_t in, out;   /* bytes from line to line */
  bool are_swapped;
  double factor;
  int count;         /* of the other passes */
  const int *radix;
  const int64_t *at;
} st_fft_eighths_of;

/* fft_pairs: dst, src, u. What fft_halves does (kernel/fft/fft.h), for all
 * lines of a tile. dst may be src. */
typedef struct st_fft_pairs {
  int64_t h;
  st_fft_rows to, from;
  double factor;
  bool to_real;
  bool is_full; /* 2 h rows: those behind the middle are conjugates */
} st_fft_pairs;

/* fft_gather: dst, src: split rows from lines of contiguous numbers.
 * fft_scatter is the reverse, of 8 rows at least. Line k begins `at[k]` bytes
 * behind the operand; lines may repeat. */
typedef struct st_fft_lines {
  int64_t rows;
  bool are_swapped; /* of the rows */
  int64_t at[ST_FFT_LANES];
} st_fft_lines;

#endif
