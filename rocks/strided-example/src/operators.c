/* The namespace `example`: an operator of each kind.
 *
 * A kernel borrows its arguments and returns owned results. It fails with
 * st_fail before it writes anything; the engine prepends the operator's name to
 * the message.
 */

#include "example.h"

/* -- A boxed kernel ------------------------------------------------------- */

/* count_above(Tensor self, float limit) -> int
 *
 * A boxed kernel gets an array of values in the order of the schema. It can
 * implement any schema. */
static st_status count_above(const st_call *call, const st_value *args,
                             st_value *rets) {
  const st_value to_double[] = {args[0], of_int(ST_FLOAT64)};
  /* C callers may pass an integer for a float. */
  const double limit = args[1].tag == ST_TAG_FLOAT ? args[1].u.f
                                                   : (double)args[1].u.i;
  st_tensor *t, *line;
  int64_t count = 0;
  (void)call;
  TRY(call1("aten::to", "dtype", 2, to_double, &t));
  const st_value of_t = of_tensor(t);
  const st_status status = call1("aten::contiguous", "", 1, &of_t, &line);
  st_tensor_release(&t);
  TRY(status);
  const double *p = st_tensor_data(line);
  for (int64_t i = 0; i < st_tensor_numel(line); i++) count += p[i] > limit;
  st_tensor_release(&line);
  rets[0] = of_int(count);
  return ST_OK;
}

/* -- A typed kernel ------------------------------------------------------- */

/* axpy(Tensor x, Tensor y, Scalar alpha) -> Tensor
 *
 * The kernel is a plain C function. ST_SIGNATURE defines its type, axpy_fn, and
 * the adapter for callers that pass boxed values. */
ST_SIGNATURE(axpy, (TENSOR, TENSOR, SCALAR), (TENSOR))

static st_status check_line(const st_tensor *t, const char *name) {
  if (st_tensor_dtype(t) == ST_FLOAT32 && st_tensor_ndim(t) == 1 &&
      st_tensor_is_contiguous(t, ST_FORMAT_CONTIGUOUS)) {
    return ST_OK;
  }
  return st_fail(ST_BAD_VALUE, "%s must be a contiguous vector of float32",
                 name);
}

static axpy_fn axpy;
static st_status axpy(const st_call *call, st_tensor *x, st_tensor *y,
                      st_scalar alpha, st_tensor **out) {
  const int64_t n = st_tensor_numel(x);
  (void)call;
  TRY(check_line(x, "x"));
  TRY(check_line(y, "y"));
  if (st_tensor_numel(y) != n) {
    return st_fail(ST_BAD_SHAPE, "x has %lld elements, y %lld", (long long)n,
                   (long long)st_tensor_numel(y));
  }
  if (alpha.kind == ST_SCALAR_COMPLEX) {
    return st_fail(ST_BAD_VALUE, "alpha must be real");
  }
  TRY(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 1, &n, NULL, out));
  const float a = alpha.kind == ST_SCALAR_FLOAT ? (float)alpha.u.f
                                                : (float)alpha.u.i;
  const float *from = st_tensor_data(x), *plus = st_tensor_data(y);
  float *to = st_tensor_data(*out);
  for (int64_t i = 0; i < n; i++) to[i] = a * from[i] + plus[i];
  return ST_OK;
}

/* -- A structured operator ------------------------------------------------ */

/* scale_rows(Tensor self, Tensor factors) -> Tensor
 *
 * One meta function and one implementation for scale_rows, scale_rows_ and
 * out=. The meta function checks the arguments and sets the output's sizes,
 * strides and dtype; on the meta device nothing else runs. This implementation
 * requires a column-major output, as many numerical libraries do. If the
 * caller's tensor has other strides, or overlaps an input, the implementation
 * gets a temporary, which the engine copies back. */
enum { ROWS, COLUMNS }; /* notes of meta */

static st_status scale_rows_meta(st_run *r) {
  const st_tensor *self = st_run_tensor(r, 0), *by = st_run_tensor(r, 1);
  if (st_tensor_ndim(self) != 2 || st_tensor_ndim(by) != 1 ||
      st_tensor_sizes(self)[0] != st_tensor_sizes(by)[0]) {
    return st_fail(ST_BAD_SHAPE, "self must be a matrix, factors a vector "
                   "with one element per row");
  }
  if (st_tensor_dtype(self) != ST_FLOAT32 ||
      st_tensor_dtype(by) != ST_FLOAT32) {
    return st_fail(ST_BAD_DTYPE, "self and factors must be float32");
  }
  const int64_t *sizes = st_tensor_sizes(self);
  const int64_t by_column[] = {1, sizes[0] > 1 ? sizes[0] : 1};
  st_run_note(r)[ROWS] = sizes[0];
  st_run_note(r)[COLUMNS] = sizes[1];
  return st_set_output_strided(r, 0, 2, sizes, by_column, ST_FLOAT32);
}

