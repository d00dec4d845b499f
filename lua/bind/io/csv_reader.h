/* The piece of a CSV file that is in memory: Note [Passes over a CSV file]. */
#ifndef ST_LUA_IO_CSV_READER_H
#define ST_LUA_IO_CSV_READER_H

#include "io/csv.h"

/* Stack indices of a call that reads. */
enum {
  ST_CSV_SOURCE = 1, ST_CSV_SPEC, ST_CSV_COLUMNS, ST_CSV_SEEN, ST_CSV_LIMITS,
  ST_CSV_LISTS, ST_CSV_BUFFER, ST_CSV_SCRATCH, ST_CSV_ARRAY
};

typedef struct st__csv_reader {
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
} st__csv_reader;

/* Reads the table in argument 2: delimiter, quote, comment, point, missing,
 * fill; at, line, limit, ncols; and count, a function that is called with the
 * number of bytes of each piece that is read. Makes an empty buffer. */
void st__csv_open(lua_State *L, st__csv_reader *r);

/* Pushes a field of that table; returns its type. [+1] */
int st__csv_push_field(lua_State *L, const char *name);

/* Gives data a chance to be elsewhere: Lua may have run. */
void st__csv_bind_columns(st__csv_reader *r);

/* A larger buffer at a stack index, with the n bytes at p at its beginning. */
char *st__csv_new_buffer(st__csv_reader *r, int idx, const char *p, size_t n,
                         size_t room);

/* Runs the interrupts of Lua; returns NULL or the reason to stop. */
const char *st__csv_poll(st__csv_reader *r);

/* Reads on behind the record at r->p, which moves to the front; returns NULL or
 * the reason of a failure. */
const char *st__csv_refill(st__csv_reader *r);

int64_t st__csv_count_lines(const char *p, const char *end);

/* Notes in r->why what is wrong with the n bytes at p, a field of the record at
 * r->p that begins at `at`. */
void st__csv_blame(st__csv_reader *r, const char *at, const char *p, size_t n,
                   int column, const char *why);

/* The same of a record that has another number of fields than the first. */
void st__csv_blame_count(st__csv_reader *r, int found);

#endif
