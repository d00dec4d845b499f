/* What st_library_structured and st_device_register refuse, what a bad meta
 * comes to, and that nothing is left of either. How the variants work is for
 * the example rock to show.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strided.h"

#define CHECK(cond) do {                                                     \
    if (!(cond)) {                                                           \
      fprintf(stderr, "line %d: not so: %s (%s)\n", __LINE__, #cond,         \
              st_message());                                                 \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

static st_value tensor_arg(st_tensor *t) {
  return (st_value){.tag = ST_TAG_TENSOR, .u.tensor = t};
}

static int64_t live(const char *name) {
  st_memory m;
  for (int k = 0; st_memory_stats(k, &m); k++) {
    if (strcmp(m.name, name) == 0) return m.count;
  }
  return -1;
}

static st_tensor *ones(int64_t n) {
  st_tensor *t;
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 1, &n, NULL, &t) == ST_OK);
  for (int64_t i = 0; i < n; i++) ((float *)st_tensor_data(t))[i] = 1;
  return t;
}

static st_library *open_library(void) {
  st_library *lib;
  CHECK(st_library_open("embed", ST_LIBRARY_DEF, NULL, 0, "structured.c",
                        &lib) == ST_OK);
  return lib;
}

/* -- An operator ---------------------------------------------------------- */

/* What its context says: how a run goes, and whether it was given back. */
typedef struct plan { int sets, times, freed; } plan;

static st_status meta(st_run *r) {
  const plan *p = st_run_ctx(r);
  const st_tensor *self = st_run_tensor(r, 0);
  st_status status = ST_OK;
  for (int i = 0; i < p->times && status == ST_OK; i++) {
    CHECK(i > 0 || !st_maybe_get_output(r, 0));
    status = st_set_output_raw_strided(r, p->sets, st_tensor_ndim(self),
                                       st_tensor_sizes(self), NULL,
                                       st_tensor_dtype(self));
  }
  return status;
}

static st_status impl(st_run *r) {
  const st_tensor *self = st_run_tensor(r, 0);
  const float *from = st_tensor_data(self);
  float *to = st_tensor_data(st_maybe_get_output(r, 0));
  CHECK(st_run_noutputs(r) == 1 && st_run_device(r) == ST_DEVICE_CPU);
  CHECK(!st_maybe_get_output(r, 1) && !st_maybe_get_output(r, -1));
  for (int64_t i = 0; i < st_tensor_numel(self); i++) to[i] = 2 * from[i];
  return ST_OK;
}

static void give_back(void *ctx) { ((plan *)ctx)->freed++; }

static st_structured twice(plan *p) {
  return (st_structured){
    .schema = "twice(Tensor self) -> Tensor", .inplace = true, .out = "out",
    .meta = meta, .impl = impl, .ctx = p, .free_ctx = give_back,
    .doc = "self + self", .debug = "structured.c", .tags = ST_OPTAG_POINTWISE};
}

/* -- Topics --------------------------------------------------------------- */

static void variants(void) {
  plan p = {0, 1, 0};
  st_library *lib = open_library();
  const st_structured s = twice(&p);
  st_tensor *t = ones(3);
  const st_value args[] = {tensor_arg(t), tensor_arg(t)};
  st_value ret;
  CHECK(st_library_structured(lib, &s) == ST_OK);
  const st_op *op = st_op_find("embed::twice", "out");
  CHECK(strcmp(st_op_schema(op), "embed::twice.out(Tensor self, *, "
               "Tensor(a!) out) -> Tensor(a!)") == 0);
  CHECK(strcmp(st_op_schema(st_op_find("embed::twice_", "")),
               "embed::twice_(Tensor(a!) self) -> Tensor(a!)") == 0);
  CHECK(strcmp(st_op_doc(op), "self + self") == 0);
  CHECK(st_op_tags(op) == ST_OPTAG_POINTWISE);
  CHECK(st_call_op(op, 2, args, &ret) == ST_OK && ret.u.tensor == t);
  CHECK(((float *)st_tensor_data(t))[2] == 2);
  st_value_clear(&ret);
  CHECK(p.freed == 0);
  st_library_close(&lib);
  CHECK(p.freed == 1 && !st_op_find("embed::twice", ""));
  st_tensor_release(&t);
  puts("variants");
}

