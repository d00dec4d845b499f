/* A C program that uses the engine without Lua. docs/embedding.md shows it, and
 * a spec compiles and runs it:
 *
 *     cc embed.c -lstrided && ./a.out
 */
#include <stdio.h>
#include <stdlib.h>
#include <strided.h>

static void check(st_status status) {
  if (status == ST_OK) return;
  fprintf(stderr, "%s: %s\n", st_status_name(status), st_message());
  exit(1);
}

int main(void) {
  check(st_init());

  /* A tensor of two rows and three columns over memory of the engine. */
  const int64_t sizes[] = {2, 3};
  st_tensor *t;
  check(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 2, sizes, NULL, &t));
  float *p = st_tensor_data(t);
  for (int i = 0; i < 6; i++) p[i] = (float)i;

  /* sum(t, dim = 1): any operator is called by name and boxed arguments. */
  const int64_t dims[] = {1};
  const st_value args[] = {
    {.tag = ST_TAG_TENSOR, .u.tensor = t},
    {.tag = ST_TAG_INTS, .len = 1, .u.ints = dims},
    {.tag = ST_TAG_BOOL, .u.i = 0},
    {.tag = ST_TAG_NONE},
  };
  st_value sum;
  check(st_call_op(st_op_find("aten::sum", "dim_IntList"), 4, args, &sum));
  const float *s = st_tensor_data(sum.u.tensor);
  printf("%g %g\n", s[0], s[1]);

  st_value_clear(&sum);
  st_tensor_release(&t);
  return 0;
}
