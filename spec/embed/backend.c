/* A backend whose blocks are numbers, not addresses, and whose errors come up
 * late: what st_backend_register and st_library_implement_structured refuse,
 * and what they make of the least that a device can do. A device that has an
 * allocator and three kernels. Run by embed_spec.lua.
 */

#include <stdint.h>
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

static const st_device KIND = ST_DEVICE_PRIVATEUSE3;
static const st_device SECOND = ST_DEVICE_AT(ST_DEVICE_PRIVATEUSE3, 1);

/* -- The device ----------------------------------------------------------- */

enum { SLOTS = 64 };

/* Block number k + 1 of a device is slot[k]. */
typedef struct machine {
  char *slot[SLOTS];
  bool has_failed;      /* work that runs on has; reported later */
  uint64_t seed;
} machine;

static machine machines[2];

static void *allocate(void *ctx, int device, size_t nbytes) {
  machine *m = (machine *)ctx + device;
  CHECK(nbytes > 0);
  for (int k = 0; k < SLOTS; k++) {
    if (m->slot[k]) continue;
    m->slot[k] = malloc(nbytes);
    return m->slot[k] ? (void *)(uintptr_t)(k + 1) : NULL;
  }
  return NULL;
}

static char *at(const st_place *p) {
  if (p->device == ST_DEVICE_CPU) return (char *)p->block + p->offset;
  CHECK(ST_DEVICE_KIND(p->device) == KIND);
  return machines[ST_DEVICE_NUMBER(p->device)].slot[(uintptr_t)p->block - 1] +
         p->offset;
}

static void release(void *ctx, int device, void *block, size_t nbytes) {
  char **slot = &((machine *)ctx + device)->slot[(uintptr_t)block - 1];
  CHECK(*slot && nbytes > 0);
  free(*slot);
  *slot = NULL;
}

static st_status synchronize(void *ctx, int device) {
  machine *m = (machine *)ctx + device;
  if (!m->has_failed) return ST_OK;
  m->has_failed = false;
  return st_fail(ST_BAD_STATE, "slots: earlier work has failed");
}

static st_status copy(void *ctx, const st_place *to, const st_place *from,
                      size_t nbytes) {
  CHECK(nbytes > 0);
  memcpy(at(to), at(from), nbytes);
  return to->device != ST_DEVICE_CPU
         ? ST_OK : synchronize(ctx, ST_DEVICE_NUMBER(from->device));
}

static void seed(void *ctx, uint64_t s) {
  machine *m = ctx;
  m[0].seed = m[1].seed = s;
}

static int live(void) {
  int n = 0;
  for (int k = 0; k < SLOTS; k++) {
    n += machines[0].slot[k] != NULL;
    n += machines[1].slot[k] != NULL;
  }
  return n;
}

/* The CPU computes all expressions. */
static st_status compile(void *ctx, const st_expression *e, void **code) {
  (void)ctx, (void)e, (void)code;
  return ST_NO_KERNEL;
}

static st_status run(void *ctx, int device, void *code, const st_plan *plan,
                     const st_scalar *params) {
  (void)ctx, (void)device, (void)code, (void)plan, (void)params;
  abort();
}

static void release_code(void *ctx, void *code) {
  (void)ctx, (void)code;
  abort();
}

static const st_backend slots = {
  .ndevices = 2, .ctx = machines, .allocate = allocate, .free = release,
  .copy = copy, .synchronize = synchronize, .seed = seed, .compile = compile,
  .run = run, .release = release_code};

/* -- Calls ---------------------------------------------------------------- */

static st_value tensor_arg(st_tensor *t) {
  return (st_value){.tag = ST_TAG_TENSOR, .u.tensor = t};
}

static st_value int_arg(int64_t i) {
  return (st_value){.tag = ST_TAG_INT, .u.i = i};
}

static st_status call(const char *name, const char *overload, int n,
                      const st_value *args, st_tensor **out) {
  st_value ret;
  const st_status status = st_call_op(st_op_find(name, overload), n, args,
                                      &ret);
  if (status == ST_OK) *out = ret.u.tensor;
  return status;
}

