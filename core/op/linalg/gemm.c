/* Matrix products: BLAS for the dtypes it supports, a kernel of the engine for
 * integers and small matrices.
 *
 * Note [Matrices for BLAS]
 * BLAS takes a matrix with contiguous rows or contiguous columns and any
 * leading dimension; the latter is the transpose of the former. So views,
 * transposed or not, are passed as they are; only a matrix strided in both
 * dimensions is copied first. float16 and bfloat16 are converted to float32,
 * except that a kernel multiplies a matrix of them and a vector.
 */

#include "op/linalg/gemm.h"

#include <limits.h>

#include "base/threads.h"
#include "kernel/linalg/half_mv.h"
#include "kernel/linalg/matmul.h"
#include "op/linalg/blas.h"

/* In multiplications. Below SMALL, a BLAS call does not pay. Above LARGE, BLAS
 * runs a product on all threads; in between, each thread takes eight products
 * of a batch or more, and BLAS decides about its own threads. */
enum { SMALL = 4096, LARGE = 1 << 22 };
/* Of a thin product: the most products in a sum, the fewest rows, and columns
 * where c is written and where it is added to. */
enum { THIN = 16, THIN_ROWS = 4, THIN_COLUMNS = 32, THIN_ADDED = 64 };
/* Between two questions whether to stop: multiplications of float32, of about
 * 0.2 s on one core; and elements of a matrix times a vector. */
static const int64_t PANEL = INT64_C(1) << 33, VECTOR_PANEL = 1 << 25;
enum { SIDE = 512 }; /* of a panel, at least, where the matrix has it */

/* -- Matrices ------------------------------------------------------------- */

/* A batch of matrices; strides in elements. */
typedef struct matrix {
  char *data;
  int64_t rows, cols, row, col, batch; /* two sizes, three strides */
} matrix;

typedef struct product {
  st_dtype dtype;
  matrix a, b, c;
  int64_t batch;
  st_scalar alpha, beta;
  st_loop loop;
  const st_blas *blas; /* NULL unless BLAS is used */
} product;

static matrix matrix_of(const st_tensor *t) {
  const int64_t *size = t->sizes + t->ndim - 2;
  const int64_t *stride = t->strides + t->ndim - 2;
  return (matrix){st__data(t), size[0], size[1], stride[0], stride[1],
                  t->ndim == 3 ? t->strides[0] : 0};
}

/* Normalizes the strides of dimensions of size 1, which are arbitrary. */
static void normalise(matrix *m) {
  if (m->cols == 1 && m->rows == 1) m->row = m->col = 1;
  else if (m->cols == 1) m->col = m->row == 1 ? m->rows : 1;
  else if (m->rows == 1) m->row = m->col == 1 ? m->cols : 1;
}

static bool has_rows(const matrix *m) {
  return m->col == 1 && m->row >= m->cols && m->row <= INT_MAX;
}

static bool has_cols(const matrix *m) {
  return m->row == 1 && m->col >= m->rows && m->col <= INT_MAX;
}

static bool fits_blas(matrix m) {
  normalise(&m);
  return has_rows(&m) || has_cols(&m);
}

static bool has_contiguous_rows(matrix m) {
  normalise(&m);
  return m.col == 1;
}

static char *at_batch(const product *p, const matrix *m, int64_t i) {
  return m->data + i * m->batch * (int64_t)st__itemsize(p->dtype);
}

/* -- BLAS ----------------------------------------------------------------- */

typedef union blas_scalar { float f[2]; double d[2]; } blas_scalar;

static void store_scalar(st_scalar s, st_dtype dtype, blas_scalar *n) {
  st__scalar_store(s, dtype, n);
}

static blasint leading(const matrix *m) {
  const int64_t n = has_rows(m) ? m->row : m->col;
  return (blasint)(n > 0 ? n : 1);
}

