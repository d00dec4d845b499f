/* Columns of matrices that a reduction works on, as the kernels of
 * kernel/lapack/reflect.h take them: a line of zeros is behind each.
 */
#ifndef ST_OP_SPECTRA_COLUMNS_H
#define ST_OP_SPECTRA_COLUMNS_H

#include "op/lapack/part.h"

/* Bytes from column to column of m rows, and how many elements these are. */
int64_t st__column_pitch(st_dtype dtype, int64_t m);
static inline int64_t st__column_step(st_dtype dtype, int64_t m) {
  return st__column_pitch(dtype, m) / (int64_t)st__itemsize(dtype);
}
/* Bytes of n elements, in whole lines. */
int64_t st__line_bytes(st_dtype dtype, int64_t n);

/* m x n columns so far apart in what *scratch has left, or without gaps. */
st_part st__take_columns(const st_lapack_job *j, char **scratch, int64_t m,
                         int64_t n);
st_part st__take_matrix(const st_lapack_job *j, char **scratch, int64_t m,
                        int64_t n);
void st__zero_behind(const st_lapack_job *j, const st_part *a);

/* y loses the columns of a times the numbers of w, a row or a column. */
void st__subtract_columns(const st_lapack_job *j, const st_part *y,
                          const st_part *a, const st_part *w, bool conjugates);
/* The column `to` becomes the adjoints of a's columns times x. */
void st__column_dots(const st_lapack_job *j, const st_part *to,
                     const st_part *a, const st_part *x);
/* y -= left adjoint(right) x. small: room for a number for each column. */
void st__subtract_product(const st_lapack_job *j, const st_part *y,
                          const st_part *left, const st_part *right,
                          const st_part *x, const st_part *small);

/* The real part of the number at p, as element `at` of out. */
void st__store_real(const st_lapack_job *j, const char *p, char *out,
                    int64_t at);

#endif
