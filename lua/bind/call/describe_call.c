/* Says in the words of Lua why a call fits no overload: what the argument must
 * be, what was given, and calls that would fit. The types of schemas are for
 * st.ops.aten.sum:schema().
 */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "call/call.h"

typedef st__text text;

__attribute__((format(printf, 2, 3)))
static void add(text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  st__add_text(t, format, args);
  va_end(args);
}

/* -- Types ---------------------------------------------------------------- */

static bool is_layout(st_layout l) {
  st_layout found;
  return st_layout_parse(st_layout_name(l), &found) && found == l;
}

typedef struct words { const char *one, *many; } words;

static words words_of(st_type type) {
  switch (type) {
    case ST_TYPE_TENSOR: return (words){"a Tensor", "Tensors"};
    case ST_TYPE_INT: return (words){"an integer", "integers"};
    case ST_TYPE_DIM: return (words){"a dimension", "dimensions"};
    case ST_TYPE_INDEX: case ST_TYPE_END:
      return (words){"an index", "indices"};
    case ST_TYPE_BOOL: return (words){"true or false", "booleans"};
    case ST_TYPE_STRING: return (words){"a string", "strings"};
    case ST_TYPE_DTYPE: return (words){"a dtype", "dtypes"};
    case ST_TYPE_DEVICE: return (words){"a device", "devices"};
    case ST_TYPE_FORMAT: return (words){"a memory format", "memory formats"};
    case ST_TYPE_LAYOUT:
      return (words){is_layout(1) ? "a layout" : "'strided'", "layouts"};
    case ST_TYPE_GENERATOR:
      return (words){"a Generator, which st.Generator() makes", "Generators"};
    default: return (words){"a number", "numbers"};
  }
}

static bool is_reduction(const st_arg *a) {
  return a->type == ST_TYPE_INT && strcmp(a->name, "reduction") == 0;
}

/* Writes what an argument takes, with a separator between choices. */
static void describe(const st_arg *a, const char *either, char *buf,
                     size_t size) {
  text t = {buf, size};
  const words w = words_of(a->type);
  if (a->type == ST_TYPE_OTHER) {
    add(&t, "a %s", a->text);
  } else if (is_reduction(a)) {
    add(&t, "'none', 'mean' or 'sum'");
  } else if (!a->list) {
    add(&t, "%s", w.one);
  } else if (a->list_size > 1) {
    add(&t, "%s%sa list of %d", w.one, either, (int)a->list_size);
  } else if (a->list_size == 1) {
    add(&t, "%s%sa list of %s", w.one, either, w.many);
  } else {
    add(&t, "a list of %s", w.many);
  }
}

void st__arg_type_text(const st_arg *a, char *buf, size_t size) {
  describe(a, " or ", buf, size);
}

/* -- Reasons -------------------------------------------------------------- */

void st__set_reason(st__frame *f, const st_arg *a, int idx) {
  st__reason *r = f->why;
  char want[160];
  if (!r) return;
  *r = (st__reason){
    .kind = idx ? ST_REASON_TYPE : ST_REASON_MISSING, .source = idx,
    .is_nil_ok = a->optional && !a->kwarg_only, .types = 1u << a->type
  };
  snprintf(r->name, sizeof r->name, "%s", a->name);
  describe(a, "|", r->want, sizeof r->want);
  st__arg_type_text(a, want, sizeof want);
  if (!idx) {
    snprintf(r->text, sizeof r->text, "argument '%s', %s, is missing",
             r->name, want);
    return;
  }
  st__describe_value(f->h, f->L, idx, r->got, sizeof r->got);
  if (lua_type(f->L, idx) == LUA_TSTRING) {
    snprintf(r->given, sizeof r->given, "%s", lua_tostring(f->L, idx));
  }
  snprintf(r->text, sizeof r->text, "argument '%s' must be %s, got %s",
           r->name, want, r->got);
}

bool st__merge_reason(st__reason *r, const st__reason *other) {
  const size_t n = strlen(r->want);
  if (r->kind == ST_REASON_COUNT && other->kind == ST_REASON_COUNT) {
    if (other->takes > r->takes) *r = *other;
    return true;
  }
  if ((r->kind != ST_REASON_TYPE && r->kind != ST_REASON_MISSING) ||
      r->kind != other->kind || r->source != other->source) {
    return false;
  }
  const bool same_name = strcmp(r->name, other->name) == 0;
  if (!r->source && !same_name) return false;
  r->has_names |= !same_name;
  r->is_nil_ok |= other->is_nil_ok;
  r->types |= other->types;
  if (!strstr(r->want, other->want)) {
    snprintf(r->want + n, sizeof r->want - n, "|%s", other->want);
  }
  return true;
}

/* "a|b|c" becomes "a, b or c". */
static void add_choices(text *t, const st__reason *r) {
  const char *rest = r->want;
  for (const char *bar; (bar = strchr(rest, '|')) != NULL; rest = bar + 1) {
    if (rest != r->want) add(t, ", ");
    add(t, "%.*s", (int)(bar - rest), rest);
  }
  if (rest != r->want) add(t, r->is_nil_ok ? ", " : " or ");
  add(t, "%s%s", rest, r->is_nil_ok ? " or nil" : "");
}

