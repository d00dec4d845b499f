/* Libraries and inspection of the registry from C: every check prints its
 * topic when it is through, any failure ends the program.
 */

#include "check.h"

/* -- Libraries ------------------------------------------------------------ */

/* A row per rule (R2). */
static void rules(void) {
  st_library *def = open("ctest", ST_LIBRARY_DEF, 0), *lib;
  const st_kernel k = {.fn = see_keys, .debug = "k"};
  CHECK(st_library_open("ctest", ST_LIBRARY_DEF, NULL, 0, "again", &lib) ==
        ST_BAD_STATE);
  CHECK(says("dispatch.c") && says("again"));
  CHECK(st_library_open("_", ST_LIBRARY_DEF, NULL, 0, "", &lib) ==
        ST_BAD_VALUE);
  CHECK(st_library_open("aten", ST_LIBRARY_DEF, NULL, ST_REPLACE, "", &lib) ==
        ST_BAD_STATE);
  CHECK(st_library_open("no ns", ST_LIBRARY_DEF, NULL, 0, "", &lib) ==
        ST_BAD_VALUE);
  CHECK(st_library_open("x", ST_LIBRARY_IMPL, "Nokey", 0, "", &lib) ==
        ST_BAD_VALUE);
  CHECK(st_library_define(def, "other::f(Tensor x) -> ()", NULL, 0, "") ==
        ST_BAD_SCHEMA);
  CHECK(st_library_implement(def, "other::f", "CPU", &k) == ST_BAD_VALUE);
  CHECK(st_library_fallback(def, "Tracer", &k) == ST_BAD_STATE);
  CHECK(st_library_define(def, "f(Tensor x) -> ()", NULL, 0, "first") ==
        ST_OK);
  CHECK(st_library_define(def, "f(Tensor x) -> ()", NULL, 0, "second") ==
        ST_BAD_STATE);
  CHECK(says("first") && says("second"));
  CHECK(st_library_open("ctest", ST_LIBRARY_IMPL, "CPU", 0, "", &lib) ==
        ST_OK);
  CHECK(st_library_define(lib, "g(Tensor x) -> ()", NULL, 0, "") ==
        ST_BAD_STATE);
  CHECK(st_library_implement(lib, "f", "Meta", &k) == ST_BAD_VALUE);
  CHECK(st_library_implement(lib, "f", NULL, &k) == ST_OK);
  CHECK(shows(st_dump_table, "ctest::f", "CPU: k [kernel]"));
  st_library_close(&lib);
  CHECK(!shows(st_dump_table, "ctest::f", "CPU: k [kernel]"));
  lib = open("_", ST_LIBRARY_IMPL, 0);
  CHECK(st_library_fallback(lib, "Tracer", &k) == ST_OK);
  CHECK(shows(st_dump_table, "ctest::f", "Tracer: k [backend fallback]"));
  CHECK(st_library_fallback(lib, "Tracer", &k) == ST_BAD_STATE);
  CHECK(st_library_fallback(lib, NULL, &k) == ST_BAD_VALUE);
  st_library_close(&lib);
  st_library_close(&def);
  puts("rules");
}

static int freed;
static void count_free(void *ctx) { (void)ctx; freed++; }

/* Opening a namespace again replaces it; a deferred one at its commit. */
static void replacing(void) {
  st_library *old = open("ctest", ST_LIBRARY_DEF, ST_REPLACE), *new;
  const st_kernel k = {.fn = see_keys, .free_ctx = count_free, .debug = "k"};
  CHECK(st_library_define(old, "f(Tensor x) -> ()", NULL, 0, "v1") == ST_OK);
  CHECK(st_library_define(old, "g(Tensor x) -> ()", NULL, 0, "v1") == ST_OK);
  CHECK(st_library_implement(old, "f", "CPU", &k) == ST_OK);
  CHECK(st_library_implement(old, "f", "CPU", &k) == ST_OK && freed == 1);
  new = open("ctest", ST_LIBRARY_DEF, ST_REPLACE | ST_DEFER);
  CHECK(st_library_define(new, "f(Tensor x, int n) -> ()", NULL, 0, "v2") ==
        ST_OK);
  CHECK(st_library_implement(new, "f", "CPU", &k) == ST_OK);
  CHECK(shows(st_dump, "ctest::f", "debug: v1"));
  CHECK(st_library_commit(new) == ST_OK && freed == 2);
  CHECK(shows(st_dump, "ctest::f", "debug: v2"));
  CHECK(!st_op_find("ctest::g", ""));
  CHECK(!st_library_is_open(old) && st_library_is_open(new));
  CHECK(st_library_define(old, "h(Tensor x) -> ()", NULL, 0, "") ==
        ST_BAD_STATE);
  st_library_close(&old);
  CHECK(st_op_find("ctest::f", ""));
  st_library_close(&new);
  CHECK(!st_op_find("ctest::f", "") && freed == 3);
  /* What was deferred and never committed leaves no trace. */
  new = open("ctest", ST_LIBRARY_DEF, ST_DEFER);
  CHECK(st_library_define(new, "f(Tensor x) -> ()", NULL, 0, "") == ST_OK);
  CHECK(st_library_implement(new, "f", "CPU", &k) == ST_OK);
  st_library_close(&new);
  CHECK(!st_op_find("ctest::f", "") && freed == 4);
  CHECK(st_check_registry() == ST_OK);
  puts("replacing");
}

