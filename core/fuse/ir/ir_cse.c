/* Building the IR: common subexpressions are shared and constants are folded
 * while instructions are appended.
 */

#include "fuse/ir/ir.h"

#include <string.h>

#include "base/memory.h"
#include "iter/iter.h"

st_status st__ir_new(st_ir **out) {
  st_ir *c = st__alloc(ST_MEM_SCRATCH, sizeof *c);
  if (!c) return ST_NO_MEMORY;
  c->ninputs = c->nvalues = c->ninstrs = c->noutputs = c->nchecks = 0;
  *out = c;
  return ST_OK;
}

void st__ir_free(st_ir **c) {
  if (*c) st__free(ST_MEM_SCRATCH, *c, sizeof **c);
  *c = NULL;
}

/* -- Values --------------------------------------------------------------- */

static st_status too_long(void) {
  return st__fail(ST_BAD_STATE, "more than %d instructions to fuse",
                  ST_PROGRAM_INSTRS);
}

static st_status add_value(st_ir *c, st_ir_value_kind kind, st_dtype dtype,
                           bool is_uniform, int *out) {
  if (c->nvalues == ST_IR_VALUES) return too_long();
  st_ir_value *v = &c->values[c->nvalues];
  memset(v, 0, sizeof *v);
  v->kind = (uint8_t)kind;
  v->dtype = (uint8_t)dtype;
  v->is_uniform = is_uniform;
  *out = c->nvalues++;
  return ST_OK;
}

st_status st__ir_input(st_ir *c, st_dtype dtype, bool is_uniform,
                       int *out) {
  ST_ASSERT(c->ninputs == c->nvalues);
  ST_TRY(add_value(c, ST_IR_INPUT, dtype, is_uniform, out));
  c->ninputs++;
  return ST_OK;
}

st_status st__ir_const(st_ir *c, st_dtype dtype, const void *bytes,
                       int *out) {
  const size_t size = st__itemsize(dtype);
  for (int i = c->ninputs; i < c->nvalues; i++) {
    const st_ir_value *v = &c->values[i];
    if (v->kind == ST_IR_CONST && v->dtype == dtype &&
        memcmp(v->bytes, bytes, size) == 0) {
      *out = i;
      return ST_OK;
    }
  }
  ST_TRY(add_value(c, ST_IR_CONST, dtype, true, out));
  memcpy(c->values[*out].bytes, bytes, size);
  return ST_OK;
}

/* -- Instructions --------------------------------------------------------- */

static bool all_const(const st_ir *c, int n, const int *in) {
  for (int i = 0; i < n; i++) {
    if (c->values[in[i]].kind != ST_IR_CONST) return false;
  }
  return true;
}

static bool all_uniform(const st_ir *c, int n, const int *in) {
  for (int i = 0; i < n; i++) {
    if (!c->values[in[i]].is_uniform) return false;
  }
  return true;
}

/* Runs the loop over one element. Each buffer has room for a whole vector
 * store. */
static st_status fold_const(st_ir *c, const st_instr *x, const int *in,
                            const st_dtype *dtypes, int *out) {
  _Alignas(64) char room[ST_INSTR_OPERANDS][64];
  char *data[ST_INSTR_OPERANDS];
  for (int i = 0; i < x->n; i++) {
    data[i] = room[i];
    if (i >= x->nout) memcpy(room[i], c->values[in[i - x->nout]].bytes, 16);
  }
  st__run_loop_once(x->loop, data, x->strides,
                    x->has_params ? &x->params : NULL);
  for (int i = 0; i < x->nout; i++) {
    ST_TRY(st__ir_const(c, dtypes[i], room[i], &out[i]));
  }
  return ST_OK;
}

/* An earlier instruction with the same loop, operands and parameters, or
 * NULL. */