static st_tensor *to(st_tensor *t, st_device device) {
  const st_value args[] = {tensor_arg(t), int_arg(device)};
  st_tensor *there;
  CHECK(call("aten::to", "prim_Device", 2, args, &there) == ST_OK);
  CHECK(st_tensor_device(there) == device);
  return there;
}

/* 0, 1, 2 ... as float32, on a device. */
static st_tensor *count(int64_t n, st_device device) {
  st_tensor *here, *there;
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 1, &n, NULL, &here) ==
        ST_OK);
  for (int64_t i = 0; i < n; i++) {
    ((float *)st_tensor_data(here))[i] = (float)i;
  }
  there = to(here, device);
  st_tensor_release(&here);
  return there;
}

static double item(st_tensor *t, st_status expected) {
  st_value ret = {.tag = ST_TAG_NONE};
  const st_value arg = tensor_arg(t);
  CHECK(st_call_op(st_op_find("aten::item", ""), 1, &arg, &ret) == expected);
  return expected == ST_OK ? ret.u.f : 0;
}

/* -- Topics --------------------------------------------------------------- */

static void refuse(st_backend b, const char *what) {
  CHECK(st_backend_register(KIND, "slots", &b) == ST_BAD_VALUE);
  CHECK(strstr(st_message(), what));
}

/* A registration that fails for memory has registered nothing. */
static void register_slots(void) {
  st_device d;
  for (int64_t k = 1; ; k += k < 40 ? 1 : 41) {
    st_memory_fail_at(k);
    const st_status status = st_backend_register(KIND, "slots", &slots);
    const int64_t left = st_memory_fail_at(0);
    if (status == ST_OK) {
      CHECK(left > 0 && k > 100);
      return;
    }
    CHECK(status == ST_NO_MEMORY && !st_device_parse("slots", &d));
    CHECK(!st_device_nth(2, &d) && k < 100000);
  }
}

static void registration(void) {
  st_backend b = slots;
  b.copy = NULL;
  refuse(b, "allocate, free and copy");
  b = slots;
  b.run = NULL;
  refuse(b, "all of compile, run and release");
  b = slots;
  b.ndevices = ST_BACKEND_DEVICES + 1;
  refuse(b, "1 to 16 devices, not 17");
  CHECK(st_backend_register(ST_DEVICE_META, "slots", &slots) == ST_BAD_VALUE);
  CHECK(st_backend_register(KIND, "Slots", &slots) == ST_BAD_VALUE);
  register_slots();
  CHECK(st_backend_register(KIND, "slots", &slots) == ST_BAD_STATE);
  CHECK(st_backend_register(ST_DEVICE_PRIVATEUSE2, "slots", &slots) ==
        ST_BAD_STATE);
  puts("registration");
}

static void names(void) {
  static const char *const all[] = {"cpu", "meta", "slots", "slots:1"};
  st_device_properties p;
  st_device d;
  for (int k = 0; k < 4; k++) {
    CHECK(st_device_nth(k, &d) && strcmp(st_device_name(d), all[k]) == 0);
  }
  CHECK(!st_device_nth(4, &d));
  CHECK(st_device_parse("slots:1", &d) && d == SECOND);
  CHECK(st_device_parse("slots:0", &d) && d == KIND);
  CHECK(st_device_parse("privateuse3:1", &d) && d == SECOND);
  CHECK(!st_device_parse("slots:2", &d) && !st_device_parse("slots:01", &d) &&
        !st_device_parse("slots:", &d) && !st_device_parse("slots1", &d) &&
        !st_device_parse("cpu:1", &d));
  CHECK(st_synchronize((st_device)77) == ST_BAD_VALUE);
  CHECK(st_synchronize(ST_DEVICE_CPU) == ST_OK);
  CHECK(st_device_properties_of(SECOND, &p) == ST_OK &&
        strcmp(p.name, "slots:1") == 0 && p.total_bytes == 0);
  st_manual_seed(42);
  CHECK(machines[0].seed == 42 && machines[1].seed == 42);
  puts("names");
}

