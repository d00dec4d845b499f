/* The layout "example_coo": a sparse matrix as the coordinates of its elements.
 *
 * A tensor of it has two parts: indices, int64 of shape {ndim, n}, and values.
 * Elements of the same place add up; places without one are 0. A note says that
 * the indices ascend, so that no place has two. Only the kernels here know
 * that. The engine provides detach, clone and printing, records gradients, and
 * refuses everything that needs strides. An operator without a kernel here
 * fails; a fallback for the key could convert to strided tensors, and go on
 * with these.
 */

#include <stdio.h>

#include "example.h"

#define KEY "SparseCPU"

enum { INDICES, VALUES, PARTS };
enum { ASCENDS }; /* notes */

static st_layout coo;

/* -- Parts ---------------------------------------------------------------- */

static st_status new_coo(st_tensor *const *parts, bool ascends, int ndim,
                         const int64_t *sizes, st_tensor **out) {
  const st_layout_config c = {
    .layout = coo, .device = ST_DEVICE_CPU,
    .dtype = st_tensor_dtype(parts[VALUES]), .ndim = ndim, .sizes = sizes,
    .nparts = PARTS, .parts = parts, .notes = {[ASCENDS] = ascends}};
  return st_tensor_of_parts(&c, out);
}

/* A tensor with the indices and sizes of t, and other values, which it
 * releases. */
static st_status with_values(const st_tensor *t, st_tensor *values,
                             st_tensor **out) {
  st_tensor *parts[PARTS] = {NULL, values};
  int64_t notes[ST_LAYOUT_NOTES];
  st_status status = st_tensor_notes(t, notes);
  if (status == ST_OK) status = st_tensor_part(t, INDICES, &parts[INDICES]);
  if (status == ST_OK) {
    status = new_coo(parts, notes[ASCENDS], st_tensor_ndim(t),
                     st_tensor_sizes(t), out);
  }
  for (int i = 0; i < PARTS; i++) st_tensor_release(&parts[i]);
  return status;
}

/* The values of t, changed by an operator of another argument. */
static st_status apply_to_values(const st_tensor *t, const char *name,
                                 const char *overload, const st_value *other,
                                 st_tensor **out) {
  st_tensor *values = NULL;
  TRY(st_tensor_part(t, VALUES, &values));
  const st_value args[] = {of_tensor(values), *other};
  const st_status status = call1(name, overload, 2, args, out);
  st_tensor_release(&values);
  return status;
}

static bool is_coo(const st_value *v) {
  return v->tag == ST_TAG_TENSOR && st_tensor_layout(v->u.tensor) == coo;
}

/* -- Construction and conversion ------------------------------------------ */

/* True if each column of a matrix comes after the one before. */
static bool do_ascend(const st_tensor *t) {
  const int64_t *p = st_tensor_data(t), *stride = st_tensor_strides(t);
  for (int64_t i = 1; i < st_tensor_sizes(t)[1]; i++) {
    const int64_t *a = p + (i - 1) * stride[1], *b = p + i * stride[1];
    int64_t d = 0, rows = st_tensor_sizes(t)[0];
    while (d < rows && a[d * stride[0]] == b[d * stride[0]]) d++;
    if (d == rows || a[d * stride[0]] > b[d * stride[0]]) return false;
  }
  return true;
}

static st_status check_indices(const st_tensor *indices,
                               const st_tensor *values, const st_value *size) {
  if (st_tensor_dtype(indices) != ST_INT64 || st_tensor_ndim(indices) != 2 ||
      st_tensor_ndim(values) != 1 ||
      st_tensor_sizes(indices)[0] != (int64_t)size->len ||
      st_tensor_sizes(indices)[1] != st_tensor_sizes(values)[0]) {
    return st_fail(ST_BAD_SHAPE, "indices must be int64, with a row for each "
                   "dimension and a column for each of the values");
  }
  const int64_t *p = st_tensor_data(indices);
  const int64_t *stride = st_tensor_strides(indices);
  for (int64_t d = 0; d < st_tensor_sizes(indices)[0]; d++) {
    for (int64_t i = 0; i < st_tensor_sizes(indices)[1]; i++) {
      const int64_t at = p[d * stride[0] + i * stride[1]];
      if (at < 0 || at >= size->u.ints[d]) {
        return st_fail(ST_BAD_INDEX, "index %lld is out of range",
                       (long long)at);
      }
    }
  }
  return ST_OK;
}

