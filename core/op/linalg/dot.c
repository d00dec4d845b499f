/* The dot product, in blocks: their number and sizes depend on the number of
 * elements only, and their sums are added up in order. So any number of threads
 * gives the same bits.
 */

#include "op/linalg/dot.h"

#include "base/threads.h"

enum { BLOCK = 8192, BLOCKS = 256 }; /* least elements, most blocks */

typedef struct job {
  const st_dot *d;
  int64_t block;
  st_loop loop;
  double sums[BLOCKS];
} job;

static void run_blocks(void *ctx, int64_t begin, int64_t end) {
  job *j = ctx;
  const st_dot *d = j->d;
  const int64_t s[6] = {0, d->step_a, d->step_b};
  for (int64_t i = begin; i < end && (i == begin || !st__stops()); i++) {
    const int64_t at = i * j->block, left = d->n - at;
    union { float f; double d; } sum;
    char *data[3] = {(char *)&sum, d->a + at * d->step_a,
                     d->b + at * d->step_b};
    j->loop(data, s, left < j->block ? left : j->block, 1, NULL);
    j->sums[i] = d->dtype == ST_FLOAT32 ? (double)sum.f : sum.d;
  }
}

st_status st__dot(const st_dot *d, double *out) {
  job j; /* not cleared: it is large */
  const int64_t each = (d->n / BLOCKS + BLOCK) / BLOCK * BLOCK;
  const int64_t blocks = (d->n + each - 1) / each;
  j.d = d;
  j.block = each;
  ST_TRY(st__find_kernel(ST_K_dot, d->dtype, &j.loop));
  const int64_t grain = st__kernel_grain(ST_K_dot) / each + 1;
  ST_TRY(st__parallel_try(0, blocks, grain, run_blocks, &j));
  *out = 0;
  for (int64_t i = 0; i < blocks; i++) *out += j.sums[i];
  return ST_OK;
}
