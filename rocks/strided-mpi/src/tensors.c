/* Operators of the engine that the kernels call, looked up once.
 */

#include <stdio.h>

#include "stmpi.h"

static const st_op *op_clone, *op_copy, *op_divide, *op_zero;
static const st_op *combiners[STMPI_REDUCTIONS];

st_status stmpi_tensors_init(void) {
  /* ORDER REDUCTION: stmpi.h */
  static const char *const names[STMPI_REDUCTIONS][2] = {
    {"aten::add", "out"}, {"aten::mul", "out"},
    {"aten::minimum", "out"}, {"aten::maximum", "out"},
    {"aten::add", "out"}, {"aten::bitwise_and", "Tensor_out"},
    {"aten::bitwise_or", "Tensor_out"}, {"aten::bitwise_xor", "Tensor_out"},
  };
  op_clone = st_op_find("aten::clone", "");
  op_copy = st_op_find("aten::copy_", "");
  op_divide = st_op_find("aten::div_", "Scalar");
  op_zero = st_op_find("aten::zero_", "");
  bool all = op_clone && op_copy && op_divide && op_zero;
  for (int i = 0; i < STMPI_REDUCTIONS; i++) {
    combiners[i] = st_op_find(names[i][0], names[i][1]);
    all = all && combiners[i];
  }
  return all ? ST_OK : st_fail(ST_NOT_FOUND, "an operator is missing");
}

static st_value of_tensor(st_tensor *t) {
  return (st_value){.tag = ST_TAG_TENSOR, .u.tensor = t};
}

static st_value of_int(int64_t i) {
  return (st_value){.tag = ST_TAG_INT, .u.i = i};
}

/* Calls an operator that returns a tensor which the caller has. */
static st_status call_in_place(const st_op *op, int n, const st_value *args) {
  st_value ret;
  TRY(st_call_op(op, n, args, &ret));
  st_value_clear(&ret);
  return ST_OK;
}

st_status stmpi_contiguous(st_tensor *t, st_tensor **out) {
  const st_value args[] = {of_tensor(t), of_int(ST_FORMAT_CONTIGUOUS)};
  st_value ret;
  if (st_tensor_is_contiguous(t, ST_FORMAT_CONTIGUOUS)) {
    st_tensor_retain(t);
    *out = t;
    return ST_OK;
  }
  TRY(st_call_op(op_clone, 2, args, &ret));
  *out = ret.u.tensor;
  return ST_OK;
}

st_status stmpi_new(const st_tensor *t, int ndim, const int64_t *sizes,
                    st_tensor **out) {
  return st_tensor_empty(st_tensor_device(t), st_tensor_dtype(t), ndim, sizes,
                         NULL, out);
}

st_status stmpi_check_written(const st_tensor *t) {
  bool overlaps = false;
  if (st_tensor_is_contiguous(t, ST_FORMAT_CONTIGUOUS)) return ST_OK;
  TRY(st_tensor_overlaps_itself(t, &overlaps));
  if (!overlaps) return ST_OK;
  return st_fail(ST_OVERLAP, "self is written, but elements of it share "
                 "memory: clone it first");
}

st_status stmpi_copy(st_tensor *to, st_tensor *from) {
  const st_value args[] = {of_tensor(to), of_tensor(from)};
  return call_in_place(op_copy, 2, args);
}

st_status stmpi_divide(st_tensor *t, int64_t by) {
  const st_value args[] = {of_tensor(t), of_int(by)};
  return call_in_place(op_divide, 2, args);
}

st_status stmpi_zero(st_tensor *t) {
  const st_value self = of_tensor(t);
  return call_in_place(op_zero, 1, &self);
}

st_status stmpi_combine(stmpi_reduction r, st_tensor *a, st_tensor *b,
                        st_tensor *to) {
  st_value args[] = {of_tensor(a), of_tensor(b), of_int(1), of_tensor(to)};
  if (r == STMPI_SUM || r == STMPI_AVG) {
    return call_in_place(combiners[r], 4, args); /* alpha */
  }
  args[2] = of_tensor(to);
  return call_in_place(combiners[r], 3, args);
}

bool stmpi_is_meta(const st_tensor *t) {
  return st_tensor_device(t) == ST_DEVICE_META;
}

char *stmpi_describe(const st_tensor *t, int skip, char *buf, size_t size) {
  const int ndim = st_tensor_ndim(t);
  int n = snprintf(buf, size, "%s [", st_dtype_name(st_tensor_dtype(t)));
  for (int i = 0; i < ndim && (size_t)n + 24 < size; i++) {
    if (i) n += snprintf(buf + n, size - (size_t)n, ", ");
    if (i < skip) n += snprintf(buf + n, size - (size_t)n, "*");
    else n += snprintf(buf + n, size - (size_t)n, "%lld",
                       (long long)st_tensor_sizes(t)[i]);
  }
  snprintf(buf + n, size - (size_t)n, "]");
  return buf;
}
