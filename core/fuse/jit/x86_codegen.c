/* The target x86-64, with AVX2, FMA and F16C or with AVX-512: emits each vector
 * operation, and the loop around them.
 */

#include <string.h>

#include "os/cpu.h"
#include "fuse/jit/register_allocation.h"
#include "fuse/jit/x86_encoder.h"

enum {
  SCRATCH = 15, /* the last vector register */
  POINTERS = 11,
  NONE = -1
};

typedef struct x86 {
  st_codegen c;
  st_x64 x;
  size_t loop;                      /* where it begins */
  int in_k1;                        /* AVX-512: the mask in k1, or -1 */
  int npointers;
  int8_t pointer[ST_PROGRAM_SLOTS]; /* general register of a slot, or -1 */
} x86;

/* General registers for the addresses of slots; callee-saved ones come last. */
static const uint8_t pointers[POINTERS] = {
  ST_RCX, ST_RDX, 8, 9, 10, ST_RBX, ST_RBP, 12, 13, 14, 15
};
enum { CALLER_SAVED = 5 };

/* -- Opcodes -------------------------------------------------------------- */

/* PS: packed floats; with DOUBLE, packed doubles. PI: with the prefix of
 * integer instructions; XI: of 16 bytes; HI: of half a vector. */
#define PS(opcode) ST_X64_OP(0, 1, opcode, 0, ST_X64_WHOLE)
#define PI(map, opcode) ST_X64_OP(1, map, opcode, 0, ST_X64_WHOLE)
#define XI(map, opcode) ST_X64_OP(1, map, opcode, 0, ST_X64_XMM)
#define HI(map, opcode) ST_X64_OP(1, map, opcode, 0, ST_X64_HALF)
#define WIDE ST_X64_OP(0, 0, 0, 1, 0)
#define DOUBLE (WIDE | ST_X64_OP(1, 0, 0, 0, 0))

#define VMOVUPS_LOAD PS(0x10)
#define VMOVUPS_STORE PS(0x11)
#define VXORPS PS(0x57)

/* AVX-512: moves between k1 and vectors of masks. WIDE: of 8-byte lanes. */
#define VPMOVD2M ST_X64_OP(2, 2, 0x39, 0, ST_X64_WHOLE)
#define VPMOVM2D ST_X64_OP(2, 2, 0x38, 0, ST_X64_WHOLE)
#define VPMOVM2B ST_X64_OP(2, 2, 0x28, 0, ST_X64_XMM)
#define VPTESTMD PI(2, 0x27)
#define VBLENDMPS PI(2, 0x65)

static const uint32_t opcodes[ST_V_COUNT] = {
  [ST_V_ADD] = PS(0x58), [ST_V_SUB] = PS(0x5c), [ST_V_MUL] = PS(0x59),
  [ST_V_DIV] = PS(0x5e), [ST_V_MIN] = PS(0x5d), [ST_V_MAX] = PS(0x5f),
  [ST_V_SQRT] = PS(0x51), [ST_V_COMPARE] = PS(0xc2),
  [ST_V_AND] = PS(0x54), [ST_V_AND_NOT] = PS(0x55), [ST_V_OR] = PS(0x56),
  [ST_V_XOR] = VXORPS
};

/* The immediates of VCMPPS, quiet for == and !=, and of VROUNDPS, without the
 * inexact exception. */
static const uint8_t predicates[ST_V_PREDICATES] = {
  [ST_V_EQ] = 0x00, [ST_V_NE] = 0x04, [ST_V_LT] = 0x11, [ST_V_LE] = 0x12,
  [ST_V_GE] = 0x1d, [ST_V_GT] = 0x1e
};
static const uint8_t roundings[ST_V_ROUNDINGS] = {
  [ST_V_EVEN] = 0x08, [ST_V_FLOOR] = 0x09, [ST_V_CEIL] = 0x0a,
  [ST_V_TRUNC] = 0x0b
};

/* dst = dst * src + rm, and dst = src * rm + dst. */
#define VFMADD213PS PI(2, 0xa8)
#define VFMADD231PS PI(2, 0xb8)

static bool is_double(const x86 *m) { return m->c.v->width == 8; }

static bool is_avx512(const x86 *m) { return m->x.vector == 64; }

