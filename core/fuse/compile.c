/* Compiling runs of instructions: which ones, registers, code.
 *
 * Note [Registers]
 * Values get registers as they come. When there is none left, the value that
 * is read farthest ahead gives up its own (L. A. Belady, "A Study of
 * Replacement Algorithms for a Virtual-Storage Computer", 1966): loads and
 * constants are simply read again, others go to the stack.
 */

#include "fuse/compile.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fuse/lower.h"
#include "fuse/pages.h"
#include "fuse/x64.h"

#if defined(__x86_64__)

enum {
  CODE = 64 << 10,       /* bytes of a program, at most */
  REGS = 15,             /* ymm15 is scratch */
  SCRATCH = 15,
  SLOTS = 32,            /* of the stack */
  POINTERS = 11,
  LEAST_RUN = 2,         /* instructions that are worth it */
  NONE = -1
};

typedef struct compiler {
  st_program *p;
  st_lowering w;
  st_x64 x;
  bool used[ST_VECTOR_OPS];
  int16_t last[ST_VECTOR_OPS];   /* the operation that reads it last */
  int8_t reg[ST_VECTOR_OPS], slot[ST_VECTOR_OPS];
  int16_t owner[REGS];
  int nslots, npointers;
  bool has_failed;
  int8_t pointer[ST_PROGRAM_PLACES];
  uint8_t code[CODE];
} compiler;

/* Callee-saved ones come last. */
static const uint8_t pointers[POINTERS] = {
  ST_RCX, ST_RDX, 8, 9, 10, ST_RBX, ST_RBP, 12, 13, 14, 15
};
enum { FREE_POINTERS = 5 };

/* -- Opcodes -------------------------------------------------------------- */

/* Of packed floats; width 8: doubles, by prefix. */
#define PS(opcode) ST_VEX(0, 1, opcode, 0, 1)
#define PI(map, opcode) ST_VEX(1, map, opcode, 0, 1)
#define XI(map, opcode) ST_VEX(1, map, opcode, 0, 0)
#define DOUBLE ST_VEX(1, 0, 0, 0, 0)

#define VMOVUPS_LOAD PS(0x10)
#define VMOVUPS_STORE PS(0x11)
#define VXORPS PS(0x57)

static const uint32_t opcodes[ST_V_COUNT] = {
  [ST_V_ADD] = PS(0x58), [ST_V_SUB] = PS(0x5c), [ST_V_MUL] = PS(0x59),
  [ST_V_DIV] = PS(0x5e), [ST_V_MIN] = PS(0x5d), [ST_V_MAX] = PS(0x5f),
  [ST_V_SQRT] = PS(0x51), [ST_V_COMPARE] = PS(0xc2),
  [ST_V_AND] = PS(0x54), [ST_V_AND_NOT] = PS(0x55), [ST_V_OR] = PS(0x56),
  [ST_V_XOR] = VXORPS
};

static uint32_t opcode_of(const compiler *c, const st_vector_op *op) {
  const bool is_double = c->w.v.width == 8;
  switch (op->code) {
    case ST_V_ROUND:  return is_double ? PI(3, 0x09) : PI(3, 0x08);
    case ST_V_SELECT: return is_double ? PI(3, 0x4b) : PI(3, 0x4a);
    case ST_V_FLOAT:  return is_double ? ST_VEX(2, 1, 0xe6, 0, 1) : PS(0x5b);
    default: return opcodes[op->code] | (is_double ? DOUBLE : 0);
  }
}

static bool has_imm(const st_vector_op *op) {
  return op->code == ST_V_ROUND || op->code == ST_V_COMPARE;
}

static bool commutes(const st_vector_op *op) {
  return op->code == ST_V_ADD || op->code == ST_V_MUL ||
         op->code == ST_V_AND || op->code == ST_V_OR || op->code == ST_V_XOR;
}

/* -- Operands ------------------------------------------------------------- */

static st_x64_operand in_reg(int reg) {
  return (st_x64_operand){ST_X64_REG, (uint8_t)reg, 0, 0};
}

