/* The interpreter: runs a program over n0 x n1 elements, window by window.
 *
 * Note [Gather and scatter by block]
 * The elements are divided into windows of at most one block: part of a row, or
 * several rows. An operand that is contiguous in a window is read or written in
 * place; any other is gathered into a buffer of the arena, or scattered from
 * one. A single element is repeated in its buffer once for all windows. See
 * also Note [Three places that gather blocks].
 */

#include "fuse/program.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "fuse/device/device_loop.h"
#include "fuse/jit/executable_memory.h"

enum { LINE = 64 };

/* -- Lifetime ------------------------------------------------------------- */

void st__program_free(st_program *p) {
  if (p->instrs) {
    st__free(ST_MEM_REGISTRY, p->instrs,
             (size_t)p->capacity * sizeof *p->instrs);
  }
  if (p->code) st__exec_pages_free(p->code, p->code_size);
  st__device_codes_free(atomic_load(&p->device_codes));
  if (p->consts) st__free(ST_MEM_REGISTRY, p->consts, p->consts_size + LINE);
  st__free(ST_MEM_REGISTRY, p, sizeof *p);
}

void st__program_retain(st_program *p) { st__ref_take(&p->refs); }

void st__program_release(st_program **p) {
  st_program *const dead = *p;
  *p = NULL;
  if (dead && st__ref_drop(&dead->refs)) st__program_free(dead);
}

/* -- Operands ------------------------------------------------------------- */

/* An operand of the loop; outputs come first. */
typedef struct operand {
  char *data, *buffer;
  const char *cached;    /* the address the buffer was gathered from */
  int64_t ncached;       /* elements in the buffer */
  int64_t s0, s1, size;  /* strides and itemsize, in bytes */
  st_loop move;          /* copies between memory and the buffer */
  int slot;
  bool is_aliased;       /* an output that must be written by way of the
                            buffer */
} operand;

typedef struct interp {
  const st_program *p;
  operand op[ST_PROGRAM_OPERANDS];
  char *at[ST_PROGRAM_SLOTS];
  bool only_checks, found_zero;
  _Alignas(LINE) char arena[ST_PROGRAM_ARENA];
} interp;

typedef struct window { int64_t m0, m1; } window;

static void set_up_slots(interp *m) {
  const st_program *p = m->p;
  char *const consts = st__program_consts(p);
  for (int i = 0; i < p->nslots; i++) {
    const st_slot *slot = &p->slots[i];
    m->at[i] = (slot->kind == ST_SLOT_CONST ? consts : m->arena) +
               slot->offset;
  }
}

static void set_up_operands(interp *m, char **data, const int64_t *strides,
                            bool is_row) {
  const st_program *p = m->p;
  const int n = p->noutputs + p->ninputs;
  for (int i = 0; i < n; i++) {
    operand *o = &m->op[i];
    o->slot = i < p->noutputs ? i
             : p->noutputs + p->order[i - p->noutputs];
    const st_dtype d = p->slots[o->slot].dtype;
    o->data = data[i];
    o->buffer = m->at[o->slot];
    o->cached = NULL;
    const bool is_uniform = i >= p->noutputs &&
                           p->is_uniform[o->slot - p->noutputs];
    o->s0 = is_uniform ? 0 : strides[i];
    o->s1 = is_uniform || is_row ? 0 : strides[n + i];
    o->size = (int64_t)st__itemsize(d);
    o->move = st__copy_kernel(d, d);
    o->is_aliased = false;
  }
}

/* Marks outputs whose memory is that of an input which the program reads after
 * it writes an output. */
static void find_aliased(interp *m) {
  const st_program *p = m->p;
  for (int i = 0; i < p->noutputs && p->writes_early; i++) {
    for (int j = p->noutputs; j < p->noutputs + p->ninputs; j++) {
      m->op[i].is_aliased |= m->op[i].data == m->op[j].data;
    }
  }
}

/* Note [Tails of vector loops]
 * Machine code reads and writes whole vectors, and must not access memory
 * behind the end of a window. So windows are multiples of ST_PROGRAM_LANES
 * where possible; operands of the others, such as the rest of a row, are in
 * buffers, which have space behind the end. */
static bool is_dense(const st_program *p, const operand *o, window w) {
  if (o->s0 == 0 && o->s1 == 0) return false; /* repeated in the buffer */
  if (p->nregions > 0 && w.m0 * w.m1 % ST_PROGRAM_LANES != 0) return false;
  return (w.m0 == 1 || o->s0 == o->size) &&
         (w.m1 == 1 || o->s1 == w.m0 * o->size);
}

