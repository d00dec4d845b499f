/* Matrix products, each on one of four roads, by its shape and dtype alone, so
 * that these decide about the order of its sums and nothing else does:
 *
 *   one sum            ST_K_dot
 *   a vector           ST_K_mv, of floats
 *   the others         ST_K_gemm (Note [The order of a product])
 *   small, few products in a sum: ST_K_matmul, from the first product to the
 *                      last, each rounded
 *
 * float16 and bfloat16 are converted to float32, except that a kernel
 * multiplies a matrix of them and a vector. Integers wrap, in any order: those
 * of 8 and 16 bits are summed up in int32, by pairs (ST_K_gemm_pairs) if they
 * are no vectors.
 */

#include "op/linalg/gemm.h"

#include <string.h>

#include "os/machine.h"
#include "base/memory.h"
#include "base/threads.h"
#include "iter/copy.h"
#include "iter/strided_copy.h"
#include "kernel/linalg/gemm.h"
#include "kernel/linalg/matmul.h"
#include "kernel/linalg/mv.h"
#include "op/linalg/dot.h"
#include "op/linalg/product.h"
#include "tensor/view.h"

/* In multiplications: up to SMALL, of complex numbers SMALL_COMPLEX, the kernel
 * that packs nothing is fastest; a thread computes TILES or more. From LARGE
 * on, times the bytes of an element, operands are copied: on an Intel Xeon
 * (AVX-512, 2 MB L2) products of 256x256x256 take 1.05 times as long with
 * copies, of 512x512x512 as long, of 1000x1000x1000 .96 times. */
enum { SMALL = 4096, SMALL_COMPLEX = 512, TILES = 1 << 18, LARGE = 1 << 29 };
enum { THIN = 12 }; /* the most products in a sum of a thin matrix */

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
  const int64_t most = st__is_complex(p->dtype) ? SMALL_COMPLEX : SMALL;
  return p->c.rows < 64 && p->c.cols < 64 && p->a.cols < 64 &&
         st__product_volume(p) <= most;
}

/* True if the kernel finds contiguous rows in the transposed product only. For
 * a small product: a large one of one row is shared among threads by rows of
 * the transposed one. */
static bool is_better_transposed(const st_product *p) {
  const bool is_good = p->c.cols == 1 || (p->c.col == 1 && p->b.col == 1);
  return !is_good && (p->c.rows == 1 || (p->c.row == 1 && p->a.row == 1));
}

static bool has_vector(const st_product *p) {
  return p->c.rows == 1 || p->c.cols == 1;
}

/* True if the kernel that packs b computes the product, or that of a matrix and
 * a vector. */
static bool is_packed(const st_product *p) {
  const int64_t most = has_vector(p) ? 0 : THIN;
  return st__kernel(has_vector(p) ? ST_K_mv : ST_K_gemm, p->dtype) &&
         p->a.cols > most && !is_small(p);
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
    *c = (float)(alpha * sum + ((float)beta == 0 ? 0 : beta * (double)*c));
  } else {
    double *c = (double *)(void *)p->c.data;
    *c = alpha * sum + (beta == 0 ? 0 : beta * *c);
  }
  return ST_OK;
}

/* -- Packed products ------------------------------------------------------ */

static bool is_large(const st_product *p, int64_t size) {
  return st__product_volume(p) >= LARGE / size;
}

/* Bytes for the copies of a part; 0 if it is fast without them. */
static size_t copies_of(const st_product *p, int64_t size) {
  if (!is_large(p, size)) return 0;
  return (size_t)st__gemm_copies(st__machine.gemm_block, p->c.rows, p->c.cols,
                                 size);
}

/* Without memory for copies, the product is the same. */
static void run_part(const st_product *p, const int64_t *st, st_gemm_ctx *w) {
  const size_t bytes = copies_of(p, st[0]);
  char *data[3] = {p->c.data, p->a.data, p->b.data};
  w->copies = bytes > 0 ? st__alloc(ST_MEM_SCRATCH, bytes) : NULL;
  w->row = p->row;
  p->loop(data, st, p->c.cols, p->c.rows, w);
  st__free(ST_MEM_SCRATCH, w->copies, bytes);
}

