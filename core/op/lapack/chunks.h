/* What the decompositions in blocks are made of: chunks of columns that threads
 * share, elements of matrices with contiguous columns, products of these.
 */
#ifndef ST_OP_LAPACK_CHUNKS_H
#define ST_OP_LAPACK_CHUNKS_H

#include "op/lapack/lapack.h"

/* Columns [from, to), by chunks of ST_CHUNK: Note [Decompositions in
 * blocks]. */
enum { ST_CHUNK = 128 };

typedef struct st_step st_step;
struct st_step {
  void (*fn)(const st_step *s, int64_t from, int64_t to);
  const st_lapack_job *j;
  const void *ctx;
  int64_t from, to;
};

/* False: interrupted. */
bool st__share_columns(st_step *s);
/* By chunks of one. */
bool st__share_each(st_step *s);
/* Divides and conquers: s->fn solves parts [0, s->to), a power of two of them,
 * `merge` merges pairs [from, to) of neighbours, until one part is left or
 * *info > 0. Part p begins at ends[p] and ends at ends[p + 1]. */
bool st__conquer(st_step *s,
                 void (*merge)(const st_step *s, int64_t from, int64_t to),
                 blasint *ends, const blasint *info);
/* True if one of the job's calls of these was interrupted. */
bool st__is_stopped(const st_lapack_job *j);

static inline int64_t st__smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Of n, about a half, in whole units. */
static inline int64_t st__half(int64_t n, int64_t unit) {
  return (n / 2 + unit - 1) / unit * unit;
}

static inline int64_t st__size(const st_lapack_job *j) {
  return (int64_t)st__itemsize(j->dtype);
}

static inline char *st__element(const st_lapack_job *j, const char *a,
                                blasint lda, int64_t row, int64_t col) {
  return (char *)(uintptr_t)a + (row + col * lda) * st__size(j);
}

static inline int64_t st__larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* The exponent of the power of two by which a, m x n, is divided so
 * that no square of an element overflows, or vanishes beside others; false if
 * an element is not finite. Of the lower triangle, if `lower`. */
bool st__find_scale(const st_lapack_job *j, const char *a, int64_t m,
                    int64_t n, bool lower, int *exponent);
/* Multiplies n elements by a power of two. */
void st__scale(const st_lapack_job *j, char *p, int64_t n, int exponent);

/* A number of the job's dtype. */
typedef union st_number { float f[2]; double d[2]; } st_number;
st_number st__number(const st_lapack_job *j, int x);

/* Element i of p, of a real dtype. */
double st__value(const st_lapack_job *j, const char *p, int64_t i);
void st__set_value(const st_lapack_job *j, char *p, int64_t i, double x);

/* Sorts d, which is nearly in the given order; order becomes that of the
 * sorted elements. room: n elements. */
void st__sort_values(const st_lapack_job *j, int64_t n, char *d,
                     blasint *order, char *room);

/* Sorts order, by which d[order[i] - 1] nearly ascends. */
void st__sort_order(const st_lapack_job *j, int64_t n, const char *d,
                    blasint *order);

/* op(A) op(B), an m x n matrix; the inner size is k. */
typedef struct st_gemm {
  char ta, tb; /* 'N', 'T' */
  int64_t m, n, k;
  const char *a, *b;
  char *c;
  blasint lda, ldb, ldc;
} st_gemm;

/* C becomes it, or gets it. */
void st__multiply(const st_lapack_job *j, const st_gemm *p);
void st__add(const st_lapack_job *j, const st_gemm *p);

static inline char st__adjoint_of(const st_lapack_job *j) {
  return st__is_complex(j->dtype) ? 'C' : 'T';
}

#endif
