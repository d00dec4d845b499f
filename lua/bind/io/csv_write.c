/* CSV files: tensors and lists of strings as text.
 */

#include <string.h>

#include "io/csv.h"

enum {
  CHUNK = 1 << 20, /* bytes of a string, about */
  COLUMNS = 1, SPEC, FIRST, LAST, BUFFER, ARRAY /* stack indices */
};

typedef struct column {
  const char *data; /* NULL: a list of strings */
  ptrdiff_t step;
  st_dtype dtype;
} column;

typedef struct writer {
  lua_State *L;
  st__state *h;
  char *buffer;
  size_t n, room;
  char delimiter, quote, point;
  bool must_quote[256]; /* bytes that a field has between quotes only */
  int ncols;
  column *columns;
} writer;

/* -- Bytes ---------------------------------------------------------------- */

/* Makes room for n bytes. */
static void reserve(writer *w, size_t n) {
  if (w->room - w->n >= n) return;
  const size_t room = w->room + w->room / 2 + n;
  char *buffer = lua_newuserdata(w->L, room);    /* [+1] */
  if (w->n > 0) memcpy(buffer, w->buffer, w->n);
  lua_replace(w->L, BUFFER);                     /* [-1] */
  w->buffer = buffer;
  w->room = room;
}

/* Whether a file that begins with p seems to begin with the mark of UTF-8 or
 * UTF-16. */
static bool has_mark(const char *p, size_t n) {
  return (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) ||
         (n >= 2 && (memcmp(p, "\xff\xfe", 2) == 0 ||
                     memcmp(p, "\xfe\xff", 2) == 0));
}

/* Whether it could be taken for a binary file, which have control characters
 * among their first bytes. */
static bool has_control(const char *p, size_t n) {
  for (size_t i = 0; i < n && i < 8; i++) {
    const unsigned char c = (unsigned char)p[i];
    if (c < ' ' && (c < '\t' || c > '\r')) return true;
  }
  return false;
}

/* A text of which a byte has a meaning is quoted, and so is a text that could
 * be taken for an empty line, a mark or a binary file; false if there are no
 * quotes. */
static bool add_text(writer *w, const char *p, size_t n) {
  bool is_plain = (n > 0 || w->ncols > 1) && !has_mark(p, n) &&
                  !has_control(p, n);
  for (size_t i = 0; i < n && is_plain; i++) {
    is_plain = !w->must_quote[(unsigned char)p[i]];
  }
  reserve(w, 2 * n + 2);
  char *to = w->buffer + w->n;
  if (is_plain) {
    if (n > 0) memcpy(to, p, n);
    w->n += n;
    return true;
  }
  if (!w->quote) return false;
  *to++ = w->quote;
  for (size_t i = 0; i < n; i++) {
    if (p[i] == w->quote) *to++ = w->quote;
    *to++ = p[i];
  }
  *to++ = w->quote;
  w->n = (size_t)(to - w->buffer);
  return true;
}

/* -- Elements ------------------------------------------------------------- */

static int format_bool(bool b, char *out) {
  memcpy(out, b ? "true" : "false", b ? 4 : 5);
  return b ? 4 : 5;
}

static int format_signed(int64_t i, char *out) {
  return st__format_integer(i < 0 ? 0 - (uint64_t)i : (uint64_t)i, i < 0, out);
}

static int format_element(st_dtype dtype, const void *p, char *out) {
  switch (dtype) {
    case ST_BOOL: return format_bool(*(const uint8_t *)p != 0, out);
    case ST_UINT8: return st__format_integer(*(const uint8_t *)p, false, out);
    case ST_UINT16: return st__format_integer(*(const uint16_t *)p, false, out);
    case ST_UINT32: return st__format_integer(*(const uint32_t *)p, false, out);
    case ST_UINT64: return st__format_integer(*(const uint64_t *)p, false, out);
    case ST_INT8: return format_signed(*(const int8_t *)p, out);
    case ST_INT16: return format_signed(*(const int16_t *)p, out);
    case ST_INT32: return format_signed(*(const int32_t *)p, out);
    case ST_INT64: return format_signed(*(const int64_t *)p, out);
    case ST_FLOAT32: return st__format_float(*(const float *)p, out);
    default: return st__format_double(*(const double *)p, out);
  }
}

static void add_element(writer *w, const column *k, int64_t row) {
  reserve(w, ST_NUMBER_SIZE);
  char *to = w->buffer + w->n;
  const int n = format_element(k->dtype, k->data + row * k->step, to);
  if (w->point != '.' && (k->dtype == ST_FLOAT32 || k->dtype == ST_FLOAT64)) {
    char *point = memchr(to, '.', (size_t)n);
    if (point) *point = w->point;
  }
  w->n += (size_t)n;
}

