/* Parses the types in schemas, with their alias annotations. */

#include "dispatch/schema/schema_type.h"

#include <string.h>

enum { MAX_DEPTH = 32, SCRATCH = 1024 };

static const struct { const char *name; st_type type; } names[] = {
  {"Tensor", ST_TYPE_TENSOR}, {"int", ST_TYPE_INT}, {"SymInt", ST_TYPE_INT},
  {"float", ST_TYPE_FLOAT}, {"bool", ST_TYPE_BOOL}, {"str", ST_TYPE_STRING},
  {"complex", ST_TYPE_COMPLEX}, {"Scalar", ST_TYPE_SCALAR},
  {"ScalarType", ST_TYPE_DTYPE}, {"Layout", ST_TYPE_LAYOUT},
  {"MemoryFormat", ST_TYPE_FORMAT}, {"Device", ST_TYPE_DEVICE},
  {"Generator", ST_TYPE_GENERATOR}, {"Dim", ST_TYPE_DIM},
  {"Index", ST_TYPE_INDEX}, {"End", ST_TYPE_END}, {"Any", ST_TYPE_OTHER},
  {"AnyClassType", ST_TYPE_OTHER}, {"AnyEnumType", ST_TYPE_OTHER},
  {"Capsule", ST_TYPE_OTHER}, {"ConstQuantizerPtr", ST_TYPE_OTHER},
  {"Dimname", ST_TYPE_OTHER}, {"None", ST_TYPE_OTHER},
  {"NoneType", ST_TYPE_OTHER}, {"QScheme", ST_TYPE_OTHER},
  {"Quantizer", ST_TYPE_OTHER}, {"Storage", ST_TYPE_OTHER},
  {"Stream", ST_TYPE_OTHER}, {"SymFloat", ST_TYPE_OTHER},
};

static st_type_node *new_node(st_parser *p, st_type_node_kind kind,
                              st_type_node *child) {
  st_type_node *t = st__arena_alloc(&p->scratch, sizeof *t, SCRATCH);
  if (!t) return NULL;
  t->kind = kind;
  t->type = ST_TYPE_OTHER;
  t->child = child;
  return t;
}

/* -- Alias annotations ---------------------------------------------------- */

/* Parses "a|b" or "*". A "*" makes the other sets irrelevant. The sets are in
 * descending order without duplicates, so that equal annotations have the same
 * printed form. */
static st_status alias_sets(st_parser *p, st_token *sets, int *n) {
  bool wildcard = false;
  do {
    st_token set = p->cur;
    if (st__lex_take(p, '*')) {
      wildcard = true;
      *n = 0;
      sets[(*n)++] = set;
      continue;
    }
    ST_TRY(st__lex_expect(p, ST_TOK_IDENT, &set));
    int at = 0, order = -1;
    for (; at < *n; at++) {
      const st_token s = sets[at];
      const size_t common = s.n < set.n ? s.n : set.n;
      order = memcmp(s.s, set.s, common);
      if (order == 0) order = (s.n > set.n) - (s.n < set.n);
      if (order <= 0) break;
    }
    if (wildcard || (at < *n && order == 0)) continue;
    if (*n == ST_MAX_ALIAS_SETS) {
      return st__lex_fail(p, set, "too many alias sets");
    }
    memmove(&sets[at + 1], &sets[at], (size_t)(*n - at) * sizeof *sets);
    sets[at] = set;
    ++*n;
  } while (st__lex_take(p, '|'));
  return ST_OK;
}

/* Parses "a! -> b". */
static st_status named_sets(st_parser *p, st_alias *a) {
  ST_TRY(alias_sets(p, a->before, &a->nbefore));
  a->write = st__lex_take(p, '!');
  if (st__lex_take(p, ST_TOK_ARROW)) {
    return alias_sets(p, a->after, &a->nafter);
  }
  memcpy(a->after, a->before, sizeof a->after);
  a->nafter = a->nbefore;
  return ST_OK;
}

/* Parses "$0! -> ", the printed form of "!" without a name. */
static st_status fresh_set(st_parser *p, st_alias *a) {
  ST_TRY(st__lex_expect(p, ST_TOK_NUMBER, NULL));
  ST_TRY(st__lex_expect(p, '!', NULL));
  a->write = true;
  a->fresh = p->fresh++;
  return st__lex_expect(p, ST_TOK_ARROW, NULL);
}

static st_status alias_annotation(st_parser *p, st_alias **out) {
  *out = NULL;
  if (p->cur.kind != '(' && p->cur.kind != '!') return ST_OK;
  st_alias *a = st__arena_alloc(&p->scratch, sizeof *a, SCRATCH);
  if (!a) return ST_NO_MEMORY;
  a->fresh = -1;
  if (st__lex_take(p, '!')) {
    a->write = true;
    a->fresh = p->fresh++;
  } else {
    st__lex_next(p);
    ST_TRY(st__lex_take(p, '$') ? fresh_set(p, a) : named_sets(p, a));
    ST_TRY(st__lex_expect(p, ')', NULL));
  }
  *out = a;
  return ST_OK;
}

/* -- Types ---------------------------------------------------------------- */

/* Parses "T, T, ...)". */
static st_status operands(st_parser *p, st_type_node *parent) {
  st_type_node **last = &parent->child;
  do {
    ST_TRY(st__parse_type(p, false, last));
    last = &(*last)->next;
  } while (st__lex_take(p, ','));
  return st__lex_expect(p, ')', NULL);
}

