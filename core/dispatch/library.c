/* Libraries: groups of registrations with one lifetime (R2). */

#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "dispatch/entry.h"

struct st_library {
  st_library *next;      /* in namespace_owners */
  char *ns;
  st_library_kind kind;
  st_key key;            /* the key of all its kernels, or ST_KEY_INVALID */
  int flags;
  const char *debug;
  bool is_open;          /* false once another library took its namespace */
  bool is_committed;     /* registrations take effect at once */
  st_registration **items;
  int n, capacity;
};

/* A library may take the namespace of another that a different thread uses,
 * so all libraries share one mutex. It is recursive, because a listener may
 * use a library, too. Lock order: this mutex, then the registry's. */
static pthread_mutex_t mutex;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static st_library *namespace_owners; /* DEF libraries */

static void make_mutex(void) {
  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&mutex, &recursive);
  pthread_mutexattr_destroy(&recursive);
}

static void before_fork(void) { pthread_mutex_lock(&mutex); }
static void after_fork(void) { pthread_mutex_unlock(&mutex); }

/* A recursive mutex stores the thread id of its owner. The thread has another
 * id in the child of a fork and cannot unlock the mutex there, so the child
 * initializes it again. */
static void init(void) {
  make_mutex();
  st__thread_set_up();
  pthread_atfork(before_fork, after_fork, make_mutex);
}

static void lock(void) {
  pthread_once(&once, init);
  pthread_mutex_lock(&mutex);
}

static st_status unlock(st_status status) {
  pthread_mutex_unlock(&mutex);
  return status;
}

static const char *const kind_names[] = {"DEF", "FRAGMENT", "IMPL"};

/* -- Items ---------------------------------------------------------------- */

static st_status reserve(st_library *lib, int more) {
  if (lib->n + more <= lib->capacity) return ST_OK;
  const int capacity = 2 * lib->capacity + (more < 8 ? 8 : more);
  st_registration **items = st__alloc(ST_MEM_REGISTRY,
                                      (size_t)capacity * sizeof *items);
  if (!items) return ST_NO_MEMORY;
  if (lib->n) memcpy(items, lib->items, (size_t)lib->n * sizeof *items);
  st__free(ST_MEM_REGISTRY, lib->items, (size_t)lib->capacity * sizeof *items);
  lib->items = items;
  lib->capacity = capacity;
  return ST_OK;
}

/* The index of the item with the slot of r, or -1: the definition of the same
 * operator, its kernel or the fallback for the same key. */
static int find_slot(const st_library *lib, const st_registration *r) {
  for (int i = lib->n - 1; i >= 0; i--) {
    const st_registration *old = lib->items[i];
    if (old->what == r->what && old->op == r->op && old->key == r->key) {
      return i;
    }
  }
  return -1;
}

static void remove_item(st_library *lib, int i) {
  memmove(&lib->items[i], &lib->items[i + 1],
          (size_t)(--lib->n - i) * sizeof *lib->items);
}

enum { MAX_ITEMS = 2 }; /* a definition and its kernel */

/* Adds prepared registrations to the library, all or none; with ST_REPLACE
 * each replaces the item of the same slot. On failure the caller still owns
 * the registrations. Listeners are notified last, because they may use the
 * library or close it. */
static st_status add_items(st_library *lib, st_registration *const *new,
                           int n) {
  st_registration *drop[MAX_ITEMS];
  int old[MAX_ITEMS], ndrop = 0;
  ST_TRY(reserve(lib, n));
  for (int i = 0; i < n; i++) {
    old[i] = lib->flags & ST_REPLACE ? find_slot(lib, new[i]) : -1;
    if (old[i] >= 0) drop[ndrop++] = lib->items[old[i]];
  }
  const bool notifies = lib->is_committed;
  if (notifies) ST_TRY(st__link_silent(new, n, drop, ndrop));
  for (int i = 0; i < n; i++) {
    const int at = old[i] < 0 ? -1 : find_slot(lib, new[i]);
    if (at >= 0 && !notifies) st__discard_owned(&lib->items[at]);
    if (at >= 0) remove_item(lib, at);
    lib->items[lib->n++] = new[i];
  }
  if (notifies) st__notify(new, n, drop, ndrop);
  return ST_OK;
}

