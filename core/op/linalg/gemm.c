/* Matrix products: BLAS for the dtypes it supports, kernels of the engine for
 * integers, small matrices, sums of few products, matrices that BLAS packs
 * slowly and single sums.
 *
 * Note [Matrices for BLAS]
 * BLAS takes a matrix with contiguous rows or contiguous columns and any
 * leading dimension; the latter is the transpose of the former. So views,
 * transposed or not, are passed as they are; only a matrix strided in both
 * dimensions is copied first. float16 and bfloat16 are converted to float32,
 * except that a kernel multiplies a matrix of them and a vector.
 *
 * Note [Packed products and BLAS]
 * The time of the kernel that packs b, divided by that of OpenBLAS 0.3.21, on
 * an Intel Xeon (AVX-512, 2 MB L2), one thread and two:
 *
 *                  float32        float64
 *   384x384x384    .86  .81       .90  1.05
 *   512x512x512    .97  .88      1.03   .94
 *   the same, a transposed
 *                 1.09  1.02     1.26  1.14
 *   768x768x768   1.04   .97     1.05   .96
 *   1024x784x128   .89   .98      .81   .90
 *   64x1024x1024   .83   .87     1.01   .90
 *   4096x512x64    .78   .80      .72   .77
 *   128x20000x32   .68   .70      .63   .64
 *
 * With AVX2 it is slower from 350x350x350 on, by 5 to 20 %. oneDNN 2.6 is as
 * fast as this kernel up to 512x512x512 in float32; it takes .85 to .96 of
 * OpenBLAS's time from 768x768x768 to 1536x1536x1536 with AVX-512, and all of
 * it with AVX2. It is not used: it generates its code during the first
 * product, in 30 ms, and where memory runs out it ends the process by a C++
 * exception.
 */

#include "op/linalg/gemm.h"

#include <limits.h>

#include "os/cpu.h"
#include "os/machine.h"
#include "base/threads.h"
#include "iter/copy.h"
#include "iter/strided_copy.h"
#include "kernel/linalg/gemm.h"
#include "kernel/linalg/half_mv.h"
#include "kernel/linalg/matmul.h"
#include "op/linalg/dot.h"
#include "op/linalg/product.h"

/* In multiplications. Up to SMALL, a tile kernel is fastest. The kernel that
 * packs b is for products from MODERATE to LARGE, or less if BLAS transposes or
 * the engine copies b; a thread computes TILES of them or more. With AVX-512,
 * for those up to WIDE_LARGE if the rows of a are contiguous, and for all where
 * c has a side of at most SHORT (Note [Packed products and BLAS]). */
enum { SMALL = 4096, MODERATE = 1000000, LARGE = 1 << 25,
       WIDE_LARGE = 1 << 27, TILES = 1 << 18 };
/* The least rows and columns of such a product, and if b is transposed; the
 * least products in a sum, where another kernel is as good. */
enum { ROWS = 12, COLUMNS = 8, INNER = 13, TRANSPOSED = 24, SHORT = 128 };
/* Of a thin product: the most products in a sum, the fewest rows, and columns
 * where c is written and where it is added to. */
enum { THIN = 16, THIN_ROWS = 4, THIN_COLUMNS = 32, THIN_ADDED = 64 };

/* -- Matrices ------------------------------------------------------------- */

/* Normalizes the strides of dimensions of size 1, which are arbitrary. */
static void normalise(st_matrix *m) {
  if (m->cols == 1 && m->rows == 1) m->row = m->col = 1;
  else if (m->cols == 1) m->col = m->row == 1 ? m->rows : 1;
  else if (m->rows == 1) m->row = m->col == 1 ? m->cols : 1;
}

static bool has_contiguous_rows(st_matrix m) {
  normalise(&m);
  return m.col == 1;
}

static char *at_batch(const st_product *p, const st_matrix *m, int64_t i) {
  return m->data + i * m->batch * (int64_t)st__itemsize(p->dtype);
}

/* -- One product ---------------------------------------------------------- */

