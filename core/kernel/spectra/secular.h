/* Operands of the kernels that solve the secular equation
 *
 *   1 + sum w[i] / (d[i] - x) = 0, i = 0, ..., k - 1,
 *
 * for d[0] < d[1] < ... and w[i] > 0: its roots x[0], ..., x[k - 1] lie one
 * behind each pole. If the poles are squares, d[i]^2 stands for d[i],
 * d[0] >= 0, and x[j] is the square root of a root.
 *
 * The matrix D has element (i, j) d[i] - x[j], which is accurate to the last
 * bits (d[i]^2 - x[j]^2 if the poles are squares). Its rows are at a distance
 * of a multiple of ST_SECULAR elements and so long; a kernel may write the
 * elements behind column k. The columns of a call start at a multiple of
 * ST_SECULAR.
 *
 * secular_roots: data: x, D, d, w, the first three at the call's first column.
 * strides: the second one is that of D's rows. n0: columns. n1: k.
 * secular_weights: data: z, D, d, at the call's first row. z[i] becomes the
 * number with its sign for which the roots are exact: K. Gu, S. C. Eisenstat,
 * "A stable and efficient algorithm for the rank-one modification of the
 * symmetric eigenproblem", SIAM J. Matrix Anal. Appl. 15, 1994. n0: k. n1:
 * rows.
 * secular_vectors: data: V, D, z, order (int32, from 1), and U, d or NULL.
 * Column j of V has the elements z[i] / D(i, j), that of U d[i] z[i] / D(i, j),
 * but -1 for i = 0; both have norm 1. Row r is that of i = order[r]. n0:
 * columns. n1: k.
 */
#ifndef ST_KERNEL_SPECTRA_SECULAR_H
#define ST_KERNEL_SPECTRA_SECULAR_H

#include "kernel/loop.h"

enum { ST_SECULAR = 16 };

/* The length of D's rows. They do not all start in the same sets of a cache. */
static inline int64_t st__secular_row(int64_t k) {
  return (((k + ST_SECULAR - 1) / ST_SECULAR) | 1) * ST_SECULAR;
}

typedef struct st_secular {
  int64_t first; /* the column of the call, or the row */
  bool squares;
} st_secular;

#endif