static uint32_t opcode_of(const x86 *m, const st_vector_op *op) {
  switch (op->code) {
    case ST_V_ROUND:
      return is_double(m) ? PI(3, 0x09) | WIDE : PI(3, 0x08);
    case ST_V_SELECT: return is_double(m) ? PI(3, 0x4b) : PI(3, 0x4a);
    case ST_V_FLOAT:
      return is_double(m) ? ST_X64_OP(2, 1, 0xe6, 0, ST_X64_WHOLE)
                          : PS(0x5b);
    case ST_V_COPY: return VMOVUPS_LOAD;
    case ST_V_INT_ADD: return is_double(m) ? PI(1, 0xd4) | WIDE : PI(1, 0xfe);
    case ST_V_INT_SUB: return is_double(m) ? PI(1, 0xfb) | WIDE : PI(1, 0xfa);
    case ST_V_SHIFT_LEFT: case ST_V_SHIFT_RIGHT:
      return is_double(m) ? PI(1, 0x73) | WIDE : PI(1, 0x72);
    default: return opcodes[op->code] | (is_double(m) ? DOUBLE : 0);
  }
}

/* op for lanes as wide as the elements. */
static uint32_t by_width(const x86 *m, uint32_t op) {
  return is_double(m) ? op | WIDE : op;
}

/* -- Operands ------------------------------------------------------------- */

static st_x64_operand in_reg(int reg) {
  return (st_x64_operand){ST_X64_REG, (uint8_t)reg, 0, 0};
}

static st_x64_operand at_slot(x86 *m, int slot, st_dtype d) {
  int base = m->pointer[slot];
  if (base == NONE) {
    base = ST_R11;
    st__x64_load_pointer(&m->x, base, ST_RDI, slot);
  }
  return (st_x64_operand){ST_X64_MEM, 0, (uint8_t)base,
                          (uint8_t)st__itemsize(d)};
}

static st_x64_operand constant(x86 *m, uint64_t bits) {
  return st__x64_const(&m->x, m->c.v->width == 4 ? bits | bits << 32 : bits);
}

/* -- Loads and stores ----------------------------------------------------- */

static const st_x64_operand k1 = {ST_X64_REG, 1, 0, 0};

/* Turns lanes that are not zero into lanes of ones. */
static void emit_masks(x86 *m, int reg) {
  if (is_avx512(m)) {
    st__x64_evex(&m->x, by_width(m, VPTESTMD), 1, reg, in_reg(reg), NONE);
    st__x64_evex(&m->x, by_width(m, VPMOVM2D), reg, 0, k1, NONE);
    m->in_k1 = NONE;
    return;
  }
  st__x64_op(&m->x, is_double(m) ? PI(2, 0x29) : PI(1, 0x76), reg, reg,
             constant(m, 0), NONE);
  st__x64_op(&m->x, VXORPS, reg, reg,
             constant(m, is_double(m) ? UINT64_MAX : UINT32_MAX), NONE);
}

static void emit_load(x86 *m, const st_vector_op *op, int reg) {
  const st_dtype d = op->dtype;
  const bool wide = is_double(m);
  const st_x64_operand at = at_slot(m, op->slot, d);
  uint32_t code = VMOVUPS_LOAD;
  switch (d) {
    case ST_FLOAT16: code = PI(2, 0x13); break;
    case ST_UINT8:   code = wide ? HI(2, 0x31) : PI(2, 0x31); break;
    case ST_INT8:    code = wide ? HI(2, 0x21) : PI(2, 0x21); break;
    case ST_INT16:   code = wide ? HI(2, 0x23) : PI(2, 0x23); break;
    case ST_BOOL:    code = wide ? PI(2, 0x32) : PI(2, 0x31); break;
    case ST_INT32:
      if (wide) code = ST_X64_OP(0, 1, 0x10, 0, ST_X64_HALF);
      break;
    default: break;
  }
  st__x64_op(&m->x, code, reg, 0, at, NONE);
  if (d == ST_BOOL) emit_masks(m, reg);
}

/* Packs masks into bytes of ones or zeros, in the scratch register. */
static void emit_bytes(x86 *m, int reg) {
  const st_x64_operand low = in_reg(SCRATCH);
  if (is_avx512(m)) {
    st__x64_evex(&m->x, by_width(m, VPMOVD2M), 1, 0, in_reg(reg), NONE);
    st__x64_evex(&m->x, VPMOVM2B, SCRATCH, 0, k1, NONE);
    m->in_k1 = NONE;
    return;
  }
  /* vextracti128 stores its first operand into its second one */
  st__x64_op(&m->x, PI(3, 0x39), reg, 0, low, 1);
  if (is_double(m)) {
    st__x64_op(&m->x, ST_X64_OP(0, 1, 0xc6, 0, ST_X64_XMM), SCRATCH, reg,
               low, 0x88);
    st__x64_op(&m->x, XI(1, 0x6b), SCRATCH, SCRATCH, low, NONE);
  } else {
    st__x64_op(&m->x, XI(1, 0x6b), SCRATCH, reg, low, NONE);
  }
  st__x64_op(&m->x, XI(1, 0x63), SCRATCH, SCRATCH, low, NONE);
}

