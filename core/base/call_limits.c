/* Limits of the calls of a thread: Note [Limits of calls].
 */

#include "base/call_limits.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/refcount.h"
#include "base/status.h"

struct st_limits {
  st_refcount refs;
  int threads;              /* 0: as many as the process uses */
  int64_t memory;           /* bytes */
  double seconds;           /* of the period that runs, for messages */
  _Atomic int64_t used;     /* bytes */
  _Atomic int64_t deadline; /* ns; INT64_MAX: none */
};

atomic_bool st__has_limits;

static _Thread_local st_limits *current;

/* -- Lifetime ------------------------------------------------------------- */

/* Interrupts a long call whose time is over. */
static bool is_over(void) { return st__limits_test_time() != ST_OK; }

st_status st_limits_new(int64_t memory, int threads, st_limits **out) {
  if (memory < 0) {
    return st__fail(ST_BAD_VALUE, "the limit must not be negative, got %" PRId64
                    " bytes", memory);
  }
  if (threads < 0) {
    return st__fail(ST_BAD_VALUE, "the number of threads must not be "
                    "negative, got %d", threads);
  }
  ST_TRY(st_add_interrupt_check(is_over));
  st_limits *l = st__alloc_zero(ST_MEM_VALUE, sizeof *l);
  if (!l) return ST_NO_MEMORY;
  st__ref_init(&l->refs);
  l->memory = memory;
  l->threads = threads;
  atomic_init(&l->used, 0);
  atomic_init(&l->deadline, INT64_MAX);
  atomic_store_explicit(&st__has_limits, true, memory_order_relaxed);
  *out = l;
  return ST_OK;
}


void st_limits_release(st_limits **l) {
  st_limits *p = *l;
  *l = NULL;
  if (p && st__ref_drop(&p->refs)) st__free(ST_MEM_VALUE, p, sizeof *p);
}

st_limits *st_limits_enter(st_limits *l) {
  st_limits *before = current;
  current = l;
  return before;
}

/* -- Threads -------------------------------------------------------------- */

static _Thread_local int own_threads; /* 0: no limit */

void st_limit_own_threads(int n) { own_threads = n; }

int st__limits_threads(int n) {
  if (own_threads > 0 && own_threads < n) n = own_threads;
  if (!st__may_have_limits() || !current || current->threads == 0) return n;
  return n < current->threads ? n : current->threads;
}

/* -- Time ----------------------------------------------------------------- */

void st_limits_set_time(st_limits *l, double seconds) {
  const bool is_limited = seconds < 1e9; /* 30 years; false for NaN, too */
  l->seconds = seconds;
  l->deadline = is_limited ? st__now() + (int64_t)(seconds * 1e9) : INT64_MAX;
}

st_status st__limits_test_time(void) {
  if (!current || current->deadline == INT64_MAX ||
      st__now() < current->deadline) {
    return ST_OK;
  }
  return st__fail(ST_BAD_STATE, "the time limit of %g s is over",
                  current->seconds);
}

/* -- Memory --------------------------------------------------------------- */

int64_t st_limits_used(const st_limits *l) { return l->used; }

/* Adds n bytes, unless that exceeds the limit. */
static bool add(st_limits *l, size_t n) {
  const int64_t more = n > INT64_MAX ? INT64_MAX : (int64_t)n;
  int64_t used = l->used;
  do {
    if (used > l->memory || more > l->memory - used) {
      st__fail(ST_NO_MEMORY, "out of memory: %zu bytes requested; %" PRId64 " "
               "are live, the limit here is %" PRId64, n, used, l->memory);
      return false;
    }
  } while (!atomic_compare_exchange_weak(&l->used, &used, used + more));
  return true;
}

st_status st__limits_add(size_t n, st_limits **owner) {
  if (!current) return ST_OK;
  if (!add(current, n)) return ST_NO_MEMORY;
  st__ref_take(&current->refs);
  *owner = current;
  return ST_OK;
}

void st__limits_subtract(st_limits *owner, size_t n) {
  atomic_fetch_sub(&owner->used, (int64_t)n);
  st_limits_release(&owner);
}

bool st__limits_charge_scratch(size_t n) {
  return !current || add(current, n);
}

void st__limits_credit_scratch(size_t n) {
  if (current) atomic_fetch_sub(&current->used, (int64_t)n);
}

/* -- Charged blocks ------------------------------------------------------- */

/* The table of Note [Charged blocks], in parts, each with a lock and open
 * addressing. */
enum { PARTS = 16, FIRST_ROOM = 64, ENTRY = 64 /* bytes of one, with slack */ };

typedef struct entry {
  uintptr_t block;  /* 0: none */
  st_limits *owner;
  size_t n;
} entry;

