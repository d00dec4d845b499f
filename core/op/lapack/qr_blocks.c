/* QR factors of large matrices, and products of their reflections: Note
 * [Decompositions in blocks].
 *
 * The reflections of a block are I - V T V', where V has a unit lower triangle
 * and T is an upper triangle: R. Schreiber, C. Van Loan, "A storage-efficient
 * WY representation for products of Householder transformations", SIAM J. Sci.
 * Stat. Comput. 10, 1989. Applying them to a chunk takes three products of
 * BLAS.
 */

#include <string.h>

#include "base/threads.h"
#include "kernel/lapack/reflect.h"
#include "op/lapack/blocks.h"
#include "op/lapack/chunks.h"

enum { BLOCK = 32, LEAST = 32 };

/* The reflections of columns [k, k + width) of a, and room for what a chunk
 * needs: two matrices of BLOCK rows. */
typedef struct reflections {
  char *a;
  blasint m, n, lda;
  int64_t k, width;
  char *v, *t, *rooms; /* v has m - k rows, t BLOCK */
  char trans;          /* of T */
} reflections;

static int64_t square_bytes(int64_t size) {
  return st__whole_lines(BLOCK * BLOCK * size);
}

/* LAPACK's own blocks take BLOCK columns, too. */
int64_t st__qr_bytes(st_dtype dtype, int64_t m, int64_t n) {
  const int64_t size = (int64_t)st__itemsize(dtype);
  if (st__smaller(m, n) <= LEAST) return BLOCK * n * size;
  return st__whole_lines(BLOCK * m * size) + 2 * square_bytes(size) +
         st__whole_lines(2 * BLOCK * n * size);
}

static reflections reflections_of(const st_lapack_job *j, char *a, blasint m,
                                  blasint n, blasint lda, char trans,
                                  char *scratch) {
  reflections r = {.a = a, .m = m, .n = n, .lda = lda, .trans = trans};
  r.v = scratch;
  r.t = r.v + st__whole_lines(BLOCK * st__size(j) * m);
  r.rooms = r.t + 2 * square_bytes(st__size(j));
  return r;
}

/* -- V and T -------------------------------------------------------------- */

static void copy_vectors(const st_lapack_job *j, const reflections *r) {
  const int64_t rows = r->m - r->k, size = st__size(j);
  const st_number one = st__number(j, 1);
  for (int64_t c = 0; c < r->width; c++) {
    char *const to = r->v + c * rows * size;
    const char *const from = st__element(j, r->a, r->lda, r->k, r->k + c);
    memset(to, 0, (size_t)(c * size));
    memcpy(to + c * size, &one, (size_t)size);
    memcpy(to + (c + 1) * size, from + (c + 1) * size,
           (size_t)((rows - c - 1) * size));
  }
}

#define DEFINE_MAKE_T(name, T)                                               \
  /* g is V' V; column c of T is -tau[c] T g's column c, above tau[c]. */    \
  static void name(const T *g, const T *tau, T *t, int64_t n) {              \
    for (int64_t c = 0; c < n; c++, t += BLOCK, g += BLOCK) {                \
      const T *const first = t - c * BLOCK;                                  \
      memset(t, 0, BLOCK * sizeof *t);                                       \
      for (int64_t k = 0; k < c; k++) {                                      \
        const T w = -tau[c] * g[k];                                          \
        for (int64_t i = 0; i <= k; i++) t[i] += w * first[k * BLOCK + i];   \
      }                                                                      \
      t[c] = tau[c];                                                         \
    }                                                                        \
  }
DEFINE_MAKE_T(make_t_f4, float)
DEFINE_MAKE_T(make_t_f8, double)

/* t from V, whose reflections have the factors tau; g is room. */
static void find_t(const st_lapack_job *j, const char *v, blasint ldv,
                   int64_t m, int64_t n, const char *tau, char *t, char *g) {
  const blasint rows = (blasint)m, width = (blasint)n, block = BLOCK;
  const st_gemm square = {'T', 'N', n, n, m, v, v, g, ldv, ldv, BLOCK};
  if (st__is_complex(j->dtype)) {
    memset(t, 0, (size_t)square_bytes(st__size(j)));
    j->f->larft("F", "C", &rows, &width, v, &ldv, tau, t, &block, 1, 1);
    return;
  }
  st__multiply(j, &square);
  if (j->dtype == ST_FLOAT32) {
    make_t_f4((const float *)(void *)g, (const float *)(const void *)tau,
              (float *)(void *)t, n);
  } else {
    make_t_f8((const double *)(void *)g, (const double *)(const void *)tau,
              (double *)(void *)t, n);
  }
}

