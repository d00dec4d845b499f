/* The JIT compiler: chooses regions of a program and compiles them.
 */

#include "fuse/jit/jit_compile.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fuse/jit/kernel_lowering.h"
#include "fuse/jit/codegen.h"
#include "fuse/jit/executable_memory.h"

enum {
  MAX_CODE = 64 << 10,   /* bytes for a program */
  MIN_REGION = 2,        /* instructions */
  MAX_LATENCY = 180      /* Note [Latency limit of a region] */
};

typedef struct compiler {
  st_program *p;
  const st_jit_target *target;
  st_codegen *m;
  st_lowering w;
  uint8_t code[MAX_CODE];
} compiler;

/* -- Regions -------------------------------------------------------------- */

/* True if an instruction from k on reads the slot before one writes it. */
static bool is_read_from(const st_program *p, int slot, int k) {
  for (; k < p->ninstrs; k++) {
    const st_instr *x = &p->instrs[k];
    for (int i = x->nout; i < x->n; i++) {
      if (x->at[i] == slot) return true;
    }
    for (int i = 0; i < x->nout; i++) {
      if (x->at[i] == slot) return false;
    }
  }
  return false;
}

static bool is_written(const st_program *p, int slot, int from, int to) {
  for (int k = from; k < to; k++) {
    if (p->instrs[k].at[0] == slot) return true;
  }
  return false;
}

/* Lowers the instructions [from, to) to vector IR, with stores of the values
 * that are live out; false if they do not fit. */
static bool lower_region(compiler *c, int from, int to, int width) {
  const st_program *p = c->p;
  st__lower_begin(&c->w, p, width);
  for (int k = from; k < to; k++) {
    const int slot = p->instrs[k].at[0];
    if (!st__lower_instr(&c->w, &p->instrs[k])) return false;
    if (p->slots[slot].kind == ST_SLOT_OUTPUT ||
        (!is_written(p, slot, k + 1, to) && is_read_from(p, slot, to))) {
      st__lower_store(&c->w, slot);
    }
  }
  return !c->w.v.is_full && st__codegen_has(c->target, &c->w.v);
}

/* Note [Latency limit of a region]
 * A processor executes several iterations of a loop at a time, as many as fit
 * its reorder buffer of some hundred instructions. When the critical path to
 * an operation is longer than about MAX_LATENCY cycles, too few iterations fit
 * to keep the processor busy, and separate kernels are faster. So a region ends
 * there. One function, such as erf, takes up to 150 with what is around it.
 */

/* The end of the longest region that starts at `from`, and its lane width. */
static int region_end(compiler *c, int from, int *width) {
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
    if ((w != 0 && w != *width) || !st__lower_instr(&c->w, &p->instrs[to]) ||
        !st__codegen_has(c->target, &c->w.v)) {
      break;
    }
    const int value = c->w.value[p->instrs[to].at[0]].value;
    if (c->w.v.latency[value] > MAX_LATENCY && to - from >= MIN_REGION) break;
  }
  return to;
}

static void compile_regions(compiler *c) {
  st_program *p = c->p;
  size_t n = 0;
  for (int k = p->nprologue; k < p->ninstrs && p->nregions < ST_JIT_REGIONS;) {
    int width, to = region_end(c, k, &width);
    size_t size = 0;
    if (to - k < MIN_REGION) {
      k++;
      continue;
    }
    for (; size == 0 && to - k >= MIN_REGION; to = k + (to - k) / 2) {
      if (!lower_region(c, k, to, width)) continue;
      size = st__codegen_loop(c->m, &c->w.v, c->code + n, MAX_CODE - n);
      if (size > 0) break;
    }
    if (size == 0) break; /* the buffer is full */
    p->regions[p->nregions++] = (st_jit_region){(uint16_t)k, (uint16_t)to,
                                                (uint32_t)n};
    n += size;
    k = to;
  }
  p->code_size = n;
}

st_status st__program_compile(st_program *p) {
  if (!st_is_jit_enabled()) return ST_OK;
  st_codegen *m = st__codegen_new(st__jit_target());
  compiler *c = st__alloc(ST_MEM_SCRATCH, sizeof *c);
  if (m && c) {
    c->p = p;
    c->target = st__jit_target();
    c->m = m;
    compile_regions(c);
    if (p->nregions > 0) {
      p->code = st__exec_pages_new(c->code, p->code_size, &p->code_size);
    }
    if (!p->code) p->nregions = 0;
  }
  const st_status status = m && c ? ST_OK : ST_NO_MEMORY;
  if (c) st__free(ST_MEM_SCRATCH, c, sizeof *c);
  st__codegen_free(m);
  return status;
}

/* -- The switch ----------------------------------------------------------- */

static atomic_bool is_jit_off;

__attribute__((constructor)) static void read_switch(void) {
  const char *s = getenv("STRIDED_JIT");
  atomic_init(&is_jit_off, s && strcmp(s, "0") == 0);
}

bool st_is_jit_enabled(void) {
  return st__jit_target() &&
         !atomic_load_explicit(&is_jit_off, memory_order_relaxed);
}

bool st_set_jit_enabled(bool is_on) {
  return st__jit_target() && !atomic_exchange(&is_jit_off, !is_on);
}
