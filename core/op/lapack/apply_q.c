/* Products of the reflections of LAPACK's reductions, by chunks of columns:
 * Note [Decompositions in blocks]. */

#include <string.h>

#include "base/threads.h"
#include "kernel/lapack/reflect.h"
#include "op/lapack/blocks.h"
#include "op/lapack/chunks.h"

enum { BLOCK = 32 };

static int64_t square_bytes(int64_t size) {
  return st__whole_lines(BLOCK * BLOCK * size);
}

/* t from V, whose reflections have the factors tau; g is room. */
static void find_t(const st_lapack_job *j, const char *v, blasint ldv,
                   int64_t m, int64_t n, const char *tau, char *t, char *g) {
  const st_gemm square = {'T', 'N', n, n, m, v, v, g, ldv, ldv, BLOCK};
  const int64_t pitch = BLOCK * st__size(j);
  const int64_t st[] = {0, 0, 0, pitch, pitch, 0};
  st__multiply(j, &square);
  st__kernel(ST_K_reflect_factor, j->dtype)(
    (char *[]){t, g, (char *)(uintptr_t)tau}, st, n, 1, NULL);
}

typedef struct product {
  char *a, *c, *t, *rooms; /* t: two squares for each block */
  const char *tau;
  blasint m, k, lda, ldc;
} product;

int64_t st__apply_q_bytes(st_dtype dtype, int64_t n, int64_t k) {
  const int64_t size = (int64_t)st__itemsize(dtype);
  const int64_t blocks = (k + BLOCK - 1) / BLOCK;
  return 2 * blocks * square_bytes(size) +
         st__whole_lines(2 * BLOCK * n * size);
}

static char *t_at(const st_step *s, int64_t block) {
  const product *p = s->ctx;
  return p->t + 2 * block * square_bytes(st__size(s->j));
}

/* V of blocks [from, to) takes its place in a. */
static void find_blocks(const st_step *s, int64_t from, int64_t to) {
  const product *p = s->ctx;
  const st_lapack_job *j = s->j;
  const st_number one = st__number(j, 1);
  const int64_t size = st__size(j);
  for (int64_t b = from; b < to; b++) {
    const int64_t k = b * BLOCK, width = st__smaller(p->k - k, BLOCK);
    char *const v = st__element(j, p->a, p->lda, k, k);
    char *const t = t_at(s, b);
    for (int64_t i = 0; i < width; i++) {
      memset(st__element(j, v, p->lda, 0, i), 0, (size_t)(i * size));
      memcpy(st__element(j, v, p->lda, i, i), &one, (size_t)size);
    }
    find_t(j, v, p->lda, p->m - k, width, p->tau + k * size, t,
           t + square_bytes(size));
  }
}

static void apply_blocks(const st_step *s, int64_t from, int64_t to) {
  const product *p = s->ctx;
  const st_lapack_job *j = s->j;
  const int64_t columns = to - from, last = (p->k - 1) / BLOCK;
  char *const x = p->rooms + 2 * BLOCK * from * st__size(j);
  char *const y = x + BLOCK * columns * st__size(j);
  for (int64_t b = last; b >= 0 && !st__stops(); b--) {
    const int64_t k = b * BLOCK, width = st__smaller(p->k - k, BLOCK);
    const int64_t rows = p->m - k;
    const char *const v = st__element(j, p->a, p->lda, k, k);
    char *const c = st__element(j, p->c, p->ldc, k, from);
    const st_gemm first = {st__adjoint_of(j), 'N', width, columns, rows, v, c,
                           x, p->lda, p->ldc, BLOCK};
    const st_gemm second = {'N', 'N', width, columns, width, t_at(s, b), x, y,
                            BLOCK, BLOCK, BLOCK};
    const st_gemm third = {'N', 'N', rows, columns, width, v, y, c, p->lda,
                           BLOCK, p->ldc};
    st__multiply(j, &first);
    st__multiply(j, &second);
    st__subtract(j, &third);
  }
}

void st__apply_q(const st_lapack_job *j, blasint m, blasint n, blasint k,
                 char *a, blasint lda, const char *tau, char *c, blasint ldc,
                 char *scratch) {
  const int64_t blocks = (k + BLOCK - 1) / BLOCK;
  product p = {.a = a, .c = c, .t = scratch, .tau = tau, .m = m, .k = k,
               .lda = lda, .ldc = ldc};
  st_step s = {.fn = find_blocks, .j = j, .ctx = &p, .to = blocks};
  p.rooms = scratch + 2 * blocks * square_bytes(st__size(j));
  if (!st__share_each(&s)) return;
  s.fn = apply_blocks;
  s.to = n;
  st__share_columns(&s);
}