static bool is_output(const st_arg *a) { return a->is_write && a->kwarg_only; }

/* Number of outputs of an overload. */
static int count_outputs(const st_op *op) {
  int n = 0;
  for (int i = 0; i < st_op_nargs(op); i++) n += is_output(st_op_arg(op, i));
  return n;
}

static const char *keyword_of(const st_op *op, const st_arg *a) {
  return is_output(a) && count_outputs(op) == 1 ? "out" : a->name;
}

static bool is_name_of(const st_op *op, const st_arg *a, const char *name) {
  return strcmp(a->name, name) == 0 || strcmp(keyword_of(op, a), name) == 0;
}

static int find_argument(const st_op *op, const char *name) {
  for (int i = 0; i < st_op_nargs(op); i++) {
    if (is_name_of(op, st_op_arg(op, i), name)) return i;
  }
  return -1;
}

/* Index of the argument that a method call passes first. */
static int self_of(const st_op *op) {
  const int i = find_argument(op, "self");
  return i < 0 ? 0 : i;
}

/* Adds the names of the arguments of all overloads. */
static void add_arguments(text *t, const st__frame *f, const st__packet *p) {
  const char *seen[ST_MAX_ARGS];
  int n = 0;
  for (int k = 0; k < p->n; k++) {
    const st_op *op = p->ops[k];
    for (int i = 0; st_op_schema(op) && i < st_op_nargs(op); i++) {
      const char *name = keyword_of(op, st_op_arg(op, i));
      bool is_new = n < ST_MAX_ARGS && !(f->is_method && i == self_of(op));
      for (int j = 0; j < n; j++) is_new &= strcmp(seen[j], name) != 0;
      if (!is_new) continue;
      add(t, "%s %s", n ? "," : "; it takes", name);
      seen[n++] = name;
    }
  }
}

static void add_reason(text *t, const st__frame *f, const st__packet *p,
                       const st__reason *r) {
  switch (r->kind) {
    case ST_REASON_MISSING:
      add(t, "argument '%s', ", r->name);
      add_choices(t, r);
      add(t, ", is missing");
      break;
    case ST_REASON_TYPE:
      if (r->has_names) {
        add(t, "argument %d must be ", r->source - f->first + !f->is_method);
      } else {
        add(t, "argument '%s' must be ", r->name);
      }
      add_choices(t, r);
      add(t, ", got %s", r->got);
      break;
    case ST_REASON_KEYWORD:
      add(t, "%s", r->text);
      add_arguments(t, f, p);
      break;
    default: add(t, "%s", r->text);
  }
}

/* -- Names ---------------------------------------------------------------- */

static void add_formats(text *t) {
  add(t, "\n  the memory formats are");
  for (int i = 0; i < ST_FORMAT_COUNT; i++) {
    add(t, "%s %s", i ? "," : "", st_format_name((st_format)i));
  }
}

static void add_layouts(text *t) {
  if (!is_layout(1)) return; /* there is one */
  add(t, "\n  the layouts are");
  for (int i = 0; is_layout(i); i++) {
    add(t, "%s %s", i ? "," : "", st_layout_name(i));
  }
}

static void add_names(text *t, const st__reason *r) {
  const unsigned numbers = 1u << ST_TYPE_SCALAR | 1u << ST_TYPE_FLOAT;
  if (r->kind != ST_REASON_TYPE) return;
  if (r->types & numbers && strcmp(r->got, "Tensor") == 0) {
    add(t, "; the number of a tensor of one element is t:item()");
  }
  if (r->types & 1u << ST_TYPE_TENSOR && strcmp(r->got, "table") == 0) {
    add(t, "; st.tensor(list) makes one");
  }
  if (r->types & 1u << ST_TYPE_DTYPE) {
    st__add_dtypes(t, *r->given ? r->given : NULL);
  }
  if (r->types & 1u << ST_TYPE_DEVICE) st__add_devices(t);
  if (r->types & 1u << ST_TYPE_FORMAT) add_formats(t);
  if (r->types & 1u << ST_TYPE_LAYOUT) add_layouts(t);
}

/* -- Calls that fit ------------------------------------------------------- */

static void add_list_example(text *t, const st_arg *a) {
  switch (a->type) {
    case ST_TYPE_TENSOR: add(t, "{x, y}"); break;
    case ST_TYPE_INT:
      add(t, a->list_size == 1 ? "2" : a->list_size ? "{2, 2}" : "{2, 3}");
      break;
    case ST_TYPE_DIM: case ST_TYPE_INDEX: case ST_TYPE_END:
      add(t, a->list_size == 1 ? "1" : "{1, 2}");
      break;
    case ST_TYPE_BOOL: add(t, "{true, false}"); break;
    default: add(t, "{0.5, 1}");
  }
}

