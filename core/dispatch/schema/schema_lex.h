/* The lexer of schema strings, and the parser state.
 *
 * Note [The parser accepts any bytes]
 * Any input gives a schema or BAD_SCHEMA with a position. So the lexer never
 * fails: invalid characters become a token of kind ST_TOK_BAD, which no rule
 * accepts. The nesting depth is limited, and numbers are range-checked.
 */
#ifndef ST_DISPATCH_SCHEMA_SCHEMA_LEX_H
#define ST_DISPATCH_SCHEMA_SCHEMA_LEX_H

#include <locale.h>
#include <string.h>

#include "base/status.h"
#include "dispatch/schema/arena.h"

/* The kind of a token of one character is that character. */
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
  st_token cur, ahead; /* the current token and the next one */
  st_arena keep;      /* becomes the arena of the schema */
  st_arena scratch;   /* type nodes, until the schema is printed */
  size_t chunk;       /* estimated size of keep */
  int depth;          /* nesting depth of the current type */
  int fresh;          /* number of unnamed alias sets so far */
} st_parser;

void st__lex_start(st_parser *p, const char *text);
/* Returns the current token and advances to the next one. */
st_token st__lex_next(st_parser *p);
/* Advances and returns true if the current token is of this kind. */
bool st__lex_take(st_parser *p, int kind);
/* Advances and stores the token in *out if it is of this kind, else fails with
 * BAD_SCHEMA; out may be NULL. */
st_status st__lex_expect(st_parser *p, int kind, st_token *out);
/* Fails with BAD_SCHEMA, "why, at position n of 'schema'". */
st_status st__lex_fail(const st_parser *p, st_token at, const char *why);
/* Fails with BAD_SCHEMA, "expected `what` but found `token`". */
st_status st__lex_unexpected(const st_parser *p, const char *what);
static inline bool st__token_is(st_token t, const char *text) {
  return t.n == strlen(text) && memcmp(t.s, text, t.n) == 0;
}

/* The C locale, so that numbers in schemas do not depend on the program's
 * locale. */
locale_t st__c_locale(void);

#endif