static void operators(void) {
  st_tensor *a = count(4, SECOND), *sum, *all, *twice;
  const st_value two[] = {tensor_arg(a), tensor_arg(a)};
  CHECK(call("aten::add", "Tensor", 2, two, &twice) == ST_OK);
  const st_value one[] = {tensor_arg(twice)};
  CHECK(st_tensor_device(twice) == SECOND);
  CHECK(call("aten::sum", "", 1, one, &sum) == ST_OK);
  CHECK(st_tensor_device(sum) == SECOND && item(sum, ST_OK) == 12);
  CHECK(call("aten::mul_", "Tensor", 2, two, &all) == ST_OK && all == a);
  st_scalar s;
  CHECK(st_tensor_get(a, 1, (int64_t[]){3}, &s) == ST_OK && s.u.f == 9);
  const int64_t six = 6;
  st_tensor *same;
  const st_value resize[] = {tensor_arg(a),
                             {.tag = ST_TAG_INTS, .len = 1, .u.ints = &six}};
  CHECK(call("aten::resize_", "", 2, resize, &same) == ST_OK);
  CHECK(st_tensor_get(a, 1, (int64_t[]){3}, &s) == ST_OK && s.u.f == 9);
  const st_place p = st_tensor_place(a);
  CHECK(p.device == SECOND && (uintptr_t)p.block <= SLOTS && p.offset == 0);
  st_tensor *other = to(a, KIND);
  const st_value mixed[] = {tensor_arg(a), tensor_arg(other)};
  CHECK(call("aten::add", "Tensor", 2, mixed, &sum) == ST_BAD_VALUE);
  CHECK(strstr(st_message(), "'slots'") && strstr(st_message(), "'slots:1'"));
  st_tensor_release(&same);
  st_tensor_release(&other);
  st_tensor_release(&all);
  st_tensor_release(&sum);
  st_tensor_release(&twice);
  st_tensor_release(&a);
  puts("operators");
}

static void late_errors(void) {
  st_tensor *one = count(1, KIND);
  machines[0].has_failed = true;
  item(one, ST_BAD_STATE);
  CHECK(strstr(st_message(), "earlier work has failed"));
  CHECK(item(one, ST_OK) == 0);
  machines[0].has_failed = true;
  CHECK(st_synchronize(SECOND) == ST_OK);
  CHECK(st_synchronize(KIND) == ST_BAD_STATE);
  CHECK(st_synchronize(KIND) == ST_OK);
  st_tensor_release(&one);
  puts("late errors");
}

/* A kernel that counts its runs; that of float64 is the CPU's. */
static int runs;

static st_status mm(st_run *r) {
  const st_tensor *out = st_maybe_get_output(r, 0);
  float zeros[16] = {0};
  const st_place from = {ST_DEVICE_CPU, zeros, 0}, to = st_tensor_place(out);
  CHECK(st_run_device(r) == st_tensor_device(out));
  if (st_tensor_dtype(out) != ST_FLOAT32) return ST_NO_KERNEL;
  runs++;
  return copy(machines, &to, &from, (size_t)st_tensor_numel(out) * 4);
}

