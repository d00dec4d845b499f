/* Reading the expressions of kernels.
 *
 * Note [Formulas]
 * The row of a kernel is C for the compiler and a text for this reader, which
 * knows as much of C as those rows need whose operations a processor has for
 * vectors: selections, comparisons, arithmetic, casts to T and W, and a few
 * functions. Whatever else a row says, calls of vector maths above all, is
 * refused, and its loop is called. Constants are those of the lanes; a double
 * that would turn a float32 into one is refused, too.
 *
 *   choice  = either ["?" choice ":" choice]
 *   either  = binary operators of C by LEVELS
 *   factor  = ("-" | "!" | "~" | "(T)" | "(W)") factor | primary
 *   primary = number | name | name "(" choice {"," choice} ")"
 *           | "(" choice ")"
 */

#include "fuse/formula.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* A literal is a number until somebody needs lanes of it. */
typedef enum term_kind {
  TERM_LANES, TERM_MASK, TERM_INT, TERM_FLOAT, TERM_DOUBLE
} term_kind;

typedef struct term {
  term_kind kind;
  int value;
  double number;
} term;

typedef struct reader {
  st_vector *v;
  const st_names *names;
  const char *at;
  int depth;
  bool failed;
} reader;

enum { NESTING = 64, NAME = 16, ARGS = 4, DIGITS = 15 };

static const term NOTHING = {TERM_INT, 0, 0};

static term fail(reader *r) { return r->failed = true, NOTHING; }

static term choice(reader *r);

/* -- Values --------------------------------------------------------------- */

static bool is_number(term t) { return t.kind >= TERM_INT; }

static term lanes_of(int value) { return (term){TERM_LANES, value, 0}; }

static term mask_of(int value) { return (term){TERM_MASK, value, 0}; }

/* A double does not fit float32 unless a cast says so. */
static int to_lanes(reader *r, term t) {
  if (t.kind == TERM_DOUBLE && r->v->width == 4) fail(r);
  if (is_number(t)) return st__vector_number(r->v, t.number);
  return st__formula_lanes(r->v, (st_term){t.value, t.kind == TERM_MASK});
}

static int to_mask(reader *r, term t) {
  if (t.kind == TERM_MASK) return t.value;
  if (t.kind == TERM_LANES) {
    return st__vector_op(r->v, ST_V_COMPARE, ST_V_NE, t.value,
                         st__vector_number(r->v, 0), -1);
  }
  return st__vector_bool(r->v, t.number != 0);
}

int st__formula_lanes(st_vector *v, st_term t) {
  if (!t.is_mask) return t.value;
  return st__vector_op(v, ST_V_AND, 0, t.value, st__vector_number(v, 1), -1);
}

static term not_term(reader *r, term t) {
  return mask_of(st__vector_op(r->v, ST_V_XOR, 0, to_mask(r, t),
                               st__vector_bool(r->v, true), -1));
}

/* -- Operators ------------------------------------------------------------ */

typedef struct operator {
  char text[3];
  uint8_t level;       /* the higher, the closer */
  uint8_t code, imm;
} operator;

enum { LEVELS = 9 };

/* Two characters before one. */
static const operator operators[] = {
  {"||", 1, ST_V_OR, 0},          {"&&", 2, ST_V_AND, 0},
  {"==", 6, ST_V_COMPARE, ST_V_EQ}, {"!=", 6, ST_V_COMPARE, ST_V_NE},
  {"<=", 7, ST_V_COMPARE, ST_V_LE}, {">=", 7, ST_V_COMPARE, ST_V_GE},
  {"<<", 0, 0, 0},                {">>", 0, 0, 0},
  {"|", 3, ST_V_OR, 0},           {"^", 4, ST_V_XOR, 0},
  {"&", 5, ST_V_AND, 0},          {"<", 7, ST_V_COMPARE, ST_V_LT},
  {">", 7, ST_V_COMPARE, ST_V_GT}, {"+", 8, ST_V_ADD, 0},
  {"-", 8, ST_V_SUB, 0},          {"*", 9, ST_V_MUL, 0},
  {"/", 9, ST_V_DIV, 0}
};

