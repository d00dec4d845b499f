/* Tokens of schema strings, and the state that the parser's files share.
 *
 * Note [The parser accepts any bytes]
 * Any bytes end in a schema or in BAD_SCHEMA with a position. So the lexer
 * never fails: what is no token becomes a token of kind ST_TOK_BAD, which
 * nothing expects. Nesting is bounded, numbers are range-checked.
 */
#ifndef ST_DISPATCH_SCHEMA_SCHEMA_LEX_H
#define ST_DISPATCH_SCHEMA_SCHEMA_LEX_H

#include <locale.h>

#include "base/status.h"
#include "dispatch/schema/arena.h"

/* A token of one character has that character as its kind. */
enum {
  ST_TOK_END, ST_TOK_BAD = 256, ST_TOK_IDENT, ST_TOK_KEYWORD, ST_TOK_NUMBER,
  ST_TOK_STRING, ST_TOK_ARROW, ST_TOK_DOTS, ST_TOK_NONE, ST_TOK_TRUE,
  ST_TOK_FALSE
};

typedef struct st_token {
  int kind;
  const char *s;  /* in the schema's text */
  size_t n;
} st_token;

typedef struct st_parser {
  const char *text;
  const char *rest;   /* behind ahead */
  st_token cur, ahead;
  st_arena keep;      /* becomes the schema's own memory */
  st_arena scratch;   /* types, until the schema is printed */
  size_t chunk;       /* guess of what keep will hold */
  int depth;          /* of nested types */
  int fresh;          /* alias sets without a name so far */
} st_parser;

void st__lex_start(st_parser *p, const char *text);
/* Returns the current token and goes on to the next one. */
st_token st__lex_next(st_parser *p);
/* The same if the current token is of a kind. */
bool st__lex_take(st_parser *p, int kind);
/* The same, BAD_SCHEMA otherwise; out may be NULL. */
st_status st__lex_expect(st_parser *p, int kind, st_token *out);
/* BAD_SCHEMA "why, at position n of 'schema'". */
st_status st__lex_fail(const st_parser *p, st_token at, const char *why);
/* BAD_SCHEMA "expected what but found the token". */
st_status st__lex_unexpected(const st_parser *p, const char *what);
bool st__token_is(st_token t, const char *text);

/* The C locale: numbers in schemas do not depend on the host's. */
locale_t st__c_locale(void);

#endif
