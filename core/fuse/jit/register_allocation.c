/* Register allocation: live ranges, eviction and spilling
 * (Note [Register allocation]).
 */

#include "fuse/jit/register_allocation.h"

#include <string.h>

enum { NONE = -1 };

/* -- Liveness ------------------------------------------------------------- */

void st__find_live_ops(st_codegen *c) {
  const st_vector_ir *v = c->v;
  memset(c->live, 0, sizeof c->live);
  for (int i = v->n - 1; i >= 0; i--) {
    const st_vector_op *op = &v->ops[i];
    const int read[] = {op->a, op->b, op->c};
    c->live[i] |= op->code == ST_V_STORE;
    for (int k = 0; k < 3 && c->live[i]; k++) {
      if (read[k] < 0) continue;
      if (!c->live[read[k]]) c->last_use[read[k]] = (int16_t)i;
      c->live[read[k]] = true;
    }
  }
}

/* -- Registers ------------------------------------------------------------ */

static int next_use(const st_codegen *c, int v, int from) {
  for (int i = from; i <= c->last_use[v]; i++) {
    const st_vector_op *op = &c->v->ops[i];
    if (c->live[i] && (op->a == v || op->b == v || op->c == v)) return i;
  }
  return INT16_MAX;
}

bool st__is_rematerialized(const st_codegen *c, int v) {
  const int code = c->v->ops[v].code;
  return code == ST_V_LOAD || code == ST_V_CONST;
}

static void spill(st_codegen *c, int v) {
  const int reg = c->reg[v];
  c->reg[v] = NONE;
  c->owner[reg] = NONE;
  if (st__is_rematerialized(c, v) || c->spill_slot[v] != NONE) return;
  if (c->nspills == ST_JIT_SPILLS) {
    c->has_failed = true;
    return;
  }
  c->spill_slot[v] = (int8_t)c->nspills++;
  c->target->spill(c, reg, c->spill_slot[v]);
}

int st__alloc_register(st_codegen *c, int i) {
  int best = 0, farthest = -1;
  for (int r = 0; r < c->target->registers; r++) {
    if (c->owner[r] == NONE) return r;
    const int next = next_use(c, c->owner[r], i);
    if (next > farthest) best = r, farthest = next;
  }
  spill(c, c->owner[best]);
  return best;
}

void st__assign_register(st_codegen *c, int reg, int v) {
  c->owner[reg] = (int16_t)v;
  c->reg[v] = (int8_t)reg;
}

int st__register_of(st_codegen *c, int v, int i) {
  if (c->reg[v] != NONE) return c->reg[v];
  const int reg = st__alloc_register(c, i);
  st__assign_register(c, reg, v);
  c->target->fill(c, reg, v);
  return reg;
}

void st__free_last_uses(st_codegen *c, const st_vector_op *op, int i) {
  const int read[] = {op->a, op->b, op->c};
  for (int k = 0; k < 3; k++) {
    const int v = read[k];
    if (v < 0 || c->last_use[v] != i || c->reg[v] == NONE) continue;
    c->owner[c->reg[v]] = NONE;
    c->reg[v] = NONE;
  }
}
