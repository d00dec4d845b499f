/* The table of devices, and the memory of those that extensions bring: Note
 * [Memory of extension devices].
 */

#include "tensor/device.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { NAME_SIZE = 32, NUMBERED = NAME_SIZE + 4 };

typedef struct device_entry {
  const char *default_name; /* name before registration */
  char names[ST_BACKEND_DEVICES][NUMBERED];
  int ndevices;
  bool has_backend;         /* else it has an allocator */
  st_backend backend;
  st_allocator allocator;
  atomic_bool is_registered; /* set last; constant after that */
} device_entry;

/* ORDER DEVICE: st_device */
static device_entry devices[ST_DEVICE_COUNT] = {
  {.default_name = "cpu"}, {.default_name = "meta"},
  {.default_name = "privateuse1"}, {.default_name = "privateuse2"},
  {.default_name = "privateuse3"}
};

static bool is_registered(const device_entry *e) {
  return atomic_load_explicit(&e->is_registered, memory_order_acquire);
}

/* Devices of this kind; one before it is registered. */
static int count(const device_entry *e) {
  return is_registered(e) ? e->ndevices : 1;
}

/* -- Names ---------------------------------------------------------------- */

bool st__is_device(int64_t number) {
  const int64_t kind = number % ST_DEVICE_STEP;
  return number >= 0 && kind < ST_DEVICE_COUNT &&
         number / ST_DEVICE_STEP < count(&devices[kind]);
}

st_status st__read_any_device(int64_t number, st_device *out) {
  if (!st__is_device(number)) {
    return st__fail(ST_BAD_VALUE, "there is no device number %" PRId64,
                    number);
  }
  *out = (st_device)number;
  return ST_OK;
}

const char *st__device_name(st_device d) {
  if (!st__is_device(d)) return "unknown";
  const device_entry *e = &devices[ST_DEVICE_KIND(d)];
  return is_registered(e) ? e->names[ST_DEVICE_NUMBER(d)] : e->default_name;
}

const char *st__device_key(st_device d) {
  static const char *const keys[ST_DEVICE_COUNT] = {
    "CPU", "Meta", "PrivateUse1", "PrivateUse2", "PrivateUse3"};
  return keys[ST_DEVICE_KIND(d)];
}

/* The number behind a colon, 0 without one; -1 for anything else. */
static int parse_number(const char *text) {
  if (!*text) return 0;
  const size_t digits = strspn(text + 1, "0123456789");
  if (*text != ':' || digits < 1 || digits > 2 || text[1 + digits]) return -1;
  if (digits == 2 && text[1] == '0') return -1;
  return digits == 1 ? text[1] - '0' : 10 * (text[1] - '0') + text[2] - '0';
}

static int match(const char *name, const char *of) {
  const size_t n = strlen(of);
  return strncmp(name, of, n) == 0 ? parse_number(name + n) : -1;
}

bool st_device_parse(const char *name, st_device *out) {
  for (int d = 0; d < ST_DEVICE_COUNT; d++) {
    int number = match(name, devices[d].default_name);
    if (number < 0) number = match(name, st__device_name((st_device)d));
    if (number < 0 || number >= count(&devices[d])) continue;
    *out = ST_DEVICE_AT(d, number);
    return true;
  }
  return false;
}

bool st_device_nth(int k, st_device *out) {
  for (int d = 0; d < ST_DEVICE_COUNT; d++) {
    const int n = d <= ST_DEVICE_META || is_registered(&devices[d])
                  ? count(&devices[d]) : 0;
    if (k < n) {
      *out = ST_DEVICE_AT(d, k);
      return true;
    }
    k -= n;
  }
  return false;
}

/* -- Registration --------------------------------------------------------- */

static bool is_valid_name(const char *s) {
  const size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");
  return n > 0 && n < NAME_SIZE && !s[n] && (*s < '0' || *s > '9');
}

static st_status check_free(st_device d, const char *name) {
  const device_entry *e = &devices[d];
  st_device other;
  if (is_registered(e)) {
    return st__fail(ST_BAD_STATE, "%s is already registered, as '%s'",
                    e->default_name, e->names[0]);
  }
  return st_device_parse(name, &other) && other != d
         ? st__fail(ST_BAD_STATE, "there is already a device '%s'", name)
         : ST_OK;
}

static st_status add_device(st_device d, const char *name,
                            const device_entry *from) {
  device_entry *e = &devices[d];
  ST_TRY(check_free(d, name));
  e->ndevices = from->ndevices;
  e->has_backend = from->has_backend;
  e->backend = from->backend;
  e->allocator = from->allocator;
  snprintf(e->names[0], NUMBERED, "%s", name);
  for (int k = 1; k < e->ndevices; k++) {
    snprintf(e->names[k], NUMBERED, "%s:%d", name, k);
  }
  atomic_store_explicit(&e->is_registered, true, memory_order_release);
  return ST_OK;
}