/* tau: of these columns. */
static void find_block(const st_lapack_job *j, const reflections *r,
                       const char *tau) {
  const int64_t rows = r->m - r->k;
  copy_vectors(j, r);
  find_t(j, r->v, (blasint)rows, rows, r->width, tau, r->t,
         r->t + square_bytes(st__size(j)));
}

/* -- Products ------------------------------------------------------------- */

/* Columns [from, to) of a, from row k on: C -= V op(T) V' C. */
static void apply(const st_step *s, int64_t from, int64_t to) {
  const reflections *r = s->ctx;
  const st_lapack_job *j = s->j;
  const int64_t rows = r->m - r->k, columns = to - from, width = r->width;
  char *const c = st__element(j, r->a, r->lda, r->k, from);
  char *const x = r->rooms + 2 * BLOCK * from * st__size(j);
  char *const y = x + BLOCK * columns * st__size(j);
  const blasint ldv = (blasint)rows;
  const st_gemm first = {st__adjoint_of(j), 'N', width, columns, rows, r->v, c,
                         x, ldv, r->lda, BLOCK};
  const st_gemm second = {r->trans, 'N', width, columns, width, r->t, x, y,
                          BLOCK, BLOCK, BLOCK};
  const st_gemm third = {'N', 'N', rows, columns, width, r->v, y, c, ldv,
                         BLOCK, r->lda};
  st__multiply(j, &first);
  st__multiply(j, &second);
  st__subtract(j, &third);
}

static void factor_block(const st_lapack_job *j, const reflections *r,
                         char *tau) {
  const blasint rows = r->m - (blasint)r->k, width = (blasint)r->width;
  const blasint length = BLOCK * width;
  const st_loop reflect = st__kernel(ST_K_reflect, j->dtype);
  char *const a = st__element(j, r->a, r->lda, r->k, r->k);
  int32_t is_done = 0;
  blasint info;
  if (reflect) {
    char *data[] = {a, tau, (char *)&is_done};
    const int64_t size = st__size(j);
    const int64_t st[] = {size, 0, 0, r->lda * size, 0, 0};
    reflect(data, st, rows, width, NULL);
  }
  if (is_done) return;
  j->f->geqrf(&rows, &width, a, &r->lda, tau, r->rooms, &length, &info);
}

bool st__geqrf(const st_lapack_job *j, blasint m, blasint n, char *a,
               blasint lda, char *tau, char *scratch) {
  const int64_t k = st__smaller(m, n);
  const blasint length = st__work_length((int64_t)BLOCK * n);
  blasint info;
  if (k <= LEAST) {
    j->f->geqrf(&m, &n, a, &lda, tau, scratch, &length, &info);
    return true;
  }
  reflections r = reflections_of(j, a, m, n, lda, st__adjoint_of(j), scratch);
  st_step s = {.fn = apply, .j = j, .ctx = &r, .to = n};
  for (; r.k < k; r.k += r.width) {
    char *const factors = tau + r.k * st__size(j);
    r.width = st__smaller(k - r.k, BLOCK);
    factor_block(j, &r, factors);
    s.from = r.k + r.width;
    if (s.from >= n) break;
    find_block(j, &r, factors);
    if (!st__share_columns(&s)) return false;
  }
  return true;
}

/* Columns [from, to) of the identity matrix. */
static void set_identity(const st_lapack_job *j, const reflections *r,
                         int64_t from, int64_t to) {
  const st_number one = st__number(j, 1);
  for (int64_t c = from; c < to; c++) {
    memset(st__element(j, r->a, r->lda, 0, c), 0,
           (size_t)(r->m * st__size(j)));
    memcpy(st__element(j, r->a, r->lda, c, c), &one, (size_t)st__size(j));
  }
}

void st__orgqr(const st_lapack_job *j, blasint m, blasint n, blasint k,
               char *a, blasint lda, const char *tau, char *scratch) {
  const blasint length = st__work_length((int64_t)BLOCK * n);
  blasint info;
  if (k <= LEAST) {
    j->f->orgqr(&m, &n, &k, a, &lda, tau, scratch, &length, &info);
    return;
  }
  reflections r = reflections_of(j, a, m, n, lda, 'N', scratch);
  st_step s = {.fn = apply, .j = j, .ctx = &r, .to = n};
  set_identity(j, &r, k, n);
  for (int64_t end = k; end > 0; end = r.k) {
    r.width = end % BLOCK ? end % BLOCK : BLOCK;
    r.k = s.from = end - r.width;
    find_block(j, &r, tau + r.k * st__size(j));
    set_identity(j, &r, r.k, end);
    if (!st__share_columns(&s)) return;
  }
}

/* -- Q C ------------------------------------------------------------------ */

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
