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

static st_status refuse(const char *what, const st_op *op) {
  const char *name = op ? op->full : "";
  if (strncmp(name, "aten::", strlen("aten::")) == 0) name += strlen("aten::");
  return st__fail(ST_BAD_STATE, "the tensor %s %s, which is running: its "
                  "shape, strides and storage cannot change until that "
                  "returns", what, op ? name : "a backward pass");
}

/* The operator of the outermost running call; NULL in a backward pass. */
static const st_op *outermost(const st_running *r) {
  while (r && r->outer) r = r->outer;
  return r ? r->call->op : NULL;
}

/* A tensor that was lent and has other owners, or whose storage has. */
static bool is_lent(const st_tensor *t, bool moves) {
  const st_storage *s = t->storage;
  return atomic_load_explicit(&s->is_lent, memory_order_relaxed) &&
         (st__ref_count(&t->refs) > 1 ||
          (moves && st__ref_count(&s->refs) > 1));
}

/* The calls from the script's own outwards. First those whose operators change
 * t: each passed t on to the one inside it. No other may use t. */
static st_status check_unused(const st_tensor *t, bool moves) {
  const st_running *const script = st__self()->script, *r = script;
  while (r && find_use(r, t, moves) == MAY_CHANGE) r = r->outer;
  const bool is_passed_on = r != script;
  for (; r; r = r->outer) {
    if (find_use(r, t, moves) != NOT_USED) {
      return refuse("is an operand of", r->call->op);
    }
  }
  return is_passed_on || !is_lent(t, moves)
         ? ST_OK : refuse("may be in use by", outermost(script));
}

/* -- Scripts -------------------------------------------------------------- */

st_status st__run_script(st_status (*fn)(void *arg), void *arg) {
  st_thread *self = st__self();
  const st_running *const outer = self->script;
  const st_unused_check outer_check = st__check_unused;
  self->script = self->running;
  st__check_unused = check_unused;
  const st_status status = fn(arg);
  self->script = outer;
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

void st__lend(const st_tensor *t) {
  atomic_store_explicit(&t->storage->is_lent, true, memory_order_relaxed);
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
                                 st_value *rets) {
  st_thread *self = st__self();
  st_mode *const mode = self->mode;
  const bool has_observers = self->has_observers;
  const bool was_checking = self->is_checking, muted = st__mute(true);
  const st_tls tls = self->tls;
  st__set_mode(self, NULL);
  self->has_observers = false;
  self->is_checking = true;
  const st_status status = st__run_engine_kernel(call, args, rets);
  self->is_checking = was_checking;
  self->has_observers = has_observers;
  st__set_mode(self, mode);
  st__set_tls(tls);
  st__mute(muted);
  return status;
}

bool st__is_checking(void) { return st__self()->is_checking; }
