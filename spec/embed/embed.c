/* A C program that knows nothing but the installed header: it makes tensors,
 * calls operators, registers its own, and looks at how an addition would be
 * iterated. Prints one line per thing it found true; exits 1 at the first
 * that is not.
 */

#include <complex.h> /* strided.h gets along with its macro `complex` */
#include "check.h"

static st_value tensor_arg(st_tensor *t) {
  return (st_value){.tag = ST_TAG_TENSOR, .u.tensor = t};
}

static st_value int_arg(int64_t i) {
  return (st_value){.tag = ST_TAG_INT, .u.i = i};
}

static int64_t live(const char *name) {
  st_memory m;
  for (int k = 0; st_memory_stats(k, &m); k++) {
    if (strcmp(m.name, name) == 0) return m.count;
  }
  return -1;
}

static st_tensor *call1(const char *name, const char *overload, int n,
                        const st_value *args) {
  st_value ret;
  const st_op *op = st_op_find(name, overload);
  CHECK(op);
  CHECK(st_call_op(op, n, args, &ret) == ST_OK);
  CHECK(ret.tag == ST_TAG_TENSOR);
  return ret.u.tensor;
}

static void operators(void) {
  const st_value six = int_arg(6), two = int_arg(2);
  st_tensor *a = call1("aten::arange", "", 1, &six);
  const st_value args[] = {tensor_arg(a), two};
  st_tensor *b = call1("aten::mul", "Scalar", 2, args);
  st_scalar s;
  const int64_t at = 5;
  char *text;
  CHECK(st_tensor_get(b, 1, &at, &s) == ST_OK && s.u.i == 10);
  CHECK(st_tensor_text(b, NULL, &text) == ST_OK);
  CHECK(strcmp(text, "tensor([ 0,  2,  4,  6,  8, 10])") == 0);
  st_text_release(&text);
  st_tensor_release(&a);
  st_tensor_release(&b);
  puts("operators");
}

static void failures(void) {
  const int64_t three = 3, four = 4;
  st_tensor *a, *b;
  st_value ret;
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 1, &three, NULL, &a) ==
        ST_OK);
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 1, &four, NULL, &b) ==
        ST_OK);
  const st_value args[] = {tensor_arg(a), tensor_arg(b)};
  const st_op *add = st_op_find("aten::add", "Tensor");
  CHECK(st_call_op(add, 2, args, &ret) == ST_BAD_SHAPE);
  CHECK(strncmp(st_message(), "add: ", 5) == 0);
  CHECK(strstr(st_message(), "dimension 0"));
  const st_value garbage = {.tag = 77};
  CHECK(st_call_op(add, 1, &garbage, &ret) != ST_OK);
  CHECK(strcmp(st_status_name(ST_BAD_SHAPE), "bad_shape") == 0);
  CHECK(!st_op_find("aten::add", "nonsense"));
  st_tensor_release(&a);
  st_tensor_release(&b);
  puts("failures");
}

static void give_back(void *ctx, void *data, size_t nbytes) {
  CHECK(nbytes == 4 * sizeof(float));
  free(data);
  ++*(int *)ctx;
}

static void foreign_memory(void) {
  const int64_t sizes[] = {2, 2}, strides[] = {1, 2}, at[] = {0, 1};
  float *data = malloc(4 * sizeof *data);
  int given_back = 0;
  st_tensor *t, *last;
  st_scalar s;
  CHECK(data);
  for (int i = 0; i < 4; i++) data[i] = (float)i;
  CHECK(st_tensor_wrap(data, 4 * sizeof *data, ST_FLOAT32, 2, sizes, strides,
                       1, give_back, &given_back, &t) == ST_BAD_INDEX);
  CHECK(given_back == 0);
  CHECK(st_tensor_wrap(data, 4 * sizeof *data, ST_FLOAT32, 2, sizes, strides,
                       0, give_back, &given_back, &t) == ST_OK);
  CHECK(st_tensor_get(t, 2, at, &s) == ST_OK && s.u.f == 2);
  CHECK(st_tensor_data(t) == data && st_tensor_refcount(t) == 1);
  CHECK(st_tensor_wrap(data + 3, sizeof *data, ST_FLOAT32, 0, NULL, NULL, 0,
                       NULL, NULL, &last) == ST_OK);
  CHECK(st_tensor_storage(t) != st_tensor_storage(last));
  CHECK(st_may_share_memory(t, last) && st_may_share_memory(last, t));
  st_tensor_release(&last);
  st_tensor_release(&t);
  CHECK(!t && given_back == 1);
  puts("foreign memory");
}

