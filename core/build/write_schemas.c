/* Writes the schemas of ops.def as C data, which libstrided.so contains, so
 * that it parses none of them when it starts. A program of the build:
 *
 *     write_schemas > builtin_schemas.c
 *
 * It uses the engine's own parser, and derives the in-place and out= variants.
 * Cross builds run it by CMAKE_CROSSCOMPILING_EMULATOR.
 */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dispatch/schema/schema.h"
#include "op/row/kernel_context.h"
#include "op/table/builtin_schemas.h"

/* -- The rows, without their functions ------------------------------------ */

typedef struct row_texts {
  st_op_row row;
  const char *schema;        /* without the namespace */
  const char *out_overload;  /* "out", "Tensor_out", ... or NULL */
  const char *doc, *file;
} row_texts;

#define ROW(sort, schema, list, overload, doc)   \
  {{.kind = ST_KIND_##sort, .variants = list},   \
   schema, overload, doc, __FILE__},
#define ST_STRUCTURED(id, schema, variants, out, meta, impl, kernel, doc) \
  ROW(STRUCTURED, schema, variants, out, doc)
#define ST_POINTWISE(id, schema, variants, out, preset, kernel, doc) \
  ROW(POINTWISE, schema, variants, out, doc)
#define ST_VIEW(id, schema, fn, doc)      ROW(VIEW, schema, ST_F, NULL, doc)
#define ST_EXPLICIT(id, schema, fn, doc)  ROW(EXPLICIT, schema, ST_F, NULL, doc)
#define ST_COMPOSITE(id, schema, fn, doc) \
  ROW(COMPOSITE, schema, ST_F, NULL, doc)
#define ST_COMPOSED(id, schema, variants, out, fn, doc) \
  ROW(COMPOSITE, schema, variants, out, doc)
#define ST_ALIAS(id, schema, variants, out, target, doc) \
  ROW(ALIAS, schema, variants, out, doc)
#define ST_MAKE_OUT(id, schema, factory, doc) \
  ROW(EXPLICIT, schema, ST_F, NULL, doc)
#define ST_COPY_OUT(id, schema, target, doc) \
  ROW(COMPOSITE, schema, ST_F, NULL, doc)
#define ST_VIEW_COPY(id, schema, variants, out, view, doc) \
  ROW(VIEW_COPY, schema, variants, out, doc)
#define ST_DATA(id, schema, fn, doc)      ROW(DATA, schema, ST_F, NULL, doc)
#define ST_NATIVE(id, schema, fn, doc)    ROW(NATIVE, schema, ST_F, NULL, doc)
#define ST_FACTORY(id, schema, fn, doc)   ROW(FACTORY, schema, ST_F, NULL, doc)

static const row_texts rows[] = {
#include "ops.def"
};

static void check(st_status status, const char *what) {
  if (status == ST_OK) return;
  fprintf(stderr, "write_schemas: %s: %s\n", what, st_message());
  exit(1);
}

/* -- C data --------------------------------------------------------------- */

/* A string literal; NULL for NULL. */
static void put_text(const char *s) {
  if (!s) {
    printf("NULL");
    return;
  }
  putchar('"');
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') printf("\\%c", *s);
    else if ((unsigned char)*s >= ' ' && *s != '?') putchar(*s);
    else printf("\\%03o", (unsigned char)*s);
  }
  putchar('"');
}

static void put_int(int64_t i) {
  if (i == INT64_MIN) printf("INT64_MIN");
  else printf("INT64_C(%" PRId64 ")", i);
}

static void put_float(double f) {
  if (isnan(f)) printf("NAN");
  else if (isinf(f)) printf("%sINFINITY", f < 0 ? "-" : "");
  else printf("%a", f);
}

/* The elements that a default value points to, as array v<number>. */
static void put_elements(const st_value *v, int number) {
  if (v->tag == ST_TAG_COMPLEX) {
    printf("static const double v%d[] = {", number);
    put_float(v->u.pair[0]);
    printf(", ");
    put_float(v->u.pair[1]);
    printf("};\n");
    return;
  }
  const char *type = v->tag == ST_TAG_INTS ? "int64_t"
                   : v->tag == ST_TAG_FLOATS ? "double"
                   : v->tag == ST_TAG_BOOLS ? "bool" : NULL;
  if (!type) return;
  printf("static const %s v%d[] = {", type, number);
  for (uint32_t i = 0; i < v->len; i++) {
    if (v->tag == ST_TAG_INTS) put_int(v->u.ints[i]);
    else if (v->tag == ST_TAG_FLOATS) put_float(v->u.floats[i]);
    else printf("%d", v->u.bools[i]);
    printf(", ");
  }
  printf("%s};\n", v->len ? "" : "0");
}