/* Schemas without a variant that is asked for. */
static void bad_schemas(void) {
  static const struct { const char *schema; bool inplace; const char *out; }
  rows[] = {
    {"f(Tensor self -> Tensor", false, NULL},
    {"f(Tensor self) -> int", false, NULL},
    {"f(Tensor self) -> ()", false, NULL},
    {"f(Tensor self) -> Tensor[]", false, NULL},
    {"f(Tensor(a) self) -> Tensor(a)", false, NULL},
    {"f(Tensor(a!) self) -> Tensor(a!)", false, NULL},
    {"f(Tensor self) -> (Tensor, Tensor, Tensor, Tensor, Tensor)", false,
     NULL},
    {"f(Tensor self, ...) -> Tensor", false, NULL},
    {"f(int n, Tensor self) -> Tensor", true, NULL},
    {"f(*, Tensor self) -> Tensor", true, NULL},
    {"f(Tensor? self) -> Tensor", true, NULL},
    {"f(Tensor[] self) -> Tensor", true, NULL},
    {"f() -> Tensor", true, NULL},
    {"f(Tensor self) -> (Tensor a, Tensor b)", true, NULL},
    {"f(Tensor self) -> (Tensor, Tensor)", false, "out"},
    {"f(Tensor self, Tensor out) -> Tensor", false, "out"},
    {"f(Tensor a) -> (Tensor a, Tensor b)", false, "out"},
    {"f(Tensor self) -> Tensor", false, ""},
    {"f(Tensor self) -> Tensor", false, "o u t"},
    {"f(Tensor self) -> Tensor", false, ") -> Tensor"},
  };
  plan p = {0, 1, 0};
  st_library *lib = open_library();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    st_structured s = twice(&p);
    s.schema = rows[i].schema;
    s.inplace = rows[i].inplace;
    s.out = rows[i].out;
    if (st_library_structured(lib, &s) != ST_BAD_SCHEMA) {
      fprintf(stderr, "row %zu: %s\n", i, st_message());
      exit(1);
    }
    CHECK(!st_op_find("embed::f", "") && p.freed == 0);
  }
  st_library_close(&lib);
  puts("bad schemas");
}

static void refusals(void) {
  plan p = {0, 1, 0};
  st_library *lib = open_library(), *part;
  st_structured s = twice(&p);
  s.backends[0] = "CUDA";
  CHECK(st_library_structured(lib, &s) == ST_BAD_VALUE);
  s = twice(&p);
  s.impl = NULL;
  CHECK(st_library_structured(lib, &s) == ST_BAD_VALUE);
  s = twice(&p);
  CHECK(st_library_define(lib, "twice_(Tensor(a!) self) -> Tensor(a!)", NULL,
                          0, NULL) == ST_OK);
  CHECK(st_library_structured(lib, &s) == ST_BAD_STATE);
  CHECK(!st_op_find("embed::twice", "") && st_op_find("embed::twice_", ""));
  CHECK(st_library_open("embed", ST_LIBRARY_IMPL, NULL, 0, "structured.c",
                        &part) == ST_OK);
  s.inplace = false;
  CHECK(st_library_structured(part, &s) == ST_BAD_STATE);
  CHECK(!st_op_find("embed::twice", "") && p.freed == 0);
  st_library_close(&part);
  st_library_close(&lib);
  puts("refusals");
}

static void bad_metas(void) {
  static const plan plans[] = {{0, 0, 0}, {0, 2, 0}, {1, 1, 0}, {-1, 1, 0}};
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
    plan p = plans[i];
    st_library *lib = open_library();
    const st_structured s = twice(&p);
    st_tensor *t = ones(3), *out = ones(2);
    const st_value args[] = {tensor_arg(t), tensor_arg(out)};
    st_value ret;
    CHECK(st_library_structured(lib, &s) == ST_OK);
    CHECK(st_call_op(st_op_find("embed::twice", ""), 1, args, &ret) ==
          ST_BAD_STATE);
    CHECK(strstr(st_message(), "its meta"));
    CHECK(st_call_op(st_op_find("embed::twice", "out"), 2, args, &ret) ==
          ST_BAD_STATE);
    CHECK(st_tensor_numel(out) == 2);
    st_library_close(&lib);
    st_tensor_release(&out);
    st_tensor_release(&t);
  }
  puts("bad metas");
}

