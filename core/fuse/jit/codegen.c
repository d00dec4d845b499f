/* The code generator: emits each vector operation, and the loop around them.
 */

#include "fuse/jit/codegen.h"

#include <string.h>

#include "base/memory.h"
#include "fuse/jit/register_allocation.h"

enum {
  SCRATCH = ST_CODEGEN_REGS, /* the last vector register */
  POINTERS = 11,
  NONE = -1
};

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

/* dst = dst * src + rm, and dst = src * rm + dst. */
#define VFMADD213PS PI(2, 0xa8)
#define VFMADD231PS PI(2, 0xb8)

static bool is_double(const st_codegen *c) { return c->v->width == 8; }

static bool is_avx512(const st_codegen *c) { return c->x.vector == 64; }

static uint32_t opcode_of(const st_codegen *c, const st_vector_op *op) {
  switch (op->code) {
    case ST_V_ROUND:
      return is_double(c) ? PI(3, 0x09) | WIDE : PI(3, 0x08);
    case ST_V_SELECT: return is_double(c) ? PI(3, 0x4b) : PI(3, 0x4a);
    case ST_V_FLOAT:
      return is_double(c) ? ST_X64_OP(2, 1, 0xe6, 0, ST_X64_WHOLE)
                          : PS(0x5b);
    case ST_V_COPY: return VMOVUPS_LOAD;
    case ST_V_INT_ADD: return is_double(c) ? PI(1, 0xd4) | WIDE : PI(1, 0xfe);
    case ST_V_INT_SUB: return is_double(c) ? PI(1, 0xfb) | WIDE : PI(1, 0xfa);
    case ST_V_SHIFT_LEFT: case ST_V_SHIFT_RIGHT:
      return is_double(c) ? PI(1, 0x73) | WIDE : PI(1, 0x72);
    default: return opcodes[op->code] | (is_double(c) ? DOUBLE : 0);
  }
}

/* op for lanes as wide as the elements. */
static uint32_t by_width(const st_codegen *c, uint32_t op) {
  return is_double(c) ? op | WIDE : op;
}

/* -- Operands ------------------------------------------------------------- */

static st_x64_operand in_reg(int reg) {
  return (st_x64_operand){ST_X64_REG, (uint8_t)reg, 0, 0};
}

static st_x64_operand at_slot(st_codegen *c, int slot, st_dtype d) {
  int base = c->pointer[slot];
  if (base == NONE) {
    base = ST_R11;
    st__x64_load_pointer(&c->x, base, ST_RDI, slot);
  }
  return (st_x64_operand){ST_X64_MEM, 0, (uint8_t)base,
                          (uint8_t)st__itemsize(d)};
}

static st_x64_operand constant(st_codegen *c, uint64_t bits) {
  return st__x64_const(&c->x, c->v->width == 4 ? bits | bits << 32 : bits);
}

/* -- Loads and stores ----------------------------------------------------- */

static const st_x64_operand k1 = {ST_X64_REG, 1, 0, 0};

/* Turns lanes that are not zero into lanes of ones. */
static void emit_masks(st_codegen *c, int reg) {
  if (is_avx512(c)) {
    st__x64_evex(&c->x, by_width(c, VPTESTMD), 1, reg, in_reg(reg), NONE);
    st__x64_evex(&c->x, by_width(c, VPMOVM2D), reg, 0, k1, NONE);
    c->in_k1 = NONE;
    return;
  }
  st__x64_op(&c->x, is_double(c) ? PI(2, 0x29) : PI(1, 0x76), reg, reg,
             constant(c, 0), NONE);
  st__x64_op(&c->x, VXORPS, reg, reg,
             constant(c, is_double(c) ? UINT64_MAX : UINT32_MAX), NONE);
}

static void emit_load(st_codegen *c, const st_vector_op *op, int reg) {
  const st_dtype d = op->dtype;
  const bool wide = is_double(c);
  const st_x64_operand at = at_slot(c, op->slot, d);
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
  st__x64_op(&c->x, code, reg, 0, at, NONE);
  if (d == ST_BOOL) emit_masks(c, reg);
}

