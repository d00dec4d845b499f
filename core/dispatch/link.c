/* Prepares, links and unregisters registrations.
 * Note [Prepare, then link], Note [Newest registration wins].
 */

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "dispatch/entry.h"

/* -- Preparing ------------------------------------------------------------ */

static void free_registration(st_retired *self) {
  st_registration *r = (st_registration *)self;
  if (r->free_ctx) r->free_ctx(r->ctx);
  if (r->what == ST_REGISTERED_SCHEMA && !r->is_linked) {
    st__schema_free(&r->schema);
  }
  st__free(ST_MEM_REGISTRY, r, sizeof *r);
}

/* Zeroed memory. Under the mutex. */
static st_status init_registration(st_registration *r, st_registered what,
                                   const char *debug, int flags) {
  const char *kept;
  ST_TRY(st__intern_debug(debug, &kept));
  r->retired.free = free_registration;
  r->what = what;
  r->flags = flags;
  r->debug = kept;
  return ST_OK;
}

/* Under the mutex. */
static st_status new_registration(st_registered what, const char *debug,
                                  int flags, st_registration **out) {
  st_registration *r = st__alloc_zero(ST_MEM_REGISTRY, sizeof *r);
  if (!r) return ST_NO_MEMORY;
  const st_status status = init_registration(r, what, debug, flags);
  if (status == ST_OK) *out = r;
  else st__free(ST_MEM_REGISTRY, r, sizeof *r);
  return status;
}

/* The same for one that is never released: several share a block. */
static st_status new_permanent(st_registered what, const char *debug,
                               st_registration **out) {
  enum { BLOCK = 128 };
  static st_registration *block;
  static int used = BLOCK;
  if (used == BLOCK) {
    st_registration *more = st__alloc_zero(ST_MEM_REGISTRY,
                                           BLOCK * sizeof *more);
    if (!more) return ST_NO_MEMORY;
    block = more;
    used = 0;
  }
  ST_TRY(init_registration(&block[used], what, debug, 0));
  *out = &block[used++];
  return ST_OK;
}

/* Under the mutex. */
static st_status name_definition(st_registration *r,
                                 const st_definition *d) {
  char signature[2048];
  st__signature_text(r->schema, signature, sizeof signature);
  ST_TRY(st__check_permanent());
  ST_TRY(st__intern(d->doc, &r->doc));
  ST_TRY(st__intern(signature, &r->signature));
  r->tags = d->tags;
  return st__name_op(r->schema->name, strlen(r->schema->name),
                     r->schema->overload, &r->op);
}

st_status st__prepare_definition(const st_definition *d, int flags,
                                 st_registration **out) {
  st_schema *schema = NULL;
  st_registration *r = NULL;
  ST_TRY(st_schema_new(d->schema, d->ns, &schema));
  st__lock();
  st_status status = new_registration(ST_REGISTERED_SCHEMA, d->debug, flags,
                                      &r);
  if (status == ST_OK) {
    r->schema = schema;
    schema = NULL;
    status = name_definition(r, d);
  }
  st__unlock();
  st__schema_free(&schema);
  if (status == ST_OK) *out = r;
  else st__discard(&r);
  return status;
}

static st_status check_op_name(const char *full) {
  const char *overload;
  const size_t n = st__split_name(full, &overload);
  const size_t ns = strcspn(full, ":");
  if (ns + 2 < n && full[ns + 1] == ':' && st__is_name(full, ns) &&
      st__is_name(full + ns + 2, n - ns - 2) &&
      (!full[n] || st__is_name(overload, strlen(overload)))) {
    return ST_OK;
  }
  return st__fail(ST_BAD_VALUE, "'%.200s' is not the name of an operator, "
                  "as in ns::name.overload", full);
}

static st_status check_key(st_key key) {
  if (key > ST_KEY_UNDEFINED && key < ST_KEY_COUNT) return ST_OK;
  return st__fail(ST_BAD_VALUE, "nothing can be registered for the key %s",
                  st__key_name(key));
}

/* Under the mutex. */
static st_status check_code(st_key key, const st_kernel *k,
                            const char **signature) {
  *signature = NULL;
  ST_TRY(check_key(key));
  if (k->unboxed && !k->signature) {
    return st__fail(ST_BAD_VALUE, "an unboxed kernel needs a signature");
  }
  return k->signature ? st__intern(k->signature, signature) : ST_OK;
}