static void out_of_memory(void) {
  plan p = {0, 1, 0};
  st_library *lib = open_library();
  const st_structured s = twice(&p);
  for (int64_t k = 1;; k++) {
    const int64_t scratch = live("scratch");
    st_memory_fail_at(k);
    const st_status status = st_library_structured(lib, &s);
    const int64_t left = st_memory_fail_at(0);
    CHECK(live("scratch") == scratch);
    if (status == ST_OK) {
      CHECK(left > 0 && k > 10);
      break;
    }
    CHECK(status == ST_NO_MEMORY && p.freed == 0);
    CHECK(!st_op_find("embed::twice", "") && !st_op_find("embed::twice_", ""));
  }
  st_library_close(&lib);
  CHECK(p.freed == 1);
  puts("out of memory");
}

/* -- Devices -------------------------------------------------------------- */

static void *allocate(void *ctx, size_t n) {
  ++*(int *)ctx;
  return malloc(n ? n : 1);
}

static void release(void *ctx, void *data, size_t n) {
  (void)n;
  --*(int *)ctx;
  free(data);
}

static void devices(void) {
  static int blocks;
  const int64_t n = 3, more = 5;
  const st_allocator a = {allocate, release, NULL, &blocks};
  const st_allocator none = {NULL, release, NULL, NULL};
  st_device d;
  st_tensor *t;
  st_value ret;
  CHECK(st_tensor_empty(ST_DEVICE_PRIVATEUSE2, ST_FLOAT32, 1, &n, NULL, &t) ==
        ST_BAD_STATE);
  CHECK(strstr(st_message(), "'privateuse2'"));
  CHECK(st_device_register(ST_DEVICE_CPU, "chip", &a) == ST_BAD_VALUE);
  CHECK(st_device_register((st_device)77, "chip", &a) == ST_BAD_VALUE);
  CHECK(st_device_register(ST_DEVICE_PRIVATEUSE2, "Chip", &a) ==
        ST_BAD_VALUE);
  CHECK(st_device_register(ST_DEVICE_PRIVATEUSE2, "", &a) == ST_BAD_VALUE);
  CHECK(st_device_register(ST_DEVICE_PRIVATEUSE2, "meta", &a) ==
        ST_BAD_STATE);
  CHECK(st_device_register(ST_DEVICE_PRIVATEUSE2, "chip", &none) ==
        ST_BAD_VALUE);
  CHECK(st_device_register(ST_DEVICE_PRIVATEUSE2, "chip", &a) == ST_OK);
  CHECK(st_device_register(ST_DEVICE_PRIVATEUSE2, "chop", &a) ==
        ST_BAD_STATE);
  CHECK(st_device_register(ST_DEVICE_PRIVATEUSE3, "chip", &a) ==
        ST_BAD_STATE);
  CHECK(st_device_parse("chip", &d) && d == ST_DEVICE_PRIVATEUSE2);
  CHECK(st_device_parse("privateuse2", &d) && d == ST_DEVICE_PRIVATEUSE2);
  CHECK(strcmp(st_device_name(d), "chip") == 0);
  CHECK(st_tensor_empty(d, ST_FLOAT32, 1, &n, NULL, &t) == ST_OK);
  CHECK(blocks == 1);
  const st_value resize[] = {tensor_arg(t),
                             {.tag = ST_TAG_INTS, .len = 1, .u.ints = &more}};
  CHECK(st_call_op(st_op_find("aten::resize_", ""), 2, resize, &ret) ==
        ST_BAD_STATE);
  CHECK(strstr(st_message(), "'chip'") && st_tensor_numel(t) == 3);
  st_tensor_release(&t);
  CHECK(blocks == 0);
  puts("devices");
}

/* An out= tensor of another shape is on purpose here. */
static void ignore(void *ctx, const char *text) { (void)ctx; (void)text; }

int main(void) {
  CHECK(st_init() == ST_OK);
  st_set_warning_handler(ignore, NULL);
  const int64_t tensors = live("tensors"), values = live("values");
  variants();
  bad_schemas();
  refusals();
  bad_metas();
  out_of_memory();
  devices();
  CHECK(live("tensors") == tensors && live("values") == values);
  puts("nothing left");
  return 0;
}
