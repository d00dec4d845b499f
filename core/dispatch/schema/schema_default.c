/* Parses default values in schemas. A default must have the type of its
 * argument (S3): `int x=1.0` or a list of the wrong length, which ATen accepts,
 * is an error.
 */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "dispatch/schema/schema_type.h"
#include "tensor/layout.h"
#include "tensor/value.h"

enum { MAX_DIGITS = 63, MAX_LIST = 1024 };

/* -- Numbers -------------------------------------------------------------- */

typedef struct number {
  enum { INTEGER, REAL, IMAGINARY } kind;
  int64_t i;
  double f;
} number;

static st_status parse_integer(st_parser *p, st_token t, bool negative,
                               int64_t *out) {
  const uint64_t limit = (uint64_t)INT64_MAX + negative;
  uint64_t u = 0;
  for (size_t k = 0; k < t.n; k++) {
    const uint64_t digit = (uint64_t)(t.s[k] - '0');
    if (u > (limit - digit) / 10) {
      return st__lex_fail(p, t, "an integer does not fit in 64 bits");
    }
    u = u * 10 + digit;
  }
  *out = negative ? (int64_t)(0 - u) : (int64_t)u;
  return ST_OK;
}

static st_status parse_real(st_parser *p, st_token t, double *out) {
  char digits[MAX_DIGITS + 1];
  const locale_t locale = st__c_locale();
  if (t.n > MAX_DIGITS) return st__lex_fail(p, t, "a number is too long");
  memcpy(digits, t.s, t.n);
  digits[t.n] = 0;
  *out = locale ? strtod_l(digits, NULL, locale) : strtod(digits, NULL);
  if (isinf(*out)) return st__lex_fail(p, t, "a number is too large");
  return ST_OK;
}

static bool has_any(st_token t, const char *characters) {
  for (size_t i = 0; i < t.n; i++) {
    if (strchr(characters, t.s[i])) return true;
  }
  return false;
}

static st_status parse_number(st_parser *p, number *out) {
  const bool negative = st__lex_take(p, '-');
  st_token t;
  ST_TRY(st__lex_expect(p, ST_TOK_NUMBER, &t));
  if (!has_any(t, ".eEj")) {
    out->kind = INTEGER;
    ST_TRY(parse_integer(p, t, negative, &out->i));
    out->f = (double)out->i;
    return ST_OK;
  }
  out->kind = t.s[t.n - 1] == 'j' ? IMAGINARY : REAL;
  t.n -= out->kind == IMAGINARY;
  ST_TRY(parse_real(p, t, &out->f));
  if (negative) out->f = -out->f;
  return ST_OK;
}

/* Parses "2", "1j" or the printed form of complex numbers, "2.+1.j". */
static st_status parse_complex(st_parser *p, number *n, double out[2]) {
  number imaginary = {.kind = IMAGINARY};
  ST_TRY(parse_number(p, n));
  out[0] = n->kind == IMAGINARY ? 0 : n->f;
  out[1] = n->kind == IMAGINARY ? n->f : 0;
  if (n->kind == IMAGINARY ||
      (p->cur.kind != '-' && !st__lex_take(p, '+'))) {
    return ST_OK;
  }
  const st_token at = p->cur;
  ST_TRY(parse_number(p, &imaginary));
  if (imaginary.kind != IMAGINARY) {
    return st__lex_fail(p, at, "expected an imaginary number");
  }
  n->kind = IMAGINARY;
  out[1] = imaginary.f;
  return ST_OK;
}

/* -- Strings -------------------------------------------------------------- */

static int digit_of(char c, int base) {
  const int d = c >= '0' && c <= '9' ? c - '0'
              : c >= 'a' && c <= 'f' ? c - 'a' + 10
              : c >= 'A' && c <= 'F' ? c - 'A' + 10 : base;
  return d < base ? d : -1;
}

/* Decodes the escape sequence at s, after the backslash; returns its end. */
static const char *escape(const char *s, char *out) {
  static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
  const char *known = *s ? strchr(from, *s) : NULL;
  int code = 0, n = 0;
  if (known) {
    *out = to[known - from];
    return s + 1;
  }
  const int base = *s == 'x' ? 16 : 8, most = *s == 'x' ? 2 : 3;
  const char *digits = s + (*s == 'x');
  while (n < most && digit_of(digits[n], base) >= 0) {
    code = code * base + digit_of(digits[n++], base);
  }
  if (n == 0) {
    *out = *s;
    return s + 1;
  }
  *out = (char)code;
  return digits + n;
}

