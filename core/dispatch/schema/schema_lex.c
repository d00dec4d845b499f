/* The lexer of schema strings. */

#include "dispatch/schema/schema_lex.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "dispatch/schema/schema.h"

/* -- Characters ----------------------------------------------------------- */

/* <ctype.h> depends on the locale, but schemas are ASCII. */
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_ident_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_ident(char c) { return is_ident_start(c) || is_digit(c); }
static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static size_t digits(const char *s) {
  size_t n = 0;
  while (is_digit(s[n])) n++;
  return n;
}

/* -- Tokens --------------------------------------------------------------- */

/* Python's keywords, which are not valid names, as in ATen: by first letter,
 * since a schema has many words and hardly any keyword. */
static const char *const keywords['z' + 1] = {
  ['F'] = "False", ['N'] = "None", ['T'] = "True", ['a'] = "and as assert",
  ['b'] = "break", ['c'] = "class continue", ['d'] = "def del",
  ['e'] = "elif else", ['f'] = "for", ['g'] = "global",
  ['i'] = "if import in is", ['n'] = "not", ['o'] = "or", ['p'] = "pass",
  ['r'] = "raise return", ['w'] = "while with",
};

static int kind_of_word(const char *s, size_t n) {
  const char *word = keywords[(unsigned char)*s];
  for (size_t size; word && *word; word += size + (word[size] == ' ')) {
    for (size = 1; word[size] && word[size] != ' ';) size++;
    if (size != n || memcmp(word, s, n) != 0) continue;
    switch (*s) {
      case 'N': return ST_TOK_NONE;
      case 'T': return ST_TOK_TRUE;
      case 'F': return ST_TOK_FALSE;
      default: return ST_TOK_KEYWORD;
    }
  }
  return ST_TOK_IDENT;
}

/* The name or keyword at s, at most n characters long. */
static st_token word(const char *s, size_t n) {
  size_t size = 1;
  while (size < n && is_ident(s[size])) size++;
  return (st_token){kind_of_word(s, size), s, size};
}

bool st__is_name(const char *s, size_t n) {
  if (n == 0 || !is_ident_start(*s)) return false;
  const st_token t = word(s, n);
  return t.kind == ST_TOK_IDENT && t.n == n;
}

static bool is_number(const char *s) {
  return is_digit(s[0]) || (s[0] == '.' && is_digit(s[1]));
}

static st_token number(const char *s) {
  size_t n = digits(s);
  if (s[n] == '.') n += 1 + digits(s + n + 1);
  if (s[n] == 'e' || s[n] == 'E') {
    const size_t sign = s[n + 1] == '-' || s[n + 1] == '+';
    if (is_digit(s[n + 1 + sign])) n += 1 + sign + digits(s + n + 1 + sign);
  }
  if (s[n] == 'j') n++;
  return (st_token){ST_TOK_NUMBER, s, n};
}

/* A string with its quotes; a backslash escapes the next character. */
static st_token quoted(const char *s) {
  size_t n = 1;
  while (s[n] && s[n] != s[0] && s[n] != '\n') {
    n += s[n] == '\\' && s[n + 1] ? 2 : 1;
  }
  if (s[n] != s[0]) return (st_token){ST_TOK_BAD, s, n};
  return (st_token){ST_TOK_STRING, s, n + 1};
}

static st_token scan(const char *s) {
  while (is_space(*s)) s++;
  if (!*s) return (st_token){ST_TOK_END, s, 0};
  if (is_ident_start(*s)) return word(s, SIZE_MAX);
  if (s[0] == '.' && s[1] == '.' && s[2] == '.') {
    return (st_token){ST_TOK_DOTS, s, 3};
  }
  if (is_number(s)) return number(s);
  if (s[0] == '-' && s[1] == '>') return (st_token){ST_TOK_ARROW, s, 2};
  if (*s == '"' || *s == '\'') return quoted(s);
  if (strchr("()[],:.=?!|*+-$", *s)) return (st_token){*s, s, 1};
  return (st_token){ST_TOK_BAD, s, 1};
}

void st__lex_start(st_parser *p, const char *text) {
  p->text = text;
  p->cur = scan(text);
  p->ahead = scan(p->cur.s + p->cur.n);
}

st_token st__lex_next(st_parser *p) {
  const st_token t = p->cur;
  p->cur = p->ahead;
  p->ahead = scan(p->cur.s + p->cur.n);
  return t;
}

bool st__lex_take(st_parser *p, int kind) {
  if (p->cur.kind != kind) return false;
  st__lex_next(p);
  return true;
}

/* -- Errors --------------------------------------------------------------- */

st_status st__lex_fail(const st_parser *p, st_token at, const char *why) {
  return st__fail(ST_BAD_SCHEMA, "%s, at position %zu of \"%.400s\"", why,
                  (size_t)(at.s - p->text) + 1, p->text);
}

st_status st__lex_unexpected(const st_parser *p, const char *what) {
  char why[160];
  if (p->cur.kind == ST_TOK_END) {
    snprintf(why, sizeof why, "expected %s but the text ends", what);
  } else {
    snprintf(why, sizeof why, "expected %s but found '%.*s'", what,
             p->cur.n < 40 ? (int)p->cur.n : 40, p->cur.s);
  }
  return st__lex_fail(p, p->cur, why);
}

st_status st__lex_expect(st_parser *p, int kind, st_token *out) {
  if (p->cur.kind == kind) {
    const st_token t = st__lex_next(p);
    if (out) *out = t;
    return ST_OK;
  }
  const char character[] = {'\'', (char)kind, '\'', 0};
  return st__lex_unexpected(p,
    kind == ST_TOK_END ? "the end" :
    kind == ST_TOK_IDENT ? "a name" :
    kind == ST_TOK_NUMBER ? "a number" :
    kind == ST_TOK_ARROW ? "'->'" : character);
}

/* -- The C locale --------------------------------------------------------- */

locale_t st__c_locale(void) {
  static _Atomic(locale_t) shared;
  locale_t locale = atomic_load(&shared), none = (locale_t)0;
  if (locale) return locale;
  locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (locale && !atomic_compare_exchange_strong(&shared, &none, locale)) {
    freelocale(locale);
    locale = none;
  }
  return locale;
}
