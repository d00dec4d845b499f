/* Fields of CSV files: what kind they are, and storing them as elements.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/csv.h"

enum { SHORT = 128 }; /* bytes of a number that is copied to the stack */

/* -- Words ---------------------------------------------------------------- */

static bool is_space(char c) { return c == ' ' || c == '\t'; }

static bool is_word(const char *p, size_t n, const char *words) {
  for (; *words; words += strlen(words) + 1) {
    if (strlen(words) == n && memcmp(words, p, n) == 0) return true;
  }
  return false;
}

static bool is_true(const char *p, size_t n) {
  return is_word(p, n, "true\0True\0TRUE\0");
}

static bool is_false(const char *p, size_t n) {
  return is_word(p, n, "false\0False\0FALSE\0");
}

static bool is_missing(const st__csv_words *w, const char *p, size_t n) {
  const char *word = w->missing, *end = w->missing + w->n_missing;
  while (word < end) {
    const size_t size = strlen(word);
    if (size == n && memcmp(word, p, n) == 0) return true;
    word += size + 1;
  }
  return false;
}

/* A number that is written as a word. A NaN has no sign, as it is written
 * without. */
static bool to_special(const char *p, size_t n, double *out) {
  const bool is_negative = n > 0 && *p == '-';
  if (n > 0 && (*p == '-' || *p == '+')) p++, n--;
  if (is_word(p, n, "nan\0NaN\0NAN\0")) {
    *out = NAN;
  } else if (is_word(p, n, "inf\0Inf\0INF\0infinity\0Infinity\0INFINITY\0")) {
    *out = INFINITY;
  } else {
    return false;
  }
  if (is_negative && !isnan(*out)) *out = -*out;
  return true;
}

/* -- Kinds ---------------------------------------------------------------- */

static unsigned kind_of_number(const char *p, const st__decimal *d) {
  bool is_negative = d->is_negative;
  uint64_t u = d->digits;
  if (!d->is_whole || (d->is_long && !st__scan_integer(p, &u, &is_negative))) {
    return ST_CSV_FLOAT;
  }
  if (is_negative) {
    return u <= UINT64_C(1) << 63 ? ST_CSV_NEGATIVE : ST_CSV_FLOAT;
  }
  return u <= INT64_MAX ? ST_CSV_INT : ST_CSV_BEYOND;
}

static void trim(const char **p, size_t *n) {
  while (*n > 0 && is_space(**p)) ++*p, --*n;
  while (*n > 0 && is_space((*p)[*n - 1])) --*n;
}

unsigned st__csv_kind(const st__csv_words *w, const char *p, size_t n) {
  st__decimal d;
  double special;
  trim(&p, &n);
  if (is_missing(w, p, n)) return ST_CSV_MISSING;
  if (n == 0) return ST_CSV_TEXT;
  if (st__scan_decimal(p, w->point, &d) == p + n) return kind_of_number(p, &d);
  if (to_special(p, n, &special)) return ST_CSV_FLOAT;
  return is_true(p, n) || is_false(p, n) ? ST_CSV_BOOL : ST_CSV_TEXT;
}

/* -- Storing -------------------------------------------------------------- */

/* The number at p by strtod or strtof: false if memory is lacking. */
static bool convert(const st__csv_words *w, const char *p, size_t n,
                    bool is_float, double *out) {
  char few[SHORT], *text = n < SHORT ? few : malloc(n + 1);
  if (!text) return false;
  memcpy(text, p, n);
  text[n] = '\0';
  if (w->point != '.') {
    char *point = strchr(text, w->point);
    if (point) *point = '.';
  }
  *out = is_float ? (double)st__text_to_float(text) : st__text_to_double(text);
  if (text != few) free(text);
  return true;
}

/* Whether (float)x may differ from the nearest float of the number that x is
 * nearest to: x is halfway between two floats, or has fewer digits. */
static bool is_float_unsure(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  const double size = fabs(x);
  return (bits & 0x1fffffff) == 0x10000000 ||
         (size < 0x1p-126 && size != 0) || size >= 0x1p127;
}

static const char *to_double(const st__csv_words *w, const st__csv_column *k,
                             const char *p, const char *q,
                             const st__decimal *d, double *out) {
  const bool is_float = k->dtype == ST_FLOAT32;
  if (!st__decimal_to_double(d, out) || (is_float && is_float_unsure(*out))) {
    if (!convert(w, p, (size_t)(q - p), is_float, out)) return "out of memory";
  }
  return NULL;
}

/* Stores the integer u, or -u; false if the dtype does not have it. */
static bool store_integer(const st__csv_column *k, char *to, uint64_t u,
                          bool is_negative) {
  const int bits = 8 * (int)st_dtype_size(k->dtype);
  const bool is_unsigned = st_dtype_is_unsigned(k->dtype);
  const uint64_t half = UINT64_C(1) << (bits - 1);
  const uint64_t most = is_unsigned ? half - 1 + half : half - 1;
  if (u > (is_negative ? is_unsigned ? 0 : half : most)) return false;
  const uint64_t v = is_negative ? 0 - u : u;
  switch (bits) {
    case 8: *(uint8_t *)to = (uint8_t)v; return true;
    case 16: *(uint16_t *)to = (uint16_t)v; return true;
    case 32: *(uint32_t *)to = (uint32_t)v; return true;
    default: *(uint64_t *)to = v; return true;
  }
}

/* Note [Halves of decimals]
 * A float16 or bfloat16 is rounded once, from the decimal. The column is of
 * doubles, which are converted to float and then to half. So what is stored is
 * a float that is rounded to odd: of the two next to the decimal, the one whose
 * last bit is 1, unless the decimal is a float. It is above, below or at a tie
 * of halves as the decimal is. The nearest double says which floats these are,
 * and where it is a float itself, the decimal is compared with it. */

