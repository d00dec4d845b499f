/* What the dispatcher keeps per thread, and when memory that calls may be
 * reading can go.
 *
 * Note [Epoch-based reclamation]
 * A call reads an operator's table and kernels without a lock while another
 * thread may be replacing them. What is replaced is unlinked at once, but it
 * is only retired: freed when no call is under way that began before it was
 * unlinked. A thread announces the epoch at which its outermost call began in
 * its reader, one store on a cache line of its own; nested calls are covered
 * by the outermost one. A retirement moves the epoch on. So a kernel that is
 * replaced while it runs finishes, its context alive, and what is retired is
 * bounded by what was replaced during the longest call.
 */
#ifndef ST_DISPATCH_THREAD_H
#define ST_DISPATCH_THREAD_H

#include <stdatomic.h>

#include "base/status.h"
#include "dispatch/dispatch.h"

/* -- Readers -------------------------------------------------------------- */

typedef struct st_reader st_reader;
struct st_reader {
  _Atomic uint64_t active; /* epoch, 0 between calls */
  st_reader *next;
  bool taken;              /* by a live thread */
  char padding[128];       /* no cache line is shared with another reader */
};

extern _Atomic uint64_t st__epoch;
extern atomic_bool st__has_retired;

/* The store and the loads of tables behind it are sequentially consistent:
 * either the reclaimer sees the reader, or the reader sees what replaced the
 * retired. */
static inline void st__reader_enter(st_reader *r) {
  atomic_store(&r->active,
               atomic_load_explicit(&st__epoch, memory_order_acquire));
}

static inline void st__reader_leave(st_reader *r) {
  atomic_store_explicit(&r->active, 0, memory_order_release);
}

/* -- Retirement ----------------------------------------------------------- */

/* The first member of whatever can be retired. */
typedef struct st_retired st_retired;
struct st_retired {
  st_retired *next;
  uint64_t epoch;
  void (*free)(st_retired *self);
};

/* The one mutex: registration, retirement, building of tables. */
void st__lock(void);
void st__unlock(void);

/* Under the mutex, after r was unlinked. */
void st__retire(st_retired *r);
/* Frees what no call can be reading any more; not under the mutex. */
void st__reclaim(void);
/* Between st__pause_reclaim(true) and st__pause_reclaim(false) nothing is
 * freed. */
void st__pause_reclaim(bool holds_on);

/* -- Threads -------------------------------------------------------------- */

typedef struct st_thread {
  st_tls tls;
  st_keyset masked;   /* the functionality bits of tls.excluded */
  int depth;          /* of nested calls */
  bool has_observers; /* someone wants to see every dispatch */
  bool in_observer;
  st_reader *reader;  /* NULL until the first call */
  st_mode *mode;
  st_observer *observers;
  void (*trace)(void *ctx, const st_trace_event *e);
  void *trace_ctx;
} st_thread;

extern _Thread_local st_thread st__thread
  __attribute__((visibility("hidden")));

/* This thread's. The compiler is kept from seeing where the pointer comes
 * from: it would look the thread-local up again at every use. */
static inline st_thread *st__self(void) {
  st_thread *self = &st__thread;
  __asm__("" : "+r"(self));
  return self;
}

/* The key of modes is included while there is one. */
static inline void st__set_mode(st_thread *self, st_mode *m) {
  self->mode = m;
  if (m) self->tls.included |= ST_BIT(ST_FUNC_Lua);
  else self->tls.included &= ~ST_BIT(ST_FUNC_Lua);
}

/* What a thread begins with. */
st_tls st__first_tls(void);

/* STRIDED_SHOW_DISPATCH_TRACE=1 */
extern bool st__trace_prints;

/* After a change of the fields that `watched` sums up. */
void st__thread_update_observers(st_thread *self);
/* Makes forks safe for the registry. Handlers before a fork run newest first,
 * so a lock that comes before the registry's installs its own after this. */
void st__thread_set_up(void);
/* Gives this thread a reader, before its first call. */
st_status st__thread_attach(st_thread *self);

#endif