typedef struct heard { int defined, gone; } heard;

static void hear(void *ctx, const st_op *op, bool is_defined) {
  heard *h = ctx;
  if (strncmp(st_op_name(op), "ctest::", 7) != 0) return;
  h->defined += is_defined;
  h->gone += !is_defined;
}

/* Listeners (R16). */
static void listening(void) {
  heard h = {0, 0};
  st_registration *listener;
  st_library *lib = open("ctest", ST_LIBRARY_DEF, 0);
  CHECK(st_library_define(lib, "f(Tensor x) -> ()", NULL, 0, "") == ST_OK);
  CHECK(st_listen(hear, &h, &listener) == ST_OK);
  CHECK(h.defined == 1 && h.gone == 0);
  CHECK(st_library_define(lib, "g(Tensor x) -> ()", NULL, 0, "") == ST_OK);
  CHECK(h.defined == 2);
  st_library_close(&lib);
  CHECK(h.gone == 2);
  st_registration_release(&listener);
  lib = open("ctest", ST_LIBRARY_DEF, 0);
  CHECK(st_library_define(lib, "g(Tensor x) -> ()", NULL, 0, "") == ST_OK);
  st_library_close(&lib);
  CHECK(h.defined == 2 && h.gone == 2);
  puts("listening");
}

/* -- Inspection ----------------------------------------------------------- */

static void inspection(void) {
  const st_op *add = st_op_find("aten::add", "Tensor");
  st_tensor *x = one_element(1);
  const st_value args[] = {arg(x), arg(x)};
  char *text;
  CHECK(st_explain(add, 2, args, &text) == ST_OK);
  CHECK(strstr(text, "key            CPU"));
  CHECK(strstr(text, "self           CPU"));
  CHECK(strstr(text, "falls through  BackendSelect, ADInplaceOrView"));
  st_text_release(&text);
  CHECK(st_explain(add, 1, args, &text) == ST_BAD_VALUE);
  CHECK(st_dump("aten::nothing_of_the_kind", &text) == ST_NOT_FOUND);
  CHECK(st_dump_dangling(&text) == ST_OK && !*text);
  st_text_release(&text);
  CHECK(strcmp(st_op_signature(add), "Tensor, Tensor, Scalar -> Tensor") ==
        0);
  st_tensor_release(&x);
  puts("inspection");
}

/* -- The built-in schemas -------------------------------------------------- */

