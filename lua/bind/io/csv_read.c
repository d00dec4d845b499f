/* CSV files: records and fields, counted and classified or stored in columns.
 *
 * Note [Passes over a CSV file]
 * A file is read piece by piece into a buffer that holds at least one record,
 * and more than once, which costs little: a survey classifies the fields of the
 * first records and counts all of them, so that columns are allocated once. A
 * second pass stores the fields. A column whose dtype turns out to be wrong,
 * such as integers with a fraction in row 10,000, is classified to its end, and
 * a third pass stores such columns alone.
 *
 * A record that ends behind the buffer is scanned again when there is more. The
 * buffers are userdata, so no error of Lua can leak them. Each ends in a NUL,
 * which no number and no word has, so that scanning needs no test for the end.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/csv.h"

enum {
  BLOCK = 1 << 20,  /* bytes that are read at once */
  SAMPLE = 256,     /* records that a survey classifies */
  SHOWN = 40,       /* bytes of a field in a message */
  SOURCE = 1, SPEC, COLUMNS, SEEN, TEXTS, BUFFER, SCRATCH, ARRAY /* indices */
};

typedef enum { DONE, MORE, END, FAILED } outcome;

typedef struct reader {
  lua_State *L;
  st__state *h;
  size_t at;             /* in the source, of the end of the buffer */
  size_t room;           /* bytes of the buffer without its NUL */
  size_t scratch_room;
  char *buffer, *scratch;
  const char *p, *end;   /* the next record; the end of what was read */
  bool is_last;          /* nothing follows the buffer */
  bool stops[256];       /* bytes that end a field without quotes */
  char delimiter, quote, comment; /* NUL: there are none */
  int64_t line;          /* of the next record */
  int64_t rows, limit;   /* records so far, and to read */
  int ncols;
  st__csv_words words;
  st__csv_column *columns;
  char why[256];
} reader;

typedef struct field {
  const char *p, *after; /* its text; the byte that ends it */
  size_t n;
  bool is_quoted, has_doubled;
} field;

/* -- Failures ------------------------------------------------------------- */

