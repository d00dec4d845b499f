/* Storages, the reference-counted bytes that tensors share, and the table of
 * devices.
 *
 * Note [Memory of extension devices]
 * Only the extension that registered a device can access its bytes: data need
 * not be an address of the process. The engine never reads or writes it.
 * Operators that access elements have kernels for CPU and Meta only, which
 * check the devices of their arguments; all other code accesses elements by
 * copying to the CPU through the dispatcher.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/tensor.h"

/* -- Devices -------------------------------------------------------------- */

enum { NAME_SIZE = 32 };

typedef struct device_entry {
  const char *default_name; /* name before registration */
  char name[NAME_SIZE];
  st_allocator allocator;
  atomic_bool is_registered; /* set last; constant after that */
} device_entry;

/* ORDER DEVICE: st_device */
static device_entry devices[ST_DEVICE_COUNT] = {
  {.default_name = "cpu"}, {.default_name = "meta"},
  {.default_name = "privateuse1"}, {.default_name = "privateuse2"},
  {.default_name = "privateuse3"}
};

static bool is_registered(st_device d) {
  return atomic_load_explicit(&devices[d].is_registered,
                              memory_order_acquire);
}

const char *st__device_name(st_device d) {
  if ((unsigned)d >= ST_DEVICE_COUNT) return "unknown";
  return is_registered(d) ? devices[d].name : devices[d].default_name;
}

bool st__device_parse(const char *name, st_device *out) {
  for (int d = 0; d < ST_DEVICE_COUNT; d++) {
    if (strcmp(devices[d].default_name, name) != 0 &&
        strcmp(st__device_name((st_device)d), name) != 0) {
      continue;
    }
    *out = (st_device)d;
    return true;
  }
  return false;
}

static bool is_valid_name(const char *s) {
  const size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");
  return n > 0 && n < NAME_SIZE && !s[n] && (*s < '0' || *s > '9');
}

static st_status add_device(st_device d, const char *name,
                            const st_allocator *allocator) {
  st_device other;
  if (is_registered(d)) {
    return st__fail(ST_BAD_STATE, "%s is already registered, as '%s'",
                    devices[d].default_name, devices[d].name);
  }
  if (st__device_parse(name, &other) && other != d) {
    return st__fail(ST_BAD_STATE, "there is already a device '%s'", name);
  }
  snprintf(devices[d].name, NAME_SIZE, "%s", name);
  devices[d].allocator = *allocator;
  atomic_store_explicit(&devices[d].is_registered, true,
                        memory_order_release);
  return ST_OK;
}

/* The fork handler reinitialises the mutex in the child. The entries that it
 * protects are complete before is_registered is set. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void reinit_mutex(void) {
  mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void register_atfork(void) { pthread_atfork(NULL, NULL, reinit_mutex); }

st_status st__device_register(st_device d, const char *name,
                              const st_allocator *allocator) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (d < ST_DEVICE_PRIVATEUSE1 || d >= ST_DEVICE_COUNT) {
    return st__fail(ST_BAD_VALUE, "device number %d cannot be registered",
                    (int)d);
  }
  if (!is_valid_name(name)) {
    return st__fail(ST_BAD_VALUE, "'%.40s' is not a valid device name: use "
                    "lower-case letters, digits and _, at most %d", name,
                    NAME_SIZE - 1);
  }
  if (!allocator->alloc || !allocator->free) {
    return st__fail(ST_BAD_VALUE, "an allocator needs alloc and free");
  }
  pthread_once(&once, register_atfork);
  pthread_mutex_lock(&mutex);
  const st_status status = add_device(d, name, allocator);
  pthread_mutex_unlock(&mutex);
  return status;
}

static st_status find_allocator(st_device d, const st_allocator **out) {
  *out = &devices[d].allocator;
  if (is_registered(d)) return ST_OK;
  return st__fail(ST_BAD_STATE, "device '%s' has no memory: it is not "
                  "registered", devices[d].default_name);
}

/* -- Bytes ---------------------------------------------------------------- */

/* For foreign memory without a deleter. */
static void no_free(void *ctx, void *data, size_t nbytes) {
  (void)ctx; (void)data; (void)nbytes;
}

static st_inline_storage *inline_storage_of(st_storage *s) {
  return (st_inline_storage *)(void *)((char *)s - offsetof(st_inline_storage,
                                                            storage));
}

static char *inline_data(st_storage *s) {
  return (char *)inline_storage_of(s) + ST_INLINE_HEAD;
}

/* What a storage of n bytes is charged for: Note [Limits of calls]. */
static size_t charge_of(size_t n) { return n + sizeof(st_inline_storage); }

static void free_data(st_storage *s) {
  if (s->free_fn) {
    s->free_fn(s->free_ctx, s->data, s->nbytes);
    return;
  }
  st__limits_credit(s->free_ctx, charge_of(s->nbytes));
  if (s->inline_units && s->data == inline_data(s)) {
    st__count(ST_MEM_DATA, -1, -(int64_t)s->nbytes);
  } else if (s->data) {
    st__free(ST_MEM_DATA, s->data, s->nbytes);
  }
}

/* Allocates uninitialised bytes on s's device and sets *ctx to its free_ctx; s
 * does not change. */
