/* Transforms of single long lines of complex numbers.
 *
 * Note [Long lines]
 * A line of n = rows x columns numbers is a matrix in memory. Its columns are
 * transformed, number k of column j is multiplied by w^(j k), where w is the
 * n-th root of unity, and then the rows of what results are transformed; their
 * numbers k are the results from k * rows on. Both passes transform tiles of
 * neighbours (Note [Lines side by side], tiles.h): that of columns reads the
 * line, a cache line of each row, and leaves each tile transposed, so that the
 * tiles of rows lie one behind the other, and that of rows writes whole cache
 * lines of the results. So memory is read and written twice. The roots are
 * products of two: w^(j k) = w^(j0 k) w^((j - j0) k), where j0 is the first
 * column of a tile; the second factor is in a table, the first is computed for
 * each tile. The threads share the tiles.
 */
#ifndef ST_OP_FOURIER_LONG_LINES_H
#define ST_OP_FOURIER_LONG_LINES_H

#include "op/fourier/line.h"

/* True for lengths that are computed so. */
bool st__fft_is_long(int64_t n);

/* The tables of a long line; NULL if there is no memory. */
struct st_fft_matrix *st__fft_matrix(bool backward, bool is_double, int64_t n);
void st__fft_matrix_free(struct st_fft_matrix *m);

/* Threads that may share the line, and bytes of scratch memory for so many. */
int st__fft_matrix_shares(const struct st_fft_matrix *m);
int64_t st__fft_matrix_bytes(const struct st_fft_matrix *m, bool is_double,
                             int shares);
/* As st__fft_execute. */
st_status st__fft_run_matrix(const st_fft_call *c, const char *in, char *out);

/* dst[j][i] = src[i][j] for elements of 4, 8 or 16 bytes; distances of rows in
 * bytes. */
void st__fft_transpose(int64_t size, char *dst, int64_t dst_row,
                       const char *src, int64_t src_row, int64_t src_rows,
                       int64_t src_columns);

#endif