/* Stores masks as 16, 8 or 4 bytes of 0 or 1. */
static void emit_store_bools(x86 *m, int reg, st_x64_operand at) {
  const int lanes = m->x.vector / m->c.v->width;
  emit_bytes(m, reg);
  st__x64_op(&m->x, XI(1, 0xdb), SCRATCH, SCRATCH,
             st__x64_const(&m->x, 0x0101010101010101), NONE);
  const uint32_t store = lanes == 16
    ? ST_X64_OP(0, 1, 0x11, 0, ST_X64_XMM)
    : lanes == 8 ? XI(1, 0xd6) : XI(1, 0x7e);
  st__x64_op(&m->x, store, SCRATCH, 0, at, NONE);
}

static void emit_store(x86 *m, const st_vector_op *op, int reg) {
  const st_dtype d = op->dtype;
  const st_x64_operand at = at_slot(m, op->slot, d);
  if (d == ST_BOOL) emit_store_bools(m, reg, at);
  else if (d == ST_FLOAT16) st__x64_op(&m->x, PI(3, 0x1d), reg, 0, at, 0);
  else st__x64_op(&m->x, VMOVUPS_STORE, reg, 0, at, NONE);
}

/* -- Operations ----------------------------------------------------------- */

static st_x64_operand spill_operand(int spill_slot) {
  return (st_x64_operand){ST_X64_SPILL, (uint8_t)spill_slot, 0, 0};
}

static void spill(st_codegen *c, int reg, int spill_slot) {
  st__x64_op(&((x86 *)c)->x, VMOVUPS_STORE, reg, 0, spill_operand(spill_slot),
             NONE);
}

static void fill(st_codegen *c, int reg, int v) {
  x86 *m = (x86 *)c;
  const st_vector_op *op = &c->v->ops[v];
  if (c->spill_slot[v] != NONE) {
    st__x64_op(&m->x, VMOVUPS_LOAD, reg, 0, spill_operand(c->spill_slot[v]),
               NONE);
  } else if (op->code == ST_V_CONST) {
    st__x64_op(&m->x, VMOVUPS_LOAD, reg, 0, constant(m, op->bits), NONE);
  } else {
    emit_load(m, op, reg);
  }
}

/* Value v as an operand of operation i: its register, or its memory if i is its
 * last use. */
static st_x64_operand operand_of(x86 *m, int v, int i) {
  const st_vector_op *op = &m->c.v->ops[v];
  if (m->c.reg[v] != NONE) return in_reg(m->c.reg[v]);
  if (op->code == ST_V_CONST) return constant(m, op->bits);
  const bool is_in_memory = op->code == ST_V_LOAD &&
    (op->dtype == ST_FLOAT32 || op->dtype == ST_FLOAT64);
  if (m->c.last_use[v] == i && m->c.spill_slot[v] != NONE) {
    return spill_operand(m->c.spill_slot[v]);
  }
  if (m->c.last_use[v] == i && is_in_memory) {
    return at_slot(m, op->slot, op->dtype);
  }
  return in_reg(st__register_of(&m->c, v, i));
}

static void emit_half(x86 *m, int reg, int from) {
  st__x64_op(&m->x, PI(3, 0x1d), from, 0, in_reg(SCRATCH), 0);
  st__x64_op(&m->x, PI(2, 0x13), reg, 0, in_reg(SCRATCH), NONE);
}

static bool is_bool_load(const x86 *m, int v) {
  return m->c.v->ops[v].code == ST_V_LOAD && m->c.v->ops[v].dtype == ST_BOOL;
}

/* True if the only use of mask i is the next operation, a select by it. */
static bool is_for_next(const x86 *m, int i) {
  const st_vector_op *op;
  int next = i + 1;
  while (!m->c.live[next] || st__is_rematerialized(&m->c, next)) next++;
  op = &m->c.v->ops[next];
  return next == m->c.last_use[i] && op->code == ST_V_SELECT && op->c == i &&
         op->a != i && op->b != i && !is_bool_load(m, op->a) &&
         !is_bool_load(m, op->b);
}

