/* The table of layouts. */

#include "tensor/layout.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/dtype.h"

/* -- Layouts -------------------------------------------------------------- */

enum { NAME_SIZE = 32, MOST = 64 /* st_storage.layout has 7 bits */ };

/* The functionalities of layouts; only: the one device, or ST_DEVICE_COUNT. */
static const struct {
  const char *name;
  int bit;
  st_device only;
} all_keys[] = {
  {"Quantized", ST_FUNC_Quantized, ST_DEVICE_COUNT},
  {"Sparse", ST_FUNC_Sparse, ST_DEVICE_COUNT},
  {"SparseCsr", ST_FUNC_SparseCsrCPU, ST_DEVICE_CPU},
  {"NestedTensor", ST_FUNC_NestedTensor, ST_DEVICE_COUNT},
};
enum { KEY_COUNT = sizeof all_keys / sizeof *all_keys };

typedef struct layout_entry {
  char name[NAME_SIZE];
  int key; /* in all_keys */
  const st_layout_functions *functions;
} layout_entry;

/* Entries below `count` are constant. ORDER LAYOUT: entry 0 is "strided". */
static layout_entry layouts[MOST] = {{.name = "strided"}};
static atomic_int count = 1;
static _Atomic st_keyset bits;

/* The fork handler reinitialises the mutex in the child. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void reinit_mutex(void) {
  mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void register_atfork(void) { pthread_atfork(NULL, NULL, reinit_mutex); }

bool st__is_layout(int64_t number) {
  return number >= 0 &&
         number < atomic_load_explicit(&count, memory_order_acquire);
}

const char *st__layout_name(int64_t layout) {
  return st__is_layout(layout) ? layouts[layout].name : "unknown";
}

bool st_layout_parse(const char *name, st_layout *out) {
  for (int i = 0; st__is_layout(i); i++) {
    if (strcmp(layouts[i].name, name) != 0) continue;
    *out = i;
    return true;
  }
  return false;
}

const st_layout_functions *st__layout_functions(st_layout layout) {
  return layouts[layout].functions;
}

st_keyset st__layout_bits(void) {
  return atomic_load_explicit(&bits, memory_order_relaxed);
}

static bool is_valid_name(const char *s) {
  const size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");
  return n > 0 && n < NAME_SIZE && !s[n] && (*s < '0' || *s > '9');
}

static st_status find_key(const char *name, int *out) {
  for (int i = 0; i < KEY_COUNT; i++) {
    if (strcmp(all_keys[i].name, name) != 0) continue;
    *out = i;
    return ST_OK;
  }
  return st__fail(ST_BAD_VALUE, "'%.40s' is no key of layouts: these are "
                  "Quantized, Sparse, SparseCsr and NestedTensor", name);
}

/* Layouts share a key only if they share their functions, so that kernels of
 * one extension do not get tensors of another. */
static st_status add(const char *name, int key, const st_layout_functions *f,
                     st_layout *out) {
  const int n = atomic_load_explicit(&count, memory_order_relaxed);
  st_layout other;
  if (st_layout_parse(name, &other)) {
    return st__fail(ST_BAD_STATE, "there is already a layout '%s'", name);
  }
  if (n == MOST) {
    return st__fail(ST_BAD_STATE, "there are already %d layouts", n);
  }
  for (int i = 1; i < n; i++) {
    if (layouts[i].key != key || layouts[i].functions == f) continue;
    return st__fail(ST_BAD_STATE, "the key %s is that of layout '%s'",
                    all_keys[key].name, layouts[i].name);
  }
  snprintf(layouts[n].name, NAME_SIZE, "%s", name);
  layouts[n].key = key;
  layouts[n].functions = f;
  atomic_fetch_or(&bits, ST_BIT(all_keys[key].bit));
  atomic_store_explicit(&count, n + 1, memory_order_release);
  *out = n;
  return ST_OK;
}

st_status st__layout_add(const char *name, const char *key,
                         const st_layout_functions *f, st_layout *out) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  int at = 0;
  if (!is_valid_name(name)) {
    return st__fail(ST_BAD_VALUE, "'%.40s' is not a valid name of a layout: "
                    "use lower-case letters, digits and _, at most %d", name,
                    NAME_SIZE - 1);
  }
  ST_TRY(find_key(key, &at));
  pthread_once(&once, register_atfork);
  pthread_mutex_lock(&mutex);
  const st_status status = add(name, at, f, out);
  pthread_mutex_unlock(&mutex);
  return status;
}

st_status st__layout_keys(st_layout layout, st_device device, st_keyset *out) {
  const int key = layouts[layout].key;
  const st_device only = all_keys[key].only;
  if (only != ST_DEVICE_COUNT && device != only) {
    return st__fail(ST_BAD_VALUE, "layout '%s' has no key for device '%s': "
                    "that of %s is for '%s' only", layouts[layout].name,
                    st__device_name(device), all_keys[key].name,
                    st__device_name(only));
  }
  *out = (st__device_keys(device) & ~ST_BIT(ST_FUNC_Dense)) |
         ST_BIT(all_keys[key].bit);
  return ST_OK;
}

st_status st__refuse_layout(st_layout layout) {
  return st__fail(ST_BAD_LAYOUT, "a tensor of layout '%s' has no strides and "
                  "no memory of elements", st__layout_name(layout));
}

st_status st__refuse_memoryless(const st_tensor *t) {
  if (t->storage->layout) return st__refuse_layout(t->storage->layout);
  return st__is_subbyte(t->dtype)
    ? st__fail(ST_BAD_DTYPE, "a byte holds several elements of %s: convert "
               "them first, as in t:to \"%s\"", st__dtype_name(t->dtype),
               st__dtype_name(st__byte_dtype(t->dtype)))
    : st__fail(ST_BAD_STATE, "a zero tensor has no memory: clone it");
}
