/* Operands and ctx of the loops of kernel/fft/butterflies.c: tiles of lines.
 *
 * Row k of a tile has numbers k of ST_FFT_ROW / (size of a number) lines, one
 * beside the other: interleaved parts, of the dtype. n0 and n1 are not read,
 * nor are the strides. Rows need no alignment.
 */
#ifndef ST_KERNEL_FFT_BUTTERFLIES_H
#define ST_KERNEL_FFT_BUTTERFLIES_H

#include <stdbool.h>
#include <stdint.h>

enum { ST_FFT_ROW = 64 /* bytes */ };

/* fft_pass: dst, src, roots. A transform of blocks * radix * stride rows takes
 * a pass per factor of its length: the first has stride 1, the next stride
 * radix, and so on until blocks is 1. With p < blocks, q < stride, k < radix,
 *
 *   dst[stride (radix p + k) + q] = w^(p k) sum_i v^(i k)
 *                                   src[q + stride (p + blocks i)]
 *
 * where v is the radix-th root of unity and w the (blocks * radix)-th one.
 * roots has cosine and sine of -w^(p k)'s angle, for each p those of k = 1, 2,
 * ... If blocks is 1, there are none, and the sums are multiplied by `factor`.
 * dst may be src if stride is 1, too. */
typedef struct st_fft_pass {
  int radix; /* 2, 3, 4, 5, 7, 8, 10, 11, 13, 15 or 16 */
  bool backward;
  int64_t blocks, stride;
  int64_t to_row, from_row; /* bytes between rows */
  double factor;
} st_fft_pass;

/* fft_pairs: dst, src, u. What fft_halves does (kernel/fft/fft.h), for all
 * lines of a tile; rows are next to each other. dst may be src. */
typedef struct st_fft_pairs {
  int64_t h;
  double factor;
  bool to_real;
} st_fft_pairs;

#endif