/* c has contiguous rows; a and b have contiguous rows or columns. */
static void call_gemm(const product *p, const char *a, const char *b,
                      char *c) {
  const st_blas *blas = p->blas;
  const matrix *x = &p->a, *y = &p->b, *z = &p->c;
  const CBLAS_TRANSPOSE tx = has_rows(x) ? CblasNoTrans : CblasTrans;
  const CBLAS_TRANSPOSE ty = has_rows(y) ? CblasNoTrans : CblasTrans;
  const blasint m = (blasint)z->rows, n = (blasint)z->cols;
  const blasint k = (blasint)x->cols;
  const blasint lx = leading(x), ly = leading(y), lz = leading(z);
  blas_scalar alpha, beta;
  store_scalar(p->alpha, p->dtype, &alpha);
  store_scalar(p->beta, p->dtype, &beta);
  switch (p->dtype) {
    case ST_FLOAT32:
      blas->sgemm(CblasRowMajor, tx, ty, m, n, k, alpha.f[0],
                  (const float *)a, lx, (const float *)b, ly, beta.f[0],
                  (float *)c, lz);
      break;
    case ST_FLOAT64:
      blas->dgemm(CblasRowMajor, tx, ty, m, n, k, alpha.d[0],
                  (const double *)a, lx, (const double *)b, ly, beta.d[0],
                  (double *)c, lz);
      break;
    case ST_COMPLEX64:
      blas->cgemm(CblasRowMajor, tx, ty, m, n, k, &alpha, a, lx, b, ly, &beta,
                  c, lz);
      break;
    default:
      blas->zgemm(CblasRowMajor, tx, ty, m, n, k, &alpha, a, lx, b, ly, &beta,
                  c, lz);
  }
}

/* c and b are columns with any stride; a has contiguous rows or columns. */
static void call_gemv(const product *p, const char *a, const char *b,
                      char *c) {
  const st_blas *blas = p->blas;
  const matrix *x = &p->a;
  const bool rows = has_rows(x);
  const CBLAS_TRANSPOSE tx = rows ? CblasNoTrans : CblasTrans;
  const blasint m = (blasint)(rows ? x->rows : x->cols);
  const blasint n = (blasint)(rows ? x->cols : x->rows);
  const blasint lx = leading(x), sy = (blasint)p->b.row;
  const blasint sz = (blasint)p->c.row;
  blas_scalar alpha, beta;
  store_scalar(p->alpha, p->dtype, &alpha);
  store_scalar(p->beta, p->dtype, &beta);
  switch (p->dtype) {
    case ST_FLOAT32:
      blas->sgemv(CblasRowMajor, tx, m, n, alpha.f[0], (const float *)a, lx,
                  (const float *)b, sy, beta.f[0], (float *)c, sz);
      break;
    case ST_FLOAT64:
      blas->dgemv(CblasRowMajor, tx, m, n, alpha.d[0], (const double *)a, lx,
                  (const double *)b, sy, beta.d[0], (double *)c, sz);
      break;
    case ST_COMPLEX64:
      blas->cgemv(CblasRowMajor, tx, m, n, &alpha, a, lx, b, sy, &beta, c, sz);
      break;
    default:
      blas->zgemv(CblasRowMajor, tx, m, n, &alpha, a, lx, b, sy, &beta, c, sz);
  }
}

/* -- One product ---------------------------------------------------------- */

static void call_kernel(const product *p, char *a, char *b, char *c) {
  const int64_t size = (int64_t)st__itemsize(p->dtype);
  const st_matmul ctx = {p->a.cols, p->alpha, p->beta};
  const int64_t s[6] = {p->c.col * size, p->a.col * size, p->b.col * size,
                        p->c.row * size, p->a.row * size, p->b.row * size};
  char *data[3] = {c, a, b};
  p->loop(data, s, p->c.cols, p->c.rows, &ctx);
}

/* The number of multiplications; at most 2^62. */
static int64_t volume(const product *p) {
  const int64_t most = INT64_C(1) << 62;
  int64_t n;
  if (!st__mul_sizes(p->c.rows, p->c.cols, &n) ||
      !st__mul_sizes(n, p->a.cols, &n)) {
    return most;
  }
  return n < most ? n : most;
}

static bool is_small(const product *p) {
  return p->c.rows < 64 && p->c.cols < 64 && p->a.cols < 64 &&
         volume(p) <= SMALL;
}

/* (a b)' = b' a': turns a row into a column, and contiguous columns into
 * rows. */
static void transpose(product *p) {
  const matrix a = p->a, b = p->b, c = p->c;
  p->a = (matrix){b.data, b.cols, b.rows, b.col, b.row, b.batch};
  p->b = (matrix){a.data, a.cols, a.rows, a.col, a.row, a.batch};
  p->c = (matrix){c.data, c.cols, c.rows, c.col, c.row, c.batch};
}

/* True if the kernel finds contiguous rows in the transposed product only. For
 * a small product: a large one of one row is shared among threads by rows of
 * the transposed one. */
static bool is_better_transposed(const product *p) {
  const bool is_good = p->c.cols == 1 || (p->c.col == 1 && p->b.col == 1);
  return !is_good && (p->c.rows == 1 || (p->c.row == 1 && p->a.row == 1));
}

/* True if few products are summed up per element and the kernel finds
 * contiguous rows: it packs nothing, and writes c once. */
