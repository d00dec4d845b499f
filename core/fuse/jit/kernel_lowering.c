/* Lowering of kernel calls to vector IR.
 *
 * float16 is computed as float32 and rounded, as in its kernels. Integers are
 * only converted to floats.
 */

#include "fuse/jit/kernel_lowering.h"

#include <string.h>

#include "kernel/source.h"

/* -- Dtypes --------------------------------------------------------------- */

static st_dtype dtype_at(const st_program *p, int slot) {
  return p->slots[slot].dtype;
}

static bool is_float(st_dtype d) {
  return d == ST_FLOAT16 || d == ST_FLOAT32 || d == ST_FLOAT64;
}

/* True for integers that a load extends to 32-bit lanes. */
static bool is_small_int(st_dtype d) {
  return d == ST_UINT8 || d == ST_INT8 || d == ST_INT16 || d == ST_INT32;
}

static int width_of(st_dtype d) {
  return d == ST_FLOAT64 ? 8 : is_float(d) ? 4 : d == ST_BOOL ? 0 : -1;
}

/* -- Supported instructions ----------------------------------------------- */

static bool is_copy(const st_program *p, const st_instr *x) {
  const st_kernel_key copy = st__copy_key(dtype_at(p, x->at[0]),
                                          dtype_at(p, x->at[1]));
  return x->n == 2 && x->nout == 1 &&
         st__is_kernel(x->kernel, copy.id, copy.dtype);
}

static int copy_width(st_dtype to, st_dtype from) {
  const int w = width_of(to), v = width_of(from);
  if (w < 0 || to == from) return -1; /* a plain copy stays a kernel */
  if (is_small_int(from)) return w == 0 ? -1 : w;
  if (v < 0 || (w > 0 && v > 0 && w != v)) return -1;
  return w > v ? w : v;
}

/* The expression, whose inputs must have the kernel's dtype. */
static const char *source_of(const st_program *p, const st_instr *x) {
  const bool fits = dtype_at(p, x->at[x->n - 1]) == x->kernel.dtype;
  return fits ? st__kernel_source(x->kernel) : NULL;
}

/* True for `where` of float16 and bool: its kernel copies bits unchanged, which
 * lanes of float32 or masks cannot do. */
static bool moves_bits(const st_program *p, const st_instr *x) {
  const st_dtype d = dtype_at(p, x->at[x->n - 1]);
  return (d == ST_FLOAT16 || d == ST_BOOL) && x->kernel.id == ST_K_where;
}

int st__lower_width(const st_program *p, const st_instr *x) {
  int width = 0;
  if (x->nout != 1 || x->n < 2) return -1;
  if (is_copy(p, x)) {
    return copy_width(dtype_at(p, x->at[0]), dtype_at(p, x->at[1]));
  }
  for (int i = 0; i < x->n; i++) {
    const int w = width_of(dtype_at(p, x->at[i]));
    if (w < 0 || (w > 0 && width > 0 && w != width)) return -1;
    if (w > 0) width = w;
  }
  return source_of(p, x) && !moves_bits(p, x) ? width : -1;
}

/* -- Values --------------------------------------------------------------- */

void st__lower_begin(st_lowering *w, const st_program *p, int width) {
  w->p = p;
  w->v.n = 0;
  w->v.width = width;
  w->v.is_full = false;
  memset(w->is_known, 0, sizeof w->is_known);
}

static st_vector_value constant(st_lowering *w, const st_slot *at) {
  const char *bytes = st__program_consts(w->p) + at->offset;
  const st_dtype d = at->dtype;
  uint64_t bits = 0;
  if (d == ST_BOOL) {
    return (st_vector_value){st__vector_bool(&w->v, *bytes != 0), true};
  }
  if (d == ST_FLOAT16) {
    uint16_t half;
    memcpy(&half, bytes, sizeof half);
    const float f = st__half_to_float(half);
    memcpy(&bits, &f, sizeof f);
  } else {
    memcpy(&bits, bytes, st__itemsize(d));
  }
  return (st_vector_value){st__vector_bits(&w->v, bits), false};
}

static st_vector_value value_at(st_lowering *w, int slot) {
  const st_slot *at = &w->p->slots[slot];
  const st_dtype d = at->dtype;
  if (w->is_known[slot]) return w->value[slot];
  if (at->kind == ST_SLOT_CONST && !is_small_int(d)) return constant(w, at);
  return (st_vector_value){st__vector_load(&w->v, slot, d), d == ST_BOOL};
}

/* Rounds to float16. Of a NaN only the sign is kept, as in the kernels. */
static int to_half(st_vector_ir *v, int x) {
  const int sign = st__vector_op(v, ST_V_AND, 0, x,
                                 st__vector_bits(v, 0x80000000), -1);
  const int nan = st__vector_op(v, ST_V_OR, 0, sign,
                                st__vector_bits(v, 0x7fc00000), -1);
  const int is_nan = st__vector_op(v, ST_V_COMPARE, ST_V_NE, x, x, -1);
  x = st__vector_op(v, ST_V_SELECT, 0, nan, x, is_nan);
  return st__vector_op(v, ST_V_HALF, 0, x, -1, -1);
}

/* Converts lanes or a mask to elements of dtype d. */
static st_vector_value converted(st_lowering *w, st_dtype d,
                                 st_vector_value t) {
  st_vector_ir *v = &w->v;
  if (d == ST_BOOL && !t.is_mask) {
    t.value = st__vector_op(v, ST_V_COMPARE, ST_V_NE, t.value,
                            st__vector_float(v, 0), -1);
  } else if (d != ST_BOOL) {
    t.value = st__value_lanes(v, t);
  }
  if (d == ST_FLOAT16) t.value = to_half(v, t.value);
  if (v->ops[t.value].code == ST_V_LOAD) {
    t.value = st__vector_op(v, ST_V_COPY, 0, t.value, -1, -1);
  }
  t.is_mask = d == ST_BOOL;
  return t;
}

static bool lower_copy(st_lowering *w, const st_instr *x,
                       st_vector_value *out) {
  *out = value_at(w, x->at[1]);
  if (is_small_int(dtype_at(w->p, x->at[1]))) {
    out->value = st__vector_op(&w->v, ST_V_FLOAT, 0, out->value, -1, -1);
  }
  return true;
}

static bool lower_source(st_lowering *w, const st_instr *x,
                         st_vector_value *out) {
  st_kernel_env names = {.params = x->has_params ? &x->params : NULL,
                         .locals = &w->locals};
  int i = x->nout;
  names.has_mask = x->kernel.id == ST_K_where;
  if (names.has_mask) names.mask = value_at(w, x->at[i++]);
  if (x->n - i > 4) return false;
  while (i < x->n) names.inputs[names.n++] = value_at(w, x->at[i++]);
  return st__parse_kernel(&w->v, source_of(w->p, x), &names, out);
}

bool st__lower_instr(st_lowering *w, const st_instr *x) {
  const int before = w->v.n;
  const int slot = x->at[0];
  st_vector_value t;
  const bool done = is_copy(w->p, x) ? lower_copy(w, x, &t)
                                     : lower_source(w, x, &t);
  if (done) t = converted(w, dtype_at(w->p, slot), t);
  if (!done || w->v.is_full) {
    w->v.n = before;
    return false;
  }
  w->value[slot] = t;
  w->is_known[slot] = true;
  return true;
}

void st__lower_store(st_lowering *w, int slot) {
  st__vector_store(&w->v, slot, dtype_at(w->p, slot),
                   w->value[slot].value);
}