static st_x64_operand in_slot(int slot) {
  return (st_x64_operand){ST_X64_SLOT, (uint8_t)slot, 0, 0};
}

static st_x64_operand at_place(compiler *c, int place, st_dtype d) {
  int base = c->pointer[place];
  if (base == NONE) {
    base = ST_R11;
    st__x64_load_pointer(&c->x, base, ST_RDI, place);
  }
  return (st_x64_operand){ST_X64_AT, 0, (uint8_t)base,
                          (uint8_t)st__itemsize(d)};
}

static st_x64_operand constant(compiler *c, uint64_t bits) {
  return st__x64_const(&c->x, c->w.v.width == 4 ? bits | bits << 32 : bits);
}

/* -- Registers ------------------------------------------------------------ */

static int next_read(const compiler *c, int v, int from) {
  for (int i = from; i <= c->last[v]; i++) {
    const st_vector_op *op = &c->w.v.ops[i];
    if (c->used[i] && (op->a == v || op->b == v || op->c == v)) return i;
  }
  return INT16_MAX;
}

static bool is_read_again(const compiler *c, int v) {
  const int code = c->w.v.ops[v].code;
  return code == ST_V_LOAD || code == ST_V_CONST;
}

static void spill(compiler *c, int v) {
  const int reg = c->reg[v];
  c->reg[v] = NONE;
  c->owner[reg] = NONE;
  if (is_read_again(c, v) || c->slot[v] != NONE) return;
  if (c->nslots == SLOTS) {
    c->has_failed = true;
    return;
  }
  c->slot[v] = (int8_t)c->nslots++;
  st__x64_vex(&c->x, VMOVUPS_STORE, reg, 0, in_slot(c->slot[v]), NONE);
}

/* A register for what operation i reads or gives; those that it reads are
 * kept. */
static int take_register(compiler *c, int i) {
  int best = 0, farthest = -1;
  for (int r = 0; r < REGS; r++) {
    if (c->owner[r] == NONE) return r;
    const int next = next_read(c, c->owner[r], i);
    if (next > farthest) best = r, farthest = next;
  }
  spill(c, c->owner[best]);
  return best;
}

static void own(compiler *c, int reg, int v) {
  c->owner[reg] = (int16_t)v;
  c->reg[v] = (int8_t)reg;
}

static void release_read(compiler *c, const st_vector_op *op, int i) {
  const int read[] = {op->a, op->b, op->c};
  for (int k = 0; k < 3; k++) {
    const int v = read[k];
    if (v < 0 || c->last[v] != i || c->reg[v] == NONE) continue;
    c->owner[c->reg[v]] = NONE;
    c->reg[v] = NONE;
  }
}

/* -- Loads and stores ----------------------------------------------------- */

static void emit_load(compiler *c, const st_vector_op *op, int reg) {
  const st_dtype d = (st_dtype)op->dtype;
  const bool is_wide = c->w.v.width == 8;
  const st_x64_operand at = at_place(c, op->place, d);
  uint32_t code = VMOVUPS_LOAD;
  switch (d) {
    case ST_FLOAT16: code = PI(2, 0x13); break;
    case ST_UINT8:   code = is_wide ? XI(2, 0x31) : PI(2, 0x31); break;
    case ST_INT8:    code = is_wide ? XI(2, 0x21) : PI(2, 0x21); break;
    case ST_INT16:   code = is_wide ? XI(2, 0x23) : PI(2, 0x23); break;
    case ST_INT32:   if (is_wide) code = ST_VEX(0, 1, 0x10, 0, 0); break;
    case ST_BOOL:    code = is_wide ? PI(2, 0x32) : PI(2, 0x31); break;
    default: break;
  }
  st__x64_vex(&c->x, code, reg, 0, at, NONE);
  if (d != ST_BOOL) return;
  /* not zero: all ones */
  st__x64_vex(&c->x, is_wide ? PI(2, 0x29) : PI(1, 0x76), reg, reg,
              constant(c, 0), NONE);
  st__x64_vex(&c->x, VXORPS, reg, reg,
              constant(c, is_wide ? UINT64_MAX : UINT32_MAX), NONE);
}

