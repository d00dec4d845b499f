/* Measures the cost of a call from C: the dispatcher alone, and operators on
 * one element, through the public header only.
 *
 *     overhead [PART OF A CASE'S NAME]
 *
 * overhead.cpp has the same cases for PyTorch; ../overhead.lua compares.
 */
#include <strided.h>

#include "sample.h"

static void check(st_status status) {
  if (__builtin_expect(status == ST_OK, 1)) return;
  fprintf(stderr, "overhead: %s\n", st_message());
  exit(1);
}

/* -- Empty operators ------------------------------------------------------ */

ST_SIGNATURE(visit, (TENSOR), (NONE))

static st_keyset below; /* the keys below ADInplaceOrView */
static st_typed unboxed_hop;

static st_status nop_boxed(const st_call *call, const st_value *args,
                           st_value *rets) {
  (void)call; (void)args; (void)rets;
  return ST_OK;
}

static st_status nop_unboxed(const st_call *call, st_tensor *x) {
  (void)call; (void)x;
  return ST_OK;
}

/* One key above the nop: passes the call on. */
static st_status hop_boxed(const st_call *call, const st_value *args,
                           st_value *rets) {
  return st_redispatch(call->op, call->keys & below, args, rets);
}

static st_status hop_unboxed(const st_call *call, st_tensor *x) {
  return visit_redispatch(&unboxed_hop, call->keys & below, x);
}

static const st_kernel BOXED = {.fn = nop_boxed, .debug = "overhead.c"};
static const st_kernel BOXED_HOP = {.fn = hop_boxed, .debug = "overhead.c"};
static const st_kernel UNBOXED =
  ST_KERNEL(visit, nop_unboxed, .debug = "overhead.c");
static const st_kernel UNBOXED_HOP =
  ST_KERNEL(visit, hop_unboxed, .debug = "overhead.c");

/* hop: NULL, or a kernel for ADInplaceOrView, which every call visits. */
static void define(const char *schema, const char *name,
                   const st_kernel *cpu, const st_kernel *hop) {
  check(st_define("bench", schema, NULL, "overhead.c", NULL));
  check(st_implement(name, "CPU", cpu, NULL));
  if (hop) check(st_implement(name, "ADInplaceOrView", hop, NULL));
}

static void define_all(void) {
  check(st_keyset_after("ADInplaceOrView", &below));
  define("boxed(Tensor x) -> ()", "bench::boxed", &BOXED, NULL);
  define("unboxed(Tensor x) -> ()", "bench::unboxed", &UNBOXED, NULL);
  define("boxed_hop(Tensor x) -> ()", "bench::boxed_hop", &BOXED,
         &BOXED_HOP);
  define("unboxed_hop(Tensor x) -> ()", "bench::unboxed_hop", &UNBOXED,
         &UNBOXED_HOP);
  check(visit_find("bench::unboxed_hop", "", &unboxed_hop));
}

/* -- Boxed calls ---------------------------------------------------------- */

typedef struct boxed_case {
  const char *name, *op, *overload;
  int nargs;
  st_value args[4];
} boxed_case;

typedef struct boxed_call {
  const st_op *op;
  const boxed_case *row;
} boxed_call;

static void run_boxed(const void *ctx, int64_t n) {
  const boxed_call *c = ctx;
  while (n-- > 0) {
    st_value ret = {ST_TAG_NONE, 0, {0}};
    check(st_call_op(c->op, c->row->nargs, c->row->args, &ret));
    st_value_clear(&ret);
  }
}

static void measure_boxed(const char *only, st_tensor *x, st_tensor *y,
                          st_tensor *out) {
  static const int64_t one[] = {1}, ones[] = {1, 1};
#define T(t) {ST_TAG_TENSOR, 0, {.tensor = t}}
  const boxed_case rows[] = {
    {"boxed call, boxed kernel", "bench::boxed", "", 1, {T(x)}},
    {"boxed call, unboxed kernel", "bench::unboxed", "", 1, {T(x)}},
    {"boxed call and hop", "bench::boxed_hop", "", 1, {T(x)}},
    {"empty(1)", "aten::empty", "memory_format", 1,
     {{ST_TAG_INTS, 1, {.ints = one}}}},
    {"add(a, b), boxed", "aten::add", "Tensor", 2, {T(x), T(y)}},
    {"add_(a, b)", "aten::add_", "Tensor", 2, {T(x), T(y)}},
    {"add_out(out, a, b)", "aten::add", "out", 4,
     {T(x), T(y), {ST_TAG_INT, 0, {.i = 1}}, T(out)}},
    {"alias(a)", "aten::alias", "", 1, {T(x)}},
    {"view(a, {1, 1})", "aten::view", "", 2,
     {T(x), {ST_TAG_INTS, 2, {.ints = ones}}}},
  };
#undef T
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const boxed_call c = {st_op_find(rows[i].op, rows[i].overload), &rows[i]};
    sample(only, rows[i].name, run_boxed, &c);
  }
}

/* -- Unboxed calls -------------------------------------------------------- */

ST_SIGNATURE(add, (TENSOR, TENSOR, SCALAR), (TENSOR))

typedef struct unboxed_call {
  st_typed h;
  st_tensor *x, *y;
} unboxed_call;

static void run_visit(const void *ctx, int64_t n) {
  const unboxed_call *c = ctx;
  while (n-- > 0) check(visit_call(&c->h, c->x));
}

static void run_add(const void *ctx, int64_t n) {
  const unboxed_call *c = ctx;
  const st_scalar alpha = {ST_SCALAR_INT, {.i = 1}};
  while (n-- > 0) {
    st_tensor *sum;
    check(add_call(&c->h, c->x, c->y, alpha, &sum));
    st_tensor_release(&sum);
  }
}

static void measure_unboxed(const char *only, st_tensor *x, st_tensor *y) {
  unboxed_call c = {.x = x, .y = y};
  check(visit_find("bench::unboxed", "", &c.h));
  sample(only, "unboxed call, unboxed kernel", run_visit, &c);
  check(visit_find("bench::boxed", "", &c.h));
  sample(only, "unboxed call, boxed kernel", run_visit, &c);
  check(visit_find("bench::unboxed_hop", "", &c.h));
  sample(only, "unboxed call and hop", run_visit, &c);
  check(add_find("aten::add", "Tensor", &c.h));
  sample(only, "add(a, b)", run_add, &c);
}

/* -- The program ---------------------------------------------------------- */

int main(int argc, char **argv) {
  const char *only = argc > 1 ? argv[1] : NULL;
  const st_scalar zero = {ST_SCALAR_FLOAT, {.f = 0}};
  const int64_t size = 1, first = 0;
  st_tensor *t[3];
  check(st_init());
  check(st_set_num_threads(1));
  for (int i = 0; i < 3; i++) {
    check(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 1, &size, NULL, &t[i]));
    check(st_tensor_set(t[i], 1, &first, zero));
  }
  define_all();
  printf("{\"about\": \"strided %s, %s kernels\"}\n", st_version(), st_isa());
  measure_boxed(only, t[0], t[1], t[2]);
  measure_unboxed(only, t[0], t[1]);
  for (int i = 0; i < 3; i++) st_tensor_release(&t[i]);
  return 0;
}