static void gather(interp *m, operand *o, char *from, window w) {
  const int64_t strides[4] = {o->size, o->s0, w.m0 * o->size, o->s1};
  const int64_t n = w.m0 * w.m1;
  const bool repeats = o->s0 == 0 && o->s1 == 0;
  m->at[o->slot] = o->buffer;
  if (o->cached == from && o->ncached >= n) return;
  const int64_t all = repeats ? m->p->block : w.m0;
  o->move((char *[]){o->buffer, from}, strides, all, repeats ? 1 : w.m1,
          NULL);
  o->cached = from;
  o->ncached = repeats ? all : n;
}

static void scatter(const operand *o, char *to, window w) {
  const int64_t strides[4] = {o->s0, o->size, o->s1, w.m0 * o->size};
  o->move((char *[]){to, o->buffer}, strides, w.m0, w.m1, NULL);
}

static void bind_window(interp *m, int64_t q, int64_t r, window w) {
  const st_program *p = m->p;
  for (int i = 0; i < p->noutputs + p->ninputs; i++) {
    operand *o = &m->op[i];
    char *at = o->data + q * o->s0 + r * o->s1;
    const bool is_out = i < p->noutputs;
    if (is_dense(p, o, w) && !o->is_aliased && !(is_out && m->only_checks)) {
      m->at[o->slot] = at;
    } else if (is_out) {
      m->at[o->slot] = o->buffer;
    } else {
      gather(m, o, at, w);
    }
  }
}

static void scatter_outputs(const interp *m, int64_t q, int64_t r, window w) {
  for (int i = 0; i < m->p->noutputs; i++) {
    const operand *o = &m->op[i];
    if (m->at[i] != o->buffer) continue;
    scatter(o, o->data + q * o->s0 + r * o->s1, w);
  }
}

/* -- Instructions --------------------------------------------------------- */

typedef void (*machine_code)(char *const *at, int64_t n);

static void run_code(const interp *m, const st_jit_region *region, int64_t n) {
  machine_code code;
  const void *at = m->p->code + region->at;
  memcpy(&code, &at, sizeof code);
  code(m->at, n);
}

static void run_instrs(const interp *m, int from, int to, int64_t n) {
  const st_program *p = m->p;
  const st_jit_region *region = p->regions, *const end = region + p->nregions;
  for (int k = from; k < to; k++) {
    const st_instr *x = &p->instrs[k];
    if (region < end && region->from == k) {
      run_code(m, region, n);
      k = region++->to - 1;
      continue;
    }
    char *data[ST_INSTR_OPERANDS];
    for (int i = 0; i < x->n; i++) data[i] = m->at[x->at[i]];
    x->loop(data, x->strides, n, 1, x->has_params ? &x->params : NULL);
  }
}

static void find_zeros(interp *m, int64_t n) {
  static const char zero[16] = {0};
  for (int i = 0; i < m->p->nchecks; i++) {
    const int slot = m->p->checks[i];
    const size_t size = st__itemsize(m->p->slots[slot].dtype);
    const char *at = m->at[slot];
    for (int64_t k = 0; k < n; k++, at += size) {
      m->found_zero |= memcmp(at, zero, size) == 0;
    }
  }
}

static void run_window(interp *m, int64_t q, int64_t r, window w) {
  const st_program *p = m->p;
  const int64_t n = w.m0 * w.m1;
  bind_window(m, q, r, w);
  if (q == 0 && r == 0) run_instrs(m, 0, p->nprologue, p->block);
  run_instrs(m, p->nprologue, p->ninstrs, n);
  if (m->only_checks) find_zeros(m, n);
  else scatter_outputs(m, q, r, w);
}

/* -- The loop ------------------------------------------------------------- */

/* True if every operand has n0 x n1 elements at one stride. */
static bool is_one_row(const st_program *p, const int64_t *s, int64_t n0) {
  const int n = p->noutputs + p->ninputs;
  for (int i = 0; i < n; i++) {
    if (s[n + i] != n0 * s[i]) return false;
  }
  return true;
}

/* n, rounded down to a multiple of ST_PROGRAM_LANES if there is machine code
 * and n has at least that many elements. */
static int64_t round_to_lanes(const st_program *p, int64_t n) {
  const bool is_cut = p->nregions > 0 && n >= ST_PROGRAM_LANES;
  return is_cut ? n - n % ST_PROGRAM_LANES : n;
}

