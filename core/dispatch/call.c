/* The call path: computes the key set of the arguments, looks up the kernel in
 * the operator's dispatch table and calls it. */

#include <string.h>

#include "dispatch/entry.h"

#define UNLIKELY(e) __builtin_expect(!!(e), 0)

/* Deeper than operators nest, and shallow enough for any thread's stack. */
enum { MAX_DEPTH = 200 };

/* -- Observers ------------------------------------------------------------ */

/* Note [Observers and traces]
 * A trace sees every dispatch; an observer sees calls, not redispatches. The
 * trace of the environment variable prints, that of st__set_trace calls a
 * function. One flag per thread, has_observers, tells whether there is any of
 * them, so that other calls test only that. Calls that an observer or a trace
 * callback makes are not reported. */

static void emit_trace(st_thread *self, const st_trace_event *e) {
  if (st__trace_prints) {
    fprintf(stderr, "%*s[%s] op=[%s], key=[%s]\n", e->depth, "", e->kind,
            e->op->full, st__key_name(e->key));
  }
  if (self->trace) self->trace(self->trace_ctx, e);
}

static void trace_call(st_thread *self, const st_call *call,
                       const char *kind, const st_registration *kernel) {
  if (self->in_observer) return;
  const st_trace_event e = {call->op, call->keys,
                            st__highest_slot(call->keys), kind,
                            kernel->debug, self->depth - 1};
  self->in_observer = true;
  emit_trace(self, &e);
  self->in_observer = false;
}

void st__set_trace(void (*fn)(void *ctx, const st_trace_event *e),
                   void *ctx) {
  st__thread.trace = fn;
  st__thread.trace_ctx = ctx;
  st__thread_update_observers(&st__thread);
}

/* True for "call" and "callBoxed" (C14), false for redispatches. */
static bool is_observed(const char *kind) {
  return kind[0] == 'c' && strlen(kind) < sizeof "callBoxed";
}

static bool wants_values(const st_thread *self) {
  const st_observer *o = self->observers;
  while (o && !o->wants_values) o = o->outer;
  return o && !self->in_observer;
}

static void before(st_thread *self, const st_op *op, const st_value *args) {
  if (self->in_observer) return;
  self->in_observer = true;
  for (st_observer *o = self->observers; o; o = o->outer) {
    if (o->before) o->before(o->ctx, op, o->wants_values ? args : NULL);
  }
  self->in_observer = false;
}

static void after(st_thread *self, const st_op *op, st_status status,
                  const st_value *rets) {
  if (self->in_observer) return;
  self->in_observer = true;
  for (st_observer *o = self->observers; o; o = o->outer) {
    const bool shown = o->wants_values && status == ST_OK;
    if (o->after) o->after(o->ctx, op, status, shown ? rets : NULL);
  }
  self->in_observer = false;
}

/* -- Entering and leaving calls ------------------------------------------- */

static st_status enter_nested(st_thread *self) {
  if (self->depth >= MAX_DEPTH) {
    return st__fail(ST_BAD_STATE, "operators call each other more than %d "
                    "deep", MAX_DEPTH);
  }
  self->depth++;
  return ST_OK;
}

static inline st_status enter(st_thread *self) {
  if (self->depth > 0) return enter_nested(self);
  if (UNLIKELY(!self->reader)) ST_TRY(st__thread_attach(self));
  st__reader_enter(self->reader);
  self->depth = 1;
  return ST_OK;
}

static inline st_status leave(st_thread *self, const st_op *op,
                              st_status status) {
  if (--self->depth > 0) return status;
  st__reader_leave(self->reader);
  if (UNLIKELY(status != ST_OK)) st__add_error_context(op, status);
  if (UNLIKELY(atomic_load_explicit(&st__has_retired,
                                    memory_order_relaxed))) {
    st__reclaim();
  }
  return status;
}

static inline st_status table_of(const st_op *op, const st_table **out) {
  *out = atomic_load(&((st_op *)(uintptr_t)op)->table);
  return UNLIKELY(!*out) ? st__build_table(op, out) : ST_OK;
}

/* The table, which must be of the schema that the arguments were checked
 * against; s NULL: of any schema. Note [The schema of a call]. */
static inline st_status table_for(const st_op *op, const st_schema *s,
                                  const st_table **out) {
  ST_TRY(table_of(op, out));
  if (!s || (*out)->schema == s) return ST_OK;
  return st__fail(ST_BAD_STATE, "was redefined while it was called");
}

/* -- Keys ----------------------------------------------------------------- */

