/* From IR to a program: dead instructions are dropped and values get slots.
 */

#include <string.h>

#include "base/memory.h"
#include "fuse/ir/ir.h"
#include "fuse/jit/jit_compile.h"

enum { LINE = 64, UNUSED = -1, LIVE_OUT = INT32_MAX,
       MAX_GRAIN = 32768 /* bound of the elements worth a thread */ };

typedef struct lowering {
  st_ir *c;
  st_program *p;
  bool *live;              /* for each instruction */
  int slot[ST_IR_VALUES];
  int nfree;
  int free[ST_PROGRAM_SLOTS];  /* registers whose values are dead */
} lowering;

/* -- Liveness ------------------------------------------------------------- */

static void mark_live(lowering *a) {
  st_ir *c = a->c;
  for (int i = 0; i < c->nvalues; i++) c->values[i].last = UNUSED;
  for (int i = 0; i < c->noutputs; i++) {
    c->values[c->outputs[i]].last = LIVE_OUT;
  }
  for (int i = 0; i < c->nchecks; i++) c->values[c->checks[i]].last = LIVE_OUT;
  for (int k = c->ninstrs - 1; k >= 0; k--) {
    const st_instr *x = &c->instrs[k];
    a->live[k] = false;
    for (int i = 0; i < x->nout; i++) {
      a->live[k] |= c->values[x->at[i]].last != UNUSED;
    }
    for (int i = x->nout; a->live[k] && i < x->n; i++) {
      if (c->values[x->at[i]].last == UNUSED) c->values[x->at[i]].last = k;
    }
  }
}

static bool runs_once(const lowering *a, const st_instr *x) {
  return a->c->values[x->at[0]].is_uniform;
}

/* Operands and results of the prologue stay live: every block may read them. */
static void extend_uniforms(lowering *a) {
  st_ir *c = a->c;
  for (int k = 0; k < c->ninstrs; k++) {
    const st_instr *x = &c->instrs[k];
    for (int i = 0; i < x->n && a->live[k]; i++) {
      st_ir_value *v = &c->values[x->at[i]];
      if (v->is_uniform && v->last != UNUSED) v->last = LIVE_OUT;
    }
  }
}

/* -- Order of inputs ------------------------------------------------------ */

/* Note [Operand order decides the layout]
 * The iterator takes the layout of a new result from its first operand with a
 * layout that is not ambiguous. In nested calls this is the leftmost operand of
 * the expression, so the iterator gets the inputs in the order of a depth-first
 * visit from left to right. */
typedef struct visitor {
  const st_ir *c;
  st_program *p;
  int norder, depth;
  bool seen[ST_IR_VALUES];
  int stack[ST_IR_VALUES + ST_INSTR_OPERANDS * ST_PROGRAM_INSTRS];
} visitor;

static void visit(visitor *w, int root) {
  w->stack[w->depth++] = root;
  while (w->depth > 0) {
    const int v = w->stack[--w->depth];
    if (w->seen[v]) continue;
    w->seen[v] = true;
    if (v < w->c->ninputs) w->p->order[w->norder++] = (uint8_t)v;
    if (w->c->values[v].kind != ST_IR_RESULT) continue;
    const st_instr *x = &w->c->instrs[w->c->values[v].def];
    for (int i = x->n - 1; i >= x->nout; i--) {
      w->stack[w->depth++] = x->at[i];
    }
  }
}

static st_status order_inputs(lowering *a) {
  visitor *w = st__alloc_zero(ST_MEM_SCRATCH, sizeof *w);
  if (!w) return ST_NO_MEMORY;
  w->c = a->c;
  w->p = a->p;
  for (int i = 0; i < a->c->noutputs; i++) visit(w, a->c->outputs[i]);
  for (int i = 0; i < a->c->ninputs; i++) visit(w, i);
  st__free(ST_MEM_SCRATCH, w, sizeof *w);
  return ST_OK;
}

/* -- Slots ---------------------------------------------------------------- */

