/* Derives the signature of a schema: Note [Signatures]. */

#include <string.h>

#include "dispatch/entry.h"

static const char *base_text(const st_arg *a) {
  switch (a->type) {
    case ST_TYPE_TENSOR: return "Tensor";
    case ST_TYPE_FLOAT: return "float";
    case ST_TYPE_BOOL: return "bool";
    case ST_TYPE_STRING: return "str";
    case ST_TYPE_COMPLEX: return "complex";
    case ST_TYPE_SCALAR: return "Scalar";
    case ST_TYPE_GENERATOR: return "Generator";
    case ST_TYPE_OTHER: return a->text;
    default: return "int";
  }
}

/* Appends s at n, truncated to the buffer; returns the new length. */
static size_t add(char *buf, size_t size, size_t n, const char *s) {
  const size_t room = size - n - 1, whole = strlen(s);
  const size_t more = whole < room ? whole : room;
  memcpy(buf + n, s, more);
  buf[n + more] = 0;
  return n + more;
}

static size_t add_types(char *buf, size_t size, size_t n, const st_arg *args,
                        int count) {
  if (count == 0) return add(buf, size, n, "()");
  for (int i = 0; i < count; i++) {
    const st_arg *a = &args[i];
    if (i) n = add(buf, size, n, ", ");
    n = add(buf, size, n, base_text(a));
    if (a->type == ST_TYPE_OTHER) continue; /* the text is the whole type */
    if (a->elem_optional) n = add(buf, size, n, "?");
    if (a->list) n = add(buf, size, n, "[]");
    if (a->optional) n = add(buf, size, n, "?");
  }
  return n;
}

void st__signature_text(const st_schema *s, char *buf, size_t size) {
  size_t n = add_types(buf, size, 0, s->args, s->nargs);
  n = add(buf, size, n, " -> ");
  add_types(buf, size, n, s->rets, s->nrets);
}
