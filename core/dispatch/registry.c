/* The registry: names, operators, and what is registered for them. */

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "dispatch/entry.h"

/* -- Names ---------------------------------------------------------------- */

/* Buckets only ever gain names at their head, so that look-ups need no lock
 * and nothing is ever moved. */
enum { BUCKETS = 4096 };
static _Atomic(st_name *) buckets[BUCKETS];

static uint32_t hash_of(const char *s, size_t n) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)s[i]) * 16777619u;
  return h;
}

static st_name *find_name(const char *s, size_t n) {
  const uint32_t hash = hash_of(s, n);
  st_name *name = atomic_load(&buckets[hash % BUCKETS]);
  while (name && (name->hash != hash || name->len != n ||
                  memcmp(name->text, s, n) != 0)) {
    name = name->next;
  }
  return name;
}

/* Under the mutex. */
static st_name *intern(const char *s, size_t n) {
  st_name *name = find_name(s, n);
  if (name) return name;
  name = st__alloc_zero(ST_MEM_REGISTRY, sizeof *name + n + 1);
  if (!name) return NULL;
  name->hash = hash_of(s, n);
  name->len = (uint32_t)n;
  memcpy(name->text, s, n);
  _Atomic(st_name *) *bucket = &buckets[name->hash % BUCKETS];
  name->next = atomic_load(bucket);
  atomic_store(bucket, name);
  return name;
}

/* The interned text, "" for NULL. */
static st_status intern_text(const char *s, const char **out) {
  const st_name *name = s ? intern(s, strlen(s)) : NULL;
  *out = name ? name->text : "";
  return s && !name ? ST_NO_MEMORY : ST_OK;
}

/* -- Operators ------------------------------------------------------------ */

static _Atomic(st_op *) first_op;
static st_op *last_op;
static uint64_t definitions;

static st_op *find_overload(const st_name *name, const char *overload) {
  st_op *op = atomic_load(&((st_name *)(uintptr_t)name)->overloads);
  while (op && strcmp(op->overload, overload) != 0) {
    op = atomic_load(&op->next_overload);
  }
  return op;
}

static st_status full_name(const st_name *name, const char *overload,
                           const char **out) {
  const size_t n = strlen(overload), size = name->len + n + 2;
  char *text;
  if (n == 0) {
    *out = name->text;
    return ST_OK;
  }
  text = st__alloc(ST_MEM_SCRATCH, size);
  if (!text) return ST_NO_MEMORY;
  snprintf(text, size, "%s.%s", name->text, overload);
  const st_status status = intern_text(text, out);
  st__free(ST_MEM_SCRATCH, text, size);
  return status;
}

static void link_op(st_op *op, st_name *name) {
  _Atomic(st_op *) *link = &name->overloads;
  for (st_op *o; (o = atomic_load(link)); link = &o->next_overload) {}
  atomic_store(link, op);
  atomic_store(last_op ? &last_op->next : &first_op, op);
  last_op = op;
}

/* The operator of this name, made if there is none. Under the mutex. */
static st_status name_op(const char *s, size_t n, const char *overload,
                         st_op **out) {
  st_name *name = intern(s, n);
  if (!name) return ST_NO_MEMORY;
  st_op *op = find_overload(name, overload);
  if (!op) {
    const char *text, *full;
    ST_TRY(intern_text(overload, &text));
    ST_TRY(full_name(name, text, &full));
    op = st__alloc_zero(ST_MEM_REGISTRY, sizeof *op);
    if (!op) return ST_NO_MEMORY;
    op->name = name;
    op->overload = text;
    op->full = full;
    atomic_store(&op->doc, "");
    link_op(op, name);
  }
  *out = op;
  return ST_OK;
}

/* -- Look-up -------------------------------------------------------------- */

static const st_op *defined(const st_op *op) {
  return op && st__op_schema(op) ? op : NULL;
}

const st_op *st__op_find(const char *name, const char *overload) {
  const st_name *found = find_name(name, strlen(name));
  return found ? defined(find_overload(found, overload ? overload : ""))
               : NULL;
}

/* Where the name ends and the overload begins in "ns::op.overload". */
static size_t split(const char *full, const char **overload) {
  const size_t n = strcspn(full, ".");
  *overload = full[n] ? full + n + 1 : "";
  return n;
}

const st_op *st__op_find_full(const char *full) {
  const char *overload;
  const st_name *found = find_name(full, split(full, &overload));
  return found ? defined(find_overload(found, overload)) : NULL;
}

void st__op_each(bool (*fn)(void *ctx, const st_op *op), void *ctx) {
  st_op *op = atomic_load(&first_op);
  for (; op; op = atomic_load(&op->next)) {
    if (defined(op) && !fn(ctx, op)) return;
  }
}

static uint64_t order_of(const st_op *op) {
  return atomic_load(&((st_op *)(uintptr_t)op)->order);
}

