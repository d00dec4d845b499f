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

/* `what` is the file that the row is in. */
#define ROW(sort, text, list, overload)                            \
  {.kind = ST_KIND_##sort, .schema = text, .variants = list,       \
   .out_overload = overload, .what = __FILE__},
#define ST_STRUCTURED(id, schema, variants, out, meta, impl, kernel, doc) \
  ROW(STRUCTURED, schema, variants, out)
#define ST_POINTWISE(id, schema, variants, out, preset, kernel, doc) \
  ROW(POINTWISE, schema, variants, out)
#define ST_VIEW(id, schema, fn, doc)      ROW(VIEW, schema, ST_F, NULL)
#define ST_EXPLICIT(id, schema, fn, doc)  ROW(EXPLICIT, schema, ST_F, NULL)
#define ST_COMPOSITE(id, schema, fn, doc) ROW(COMPOSITE, schema, ST_F, NULL)
#define ST_COMPOSED(id, schema, variants, out, fn, doc) \
  ROW(COMPOSITE, schema, variants, out)
#define ST_ALIAS(id, schema, variants, out, target, doc) \
  ROW(ALIAS, schema, variants, out)
#define ST_MAKE_OUT(id, schema, factory, doc) \
  ROW(EXPLICIT, schema, ST_F, NULL)
#define ST_COPY_OUT(id, schema, target, doc) \
  ROW(COMPOSITE, schema, ST_F, NULL)
#define ST_VIEW_COPY(id, schema, variants, out, view, doc) \
  ROW(VIEW_COPY, schema, variants, out)
#define ST_DATA(id, schema, fn, doc)      ROW(DATA, schema, ST_F, NULL)
#define ST_NATIVE(id, schema, fn, doc)    ROW(NATIVE, schema, ST_F, NULL)
#define ST_FACTORY(id, schema, fn, doc)   ROW(FACTORY, schema, ST_F, NULL)

static const st_op_row rows[] = {
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

static void put_arg(const st_arg *a, int number) {
  printf("  {");
  put_text(a->name);
  printf(", ");
  put_text(a->text);
  printf(", (st_type)%d, %d, %d, %d, %d, %d, %d, %d, ", a->type, a->list,
         a->optional, a->elem_optional, a->kwarg_only, a->has_default,
         a->is_write, a->is_alias);
  put_text(a->alias);
  printf(", %d, ", a->list_size);
  put_default(&a->default_value, number);
  printf("},\n");
}

/* -- Schemas -------------------------------------------------------------- */

enum { COUNT = sizeof rows / sizeof *rows };

static const st_schema *written[3 * COUNT]; /* those whose arguments are */
static int nwritten, nvalues; /* and the arrays of default values so far */

/* Writes the arguments and results, unless an earlier schema has the same ones;
 * returns the number of their array. */
static int put_args(const st_schema *s) {
  const int n = s->nargs + s->nrets, first = nvalues;
  for (int k = 0; k < nwritten; k++) {
    if (strcmp(strchr(written[k]->text, '('), strchr(s->text, '(')) == 0) {
      return k;
    }
  }
  for (int i = 0; i < n; i++) {
    put_elements(&s->args[i].default_value, nvalues++);
  }
  printf("static const st_arg a%d[] = {\n", nwritten);
  for (int i = 0; i < n; i++) put_arg(&s->args[i], first + i);
  printf("%s};\n", n == 0 ? "  {0}\n" : "");
  written[nwritten] = s;
  return nwritten++;
}

static void put_schema(const st_schema *s, int id, int variant) {
  const int args = put_args(s);
  printf("static st_schema s%d_%d = {\n  ", id, variant);
  put_text(s->name);
  printf(", ");
  put_text(s->overload);
  printf(",\n  ");
  put_text(s->text);
  printf(",\n  %d, %d, a%d, a%d + %d, %d, %d, %d, %d, %d, %d, %d,\n"
         "  UINT64_C(%" PRIu64 "), NULL, NULL};\n", s->nargs, s->nrets, args,
         args, s->nargs, s->is_mutable, s->is_vararg, s->is_varret,
         s->device_arg, s->layout_arg, s->dim_arg, s->keepdim_arg,
         s->tensor_args);
}

/* -- The table ------------------------------------------------------------ */

static st_schema *schemas[COUNT][3];
static int tags[COUNT][3];

static void parse(int id, st_variant variant, const char *text) {
  check(st_schema_new(text, "aten", &schemas[id][variant]), text);
  tags[id][variant] = st__row_tags(&rows[id], text);
  put_schema(schemas[id][variant], id, variant);
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
static const char *path_of(const st_op_row *row) {
  const char *path = row->what;
  for (const char *next = path; next; next = strstr(next + 1, "core/op/")) {
    path = next;
  }
  return path;
}

static void put_entry(int id, int variant) {
  char signature[2048];
  const st_schema *s = schemas[id][variant];
  if (!s) {
    printf("{NULL, NULL, NULL, 0}, ");
    return;
  }
  st__signature_text(s, signature, sizeof signature);
  printf("{&s%d_%d, ", id, variant);
  put_text(signature);
  printf(", ");
  put_text(path_of(&rows[id]));
  printf(", %d}, ", tags[id][variant]);
}

int main(void) {
  printf("/* Written by core/build/write_schemas.c from ops.def. */\n\n"
         "#include <math.h>\n\n"
         "#include \"op/table/builtin_schemas.h\"\n\n");
  for (int id = 0; id < COUNT; id++) {
    parse(id, ST_FUNCTIONAL, rows[id].schema);
    if (rows[id].variants & ST_FI) derive(id, ST_INPLACE);
    if (rows[id].variants & ST_FO) derive(id, ST_OUT);
  }
  printf("\nconst st_builtin_schema st__builtin_schemas[][3] = {\n");
  for (int id = 0; id < COUNT; id++) {
    printf("  {");
    for (int variant = 0; variant < 3; variant++) put_entry(id, variant);
    printf("},\n");
  }
  printf("};\n");
  return ferror(stdout) || fflush(stdout) != 0;
}
