/* Parses schema strings: `ns::name.overload(args) -> results`. */

#include "dispatch/schema/schema.h"

#include <string.h>

#include "dispatch/schema/schema_type.h"

/* -- Name ----------------------------------------------------------------- */

static st_status parse_namespace(st_parser *p, const char *ns,
                                 st_schema_decl *s) {
  if (st__lex_take(p, ':')) {
    ST_TRY(st__lex_expect(p, ':', NULL));
    s->ns = s->name.s;
    s->ns_size = s->name.n;
    if (ns && !st__token_is(s->name, ns)) {
      return st__lex_fail(p, s->name, "a schema has another namespace than "
                          "that of its definition");
    }
    return st__lex_expect(p, ST_TOK_IDENT, &s->name);
  }
  if (!ns) return st__lex_fail(p, s->name, "a name has no namespace");
  if (!st__is_name(ns, strlen(ns))) {
    return st__fail(ST_BAD_SCHEMA, "'%.80s' is not the name of a namespace",
                    ns);
  }
  s->ns = ns;
  s->ns_size = strlen(ns);
  return ST_OK;
}

static st_status parse_name(st_parser *p, const char *ns, st_schema_decl *s) {
  ST_TRY(st__lex_expect(p, ST_TOK_IDENT, &s->name));
  ST_TRY(parse_namespace(p, ns, s));
  s->overload = (st_token){ST_TOK_IDENT, "", 0};
  if (!st__lex_take(p, '.')) return ST_OK;
  ST_TRY(st__lex_expect(p, ST_TOK_IDENT, &s->overload));
  if (st__token_is(s->overload, "default") ||
      (s->overload.n >= 2 && memcmp(s->overload.s, "__", 2) == 0)) {
    return st__lex_fail(p, s->overload, "an overload cannot have this name");
  }
  return ST_OK;
}

/* -- Arguments and results ------------------------------------------------ */

static st_status parse_type_of(st_parser *p, st_decl *d) {
  *d = (st_decl){.at = p->cur, .arg.name = ""};
  ST_TRY(st__parse_type(p, true, &d->type));
  return st__describe_type(p, d->type, &d->arg);
}

static st_status keep_name(st_parser *p, st_decl *d, st_token name) {
  char *text = st__arena_alloc(&p->keep, name.n + 1, p->chunk);
  if (!text) return ST_NO_MEMORY;
  memcpy(text, name.s, name.n);
  d->arg.name = text;
  return ST_OK;
}

/* Python's rules for parameters (S3): names are distinct, and no positional
 * argument without a default follows one with a default. */
static st_status check_argument(const st_parser *p, const st_schema_decl *s,
                                const st_decl *d, st_token name) {
  for (int i = 0; i < s->nargs; i++) {
    if (strcmp(s->args[i].arg.name, d->arg.name) == 0) {
      return st__lex_fail(p, name, "two arguments have the same name");
    }
  }
  if (s->nargs && s->args[s->nargs - 1].arg.has_default &&
      !d->arg.has_default && !d->arg.kwarg_only) {
    return st__lex_fail(p, d->at, "a positional argument without a default "
                        "follows one with a default");
  }
  return ST_OK;
}

static st_status parse_argument(st_parser *p, st_schema_decl *s,
                                bool kwarg_only) {
  st_token name;
  if (s->nargs == ST_MAX_ARGS) {
    return st__lex_fail(p, p->cur, "an operator has at most 64 arguments");
  }
  st_decl *d = &s->args[s->nargs];
  ST_TRY(parse_type_of(p, d));
  d->arg.kwarg_only = kwarg_only;
  ST_TRY(st__lex_expect(p, ST_TOK_IDENT, &name));
  ST_TRY(keep_name(p, d, name));
  if (st__lex_take(p, '=')) ST_TRY(st__parse_default(p, &d->arg));
  ST_TRY(check_argument(p, s, d, name));
  s->nargs++;
  return ST_OK;
}

static st_status check_vararg(const st_parser *p, const st_schema_decl *s) {
  for (int i = 0; s->is_vararg && i < s->nargs; i++) {
    if (s->args[i].arg.has_default) {
      return st__lex_fail(p, s->args[i].at,
                          "a schema with '...' has no defaults");
    }
  }
  return ST_OK;
}

/* Arguments after '*' are keyword-only; at least one must follow (S3). */
static st_status check_star(const st_parser *p, const st_schema_decl *s,
                            st_token star) {
  if (!star.s || (s->nargs && s->args[s->nargs - 1].arg.kwarg_only)) {
    return ST_OK;
  }
  return st__lex_fail(p, star, "no argument follows '*'");
}

static st_status parse_arguments(st_parser *p, st_schema_decl *s) {
  st_token star = {0};
  ST_TRY(st__lex_expect(p, '(', NULL));
  if (st__lex_take(p, ')')) return ST_OK;
  do {
    if (s->is_vararg) {
      return st__lex_fail(p, p->cur, "'...' must be the last argument");
    }
    if (p->cur.kind == '*') {
      if (star.s) return st__lex_fail(p, p->cur, "there is a second '*'");
      star = st__lex_next(p);
    } else if (st__lex_take(p, ST_TOK_DOTS)) {
      s->is_vararg = true;
    } else {
      ST_TRY(parse_argument(p, s, star.s != NULL));
    }
  } while (st__lex_take(p, ','));
  ST_TRY(st__lex_expect(p, ')', NULL));
  ST_TRY(check_star(p, s, star));
  return check_vararg(p, s);
}