/* coo(Tensor indices, Tensor values, int[] size) -> Tensor */
static st_status make(const st_call *call, const st_value *args,
                      st_value *rets) {
  st_tensor *const parts[PARTS] = {args[0].u.tensor, args[1].u.tensor};
  st_tensor *out;
  (void)call;
  TRY(check_indices(parts[INDICES], parts[VALUES], &args[2]));
  TRY(new_coo(parts, do_ascend(parts[INDICES]), (int)args[2].len,
              args[2].u.ints, &out));
  rets[0] = of_tensor(out);
  return ST_OK;
}

static st_status part(const st_value *args, int i, st_value *rets) {
  st_tensor *out;
  int64_t notes[ST_LAYOUT_NOTES];
  if (!is_coo(&args[0])) return st_fail(ST_BAD_LAYOUT, "not an example_coo");
  TRY(st_tensor_notes(args[0].u.tensor, notes));
  if (!notes[ASCENDS]) {
    return st_fail(ST_BAD_VALUE, "a place may have several elements");
  }
  TRY(st_tensor_part(args[0].u.tensor, i, &out));
  rets[0] = of_tensor(out);
  return ST_OK;
}

/* indices(Tensor self) -> Tensor; values(Tensor self) -> Tensor */
static st_status indices_of(const st_call *call, const st_value *args,
                            st_value *rets) {
  (void)call;
  return part(args, INDICES, rets);
}
static st_status values_of(const st_call *call, const st_value *args,
                           st_value *rets) {
  (void)call;
  return part(args, VALUES, rets);
}

/* The rows of indices as the arguments of index and index_put_. */
static st_status rows_of(const st_tensor *t, st_value *rows) {
  st_tensor *indices = NULL;
  TRY(st_tensor_part(t, INDICES, &indices));
  const st_value args[] = {of_tensor(indices), of_int(0)};
  const st_status status = st_call_op(st_op_find("aten::unbind", "int"), 2,
                                      args, rows);
  st_tensor_release(&indices);
  return status;
}

/* dense[indices] += values */
static st_status add_elements(st_tensor *dense, const st_tensor *t) {
  st_tensor *values = NULL, *same = NULL;
  st_value rows = {.tag = ST_TAG_NONE};
  st_status status = rows_of(t, &rows);
  if (status == ST_OK) status = st_tensor_part(t, VALUES, &values);
  if (status == ST_OK) {
    const st_value args[] = {of_tensor(dense), rows, of_tensor(values),
                             {.tag = ST_TAG_BOOL, .u.i = 1}};
    status = call1("aten::index_put_", "", 4, args, &same);
  }
  st_tensor_release(&same);
  st_tensor_release(&values);
  st_value_clear(&rows);
  return status;
}

/* to_dense(Tensor self) -> Tensor */
static st_status to_dense(const st_call *call, const st_value *args,
                          st_value *rets) {
  const st_tensor *t = args[0].u.tensor;
  st_tensor *out = NULL;
  (void)call;
  if (!is_coo(&args[0])) return st_fail(ST_BAD_LAYOUT, "not an example_coo");
  const st_value zeros[] = {of_ints(st_tensor_sizes(t), st_tensor_ndim(t)),
                            of_int(st_tensor_dtype(t))};
  TRY(call1("aten::zeros", "", 2, zeros, &out));
  const st_status status = add_elements(out, t);
  if (status != ST_OK) st_tensor_release(&out);
  else rets[0] = of_tensor(out);
  return status;
}

/* -- Kernels of built-in operators ---------------------------------------- */

/* sum(Tensor self, *, ScalarType? dtype=None) -> Tensor */
static st_status sum(const st_call *call, const st_value *args,
                     st_value *rets) {
  st_tensor *values = NULL;
  (void)call;
  TRY(st_tensor_part(args[0].u.tensor, VALUES, &values));
  const st_value sum_args[] = {of_tensor(values), args[1]};
  const st_status status = st_call_op(st_op_find("aten::sum", ""), 2, sum_args,
                                      rets);
  st_tensor_release(&values);
  return status;
}