static inline st_keyset keys_of(uint64_t tensor_args, const st_value *args) {
  st_keyset ks = 0;
  for (; tensor_args; tensor_args &= tensor_args - 1) {
    const st_value *v = &args[__builtin_ctzll(tensor_args)];
    if (v->tag == ST_TAG_TENSOR) {
      ks |= st__keys(v->u.tensor);
    } else if (v->tag == ST_TAG_TENSORS) {
      for (uint32_t i = 0; i < v->len; i++) {
        if (v->u.tensors[i]) ks |= st__keys(v->u.tensors[i]);
      }
    }
  }
  return ks;
}

static inline st_keyset effective(const st_thread *self, const st_table *t,
                                  st_keyset seen) {
  const st_keyset ks = (seen | self->tls.included) & ~self->removed;
  return ks & t->masks[t->mask_of[st__highest_backend(ks)]];
}

static inline const st_registration *kernel_of(const st_table *t, st_key key,
                                               st_call *call) {
  const st_registration *k = t->kernels[t->slot[key]];
  call->schema = t->schema;
  call->ctx = k->ctx;
  call->unboxed = k->unboxed;
  return k;
}

/* -- Boxed calls ---------------------------------------------------------- */

/* What a trace calls the call, and who makes it. */
typedef struct way {
  const char *kind;
  st_caller caller;
} way;

static st_status run_observed(st_thread *self, const st_registration *k,
                              const char *kind, const st_running *r,
                              st_value *rets) {
  const bool is_call = is_observed(kind);
  trace_call(self, r->call, kind, k);
  if (is_call) before(self, r->call->op, r->args);
  const st_status status = k->fn(r->call, r->args, rets);
  if (is_call) after(self, r->call->op, status, rets);
  return status;
}

static inline st_status run(const st_table *t, st_key key, way w,
                            st_call *call, const st_value *args,
                            st_value *rets) {
  const st_registration *k = kernel_of(t, key, call);
  st_thread *self = st__self();
  st_running r = {self->running, call, args, w.caller, 0};
  self->running = &r;
  const st_status status = UNLIKELY(self->has_observers)
                           ? run_observed(self, k, w.kind, &r, rets)
                           : k->fn(call, args, rets);
  self->running = r.outer;
  return status;
}

static inline st_status call_as(way w, const st_op *op, const st_schema *s,
                                const st_value *args, st_value *rets) {
  st_thread *self = st__self();
  const st_table *t;
  ST_TRY(enter(self));
  st_status status = table_for(op, s, &t);
  if (status == ST_OK) {
    const st_keyset seen = keys_of(t->schema->tensor_args, args);
    st_call call = {.op = op, .keys = effective(self, t, seen)};
    status = run(t, st__highest_slot(call.keys), w, &call, args, rets);
  }
  return leave(self, op, status);
}

static inline st_status redispatch_as(const char *kind, const st_op *op,
                                      const st_schema *s, st_keyset keys,
                                      const st_value *args, st_value *rets) {
  st_thread *self = st__self();
  const st_table *t;
  ST_TRY(enter(self));
  st_status status = table_for(op, s, &t);
  if (status == ST_OK) {
    st_call call = {.op = op, .keys = keys};
    status = run(t, st__highest_slot(keys), (way){kind, ST_CALLER_KERNEL},
                 &call, args, rets);
  }
  return leave(self, op, status);
}

st_status st__call(const st_op *op, const st_value *args, st_value *rets) {
  return call_as((way){"call", ST_CALLER_ENGINE}, op, NULL, args, rets);
}

st_status st__call_boxed(const st_op *op, const st_schema *s,
                         const st_value *args, st_value *rets) {
  return call_as((way){"callBoxed", ST_CALLER_ENGINE}, op, s, args, rets);
}

st_status st__call_scripted(const st_op *op, const st_schema *s,
                            const st_value *args, st_value *rets) {
  return call_as((way){"callBoxed", ST_CALLER_SCRIPT}, op, s, args, rets);
}

st_status st__redispatch(const st_op *op, st_keyset keys,
                         const st_value *args, st_value *rets) {
  return redispatch_as("redispatch", op, NULL, keys, args, rets);
}

st_status st__redispatch_boxed(const st_op *op, const st_schema *s,
                               st_keyset keys, const st_value *args,
                               st_value *rets) {
  return redispatch_as("redispatchBoxed", op, s, keys, args, rets);
}