static void inheriting(void) {
  st_structured s = {.impl = mm, .debug = "backend.c"};
  st_library *lib;
  st_tensor *a, *b, *y;
  CHECK(st_library_open("aten", ST_LIBRARY_IMPL, "PrivateUse3", 0, "backend.c",
                        &lib) == ST_OK);
  CHECK(st_library_implement_structured(lib, "mmm", &s) == ST_NOT_FOUND);
  CHECK(strcmp(st_message(), "there is no operator aten::mmm") == 0);
  CHECK(st_library_implement_structured(lib, "mul", &s) == ST_NOT_FOUND);
  CHECK(strstr(st_message(), "aten::mul: there is aten::mul.Tensor, "));
  CHECK(st_library_implement_structured(lib, "view", &s) == ST_BAD_VALUE);
  CHECK(strstr(st_message(), "not a structured operator"));
  s.impl = NULL;
  CHECK(st_library_implement_structured(lib, "mm", &s) == ST_BAD_VALUE);
  s.impl = mm;
  CHECK(st_library_implement_structured(lib, "mm", &s) == ST_OK);
  a = count(4, SECOND);
  const int64_t square[] = {2, 2};
  const st_value view[] = {tensor_arg(a), {.tag = ST_TAG_INTS, .len = 2,
                                           .u.ints = square}};
  CHECK(call("aten::view", "", 2, view, &b) == ST_OK);
  const st_value args[] = {tensor_arg(b), tensor_arg(b)};
  CHECK(call("aten::mm", "", 2, args, &y) == ST_OK && runs == 1);
  CHECK(st_tensor_device(y) == SECOND && st_tensor_ndim(y) == 2);
  const st_value wrong[] = {tensor_arg(b), tensor_arg(a)};
  st_tensor *none;
  CHECK(call("aten::mm", "", 2, wrong, &none) != ST_OK && runs == 1);
  const st_value dtype[] = {tensor_arg(b), int_arg(ST_FLOAT64)};
  st_tensor *wide, *product;
  CHECK(call("aten::to", "dtype", 2, dtype, &wide) == ST_OK);
  const st_value doubles[] = {tensor_arg(wide), tensor_arg(wide)};
  CHECK(call("aten::mm", "", 2, doubles, &product) == ST_OK && runs == 1);
  st_scalar v;
  CHECK(st_tensor_get(product, 2, (int64_t[]){1, 1}, &v) == ST_OK &&
        v.u.f == 11);
  st_library_close(&lib);
  st_tensor *again;
  CHECK(call("aten::mm", "", 2, args, &again) == ST_OK && runs == 1);
  st_tensor_release(&again);
  st_tensor_release(&product);
  st_tensor_release(&wide);
  st_tensor_release(&y);
  st_tensor_release(&b);
  st_tensor_release(&a);
  puts("inheriting");
}

/* Each failed allocation, of the engine or of the device, is NO_MEMORY. */
static void out_of_memory(void) {
  st_tensor *a = count(3, KIND), *out;
  const st_value args[] = {tensor_arg(a), tensor_arg(a)};
  const int before = live();
  for (int64_t k = 1; k < 200; k++) {
    st_memory_fail_at(k);
    const st_status status = call("aten::mul", "Tensor", 2, args, &out);
    const int64_t left = st_memory_fail_at(0);
    if (status == ST_OK) {
      CHECK(left > 0 && k > 1);
      st_tensor_release(&out);
      break;
    }
    CHECK(status == ST_NO_MEMORY && live() == before);
  }
  CHECK(live() == before);
  st_tensor_release(&a);
  puts("out of memory");
}

/* -- A device without a backend ------------------------------------------- */

static const st_device CHIP = ST_DEVICE_PRIVATEUSE2;
static int copies;

static void *chip_alloc(void *ctx, size_t nbytes) {
  (void)ctx;
  return malloc(nbytes ? nbytes : 1);
}

static void chip_free(void *ctx, void *data, size_t nbytes) {
  (void)ctx, (void)nbytes;
  free(data);
}

static st_status chip_empty(const st_call *c, const st_value *args,
                            st_value *rets) {
  (void)c;
  const bool has_strides = args[1].tag == ST_TAG_INTS;
  const st_value *dtype = &args[1 + has_strides];
  rets[0].tag = ST_TAG_TENSOR;
  return st_tensor_empty(CHIP, dtype->tag == ST_TAG_INT ? (st_dtype)dtype->u.i
                               : ST_FLOAT32, (int)args->len, args->u.ints,
                         has_strides ? args[1].u.ints : NULL,
                         &rets->u.tensor);
}

/* Of one dtype and contiguous. */
static st_status chip_copy_(const st_call *c, const st_value *args,
                            st_value *rets) {
  st_tensor *to = args[0].u.tensor, *from = args[1].u.tensor;
  const st_place a = st_tensor_place(to), b = st_tensor_place(from);
  (void)c;
  CHECK(st_tensor_dtype(to) == st_tensor_dtype(from));
  CHECK(st_tensor_is_contiguous(to, ST_FORMAT_CONTIGUOUS) &&
        st_tensor_is_contiguous(from, ST_FORMAT_CONTIGUOUS));
  memcpy((char *)a.block + a.offset, (char *)b.block + b.offset,
         (size_t)st_tensor_numel(to) * st_dtype_size(st_tensor_dtype(to)));
  copies++;
  st_tensor_retain(to);
  rets[0] = tensor_arg(to);
  return ST_OK;
}