/* Two lists of elements as one: elements of the same place add up. */
static st_status join(const st_tensor *a, const st_tensor *b, int i,
                      int64_t dim, st_tensor **out) {
  st_tensor *pair[2] = {NULL, NULL};
  st_status status = st_tensor_part(a, i, &pair[0]);
  if (status == ST_OK) status = st_tensor_part(b, i, &pair[1]);
  if (status == ST_OK) {
    const st_value args[] = {
      {.tag = ST_TAG_TENSORS, .len = 2, .u.tensors = pair}, of_int(dim)};
    status = call1("aten::cat", "", 2, args, out);
  }
  st_tensor_release(&pair[0]);
  st_tensor_release(&pair[1]);
  return status;
}

static bool same_shape(const st_tensor *a, const st_tensor *b) {
  bool same = st_tensor_ndim(a) == st_tensor_ndim(b);
  for (int d = 0; same && d < st_tensor_ndim(a); d++) {
    same = st_tensor_sizes(a)[d] == st_tensor_sizes(b)[d];
  }
  return same;
}

/* add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor */
static st_status add(const st_call *call, const st_value *args,
                     st_value *rets) {
  st_tensor *parts[PARTS] = {NULL, NULL}, *out = NULL;
  const st_tensor *a = args[0].u.tensor, *b = args[1].u.tensor;
  const bool is_one = args[2].tag == ST_TAG_INT && args[2].u.i == 1;
  (void)call;
  if (!is_coo(&args[0]) || !is_coo(&args[1]) || !is_one || !same_shape(a, b)) {
    return st_fail(ST_BAD_VALUE, "layout 'example_coo' adds only tensors of "
                   "this layout and of one shape, with alpha = 1");
  }
  st_status status = join(a, b, INDICES, 1, &parts[INDICES]);
  if (status == ST_OK) status = join(a, b, VALUES, 0, &parts[VALUES]);
  if (status == ST_OK) {
    status = new_coo(parts, false, st_tensor_ndim(a), st_tensor_sizes(a), &out);
  }
  for (int i = 0; i < PARTS; i++) st_tensor_release(&parts[i]);
  if (status == ST_OK) rets[0] = of_tensor(out);
  return status;
}

/* Values of one element are broadcast; no other shape is multiplied. */
static st_status scaled(const st_value *args, st_tensor **values) {
  if (!is_coo(&args[0]) || is_coo(&args[1]) ||
      (args[1].tag == ST_TAG_TENSOR && st_tensor_ndim(args[1].u.tensor) > 0)) {
    return st_fail(ST_BAD_VALUE, "layout 'example_coo' is multiplied by "
                   "numbers only");
  }
  return apply_to_values(args[0].u.tensor, "aten::mul",
                         args[1].tag == ST_TAG_TENSOR ? "Tensor" : "Scalar",
                         &args[1], values);
}

/* mul.Tensor, mul.Scalar */
static st_status mul(const st_call *call, const st_value *args,
                     st_value *rets) {
  st_tensor *values = NULL, *out = NULL;
  (void)call;
  TRY(scaled(args, &values));
  TRY(with_values(args[0].u.tensor, values, &out));
  rets[0] = of_tensor(out);
  return ST_OK;
}

/* mul_.Tensor, mul_.Scalar: in place, so all that share the parts see it. */
static st_status mul_in_place(const st_call *call, const st_value *args,
                              st_value *rets) {
  st_tensor *t = args[0].u.tensor, *parts[PARTS] = {NULL, NULL};
  int64_t notes[ST_LAYOUT_NOTES];
  (void)call;
  st_status status = scaled(args, &parts[VALUES]);
  if (status == ST_OK && st_tensor_dtype(parts[VALUES]) != st_tensor_dtype(t)) {
    status = st_fail(ST_BAD_DTYPE, "the result has another dtype");
  }
  if (status == ST_OK) status = st_tensor_part(t, INDICES, &parts[INDICES]);
  if (status == ST_OK) status = st_tensor_notes(t, notes);
  if (status == ST_OK) status = st_tensor_set_parts(t, PARTS, parts, notes);
  for (int i = 0; i < PARTS; i++) st_tensor_release(&parts[i]);
  TRY(status);
  st_tensor_retain(t);
  rets[0] = of_tensor(t);
  return ST_OK;
}

/* -- Gradients ------------------------------------------------------------ */

