/* Limits of calls, for hosts in C: memory, threads and time; the default
 * generator of a thread.
 */

#include <math.h>

#include "check.h"

enum { LIMIT = 1 << 20 };

static st_status make(int64_t n, st_tensor **out) {
  return st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT64, 1, &n, NULL, out);
}

static st_status add(st_tensor *a, st_tensor **out) {
  const st_op *op = st_op_find("aten::add", "Tensor");
  const st_value one = {.tag = ST_TAG_INT, .u.i = 1};
  const st_value args[] = {{.tag = ST_TAG_TENSOR, .u.tensor = a},
                           {.tag = ST_TAG_TENSOR, .u.tensor = a}, one};
  st_value sum;
  const st_status status = st_call_op(op, 3, args, &sum);
  if (status == ST_OK) *out = sum.u.tensor;
  return status;
}

static void memory(void) {
  st_limits *l;
  st_tensor *a, *b, *outside;
  CHECK(st_limits_new(LIMIT, 0, &l) == ST_OK);
  CHECK(make(LIMIT, &outside) == ST_OK);
  CHECK(st_limits_enter(l) == NULL);
  CHECK(make(LIMIT / 16, &a) == ST_OK);
  CHECK(st_limits_used(l) >= LIMIT / 2);
  CHECK(st_limits_used(l) < LIMIT / 2 + 4096);
  CHECK(make(LIMIT / 16, &b) == ST_NO_MEMORY);
  CHECK(strstr(st_message(), "the limit here is 1048576"));
  CHECK(add(a, &b) == ST_NO_MEMORY);
  CHECK(st_limits_enter(NULL) == l);
  CHECK(make(LIMIT / 16, &b) == ST_OK); /* outside again */
  CHECK(st_limits_used(l) < LIMIT / 2 + 4096);
  st_tensor_release(&a); /* where does not matter */
  CHECK(st_limits_used(l) == 0);
  st_limits_enter(l);
  CHECK(make(8, &a) == ST_OK);
  st_limits_enter(NULL);
  st_limits_release(&l);
  CHECK(!l);
  st_tensor_release(&a); /* it outlives the caller's reference */
  st_tensor_release(&b);
  st_tensor_release(&outside);
  puts("memory");
}

static void threads(void) {
  st_limits *l;
  const int before = st_num_threads();
  CHECK(st_set_num_threads(2) == ST_OK);
  CHECK(st_limits_new(INT64_MAX, 1, &l) == ST_OK);
  st_limits_enter(l);
  CHECK(st_num_threads() == 1);
  CHECK(st_set_num_threads(2) == ST_OK); /* the host's means */
  CHECK(st_num_threads() == 1);
  st_limits_enter(NULL);
  st_limits_release(&l);
  CHECK(st_num_threads() == 2);
  st_limit_own_threads(1);
  CHECK(st_num_threads() == 1);
  st_limit_own_threads(0);
  CHECK(st_num_threads() == 2);
  CHECK(st_set_num_threads(before) == ST_OK);
  puts("threads");
}

static uint64_t seed(void) {
  return st_generator_initial_seed(st_default_generator());
}

static void generator(void) {
  st_generator *g, *of_process = st_default_generator();
  CHECK(st_generator_new(7, &g) == ST_OK);
  CHECK(st_generator_enter(g) == NULL);
  CHECK(st_default_generator() == g);
  CHECK(seed() == 7);
  CHECK(st_generator_enter(NULL) == g);
  CHECK(st_default_generator() == of_process);
  st_generator_release(&g);
  puts("generator");
}

static void seconds(void) {
  st_limits *l;
  st_tensor *a, *b;
  CHECK(make(1, &a) == ST_OK);
  CHECK(st_limits_new(INT64_MAX, 0, &l) == ST_OK);
  st_limits_enter(l);
  CHECK(st_limits_check() == ST_OK);
  CHECK(add(a, &b) == ST_OK);
  st_tensor_release(&b);
  st_limits_set_time(l, 0.001);
  while (st_limits_check() == ST_OK) {}
  CHECK(st_limits_check() == ST_BAD_STATE);
  CHECK(!strcmp(st_message(), "the time limit of 0.001 s is over"));
  CHECK(add(a, &b) == ST_BAD_STATE);
  st_limits_enter(NULL);
  CHECK(add(a, &b) == ST_OK);
  st_tensor_release(&b);
  st_limits_enter(l);
  st_limits_set_time(l, INFINITY);
  CHECK(add(a, &b) == ST_OK);
  st_tensor_release(&b);
  st_limits_enter(NULL);
  st_limits_release(&l);
  st_tensor_release(&a);
  puts("seconds");
}

static void refusals(void) {
  st_limits *l = NULL;
  CHECK(st_limits_new(-1, 0, &l) == ST_BAD_VALUE);
  CHECK(!strcmp(st_message(), "the limit must not be negative, got -1 bytes"));
  CHECK(st_limits_new(0, -1, &l) == ST_BAD_VALUE);
  CHECK(!strcmp(st_message(), "the number of threads must not be negative, "
                              "got -1"));
  CHECK(!l);
  puts("refusals");
}

int main(void) {
  CHECK(st_init() == ST_OK);
  memory();
  threads();
  generator();
  seconds();
  refusals();
  nothing_left();
  return 0;
}