static void add_string_example(text *t, const st_arg *a) {
  if (a->has_default && a->default_value.tag == ST_TAG_STRING) {
    add(t, "\"%s\"", a->default_value.u.string);
  } else if (strcmp(a->name, "rounding_mode") == 0) {
    add(t, "\"floor\"");
  } else {
    add(t, "\"...\"");
  }
}

/* An example of an argument; n is the number of dimensions before it. */
static void add_example(text *t, const st_arg *a, int n) {
  if (a->list) {
    add_list_example(t, a);
    return;
  }
  switch (a->type) {
    case ST_TYPE_TENSOR:
      add(t, "%s", strcmp(a->name, "self") == 0 ||
                   strcmp(a->name, "input") == 0 ? "x" : a->name);
      break;
    case ST_TYPE_INT: add(t, is_reduction(a) ? "\"mean\"" : "2"); break;
    case ST_TYPE_DIM: add(t, "%d", n + 1); break;
    case ST_TYPE_INDEX: add(t, "1"); break;
    case ST_TYPE_END: add(t, "2"); break;
    case ST_TYPE_BOOL: add(t, "true"); break;
    case ST_TYPE_STRING: add_string_example(t, a); break;
    case ST_TYPE_DTYPE: add(t, "\"float32\""); break;
    case ST_TYPE_DEVICE: add(t, "\"cpu\""); break;
    case ST_TYPE_FORMAT: add(t, "\"%s\"", st_format_name((st_format)0)); break;
    case ST_TYPE_LAYOUT: add(t, "\"strided\""); break;
    case ST_TYPE_GENERATOR: add(t, "st.Generator()"); break;
    default: add(t, "0.5");
  }
}

static void add_function(text *t, const char *name, bool is_method) {
  const char *colon = strstr(name, "::");
  if (is_method) {
    add(t, "x:%s(", colon ? colon + 2 : name);
  } else if (strncmp(name, "aten::", 6) == 0 && !strchr(name, '.')) {
    add(t, "st.%s(", name + 6);
  } else if (colon) {
    add(t, "st.ops.%.*s.%s(", (int)(colon - name), name, colon + 2);
  } else {
    add(t, "%s(", name);
  }
}

/* A call with the arguments that op requires, and with argument `shown`. */
static void add_call(text *t, const st__frame *f, const st__packet *p,
                     const st_op *op, int shown) {
  const char *comma = "";
  int ndims = 0;
  bool has_keywords = false;
  add_function(t, p->name, f->is_method);
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < st_op_nargs(op); i++) {
      const st_arg *a = st_op_arg(op, i);
      const bool is_keyword = a->kwarg_only || a->has_default;
      if (is_keyword != (pass == 1) || (a->has_default && i != shown)) continue;
      if (f->is_method && i == self_of(op)) continue;
      add(t, "%s", comma);
      if (is_keyword) {
        add(t, "%s%s = ", has_keywords ? "" : "{", keyword_of(op, a));
        has_keywords = true;
      }
      add_example(t, a, ndims);
      ndims += a->type == ST_TYPE_DIM;
      comma = ", ";
    }
  }
  add(t, has_keywords ? "})" : ")");
}

enum { SHOWN = 4 };

static void add_calls(text *t, const st__frame *f, const st__packet *p,
                      const st__reason *r) {
  char seen[SHOWN][128];
  int n = 0;
  bool has_it = false; /* an overload has the argument */
  for (int k = 0; k < p->n && *r->name; k++) {
    has_it |= st_op_schema(p->ops[k]) && find_argument(p->ops[k], r->name) >= 0;
  }
  for (int k = 0; k < p->n && n < SHOWN; k++) {
    const st_op *op = p->ops[k];
    if (!st_op_schema(op)) continue;
    const int shown = *r->name ? find_argument(op, r->name) : -1;
    const bool shows_output = shown >= 0 && is_output(st_op_arg(op, shown));
    if (has_it && !r->has_names && shown < 0) continue;
    if (count_outputs(op) && !shows_output) continue;
    text call = {seen[n], sizeof seen[n]};
    add_call(&call, f, p, op, shown);
    bool is_new = true;
    for (int i = 0; i < n; i++) is_new &= strcmp(seen[i], seen[n]) != 0;
    if (!is_new) continue;
    add(t, n ? "\n              %s" : "\n  for example %s", seen[n]);
    n++;
  }
}

void st__describe_mismatch(const st__frame *f, const st__packet *p,
                           st__reason *r, char *buf, size_t size) {
  text t = {buf, size};
  add(&t, "%s: ", st__short_name(p->name));
  add_reason(&t, f, p, r);
  add_names(&t, r);
  if (strcmp(p->name, "aten::mode") == 0 && strcmp(r->got, "function") == 0) {
    add(&t, "; st.dispatch_mode(fn, body) runs body in a dispatch mode");
  }
  if (!f->is_complete) add_calls(&t, f, p, r);
}