/* n products, beginning with those at a, b and c. */
static void call_kernel(const st_product *p, char *a, char *b, char *c,
                        int64_t n) {
  const int64_t size = (int64_t)st__itemsize(p->dtype);
  const st_matmul ctx = {
    p->a.cols, p->alpha, p->beta, n,
    {p->c.batch * size, p->a.batch * size, p->b.batch * size}};
  const int64_t s[6] = {p->c.col * size, p->a.col * size, p->b.col * size,
                        p->c.row * size, p->a.row * size, p->b.row * size};
  char *data[3] = {c, a, b};
  p->loop(data, s, p->c.cols, p->c.rows, &ctx);
}

static bool is_small(const st_product *p) {
  return p->c.rows < 64 && p->c.cols < 64 && p->a.cols < 64 &&
         st__product_volume(p) <= SMALL;
}

/* True if the kernel finds contiguous rows in the transposed product only. For
 * a small product: a large one of one row is shared among threads by rows of
 * the transposed one. */
static bool is_better_transposed(const st_product *p) {
  const bool is_good = p->c.cols == 1 || (p->c.col == 1 && p->b.col == 1);
  return !is_good && (p->c.rows == 1 || (p->c.row == 1 && p->a.row == 1));
}

/* True if few products are summed up per element and the kernel finds
 * contiguous rows: it packs nothing, and writes c once. */
static bool is_thin(const st_product *p) {
  st_product q = *p;
  if ((p->dtype != ST_FLOAT32 && p->dtype != ST_FLOAT64) ||
      p->a.cols > THIN) {
    return false;
  }
  if (is_better_transposed(p)) st__transpose_product(&q);
  const int64_t few = st__scalar_is_zero(p->beta) ? THIN_COLUMNS
                                                  : THIN_ADDED;
  return q.c.col == 1 && q.b.col == 1 && q.c.rows >= THIN_ROWS &&
         q.c.cols >= few;
}

/* The most multiplications that the kernel that packs b does before BLAS is
 * faster. */
static int64_t most_packed(const st_product *p) {
  if (!st__isa_has(ST_ISA_avx512)) return LARGE;
  if (p->c.rows <= SHORT || p->c.cols <= SHORT) return INT64_MAX;
  return p->a.col == 1 ? WIDE_LARGE : LARGE;
}

/* True if the kernel that packs b computes the product. BLAS is as fast while
 * neither it nor the engine copies b, and in large products. */
static bool is_moderate(const st_product *p) {
  const int64_t n = st__product_volume(p);
  st_product q = *p;
  if (p->c.col != 1) st__transpose_product(&q); /* as run_moderate does */
  if (!st__kernel(ST_K_gemm, p->dtype) || n > most_packed(&q) ||
      q.c.rows < ROWS || q.c.cols < COLUMNS || q.a.cols == 0 ||
      q.c.col != 1 || (q.a.cols < INNER && is_thin(p))) {
    return false;
  }
  const bool turns_b = p->a.col == 1 && p->b.row == 1 &&
                       q.c.rows >= TRANSPOSED && q.c.cols >= TRANSPOSED;
  return n >= MODERATE || turns_b || !st__fits_blas(&p->a) ||
         !st__fits_blas(&p->b);
}

/* True if BLAS supports the product. Its sizes and vector strides have 32
 * bits. */
static bool is_for_blas(const st_product *p) {
  return (p->dtype == ST_FLOAT32 || p->dtype == ST_FLOAT64 ||
          st__is_complex(p->dtype)) && p->a.cols > 0 &&
         p->c.rows <= INT_MAX && p->c.cols <= INT_MAX && p->a.cols <= INT_MAX;
}

/* A sum of float32 or float64; not of a batch, which the threads share. */
static bool is_dot(const st_product *p) {
  return st__kernel(ST_K_dot, p->dtype) && p->c.rows == 1 && p->c.cols == 1 &&
         p->batch == 1;
}

/* -- One sum -------------------------------------------------------------- */

static st_status run_dot(const st_product *p) {
  const int64_t size = (int64_t)st__itemsize(p->dtype);
  const st_dot d = {p->dtype, p->a.data, p->b.data, p->a.col * size,
                    p->b.row * size, p->a.cols};
  double sum;
  ST_TRY(st__dot(&d, &sum));
  const double alpha = st__scalar_to_double(p->alpha);
  const double beta = st__scalar_to_double(p->beta);
  if (p->dtype == ST_FLOAT32) {
    float *c = (float *)(void *)p->c.data;
    *c = (float)(alpha * sum + (beta == 0 ? 0 : beta * (double)*c));
  } else {
    double *c = (double *)(void *)p->c.data;
    *c = alpha * sum + (beta == 0 ? 0 : beta * *c);
  }
  return ST_OK;
}