static st_status parse_string(st_parser *p, st_value *out) {
  const st_token t = st__lex_next(p);
  char *text = st__arena_alloc(&p->keep, t.n, p->chunk);
  size_t n = 0;
  if (!text) return ST_NO_MEMORY;
  for (const char *s = t.s + 1; s < t.s + t.n - 1;) {
    if (*s == '\\') {
      s = escape(s + 1, &text[n++]);
    } else {
      text[n++] = *s++;
    }
  }
  *out = (st_value){.tag = ST_TAG_STRING, .len = (uint32_t)n,
                    .u.string = text};
  return ST_OK;
}

/* -- Single values -------------------------------------------------------- */

/* Named constants, each with the type that it is a default of. */
static const struct { const char *name; st_type type; int64_t value; }
constants[] = {
  {"float", ST_TYPE_DTYPE, ST_FLOAT32}, {"long", ST_TYPE_DTYPE, ST_INT64},
  {"complex", ST_TYPE_DTYPE, ST_COMPLEX64}, {"strided", ST_TYPE_LAYOUT, 0},
  {"contiguous_format", ST_TYPE_FORMAT, ST_FORMAT_CONTIGUOUS},
  {"Mean", ST_TYPE_INT, 1},
};

static bool is_value(st_type type, int64_t i) {
  switch (type) {
    case ST_TYPE_DTYPE: return st__is_tensor_dtype(i);
    case ST_TYPE_FORMAT: return i >= 0 && i < ST_FORMAT_COUNT;
    case ST_TYPE_LAYOUT: return st__is_layout(i);
    default: return true;
  }
}

/* The number of a layout of an extension. */
static bool parse_layout(st_token at, st_value *out) {
  char name[32] = {0};
  st_layout layout;
  if (at.n >= sizeof name) return false;
  memcpy(name, at.s, at.n);
  if (!st_layout_parse(name, &layout)) return false;
  *out = st__of_int(layout);
  return true;
}

static st_status parse_int_like(st_parser *p, st_type type, st_value *out) {
  const st_token at = p->cur;
  number n;
  if (at.kind == ST_TOK_IDENT) {
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
      if (constants[i].type != type) continue;
      if (!st__token_is(at, constants[i].name)) continue;
      st__lex_next(p);
      *out = st__of_int(constants[i].value);
      return ST_OK;
    }
    if (type == ST_TYPE_LAYOUT && parse_layout(at, out)) {
      st__lex_next(p);
      return ST_OK;
    }
    return st__lex_fail(p, at, "this name is not a default of this type");
  }
  ST_TRY(parse_number(p, &n));
  if (n.kind != INTEGER) return st__lex_fail(p, at, "expected an integer");
  if (!is_value(type, n.i)) {
    return st__lex_fail(p, at, "a default is out of range");
  }
  *out = st__of_int(n.i);
  return ST_OK;
}

static st_status parse_bool(st_parser *p, st_value *out) {
  if (p->cur.kind != ST_TOK_TRUE && p->cur.kind != ST_TOK_FALSE) {
    return st__lex_unexpected(p, "True or False");
  }
  *out = st__of_bool(st__lex_next(p).kind == ST_TOK_TRUE);
  return ST_OK;
}

/* Parses a float, complex or Scalar. An integer converts to float or complex;
 * there are no narrowing conversions. */
static st_status parse_any_number(st_parser *p, st_type type,
                                  st_value *out) {
  const st_token at = p->cur;
  number n;
  double c[2];
  ST_TRY(parse_complex(p, &n, c));
  if (type == ST_TYPE_FLOAT && n.kind == IMAGINARY) {
    return st__lex_fail(p, at, "expected a real number");
  }
  if (type == ST_TYPE_SCALAR && n.kind == INTEGER) {
    *out = st__of_int(n.i);
  } else if (type != ST_TYPE_COMPLEX && n.kind != IMAGINARY) {
    *out = st__of_float(n.f);
  } else {
    double *kept = st__arena_alloc(&p->keep, sizeof c, p->chunk);
    if (!kept) return ST_NO_MEMORY;
    memcpy(kept, c, sizeof c);
    *out = (st_value){.tag = ST_TAG_COMPLEX, .u.pair = kept};
  }
  return ST_OK;
}

/* Parses a device name, quoted or as printed, without quotes. */
static st_status parse_device(st_parser *p, st_value *out) {
  const st_token at = p->cur;
  char name[32] = {0};
  st_device device;
  if (at.kind != ST_TOK_STRING && at.kind != ST_TOK_IDENT) {
    return st__lex_unexpected(p, "a device");
  }
  st__lex_next(p);
  const size_t quote = at.kind == ST_TOK_STRING, n = at.n - 2 * quote;
  if (n < sizeof name) memcpy(name, at.s + quote, n);
  if (!st_device_parse(name, &device)) {
    return st__lex_fail(p, at, "there is no such device");
  }
  *out = st__of_int(device);
  return ST_OK;
}

