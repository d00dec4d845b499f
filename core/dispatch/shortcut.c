/* Shortcuts: calls whose kernel was found before.
 *
 * Note [Shortcuts]
 * Most calls of a script have plain tensors without gradients as arguments, in
 * a thread with the initial dispatch state that nothing observes. Then an
 * operator's table leads to the same kernels in each call. st_shortcut_find
 * follows them once, through the kernels that only redispatch: the tracking of
 * views and versions, and BackendSelect. It stores what serves the CPU: the
 * kernel's shortcut, a function that does the kernel's work for common
 * arguments, with no dispatch inside.
 * st_shortcut_call tests that the arguments and the thread are such, then
 * runs that function.
 *
 * The registry's epoch grows with every change of a table that a call has
 * used, so a shortcut is valid within one epoch. A kernel that calls other
 * operators has one only while each of them has, so kernels that libraries
 * register for those are called, too.
 *
 * A shortcut that cannot serve its arguments, or that would fail for another
 * reason than missing memory or an interrupt, does nothing. The caller then
 * calls the operator, whose kernel has the checks and the messages. The results
 * are the same, bit for bit. STRIDED_SHORTCUTS=0 in the environment disables
 * shortcuts, to compare them with the usual path.
 */

#include <stdlib.h>
#include <string.h>

#include "base/call_limits.h"
#include "dispatch/entry.h"

/* The keys of a plain tensor without gradients. */
#define SERVED st__tracked_tensor_keys(ST_DEVICE_CPU)

bool st_has_shortcuts(void) {
  enum { UNKNOWN, NO, YES };
  static atomic_int known;
  int has = atomic_load_explicit(&known, memory_order_relaxed);
  if (has == UNKNOWN) {
    const char *text = getenv("STRIDED_SHORTCUTS");
    has = text && strcmp(text, "0") == 0 ? NO : YES;
    atomic_store_explicit(&known, has, memory_order_relaxed);
  }
  return has == YES;
}

/* -- Finding -------------------------------------------------------------- */

/* These two stand for what `find` does; they are not called. */

ST_SHORTCUT(st__shortcut_to_callee) {
  (void)args;
  (void)rets;
  (void)status;
  return false;
}

ST_SHORTCUT(st__shortcut_to_cpu) {
  return st__shortcut_to_callee(call, args, rets, status);
}

/* The kernel that calls with such arguments reach. Under the mutex. */
static const st_registration *follow(const st_table *t, st_shortcut *s) {
  const st_tls first = st__first_tls();
  const st_keyset seen = t->schema->tensor_args ? SERVED : 0;
  st_keyset ks = (seen | first.included) & ~(first.excluded & ~ST_BACKEND_BITS);
  ks &= t->masks[t->mask_of[st__highest_backend(ks)]];
  for (;;) {
    const st_registration *k = t->kernels[t->slot[st__highest_slot(ks)]];
    s->call.keys = ks;
    if (st__is_tracking(k)) {
      s->is_tracked = true;
      ks &= ST_BIT(ST_FUNC_ADInplaceOrView) - 1;
    } else if (k->shortcut.fn == st__shortcut_to_cpu) {
      ks = st__device_keys(ST_DEVICE_CPU);
    } else {
      return k;
    }
  }
}

static st_shortcut find(const st_op *op, int depth);

/* Finds out whether each operator has a shortcut, also of one that was not
 * called yet. Sets *epoch to 0 if that is not known yet, and *tracks if one
 * tracks views or versions. */
static bool all_have_one(const st_op *const *calls, int depth,
                         uint64_t *epoch, bool *tracks) {
  for (; calls && *calls; calls++) {
    const st_table *unused;
    const st_status built = st__build_table(*calls, &unused);
    const st_shortcut s = built == ST_OK ? find(*calls, depth + 1)
                                         : (st_shortcut){.epoch = 0};
    if (!s.epoch) *epoch = 0;
    if (!s.run) return false;
    *tracks |= s.is_tracked;
  }
  return true;
}

/* Copies the kernel that such arguments reach, which may be freed any time;
 * false if no call has made a table yet. */
static bool reach(const st_op *op, st_shortcut *s, st_registration *out) {
  st__lock();
  const st_table *t = atomic_load(&((st_op *)(uintptr_t)op)->table);
  if (t) {
    s->call.schema = t->schema;
    *out = *follow(t, s);
  }
  st__unlock();
  return t != NULL;
}

static st_shortcut find(const st_op *op, int depth) {
  st_shortcut none = {.epoch = st__registry_epoch()};
  st_shortcut s = {.epoch = none.epoch, .op = op, .call = {.op = op}};
  st_registration k;
  bool tracks = false;
  if (!st_has_shortcuts() || depth > 2) return none;
  if (!reach(op, &s, &k)) return (st_shortcut){.epoch = 0};
  if (!k.shortcut.fn) return none;
  if (k.shortcut.fn == st__shortcut_to_callee) {
    const uint64_t epoch = s.epoch; /* the callee's may be newer */
    s = find(*k.shortcut.calls, depth + 1);
    s.op = op;
    if (s.epoch) s.epoch = epoch;
    return s;
  }
  s.run = k.shortcut.fn;
  s.call.ctx = k.ctx;
  s.call.unboxed = k.unboxed;
  if (!all_have_one(k.shortcut.calls, depth, &none.epoch, &tracks)) {
    return none;
  }
  s.is_tracked |= tracks && st__returns_views(s.call.schema);
  return s;
}

void st_shortcut_find(const st_op *op, st_shortcut *out) {
  *out = find(op, 0);
}

/* -- Calling -------------------------------------------------------------- */

static bool are_served(uint64_t tensor_args, const st_value *args) {
  bool any = !tensor_args;
  for (; tensor_args; tensor_args &= tensor_args - 1) {
    const st_value *v = &args[__builtin_ctzll(tensor_args)];
    if (v->tag == ST_TAG_TENSOR) {
      if (st__keys(v->u.tensor) != SERVED) return false;
      any = true;
    } else if (v->tag == ST_TAG_TENSORS) {
      return false;
    }
  }
  return any;
}

static inline bool is_initial(const st_thread *self) {
  return self->reader && self->depth == 0 && st__is_isolated_thread(self);
}

static inline bool serves(const st_shortcut *s, const st_value *args) {
  return s->run && s->epoch == st__registry_epoch() &&
         is_initial(st__self()) && !st__may_have_limits() &&
         are_served(s->call.schema->tensor_args, args);
}

bool st_shortcut_serves(const st_shortcut *s, const st_value *args) {
  return serves(s, args);
}

bool st_shortcut_call(const st_shortcut *s, const st_value *args,
                      st_value *rets, st_status *status) {
  if (!serves(s, args) || !s->run(&s->call, args, rets, status)) return false;
  if (*status == ST_OK && s->is_tracked) {
    *status = st__run_tracked(&s->call, args, rets);
  }
  if (*status != ST_OK) st__add_error_context(s->op, *status);
  return true;
}