static void skip(reader *r) { while (*r->at == ' ') r->at++; }

static const operator *next_operator(reader *r) {
  skip(r);
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    const size_t n = strlen(operators[i].text);
    if (strncmp(r->at, operators[i].text, n) == 0) return &operators[i];
  }
  return NULL;
}

/* Of bools as the numbers 0 and 1. */
static term compare_masks(reader *r, int predicate, int a, int b) {
  st_vector *v = r->v;
  const int all = st__vector_bool(v, true);
  switch (predicate) {
    case ST_V_NE: return mask_of(st__vector_op(v, ST_V_XOR, 0, a, b, -1));
    case ST_V_EQ:
      return not_term(r, mask_of(st__vector_op(v, ST_V_XOR, 0, a, b, -1)));
    case ST_V_LT: return mask_of(st__vector_op(v, ST_V_AND_NOT, 0, a, b, -1));
    case ST_V_GT: return mask_of(st__vector_op(v, ST_V_AND_NOT, 0, b, a, -1));
    case ST_V_LE:
      a = st__vector_op(v, ST_V_XOR, 0, a, all, -1);
      return mask_of(st__vector_op(v, ST_V_OR, 0, a, b, -1));
    default:
      b = st__vector_op(v, ST_V_XOR, 0, b, all, -1);
      return mask_of(st__vector_op(v, ST_V_OR, 0, a, b, -1));
  }
}

/* Is t a bool, or the number 0 or 1 beside one? */
static bool is_like_mask(term t) {
  return t.kind == TERM_MASK ||
         (t.kind == TERM_INT && (t.number == 0 || t.number == 1));
}

static term apply(reader *r, const operator *o, term a, term b) {
  const bool is_logic = o->code == ST_V_AND || o->code == ST_V_OR ||
                        o->code == ST_V_XOR;
  const bool has_mask = a.kind == TERM_MASK || b.kind == TERM_MASK;
  if (is_logic) {
    const bool is_bitwise = o->text[1] == 0;
    if (is_bitwise && !(has_mask && is_like_mask(a) && is_like_mask(b))) {
      return fail(r);
    }
    return mask_of(st__vector_op(r->v, (st_vector_code)o->code, 0,
                                 to_mask(r, a), to_mask(r, b), -1));
  }
  if (o->code == ST_V_COMPARE) {
    if (has_mask && is_like_mask(a) && is_like_mask(b)) {
      return compare_masks(r, o->imm, to_mask(r, a), to_mask(r, b));
    }
    return mask_of(st__vector_op(r->v, ST_V_COMPARE, o->imm, to_lanes(r, a),
                                 to_lanes(r, b), -1));
  }
  /* integers divide otherwise, bools are kept by their own rows */
  if (is_number(a) && is_number(b)) return fail(r);
  return lanes_of(st__vector_op(r->v, (st_vector_code)o->code, 0,
                                to_lanes(r, a), to_lanes(r, b), -1));
}

/* -- Functions ------------------------------------------------------------ */

static int sign_bits(st_vector *v) {
  return st__vector_bits(v, v->width == 4 ? 1u << 31 : 1ull << 63);
}

static term round_by(reader *r, int how, int x) {
  return lanes_of(st__vector_op(r->v, ST_V_ROUND, how, x, -1, -1));
}

static int compare(reader *r, int predicate, int a, int b) {
  return st__vector_op(r->v, ST_V_COMPARE, predicate, a, b, -1);
}

static int pick(reader *r, int a, int b, int mask) {
  return st__vector_op(r->v, ST_V_SELECT, 0, a, b, mask);
}

/* As CLAMP of ternary.c. */
static term clamp(reader *r, int x, int low, int high) {
  int y = pick(r, x, low, compare(r, ST_V_GT, x, low));
  y = pick(r, y, high, compare(r, ST_V_LT, y, high));
  y = pick(r, low, y, compare(r, ST_V_NE, low, low));
  return lanes_of(pick(r, x, y, compare(r, ST_V_NE, x, x)));
}

