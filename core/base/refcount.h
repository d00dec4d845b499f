/* Atomic reference counts: relaxed increments, acquire-release decrements.
 *
 * Note [Counts of one thread]
 * An atomic read-modify-write takes 5 ns, a view needs four. The C library says
 * whether the process has a single thread: then a load and a store are enough.
 * Only that thread can start another one, so not between the two.
 */
#ifndef ST_BASE_REFCOUNT_H
#define ST_BASE_REFCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define ST_HAS_SINGLE_THREADED 1
#endif
#endif
#ifndef ST_HAS_SINGLE_THREADED
#define ST_HAS_SINGLE_THREADED 0
#endif

typedef struct st_refcount { atomic_int_least32_t n; } st_refcount;

static inline void st__ref_init(st_refcount *r) { atomic_init(&r->n, 1); }

static inline bool st__is_only_thread(void) {
#if ST_HAS_SINGLE_THREADED
  return __libc_single_threaded;
#else
  return false;
#endif
}

/* Adds `by` without a read-modify-write; returns the new count. */
static inline int32_t st__ref_add(st_refcount *r, int32_t by) {
  const int32_t n = by + atomic_load_explicit(&r->n, memory_order_relaxed);
  atomic_store_explicit(&r->n, n, memory_order_relaxed);
  return n;
}

static inline void st__ref_take(st_refcount *r) {
  if (st__is_only_thread()) st__ref_add(r, 1);
  else atomic_fetch_add_explicit(&r->n, 1, memory_order_relaxed);
}

/* True if this was the last reference: the caller must free the object. */
static inline bool st__ref_drop(st_refcount *r) {
  if (st__is_only_thread()) return st__ref_add(r, -1) == 0;
  return atomic_fetch_sub_explicit(&r->n, 1, memory_order_acq_rel) == 1;
}

/* True if the caller has the only reference to an object without weak
 * references. Then nobody else can take one. */
static inline bool st__ref_is_last(st_refcount *r) {
  return atomic_load_explicit(&r->n, memory_order_acquire) == 1;
}

/* st__ref_drop for such an object. The only owner needs no atomic
 * read-modify-write. */
static inline bool st__ref_drop_strong(st_refcount *r) {
  return st__ref_is_last(r) || st__ref_drop(r);
}

static inline int st__ref_count(const st_refcount *r) {
  return (int)atomic_load_explicit(&((st_refcount *)(uintptr_t)r)->n,
                                   memory_order_relaxed);
}

#endif