static void set_code(st_registration *r, st_key key, const st_kernel *k,
                     const char *signature) {
  r->key = key;
  r->fn = k->fn ? k->fn : st__run_fallthrough;
  r->is_fallthrough = !k->fn;
  r->unboxed = k->unboxed;
  r->signature = signature;
  r->ctx = k->ctx;
}

/* Under the mutex. */
static st_status prepare_code(st_registered what, st_key key,
                              const st_kernel *k, int flags,
                              st_registration **out) {
  const char *signature;
  ST_TRY(check_code(key, k, &signature));
  ST_TRY(new_registration(what, k->debug, flags, out));
  set_code(*out, key, k, signature);
  return ST_OK;
}

/* Under the mutex. */
static st_status prepare_kernel(const char *name, st_key key,
                                const st_kernel *kernel, int flags,
                                st_registration **out) {
  const char *overload;
  const size_t n = st__split_name(name, &overload);
  st_registration *r = NULL;
  st_op *op;
  ST_TRY(prepare_code(ST_REGISTERED_KERNEL, key, kernel, flags, &r));
  const st_status status = st__name_op(name, n, overload, &op);
  if (status != ST_OK) {
    free_registration(&r->retired);
    return status;
  }
  r->op = op;
  r->free_ctx = kernel->free_ctx;
  *out = r;
  return ST_OK;
}

st_status st__prepare_kernel(const char *name, st_key key,
                             const st_kernel *kernel, int flags,
                             st_registration **out) {
  ST_TRY(check_op_name(name));
  st__lock();
  const st_status status = prepare_kernel(name, key, kernel, flags, out);
  st__unlock();
  return status;
}

st_status st__prepare_fallback(st_key key, const st_kernel *kernel, int flags,
                               bool is_default, st_registration **out) {
  st__lock();
  const st_status status = prepare_code(ST_REGISTERED_FALLBACK, key, kernel,
                                        flags, out);
  if (status == ST_OK) {
    (*out)->free_ctx = kernel->free_ctx;
    (*out)->is_default = is_default;
  }
  st__unlock();
  return status;
}

st_status st__prepare_listener(const st_listener *l, st_registration **out) {
  st__lock();
  const st_status status = new_registration(ST_REGISTERED_LISTENER, NULL, 0,
                                            out);
  if (status == ST_OK) (*out)->listener = *l;
  st__unlock();
  return status;
}

void st__discard_owned(st_registration **r) {
  if (*r) free_registration(&(*r)->retired);
  *r = NULL;
}

void st__discard(st_registration **r) {
  if (*r) (*r)->free_ctx = NULL;
  st__discard_owned(r);
}

const st_op *st__registration_op(const st_registration *r) { return r->op; }

/* -- Definitions ---------------------------------------------------------- */

static uint64_t definitions;

/* Moves the schema to op, or frees it if op already has an equal one; returns
 * op's. */
static st_schema *keep_schema(st_op *op, st_registration *r) {
  st_schema *kept = op->schemas;
  while (kept && strcmp(kept->text, r->schema->text) != 0) kept = kept->next;
  if (kept) {
    st__schema_free(&r->schema);
    return kept;
  }
  kept = r->schema;
  st__count_permanent(st__schema_size(kept));
  kept->next = op->schemas;
  op->schemas = kept;
  return kept;
}

/* Makes the head of the list the active definition. */
static void publish_definition(st_op *op) {
  const st_registration *r = op->definitions;
  atomic_store(&op->doc, r ? r->doc : "");
  atomic_store(&op->signature, r ? r->signature : NULL);
  atomic_store(&op->tags, r ? r->tags : 0);
  atomic_store(&op->order, r ? r->order : 0);
  atomic_store(&op->schema, r ? r->schema : NULL);
  st__drop_table(op);
}

static st_status check_signature(const st_registration *kernel,
                                 const char *signature) {
  if (!kernel->signature || kernel->signature == signature) return ST_OK;
  return st__fail(ST_BAD_TYPE, "%s: its kernels have the C types\n"
                  "(%s), but that of '%s' has (%s)", kernel->op->full,
                  signature, kernel->debug, kernel->signature);
}