/* Packs masks into bytes of ones or zeros, in the scratch register. */
static void emit_bytes(st_codegen *c, int reg) {
  const st_x64_operand low = in_reg(SCRATCH);
  if (is_avx512(c)) {
    st__x64_evex(&c->x, by_width(c, VPMOVD2M), 1, 0, in_reg(reg), NONE);
    st__x64_evex(&c->x, VPMOVM2B, SCRATCH, 0, k1, NONE);
    c->in_k1 = NONE;
    return;
  }
  /* vextracti128 stores its first operand into its second one */
  st__x64_op(&c->x, PI(3, 0x39), reg, 0, low, 1);
  if (is_double(c)) {
    st__x64_op(&c->x, ST_X64_OP(0, 1, 0xc6, 0, ST_X64_XMM), SCRATCH, reg,
               low, 0x88);
    st__x64_op(&c->x, XI(1, 0x6b), SCRATCH, SCRATCH, low, NONE);
  } else {
    st__x64_op(&c->x, XI(1, 0x6b), SCRATCH, reg, low, NONE);
  }
  st__x64_op(&c->x, XI(1, 0x63), SCRATCH, SCRATCH, low, NONE);
}

/* Stores masks as 16, 8 or 4 bytes of 0 or 1. */
static void emit_store_bools(st_codegen *c, int reg, st_x64_operand at) {
  const int lanes = c->x.vector / c->v->width;
  emit_bytes(c, reg);
  st__x64_op(&c->x, XI(1, 0xdb), SCRATCH, SCRATCH,
             st__x64_const(&c->x, 0x0101010101010101), NONE);
  const uint32_t store = lanes == 16
    ? ST_X64_OP(0, 1, 0x11, 0, ST_X64_XMM)
    : lanes == 8 ? XI(1, 0xd6) : XI(1, 0x7e);
  st__x64_op(&c->x, store, SCRATCH, 0, at, NONE);
}

static void emit_store(st_codegen *c, const st_vector_op *op, int reg) {
  const st_dtype d = op->dtype;
  const st_x64_operand at = at_slot(c, op->slot, d);
  if (d == ST_BOOL) emit_store_bools(c, reg, at);
  else if (d == ST_FLOAT16) st__x64_op(&c->x, PI(3, 0x1d), reg, 0, at, 0);
  else st__x64_op(&c->x, ST_VMOVUPS_STORE, reg, 0, at, NONE);
}

/* -- Operations ----------------------------------------------------------- */

/* The register of value v for operation i; loads, reloads or rematerializes v
 * if it has none. */
static int register_of(st_codegen *c, int v, int i) {
  if (c->reg[v] != NONE) return c->reg[v];
  const st_vector_op *op = &c->v->ops[v];
  const int reg = st__alloc_register(c, i);
  st__assign_register(c, reg, v);
  if (c->spill_slot[v] != NONE) {
    st__x64_op(&c->x, VMOVUPS_LOAD, reg, 0,
               st__spill_operand(c->spill_slot[v]), NONE);
  } else if (op->code == ST_V_CONST) {
    st__x64_op(&c->x, VMOVUPS_LOAD, reg, 0, constant(c, op->bits), NONE);
  } else {
    emit_load(c, op, reg);
  }
  return reg;
}

/* Value v as an operand of operation i: its register, or its memory if i is its
 * last use. */
static st_x64_operand operand_of(st_codegen *c, int v, int i) {
  const st_vector_op *op = &c->v->ops[v];
  if (c->reg[v] != NONE) return in_reg(c->reg[v]);
  if (op->code == ST_V_CONST) return constant(c, op->bits);
  const bool is_plain = op->code == ST_V_LOAD &&
    (op->dtype == ST_FLOAT32 || op->dtype == ST_FLOAT64);
  if (c->last_use[v] == i && c->spill_slot[v] != NONE) {
    return st__spill_operand(c->spill_slot[v]);
  }
  if (c->last_use[v] == i && is_plain) {
    return at_slot(c, op->slot, op->dtype);
  }
  return in_reg(register_of(c, v, i));
}

static void emit_half(st_codegen *c, int reg, int from) {
  st__x64_op(&c->x, PI(3, 0x1d), from, 0, in_reg(SCRATCH), 0);
  st__x64_op(&c->x, PI(2, 0x13), reg, 0, in_reg(SCRATCH), NONE);
}

static bool is_bool_load(const st_codegen *c, int v) {
  return c->v->ops[v].code == ST_V_LOAD && c->v->ops[v].dtype == ST_BOOL;
}

/* True if the only use of mask i is the next operation, a select by it. */
static bool is_for_next(const st_codegen *c, int i) {
  const st_vector_op *op;
  int next = i + 1;
  while (!c->live[next] || st__is_rematerialized(c, next)) next++;
  op = &c->v->ops[next];
  return next == c->last_use[i] && op->code == ST_V_SELECT && op->c == i &&
         op->a != i && op->b != i && !is_bool_load(c, op->a) &&
         !is_bool_load(c, op->b);
}