static st_status new_slot(lowering *a, st_slot_kind kind, int dtype,
                          int at, int *out) {
  st_program *p = a->p;
  if (p->nslots == ST_PROGRAM_SLOTS) {
    return st__fail(ST_BAD_STATE, "a fused program needs more than %d values "
                    "at a time", ST_PROGRAM_SLOTS);
  }
  p->slots[p->nslots] = (st_slot){(uint8_t)kind, (uint8_t)dtype,
                                  (uint16_t)at, 0};
  *out = p->nslots++;
  return ST_OK;
}

/* Allocates a register, a free one of the same dtype if there is one. */
static st_status alloc_register(lowering *a, int dtype, int *out) {
  for (int i = a->nfree - 1; i >= 0; i--) {
    if (a->p->slots[a->free[i]].dtype != dtype) continue;
    *out = a->free[i];
    a->free[i] = a->free[--a->nfree];
    return ST_OK;
  }
  return new_slot(a, ST_SLOT_REGISTER, dtype, 0, out);
}

static void free_registers(lowering *a, const st_instr *x, int k) {
  for (int i = x->nout; i < x->n; i++) {
    const int v = x->at[i], slot = a->slot[v];
    bool again = false;
    for (int j = x->nout; j < i; j++) again |= x->at[j] == v;
    if (again || a->c->values[v].last != k ||
        a->p->slots[slot].kind != ST_SLOT_REGISTER) {
      continue;
    }
    a->free[a->nfree++] = slot;
  }
}

/* The first output whose value is v, or -1. */
static int output_of(const st_ir *c, int v) {
  for (int i = 0; i < c->noutputs; i++) {
    if (c->outputs[i] == v) return i;
  }
  return -1;
}

static st_status alloc_results(lowering *a, const st_instr *x) {
  for (int i = 0; i < x->nout; i++) {
    const int v = x->at[i], out = output_of(a->c, v);
    if (out >= 0 && !runs_once(a, x)) {
      a->slot[v] = out;
      continue;
    }
    ST_TRY(alloc_register(a, a->c->values[v].dtype, &a->slot[v]));
    if (a->c->values[v].last == UNUSED) a->free[a->nfree++] = a->slot[v];
  }
  return ST_OK;
}

static st_status alloc_operands(lowering *a) {
  const st_ir *c = a->c;
  int at;
  for (int i = 0; i < c->noutputs; i++) {
    const int dtype = c->values[c->outputs[i]].dtype;
    a->p->out_dtype[i] = (uint8_t)dtype;
    ST_TRY(new_slot(a, ST_SLOT_OUTPUT, dtype, i, &at));
  }
  for (int i = 0; i < c->ninputs; i++) {
    a->p->in_dtype[i] = c->values[i].dtype;
    a->p->is_uniform[i] = c->values[i].is_uniform;
    ST_TRY(new_slot(a, ST_SLOT_INPUT, c->values[i].dtype, i,
                    &a->slot[i]));
  }
  for (int i = 0; i < c->nvalues; i++) {
    if (c->values[i].kind != ST_IR_CONST || c->values[i].last == UNUSED) {
      continue;
    }
    ST_TRY(new_slot(a, ST_SLOT_CONST, c->values[i].dtype, i,
                    &a->slot[i]));
  }
  return ST_OK;
}

/* -- Instructions --------------------------------------------------------- */

/* Sets writes_early if x reads an input after an output was written: then the
 * two must not be the same memory. */
static void track_writes(lowering *a, const st_instr *x, bool *has_written) {
  for (int i = x->nout; i < x->n; i++) {
    const bool reads = a->p->slots[x->at[i]].kind == ST_SLOT_INPUT;
    a->p->writes_early |= reads && *has_written;
  }
  for (int i = 0; i < x->nout; i++) {
    *has_written |= a->p->slots[x->at[i]].kind == ST_SLOT_OUTPUT;
  }
}