static st_status link_definition(st_registration *r) {
  st_op *op = r->op;
  const st_registration *old = op->definitions;
  if (old && !(old->flags & r->flags & ST_REPLACE)) {
    return st__fail(ST_BAD_STATE, "%s is already defined by '%s'; '%s' "
                    "cannot define it again", op->full, old->debug,
                    r->debug);
  }
  for (const st_registration *k = op->kernels; k && !old; k = k->next) {
    ST_TRY(check_signature(k, r->signature));
  }
  r->schema = keep_schema(op, r);
  r->next = op->definitions;
  op->definitions = r;
  r->order = ++definitions;
  publish_definition(op);
  return ST_OK;
}

/* -- Kernels -------------------------------------------------------------- */

static st_status link_kernel(st_registration *r) {
  st_op *op = r->op;
  if (op->definitions) {
    ST_TRY(check_signature(r, op->definitions->signature));
  }
  for (const st_registration *k = op->kernels; k && r->signature;
       k = k->next) {
    if (st__is_compatible(k)) ST_TRY(check_signature(k, r->signature));
  }
  r->next = op->kernels;
  op->kernels = r;
  st__drop_table(op);
  return ST_OK;
}

/* -- Fallbacks ------------------------------------------------------------ */

const st_registration *st__fallbacks[ST_KEY_RUNTIME_COUNT];
static st_registration *fallbacks; /* newest first */

static bool covers(st_key key, st_key runtime) {
  return key == runtime || st__alias_includes(key, runtime);
}

/* Updates st__fallbacks and drops the tables of all operators. */
static void publish_fallbacks(void) {
  for (int k = 0; k < ST_KEY_RUNTIME_COUNT; k++) {
    const st_registration *found = NULL;
    for (const st_registration *r = fallbacks; r; r = r->next) {
      if (!covers(r->key, k)) continue;
      if (!found || (found->is_default && !r->is_default)) found = r;
    }
    st__fallbacks[k] = found;
  }
  st__drop_tables();
}

static st_status link_fallback(st_registration *r) {
  for (int k = 0; k < ST_KEY_RUNTIME_COUNT; k++) {
    const st_registration *old = covers(r->key, k) ? st__fallbacks[k] : NULL;
    if (!old || old->is_default || r->is_default ||
        (old->flags & r->flags & ST_REPLACE)) {
      continue;
    }
    return st__fail(ST_BAD_STATE, "%s already has the fallback '%s'; '%s' "
                    "cannot be added", st__key_name(k), old->debug,
                    r->debug);
  }
  r->next = fallbacks;
  fallbacks = r;
  publish_fallbacks();
  return ST_OK;
}

/* -- Listeners ------------------------------------------------------------ */

static st_registration *listeners;

/* Finds the newest listener with an order less than *before and sets *before
 * to its order, because listeners may change between two calls. */
static bool find_listener(uint64_t *before, st_listener *out) {
  st__lock();
  const st_registration *r = listeners;
  while (r && r->order >= *before) r = r->next;
  if (r) {
    *before = r->order;
    *out = r->listener;
  }
  st__unlock();
  return r != NULL;
}

/* Runs after the change and without the mutex, so that a listener may
 * register. */
static void notify_listeners(const st_op *op) {
  uint64_t before = UINT64_MAX;
  st_listener l;
  while (find_listener(&before, &l)) {
    l.fn(l.ctx, op, st__op_schema(op) != NULL);
  }
}

static void notify_changes(st_registration *const *list, int n) {
  for (int i = 0; i < n; i++) {
    if (list[i]->what == ST_REGISTERED_SCHEMA) notify_listeners(list[i]->op);
  }
}

/* Notifies new listeners of all operators that are defined already. */
static void notify_of_all(st_registration *const *list, int n) {
  for (int i = 0; i < n; i++) {
    const st_listener l = list[i]->listener;
    if (list[i]->what != ST_REGISTERED_LISTENER) continue;
    for (st_op *op = st__first_op(); op; op = atomic_load(&op->next)) {
      if (st__op_schema(op)) l.fn(l.ctx, op, true);
    }
  }
}

