/* The registrar: walks the rows of ops.def and registers every operator, its
 * derived variants and its kernels under aten::.
 */

#include "op/register.h"

#include <string.h>

#include "op/table.h"

enum { SCHEMA_SIZE = 1024 };

/* -- The table ------------------------------------------------------------ */

#define ST_STRUCTURED(id, schema, variants, out, meta, impl, kernel, doc) \
  {ST_KIND_STRUCTURED, schema, variants, out, meta, impl, 0,              \
   ST_K_##kernel, NULL, doc},
#define ST_POINTWISE(id, schema, variants, out, preset, kernel, doc)      \
  {ST_KIND_POINTWISE, schema, variants, out, st__pointwise_meta,          \
   st__pointwise_impl, ST_ITER_##preset, ST_K_##kernel, NULL, doc},
#define ROW(kind, schema, fn, doc)                                        \
  {ST_KIND_##kind, schema, ST_F, NULL, NULL, NULL, 0, ST_K_NONE, fn, doc},
#define ST_VIEW(id, schema, fn, doc)      ROW(VIEW, schema, fn, doc)
#define ST_EXPLICIT(id, schema, fn, doc)  ROW(EXPLICIT, schema, fn, doc)
#define ST_COMPOSITE(id, schema, fn, doc) ROW(COMPOSITE, schema, fn, doc)
#define ST_NATIVE(id, schema, fn, doc)    ROW(NATIVE, schema, fn, doc)
#define ST_FACTORY(id, schema, fn, doc)   ROW(FACTORY, schema, fn, doc)

const st_op_row st__op_rows[] = {
#include "ops.def"
};

static const st_op *ops[ST_OP_COUNT][3];
static st_structured_ctx contexts[ST_OP_COUNT][3][2];

const st_op *st__op(st_op_id id) { return ops[id][ST_FUNCTIONAL]; }

const st_op *st__op_variant(st_op_id id, st_variant variant) {
  return ops[id][variant];
}

/* -- Schemas of the variants ---------------------------------------------- */

typedef struct text { char s[SCHEMA_SIZE]; size_t n; } text;

static void append(text *t, const char *s, size_t n) {
  ST_ASSERT(t->n + n < SCHEMA_SIZE);
  memcpy(t->s + t->n, s, n);
  t->n += n;
  t->s[t->n] = 0;
}

static void append_text(text *t, const char *s) { append(t, s, strlen(s)); }

/* "relu(Tensor self) -> Tensor" becomes
 * "relu_(Tensor(a!) self) -> Tensor(a!)". */
static void inplace_schema(const char *schema, text *t) {
  const size_t name = strcspn(schema, ".(");
  const char *self = strstr(schema, "(Tensor self");
  const char *arrow = strstr(schema, " -> Tensor");
  ST_ASSERT(self && arrow);
  append(t, schema, name);
  append_text(t, "_");
  append(t, schema + name, (size_t)(self - schema) - name);
  append_text(t, "(Tensor(a!)");
  append(t, self + 7, (size_t)(arrow - self) - 7);
  append_text(t, " -> Tensor(a!)");
}

/* The names of results: "out" for one, else those of the schema. */
static void each_result(const char *arrow, text *t, const char *before) {
  char alias = 'a';
  if (arrow[4] != '(') {
    append_text(t, before);
    append_text(t, "Tensor(a!) out");
    return;
  }
  for (const char *p = strchr(arrow, '('); *p != ')'; alias++) {
    p += 1 + strspn(p + 1, " ");
    const size_t n = strcspn(p, ",)");
    const char *name = strchr(p, ' ');
    const char mark[] = {'T', 'e', 'n', 's', 'o', 'r', '(', alias, '!', ')',
                         0};
    ST_ASSERT(name && name < p + n);
    append_text(t, before);
    append_text(t, mark);
    append(t, name, (size_t)(p + n - name));
    p += n;
    before = ", ";
  }
}

/* "add.Tensor(Tensor self, ...) -> Tensor" becomes
 * "add.out(Tensor self, ..., Tensor(a!) out) -> Tensor(a!)". */
static void out_schema(const char *schema, const char *overload, text *t) {
  const size_t name = strcspn(schema, ".(");
  const char *open = strchr(schema, '(');
  const char *arrow = strstr(schema, " -> ");
  ST_ASSERT(open && arrow && arrow[-1] == ')');
  const bool has_keywords = strstr(open, "*, ") && strstr(open, "*, ") < arrow;
  append(t, schema, name);
  append_text(t, ".");
  append_text(t, overload);
  append(t, open, (size_t)(arrow - 1 - open));
  each_result(arrow, t, has_keywords ? ", " : ", *, ");
  append_text(t, ") -> ");
  if (arrow[4] != '(') {
    append_text(t, "Tensor(a!)");
  } else {
    each_result(arrow, t, "(");
    append_text(t, ")");
  }
}

/* -- Registration --------------------------------------------------------- */

/* "name.overload" of a schema, behind "aten::". */
static void full_name(const char *schema, text *t) {
  append_text(t, "aten::");
  append(t, schema, strcspn(schema, "("));
}

static st_status implement(const char *name, st_key key, st_kernel_fn fn,
                           void *ctx) {
  const st_kernel kernel = {.fn = fn, .ctx = ctx, .debug = "core/ops.def"};
  return st__impl(name, key, &kernel, NULL);
}

/* The device decides which backend makes the tensor. */
static st_status select_backend(const st_call *call, const st_value *args,
                                st_value *rets) {
  const int at = st__schema_arg(st__op_schema(call->op), "device");
  const int64_t device = at < 0 ? ST_DEVICE_CPU
                                : st__to_int(&args[at], ST_DEVICE_CPU);
  if (device < 0 || device >= ST_DEVICE_COUNT) {
    return st__fail(ST_BAD_VALUE, "there is no device number %lld",
                    (long long)device);
  }
  return st__redispatch(call->op, st__device_keys((st_device)device), args,
                        rets);
}

/* Positions in tensors count from 0 or 1: further away they overflow. */
static st_status check_base(const st_call *call, const st_value *args,
                            st_value *rets) {
  const st_structured_ctx *ctx = call->ctx;
  const int64_t base = args[ctx->base].u.i;
  if (base != 0 && base != 1) {
    return st__fail(ST_BAD_VALUE, "argument 'base' must be 0 or 1, got %lld",
                    (long long)base);
  }
  return ctx->row->fn ? ctx->row->fn(call, args, rets)
                      : st__structured(call, args, rets);
}

static int find_base(const st_op *op) {
  const int at = st__schema_arg(st__op_schema(op), "base");
  return at >= 0 && st__op_schema(op)->args[at].type == ST_TYPE_INT ? at : -1;
}

static st_status register_kernels(const st_op_row *row, const char *name,
                                  st_structured_ctx ctx[2]) {
  const st_key cpu = st__key_parse("CPU"), meta = st__key_parse("Meta");
  const bool is_based = ctx->base >= 0;
  const st_kernel_fn own = is_based ? check_base : row->fn;
  const st_kernel_fn structured = is_based ? check_base : st__structured;
  switch (row->kind) {
    case ST_KIND_STRUCTURED: case ST_KIND_POINTWISE:
      ST_TRY(implement(name, cpu, structured, &ctx[0]));
      return implement(name, meta, structured, &ctx[1]);
    case ST_KIND_VIEW: case ST_KIND_EXPLICIT:
      return implement(name, ST_KEY_COMPOSITE_EXPLICIT, own, ctx);
    case ST_KIND_COMPOSITE:
      return implement(name, ST_KEY_COMPOSITE_IMPLICIT, own, ctx);
    case ST_KIND_NATIVE:
      return implement(name, cpu, own, ctx);
    default:
      ST_TRY(implement(name, st__key_parse("BackendSelect"), select_backend,
                       NULL));
      ST_TRY(implement(name, cpu, own, ctx));
      return implement(name, meta, own, ctx);
  }
}

static st_status register_variant(int id, st_variant variant,
                                  const char *schema) {
  const st_op_row *row = &st__op_rows[id];
  text name = {.n = 0};
  ST_TRY(st__def("aten", schema, row->doc, "core/ops.def", NULL));
  full_name(schema, &name);
  st_structured_ctx *ctx = contexts[id][variant];
  const st_op *op = ops[id][variant] = st__op_find_full(name.s);
  const int base = find_base(op);
  ctx[0] = (st_structured_ctx){row, variant, false, base};
  ctx[1] = (st_structured_ctx){row, variant, true, base};
  return register_kernels(row, name.s, ctx);
}

static st_status register_row(int id) {
  const st_op_row *row = &st__op_rows[id];
  ST_TRY(register_variant(id, ST_FUNCTIONAL, row->schema));
  if (row->variants & ST_FI) {
    text schema = {.n = 0};
    inplace_schema(row->schema, &schema);
    ST_TRY(register_variant(id, ST_INPLACE, schema.s));
  }
  if (row->variants & ST_FO) {
    text schema = {.n = 0};
    out_schema(row->schema, row->out_overload, &schema);
    ST_TRY(register_variant(id, ST_OUT, schema.s));
  }
  return ST_OK;
}

st_status st__register_operators(void) {
  for (int id = 0; id < ST_OP_COUNT; id++) ST_TRY(register_row(id));
  return ST_OK;
}

/* -- Calls from C --------------------------------------------------------- */

st_status st__invoke(st_op_id id, int n, const st_value *args,
                     st_value *rets) {
  return st__call_n(ops[id][ST_FUNCTIONAL], n, args, rets);
}

st_status st__invoke1(st_op_id id, int n, const st_value *args,
                      st_tensor **out) {
  st_value ret;
  ST_TRY(st__invoke(id, n, args, &ret));
  *out = ret.u.tensor;
  return ST_OK;
}
