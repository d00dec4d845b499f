/* Operands and ctx of the tasks of kernel/fft/fft.c: single lines of complex
 * numbers, whose parts are of the dtype.
 *
 * Note [Real lines by half]
 * The n real numbers of a line, n even, are h = n / 2 complex numbers, whose
 * transform Z tells that of the line, X. With u[k] = -i exp(-2 pi i k / n):
 *
 *   S = (Z[k] + conj Z[h - k]) / 2     X[k]     = S + u[k] D
 *   D = (Z[k] - conj Z[h - k]) / 2     X[h - k] = conj (S - u[k] D)
 *
 * The reverse is the same with X and Z exchanged, no 1 / 2, and conj u[k].
 */
#ifndef ST_KERNEL_FFT_FFT_H
#define ST_KERNEL_FFT_FFT_H

#include <stdbool.h>
#include <stdint.h>

/* fft_halves: dst, src, u. Computes pairs k and h - k of each line, for k in
 * [begin, end), which is part of [0, h / 2]; sums are multiplied by `factor`. Z
 * has h numbers and X h + 1. dst may be src. */
typedef struct st_fft_halves {
  int64_t h, begin, end;
  double factor;
  bool to_real; /* X is given; the imaginary parts of X[0] and X[h] count as
                   0 */
  int64_t lines, to, from; /* bytes from line to line */
} st_fft_halves;

/* fft_mirror: dst. Number n - k becomes the conjugate of number k, for
 * 0 < k < n - k. */
typedef struct st_fft_mirror { int64_t n; } st_fft_mirror;

/* fft_multiply: dst, a, b. dst = a b for n numbers; dst may be a or b. */
typedef struct st_fft_multiply { int64_t n; } st_fft_multiply;

/* fft_powers: dst, and of float64 whatever the dtype: rough, the powers of w
 * with exponents 0, 16, ..., and fine, those with exponents 0 to 15. dst[k] is
 * w^k times `factor`, for k < n, a multiple of 16. */
typedef struct st_fft_powers_of {
  int64_t n;
  double factor;
} st_fft_powers_of;
enum { ST_FFT_FINE = 16 };

#endif