static bool is_thin(const product *p) {
  product q = *p;
  if ((p->dtype != ST_FLOAT32 && p->dtype != ST_FLOAT64) ||
      p->a.cols > THIN) {
    return false;
  }
  if (is_better_transposed(p)) transpose(&q);
  const int64_t few = st__scalar_is_zero(p->beta) ? THIN_COLUMNS
                                                  : THIN_ADDED;
  return q.c.col == 1 && q.b.col == 1 && q.c.rows >= THIN_ROWS &&
         q.c.cols >= few;
}

/* True if BLAS computes the product. Its sizes and vector strides have 32
 * bits. */
static bool is_blas(const product *p) {
  return (p->dtype == ST_FLOAT32 || p->dtype == ST_FLOAT64 ||
          st__is_complex(p->dtype)) &&
         p->a.cols > 0 && !is_small(p) && !is_thin(p) &&
         p->c.rows <= INT_MAX && p->c.cols <= INT_MAX && p->a.cols <= INT_MAX;
}

static bool is_vector(const product *p) {
  return p->c.cols == 1 && p->b.row > 0 && p->b.row <= INT_MAX &&
         p->c.row > 0 && p->c.row <= INT_MAX;
}

static void zero_column(const product *p, char *c) {
  const int64_t size = (int64_t)st__itemsize(p->dtype);
  if (p->c.row == 1) {
    memset(c, 0, (size_t)(p->c.rows * size));
    return;
  }
  for (int64_t i = 0; i < p->c.rows; i++) {
    memset(c + i * p->c.row * size, 0, (size_t)size);
  }
}

/* Multiplications of float32 that take about as long as one of this dtype. */
static int64_t weight_of(st_dtype dtype) {
  switch (dtype) {
    case ST_FLOAT32: return 1;
    case ST_FLOAT64: return 2;
    case ST_COMPLEX64: return 4;
    default: return 8;
  }
}

/* Multiplications, and what it takes to write c for the first time, when the
 * system clears its pages, counted as multiplications. */
static double cost_of(const product *p) {
  enum { WRITE = 512 };
  return (double)p->c.rows * (double)p->c.cols * (double)(p->a.cols + WRITE);
}

static int64_t half(int64_t n) { return (n / 2 + 63) / 64 * 64; }

/* Sets the sizes of q to those of a panel of p. Panels are about square, since
 * BLAS packs the rows and columns of each one again. The inner size is divided
 * last: c is then written several times. */
