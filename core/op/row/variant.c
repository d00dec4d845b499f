/* Derives the schemas of the in-place and the out= variant from the functional
 * one.
 */

#include <string.h>

#include "base/text.h"
#include "op/row/kernel_context.h"

/* -- Checks --------------------------------------------------------------- */

static st_status check_functional(const st_schema *s) {
  bool suits = s->nrets > 0 && !s->is_vararg && !s->is_varret;
  for (int i = 0; i < s->nrets; i++) suits &= st__is_one_tensor(&s->rets[i]);
  for (int i = 0; i < s->nargs; i++) suits &= !s->args[i].is_alias;
  if (!suits || s->nrets > ST_MAX_OUTS) {
    return st__fail(ST_BAD_SCHEMA, "%s: a structured operator must return 1 "
                    "to %d new tensors and write no argument", s->text,
                    ST_MAX_OUTS);
  }
  return ST_OK;
}

static st_status check_inplace(const st_schema *s) {
  if (s->nrets == 1 && s->nargs > 0 && st__is_one_tensor(&s->args[0]) &&
      !s->args[0].kwarg_only) {
    return ST_OK;
  }
  return st__fail(ST_BAD_SCHEMA, "%s: an in-place variant needs a Tensor as "
                  "the first argument and one result", s->text);
}

static st_status check_out(const st_schema *s, const char *overload) {
  bool is_named = s->nrets == 1;
  if (!is_named) {
    is_named = true;
    for (int i = 0; i < s->nrets; i++) is_named &= *s->rets[i].name != 0;
  }
  if (is_named && *overload) return ST_OK;
  return st__fail(ST_BAD_SCHEMA, "%s: an out= variant needs an overload name, "
                  "and names for its results if there are several", s->text);
}

/* -- Schema text ---------------------------------------------------------- */

/* The parts of the canonical text "ns::name.overload(arguments) -> results". */
typedef struct schema_text_parts {
  const char *name, *overload, *args;
  size_t name_size, overload_size, args_size; /* overload includes the dot */
} schema_text_parts;

static schema_text_parts split_text(const st_schema *s) {
  const char *open = strchr(s->text, '('), *close = NULL;
  /* A default value may contain an arrow, a result cannot: find the last. */
  for (const char *p = open; (p = strstr(p, ") -> ")); p++) close = p;
  const size_t overload = *s->overload ? strlen(s->overload) + 1 : 0;
  return (schema_text_parts){
    .name = s->text, .name_size = (size_t)(open - s->text) - overload,
    .overload = open - overload, .overload_size = overload,
    .args = open + 1, .args_size = (size_t)(close - open) - 1};
}

static void write_inplace(const schema_text_parts *p, st_text *t) {
  static const char type[] = "Tensor";
  const size_t n = sizeof type - 1;
  st__text_add(t, p->name, p->name_size);
  st__text_puts(t, "_");
  st__text_add(t, p->overload, p->overload_size);
  st__text_puts(t, "(Tensor(a!)");
  st__text_add(t, p->args + n, p->args_size - n);
  st__text_puts(t, ") -> Tensor(a!)");
}

static void write_results(const st_schema *s, st_text *t) {
  for (int i = 0; i < s->nrets; i++) {
    st__text_format(t, "%sTensor(%c!) %s", i ? ", " : "", 'a' + i,
                    s->nrets == 1 ? "out" : s->rets[i].name);
  }
}

static void write_out(const st_schema *s, const schema_text_parts *p,
                      const char *overload, st_text *t) {
  bool has_keywords = false;
  for (int i = 0; i < s->nargs; i++) has_keywords |= s->args[i].kwarg_only;
  st__text_add(t, p->name, p->name_size);
  st__text_format(t, ".%s(", overload);
  st__text_add(t, p->args, p->args_size);
  st__text_puts(t, s->nargs == 0 ? "*, " : has_keywords ? ", " : ", *, ");
  write_results(s, t);
  if (s->nrets == 1) {
    st__text_puts(t, ") -> Tensor(a!)");
  } else {
    st__text_puts(t, ") -> (");
    write_results(s, t);
    st__text_puts(t, ")");
  }
}

/* -- Variants ------------------------------------------------------------- */

st_status st__variant_schema(const st_schema *functional, st_variant variant,
                             const char *out_overload, char **text) {
  st_text t = {0};
  ST_TRY(check_functional(functional));
  if (variant == ST_INPLACE) ST_TRY(check_inplace(functional));
  if (variant == ST_OUT) ST_TRY(check_out(functional, out_overload));
  const schema_text_parts p = split_text(functional);
  if (variant == ST_FUNCTIONAL) {
    st__text_puts(&t, functional->text);
  } else if (variant == ST_INPLACE) {
    write_inplace(&p, &t);
  } else {
    write_out(functional, &p, out_overload, &t);
  }
  return st__text_finish(&t, text);
}
