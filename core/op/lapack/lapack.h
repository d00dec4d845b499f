/* What LAPACK computes, by itself or by the engine, for batches of matrices.
 *
 * Note [Matrices for LAPACK]
 * LAPACK reads and overwrites matrices whose columns are contiguous. So the
 * outputs of its operators have this layout, as in ATen: an input is copied to
 * an output, or to a temporary, and LAPACK works there. The matrices of a batch
 * follow each other without gaps.
 *
 * Note [Reads behind a matrix]
 * OpenBLAS 0.3.21 multiplies complex matrices by a vector and reads an element
 * behind the vector, which may be a row of a matrix (cgemv_n for AVX-512). So
 * the decompositions that call it work in scratch memory, where a few columns
 * are left free behind each matrix.
 */
#ifndef ST_OP_LAPACK_LAPACK_H
#define ST_OP_LAPACK_LAPACK_H

#include "op/lapack/library.h"
#include "op/row/op.h"

/* -- Calls ---------------------------------------------------------------- */

typedef struct st_lapack_job st_lapack_job;

/* A call for each matrix of a batch. The matrices are shared among the engine's
 * threads; each call runs on one, unless the calls share their work and there
 * are fewer matrices than threads. */
struct st_lapack_job {
  void (*fn)(const st_lapack_job *j, int64_t i, char *scratch);
  const void *ctx;
  st_dtype dtype;
  int64_t count;        /* matrices */
  double cost;          /* multiplications for one */
  int64_t bytes;        /* of scratch that a call needs */
  bool is_blocked;      /* the calls share their work: op/lapack/blocks.h */
  bool uses_library;    /* the calls take functions of f */
  const st_lapack *f;   /* set by st__lapack_begin, as what follows */
  int chunks;
  char *scratch;
  st_status *status;    /* while the job runs: see st__lapack_fail */
};

/* Everything that can fail before the first call: loads the library if the job
 * uses it, allocates the scratch. st__lapack_end must follow if it succeeds. */
st_status st__lapack_begin(st_lapack_job *j);
/* INTERRUPTED if some matrices were not computed, or the status of
 * st__lapack_fail. */
st_status st__lapack_run(st_lapack_job *j);
/* For a call: its matrix is not computed, and the job may end. */
void st__lapack_fail(const st_lapack_job *j, st_status status);
void st__lapack_end(st_lapack_job *j);

/* -- Arguments ------------------------------------------------------------ */

/* BAD_SHAPE or BAD_DTYPE unless t is a batch of matrices of floats. */
st_status st__check_matrices(const st_tensor *t, const char *name);
/* BAD_SHAPE unless t, of any dtype, is a batch of square matrices. */
st_status st__check_square_sizes(const st_tensor *t, const char *name);
/* Both. */
st_status st__check_square(const st_tensor *t, const char *name);
/* BAD_DTYPE unless the dtypes are the same. */
st_status st__check_equal_dtypes(const st_tensor *a, const char *x,
                                 const st_tensor *b, const char *y);

static inline int64_t st__rows(const st_tensor *t) {
  return t->sizes[t->ndim - 2];
}
static inline int64_t st__cols(const st_tensor *t) {
  return t->sizes[t->ndim - 1];
}
/* The matrices of a batch. */
static inline int64_t st__batch_count(const st_tensor *t) {
  int64_t n = 1;
  for (int d = 0; d < t->ndim - 2; d++) n *= t->sizes[d];
  return n;
}

/* -- Layouts -------------------------------------------------------------- */

/* The strides of Note [Matrices for LAPACK]; those of a contiguous tensor for
 * less than two dimensions. */
void st__column_strides(int ndim, const int64_t *sizes, int64_t *strides);
/* A new tensor with these strides. */
st_status st__new_columns(st_dtype dtype, int ndim, const int64_t *sizes,
                          st_tensor **out);
/* Output i with these strides, or contiguous; it never shares memory with an
 * input. */
st_status st__set_columns(st_run *r, int i, int ndim, const int64_t *sizes,
                          st_dtype dtype);
st_status st__set_rows(st_run *r, int i, int ndim, const int64_t *sizes,
                       st_dtype dtype);

/* The outputs of an operator that makes a matrix of each square one of argument
 * 0, which is called `name`, and info. They are written at the end if info may
 * be an error. */
st_status st__set_matrices_and_info(st_run *r, const char *name,
                                    bool check_errors);

/* The leading dimension of a batch with contiguous columns. */
static inline blasint st__leading(const st_tensor *t) {
  return (blasint)(st__rows(t) > 0 ? st__rows(t) : 1);
}
/* Matrix i of such a batch, or the only one. */
char *st__matrix_at(const st_tensor *t, int64_t i);
/* t itself, retained, if it has contiguous columns and is one matrix or has
 * these sizes; else a copy, with these batch sizes unless t is one matrix.
 * ndim and sizes are those of t after broadcasting. */
st_status st__as_columns(const st_tensor *t, int ndim, const int64_t *sizes,
                         st_tensor **out);

/* t, broadcast to the batch of like, for st__as_columns: its sizes. */
void st__batch_sizes(const st_tensor *t, const st_tensor *like,
                     int64_t *sizes);

/* Makes a batch of square matrices without gaps one of identity matrices. */
void st__set_identities(st_tensor *t);

/* Elements of scratch for a matrix: Note [Reads behind a matrix]. */
static inline int64_t st__padded(int64_t rows, int64_t cols) {
  return rows * (cols + 4);
}

/* Bytes of scratch, so that what follows starts on a cache line. */
static inline int64_t st__whole_lines(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/* A length of scratch as LAPACK takes it, which then uses less of it. */
static inline blasint st__work_length(int64_t elements) {
  return (blasint)(elements < INT32_MAX ? elements : INT32_MAX);
}

/* True if n elements, one after the other, are finite. LAPACK's iterations
 * complain about others on stderr. */
bool st__all_finite(st_dtype dtype, const char *p, int64_t n);

/* -- Failures ------------------------------------------------------------- */

/* What an element of info that is not 0 says of a matrix. */
typedef enum st_defect {
  ST_SINGULAR, ST_INDEFINITE, ST_DIVERGENT, ST_NO_DIAGONAL, ST_RANK_DEFICIENT
} st_defect;

/* BAD_VALUE if an element of info, int32 and contiguous, is not 0; names the
 * argument and the first such matrix of the batch. */
st_status st__check_info(const st_tensor *info, const char *name,
                         st_defect defect);

#endif