/* AVX-512: the mask stays in k1 if only the next operation uses it. */
static void emit_compare(st_codegen *c, int i, int left,
                         st_x64_operand right) {
  const st_vector_op *op = &c->v->ops[i];
  const uint32_t code = opcode_of(c, op);
  const bool stays = is_avx512(c) && is_for_next(c, i);
  const int reg = stays ? NONE : st__alloc_register(c, i + 1);
  if (!stays) st__assign_register(c, reg, i);
  if (!is_avx512(c)) {
    st__x64_op(&c->x, code, reg, left, right, op->imm);
    return;
  }
  st__x64_evex(&c->x, code, 1, left, right, op->imm);
  c->in_k1 = i;
  if (stays) return;
  st__x64_evex(&c->x, by_width(c, VPMOVM2D), reg, 0, k1, NONE);
}

/* Emits reg = right where the mask is set, else left. */
static void emit_select(st_codegen *c, const st_vector_op *op, int reg,
                        int left, st_x64_operand right, int mask) {
  if (!is_avx512(c)) {
    st__x64_op(&c->x, opcode_of(c, op), reg, left, right, mask << 4);
    return;
  }
  if (c->in_k1 != op->c) {
    st__x64_evex(&c->x, by_width(c, VPMOVD2M), 1, 0, in_reg(mask), NONE);
    c->in_k1 = op->c;
  }
  st__x64_evex_masked(&c->x, by_width(c, VBLENDMPS), reg, left, right);
}

/* The result takes the register of an operand that is not used again; if there
 * is none, a is copied. */
static void emit_fma(st_codegen *c, int i) {
  const st_vector_op *op = &c->v->ops[i];
  const int a = register_of(c, op->a, i), b = register_of(c, op->b, i);
  const bool is_sum_last = c->last_use[op->c] == i && c->reg[op->c] != NONE &&
                           op->c != op->a && op->c != op->b;
  const st_x64_operand sum = is_sum_last ? in_reg(c->reg[op->c])
                                         : operand_of(c, op->c, i);
  const bool is_a_last = c->last_use[op->a] == i && op->a != op->c;
  const bool is_b_last = c->last_use[op->b] == i && op->b != op->c;
  int reg = is_sum_last ? sum.reg : is_a_last ? a : b;
  if (!is_sum_last && !is_a_last && !is_b_last) {
    reg = st__alloc_register(c, i);
    st__x64_op(&c->x, VMOVUPS_LOAD, reg, 0, in_reg(a), NONE);
  }
  st__free_last_uses(c, op, i);
  st__assign_register(c, reg, i);
  if (is_sum_last) {
    st__x64_op(&c->x, by_width(c, VFMADD231PS), reg, a, in_reg(b), NONE);
  } else {
    st__x64_op(&c->x, by_width(c, VFMADD213PS), reg, reg == b ? a : b, sum,
               NONE);
  }
}

static void emit_shift(st_codegen *c, const st_vector_op *op, int reg,
                       int from) {
  const int is_left = op->code == ST_V_SHIFT_LEFT;
  st__x64_op(&c->x, opcode_of(c, op), is_left ? 6 : 2, reg, in_reg(from),
             op->imm);
}

static bool is_commutative(const st_vector_op *op) {
  return op->code == ST_V_ADD || op->code == ST_V_MUL ||
         op->code == ST_V_INT_ADD ||
         op->code == ST_V_AND || op->code == ST_V_OR || op->code == ST_V_XOR;
}

