/* Explains which kernel a call would run and why, without running it. */

#include <string.h>

#include "base/text.h"
#include "dispatch/entry.h"

enum { WIDTH = 14 };

static void add_keys(st_text *t, st_keyset ks) {
  int state = 0;
  const char *comma = "";
  for (st_key k; (k = st__keyset_next(ks, &state)) != ST_KEY_INVALID;) {
    st__text_format(t, "%s%s", comma, st__key_name(k));
    comma = ", ";
  }
  if (!*comma) st__text_puts(t, "no key");
}

/* The thread's sets have functionality bits but no backend bits; any backend
 * bit lets them be listed as keys. */
static void add_functionalities(st_text *t, st_keyset ks) {
  add_keys(t, ks | (ks & ~ST_BACKEND_BITS ? ST_BIT(ST_BACKEND_CPU) : 0));
}

static void add_head(st_text *t, const char *head) {
  st__text_format(t, "  %-*s ", WIDTH, head);
}

static st_keyset keys_of(const st_value *v) {
  const st_tensors all = st__tensors_in(v);
  st_keyset ks = 0;
  for (uint32_t i = 0; i < all.n; i++) {
    if (all.p[i]) ks |= st__keys(all.p[i]);
  }
  return ks;
}

static st_keyset add_arguments(st_text *t, const st_schema *s,
                               const st_value *args) {
  st_keyset all = 0;
  for (int i = 0; i < s->nargs; i++) {
    if (s->args[i].type != ST_TYPE_TENSOR) continue;
    add_head(t, s->args[i].name);
    if (args[i].tag == ST_TAG_NONE) {
      st__text_puts(t, "none");
    } else {
      add_keys(t, keys_of(&args[i]));
    }
    st__text_puts(t, "\n");
    all |= keys_of(&args[i]);
  }
  return all;
}

static void add_set(st_text *t, const char *head, st_keyset ks) {
  if (!(ks & ~ST_BACKEND_BITS)) return;
  add_head(t, head);
  add_functionalities(t, ks);
  st__text_puts(t, "\n");
}

static const char *precedence(const st_registration *r, st_key key) {
  if (r->what == ST_REGISTERED_FALLBACK) return "the operator has no kernel";
  if (st__key_is_alias(r->key)) return "an alias key that includes it";
  return r->key == key ? "its own" : "";
}

/* Writes the kernel that the key dispatches to. */
static void add_kernel(st_text *t, const st_op *op, st_key key) {
  const st_registration *r = st__select(op, key);
  add_head(t, "kernel");
  st__text_format(t, "%s [%s]", r->debug, st__provenance(r));
  if (r->what == ST_REGISTERED_KERNEL) {
    st__text_format(t, ", registered for %s (%s), %s", st__key_name(r->key),
                    precedence(r, key), r->unboxed ? "unboxed" : "boxed");
  } else if (r->what == ST_REGISTERED_FALLBACK) {
    st__text_format(t, ", the fallback of %s (%s)", st__key_name(r->key),
                    precedence(r, key));
  }
  st__text_puts(t, "\n");
}

/* Writes the other kernels that serve the key, and why they are not used. */
static void add_others(st_text *t, const st_op *op, st_key key) {
  const st_registration *chosen = st__select(op, key);
  const char *head = "not used";
  for (const st_registration *r = op->kernels; r; r = r->next) {
    const bool is_candidate = r->key == key || st__alias_includes(r->key, key);
    if (r == chosen || !is_candidate) continue;
    add_head(t, head);
    head = "";
    st__text_format(t, "%s for %s, %s\n", r->debug, st__key_name(r->key),
                    !st__is_compatible(r)
                    ? "its C types differ from the schema's"
                    : r->key == chosen->key ? "older"
                    : "of lower precedence");
  }
}

/* Under the mutex. */
static void add_dispatch(st_text *t, const st_op *op, const st_table *table,
                         st_keyset seen) {
  const st_thread *self = &st__thread;
  const st_keyset ks = (seen | self->tls.included) & ~self->removed;
  const st_keyset mask = table->masks[table->mask_of[
    st__highest_backend(ks)]];
  const st_key key = st__highest_slot(ks & mask);
  add_set(t, "thread adds", self->tls.included);
  add_set(t, "thread removes", (seen | self->tls.included) & self->removed);
  add_set(t, "falls through", ks & ~mask);
  add_head(t, "key");
  st__text_format(t, "%s, the highest of ", st__key_name(key));
  add_keys(t, ks & mask);
  st__text_puts(t, "\n");
  add_kernel(t, op, key);
  add_others(t, op, key);
}

st_status st__explain(const st_op *op, int n, const st_value *args,
                      char **out) {
  st_value all[ST_MAX_ARGS] = {{0}};
  const st_table *table;
  st_text t = {0};
  ST_TRY(st__bind_args(op, n, args, all));
  ST_TRY(st__build_table(op, &table));
  st__lock();
  const st_schema *s = st__op_schema(op);
  table = atomic_load(&((st_op *)(uintptr_t)op)->table);
  if (s && table) {
    st__text_format(&t, "%s\n", s->text);
    add_dispatch(&t, op, table, add_arguments(&t, s, all));
  }
  st__unlock();
  if (!s || !table) {
    return st__fail(ST_BAD_STATE, "%s was redefined meanwhile", op->full);
  }
  return st__text_finish(&t, out);
}

/* -- Kernel facts, unobserved calls --------------------------------------- */

/* Kernels that a program registers under aten:: have a free_ctx. */
bool st__runs_on_meta(const st_op *op) {
  if (strncmp(op->full, "aten::", 6) != 0) return false;
  st__lock();
  const st_registration *cpu = st__select(op, st__key_parse("CPU"));
  const st_registration *meta = st__select(op, st__key_parse("Meta"));
  const bool same = cpu->what == ST_REGISTERED_KERNEL && cpu->fn == meta->fn &&
                    !cpu->free_ctx && !meta->free_ctx;
  st__unlock();
  return same;
}

st_kernel_facts st__kernel_facts(const st_op *op, const char *key) {
  st__lock();
  const st_registration *r = st__select(op, st__key_parse(key));
  const st_kernel_facts facts = {
    r->fn, r->ctx, r->key == ST_KEY_COMPOSITE_IMPLICIT &&
           r->what == ST_REGISTERED_KERNEL, r->free_ctx != NULL,
    r->is_of_library};
  st__unlock();
  return facts;
}

st_status st__call_unobserved(const st_op *op, const st_value *args,
                              st_value *rets) {
  st_thread *self = st__self();
  const st_tls tls = self->tls;
  const bool has_observers = self->has_observers;
  st_mode *mode = self->mode;
  st__set_mode(self, NULL);
  self->has_observers = false;
  const st_status status = st__call(op, args, rets);
  st__set_mode(self, mode);
  self->has_observers = has_observers;
  st__set_tls(tls);
  return status;
}
