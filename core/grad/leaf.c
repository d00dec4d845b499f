/* Leaves: the nodes that add gradients to them.
 *
 * Note [Accumulators]
 * A leaf has at most one node that accumulates. The node owns the leaf, and the
 * leaf knows the node without owning it; so the node is there for as long as a
 * graph leads to it. Threads may begin graphs at one leaf at a time: who makes
 * or drops the node holds a lock.
 */

#include <pthread.h>

#include "grad/history.h"
#include "op/compose.h"

typedef struct accumulator {
  st_node node;
  st_tensor *leaf; /* owned */
} accumulator;

static accumulator *of(const st_node *n) {
  return (accumulator *)(uintptr_t)n;
}

/* -- Accumulating --------------------------------------------------------- */

/* Is grad, of which the caller has the one reference that counts, nobody
 * else's, and laid out as a tensor of its own would be? It may be a view of
 * what nobody else has. */
static bool is_free(const st_tensor *grad) {
  const st_tensor *base = st__base(grad);
  return st__ref_count(&grad->refs) == 1 &&
         (!base || st__ref_count(&base->refs) == 1) &&
         st__ref_count(&grad->storage->refs) == 1 + (base != NULL) &&
         (grad->flags & ST_FLAG_DENSE) && !st__is_lazy(grad);
}

/* The same without its base. */
static st_tensor *taken(st_chain *c, st_tensor *grad) {
  if (!st__base(grad)) return grad;
  return st__step1(c, ST_OP_detach, grad);
}

static st_tensor *sum_of(st_chain *c, st_tensor *old, st_tensor *grad,
                         bool create_graph) {
  if (!old && !create_graph && is_free(grad)) return taken(c, grad);
  if (!old && create_graph) return grad;
  if (!old) return st__step1(c, ST_OP_clone, grad);
  if (create_graph) return st__step2(c, ST_OP_add_Tensor, old, grad);
  st__step_into(c, ST_OP_add_Tensor, old, grad);
  return old;
}

st_status st__accumulate(st_tensor *leaf, st_tensor *grad,
                         bool create_graph) {
  st_chain c = {.status = ST_OK};
  st_tensor *sum = sum_of(&c, leaf->history ? leaf->history->grad : NULL,
                          grad, create_graph);
  if (st__going(&c)) c.status = st__set_grad(leaf, sum);
  return st__chain_end(&c, 0, NULL, NULL);
}

static st_status call_post_hooks(st_tensor *leaf) {
  st_hook **const list = &leaf->history->hooks;
  uint64_t last = 0;
  for (st_hook *h; (h = st__hook_begin(*list, ST_HOOK_POST, last));) {
    st_tensor *unused = NULL;
    last = h->id;
    const st_status status = h->u.tensor.fn(h->u.tensor.ctx, leaf, &unused);
    st__hook_end(list, h);
    st__tensor_release(&unused);
    ST_TRY(status);
  }
  return ST_OK;
}

static st_status run(st_node *n, st_tensor *const *grads, const bool *wanted,
                     st_tensor **out) {
  (void)wanted; (void)out;
  st_tensor *const leaf = of(n)->leaf;
  ST_TRY(st__accumulate(leaf, grads[0], st__tls().grad));
  return call_post_hooks(leaf);
}

/* -- Making --------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void open_mutex(void) {
  mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, open_mutex); }

static void forget_leaf(st_node *n) {
  accumulator *a = of(n);
  if (!a->leaf) return;
  pthread_mutex_lock(&mutex);
  st_history *const h = a->leaf->history;
  if (h && h->accumulator == n) h->accumulator = NULL;
  pthread_mutex_unlock(&mutex);
  st__tensor_release(&a->leaf);
}

static const st_node_kind kind = {run, NULL, forget_leaf};

/* One more reference, unless the last one is gone already. */
static bool revive(st_node *n) {
  int_least32_t refs = atomic_load(&n->refs.n);
  while (refs > 0 &&
         !atomic_compare_exchange_weak(&n->refs.n, &refs, refs + 1)) {
  }
  return refs > 0;
}

static st_status make(st_tensor *t, st_node **out) {
  ST_TRY(st__node_new(&kind, sizeof(accumulator), 0, 1, out));
  (*out)->name = "AccumulateGrad";
  const st_status status = st__meta_init(&(*out)->results[0], t);
  if (status != ST_OK) {
    st__node_release(out);
    return status;
  }
  st__tensor_retain(t);
  of(*out)->leaf = t;
  return ST_OK;
}

st_status st__accumulator(st_tensor *t, st_node **out) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  st_history *h;
  st_status status = ST_OK;
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&mutex);
  status = st__history_of(t, &h);
  if (status == ST_OK && h->accumulator && revive(h->accumulator)) {
    *out = h->accumulator;
  } else if (status == ST_OK) {
    status = make(t, out);
    if (status == ST_OK) h->accumulator = *out;
  }
  pthread_mutex_unlock(&mutex);
  return status;
}

st_tensor *st__leaf_of(const st_node *n) {
  return n->kind == &kind ? of(n)->leaf : NULL;
}