/* Copies what a part of a symmetric c has right of the diagonal below it. */
static void mirror(const st_product *p, const int64_t *st, st_loop transpose) {
  const int64_t rows = p->c.rows, size = st[0], next = st[3];
  char *data[2] = {p->c.data + rows * next, p->c.data + rows * size};
  transpose(data, (int64_t[]){size, next, next, size}, rows,
            p->c.cols - rows, NULL);
}

static void run_parts(void *ctx, int64_t begin, int64_t end) {
  const st_product *all = ctx;
  const int64_t size = (int64_t)st__itemsize(all->dtype);
  const st_matrix *a = &all->a, *b = &all->b, *c = &all->c;
  const int64_t s[6] = {size, a->col * size, b->col * size, c->row * size,
                        a->row * size, b->row * size};
  st_gemm_ctx w = {a->cols, st__machine.gemm_block, all->alpha, all->beta, NULL,
                   st__kernel(ST_K_transpose, st__bits_of(size)), NULL};
  const int64_t each = st__product_volume(all) / all->parts / 16 + 1;
  int64_t left = ST_PERIOD;
  for (int64_t i = begin; i < end; i++) {
    st_product room;
    if (i > begin && st__stops_after(&left, each)) return;
    const st_product *part = st__part_of_product(all, i, &room);
    run_part(part, s, &w);
    if (all->is_symmetric) mirror(part, s, w.transpose);
  }
}

/* True if c = alpha a a', large enough to compute one half and copy it: the
 * products and their order are the same in the other, and so are the bits. */
static bool is_symmetric(const st_product *p) {
  enum { LEAST = 96 };
  const st_matrix *a = &p->a, *b = &p->b;
  return a->data == b->data && a->rows == b->cols && a->row == b->col &&
         a->col == b->row && (p->batch == 1 || a->batch == b->batch) &&
         a->rows >= LEAST && !p->row && st__scalar_is_zero(p->beta);
}

/* The rows or the columns of c are contiguous. */
static st_status run_packed(st_product *p) {
  if (!p->loop) p->loop = st__kernel(ST_K_gemm, p->dtype);
  if (p->c.col != 1) st__transpose_product(p);
  const int64_t size = (int64_t)st__itemsize(p->dtype);
  p->is_symmetric = is_symmetric(p);
  if (p->is_symmetric) st__split_symmetric(p);
  else st__split_product(p, is_large(p, size) ? 1 : 2, TILES);
  const int64_t each = st__product_volume(p) / p->parts + 1;
  return st__parallel_try(0, p->batch * p->parts, TILES / each + 1, run_parts,
                          p);
}

/* -- Vectors -------------------------------------------------------------- */

/* Matrices and vectors of a batch; strides in bytes. */
typedef struct vectors {
  char *c, *a, *x;
  int64_t rows, cols;  /* of a */
  int64_t row, col;    /* of a */
  int64_t next[3];     /* of c, a and x, in the batch */
  int64_t c_row, size; /* size: of an element of x */
  const st_mv_ctx *ctx;
  st_loop loop;
} vectors;

/* Rows whose partial sums a thread keeps in memory, of a large matrix with
 * adjacent elements in columns; else 0. Blocks of rows that fill vectors are as
 * fast without them up to EXACT bytes: on an AMD EPYC (Zen 4), float32,
 * 1000x3000 takes .91 times as long with them, 1024x3000 1.01 times, and
 * 2000x3000 .55 times. */
static int64_t rows_of_sums(const vectors *p, int64_t most) {
  enum { ROWS = 8192, LEAST = 96, COLS = 256, RAGGED = 1 << 20,
         EXACT = 1 << 24 };
  const int64_t bytes = p->rows % 64 == 0 ? EXACT : RAGGED;
  if (p->col <= p->row || p->rows < LEAST || p->cols < COLS ||
      p->cols * p->col < bytes) {
    return 0;
  }
  const int64_t rows = most < p->rows ? most : p->rows;
  return rows < ROWS ? (rows + 15) / 16 * 16 : ROWS;
}

