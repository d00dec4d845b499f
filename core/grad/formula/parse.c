/* The parser of formulas: recursive descent with bounded depth and size.
 */

#include <stdlib.h>
#include <string.h>

#include "grad/formula/formula.h"

enum { MAX_DEPTH = 60, MAX_EXPRS = 500, MAX_NAME = 120 };

typedef struct parser {
  const char *text, *p;
  const st_schema *schema;
  st_formula *f;
  bool is_builtin;
  int depth, nexprs;
} parser;

/* -- Tokens --------------------------------------------------------------- */

static st_status parse_error(const parser *q, const char *what) {
  return st__fail(ST_BAD_SCHEMA, "in the derivative '%s', at '%s': %s",
                  q->text, *q->p ? q->p : "(end)", what);
}

static bool accept(parser *q, const char *token) {
  const size_t n = strlen(token);
  while (*q->p == ' ' || *q->p == '\n' || *q->p == '\t') q->p++;
  if (strncmp(q->p, token, n) != 0) return false;
  q->p += n;
  return true;
}

static st_status expect(parser *q, const char *token) {
  char what[32];
  if (accept(q, token)) return ST_OK;
  snprintf(what, sizeof what, "expected %s", token);
  return parse_error(q, what);
}

static bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name_char(char c) {
  return is_name_start(c) || (c >= '0' && c <= '9');
}

/* The length of "name" or, for a call, "ns::name" or "name.overload". */
static size_t word_length(const char *p) {
  size_t n = 0;
  while (is_name_char(p[n]) || (n && p[n] == '.' && is_name_start(p[n + 1])) ||
         (n && p[n] == ':' && p[n + 1] == ':' && is_name_start(p[n + 2])) ||
         (n && p[n] == ':' && p[n - 1] == ':')) {
    n++;
  }
  return n;
}

static st_status read_word(parser *q, char *word) {
  accept(q, "");
  const size_t n = is_name_start(*q->p) ? word_length(q->p) : 0;
  if (n == 0) return parse_error(q, "expected a value");
  if (n >= MAX_NAME) return parse_error(q, "a name is too long");
  memcpy(word, q->p, n);
  word[n] = 0;
  q->p += n;
  return ST_OK;
}

/* -- Constants and lists -------------------------------------------------- */

static st_status new_expr(parser *q, st_expr_kind kind, st_expr **out) {
  if (++q->nexprs > MAX_EXPRS) {
    return parse_error(q, "the expression is too long");
  }
  *out = st__arena_alloc(&q->f->arena, sizeof **out, 1024);
  if (!*out) return ST_NO_MEMORY;
  (*out)->kind = kind;
  return ST_OK;
}

static st_status add_child(parser *q, st_expr *t, st_expr *child) {
  if (t->nchildren == ST_EXPR_CHILDREN) return parse_error(q, "too many items");
  t->children[t->nchildren++] = child;
  t->grads |= child->grads;
  return ST_OK;
}

static st_status read_choice(parser *q, st_expr **out);

static st_status read_number(parser *q, st_expr **out) {
  char *end, *end_of_int;
  ST_TRY(new_expr(q, ST_EXPR_VALUE, out));
  const double f = strtod(q->p, &end);
  const long long i = strtoll(q->p, &end_of_int, 10);
  (*out)->value = end == end_of_int ? st__of_int(i) : st__of_float(f);
  q->p = end;
  return ST_OK;
}

static st_status read_string(parser *q, st_expr **out) {
  const char *start = ++q->p;
  ST_TRY(new_expr(q, ST_EXPR_VALUE, out));
  while (*q->p && *q->p != '\'') q->p++;
  if (!*q->p) return parse_error(q, "a string is not terminated");
  const size_t n = (size_t)(q->p++ - start);
  const char *copy = st__arena_text(&q->f->arena, start, n);
  if (!copy) return ST_NO_MEMORY;
  (*out)->value = (st_value){.tag = ST_TAG_STRING, .len = (uint32_t)n,
                             .u.string = copy};
  return ST_OK;
}

