/* LAPACK: calls for batches, layouts and failures.
 */

#include "op/lapack/lapack.h"

#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "tensor/view.h"

/* -- Calls ---------------------------------------------------------------- */

enum { GRAIN = 8 * ST_GRAIN }; /* least multiplications of a thread */

static int64_t grain_of(const st_lapack_job *j) {
  return j->cost < GRAIN ? (int64_t)(GRAIN / (j->cost + 1)) + 1 : 1;
}

st_status st__lapack_begin(st_lapack_job *j) {
  const bool in_turn = j->is_blocked && j->count < st__num_threads();
  j->scratch = NULL;
  j->chunks = in_turn ? 1 : st__num_shares(j->count, grain_of(j));
  st_status status = ST_OK;
  if (j->uses_library) {
    ST_TRY(st__library_enter(j->dtype, st__num_threads(), &j->f));
  }
  if (status == ST_OK && j->bytes > 0) {
    j->scratch = st__alloc(ST_MEM_SCRATCH, (size_t)(j->chunks * j->bytes));
    if (!j->scratch) status = ST_NO_MEMORY;
  }
  if (status != ST_OK && j->uses_library) st__library_leave();
  return status;
}

void st__lapack_end(st_lapack_job *j) {
  st__free(ST_MEM_SCRATCH, j->scratch, (size_t)(j->chunks * j->bytes));
  if (j->uses_library) st__library_leave();
}

void st__lapack_fail(const st_lapack_job *j, st_status status) {
  __atomic_store_n(j->status, status, __ATOMIC_RELAXED);
}

static void run_chunks(void *ctx, int64_t begin, int64_t end) {
  const st_lapack_job *j = ctx;
  double left = ST_PERIOD; /* multiplications until the next question */
  for (int64_t k = begin; k < end; k++) {
    char *const scratch = j->scratch ? j->scratch + k * j->bytes : NULL;
    const int64_t last = j->count * (k + 1) / j->chunks;
    for (int64_t i = j->count * k / j->chunks; i < last; i++) {
      j->fn(j, i, scratch);
      left -= j->cost + 1;
      if (left > 0) continue;
      if (st__stops()) return;
      left = ST_PERIOD;
    }
  }
}

/* One call after the other, which share their work. */
static void run_in_turn(st_lapack_job *j) {
  for (int64_t i = 0; i < j->count && *j->status == ST_OK; i++) {
    j->fn(j, i, j->scratch);
  }
}

/* The calls of a library run on the thread that makes them. */
static int begin_library(void) {
  const int before = st__external_parallel_begin(1);
  st__library_use_one_thread();
  return before;
}

st_status st__lapack_run(st_lapack_job *j) {
  const bool in_turn = j->is_blocked && j->count < st__num_threads();
  const int before = j->uses_library ? begin_library() : 0;
  st_status failed = ST_OK, status = ST_OK;
  j->status = &failed;
  if (in_turn) run_in_turn(j);
  else status = st__parallel_try(0, j->chunks, 1, run_chunks, j);
  j->status = NULL;
  if (j->uses_library) st__external_parallel_end(before);
  return status == ST_OK ? failed : status;
}

/* -- Arguments ------------------------------------------------------------ */

static bool is_lapack_dtype(st_dtype dtype) {
  return dtype == ST_FLOAT32 || dtype == ST_FLOAT64 ||
         dtype == ST_COMPLEX64 || dtype == ST_COMPLEX128;
}

static st_status check_ndim(const st_tensor *t, const char *name) {
  if (t->ndim >= 2) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "%s must have at least 2 dimensions, its shape "
                  "is %s", name, ST_SHAPE_TEXT(t));
}

st_status st__check_matrices(const st_tensor *t, const char *name) {
  ST_TRY(check_ndim(t, name));
  if (!is_lapack_dtype(t->dtype)) {
    return st__fail(ST_BAD_DTYPE, "%s must be float32, float64, complex64 or "
                    "complex128, not %s", name, st__dtype_name(t->dtype));
  }
  if (st__rows(t) <= INT_MAX && st__cols(t) <= INT_MAX) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "%s has too large matrices, its shape is %s",
                  name, ST_SHAPE_TEXT(t));
}

