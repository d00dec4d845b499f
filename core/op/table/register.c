/* Registers the rows of ops.def: every operator, its derived variants and its
 * kernels, under aten::.
 */

#include "op/table/register.h"

#include <inttypes.h>
#include <string.h>

#include "os/mapped_memory.h"
#include "op/create/factory.h"
#include "op/elementwise/pointwise.h"
#include "op/lazy/lazy.h"
#include "op/subbyte/subbyte.h"
#include "op/row/composite.h"
#include "op/table/builtin_schemas.h"

/* The kernel of ST_COPY_OUT rows. */
static st_status copy_out(const st_call *call, const st_value *args,
                          st_value *rets) {
  const st_structured_ctx *ctx = call->ctx;
  return st__compose_out((st_op_id)ctx->row->target, call->schema->nargs - 1,
                         args, rets);
}

/* -- The table ------------------------------------------------------------ */

/* write_schemas.c has the schemas and the help lines of the rows. */
#define ST_STRUCTURED(id, schema, variants, out, meta, impl, kernel, doc) \
  {ST_KIND_STRUCTURED, variants, meta, impl, 0, ST_K_##kernel, NULL, 0,   \
   "structured, meta " #meta},
#define ST_POINTWISE(id, schema, variants, out, preset, kernel, doc)      \
  {ST_KIND_POINTWISE, variants, st__pointwise_meta, st__pointwise_impl,   \
   ST_ITER_##preset, ST_K_##kernel, NULL, 0,                              \
   "pointwise, iterator preset " #preset},
#define ROW(kind, what, variants, fn, target)                             \
  {ST_KIND_##kind, variants, NULL, NULL, 0, ST_K_NONE, fn, target, what},
#define ST_VIEW(id, schema, fn, doc)     ROW(VIEW, "view", ST_F, fn, 0)
#define ST_EXPLICIT(id, schema, fn, doc) ROW(EXPLICIT, "explicit", ST_F, fn, 0)
#define ST_COMPOSITE(id, schema, fn, doc) \
  ROW(COMPOSITE, "composite", ST_F, fn, 0)
#define ST_COMPOSED(id, schema, variants, out, fn, doc) \
  ROW(COMPOSITE, "composite", variants, fn, 0)
#define ST_ALIAS(id, schema, variants, out, target, doc) \
  ROW(ALIAS, "composite", variants, NULL, ST_OP_##target)
#define ST_MAKE_OUT(id, schema, factory, doc) \
  ROW(EXPLICIT, "explicit", ST_F, st__make_out, ST_OP_##factory)
#define ST_COPY_OUT(id, schema, target, doc) \
  ROW(COMPOSITE, "composite", ST_F, copy_out, ST_OP_##target)
#define ST_VIEW_COPY(id, schema, variants, out, view, doc) \
  ROW(VIEW_COPY, "composite", variants, st__view_copy, ST_OP_##view)
#define ST_DATA(id, schema, fn, doc)     ROW(DATA, "data", ST_F, fn, 0)
#define ST_NATIVE(id, schema, fn, doc)   ROW(NATIVE, "native", ST_F, fn, 0)
#define ST_FACTORY(id, schema, fn, doc)  ROW(FACTORY, "factory", ST_F, fn, 0)

const st_op_row st__op_rows[] = {
#include "ops.def"
};

static st_structured_ctx contexts[ST_OP_COUNT][3][2];

/* -- Registration --------------------------------------------------------- */

static st_status implement(const st_op *op, st_key key, st_kernel_fn fn,
                           st_structured_ctx *ctx) {
  const st_kernel kernel = {.fn = fn, .ctx = ctx, .debug = ctx->row->what};
  const st_shortcut_of shortcut = st__row_shortcut(ctx, st__op_schema(op));
  return st__impl_op(op, key, &kernel,
                     ctx->device == ST_DEVICE_CPU ? &shortcut : NULL);
}

/* Redispatches to the backend of the device argument, and of the layout. */
static st_status select_backend(const st_call *call, const st_value *args,
                                st_value *rets) {
  const int at = call->schema->device_arg;
  const int layout_at = call->schema->layout_arg;
  const int64_t layout = layout_at < 0 ? ST_LAYOUT_STRIDED
                                       : st__to_int(&args[layout_at], 0);
  st_device device = ST_DEVICE_CPU;
  if (at >= 0) ST_TRY(st__read_device(st__to_int(&args[at], device), &device));
  st_keyset keys = st__device_keys(device);
  if (layout) ST_TRY(st__layout_keys((st_layout)layout, device, &keys));
  return st__redispatch(call->op, keys, args, rets);
}

static st_status implement_selection(const st_op *op,
                                     st_structured_ctx *ctx) {
  const st_kernel kernel = {.fn = select_backend, .ctx = ctx,
                            .debug = ctx->row->what};
  return st__impl_op(op, st__key_parse("BackendSelect"), &kernel,
                     &(st_shortcut_of){st__shortcut_to_cpu, NULL});
}

/* The first index is 0 or 1. Any other base could make an index overflow. */
static st_status check_base(const st_structured_ctx *ctx,
                            const st_value *args) {
  const int64_t base = ctx->base < 0 ? 0 : args[ctx->base].u.i;
  if (base == 0 || base == 1) return ST_OK;
  return st__fail(ST_BAD_VALUE, "argument 'base' must be 0 or 1, got %" PRId64,
                  base);
}

ST_BOXED(st__structured_with_base) {
  ST_TRY(check_base(call->ctx, args));
  return st__structured(call, args, rets);
}

/* The in-place and the out= variant of a composed row. */
static st_status call_composed(const st_call *call, const st_value *args,
                               st_value *rets) {
  const st_structured_ctx *ctx = call->ctx;
  const st_op_id id = (st_op_id)(ctx->row - st__op_rows);
  const int n = call->schema->nargs;
  const int nouts = call->schema->nrets;
  if (ctx->variant == ST_INPLACE) return st__compose_self(id, n, args, rets);
  if (nouts > 1) return st__compose_outs(id, n - nouts, nouts, args, rets);
  return ctx->row->variants & ST_CAST_OUT
         ? st__compose_cast(id, n - 1, args, rets)
         : st__compose_out(id, n - 1, args, rets);
}

static st_status call_alias(const st_call *call, const st_value *args,
                            st_value *rets) {
  const st_structured_ctx *ctx = call->ctx;
  const st_op_id target = (st_op_id)ctx->row->target;
  return st__call(st__op_variant(target, ctx->variant), args, rets);
}

static st_kernel_fn function_of(const st_structured_ctx *ctx) {
  if (ctx->row->kind == ST_KIND_ALIAS) return call_alias;
  return ctx->variant == ST_FUNCTIONAL ? ctx->row->fn : call_composed;
}

/* The operators that a composite calls check devices themselves. */
static st_status composite_with_base(const st_call *call,
                                     const st_value *args, st_value *rets) {
  const st_structured_ctx *ctx = call->ctx;
  ST_TRY(check_base(ctx, args));
  return function_of(ctx)(call, args, rets);
}

/* A kernel that accesses elements, on ctx->device. */
static st_status native(const st_call *call, const st_value *args,
                        st_value *rets) {
  const st_structured_ctx *ctx = call->ctx;
  ST_TRY(st__check_devices(call, args, ctx->device));
  ST_TRY(check_base(ctx, args));
  return ctx->row->fn(call, args, rets);
}

static bool is_composite(st_op_kind kind) {
  return kind == ST_KIND_VIEW || kind == ST_KIND_EXPLICIT ||
         kind == ST_KIND_COMPOSITE || kind == ST_KIND_ALIAS ||
         kind == ST_KIND_VIEW_COPY;
}

/* Calls the row's kernel with a snapshot of the argument that it reads twice:
 * Note [Snapshots of shared arguments]. */
static st_status with_snapshot(const st_call *call, const st_value *args,
                               st_value *rets) {
  const st_structured_ctx *ctx = call->ctx;
  const st_op_kind kind = ctx->row->kind;
  return st__snapshot_shared(call, args, rets, ctx->snapshot_arg,
                             is_composite(kind) ? composite_with_base
                             : kind != ST_KIND_STRUCTURED ? native
                             : st__structured_with_base);
}

int st__find_base(const st_op *op) {
  const int at = st__schema_arg(st__op_schema(op), "base");
  return at >= 0 && st__op_schema(op)->args[at].type == ST_TYPE_INT ? at : -1;
}

/* ctx[0] is the context of CPU kernels, ctx[1] that of Meta kernels. */
static st_status register_kernels(const st_op_row *row, const st_op *op,
                                  st_structured_ctx ctx[2]) {
  const st_key cpu = st__key_parse("CPU"), meta = st__key_parse("Meta");
  const bool is_based = ctx->base >= 0, has_snapshot = ctx->snapshot_arg >= 0;
  const st_kernel_fn composite = has_snapshot ? with_snapshot
                               : is_based ? composite_with_base
                               : function_of(ctx);
  const st_kernel_fn structured = has_snapshot ? with_snapshot
                                : is_based ? st__structured_with_base
                                : st__structured;
  const st_kernel_fn checked = has_snapshot ? with_snapshot : native;
  switch (row->kind) {
    case ST_KIND_STRUCTURED: case ST_KIND_POINTWISE:
      ST_TRY(implement(op, cpu, structured, &ctx[0]));
      return implement(op, meta, structured, &ctx[1]);
    case ST_KIND_VIEW: case ST_KIND_EXPLICIT:
      return implement(op, ST_KEY_COMPOSITE_EXPLICIT, composite, ctx);
    case ST_KIND_COMPOSITE: case ST_KIND_ALIAS: case ST_KIND_VIEW_COPY:
      return implement(op, ST_KEY_COMPOSITE_IMPLICIT, composite, ctx);
    case ST_KIND_NATIVE:
      return implement(op, cpu, checked, &ctx[0]);
    case ST_KIND_FACTORY:
      ST_TRY(implement_selection(op, ctx)); /* fall through */
    default:
      ST_TRY(implement(op, cpu, checked, &ctx[0]));
      return implement(op, meta, checked, &ctx[1]);
  }
}

static st_status register_variant(int id, st_variant variant) {
  const st_op_row *row = &st__op_rows[id];
  const st_builtin_schema b = st__unpack_schema(id, variant);
  if (!b.schema) return ST_OK;
  const st_op *op;
  ST_TRY(st__def_static(b.schema, b.signature, b.doc, b.file, b.tags, &op));
  st__set_op((st_op_id)id, variant, row, op);
  st_structured_ctx *ctx = contexts[id][variant];
  const int base = st__find_base(op), snapshot_arg = st__snapshot_arg(op);
  ctx[0] = ctx[1] = (st_structured_ctx){
    .row = row, .variant = variant, .device = ST_DEVICE_CPU, .base = base,
    .snapshot_arg = snapshot_arg};
  ctx[0].direct_inputs = st__direct_inputs(row, b.schema, variant);
  if (ctx[0].direct_inputs > 0) ctx[0].direct = st__direct_call;
  ctx[1].device = ST_DEVICE_META;
  return register_kernels(row, op, ctx);
}

static st_status register_row(int id) {
  for (int variant = 0; variant < 3; variant++) {
    ST_TRY(register_variant(id, (st_variant)variant));
  }
  return ST_OK;
}

st_status st__register_operators(void) {
  st__populate(contexts, sizeof contexts);
  st__unpack_arguments();
  for (int id = 0; id < ST_OP_COUNT; id++) ST_TRY(register_row(id));
  for (int id = 0; id < ST_OP_COUNT; id++) {
    for (int v = 0; v < 3; v++) {
      if (contexts[id][v]->row) st__row_calls(contexts[id][v]);
    }
  }
  /* they copy headers, of any layout */
  st__accept_layouts(st__op(ST_OP_alias));
  st__accept_layouts(st__op(ST_OP_detach));
  st__accept_layouts(st__op(ST_OP_clone));
  ST_TRY(st__register_lazy());
  return st__register_subbyte();
}
