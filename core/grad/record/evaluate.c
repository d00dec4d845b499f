/* Evaluation of formulas. Operators are called through the dispatcher, so that
 * derivatives are differentiable.
 */

#include <string.h>

#include "grad/record/rule.h"
#include "op/row/composite.h"

enum { MOST_VALUES = 160 };

typedef struct frame {
  const st_formula *f;
  st_rule_node *rec;
  st_tensor *const *grads;
  int n;
  st_value owned[MOST_VALUES];
} frame;

/* -- Values --------------------------------------------------------------- */

/* Moves v into the frame, which owns it. If this fails, v is released. */
static st_status keep(frame *f, st_value v, st_helper_arg *out) {
  if (f->n == MOST_VALUES) {
    st__value_clear(&v);
    return st__fail(ST_BAD_STATE, "%s: the derivative has more than %d "
                    "intermediate values", f->rec->node.name, MOST_VALUES);
  }
  f->owned[f->n++] = v;
  *out = (st_helper_arg){.value = v};
  return ST_OK;
}

static st_status keep_scalar(frame *f, st_scalar s, st_helper_arg *out) {
  const st_value v = st__of_scalar(&s);
  st_value copy;
  ST_TRY(st__value_copy(&v, &copy));
  return keep(f, copy, out);
}

static st_status call(frame *f, st_op_id id, int n, const st_value *args,
                      st_helper_arg *out) {
  st_value ret;
  ST_TRY(st__invoke(id, n, args, &ret));
  return keep(f, ret, out);
}

/* -- Variables ------------------------------------------------------------ */

static st_status unpack_saved(frame *f, const st_saved *s, const char *name,
                              st_helper_arg *out) {
  st_value v;
  ST_TRY(st__saved_unpack(s, &f->rec->node, name, &v));
  return keep(f, v, out);
}

static st_status geometry(const st_saved *s, st_helper_arg *out) {
  *out = (st_helper_arg){.value = s->value, .geometry = s->geometry,
                         .list = s->list};
  if (s->list) out->value = (st_value){.tag = ST_TAG_NONE,
                                       .len = s->value.len};
  return ST_OK;
}

static st_status read_arg(frame *f, const st_expr *t, st_helper_arg *out) {
  const st_rule *r = f->rec->rule;
  if (t->is_shape) {
    return geometry(&f->rec->arg_shapes[st__rank(r->arg_shapes, t->at)], out);
  }
  const st_saved *s = &f->rec->args[st__rank(r->args, t->at)];
  if (t->may_be_written && st__saved_is_written(s)) {
    *out = (st_helper_arg){.value = st__none()};
    return ST_OK;
  }
  return unpack_saved(f, s, r->schema->args[t->at].name, out);
}

static st_status read_result(frame *f, const st_expr *t, st_helper_arg *out) {
  const st_rule *r = f->rec->rule;
  if (t->is_shape) {
    return geometry(&f->rec->result_shapes[st__rank(r->result_shapes,
                                                    t->at)], out);
  }
  return unpack_saved(f, &f->rec->results[st__rank(r->results, t->at)],
                      "result", out);
}

/* Zeros for an undefined gradient. */
static st_status make_zero(const st_input_metadata *m, st_tensor **out) {
  return st__invoke1(
    ST_OP_zeros,
    ST_VALUES(st__of_ints(m->sizes, m->ndim), m->dtype, st__none(), m->device),
    out);
}

static st_status read_grad(frame *f, int i, st_helper_arg *out) {
  st_tensor *zero;
  *out = (st_helper_arg){.value = st__of_tensor(f->grads[i])};
  if (f->grads[i]) return ST_OK;
  ST_TRY(make_zero(&f->rec->node.results[i], &zero));
  return keep(f, st__of_tensor(zero), out);
}

static st_status read_grads(frame *f, st_helper_arg *out) {
  const int n = f->rec->node.nresults;
  st_value v;
  ST_TRY(st__value_new_tensors(n, &v));
  ST_TRY(keep(f, v, out));
  for (int i = 0; i < n; i++) {
    if (f->grads[i]) st__tensor_retain(v.u.tensors[i] = f->grads[i]);
    else ST_TRY(make_zero(&f->rec->node.results[i], &v.u.tensors[i]));
  }
  return ST_OK;
}