st_status st__check_square_sizes(const st_tensor *t, const char *name) {
  ST_TRY(check_ndim(t, name));
  if (st__rows(t) == st__cols(t)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "%s must be a square matrix or a batch of "
                  "them, its shape is %s", name, ST_SHAPE_TEXT(t));
}

st_status st__check_square(const st_tensor *t, const char *name) {
  ST_TRY(st__check_matrices(t, name));
  return st__check_square_sizes(t, name);
}

st_status st__check_equal_dtypes(const st_tensor *a, const char *x,
                                 const st_tensor *b, const char *y) {
  if (a->dtype == b->dtype) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "%s is %s, but %s is %s: convert one of them",
                  x, st__dtype_name(a->dtype), y, st__dtype_name(b->dtype));
}

/* -- Layouts -------------------------------------------------------------- */

void st__column_strides(int ndim, const int64_t *sizes, int64_t *strides) {
  st__contiguous_strides(ndim, sizes, strides);
  if (ndim < 2) return;
  strides[ndim - 1] = sizes[ndim - 2] > 1 ? sizes[ndim - 2] : 1;
  strides[ndim - 2] = 1;
}

st_status st__new_columns(st_dtype dtype, int ndim, const int64_t *sizes,
                          st_tensor **out) {
  int64_t strides[ST_MAX_DIMS];
  st__column_strides(ndim, sizes, strides);
  return st__tensor_empty_strided(ST_DEVICE_CPU, dtype, ndim, sizes, strides,
                                  out);
}

/* Makes impl write output i to a proxy if it shares memory with an input. */
static st_status forbid_inputs(st_run *r, int i) {
  const int n = r->call->schema->nargs;
  for (int k = 0; r->given[i] && k < n - r->nouts; k++) {
    const st_tensor *in = st__to_tensor(&r->args[k]);
    if (in && st__overlap(r->given[i], in) != ST_OVERLAP_NO) {
      return st__write_apart(r, i);
    }
  }
  return ST_OK;
}

st_status st__set_columns(st_run *r, int i, int ndim, const int64_t *sizes,
                          st_dtype dtype) {
  int64_t strides[ST_MAX_DIMS];
  st__column_strides(ndim, sizes, strides);
  ST_TRY(st_set_output_strided(r, i, ndim, sizes, strides, dtype));
  return forbid_inputs(r, i);
}

st_status st__set_rows(st_run *r, int i, int ndim, const int64_t *sizes,
                       st_dtype dtype) {
  ST_TRY(st_set_output_strided(r, i, ndim, sizes, NULL, dtype));
  return forbid_inputs(r, i);
}

st_status st__set_matrices_and_info(st_run *r, const char *name,
                                    bool check_errors) {
  const st_tensor *A = st__arg_tensor(r, 0);
  ST_TRY(st__check_square(A, name));
  ST_TRY(st__set_columns(r, 0, A->ndim, A->sizes, A->dtype));
  ST_TRY(st__set_rows(r, 1, A->ndim - 2, A->sizes, ST_INT32));
  if (!check_errors) return ST_OK;
  ST_TRY(st__write_apart(r, 0));
  return st__write_apart(r, 1);
}

void st__batch_sizes(const st_tensor *t, const st_tensor *like,
                     int64_t *sizes) {
  for (int d = 0; d < like->ndim - 2; d++) sizes[d] = like->sizes[d];
  sizes[like->ndim - 2] = st__rows(t);
  sizes[like->ndim - 1] = st__cols(t);
}

char *st__matrix_at(const st_tensor *t, int64_t i) {
  const int64_t each = st__rows(t) * st__cols(t);
  if (t->numel == each) i = 0;
  return st__data(t) + i * each * (int64_t)st__itemsize(t->dtype);
}

