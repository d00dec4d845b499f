/* Which tensors the calls that run on this thread use: Note [Operands of
 * running calls]. */

#include "dispatch/entry.h"

#include <string.h>

/* -- Calls ---------------------------------------------------------------- */

/* True if op may change the geometry of an argument that it writes: out= and
 * views in place do, and operators of libraries may. */
static bool may_change(const st_running *r, const st_arg *a) {
  const st_op *op = r->call->op;
  if (!a->is_write) return false;
  return a->kwarg_only || st__op_tags(op) & ST_OPTAG_INPLACE_VIEW ||
         strncmp(op->full, "aten::", strlen("aten::")) != 0;
}

/* How a call uses a tensor; what it may change it uses, too. */
typedef enum use { NOT_USED, USED, MAY_CHANGE } use;

static use use_of(const st_running *r, const st_arg *a, const st_tensor *mine,
                  const st_tensor *t, bool moves) {
  if (mine == t) return may_change(r, a) ? MAY_CHANGE : USED;
  return mine && moves && mine->storage == t->storage ? USED : NOT_USED;
}

static use find_use(const st_running *r, const st_tensor *t, bool moves) {
  const st_schema *s = r->call->schema;
  use found = NOT_USED;
  for (uint64_t left = s->tensor_args; left; left &= left - 1) {
    const int i = __builtin_ctzll(left);
    const st_tensors all = st__tensors_in(&r->args[i]);
    for (uint32_t k = 0; k < all.n; k++) {
      const use one = use_of(r, &s->args[i], all.p[k], t, moves);
      if (one > found) found = one;
    }
  }
  return found;
}

/* -- Checks --------------------------------------------------------------- */

/* The number of code outside of calls: nobody knows when it returns. */
enum { FOR_EVER = UINT16_MAX };

static const char *name_of(const st_running *r) {
  const char *name = r->call->op ? r->call->op->full : "a backward pass";
  return strncmp(name, "aten::", strlen("aten::")) == 0
         ? name + strlen("aten::") : name;
}

static st_status refuse(const char *what, const char *who) {
  return st__fail(ST_BAD_STATE, "the tensor %s %s, which is running: its "
                  "shape, strides and storage cannot change until that "
                  "returns", what, who);
}

/* The running call around r, or r itself, with this number. */
static const st_running *find_lender(const st_running *r, uint16_t lender) {
  while (r && r->lender != lender) r = r->outer;
  return r;
}

static const st_running *outermost(const st_running *r) {
  while (r && r->outer) r = r->outer;
  return r;
}

/* Threads overwrite each other's numbers in a shared storage: there any call
 * may be the lender. */
static const st_running *lender_of(const st_storage *s, uint16_t lender) {
  const st_running *const r = st__self()->running;
  return atomic_load_explicit(&s->is_shared, memory_order_relaxed)
         ? outermost(r) : find_lender(r, lender);
}

/* True if r is the call `outer` or inside of it. */
static bool is_inside(const st_running *r, const st_running *outer) {
  while (r && r != outer) r = r->outer;
  return r && outer;
}

/* BAD_STATE if t is lent and has other owners, or its storage has. A script has
 * passed t to be changed to the call `since`: it was not in use if that, or a
 * call inside of it, is the lender. NULL: to none. */
static st_status check_lent(const st_tensor *t, bool moves,
                            const st_running *since) {
  const st_storage *s = t->storage;
  const uint16_t number = atomic_load_explicit(&s->lender,
                                               memory_order_relaxed);
  if (number == 0 || (st__ref_count(&t->refs) <= 1 &&
                      !(moves && st__ref_count(&s->refs) > 1))) {
    return ST_OK;
  }
  if (number == FOR_EVER) return refuse("may be in use by", "code of the host");
  const st_running *const r = lender_of(s, number);
  return r && !is_inside(r, since) ? refuse("may be in use by", name_of(r))
                                   : ST_OK;
}

/* The calls from the script's own outwards. First those whose operators change
 * t: each passed t on to the one inside it, the outermost if the engine called
 * it. No other may use t. */
static st_status check_unused(const st_tensor *t, bool moves) {
  const st_running *r = st__self()->script, *last = NULL;
  for (; r && find_use(r, t, moves) == MAY_CHANGE; r = r->outer) last = r;
  for (; r; r = r->outer) {
    if (find_use(r, t, moves) != NOT_USED) {
      return refuse("is an operand of", name_of(r));
    }
  }
  return last && last->caller == ST_CALLER_ENGINE
         ? ST_OK : check_lent(t, moves, last);
}

/* -- Scripts -------------------------------------------------------------- */

st_status st_run_script(st_status (*fn)(void *arg), void *arg) {
  st_thread *self = st__self();
  const st_running *const outer = self->script, *before = self->outer_script;
  const st_unused_check outer_check = st__check_unused;
  self->outer_script = outer;
  self->script = self->running;
  st__check_unused = check_unused;
  const st_status status = fn(arg);
  self->script = outer;
  self->outer_script = before;
  st__check_unused = outer_check;
  return status;
}