typedef struct part {
  pthread_mutex_t lock;
  entry *entries;
  size_t count, room; /* room is a power of two */
} part;

static part parts[PARTS];
static atomic_int_fast64_t count; /* of all entries */

static void lock_all(void) {
  for (int i = 0; i < PARTS; i++) pthread_mutex_lock(&parts[i].lock);
}

static void unlock_all(void) {
  for (int i = 0; i < PARTS; i++) pthread_mutex_unlock(&parts[i].lock);
}

static void set_up(void) {
  for (int i = 0; i < PARTS; i++) pthread_mutex_init(&parts[i].lock, NULL);
  pthread_atfork(lock_all, unlock_all, unlock_all);
}

static uint64_t hash_of(uintptr_t block) {
  return (uint64_t)(block >> 4) * 0x9e3779b97f4a7c15u;
}

static part *part_of(uintptr_t block) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, set_up);
  return &parts[hash_of(block) >> 60];
}

/* The slot of a block, or the empty one where it belongs. */
static size_t slot_of(const part *t, uintptr_t block) {
  size_t i = (size_t)(hash_of(block) >> 16) & (t->room - 1);
  while (t->entries[i].block && t->entries[i].block != block) {
    i = (i + 1) & (t->room - 1);
  }
  return i;
}

static bool grow(part *t) {
  part more = {.room = t->room ? 2 * t->room : FIRST_ROOM};
  more.entries = calloc(more.room, sizeof *more.entries);
  if (!more.entries) return false;
  for (size_t i = 0; i < t->room; i++) {
    const entry e = t->entries[i];
    if (e.block) more.entries[slot_of(&more, e.block)] = e;
  }
  free(t->entries);
  t->entries = more.entries;
  t->room = more.room;
  return true;
}

static bool insert(entry e) {
  part *t = part_of(e.block);
  pthread_mutex_lock(&t->lock);
  const bool has_room = t->count < t->room / 2 || grow(t);
  if (has_room) {
    t->entries[slot_of(t, e.block)] = e;
    t->count++;
  }
  pthread_mutex_unlock(&t->lock);
  return has_room;
}

bool st__block_add(const void *p, size_t n) {
  entry e = {(uintptr_t)p, NULL, n + ENTRY};
  if (st__limits_add(e.n, &e.owner) != ST_OK) return false;
  if (!e.owner) return true;
  if (insert(e)) {
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return true;
  }
  st__limits_subtract(e.owner, e.n);
  st__fail(ST_NO_MEMORY, "out of memory: %zu bytes requested", n);
  return false;
}

/* Empties a slot, and moves the entries after it that belong before it. */
static void empty_slot(part *t, size_t i) {
  const size_t mask = t->room - 1;
  for (size_t k = (i + 1) & mask; t->entries[k].block; k = (k + 1) & mask) {
    const size_t home = (size_t)(hash_of(t->entries[k].block) >> 16) & mask;
    if (((k - home) & mask) >= ((k - i) & mask)) {
      t->entries[i] = t->entries[k];
      i = k;
    }
  }
  t->entries[i] = (entry){0, NULL, 0};
  t->count--;
}

/* Takes the entry of a block out; its owner is NULL if it has none. */
static entry take(const void *p) {
  entry e = {0, NULL, 0};
  if (!p || atomic_load_explicit(&count, memory_order_relaxed) == 0) return e;
  part *t = part_of((uintptr_t)p);
  pthread_mutex_lock(&t->lock);
  if (t->room) {
    const size_t i = slot_of(t, (uintptr_t)p);
    e = t->entries[i];
    if (e.block) empty_slot(t, i);
  }
  pthread_mutex_unlock(&t->lock);
  if (e.owner) atomic_fetch_sub_explicit(&count, 1, memory_order_relaxed);
  return e;
}

void st__block_remove(const void *p) {
  const entry e = take(p);
  if (e.owner) st__limits_subtract(e.owner, e.n);
}

/* The new block is charged before the old one is credited. A block whose entry
 * finds no memory is not charged. */
static void put(entry e) {
  if (!e.owner) return;
  if (insert(e)) atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
  else st__limits_subtract(e.owner, e.n);
}

void *st_limits_realloc(void *p, size_t n) {
  entry more = {0, NULL, n + ENTRY};
  if (st__may_have_limits() && st__limits_add(more.n, &more.owner) != ST_OK) {
    return NULL;
  }
  const entry old = take(p);
  void *resized = realloc(p, n ? n : 1);
  if (!resized) {
    put(old);
    if (more.owner) st__limits_subtract(more.owner, more.n);
    st__fail(ST_NO_MEMORY, "out of memory: %zu bytes requested", n);
    return NULL;
  }
  if (old.owner) st__limits_subtract(old.owner, old.n);
  more.block = (uintptr_t)resized;
  put(more);
  return resized;
}