/* Rows of all matrices of the batch, counted on. */
static void run_vectors(void *ctx, int64_t begin, int64_t end) {
  const vectors *p = ctx;
  const int64_t s[6] = {0, p->col, p->size, p->c_row, p->row, 0};
  st_mv_ctx w = *p->ctx;
  w.rows = rows_of_sums(p, end - begin);
  const size_t bytes = (size_t)w.rows * ST_MV_SUMS;
  w.sums = w.rows > 0 ? st__alloc(ST_MEM_SCRATCH, bytes) : NULL;
  for (int64_t n; begin < end && !st__stops(); begin += n) {
    const int64_t i = begin / p->rows, row = begin % p->rows;
    n = p->rows - row < end - begin ? p->rows - row : end - begin;
    char *data[3] = {p->c + i * p->next[0] + row * p->c_row,
                     p->a + i * p->next[1] + row * p->row,
                     p->x + i * p->next[2]};
    p->loop(data, s, p->cols, n, &w);
  }
  st__free(ST_MEM_SCRATCH, w.sums, bytes);
}

/* Some rows at a time are as fast as one of a matrix in columns; of one in
 * rows, they read x once, if each thread has as many. */
static st_status run_all_vectors(vectors *v, int64_t batch) {
  enum { LEAST = 128, AT_ONCE = 8 };
  const int64_t all = batch * v->rows, each = all / st__num_threads();
  const int64_t rows = ST_GRAIN / (v->cols + 1) + 1;
  const bool is_columns = v->rows > 1 && v->col > v->row;
  const int64_t least = is_columns ? LEAST : each < AT_ONCE ? each : AT_ONCE;
  return st__parallel_try(0, all, rows < least ? least : rows, run_vectors, v);
}

