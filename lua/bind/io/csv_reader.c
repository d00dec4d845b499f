/* CSV files: the buffer that records are read into, failures, and what a file
 * looks like.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/csv_reader.h"

typedef st__csv_reader reader;

enum {
  BLOCK = 1 << 20,  /* bytes that are read at once */
  SHOWN = 40        /* bytes of a field in a message */
};

/* -- Failures ------------------------------------------------------------- */

int64_t st__csv_count_lines(const char *p, const char *end) {
  int64_t n = 0;
  while ((p = memchr(p, '\n', (size_t)(end - p))) != NULL) n++, p++;
  return n;
}

/* A field as it is shown: its beginning, on one line. */
static const char *show(const char *p, size_t n, char *out) {
  const bool is_long = n > SHOWN;
  if (is_long) n = SHOWN;
  for (size_t i = 0; i < n; i++) {
    out[i] = p[i] == '\n' || p[i] == '\r' || p[i] == '\0' ? ' ' : p[i];
  }
  strcpy(out + n, is_long ? "..." : "");
  return out;
}

void st__csv_blame(reader *r, const char *at, const char *p, size_t n,
                   int column, const char *why) {
  char text[SHOWN + 4];
  snprintf(r->why, sizeof r->why, "line %" PRId64 ", column %d: '%s' %s",
           r->line + st__csv_count_lines(r->p, at), column, show(p, n, text),
           why);
}

void st__csv_blame_count(reader *r, int found) {
  char text[SHOWN + 4];
  const char *end = memchr(r->p, '\n', (size_t)(r->end - r->p));
  const size_t n = (size_t)((end ? end : r->end) - r->p);
  snprintf(r->why, sizeof r->why, "line %" PRId64 " has %s%d field%s, where "
           "the first has %d: '%s'", r->line,
           found > r->ncols ? "at least " : "", found, found == 1 ? "" : "s",
           r->ncols, show(r->p, n, text));
}

/* -- Buffers -------------------------------------------------------------- */

char *st__csv_new_buffer(reader *r, int idx, const char *p, size_t n,
                         size_t room) {
  char *buffer = lua_newuserdata(r->L, room + 1); /* [+1] */
  if (n > 0) memcpy(buffer, p, n);
  buffer[n] = '\0';
  lua_replace(r->L, idx);                         /* [-1] */
  return buffer;
}

void st__csv_bind_columns(reader *r) {
  lua_State *L = r->L;
  for (int c = 0; r->columns && c < r->ncols; c++) {
    st__csv_column *k = &r->columns[c];
    if (k->use != ST_CSV_TENSOR) continue;
    size_t n;
    lua_rawgeti(L, ST_CSV_COLUMNS, c + 1);       /* [+1] */
    k->data = st__check_memory(r->h, L, -1, &n);
    const st_tensor *t = st__to_tensor(r->h, L, -1);
    const st_dtype dtype = st_tensor_dtype(t);
    if (st_tensor_ndim(t) != 1 || st_tensor_sizes(t)[0] != r->limit ||
        (!st_dtype_is_integer(dtype) && dtype != ST_BOOL &&
         dtype != ST_FLOAT32 && dtype != ST_FLOAT64) ||
        st_dtype_is_subbyte(dtype) ||
        (k->step && dtype != k->dtype)) {
      st__error(r->h, L, ST_BAD_SHAPE, "csv_parse: column %d is no tensor of "
                "numbers with %" PRId64 " elements", c + 1, r->limit);
    }
    k->dtype = dtype;
    k->step = (ptrdiff_t)(st_tensor_strides(t)[0] *
                          (int64_t)st_dtype_size(dtype));
    lua_pop(L, 1);                                /* [-1] */
  }
}

const char *st__csv_poll(reader *r) {
  const char *why = st__poll_reason(r->L);
  if (!why) st__csv_bind_columns(r);
  return why;
}

/* Calls the field `count` of the table, if it is there. */
static void count(reader *r, size_t n) {
  lua_State *L = r->L;
  if (st__csv_push_field(L, "count") == LUA_TFUNCTION) { /* [+1] */
    lua_pushnumber(L, (lua_Number)n);             /* [+1] */
    st__call_out(r->h, L, "read_csv", 1, 0);      /* [-2] */
    st__csv_bind_columns(r);
  } else {
    lua_pop(L, 1);                                /* [-1] */
  }
}

