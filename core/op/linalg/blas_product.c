/* Matrix products by OpenBLAS. The engine divides them among its own threads;
 * each calls OpenBLAS, which then starts none.
 *
 * Note [Reads behind a vector]
 * The gemv of OpenBLAS 0.3.21 for complex numbers and AVX-512 reads an element
 * behind the vector, which may be the last one of a buffer. So it gets a copy.
 */

#include "op/linalg/product.h"

#include <limits.h>

#include "base/memory.h"
#include "base/threads.h"
#include "op/linalg/gemm.h"

/* Between two questions whether to stop: multiplications of float32, of about
 * 0.2 s on one core; and elements of a matrix times a vector. */
static const int64_t PANEL = INT64_C(1) << 33, VECTOR_PANEL = 1 << 25;
enum { SIDE = 512 }; /* of a panel, at least, where the matrix has it */

/* The least multiplications of a part, of a product and of a matrix times a
 * vector; in a batch, those of a thread. */
enum { PART = 1 << 21, VECTOR_PART = 1 << 16, GRAIN = 8 * ST_GRAIN };

static bool has_rows(const st_matrix *m) {
  return m->col == 1 && m->row >= m->cols && m->row <= INT_MAX;
}

static bool has_cols(const st_matrix *m) {
  return m->row == 1 && m->col >= m->rows && m->col <= INT_MAX;
}

bool st__fits_blas(const st_matrix *m) { return has_rows(m) || has_cols(m); }

/* -- Calls ---------------------------------------------------------------- */

typedef union blas_scalar { float f[2]; double d[2]; } blas_scalar;

static void store_scalar(st_scalar s, st_dtype dtype, blas_scalar *n) {
  st__scalar_store(s, dtype, n);
}

static blasint leading(const st_matrix *m) {
  const int64_t n = has_rows(m) ? m->row : m->col;
  return (blasint)(n > 0 ? n : 1);
}

