/* Dumps of registrations and dispatch tables as text (R14), and a consistency
 * check of the registry. */

#include <string.h>

#include "base/text.h"
#include "dispatch/entry.h"

static st_status find_named(const char *name, st_op **out) {
  *out = st__op_named(name);
  return *out ? ST_OK : st__fail(ST_NOT_FOUND, "there is no operator '%.200s'",
                                 name);
}

/* -- Registrations -------------------------------------------------------- */

static void add_tags(st_text *t, int tags) {
  static const char *const names[] = {
#define ST_TAG_NAME(id, name) name,
    ST_TAG_MAP(ST_TAG_NAME)
#undef ST_TAG_NAME
  };
  if (!tags) return;
  st__text_puts(t, "tags:");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (tags >> i & 1) st__text_format(t, " %s", names[i]);
  }
  st__text_puts(t, "\n");
}

static void add_definitions(st_text *t, const st_op *op) {
  const st_registration *r = op->definitions;
  st__text_format(t, "name: %s\nschema: %s\n", op->full,
                  r ? r->schema->text : "(none)");
  if (!r) return;
  st__text_format(t, "debug: %s\nalias analysis kind: FROM_SCHEMA\n",
                  r->debug);
  add_tags(t, r->tags);
  for (r = r->next; r; r = r->next) {
    st__text_format(t, "schema: %s, of %s (inactive)\n", r->schema->text,
                    r->debug);
  }
}

static void add_kernels(st_text *t, const st_op *op, st_key key) {
  bool is_active = true;
  for (const st_registration *r = op->kernels; r; r = r->next) {
    if (r->key != key) continue;
    const bool is_compatible = st__is_compatible(r);
    st__text_format(t, "%s%s: %s :: %s [%s ]%s\n", st__key_name(key),
                    st__key_is_alias(key) ? "[alias]" : "", r->debug,
                    r->signature ? r->signature : "any",
                    r->is_fallthrough ? " fallthrough"
                    : r->unboxed ? " boxed unboxed" : " boxed",
                    !is_compatible ? " (inactive: other C types)"
                    : is_active ? "" : " (inactive)");
    if (is_compatible) is_active = false;
  }
}

st_status st_dump(const char *name, char **out) {
  st_text t = {0};
  st_op *op;
  ST_TRY(find_named(name, &op));
  st__lock();
  add_definitions(&t, op);
  for (st_key k = 0; k < ST_KEY_COUNT; k++) add_kernels(&t, op, k);
  st__unlock();
  return st__text_finish(&t, out);
}

/* -- Tables --------------------------------------------------------------- */

st_status st_dump_table(const char *name, char **out) {
  st_text t = {0};
  st_op *op;
  ST_TRY(find_named(name, &op));
  st__lock();
  for (st_key k = 0; k < ST_KEY_RUNTIME_COUNT; k++) {
    const st_registration *r = st__select(op, k);
    if (r->what == ST_REGISTERED_NOTHING && st__provenance(r)[0] == 'm') {
      continue; /* missing */
    }
    st__text_format(&t, "%s: %s [%s]\n", st__key_name(k), r->debug,
                    st__provenance(r));
  }
  st__unlock();
  return st__text_finish(&t, out);
}

/* -- The registry --------------------------------------------------------- */

st_status st_dump_dangling(char **out) {
  st_text t = {0};
  st__lock();
  for (st_op *op = st__first_op(); op; op = atomic_load(&op->next)) {
    if (op->kernels && !op->definitions) {
      st__text_format(&t, "%s\n", op->full);
    }
  }
  st__unlock();
  return st__text_finish(&t, out);
}

static st_status check_op(const st_op *op) {
  const st_table *t = atomic_load(&((st_op *)(uintptr_t)op)->table);
  const st_registration *r = op->definitions;
  bool is_right = true;
  if (st__op_schema(op) != (r ? r->schema : NULL)) {
    return st__fail(ST_BAD_STATE, "%s: the active schema is not that of the "
                    "newest definition", op->full);
  }
  if (t) ST_TRY(st__check_dispatch_table(op, t, &is_right));
  if (!is_right) {
    return st__fail(ST_BAD_STATE, "%s: the dispatch table does not match the "
                    "registrations", op->full);
  }
  return ST_OK;
}

st_status st_check_registry(void) {
  st_status status = ST_OK;
  st__lock();
  st_op *op = st__first_op();
  for (; op && status == ST_OK; op = atomic_load(&op->next)) {
    status = check_op(op);
  }
  st__unlock();
  return status;
}
