/* The code generator for any target: walks the vector IR.
 */

#include "fuse/jit/codegen.h"

#include <string.h>

#include "base/memory.h"
#include "fuse/jit/register_allocation.h"

enum { NONE = -1 };

/* -- Targets -------------------------------------------------------------- */

/* Each gives NULL on processors that are not its own. */
static const st_jit_target *(*const targets[])(void) = {st__x86_target};

const st_jit_target *st__jit_target(void) {
  const st_jit_target *found = NULL;
  for (size_t i = 0; i < sizeof targets / sizeof *targets && !found; i++) {
    found = targets[i]();
  }
  return found;
}

bool st__codegen_has(const st_jit_target *target, const st_vector_ir *v) {
  for (int i = 0; i < v->n; i++) {
    if (!target->has(&v->ops[i], v->width)) return false;
  }
  return true;
}

/* -- Loops ---------------------------------------------------------------- */

size_t st__codegen_loop(st_codegen *c, const st_vector_ir *v, uint8_t *code,
                        size_t max) {
  c->v = v;
  c->code = code;
  c->n = 0;
  c->max = max;
  c->nspills = 0;
  c->has_failed = false;
  memset(c->reg, NONE, sizeof c->reg);
  memset(c->spill_slot, NONE, sizeof c->spill_slot);
  memset(c->owner, NONE, sizeof c->owner);
  st__find_live_ops(c);
  c->target->begin(c);
  for (int i = 0; i < v->n; i++) {
    if (c->live[i] && !st__is_rematerialized(c, i)) c->target->emit(c, i);
  }
  c->target->end(c);
  return c->has_failed ? 0 : c->n;
}

/* -- Lifetime ------------------------------------------------------------- */

st_codegen *st__codegen_new(const st_jit_target *target) {
  st_codegen *c = st__alloc(ST_MEM_SCRATCH, target->size);
  if (c) c->target = target;
  return c;
}

void st__codegen_free(st_codegen *c) {
  if (c) st__free(ST_MEM_SCRATCH, c, c->target->size);
}
