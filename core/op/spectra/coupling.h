/* What a merge of two bidiagonal matrices finds to be decomposed already. */
#ifndef ST_OP_SPECTRA_COUPLING_H
#define ST_OP_SPECTRA_COUPLING_H

#include "op/lapack/lapack.h"

/* Two parts of nl and nr rows, and between them a row with alpha and beta in
 * the last column of the first and the first column of the second, which has a
 * column more than rows if `extra` is 1; n rows in all. d, u, vt: their values
 * and vectors, apart from the row between, whose row of vt is the first part's
 * vector of the value 0; that of the second is behind the n rows. order: see
 * st_deflation; the row between has a place in it. */
typedef struct st_coupling {
  blasint n, nl, extra, ld; /* ld: of u and vt */
  double alpha, beta;
  char *d, *u, *vt;
  blasint *order;
  /* The results: see st__couple. */
  char *z, *poles, *u2, *vt2;
  blasint *columns, *types;
  char *numbers; /* n elements of room */
  blasint *room; /* 2 n, apart from columns and types */
} st_coupling;

/* Returns k, the values that are left.
 *
 * poles and z: the k ascending values, of which the first is 0, and their
 * numbers in the row. d, the columns of u and the rows of vt from k on: what is
 * decomposed, in descending order. The columns of u2 and rows of vt2, n and n +
 * extra elements apart, are the others: the row's, then those that are not zero
 * in the rows above, below and on both sides of the row, as types[0] to
 * types[2] count them; columns[i] is the pole, from 1, of column i. */
blasint st__couple(const st_lapack_job *j, st_coupling *c);

#endif