static st_status parse_result(st_parser *p, st_schema_decl *s) {
  if (s->nrets == ST_MAX_ARGS) {
    return st__lex_fail(p, p->cur, "an operator has at most 64 results");
  }
  st_decl *d = &s->rets[s->nrets];
  ST_TRY(parse_type_of(p, d));
  if (p->cur.kind == ST_TOK_IDENT) {
    ST_TRY(keep_name(p, d, st__lex_next(p)));
  }
  s->nrets++;
  return ST_OK;
}

static st_status parse_results(st_parser *p, st_schema_decl *s) {
  ST_TRY(st__lex_expect(p, ST_TOK_ARROW, NULL));
  if (st__lex_take(p, ST_TOK_DOTS)) {
    s->is_varret = true;
    return ST_OK;
  }
  if (!st__lex_take(p, '(')) return parse_result(p, s);
  if (st__lex_take(p, ')')) return ST_OK;
  do {
    if (s->is_varret) {
      return st__lex_fail(p, p->cur, "'...' must be the last result");
    }
    if (st__lex_take(p, ST_TOK_DOTS)) {
      s->is_varret = true;
    } else {
      ST_TRY(parse_result(p, s));
    }
  } while (st__lex_take(p, ','));
  return st__lex_expect(p, ')', NULL);
}

static st_status parse_schema(st_parser *p, const char *ns,
                              st_schema_decl *s) {
  ST_TRY(parse_name(p, ns, s));
  ST_TRY(parse_arguments(p, s));
  ST_TRY(parse_results(p, s));
  return st__lex_expect(p, ST_TOK_END, NULL);
}

/* -- Schema --------------------------------------------------------------- */

static st_status keep_schema(st_parser *p, const st_schema_decl *s,
                             st_schema *out) {
  const size_t n = (size_t)s->nargs + (size_t)s->nrets;
  out->nargs = s->nargs;
  out->nrets = s->nrets;
  out->is_vararg = s->is_vararg;
  out->is_varret = s->is_varret;
  char *name = st__arena_alloc(&p->keep, s->ns_size + 2 + s->name.n + 1,
                               p->chunk);
  out->overload = st__arena_text(&p->keep, s->overload.s, s->overload.n);
  st_arg *args = st__arena_alloc(&p->keep, n * sizeof(st_arg), p->chunk);
  out->text = st__schema_text(p, s);
  if (!name || !out->overload || !args || !out->text) return ST_NO_MEMORY;
  memcpy(name, s->ns, s->ns_size);
  memcpy(name + s->ns_size, "::", 2);
  memcpy(name + s->ns_size + 2, s->name.s, s->name.n);
  out->name = name;
  out->args = args;
  out->rets = args + s->nargs;
  for (int i = 0; i < s->nargs; i++) {
    args[i] = s->args[i].arg;
    out->is_mutable |= args[i].is_write;
    if (args[i].type == ST_TYPE_TENSOR) out->tensor_args |= (uint64_t)1 << i;
  }
  for (int i = 0; i < s->nrets; i++) args[s->nargs + i] = s->rets[i].arg;
  out->device_arg = (int8_t)st__schema_arg(out, "device");
  out->layout_arg = (int8_t)st__schema_arg(out, "layout");
  out->dim_arg = (int8_t)st__schema_arg(out, "dim");
  out->keepdim_arg = (int8_t)st__schema_arg(out, "keepdim");
  return ST_OK;
}

/* Estimates the size of a schema, so that one chunk is usually enough: three
 * times the text, and a st_arg per comma and for the results. */
static size_t guess_size(const char *text, const char *ns) {
  size_t n = 3, bytes = strlen(text) + (ns ? strlen(ns) : 0);
  for (const char *s = text; *s; s++) n += *s == ',';
  return sizeof(st_schema) + n * sizeof(st_arg) + 3 * bytes + 128;
}

st_status st_schema_new(const char *text, const char *ns,
                        st_schema **out) {
  st_parser p = {.keep.kind = ST_MEM_REGISTRY,
                 .scratch.kind = ST_MEM_SCRATCH,
                 .chunk = guess_size(text, ns)};
  st_schema *schema = NULL;
  st_schema_decl *s = NULL;
  st_status status = ST_NO_MEMORY;
  schema = st__arena_alloc(&p.keep, sizeof *schema, p.chunk);
  s = schema ? st__alloc(ST_MEM_SCRATCH, sizeof *s) : NULL;
  if (!s) goto fail;
  s->nargs = s->nrets = 0; /* clearing all of s costs more than parsing */
  s->is_vararg = s->is_varret = false;
  st__lex_start(&p, text);
  ST_TRY_FAIL(parse_schema(&p, ns, s));
  ST_TRY_FAIL(keep_schema(&p, s, schema));
  schema->arena = p.keep.chunks;
  st__free(ST_MEM_SCRATCH, s, sizeof *s);
  st__arena_free(&p.scratch);
  *out = schema;
  return ST_OK;
fail:
  st__free(ST_MEM_SCRATCH, s, sizeof *s);
  st__arena_free(&p.scratch);
  st__arena_free(&p.keep);
  return status;
}

size_t st__schema_size(const st_schema *s) {
  return st__arena_size(&(st_arena){ST_MEM_REGISTRY, s->arena});
}

void st__schema_free(st_schema **s) {
  if (!*s) return;
  st_arena arena = {ST_MEM_REGISTRY, (*s)->arena};
  st__arena_free(&arena);
  *s = NULL;
}

/* Most names differ in their first letter. */
int st__schema_arg(const st_schema *s, const char *name) {
  for (int i = 0; i < s->nargs; i++) {
    const char *other = s->args[i].name;
    if (*other == *name && strcmp(other, name) == 0) return i;
  }
  return -1;
}