static st_status keep_registrations(st_library *lib, st_registration **new,
                                    int n) {
  const st_status status = add_items(lib, new, n);
  for (int i = 0; i < n && status != ST_OK; i++) st__discard(&new[i]);
  return status;
}

/* -- Checks --------------------------------------------------------------- */

static st_status check_open(const st_library *lib) {
  if (lib->is_open) return ST_OK;
  return st__fail(ST_BAD_STATE, "the library '%s' is closed: another one took "
                  "its namespace", lib->ns);
}

/* Writes "ns::name" into buf. If the name has a namespace, it must be that of
 * the library. */
static st_status qualify(const st_library *lib, const char *name, char *buf,
                         size_t size) {
  const char *colons = strstr(name, "::");
  const size_t n = colons ? (size_t)(colons - name) : 0;
  if (strlen(name) + strlen(lib->ns) + 3 > size) {
    return st__fail(ST_BAD_VALUE, "the name '%.60s...' is too long", name);
  }
  if (!colons && strcmp(lib->ns, "_") == 0) {
    return st__fail(ST_BAD_VALUE, "the namespace of the library is '_', so "
                    "the name '%.200s' must include a namespace", name);
  }
  if (colons && strcmp(lib->ns, "_") != 0 &&
      (strlen(lib->ns) != n || strncmp(name, lib->ns, n) != 0)) {
    return st__fail(ST_BAD_VALUE, "'%.200s' is not in the namespace '%s' of "
                    "the library", name, lib->ns);
  }
  snprintf(buf, size, colons ? "%s%s" : "%s::%s", colons ? "" : lib->ns,
           name);
  return ST_OK;
}

/* The key called name, or the default key of the library for NULL. */
static st_status find_key(const st_library *lib, const char *name,
                          st_key *out) {
  if (!name) {
    *out = lib->key == ST_KEY_INVALID ? ST_KEY_COMPOSITE_IMPLICIT : lib->key;
    return ST_OK;
  }
  *out = st__key_parse(name);
  if (*out == ST_KEY_INVALID) {
    return st__fail(ST_BAD_VALUE, "there is no dispatch key '%.80s'", name);
  }
  if (lib->key != ST_KEY_INVALID && *out != lib->key) {
    return st__fail(ST_BAD_VALUE, "the library '%s' is for the key %s, not "
                    "for %s", lib->ns, st__key_name(lib->key), name);
  }
  return ST_OK;
}

/* -- Registering ---------------------------------------------------------- */

static st_status prepare_definition(const st_library *lib,
                                    const st_definition *d,
                                    st_registration **out) {
  st_definition own = *d;
  own.ns = lib->ns;
  ST_TRY(check_open(lib));
  if (lib->kind == ST_LIBRARY_IMPL) {
    return st__fail(ST_BAD_STATE, "the library '%s' is an IMPL library: it "
                    "cannot define '%.200s'", lib->ns, d->schema);
  }
  return st__prepare_definition(&own, lib->flags & ST_REPLACE, out);
}

static st_status prepare_kernel(const st_library *lib, const char *name,
                                st_key key, const st_kernel *kernel,
                                st_registration **out) {
  ST_TRY(st__prepare_kernel(name, key, kernel, lib->flags & ST_REPLACE, out));
  (*out)->is_of_library = true;
  return ST_OK;
}

/* Prepares the kernel that is registered together with a definition. */
static st_status prepare_kernel_of(const st_library *lib,
                                   const st_registration *def,
                                   const st_kernel *kernel,
                                   st_registration **out) {
  const char *name = st__op_full_name(st__registration_op(def));
  st_key key;
  ST_TRY(find_key(lib, NULL, &key));
  return prepare_kernel(lib, name, key, kernel, out);
}