/* c has one column. */
static st_status run_mv(const st_product *p) {
  const int64_t size = (int64_t)st__itemsize(p->dtype);
  const st_mv_ctx ctx = {p->alpha, p->beta, NULL, 0};
  vectors v = {p->c.data, p->a.data, p->b.data, p->a.rows, p->a.cols,
               p->a.row * size, p->a.col * size,
               {p->c.batch * size, p->a.batch * size, p->b.batch * size},
               p->c.row * size, size, &ctx, st__kernel(ST_K_mv, p->dtype)};
  return run_all_vectors(&v, p->batch);
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

/* With alpha = 0, a and b are not read, as in BLAS. */
static void set_operands(st_product *p, const st_tensor *a,
                         const st_tensor *b, const st_tensor *c) {
  p->a = st__matrix_of(a);
  p->b = st__matrix_of(b);
  p->c = st__matrix_of(c);
  p->batch = c->ndim == 3 ? c->sizes[0] : 1;
  normalise(&p->a);
  normalise(&p->b);
  normalise(&p->c);
  if (st__scalar_is_zero(p->alpha)) p->a.cols = p->b.rows = 0;
}

/* True if t is a row of p's dtype that the kernel may read. */
static bool is_row(const st_tensor *t, const st_product *p) {
  return t->ndim == 1 && t->dtype == p->dtype && t->sizes[0] == p->c.cols &&
         (t->strides[0] == 1 || t->sizes[0] == 1) &&
         st__is_cpu(t) && !st__is_neg(t) && !st__is_zero(t);
}

/* Computes a contiguous copy of c and copies it back, if neither rows nor
 * columns of c are contiguous. */
static st_status multiply_packed(const st_tensor *a, const st_tensor *b,
                                 st_tensor *c, st_product *p) {
  st_tensor *z = NULL;
  if (p->c.col == 1 || p->c.row == 1) return run_packed(p);
  ST_TRY(st__clone(c, c->dtype, ST_FORMAT_CONTIGUOUS, &z));
  set_operands(p, a, b, z);
  st_status status = run_packed(p);
  if (status == ST_OK) status = st__copy_unchecked(c, z);
  st__tensor_release(&z);
  return status;
}

/* True if elements are adjacent in rows or in columns, and in a vector. */
static bool has_lines(st_matrix m) {
  normalise(&m);
  if (m.cols == 1) return m.row == 1;
  return m.col == 1 || (m.row == 1 && m.rows > 1);
}

/* t, retained, or a contiguous copy unless it has lines; owned. */
static st_status with_lines(const st_tensor *t, st_tensor **out) {
  if (!has_lines(st__matrix_of(t))) {
    return st__clone(t, t->dtype, ST_FORMAT_CONTIGUOUS, out);
  }
  return st__give(t, out);
}

/* c is a row or a column; a row is the transposed matrix times a column. */
static st_status multiply_vector(const st_tensor *a, const st_tensor *b,
                                 const st_tensor *c, st_product *p) {
  st_tensor *x = NULL, *y = NULL;
  st_status status;
  ST_TRY_FAIL(with_lines(a, &x));
  ST_TRY_FAIL(with_lines(b, &y));
  set_operands(p, x, y, c);
  if (p->c.cols != 1) st__transpose_product(p);
  status = run_mv(p);
fail:
  st__tensor_release(&x);
  st__tensor_release(&y);
  return status;
}

/* Every error precedes the first write of the product. */
static st_status multiply(const st_tensor *a, const st_tensor *b,
                          st_tensor *c, const st_tensor *add, st_product *p) {
  set_operands(p, a, b, c);
  const bool packs = is_packed(p);
  if (add && packs && !has_vector(p) && is_row(add, p) && p->c.col == 1) {
    p->row = st__data(add);
    return run_packed(p);
  }
  if (add) ST_TRY(st__copy(c, add));
  if (is_dot(p)) return run_dot(p);
  if (!packs) return run_tiles(p);
  return has_vector(p) ? multiply_vector(a, b, c, p)
                       : multiply_packed(a, b, c, p);
}

/* -- Halves --------------------------------------------------------------- */

/* c in another dtype, contiguous and owned; of any value if the product
 * overwrites it. */
static st_status wide_result(const st_tensor *c, st_dtype dtype,
                             st_scalar beta, st_tensor **out) {
  if (!st__scalar_is_zero(beta)) {
    return st__clone(c, dtype, ST_FORMAT_CONTIGUOUS, out);
  }
  return st__tensor_empty(ST_DEVICE_CPU, dtype, c->ndim, c->sizes,
                          ST_FORMAT_CONTIGUOUS, out);
}

static bool is_half_vector(const st_tensor *a, const st_tensor *c) {
  const st_matrix z = st__matrix_of(c);
  return a->numel > 0 && st__kernel(ST_K_mv, c->dtype) &&
         (z.cols == 1 || z.rows == 1);
}

/* The same for a matrix of halves: vectors are converted to float32, the matrix
 * is not. */
static st_status multiply_half_vector(const st_tensor *a, const st_tensor *b,
                                      st_tensor *c, const st_product *by) {
  const bool is_column = st__matrix_of(c).cols == 1;
  const st_mv_ctx ctx = {by->alpha, by->beta, NULL, 0};
  st_tensor *m = NULL, *x = NULL, *z = NULL;
  st_loop loop;
  st_status status;
  ST_TRY(st__find_kernel(ST_K_mv, c->dtype, &loop));
  ST_TRY_FAIL(with_lines(is_column ? a : b, &m));
  ST_TRY_FAIL(st__clone(is_column ? b : a, ST_FLOAT32, ST_FORMAT_CONTIGUOUS,
                        &x));
  ST_TRY_FAIL(wide_result(c, ST_FLOAT32, by->beta, &z));
  st_product p = {.dtype = c->dtype, .alpha = by->alpha, .beta = by->beta};
  set_operands(&p, is_column ? m : x, is_column ? x : m, z);
  if (!is_column) st__transpose_product(&p);
  vectors v = {st__data(z), p.a.data, st__data(x), p.a.rows, p.a.cols,
               2 * p.a.row, 2 * p.a.col,
               {4 * p.a.rows, 2 * p.a.batch, 4 * p.a.cols}, 4, 4, &ctx, loop};
  ST_TRY_FAIL(run_all_vectors(&v, c->numel / v.rows));
  status = st__copy_unchecked(c, z);
fail:
  st__tensor_release(&m);
  st__tensor_release(&x);
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
  ST_TRY_FAIL(wide_result(c, ST_FLOAT32, p->beta, &z));
  ST_TRY_FAIL(multiply(x, y, z, NULL, p));
  status = st__copy_unchecked(c, z);
fail:
  st__tensor_release(&x);
  st__tensor_release(&y);
  st__tensor_release(&z);
  return status;
}

/* -- Integers ------------------------------------------------------------- */

/* The last dimension of t, or the one before it, as int16 in rows of an even
 * size, the last number 0; owned. */
static st_status pairs_of(const st_tensor *t, bool is_turned,
                          st_tensor **out) {
  st_tensor *rows = NULL, *part = NULL;
  int64_t sizes[3];
  st_status status;
  ST_TRY_FAIL(is_turned ? st__view_transpose(t, -1, -2, &rows)
                        : st__view_alias(t, &rows));
  for (int d = 0; d < t->ndim; d++) sizes[d] = rows->sizes[d];
  int64_t *last = sizes + t->ndim - 1;
  const int64_t k = *last;
  *last += k % 2;
  ST_TRY_FAIL(st__tensor_empty(ST_DEVICE_CPU, ST_INT16, t->ndim, sizes,
                               ST_FORMAT_CONTIGUOUS, out));
  if (k % 2 != 0) {
    memset(st__data(*out), 0, (size_t)(*out)->numel * sizeof(int16_t));
  }
  ST_TRY_FAIL(st__view_narrow(*out, -1, 0, k, &part));
  status = st__copy_unchecked(part, rows);
fail:
  st__tensor_release(&rows);
  st__tensor_release(&part);
  if (status != ST_OK) st__tensor_release(out);
  return status;
}

/* t, of pairs_of, as a matrix of pairs. */
static st_matrix matrix_of_pairs(const st_tensor *t) {
  st_matrix m = st__matrix_of(t);
  m.cols /= 2;
  m.row = m.cols;
  m.batch /= 2;
  return m;
}

/* c, of int32, by pairs. */
static st_status run_pairs(const st_tensor *a, const st_tensor *b,
                           st_tensor *c, st_product *p) {
  st_tensor *x = NULL, *y = NULL;
  st_status status;
  ST_TRY_FAIL(pairs_of(a, false, &x));
  ST_TRY_FAIL(pairs_of(b, true, &y));
  p->dtype = ST_INT32;
  p->loop = st__kernel(ST_K_gemm_pairs, ST_INT16);
  set_operands(p, a, b, c);
  p->a = matrix_of_pairs(x);
  p->b = matrix_of_pairs(y);
  p->b = (st_matrix){p->b.data, p->b.cols, p->b.rows, p->b.col, p->b.row,
                     p->b.batch};
  status = run_packed(p);
fail:
  st__tensor_release(&x);
  st__tensor_release(&y);
  return status;
}

/* True if the copies take less time than they save. */
static bool fits_pairs(const st_product *p) {
  enum { LEAST = 2048 }; /* multiplications */
  return !st__kernel(ST_K_gemm, p->dtype) && p->a.cols > THIN &&
         !has_vector(p) && st__product_volume(p) > LEAST;
}

static st_status multiply_pairs(const st_tensor *a, const st_tensor *b,
                                st_tensor *c, st_product *p) {
  st_tensor *z = NULL;
  ST_TRY(wide_result(c, ST_INT32, p->beta, &z));
  st_status status = run_pairs(a, b, z, p);
  if (status == ST_OK) status = st__copy_unchecked(c, z);
  st__tensor_release(&z);
  return status;
}

/* The kernel that packs nothing takes any strides; it is faster with contiguous
 * rows of b. */
static st_status multiply_whole(const st_tensor *a, const st_tensor *b,
                                st_tensor *c, st_product *p) {
  st_tensor *rows = NULL;
  set_operands(p, a, b, c);
  if (is_packed(p)) return multiply(a, b, c, NULL, p);
  if (fits_pairs(p)) return multiply_pairs(a, b, c, p);
  if (has_contiguous_rows(p->b) || p->c.rows * p->batch < 16) {
    return multiply(a, b, c, NULL, p);
  }
  ST_TRY(st__clone(b, p->dtype, ST_FORMAT_CONTIGUOUS, &rows));
  const st_status status = multiply(a, rows, c, NULL, p);
  st__tensor_release(&rows);
  return status;
}

st_status st__gemm_whole(const st_tensor *a, const st_tensor *b,
                         st_tensor *c) {
  st_product p = {.dtype = ST_INT32, .alpha = st__scalar_int(1),
                  .beta = st__scalar_int(0)};
  if (c->numel == 0) return ST_OK;
  return has_lines(st__matrix_of(c)) ? run_pairs(a, b, c, &p)
                                     : multiply_pairs(a, b, c, &p);
}

/* -- Products ------------------------------------------------------------- */

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
                 : multiply_whole(a, b, c, &p);
}

st_status st__gemm(const st_tensor *a, const st_tensor *b, st_tensor *c,
                   st_scalar alpha, st_scalar beta) {
  return st__gemm_add(a, b, NULL, c, alpha, beta);
}