static void choose_panel(const product *p, product *q) {
  const int64_t most = PANEL / weight_of(p->dtype);
  int64_t *rows = &q->c.rows, *cols = &q->c.cols, *inner = &q->a.cols;
  while (cost_of(q) > (double)most) {
    if (*rows > SIDE && *rows >= *cols) *rows = half(*rows);
    else if (*cols > SIDE) *cols = half(*cols);
    else *inner = half(*inner);
  }
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The panels of the columns of b that begin at column j. */
static void call_column_panels(const product *p, const product *panel,
                               char *a, char *b, char *c, int64_t j) {
  const int64_t size = (int64_t)st__itemsize(p->dtype);
  product q = *p;
  q.c.cols = q.b.cols = least(panel->c.cols, p->c.cols - j);
  for (int64_t i = 0; i < p->c.rows; i += panel->c.rows) {
    q.c.rows = q.a.rows = least(panel->c.rows, p->c.rows - i);
    q.beta = p->beta;
    for (int64_t k = 0; k < p->a.cols && !st__stops(); k += panel->a.cols) {
      q.a.cols = q.b.rows = least(panel->a.cols, p->a.cols - k);
      call_gemm(&q, a + (i * p->a.row + k * p->a.col) * size,
                b + (k * p->b.row + j * p->b.col) * size,
                c + (i * p->c.row + j * p->c.col) * size);
      q.beta = (st_scalar){ST_SCALAR_INT, {.i = 1}};
    }
  }
}

/* call_gemm; asks between panels whether to stop. */
static void call_panels(const product *p, char *a, char *b, char *c) {
  product panel = *p;
  choose_panel(p, &panel);
  for (int64_t j = 0; j < p->c.cols; j += panel.c.cols) {
    call_column_panels(p, &panel, a, b, c, j);
  }
}

/* call_gemv; asks between panels of rows whether to stop. */
static void call_vector_panels(const product *p, char *a, char *b, char *c) {
  const int64_t size = (int64_t)st__itemsize(p->dtype);
  const int64_t rows = VECTOR_PANEL / p->a.cols + 1;
  product q = *p;
  for (int64_t i = 0; i < p->c.rows && (i == 0 || !st__stops()); i += rows) {
    q.c.rows = q.a.rows = least(rows, p->c.rows - i);
    call_gemv(&q, a + i * p->a.row * size, b, c + i * p->c.row * size);
  }
}

static void run_batches(void *ctx, int64_t begin, int64_t end) {
  const product *p = ctx;
  const bool blas = p->blas != NULL, vector = is_vector(p);
  const int64_t each = volume(p) + 1;
  int64_t left = ST_PERIOD; /* multiplications until the next question */
  for (int64_t i = begin; i < end; i++) {
    char *a = at_batch(p, &p->a, i), *b = at_batch(p, &p->b, i);
    char *c = at_batch(p, &p->c, i);
    if (!blas) {
      call_kernel(p, a, b, c);
    } else if (vector) {
      /* with beta = 0, gemv keeps NaN in c */
      if (st__scalar_is_zero(p->beta)) zero_column(p, c);
      call_vector_panels(p, a, b, c);
    } else {
      call_panels(p, a, b, c);
    }
    left -= each;
    if (left > 0) continue;
    if (st__stops()) return;
    left = ST_PERIOD;
  }
}

/* -- Rows of a large product of integers ---------------------------------- */

static void run_rows(void *ctx, int64_t begin, int64_t end) {
  product p = *(const product *)ctx;
  const int64_t size = (int64_t)st__itemsize(p.dtype);
  p.c.data += begin * p.c.row * size;
  p.a.data += begin * p.a.row * size;
  p.c.rows = end - begin;
  call_kernel(&p, p.a.data, p.b.data, p.c.data);
}

/* True if c must be transposed: BLAS requires a column or contiguous rows. */
static bool needs_transpose(const matrix *c) {
  return c->rows == 1 || (c->cols > 1 && c->col != 1 && c->row == 1);
}

/* Gives OpenBLAS the engine's number of threads, and keeps a fork from
 * happening while it runs. */
static st_status run_blas(product *p, int64_t grain) {
  const int before = st__external_parallel_begin(), n = st__num_threads();
  if (!st__in_parallel() && p->blas->get_num_threads() != n) {
    p->blas->set_num_threads(n);
  }
  const st_status status = st__parallel_try(0, p->batch, grain, run_batches, p);
  st__external_parallel_end(before);
  return status;
}

static st_status run(product *p) {
  if (is_small(p) || is_thin(p) ? is_better_transposed(p)
                                : needs_transpose(&p->c)) {
    transpose(p);
  }
  const int64_t each = volume(p) + 1;
  const int64_t grain = ST_GRAIN / each + 1;
  if (p->blas) {
    return run_blas(p, each > LARGE ? p->batch : 8 * grain);
  }
  if (p->batch == 1) {
    const int64_t rows = ST_GRAIN / (each / (p->c.rows + 1) + 1) + 1;
    return st__parallel_try(0, p->c.rows, rows, run_rows, p);
  }
  return st__parallel_try(0, p->batch, grain, run_batches, p);
}

/* -- Operands ------------------------------------------------------------- */

/* t, retained, or a contiguous copy if BLAS does not support its strides;
 * owned. */
static st_status for_blas(const st_tensor *t, st_tensor **out) {
  if (!fits_blas(matrix_of(t))) {
    return st__clone(t, t->dtype, ST_FORMAT_CONTIGUOUS, out);
  }
  *out = (st_tensor *)(uintptr_t)t;
  st__tensor_retain(*out);
  return ST_OK;
}

/* Every error precedes the first write. */
static st_status multiply(const st_tensor *a, const st_tensor *b,
                          st_tensor *c, product *p) {
  p->a = matrix_of(a);
  p->b = matrix_of(b);
  p->c = matrix_of(c);
  p->batch = c->ndim == 3 ? c->sizes[0] : 1;
  normalise(&p->a);
  normalise(&p->b);
  normalise(&p->c);
  const bool blas = is_blas(p);
  if (blas) ST_TRY(st__blas_enter(st__num_threads(), &p->blas));
  const st_status status = run(p);
  if (blas) st__blas_leave();
  return status;
}

/* Copies operands that BLAS does not support, multiplies, and copies c back. */
static st_status multiply_fitting(const st_tensor *a, const st_tensor *b,
                                  st_tensor *c, product *p) {
  st_tensor *x = NULL, *y = NULL, *z = NULL;
  st_status status;
  ST_TRY_FAIL(for_blas(a, &x));
  ST_TRY_FAIL(for_blas(b, &y));
  ST_TRY_FAIL(for_blas(c, &z));
  ST_TRY_FAIL(multiply(x, y, z, p));
  if (z != c) status = st__copy_unchecked(c, z);
fail:
  st__tensor_release(&x);
  st__tensor_release(&y);
  st__tensor_release(&z);
  return status;
}

/* -- Halves --------------------------------------------------------------- */

/* A matrix of halves, or a batch of them, times float32 vectors; strides in
 * elements. */
typedef struct half_product {
  matrix a;
  char *v, *c;
  st_half_mv ctx;
  st_loop loop;
} half_product;

/* Rows of all matrices of the batch, counted on. */
static void run_half_rows(void *ctx, int64_t begin, int64_t end) {
  const half_product *p = ctx;
  const matrix *a = &p->a;
  const int64_t s[6] = {0, 2 * a->col, 4, 4, 2 * a->row, 0};
  for (int64_t n; begin < end && !st__stops(); begin += n) {
    const int64_t i = begin / a->rows, row = begin % a->rows;
    n = least(end - begin, a->rows - row);
    char *data[3] = {p->c + 4 * begin,
                     a->data + 2 * (i * a->batch + row * a->row),
                     p->v + 4 * i * a->cols};
    p->loop(data, s, a->cols, n, &p->ctx);
  }
}

static bool is_half_vector(const st_tensor *a, const st_tensor *c) {
  const matrix z = matrix_of(c);
  return a->numel > 0 && (z.cols == 1 || z.rows == 1);
}

/* c is a column or a row; a row is the transposed matrix times a column. The
 * vectors are converted to float32, the matrix is not. */
static st_status multiply_half_vector(const st_tensor *a, const st_tensor *b,
                                      st_tensor *c, const product *by) {
  const bool is_column = matrix_of(c).cols == 1;
  half_product p = {.a = matrix_of(is_column ? a : b)};
  const matrix m = p.a;
  st_tensor *v = NULL, *z = NULL;
  st_status status;
  if (!is_column) p.a = (matrix){m.data, m.cols, m.rows, m.col, m.row, m.batch};
  p.ctx = (st_half_mv){(float)st__scalar_to_double(by->alpha),
                       (float)st__scalar_to_double(by->beta)};
  ST_TRY(st__find_kernel(ST_K_half_mv, c->dtype, &p.loop));
  ST_TRY_FAIL(st__clone(is_column ? b : a, ST_FLOAT32, ST_FORMAT_CONTIGUOUS,
                        &v));
  ST_TRY_FAIL(st__clone(c, ST_FLOAT32, ST_FORMAT_CONTIGUOUS, &z));
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
                                 st_tensor *c, product *p) {
  st_tensor *x = NULL, *y = NULL, *z = NULL;
  st_status status;
  if (is_half_vector(a, c)) return multiply_half_vector(a, b, c, p);
  p->dtype = ST_FLOAT32;
  ST_TRY_FAIL(st__find_kernel(ST_K_matmul, ST_FLOAT32, &p->loop));
  ST_TRY_FAIL(st__clone(a, ST_FLOAT32, ST_FORMAT_CONTIGUOUS, &x));
  ST_TRY_FAIL(st__clone(b, ST_FLOAT32, ST_FORMAT_CONTIGUOUS, &y));
  ST_TRY_FAIL(st__clone(c, ST_FLOAT32, ST_FORMAT_CONTIGUOUS, &z));
  ST_TRY_FAIL(multiply(x, y, z, p));
  status = st__copy_unchecked(c, z);
fail:
  st__tensor_release(&x);
  st__tensor_release(&y);
  st__tensor_release(&z);
  return status;
}

/* The engine's kernel takes any strides, but is faster with contiguous rows of
 * b. */
static st_status multiply_integers(const st_tensor *a, const st_tensor *b,
                                   st_tensor *c, product *p) {
  st_tensor *rows = NULL;
  if (has_contiguous_rows(matrix_of(b)) ||
      c->numel / matrix_of(c).cols < 16) {
    return multiply(a, b, c, p);
  }
  ST_TRY(st__clone(b, p->dtype, ST_FORMAT_CONTIGUOUS, &rows));
  const st_status status = multiply(a, rows, c, p);
  st__tensor_release(&rows);
  return status;
}

st_status st__gemm(const st_tensor *a, const st_tensor *b, st_tensor *c,
                   st_scalar alpha, st_scalar beta) {
  product p = {.dtype = c->dtype, .alpha = alpha, .beta = beta};
  if (c->numel == 0) return ST_OK;
  if (st__is_reduced_float(p.dtype)) return multiply_halves(a, b, c, &p);
  ST_TRY(st__find_kernel(ST_K_matmul, p.dtype, &p.loop));
  if (st__is_integral(p.dtype)) return multiply_integers(a, b, c, &p);
  return multiply_fitting(a, b, c, &p);
}
