/* Parts of matrices in memory, by a pointer and strides: views, copies and
 * products, of which the decompositions in blocks are made.
 *
 * What returns a bool returns false where the job was stopped or has no memory;
 * j->status says which.
 */
#ifndef ST_OP_LAPACK_PART_H
#define ST_OP_LAPACK_PART_H

#include "op/lapack/lapack.h"

typedef struct st_part {
  char *p;
  int64_t m, n, row, col; /* sizes; strides in elements */
} st_part;

/* m x n with contiguous columns, `lda` elements apart. */
static inline st_part st__columns_at(const char *a, int64_t m, int64_t n,
                                     int64_t lda) {
  return (st_part){(char *)(uintptr_t)a, m, n, 1, lda};
}

/* Matrix i of a batch with contiguous columns, or the only one. */
static inline st_part st__columns_of(const st_tensor *t, int64_t i) {
  return st__columns_at(st__matrix_at(t, i), st__rows(t), st__cols(t),
                        st__leading(t));
}

static inline char *st__part_at(const st_lapack_job *j, const st_part *a,
                                int64_t row, int64_t col) {
  return a->p + (row * a->row + col * a->col) *
                (int64_t)st__itemsize(j->dtype);
}

/* Rows [row, row + m) and columns [col, col + n). */
static inline st_part st__part(const st_lapack_job *j, const st_part *a,
                               int64_t row, int64_t col, int64_t m, int64_t n) {
  return (st_part){st__part_at(j, a, row, col), m, n, a->row, a->col};
}

static inline st_part st__turned(st_part a) {
  return (st_part){a.p, a.n, a.m, a.col, a.row};
}

/* c becomes `by` a b, or that is added to it. */
__attribute__((warn_unused_result))
bool st__part_multiply(const st_lapack_job *j, const st_part *c,
                       const st_part *a, const st_part *b, double by,
                       bool adds);

/* Two parts of the same sizes, which do not overlap; to gets the conjugates if
 * `conjugates`. */
void st__part_copy(const st_lapack_job *j, const st_part *to,
                   const st_part *from, bool conjugates);
/* In place; of a complex dtype. */
void st__part_conjugate(const st_lapack_job *j, const st_part *a);
/* What is above the diagonal of a square part. */
void st__part_zero_above(const st_lapack_job *j, const st_part *a);
void st__part_set_identity(const st_lapack_job *j, const st_part *a);

#endif
