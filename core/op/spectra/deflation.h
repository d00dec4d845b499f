/* What a merge of two tridiagonal matrices finds to be decomposed already. */
#ifndef ST_OP_LAPACK_DEFLATION_H
#define ST_OP_LAPACK_DEFLATION_H

#include "op/lapack/lapack.h"

/* Two parts of n1 and n - n1 rows, with values d and vectors in the columns of
 * q; the first n1 numbers of order sort those of the first part, from 1, the
 * rest those of the second. z: the vectors' numbers in the rows that an element
 * of `coupling` couples. */
typedef struct st_deflation {
  blasint n, n1, ldq;
  double coupling;
  char *d, *q, *z;
  blasint *order;
  /* The results: see st__deflate. */
  char *poles, *weights, *q2;
  blasint *columns, *types;
  blasint *room; /* 2 n */
} st_deflation;

/* Returns k, the columns that are left.
 *
 * poles and weights: k ascending values, and their numbers of z, normalised,
 * for what the coupling becomes. d and the columns of q from k on: what is
 * decomposed, in descending order. q2: the other columns, first the rows of the
 * first part of those that have such, then the rows of the second, of those of
 * both and of those of the second alone. types[0] to types[2] count those of
 * the first, of both and of the second, in this order, and columns[i] is the
 * pole, from 1, of column i. If k is 0, all is in d and q, in ascending
 * order. */
blasint st__deflate(const st_lapack_job *j, st_deflation *f);

/* Two parts of values d, of those before n1 and those from `second` to n. order
 * sorts those of each, from 1. */
typedef struct st_parts {
  int64_t n1, second, n;
  const char *d;
  const blasint *order;
} st_parts;

/* The places of all values in their order. */
void st__sort_parts(const st_lapack_job *j, const st_parts *p,
                    blasint *sorted);

/* Columns in the order of their values: kept[0, k) are left; those from
 * kept[first] on, which descend, are not, and have type ST_LEFT_OUT. */
enum { ST_LEFT_OUT = 3 };
typedef struct st_division {
  blasint *kept, *types;
  int64_t k, first;
  double least; /* what does not count */
} st_division;

/* Leaves out one of n columns, with values d. */
void st__leave_out(const st_lapack_job *j, st_division *v, const char *d,
                   int64_t n, blasint column);
/* x and y become c x + s y and c y - s x; their elements are `step` apart. */
void st__rotate(const st_lapack_job *j, void *x, void *y, int64_t n,
                int64_t step, double c, double s);

/* The order, from 1, of k values at d that ascend and n - k that descend, as
 * the ascending one of all. */
void st__merge_order(const st_lapack_job *j, int64_t k, int64_t n,
                     const char *d, blasint *order);

#endif
