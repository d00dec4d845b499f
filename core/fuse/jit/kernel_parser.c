/* A recursive descent parser of kernel expressions.
 *
 * Note [Grammar of kernel expressions]
 * The expression of a kernel's row is compiled as C, and also kept as text for
 * this parser, with macros written out. The parser accepts the part of C for
 * which the processor has vector instructions: selections, comparisons,
 * arithmetic, casts to T and W, and a few functions. A call of a function of
 * kernel/math/functions.def becomes the operations of its body. Everything
 * else, such as calls of libm, is refused, and the kernel is called instead.
 * Constants have the dtype of the lanes; a double constant that would promote
 * float32 is refused, too.
 *
 *   body    = {["T" | "U"] name "=" choice ";"} "return" choice ";"
 *   choice  = either ["?" choice ":" choice]
 *   either  = binary operators of C by LEVELS
 *   factor  = ("-" | "!" | "~" | "(T)" | "(W)") factor | primary
 *   primary = number | name | name "(" choice {"," choice} ")"
 *           | "(" choice ")"
 */

#include "fuse/jit/kernel_parser.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "kernel/source.h"

/* A literal is kept as a number, and becomes lanes at its first use as such.
 * BITS: lanes of unsigned integers; UINT: a literal of that type. */
typedef enum term_kind {
  TERM_LANES, TERM_MASK, TERM_BITS, TERM_UINT, TERM_INT, TERM_FLOAT,
  TERM_DOUBLE
} term_kind;

typedef struct term {
  term_kind kind;
  int value;
  double number;
  uint64_t bits;
} term;

enum { NESTING = 64, NAME = ST_KERNEL_NAME, ARGS = 6, DIGITS = 15 };

typedef struct parser {
  st_vector_ir *v;
  const st_kernel_env *names;
  int base;                    /* of the body's variables, -1 in a row */
  const char *at;
  int depth;
  bool failed;
} parser;

static const term NO_TERM = {TERM_INT, 0, 0, 0};

static term fail(parser *r) {
  r->failed = true;
  return NO_TERM;
}

static term parse_ternary(parser *r);

/* -- Values --------------------------------------------------------------- */

static bool is_number(term t) { return t.kind >= TERM_INT; }

static term lanes_of(int value) { return (term){TERM_LANES, value, 0, 0}; }

static term mask_of(int value) { return (term){TERM_MASK, value, 0, 0}; }

static bool is_bits(term t) {
  return t.kind == TERM_BITS || t.kind == TERM_UINT;
}

/* A double literal fails with float32 lanes unless it is cast. */
static int to_lanes(parser *r, term t) {
  if ((t.kind == TERM_DOUBLE && r->v->width == 4) || is_bits(t)) fail(r);
  if (is_number(t)) return st__vector_float(r->v, t.number);
  return st__value_lanes(r->v, (st_vector_value){t.value, t.kind == TERM_MASK});
}

static int to_bits(parser *r, term t) {
  if (t.kind == TERM_UINT) return st__vector_bits(r->v, t.bits);
  if (t.kind != TERM_BITS) fail(r);
  return t.value;
}

static int to_mask(parser *r, term t) {
  if (is_bits(t)) fail(r);
  if (t.kind == TERM_MASK) return t.value;
  if (t.kind == TERM_LANES) {
    return st__vector_op(r->v, ST_V_COMPARE, ST_V_NE, t.value,
                         st__vector_float(r->v, 0), -1);
  }
  return st__vector_bool(r->v, t.number != 0);
}

int st__value_lanes(st_vector_ir *v, st_vector_value t) {
  if (!t.is_mask) return t.value;
  return st__vector_op(v, ST_V_AND, 0, t.value, st__vector_float(v, 1), -1);
}

static term not_term(parser *r, term t) {
  return mask_of(st__vector_op(r->v, ST_V_XOR, 0, to_mask(r, t),
                               st__vector_bool(r->v, true), -1));
}

/* -- Operators ------------------------------------------------------------ */

typedef struct operator {
  char text[3];
  uint8_t level;       /* precedence; a higher one binds tighter */
  uint8_t code, imm;
} operator;

enum { LEVELS = 10 };