int st__op_overloads(const char *name, const st_op **ops, int n) {
  st_name *found = find_name(name, strlen(name));
  st_op *op = found ? atomic_load(&found->overloads) : NULL;
  int count = 0;
  for (; op; op = atomic_load(&op->next_overload)) {
    if (!defined(op)) continue;
    /* Kept in order of definition; what does not fit falls off the end. */
    int at = count < n ? count : n;
    for (; at > 0 && order_of(ops[at - 1]) > order_of(op); at--) {
      if (at < n) ops[at] = ops[at - 1];
    }
    if (at < n) ops[at] = op;
    count++;
  }
  return count;
}

const char *st__op_name(const st_op *op) { return op->name->text; }
const char *st__op_overload_name(const st_op *op) { return op->overload; }
const char *st__op_full_name(const st_op *op) { return op->full; }

const st_schema *st__op_schema(const st_op *op) {
  return atomic_load(&((st_op *)(uintptr_t)op)->schema);
}

const char *st__op_doc(const st_op *op) {
  return atomic_load(&((st_op *)(uintptr_t)op)->doc);
}

void st__op_slot(const st_op *op, st_key key, const char **debug,
                 const char **provenance) {
  st__lock();
  const st_registration *r = st__select(op, key);
  *debug = r->debug;
  *provenance = st__provenance(r);
  st__unlock();
}

/* -- Registrations -------------------------------------------------------- */

static void free_registration(st_retired *self) {
  st_registration *r = (st_registration *)self;
  if (r->free_ctx) r->free_ctx(r->ctx);
  st__free(ST_MEM_REGISTRY, r, sizeof *r);
}

/* Under the mutex. Owns kernel->ctx only once it is linked. */
static st_status new_registration(st_registered what, st_key key,
                                  const st_kernel *kernel,
                                  st_registration **out) {
  const char *debug;
  ST_TRY(intern_text(kernel->debug, &debug));
  st_registration *r = st__alloc_zero(ST_MEM_REGISTRY, sizeof *r);
  if (!r) return ST_NO_MEMORY;
  r->retired.free = free_registration;
  r->what = what;
  r->key = key;
  r->fn = kernel->fn ? kernel->fn : st__run_fallthrough;
  r->is_fallthrough = !kernel->fn;
  r->ctx = kernel->ctx;
  r->free_ctx = kernel->free_ctx;
  r->debug = debug;
  *out = r;
  return ST_OK;
}

static st_status check_key(st_key key) {
  if (key > ST_KEY_UNDEFINED && key < ST_KEY_COUNT) return ST_OK;
  return st__fail(ST_BAD_VALUE, "nothing can be registered for the key %s",
                  st__key_name(key));
}

/* -- Schemas -------------------------------------------------------------- */

/* Gives *schema to op, or frees it for an equal one that op has. */
static st_schema *keep_schema(st_op *op, st_schema **schema) {
  st_schema *kept = op->schemas;
  while (kept && strcmp(kept->text, (*schema)->text) != 0) kept = kept->next;
  if (kept) {
    st__schema_free(schema);
    return kept;
  }
  (*schema)->next = op->schemas;
  op->schemas = *schema;
  *schema = NULL;
  return op->schemas;
}

/* Under the mutex. */
static st_status define(st_schema **schema, const char *doc,
                        const char *debug, st_registration **out) {
  const char *name = (*schema)->name, *kept_doc;
  st_registration *r;
  st_op *op;
  ST_TRY(name_op(name, strlen(name), (*schema)->overload, &op));
  if (atomic_load(&op->schema)) {
    return st__fail(ST_BAD_STATE, "%s is already defined by '%s'; '%s' "
                    "cannot define it again", op->full, op->debug,
                    debug ? debug : "");
  }
  ST_TRY(intern_text(doc, &kept_doc));
  ST_TRY(new_registration(ST_REGISTERED_SCHEMA, ST_KEY_UNDEFINED,
                          &(st_kernel){.debug = debug}, &r));
  r->op = op;
  op->debug = r->debug;
  atomic_store(&op->doc, kept_doc);
  atomic_store(&op->order, ++definitions);
  atomic_store(&op->schema, keep_schema(op, schema));
  st__drop_table(op);
  if (out) *out = r;
  else free_registration(&r->retired);
  return ST_OK;
}

st_status st__def(const char *ns, const char *text, const char *doc,
                  const char *debug, st_registration **out) {
  st_schema *schema = NULL;
  ST_TRY(st__schema_parse(text, ns, &schema));
  st__lock();
  const st_status status = define(&schema, doc, debug, out);
  st__unlock();
  st__schema_free(&schema);
  st__reclaim();
  return status;
}

/* -- Kernels -------------------------------------------------------------- */

