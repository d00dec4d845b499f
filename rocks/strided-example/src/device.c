/* The device "example": PrivateUse1, with two devices, "example" and
 * "example:1".
 *
 * Its memory is host memory, but a block is known outside of this file by a
 * disguised address, so that code that takes it for CPU memory faults. A real
 * device would pass a handle of its driver, and copy where this one uses
 * memcpy. All operators work: elementwise ones run the expressions that
 * expression.c evaluates, the others the kernels below or, where there is none,
 * those of the CPU.
 */

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "example.h"

static const uintptr_t DISGUISE = (uintptr_t)1 << 54;

static atomic_int live;

int64_t example_live_blocks(void) { return live; }

char *example_address(const st_place *p) {
  const uintptr_t block = (uintptr_t)p->block;
  return (char *)(p->device == ST_DEVICE_CPU ? block : block ^ DISGUISE) +
         p->offset;
}

static void *allocate(void *ctx, int device, size_t nbytes) {
  void *p;
  (void)ctx, (void)device;
  if (posix_memalign(&p, 64, nbytes) != 0) return NULL;
  live++;
  return (void *)((uintptr_t)p ^ DISGUISE);
}

static void release(void *ctx, int device, void *block, size_t nbytes) {
  (void)ctx, (void)device, (void)nbytes;
  free((void *)((uintptr_t)block ^ DISGUISE));
  live--;
}

static st_status copy(void *ctx, const st_place *to, const st_place *from,
                      size_t nbytes) {
  (void)ctx;
  memcpy(example_address(to), example_address(from), nbytes);
  return ST_OK;
}

static st_status fill(void *ctx, const st_place *to, const void *element,
                      size_t size, int64_t n) {
  char *p = example_address(to);
  (void)ctx;
  for (int64_t i = 0; i < n; i++) memcpy(p + (size_t)i * size, element, size);
  return ST_OK;
}

static st_status properties(void *ctx, int device, st_device_properties *out) {
  (void)ctx, (void)device;
  strcpy(out->name, "memory of the host");
  out->alignment = 64;
  return ST_OK;
}

/* A kernel of its own, for float32: dot(Tensor self, Tensor tensor) -> Tensor.
 * The meta function of the operator has checked the shapes and dtypes, and made
 * the output on this device. */
static st_status dot(st_run *r) {
  const st_tensor *a = st_run_tensor(r, 0), *b = st_run_tensor(r, 1);
  const st_place at = st_tensor_place(a), bt = st_tensor_place(b);
  const st_place out = st_tensor_place(st_maybe_get_output(r, 0));
  const float *x = (const float *)example_address(&at);
  const float *y = (const float *)example_address(&bt);
  const int64_t x_step = st_tensor_strides(a)[0];
  const int64_t y_step = st_tensor_strides(b)[0];
  float sum = 0;
  if (st_tensor_dtype(a) != ST_FLOAT32) return ST_NO_KERNEL; /* the CPU does */
  for (int64_t i = 0; i < st_tensor_numel(a); i++) {
    sum += x[i * x_step] * y[i * y_step];
  }
  *(float *)example_address(&out) = sum;
  return ST_OK;
}

st_status example_register_device(void) {
  static st_library *aten;
  const st_backend backend = {
    .ndevices = 2, .allocate = allocate, .free = release, .copy = copy,
    .fill = fill, .properties = properties, .compile = example_compile,
    .run = example_run, .release = example_release_code};
  const st_structured own = {.impl = dot, .debug = "strided_example"};
  TRY(st_backend_register(ST_DEVICE_PRIVATEUSE1, "example", &backend));
  TRY(st_library_open("aten", ST_LIBRARY_IMPL, "PrivateUse1", 0,
                      "strided_example", &aten));
  return st_library_implement_structured(aten, "dot", &own);
}
