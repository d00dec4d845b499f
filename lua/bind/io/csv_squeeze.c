/* CSV files whose fields have spaces between them: runs of spaces and tabs as
 * one space.
 */

#include <string.h>

#include "io/csv.h"

typedef struct squeezer {
  const char *p, *end;
  char *to;
  char quote, comment; /* NUL: there are none */
  bool has_field;      /* on this line */
} squeezer;

static bool is_line_end(const squeezer *s) {
  return *s->p == '\n' ||
         (*s->p == '\r' && (s->p + 1 == s->end || s->p[1] == '\n'));
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Copies what stands between quotes; all that is left if none closes it. */
static void copy_quoted(squeezer *s) {
  const char *q = s->p;
  do {
    q = memchr(q + 1, s->quote, (size_t)(s->end - q - 1));
    q = q ? q + 1 : s->end;
  } while (q < s->end && *q == s->quote);
  memcpy(s->to, s->p, (size_t)(q - s->p));
  s->to += q - s->p;
  s->p = q;
}

static void copy_field(squeezer *s) {
  if (s->has_field) *s->to++ = ' ';
  s->has_field = true;
  if (s->quote && *s->p == s->quote) copy_quoted(s);
  while (s->p < s->end && !is_blank(*s->p) && !is_line_end(s) &&
         (!s->comment || *s->p != s->comment)) {
    *s->to++ = *s->p++;
  }
}

static void squeeze(squeezer *s) {
  while (s->p < s->end) {
    if (is_blank(*s->p)) {
      s->p++;
    } else if (s->comment && *s->p == s->comment) {
      const char *q = memchr(s->p, '\n', (size_t)(s->end - s->p));
      s->p = q ? q : s->end;
    } else if (is_line_end(s)) {
      *s->to++ = *s->p++;
      s->has_field = false;
    } else {
      copy_field(s);
    }
  }
}

/* csv_squeeze(text, quote, comment): returns the text with one space between
 * fields, none at the ends of lines, and without comments. Text between quotes
 * stays as it is. */
int st__csv_squeeze(lua_State *L) {
  size_t n;
  const char *text = luaL_checklstring(L, 1, &n);
  squeezer s = {.p = text, .end = text + n,
                .quote = *luaL_optstring(L, 2, ""),
                .comment = *luaL_optstring(L, 3, "")};
  char *out = lua_newuserdata(L, n + 1);         /* [+1] */
  s.to = out;
  squeeze(&s);
  lua_pushlstring(L, out, (size_t)(s.to - out)); /* [+1] */
  return 1;
}