static void open_chip(st_library **aten, st_library **any) {
  const st_allocator a = {chip_alloc, chip_free, NULL, NULL};
  const st_kernel empty = {.fn = chip_empty, .debug = "backend.c"};
  const st_kernel copy_ = {.fn = chip_copy_, .debug = "backend.c"};
  const st_kernel fallback = {.fn = st_cpu_fallback, .debug = "backend.c"};
  CHECK(st_device_register(CHIP, "chip", &a) == ST_OK);
  CHECK(st_library_open("aten", ST_LIBRARY_IMPL, "PrivateUse2", 0, "backend.c",
                        aten) == ST_OK);
  CHECK(st_library_implement(*aten, "empty.memory_format", NULL, &empty) ==
        ST_OK);
  CHECK(st_library_implement(*aten, "empty_strided", NULL, &empty) == ST_OK);
  CHECK(st_library_implement(*aten, "copy_", NULL, &copy_) == ST_OK);
  CHECK(st_library_open("_", ST_LIBRARY_IMPL, "PrivateUse2", 0, "backend.c",
                        any) == ST_OK);
  CHECK(st_library_fallback(*any, "PrivateUse2", &fallback) == ST_OK);
}

/* Its kernel of copy_ serves the fallback, and composite operators that read
 * elements. */
static void without_backend(void) {
  st_library *aten, *any;
  st_scalar s;
  open_chip(&aten, &any);
  st_tensor *a = count(4, CHIP), *sum, *same, *at, *rows, *table;
  const st_value two[] = {tensor_arg(a), tensor_arg(a)};
  CHECK(call("aten::add", "Tensor", 2, two, &sum) == ST_OK);
  CHECK(st_tensor_device(sum) == CHIP && copies > 2);
  CHECK(st_tensor_get(sum, 1, (int64_t[]){3}, &s) == ST_OK && s.u.f == 6);
  CHECK(call("aten::mul_", "Tensor", 2, two, &same) == ST_OK && same == a);
  CHECK(st_tensor_get(a, 1, (int64_t[]){3}, &s) == ST_OK && s.u.f == 9);
  const int64_t shape[] = {2, 2}, one[] = {1};
  const st_value view[] = {tensor_arg(a), {.tag = ST_TAG_INTS, .len = 2,
                                           .u.ints = shape}};
  CHECK(call("aten::view", "", 2, view, &table) == ST_OK);
  st_tensor *here;
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_INT64, 1, one, NULL, &here) ==
        ST_OK);
  *(int64_t *)st_tensor_data(here) = 1;
  at = to(here, CHIP);
  const st_value lookup[] = {tensor_arg(table), tensor_arg(at)};
  CHECK(call("aten::embedding", "", 2, lookup, &rows) == ST_OK);
  CHECK(st_tensor_get(rows, 2, (int64_t[]){0, 1}, &s) == ST_OK && s.u.f == 9);
  st_tensor *const all[] = {a, same, sum, at, rows, table, here};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    st_tensor *t = all[i];
    st_tensor_release(&t);
  }
  st_library_close(&aten);
  st_library_close(&any);
  puts("without a backend");
}

/* Blocks count for limits. */
static void limited(void) {
  const int64_t n = 1 << 20;
  st_limits *l;
  st_tensor *t;
  CHECK(st_limits_new(1 << 20, 0, &l) == ST_OK);
  st_limits *const before = st_limits_enter(l);
  CHECK(st_tensor_empty(KIND, ST_FLOAT32, 1, &n, NULL, &t) == ST_NO_MEMORY);
  t = count(1000, KIND);
  CHECK(st_limits_used(l) >= 4000);
  st_limits_enter(before);
  st_tensor_release(&t);
  CHECK(st_limits_used(l) == 0);
  st_limits_release(&l);
  puts("limits");
}

int main(void) {
  CHECK(st_init() == ST_OK);
  registration();
  names();
  operators();
  late_errors();
  inheriting();
  out_of_memory();
  without_backend();
  limited();
  CHECK(live() == 0);
  puts("nothing left");
  return 0;
}