/* -- Products of moderate size -------------------------------------------- */

static void run_parts(void *ctx, int64_t begin, int64_t end) {
  const st_product *all = ctx;
  const int64_t size = (int64_t)st__itemsize(all->dtype);
  const st_matrix *a = &all->a, *b = &all->b, *c = &all->c;
  const int64_t s[6] = {size, a->col * size, b->col * size, c->row * size,
                        a->row * size, b->row * size};
  st_gemm_ctx w = {a->cols, st__machine.gemm_block, all->alpha, all->beta, NULL,
                   st__kernel(ST_K_transpose, st__bits_of(size))};
  for (int64_t i = begin; i < end && (i == begin || !st__stops()); i++) {
    st_product part;
    const st_product *p = st__part_of_product(all, i, &part);
    char *data[3] = {p->c.data, p->a.data, p->b.data};
    w.row = p->row;
    all->loop(data, s, p->c.cols, p->c.rows, &w);
  }
}

static st_status run_moderate(st_product *p) {
  p->loop = st__kernel(ST_K_gemm, p->dtype);
  if (p->c.col != 1) st__transpose_product(p);
  st__split_product(p, 2, TILES);
  const int64_t each = st__product_volume(p) / p->parts + 1;
  return st__parallel_try(0, p->batch * p->parts, TILES / each + 1, run_parts,
                          p);
}

/* -- Small and thin products ---------------------------------------------- */

/* Asks between calls of the kernel whether to stop. */
static void run_batches(void *ctx, int64_t begin, int64_t end) {
  const st_product *p = ctx;
  const int64_t most = ST_PERIOD / (st__product_volume(p) + 1) + 1;
  for (int64_t i = begin, n; i < end && (i == begin || !st__stops()); i += n) {
    n = end - i < most ? end - i : most;
    call_kernel(p, at_batch(p, &p->a, i), at_batch(p, &p->b, i),
                at_batch(p, &p->c, i), n);
  }
}

static void run_rows(void *ctx, int64_t begin, int64_t end) {
  st_product p = *(const st_product *)ctx;
  const int64_t size = (int64_t)st__itemsize(p.dtype);
  p.c.data += begin * p.c.row * size;
  p.a.data += begin * p.a.row * size;
  p.c.rows = end - begin;
  call_kernel(&p, p.a.data, p.b.data, p.c.data, 1);
}

/* A kernel that takes any strides. */
static st_status run_tiles(st_product *p) {
  const int64_t each = st__product_volume(p) + 1;
  ST_TRY(st__find_kernel(ST_K_matmul, p->dtype, &p->loop));
  if (is_better_transposed(p)) st__transpose_product(p);
  if (p->batch == 1) {
    const int64_t rows = ST_GRAIN / (each / (p->c.rows + 1) + 1) + 1;
    return st__parallel_try(0, p->c.rows, rows, run_rows, p);
  }
  return st__parallel_try(0, p->batch, ST_GRAIN / each + 1, run_batches, p);
}

/* -- Operands ------------------------------------------------------------- */

static void set_operands(st_product *p, const st_tensor *a,
                         const st_tensor *b, const st_tensor *c) {
  p->a = st__matrix_of(a);
  p->b = st__matrix_of(b);
  p->c = st__matrix_of(c);
  p->batch = c->ndim == 3 ? c->sizes[0] : 1;
  normalise(&p->a);
  normalise(&p->b);
  normalise(&p->c);
}

/* t, retained, or a contiguous copy if BLAS does not support its strides;
 * owned. */
static st_status for_blas(const st_tensor *t, st_tensor **out) {
  st_matrix m = st__matrix_of(t);
  normalise(&m);
  if (!st__fits_blas(&m)) {
    return st__clone(t, t->dtype, ST_FORMAT_CONTIGUOUS, out);
  }
  *out = (st_tensor *)(uintptr_t)t;
  st__tensor_retain(*out);
  return ST_OK;
}

