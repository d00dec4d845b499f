/* A table of charged blocks: Note [Charged blocks]. It is in parts, each with a
 * lock and open addressing.
 */

#include "base/charged_block.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/status.h"

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

void *st__block_resize(void *p, size_t n) {
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
