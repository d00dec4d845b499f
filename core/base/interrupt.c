/* The checks of long calls: Note [Interrupts of long calls]. */

#include "base/interrupt.h"

#include <stdatomic.h>
#include <time.h>

#include "os/stack.h"

enum { PERIOD_NS = 1000000, MAX_CHECKS = 8 };

/* Entries are added in order and stay. */
static _Atomic(bool (*)(void)) process_checks[MAX_CHECKS];

static _Thread_local struct {
  st_interrupt_fn fn;
  void *ctx;
  int64_t last;    /* time of the last check, ns */
  bool is_asking;  /* a check runs, which may call the engine */
  bool stopped;    /* the answer of the last checks */
} thread_checks;

void st_set_interrupt_check(st_interrupt_fn fn, void *ctx) {
  thread_checks.fn = fn;
  thread_checks.ctx = ctx;
}

st_status st_add_interrupt_check(bool (*fn)(void)) {
  for (int i = 0; i < MAX_CHECKS; i++) {
    bool (*there)(void) = NULL;
    if (atomic_compare_exchange_strong(&process_checks[i], &there, fn) ||
        there == fn) {
      return ST_OK;
    }
  }
  return st__fail(ST_BAD_STATE, "there are %d interrupt checks already",
                  MAX_CHECKS);
}

int64_t st__now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool ask(void) {
  bool stops = false;
  thread_checks.is_asking = true;
  for (int i = 0; i < MAX_CHECKS && process_checks[i] && !stops; i++) {
    stops = process_checks[i]();
  }
  if (thread_checks.fn && !stops) {
    stops = thread_checks.fn(thread_checks.ctx);
  }
  thread_checks.is_asking = false;
  return stops;
}

bool st__was_interrupted(void) { return thread_checks.stopped; }

st_status st__poll_interrupt(void) {
  if ((!thread_checks.fn && !process_checks[0]) || thread_checks.is_asking ||
      st__on_second_stack()) {
    return ST_OK;
  }
  const int64_t at = st__now();
  if (at - thread_checks.last < PERIOD_NS) return ST_OK;
  const bool stops = ask();
  thread_checks.last = st__now();
  thread_checks.stopped = stops;
  return stops ? st__fail(ST_INTERRUPTED, "interrupted") : ST_OK;
}