static st_status define(st_library *lib, const st_definition *d,
                        const st_kernel *kernel) {
  st_registration *new[MAX_ITEMS];
  ST_TRY(prepare_definition(lib, d, &new[0]));
  if (!kernel) return keep_registrations(lib, new, 1);
  const st_status status = prepare_kernel_of(lib, new[0], kernel, &new[1]);
  if (status != ST_OK) {
    st__discard(&new[0]);
    return status;
  }
  return keep_registrations(lib, new, 2);
}

static st_status implement(st_library *lib, const char *name,
                           const char *key, const st_kernel *kernel) {
  st_registration *r;
  char full[512];
  st_key k;
  ST_TRY(check_open(lib));
  ST_TRY(qualify(lib, name, full, sizeof full));
  ST_TRY(find_key(lib, key, &k));
  ST_TRY(prepare_kernel(lib, full, k, kernel, &r));
  return keep_registrations(lib, &r, 1);
}

static st_status add_fallback(st_library *lib, const char *key,
                              const st_kernel *kernel) {
  st_registration *r;
  st_key k;
  ST_TRY(check_open(lib));
  if (lib->kind != ST_LIBRARY_IMPL || strcmp(lib->ns, "_") != 0) {
    return st__fail(ST_BAD_STATE, "a fallback serves the operators of all "
                    "namespaces: it needs an IMPL library of the namespace "
                    "'_', not the %s library '%s'", kind_names[lib->kind],
                    lib->ns);
  }
  if (!key && lib->key == ST_KEY_INVALID) {
    return st__fail(ST_BAD_VALUE, "a fallback needs a dispatch key");
  }
  ST_TRY(find_key(lib, key, &k));
  ST_TRY(st__prepare_fallback(k, kernel, lib->flags & ST_REPLACE, false, &r));
  return keep_registrations(lib, &r, 1);
}

st_status st__library_define(st_library *lib, const st_definition *d,
                             const st_kernel *kernel) {
  lock();
  return unlock(define(lib, d, kernel));
}

st_status st__library_implement(st_library *lib, const char *name,
                                const char *key, const st_kernel *kernel) {
  lock();
  return unlock(implement(lib, name, key, kernel));
}

st_status st_library_fallback(st_library *lib, const char *key,
                              const st_kernel *kernel) {
  lock();
  return unlock(add_fallback(lib, key, kernel));
}

/* -- Namespaces ----------------------------------------------------------- */

/* The namespace aten belongs to the engine, so no DEF library can own it. */
static st_status check_namespace(const char *ns, st_library_kind kind) {
  if (strcmp(ns, "_") == 0) {
    if (kind == ST_LIBRARY_IMPL) return ST_OK;
    return st__fail(ST_BAD_VALUE, "the namespace '_' is for IMPL libraries, "
                    "not for a %s library", kind_names[kind]);
  }
  if (!st__is_name(ns, strlen(ns))) {
    return st__fail(ST_BAD_VALUE, "'%.80s' is not the name of a namespace",
                    ns);
  }
  if (strcmp(ns, "aten") == 0 && kind == ST_LIBRARY_DEF) {
    return st__fail(ST_BAD_STATE, "the namespace 'aten' belongs to the "
                    "engine: open a FRAGMENT to add operators to it, or an "
                    "IMPL library to add kernels");
  }
  return ST_OK;
}

static st_library *find_owner(const char *ns) {
  st_library *lib = namespace_owners;
  while (lib && strcmp(lib->ns, ns) != 0) lib = lib->next;
  return lib;
}

static void release_namespace(st_library *lib) {
  st_library **link = &namespace_owners;
  while (*link && *link != lib) link = &(*link)->next;
  if (*link) *link = lib->next;
}