/* -- Linking -------------------------------------------------------------- */

_Atomic uint64_t st__changes;

static st_status link_one(st_registration *r) {
  atomic_fetch_add_explicit(&st__changes, 1, memory_order_acq_rel);
  switch (r->what) {
    case ST_REGISTERED_SCHEMA: return link_definition(r);
    case ST_REGISTERED_KERNEL: return link_kernel(r);
    case ST_REGISTERED_FALLBACK: return link_fallback(r);
    default:
      r->order = ++definitions;
      r->next = listeners;
      listeners = r;
      return ST_OK;
  }
}

static void unlink_from(st_registration **link, const st_registration *r) {
  while (*link != r) link = &(*link)->next;
  *link = r->next;
}

static void unlink_one(st_registration *r) {
  atomic_fetch_add_explicit(&st__changes, 1, memory_order_acq_rel);
  switch (r->what) {
    case ST_REGISTERED_SCHEMA:
      unlink_from(&r->op->definitions, r);
      publish_definition(r->op);
      break;
    case ST_REGISTERED_KERNEL:
      unlink_from(&r->op->kernels, r);
      st__drop_table(r->op);
      break;
    case ST_REGISTERED_FALLBACK:
      unlink_from(&fallbacks, r);
      publish_fallbacks();
      break;
    default:
      unlink_from(&listeners, r);
  }
}

/* Links all registrations or none. Under the mutex. */
static st_status link_all(st_registration *const *regs, int n) {
  for (int i = 0; i < n; i++) {
    const st_status status = link_one(regs[i]);
    if (status == ST_OK) {
      regs[i]->is_linked = true;
      continue;
    }
    while (i-- > 0) unlink_one(regs[i]);
    return status;
  }
  return ST_OK;
}

/* Warns of kernels that hide older ones without ST_REPLACE (R5). */
static void warn_of_hidden(st_registration *const *regs, int n) {
  for (int i = 0; i < n; i++) {
    const st_registration *r = regs[i], *old = NULL;
    if (r->what != ST_REGISTERED_KERNEL || r->flags & ST_REPLACE) continue;
    st__lock();
    old = r->next;
    while (old && old->key != r->key) old = old->next;
    const char *hidden = old ? old->debug : NULL;
    st__unlock();
    if (hidden) {
      st__warn("%s: the kernel '%s' for %s hides that of '%s'",
               r->op->full, r->debug, st__key_name(r->key), hidden);
    }
  }
}

st_status st__link_silent(st_registration *const *regs, int n,
                          st_registration *const *drop, int ndrop) {
  st__lock();
  const st_status status = link_all(regs, n);
  for (int i = 0; i < ndrop && status == ST_OK; i++) unlink_one(drop[i]);
  st__unlock();
  return status;
}

/* A listener may unregister what was linked just now, so nothing is freed
 * while listeners run; dropped registrations are retired after that. */
void st__notify(st_registration *const *regs, int n,
                st_registration *const *drop, int ndrop) {
  st__pause_reclaim(true);
  warn_of_hidden(regs, n);
  notify_changes(drop, ndrop);
  notify_changes(regs, n);
  notify_of_all(regs, n);
  st__lock();
  for (int i = 0; i < ndrop; i++) st__retire(&drop[i]->retired);
  st__unlock();
  st__pause_reclaim(false);
  st__reclaim();
}

st_status st__link(st_registration *const *regs, int n,
                   st_registration *const *drop, int ndrop) {
  ST_TRY(st__link_silent(regs, n, drop, ndrop));
  st__notify(regs, n, drop, ndrop);
  return ST_OK;
}

void st_registration_release(st_registration **r) {
  if (!*r) return;
  st__link(NULL, 0, r, 1);
  *r = NULL;
}

/* -- Single registrations ------------------------------------------------- */

st_status st__link_one(st_registration *r, st_registration **out) {
  const st_status status = st__link(&r, 1, NULL, 0);
  if (status != ST_OK) st__discard(&r);
  else if (out) *out = r;
  return status;
}

st_status st__def(const st_definition *d, int flags, st_registration **out) {
  st_registration *r;
  ST_TRY(st__prepare_definition(d, flags, &r));
  return st__link_one(r, out);
}

