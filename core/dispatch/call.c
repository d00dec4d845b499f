/* The call path: keys from arguments, one table look-up, one jump. */

#include <string.h>

#include "dispatch/entry.h"

#define UNLIKELY(e) __builtin_expect(!!(e), 0)

/* Far beyond what operators nest, far below what a thread's stack holds. */
enum { MAX_DEPTH = 200 };

/* -- Trace ---------------------------------------------------------------- */

static void show_call(st_thread *self, const st_trace_event *e) {
  if (st__trace_prints) {
    fprintf(stderr, "%*s[%s] op=[%s], key=[%s]\n", e->depth, "", e->kind,
            e->op->full, st__key_name(e->key));
  }
  if (self->trace) self->trace(self->trace_ctx, e);
}

/* What the observer itself calls is not shown. */
static void trace_call(st_thread *self, const st_call *call,
                       const char *kind, const st_registration *kernel) {
  if (self->in_trace) return;
  const st_trace_event e = {call->op, call->keys,
                            st__highest_slot(call->keys), kind,
                            kernel->debug, self->depth - 1};
  self->in_trace = true;
  show_call(self, &e);
  self->in_trace = false;
}

void st__set_trace(void (*fn)(void *ctx, const st_trace_event *e),
                   void *ctx) {
  st__thread.trace = fn;
  st__thread.trace_ctx = ctx;
  st__thread.tracing = fn || st__trace_prints;
}

/* -- Calls ---------------------------------------------------------------- */

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
  if (UNLIKELY(status != ST_OK)) st__blame(op, status);
  if (UNLIKELY(atomic_load_explicit(&st__has_retired,
                                    memory_order_relaxed))) {
    st__reclaim();
  }
  return status;
}

static inline st_keyset keys_of(uint64_t tensor_args, const st_value *args) {
  st_keyset ks = 0;
  for (; tensor_args; tensor_args &= tensor_args - 1) {
    const st_value *v = &args[__builtin_ctzll(tensor_args)];
    if (v->tag == ST_TAG_TENSOR) {
      ks |= v->u.tensor->keys;
    } else if (v->tag == ST_TAG_TENSORS) {
      for (uint32_t i = 0; i < v->len; i++) {
        if (v->u.tensors[i]) ks |= v->u.tensors[i]->keys;
      }
    }
  }
  return ks;
}

static inline st_status run(st_thread *self, const st_table *t,
                            const char *kind, st_call *call,
                            const st_value *args, st_value *rets) {
  const st_registration *k = t->kernels[t->slot[st__highest_slot(call->keys)]];
  call->ctx = k->ctx;
  if (UNLIKELY(self->tracing)) trace_call(self, call, kind, k);
  return k->fn(call, args, rets);
}

static inline st_status table_of(const st_op *op, const st_table **out) {
  *out = atomic_load(&((st_op *)(uintptr_t)op)->table);
  return UNLIKELY(!*out) ? st__build_table(op, out) : ST_OK;
}

st_status st__call(const st_op *op, const st_value *args, st_value *rets) {
  st_thread *self = &st__thread;
  const st_table *t;
  ST_TRY(enter(self));
  st_status status = table_of(op, &t);
  if (status == ST_OK) {
    const st_keyset seen = keys_of(t->tensor_args, args);
    const st_keyset ks = (seen | self->tls.included) & ~self->masked;
    const st_keyset mask = t->masks[t->mask_of[st__highest_backend(ks)]];
    st_call call = {op, ks & mask, NULL};
    status = run(self, t, "call", &call, args, rets);
  }
  return leave(self, op, status);
}

st_status st__redispatch(const st_op *op, st_keyset keys,
                         const st_value *args, st_value *rets) {
  st_thread *self = &st__thread;
  const st_table *t;
  ST_TRY(enter(self));
  st_status status = table_of(op, &t);
  if (status == ST_OK) {
    st_call call = {op, keys, NULL};
    status = run(self, t, "redispatch", &call, args, rets);
  }
  return leave(self, op, status);
}