/* Masks to bytes 0 and 1. */
static void emit_store_bools(compiler *c, int reg, st_x64_operand at) {
  const bool is_wide = c->w.v.width == 8;
  const st_x64_operand low = in_reg(SCRATCH);
  /* vextracti128 stores its first operand into its second one */
  st__x64_vex(&c->x, PI(3, 0x39), reg, 0, low, 1);
  if (is_wide) {
    st__x64_vex(&c->x, ST_VEX(0, 1, 0xc6, 0, 0), SCRATCH, reg, low, 0x88);
    st__x64_vex(&c->x, XI(1, 0x6b), SCRATCH, SCRATCH, low, NONE);
  } else {
    st__x64_vex(&c->x, XI(1, 0x6b), SCRATCH, reg, low, NONE);
  }
  st__x64_vex(&c->x, XI(1, 0x63), SCRATCH, SCRATCH, low, NONE);
  st__x64_vex(&c->x, XI(1, 0xdb), SCRATCH, SCRATCH,
              st__x64_const(&c->x, 0x0101010101010101), NONE);
  st__x64_vex(&c->x, XI(1, is_wide ? 0x7e : 0xd6), SCRATCH, 0, at, NONE);
}

static void emit_store(compiler *c, const st_vector_op *op, int reg) {
  const st_dtype d = (st_dtype)op->dtype;
  const st_x64_operand at = at_place(c, op->place, d);
  if (d == ST_BOOL) emit_store_bools(c, reg, at);
  else if (d == ST_FLOAT16) st__x64_vex(&c->x, PI(3, 0x1d), reg, 0, at, 0);
  else st__x64_vex(&c->x, VMOVUPS_STORE, reg, 0, at, NONE);
}

/* -- Operations ----------------------------------------------------------- */

/* In a register, for operation i. */
static int register_of(compiler *c, int v, int i) {
  if (c->reg[v] != NONE) return c->reg[v];
  const st_vector_op *op = &c->w.v.ops[v];
  const int reg = take_register(c, i);
  own(c, reg, v);
  if (c->slot[v] != NONE) {
    st__x64_vex(&c->x, VMOVUPS_LOAD, reg, 0, in_slot(c->slot[v]), NONE);
  } else if (op->code == ST_V_CONST) {
    st__x64_vex(&c->x, VMOVUPS_LOAD, reg, 0, constant(c, op->bits), NONE);
  } else {
    emit_load(c, op, reg);
  }
  return reg;
}

/* In a register or where it lies, if it is read nowhere else. */
static st_x64_operand operand_of(compiler *c, int v, int i) {
  const st_vector_op *op = &c->w.v.ops[v];
  if (c->reg[v] != NONE) return in_reg(c->reg[v]);
  if (op->code == ST_V_CONST) return constant(c, op->bits);
  const bool is_plain = op->code == ST_V_LOAD &&
    (op->dtype == ST_FLOAT32 || op->dtype == ST_FLOAT64);
  if (c->last[v] == i && c->slot[v] != NONE) return in_slot(c->slot[v]);
  if (c->last[v] == i && is_plain) {
    return at_place(c, op->place, (st_dtype)op->dtype);
  }
  return in_reg(register_of(c, v, i));
}

static void emit_half(compiler *c, int reg, int from) {
  st__x64_vex(&c->x, PI(3, 0x1d), from, 0, in_reg(SCRATCH), 0);
  st__x64_vex(&c->x, PI(2, 0x13), reg, 0, in_reg(SCRATCH), NONE);
}