/* Operators of two characters come first. */
static const operator operators[] = {
  {"||", 1, ST_V_OR, 0},          {"&&", 2, ST_V_AND, 0},
  {"==", 6, ST_V_COMPARE, ST_V_EQ}, {"!=", 6, ST_V_COMPARE, ST_V_NE},
  {"<=", 7, ST_V_COMPARE, ST_V_LE}, {">=", 7, ST_V_COMPARE, ST_V_GE},
  {"<<", 8, ST_V_SHIFT_LEFT, 0},  {">>", 8, ST_V_SHIFT_RIGHT, 0},
  {"|", 3, ST_V_OR, 0},           {"^", 4, ST_V_XOR, 0},
  {"&", 5, ST_V_AND, 0},          {"<", 7, ST_V_COMPARE, ST_V_LT},
  {">", 7, ST_V_COMPARE, ST_V_GT}, {"+", 9, ST_V_ADD, 0},
  {"-", 9, ST_V_SUB, 0},          {"*", 10, ST_V_MUL, 0},
  {"/", 10, ST_V_DIV, 0}
};

static void skip(parser *r) { while (*r->at == ' ') r->at++; }

static const operator *next_operator(parser *r) {
  skip(r);
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    const size_t n = strlen(operators[i].text);
    if (strncmp(r->at, operators[i].text, n) == 0) return &operators[i];
  }
  return NULL;
}