static st_status read_name(frame *f, const st_expr *t, st_helper_arg *out) {
  switch (t->var) {
    case ST_VAR_ARG: return read_arg(f, t, out);
    case ST_VAR_RESULT: return read_result(f, t, out);
    case ST_VAR_GRAD: return read_grad(f, t->at, out);
    default: return read_grads(f, out);
  }
}

/* -- Arithmetic ----------------------------------------------------------- */

static st_status bad_operand(const frame *f) {
  return st__fail(ST_BAD_TYPE, "%s: an operand in the derivative is neither a "
                  "tensor nor a number", f->rec->node.name);
}

static double real_of(st_scalar s) { return st__scalar_to_double(s); }

static double imag_of(st_scalar s) {
  return s.kind == ST_SCALAR_COMPLEX ? s.u.c[1] : 0;
}

static st_scalar compare(int op, double a, double b) {
  return st__scalar_bool(op == '<' ? a < b : op == '>' ? a > b
                         : op == 'l' ? a <= b : a >= b);
}

static st_scalar complex_arithmetic(int op, st_scalar x, st_scalar y) {
  const double a = real_of(x), b = imag_of(x), c = real_of(y),
               d = imag_of(y), n = c * c + d * d;
  switch (op) {
    case '+': return st__scalar_complex(a + c, b + d);
    case '-': return st__scalar_complex(a - c, b - d);
    case '*': return st__scalar_complex(a * c - b * d, a * d + b * c);
    default:
      return st__scalar_complex((a * c + b * d) / n, (b * c - a * d) / n);
  }
}

static st_scalar arithmetic(int op, st_scalar x, st_scalar y) {
  const double a = real_of(x), b = real_of(y);
  const bool differ = a != b || imag_of(x) != imag_of(y);
  if (op == '=' || op == '!') return st__scalar_bool(differ == (op == '!'));
  const bool is_whole = x.kind <= ST_SCALAR_INT && y.kind <= ST_SCALAR_INT;
  if (strchr("<>lg", op)) return compare(op, a, b);
  if (x.kind == ST_SCALAR_COMPLEX || y.kind == ST_SCALAR_COMPLEX) {
    return complex_arithmetic(op, x, y);
  }
  if (is_whole && op != '/') {
    const uint64_t i = (uint64_t)x.u.i, j = (uint64_t)y.u.i;
    return st__scalar_int((int64_t)(op == '+' ? i + j : op == '-' ? i - j
                                                                  : i * j));
  }
  return st__scalar_float(op == '+' ? a + b : op == '-' ? a - b
                          : op == '*' ? a * b : a / b);
}

/* The operator of an operation on a tensor, and a tensor or a number. */
static st_op_id overload(int op, bool is_number) {
  static const struct { char op; st_op_id tensor, number; } rows[] = {
#define ROW(op, name) {op, ST_OP_##name##_Tensor, ST_OP_##name##_Scalar}
    ROW('+', add), ROW('-', sub), ROW('*', mul), ROW('/', div), ROW('<', lt),
    ROW('>', gt), ROW('l', le), ROW('g', ge), ROW('=', eq), ROW('!', ne)};
  int i = 0;
  while (rows[i].op != op) i++;
  return is_number ? rows[i].number : rows[i].tensor;
}

/* scalar op tensor, by an operator that takes the tensor first. */
static st_status reversed(frame *f, int op, const st_value *number,
                          const st_value *tensor, st_helper_arg *out) {
  static const char from[] = "<>lg", to[] = "><gl";
  const st_value args[] = {*tensor, *number};
  const char *mirror = strchr(from, op);
  if (op == '-') return call(f, ST_OP_rsub_Scalar, 2, args, out);
  if (op != '/') {
    return call(f, overload(mirror ? to[mirror - from] : op, true), 2, args,
                out);
  }
  ST_TRY(call(f, ST_OP_reciprocal, 1, args, out));
  const st_value scaled[] = {out->value, *number};
  const st_scalar s = st__scalar_of(number);
  if (real_of(s) == 1 && imag_of(s) == 0) return ST_OK;
  return call(f, ST_OP_mul_Scalar, 2, scaled, out);
}