/* twice(Tensor a) -> Tensor, made of aten::add */
static st_status twice(const st_call *call, const st_value *args,
                       st_value *rets) {
  const st_value both[] = {args[0], args[0]};
  ++*(int *)call->ctx;
  return st_call_op(st_op_find("aten::add", "Tensor"), 2, both, rets);
}

static void registration(void) {
  const int64_t one = 1, zero = 0;
  const st_scalar three = {ST_SCALAR_FLOAT, {.f = 3}};
  int calls = 0;
  st_registration *def, *impl;
  st_tensor *t;
  st_value ret;
  st_scalar s;
  CHECK(st_define("embed", "twice(Tensor", NULL, "embed.c", &def) ==
        ST_BAD_SCHEMA);
  CHECK(st_define("embed", "twice(Tensor a) -> Tensor", "a + a", "embed.c",
                  &def) == ST_OK);
  const st_kernel kernel = {.fn = twice, .ctx = &calls, .debug = "embed.c"};
  CHECK(st_implement("embed::twice", NULL, &kernel, &impl) == ST_OK);
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT64, 1, &one, NULL, &t) ==
        ST_OK);
  CHECK(st_tensor_set(t, 1, &zero, three) == ST_OK);
  const st_value args = tensor_arg(t);
  st_tensor *sum = call1("embed::twice", "", 1, &args);
  CHECK(calls == 1);
  CHECK(st_tensor_get(sum, 1, &zero, &s) == ST_OK && s.u.f == 6);
  const st_op *op = st_op_find("embed::twice", "");
  st_keyset cpu;
  CHECK(st_key_parse("CPU", &cpu));
  CHECK(st_redispatch(op, cpu, &args, &ret) == ST_OK);
  CHECK(calls == 2);
  st_value_clear(&ret);
  st_registration_release(&impl);
  CHECK(st_call_op(op, 1, &args, &ret) == ST_NO_KERNEL);
  st_registration_release(&def);
  CHECK(!st_op_find("embed::twice", ""));
  st_tensor_release(&sum);
  st_tensor_release(&t);
  puts("registration");
}

static void plans(void) {
  const int64_t sizes[] = {2, 3};
  int64_t size[2], offsets[2];
  void *data[2];
  st_tensor *operands[2] = {NULL, NULL};
  st_plan *p;
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 2, sizes, NULL,
                        &operands[1]) == ST_OK);
  const st_plan_config config = {
    .flags = ST_PLAN_RESIZE_OUTPUTS, .noutputs = 1, .noperands = 2,
    .operands = operands, .dtype = ST_DTYPE_NONE,
    .static_dtype = ST_DTYPE_NONE};
  CHECK(st_plan_new(&config, &p) == ST_OK);
  const st_plan_facts facts = st_plan_facts_of(p);
  CHECK(facts.ndim == 1 && facts.shape[0] == 6 && facts.is_final);
  CHECK(strcmp(facts.fast, "contiguous") == 0);
  CHECK(strcmp(facts.inner, "vector") == 0);
  CHECK(st_plan_step(p, 2, 6, 0, size, offsets));
  CHECK(size[0] == 4 && size[1] == 1 && offsets[0] == 8 && offsets[1] == 8);
  CHECK(!st_plan_step(p, 2, 6, 1, size, offsets));
  CHECK(st_plan_data(p, size, offsets, data) == ST_OK);
  CHECK((char *)data[1] == (char *)st_tensor_data(operands[1]) + 8);
  st_plan_release(&p);
  st_tensor_release(&operands[1]);
  puts("plans");
}

static void keys(void) {
  st_keyset ks, after;
  char text[256];
  CHECK(st_key_parse("AutogradCPU", &ks));
  CHECK(!st_key_parse("AutogradToaster", &after));
  /* A backend's bit, and one for what it does (K1). */
  CHECK(st_key_parse("CPU", &after) && after == (1 | (st_keyset)1 << 14));
  CHECK(st_key_parse("Meta", &after) &&
        after == ((st_keyset)1 << 10 | (st_keyset)1 << 14));
  CHECK(strcmp(st_keyset_highest(ks), "AutogradCPU") == 0);
  CHECK(strcmp(st_keyset_text(ks, text, sizeof text),
               "DispatchKeySet(AutogradCPU)") == 0);
  CHECK(st_keyset_after("AutogradCPU", &after) == ST_OK && !(after & ks &
        ~(((st_keyset)1 << 14) - 1)));
  CHECK(st_keyset_after("AutogradToaster", &after) == ST_BAD_VALUE);
  puts("keys");
}

int main(void) {
  CHECK(st_init() == ST_OK && st_init() == ST_OK);
  const int64_t tensors = live("tensors"), values = live("values");
  operators();
  failures();
  foreign_memory();
  registration();
  plans();
  keys();
  CHECK(live("tensors") == tensors && live("values") == values);
  puts("nothing left");
  return 0;
}