static st_status read_list(parser *q, st_expr **out) {
  st_expr *child;
  ST_TRY(new_expr(q, ST_EXPR_LIST, out));
  if (accept(q, "]")) return ST_OK;
  do {
    ST_TRY(read_choice(q, &child));
    ST_TRY(add_child(q, *out, child));
  } while (accept(q, ","));
  return expect(q, "]");
}

/* -- Names ---------------------------------------------------------------- */

static bool is_constant(const char *word, st_value *v) {
  *v = strcmp(word, "true") == 0 ? st__of_bool(true)
     : strcmp(word, "false") == 0 ? st__of_bool(false) : st__none();
  return v->tag != ST_TAG_NONE || strcmp(word, "none") == 0;
}

/* The index in "result", "result1", "grad" or "grad1"; -1 for other words. */
static int index_in_name(const char *word, const char *stem, int n) {
  const size_t len = strlen(stem);
  if (strncmp(word, stem, len) != 0) return -1;
  if (!word[len]) return 0;
  const int i = word[len] - '0';
  return word[len + 1] == 0 && i >= 0 && i < n ? i : -1;
}

static bool find_variable(const parser *q, const char *word, st_expr *t) {
  const st_schema *s = q->schema;
  t->var = ST_VAR_ARG;
  if ((t->at = st__schema_arg(s, word)) >= 0) return true;
  t->var = ST_VAR_GRADS;
  t->at = 0;
  if (strcmp(word, "grads") == 0) return true;
  t->var = ST_VAR_GRAD;
  if ((t->at = index_in_name(word, "grad", s->nrets)) >= 0) return true;
  t->var = ST_VAR_RESULT;
  if ((t->at = index_in_name(word, "result", s->nrets)) >= 0) return true;
  for (int i = 0; i < s->nrets; i++) {
    if (strcmp(s->rets[i].name, word) == 0) {
      t->at = i;
      return true;
    }
  }
  return false;
}

static void mark_use(st_formula *f, const st_expr *t) {
  const uint64_t bit = t->at < 0 ? 0 : (uint64_t)1 << t->at;
  switch (t->var) {
    case ST_VAR_ARG:
      if (t->is_shape) f->arg_shapes |= bit;
      else f->args |= bit;
      if (!t->is_shape && !t->may_be_written) f->needed |= bit;
      break;
    case ST_VAR_RESULT:
      if (t->is_shape) f->result_shapes |= bit;
      else f->results |= bit;
      break;
    case ST_VAR_GRAD: f->grads |= bit; break;
    default: f->takes_list = true;
  }
}

static st_status read_variable(parser *q, const char *word, bool is_shape,
                               bool may_be_written, st_expr **out) {
  st_value v;
  const bool is_plain = is_constant(word, &v);
  ST_TRY(new_expr(q, is_plain ? ST_EXPR_VALUE : ST_EXPR_NAME, out));
  (*out)->value = v;
  if (is_plain) return ST_OK;
  if (!find_variable(q, word, *out)) {
    q->p -= strlen(word);
    return parse_error(q, "unknown name: not an argument, a result or a call "
                       "of an operator");
  }
  (*out)->is_shape = is_shape && (*out)->var != ST_VAR_GRAD &&
                     (*out)->var != ST_VAR_GRADS;
  (*out)->may_be_written = may_be_written && (*out)->var == ST_VAR_ARG;
  if ((*out)->var == ST_VAR_GRAD) (*out)->grads = (uint64_t)1 << (*out)->at;
  mark_use(q->f, *out);
  return ST_OK;
}

static st_status read_name(parser *q, const char *word, bool is_shape,
                           st_expr **out) {
  return read_variable(q, word, is_shape, false, out);
}

/* "unwritten(" has been read: Note [Arguments that may be written]. */
static st_status read_unwritten(parser *q, st_expr **out) {
  char word[MAX_NAME];
  accept(q, "");
  ST_TRY(read_word(q, word));
  ST_TRY(read_variable(q, word, false, true, out));
  return expect(q, ")");
}

/* -- Calls ---------------------------------------------------------------- */

/* An argument of a call. is_shape: if it is a variable, only its geometry is
 * read. */