st_status st__as_columns(const st_tensor *t, int ndim, const int64_t *sizes,
                         st_tensor **out) {
  const bool is_one = t->numel == st__rows(t) * st__cols(t);
  int64_t strides[ST_MAX_DIMS];
  st_tensor *wide = NULL, *made = NULL;
  st_status status = ST_OK;
  if (is_one) {
    ndim = t->ndim;
    sizes = t->sizes;
  }
  st__column_strides(ndim, sizes, strides);
  if (st__has_sizes(t, ndim, sizes) &&
      st__same_dims(ndim, t->strides, strides)) {
    return st__give(t, out);
  }
  ST_TRY_FAIL(st__view_expand(t, ndim, sizes, &wide));
  ST_TRY_FAIL(st__new_columns(t->dtype, ndim, sizes, &made));
  ST_TRY_FAIL(st__copy_unchecked(made, wide));
  *out = made;
  made = NULL;
fail:
  st__tensor_release(&wide);
  st__tensor_release(&made);
  return status;
}

void st__set_identities(st_tensor *t) {
  const int64_t n = st__cols(t), size = (int64_t)st__itemsize(t->dtype);
  const int64_t count = st__batch_count(t);
  if (t->numel == 0) return;
  memset(st__data(t), 0, (size_t)(t->numel * size));
  for (int64_t i = 0; i < count; i++) {
    char *const p = st__matrix_at(t, i);
    for (int64_t d = 0; d < n; d++) {
      st__scalar_store(st__scalar_int(1), t->dtype, p + d * (n + 1) * size);
    }
  }
}

/* An exponent that is all ones carries into the sign when 1 is added to it. */
bool st__all_finite(st_dtype dtype, const char *p, int64_t n) {
  const uint32_t one4 = UINT32_C(1) << 23;
  const uint64_t one8 = UINT64_C(1) << 52;
  uint32_t sums4 = 0, bits4;
  uint64_t sums8 = 0, bits8;
  if (st__is_complex(dtype)) n *= 2;
  if (st__real_dtype(dtype) == ST_FLOAT32) {
    for (int64_t i = 0; i < n; i++) {
      memcpy(&bits4, p + i * 4, 4);
      sums4 |= (bits4 & one4 * 0xff) + one4;
    }
    return sums4 >> 31 == 0;
  }
  for (int64_t i = 0; i < n; i++) {
    memcpy(&bits8, p + i * 8, 8);
    sums8 |= (bits8 & one8 * 0x7ff) + one8;
  }
  return sums8 >> 63 == 0;
}

/* -- Failures ------------------------------------------------------------- */

/* "A", or "A: the matrix at [2, 1] of the batch". */
static void name_matrix(const st_tensor *info, int64_t i, const char *name,
                        char *buf, size_t size) {
  int64_t at[ST_MAX_DIMS];
  if (info->ndim == 0) {
    snprintf(buf, size, "%s", name);
    return;
  }
  for (int d = info->ndim - 1; d >= 0; d--) {
    at[d] = st__display_index(i % info->sizes[d]);
    i /= info->sizes[d];
  }
  snprintf(buf, size, "%s: the matrix at %s of the batch", name,
           st__shape_text(info->ndim, at, (char[160]){0}, 160));
}

st_status st__check_info(const st_tensor *info, const char *name,
                         st_defect defect) {
  const int32_t *p = (const int32_t *)(const void *)st__data(info);
  char which[240];
  int64_t i = 0;
  while (i < info->numel && p[i] == 0) i++;
  if (i == info->numel) return ST_OK;
  name_matrix(info, i, name, which, sizeof which);
  const int at = (int)st__display_index(p[i] - 1);
  switch (defect) {
    case ST_SINGULAR:
      return st__fail(ST_BAD_VALUE, "%s is singular: U(%d, %d) is zero",
                      which, at, at);
    case ST_INDEFINITE:
      return st__fail(ST_BAD_VALUE, "%s is not positive definite: its leading "
                      "minor of order %d is not positive", which, (int)p[i]);
    case ST_NO_DIAGONAL:
      return st__fail(ST_BAD_VALUE, "%s is singular: D(%d, %d) is zero",
                      which, at, at);
    case ST_RANK_DEFICIENT:
      return st__fail(ST_BAD_VALUE, "%s does not have full rank: driver 'gels' "
                      "needs that", which);
    default:
      return st__fail(ST_BAD_VALUE, "%s is not finite, or the iteration for "
                      "it does not converge", which);
  }
}
