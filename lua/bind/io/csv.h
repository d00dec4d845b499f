/* What the files csv_*.c share: numbers as text, and columns. */
#ifndef ST_LUA_IO_CSV_H
#define ST_LUA_IO_CSV_H

#include "io/io.h"

/* A decimal number: digits * 10^exponent. */
typedef struct st__decimal {
  uint64_t digits;
  int exponent;
  bool is_negative;
  bool is_whole; /* neither a decimal point nor an exponent */
  bool is_long;  /* digits did not fit: more than 19 of them */
} st__decimal;

/* Reads the number at p; returns the address after it, NULL if there is none.
 * The bytes end in one that is part of no number. */
const char *st__scan_decimal(const char *p, char point, st__decimal *out);

/* What a number is as an integer; false if it does not fit into 64 bits. */
bool st__scan_integer(const char *p, uint64_t *out, bool *is_negative);

/* Rounds a decimal to the nearest double; false if the digits in out do not
 * determine it or if it is out of the range that is done here. */
bool st__decimal_to_double(const st__decimal *d, double *out);

/* The sign of |number| - x, exactly; the number is in the text from p to end,
 * x is finite and not negative. */
int st__compare_decimal(const st__decimal *d, const char *p, const char *end,
                        double x);

/* Rounds a number in text, with a decimal point `.` and a NUL behind. */
double st__text_to_double(const char *text);
float st__text_to_float(const char *text);

enum { ST_NUMBER_SIZE = 40 };

/* Writes the shortest digits that read back as x, the nearest of those to x;
 * returns their number, less than ST_NUMBER_SIZE. There is no NUL. */
int st__format_double(double x, char *out);
int st__format_float(float x, char *out);
int st__format_integer(uint64_t u, bool is_negative, char *out);

/* -- csv_column.c --------------------------------------------------------- */

/* What the fields of a column are, as a set of bits. */
enum {
  ST_CSV_MISSING = 1, ST_CSV_BOOL = 2, ST_CSV_INT = 4, ST_CSV_NEGATIVE = 8,
  ST_CSV_BEYOND = 16, /* an integer that only uint64 has */
  ST_CSV_FLOAT = 32, ST_CSV_TEXT = 64
};

/* What numbers and missing values look like. */
typedef struct st__csv_words {
  char point;
  const char *missing; /* words, each with a NUL behind */
  size_t n_missing;    /* bytes */
  bool has_number;     /* one of them is a number */
  bool has_fill;
  double fill;         /* for missing values of numbers */
} st__csv_words;

typedef enum { ST_CSV_SKIP, ST_CSV_STRINGS, ST_CSV_TENSOR } st__csv_use;

typedef struct st__csv_column {
  st__csv_use use;
  bool is_inferred;   /* a field of another kind is no error, and */
  bool has_failed;    /* after it fields are only classified */
  unsigned seen;
  st_dtype dtype;
  char *data;
  ptrdiff_t step;     /* bytes from row to row */
  double beyond;      /* this and more do not fit, unless it is inferred; of
                       * a float64 it is finite where halves are made of it:
                       * see to_odd in csv_column.c */
} st__csv_column;

/* What n bytes are, which end in a byte that is part of no number. */
unsigned st__csv_kind(const st__csv_words *w, const char *p, size_t n);

/* Stores the number at p, which has been scanned and ends at q, as row `row`;
 * returns NULL, or the reason why the column cannot have it. */
const char *st__csv_store_number(const st__csv_words *w, st__csv_column *k,
                                 int64_t row, const char *p, const char *q,
                                 const st__decimal *d);

/* The same for any field; of an inferred column, notes what it is. */
const char *st__csv_store(const st__csv_words *w, st__csv_column *k,
                          int64_t row, const char *p, size_t n);

/* -- csv_squeeze.c -------------------------------------------------------- */

/* A function of Lua: csv_squeeze(text, quote, comment). */
int st__csv_squeeze(lua_State *L);

#endif