/* Parses the rest of a name like "__torch__.torch.classes.rnn.Cell". */
static st_status class_name(st_parser *p, st_type_node *t) {
  while (st__lex_take(p, '.')) {
    st_token part;
    ST_TRY(st__lex_expect(p, ST_TOK_IDENT, &part));
    t->name.n = (size_t)(part.s + part.n - t->name.s);
  }
  return ST_OK;
}

static bool is_generic(st_token t) {
  return st__token_is(t, "Dict") || st__token_is(t, "Union") ||
         st__token_is(t, "Future") || st__token_is(t, "RRef");
}

/* Looks up a type by name. An unknown name in lower case is a type variable. */
static st_status named_type(st_parser *p, st_type_node *t) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!st__token_is(t->name, names[i].name)) continue;
    t->type = names[i].type;
    return ST_OK;
  }
  if (st__token_is(t->name, "__torch__")) return class_name(p, t);
  if (t->name.s[0] >= 'a' && t->name.s[0] <= 'z') return ST_OK;
  return st__lex_fail(p, t->name, "unknown type");
}

static st_status prefix_type(st_parser *p, st_type_node **out) {
  st_type_node *t = *out = new_node(p, ST_TYPE_NODE_NAME, NULL);
  if (!t) return ST_NO_MEMORY;
  t->name = p->cur;
  if (st__lex_take(p, '(')) {
    t->kind = ST_TYPE_NODE_TUPLE;
    if (st__lex_take(p, ')')) return ST_OK;
    return operands(p, t);
  }
  if (!st__lex_take(p, ST_TOK_NONE)) {
    if (p->cur.kind != ST_TOK_IDENT) return st__lex_unexpected(p, "a type");
    st__lex_next(p);
  }
  if (is_generic(t->name)) {
    t->kind = ST_TYPE_NODE_GENERIC;
    ST_TRY(st__lex_expect(p, '(', NULL));
    ST_TRY(operands(p, t));
  } else {
    ST_TRY(named_type(p, t));
  }
  return alias_annotation(p, &t->alias);
}

static st_status list_size(st_parser *p, int32_t *out) {
  st_token t;
  ST_TRY(st__lex_expect(p, ST_TOK_NUMBER, &t));
  *out = 0;
  for (size_t i = 0; i < t.n; i++) {
    if (t.s[i] < '0' || t.s[i] > '9' || i > 3) {
      return st__lex_fail(p, t, "a list has an invalid size");
    }
    *out = *out * 10 + (t.s[i] - '0');
  }
  return *out > 0 ? ST_OK
                  : st__lex_fail(p, t, "a list has an invalid size");
}

/* Parses "[N]" and an optional "?" after it, which end a type. */
static st_status sized_list(st_parser *p, st_type_node **t) {
  int32_t size;
  st__lex_next(p);
  ST_TRY(list_size(p, &size));
  ST_TRY(st__lex_expect(p, ']', NULL));
  if (!(*t = new_node(p, ST_TYPE_NODE_LIST, *t))) return ST_NO_MEMORY;
  (*t)->size = size;
  ST_TRY(alias_annotation(p, &(*t)->alias));
  if (!st__lex_take(p, '?')) return ST_OK;
  *t = new_node(p, ST_TYPE_NODE_OPTIONAL, *t);
  return *t ? ST_OK : ST_NO_MEMORY;
}

static st_status suffixed_type(st_parser *p, bool size_hint,
                               st_type_node **out) {
  st_type_node *t;
  int suffixes = 0;
  ST_TRY(prefix_type(p, &t));
  for (;;) {
    if (++suffixes > MAX_DEPTH) {
      return st__lex_fail(p, p->cur, "a type is nested too deeply");
    }
    if (p->cur.kind == '[' && p->ahead.kind == ']') {
      st__lex_next(p);
      st__lex_next(p);
      if (!(t = new_node(p, ST_TYPE_NODE_LIST, t))) return ST_NO_MEMORY;
      ST_TRY(alias_annotation(p, &t->alias));
    } else if (st__lex_take(p, '?')) {
      if (!(t = new_node(p, ST_TYPE_NODE_OPTIONAL, t))) return ST_NO_MEMORY;
    } else {
      break;
    }
  }
  if (size_hint && p->cur.kind == '[') ST_TRY(sized_list(p, &t));
  *out = t;
  return ST_OK;
}

st_status st__parse_type(st_parser *p, bool size_hint, st_type_node **out) {
  if (p->depth >= MAX_DEPTH) {
    return st__lex_fail(p, p->cur, "a type is nested too deeply");
  }
  p->depth++;
  const st_status status = suffixed_type(p, size_hint, out);
  p->depth--;
  return status;
}

/* -- Types of arguments --------------------------------------------------- */

static const st_type_node *unwrap_type(const st_type_node *t,
                                       st_type_node_kind kind, bool *found) {
  *found = t->kind == kind;
  return *found ? t->child : t;
}

st_status st__describe_type(st_parser *p, const st_type_node *t,
                            st_arg *arg) {
  const st_alias *shown = NULL;
  for (const st_type_node *n = t; n; n = n->child) {
    if (!n->alias) continue;
    if (!shown) shown = n->alias;
    arg->is_alias = true;
    arg->is_write |= n->alias->write;
  }
  if (!(arg->text = st__type_text(p, t))) return ST_NO_MEMORY;
  if (shown && !(arg->alias = st__alias_text(p, shown))) return ST_NO_MEMORY;
  t = unwrap_type(t, ST_TYPE_NODE_OPTIONAL, &arg->optional);
  arg->list_size = t->size;
  t = unwrap_type(t, ST_TYPE_NODE_LIST, &arg->list);
  if (arg->list) t = unwrap_type(t, ST_TYPE_NODE_OPTIONAL, &arg->elem_optional);
  arg->type = t->type;
  return ST_OK;
}
