/* Expressions of kernels and of programs, for devices.
 */

#include "fuse/device/expression.h"

#include <string.h>

#include "kernel/source.h"

/* -- Lanes ---------------------------------------------------------------- */

/* Bytes of the lanes in which a kernel of dtype d computes; 0 if it has none.
 */
static int lane_width(st_dtype d) {
  switch (d) {
    case ST_FLOAT64: return 8;
    case ST_FLOAT32: case ST_FLOAT16: case ST_BFLOAT16: return 4;
    default: return 0;
  }
}

static bool is_half(st_dtype d) { return d == ST_FLOAT16 || d == ST_BFLOAT16; }

/* True for integers that a load extends to 32-bit lanes. */
static bool is_small_int(st_dtype d) {
  return d == ST_UINT8 || d == ST_INT8 || d == ST_INT16 || d == ST_INT32;
}

/* True if elements of d are converted to and from lanes of so many bytes. */
static bool fits_lanes(st_dtype d, int width) {
  return lane_width(d) == width || d == ST_FLOAT32 || d == ST_FLOAT64;
}

/* An operand as lanes of its dtype in the loop; false if it has none. */
static bool load(st_vector_ir *v, int at, st_loop_operand o,
                 st_vector_value *out) {
  const st_dtype memory = o.memory, seen = o.seen;
  *out = (st_vector_value){st__vector_load(v, at, memory), memory == ST_BOOL};
  if (memory == seen) return memory == ST_BOOL || fits_lanes(memory, v->width);
  if (lane_width(seen) != v->width || is_half(seen)) return false;
  if (memory == ST_BOOL) {
    out->value = st__value_lanes(v, *out);
    out->is_mask = false;
    return true;
  }
  if (!is_small_int(memory)) return fits_lanes(memory, v->width);
  out->value = st__vector_op(v, ST_V_FLOAT, 0, out->value, -1, -1);
  return v->width == 4;
}

/* Stores a result that the loop writes in dtype o.seen; false if the dtype in
 * memory has no lanes. */
static bool store(st_vector_ir *v, int at, st_loop_operand o,
                  st_vector_value t) {
  const bool is_bool = o.memory == ST_BOOL;
  if (o.memory != o.seen && is_half(o.seen)) return false;
  if (!is_bool && !fits_lanes(o.memory, v->width)) return false;
  if (is_bool && !t.is_mask) {
    t.value = st__vector_op(v, ST_V_COMPARE, ST_V_NE, t.value,
                            st__vector_float(v, 0), -1);
  }
  st__vector_store(v, at, o.memory, is_bool ? t.value : st__value_lanes(v, t));
  return true;
}

/* -- Expressions ---------------------------------------------------------- */

static void begin(st_expression_builder *b, int width) {
  b->w.v.n = 0;
  b->w.v.width = width;
  b->w.v.is_full = false;
}

static bool end(st_expression_builder *b, const char *text, int noutputs,
                int noperands) {
  const st_vector_ir *v = &b->w.v;
  b->e = (st_expression){
    .text = text, .width = v->width, .noutputs = noutputs,
    .noperands = noperands, .nops = v->n, .ops = v->ops};
  for (int i = 0; i < v->n; i++) {
    const st_vector_op *op = &v->ops[i];
    if (op->code == ST_V_PARAM && op->imm >= b->e.nparams) {
      b->e.nparams = op->imm + 1;
    }
  }
  return !v->is_full;
}

/* False for `where` of dtypes whose kernel copies bits that lanes may change.
 */
static bool keeps_bits(const st_loop_key *k) {
  return k->kernel != ST_K_where ||
         (k->dtype == ST_FLOAT32 || k->dtype == ST_FLOAT64);
}

/* A loop without a kernel copies its input. */
static const char *text_of(const st_loop_key *k) {
  if (k->kernel == ST_K_NONE) return "a";
  return st__kernel_source((st_kernel_key){k->kernel, k->dtype});
}

bool st__kernel_expression(st_expression_builder *b, const st_loop_key *k) {
  const char *text = text_of(k);
  st_kernel_env names = {.has_params = true, .locals = &b->w.locals};
  st_vector_ir *v = &b->w.v;
  st_vector_value result;
  int at = k->noutputs;
  begin(b, lane_width(k->dtype));
  if (!text || v->width == 0 || k->noutputs != 1 || !keeps_bits(k)) {
    return false;
  }
  names.has_mask = k->kernel == ST_K_where;
  if (names.has_mask && !load(v, at, k->operands[at], &names.mask)) {
    return false;
  }
  at += names.has_mask;
  for (; at < k->noperands && names.n < 4; at++) {
    if (!load(v, at, k->operands[at], &names.inputs[names.n++])) return false;
  }
  return at == k->noperands && st__parse_kernel(v, text, &names, &result) &&
         store(v, 0, k->operands[0], result) &&
         end(b, text, k->noutputs, k->noperands);
}

/* -- Programs ------------------------------------------------------------- */

/* The operand of a plan that is the program's input `at`. */
static int operand_of_input(const st_program *p, int at) {
  int i = 0;
  while (p->order[i] != at) i++;
  return p->noutputs + i;
}

/* Makes the slots of loads and stores operands; false for one that is none. */
static bool number_operands(st_vector_ir *v, const st_program *p) {
  for (int i = 0; i < v->n; i++) {
    st_vector_op *op = &v->ops[i];
    if (op->code != ST_V_LOAD && op->code != ST_V_STORE) continue;
    const st_slot *slot = &p->slots[op->slot];
    const bool is_store = op->code == ST_V_STORE;
    if (slot->kind != (is_store ? ST_SLOT_OUTPUT : ST_SLOT_INPUT)) return false;
    op->slot = (int16_t)(is_store ? slot->at : operand_of_input(p, slot->at));
  }
  return true;
}

/* The width of all instructions; 0 if they have none in common. */
static int program_width(const st_program *p) {
  int width = 0;
  for (int k = 0; k < p->ninstrs; k++) {
    const int w = st__lower_width(p, &p->instrs[k]);
    if (w < 0 || (w > 0 && width > 0 && w != width)) return 0;
    if (w > 0) width = w;
  }
  return width;
}

bool st__program_expression(st_expression_builder *b, const st_program *p) {
  const int width = program_width(p);
  if (width == 0 || p->nchecks > 0) return false;
  st__lower_begin(&b->w, p, width);
  for (int k = 0; k < p->ninstrs; k++) {
    if (!st__lower_instr(&b->w, &p->instrs[k])) return false;
  }
  for (int slot = 0; slot < p->nslots; slot++) {
    if (p->slots[slot].kind == ST_SLOT_OUTPUT) st__lower_store(&b->w, slot);
  }
  return number_operands(&b->w.v, p) &&
         end(b, "", p->noutputs, p->noutputs + p->ninputs);
}