static st_status emit(lowering *a, int k) {
  const st_instr *from = &a->c->instrs[k];
  st_instr *x = &a->p->instrs[a->p->ninstrs];
  /* a single result may reuse the register of an operand that dies here */
  if (from->nout == 1) free_registers(a, from, k);
  ST_TRY(alloc_results(a, from));
  if (from->nout > 1) free_registers(a, from, k);
  *x = *from;
  for (int i = 0; i < x->n; i++) x->at[i] = (uint16_t)a->slot[from->at[i]];
  for (int i = 0; i < x->n; i++) x->strides[x->n + i] = 0;
  a->p->ninstrs++;
  return ST_OK;
}

static st_status emit_all(lowering *a) {
  const st_ir *c = a->c;
  bool has_written = false;
  for (int once = 1; once >= 0; once--) {
    for (int k = 0; k < c->ninstrs; k++) {
      const st_instr *x = &c->instrs[k];
      if (!a->live[k] || runs_once(a, x) != once) continue;
      ST_TRY(emit(a, k));
    }
    if (once) a->p->nprologue = a->p->ninstrs;
  }
  for (int k = a->p->nprologue; k < a->p->ninstrs; k++) {
    track_writes(a, &a->p->instrs[k], &has_written);
  }
  for (int i = 0; i < c->nchecks; i++) {
    a->p->checks[i] = (uint8_t)a->slot[c->checks[i]];
  }
  return ST_OK;
}

/* -- Memory --------------------------------------------------------------- */

static uint32_t rounded(size_t n) { return (uint32_t)((n + LINE - 1) & -LINE); }

/* The largest block for which registers, buffers and constants stay in the
 * cache. */
static void choose_block(st_program *p) {
  size_t each = 0;
  for (int i = 0; i < p->nslots; i++) {
    each += st__itemsize(p->slots[i].dtype);
  }
  int64_t block = ST_PROGRAM_ARENA / (int64_t)each / LINE * LINE;
  if (block > ST_PROGRAM_MAX_BLOCK) block = ST_PROGRAM_MAX_BLOCK;
  p->block = block;
}

static void lay_out(st_program *p) {
  size_t arena = 0, consts = 0;
  for (int i = 0; i < p->nslots; i++) {
    st_slot *at = &p->slots[i];
    const size_t bytes = rounded((size_t)p->block *
                                 st__itemsize(at->dtype));
    size_t *to = at->kind == ST_SLOT_CONST ? &consts : &arena;
    at->offset = (uint32_t)*to;
    *to += bytes;
  }
  p->arena = arena;
  p->consts_size = consts;
}

static void fill_const(char *to, const char *bytes, size_t size, int64_t n) {
  for (int64_t i = 0; i < n; i++) memcpy(to + (size_t)i * size, bytes, size);
}

static st_status make_consts(lowering *a) {
  st_program *p = a->p;
  choose_block(p);
  if (p->block < ST_PROGRAM_MIN_BLOCK) {
    return st__fail(ST_BAD_STATE, "a fused program needs more values at a "
                    "time than the cache holds");
  }
  lay_out(p);
  p->consts = st__alloc(ST_MEM_REGISTRY, p->consts_size + LINE);
  if (!p->consts) return ST_NO_MEMORY;
  char *base = st__program_consts(p);
  for (int i = 0; i < p->nslots; i++) {
    const st_slot *at = &p->slots[i];
    if (at->kind != ST_SLOT_CONST) continue;
    fill_const(base + at->offset, a->c->values[at->at].bytes,
               st__itemsize(at->dtype), p->block);
  }
  return ST_OK;
}

static bool is_compiled(const st_program *p, int k) {
  for (int i = 0; i < p->nregions; i++) {
    if (p->regions[i].from <= k && k < p->regions[i].to) return true;
  }
  return false;
}

/* The cost of a cheap kernel is that of its loads and stores: five sixths are
 * saved in a region, which adds a third once. */
