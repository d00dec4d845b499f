/* Backends: registers the kernels that devices of extensions get from the
 * engine. Note [Loops on devices] says how elementwise ones run.
 */

#include "op/table/register.h"

#include <string.h>

#include "base/memory.h"
#include "op/device/device.h"
#include "op/table/builtin_schemas.h"

static const char DEBUG[] = "backend";

ST_BOXED(st__structured_on_device) {
  const st_structured_ctx *ctx = call->ctx;
  const st_kernel_fn fn = ctx->base < 0 ? st__structured
                                        : st__structured_with_base;
  const st_status status = fn(call, args, rets);
  return status == ST_NO_KERNEL ? st__cpu_fallback(call, args, rets) : status;
}

/* -- Elementwise rows ----------------------------------------------------- */

/* The contexts of one kind of device. Kernels are never removed, so neither
 * are they. */
typedef struct device_rows {
  st_structured_ctx contexts[ST_OP_COUNT][3];
} device_rows;

static device_rows *of_kind[ST_DEVICE_COUNT];

/* Rows of other families may access elements in other ways than by iterators.
 */
static bool is_elementwise(int id) {
  const st_op_row *row = st__op_row((st_op_id)id);
  return row->kind == ST_KIND_POINTWISE ||
         (row->kind == ST_KIND_STRUCTURED &&
          strstr(st__builtin_schemas[id][ST_FUNCTIONAL].file,
                 "op/elementwise/"));
}

static st_status add_elementwise(device_rows *rows, st_device kind, st_key key,
                                 int id) {
  const st_op_row *row = st__op_row((st_op_id)id);
  if (!is_elementwise(id)) return ST_OK;
  for (int v = 0; v < 3; v++) {
    const st_op *op = st__op_variant((st_op_id)id, (st_variant)v);
    st_structured_ctx *ctx = &rows->contexts[id][v];
    if (!op) continue;
    *ctx = (st_structured_ctx){
      .row = row, .variant = (st_variant)v, .device = kind,
      .base = st__find_base(op), .snapshot_arg = -1};
    const st_kernel kernel = {.fn = st__structured_on_device, .ctx = ctx,
                              .debug = DEBUG};
    ST_TRY(st__impl_op(op, key, &kernel, NULL));
  }
  return ST_OK;
}

static st_status add_rows(st_device kind, st_key key) {
  device_rows *rows = st__alloc_zero(ST_MEM_REGISTRY, sizeof *rows);
  if (!rows) return ST_NO_MEMORY;
  of_kind[kind] = rows;
  for (int id = 0; id < ST_OP_COUNT; id++) {
    ST_TRY(add_elementwise(rows, kind, key, id));
  }
  return ST_OK;
}

/* -- Other kernels -------------------------------------------------------- */

/* The row's own function, which makes and copies tensors on any device. */
static ST_BOXED(own) {
  const st_op_row *row = call->ctx;
  return row->fn(call, args, rets);
}

static const struct { st_op_id id; st_kernel_fn fn; } kernels[] = {
  {ST_OP_empty_memory_format, own}, {ST_OP_empty_strided, own},
  {ST_OP_copy_, own},
  {ST_OP_fill__Scalar, st__box_device_fill_},
  {ST_OP_zero_, st__box_device_zero_},
};

static st_status add_kernels(st_key key) {
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    const st_op_row *row = st__op_row(kernels[i].id);
    const st_kernel kernel = {.fn = kernels[i].fn,
                              .ctx = (void *)(uintptr_t)row, .debug = DEBUG};
    ST_TRY(st__impl_op(st__op(kernels[i].id), key, &kernel, NULL));
  }
  return ST_OK;
}

st_status st__backend_register(st_device kind, const char *name,
                               const st_backend *backend) {
  ST_TRY(st__backend_add(kind, name, backend));
  const st_key key = st__key_parse(st__device_key(kind));
  ST_TRY(add_kernels(key));
  if (backend->compile) ST_TRY(add_rows(kind, key));
  return st__default_fallback(st__device_key(kind), st__cpu_fallback, DEBUG);
}
