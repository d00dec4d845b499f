/* Building vector IR, with constant folding and common subexpressions.
 */

#include "fuse/jit/vector_ir.h"

#include <string.h>

/* -- Constants ------------------------------------------------------------ */

static uint64_t ones(const st_vector_ir *v) {
  return v->width == 4 ? UINT32_MAX : UINT64_MAX;
}

static double number_of(const st_vector_ir *v, uint64_t bits) {
  float f;
  double d;
  const uint32_t low = (uint32_t)bits;
  memcpy(&f, &low, sizeof f);
  memcpy(&d, &bits, sizeof d);
  return v->width == 4 ? f : d;
}

static uint64_t bits_of(const st_vector_ir *v, double number) {
  const float f = (float)number;
  uint32_t low;
  uint64_t bits;
  memcpy(&low, &f, sizeof low);
  memcpy(&bits, &number, sizeof bits);
  return v->width == 4 ? low : bits;
}

static bool is_const(const st_vector_ir *v, int a) {
  return a >= 0 && v->ops[a].code == ST_V_CONST;
}

static bool holds(int predicate, double x, double y) {
  switch (predicate) {
    case ST_V_EQ: return x == y;
    case ST_V_NE: return x != y;
    case ST_V_LT: return x < y;
    case ST_V_LE: return x <= y;
    case ST_V_GE: return x >= y;
    default:      return x > y;
  }
}

static bool is_bool(const st_vector_ir *v, int a, bool is_true) {
  return is_const(v, a) && v->ops[a].bits == (is_true ? ones(v) : 0);
}

/* -- Operations ----------------------------------------------------------- */

/* Cycles, roughly, of recent processors. */
static const uint8_t latencies[ST_V_COUNT] = {
  [ST_V_ADD] = 4, [ST_V_SUB] = 4, [ST_V_MUL] = 4, [ST_V_DIV] = 12,
  [ST_V_MIN] = 4, [ST_V_MAX] = 4, [ST_V_SQRT] = 16, [ST_V_ROUND] = 8,
  [ST_V_COMPARE] = 4, [ST_V_AND] = 1, [ST_V_AND_NOT] = 1, [ST_V_OR] = 1,
  [ST_V_XOR] = 1, [ST_V_SELECT] = 2, [ST_V_FMA] = 4, [ST_V_INT_ADD] = 1,
  [ST_V_INT_SUB] = 1, [ST_V_SHIFT_LEFT] = 1, [ST_V_SHIFT_RIGHT] = 1,
  [ST_V_FLOAT] = 4, [ST_V_HALF] = 12
};

static int latency_of(const st_vector_ir *v, const st_vector_op *op) {
  const int read[] = {op->a, op->b, op->c};
  int latency = 0;
  for (int k = 0; k < 3; k++) {
    if (read[k] >= 0 && v->latency[read[k]] > latency) {
      latency = v->latency[read[k]];
    }
  }
  return latency + latencies[op->code];
}

static int append(st_vector_ir *v, const st_vector_op *op) {
  for (int i = v->n - 1; i >= 0 && op->code != ST_V_STORE; i--) {
    if (memcmp(&v->ops[i], op, sizeof *op) == 0) return i;
  }
  if (v->n == ST_VECTOR_OPS) {
    v->is_full = true;
    return v->n - 1;
  }
  v->ops[v->n] = *op;
  v->latency[v->n] = (int16_t)latency_of(v, op);
  return v->n++;
}

/* Zeroed, because append compares the padding, too. */
static st_vector_op blank(st_vector_opcode code) {
  st_vector_op op;
  memset(&op, 0, sizeof op);
  op.code = (uint8_t)code;
  op.slot = op.a = op.b = op.c = -1;
  return op;
}

int st__vector_bits(st_vector_ir *v, uint64_t bits) {
  st_vector_op op = blank(ST_V_CONST);
  op.bits = bits & ones(v);
  return append(v, &op);
}

int st__vector_float(st_vector_ir *v, double number) {
  return st__vector_bits(v, bits_of(v, number));
}

int st__vector_bool(st_vector_ir *v, bool is_true) {
  return st__vector_bits(v, is_true ? ones(v) : 0);
}

int st__vector_load(st_vector_ir *v, int slot, st_dtype dtype) {
  st_vector_op op = blank(ST_V_LOAD);
  op.slot = (int16_t)slot;
  op.dtype = (uint8_t)dtype;
  return append(v, &op);
}

void st__vector_store(st_vector_ir *v, int slot, st_dtype dtype, int a) {
  st_vector_op op = blank(ST_V_STORE);
  op.slot = (int16_t)slot;
  op.dtype = (uint8_t)dtype;
  op.a = (int16_t)a;
  append(v, &op);
}

/* -- Simplification ------------------------------------------------------- */

/* A select by a comparison of its two operands is a minimum or a maximum. */
static int select_extreme(st_vector_ir *v, int a, int b, int mask) {
  const st_vector_op *m = &v->ops[mask];
  if (m->code != ST_V_COMPARE || (m->imm != ST_V_LT && m->imm != ST_V_GT)) {
    return -1;
  }
  const bool is_less = m->imm == ST_V_LT;
  if (m->a == a && m->b == b) {
    return st__vector_op(v, is_less ? ST_V_MIN : ST_V_MAX, 0, a, b, -1);
  }
  if (m->a == b && m->b == a) {
    return st__vector_op(v, is_less ? ST_V_MAX : ST_V_MIN, 0, a, b, -1);
  }
  return -1;
}

static int simplify_select(st_vector_ir *v, int a, int b, int mask) {
  if (a == b || is_bool(v, mask, true)) return a;
  if (is_bool(v, mask, false)) return b;
  const int extreme = select_extreme(v, a, b, mask);
  if (extreme >= 0) return extreme;
  if (is_bool(v, a, false)) {
    return st__vector_op(v, ST_V_AND_NOT, 0, mask, b, -1);
  }
  if (is_bool(v, b, false)) {
    return st__vector_op(v, ST_V_AND, 0, mask, a, -1);
  }
  return -1;
}

static int simplify_bits(st_vector_ir *v, st_vector_opcode code, int a, int b) {
  for (int swaps = 0; swaps < 2; swaps++) {
    const int x = swaps ? a : b, y = swaps ? b : a;
    if (is_bool(v, x, false)) {
      return code == ST_V_AND ? x : y;
    }
    if (is_bool(v, x, true) && code != ST_V_XOR) {
      return code == ST_V_AND ? y : x;
    }
  }
  return -1;
}

int st__vector_op(st_vector_ir *v, st_vector_opcode code, int imm, int a, int b,
                  int c) {
  int same = -1;
  if (code == ST_V_SELECT) same = simplify_select(v, a, b, c);
  if (code == ST_V_AND || code == ST_V_OR || code == ST_V_XOR) {
    same = simplify_bits(v, code, a, b);
  }
  if (code == ST_V_COMPARE && is_const(v, a) && is_const(v, b)) {
    same = st__vector_bool(v, holds(imm, number_of(v, v->ops[a].bits),
                                    number_of(v, v->ops[b].bits)));
  }
  if (same >= 0) return same;
  st_vector_op op = blank(code);
  op.imm = (uint8_t)imm;
  op.a = (int16_t)a;
  op.b = (int16_t)b;
  op.c = (int16_t)c;
  return append(v, &op);
}
