/* Peephole rules of the IR: an instruction is merged into the one that reads
 * its result if one kernel computes both, which saves a store and a load.
 */

#include <string.h>

#include "fuse/ir/ir.h"

enum { UNUSED = -1, LIVE_OUT = INT32_MAX };

/* Which operand of the second kernel is the result of the first. */
typedef enum side { LEFT, RIGHT, EITHER, BOTH } side;

typedef struct rule { st_kernel_id kernel, first, second; side side; } rule;

static const rule rules[] = {
#define ST_LOOPS(name, grain, pattern, first, second, side, ...) \
  {ST_K_##name, ST_K_##first, ST_K_##second, side},
#include "kernel/elementwise/fused_pairs.def"
#undef ST_LOOPS
};

enum { NRULES = sizeof rules / sizeof *rules };

typedef struct peephole {
  st_ir *c;
  uint16_t uses[ST_IR_VALUES];      /* instructions, outputs and checks */
} peephole;

/* -- Uses ----------------------------------------------------------------- */

static void use_at_exit(peephole *w, int v) {
  w->c->values[v].last = LIVE_OUT;
  w->uses[v]++;
}

/* Counts uses and finds last uses. Dead instructions do not count. */
static void count_uses(peephole *w) {
  st_ir *c = w->c;
  memset(w->uses, 0, sizeof w->uses);
  for (int i = 0; i < c->nvalues; i++) c->values[i].last = UNUSED;
  for (int i = 0; i < c->noutputs; i++) use_at_exit(w, c->outputs[i]);
  for (int i = 0; i < c->nchecks; i++) use_at_exit(w, c->checks[i]);
  for (int k = c->ninstrs - 1; k >= 0; k--) {
    const st_instr *x = &c->instrs[k];
    bool live = false;
    for (int i = 0; i < x->nout; i++) live |= w->uses[x->at[i]] > 0;
    for (int i = x->nout; live && i < x->n; i++) {
      const int v = x->at[i];
      bool again = false;
      for (int j = x->nout; j < i; j++) again |= x->at[j] == v;
      w->uses[v] += !again;
      if (c->values[v].last == UNUSED) c->values[v].last = k;
    }
  }
}

/* -- Operations ----------------------------------------------------------- */

/* An instruction as the rules match it: a square is a product. */
typedef struct operation {
  st_kernel_key kernel;
  int n, in[ST_INSTR_OPERANDS];
} operation;

static operation operation_of(const st_ir *c, int k) {
  const st_instr *x = &c->instrs[k];
  operation s = {x->kernel, 0, {0}};
  for (int i = x->nout; i < x->n; i++) s.in[s.n++] = x->at[i];
  if (s.kernel.id == ST_K_square) {
    s.kernel.id = ST_K_mul;
    s.in[s.n++] = s.in[0];
  }
  return s;
}

/* True if merging instruction j into k would extend the live ranges of j's
 * operands s by more bytes than the value `between` takes, which it saves. */
static bool extends_liveness(const peephole *w, const operation *s, int j,
                             int k, int between) {
  const st_ir *c = w->c;
  size_t kept = 0;
  for (int i = 0; i < s->n; i++) {
    const st_ir_value *v = &c->values[s->in[i]];
    const bool again = i > 0 && s->in[i] == s->in[0];
    if (v->kind != ST_IR_RESULT || v->last != j || again) continue;
    kept += st__itemsize(v->dtype);
  }
  return k > j + 1 &&
         kept > st__itemsize(c->values[between].dtype);
}

/* -- Rules ---------------------------------------------------------------- */

/* The instruction that defines operand i of s, which is instruction k, if rule
 * p merges the two; else UNUSED. */
static int match_first(const peephole *w, const rule *p, const operation *s,
                       int i, int k) {
  const st_ir *c = w->c;
  const bool is_side = i == 0 ? p->side != RIGHT
                              : p->side == RIGHT || p->side == EITHER;
  if (!is_side || s->kernel.id != p->second) return UNUSED;
  const int v = s->in[i];
  const st_ir_value *between = &c->values[v];
  if (between->kind != ST_IR_RESULT || w->uses[v] != 1 ||
      between->is_uniform != c->values[c->instrs[k].at[0]].is_uniform ||
      (p->side == BOTH) != (s->in[0] == s->in[1])) {
    return UNUSED;
  }
  const int j = between->def;
  const operation first = operation_of(c, j);
  const bool fits = st__is_kernel(first.kernel, p->first, s->kernel.dtype);
  return fits && !extends_liveness(w, &first, j, k, v) ? j : UNUSED;
}

/* Merges j into k: k reads the operands of j in place of its operand i. */
static void merge(peephole *w, const rule *p, int j, int k, int i) {
  st_ir *c = w->c;
  st_instr *x = &c->instrs[k];
  const operation first = operation_of(c, j), second = operation_of(c, k);
  const st_dtype dtype = second.kernel.dtype;
  x->loop = st__kernel(p->kernel, dtype);
  x->kernel = (st_kernel_key){p->kernel, dtype};
  x->cost += c->instrs[j].cost;
  x->has_params = false;
  x->n = 1;
  for (int m = 0; m < first.n; m++) x->at[x->n++] = (uint16_t)first.in[m];
  for (int m = 0; m < second.n && p->side != BOTH; m++) {
    if (m != i) x->at[x->n++] = (uint16_t)second.in[m];
  }
  for (int m = 1; m < x->n; m++) {
    st_ir_value *v = &c->values[x->at[m]];
    x->strides[m] = (int64_t)st__itemsize(dtype);
    if (v->last < k) v->last = k;
  }
}

static void apply_rules(peephole *w, int k) {
  const operation second = operation_of(w->c, k);
  for (int q = 0; q < 2 * NRULES; q++) {
    const rule *p = &rules[q / 2];
    if (!st__kernel(p->kernel, second.kernel.dtype)) continue;
    const int i = q % 2, j = match_first(w, p, &second, i, k);
    if (j == UNUSED) continue;
    merge(w, p, j, k, i);
    return;
  }
}

void st__ir_peephole(st_ir *c) {
  peephole w = {.c = c};
  count_uses(&w);
  for (int k = 0; k < c->ninstrs; k++) {
    if (w.uses[c->instrs[k].at[0]] > 0) apply_rules(&w, k);
  }
}