/* The fork handler reinitialises the mutex in the child. The entries that it
 * protects are complete before is_registered is set. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void reinit_mutex(void) {
  mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void register_atfork(void) { pthread_atfork(NULL, NULL, reinit_mutex); }

static st_status check_name(st_device d, const char *name) {
  if (d < ST_DEVICE_PRIVATEUSE1 || d >= ST_DEVICE_COUNT) {
    return st__fail(ST_BAD_VALUE, "device number %d cannot be registered",
                    (int)d);
  }
  if (!is_valid_name(name)) {
    return st__fail(ST_BAD_VALUE, "'%.40s' is not a valid device name: use "
                    "lower-case letters, digits and _, at most %d", name,
                    NAME_SIZE - 1);
  }
  return ST_OK;
}

/* from NULL: only checks that it could be added. */
static st_status add(st_device d, const char *name, const device_entry *from) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  ST_TRY(check_name(d, name));
  pthread_once(&once, register_atfork);
  pthread_mutex_lock(&mutex);
  const st_status status = from ? add_device(d, name, from)
                                : check_free(d, name);
  pthread_mutex_unlock(&mutex);
  return status;
}

st_status st_device_register(st_device d, const char *name,
                             const st_allocator *allocator) {
  if (!allocator->alloc || !allocator->free) {
    return st__fail(ST_BAD_VALUE, "an allocator needs alloc and free");
  }
  return add(d, name, &(device_entry){.ndevices = 1, .allocator = *allocator});
}

static int count_of(const st_backend *b) {
  return b->ndevices ? b->ndevices : 1;
}

st_status st__backend_check(st_device d, const char *name,
                            const st_backend *b) {
  const int n = count_of(b);
  if (!b->allocate || !b->free || !b->copy) {
    return st__fail(ST_BAD_VALUE, "a backend needs allocate, free and copy");
  }
  if (!b->compile != !b->run || !b->compile != !b->release) {
    return st__fail(ST_BAD_VALUE, "a backend has all of compile, run and "
                    "release, or none");
  }
  if (n < 1 || n > ST_BACKEND_DEVICES) {
    return st__fail(ST_BAD_VALUE, "a backend has 1 to %d devices, not %d",
                    ST_BACKEND_DEVICES, n);
  }
  return add(d, name, NULL);
}

st_status st__backend_add(st_device d, const char *name, const st_backend *b) {
  return add(d, name, &(device_entry){
    .ndevices = count_of(b), .has_backend = true, .backend = *b});
}

/* -- Memory --------------------------------------------------------------- */

static const device_entry *entry(st_device d) {
  return &devices[ST_DEVICE_KIND(d)];
}

const st_backend *st__backend_of(st_device d) {
  const device_entry *e = entry(d);
  return is_registered(e) && e->has_backend ? &e->backend : NULL;
}

bool st__device_compiles(st_device d) {
  const st_backend *b = st__backend_of(d);
  return b && b->compile;
}

st_status st__device_allocate(st_device d, size_t nbytes, void **block) {
  const device_entry *e = entry(d);
  if (!is_registered(e)) {
    return st__fail(ST_BAD_STATE, "device '%s' has no memory: it is not "
                    "registered", e->default_name);
  }
  const st_backend *b = &e->backend;
  *block = e->has_backend
    ? b->allocate(b->ctx, ST_DEVICE_NUMBER(d), nbytes ? nbytes : 1)
    : e->allocator.alloc(e->allocator.ctx, nbytes);
  return *block ? ST_OK
    : st__fail(ST_NO_MEMORY, "out of memory: device '%s' cannot allocate %zu "
               "bytes", st__device_name(d), nbytes);
}

void st__device_free(st_device d, void *block, size_t nbytes) {
  const device_entry *e = entry(d);
  const st_backend *b = &e->backend;
  if (e->has_backend) {
    b->free(b->ctx, ST_DEVICE_NUMBER(d), block, nbytes ? nbytes : 1);
  } else {
    e->allocator.free(e->allocator.ctx, block, nbytes);
  }
}

/* Allocators move whole blocks within one device only. */
static st_status move(const st_allocator *a, const st_place *to,
                      const st_place *from, size_t nbytes) {
  ST_ASSERT(a->move && to->offset == 0 && from->offset == 0);
  a->move(a->ctx, to->block, from->block, nbytes);
  return ST_OK;
}

st_status st__device_copy(const st_place *to, const st_place *from,
                          size_t nbytes) {
  const st_device d = to->device > ST_DEVICE_META ? to->device : from->device;
  const device_entry *e = entry(d);
  if (nbytes == 0) return ST_OK;
  return e->has_backend ? e->backend.copy(e->backend.ctx, to, from, nbytes)
                        : move(&e->allocator, to, from, nbytes);
}

st_status st__device_check_moves(st_device d) {
  const device_entry *e = entry(d);
  return e->has_backend || e->allocator.move ? ST_OK
    : st__fail(ST_BAD_STATE, "device '%s' cannot move elements into a larger "
               "storage", st__device_name(d));
}

/* -- Other functions ------------------------------------------------------ */

st_status st__device_synchronize(st_device d) {
  const st_backend *b = st__backend_of(d);
  return b && b->synchronize ? b->synchronize(b->ctx, ST_DEVICE_NUMBER(d))
                             : ST_OK;
}

st_status st__device_properties(st_device d, st_device_properties *out) {
  const st_backend *b = st__backend_of(d);
  memset(out, 0, sizeof *out);
  snprintf(out->name, sizeof out->name, "%s", st__device_name(d));
  return b && b->properties
         ? b->properties(b->ctx, ST_DEVICE_NUMBER(d), out) : ST_OK;
}

void st__devices_seed(uint64_t seed) {
  for (int d = ST_DEVICE_PRIVATEUSE1; d < ST_DEVICE_COUNT; d++) {
    const st_backend *b = st__backend_of((st_device)d);
    if (b && b->seed) b->seed(b->ctx, seed);
  }
}
