/* Backends: registers the kernels that devices of extensions get from the
 * engine. Note [Loops on devices] says how elementwise ones run.
 */

#include "op/table/register.h"

#include <string.h>

#include "base/memory.h"
#include "op/device/device.h"
#include "op/table/builtin_schemas.h"

static const char DEBUG[] = "backend";

/* True for index tensors on the CPU, which a device's kernel cannot read. */
static bool has_indices_here(const st_call *call, const st_value *args) {
  uint64_t left = call->schema->tensor_args;
  for (; left; left &= left - 1) {
    const int i = __builtin_ctzll(left);
    const st_tensors all = st__tensors_in(&args[i]);
    if (!st__is_index_list(&call->schema->args[i])) continue;
    for (uint32_t j = 0; j < all.n; j++) {
      if (all.p[j] && !st__is_privateuse(all.p[j])) return true;
    }
  }
  return false;
}

ST_BOXED(st__structured_on_device) {
  const st_structured_ctx *ctx = call->ctx;
  const st_kernel_fn fn = ctx->base < 0 ? st__structured
                                        : st__structured_with_base;
  if (has_indices_here(call, args)) return st_cpu_fallback(call, args, rets);
  const st_status status = fn(call, args, rets);
  return status == ST_NO_KERNEL ? st_cpu_fallback(call, args, rets) : status;
}

/* -- Registrations -------------------------------------------------------- */

/* The contexts of one kind of device. Kernels are never removed, so neither
 * are they. */
typedef struct device_rows {
  st_structured_ctx contexts[ST_OP_COUNT][3];
} device_rows;

/* Kernels that are prepared, to be linked all at once. */
typedef struct backend_kernels {
  st_device kind;
  st_key key;
  device_rows *rows;           /* NULL: the backend runs no expressions */
  int n;
  st_registration *list[3 * ST_OP_COUNT + 1];
} backend_kernels;

static st_status prepare(backend_kernels *b, const st_op *op, st_kernel_fn fn,
                         const void *ctx) {
  const st_kernel kernel = {.fn = fn, .ctx = (void *)(uintptr_t)ctx,
                            .debug = DEBUG};
  ST_ASSERT(b->n < 3 * ST_OP_COUNT);
  ST_TRY(st__prepare_kernel(st__op_full_name(op), b->key, &kernel, 0,
                            &b->list[b->n]));
  b->n++;
  return ST_OK;
}

static void discard(backend_kernels *b) {
  while (b->n > 0) st__discard(&b->list[--b->n]);
  if (b->rows) st__free(ST_MEM_REGISTRY, b->rows, sizeof *b->rows);
}

/* -- Elementwise rows ----------------------------------------------------- */

/* Rows of other families may access elements in other ways than by iterators.
 */
static bool is_elementwise(int id) {
  const st_op_row *row = st__op_row((st_op_id)id);
  return row->kind == ST_KIND_POINTWISE ||
         (row->kind == ST_KIND_STRUCTURED &&
          strstr(st__builtin_file(id), "op/elementwise/"));
}

static st_status add_elementwise(backend_kernels *b, int id) {
  const st_op_row *row = st__op_row((st_op_id)id);
  if (!is_elementwise(id)) return ST_OK;
  for (int v = 0; v < 3; v++) {
    const st_op *op = st__op_variant((st_op_id)id, (st_variant)v);
    st_structured_ctx *ctx = &b->rows->contexts[id][v];
    if (!op) continue;
    *ctx = (st_structured_ctx){
      .row = row, .variant = (st_variant)v, .device = b->kind,
      .base = st__find_base(op), .snapshot_arg = -1};
    ST_TRY(prepare(b, op, st__structured_on_device, ctx));
  }
  return ST_OK;
}

static st_status add_rows(backend_kernels *b) {
  b->rows = st__alloc_zero(ST_MEM_REGISTRY, sizeof *b->rows);
  if (!b->rows) return ST_NO_MEMORY;
  for (int id = 0; id < ST_OP_COUNT; id++) ST_TRY(add_elementwise(b, id));
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

static st_status add_kernels(backend_kernels *b) {
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    const st_op_id id = kernels[i].id;
    ST_TRY(prepare(b, st__op(id), kernels[i].fn, st__op_row(id)));
  }
  return ST_OK;
}

/* -- The backend ---------------------------------------------------------- */

static st_status add_all(backend_kernels *b, bool compiles) {
  const st_kernel fallback = {.fn = st_cpu_fallback, .debug = DEBUG};
  ST_TRY(add_kernels(b));
  if (compiles) ST_TRY(add_rows(b));
  ST_TRY(st__prepare_fallback(b->key, &fallback, ST_REPLACE, true,
                              &b->list[b->n]));
  b->n++;
  return ST_OK;
}

/* What may fail comes before the name is taken: the device is there with all
 * of its kernels, or not at all. */
static st_status add_backend(backend_kernels *b, const char *name,
                             const st_backend *backend) {
  ST_TRY(add_all(b, backend->compile != NULL));
  ST_TRY(st__backend_add(b->kind, name, backend));
  const st_status status = st__link(b->list, b->n, NULL, 0);
  ST_ASSERT(status == ST_OK);
  return status;
}

st_status st_backend_register(st_device kind, const char *name,
                              const st_backend *backend) {
  ST_TRY(st__backend_check(kind, name, backend));
  backend_kernels *b = st__alloc_zero(ST_MEM_SCRATCH, sizeof *b);
  if (!b) return ST_NO_MEMORY;
  b->kind = kind;
  b->key = st__key_parse(st__device_key(kind));
  const st_status status = add_backend(b, name, backend);
  if (status != ST_OK) discard(b);
  st__free(ST_MEM_SCRATCH, b, sizeof *b);
  return status;
}