/* AVX-512: the mask stays in k1 if only the next operation uses it. */
static void emit_compare(x86 *m, int i, int left,
                         st_x64_operand right) {
  const st_vector_op *op = &m->c.v->ops[i];
  const uint32_t code = opcode_of(m, op);
  const bool stays = is_avx512(m) && is_for_next(m, i);
  const int reg = stays ? NONE : st__alloc_register(&m->c, i + 1);
  if (!stays) st__assign_register(&m->c, reg, i);
  if (!is_avx512(m)) {
    st__x64_op(&m->x, code, reg, left, right, predicates[op->imm]);
    return;
  }
  st__x64_evex(&m->x, code, 1, left, right, predicates[op->imm]);
  m->in_k1 = i;
  if (stays) return;
  st__x64_evex(&m->x, by_width(m, VPMOVM2D), reg, 0, k1, NONE);
}

/* Emits reg = right where the mask is set, else left. */
static void emit_select(x86 *m, const st_vector_op *op, int reg,
                        int left, st_x64_operand right, int mask) {
  if (!is_avx512(m)) {
    st__x64_op(&m->x, opcode_of(m, op), reg, left, right, mask << 4);
    return;
  }
  if (m->in_k1 != op->c) {
    st__x64_evex(&m->x, by_width(m, VPMOVD2M), 1, 0, in_reg(mask), NONE);
    m->in_k1 = op->c;
  }
  st__x64_evex_masked(&m->x, by_width(m, VBLENDMPS), reg, left, right);
}

/* The result takes the register of an operand that is not used again; if there
 * is none, a is copied. */
static void emit_fma(x86 *m, int i) {
  const st_vector_op *op = &m->c.v->ops[i];
  const int a = st__register_of(&m->c, op->a, i);
  const int b = st__register_of(&m->c, op->b, i);
  const bool is_sum_last = m->c.last_use[op->c] == i &&
                           m->c.reg[op->c] != NONE && op->c != op->a &&
                           op->c != op->b;
  const st_x64_operand sum = is_sum_last ? in_reg(m->c.reg[op->c])
                                         : operand_of(m, op->c, i);
  const bool is_a_last = m->c.last_use[op->a] == i && op->a != op->c;
  const bool is_b_last = m->c.last_use[op->b] == i && op->b != op->c;
  int reg = is_sum_last ? sum.reg : is_a_last ? a : b;
  if (!is_sum_last && !is_a_last && !is_b_last) {
    reg = st__alloc_register(&m->c, i);
    st__x64_op(&m->x, VMOVUPS_LOAD, reg, 0, in_reg(a), NONE);
  }
  st__free_last_uses(&m->c, op, i);
  st__assign_register(&m->c, reg, i);
  if (is_sum_last) {
    st__x64_op(&m->x, by_width(m, VFMADD231PS), reg, a, in_reg(b), NONE);
  } else {
    st__x64_op(&m->x, by_width(m, VFMADD213PS), reg, reg == b ? a : b, sum,
               NONE);
  }
}

static void emit_shift(x86 *m, const st_vector_op *op, int reg,
                       int from) {
  const int is_left = op->code == ST_V_SHIFT_LEFT;
  st__x64_op(&m->x, opcode_of(m, op), is_left ? 6 : 2, reg, in_reg(from),
             op->imm);
}

static bool is_commutative(const st_vector_op *op) {
  return op->code == ST_V_ADD || op->code == ST_V_MUL ||
         op->code == ST_V_INT_ADD ||
         op->code == ST_V_AND || op->code == ST_V_OR || op->code == ST_V_XOR;
}

static void emit_op(x86 *m, int i) {
  const st_vector_op *op = &m->c.v->ops[i];
  if (op->code == ST_V_FMA) {
    emit_fma(m, i);
    return;
  }
  const bool is_unary = op->b < 0, is_select = op->code == ST_V_SELECT;
  int a = is_unary ? 0 : op->a, b = is_unary ? op->a : op->b;
  int left = 0, mask = 0;
  if (is_select) {
    a = op->b, b = op->a;
    if (m->in_k1 != op->c || is_bool_load(m, a) || is_bool_load(m, b)) {
      mask = st__register_of(&m->c, op->c, i);
    }
  }
  if (is_commutative(op) && m->c.reg[a] == NONE &&
      (m->c.reg[b] != NONE || st__is_rematerialized(&m->c, a))) {
    const int t = a;
    a = b, b = t;
  }
  if (!is_unary) left = st__register_of(&m->c, a, i);
  const bool in_register = op->code == ST_V_HALF || op->code == ST_V_FLOAT ||
                           op->code == ST_V_SHIFT_LEFT ||
                           op->code == ST_V_SHIFT_RIGHT;
  const st_x64_operand right =
    in_register ? in_reg(st__register_of(&m->c, b, i)) : operand_of(m, b, i);
  st__free_last_uses(&m->c, op, i);
  if (op->code == ST_V_COMPARE) {
    emit_compare(m, i, left, right);
    return;
  }
  const int reg = st__alloc_register(&m->c, i + 1);
  st__assign_register(&m->c, reg, i);
  switch (op->code) {
    case ST_V_HALF:    emit_half(m, reg, right.reg); break;
    case ST_V_SELECT:  emit_select(m, op, reg, left, right, mask); break;
    case ST_V_SHIFT_LEFT: case ST_V_SHIFT_RIGHT:
      emit_shift(m, op, reg, right.reg);
      break;
    default:
      st__x64_op(&m->x, opcode_of(m, op), reg, left, right,
                 op->code == ST_V_ROUND ? roundings[op->imm] : NONE);
  }
}

