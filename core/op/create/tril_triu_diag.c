/* Triangles and diagonals: tril, triu, tril_indices, triu_indices, diag,
 * diag_embed, diagflat, trace.
 */

#include <inttypes.h>

#include "base/interrupt.h"
#include "base/threads.h"
#include "op/row/composite.h"
#include "op/create/factory.h"
#include "tensor/view.h"

/* -- tril and triu -------------------------------------------------------- */

st_status st__triangle_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  if (self->ndim < 2) {
    return st__fail(ST_BAD_SHAPE, "self must be a matrix or a batch of them, "
                    "it has shape %s", ST_SHAPE_TEXT(self));
  }
  return st__set_output(r, 0, self->ndim, self->sizes, NULL, self->dtype);
}

enum { LONG_ROW = 512 }; /* bytes */

typedef struct triangle {
  const st_tensor *self;
  st_tensor *out;
  st_loop copy;
  int64_t size;
  int64_t diagonal;
  bool upper;
  bool copied; /* out has all elements of self: the others are cleared */
} triangle;

/* The byte offset of matrix number i of a batch. */
static int64_t matrix_offset(const st_tensor *t, int64_t i, int64_t size) {
  int64_t at = 0;
  for (int d = t->ndim - 3; d >= 0 && i; d--) {
    at += i % t->sizes[d] * t->strides[d];
    i /= t->sizes[d];
  }
  return at * size;
}

static void clear_row(const triangle *t, char *p, int64_t step, int64_t n) {
  static const char zero[16];
  if (n == 0) return;
  if (step == t->size) {
    memset(p, 0, (size_t)(n * t->size));
    return;
  }
  t->copy((char *[]){p, (char *)(uintptr_t)zero}, (int64_t[]){step, 0, 0, 0},
          n, 1, NULL);
}

/* Rows [begin, end) of matrix number i. */
static void matrix_rows(const triangle *t, int64_t i, int64_t begin,
                        int64_t end) {
  const int last = t->out->ndim - 1;
  const int64_t *ds = t->out->strides + last, *ss = t->self->strides + last;
  const int64_t n = t->out->sizes[last], step = ds[0] * t->size;
  /* In row r columns from r + shift on are right of the diagonal, for triu
   * those on it too. */
  const int64_t shift = t->diagonal + !t->upper;
  if (t->copied && t->upper) begin = begin > -shift ? begin : 1 - shift;
  if (t->copied && !t->upper) end = end < n - shift ? end : n - shift;
  char *out = st__data(t->out) + matrix_offset(t->out, i, t->size);
  char *self = st__data(t->self) + matrix_offset(t->self, i, t->size);
  for (int64_t row = begin; row < end; row++) {
    const int64_t at = row + shift, cut = at < 0 ? 0 : at > n ? n : at;
    const int64_t from = t->upper ? cut : 0, to = t->upper ? n : cut;
    char *d = out + row * ds[-1] * t->size;
    char *s = self + row * ss[-1] * t->size;
    if (!t->copied && to > from) {
      t->copy((char *[]){d + from * step, s + from * step},
              (int64_t[]){step, step, 0, 0}, to - from, 1, NULL);
    }
    clear_row(t, d, step, from);
    clear_row(t, d + to * step, step, n - to);
  }
}

static void triangle_rows(void *ctx, int64_t begin, int64_t end) {
  const triangle *t = ctx;
  const int64_t rows = t->out->sizes[t->out->ndim - 2];
  for (int64_t row = begin, n; row < end; row += n) {
    const int64_t first = row % rows;
    n = rows - first < end - row ? rows - first : end - row;
    matrix_rows(t, row / rows, first, first + n);
  }
}

/* True if the rows of a triangle are copied one by one. Short rows, or rows of
 * self in steps, take longer than a copy of the whole, which goes by tiles. */
static bool copies_by_rows(const triangle *t) {
  const int last = t->out->ndim - 1;
  return t->self->strides[last] == 1 && t->out->strides[last] == 1 &&
         t->out->sizes[last] * t->size >= LONG_ROW;
}

static st_status run_triangle(st_run *r, bool upper) {
  const st_value *args = r->args;
  ST_ARGS(TENSOR(self));
  triangle t = {
    .self = self, .out = r->out[0], .upper = upper,
    .copy = st__copy_kernel(self->dtype, self->dtype),
    .size = (int64_t)st__itemsize(self->dtype),
    .diagonal = st__next_int(&args),
    .copied = st__data(self) == st__data(r->out[0])};
  if (self->numel == 0) return ST_OK;
  const int64_t n = self->sizes[self->ndim - 1];
  /* A diagonal outside the matrix is clamped, so that it cannot overflow. */
  const int64_t far = n + self->sizes[self->ndim - 2];
  if (t.diagonal > far) t.diagonal = far;
  if (t.diagonal < -far) t.diagonal = -far;
  if (!t.copied && !copies_by_rows(&t)) {
    ST_TRY(st__copy(t.out, self));
    t.copied = true;
  }
  return st__parallel_try(0, self->numel / n, ST_GRAIN / n + 1,
                          triangle_rows, &t);
}