const char *st__csv_refill(reader *r) {
  const char *why = st__csv_poll(r);
  if (why) return why;
  st__source *s = st__check_source(r->h, r->L, ST_CSV_SOURCE);
  const size_t kept = (size_t)(r->end - r->p), size = st__source_size(s);
  const size_t left = r->at < size ? size - r->at : 0;
  if (kept == r->room && left > 0) {
    r->room = kept / 2 < left ? kept + kept / 2 + BLOCK : kept + left;
    r->buffer = st__csv_new_buffer(r, ST_CSV_BUFFER, r->p, kept, r->room);
  } else if (kept > 0) {
    memmove(r->buffer, r->p, kept);
  }
  size_t n = r->room - kept;
  if (n > left) n = left;
  s = st__check_source(r->h, r->L, ST_CSV_SOURCE);
  st__source_retain(s);
  why = st__source_read(r->L, s, r->at, r->buffer + kept, n);
  st__source_release(s);
  r->at += n;
  r->p = r->buffer;
  r->end = r->buffer + kept + n;
  r->buffer[kept + n] = '\0';
  r->is_last = n == left;
  if (!why) count(r, n);
  return why;
}

/* -- Opening -------------------------------------------------------------- */

int st__csv_push_field(lua_State *L, const char *name) {
  lua_pushstring(L, name);                       /* [+1] */
  lua_rawget(L, ST_CSV_SPEC);
  return lua_type(L, -1);
}

static char char_field(lua_State *L, const char *name) {
  char c = '\0';
  const int type = st__csv_push_field(L, name);  /* [+1] */
  if (type == LUA_TSTRING) c = *lua_tostring(L, -1);
  lua_pop(L, 1);                                 /* [-1] */
  return c;
}

static int64_t int_field(reader *r, const char *name, int64_t least) {
  int64_t i = 0;
  st__csv_push_field(r->L, name);                /* [+1] */
  if (!st__to_int(r->h, r->L, -1, &i) || i < least) {
    st__error(r->h, r->L, ST_BAD_VALUE, "csv: field '%s' is wrong", name);
  }
  lua_pop(r->L, 1);                              /* [-1] */
  return i;
}

static bool has_number(const st__csv_words *w) {
  st__decimal d;
  const char *word = w->missing, *end = word + w->n_missing;
  for (; word < end; word += strlen(word) + 1) {
    if (st__scan_decimal(word, w->point, &d)) return true;
  }
  return false;
}

void st__csv_open(lua_State *L, reader *r) {
  memset(r, 0, sizeof *r);
  r->L = L;
  r->h = st__state_of(L);
  st__check_source(r->h, L, ST_CSV_SOURCE);
  luaL_checktype(L, ST_CSV_SPEC, LUA_TTABLE);
  lua_settop(L, ST_CSV_LIMITS);
  lua_newtable(L);                               /* [+1] LISTS */
  lua_pushnil(L);                                /* [+1] BUFFER */
  lua_pushnil(L);                                /* [+1] SCRATCH */
  lua_pushnil(L);                                /* [+1] ARRAY */
  r->delimiter = char_field(L, "delimiter");
  r->quote = char_field(L, "quote");
  r->comment = char_field(L, "comment");
  r->words.point = char_field(L, "point");
  if (!r->delimiter) r->delimiter = ',';
  if (!r->words.point) r->words.point = '.'; /* a NUL ends the buffer */
  r->at = (size_t)int_field(r, "at", 0);
  r->line = int_field(r, "line", 1);
  r->limit = int_field(r, "limit", 0);
  const int64_t ncols = int_field(r, "ncols", 1);
  if (ncols > INT32_MAX) st__error(r->h, L, ST_BAD_VALUE, "csv: 'ncols'");
  r->ncols = (int)ncols;
  if (st__csv_push_field(L, "missing") == LUA_TSTRING) { /* [+1] */
    r->words.missing = lua_tolstring(L, -1, &r->words.n_missing);
  }
  lua_pop(L, 1);                                 /* [-1] the table has it */
  r->words.has_number = has_number(&r->words);
  r->words.has_fill = st__csv_push_field(L, "fill") == LUA_TNUMBER; /* [+1] */
  r->words.fill = lua_tonumber(L, -1);
  lua_pop(L, 1);                                 /* [-1] */
  r->stops[0] = r->stops['\n'] = true;
  r->stops[(unsigned char)r->delimiter] = true;
  r->stops[(unsigned char)r->comment] = true;
  const size_t size = st__source_size(st__check_source(r->h, L, ST_CSV_SOURCE));
  const size_t left = r->at < size ? size - r->at : 0;
  r->room = left < BLOCK ? left : BLOCK;
  r->buffer = st__csv_new_buffer(r, ST_CSV_BUFFER, NULL, 0, r->room);
  r->p = r->end = r->buffer;
}