static void emit(st_codegen *c, int i) {
  x86 *m = (x86 *)c;
  const st_vector_op *op = &c->v->ops[i];
  if (op->code != ST_V_STORE) {
    emit_op(m, i);
    return;
  }
  emit_store(m, op, st__register_of(c, op->a, i));
  st__free_last_uses(c, op, i);
}

/* -- Loops ---------------------------------------------------------------- */

static void choose_pointers(x86 *m) {
  memset(m->pointer, NONE, sizeof m->pointer);
  m->npointers = 0;
  for (int i = 0; i < m->c.v->n; i++) {
    const st_vector_op *op = &m->c.v->ops[i];
    if (!m->c.live[i] || op->slot < 0 || m->npointers == POINTERS ||
        m->pointer[op->slot] != NONE) {
      continue;
    }
    m->pointer[op->slot] = (int8_t)pointers[m->npointers++];
  }
}

static void begin(st_codegen *c) {
  x86 *m = (x86 *)c;
  m->x = (st_x64){.code = c->code, .max = c->max, .vector = c->target->vector};
  m->in_k1 = NONE;
  choose_pointers(m);
  st__x64_bytes(&m->x, "\xf3\x0f\x1e\xfa", 4); /* endbr64 */
  for (int i = CALLER_SAVED; i < m->npointers; i++) {
    st__x64_push(&m->x, pointers[i]);
  }
  st__x64_move_stack(&m->x, -ST_JIT_SPILLS * m->x.vector);
  for (int i = 0; i < ST_PROGRAM_SLOTS; i++) {
    if (m->pointer[i] == NONE) continue;
    st__x64_load_pointer(&m->x, m->pointer[i], ST_RDI, i);
  }
  st__x64_bytes(&m->x, "\x31\xc0", 2); /* xor eax, eax */
  m->loop = m->x.n;
}

static void end(st_codegen *c) {
  x86 *m = (x86 *)c;
  st__x64_loop(&m->x, m->x.vector / c->v->width, m->loop);
  st__x64_bytes(&m->x, "\xc5\xf8\x77", 3); /* vzeroupper */
  st__x64_move_stack(&m->x, ST_JIT_SPILLS * m->x.vector);
  for (int i = m->npointers - 1; i >= CALLER_SAVED; i--) {
    st__x64_pop(&m->x, pointers[i]);
  }
  st__x64_byte(&m->x, 0xc3); /* ret */
  st__x64_finish(&m->x);
  c->n = m->x.n;
  c->has_failed |= m->x.is_full;
}

/* -- The targets ---------------------------------------------------------- */

static bool has(const st_vector_op *op, int width) {
  const st_dtype d = op->dtype;
  const bool is_number = d == ST_FLOAT32 || d == ST_FLOAT64 ||
                         d == ST_FLOAT16 || d == ST_BOOL;
  (void)width;
  switch (op->code) {
    case ST_V_STORE: return is_number;
    case ST_V_LOAD:
      return is_number || d == ST_UINT8 || d == ST_INT8 || d == ST_INT16 ||
             d == ST_INT32;
    default: return true;
  }
}

#define TARGET(vector) \
  {vector, SCRATCH, sizeof(x86), has, begin, emit, spill, fill, end}

const st_jit_target *st__x86_target(void) {
  static const st_jit_target avx2 = TARGET(32), avx512 = TARGET(64);
  return st__isa_has(ST_ISA_avx512) ? &avx512
       : st__isa_has(ST_ISA_avx2) ? &avx2 : NULL;
}