st_status st__tril_impl(st_run *r) { return run_triangle(r, false); }
st_status st__triu_impl(st_run *r) { return run_triangle(r, true); }

/* -- tril_indices and triu_indices ---------------------------------------- */

/* [*from, *to) are the columns of a row that lie in the triangle. */
static void row_span(int64_t row, int64_t cols, int64_t offset, bool upper,
                     int64_t *from, int64_t *to) {
  int64_t cut = row + offset + !upper;
  cut = cut < 0 ? 0 : cut > cols ? cols : cut;
  *from = upper ? cut : 0;
  *to = upper ? cols : cut;
}

static int64_t limit(int64_t x, int64_t most) {
  return x < 0 ? 0 : x > most ? most : x;
}

/* The rows [first, last) that have columns in a triangle, and its size. */
typedef struct triangle_span { int64_t first, last, n; } triangle_span;

/* In the lower triangle row i has i + offset + 1 columns, from 0 to cols. rows
 * and cols are less than 2^31, so no sum overflows. */
static triangle_span span_of(int64_t rows, int64_t cols, int64_t offset,
                             bool upper) {
  const int64_t cut = offset + !upper; /* of row 0 */
  const int64_t first = limit(-cut, rows), full = limit(cols - cut, rows);
  const int64_t below = (full - first) * (first + full - 1 + 2 * cut) / 2 +
                        (rows - full) * cols;
  return upper ? (triangle_span){0, full, rows * cols - below}
               : (triangle_span){first, rows, below};
}

/* Writes the indices of all rows of a span; p has room for 2 * s.n. */
static st_status write_triangle(triangle_span s, int64_t cols, int64_t offset,
                                bool upper, int64_t base, int64_t *p) {
  for (int64_t i = s.first, from, to; i < s.last && s.n > 0; i++) {
    row_span(i, cols, offset, upper, &from, &to);
    const int64_t n = to - from;
    for (int64_t j = 0; j < n; j++) p[j] = i + base;
    for (int64_t j = 0; j < n; j++) p[s.n + j] = from + j + base;
    p += n;
    if (i % 256 == 0 || to - from > 4096) ST_TRY(st__poll_interrupt());
  }
  return ST_OK;
}

static st_status triangle_indices(const st_value *args, bool upper,
                                  st_value *ret) {
  ST_ARGS(INT(rows), INT(cols));
  int64_t offset = st__next_int(&args);
  const st_value *options = st__next_options(&args);
  ST_ARGS(INT(base));
  st_options o = {ST_INT64, ST_DEVICE_CPU};
  st_tensor *t = NULL, *cast = NULL, *out = NULL;
  ST_TRY(st__read_options(options, &o));
  if (rows < 0 || cols < 0 || rows > INT32_MAX || cols > INT32_MAX) {
    return st__fail(ST_BAD_VALUE, "row and col must be from 0 to 2147483647, "
                    "they are %" PRId64 " and %" PRId64, rows, cols);
  }
  const int64_t far = rows + cols;
  offset = offset > far ? far : offset < -far ? -far : offset;
  const triangle_span span = span_of(rows, cols, offset, upper);
  const int64_t sizes[] = {2, span.n};
  ST_TRY(st__tensor_empty(ST_DEVICE_CPU, ST_INT64, 2, sizes,
                          ST_FORMAT_CONTIGUOUS, &t));
  st_status status = write_triangle(span, cols, offset, upper, base,
                                    (int64_t *)(void *)st__data(t));
  if (status == ST_OK && o.dtype == ST_INT64) {
    cast = t;
    t = NULL;
  } else if (status == ST_OK) {
    status = st__clone(t, o.dtype, ST_FORMAT_CONTIGUOUS, &cast);
  }
  st__tensor_release(&t);
  ST_TRY(status);
  ST_TRY(st__copy_to_device(&cast, o.device, &out));
  *ret = st__of_tensor(out);
  return ST_OK;
}

ST_BOXED_AS(st__box_tril_indices, triangle_indices, args, false)
ST_BOXED_AS(st__box_triu_indices, triangle_indices, args, true)

/* -- Diagonals ------------------------------------------------------------ */

