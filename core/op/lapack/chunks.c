/* Chunks of columns and products of matrices: see chunks.h.
 */

#include "op/lapack/chunks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "op/lapack/part.h"

typedef struct share {
  const st_step *s;
  int64_t chunk;
} share;

static void run_chunks(void *ctx, int64_t begin, int64_t end) {
  const share *c = ctx;
  const st_step *s = c->s;
  for (int64_t i = begin; i < end && !st__stops(); i++) {
    const int64_t from = s->from + i * c->chunk;
    s->fn(s, from, st__smaller(from + c->chunk, s->to));
  }
}

static bool share_chunks(const st_step *s, int64_t chunk) {
  const int64_t chunks = (s->to - s->from + chunk - 1) / chunk;
  share c = {s, chunk};
  if (chunks <= 0) return true;
  const st_status status = st__parallel_try(0, chunks, 1, run_chunks, &c);
  if (status != ST_OK) st__lapack_fail(s->j, status);
  return !st__is_stopped(s->j);
}

bool st__share_columns(st_step *s) {
  return share_chunks(s, ST_CHUNK);
}

bool st__share_each(st_step *s) {
  return share_chunks(s, 1);
}

/* The merges of one level are shared, or each of them is if they are fewer than
 * threads. */
bool st__conquer(st_step *s,
                 void (*merge)(const st_step *s, int64_t from, int64_t to),
                 blasint *ends, const blasint *info) {
  if (!st__share_each(s)) return false;
  s->fn = merge;
  while (s->to > 1 && *info == 0) {
    s->to /= 2;
    if (s->to >= st__num_threads()) {
      if (!st__share_each(s)) return false;
    } else {
      merge(s, 0, s->to);
      if (st__is_stopped(s->j)) return false;
    }
    for (int64_t p = 1; p <= s->to; p++) ends[p] = ends[2 * p];
  }
  return true;
}

bool st__is_stopped(const st_lapack_job *j) {
  return __atomic_load_n(j->status, __ATOMIC_RELAXED) != ST_OK || st__stops();
}

st_number st__number(const st_lapack_job *j, int x) {
  st_number n;
  st__scalar_store(st__scalar_int(x), j->dtype, &n);
  return n;
}

static st_part operand(const char *p, char trans, int64_t m, int64_t n,
                       blasint ld) {
  return trans == 'N' ? st__columns_at(p, m, n, ld)
                      : st__turned(st__columns_at(p, n, m, ld));
}

static void gemm(const st_lapack_job *j, const st_gemm *p, bool adds) {
  const st_part a = operand(p->a, p->ta, p->m, p->k, p->lda);
  const st_part b = operand(p->b, p->tb, p->k, p->n, p->ldb);
  const st_part c = st__columns_at(p->c, p->m, p->n, p->ldc);
  const bool done = st__part_multiply(j, &c, &a, &b, 1, adds);
  (void)done; /* the job says so */
}

void st__multiply(const st_lapack_job *j, const st_gemm *p) {
  gemm(j, p, false);
}

void st__add(const st_lapack_job *j, const st_gemm *p) {
  gemm(j, p, true);
}

/* -- Scales --------------------------------------------------------------- */

#define DEFINE_GREATEST(name, T, FABS)                                       \
  /* The greatest element of a, m x n, or NaN if one is not finite; of column  \
   * c from row `lower` c on. */                                             \
  static double name(const T *a, int64_t m, int64_t n, int64_t lower) {      \
    T most = 0, sum = 0;                                                     \
    for (int64_t c = 0; c < n; c++) {                                        \
      for (int64_t i = lower * c; i < m; i++) {                              \
        const T x = FABS(a[c * m + i]);                                      \
        most = x > most ? x : most;                                          \
        sum += x - x;                                                        \
      }                                                                      \
    }                                                                        \
    return (double)(most + sum);                                             \
  }
DEFINE_GREATEST(greatest_f4, float, fabsf)
DEFINE_GREATEST(greatest_f8, double, fabs)

bool st__find_scale(const st_lapack_job *j, const char *a, int64_t m,
                    int64_t n, bool lower, int *exponent) {
  const bool is_float = st__real_dtype(j->dtype) == ST_FLOAT32;
  const int64_t parts = st__is_complex(j->dtype) ? 2 : 1;
  const void *const from = a;
  const double most =
    is_float ? greatest_f4(from, m * parts, n, lower ? parts : 0)
             : greatest_f8(from, m * parts, n, lower ? parts : 0);
  const int far = is_float ? 40 : 400, end = is_float ? 100 : 1000;
  *exponent = 0;
  if (!(most - most == 0)) return false;
  if (most == 0) return true;
  frexp(most, exponent);
  if (abs(*exponent) < far) *exponent = 0;
  /* Its power of two and the reciprocal are finite. */
  *exponent = *exponent < -end ? -end : *exponent > end ? end : *exponent;
  return true;
}

#define DEFINE_SCALE(name, T)                                                \
  static void name(T *a, int64_t n, double by) {                             \
    for (int64_t i = 0; i < n; i++) a[i] = (T)(a[i] * by);                   \
  }
DEFINE_SCALE(scale_f4, float)
DEFINE_SCALE(scale_f8, double)

void st__scale(const st_lapack_job *j, char *p, int64_t n, int exponent) {
  const double by = ldexp(1, exponent);
  if (st__is_complex(j->dtype)) n *= 2;
  const bool is_float = st__real_dtype(j->dtype) == ST_FLOAT32;
  if (is_float) scale_f4((float *)(void *)p, n, by);
  else scale_f8((double *)(void *)p, n, by);
}

/* -- Values --------------------------------------------------------------- */

double st__value(const st_lapack_job *j, const char *p, int64_t i) {
  return j->dtype == ST_FLOAT32 ? (double)((const float *)(const void *)p)[i]
                                : ((const double *)(const void *)p)[i];
}

void st__set_value(const st_lapack_job *j, char *p, int64_t i, double x) {
  if (j->dtype == ST_FLOAT32) ((float *)(void *)p)[i] = (float)x;
  else ((double *)(void *)p)[i] = x;
}

void st__sort_values(const st_lapack_job *j, int64_t n, char *d,
                     blasint *order, char *room) {
  for (int64_t i = 0; i < n; i++) {
    st__set_value(j, room, i, st__value(j, d, order[i] - 1));
  }
  for (int64_t i = 1; i < n; i++) {
    const double x = st__value(j, room, i);
    const blasint place = order[i];
    int64_t k = i;
    for (; k > 0 && st__value(j, room, k - 1) > x; k--) {
      st__set_value(j, room, k, st__value(j, room, k - 1));
      order[k] = order[k - 1];
    }
    st__set_value(j, room, k, x);
    order[k] = place;
  }
  memcpy(d, room, (size_t)(n * st__size(j)));
}

void st__sort_order(const st_lapack_job *j, int64_t n, const char *d,
                    blasint *order) {
  for (int64_t i = 1; i < n; i++) {
    const blasint place = order[i];
    const double x = st__value(j, d, place - 1);
    int64_t k = i;
    for (; k > 0 && st__value(j, d, order[k - 1] - 1) > x; k--) {
      order[k] = order[k - 1];
    }
    order[k] = place;
  }
}