static st_status evaluate(frame *f, const st_expr *t, st_helper_arg *out);

/* True if t reads gradients and all of them are undefined, so that its value
 * is 0. */
static bool is_missing(const frame *f, const st_expr *t) {
  for (uint64_t rest = t->grads; rest; rest &= rest - 1) {
    if (f->grads[__builtin_ctzll(rest)]) return false;
  }
  return t->grads != 0;
}

static st_status binary(frame *f, const st_expr *t, st_helper_arg *out) {
  st_helper_arg a, b;
  if (t->op == '+' && is_missing(f, t->children[0])) {
    return evaluate(f, t->children[1], out);
  }
  if ((t->op == '+' || t->op == '-') && is_missing(f, t->children[1])) {
    return evaluate(f, t->children[0], out);
  }
  ST_TRY(evaluate(f, t->children[0], &a));
  ST_TRY(evaluate(f, t->children[1], &b));
  const st_value args[] = {a.value, b.value};
  const bool first = a.value.tag == ST_TAG_TENSOR,
             second = b.value.tag == ST_TAG_TENSOR;
  if ((!first && !st__is_number(&a.value)) ||
      (!second && !st__is_number(&b.value))) {
    return bad_operand(f);
  }
  if (first) return call(f, overload(t->op, !second), 2, args, out);
  if (second) return reversed(f, t->op, &a.value, &b.value, out);
  return keep_scalar(f, arithmetic(t->op, st__scalar_of(&a.value),
                                   st__scalar_of(&b.value)), out);
}

static st_status negative(frame *f, const st_expr *t, st_helper_arg *out) {
  st_helper_arg a;
  ST_TRY(evaluate(f, t->children[0], &a));
  if (a.value.tag == ST_TAG_TENSOR) {
    return call(f, ST_OP_neg, 1, &a.value, out);
  }
  if (!st__is_number(&a.value)) return bad_operand(f);
  return keep_scalar(f, arithmetic('-', st__scalar_int(0),
                                   st__scalar_of(&a.value)), out);
}

static st_status choice(frame *f, const st_expr *t, st_helper_arg *out) {
  st_helper_arg c;
  ST_TRY(evaluate(f, t->children[0], &c));
  const bool is_text = c.value.tag == ST_TAG_STRING;
  const bool is_none = c.value.tag == ST_TAG_NONE;
  if (!is_text && !is_none && !st__is_number(&c.value)) return bad_operand(f);
  const bool yes = is_text ||
                   (!is_none && real_of(st__scalar_of(&c.value)) != 0);
  return evaluate(f, t->children[yes ? 1 : 2], out);
}

/* -- Lists ---------------------------------------------------------------- */

static st_status int_list(frame *f, int n, const st_helper_arg *items,
                          st_helper_arg *out) {
  st_value v;
  int64_t numbers[ST_EXPR_CHILDREN];
  for (int i = 0; i < n; i++) numbers[i] = items[i].value.u.i;
  const st_value borrowed = st__of_ints(numbers, n);
  ST_TRY(st__value_copy(&borrowed, &v));
  return keep(f, v, out);
}

static st_status list(frame *f, const st_expr *t, st_helper_arg *out) {
  st_helper_arg items[ST_EXPR_CHILDREN];
  st_tensor *tensors[ST_EXPR_CHILDREN] = {NULL};
  st_value v;
  int nints = 0;
  for (int i = 0; i < t->nchildren; i++) {
    ST_TRY(evaluate(f, t->children[i], &items[i]));
    tensors[i] = st__to_tensor(&items[i].value);
    nints += items[i].value.tag == ST_TAG_INT;
  }
  if (nints == t->nchildren) return int_list(f, nints, items, out);
  const st_value borrowed = st__of_tensors(tensors, t->nchildren);
  ST_TRY(st__value_copy(&borrowed, &v));
  return keep(f, v, out);
}

/* -- Calls ---------------------------------------------------------------- */

/* Puts the arguments in the order of op's schema and adds the defaults; false
 * if they do not match it. */