/* c has contiguous rows; a and b have contiguous rows or columns. */
static void call_gemm(const st_product *p, const char *a, const char *b,
                      char *c) {
  const st_blas *blas = p->blas;
  const st_matrix *x = &p->a, *y = &p->b, *z = &p->c;
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
static void call_gemv(const st_product *p, const char *a, const char *b,
                      char *c) {
  const st_blas *blas = p->blas;
  const st_matrix *x = &p->a;
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

static bool is_vector(const st_product *p) {
  return p->c.cols == 1 && p->b.row > 0 && p->b.row <= INT_MAX &&
         p->c.row > 0 && p->c.row <= INT_MAX;
}

static void zero_column(const st_product *p, char *c) {
  const int64_t size = (int64_t)st__itemsize(p->dtype);
  if (p->c.row == 1) {
    memset(c, 0, (size_t)(p->c.rows * size));
    return;
  }
  for (int64_t i = 0; i < p->c.rows; i++) {
    memset(c + i * p->c.row * size, 0, (size_t)size);
  }
}

/* -- Panels --------------------------------------------------------------- */

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
static double cost_of(const st_product *p) {
  enum { WRITE = 512 };
  return (double)p->c.rows * (double)p->c.cols * (double)(p->a.cols + WRITE);
}

static int64_t half(int64_t n) { return (n / 2 + 63) / 64 * 64; }

/* Sets the sizes of q to those of a panel of p. Panels are about square, since
 * BLAS packs the rows and columns of each one again. The inner size is divided
 * last: c is then written several times. */
static void choose_panel(const st_product *p, st_product *q) {
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
static void call_column_panels(const st_product *p, const st_product *panel,
                               char *a, char *b, char *c, int64_t j) {
  const int64_t size = (int64_t)st__itemsize(p->dtype);
  st_product q = *p;
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
static void call_panels(const st_product *p, char *a, char *b, char *c) {
  st_product panel = *p;
  choose_panel(p, &panel);
  for (int64_t j = 0; j < p->c.cols; j += panel.c.cols) {
    call_column_panels(p, &panel, a, b, c, j);
  }
}

/* call_gemv; asks between panels of rows whether to stop. */
static void call_vector_panels(const st_product *p, char *a, char *b, char *c) {
  const int64_t size = (int64_t)st__itemsize(p->dtype);
  const int64_t rows = VECTOR_PANEL / p->a.cols + 1;
  st_product q = *p;
  for (int64_t i = 0; i < p->c.rows && (i == 0 || !st__stops()); i += rows) {
    q.c.rows = q.a.rows = least(rows, p->c.rows - i);
    call_gemv(&q, a + i * p->a.row * size, b, c + i * p->c.row * size);
  }
}

/* -- All products --------------------------------------------------------- */

static void run_parts(void *ctx, int64_t begin, int64_t end) {
  const st_product *all = ctx;
  const bool vector = is_vector(all); /* a part of one column is none */
  int64_t left = ST_PERIOD; /* multiplications until the next question */
  for (int64_t i = begin; i < end; i++) {
    st_product part;
    const st_product *p = st__part_of_product(all, i, &part);
    if (vector) {
      /* with beta = 0, gemv keeps NaN in c */
      if (st__scalar_is_zero(p->beta)) zero_column(p, p->c.data);
      call_vector_panels(p, p->a.data, p->b.data, p->c.data);
    } else {
      call_panels(p, p->a.data, p->b.data, p->c.data);
    }
    left -= st__product_volume(p) + 1;
    if (left > 0) continue;
    if (st__stops()) return;
    left = ST_PERIOD;
  }
}

/* True if c must be transposed: BLAS requires a column or contiguous rows. */
static bool needs_transpose(const st_matrix *c) {
  return c->rows == 1 || (c->cols > 1 && c->col != 1 && c->row == 1);
}

/* Copies the vectors of a batch, each with a gap behind it: Note [Reads behind
 * a vector]. *out is owned and has *bytes. */
static st_status copy_vectors(st_product *p, char **out, size_t *bytes) {
  enum { GAP = 4 };
  const int64_t size = (int64_t)st__itemsize(p->dtype), n = p->b.rows;
  const int64_t line = (n + GAP) * size;
  *bytes = (size_t)(p->batch * line);
  *out = st__alloc(ST_MEM_SCRATCH, *bytes);
  if (!*out) return ST_NO_MEMORY;
  for (int64_t i = 0; i < p->batch; i++) {
    const char *from = p->b.data + i * p->b.batch * size;
    for (int64_t k = 0; k < n; k++) {
      memcpy(*out + i * line + k * size, from + k * p->b.row * size,
             (size_t)size);
    }
    memset(*out + i * line + n * size, 0, (size_t)(GAP * size));
  }
  p->b.data = *out;
  p->b.row = 1;
  p->b.batch = n + GAP;
  return ST_OK;
}

st_status st__blas_product(st_product *p) {
  char *copied = NULL;
  size_t bytes = 0;
  if (needs_transpose(&p->c)) st__transpose_product(p);
  const bool vector = is_vector(p);
  if (vector && st__is_complex(p->dtype)) {
    ST_TRY(copy_vectors(p, &copied, &bytes));
  }
  st__split_product(p, 1, vector ? VECTOR_PART : PART);
  const int64_t each = st__product_volume(p) / p->parts + 1;
  const int64_t grain = p->parts > 1 ? 1 : GRAIN / each + 1;
  const int before = st__external_parallel_begin(1);
  if (!st__in_parallel() && p->blas->get_num_threads() != 1) {
    p->blas->set_num_threads(1);
  }
  const st_status status = st__parallel_try(0, p->batch * p->parts, grain,
                                            run_parts, p);
  st__external_parallel_end(before);
  st__free(ST_MEM_SCRATCH, copied, bytes);
  return status;
}