/* As LERP of ternary.c. */
static term lerp(reader *r, int x, int y, int w, int size) {
  st_vector *v = r->v;
  const int span = st__vector_op(v, ST_V_SUB, 0, y, x, -1);
  const int rest = st__vector_op(v, ST_V_SUB, 0, st__vector_number(v, 1), w,
                                 -1);
  const int from = st__vector_op(v, ST_V_ADD, 0, x,
                                 st__vector_op(v, ST_V_MUL, 0, w, span, -1),
                                 -1);
  const int to = st__vector_op(v, ST_V_SUB, 0, y,
                               st__vector_op(v, ST_V_MUL, 0, span, rest, -1),
                               -1);
  const int half = st__vector_number(v, 0.5);
  return lanes_of(pick(r, from, to, compare(r, ST_V_LT, size, half)));
}

static term call(reader *r, const char *name, int n, const term *args) {
  int x[ARGS];
  for (int i = 0; i < n; i++) x[i] = to_lanes(r, args[i]);
  if (n == 1 && strcmp(name, "fabs") == 0) {
    return lanes_of(st__vector_op(r->v, ST_V_AND_NOT, 0, sign_bits(r->v),
                                  x[0], -1));
  }
  if (n == 1 && strcmp(name, "sqrt") == 0) {
    return lanes_of(st__vector_op(r->v, ST_V_SQRT, 0, x[0], -1, -1));
  }
  if (n == 1 && strcmp(name, "floor") == 0) {
    return round_by(r, ST_V_FLOOR, x[0]);
  }
  if (n == 1 && strcmp(name, "ceil") == 0) return round_by(r, ST_V_CEIL, x[0]);
  if (n == 1 && strcmp(name, "rint") == 0) return round_by(r, ST_V_EVEN, x[0]);
  if (n == 1 && strcmp(name, "trunc") == 0) {
    return round_by(r, ST_V_TRUNC, x[0]);
  }
  if (n == 2 && strcmp(name, "copysign") == 0) {
    const int sign = sign_bits(r->v);
    const int size = st__vector_op(r->v, ST_V_AND_NOT, 0, sign, x[0], -1);
    const int own = st__vector_op(r->v, ST_V_AND, 0, sign, x[1], -1);
    return lanes_of(st__vector_op(r->v, ST_V_OR, 0, size, own, -1));
  }
  if (n == 3 && strcmp(name, "CLAMP") == 0) {
    return clamp(r, x[0], x[1], x[2]);
  }
  if (n == 4 && strcmp(name, "LERP") == 0) {
    return lerp(r, x[0], x[1], x[2], x[3]);
  }
  return fail(r);
}

/* -- Primaries ------------------------------------------------------------ */

static bool take(reader *r, const char *text) {
  skip(r);
  const size_t n = strlen(text);
  if (strncmp(r->at, text, n) != 0) return false;
  r->at += n;
  return true;
}

/* Digits and a point, as few as make numbers that are exact until they are
 * divided; strtod would ask the locale for the point. */
static term number(reader *r) {
  term t = {TERM_INT, 0, 0};
  double scale = 1;
  int n = 0;
  for (; isdigit((unsigned char)*r->at) || *r->at == '.'; r->at++) {
    if (*r->at == '.') {
      t.kind = TERM_DOUBLE;
      continue;
    }
    t.number = t.number * 10 + (*r->at - '0');
    if (t.kind == TERM_DOUBLE) scale *= 10;
    if (++n > DIGITS) return fail(r);
  }
  t.number /= scale;
  if (*r->at == 'f') {
    t.kind = TERM_FLOAT;
    t.number = (float)t.number;
    r->at++;
  }
  return isalpha((unsigned char)*r->at) ? fail(r) : t;
}

static term param(reader *r, int i) {
  if (!r->names->params) return fail(r);
  const st_scalar s = r->names->params->s[i];
  const double d = r->v->width == 4 ? (double)st__scalar_to_float(s)
                                    : st__scalar_to_double(s);
  return lanes_of(st__vector_number(r->v, d));
}

static term input(const st_term *t) {
  return t->is_mask ? mask_of(t->value) : lanes_of(t->value);
}

