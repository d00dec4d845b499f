/* The loops of elementwise operators on devices: Note [Loops on devices].
 */

#include "fuse/device/device_loop.h"

#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "fuse/device/expression.h"
#include "iter/plan.h"
#include "op/device/device.h"

/* -- Compiled loops ------------------------------------------------------- */

/* What the devices of a backend run for a kernel or a program: code, or NULL
 * if they cannot. A list of them only grows, at its head, so that readers take
 * no lock. The list of a program has one entry for each backend. */
struct st_device_code {
  st_device_code *next;
  st_device kind;
  st_loop_key key;   /* of a kernel; zeroed for a program */
  void *code;
};

typedef _Atomic(st_device_code *) code_list;

/* Of kernels: there is one entry per kernel and dtypes, kept for the life of
 * the process. Lists by a hash of their keys: programs of large models use some
 * thousand loops. */
enum { BUCKETS = 1024 };
static code_list kernels[BUCKETS];

static code_list *bucket_of(st_device kind, const st_loop_key *key) {
  const unsigned char *p = (const unsigned char *)key;
  uint32_t hash = 2166136261u ^ (uint32_t)kind;
  for (size_t i = 0; i < sizeof *key; i++) hash = (hash ^ p[i]) * 16777619u;
  return &kernels[(hash ^ hash >> 16) % BUCKETS];
}

static st_device_code *find(code_list *list, st_device kind,
                            const st_loop_key *key) {
  st_device_code *c = atomic_load_explicit(list, memory_order_acquire);
  while (c && (c->kind != kind || memcmp(&c->key, key, sizeof *key) != 0)) {
    c = c->next;
  }
  return c;
}

/* Two threads may compile the same loop; both are kept. */
static void keep(code_list *list, st_device_code *c) {
  c->next = atomic_load_explicit(list, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(list, &c->next, c,
                                                memory_order_release,
                                                memory_order_relaxed)) {}
}

/* p NULL: the expression of a kernel. */
static st_status compile(const st_backend *b, const st_program *p,
                         const st_loop_key *key, void **code) {
  st_expression_builder *e = st__alloc(ST_MEM_SCRATCH, sizeof *e);
  if (!e) return ST_NO_MEMORY;
  const bool is_expression = p ? st__program_expression(e, p)
                               : st__kernel_expression(e, key);
  const st_status status = is_expression ? b->compile(b->ctx, &e->e, code)
                                         : ST_NO_KERNEL;
  st__free(ST_MEM_SCRATCH, e, sizeof *e);
  return status;
}

static st_status get_code(st_device device, st_program *p,
                          const st_loop_key *key, void **out) {
  const st_backend *b = st__backend_of(device);
  const st_device kind = ST_DEVICE_KIND(device);
  code_list *list = p ? &p->device_codes : bucket_of(kind, key);
  void *code = NULL;
  st_device_code *c = find(list, kind, key);
  if (!c) {
    const st_status status = compile(b, p, key, &code);
    if (status != ST_OK && status != ST_NO_KERNEL) return status;
    c = st__alloc_zero(ST_MEM_REGISTRY, sizeof *c);
    if (!c && status == ST_OK) b->release(b->ctx, code);
    if (!c) return ST_NO_MEMORY;
    c->kind = kind;
    c->key = *key;
    c->code = status == ST_OK ? code : NULL;
    keep(list, c);
  }
  *out = c->code;
  return c->code ? ST_OK : ST_NO_KERNEL;
}

void st__device_codes_free(st_device_code *c) {
  while (c) {
    st_device_code *const next = c->next;
    const st_backend *b = st__backend_of(c->kind);
    if (c->code) b->release(b->ctx, c->code);
    st__free(ST_MEM_REGISTRY, c, sizeof *c);
    c = next;
  }
}

/* -- Runs ----------------------------------------------------------------- */

/* False if there are too many operands. */
static bool key_of(const st_iter *it, st_loop_key *key) {
  memset(key, 0, sizeof *key);
  key->kernel = (uint16_t)it->kernel.id;
  key->dtype = (uint8_t)it->common_dtype;
  key->noutputs = (uint8_t)it->noutputs;
  key->noperands = (uint8_t)it->noperands;
  for (int i = 0; i < it->noperands && i < ST_INSTR_OPERANDS; i++) {
    const st_iter_operand *op = &it->op[i];
    key->operands[i] = (st_loop_operand){
      (uint8_t)(op->casts ? op->tensor->dtype : op->target),
      (uint8_t)op->target};
  }
  return it->noperands <= ST_INSTR_OPERANDS;
}

static st_status run(const st_iter *it, void *code, const st_scalar *params) {
  const st_backend *b = st__backend_of(it->device);
  const st_plan_run how = {.kind = ST_PLAN_ELEMENTWISE};
  st_plan *plan = NULL;
  if (it->numel == 0) return ST_OK;
  ST_TRY(st__plan_of(it, &how, &plan));
  const st_status status = b->run(b->ctx, ST_DEVICE_NUMBER(it->device), code,
                                  plan, params);
  st_plan_release(&plan);
  return status;
}

static st_status loop(const st_iter *it, const st_params *params) {
  static const st_params none;
  st_loop_key key;
  void *code;
  if (!st__device_compiles(it->device) || !key_of(it, &key)) {
    return ST_NO_KERNEL;
  }
  ST_TRY(get_code(it->device, NULL, &key, &code));
  return run(it, code, params ? params->s : none.s);
}

st_status st__program_run_on_device(st_program *p, const st_iter *it) {
  static const st_loop_key none;
  void *code;
  if (!st__device_compiles(it->device)) return ST_NO_KERNEL;
  ST_TRY(get_code(it->device, p, &none, &code));
  return run(it, code, NULL);
}

void st__device_loops_set_up(void) { st__device_loop = loop; }