static void choose_grain(st_program *p) {
  const double cheap = 1.0 / MAX_GRAIN;
  double cost = p->nregions > 0 ? cheap / 3 : 0;
  for (int k = 0; k < p->ninstrs; k++) {
    const double of_kernel = (double)p->instrs[k].cost;
    const double saved = (of_kernel < cheap ? of_kernel : cheap) * 5 / 6;
    cost += is_compiled(p, k) ? of_kernel - saved : of_kernel;
  }
  const double grain = cost > 0 ? 1 / cost : MAX_GRAIN;
  p->grain = grain < 512 ? 512 : (int64_t)grain;
}

/* -- Assembly ------------------------------------------------------------- */

/* Appends copies for outputs that no instruction of a block writes: inputs,
 * constants, single elements, and repeated outputs. */
static st_status copy_outputs(st_ir *c) {
  for (int i = 0; i < c->noutputs; i++) {
    const int v = c->outputs[i];
    const st_dtype d = c->values[v].dtype;
    if (c->values[v].kind == ST_IR_RESULT && !c->values[v].is_uniform &&
        output_of(c, v) == i) {
      continue;
    }
    if (c->ninstrs == ST_PROGRAM_INSTRS || c->nvalues == ST_IR_VALUES) {
      return st__fail(ST_BAD_STATE, "too many instructions to fuse");
    }
    st_instr *x = &c->instrs[c->ninstrs++];
    memset(x, 0, sizeof *x);
    *x = (st_instr){.loop = st__copy_kernel(d, d), .nout = 1, .n = 2,
                    .kernel = st__copy_key(d, d), .cost = 1.0f / MAX_GRAIN};
    x->strides[0] = x->strides[1] = (int64_t)st__itemsize(d);
    x->at[0] = (uint16_t)c->nvalues;
    x->at[1] = (uint16_t)v;
    st_ir_value *copy = &c->values[c->nvalues];
    memset(copy, 0, sizeof *copy);
    copy->kind = ST_IR_RESULT;
    copy->dtype = (uint8_t)d;
    copy->def = c->ninstrs - 1;
    c->outputs[i] = c->nvalues++;
  }
  return ST_OK;
}

static st_status assemble(lowering *a) {
  st_program *p = a->p;
  ST_TRY(copy_outputs(a->c));
  ST_TRY(order_inputs(a));
  st__ir_peephole(a->c); /* after order_inputs: it reorders operands */
  mark_live(a);
  extend_uniforms(a);
  ST_TRY(alloc_operands(a));
  p->instrs = st__alloc(ST_MEM_REGISTRY,
                        (size_t)a->c->ninstrs * sizeof *p->instrs);
  if (!p->instrs) return ST_NO_MEMORY;
  p->capacity = a->c->ninstrs;
  ST_TRY(emit_all(a));
  ST_TRY(make_consts(a));
  ST_TRY(st__program_compile(p));
  choose_grain(p);
  return ST_OK;
}

st_status st__ir_lower(st_ir *c, st_program **out) {
  lowering *a = st__alloc(ST_MEM_SCRATCH, sizeof *a);
  st_program *p = st__alloc_zero(ST_MEM_REGISTRY, sizeof *p);
  const size_t size = (ST_PROGRAM_INSTRS + 1) * sizeof(bool);
  bool *live = st__alloc(ST_MEM_SCRATCH, size);
  st_status status = ST_NO_MEMORY;
  if (c->ninputs + c->noutputs > ST_PROGRAM_OPERANDS) {
    status = st__fail(ST_BAD_STATE, "more than %d tensors and results to "
                      "fuse", ST_PROGRAM_OPERANDS);
  } else if (a && p && live) {
    st__ref_init(&p->refs);
    p->ninputs = c->ninputs;
    p->noutputs = c->noutputs;
    p->nchecks = c->nchecks;
    a->c = c;
    a->p = p;
    a->live = live;
    a->nfree = 0;
    status = assemble(a);
  }
  if (a) st__free(ST_MEM_SCRATCH, a, sizeof *a);
  if (live) st__free(ST_MEM_SCRATCH, live, size);
  if (p && status != ST_OK) st__program_free(p);
  if (status == ST_OK) *out = p;
  return status;
}