static bool is_name(const char *s, size_t n) {
  static const char first[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  if (n == 0 || !strchr(first, *s)) return false;
  for (size_t i = 1; i < n; i++) {
    if (!strchr(first, s[i]) && (s[i] < '0' || s[i] > '9')) return false;
  }
  return true;
}

static bool is_op_name(const char *s, size_t n, const char *overload) {
  const size_t ns = strcspn(s, ":");
  return ns + 2 < n && s[ns + 1] == ':' && is_name(s, ns) &&
         is_name(s + ns + 2, n - ns - 2) &&
         (!*overload || is_name(overload, strlen(overload)));
}

/* Under the mutex. */
static st_status implement(const char *name, st_key key,
                           const st_kernel *kernel, st_registration **out) {
  const char *overload;
  const size_t n = split(name, &overload);
  st_op *op;
  if (!is_op_name(name, n, overload)) {
    return st__fail(ST_BAD_VALUE, "'%.200s' is not the name of an operator, "
                    "as in ns::name.overload", name);
  }
  ST_TRY(check_key(key));
  ST_TRY(name_op(name, n, overload, &op));
  ST_TRY(new_registration(ST_REGISTERED_KERNEL, key, kernel, out));
  (*out)->op = op;
  (*out)->next = op->kernels;
  op->kernels = *out;
  st__drop_table(op);
  return ST_OK;
}

st_status st__impl(const char *name, st_key key, const st_kernel *kernel,
                   st_registration **out) {
  st_registration *r;
  st__lock();
  const st_status status = implement(name, key, kernel, &r);
  st__unlock();
  if (status == ST_OK && out) *out = r;
  st__reclaim();
  return status;
}

/* -- Fallbacks ------------------------------------------------------------ */

static bool covers(st_key key, st_key runtime) {
  return key == runtime || st__alias_includes(key, runtime);
}

static void drop_all_tables(void) {
  st_op *op = atomic_load(&first_op);
  for (; op; op = atomic_load(&op->next)) st__drop_table(op);
}

/* Under the mutex. */
static st_status fall_back(st_key key, const st_kernel *kernel,
                           st_registration **out) {
  ST_TRY(check_key(key));
  for (int k = 0; k < ST_KEY_RUNTIME_COUNT; k++) {
    if (!covers(key, k) || !st__fallbacks[k]) continue;
    return st__fail(ST_BAD_STATE, "%s already has the fallback '%s'; '%s' "
                    "cannot be another", st__key_name(k),
                    st__fallbacks[k]->debug,
                    kernel->debug ? kernel->debug : "");
  }
  ST_TRY(new_registration(ST_REGISTERED_FALLBACK, key, kernel, out));
  for (int k = 0; k < ST_KEY_RUNTIME_COUNT; k++) {
    if (covers(key, k)) st__fallbacks[k] = *out;
  }
  drop_all_tables();
  return ST_OK;
}

st_status st__fallback(st_key key, const st_kernel *kernel,
                       st_registration **out) {
  st_registration *r;
  st__lock();
  const st_status status = fall_back(key, kernel, &r);
  st__unlock();
  if (status == ST_OK && out) *out = r;
  st__reclaim();
  return status;
}

/* -- Taking back ---------------------------------------------------------- */

/* Under the mutex. */
static void unlink_registration(st_registration *r) {
  if (r->what == ST_REGISTERED_SCHEMA) {
    atomic_store(&r->op->schema, NULL);
    atomic_store(&r->op->doc, "");
  } else if (r->what == ST_REGISTERED_KERNEL) {
    st_registration **link = &r->op->kernels;
    while (*link != r) link = &(*link)->next;
    *link = r->next;
  } else {
    for (int k = 0; k < ST_KEY_RUNTIME_COUNT; k++) {
      if (st__fallbacks[k] == r) st__fallbacks[k] = NULL;
    }
    drop_all_tables();
    return;
  }
  st__drop_table(r->op);
}

void st__unregister(st_registration **r) {
  if (!*r) return;
  st__lock();
  unlink_registration(*r);
  st__retire(&(*r)->retired);
  st__unlock();
  *r = NULL;
  st__reclaim();
}

/* -- Start ---------------------------------------------------------------- */

/* ATen's own fallthroughs (SEMANTICS R12), and those of the keys that
 * extensions own. AutogradMeta has none, as in ATen. */
static const char *const fallthroughs[] = {
  "BackendSelect", "ADInplaceOrView", "AutogradOther", "AutogradCPU",
  "AutogradCUDA", "AutogradXLA", "AutogradXPU", "AutogradLazy",
  "AutogradMPS", "AutogradHPU", "AutogradPrivateUse1",
  "AutogradPrivateUse2", "AutogradPrivateUse3", "AutocastCPU",
  "AutocastXPU", "AutocastCUDA",
};

/* Under the mutex; those that are there already stay. */
static st_status add_fallthroughs(void) {
  const st_kernel kernel = {.debug = "fallthrough by default"};
  for (size_t i = 0; i < sizeof fallthroughs / sizeof *fallthroughs; i++) {
    const st_key key = st__key_parse(fallthroughs[i]);
    st_registration *r;
    if (!st__fallbacks[key]) ST_TRY(fall_back(key, &kernel, &r));
  }
  return ST_OK;
}

st_status st__dispatch_init(void) {
  static bool done;
  st__lock();
  const st_status status = done ? ST_OK : add_fallthroughs();
  if (status == ST_OK && !done) {
    const char *trace = getenv("STRIDED_TRACE");
    st__trace_prints = trace && strcmp(trace, "1") == 0;
    done = true;
  }
  st__unlock();
  return status;
}