static bool bind_args(const st_op *op, const st_expr *t,
                      const st_helper_arg *given, st_value *all) {
  const st_schema *s = st__op_schema(op);
  uint64_t filled = 0;
  if (!s || t->nchildren > s->nargs) return false;
  for (int i = 0; i < t->nchildren; i++) {
    const int at = t->keywords[i] ? st__schema_arg(s, t->keywords[i]) : i;
    if (at < 0 || filled >> at & 1) return false;
    all[at] = given[i].value;
    filled |= (uint64_t)1 << at;
  }
  for (int i = 0; i < s->nargs; i++) {
    if (filled >> i & 1) continue;
    if (!s->args[i].has_default) return false;
    all[i] = s->args[i].default_value;
  }
  return true;
}

static bool matches(const st_op *op, const st_expr *t,
                    const st_helper_arg *given, st_value *all) {
  const st_schema *s;
  return bind_args(op, t, given, all) &&
         st__check_args(op, NULL, all, &s) == ST_OK;
}

static st_status call_found(frame *f, const st_op *op, const st_value *all,
                            st_helper_arg *out) {
  st_value rets[ST_MAX_ARGS], listed;
  const int n = st__op_schema(op)->nrets;
  ST_TRY(st__call(op, all, rets));
  if (n == 1) return keep(f, rets[0], out);
  const st_status status = st__value_new_tensors(n, &listed);
  for (int i = 0; i < n; i++) {
    if (status == ST_OK && rets[i].tag == ST_TAG_TENSOR) {
      listed.u.tensors[i] = rets[i].u.tensor;
    } else {
      st__value_clear(&rets[i]);
    }
  }
  ST_TRY(status);
  return keep(f, listed, out);
}

static st_status call_operator(frame *f, const st_expr *t, st_helper_arg *out) {
  st_helper_arg given[ST_EXPR_CHILDREN];
  st_value all[ST_MAX_ARGS];
  for (int i = 0; i < t->nchildren; i++) {
    ST_TRY(evaluate(f, t->children[i], &given[i]));
  }
  _Atomic int *const last_match = &((st_expr *)(uintptr_t)t)->last_match;
  const int last = atomic_load_explicit(last_match, memory_order_relaxed);
  if (matches(t->candidates[last], t, given, all)) {
    return call_found(f, t->candidates[last], all, out);
  }
  for (int i = 0; i < t->ncandidates; i++) {
    if (i == last || !matches(t->candidates[i], t, given, all)) continue;
    atomic_store_explicit(last_match, i, memory_order_relaxed);
    return call_found(f, t->candidates[i], all, out);
  }
  return st__fail(ST_BAD_TYPE, "%s: no overload of %s accepts the arguments "
                  "in the derivative", f->rec->node.name,
                  st_op_name(t->candidates[0]));
}

static st_status call_helper(frame *f, const st_expr *t, st_helper_arg *out) {
  st_helper_arg given[ST_EXPR_CHILDREN];
  st_value v;
  for (int i = 0; i < t->nchildren; i++) {
    ST_TRY(evaluate(f, t->children[i], &given[i]));
  }
  ST_TRY(st__helper_call(st__helper(t->at), t->nchildren, given,
                         f->rec->node.name, &v));
  return keep(f, v, out);
}

static st_status evaluate(frame *f, const st_expr *t, st_helper_arg *out) {
  switch (t->kind) {
    case ST_EXPR_NAME: return read_name(f, t, out);
    case ST_EXPR_LIST: return list(f, t, out);
    case ST_EXPR_UNARY: return negative(f, t, out);
    case ST_EXPR_BINARY: return binary(f, t, out);
    case ST_EXPR_CHOICE: return choice(f, t, out);
    case ST_EXPR_CALL: return call_operator(f, t, out);
    case ST_EXPR_HELPER: return call_helper(f, t, out);
    default:
      *out = (st_helper_arg){.value = t->value};
      return ST_OK;
  }
}

st_status st__formula_value(const st_formula *formula, st_rule_node *rec,
                            st_tensor *const *grads, st_value *out) {
  frame f;
  st_helper_arg o = {.value = st__none()};
  f.f = formula;
  f.rec = rec;
  f.grads = grads;
  f.n = 0;
  st_status status = evaluate(&f, formula->root, &o);
  if (status == ST_OK) status = st__value_copy(&o.value, out);
  while (f.n > 0) st__value_clear(&f.owned[--f.n]);
  return status;
}