static void put_default(const st_value *v, int number) {
  printf("{%" PRIu32 ", %" PRIu32 ", {", v->tag, v->len);
  switch ((st_tag)v->tag) {
    case ST_TAG_NONE: printf("0"); break;
    case ST_TAG_INT: case ST_TAG_BOOL: put_int(v->u.i); break;
    case ST_TAG_FLOAT: printf(".f = "); put_float(v->u.f); break;
    case ST_TAG_COMPLEX: printf(".pair = v%d", number); break;
    case ST_TAG_STRING: printf(".string = "); put_text(v->u.string); break;
    case ST_TAG_INTS: printf(".ints = v%d", number); break;
    case ST_TAG_FLOATS: printf(".floats = v%d", number); break;
    case ST_TAG_BOOLS: printf(".bools = v%d", number); break;
    default:
      fprintf(stderr, "write_schemas: a default value has tag %u\n", v->tag);
      exit(1);
  }
  printf("}}");
}

/* -- Texts ---------------------------------------------------------------- */

enum { COUNT = sizeof rows / sizeof *rows, MOST = 16 * COUNT };

/* The first one is "", so that 0 can stand for none. */
static const char *texts[MOST] = {""};
static uint32_t offsets[MOST], ntexts = 1, text_bytes = 1;

/* The offset of a text among all. */
static uint32_t put(const char *s) {
  for (uint32_t i = 0; i < ntexts; i++) {
    if (strcmp(texts[i], s) == 0) return offsets[i];
  }
  offsets[ntexts] = text_bytes;
  text_bytes += (uint32_t)strlen(s) + 1;
  texts[ntexts++] = strdup(s);
  return text_bytes - (uint32_t)strlen(s) - 1;
}

/* As a structure of arrays: a string literal has at most 4095 characters. */
static void put_texts(void) {
  printf("static const struct {\n");
  for (uint32_t i = 0; i < ntexts; i++) {
    printf("  char t%u[%zu];\n", i, strlen(texts[i]) + 1);
  }
  printf("} texts = {\n");
  for (uint32_t i = 0; i < ntexts; i++) {
    printf("  ");
    put_text(texts[i]);
    printf(",\n");
  }
  printf("};\n");
}

/* -- Arguments ------------------------------------------------------------ */

static const st_arg *args[MOST]; /* those that differ */
static int nargs;
static const st_value *values[MOST]; /* default values that differ */
static int nvalues;
static const st_schema *lists[3 * COUNT]; /* with lists that differ */
static int firsts[3 * COUNT], nlists;
static int arg_ids[MOST], narg_ids;

static size_t element_size(st_tag tag) {
  return tag == ST_TAG_INTS ? sizeof(int64_t)
       : tag == ST_TAG_FLOATS ? sizeof(double)
       : tag == ST_TAG_BOOLS ? sizeof(bool) : 0;
}

static bool same_default(const st_value *a, const st_value *b) {
  if (a->tag != b->tag || a->len != b->len) return false;
  switch ((st_tag)a->tag) {
    case ST_TAG_NONE: return true;
    case ST_TAG_STRING: return strcmp(a->u.string, b->u.string) == 0;
    case ST_TAG_COMPLEX: return memcmp(a->u.pair, b->u.pair, 16) == 0;
    case ST_TAG_INTS: case ST_TAG_FLOATS: case ST_TAG_BOOLS:
      return a->len == 0 || memcmp(a->u.ints, b->u.ints, a->len *
                                   element_size((st_tag)a->tag)) == 0;
    default: return a->u.i == b->u.i;
  }
}

