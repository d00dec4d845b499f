/* The pointers between a leaf and its AccumulateGrad node, and the mutex that
 * protects them.
 */

#include "grad/graph/leaf.h"

#include <pthread.h>

static st_leaf_node *of(const st_node *n) {
  return (st_leaf_node *)(uintptr_t)n;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void reinit_mutex(void) {
  mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void register_atfork(void) { pthread_atfork(NULL, NULL, reinit_mutex); }

/* Takes a reference unless the count has already reached zero. */
static bool try_retain(st_refcount *r) {
  int_least32_t refs = atomic_load(&r->n);
  while (refs > 0 && !atomic_compare_exchange_weak(&r->n, &refs, refs + 1)) {
  }
  return refs > 0;
}

st_tensor *st__leaf_take(const st_node *n) {
  pthread_mutex_lock(&mutex);
  st_tensor *const leaf = of(n)->leaf;
  const bool is_there = leaf && try_retain(&leaf->refs);
  pthread_mutex_unlock(&mutex);
  return is_there ? leaf : NULL;
}

/* Makes the node own its leaf. The caller holds the mutex. */
static void keep_leaf(st_leaf_node *a, st_tensor *t) {
  if (a->owns_leaf) return;
  st__tensor_retain(t);
  a->owns_leaf = true;
}

void st__leaf_keep(st_tensor *t) {
  pthread_mutex_lock(&mutex);
  st_node *n = t->history->accumulator;
  const bool is_there = n && try_retain(&n->refs);
  if (is_there) keep_leaf(of(n), t);
  pthread_mutex_unlock(&mutex);
  if (is_there) st__node_release(&n);
}

st_node *st__leaf_link(st_tensor *t, st_node *n) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  st_history *const h = t->history;
  pthread_once(&once, register_atfork);
  pthread_mutex_lock(&mutex);
  st_node *found = h->accumulator;
  if (found && !try_retain(&found->refs)) found = NULL;
  if (!found && n) {
    h->accumulator = found = n;
    h->has_accumulated = true;
    of(n)->leaf = t;
    if (h->hooks) keep_leaf(of(n), t);
  }
  pthread_mutex_unlock(&mutex);
  return found;
}

void st__leaf_unlink(st_node *n) {
  st_leaf_node *a = of(n);
  pthread_mutex_lock(&mutex);
  st_tensor *leaf = a->leaf;
  if (leaf && leaf->history->accumulator == n) {
    leaf->history->accumulator = NULL;
  }
  a->leaf = NULL;
  pthread_mutex_unlock(&mutex);
  if (a->owns_leaf) st__tensor_release(&leaf);
}

void st__leaf_freed(st_history *h) {
  if (!h->has_accumulated) return;
  pthread_mutex_lock(&mutex);
  if (h->accumulator) of(h->accumulator)->leaf = NULL;
  h->accumulator = NULL;
  pthread_mutex_unlock(&mutex);
}