bool st__serves_script(const st_op *op) {
  const st_thread *self = st__self();
  const st_running *r = self->running;
  if (!r || r->call->op != op) return false;
  while (r->caller == ST_CALLER_KERNEL && r->outer != self->script) {
    r = r->outer;
    if (!r || r->call->op != op) return false;
  }
  return r->caller != ST_CALLER_ENGINE;
}

st_status st__run_pass(st_status (*fn)(void *arg), void *arg) {
  static const st_schema no_arguments;
  const st_call call = {.schema = &no_arguments};
  st_thread *self = st__self();
  st_running r = {self->running, &call, NULL, ST_CALLER_ENGINE, 0};
  self->running = &r;
  const st_status status = fn(arg);
  self->running = r.outer;
  return status;
}

/* The call that lends; NULL for code outside of calls. A function of a script
 * that has made no call lends what the code around it uses. */
static st_running *find_user(const st_thread *self) {
  st_running *r = self->running;
  const st_running *script = r == self->script ? self->outer_script
                                               : self->script;
  if (!r || r == script) return NULL;
  while (r->outer && r->outer != script) r = r->outer;
  return r->caller == ST_CALLER_ENGINE && r->call->op ? NULL : r;
}

static uint16_t next_number(st_thread *self) {
  self->lenders = self->lenders + 1 < FOR_EVER ? self->lenders + 1 : 1;
  return self->lenders;
}

/* The outermost of its lenders has a tensor longest. */
void st_lend(const st_tensor *t) {
  _Atomic uint16_t *const lender = &t->storage->lender;
  const uint16_t now = atomic_load_explicit(lender, memory_order_relaxed);
  st_thread *self = st__self();
  st_running *r = find_user(self);
  if (now == FOR_EVER || (r && now && find_lender(r, now))) return;
  if (r && !r->lender) r->lender = next_number(self);
  atomic_store_explicit(lender, r ? r->lender : FOR_EVER,
                        memory_order_relaxed);
}

/* -- The engine's kernels ------------------------------------------------- */

/* The kernel of the engine for tensors on the meta device. */
static bool find_kernel(const st_op *op, st_registration *out) {
  const st_key keys[] = {st__key_parse("Meta"), ST_KEY_COMPOSITE_EXPLICIT,
                         ST_KEY_COMPOSITE_IMPLICIT};
  bool found = false;
  st__lock();
  for (int i = 0; i < 3 && !found; i++) {
    for (const st_registration *r = op->kernels; r && !found; r = r->next) {
      found = r->key == keys[i] && !r->free_ctx && !r->is_fallthrough;
      if (found) *out = *r;
    }
  }
  st__unlock();
  return found;
}

/* The keys below that of the call, for tensors on the meta device. */
static st_keyset keys_below(st_keyset keys) {
  const int highest = st__highest_bit(keys & ~ST_BACKEND_BITS);
  const st_keyset below = keys & (ST_BIT(highest) - 1) & ~ST_BACKEND_BITS;
  return below & ~ST_BIT(ST_FUNC_BackendSelect) & ~ST_BIT(ST_FUNC_Lua);
}

st_status st__run_engine_kernel(const st_call *call, const st_value *args,
                                st_value *rets) {
  st_registration k;
  const st_keyset below = keys_below(call->keys);
  const st_keyset meta = st__device_keys(ST_DEVICE_META);
  if (below & ~ST_BIT(ST_FUNC_Dense)) {
    return st__redispatch(call->op, below | meta, args, rets);
  }
  if (!find_kernel(call->op, &k)) {
    return st__fail(ST_NO_KERNEL, "the engine has no kernel");
  }
  const st_call own = {call->op, call->schema, meta, k.ctx, k.unboxed};
  return k.fn(&own, args, rets);
}

st_status st__call_engine_kernel(const st_call *call, const st_value *args,
                                 bool casts, st_value *rets,
                                 bool *lacks_sizes) {
  st_thread *self = st__self();
  const st_keyset autocast = ST_BIT(ST_FUNC_AutocastCPU);
  st_mode *const mode = self->mode;
  const bool has_observers = self->has_observers;
  const int depth = self->depth;
  const bool was_checking = self->is_checking, muted = st__mute(true);
  const st_tls tls = self->tls;
  st__set_mode(self, NULL);
  self->has_observers = false;
  self->depth = 1; /* how deep the call is does not matter */
  self->is_checking = true;
  self->lacks_sizes = false;
  if (casts && !(tls.excluded & autocast)) self->tls.included |= autocast;
  const st_status status = st__run_engine_kernel(call, args, rets);
  self->depth = depth;
  *lacks_sizes = self->lacks_sizes;
  self->is_checking = was_checking;
  self->has_observers = has_observers;
  st__set_mode(self, mode);
  st__set_tls(tls);
  st__mute(muted);
  return status;
}

bool st__is_checking(void) { return st__self()->is_checking; }

bool st__may_lack_size(void) {
  st_thread *self = st__self();
  self->lacks_sizes |= self->is_checking;
  return self->is_checking;
}