static const st_instr *find_common(const st_ir *c, const st_instr *x) {
  const size_t size = sizeof(uint16_t) * (size_t)(x->n - x->nout);
  for (int i = 0; i < c->ninstrs; i++) {
    const st_instr *y = &c->instrs[i];
    if (y->loop == x->loop && y->n == x->n && y->nout == x->nout &&
        y->has_params == x->has_params &&
        memcmp(y->at + y->nout, x->at + x->nout, size) == 0 &&
        (!x->has_params ||
         memcmp(&y->params, &x->params, sizeof x->params) == 0)) {
      return y;
    }
  }
  return NULL;
}

static st_status append(st_ir *c, st_instr *x, const int *in,
                        const st_dtype *dtypes, int *out) {
  const int nin = x->n - x->nout;
  const bool is_uniform = all_uniform(c, nin, in);
  if (c->ninstrs == ST_PROGRAM_INSTRS) return too_long();
  for (int i = 0; i < x->nout; i++) {
    ST_TRY(add_value(c, ST_IR_RESULT, dtypes[i], is_uniform, &out[i]));
    c->values[out[i]].def = c->ninstrs;
    x->at[i] = (uint16_t)out[i];
  }
  c->instrs[c->ninstrs++] = *x;
  return ST_OK;
}

st_status st__ir_instr(st_ir *c, const st_ir_call *call, int *out) {
  const int nin = call->nin, nout = call->nout;
  const int *in = call->in;
  st_instr x;
  memset(&x, 0, sizeof x);
  if (nin + nout > ST_INSTR_OPERANDS) return too_long();
  x.loop = call->loop;
  x.kernel = call->kernel;
  x.nout = (uint8_t)nout;
  x.n = (uint8_t)(nin + nout);
  x.cost = 1.0f / (float)call->grain;
  x.has_params = call->params != NULL;
  if (call->params) x.params = *call->params;
  for (int i = 0; i < x.n; i++) {
    const st_dtype d = i < nout ? call->dtypes[i]
                                : (st_dtype)c->values[in[i - nout]].dtype;
    x.strides[i] = (int64_t)st__itemsize(d);
    if (i >= nout) x.at[i] = (uint16_t)in[i - nout];
  }
  if (nin > 0 && all_const(c, nin, in)) {
    return fold_const(c, &x, in, call->dtypes, out);
  }
  const st_instr *same = find_common(c, &x);
  for (int i = 0; same && i < nout; i++) out[i] = same->at[i];
  return same ? ST_OK : append(c, &x, in, call->dtypes, out);
}

st_status st__ir_convert(st_ir *c, int v, st_dtype dtype, int *out) {
  const st_dtype from = c->values[v].dtype;
  if (from == dtype) {
    *out = v;
    return ST_OK;
  }
  const st_ir_call copy = {.loop = st__copy_kernel(dtype, from),
                           .kernel = st__copy_key(dtype, from),
                           .grain = 32768, .nin = 1, .nout = 1, .in = {v},
                           .dtypes = {dtype}};
  return st__ir_instr(c, &copy, out);
}

int st__ir_unconverted(const st_ir *c, int v) {
  const st_ir_value *to = &c->values[v];
  if (to->kind != ST_IR_RESULT) return v;
  const st_instr *x = &c->instrs[to->def];
  const int from = x->at[x->n - 1];
  const st_dtype dtype = c->values[from].dtype;
  const st_kernel_key copy = st__copy_key(to->dtype, dtype);
  const bool is_conversion = x->n == 2 && dtype != to->dtype &&
                             st__is_kernel(x->kernel, copy.id, copy.dtype);
  return is_conversion ? from : v;
}

st_status st__ir_check(st_ir *c, int v) {
  for (int i = 0; i < c->nchecks; i++) {
    if (c->checks[i] == v) return ST_OK;
  }
  if (c->nchecks == ST_PROGRAM_CHECKS) return too_long();
  c->checks[c->nchecks++] = v;
  return ST_OK;
}