static term named(reader *r, const char *name) {
  const st_names *s = r->names;
  if (strcmp(name, "mask") == 0 && s->has_mask) return input(&s->mask);
  if (strcmp(name, "INFINITY") == 0) return (term){TERM_FLOAT, 0, INFINITY};
  if (name[0] == 'p' && name[1] >= '0' && name[1] <= '2' && !name[2]) {
    return param(r, name[1] - '0');
  }
  if (name[1] || name[0] < 'a' || name[0] >= 'a' + s->n) return fail(r);
  return input(&s->inputs[name[0] - 'a']);
}

static term word(reader *r) {
  char name[NAME];
  term args[ARGS];
  int n = 0;
  for (; isalnum((unsigned char)*r->at) || *r->at == '_'; r->at++) {
    if (n + 1 == NAME) return fail(r);
    name[n++] = *r->at;
  }
  name[n] = 0;
  if (n == 0) return fail(r);
  if (!take(r, "(")) return named(r, name);
  n = 0;
  do {
    if (n == ARGS) return fail(r);
    args[n++] = choice(r);
  } while (!r->failed && take(r, ","));
  if (r->failed || !take(r, ")")) return fail(r);
  return call(r, name, n, args);
}

static term cast(reader *r, term t) {
  if (!is_number(t)) return lanes_of(to_lanes(r, t));
  return lanes_of(st__vector_number(r->v, t.number));
}

static term negative(reader *r, term t) {
  if (is_number(t)) return (term){t.kind, 0, -t.number};
  return lanes_of(st__vector_op(r->v, ST_V_XOR, 0, to_lanes(r, t),
                                sign_bits(r->v), -1));
}

static term factor(reader *r) {
  if (r->failed || ++r->depth > NESTING) return fail(r);
  term t;
  skip(r);
  if (take(r, "(T)") || take(r, "(W)")) {
    t = cast(r, factor(r));
  } else if (take(r, "-")) {
    t = negative(r, factor(r));
  } else if (take(r, "!")) {
    t = not_term(r, factor(r));
  } else if (take(r, "(")) {
    t = choice(r);
    if (!r->failed && !take(r, ")")) t = fail(r);
  } else if (isdigit((unsigned char)*r->at) || *r->at == '.') {
    t = number(r);
  } else {
    t = word(r);
  }
  r->depth--;
  return t;
}

/* -- Expressions ---------------------------------------------------------- */

static term binary(reader *r, int level) {
  if (level > LEVELS) return factor(r);
  term a = binary(r, level + 1);
  for (;;) {
    const operator *o = r->failed ? NULL : next_operator(r);
    if (!o || o->level != level) return a;
    r->at += strlen(o->text);
    const term b = binary(r, level + 1);
    if (r->failed) return a;
    a = apply(r, o, a, b);
  }
}

static term choice(reader *r) {
  if (r->failed || ++r->depth > NESTING) return fail(r);
  const term t = binary(r, 1);
  r->depth--;
  if (r->failed || !take(r, "?")) return t;
  const term a = choice(r);
  if (r->failed || !take(r, ":")) return fail(r);
  const term b = choice(r);
  if (r->failed) return b;
  const int mask = to_mask(r, t);
  if (is_like_mask(a) && is_like_mask(b) &&
      (a.kind == TERM_MASK || b.kind == TERM_MASK)) {
    return mask_of(pick(r, to_mask(r, a), to_mask(r, b), mask));
  }
  return lanes_of(pick(r, to_lanes(r, a), to_lanes(r, b), mask));
}

bool st__formula(st_vector *v, const char *text, const st_names *names,
                 st_term *out) {
  reader r = {v, names, text, 0, false};
  const int before = v->n;
  const term t = choice(&r);
  skip(&r);
  if (!r.failed && *r.at == 0 && !v->is_full) {
    out->is_mask = t.kind == TERM_MASK;
    out->value = out->is_mask ? t.value : to_lanes(&r, t);
    if (!r.failed && !v->is_full) return true;
  }
  v->n = before;
  return false;
}
