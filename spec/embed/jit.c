/* Operators of expressions where pages may be made executable, and where they
 * may not: the same results, and no page that stays.
 */
#define _GNU_SOURCE

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

/* -- A system that says no ------------------------------------------------ */

static bool refuses;
static int asked;

/* In front of the C library's. */
int mprotect(void *at, size_t n, int prot) {
  if (prot & PROT_EXEC) asked++;
  if (refuses && prot & PROT_EXEC) return -1;
  return (int)syscall(SYS_mprotect, at, n, prot);
}

/* Executable pages that are of no file. */
static int count_pages(void) {
  char line[512], flags[8];
  int n = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  CHECK(maps);
  while (fgets(line, sizeof line, maps)) {
    unsigned long inode;
    if (sscanf(line, "%*s %7s %*s %*s %lu", flags, &inode) == 2 &&
        flags[2] == 'x' && inode == 0 && !strchr(line, '[')) {
      n++;
    }
  }
  fclose(maps);
  return n;
}

/* -- An operator ---------------------------------------------------------- */

enum { N = 1003 };

static st_tensor *call2(const char *name, st_tensor *a, st_tensor *b) {
  const st_op *op = st_op_find(name, "Tensor");
  const st_value args[] = {arg(a), arg(b)};
  st_value out;
  CHECK(op);
  CHECK(st_call_op(op, 2, args, &out) == ST_OK);
  return out.u.tensor;
}

/* (a * b - a) / b */
static st_tensor *body(st_tensor *a, st_tensor *b) {
  st_tensor *product = call2("aten::mul", a, b);
  st_tensor *difference = call2("aten::sub", product, a);
  st_tensor *result = call2("aten::div", difference, b);
  st_tensor_release(&product);
  st_tensor_release(&difference);
  return result;
}

static void say_where(void *ctx, char *text, size_t size) {
  (void)ctx;
  snprintf(text, size, "jit.c");
}

static void define(st_library *lib, const char *schema) {
  const st_tracing_config c = {"jit", 2, 0, say_where, NULL};
  st_tracing *t;
  st_graph *g;
  CHECK(st_tracing_begin(&c, &t) == ST_OK);
  st_tensor *out = body(st_tracing_input(t, 0), st_tracing_input(t, 1));
  CHECK(st_tracing_end(&t, 1, &out, &g) == ST_OK);
  st_tensor_release(&out);
  CHECK(st_library_elementwise(lib, schema, &g, NULL, "jit.c") == ST_OK);
}

static st_tensor *numbers(float first) {
  const int64_t n = N;
  st_tensor *t;
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 1, &n, NULL, &t) == ST_OK);
  float *x = st_tensor_data(t);
  for (int i = 0; i < N; i++) x[i] = first + (float)i / 3;
  return t;
}

static bool is_same(const char *name) {
  st_tensor *a = numbers(-7), *b = numbers(2);
  st_tensor *want = body(a, b);
  const st_value args[] = {arg(a), arg(b)};
  st_value got;
  CHECK(st_call_op(st_op_find(name, ""), 2, args, &got) == ST_OK);
  const bool same = memcmp(st_tensor_data(want),
                           st_tensor_data(got.u.tensor),
                           N * sizeof(float)) == 0;
  st_tensor_release(&a);
  st_tensor_release(&b);
  st_tensor_release(&want);
  st_value_clear(&got);
  return same;
}

static st_library *open_library(void) {
  st_library *lib;
  CHECK(st_library_open("jit", ST_LIBRARY_DEF, NULL, 0, "jit.c", &lib) ==
        ST_OK);
  return lib;
}

int main(void) {
  CHECK(st_init() == ST_OK);
  const int before = count_pages();
  st_set_jit_enabled(true);
  const bool has_jit = st_is_jit_enabled();
  st_library *lib = open_library();
  define(lib, "one(Tensor a, Tensor b) -> Tensor");
  CHECK(is_same("jit::one"));
  const int once = asked;
  CHECK((once > 0) == has_jit && count_pages() == before + has_jit);
  puts("executable pages");

  refuses = true;
  define(lib, "two(Tensor a, Tensor b) -> Tensor");
  CHECK(is_same("jit::two"));
  const int twice = asked;
  CHECK((twice > once) == has_jit && count_pages() == before + has_jit);
  CHECK(is_same("jit::one"));
  puts("none to be had");

  refuses = false;
  CHECK(st_set_jit_enabled(false) == has_jit && !st_is_jit_enabled());
  CHECK(is_same("jit::one") && is_same("jit::two"));
  CHECK(asked == twice);
  CHECK(!st_set_jit_enabled(true) && st_is_jit_enabled() == has_jit);
  puts("switched off");

  st_library_close(&lib);
  CHECK(count_pages() == before);
  puts("nothing left");
  return 0;
}