static void emit_op(compiler *c, int i) {
  const st_vector_op *op = &c->w.v.ops[i];
  const bool is_unary = op->b < 0;
  int a = is_unary ? 0 : op->a, b = is_unary ? op->a : op->b;
  int left = 0, mask = NONE;
  if (op->code == ST_V_SELECT) {
    /* vblendvps takes its last operand where the mask is set */
    a = op->b, b = op->a;
    mask = register_of(c, op->c, i);
  }
  if (commutes(op) && c->reg[a] == NONE &&
      (c->reg[b] != NONE || is_read_again(c, a))) {
    const int t = a;
    a = b, b = t;
  }
  if (!is_unary) left = register_of(c, a, i);
  st_x64_operand right = op->code == ST_V_HALF || op->code == ST_V_FLOAT
                         ? in_reg(register_of(c, b, i))
                         : operand_of(c, b, i);
  release_read(c, op, i);
  const int reg = take_register(c, i + 1);
  own(c, reg, i);
  if (op->code == ST_V_HALF) {
    emit_half(c, reg, right.reg);
    return;
  }
  const int imm = mask != NONE ? mask << 4 : has_imm(op) ? op->imm : NONE;
  st__x64_vex(&c->x, opcode_of(c, op), reg, left, right, imm);
}

static void emit_any(compiler *c, int i) {
  const st_vector_op *op = &c->w.v.ops[i];
  if (op->code == ST_V_LOAD || op->code == ST_V_CONST) return; /* when read */
  if (op->code != ST_V_STORE) {
    emit_op(c, i);
    return;
  }
  emit_store(c, op, register_of(c, op->a, i));
  release_read(c, op, i);
}

/* -- Loops ---------------------------------------------------------------- */

static void find_used(compiler *c) {
  const st_vector *v = &c->w.v;
  memset(c->used, 0, sizeof c->used);
  for (int i = v->n - 1; i >= 0; i--) {
    const st_vector_op *op = &v->ops[i];
    const int read[] = {op->a, op->b, op->c};
    c->used[i] |= op->code == ST_V_STORE;
    for (int k = 0; k < 3 && c->used[i]; k++) {
      if (read[k] < 0) continue;
      if (!c->used[read[k]]) c->last[read[k]] = (int16_t)i;
      c->used[read[k]] = true;
    }
  }
}

static void choose_pointers(compiler *c) {
  memset(c->pointer, NONE, sizeof c->pointer);
  c->npointers = 0;
  for (int i = 0; i < c->w.v.n; i++) {
    const st_vector_op *op = &c->w.v.ops[i];
    if (!c->used[i] || op->place < 0 || c->npointers == POINTERS ||
        c->pointer[op->place] != NONE) {
      continue;
    }
    c->pointer[op->place] = (int8_t)pointers[c->npointers++];
  }
}

static void emit_entry(compiler *c) {
  st__x64_bytes(&c->x, "\xf3\x0f\x1e\xfa", 4); /* endbr64 */
  for (int i = FREE_POINTERS; i < c->npointers; i++) {
    st__x64_push(&c->x, pointers[i]);
  }
  st__x64_move_stack(&c->x, -SLOTS * ST_X64_VECTOR);
  for (int i = 0; i < ST_PROGRAM_PLACES; i++) {
    if (c->pointer[i] == NONE) continue;
    st__x64_load_pointer(&c->x, c->pointer[i], ST_RDI, i);
  }
  st__x64_bytes(&c->x, "\x31\xc0", 2); /* xor eax, eax */
}

static void emit_exit(compiler *c) {
  st__x64_bytes(&c->x, "\xc5\xf8\x77", 3); /* vzeroupper */
  st__x64_move_stack(&c->x, SLOTS * ST_X64_VECTOR);
  for (int i = c->npointers - 1; i >= FREE_POINTERS; i--) {
    st__x64_pop(&c->x, pointers[i]);
  }
  st__x64_byte(&c->x, 0xc3); /* ret */
}

/* The code of w.v at the end of what there is; false: it does not fit. */
static bool emit_loop(compiler *c, size_t begin) {
  c->x = (st_x64){.code = c->code + begin, .max = CODE - begin};
  c->nslots = 0;
  c->has_failed = false;
  memset(c->reg, NONE, sizeof c->reg);
  memset(c->slot, NONE, sizeof c->slot);
  memset(c->owner, NONE, sizeof c->owner);
  find_used(c);
  choose_pointers(c);
  emit_entry(c);
  const size_t loop = c->x.n;
  for (int i = 0; i < c->w.v.n; i++) {
    if (c->used[i]) emit_any(c, i);
  }
  st__x64_loop(&c->x, ST_X64_VECTOR / c->w.v.width, loop);
  emit_exit(c);
  st__x64_finish(&c->x);
  return !c->x.is_full && !c->has_failed;
}