static void emit_op(st_codegen *c, int i) {
  const st_vector_op *op = &c->v->ops[i];
  if (op->code == ST_V_FMA) {
    emit_fma(c, i);
    return;
  }
  const bool is_unary = op->b < 0, is_select = op->code == ST_V_SELECT;
  int a = is_unary ? 0 : op->a, b = is_unary ? op->a : op->b;
  int left = 0, mask = 0;
  if (is_select) {
    a = op->b, b = op->a;
    if (c->in_k1 != op->c || is_bool_load(c, a) || is_bool_load(c, b)) {
      mask = register_of(c, op->c, i);
    }
  }
  if (is_commutative(op) && c->reg[a] == NONE &&
      (c->reg[b] != NONE || st__is_rematerialized(c, a))) {
    const int t = a;
    a = b, b = t;
  }
  if (!is_unary) left = register_of(c, a, i);
  const bool in_register = op->code == ST_V_HALF || op->code == ST_V_FLOAT ||
                           op->code == ST_V_SHIFT_LEFT ||
                           op->code == ST_V_SHIFT_RIGHT;
  const st_x64_operand right = in_register ? in_reg(register_of(c, b, i))
                                           : operand_of(c, b, i);
  st__free_last_uses(c, op, i);
  if (op->code == ST_V_COMPARE) {
    emit_compare(c, i, left, right);
    return;
  }
  const int reg = st__alloc_register(c, i + 1);
  st__assign_register(c, reg, i);
  switch (op->code) {
    case ST_V_HALF:    emit_half(c, reg, right.reg); break;
    case ST_V_SELECT:  emit_select(c, op, reg, left, right, mask); break;
    case ST_V_SHIFT_LEFT: case ST_V_SHIFT_RIGHT:
      emit_shift(c, op, reg, right.reg);
      break;
    default:
      st__x64_op(&c->x, opcode_of(c, op), reg, left, right,
                 op->code == ST_V_ROUND ? op->imm : NONE);
  }
}

static void emit(st_codegen *c, int i) {
  const st_vector_op *op = &c->v->ops[i];
  if (op->code == ST_V_LOAD || op->code == ST_V_CONST) return; /* at its use */
  if (op->code != ST_V_STORE) {
    emit_op(c, i);
    return;
  }
  emit_store(c, op, register_of(c, op->a, i));
  st__free_last_uses(c, op, i);
}

/* -- Loops ---------------------------------------------------------------- */

static void choose_pointers(st_codegen *c) {
  memset(c->pointer, NONE, sizeof c->pointer);
  c->npointers = 0;
  for (int i = 0; i < c->v->n; i++) {
    const st_vector_op *op = &c->v->ops[i];
    if (!c->live[i] || op->slot < 0 || c->npointers == POINTERS ||
        c->pointer[op->slot] != NONE) {
      continue;
    }
    c->pointer[op->slot] = (int8_t)pointers[c->npointers++];
  }
}

static void emit_entry(st_codegen *c) {
  st__x64_bytes(&c->x, "\xf3\x0f\x1e\xfa", 4); /* endbr64 */
  for (int i = CALLER_SAVED; i < c->npointers; i++) {
    st__x64_push(&c->x, pointers[i]);
  }
  st__x64_move_stack(&c->x, -ST_CODEGEN_SPILLS * c->x.vector);
  for (int i = 0; i < ST_PROGRAM_SLOTS; i++) {
    if (c->pointer[i] == NONE) continue;
    st__x64_load_pointer(&c->x, c->pointer[i], ST_RDI, i);
  }
  st__x64_bytes(&c->x, "\x31\xc0", 2); /* xor eax, eax */
}

static void emit_exit(st_codegen *c) {
  st__x64_bytes(&c->x, "\xc5\xf8\x77", 3); /* vzeroupper */
  st__x64_move_stack(&c->x, ST_CODEGEN_SPILLS * c->x.vector);
  for (int i = c->npointers - 1; i >= CALLER_SAVED; i--) {
    st__x64_pop(&c->x, pointers[i]);
  }
  st__x64_byte(&c->x, 0xc3); /* ret */
}

size_t st__codegen_loop(st_codegen *c, const st_vector_ir *v, uint8_t *code,
                        size_t max) {
  c->v = v;
  c->x = (st_x64){.code = code, .max = max,
                  .vector = st__isa() >= ST_ISA_AVX512 ? 64 : 32};
  c->nspills = 0;
  c->in_k1 = NONE;
  c->has_failed = false;
  memset(c->reg, NONE, sizeof c->reg);
  memset(c->spill_slot, NONE, sizeof c->spill_slot);
  memset(c->owner, NONE, sizeof c->owner);
  st__find_live_ops(c);
  choose_pointers(c);
  emit_entry(c);
  const size_t loop = c->x.n;
  for (int i = 0; i < v->n; i++) {
    if (c->live[i]) emit(c, i);
  }
  st__x64_loop(&c->x, c->x.vector / v->width, loop);
  emit_exit(c);
  st__x64_finish(&c->x);
  return c->x.is_full || c->has_failed ? 0 : c->x.n;
}

/* -- Lifetime ------------------------------------------------------------- */

st_codegen *st__codegen_new(void) {
  return st__alloc(ST_MEM_SCRATCH, sizeof(st_codegen));
}

void st__codegen_free(st_codegen *c) {
  if (c) st__free(ST_MEM_SCRATCH, c, sizeof *c);
}
