/* A libFuzzer target: any bytes as a schema. They define an operator or are
 * refused with a message; what is defined prints canonically, and the print
 * means the same and prints as itself.
 *
 *     ./dev fuzz
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strided.h"

#define CHECK(cond) do {                                                     \
    if (!(cond)) {                                                           \
      fprintf(stderr, "line %d: not so: %s (%s)\n", __LINE__, #cond,         \
              st_message());                                                 \
      abort();                                                               \
    }                                                                        \
  } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* A block of exactly its size, so that a byte too far is seen. */
static char *copy(const void *s, size_t n) {
  char *p = malloc(n + 1);
  CHECK(p);
  if (n) memcpy(p, s, n);
  p[n] = 0;
  return p;
}

/* -- Finding what was defined --------------------------------------------- */

/* What comes before the arguments, without blanks: "ns::name.overload". */
static char *name_of(const char *ns, const char *text) {
  const size_t n = strcspn(text, "(");
  const bool has_ns = memchr(text, ':', n) != NULL;
  char *name = malloc(n + strlen(ns) + sizeof "::"), *p = name;
  CHECK(name);
  if (!has_ns) p += sprintf(p, "%s::", ns);
  for (size_t i = 0; i < n; i++) {
    if (!strchr(" \t\n\v\f\r", text[i])) *p++ = text[i];
  }
  *p = 0;
  return name;
}

static const st_op *find(const char *ns, const char *text) {
  char *name = name_of(ns, text), *dot = strchr(name, '.');
  if (dot) *dot = 0;
  const st_op *op = st_op_find(name, dot ? dot + 1 : "");
  free(name);
  return op;
}

/* -- Comparing ------------------------------------------------------------ */

static bool same_value(const st_value *a, const st_value *b) {
  if (a->tag != b->tag || a->len != b->len) return false;
  switch ((st_tag)a->tag) {
    case ST_TAG_NONE: return true;
    case ST_TAG_INT: case ST_TAG_BOOL: return a->u.i == b->u.i;
    case ST_TAG_STRING: return memcmp(a->u.string, b->u.string, a->len) == 0;
    case ST_TAG_INTS:
      return memcmp(a->u.ints, b->u.ints, a->len * sizeof *a->u.ints) == 0;
    case ST_TAG_FLOATS:
      return memcmp(a->u.floats, b->u.floats,
                    a->len * sizeof *a->u.floats) == 0;
    case ST_TAG_BOOLS:
      return memcmp(a->u.bools, b->u.bools, a->len * sizeof *a->u.bools) == 0;
    case ST_TAG_FLOAT: return memcmp(&a->u.f, &b->u.f, sizeof a->u.f) == 0;
    case ST_TAG_COMPLEX:
      return memcmp(a->u.pair, b->u.pair, 2 * sizeof *a->u.pair) == 0;
    default: return a->len == 0;
  }
}

static bool same_arg(const st_arg *a, const st_arg *b) {
  return strcmp(a->name, b->name) == 0 && strcmp(a->text, b->text) == 0 &&
         a->type == b->type && a->list == b->list &&
         a->optional == b->optional &&
         a->elem_optional == b->elem_optional &&
         a->kwarg_only == b->kwarg_only &&
         a->has_default == b->has_default && a->is_write == b->is_write &&
         a->is_alias == b->is_alias && a->list_size == b->list_size &&
         !a->alias == !b->alias &&
         (!a->alias || strcmp(a->alias, b->alias) == 0) &&
         (!a->has_default || same_value(&a->default_value,
                                        &b->default_value));
}

static void compare(const st_op *a, const st_op *b) {
  CHECK(a != b && st_op_nargs(a) <= ST_MAX_ARGS);
  CHECK(st_op_nargs(a) == st_op_nargs(b) && st_op_nrets(a) == st_op_nrets(b));
  for (int i = 0; i < st_op_nargs(a); i++) {
    CHECK(same_arg(st_op_arg(a, i), st_op_arg(b, i)));
  }
  for (int i = 0; i < st_op_nrets(a); i++) {
    CHECK(same_arg(st_op_ret(a, i), st_op_ret(b, i)));
  }
}

/* -- The target ----------------------------------------------------------- */

static const st_op *define(const char *ns, const char *text,
                           st_registration **r) {
  CHECK(st_define(ns, text, NULL, "schema.c", r) == ST_OK);
  const st_op *op = find(ns, text);
  CHECK(op);
  return op;
}

/* In a namespace of its own, for an operator keeps a schema that it had. */
static void check_round_trip(const st_op *op) {
  st_registration *r;
  const char *printed = strchr(st_op_schema(op), ':') + 2;
  char *text = copy(printed, strlen(printed));
  const st_op *again = define("again", text, &r);
  CHECK(strcmp(strchr(st_op_schema(again), ':') + 2, printed) == 0);
  compare(op, again);
  free(text);
  const char *full = st_op_schema(again);
  text = copy(full, strlen(full));
  st_registration_release(&r);
  CHECK(define("again", text, &r) == again);
  CHECK(strcmp(st_op_schema(again), text) == 0);
  st_registration_release(&r);
  free(text);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  CHECK(st_init() == ST_OK);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  st_registration *r = NULL;
  char *text = copy(data, size);
  const st_status status = st_define("fuzz", text, NULL, "schema.c", &r);
  if (status == ST_OK) {
    CHECK(find("fuzz", text));
    check_round_trip(find("fuzz", text));
    st_registration_release(&r);
  } else {
    CHECK(status == ST_BAD_SCHEMA && !r);
    CHECK(strstr(st_message(), "at position "));
  }
  free(text);
  return 0;
}