static bool is_half(const st__csv_column *k) {
  return k->dtype == ST_FLOAT64 && k->beyond < INFINITY;
}

/* Rounds x to a float, to odd; `side` is the sign of what |x| lacks. */
static double to_odd(double x, int side) {
  float f = (float)x;
  uint32_t bits;
  if (f != x) side = fabsf(f) < fabs(x) ? 1 : -1;
  if (side == 0) return x;
  if (side < 0) f = nextafterf(f, 0);
  memcpy(&bits, &f, sizeof bits);
  bits |= 1;
  memcpy(&f, &bits, sizeof f);
  return copysign(f, x);
}

static const char *store_double(const st__csv_column *k, char *to, double x) {
  if (is_half(k)) *(double *)to = isfinite(x) ? to_odd(x, 0) : x;
  else if (k->dtype == ST_FLOAT64) *(double *)to = x;
  else if (k->dtype == ST_FLOAT32) *(float *)to = (float)x;
  else return "is no integer";
  return NULL;
}

/* Stores the number at p as a half, see the note. */
static const char *store_half(const st__csv_column *k, char *to, const char *p,
                              const char *q, const st__decimal *d, double x) {
  if (isinf(x)) return "does not fit";
  const int side = (float)x == x ? st__compare_decimal(d, p, q, fabs(x)) : 0;
  if (fabs(x) > k->beyond || (fabs(x) == k->beyond && side >= 0)) {
    return "does not fit";
  }
  *(double *)to = to_odd(x, side);
  return NULL;
}

const char *st__csv_store_number(const st__csv_words *w, st__csv_column *k,
                                 int64_t row, const char *p, const char *q,
                                 const st__decimal *d) {
  char *to = k->data + row * k->step;
  if (k->dtype == ST_FLOAT64 || k->dtype == ST_FLOAT32) {
    double x;
    const char *why = to_double(w, k, p, q, d, &x);
    if (why) return why;
    if (is_half(k)) return store_half(k, to, p, q, d, x);
    if (fabs(x) >= k->beyond && !k->is_inferred) return "does not fit";
    return store_double(k, to, x);
  }
  uint64_t u = d->digits;
  bool is_negative = d->is_negative;
  if (!d->is_whole) return "is no integer";
  if (d->is_long && !st__scan_integer(p, &u, &is_negative)) {
    return "does not fit into 64 bits";
  }
  if (k->dtype == ST_BOOL) {
    if (u > 1 || is_negative) return "is neither true nor false, 1 nor 0";
    *(bool *)to = u == 1;
    return NULL;
  }
  k->seen |= is_negative ? ST_CSV_NEGATIVE : ST_CSV_INT;
  return store_integer(k, to, u, is_negative) ? NULL : "does not fit";
}

static bool fills_bool(const st__csv_words *w) {
  return w->has_fill && (w->fill == 0 || w->fill == 1);
}

static const char *store_missing(const st__csv_words *w, st__csv_column *k,
                                 char *to) {
  static const char no_fit[] = "is missing, and option 'fill' does not fit";
  if (k->dtype == ST_FLOAT64 || k->dtype == ST_FLOAT32) {
    const double x = w->has_fill ? w->fill : NAN;
    if (fabs(x) >= k->beyond && !isinf(x)) return no_fit;
    return store_double(k, to, x);
  }
  if (!w->has_fill) {
    return "is missing, which only floating point has (see option 'fill')";
  }
  if (k->dtype == ST_BOOL) {
    *(bool *)to = w->fill == 1;
    return fills_bool(w) ? NULL : no_fit;
  }
  const double u = fabs(w->fill);
  if (!(u < 0x1p64) || u != floor(u) ||
      !store_integer(k, to, (uint64_t)u, w->fill < 0)) {
    return no_fit;
  }
  return NULL;
}

/* st__csv_store for what is no plain number; also of numbers in spaces. */
static const char *store_word(const st__csv_words *w, st__csv_column *k,
                              int64_t row, const char *p, size_t n) {
  char *to = k->data + row * k->step;
  st__decimal d;
  double special;
  if (is_missing(w, p, n)) return store_missing(w, k, to);
  if (n > 0 && st__scan_decimal(p, w->point, &d) == p + n) {
    return st__csv_store_number(w, k, row, p, p + n, &d);
  }
  if (k->dtype == ST_BOOL) {
    if (!is_true(p, n) && !is_false(p, n)) {
      return "is neither true nor false, 1 nor 0";
    }
    *(bool *)to = is_true(p, n);
    return NULL;
  }
  if (to_special(p, n, &special)) return store_double(k, to, special);
  return "is no number";
}

const char *st__csv_store(const st__csv_words *w, st__csv_column *k,
                          int64_t row, const char *p, size_t n) {
  trim(&p, &n);
  const char *why = NULL;
  if (k->is_inferred) {
    const unsigned kind = st__csv_kind(w, p, n);
    k->seen |= kind;
    if (k->dtype == ST_BOOL && kind != ST_CSV_BOOL &&
        !(kind == ST_CSV_MISSING && fills_bool(w))) {
      k->has_failed = true;
    }
    if (k->dtype != ST_BOOL && kind == ST_CSV_BOOL) k->has_failed = true;
    if (k->has_failed) return NULL;
  }
  why = store_word(w, k, row, p, n);
  if (!why || !k->is_inferred || strcmp(why, "out of memory") == 0) return why;
  k->has_failed = true;
  return NULL;
}