static bool add_field(writer *w, int c, int64_t row) {
  if (w->columns[c].data) {
    add_element(w, &w->columns[c], row);
    return true;
  }
  lua_State *L = w->L;
  size_t n;
  lua_rawgeti(L, COLUMNS, c + 1);                /* [+1] */
  if (!lua_istable(L, -1)) luaL_error(L, "csv_format: column %d", c + 1);
  lua_rawgeti(L, -1, (int)row + 1);              /* [+1] */
  if (lua_type(L, -1) != LUA_TSTRING) {
    st__error(w->h, L, ST_BAD_TYPE, "csv_format: entry %d of column %d must "
              "be a string, got %s", (int)row + 1, c + 1,
              st__type_name(w->h, L, -1));
  }
  const char *p = lua_tolstring(L, -1, &n);
  const bool is_added = add_text(w, p, n);
  lua_pop(L, 2);                                 /* [-2] */
  return is_added;
}

/* -- Arguments ------------------------------------------------------------ */

static void open_column(writer *w, int c, int64_t last) {
  size_t n;
  column *k = &w->columns[c];
  lua_rawgeti(w->L, COLUMNS, c + 1);             /* [+1] */
  const st_tensor *t = st__to_tensor(w->h, w->L, -1);
  k->data = NULL;
  if (t) {
    k->data = st__check_memory(w->h, w->L, -1, &n);
    k->dtype = st_tensor_dtype(t);
    if (st_tensor_ndim(t) != 1 || st_tensor_sizes(t)[0] < last ||
        (!st_dtype_is_integer(k->dtype) && k->dtype != ST_BOOL &&
         k->dtype != ST_FLOAT32 && k->dtype != ST_FLOAT64) ||
        st_dtype_is_subbyte(k->dtype)) {
      st__error(w->h, w->L, ST_BAD_SHAPE, "csv_format: column %d is no tensor "
                "of numbers with so many elements", c + 1);
    }
    k->step = (ptrdiff_t)(st_tensor_strides(t)[0] *
                          (int64_t)st_dtype_size(k->dtype));
  } else if (!lua_istable(w->L, -1)) {
    st__error(w->h, w->L, ST_BAD_TYPE, "csv_format: column %d must be a Tensor "
              "or a list of strings", c + 1);
  }
  lua_pop(w->L, 1);                              /* [-1] */
}

static char char_field(lua_State *L, const char *name) {
  char c = '\0';
  lua_pushstring(L, name);                       /* [+1] */
  lua_rawget(L, SPEC);
  if (lua_type(L, -1) == LUA_TSTRING) c = *lua_tostring(L, -1);
  lua_pop(L, 1);                                 /* [-1] */
  return c;
}

static void open_writer(lua_State *L, writer *w) {
  memset(w, 0, sizeof *w);
  w->L = L;
  w->h = st__state_of(L);
  luaL_checktype(L, COLUMNS, LUA_TTABLE);
  luaL_checktype(L, SPEC, LUA_TTABLE);
  lua_settop(L, LAST);
  lua_pushnil(L);                                /* [+1] BUFFER */
  w->ncols = (int)lua_objlen(L, COLUMNS);
  w->columns = lua_newuserdata(L, ((size_t)w->ncols + 1) *
                               sizeof *w->columns); /* [+1] ARRAY */
  w->delimiter = char_field(L, "delimiter");
  w->quote = char_field(L, "quote");
  w->point = char_field(L, "point");
  w->must_quote[(unsigned char)w->delimiter] = true;
  w->must_quote[(unsigned char)w->quote] = true;
  w->must_quote[(unsigned char)char_field(L, "comment")] = true;
  w->must_quote['\n'] = w->must_quote['\r'] = true;
  w->must_quote['\0'] = false;
}

/* csv_format(columns, spec, first, last): rows first to last as text, as many
 * of them as a string of a megabyte has; returns the string and the number of
 * the row after them; or nil, the row and the column of a text that needs
 * quotes, if there are none */
static int format_rows(lua_State *L) {
  writer w;
  open_writer(L, &w);
  int64_t row = st__check_int(w.h, L, FIRST, "first");
  const int64_t last = st__check_int(w.h, L, LAST, "last");
  if (row < 1 || last >= INT32_MAX) {
    return st__error(w.h, L, ST_BAD_INDEX, "csv_format: rows out of range");
  }
  for (int c = 0; c < w.ncols; c++) open_column(&w, c, last);
  reserve(&w, CHUNK + 1024);
  for (; row <= last && w.n < CHUNK; row++) {
    for (int c = 0; c < w.ncols; c++) {
      if (!add_field(&w, c, row - 1)) {
        lua_pushnil(L);                          /* [+1] */
        st__push_int(w.h, L, row);               /* [+1] */
        lua_pushinteger(L, c + 1);               /* [+1] */
        return 3;
      }
      reserve(&w, 1);
      w.buffer[w.n++] = c + 1 < w.ncols ? w.delimiter : '\n';
    }
  }
  lua_pushlstring(L, w.buffer, w.n);             /* [+1] */
  st__push_int(w.h, L, row);                     /* [+1] */
  return 2;
}

void st__open_csv_write(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {{"csv_format", format_rows},
                                       {NULL, NULL}};
  st__set_access_functions(h, L, functions, false);
}
