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

#include <math.h>
#include <string.h>

#include "io/csv_reader.h"

enum { SAMPLE = 256 }; /* records that a survey classifies */

typedef enum { DONE, MORE, END, FAILED } outcome;

typedef st__csv_reader reader;

typedef struct field {
  const char *p, *after; /* its text; the byte that ends it */
  size_t n;
  bool is_quoted, has_doubled;
} field;

static outcome fail(reader *r, const char *at, const char *p, size_t n,
                    int column, const char *why) {
  st__csv_blame(r, at, p, n, column, why);
  return FAILED;
}

static outcome fail_count(reader *r, int found) {
  st__csv_blame_count(r, found);
  return FAILED;
}

/* -- Fields --------------------------------------------------------------- */

static bool is_at_crlf(const reader *r, const char *p) {
  return *p == '\r' && p < r->end && (p + 1 == r->end || p[1] == '\n');
}

#define QUOTE_ADVICE "; with quote = false quotes are text"

static outcome quoted_field(reader *r, const char *p, int column, field *f) {
  const char *q = p + 1;
  f->has_doubled = false;
  for (;; q += 2) {
    q = memchr(q, r->quote, (size_t)(r->end - q));
    if (!q && !r->is_last) return MORE;
    if (!q) {
      return fail(r, p, p, (size_t)(r->end - p), column,
                  "has a quote that is not closed" QUOTE_ADVICE);
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
                "has text after the closing quote" QUOTE_ADVICE);
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
    r->scratch = st__csv_new_buffer(r, ST_CSV_SCRATCH, NULL, 0,
                                    r->scratch_room);
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
  r->line += 1 + (is_quoted ? st__csv_count_lines(r->p, p) : 0);
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
  lua_rawgeti(r->L, ST_CSV_LISTS, c + 1);        /* [+1] */
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
    const char *why = o == MORE ? st__csv_refill(r) : st__csv_poll(r);
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
    const char *why = o == MORE ? st__csv_refill(r) : NULL;
    if (why) return why;
  }
  return NULL;
}

/* -- Calls ---------------------------------------------------------------- */

static void new_columns(reader *r) {
  const size_t n = (size_t)r->ncols * sizeof *r->columns;
  r->columns = lua_newuserdata(r->L, n);         /* [+1] */
  memset(r->columns, 0, n);
  lua_replace(r->L, ST_CSV_ARRAY);               /* [-1] */
}

/* csv_record(source, spec): the fields of the first record as a list of
 * strings, its offset and line, those of what follows it; nil and the error; or
 * nothing if there is no record */
static int first_record(lua_State *L) {
  reader r;
  st__csv_open(L, &r);
  bool is_quoted = false;
  for (outcome o = MORE; o != DONE;) {
    const char *why = o == FAILED ? r.why : NULL;
    if (o == MORE) why = st__csv_refill(&r);
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
    lua_settop(L, ST_CSV_ARRAY);
  }
  return 0;
}

/* csv_survey(source, spec): the number of records, and for each column the set
 * of the kinds of its fields in the first records; or nil and the error */
static int survey(lua_State *L) {
  reader r;
  st__csv_open(L, &r);
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

/* The number at a place of a list, or another one if there is none. */
static double number_at(lua_State *L, int idx, int place, double other) {
  lua_rawgeti(L, idx, place);                    /* [+1] */
  if (lua_type(L, -1) == LUA_TNUMBER) other = lua_tonumber(L, -1);
  lua_pop(L, 1);                                 /* [-1] */
  return other;
}

/* Reads the lists of columns, of kinds seen and of limits; makes the lists of
 * strings. */
static void open_columns(reader *r) {
  lua_State *L = r->L;
  luaL_checktype(L, ST_CSV_COLUMNS, LUA_TTABLE);
  luaL_checktype(L, ST_CSV_SEEN, LUA_TTABLE);
  luaL_checktype(L, ST_CSV_LIMITS, LUA_TTABLE);
  new_columns(r);
  for (int c = 0; c < r->ncols; c++) {
    st__csv_column *k = &r->columns[c];
    int64_t seen;
    lua_rawgeti(L, ST_CSV_COLUMNS, c + 1);       /* [+1] */
    lua_rawgeti(L, ST_CSV_SEEN, c + 1);          /* [+1] */
    k->is_inferred = st__to_int(r->h, L, -1, &seen);
    k->beyond = number_at(L, ST_CSV_LIMITS, c + 1, INFINITY);
    if (k->is_inferred) k->seen = (unsigned)seen;
    if (lua_type(L, -2) == LUA_TSTRING) {
      k->use = ST_CSV_STRINGS;
      lua_createtable(L, (int)r->limit, 0);      /* [+1] */
      lua_rawseti(L, ST_CSV_LISTS, c + 1);       /* [-1] */
    } else if (lua_toboolean(L, -2)) {
      k->use = ST_CSV_TENSOR;
    }
    lua_pop(L, 2);                               /* [-2] */
  }
  st__csv_bind_columns(r);
}

/* csv_parse(source, spec, columns, seen, limits): stores spec.limit records;
 * columns are tensors, strings for lists of strings, false for those that are
 * left out. A column with a set of kinds seen is inferred: fields of other
 * kinds are no error. `limits` has `beyond` of columns, by default infinity.
 * Returns the lists of strings by column, and the kinds seen of the inferred
 * columns that failed; or nil and the error */
static int parse(lua_State *L) {
  reader r;
  st__csv_open(L, &r);
  if (r.limit >= INT32_MAX) return st__failed(L, "it has too many records");
  open_columns(&r);
  const char *why = each_record(&r, store_record);
  if (!why && r.rows < r.limit) why = "the file changed while it was read";
  if (why) return st__failed(L, why);
  lua_pushvalue(L, ST_CSV_LISTS);                /* [+1] */
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
    {"csv_parse", parse}, {"csv_squeeze", st__csv_squeeze}, {NULL, NULL}
  };
  st__set_access_functions(h, L, functions, false);
}