/* Makes lib the owner of its namespace; *out is the previous owner, or NULL. */
static st_status acquire_namespace(st_library *lib, st_library **out) {
  st_library *old = *out = find_owner(lib->ns);
  if (old && !(old->flags & lib->flags & ST_REPLACE)) {
    return st__fail(ST_BAD_STATE, "the namespace '%s' is defined by the "
                    "library of '%s'; '%s' can add to it as a FRAGMENT",
                    lib->ns, old->debug, lib->debug);
  }
  if (old) {
    release_namespace(old);
    old->is_open = false;
  }
  lib->next = namespace_owners;
  namespace_owners = lib;
  return ST_OK;
}

/* -- Commit --------------------------------------------------------------- */

/* Moves the items of staged to lib, which has reserved room for them. */
static void move_items(st_library *lib, st_library *staged) {
  if (staged->n) {
    memcpy(&lib->items[lib->n], staged->items,
           (size_t)staged->n * sizeof *staged->items);
  }
  lib->n += staged->n;
  staged->n = 0;
}

/* Links the registrations of lib and drops those of old, all or none.
 * Listeners are notified last: see add_items. */
static st_status link_items(st_library *lib, st_library *old) {
  const int n = lib->n, ndrop = old ? old->n : 0;
  const size_t size = (size_t)(n + ndrop + 1) * sizeof(st_registration *);
  st_registration **list = st__alloc(ST_MEM_SCRATCH, size);
  if (!list) return ST_NO_MEMORY;
  for (int i = 0; i < n; i++) list[i] = lib->items[i];
  for (int i = 0; i < ndrop; i++) list[n + i] = old->items[ndrop - 1 - i];
  const st_status status = st__link_silent(list, n, list + n, ndrop);
  if (status == ST_OK) {
    if (old) old->n = 0;
    lib->is_committed = true;
    st__notify(list, n, list + n, ndrop);
  }
  st__free(ST_MEM_SCRATCH, list, size);
  return status;
}

static st_status take_namespace(st_library *lib) {
  st_library *old = NULL;
  if (lib->kind == ST_LIBRARY_DEF) ST_TRY(acquire_namespace(lib, &old));
  const st_status status = link_items(lib, old);
  if (status == ST_OK || lib->kind != ST_LIBRARY_DEF) return status;
  release_namespace(lib);
  if (old) {
    old->is_open = true;
    old->next = namespace_owners;
    namespace_owners = old;
  }
  return status;
}

st_status st_library_commit(st_library *lib) {
  lock();
  return unlock(lib->is_committed ? ST_OK : take_namespace(lib));
}

/* -- Opening and closing -------------------------------------------------- */

static void free_library(st_library *lib) {
  const size_t items = (size_t)lib->capacity * sizeof *lib->items;
  st__free(ST_MEM_REGISTRY, lib->items, items);
  if (lib->ns) st__free(ST_MEM_REGISTRY, lib->ns, strlen(lib->ns) + 1);
  st__free(ST_MEM_REGISTRY, lib, sizeof *lib);
}

static st_status new_library(const char *ns, const char *debug,
                             st_library **out) {
  st_library *lib = st__alloc_zero(ST_MEM_REGISTRY, sizeof *lib);
  if (!lib) return ST_NO_MEMORY;
  lib->ns = st__strndup(ST_MEM_REGISTRY, ns, strlen(ns));
  st__lock();
  const st_status status = lib->ns ? st__intern_debug(debug, &lib->debug)
                                   : ST_NO_MEMORY;
  st__unlock();
  if (status == ST_OK) *out = lib;
  else free_library(lib);
  return status;
}