/* Compares bools as the numbers 0 and 1. */
static term compare_masks(parser *r, int predicate, int a, int b) {
  st_vector_ir *v = r->v;
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

/* True for a bool, and for the literals 0 and 1. */
static bool is_like_mask(term t) {
  return t.kind == TERM_MASK ||
         (t.kind == TERM_INT && (t.number == 0 || t.number == 1));
}

static term apply_to_literals(parser *r, const operator *o, term a, term b) {
  switch (o->code) {
    case ST_V_ADD: a.bits += b.bits; return a;
    case ST_V_SUB: a.bits -= b.bits; return a;
    case ST_V_MUL: a.bits *= b.bits; return a;
    default: return fail(r);
  }
}

/* An int is converted, as in C. */
static term unsigned_of(term t) {
  if (t.kind != TERM_INT) return t;
  return (term){TERM_UINT, 0, 0, (uint64_t)t.number};
}

static term apply_to_bits(parser *r, const operator *o, term a, term b) {
  int code = o->code;
  a = unsigned_of(a), b = unsigned_of(b);
  if (a.kind == TERM_UINT && b.kind == TERM_UINT) {
    return apply_to_literals(r, o, a, b);
  }
  const int x = to_bits(r, a);
  term t = {TERM_BITS, 0, 0, 0};
  switch (code) {
    case ST_V_SHIFT_LEFT: case ST_V_SHIFT_RIGHT:
      if (b.kind != TERM_UINT || b.bits >= 8u * (unsigned)r->v->width) {
        return fail(r);
      }
      t.value = st__vector_op(r->v, (st_vector_opcode)code, (int)b.bits, x, -1,
                              -1);
      return t;
    case ST_V_ADD: code = ST_V_INT_ADD; break;
    case ST_V_SUB: code = ST_V_INT_SUB; break;
    case ST_V_AND: case ST_V_OR: case ST_V_XOR:
      if (o->text[1]) return fail(r);
      break;
    default: return fail(r);
  }
  t.value = st__vector_op(r->v, (st_vector_opcode)code, 0, x, to_bits(r, b),
                          -1);
  return t;
}

static term apply(parser *r, const operator *o, term a, term b) {
  if (is_bits(a) || is_bits(b)) return apply_to_bits(r, o, a, b);
  if (o->code == ST_V_SHIFT_LEFT || o->code == ST_V_SHIFT_RIGHT) {
    return fail(r);
  }
  const bool is_logic = o->code == ST_V_AND || o->code == ST_V_OR ||
                        o->code == ST_V_XOR;
  const bool has_mask = a.kind == TERM_MASK || b.kind == TERM_MASK;
  if (is_logic) {
    const bool is_bitwise = o->text[1] == 0;
    if (is_bitwise && !(has_mask && is_like_mask(a) && is_like_mask(b))) {
      return fail(r);
    }
    return mask_of(st__vector_op(r->v, (st_vector_opcode)o->code, 0,
                                 to_mask(r, a), to_mask(r, b), -1));
  }
  if (o->code == ST_V_COMPARE) {
    if (has_mask && is_like_mask(a) && is_like_mask(b)) {
      return compare_masks(r, o->imm, to_mask(r, a), to_mask(r, b));
    }
    return mask_of(st__vector_op(r->v, ST_V_COMPARE, o->imm, to_lanes(r, a),
                                 to_lanes(r, b), -1));
  }
  /* two literals would need C's arithmetic; bools have rows of their own */
  if (is_number(a) && is_number(b)) return fail(r);
  return lanes_of(st__vector_op(r->v, (st_vector_opcode)o->code, 0,
                                to_lanes(r, a), to_lanes(r, b), -1));
}

/* -- Functions ------------------------------------------------------------ */

static int sign_bits(st_vector_ir *v) {
  return st__vector_bits(v, v->width == 4 ? 1u << 31 : 1ull << 63);
}

static term round_by(parser *r, int how, int x) {
  return lanes_of(st__vector_op(r->v, ST_V_ROUND, how, x, -1, -1));
}

static int pick(parser *r, int a, int b, int mask) {
  return st__vector_op(r->v, ST_V_SELECT, 0, a, b, mask);
}

static term call_function(parser *r, const char *name, int n,
                          const int *args);

static term call(parser *r, const char *name, int n, const term *args) {
  int x[ARGS];
  if (n == 1 && strcmp(name, "FROM_BITS") == 0) {
    return lanes_of(to_bits(r, args[0]));
  }
  for (int i = 0; i < n; i++) x[i] = to_lanes(r, args[i]);
  if (r->failed) return NO_TERM;
  if (n == 1 && strcmp(name, "BITS_OF") == 0) {
    return (term){TERM_BITS, x[0], 0, 0};
  }
  if (n == 3 && strcmp(name, "FMA") == 0) {
    return lanes_of(st__vector_op(r->v, ST_V_FMA, 0, x[0], x[1], x[2]));
  }
  if (n == 2 && strcmp(name, "LESSER") == 0) {
    return lanes_of(st__vector_op(r->v, ST_V_MIN, 0, x[0], x[1], -1));
  }
  if (n == 2 && strcmp(name, "GREATER") == 0) {
    return lanes_of(st__vector_op(r->v, ST_V_MAX, 0, x[0], x[1], -1));
  }
  if (strncmp(name, "st_", 3) == 0) return call_function(r, name + 3, n, x);
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
  return fail(r);
}

/* -- Primaries ------------------------------------------------------------ */

static bool take(parser *r, const char *text) {
  skip(r);
  const size_t n = strlen(text);
  if (strncmp(r->at, text, n) != 0) return false;
  r->at += n;
  return true;
}

static int digit_of(char c) {
  return isdigit((unsigned char)c) ? c - '0'
                                   : tolower((unsigned char)c) - 'a' + 10;
}

/* A hexadecimal literal: an unsigned integer, or a number with an exponent. */
static term hex_number(parser *r) {
  term t = {TERM_UINT, 0, 0, 0};
  int exponent = 0, n = 0;
  bool has_point = false;
  r->at += 2;
  for (; isxdigit((unsigned char)*r->at) || *r->at == '.'; r->at++) {
    if (*r->at == '.') {
      has_point = true;
      continue;
    }
    if (++n > 16) return fail(r);
    t.bits = t.bits << 4 | (uint64_t)digit_of(*r->at);
    exponent -= has_point ? 4 : 0;
  }
  if (*r->at == 'u') {
    r->at++;
    return t;
  }
  if (*r->at++ != 'p') return fail(r);
  const bool is_negative = *r->at == '-';
  int power = 0;
  for (r->at += is_negative; isdigit((unsigned char)*r->at); r->at++) {
    power = power * 10 + (*r->at - '0');
    if (power > 4096) return fail(r);
  }
  t.kind = *r->at == 'f' ? TERM_FLOAT : TERM_DOUBLE;
  r->at += *r->at == 'f';
  t.number = ldexp((double)t.bits, exponent + (is_negative ? -power : power));
  return t;
}

/* A decimal literal of at most DIGITS digits, which is exact before the
 * division by scale. strtod would depend on the locale. */
static term number(parser *r) {
  term t = {TERM_INT, 0, 0, 0};
  if (r->at[0] == '0' && r->at[1] == 'x') return hex_number(r);
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
  if (t.kind == TERM_INT && *r->at == 'u') {
    r->at++;
    return (term){TERM_UINT, 0, 0, (uint64_t)t.number};
  }
  t.number /= scale;
  if (*r->at == 'f') {
    t.kind = TERM_FLOAT;
    t.number = (float)t.number;
    r->at++;
  }
  return isalpha((unsigned char)*r->at) ? fail(r) : t;
}

static term param(parser *r, int i) {
  if (!r->names->params) {
    return r->names->has_params
           ? lanes_of(st__vector_op(r->v, ST_V_PARAM, i, -1, -1, -1)) : fail(r);
  }
  const st_scalar s = r->names->params->s[i];
  const double d = r->v->width == 4 ? (double)st__scalar_to_float(s)
                                    : st__scalar_to_double(s);
  return lanes_of(st__vector_float(r->v, d));
}

static term input(const st_vector_value *t) {
  return t->is_mask ? mask_of(t->value) : lanes_of(t->value);
}

/* The variable of that name in the body, or -1. */
static int local(const parser *r, const char *name) {
  const st_kernel_locals *f = r->names->locals;
  for (int i = r->base; i < f->n; i++) {
    if (strcmp(f->at[i].name, name) == 0) return i;
  }
  return -1;
}

static term named(parser *r, const char *name) {
  const st_kernel_env *s = r->names;
  if (strcmp(name, "NAN") == 0) return (term){TERM_FLOAT, 0, NAN, 0};
  if (strcmp(name, "INFINITY") == 0) return (term){TERM_FLOAT, 0, INFINITY, 0};
  if (r->base >= 0) {
    const int i = local(r, name);
    if (i < 0) return fail(r);
    return (term){s->locals->at[i].is_bits ? TERM_BITS : TERM_LANES,
                  s->locals->at[i].value, 0, 0};
  }
  if (strcmp(name, "mask") == 0 && s->has_mask) return input(&s->mask);
  if (name[0] == 'p' && name[1] >= '0' && name[1] <= '2' && !name[2]) {
    return param(r, name[1] - '0');
  }
  if (name[1] || name[0] < 'a' || name[0] >= 'a' + s->n) return fail(r);
  return input(&s->inputs[name[0] - 'a']);
}

static bool take_name(parser *r, char *name) {
  int n = 0;
  skip(r);
  for (; isalnum((unsigned char)*r->at) || *r->at == '_'; r->at++) {
    if (n + 1 == NAME) break;
    name[n++] = *r->at;
  }
  name[n] = 0;
  if (n == 0 || n + 1 == NAME) fail(r);
  return !r->failed;
}

static term parse_word(parser *r) {
  char name[NAME];
  term args[ARGS];
  int n = 0;
  if (!take_name(r, name)) return NO_TERM;
  if (!take(r, "(")) return named(r, name);
  do {
    if (n == ARGS) return fail(r);
    args[n++] = parse_ternary(r);
  } while (!r->failed && take(r, ","));
  if (r->failed || !take(r, ")")) return fail(r);
  return call(r, name, n, args);
}

static term cast(parser *r, term t) {
  if (!is_number(t)) return lanes_of(to_lanes(r, t));
  return lanes_of(st__vector_float(r->v, t.number));
}

static term negative(parser *r, term t) {
  if (is_number(t)) return (term){t.kind, 0, -t.number, 0};
  return lanes_of(st__vector_op(r->v, ST_V_XOR, 0, to_lanes(r, t),
                                sign_bits(r->v), -1));
}

static term parse_unary(parser *r) {
  if (r->failed || ++r->depth > NESTING) return fail(r);
  term t;
  skip(r);
  if (take(r, "(T)") || take(r, "(W)")) {
    t = cast(r, parse_unary(r));
  } else if (take(r, "-")) {
    t = negative(r, parse_unary(r));
  } else if (take(r, "!")) {
    t = not_term(r, parse_unary(r));
  } else if (take(r, "(")) {
    t = parse_ternary(r);
    if (!r->failed && !take(r, ")")) t = fail(r);
  } else if (isdigit((unsigned char)*r->at) || *r->at == '.') {
    t = number(r);
  } else {
    t = parse_word(r);
  }
  r->depth--;
  return t;
}

/* -- Expressions ---------------------------------------------------------- */

static term parse_binary(parser *r, int level) {
  if (level > LEVELS) return parse_unary(r);
  term a = parse_binary(r, level + 1);
  for (;;) {
    const operator *o = r->failed ? NULL : next_operator(r);
    if (!o || o->level != level) return a;
    r->at += strlen(o->text);
    const term b = parse_binary(r, level + 1);
    if (r->failed) return a;
    a = apply(r, o, a, b);
  }
}

static term parse_ternary(parser *r) {
  if (r->failed || ++r->depth > NESTING) return fail(r);
  const term t = parse_binary(r, 1);
  r->depth--;
  if (r->failed || !take(r, "?")) return t;
  const term a = parse_ternary(r);
  if (r->failed || !take(r, ":")) return fail(r);
  const term b = parse_ternary(r);
  if (r->failed) return b;
  const int mask = to_mask(r, t);
  if (is_like_mask(a) && is_like_mask(b) &&
      (a.kind == TERM_MASK || b.kind == TERM_MASK)) {
    return mask_of(pick(r, to_mask(r, a), to_mask(r, b), mask));
  }
  return lanes_of(pick(r, to_lanes(r, a), to_lanes(r, b), mask));
}

/* -- Functions of kernel/math --------------------------------------------- */

static void set_local(parser *r, const char *name, term t) {
  st_kernel_locals *f = r->names->locals;
  int i = local(r, name);
  if (i < 0 && f->n == ST_KERNEL_LOCALS) {
    fail(r);
    return;
  }
  if (i < 0) strcpy(f->at[i = f->n++].name, name);
  f->at[i].value = t.value;
  f->at[i].is_bits = t.kind == TERM_BITS;
}

/* Parameters: "(T x, T y)". */
static void set_parameters(parser *r, int n, const int *args) {
  char name[NAME];
  for (int i = 0; i < n && !r->failed; i++) {
    if (!take(r, i ? "," : "(") || !take(r, "T ") || !take_name(r, name)) {
      fail(r);
      return;
    }
    set_local(r, name, lanes_of(args[i]));
  }
  if (!take(r, ")")) fail(r);
}

/* A declaration, an assignment or a return. True after a return. */
static bool parse_statement(parser *r, term *result) {
  char name[NAME];
  const bool is_new_bits = take(r, "U ");
  if (!is_new_bits) take(r, "T ");
  if (!take_name(r, name)) return true;
  const bool is_return = strcmp(name, "return") == 0;
  if (!is_return && !take(r, "=")) {
    fail(r);
    return true;
  }
  term t = parse_ternary(r);
  if (r->failed || !take(r, ";")) {
    fail(r);
    return true;
  }
  if (is_new_bits) t = (term){TERM_BITS, to_bits(r, t), 0, 0};
  else t = lanes_of(to_lanes(r, t));
  if (is_return) *result = t;
  else set_local(r, name, t);
  return is_return || r->failed;
}

static term call_function(parser *r, const char *name, int n,
                          const int *args) {
  const st_function_source *f = st__function_source(name, r->v->width);
  const int depth = r->depth, base = r->base;
  const char *at = r->at;
  term result = NO_TERM;
  if (!f || ++r->depth > NESTING) return fail(r);
  r->base = r->names->locals->n;
  r->at = f->parameters;
  set_parameters(r, n, args);
  r->at = f->body;
  while (!r->failed && !parse_statement(r, &result)) continue;
  r->names->locals->n = r->base;
  r->base = base;
  r->at = at;
  r->depth = depth;
  return result;
}

bool st__parse_kernel(st_vector_ir *v, const char *text,
                      const st_kernel_env *names, st_vector_value *out) {
  parser r = {v, names, -1, text, 0, false};
  names->locals->n = 0;
  const int before = v->n;
  const term t = parse_ternary(&r);
  skip(&r);
  if (!r.failed && *r.at == 0 && !v->is_full) {
    out->is_mask = t.kind == TERM_MASK;
    out->value = out->is_mask ? t.value : to_lanes(&r, t);
    if (!r.failed && !v->is_full) return true;
  }
  v->n = before;
  return false;
}