/* Rows of a window, at most n1: a multiple of ST_PROGRAM_LANES if n1 is large
 * enough; otherwise 1 if rows are long and do not make whole vectors. */
static int64_t rows_per_window(const st_program *p, int64_t n0, int64_t n1) {
  const int64_t n = round_to_lanes(p, n1);
  return p->nregions > 0 && n0 * n % ST_PROGRAM_LANES != 0 && n0 > n ? 1 : n;
}

static bool run_blocks(const st_program *p, bool only_checks, char **data,
                       const int64_t *strides, int64_t n0, int64_t n1) {
  interp m;
  window w;
  const bool is_row = n1 == 1 || is_one_row(p, strides, n0);
  m.p = p;
  m.only_checks = only_checks;
  m.found_zero = false;
  if (is_row) n0 *= n1, n1 = 1;
  const int64_t c0 = n0 < p->block ? n0 : p->block;
  const int64_t c1 = rows_per_window(p, n0, c0 < n0 ? 1 : p->block / c0);
  set_up_slots(&m);
  set_up_operands(&m, data, strides, is_row);
  find_aliased(&m);
  for (int64_t r = 0; r < n1; r += c1) {
    w.m1 = n1 - r < c1 ? n1 - r : c1;
    for (int64_t q = 0; q < n0; q += w.m0) {
      w.m0 = n0 - q < c0 ? n0 - q : c0;
      if (w.m1 == 1) w.m0 = round_to_lanes(p, w.m0);
      run_window(&m, q, r, w);
    }
  }
  return m.found_zero;
}

void st__program_loop(char **data, const int64_t *strides, int64_t n0,
                      int64_t n1, const void *ctx) {
  if (n0 > 0 && n1 > 0) run_blocks(ctx, false, data, strides, n0, n1);
}

/* -- Iterators ------------------------------------------------------------ */

st_status st__program_run(const st_program *p, st_iter *it) {
  return st__iter_map(it, st__program_loop, p, p->grain);
}

typedef struct search { const st_program *p; bool found; } search;

static void search_loop(char **data, const int64_t *strides, int64_t n0,
                        int64_t n1, const void *ctx) {
  search *s = (search *)(uintptr_t)ctx;
  if (n0 > 0 && n1 > 0) {
    s->found |= run_blocks(s->p, true, data, strides, n0, n1);
  }
}

st_status st__program_find_zero(const st_program *p, st_iter *it,
                                bool *found) {
  search s = {p, false};
  if (p->nchecks > 0) ST_TRY(st__iter_read(it, search_loop, &s));
  *found = s.found;
  return ST_OK;
}

/* -- Text ----------------------------------------------------------------- */

static void print_slot(st_text *t, const st_program *p, int i) {
  static const char kinds[] = {'a', 'y', 'c', 'r'};
  const st_slot *at = &p->slots[i];
  const int number = at->kind == ST_SLOT_INPUT ||
                     at->kind == ST_SLOT_OUTPUT ? at->at : i;
  st__text_format(t, " %c%d:%s", kinds[at->kind], number,
                  st__dtype_name(at->dtype));
}

static int count_compiled(const st_program *p) {
  int n = 0;
  for (int i = 0; i < p->nregions; i++) {
    n += p->regions[i].to - p->regions[i].from;
  }
  return n;
}

st_status st__program_text(const st_program *p, char **out) {
  st_text t = {0};
  st__text_format(&t, "%d instructions over blocks of %d elements",
                  p->ninstrs, (int)p->block);
  if (p->nregions > 0) {
    st__text_format(&t, ", %d of them as machine code (|)",
                    count_compiled(p));
  }
  const st_jit_region *region = p->regions, *const end = region + p->nregions;
  for (int k = 0; k < p->ninstrs; k++) {
    const st_instr *x = &p->instrs[k];
    if (region < end && k == region->to) region++;
    const bool is_compiled = region < end && k >= region->from;
    st__text_format(&t, "\n%s", k < p->nprologue ? "  once"
                               : is_compiled ? "  |" : "   ");
    for (int i = 0; i < x->nout; i++) print_slot(&t, p, x->at[i]);
    st__text_format(&t, " = %s", st__loop_name(x->loop));
    for (int i = x->nout; i < x->n; i++) print_slot(&t, p, x->at[i]);
  }
  return st__text_finish(&t, out);
}
