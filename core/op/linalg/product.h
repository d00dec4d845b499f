/* Batches of matrix products, as pointers and strides, and their parts.
 */
#ifndef ST_OP_LINALG_PRODUCT_H
#define ST_OP_LINALG_PRODUCT_H

#include "op/row/op.h"

/* A batch of matrices; strides in elements. */
typedef struct st_matrix {
  char *data;
  int64_t rows, cols, row, col, batch; /* two sizes, three strides */
} st_matrix;

/* c <- alpha a b + beta c. Each product of the batch has parts: `part` rows or
 * columns of c, the last one fewer. */
typedef struct st_product {
  st_dtype dtype;
  st_matrix a, b, c;
  int64_t batch, parts, part;
  bool by_rows;
  bool is_symmetric;       /* c: its parts begin at the diagonal, and are
                              copied below it */
  st_scalar alpha, beta;
  const char *row;         /* beta times it is added to each row of c instead
                              of beta c; NULL, or for ST_K_gemm */
  st_loop loop;            /* or NULL */
} st_product;

st_matrix st__matrix_of(const st_tensor *t);
/* The multiplications of one product of the batch; at most 2^62. */
int64_t st__product_volume(const st_product *p);
/* (a b)' = b' a': turns a row into a column, and contiguous columns into
 * rows. */
void st__transpose_product(st_product *p);

/* Splits the products into `each` parts per thread, none of much less than
 * `volume` multiplications; into one if the batch is large enough. */
void st__split_product(st_product *p, int each, int64_t volume);
/* If c is symmetric, splits the products into parts of rows, each with the
 * columns from the diagonal on. */
void st__split_symmetric(st_product *p);
/* Part i of all products, counted on, as one product in `part`; p itself if it
 * is that. */
const st_product *st__part_of_product(const st_product *p, int64_t i,
                                      st_product *part);

#endif