/* True if t is a row of p's dtype that the kernel may read. */
static bool is_row(const st_tensor *t, const st_product *p) {
  return t->ndim == 1 && t->dtype == p->dtype && t->sizes[0] == p->c.cols &&
         (t->strides[0] == 1 || t->sizes[0] == 1) &&
         st__is_cpu(t) && !st__is_neg(t) && !st__is_zero(t);
}

/* Copies operands that BLAS does not support, multiplies, and copies c back. */
static st_status multiply_copies(const st_tensor *a, const st_tensor *b,
                                 st_tensor *c, st_product *p) {
  st_tensor *x = NULL, *y = NULL, *z = NULL;
  st_status status;
  ST_TRY_FAIL(for_blas(a, &x));
  ST_TRY_FAIL(for_blas(b, &y));
  ST_TRY_FAIL(for_blas(c, &z));
  set_operands(p, x, y, z);
  ST_TRY_FAIL(st__blas_product(p));
  if (z != c) status = st__copy_unchecked(c, z);
fail:
  st__tensor_release(&x);
  st__tensor_release(&y);
  st__tensor_release(&z);
  return status;
}

static st_status multiply_by_blas(const st_tensor *a, const st_tensor *b,
                                  st_tensor *c, st_product *p) {
  const bool fits = st__fits_blas(&p->a) && st__fits_blas(&p->b) &&
                    st__fits_blas(&p->c);
  ST_TRY(st__blas_enter(st__num_threads(), &p->blas));
  const st_status status = fits ? st__blas_product(p)
                                : multiply_copies(a, b, c, p);
  st__blas_leave();
  return status;
}

/* Every error precedes the first write of the product. */
static st_status multiply(const st_tensor *a, const st_tensor *b,
                          st_tensor *c, const st_tensor *add, st_product *p) {
  set_operands(p, a, b, c);
  if (add && is_row(add, p) && p->c.col == 1 && !is_small(p) &&
      is_moderate(p)) {
    p->row = st__data(add);
    return run_moderate(p);
  }
  if (add) ST_TRY(st__copy(c, add));
  if (is_dot(p)) return run_dot(p);
  if (is_small(p)) return run_tiles(p);
  if (is_moderate(p)) return run_moderate(p);
  if (is_thin(p)) return run_tiles(p);
  return is_for_blas(p) ? multiply_by_blas(a, b, c, p) : run_tiles(p);
}

/* -- Halves --------------------------------------------------------------- */

/* A matrix of halves, or a batch of them, times float32 vectors; strides in
 * elements. */
typedef struct half_product {
  st_matrix a;
  char *v, *c;
  st_half_mv ctx;
  st_loop loop;
} half_product;

/* Rows of all matrices of the batch, counted on. */
static void run_half_rows(void *ctx, int64_t begin, int64_t end) {
  const half_product *p = ctx;
  const st_matrix *a = &p->a;
  const int64_t s[6] = {0, 2 * a->col, 4, 4, 2 * a->row, 0};
  for (int64_t n; begin < end && !st__stops(); begin += n) {
    const int64_t i = begin / a->rows, row = begin % a->rows;
    n = a->rows - row < end - begin ? a->rows - row : end - begin;
    char *data[3] = {p->c + 4 * begin,
                     a->data + 2 * (i * a->batch + row * a->row),
                     p->v + 4 * i * a->cols};
    p->loop(data, s, a->cols, n, &p->ctx);
  }
}

/* c in float32, contiguous and owned; of any value if the product overwrites
 * it. */
static st_status float_result(const st_tensor *c, st_scalar beta,
                              st_tensor **out) {
  if (!st__scalar_is_zero(beta)) {
    return st__clone(c, ST_FLOAT32, ST_FORMAT_CONTIGUOUS, out);
  }
  return st__tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, c->ndim, c->sizes,
                          ST_FORMAT_CONTIGUOUS, out);
}

static bool is_half_vector(const st_tensor *a, const st_tensor *c) {
  const st_matrix z = st__matrix_of(c);
  return a->numel > 0 && (z.cols == 1 || z.rows == 1);
}

/* c is a column or a row; a row is the transposed matrix times a column. The
 * vectors are converted to float32, the matrix is not. */
