/* Transforms of single long lines of complex numbers.
 *
 * Note [Long lines]
 * A line of n = rows x columns numbers is a matrix in memory. Its columns are
 * transformed, number k of column j is multiplied by w^(j k), where w is the
 * n-th root of unity, and then the rows of what results are transformed; their
 * numbers k are the results from k * rows on. Both passes gather some columns
 * at a time, so that each cache line is read and written once and a transform
 * stays in the cache. FFTW's own plans for such lengths, made without
 * measuring, take up to four times as long. The threads share the columns of a
 * line.
 */
#ifndef ST_OP_FFT_LONG_LINES_H
#define ST_OP_FFT_LONG_LINES_H

#include "op/fft/fftw.h"

/* True if n has no prime factor above 13. */
bool st__fft_is_smooth(int64_t n);

/* Lengths for which FFTW's estimated plans take 0.6 to 0.9 ns a number of
 * complex64; others take up to 3. */
bool st__fft_is_fast(int64_t n);

/* True for lengths that are computed so. */
bool st__fft_split(int64_t n, int64_t *rows, int64_t *columns);

/* l has rows > 0. in and out are contiguous, and may be the same. INTERRUPTED
 * or NO_MEMORY may come after the first write. */
st_status st__fft_long_line(const st_fft_line *l, bool is_double, double scale,
                            const char *in, char *out);

/* Any line. That of a long line is scaled; in and out are aligned otherwise,
 * and not the same. */
st_status st__fft_execute(const st_fft_line *l, bool is_double, double scale,
                          char *in, char *out);

/* dst[j][i] = src[i][j] for elements of 4, 8 or 16 bytes; distances of rows in
 * bytes. */
void st__fft_transpose(int64_t size, char *dst, int64_t dst_row,
                       const char *src, int64_t src_row, int64_t src_rows,
                       int64_t src_columns);

#endif
