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

/* A loop that a backend has compiled, or refused: code is NULL. Loops are kept
 * for the life of the process: there is one per kernel and dtypes. */
typedef struct device_code device_code;
struct device_code {
  device_code *next;
  st_loop_key key;
  void *code;
};

/* By kind of device. Only the head changes, so that readers take no lock. */
static _Atomic(device_code *) codes[ST_DEVICE_COUNT];

static device_code *find(st_device device, const st_loop_key *key) {
  device_code *c = atomic_load_explicit(&codes[ST_DEVICE_KIND(device)],
                                        memory_order_acquire);
  while (c && memcmp(&c->key, key, sizeof *key) != 0) c = c->next;
  return c;
}

/* Two threads may compile the same loop; both are kept. */
static void keep(st_device device, device_code *c) {
  _Atomic(device_code *) *head = &codes[ST_DEVICE_KIND(device)];
  c->next = atomic_load_explicit(head, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(head, &c->next, c,
                                                memory_order_release,
                                                memory_order_relaxed)) {}
}

static st_status compile(const st_backend *b, const st_loop_key *key,
                         void **code) {
  st_expression_builder *e = st__alloc(ST_MEM_SCRATCH, sizeof *e);
  if (!e) return ST_NO_MEMORY;
  const st_status status = st__kernel_expression(e, key)
                           ? b->compile(b->ctx, &e->e, code) : ST_NO_KERNEL;
  st__free(ST_MEM_SCRATCH, e, sizeof *e);
  return status;
}

static st_status get_code(st_device device, const st_loop_key *key,
                          device_code **out) {
  const st_backend *b = st__backend_of(device);
  void *code = NULL;
  *out = find(device, key);
  if (*out) return ST_OK;
  const st_status status = compile(b, key, &code);
  if (status != ST_OK && status != ST_NO_KERNEL) return status;
  device_code *c = st__alloc_zero(ST_MEM_REGISTRY, sizeof *c);
  if (!c) {
    if (status == ST_OK) b->release(b->ctx, code);
    return ST_NO_MEMORY;
  }
  c->key = *key;
  c->code = status == ST_OK ? code : NULL;
  keep(device, c);
  *out = c;
  return ST_OK;
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

static st_status run(const st_backend *b, const st_iter *it, void *code,
                     const st_params *params) {
  static const st_params none;
  st_plan *plan = NULL;
  ST_TRY(st__plan_of(it, &(st_plan_run){.kind = ST_PLAN_ELEMENTWISE}, &plan));
  const st_status status = b->run(b->ctx, ST_DEVICE_NUMBER(it->device), code,
                                  plan, params ? params->s : none.s);
  st__plan_release(&plan);
  return status;
}

static st_status loop(const st_iter *it, const st_params *params) {
  const st_backend *b = st__backend_of(it->device);
  st_loop_key key;
  device_code *c;
  if (!b || !b->compile || !key_of(it, &key)) return ST_NO_KERNEL;
  ST_TRY(get_code(it->device, &key, &c));
  if (!c->code) return ST_NO_KERNEL;
  return it->numel == 0 ? ST_OK : run(b, it, c->code, params);
}

void st__device_loops_set_up(void) { st__device_loop = loop; }
