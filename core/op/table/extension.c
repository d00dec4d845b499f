/* Structured operators of extensions: registers the variants and kernels that
 * an st_structured describes, as register.c does for the rows of ops.def; and
 * the kernels of extensions for structured rows of ops.def.
 */

#include <stdatomic.h>
#include <string.h>

#include "base/text.h"
#include "op/table/register.h"

enum { VARIANTS = 3, BACKENDS = 4 };

/* One operator. Each of its kernels holds a reference. */
typedef struct extension {
  st_op_row row; /* first: drop_kernel casts a row to its extension */
  st_structured_ctx contexts[VARIANTS][BACKENDS + 1]; /* Meta is the last */
  _Atomic int users;
  void *ctx;
  void (*free_ctx)(void *);
} extension;

static void drop(extension *e) {
  if (atomic_fetch_sub(&e->users, 1) > 1) return;
  if (e->free_ctx) e->free_ctx(e->ctx);
  st__free(ST_MEM_REGISTRY, e, sizeof *e);
}

static void drop_kernel(void *ctx) {
  const st_structured_ctx *c = ctx;
  drop((extension *)(uintptr_t)c->row);
}

/* -- Checks --------------------------------------------------------------- */

static st_status find_device(const char *key, st_device *out) {
  static const struct { const char *key; st_device device; } backends[] = {
    {"CPU", ST_DEVICE_CPU}, {"PrivateUse1", ST_DEVICE_PRIVATEUSE1},
    {"PrivateUse2", ST_DEVICE_PRIVATEUSE2},
    {"PrivateUse3", ST_DEVICE_PRIVATEUSE3}
  };
  for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
    if (strcmp(key, backends[i].key) != 0) continue;
    *out = backends[i].device;
    return ST_OK;
  }
  return st__fail(ST_BAD_VALUE, "'%.80s' is not a backend of structured "
                  "operators; use CPU, PrivateUse1, PrivateUse2 or "
                  "PrivateUse3", key);
}

static bool has_variant(const st_structured *s, st_variant v) {
  return v == ST_FUNCTIONAL || (v == ST_INPLACE ? s->inplace
                                                : s->out != NULL);
}

/* -- Registering ---------------------------------------------------------- */

static st_status new_extension(const st_structured *s, extension **out) {
  extension *e = st__alloc_zero(ST_MEM_REGISTRY, sizeof *e);
  if (!e) return ST_NO_MEMORY;
  e->row = (st_op_row){.kind = ST_KIND_STRUCTURED, .meta = s->meta,
                       .impl = s->impl};
  e->users = 1; /* the registration's own reference */
  e->ctx = s->ctx;
  *out = e;
  return ST_OK;
}

static st_status implement(st_library *part, const st_structured *s,
                           extension *e, st_variant variant, int backend,
                           const char *name) {
  static const char *const only[BACKENDS] = {"CPU"};
  const char *const *backends = s->backends[0] ? s->backends : only;
  const char *key = backend == BACKENDS ? "Meta" : backends[backend];
  st_structured_ctx *c = &e->contexts[variant][backend];
  const st_kernel kernel = {.fn = st__structured, .ctx = c,
                            .free_ctx = drop_kernel, .debug = s->debug};
  if (!key) return ST_OK;
  *c = (st_structured_ctx){
    .row = &e->row, .variant = variant, .device = ST_DEVICE_META, .base = -1,
    .snapshot_arg = -1, .own = s->ctx};
  if (backend < BACKENDS) ST_TRY(find_device(key, &c->device));
  atomic_fetch_add(&e->users, 1);
  const st_status status = st__library_implement(part, name, key, &kernel);
  if (status != ST_OK) drop(e);
  return status;
}

static st_status add_variant(st_library *part, const st_structured *s,
                             extension *e, const st_schema *functional,
                             st_variant variant) {
  char *text = NULL;
  st_status status = ST_OK;
  ST_TRY(st__variant_schema(functional, variant, s->out, &text));
  const st_definition d = {.schema = text, .doc = s->doc, .debug = s->debug,
                           .tags = s->tags};
  ST_TRY_FAIL(st__library_define(part, &d, NULL));
  text[strcspn(text, "(")] = 0; /* only the name remains */
  for (int i = 0; i <= BACKENDS; i++) {
    ST_TRY_FAIL(implement(part, s, e, variant, i, text));
  }
fail:
  st__text_free(&text);
  return status;
}

