/* Limits of the calls of a thread: Note [Limits of calls].
 */

#include "base/call_limits.h"

#include <inttypes.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/own_threads.h"
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

st_status st__limits_new(int64_t memory, int threads, st_limits **out) {
  if (memory < 0) {
    return st__fail(ST_BAD_VALUE, "the limit must not be negative, got %" PRId64
                    " bytes", memory);
  }
  if (threads < 0) {
    return st__fail(ST_BAD_VALUE, "the number of threads must not be "
                    "negative, got %d", threads);
  }
  ST_TRY(st__add_interrupt_check(is_over));
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

void st__limits_retain(st_limits *l) { st__ref_take(&l->refs); }

void st__limits_release(st_limits **l) {
  st_limits *p = *l;
  *l = NULL;
  if (p && st__ref_drop(&p->refs)) st__free(ST_MEM_VALUE, p, sizeof *p);
}

st_limits *st__limits_enter(st_limits *l) {
  st_limits *before = current;
  current = l;
  return before;
}

/* -- Threads -------------------------------------------------------------- */

static _Thread_local int own_threads; /* 0: no limit */

void st__limit_own_threads(int n) { own_threads = n; }

int st__limits_threads(int n) {
  if (own_threads > 0 && own_threads < n) n = own_threads;
  if (!st__may_have_limits() || !current || current->threads == 0) return n;
  return n < current->threads ? n : current->threads;
}

/* -- Time ----------------------------------------------------------------- */

void st__limits_set_time(st_limits *l, double seconds) {
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

int64_t st__limits_used(const st_limits *l) { return l->used; }

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
  st__limits_retain(current);
  *owner = current;
  return ST_OK;
}

void st__limits_subtract(st_limits *owner, size_t n) {
  atomic_fetch_sub(&owner->used, (int64_t)n);
  st__limits_release(&owner);
}

bool st__limits_charge_scratch(size_t n) {
  return !current || add(current, n);
}

void st__limits_credit_scratch(size_t n) {
  if (current) atomic_fetch_sub(&current->used, (int64_t)n);
}