/* -- Runs ----------------------------------------------------------------- */

/* Does an instruction from k on read what is there now? */
static bool is_read_from(const st_program *p, int place, int k) {
  for (; k < p->ninstrs; k++) {
    const st_instr *x = &p->instrs[k];
    for (int i = x->nout; i < x->n; i++) {
      if (x->at[i] == place) return true;
    }
    for (int i = 0; i < x->nout; i++) {
      if (x->at[i] == place) return false;
    }
  }
  return false;
}

static bool is_written(const st_program *p, int place, int from, int to) {
  for (int k = from; k < to; k++) {
    if (p->instrs[k].at[0] == place) return true;
  }
  return false;
}

/* The instructions [from, to) as vector code, with stores. */
static void write_run(compiler *c, int from, int to, int width) {
  const st_program *p = c->p;
  st__lower_begin(&c->w, p, width);
  for (int k = from; k < to; k++) {
    const int place = p->instrs[k].at[0];
    st__lower(&c->w, &p->instrs[k]);
    if (p->places[place].kind == ST_PLACE_OUTPUT ||
        (!is_written(p, place, k + 1, to) && is_read_from(p, place, to))) {
      st__lower_store(&c->w, place);
    }
  }
}

/* The end of the longest run from `from` on. */
static int end_of_run(compiler *c, int from, int *width) {
  const st_program *p = c->p;
  int to = from;
  *width = 0;
  for (int k = from; k < p->ninstrs && *width == 0; k++) {
    *width = st__lower_width(p, &p->instrs[k]);
  }
  if (*width <= 0) return from;
  st__lower_begin(&c->w, p, *width);
  for (; to < p->ninstrs; to++) {
    const int w = st__lower_width(p, &p->instrs[to]);
    if ((w != 0 && w != *width) || !st__lower(&c->w, &p->instrs[to])) break;
  }
  return to;
}

static void compile_runs(compiler *c) {
  st_program *p = c->p;
  size_t n = 0;
  for (int k = p->nonce; k < p->ninstrs && p->nruns < ST_PROGRAM_RUNS;) {
    int width, to = end_of_run(c, k, &width);
    bool done = false;
    while (!done && to - k >= LEAST_RUN) {
      write_run(c, k, to, width);
      done = !c->w.v.is_full && emit_loop(c, n);
      if (!done) to = k + (to - k) / 2;
    }
    if (done) {
      p->runs[p->nruns++] = (st_compiled_run){(uint16_t)k, (uint16_t)to,
                                              (uint32_t)n};
      n += c->x.n;
    }
    k = done ? to : k + 1;
  }
  p->code_size = n;
}

st_status st__program_compile(st_program *p) {
  if (!st__jit()) return ST_OK;
  compiler *c = st__alloc(ST_MEM_SCRATCH, sizeof *c);
  if (!c) return ST_NO_MEMORY;
  c->p = p;
  compile_runs(c);
  if (p->nruns > 0) {
    p->code = st__pages_of(c->code, p->code_size, &p->code_size);
  }
  if (!p->code) p->nruns = 0;
  st__free(ST_MEM_SCRATCH, c, sizeof *c);
  return ST_OK;
}

#else

st_status st__program_compile(st_program *p) { return (void)p, ST_OK; }

#endif

/* -- The switch ----------------------------------------------------------- */

static atomic_bool is_off;

static bool can_run(void) {
#if defined(__x86_64__)
  return st__isa() >= ST_ISA_AVX2;
#else
  return false;
#endif
}

__attribute__((constructor)) static void read_switch(void) {
  const char *s = getenv("STRIDED_JIT");
  atomic_init(&is_off, s && strcmp(s, "0") == 0);
}

bool st__jit(void) {
  return can_run() && !atomic_load_explicit(&is_off, memory_order_relaxed);
}

bool st__set_jit(bool is_on) {
  return can_run() && !atomic_exchange(&is_off, !is_on);
}
