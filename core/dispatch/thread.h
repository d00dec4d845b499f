/* Thread state of the dispatcher, and reclamation of memory that calls may
 * still read.
 *
 * Note [Epoch-based reclamation]
 * A call reads an operator's table and kernels without a lock while another
 * thread may replace them. A replaced object is unlinked at once and then
 * retired: it is freed when no call runs any more that started before it was
 * unlinked. A thread stores the epoch in which its outermost call started in
 * its reader, which has a cache line to itself; this covers nested calls. Each
 * retirement increments the epoch. So a kernel that is replaced while it runs
 * finishes with its ctx alive, and the number of retired objects is bounded by
 * what was replaced during the longest call.
 */
#ifndef ST_DISPATCH_THREAD_H
#define ST_DISPATCH_THREAD_H

#include <stdatomic.h>

#include "base/status.h"
#include "dispatch/dispatch.h"

/* -- Readers -------------------------------------------------------------- */

typedef struct st_reader st_reader;
struct st_reader {
  _Atomic uint64_t active; /* epoch of the outermost call; 0: no call */
  st_reader *next;
  bool in_use;             /* by a live thread */
  char padding[128];       /* readers do not share a cache line */
};

extern _Atomic uint64_t st__epoch;
extern atomic_bool st__has_retired;

/* This store and the loads of tables after it are sequentially consistent:
 * either the reclaimer sees the active reader, or the reader sees the table
 * that replaced the retired one. */
static inline void st__reader_enter(st_reader *r) {
  atomic_store(&r->active,
               atomic_load_explicit(&st__epoch, memory_order_acquire));
}

static inline void st__reader_leave(st_reader *r) {
  atomic_store_explicit(&r->active, 0, memory_order_release);
}

/* -- Reclamation ---------------------------------------------------------- */

/* The first member of every struct that can be retired. */
typedef struct st_retired st_retired;
struct st_retired {
  st_retired *next;
  uint64_t epoch;
  void (*free)(st_retired *self);
};

/* Retires r after it was unlinked. Under the mutex. */
void st__retire(st_retired *r);
/* Frees the retired objects that no call can read any more. Must not be called
 * under the mutex. */
void st__reclaim(void);

/* -- Running calls -------------------------------------------------------- */

/* A call or redispatch on the stack of this thread, or a pass, which is not of
 * an operator: call->op is NULL. */
typedef struct st_running st_running;
struct st_running {
  st_running *outer;
  const st_call *call;
  const st_value *args;
  st_caller caller;
  uint16_t lender;  /* the number of what it has lent: Note [Operands of running
                       calls]; 0: nothing */
};

/* -- Threads -------------------------------------------------------------- */

typedef struct st_thread {
  st_tls tls;
  st_keyset removed;   /* the functionality bits of tls.excluded */
  int depth;          /* number of nested calls */
  bool has_observers; /* a trace or an observer is set */
  bool in_observer;
  bool is_measured;   /* its observers, if any, only measure */
  int nmeasuring;     /* such observers */
  st_running *running;      /* the innermost one */
  const st_running *script; /* the one that the innermost script runs for, or
                               during which it runs; NULL: none */
  const st_running *outer_script; /* that of the script around it */
  uint16_t lenders;         /* the last number of one that has lent */
  bool is_checking;   /* Note [What scripts return] */
  bool lacks_sizes;   /* a result of the call that is checked has a size that
                         depends on elements */
  st_reader *reader;  /* NULL until the first call */
  st_mode *mode;
  st_observer *observers;
  void (*trace)(void *ctx, const st_trace_event *e);
  void *trace_ctx;
} st_thread;

extern _Thread_local st_thread st__thread
  __attribute__((visibility("hidden")));

/* This thread's state. The asm hides where the pointer comes from; otherwise
 * the compiler would look up the thread-local variable at every use. */
static inline st_thread *st__self(void) {
  st_thread *self = &st__thread;
  __asm__("" : "+r"(self));
  return self;
}

/* Sets the innermost mode. The key Lua is included while there is one. */
static inline void st__set_mode(st_thread *self, st_mode *m) {
  self->mode = m;
  if (m) self->tls.included |= ST_BIT(ST_FUNC_Lua);
  else self->tls.included &= ~ST_BIT(ST_FUNC_Lua);
}

/* The initial keys of a thread (C2). */
#define ST_INITIAL_INCLUDED \
  (ST_BIT(ST_FUNC_BackendSelect) | ST_BIT(ST_FUNC_ADInplaceOrView))
#define ST_INITIAL_EXCLUDED ST_AUTOCAST_BITS
#define ST_INITIAL_TLS                                                  \
  {ST_INITIAL_INCLUDED, ST_INITIAL_EXCLUDED, true, false, true, ST_BFLOAT16}

/* The initial dispatch state of a thread. */
st_tls st__first_tls(void);

static inline bool st__has_initial_keys(const st_thread *self) {
  return !self->mode && !self->tls.inference &&
         self->tls.included == ST_INITIAL_INCLUDED &&
         self->tls.excluded == ST_INITIAL_EXCLUDED;
}

/* True if self has the initial keys and no mode, observer or inference mode.
 * Grad mode may be on or off. */
static inline bool st__is_isolated_thread(const st_thread *self) {
  return !self->has_observers && st__has_initial_keys(self);
}

/* True if STRIDED_SHOW_DISPATCH_TRACE is 1. */
extern bool st__trace_prints;

/* Updates has_observers; called when a trace or an observer changes. */
void st__thread_update_observers(st_thread *self);
/* Assigns a reader to this thread, before its first call. */
st_status st__thread_attach(st_thread *self);

#endif