static st_status read_operand(parser *q, bool is_shape, st_expr **out) {
  char word[MAX_NAME];
  const char *start = q->p;
  if (is_shape) {
    accept(q, "");
    if (is_name_start(*q->p)) {
      ST_TRY(read_word(q, word));
      accept(q, "");
      if (*q->p == ',' || *q->p == ')') return read_name(q, word, true, out);
    }
    q->p = start;
  }
  return read_choice(q, out);
}

/* Reads "name=" before an argument. *out is a copy in the arena, or NULL. */
static st_status read_keyword(parser *q, const char **out) {
  char word[MAX_NAME];
  const char *start = q->p;
  *out = NULL;
  accept(q, "");
  if (!is_name_start(*q->p)) return ST_OK;
  ST_TRY(read_word(q, word));
  accept(q, "");
  if (*q->p != '=' || q->p[1] == '=') {
    q->p = start;
    return ST_OK;
  }
  q->p++;
  *out = st__arena_text(&q->f->arena, word, strlen(word));
  return *out ? ST_OK : ST_NO_MEMORY;
}

static st_status read_arguments(parser *q, st_expr *t, bool is_shape) {
  const char *keyword;
  st_expr *child;
  if (accept(q, ")")) return ST_OK;
  do {
    ST_TRY(read_keyword(q, &keyword));
    ST_TRY(read_operand(q, is_shape && t->nchildren == 0, &child));
    ST_TRY(add_child(q, t, child));
    t->keywords[t->nchildren - 1] = keyword;
  } while (accept(q, ","));
  return expect(q, ")");
}

/* Removes the candidates that write their arguments. */
static void drop_mutating(st_expr *t) {
  int n = 0;
  for (int i = 0; i < t->ncandidates; i++) {
    const st_schema *s = st__op_schema(t->candidates[i]);
    if (s && !s->is_mutable) t->candidates[n++] = t->candidates[i];
  }
  t->ncandidates = n;
}

/* Finds all overloads of "sum", or the one that "sum.dim_IntList" names. */
static st_status find_operator(parser *q, st_expr *t, const char *word) {
  char full[MAX_NAME + 8];
  const bool has_ns = strstr(word, "::") != NULL;
  snprintf(full, sizeof full, "%s%s", has_ns ? "" : "aten::", word);
  char *overload = strchr(full, '.');
  if (overload) *overload++ = 0;
  if (overload) {
    t->candidates[0] = st_op_find(full, overload);
    t->ncandidates = t->candidates[0] != NULL;
  } else {
    t->ncandidates = st_op_overloads(full, t->candidates,
                                     ST_EXPR_CANDIDATES);
  }
  if (t->ncandidates > ST_EXPR_CANDIDATES) t->ncandidates = ST_EXPR_CANDIDATES;
  const int found = t->ncandidates;
  drop_mutating(t);
  if (t->ncandidates > 0) return ST_OK;
  q->p -= strlen(word) + 1;
  return parse_error(q, found ? "the operator writes its arguments, which a "
                                "derivative must not do"
                              : "there is no such operator");
}

static st_status read_call(parser *q, const char *word, st_expr **out) {
  int helper = st__helper_find(word, strlen(word));
  if (helper >= 0 && !q->is_builtin && !st__helper(helper)->is_public) {
    helper = -1;
  }
  ST_TRY(new_expr(q, helper >= 0 ? ST_EXPR_HELPER : ST_EXPR_CALL, out));
  if (helper < 0) {
    ST_TRY(find_operator(q, *out, word));
    return read_arguments(q, *out, false);
  }
  (*out)->at = helper;
  const st_helper *h = st__helper(helper);
  ST_TRY(read_arguments(q, *out, st__helper_wants_geometry(h)));
  if (st__helper_takes(h, (*out)->nchildren)) return ST_OK;
  return parse_error(q, "the wrong number of arguments");
}

/* -- Operators ------------------------------------------------------------ */