st_status st__call_below(const st_call *call, int functionality,
                         st_keyset excluded, const st_value *args,
                         st_value *rets) {
  const st_keyset below = call->keys & (ST_BIT(functionality) - 1);
  st_thread *self = st__self();
  const st_tls old = self->tls;
  self->tls.excluded |= excluded;
  self->removed |= excluded & ~ST_BACKEND_BITS;
  const st_status status = redispatch_as("redispatchBoxed", call->op,
                                         call->schema, below, args, rets);
  st__set_tls(old);
  return status;
}

st_status st__call_for_key(st_caller caller, const st_op *op,
                           const st_schema *s, st_key key,
                           const st_value *args, st_value *rets) {
  st_thread *self = st__self();
  const st_table *t;
  ST_TRY(enter(self));
  st_status status = table_for(op, s, &t);
  if (status == ST_OK) {
    st_call call = {.op = op, .keys = st__key_set(key)};
    status = run(t, key, (way){"callBoxedForDispatchKey", caller}, &call, args,
                 rets);
  }
  return leave(self, op, status);
}

/* -- Typed calls ---------------------------------------------------------- */

st_status st__typed_find(const char *name, const char *overload,
                         const char *signature, const st_op **op,
                         const char **kept) {
  *op = st_op_find(name, overload);
  *kept = *op ? st__op_signature(*op) : NULL;
  if (!*kept) {
    return st__fail(ST_NOT_FOUND, "there is no operator %s%s%s", name,
                    overload && *overload ? "." : "",
                    overload ? overload : "");
  }
  if (strcmp(*kept, signature) == 0) return ST_OK;
  return st__fail(ST_BAD_TYPE, "%s has the C types\n(%s), not (%s)",
                  (*op)->full, *kept, signature);
}

/* The operator may have been redefined after the handle was made. */
static st_status typed_table(const st_op *op, const char *signature,
                             const st_table **t) {
  ST_TRY(table_of(op, t));
  if ((*t)->signature == signature) return ST_OK;
  return st__fail(ST_BAD_STATE, "was redefined with the C types\n(%s), but "
                  "the caller's handle has (%s)", (*t)->signature, signature);
}

enum { UNOBSERVED, OBSERVED, OBSERVED_WITH_VALUES };

static void observe_typed(st_thread *self, const char *kind, st_route *r,
                          const st_registration *k) {
  trace_call(self, &r->call, kind, k);
  if (!is_observed(kind) || !self->observers || self->in_observer) return;
  r->observed = wants_values(self) ? OBSERVED_WITH_VALUES : OBSERVED;
  r->packs |= r->observed == OBSERVED_WITH_VALUES;
  if (r->observed == OBSERVED) before(self, r->call.op, NULL);
}

static inline void find_route(st_thread *self, const st_table *t,
                              const char *kind, st_route *r) {
  const st_registration *k = kernel_of(t, st__highest_slot(r->call.keys),
                                       &r->call);
  r->fn = k->fn;
  r->packs = !k->unboxed;
  r->observed = UNOBSERVED;
  if (UNLIKELY(self->has_observers)) observe_typed(self, kind, r, k);
}

static inline st_status open_route(bool is_call, const st_op *op,
                                   const char *signature, st_keyset keys,
                                   st_route *r) {
  st_thread *self = st__self();
  const st_table *t;
  ST_TRY(enter(self));
  const st_status status = typed_table(op, signature, &t);
  if (UNLIKELY(status != ST_OK)) return leave(self, op, status);
  r->call.op = op;
  r->call.keys = is_call ? effective(self, t, keys) : keys;
  find_route(self, t, is_call ? "call" : "redispatch", r);
  return ST_OK;
}

st_status st__route_enter(const st_op *op, const char *signature,
                          st_keyset keys, st_route *r) {
  return open_route(true, op, signature, keys, r);
}

st_status st__route_reenter(const st_op *op, const char *signature,
                            st_keyset keys, st_route *r) {
  return open_route(false, op, signature, keys, r);
}

st_status st__route_run(st_route *r, const st_value *args, st_value *rets) {
  st_thread *self = st__self();
  const bool shows = r->observed == OBSERVED_WITH_VALUES;
  st_running running = {self->running, &r->call, args, ST_CALLER_ENGINE, 0};
  self->running = &running;
  if (shows) before(self, r->call.op, args);
  const st_status status = r->fn(&r->call, args, rets);
  if (shows) after(self, r->call.op, status, rets);
  self->running = running.outer;
  return status;
}

st_status st__route_leave(st_route *r, st_status status) {
  st_thread *self = st__self();
  if (r->observed == OBSERVED) after(self, r->call.op, status, NULL);
  return leave(self, r->call.op, status);
}
