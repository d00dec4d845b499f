/* Prints schemas in ATen's canonical form (S1). */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "dispatch/schema/schema_type.h"
#include "tensor/tensor.h"

/* -- Writer --------------------------------------------------------------- */

/* Text is written twice: the first pass computes its length only. */
typedef struct writer {
  char *buf;  /* NULL in the first pass */
  size_t n;
} writer;

static void put(writer *w, const char *s, size_t n) {
  if (w->buf) memcpy(w->buf + w->n, s, n);
  w->n += n;
}

static void put_text(writer *w, const char *s) { put(w, s, strlen(s)); }

static void put_token(writer *w, st_token t) { put(w, t.s, t.n); }

static void put_int(writer *w, int64_t i) {
  char digits[24];
  put(w, digits,
      (size_t)snprintf(digits, sizeof digits, "%" PRId64, i));
}

/* -- Types ---------------------------------------------------------------- */

static void put_sets(writer *w, const st_token *sets, int n) {
  for (int i = 0; i < n; i++) {
    if (i) put_text(w, "|");
    put_token(w, sets[i]);
  }
}

static bool same_sets(const st_alias *a) {
  if (a->nbefore != a->nafter) return false;
  for (int i = 0; i < a->nbefore; i++) {
    const st_token x = a->before[i], y = a->after[i];
    if (x.n != y.n || memcmp(x.s, y.s, x.n) != 0) return false;
  }
  return true;
}

static void put_alias(writer *w, const st_alias *a) {
  put_text(w, "(");
  if (a->fresh >= 0) {
    put_text(w, "$");
    put_int(w, a->fresh);
  }
  put_sets(w, a->before, a->nbefore);
  if (a->write) put_text(w, "!");
  if (a->fresh >= 0 || !same_sets(a)) {
    put_text(w, " -> ");
    put_sets(w, a->after, a->nafter);
  }
  put_text(w, ")");
}

static void put_type(writer *w, const st_type_node *t, bool alias) {
  switch (t->kind) {
    case ST_TYPE_NODE_NAME:
      put_token(w, t->name);
      break;
    case ST_TYPE_NODE_GENERIC:
      put_token(w, t->name);
      /* fallthrough */
    case ST_TYPE_NODE_TUPLE:
      put_text(w, "(");
      for (const st_type_node *c = t->child; c; c = c->next) {
        put_type(w, c, alias);
        if (c->next) put_text(w, ", ");
      }
      put_text(w, ")");
      break;
    case ST_TYPE_NODE_LIST:
      put_type(w, t->child, alias);
      put_text(w, "[");
      if (t->size) put_int(w, t->size);
      put_text(w, "]");
      break;
    case ST_TYPE_NODE_OPTIONAL:
      put_type(w, t->child, alias);
      put_text(w, "?");
      break;
  }
  if (alias && t->alias) put_alias(w, t->alias);
}

/* -- Values --------------------------------------------------------------- */

/* Whole numbers as "1.", others with 17 digits. */
static void put_float(writer *w, double d) {
  char digits[40];
  if (fabs(d) < 1e10 && d == (double)(int64_t)d) {
    if (d == 0 && signbit(d)) put_text(w, "-");
    put_int(w, (int64_t)d);
    put_text(w, ".");
    return;
  }
  const locale_t locale = st__c_locale();
  const locale_t before = locale ? uselocale(locale) : (locale_t)0;
  const int n = snprintf(digits, sizeof digits, "%.17g", d);
  if (before) uselocale(before);
  put(w, digits, (size_t)n);
}

static void put_complex(writer *w, const double *c) {
  put_float(w, c[0]);
  if (!signbit(c[1])) put_text(w, "+");
  put_float(w, c[1]);
  put_text(w, "j");
}

static void put_string(writer *w, const char *s, size_t n) {
  static const char from[] = "\"'\\\a\b\f\n\r\t\v", to[] = "\"'\\abfnrtv";
  put_text(w, "\"");
  for (size_t i = 0; i < n; i++) {
    const char *known = s[i] ? strchr(from, s[i]) : NULL;
    char octal[8];
    if (known) {
      put_text(w, "\\");
      put(w, &to[known - from], 1);
    } else if (s[i] >= ' ' && s[i] <= '~') {
      put(w, &s[i], 1);
    } else {
      snprintf(octal, sizeof octal, "\\%03o", (unsigned char)s[i]);
      put_text(w, octal);
    }
  }
  put_text(w, "\"");
}

static void put_element(writer *w, const st_value *v, uint32_t i) {
  if (v->tag == ST_TAG_INTS) put_int(w, v->u.ints[i]);
  else if (v->tag == ST_TAG_FLOATS) put_float(w, v->u.floats[i]);
  else put_text(w, v->u.bools[i] ? "True" : "False");
}