static st_status multiply_half_vector(const st_tensor *a, const st_tensor *b,
                                      st_tensor *c, const st_product *by) {
  const bool is_column = st__matrix_of(c).cols == 1;
  half_product p = {.a = st__matrix_of(is_column ? a : b)};
  const st_matrix m = p.a;
  st_tensor *v = NULL, *z = NULL;
  st_status status;
  if (!is_column) {
    p.a = (st_matrix){m.data, m.cols, m.rows, m.col, m.row, m.batch};
  }
  p.ctx = (st_half_mv){(float)st__scalar_to_double(by->alpha),
                       (float)st__scalar_to_double(by->beta)};
  ST_TRY(st__find_kernel(ST_K_half_mv, c->dtype, &p.loop));
  ST_TRY_FAIL(st__clone(is_column ? b : a, ST_FLOAT32, ST_FORMAT_CONTIGUOUS,
                        &v));
  ST_TRY_FAIL(float_result(c, by->beta, &z));
  p.v = st__data(v);
  p.c = st__data(z);
  const int64_t grain = ST_GRAIN / (p.a.cols + 1) + 1;
  ST_TRY_FAIL(st__parallel_try(0, c->numel, grain, run_half_rows, &p));
  status = st__copy_unchecked(c, z);
fail:
  st__tensor_release(&v);
  st__tensor_release(&z);
  return status;
}

static st_status multiply_halves(const st_tensor *a, const st_tensor *b,
                                 st_tensor *c, st_product *p) {
  st_tensor *x = NULL, *y = NULL, *z = NULL;
  st_status status;
  if (is_half_vector(a, c)) return multiply_half_vector(a, b, c, p);
  const st_format format = a->sizes[a->ndim - 1] > THIN
                         ? ST_FORMAT_PRESERVE : ST_FORMAT_CONTIGUOUS;
  p->dtype = ST_FLOAT32;
  ST_TRY_FAIL(st__clone(a, ST_FLOAT32, format, &x));
  ST_TRY_FAIL(st__clone(b, ST_FLOAT32, format, &y));
  ST_TRY_FAIL(float_result(c, p->beta, &z));
  ST_TRY_FAIL(multiply(x, y, z, NULL, p));
  status = st__copy_unchecked(c, z);
fail:
  st__tensor_release(&x);
  st__tensor_release(&y);
  st__tensor_release(&z);
  return status;
}

/* The tile kernel takes any strides; it is faster with contiguous rows of b. */
static st_status multiply_by_tiles(const st_tensor *a, const st_tensor *b,
                                   st_tensor *c, st_product *p) {
  st_tensor *rows = NULL;
  if (has_contiguous_rows(st__matrix_of(b)) ||
      c->numel / st__matrix_of(c).cols < 16) {
    return multiply(a, b, c, NULL, p);
  }
  ST_TRY(st__clone(b, p->dtype, ST_FORMAT_CONTIGUOUS, &rows));
  const st_status status = multiply(a, rows, c, NULL, p);
  st__tensor_release(&rows);
  return status;
}

/* True if a copy of b makes a product thin: it has few rows, contiguous
 * columns. */
static bool is_thin_but_for(const st_tensor *b, const st_product *p) {
  const st_matrix m = st__matrix_of(b);
  return !st__is_complex(p->dtype) && m.rows <= THIN && m.row == 1;
}

st_status st__gemm_add(const st_tensor *a, const st_tensor *b,
                       const st_tensor *add, st_tensor *c, st_scalar alpha,
                       st_scalar beta) {
  st_product p = {.dtype = c->dtype, .alpha = alpha, .beta = beta};
  if (c->numel == 0) return ST_OK;
  const bool is_half = st__is_reduced_float(p.dtype) ||
                       st__is_float8(p.dtype);
  if (!is_half && !st__is_integral(p.dtype) && !is_thin_but_for(b, &p)) {
    return multiply(a, b, c, add, &p);
  }
  if (add) ST_TRY(st__copy(c, add));
  return is_half ? multiply_halves(a, b, c, &p)
                 : multiply_by_tiles(a, b, c, &p);
}

st_status st__gemm(const st_tensor *a, const st_tensor *b, st_tensor *c,
                   st_scalar alpha, st_scalar beta) {
  return st__gemm_add(a, b, NULL, c, alpha, beta);
}
