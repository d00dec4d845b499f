/* Atomic reference counts: relaxed increments, acquire-release decrements. */
#ifndef ST_BASE_REFCOUNT_H
#define ST_BASE_REFCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct st_refcount { atomic_int_least32_t n; } st_refcount;

static inline void st__ref_init(st_refcount *r) { atomic_init(&r->n, 1); }

static inline void st__ref_take(st_refcount *r) {
  atomic_fetch_add_explicit(&r->n, 1, memory_order_relaxed);
}

/* True if this was the last reference: the caller must free the object. */
static inline bool st__ref_drop(st_refcount *r) {
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