static bool same_text(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_default(const st_value *a, const st_value *b) {
  if (a->tag != b->tag || a->len != b->len) return false;
  switch (a->tag) {
    case ST_TAG_NONE: return true;
    case ST_TAG_STRING: return same_text(a->u.string, b->u.string);
    case ST_TAG_INTS:
      return memcmp(a->u.ints, b->u.ints, a->len * sizeof *a->u.ints) == 0;
    case ST_TAG_FLOATS:
      return memcmp(a->u.floats, b->u.floats, a->len * sizeof(double)) == 0;
    case ST_TAG_BOOLS:
      return memcmp(a->u.bools, b->u.bools, a->len * sizeof(bool)) == 0;
    case ST_TAG_COMPLEX:
      return memcmp(a->u.pair, b->u.pair, 2 * sizeof(double)) == 0;
    default: return a->u.i == b->u.i;
  }
}

static bool same_arg(const st_arg *a, const st_arg *b) {
  return same_text(a->name, b->name) && same_text(a->text, b->text) &&
         same_text(a->alias, b->alias) && a->type == b->type &&
         a->list == b->list && a->optional == b->optional &&
         a->elem_optional == b->elem_optional &&
         a->kwarg_only == b->kwarg_only && a->has_default == b->has_default &&
         a->is_write == b->is_write && a->is_alias == b->is_alias &&
         a->list_size == b->list_size &&
         same_default(&a->default_value, &b->default_value);
}

/* Is the schema of op what its text means? */
static bool means_its_text(void *ctx, const st_op *op) {
  char signature[2048];
  st_schema *s;
  CHECK(st_schema_new(st_op_schema(op), NULL, &s) == ST_OK);
  const int nargs = st_schema_nargs(s), nrets = st_schema_nrets(s);
  CHECK(same_text(st_schema_text(s), st_op_schema(op)));
  CHECK(same_text(st_schema_name(s), st_op_name(op)));
  CHECK(same_text(st_schema_overload(s), st_op_overload_name(op)));
  CHECK(nargs == st_op_nargs(op) && nrets == st_op_nrets(op));
  for (int i = 0; i < nargs; i++) {
    CHECK(same_arg(st_schema_arg(s, i), st_op_arg(op, i)));
  }
  for (int i = 0; i < nrets; i++) {
    CHECK(same_arg(st_schema_ret(s, i), st_op_ret(op, i)));
  }
  CHECK(same_text(st_schema_signature(s, signature, sizeof signature),
                  st_op_signature(op)));
  st_schema_release(&s);
  ++*(int *)ctx;
  return true;
}

static void builtin_schemas(void) {
  int n = 0;
  st_op_each(means_its_text, &n);
  CHECK(n > 1000);
  puts("built-in schemas");
}

/* -- Out of memory -------------------------------------------------------- */

static int64_t live_bytes(void) {
  int64_t bytes = 0;
  st_memory m;
  for (int k = 0; st_memory_stats(k, &m); k++) bytes += m.bytes;
  return bytes;
}

static void ignore_op(void *ctx, const st_op *op, bool is_defined) {
  (void)ctx, (void)op, (void)is_defined;
}

/* Everything that allocates, up to the first failure. */
static st_status use_it_all(st_library **lib, st_registration **r) {
  const st_kernel k = {.fn = see_keys, .debug = "oom"};
  char *text = NULL;
  st_status status;
  if ((status = st_library_open("ctest", ST_LIBRARY_DEF, NULL, ST_REPLACE,
                                "oom", lib))) return status;
  if ((status = st_library_define(*lib, "f(Tensor x) -> ()", "doc", 0,
                                  "oom"))) return status;
  if ((status = st_library_implement(*lib, "f", "CPU", &k))) return status;
  if ((status = st_library_implement(*lib, "f", "CPU", &k))) return status;
  if ((status = st_library_define(*lib, "f(Tensor x, int n) -> ()", "doc", 0,
                                  "oom"))) return status;
  if ((status = st_listen(ignore_op, NULL, r))) return status;
  if ((status = st_dump("ctest::f", &text))) return status;
  st_text_release(&text);
  if ((status = st_dump_table("ctest::f", &text))) return status;
  st_text_release(&text);
  const st_value args[] = {{ST_TAG_NONE, 0, {0}}, {ST_TAG_INT, 0, {0}}};
  status = st_explain(st_op_find("ctest::f", ""), 2, args, &text);
  return status == ST_BAD_TYPE ? ST_OK : status; /* None is no Tensor */
}

static void out_of_memory(void) {
  st_status status = ST_NO_MEMORY;
  st_library *lib = NULL;
  st_registration *r = NULL;
  CHECK(use_it_all(&lib, &r) == ST_OK); /* texts are interned for good */
  st_registration_release(&r);
  st_library_close(&lib);
  const int64_t before = live_bytes();
  int64_t k = 0;
  while (status == ST_NO_MEMORY) {
    st_memory_fail_at(++k);
    status = use_it_all(&lib, &r);
    st_memory_fail_at(0);
    st_registration_release(&r);
    st_library_close(&lib);
    CHECK(live_bytes() == before);
    CHECK(!st_op_find("ctest::f", "") && st_check_registry() == ST_OK);
  }
  CHECK(status == ST_OK && k > 15);
  puts("out of memory");
}

int main(void) {
  CHECK(st_init() == ST_OK);
  rules();
  replacing();
  listening();
  inspection();
  builtin_schemas();
  out_of_memory();
  CHECK(st_check_registry() == ST_OK);
  nothing_left();
  return 0;
}
