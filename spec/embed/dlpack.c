/* DLPack in C, with a producer and a consumer that know the standard and not
 * the engine. Prints one line per thing it found true; exits 1 at the first
 * that is not.
 */

#include "check.h"

#include <pthread.h>

/* -- The standard, as its header declares it ------------------------------ */

typedef struct { int32_t device_type, device_id; } DLDevice;
typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} DLTensor;
struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
};
struct DLManagedTensorVersioned {
  struct { uint32_t major, minor; } version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
};

/* ------------------------------------------------------------------------- */

static int64_t live(void) {
  st_memory m;
  int64_t n = 0;
  for (int k = 0; st_memory_stats(k, &m); k++) {
    if (strcmp(m.name, "registry") != 0) n += m.count;
  }
  return n;
}

static st_tensor *ones(int64_t n) {
  st_tensor *t = NULL;
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 1, &n, NULL, &t) == ST_OK);
  float *p = st_tensor_data(t);
  for (int64_t i = 0; i < n; i++) p[i] = 1;
  return t;
}

static void test_there_and_back(void) {
  st_tensor *t = ones(5), *u = NULL;
  struct DLManagedTensor *m = NULL;
  CHECK(st_tensor_to_dlpack(t, &m) == ST_OK);
  CHECK(m->dl_tensor.data == st_tensor_data(t));
  CHECK(m->dl_tensor.ndim == 1 && m->dl_tensor.shape[0] == 5);
  CHECK(m->dl_tensor.dtype.code == 2 && m->dl_tensor.dtype.bits == 32);
  const void *data = st_tensor_data(t);
  st_tensor_release(&t);
  CHECK(st_tensor_from_dlpack(m, &u) == ST_OK);
  CHECK(st_tensor_data(u) == data && ((float *)st_tensor_data(u))[4] == 1);
  struct DLManagedTensorVersioned *v = NULL;
  CHECK(st_tensor_to_dlpack_versioned(u, &v) == ST_OK);
  CHECK(v->version.major == 1 && v->flags == 0);
  st_tensor_release(&u);
  CHECK(((float *)v->dl_tensor.data)[0] == 1);
  v->deleter(v);
  t = ones(1);
  CHECK(st_tensor_to_dlpack(t, &m) == ST_OK);
  st_dlpack_release(&m);
  CHECK(!m);
  st_dlpack_release(&m);
  st_tensor_release(&t);
  puts("there and back");
}

static int deleted;

static void count(struct DLManagedTensor *m) {
  CHECK(m->manager_ctx == &deleted);
  deleted++;
}

static void test_others(void) {
  int16_t elements[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[] = {3, 2}, strides[] = {1, 3};
  struct DLManagedTensor m = {
    {elements, {1, 0}, 2, {0, 16, 1}, shape, strides, 0}, &deleted, count};
  st_tensor *t = NULL;
  st_scalar s;
  CHECK(st_tensor_from_dlpack(&m, &t) == ST_OK);
  CHECK(st_tensor_get(t, 2, (int64_t[]){2, 1}, &s) == ST_OK && s.u.i == 6);
  CHECK(st_tensor_get(t, 2, (int64_t[]){0, 1}, &s) == ST_OK && s.u.i == 4);
  CHECK(deleted == 0);
  st_tensor_release(&t);
  CHECK(deleted == 1);
  m.dl_tensor.device.device_type = 2;
  CHECK(st_tensor_from_dlpack(&m, &t) == ST_BAD_STATE);
  m.dl_tensor.device.device_type = 1;
  m.dl_tensor.dtype.lanes = 2;
  CHECK(st_tensor_from_dlpack(&m, &t) == ST_BAD_DTYPE);
  m.dl_tensor.dtype.lanes = 1;
  strides[1] = -1;
  CHECK(st_tensor_from_dlpack(&m, &t) == ST_BAD_SHAPE);
  CHECK(!t && deleted == 1);
  puts("structures of others");
}

static void *consume(void *arg) {
  struct DLManagedTensor *m = arg;
  float *p = m->dl_tensor.data;
  for (int i = 0; i < 1000; i++) p[i] += 1;
  m->deleter(m);
  return NULL;
}

static void test_thread(void) {
  pthread_t thread;
  for (int i = 0; i < 100; i++) {
    st_tensor *t = ones(1000);
    struct DLManagedTensor *m = NULL;
    CHECK(st_tensor_to_dlpack(t, &m) == ST_OK);
    if (i % 2) st_tensor_release(&t);
    CHECK(pthread_create(&thread, NULL, consume, m) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    if (t) CHECK(((float *)st_tensor_data(t))[999] == 2);
    st_tensor_release(&t);
  }
  puts("another thread");
}

int main(void) {
  CHECK(st_init() == ST_OK);
  const int64_t before = live();
  test_there_and_back();
  test_others();
  test_thread();
  CHECK(live() == before);
  puts("nothing left");
  return 0;
}