static st_status add_variants(st_library *lib, const st_structured *s,
                              extension *e, const st_schema *functional) {
  st_library *part = NULL;
  st_status status;
  ST_TRY(st__library_stage(lib, &part));
  for (int v = 0; v < VARIANTS; v++) {
    if (!has_variant(s, (st_variant)v)) continue;
    ST_TRY_FAIL(add_variant(part, s, e, functional, (st_variant)v));
  }
  status = st__library_merge(lib, part);
  if (status == ST_OK) e->free_ctx = s->free_ctx;
fail:
  st_library_close(&part);
  return status;
}

st_status st_library_structured(st_library *lib, const st_structured *s) {
  st_schema *functional = NULL;
  extension *e = NULL;
  st_status status;
  if (!s->meta || !s->impl) {
    return st__fail(ST_BAD_VALUE, "a structured operator needs meta and impl");
  }
  ST_TRY(st_schema_new(s->schema, st_library_namespace(lib),
                       &functional));
  ST_TRY_FAIL(new_extension(s, &e));
  status = add_variants(lib, s, e, functional);
  drop(e);
fail:
  st__schema_free(&functional);
  return status;
}

/* -- Kernels for rows ----------------------------------------------------- */

/* NOT_FOUND, with the overloads that "mul" or "mul.Tenser" may mean. */
static st_status no_operator(const char *name) {
  enum { MOST = 8 };
  char full[128], list[256] = "";
  const st_op *ops[MOST];
  snprintf(full, sizeof full, "aten::%.*s", (int)strcspn(name, "."), name);
  const int n = st_op_overloads(full, ops, MOST);
  for (int i = 0; i < n && i < MOST; i++) {
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : ": there is ",
             st__op_full_name(ops[i]));
  }
  return st__fail(ST_NOT_FOUND, "there is no operator aten::%.80s%s", name,
                  list);
}

/* The structured row of a functional operator. */
static st_status find_row(const char *name, st_op_id *out) {
  char full[128];
  snprintf(full, sizeof full, "aten::%s", name);
  const st_op *op = st__op_find_full(full);
  for (int id = 0; op && id < ST_OP_COUNT; id++) {
    const st_op_row *row = st__op_row((st_op_id)id);
    if (st__op((st_op_id)id) != op) continue;
    if (row->kind != ST_KIND_STRUCTURED && row->kind != ST_KIND_POINTWISE) {
      break;
    }
    *out = (st_op_id)id;
    return ST_OK;
  }
  if (!op) return no_operator(name);
  return st__fail(ST_BAD_VALUE, "aten::%.80s is not a structured operator: "
                  "register its kernels with st_library_implement", name);
}

/* The registration's name of an operator: without the namespace. */
static const char *own_name(const st_op *op) {
  return st__op_full_name(op) + strlen("aten::");
}

static st_status inherit(st_library *part, extension *e, st_variant variant,
                         const st_op *op, const char *debug) {
  const char *key = st__library_key(part);
  st_structured_ctx *c = &e->contexts[variant][0];
  *c = (st_structured_ctx){
    .row = &e->row, .variant = variant, .base = st__find_base(op),
    .snapshot_arg = -1, .own = e->ctx};
  const st_kernel kernel = {.fn = st__structured_on_device, .ctx = c,
                            .free_ctx = drop_kernel, .debug = debug};
  ST_TRY(find_device(key, &c->device));
  atomic_fetch_add(&e->users, 1);
  const st_status status = st__library_implement(part, own_name(op), NULL,
                                                 &kernel);
  if (status != ST_OK) drop(e);
  return status;
}

static st_status inherit_variants(st_library *lib, extension *e, st_op_id id,
                                  const st_structured *s) {
  st_library *part = NULL;
  st_status status;
  ST_TRY(st__library_stage(lib, &part));
  for (int v = 0; v < VARIANTS; v++) {
    const st_op *op = st__op_variant(id, (st_variant)v);
    if (op) ST_TRY_FAIL(inherit(part, e, (st_variant)v, op, s->debug));
  }
  status = st__library_merge(lib, part);
  if (status == ST_OK) e->free_ctx = s->free_ctx;
fail:
  st_library_close(&part);
  return status;
}

st_status st_library_implement_structured(st_library *lib, const char *name,
                                          const st_structured *s) {
  extension *e = NULL;
  st_op_id id = ST_OP_COUNT;
  if (!s->impl) {
    return st__fail(ST_BAD_VALUE, "a structured operator needs impl");
  }
  if (strncmp(st__library_key(lib), "PrivateUse", 10) != 0) {
    return st__fail(ST_BAD_VALUE, "the key of the library must be PrivateUse1, "
                    "2 or 3, not '%s'", st__library_key(lib));
  }
  ST_TRY(find_row(name, &id));
  ST_TRY(new_extension(s, &e));
  e->row = *st__op_row(id);
  e->row.impl = s->impl;
  const st_status status = inherit_variants(lib, e, id, s);
  drop(e);
  return status;
}