static st_status read_primary(parser *q, st_expr **out) {
  char word[MAX_NAME];
  if (accept(q, "(")) {
    ST_TRY(read_choice(q, out));
    return expect(q, ")");
  }
  if (accept(q, "[")) return read_list(q, out);
  if (*q->p >= '0' && *q->p <= '9') return read_number(q, out);
  if (*q->p == '\'') return read_string(q, out);
  ST_TRY(read_word(q, word));
  if (accept(q, "(")) {
    return strcmp(word, "unwritten") == 0 ? read_unwritten(q, out)
                                          : read_call(q, word, out);
  }
  return read_name(q, word, false, out);
}

static st_status read_unary(parser *q, st_expr **out) {
  if (!accept(q, "-")) return read_primary(q, out);
  st_expr *child;
  ST_TRY(new_expr(q, ST_EXPR_UNARY, out));
  (*out)->op = '-';
  ST_TRY(read_primary(q, &child));
  return add_child(q, *out, child);
}

/* Precedence levels: 0 comparisons, 1 sums, 2 products. */
static const struct { const char *token; int op, level; } binaries[] = {
  {"<=", 'l', 0}, {">=", 'g', 0}, {"==", '=', 0}, {"!=", '!', 0},
  {"<", '<', 0}, {">", '>', 0}, {"+", '+', 1}, {"-", '-', 1}, {"*", '*', 2},
  {"/", '/', 2},
};

static int accept_binary(parser *q, int level) {
  for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
    if (binaries[i].level == level && accept(q, binaries[i].token)) {
      return binaries[i].op;
    }
  }
  return 0;
}

static st_status read_binary(parser *q, int level, st_expr **out) {
  st_expr *left, *right;
  int op;
  if (level == 3) return read_unary(q, out);
  ST_TRY(read_binary(q, level + 1, out));
  while ((op = accept_binary(q, level))) {
    left = *out;
    ST_TRY(read_binary(q, level + 1, &right));
    ST_TRY(new_expr(q, ST_EXPR_BINARY, out));
    (*out)->op = op;
    ST_TRY(add_child(q, *out, left));
    ST_TRY(add_child(q, *out, right));
  }
  return ST_OK;
}

static st_status read_branches(parser *q, st_expr *condition,
                               st_expr **out) {
  st_expr *yes, *no;
  ST_TRY(read_choice(q, &yes));
  ST_TRY(expect(q, ":"));
  ST_TRY(read_choice(q, &no));
  ST_TRY(new_expr(q, ST_EXPR_CHOICE, out));
  ST_TRY(add_child(q, *out, condition));
  ST_TRY(add_child(q, *out, yes));
  return add_child(q, *out, no);
}

static st_status read_choice(parser *q, st_expr **out) {
  if (++q->depth > MAX_DEPTH) return parse_error(q, "nested too deeply");
  ST_TRY(read_binary(q, 0, out));
  if (accept(q, "?")) ST_TRY(read_branches(q, *out, out));
  q->depth--;
  return ST_OK;
}

/* -- Formulas ------------------------------------------------------------- */

static st_status read_targets(parser *q) {
  char word[MAX_NAME];
  do {
    ST_TRY(read_word(q, word));
    const int at = st__schema_arg(q->schema, word);
    if (at < 0 || q->schema->args[at].type != ST_TYPE_TENSOR) {
      q->p -= strlen(word);
      return parse_error(q, "not a tensor argument of the operator");
    }
    q->f->targets |= (uint64_t)1 << at;
  } while (accept(q, ","));
  return expect(q, ":");
}

st_status st__formula_parse(const char *text, const st_schema *s,
                            bool is_builtin, st_formula *out) {
  parser q = {.text = text, .p = text, .schema = s, .f = out,
              .is_builtin = is_builtin};
  *out = (st_formula){.arena.kind = ST_MEM_REGISTRY};
  st_status status = read_targets(&q);
  if (status == ST_OK) status = read_choice(&q, &out->root);
  if (status == ST_OK && (accept(&q, ""), *q.p)) {
    status = parse_error(&q, "expected the end");
  }
  if (status != ST_OK) st__formula_free(out);
  return status;
}

void st__formula_free(st_formula *f) {
  st__arena_free(&f->arena);
  f->root = NULL;
}
