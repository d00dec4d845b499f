/* What gdb_spec.lua prints in the debugger: a local variable of each type that
 * core/gdb/strided.py knows. The internal headers are for their types: the
 * library itself has no debug information.
 */
#include "strided.h"

#include "base/dispatch_key_priority.h"
#include "iter/iter.h"

#define CHECK(e) do { if ((e) != ST_OK) return 1; } while (0)

/* gdb stops here. */
__attribute__((noinline)) static void stop(void) { __asm__ volatile(""); }

/* 0, 1, 2, ... in a dtype. */
static st_tensor *count(st_dtype dtype, int ndim, const int64_t *sizes) {
  st_tensor *t = NULL;
  if (st_tensor_empty(ST_DEVICE_CPU, dtype, ndim, sizes, NULL, &t)) return NULL;
  int64_t index[2] = {0, 0};
  for (int64_t i = 0; i < sizes[0]; i++) {
    for (int64_t j = 0; j < (ndim > 1 ? sizes[1] : 1); j++) {
      index[0] = i, index[1] = j;
      const double x = (double)(ndim > 1 ? i * sizes[1] + j : i);
      st_scalar s = {ST_SCALAR_FLOAT, {.f = x + (dtype == ST_FLOAT32) / 2.0}};
      if (dtype == ST_COMPLEX64) {
        s = (st_scalar){ST_SCALAR_COMPLEX, {.c = {x, -1}}};
      } else if (dtype == ST_BOOL) {
        s = (st_scalar){ST_SCALAR_BOOL, {.i = i == 1}};
      } else if (dtype == ST_INT16) {
        s = (st_scalar){ST_SCALAR_INT, {.i = -(int64_t)x}};
      }
      if (st_tensor_set(t, ndim, index, s)) return NULL;
    }
  }
  return t;
}

int main(void) {
  if (st_init()) return 1;
  const int64_t matrix_sizes[] = {2, 3}, nine = 9, two = 2;
  st_tensor *matrix = count(ST_FLOAT32, 2, matrix_sizes);
  st_tensor *line = count(ST_INT16, 1, &nine);
  st_tensor *half = count(ST_FLOAT16, 1, &two);
  st_tensor *brain = count(ST_BFLOAT16, 1, &two);
  st_tensor *pairs = count(ST_COMPLEX64, 1, &two);
  st_tensor *truths = count(ST_BOOL, 1, &two);
  st_tensor *one = NULL, *shape_only = NULL, *part = NULL;
  if (!matrix || !line || !half || !brain || !pairs || !truths) return 1;
  const st_scalar pi = {ST_SCALAR_FLOAT, {.f = 3.5}};
  const st_scalar whole = {ST_SCALAR_INT, {.i = -7}};
  CHECK(st_tensor_scalar(pi, ST_FLOAT64, false, &one));
  CHECK(st_tensor_empty(ST_DEVICE_META, ST_INT64, 2, matrix_sizes, NULL,
                        &shape_only));
  /* the second column */
  st_value given[3] = {{.tag = ST_TAG_TENSOR, .u.tensor = matrix},
                       {.tag = ST_TAG_INT, .u.i = 1},
                       {.tag = ST_TAG_INT, .u.i = 1}};
  st_value result = {.tag = ST_TAG_NONE};
  const st_op *select = st_op_find("aten::select", "int");
  if (!select) return 1;
  CHECK(st_call_op(select, 3, given, &result));
  part = result.u.tensor;
  const int64_t listed[] = {4, 5};
  const st_value ints = {.tag = ST_TAG_INTS, .len = 2, .u.ints = listed};
  const st_value name = {.tag = ST_TAG_STRING, .len = 3, .u.string = "abc"};
  const st_dtype dtype = ST_BFLOAT16;
  const st_keyset keys = ST_BIT(ST_BACKEND_CPU) | ST_BIT(ST_FUNC_Dense) |
                         ST_BIT(ST_FUNC_Conjugate) | ST_BIT(ST_FUNC_Autograd);

  st_plan *plan = NULL;
  st_tensor *operands[] = {NULL, part, part};
  const st_plan_config config = {
    .noutputs = 1, .noperands = 3, .operands = operands,
    .dtype = ST_DTYPE_NONE, .static_dtype = ST_DTYPE_NONE};
  CHECK(st_plan_new(&config, &plan));
  /* a plan begins with its iterator */
  const st_iter *it = (const st_iter *)(const void *)plan;
  stop();
  (void)it, (void)keys, (void)dtype, (void)whole, (void)ints, (void)name;
  return !line || !one || !shape_only;
}
