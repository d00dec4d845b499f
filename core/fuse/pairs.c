/* Pairs: two instructions become one where a kernel does the work of both,
 * which saves a way to the cache and back.
 */

#include <string.h>

#include "fuse/code.h"

enum { NEVER = -1, FOREVER = INT32_MAX };

/* Which inputs of the second kernel are what the first one gives. */
typedef enum side { LEFT, RIGHT, EITHER, BOTH } side;

typedef struct pair { st_kernel_id kernel, first, second; side side; } pair;

static const pair pairs[] = {
#define ST_OTHER(name, grain, pattern, first, second, side, ...) \
  {ST_K_##name, ST_K_##first, ST_K_##second, side},
#include "kernel/fused_pairs.def"
#undef ST_OTHER
};

enum { NPAIRS = sizeof pairs / sizeof *pairs };

typedef struct pairing {
  st_code *c;
  uint16_t readers[ST_CODE_VALUES]; /* instructions, outputs and checks */
} pairing;

/* -- Readers -------------------------------------------------------------- */

static void read_forever(pairing *w, int v) {
  w->c->values[v].last = FOREVER;
  w->readers[v]++;
}

/* Those of instructions that somebody needs. */
static void count_readers(pairing *w) {
  st_code *c = w->c;
  memset(w->readers, 0, sizeof w->readers);
  for (int i = 0; i < c->nvalues; i++) c->values[i].last = NEVER;
  for (int i = 0; i < c->noutputs; i++) read_forever(w, c->outputs[i]);
  for (int i = 0; i < c->nchecks; i++) read_forever(w, c->checks[i]);
  for (int k = c->ninstrs - 1; k >= 0; k--) {
    const st_instr *x = &c->instrs[k];
    bool needed = false;
    for (int i = 0; i < x->nout; i++) needed |= w->readers[x->at[i]] > 0;
    for (int i = x->nout; needed && i < x->n; i++) {
      const int v = x->at[i];
      bool again = false;
      for (int j = x->nout; j < i; j++) again |= x->at[j] == v;
      w->readers[v] += !again;
      if (c->values[v].last == NEVER) c->values[v].last = k;
    }
  }
}

/* -- Steps ---------------------------------------------------------------- */

/* An instruction of one result as pairs see it: a square is a product. */
typedef struct step {
  st_loop loop;
  st_dtype dtype;                /* of its last input */
  int n, in[ST_INSTR_OPERANDS];
} step;

static step step_of(const st_code *c, int k) {
  const st_instr *x = &c->instrs[k];
  step s = {x->loop, (st_dtype)c->values[x->at[x->n - 1]].dtype, 0, {0}};
  for (int i = x->nout; i < x->n; i++) s.in[s.n++] = x->at[i];
  if (s.loop == st__kernel(ST_K_square, s.dtype)) {
    s.loop = st__kernel(ST_K_mul, s.dtype);
    s.in[s.n++] = s.in[0];
  }
  return s;
}

/* What a pair would keep waiting for its second half may not take more room
 * than what it spares. */
static bool keeps_too_much(const pairing *w, const step *s, int j, int k,
                           int between) {
  const st_code *c = w->c;
  size_t kept = 0;
  for (int i = 0; i < s->n; i++) {
    const st_code_value *v = &c->values[s->in[i]];
    const bool again = i > 0 && s->in[i] == s->in[0];
    if (v->kind != ST_VALUE_RESULT || v->last != j || again) continue;
    kept += st__itemsize((st_dtype)v->dtype);
  }
  return k > j + 1 &&
         kept > st__itemsize((st_dtype)c->values[between].dtype);
}

/* -- Pairs ---------------------------------------------------------------- */

/* The instruction that gives input i of s, which is k, when the two are the
 * pair, or NEVER. */
static int first_half(const pairing *w, const pair *p, const step *s, int i,
                      int k) {
  const st_code *c = w->c;
  const bool is_side = i == 0 ? p->side != RIGHT
                              : p->side == RIGHT || p->side == EITHER;
  if (!is_side || s->loop != st__kernel(p->second, s->dtype)) return NEVER;
  const int v = s->in[i];
  const st_code_value *between = &c->values[v];
  if (between->kind != ST_VALUE_RESULT || w->readers[v] != 1 ||
      between->is_single != c->values[c->instrs[k].at[0]].is_single ||
      (p->side == BOTH) != (s->in[0] == s->in[1])) {
    return NEVER;
  }
  const int j = between->maker;
  const step first = step_of(c, j);
  const bool fits = first.loop == st__kernel(p->first, s->dtype);
  return fits && !keeps_too_much(w, &first, j, k, v) ? j : NEVER;
}

/* k reads what j has read in place of its input i. */
static void join(pairing *w, const pair *p, int j, int k, int i) {
  st_code *c = w->c;
  st_instr *x = &c->instrs[k];
  const step first = step_of(c, j), second = step_of(c, k);
  x->loop = st__kernel(p->kernel, second.dtype);
  x->cost += c->instrs[j].cost;
  x->has_params = false;
  x->n = 1;
  for (int m = 0; m < first.n; m++) x->at[x->n++] = (uint16_t)first.in[m];
  for (int m = 0; m < second.n && p->side != BOTH; m++) {
    if (m != i) x->at[x->n++] = (uint16_t)second.in[m];
  }
  for (int m = 1; m < x->n; m++) {
    st_code_value *v = &c->values[x->at[m]];
    x->strides[m] = (int64_t)st__itemsize(second.dtype);
    if (v->last < k) v->last = k;
  }
}

static void pair_up(pairing *w, int k) {
  const step second = step_of(w->c, k);
  for (int q = 0; q < 2 * NPAIRS; q++) {
    const pair *p = &pairs[q / 2];
    if (!st__kernel(p->kernel, second.dtype)) continue;
    const int i = q % 2, j = first_half(w, p, &second, i, k);
    if (j == NEVER) continue;
    join(w, p, j, k, i);
    return;
  }
}

void st__code_pair(st_code *c) {
  pairing w = {.c = c};
  count_readers(&w);
  for (int k = 0; k < c->ninstrs; k++) {
    if (w.readers[c->instrs[k].at[0]] > 0) pair_up(&w, k);
  }
}