/* Under the mutex. */
static st_status prepare_static(st_schema *schema, const char *signature,
                                st_registration *r) {
  r->schema = schema;
  ST_TRY(st__intern(signature, &r->signature));
  return st__name_op(schema->name, strlen(schema->name), schema->overload,
                     &r->op);
}

st_status st__def_static(st_schema *schema, const char *signature,
                         const char *doc, const char *debug, int tags,
                         const st_op **out) {
  st_registration *r = NULL;
  st__lock();
  st_status status = new_permanent(ST_REGISTERED_SCHEMA, debug, &r);
  if (status == ST_OK) status = prepare_static(schema, signature, r);
  st__unlock();
  ST_TRY(status);
  r->doc = doc;
  r->tags = tags;
  *out = r->op;
  return st__link(&r, 1, NULL, 0);
}

st_status st__impl(const char *name, st_key key, const st_kernel *kernel,
                   st_registration **out) {
  st_registration *r;
  ST_TRY(st__prepare_kernel(name, key, kernel, 0, &r));
  r->is_of_library = true;
  return st__link_one(r, out);
}

/* Under the mutex. */
static st_status implement(st_op *op, st_key key, const st_kernel *kernel,
                           st_registration **out) {
  const char *signature;
  ST_TRY(check_code(key, kernel, &signature));
  ST_TRY(new_permanent(ST_REGISTERED_KERNEL, kernel->debug, out));
  set_code(*out, key, kernel, signature);
  (*out)->op = op;
  return link_all(out, 1);
}

st_status st__impl_op(const st_op *op, st_key key, const st_kernel *kernel,
                      const st_shortcut_of *shortcut) {
  st_registration *r = NULL;
  ST_ASSERT(!kernel->free_ctx); /* it is permanent */
  st__lock();
  const st_status status = implement((st_op *)(uintptr_t)op, key, kernel, &r);
  if (status == ST_OK && shortcut) r->shortcut = *shortcut;
  st__unlock();
  if (status == ST_OK) warn_of_hidden(&r, 1);
  return status;
}

/* -- Initialization ------------------------------------------------------- */

/* ATen's fallthroughs (R12), except those of the Autograd keys, where an
 * operator without a derivative must not lose a gradient silently. */
static const char *const fallthroughs[] = {
  "BackendSelect", "ADInplaceOrView", "AutocastCPU", "AutocastXPU",
  "AutocastCUDA",
};
static const char *const autograd_keys[] = {
  "AutogradOther", "AutogradCPU", "AutogradCUDA", "AutogradXLA",
  "AutogradXPU", "AutogradLazy", "AutogradMPS", "AutogradHPU",
  "AutogradMeta", "AutogradPrivateUse1", "AutogradPrivateUse2",
  "AutogradPrivateUse3",
};
static const char *const mode_keys[] = {"Lua"};

st_status st__default_fallback(const char *name, st_kernel_fn fn,
                               const char *debug) {
  const st_kernel kernel = {.fn = fn, .debug = debug};
  const st_key key = st__key_parse(name);
  st_registration *r;
  if (st__fallbacks[key]) return ST_OK; /* from an earlier attempt */
  ST_TRY(st__prepare_fallback(key, &kernel, ST_REPLACE, true, &r));
  return st__link(&r, 1, NULL, 0);
}

#define COUNT(list) (sizeof list / sizeof *list)

static st_status add_defaults(void) {
  for (size_t i = 0; i < COUNT(fallthroughs); i++) {
    ST_TRY(st__default_fallback(fallthroughs[i], NULL,
                                "fallthrough by default"));
  }
  for (size_t i = 0; i < COUNT(autograd_keys); i++) {
    ST_TRY(st__default_fallback(autograd_keys[i], st__run_underivable,
                                "no derivative"));
  }
  for (size_t i = 0; i < COUNT(mode_keys); i++) {
    ST_TRY(st__default_fallback(mode_keys[i], st__run_mode,
                                "the active mode"));
  }
  return ST_OK;
}

st_status st__dispatch_init(void) {
  const char *trace = getenv("STRIDED_SHOW_DISPATCH_TRACE");
  st__trace_prints = trace && strcmp(trace, "1") == 0;
  return add_defaults();
}