/* Zeros, with the last dimension of self on the diagonal of dim1 and dim2. */
static st_status embed(const st_tensor *self, int64_t offset, int64_t dim1,
                       int64_t dim2, st_tensor **out) {
  int a, b;
  if (self->ndim == 0 || self->ndim >= ST_MAX_DIMS) {
    return st__fail(ST_BAD_SHAPE, "self must have at least 1 dimension and "
                    "less than the maximum, its shape is %s",
                    ST_SHAPE_TEXT(self));
  }
  const int ndim = self->ndim + 1;
  ST_TRY(st__wrap_dim(dim1, ndim, &a));
  ST_TRY(st__wrap_dim(dim2, ndim, &b));
  if (a == b) {
    return st__fail(ST_BAD_DIM, "dim1 and dim2 are the same dimension");
  }
  int64_t sizes[ST_MAX_DIMS], length;
  if (!st__add_sizes(self->sizes[self->ndim - 1],
                     offset < 0 ? -offset : offset, &length)) {
    return st__fail(ST_BAD_VALUE, "the diagonal offset %" PRId64 " is too "
                    "large for shape %s", offset, ST_SHAPE_TEXT(self));
  }
  for (int d = 0, k = 0; d < ndim; d++) {
    sizes[d] = d == a || d == b ? length : self->sizes[k++];
  }
  const st_options o = {self->dtype, self->device};
  st_tensor *t = NULL, *diagonal = NULL;
  st_status status;
  ST_TRY_FAIL(st__new_empty(o, ndim, sizes, ST_FORMAT_CONTIGUOUS, &t));
  ST_TRY_FAIL(st__fill_new(t, st__scalar_int(0)));
  ST_TRY_FAIL(st__view_diagonal(t, offset, dim1, dim2, &diagonal));
  ST_TRY_FAIL(st__copy(diagonal, self));
  st__tensor_release(&diagonal);
  *out = t;
  return ST_OK;
fail:
  st__tensor_release(&diagonal);
  st__tensor_release(&t);
  return status;
}

static st_status check_offset(int64_t offset) {
  if (offset > -INT32_MAX && offset < INT32_MAX) return ST_OK;
  return st__fail(ST_BAD_VALUE, "diagonal offset %" PRId64 " is too large",
                  offset);
}

static st_status diag_embed(const st_tensor *self, int64_t offset, int64_t dim1,
                            int64_t dim2, st_value *rets) {
  st_tensor *out = NULL;
  ST_TRY(st__check_cpu_or_meta(self));
  ST_TRY(check_offset(offset));
  ST_TRY(embed(self, offset, dim1, dim2, &out));
  rets[0] = st__of_tensor(out);
  return ST_OK;
}
ST_TYPED_ARGS(st__box_diag_embed, diag_embed, (TENSOR, INT, INT, INT))

ST_BOXED(st__box_diag) {
  ST_ARGS(TENSOR(self), BOXED(diagonal));
  const st_value both[] = {st__of_tensor(self), *diagonal};
  st_tensor *view = NULL;
  if (self->ndim == 1) return st__invoke(ST_OP_diag_embed, 2, both, rets);
  if (self->ndim != 2) {
    return st__fail(ST_BAD_SHAPE, "self must be a vector or a matrix, its "
                    "shape is %s", ST_SHAPE_TEXT(self));
  }
  ST_TRY(st__invoke1(ST_OP_diagonal, 2, both, &view));
  const st_status status =
    st__invoke(ST_OP_clone, ST_VALUES(view, ST_FORMAT_CONTIGUOUS), rets);
  st__tensor_release(&view);
  return status;
}

ST_BOXED(st__box_diagflat) {
  ST_ARGS(VALUE(self), VALUE(offset));
  st_tensor *line = NULL;
  ST_TRY(st__invoke1(ST_OP_reshape, ST_VALUES(self, ST_INTS(-1)), &line));
  const st_status status =
    st__invoke(ST_OP_diag_embed, ST_VALUES(line, offset), rets);
  st__tensor_release(&line);
  return status;
}

ST_BOXED(st__box_trace) {
  ST_ARGS(BOXED(self));
  st_tensor *view = NULL;
  if (self->u.tensor->ndim != 2) {
    return st__fail(ST_BAD_SHAPE, "self must be a matrix, its shape is %s",
                    ST_SHAPE_TEXT(self->u.tensor));
  }
  ST_TRY(st__invoke1(ST_OP_diagonal, 1, self, &view));
  const st_value diagonal = st__of_tensor(view);
  const st_status status = st__invoke(ST_OP_sum, 1, &diagonal, rets);
  st__tensor_release(&view);
  return status;
}