static int64_t lines_between(const char *p, const char *end) {
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

/* Notes what is wrong with the n bytes at p, a field of the record at r->p that
 * begins at `at`. */
static outcome fail(reader *r, const char *at, const char *p, size_t n,
                    int column, const char *why) {
  char text[SHOWN + 4];
  snprintf(r->why, sizeof r->why, "line %" PRId64 ", column %d: '%s' %s",
           r->line + lines_between(r->p, at), column, show(p, n, text), why);
  return FAILED;
}

static outcome fail_count(reader *r, int found) {
  snprintf(r->why, sizeof r->why, "line %" PRId64 " has %s%d field%s, where "
           "the first has %d", r->line, found > r->ncols ? "at least " : "",
           found, found == 1 ? "" : "s", r->ncols);
  return FAILED;
}

/* -- Buffers -------------------------------------------------------------- */

/* A larger buffer at a stack index, with the n bytes at p at its beginning. */
static char *new_buffer(reader *r, int idx, const char *p, size_t n,
                        size_t room) {
  char *buffer = lua_newuserdata(r->L, room + 1); /* [+1] */
  if (n > 0) memcpy(buffer, p, n);
  buffer[n] = '\0';
  lua_replace(r->L, idx);                         /* [-1] */
  return buffer;
}

/* Gives data a chance to be elsewhere: Lua may have run. */
static void bind_columns(reader *r) {
  lua_State *L = r->L;
  for (int c = 0; r->columns && c < r->ncols; c++) {
    st__csv_column *k = &r->columns[c];
    if (k->use != ST_CSV_TENSOR) continue;
    size_t n;
    lua_rawgeti(L, COLUMNS, c + 1);               /* [+1] */
    k->data = st__check_memory(r->h, L, -1, &n);
    const st_tensor *t = st__to_tensor(r->h, L, -1);
    const st_dtype dtype = st_tensor_dtype(t);
    if (st_tensor_ndim(t) != 1 || st_tensor_sizes(t)[0] != r->limit ||
        (!st__is_integral(dtype) && dtype != ST_BOOL && dtype != ST_FLOAT32 &&
         dtype != ST_FLOAT64) || (k->step && dtype != k->dtype)) {
      st__error(r->h, L, ST_BAD_SHAPE, "csv_parse: column %d is no tensor of "
                "numbers with %" PRId64 " elements", c + 1, r->limit);
    }
    k->dtype = dtype;
    k->step = (ptrdiff_t)(st_tensor_strides(t)[0] *
                          (int64_t)st_dtype_size(dtype));
    lua_pop(L, 1);                                /* [-1] */
  }
}

static const char *poll(reader *r) {
  const char *why = st__poll_reason(r->L);
  if (!why) bind_columns(r);
  return why;
}

/* Reads on behind the record at r->p, which moves to the front. */
static const char *refill(reader *r) {
  const char *why = poll(r);
  if (why) return why;
  st__source *s = st__check_source(r->h, r->L, SOURCE);
  const size_t kept = (size_t)(r->end - r->p), size = st__source_size(s);
  const size_t left = r->at < size ? size - r->at : 0;
  if (kept == r->room && left > 0) {
    r->room = kept / 2 < left ? kept + kept / 2 + BLOCK : kept + left;
    r->buffer = new_buffer(r, BUFFER, r->p, kept, r->room);
  } else if (kept > 0) {
    memmove(r->buffer, r->p, kept);
  }
  size_t n = r->room - kept;
  if (n > left) n = left;
  s = st__check_source(r->h, r->L, SOURCE);
  st__source_retain(s);
  why = st__source_read(r->L, s, r->at, r->buffer + kept, n);
  st__source_release(s);
  r->at += n;
  r->p = r->buffer;
  r->end = r->buffer + kept + n;
  r->buffer[kept + n] = '\0';
  r->is_last = n == left;
  return why;
}

/* -- Fields --------------------------------------------------------------- */

static bool is_at_crlf(const reader *r, const char *p) {
  return *p == '\r' && p < r->end && (p + 1 == r->end || p[1] == '\n');
}

static outcome quoted_field(reader *r, const char *p, int column, field *f) {
  const char *q = p + 1;
  f->has_doubled = false;
  for (;; q += 2) {
    q = memchr(q, r->quote, (size_t)(r->end - q));
    if (!q && !r->is_last) return MORE;
    if (!q) {
      return fail(r, p, p, (size_t)(r->end - p), column,
                  "has a quote that is not closed");
    }
    if (q + 2 >= r->end && !r->is_last) return MORE;
    if (q[1] != r->quote || q + 1 == r->end) break;
    f->has_doubled = true;
  }
  f->p = p + 1;
  f->n = (size_t)(q - f->p);
  f->after = q + 1;
  if (is_at_crlf(r, f->after)) f->after++;
  if (f->after < r->end && (!r->stops[(unsigned char)*f->after] ||
                            *f->after == '\0')) {
    return fail(r, p, p, (size_t)(f->after + 1 - p), column,
                "has text after the closing quote");
  }
  return DONE;
}

/* The field at p. */
static outcome next_field(reader *r, const char *p, int column, field *f) {
  f->is_quoted = r->quote && *p == r->quote;
  if (f->is_quoted) return quoted_field(r, p, column, f);
  const char *q = p;
  for (;; q++) {
    while (!r->stops[(unsigned char)*q]) q++;
    if (*q != '\0' || q >= r->end) break;
  }
  if (q == r->end && !r->is_last) return MORE;
  f->p = p;
  f->after = q;
  f->has_doubled = false;
  f->n = (size_t)(q - p);
  if ((*q == '\n' || q == r->end) && q > p && q[-1] == '\r') f->n--;
  return DONE;
}

/* The text of a field without its doubled quotes. */
static void undouble(reader *r, field *f) {
  if (!f->has_doubled) return;
  if (f->n >= r->scratch_room) {
    r->scratch_room = 2 * f->n + 1;
    r->scratch = new_buffer(r, SCRATCH, NULL, 0, r->scratch_room);
  }
  char *to = r->scratch;
  for (size_t i = 0; i < f->n; i++) {
    *to++ = f->p[i];
    if (f->p[i] == r->quote) i++;
  }
  *to = '\0';
  f->p = r->scratch;
  f->n = (size_t)(to - r->scratch);
}

/* -- Records -------------------------------------------------------------- */

/* The line end from p on; NULL if there must be more. */
static const char *line_end(const reader *r, const char *p) {
  const char *q = memchr(p, '\n', (size_t)(r->end - p));
  return q || !r->is_last ? q : r->end;
}

/* Moves r->p to a record, over empty lines and comments. */
static outcome find_record(reader *r) {
  for (;; r->line++) {
    const char *p = r->p;
    if (p + 1 >= r->end && !r->is_last) return MORE;
    if (p == r->end) return END;
    if (r->comment) {
      while ((*p == ' ' || *p == '\t') && *p != r->delimiter) p++;
      if (p == r->end && !r->is_last) return MORE;
      if (*p != r->comment) p = r->p;
    }
    if (*p == '\n' || is_at_crlf(r, p) || (r->comment && *p == r->comment)) {
      p = line_end(r, p);
      if (!p) return MORE;
      r->p = p < r->end ? p + 1 : p;
      continue;
    }
    return DONE;
  }
}

/* Moves behind the record whose last field ends at p. */
static outcome end_record(reader *r, const char *p, int found, bool is_quoted) {
  if (r->comment && *p == r->comment) p = line_end(r, p);
  if (!p) return MORE;
  if (found != r->ncols) return fail_count(r, found);
  r->line += 1 + (is_quoted ? lines_between(r->p, p) : 0);
  r->p = p < r->end ? p + 1 : p;
  return DONE;
}

/* Whether the field that ends at q is the last of its record. */
static bool is_record_end(const reader *r, const char *q) {
  return *q != r->delimiter || q == r->end;
}

static outcome classify_record(reader *r) {
  const char *p = r->p;
  bool is_quoted = false;
  for (int c = 0;; c++) {
    field f;
    const outcome o = next_field(r, p, c + 1, &f);
    if (o != DONE) return o;
    if (c >= r->ncols) return fail_count(r, c + 1);
    is_quoted |= f.is_quoted;
    if (r->columns) {
      undouble(r, &f);
      r->columns[c].seen |= st__csv_kind(&r->words, f.p, f.n);
    }
    if (is_record_end(r, f.after)) {
      return end_record(r, f.after, c + 1, is_quoted);
    }
    p = f.after + 1;
  }
}

/* Stores a text in the list of its column. */
static void store_text(reader *r, int c, field *f) {
  undouble(r, f);
  lua_rawgeti(r->L, TEXTS, c + 1);               /* [+1] */
  lua_pushlstring(r->L, f->p, f->n);             /* [+1] */
  lua_rawseti(r->L, -2, (int)r->rows + 1);       /* [-1] */
  lua_pop(r->L, 1);                              /* [-1] */
}

/* Stores the field at p if it is a number without spaces or quotes; returns
 * its end, or NULL for other fields. */
static const char *store_plain(reader *r, st__csv_column *k, const char *p) {
  st__decimal d;
  const char *q = st__scan_decimal(p, r->words.point, &d);
  if (!q || (*q != r->delimiter && *q != '\n' && *q != '\r')) return NULL;
  if (*q == '\r' && q[1] != '\n') return NULL;
  if (r->words.has_number || (k->dtype == ST_BOOL && k->is_inferred)) {
    return NULL;
  }
  return st__csv_store_number(&r->words, k, r->rows, p, q, &d)
    ? NULL : q + (*q == '\r');
}

static outcome store_record(reader *r) {
  const char *p = r->p;
  bool is_quoted = false;
  for (int c = 0;; c++) {
    field f = {.after = NULL};
    st__csv_column *k = &r->columns[c < r->ncols ? c : 0];
    if (c >= r->ncols) return fail_count(r, c + 1);
    if (k->use == ST_CSV_TENSOR && !k->has_failed) {
      f.after = store_plain(r, k, p);
    }
    if (!f.after) {
      const outcome o = next_field(r, p, c + 1, &f);
      if (o != DONE) return o;
      is_quoted |= f.is_quoted;
      if (k->use == ST_CSV_STRINGS) store_text(r, c, &f);
      if (k->use == ST_CSV_TENSOR) {
        undouble(r, &f);
        const char *why = st__csv_store(&r->words, k, r->rows, f.p, f.n);
        if (why) return fail(r, p, f.p, f.n, c + 1, why);
      }
    }
    if (is_record_end(r, f.after)) {
      return end_record(r, f.after, c + 1, is_quoted);
    }
    p = f.after + 1;
  }
}

/* Counts records that are lines: those before the first quote of the buffer. */
static void count_lines(reader *r) {
  const char *end = r->end;
  if (r->quote) end = memchr(r->p, r->quote, (size_t)(end - r->p));
  if (!end) end = r->end;
  while (r->rows < r->limit && !r->comment) {
    const char *q = memchr(r->p, '\n', (size_t)(end - r->p));
    if (!q) break;
    r->rows += q > r->p && !(q == r->p + 1 && *r->p == '\r');
    r->line++;
    r->p = q + 1;
  }
}

/* Goes through the records, up to the limit; returns NULL or the reason of a
 * failure, which may be in r->why. */
static const char *each_record(reader *r, outcome (*take)(reader *)) {
  while (r->rows < r->limit) {
    outcome o = find_record(r);
    if (o == DONE) o = take(r);
    if (o == END) break;
    if (o == FAILED) return r->why;
    if (o == DONE && ++r->rows % ST_POLL_ITEMS != 0) continue;
    const char *why = o == MORE ? refill(r) : poll(r);
    if (why) return why;
  }
  return NULL;
}

/* Counts the records from r->p on. The numbers of fields of lines are checked
 * later, where they are stored. */
static const char *count_records(reader *r) {
  while (r->rows < r->limit) {
    outcome o = DONE;
    count_lines(r);
    if (r->rows < r->limit) o = find_record(r);
    if (o == DONE && r->rows < r->limit) {
      o = classify_record(r);
      if (o == DONE) r->rows++;
    }
    if (o == END) break;
    if (o == FAILED) return r->why;
    const char *why = o == MORE ? refill(r) : NULL;
    if (why) return why;
  }
  return NULL;
}

/* -- Arguments ------------------------------------------------------------ */

/* Pushes a field of the table of what a file looks like. [+1] */
static int push_field(lua_State *L, const char *name) {
  lua_pushstring(L, name);                       /* [+1] */
  lua_rawget(L, SPEC);
  return lua_type(L, -1);
}

static char char_field(lua_State *L, const char *name) {
  char c = '\0';
  if (push_field(L, name) == LUA_TSTRING) c = *lua_tostring(L, -1); /* [+1] */
  lua_pop(L, 1);                                 /* [-1] */
  return c;
}

static int64_t int_field(reader *r, const char *name, int64_t least) {
  int64_t i = 0;
  push_field(r->L, name);                        /* [+1] */
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

/* Reads the table in argument 2: delimiter, quote, comment, point, missing,
 * fill; at, line, limit, ncols. */
static void open_reader(lua_State *L, reader *r) {
  memset(r, 0, sizeof *r);
  r->L = L;
  r->h = st__state_of(L);
  st__check_source(r->h, L, SOURCE);
  luaL_checktype(L, SPEC, LUA_TTABLE);
  lua_settop(L, SEEN);
  lua_newtable(L);                               /* [+1] TEXTS */
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
  if (push_field(L, "missing") == LUA_TSTRING) { /* [+1] */
    r->words.missing = lua_tolstring(L, -1, &r->words.n_missing);
  }
  lua_pop(L, 1);                                 /* [-1] the table has it */
  r->words.has_number = has_number(&r->words);
  r->words.has_fill = push_field(L, "fill") == LUA_TNUMBER; /* [+1] */
  r->words.fill = lua_tonumber(L, -1);
  lua_pop(L, 1);                                 /* [-1] */
  r->stops[0] = r->stops['\n'] = true;
  r->stops[(unsigned char)r->delimiter] = true;
  r->stops[(unsigned char)r->comment] = true;
  const size_t size = st__source_size(st__check_source(r->h, L, SOURCE));
  const size_t left = r->at < size ? size - r->at : 0;
  r->room = left < BLOCK ? left : BLOCK;
  r->buffer = new_buffer(r, BUFFER, NULL, 0, r->room);
  r->p = r->end = r->buffer;
}

static void new_columns(reader *r) {
  const size_t n = (size_t)r->ncols * sizeof *r->columns;
  r->columns = lua_newuserdata(r->L, n);         /* [+1] */
  memset(r->columns, 0, n);
  lua_replace(r->L, ARRAY);                      /* [-1] */
}

/* -- Calls ---------------------------------------------------------------- */

/* csv_record(source, spec): the fields of the first record as a list of
 * strings, its offset and line, those of what follows it; nil and the error; or
 * nothing if there is no record */
static int first_record(lua_State *L) {
  reader r;
  open_reader(L, &r);
  bool is_quoted = false;
  for (outcome o = MORE; o != DONE;) {
    const char *why = o == MORE ? refill(&r) : o == FAILED ? r.why : NULL;
    if (why) return st__failed(L, why);
    o = find_record(&r);
    if (o == END) return 0;
    lua_newtable(L);                             /* [+1] */
    const char *p = r.p;
    for (int c = 0; o == DONE; c++) {
      field f;
      o = next_field(&r, p, c + 1, &f);
      if (o != DONE) break;
      undouble(&r, &f);
      is_quoted |= f.is_quoted;
      lua_pushlstring(L, f.p, f.n);              /* [+1] */
      lua_rawseti(L, -2, c + 1);                 /* [-1] */
      p = f.after + 1;
      if (!is_record_end(&r, f.after)) continue;
      st__push_int(r.h, L, (int64_t)(r.at - (size_t)(r.end - r.p))); /* [+1] */
      st__push_int(r.h, L, r.line);              /* [+1] */
      r.ncols = c + 1;
      o = end_record(&r, f.after, c + 1, is_quoted);
      if (o != DONE) break;
      st__push_int(r.h, L, (int64_t)(r.at - (size_t)(r.end - r.p))); /* [+1] */
      st__push_int(r.h, L, r.line);              /* [+1] */
      return 5;
    }
    lua_settop(L, ARRAY);
  }
  return 0;
}

/* csv_survey(source, spec): the number of records, and for each column the set
 * of the kinds of its fields in the first records; or nil and the error */
static int survey(lua_State *L) {
  reader r;
  open_reader(L, &r);
  new_columns(&r);
  const int64_t limit = r.limit;
  if (r.limit > SAMPLE) r.limit = SAMPLE;
  const char *why = each_record(&r, classify_record);
  const st__csv_column *columns = r.columns;
  r.columns = NULL;
  r.limit = limit;
  if (!why) why = count_records(&r);
  if (why) return st__failed(L, why);
  st__push_int(r.h, L, r.rows);                  /* [+1] */
  lua_createtable(L, r.ncols, 0);                /* [+1] */
  for (int c = 0; c < r.ncols; c++) {
    lua_pushinteger(L, columns[c].seen);         /* [+1] */
    lua_rawseti(L, -2, c + 1);                   /* [-1] */
  }
  return 2;
}

/* Reads the lists of columns and of kinds seen; makes the lists of strings. */
static void open_columns(reader *r) {
  lua_State *L = r->L;
  luaL_checktype(L, COLUMNS, LUA_TTABLE);
  luaL_checktype(L, SEEN, LUA_TTABLE);
  new_columns(r);
  for (int c = 0; c < r->ncols; c++) {
    st__csv_column *k = &r->columns[c];
    int64_t seen;
    lua_rawgeti(L, COLUMNS, c + 1);              /* [+1] */
    lua_rawgeti(L, SEEN, c + 1);                 /* [+1] */
    k->is_inferred = st__to_int(r->h, L, -1, &seen);
    if (k->is_inferred) k->seen = (unsigned)seen;
    if (lua_type(L, -2) == LUA_TSTRING) {
      k->use = ST_CSV_STRINGS;
      lua_createtable(L, (int)r->limit, 0);      /* [+1] */
      lua_rawseti(L, TEXTS, c + 1);              /* [-1] */
    } else if (lua_toboolean(L, -2)) {
      k->use = ST_CSV_TENSOR;
    }
    lua_pop(L, 2);                               /* [-2] */
  }
  bind_columns(r);
}

/* csv_parse(source, spec, columns, seen): stores spec.limit records; columns
 * are tensors, strings for lists of strings, false for those that are left
 * out. A column with a set of kinds seen is inferred: fields of other kinds
 * are no error. Returns the lists of strings by column, and the kinds seen of
 * the inferred columns that failed; or nil and the error */
static int parse(lua_State *L) {
  reader r;
  open_reader(L, &r);
  if (r.limit >= INT32_MAX) return st__failed(L, "it has too many records");
  open_columns(&r);
  const char *why = each_record(&r, store_record);
  if (!why && r.rows < r.limit) why = "the file changed while it was read";
  if (why) return st__failed(L, why);
  lua_pushvalue(L, TEXTS);                       /* [+1] */
  lua_newtable(L);                               /* [+1] */
  for (int c = 0; c < r.ncols; c++) {
    if (!r.columns[c].has_failed) continue;
    lua_pushinteger(L, r.columns[c].seen);       /* [+1] */
    lua_rawseti(L, -2, c + 1);                   /* [-1] */
  }
  return 2;
}

void st__open_csv_read(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"csv_record", first_record}, {"csv_survey", survey},
    {"csv_parse", parse}, {NULL, NULL}
  };
  st__set_functions(h, L, functions);
}