static bool same_text(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_arg(const st_arg *a, const st_arg *b) {
  return same_text(a->name, b->name) && same_text(a->text, b->text) &&
         same_text(a->alias, b->alias) && a->kwarg_only == b->kwarg_only &&
         a->has_default == b->has_default &&
         same_default(&a->default_value, &b->default_value);
}

static int value_id(const st_value *v) {
  for (int i = 0; i < nvalues; i++) {
    if (same_default(values[i], v)) return i;
  }
  values[nvalues] = v;
  return nvalues++;
}

static int arg_id(const st_arg *a) {
  for (int i = 0; i < nargs; i++) {
    if (same_arg(args[i], a)) return i;
  }
  args[nargs] = a;
  return nargs++;
}

/* The first of the arguments and results, which an earlier schema may have. */
static int put_args(const st_schema *s) {
  for (int k = 0; k < nlists; k++) {
    if (strcmp(strchr(lists[k]->text, '('), strchr(s->text, '(')) == 0) {
      return firsts[k];
    }
  }
  lists[nlists] = s;
  firsts[nlists] = narg_ids;
  for (int i = 0; i < s->nargs + s->nrets; i++) {
    arg_ids[narg_ids++] = arg_id(&s->args[i]);
  }
  return firsts[nlists++];
}

static void put_arg(const st_arg *a) {
  printf("  {%u, %u, %u, %d, ", put(a->name), put(a->text),
         a->alias ? put(a->alias) : 0, value_id(&a->default_value));
  printf("%d, %d, %d, %d, %d, %d, %d, %d, %d},\n", a->type, a->list_size,
         a->list, a->optional, a->elem_optional, a->kwarg_only, a->has_default,
         a->is_write, a->is_alias);
}

static void write_args(void) {
  printf("static const st_packed_arg args[] = {\n");
  for (int i = 0; i < nargs; i++) put_arg(args[i]);
  printf("};\nstatic const uint16_t arg_ids[] = {");
  for (int i = 0; i < narg_ids; i++) {
    printf("%s%d,", i % 12 ? " " : "\n  ", arg_ids[i]);
  }
  printf("\n};\nstatic st_arg unpacked_args[%d];\n", narg_ids);
}

static void write_values(void) {
  for (int i = 0; i < nvalues; i++) put_elements(values[i], i);
  printf("static const st_value values[] = {\n");
  for (int i = 0; i < nvalues; i++) {
    printf("  ");
    put_default(values[i], i);
    printf(",\n");
  }
  printf("};\n");
}

/* -- The table ------------------------------------------------------------ */

static st_schema *schemas[COUNT][3];
static int tags[COUNT][3];

static void parse(int id, st_variant variant, const char *text) {
  check(st_schema_new(text, "aten", &schemas[id][variant]), text);
  tags[id][variant] = st__row_tags(&rows[id].row, text);
}

static void derive(int id, st_variant variant) {
  const st_schema *functional = schemas[id][ST_FUNCTIONAL];
  char *text;
  check(st__variant_schema(functional, variant, rows[id].out_overload, &text),
        functional->text);
  parse(id, variant, text);
  st__text_free(&text);
}

/* The path from the root of the source tree on. */
static const char *path_of(const row_texts *row) {
  const char *path = row->file;
  for (const char *next = path; next; next = strstr(next + 1, "core/op/")) {
    path = next;
  }
  return path;
}

static void put_schema(int id, int variant) {
  char signature[2048];
  const st_schema *s = schemas[id][variant];
  st__signature_text(s, signature, sizeof signature);
  printf("  {%u, %u, %u, %u, %u, %u, ", put(s->name), put(s->overload),
         put(s->text), put(signature), put(rows[id].doc),
         put(path_of(&rows[id])));
  printf("%d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, UINT64_C(%" PRIu64
         ")},\n", put_args(s), s->nargs, s->nrets, s->is_mutable, s->is_vararg,
         s->is_varret, s->device_arg, s->layout_arg, s->dim_arg,
         s->keepdim_arg, tags[id][variant], s->tensor_args);
}

static void write_rows(void) {
  int n = 0;
  printf("static const st_packed_schema schemas[] = {\n");
  for (int id = 0; id < COUNT; id++) {
    for (int v = 0; v < 3; v++) if (schemas[id][v]) put_schema(id, v);
  }
  printf("};\nstatic const uint16_t ids[][3] = {\n");
  for (int id = 0; id < COUNT; id++) {
    printf("  {");
    for (int v = 0; v < 3; v++) printf("%d,", schemas[id][v] ? ++n : 0);
    printf("},\n");
  }
  printf("};\nstatic st_schema unpacked[%d];\n", n);
}

int main(void) {
  printf("/* Written by core/build/write_schemas.c from ops.def. */\n\n"
         "#include <math.h>\n\n"
         "#include \"op/table/builtin_schemas.h\"\n\n");
  for (int id = 0; id < COUNT; id++) {
    parse(id, ST_FUNCTIONAL, rows[id].schema);
    if (rows[id].row.variants & ST_FI) derive(id, ST_INPLACE);
    if (rows[id].row.variants & ST_FO) derive(id, ST_OUT);
  }
  write_rows();
  write_args();
  write_values();
  put_texts();
  printf("const st_packed_schemas st__packed_schemas = {\n"
         "  (const char *)&texts, schemas, ids, args, values, arg_ids,\n"
         "  unpacked, unpacked_args, %d};\n", narg_ids);
  return ferror(stdout) || fflush(stdout) != 0;
}
