/* Chunks of columns and products of BLAS: see chunks.h.
 */

#include "op/lapack/chunks.h"

#include "base/threads.h"

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
  if (status != ST_OK && s->j->status) *s->j->status = status;
  return status == ST_OK && !st__stops();
}

bool st__share_columns(st_step *s) {
  return share_chunks(s, ST_CHUNK);
}

bool st__share_each(st_step *s) {
  return share_chunks(s, 1);
}

bool st__is_stopped(const st_lapack_job *j) {
  return (j->status && *j->status != ST_OK) || st__stops();
}

st_number st__number(const st_lapack_job *j, int x) {
  st_number n;
  st__scalar_store(st__scalar_int(x), j->dtype, &n);
  return n;
}

static void gemm(const st_lapack_job *j, const st_gemm *p, int alpha,
                 int beta) {
  const blasint m = (blasint)p->m, n = (blasint)p->n, k = (blasint)p->k;
  const st_number a = st__number(j, alpha), b = st__number(j, beta);
  if (m == 0 || n == 0 || k == 0) return;
  j->f->gemm(&p->ta, &p->tb, &m, &n, &k, &a, p->a, &p->lda, p->b, &p->ldb, &b,
             p->c, &p->ldc, 1, 1);
}

void st__multiply(const st_lapack_job *j, const st_gemm *p) {
  gemm(j, p, 1, 0);
}

void st__subtract(const st_lapack_job *j, const st_gemm *p) {
  gemm(j, p, -1, 1);
}