static st_status scale_rows_impl(st_run *r) {
  const st_tensor *self = st_run_tensor(r, 0), *by = st_run_tensor(r, 1);
  const int64_t *stride = st_tensor_strides(self);
  const int64_t factor_stride = st_tensor_strides(by)[0];
  const int64_t rows = st_run_note(r)[ROWS], columns = st_run_note(r)[COLUMNS];
  const float *from = st_tensor_data(self), *factor = st_tensor_data(by);
  float *to = st_tensor_data(st_maybe_get_output(r, 0));
  for (int64_t j = 0; j < columns; j++) {
    for (int64_t i = 0; i < rows; i++) {
      to[j * rows + i] = from[i * stride[0] + j * stride[1]] *
                         factor[i * factor_stride];
    }
  }
  return ST_OK;
}

static const st_structured scale_rows = {
  .schema = "scale_rows(Tensor self, Tensor factors) -> Tensor",
  .inplace = true, .out = "out",
  .meta = scale_rows_meta, .impl = scale_rows_impl,
  .doc = "Multiplies each row by an element of factors.",
  .debug = "strided_example",
};

/* -- A composite operator ------------------------------------------------- */

/* normalized(Tensor self, *, float eps=0.) -> Tensor
 *
 * It works wherever the operators that it calls work: on any device, on Meta,
 * and under the modes of a script. */
static st_status normalized(const st_call *call, const st_value *args,
                            st_value *rets) {
  const st_value square[] = {args[0], args[0]};
  st_tensor *step[4] = {NULL};
  (void)call;
  st_status status = call1("aten::mul", "Tensor", 2, square, &step[0]);
  if (status == ST_OK) {
    const st_value sum = of_tensor(step[0]);
    status = call1("aten::sum", "", 1, &sum, &step[1]);
  }
  if (status == ST_OK) {
    const st_value root = of_tensor(step[1]);
    status = call1("aten::sqrt", "", 1, &root, &step[2]);
  }
  if (status == ST_OK) {
    const st_value add[] = {of_tensor(step[2]), args[1]};
    status = call1("aten::add", "Scalar", 2, add, &step[3]);
  }
  if (status == ST_OK) {
    const st_value div[] = {args[0], of_tensor(step[3])};
    status = st_call_op(st_op_find("aten::div", "Tensor"), 2, div, rets);
  }
  for (int i = 0; i < 4; i++) st_tensor_release(&step[i]);
  return status;
}

/* live_blocks() -> int */
static st_status live_blocks(const st_call *call, const st_value *args,
                             st_value *rets) {
  (void)call, (void)args;
  rets[0] = of_int(example_live_blocks());
  return ST_OK;
}

/* loops() -> int */
static st_status loops(const st_call *call, const st_value *args,
                       st_value *rets) {
  (void)call, (void)args;
  rets[0] = of_int(example_loops());
  return ST_OK;
}

/* -- Registration --------------------------------------------------------- */

/* key NULL: CompositeImplicitAutograd. */
static const struct {
  const char *name, *schema, *doc, *key;
  st_kernel kernel;
} operators[] = {
  {"count_above", "count_above(Tensor self, float limit) -> int",
   "The number of elements that are larger than limit.", "CPU",
   {.fn = count_above, .debug = "strided_example"}},
  {"axpy", "axpy(Tensor x, Tensor y, Scalar alpha) -> Tensor",
   "alpha * x + y of vectors.", "CPU",
   ST_KERNEL(axpy, axpy, .debug = "strided_example")},
  {"normalized", "normalized(Tensor self, *, float eps=0.) -> Tensor",
   "self divided by its length, plus eps.", NULL,
   {.fn = normalized, .debug = "strided_example"}},
  {"live_blocks", "live_blocks() -> int",
   "The number of blocks that are allocated on the device.", NULL,
   {.fn = live_blocks, .debug = "strided_example"}},
  {"loops", "loops() -> int",
   "The number of loops that have run on the device.", NULL,
   {.fn = loops, .debug = "strided_example"}},
};

/* The library is kept for the life of the process; closing it would remove its
 * registrations. */
st_status example_register_operators(void) {
  static st_library *lib;
  TRY(st_library_open("example", ST_LIBRARY_DEF, NULL, 0, "strided_example",
                      &lib));
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    TRY(st_library_define(lib, operators[i].schema, operators[i].doc, 0,
                          "strided_example"));
    TRY(st_library_implement(lib, operators[i].name, operators[i].key,
                             &operators[i].kernel));
  }
  return st_library_structured(lib, &scale_rows);
}