static st_status parse_one(st_parser *p, st_type type, st_value *out) {
  switch (type) {
    case ST_TYPE_INT: case ST_TYPE_DIM: case ST_TYPE_INDEX: case ST_TYPE_END:
    case ST_TYPE_DTYPE: case ST_TYPE_LAYOUT: case ST_TYPE_FORMAT:
      return parse_int_like(p, type, out);
    case ST_TYPE_BOOL:
      return parse_bool(p, out);
    case ST_TYPE_SCALAR:
      if (p->cur.kind == ST_TOK_TRUE || p->cur.kind == ST_TOK_FALSE) {
        return parse_bool(p, out);
      }
      return parse_any_number(p, type, out);
    case ST_TYPE_FLOAT: case ST_TYPE_COMPLEX:
      return parse_any_number(p, type, out);
    case ST_TYPE_STRING:
      if (p->cur.kind != ST_TOK_STRING) {
        return st__lex_unexpected(p, "a string");
      }
      return parse_string(p, out);
    case ST_TYPE_DEVICE:
      return parse_device(p, out);
    default:
      return st__lex_unexpected(p, "None");
  }
}

/* -- Lists ---------------------------------------------------------------- */

static bool list_type(st_type type, st_tag *tag, size_t *size) {
  switch (type) {
    case ST_TYPE_INT: case ST_TYPE_DIM: case ST_TYPE_INDEX: case ST_TYPE_END:
      *tag = ST_TAG_INTS; *size = sizeof(int64_t); return true;
    case ST_TYPE_FLOAT:
      *tag = ST_TAG_FLOATS; *size = sizeof(double); return true;
    case ST_TYPE_BOOL:
      *tag = ST_TAG_BOOLS; *size = sizeof(bool); return true;
    default:
      return false;
  }
}

static void store(const st_value *v, st_tag tag, void *list, size_t i) {
  if (tag == ST_TAG_INTS) ((int64_t *)list)[i] = v->u.i;
  else if (tag == ST_TAG_FLOATS) ((double *)list)[i] = v->u.f;
  else ((bool *)list)[i] = v->u.i != 0;
}

/* Parses "[a, b]" into a list with room for MAX_LIST elements. */
static st_status bracketed(st_parser *p, const st_arg *arg, st_tag tag,
                           void *list, uint32_t *n) {
  const st_token at = p->cur;
  ST_TRY(st__lex_expect(p, '[', NULL));
  while (p->cur.kind != ']') {
    st_value v;
    if (*n == MAX_LIST) return st__lex_fail(p, at, "a list is too long");
    ST_TRY(parse_one(p, arg->type, &v));
    store(&v, tag, list, (*n)++);
    if (!st__lex_take(p, ',')) break;
    if (p->cur.kind == ']') return st__lex_unexpected(p, "a value");
  }
  ST_TRY(st__lex_expect(p, ']', NULL));
  /* int[1] accepts a list of any length: in ATen it means that a single integer
   * is accepted in place of a list. */
  if (arg->list_size > 1 && *n != 0 && *n != (uint32_t)arg->list_size) {
    return st__lex_fail(p, at, "a list has the wrong length");
  }
  return ST_OK;
}

static st_status parse_list(st_parser *p, const st_arg *arg, st_value *out) {
  st_tag tag;
  size_t size;
  uint32_t n = 0;
  if (!list_type(arg->type, &tag, &size) || arg->elem_optional) {
    return st__lex_fail(p, p->cur, "only lists of int, float and bool can "
                        "have defaults");
  }
  void *list = st__arena_alloc(&p->scratch, MAX_LIST * size, 0);
  if (!list) return ST_NO_MEMORY;
  if (p->cur.kind != '[' && arg->list_size > 0) {
    st_value v;
    if (arg->list_size > MAX_LIST) {
      return st__lex_fail(p, p->cur, "a list is too long");
    }
    ST_TRY(parse_one(p, arg->type, &v));
    while (n < (uint32_t)arg->list_size) store(&v, tag, list, n++);
  } else {
    ST_TRY(bracketed(p, arg, tag, list, &n));
  }
  void *kept = st__arena_alloc(&p->keep, n * size, p->chunk);
  if (!kept) return ST_NO_MEMORY;
  memcpy(kept, list, n * size);
  *out = (st_value){.tag = tag, .len = n, .u.ints = kept};
  return ST_OK;
}

st_status st__parse_default(st_parser *p, st_arg *arg) {
  const st_token at = p->cur;
  arg->has_default = true;
  if (st__lex_take(p, ST_TOK_NONE)) {
    arg->default_value = st__none();
    return arg->optional ? ST_OK
      : st__lex_fail(p, at, "only an optional argument can be None");
  }
  if (!arg->list) return parse_one(p, arg->type, &arg->default_value);
  if (arg->optional) {
    /* ATen's grammar has no other default for an optional list. */
    return st__lex_unexpected(p, "None");
  }
  return parse_list(p, arg, &arg->default_value);
}