st_status st_library_open(const char *ns, st_library_kind kind,
                          const char *key, int flags, const char *debug,
                          st_library **out) {
  st_library *lib;
  const st_key k = key ? st__key_parse(key) : ST_KEY_INVALID;
  ST_TRY(check_namespace(ns, kind));
  if (key && k == ST_KEY_INVALID) {
    return st__fail(ST_BAD_VALUE, "there is no dispatch key '%.80s'", key);
  }
  ST_TRY(new_library(ns, debug, &lib));
  lib->kind = kind;
  lib->key = k;
  lib->flags = flags;
  lib->is_open = true;
  if (!(flags & ST_DEFER)) {
    const st_status status = st_library_commit(lib);
    if (status != ST_OK) {
      free_library(lib);
      return status;
    }
  }
  *out = lib;
  return ST_OK;
}

bool st_library_is_open(const st_library *lib) {
  lock();
  const bool is_open = lib->is_open;
  unlock(ST_OK);
  return is_open;
}

const char *st__library_key(const st_library *lib) {
  return lib->key == ST_KEY_INVALID ? "" : st__key_name(lib->key);
}

const char *st_library_namespace(const st_library *lib) { return lib->ns; }

void st_library_close(st_library **handle) {
  st_library *lib = *handle;
  *handle = NULL;
  if (!lib) return;
  lock();
  release_namespace(lib);
  for (int i = lib->n - 1; i >= 0; i--) {
    if (lib->is_committed) st_registration_release(&lib->items[i]);
    else st__discard_owned(&lib->items[i]);
  }
  unlock(ST_OK);
  free_library(lib);
}

/* -- Staged libraries ----------------------------------------------------- */

st_status st__library_stage(const st_library *lib, st_library **out) {
  const char *key = lib->key == ST_KEY_INVALID ? NULL
                                               : st__key_name(lib->key);
  const st_library_kind kind = lib->kind == ST_LIBRARY_DEF
                               ? ST_LIBRARY_FRAGMENT : lib->kind;
  lock();
  const st_status status = check_open(lib);
  unlock(status);
  ST_TRY(status);
  return st_library_open(lib->ns, kind, key, lib->flags | ST_DEFER,
                         lib->debug, out);
}

/* Writes to old the registrations of lib that those of staged replace, in the
 * reverse order of staged; returns their number. */
static int find_replaced(const st_library *lib, const st_library *staged,
                         st_registration **old) {
  int n = 0;
  for (int i = staged->n - 1; i >= 0 && (lib->flags & ST_REPLACE); i--) {
    const int at = find_slot(lib, staged->items[i]);
    if (at >= 0) old[n++] = lib->items[at];
  }
  return n;
}

static void remove_replaced(st_library *lib, const st_library *staged,
                            bool discards) {
  for (int i = 0; i < staged->n && (lib->flags & ST_REPLACE); i++) {
    const int at = find_slot(lib, staged->items[i]);
    if (at < 0) continue;
    if (discards) st__discard_owned(&lib->items[at]);
    remove_item(lib, at);
  }
}

static st_status link_staged(st_library *lib, st_library *staged) {
  const int n = staged->n;
  const size_t size = (size_t)(2 * n + 1) * sizeof(st_registration *);
  st_registration **list = st__alloc(ST_MEM_SCRATCH, size);
  if (!list) return ST_NO_MEMORY;
  for (int i = 0; i < n; i++) list[i] = staged->items[i];
  const int ndrop = find_replaced(lib, staged, list + n);
  const st_status status = st__link_silent(list, n, list + n, ndrop);
  if (status == ST_OK) {
    remove_replaced(lib, staged, false);
    move_items(lib, staged);
    st__notify(list, n, list + n, ndrop);
  }
  st__free(ST_MEM_SCRATCH, list, size);
  return status;
}

static st_status merge_staged(st_library *lib, st_library *staged) {
  ST_TRY(check_open(lib));
  ST_TRY(reserve(lib, staged->n));
  if (lib->is_committed) return link_staged(lib, staged);
  remove_replaced(lib, staged, true);
  move_items(lib, staged);
  return ST_OK;
}

st_status st__library_merge(st_library *lib, st_library *staged) {
  lock();
  return unlock(merge_staged(lib, staged));
}
