/* What a C host alone uses: texts of statuses, type promotion, numbers from
 * scalars, and plans in parts whose offsets fit 32 bits.
 */
#include "check.h"

static void texts(void) {
  CHECK(strcmp(st_status_text(ST_OK), "no error") == 0);
  CHECK(strcmp(st_status_text(ST_NO_MEMORY), "out of memory") == 0);
  CHECK(strcmp(st_status_text((st_status)999), "unknown status") == 0);
  puts("texts");
}

static void promotion(void) {
  CHECK(st_promote_types(ST_INT32, ST_FLOAT16) == ST_FLOAT16);
  CHECK(st_promote_types(ST_UINT8, ST_INT8) == ST_INT16);
  CHECK(st_promote_types(ST_FLOAT16, ST_BFLOAT16) == ST_FLOAT32);
  CHECK(st_can_cast(ST_INT64, ST_FLOAT16));
  CHECK(!st_can_cast(ST_FLOAT32, ST_INT64));
  CHECK(!st_can_cast(ST_COMPLEX64, ST_FLOAT64));
  const int64_t two = 2;
  const st_scalar half = {ST_SCALAR_FLOAT, {.f = 0.5}};
  st_tensor *pair[2] = {NULL, NULL};
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_INT16, 1, &two, NULL, &pair[0]) ==
        ST_OK);
  /* a wrapped number decides the kind of the result, not its width */
  CHECK(st_tensor_scalar(half, ST_FLOAT64, true, &pair[1]) == ST_OK);
  CHECK(st_tensor_is_wrapped(pair[1]) && !st_tensor_is_wrapped(pair[0]));
  CHECK(st_result_type(pair, 1) == ST_INT16);
  CHECK(st_result_type(pair, 2) == ST_FLOAT32);
  st_tensor_release(&pair[0]);
  st_tensor_release(&pair[1]);
  puts("promotion");
}

static void refusals(void) {
  const int64_t two = 2, index[] = {0, 0};
  st_tensor *t = NULL;
  st_scalar s;
  CHECK(st_tensor_empty((st_device)77, ST_INT16, 1, &two, NULL, &t) ==
        ST_BAD_VALUE);
  CHECK(st_tensor_empty(ST_DEVICE_CPU, (st_dtype)77, 1, &two, NULL, &t) ==
        ST_BAD_DTYPE);
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_INT16, 1, &two, NULL, &t) == ST_OK);
  CHECK(st_tensor_get(t, 2, index, &s) == ST_BAD_INDEX);
  CHECK(st_tensor_get(t, 1, &two, &s) == ST_BAD_INDEX);
  st_tensor_release(&t);
  puts("refusals");
}

/* Counts the parts and their elements. */
typedef struct parts { int64_t n, numel; st_status status; } parts;

static st_status count(st_plan *part, void *ctx) {
  parts *p = ctx;
  const st_plan_facts f = st_plan_facts_of(part);
  p->n++;
  p->numel += f.numel;
  return p->status;
}

/* A plan of rows x 2^17 elements without memory. */
static void plan_parts(int64_t rows, parts *p, st_status expected) {
  const int64_t sizes[] = {rows, 1 << 17};
  st_tensor *t = NULL;
  st_plan *plan = NULL;
  CHECK(st_tensor_empty(ST_DEVICE_META, ST_FLOAT32, 2, sizes, NULL, &t) ==
        ST_OK);
  st_tensor *operands[] = {t, t};
  const st_plan_config config = {
    .noutputs = 1, .noperands = 2, .operands = operands,
    .dtype = ST_DTYPE_NONE, .static_dtype = ST_DTYPE_NONE};
  CHECK(st_plan_new(&config, &plan) == ST_OK);
  CHECK(st_plan_with_32bit(plan, count, p) == expected);
  st_plan_release(&plan);
  st_tensor_release(&t);
}

static void with_32bit(void) {
  parts small = {0, 0, ST_OK}, large = {0, 0, ST_OK}, stopped = {0, 0, ST_IO};
  plan_parts(1, &small, ST_OK);
  CHECK(small.n == 1 && small.numel == 1 << 17);
  /* 2^33 elements are 2^35 bytes: 2^31 - 1 bytes is the most of a part */
  plan_parts(1 << 16, &large, ST_OK);
  CHECK(large.n >= 16 && large.numel == (int64_t)1 << 33);
  /* the first part's failure is that of the call */
  plan_parts(1 << 16, &stopped, ST_IO);
  CHECK(stopped.n == 1);
  puts("parts of 32 bits");
}

int main(void) {
  CHECK(st_init() == ST_OK);
  texts();
  promotion();
  refusals();
  with_32bit();
  nothing_left();
  return 0;
}