static st_status new_data(const st_storage *s, size_t nbytes, char **out,
                          void **ctx) {
  const st_allocator *a;
  st_limits *owner;
  if (s->device == ST_DEVICE_CPU) {
    ST_TRY(st__limits_charge(charge_of(nbytes), &owner));
    *out = st__alloc(ST_MEM_DATA, nbytes);
    if (!*out) st__limits_credit(owner, charge_of(nbytes));
    *ctx = owner;
    return *out ? ST_OK : ST_NO_MEMORY;
  }
  ST_TRY(find_allocator(s->device, &a));
  *ctx = a->ctx;
  *out = a->alloc(a->ctx, nbytes);
  if (*out) return ST_OK;
  return st__fail(ST_NO_MEMORY, "out of memory: device '%s' cannot allocate "
                  "%zu bytes",
                  st__device_name(s->device), nbytes);
}

/* Makes s own data, which comes from new_data, as does ctx. */
static void adopt(st_storage *s, char *data, void *ctx) {
  const bool is_here = s->device == ST_DEVICE_CPU;
  s->data = data;
  s->free_fn = is_here ? NULL : devices[s->device].allocator.free;
  s->free_ctx = ctx;
}

/* -- Storages ------------------------------------------------------------- */

static void init_bare(st_storage *s, int inline_units, st_device device,
                      size_t nbytes) {
  *s = (st_storage){.device = (uint8_t)device, .nbytes = nbytes,
                    .inline_units = (uint8_t)inline_units};
  st__ref_init(&s->refs);
}

st_status st__storage_new_bare(st_device device, size_t nbytes,
                               st_storage **out) {
  st_storage *s = st__alloc(ST_MEM_STORAGE, sizeof *s);
  if (!s) return ST_NO_MEMORY;
  init_bare(s, 0, device, nbytes);
  *out = s;
  return ST_OK;
}

st_status st__storage_init(st_storage *s, int inline_units, st_device device,
                           size_t nbytes) {
  char *data;
  void *ctx;
  st_limits *owner;
  init_bare(s, inline_units, device, nbytes);
  if (inline_units * ST_INLINE_UNIT > ST_INLINE_HEAD) {
    ST_TRY(st__limits_charge(charge_of(nbytes), &owner));
    s->free_ctx = owner;
    s->data = inline_data(s);
    st__count(ST_MEM_DATA, 1, (int64_t)nbytes);
  } else if (device != ST_DEVICE_META) {
    ST_TRY(new_data(s, nbytes, &data, &ctx));
    adopt(s, data, ctx);
  }
  return ST_OK;
}

st_status st__storage_new(st_device device, size_t nbytes, st_storage **out) {
  st_storage *s = st__alloc(ST_MEM_STORAGE, sizeof *s);
  if (!s) return ST_NO_MEMORY;
  const st_status status = st__storage_init(s, 0, device, nbytes);
  if (status == ST_OK) *out = s;
  else st__free(ST_MEM_STORAGE, s, sizeof *s);
  return status;
}

st_status st__storage_wrap(void *data, size_t nbytes, st_storage_free_fn fn,
                           void *ctx, st_storage **out) {
  if (!data && nbytes) {
    return st__fail(ST_BAD_VALUE, "a storage of %zu bytes needs memory, "
                    "got NULL", nbytes);
  }
  st_storage *s;
  ST_TRY(st__storage_new_bare(ST_DEVICE_CPU, nbytes, &s));
  s->data = data;
  s->free_fn = fn ? fn : no_free;
  s->free_ctx = ctx;
  *out = s;
  return ST_OK;
}

static st_status check_move(const st_storage *s) {
  if (atomic_load_explicit(&s->is_shared, memory_order_relaxed)) {
    return st__fail(ST_BAD_STATE, "a shared storage cannot grow: its %zu "
                    "bytes must not move", s->nbytes);
  }
  if (!s->data && s->nbytes) return st__refuse_memoryless();
  if (s->device == ST_DEVICE_CPU || s->nbytes == 0 ||
      devices[s->device].allocator.move) {
    return ST_OK;
  }
  return st__fail(ST_BAD_STATE, "device '%s' cannot move elements into a "
                  "larger storage", st__device_name(s->device));
}

static void move_data(const st_storage *s, char *to, size_t nbytes) {
  const st_allocator *a = &devices[s->device].allocator;
  if (nbytes == 0) return;
  if (s->device == ST_DEVICE_CPU) {
    memcpy(to, s->data, nbytes);
  } else {
    a->move(a->ctx, to, s->data, nbytes);
  }
}

st_status st__storage_resize(st_storage *s, size_t nbytes) {
  if (s->device != ST_DEVICE_META) {
    char *data;
    void *ctx;
    ST_TRY(check_move(s));
    ST_TRY(new_data(s, nbytes, &data, &ctx));
    move_data(s, data, nbytes < s->nbytes ? nbytes : s->nbytes);
    free_data(s);
    adopt(s, data, ctx);
  }
  s->nbytes = nbytes;
  return ST_OK;
}

void st__storage_retain(st_storage *s) { st__ref_take(&s->refs); }

void st__storage_release(st_storage **s) {
  st_storage *p = *s;
  *s = NULL;
  if (!p || !st__ref_drop_strong(&p->refs)) return;
  free_data(p);
  if (!p->inline_units) {
    st__free(ST_MEM_STORAGE, p, sizeof *p);
    return;
  }
  st__count(ST_MEM_STORAGE, -1, -(int64_t)sizeof *p);
  st__inline_storage_drop(inline_storage_of(p));
}