/* d coo / d values: the elements of grad at the indices. */
static st_status coo_backward(void *ctx, const st_op *op, const st_value *args,
                              const st_value *rets, st_tensor *const *grads,
                              const bool *wanted, st_tensor **inputs) {
  st_value grad = of_tensor(grads[0]), rows = {.tag = ST_TAG_NONE};
  st_tensor *dense = NULL;
  (void)ctx, (void)op, (void)args;
  if (!grads[0] || !wanted[1]) return ST_OK;
  if (is_coo(&grad)) {
    TRY(call1("example::to_dense", "", 1, &grad, &dense));
    grad = of_tensor(dense);
  }
  st_status status = rows_of(rets[0].u.tensor, &rows);
  if (status == ST_OK) {
    const st_value at[] = {grad, rows};
    status = call1("aten::index", "Tensor", 2, at, &inputs[1]);
  }
  st_value_clear(&rows);
  st_tensor_release(&dense);
  return status;
}

/* d to_dense / d self: a gradient need not have the layout of its tensor. */
static st_status to_dense_backward(void *ctx, const st_op *op,
                                   const st_value *args, const st_value *rets,
                                   st_tensor *const *grads, const bool *wanted,
                                   st_tensor **inputs) {
  (void)ctx, (void)op, (void)args, (void)rets;
  if (!grads[0] || !wanted[0]) return ST_OK;
  st_tensor_retain(grads[0]);
  inputs[0] = grads[0];
  return ST_OK;
}

/* d values / d self: a sparse gradient. */
static st_status values_backward(void *ctx, const st_op *op,
                                 const st_value *args, const st_value *rets,
                                 st_tensor *const *grads, const bool *wanted,
                                 st_tensor **inputs) {
  (void)ctx, (void)op, (void)rets;
  if (!grads[0] || !wanted[0]) return ST_OK;
  st_tensor_retain(grads[0]);
  return with_values(args[0].u.tensor, grads[0], &inputs[0]);
}

/* -- Registration --------------------------------------------------------- */

static st_status text(void *ctx, const st_tensor *t,
                      const st_print_options *options, st_value *out) {
  char line[80];
  st_tensor *values = NULL;
  (void)ctx, (void)options;
  TRY(st_tensor_part(t, VALUES, &values));
  const int n = snprintf(line, sizeof line, "example_coo(%lld elements of "
                         "%lld, %s)", (long long)st_tensor_numel(values),
                         (long long)st_tensor_numel(t),
                         st_dtype_name(st_tensor_dtype(t)));
  st_tensor_release(&values);
  return st_value_of_string(line, (size_t)n, out);
}

static const st_layout_functions functions = {.text = text};

static const struct {
  const char *name, *schema, *doc, *key;
  st_kernel_fn fn;
  st_derivative derivative;
} operators[] = {
  {"coo", "coo(Tensor indices, Tensor values, int[] size) -> Tensor",
   "A tensor of layout example_coo.", "CPU", make,
   {.backward = coo_backward}},
  {"to_dense", "to_dense(Tensor self) -> Tensor",
   "The strided tensor of the same elements.", KEY, to_dense,
   {.backward = to_dense_backward}},
  {"values", "values(Tensor self) -> Tensor", "The values.", KEY, values_of,
   {.backward = values_backward}},
  {"indices", "indices(Tensor self) -> Tensor", "The indices.", KEY,
   indices_of, {.backward = NULL}},
};

static const struct { const char *name; st_kernel_fn fn; } kernels[] = {
  {"sum", sum}, {"add.Tensor", add}, {"mul.Tensor", mul}, {"mul.Scalar", mul},
  {"mul_.Tensor", mul_in_place}, {"mul_.Scalar", mul_in_place},
};

st_status example_register_layout(void) {
  static st_library *own, *aten;
  TRY(st_layout_register("example_coo", "Sparse", &functions, &coo));
  TRY(st_library_open("example", ST_LIBRARY_FRAGMENT, NULL, 0,
                      "strided_example", &own));
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    const st_kernel kernel = {.fn = operators[i].fn,
                              .debug = "strided_example"};
    TRY(st_library_define(own, operators[i].schema, operators[i].doc, 0,
                          "strided_example"));
    TRY(st_library_implement(own, operators[i].name, operators[i].key,
                             &kernel));
    if (!operators[i].derivative.backward) continue;
    TRY(st_library_derivative(own, operators[i].name,
                              &operators[i].derivative));
  }
  TRY(st_library_open("aten", ST_LIBRARY_IMPL, KEY, 0, "strided_example",
                      &aten));
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    const st_kernel kernel = {.fn = kernels[i].fn, .debug = "strided_example"};
    TRY(st_library_implement(aten, kernels[i].name, NULL, &kernel));
  }
  return ST_OK;
}
