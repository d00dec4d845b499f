/* Thread state, readers and reclamation: Note [Epoch-based reclamation]. */

#include "dispatch/thread.h"

#include <pthread.h>
#include <string.h>

#include "base/call_limits.h"
#include "base/memory.h"
#include "dispatch/watch.h"

_Thread_local st_thread st__thread = {
  .tls = ST_INITIAL_TLS,
  .removed = ST_INITIAL_EXCLUDED
};

st_tls st__first_tls(void) {
  return (st_tls)ST_INITIAL_TLS;
}

_Atomic uint64_t st__epoch = 1;
atomic_bool st__has_retired;
bool st__trace_prints;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static st_reader *readers; /* never freed; reused by new threads */
static st_retired *retired;
static int pause_count; /* calls of st__pause_reclaim(true) in force */

void st__lock(void) { pthread_mutex_lock(&mutex); }
void st__unlock(void) { pthread_mutex_unlock(&mutex); }

/* -- Reclamation ---------------------------------------------------------- */

void st__retire(st_retired *r) {
  r->epoch = atomic_fetch_add(&st__epoch, 1);
  r->next = retired;
  retired = r;
  atomic_store_explicit(&st__has_retired, true, memory_order_relaxed);
}

void st__pause_reclaim(bool pauses) {
  st__lock();
  pause_count += pauses ? 1 : -1;
  st__unlock();
}

/* The oldest epoch in which a running call started; UINT64_MAX if none runs. */
static uint64_t oldest_call(void) {
  uint64_t oldest = UINT64_MAX;
  for (st_reader *r = readers; r; r = r->next) {
    const uint64_t epoch = atomic_load(&r->active);
    if (epoch && epoch < oldest) oldest = epoch;
  }
  return oldest;
}

/* Unlinks what can be freed. The list is in descending order of epochs, so
 * that is its tail, from the first entry that is old enough. */
static st_retired *unlink_reclaimable(void) {
  if (pause_count > 0) return NULL;
  const uint64_t oldest = oldest_call();
  st_retired **link = &retired;
  while (*link && (*link)->epoch >= oldest) link = &(*link)->next;
  st_retired *list = *link;
  *link = NULL;
  atomic_store_explicit(&st__has_retired, retired != NULL,
                        memory_order_relaxed);
  return list;
}

void st__reclaim(void) {
  if (!atomic_load_explicit(&st__has_retired, memory_order_relaxed)) return;
  /* If another thread holds the mutex, a later call reclaims. */
  if (pthread_mutex_trylock(&mutex) != 0) return;
  st_retired *list = unlink_reclaimable();
  pthread_mutex_unlock(&mutex);
  for (st_retired *next; list; list = next) {
    next = list->next;
    list->free(list);
  }
}

/* -- Threads -------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;
static bool has_exit_key;

/* Runs when a thread exits; a later destructor of the thread may attach it
 * again. */
static void detach(void *thread) {
  st_thread *self = thread;
  st__lock();
  self->reader->in_use = false;
  st__unlock();
  self->reader = NULL;
}

/* Releases the readers of the threads that do not exist in the child. */
static void after_fork_in_child(void) {
  for (st_reader *r = readers; r; r = r->next) {
    if (r == st__thread.reader) continue;
    atomic_store(&r->active, 0);
    r->in_use = false;
  }
  st__unlock();
}

static void init(void) {
  has_exit_key = pthread_key_create(&exit_key, detach) == 0;
  pthread_atfork(st__lock, st__unlock, after_fork_in_child);
}

void st__thread_set_up(void) { pthread_once(&once, init); }

static st_reader *take_reader(void) {
  st_reader *r = readers;
  while (r && r->in_use) r = r->next;
  if (!r) {
    st_limits *limits = st_limits_enter(NULL); /* it is kept for others */
    r = st__alloc_zero(ST_MEM_REGISTRY, sizeof *r);
    st_limits_enter(limits);
    if (!r) return NULL;
    r->next = readers;
    readers = r;
  }
  r->in_use = true;
  return r;
}

void st__thread_update_observers(st_thread *self) {
  int n = 0;
  for (const st_observer *o = self->observers; o; o = o->outer) n++;
  self->has_observers = st__trace_prints || self->trace || self->observers;
  self->is_measured = !st__trace_prints && !self->trace &&
                      n == self->nmeasuring;
}

st_status st__thread_attach(st_thread *self) {
  st__thread_set_up();
  st__thread_update_observers(self);
  st__lock();
  self->reader = take_reader();
  st__unlock();
  if (!self->reader) return ST_NO_MEMORY;
  /* Without the key the reader is never reused. */
  if (has_exit_key) pthread_setspecific(exit_key, self);
  return ST_OK;
}

/* -- State ---------------------------------------------------------------- */

/* Keys that inference tensors do not have (K9). */
#define VERSIONED ST_BIT(ST_FUNC_ADInplaceOrView)

st_tls st__tls(void) { return st__thread.tls; }

void st__set_tls(st_tls tls) {
  st__thread.tls = tls;
  st__thread.removed = tls.excluded & ~ST_BACKEND_BITS;
  st__untracked_keys = tls.inference ? VERSIONED : 0;
}

st_isolated st__isolate(void) {
  st_thread *self = st__self();
  const st_isolated before = {self->tls, self->mode, self->has_observers};
  st__set_mode(self, NULL);
  self->has_observers = false;
  st__set_tls(st__first_tls());
  return before;
}

void st__end_isolation(const st_isolated *before) {
  st_thread *self = st__self();
  st__set_tls(before->tls);
  st__set_mode(self, before->mode);
  self->has_observers = before->has_observers;
}

void st_mode_push(st_mode *m) {
  m->outer = st__thread.mode;
  st__set_mode(&st__thread, m);
}

void st_mode_pop(void) {
  ST_ASSERT(st__thread.mode);
  st__set_mode(&st__thread, st__thread.mode->outer);
}

bool st__may_fuse(void) {
  const st_thread *self = st__self();
  return (!self->has_observers || self->is_measured) &&
         st__has_initial_keys(self);
}

void st_observe(st_observer *o) {
  o->outer = st__thread.observers;
  st__thread.observers = o;
  st__thread_update_observers(&st__thread);
}

void st_unobserve(st_observer *o) {
  st_observer **link = &st__thread.observers;
  while (*link && *link != o) link = &(*link)->outer;
  if (*link) *link = o->outer;
  st__thread_update_observers(&st__thread);
}

void st_watch(st_observer *o) {
  st__thread.nmeasuring++;
  st_observe(o);
}

void st_unwatch(st_observer *o) {
  st__thread.nmeasuring--;
  st_unobserve(o);
}