/* True if all integers of a list are equal. A list of N equal integers is
 * printed as one integer after int[N], which means the same. */
static bool is_repeated(const st_value *v) {
  if (v->tag != ST_TAG_INTS || v->len < 2) return false;
  for (uint32_t i = 1; i < v->len; i++) {
    if (v->u.ints[i] != v->u.ints[0]) return false;
  }
  return true;
}

static void put_list(writer *w, const st_arg *arg, const st_value *v) {
  if (is_repeated(v) && (uint32_t)arg->list_size == v->len) {
    put_int(w, v->u.ints[0]);
    return;
  }
  put_text(w, "[");
  for (uint32_t i = 0; i < v->len; i++) {
    if (i) put_text(w, ", ");
    put_element(w, v, i);
  }
  put_text(w, "]");
}

static void put_default(writer *w, const st_arg *arg) {
  const st_value *v = &arg->default_value;
  switch (v->tag) {
    case ST_TAG_NONE: put_text(w, "None"); break;
    case ST_TAG_INT:
      if (arg->type == ST_TYPE_DEVICE) {
        put_text(w, st__device_name((st_device)v->u.i));
      } else {
        put_int(w, v->u.i);
      }
      break;
    case ST_TAG_BOOL: put_text(w, v->u.i ? "True" : "False"); break;
    case ST_TAG_FLOAT: put_float(w, v->u.f); break;
    case ST_TAG_COMPLEX: put_complex(w, v->u.pair); break;
    case ST_TAG_STRING: put_string(w, v->u.string, v->len); break;
    default: put_list(w, arg, v); break;
  }
}

/* -- Schemas -------------------------------------------------------------- */

static void put_decl(writer *w, const st_decl *d) {
  put_type(w, d->type, true);
  if (*d->arg.name) {
    put_text(w, " ");
    put_text(w, d->arg.name);
  }
  if (d->arg.has_default) {
    put_text(w, "=");
    put_default(w, &d->arg);
  }
}

static void put_arguments(writer *w, const st_schema_decl *s) {
  bool keywords = false;
  for (int i = 0; i < s->nargs; i++) {
    if (i) put_text(w, ", ");
    if (s->args[i].arg.kwarg_only && !keywords) put_text(w, "*, ");
    keywords = s->args[i].arg.kwarg_only;
    put_decl(w, &s->args[i]);
  }
  if (s->is_vararg) put_text(w, s->nargs ? ", ..." : "...");
}

static void put_results(writer *w, const st_schema_decl *s) {
  /* A single result that is a tuple needs parentheses around it, otherwise it
   * would be parsed as several results. */
  const st_type_node *first = s->nrets ? s->rets[0].type : NULL;
  while (first && first->kind >= ST_TYPE_NODE_LIST) first = first->child;
  const bool bare = s->is_varret ? s->nrets == 0
    : s->nrets == 1 && first->kind != ST_TYPE_NODE_TUPLE;
  if (!bare) put_text(w, "(");
  for (int i = 0; i < s->nrets; i++) {
    if (i) put_text(w, ", ");
    put_decl(w, &s->rets[i]);
  }
  if (s->is_varret) put_text(w, s->nrets ? ", ..." : "...");
  if (!bare) put_text(w, ")");
}

static void put_schema(writer *w, const st_schema_decl *s) {
  put(w, s->ns, s->ns_size);
  put_text(w, "::");
  put_token(w, s->name);
  if (s->overload.n) put_text(w, ".");
  put_token(w, s->overload);
  put_text(w, "(");
  put_arguments(w, s);
  put_text(w, ") -> ");
  put_results(w, s);
}

/* -- Texts ---------------------------------------------------------------- */

static bool start_keeping(st_parser *p, writer *w) {
  w->buf = st__arena_alloc(&p->keep, w->n + 1, p->chunk);
  w->n = 0;
  return w->buf != NULL;
}

char *st__type_text(st_parser *p, const st_type_node *t) {
  writer w = {0};
  put_type(&w, t, false);
  if (start_keeping(p, &w)) put_type(&w, t, false);
  return w.buf;
}

char *st__alias_text(st_parser *p, const st_alias *a) {
  writer w = {0};
  put_alias(&w, a);
  if (start_keeping(p, &w)) put_alias(&w, a);
  return w.buf;
}

char *st__schema_text(st_parser *p, const st_schema_decl *s) {
  writer w = {0};
  put_schema(&w, s);
  if (start_keeping(p, &w)) put_schema(&w, s);
  return w.buf;
}
