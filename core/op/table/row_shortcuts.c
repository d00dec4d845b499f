/* The shortcuts of rows: views, pointwise operators, aliases, and the functions
 * that scripts call on single elements and small tensors.
 */

#include "op/table/register.h"

#include <string.h>

#include "os/stack.h"
#include "base/threads.h"
#include "op/create/copy_clone_to.h"
#include "op/create/factory.h"
#include "op/decompositions/equations.h"
#include "op/shape/view.h"
#include "tensor/view.h"

static bool is_served(st_status status) {
  return status == ST_OK || status == ST_NO_MEMORY || status == ST_INTERRUPTED;
}

/* -- Whole kinds of rows -------------------------------------------------- */

/* The kernels of views read their arguments only and call no operator. */
static ST_SHORTCUT(run_view) {
  const st_structured_ctx *ctx = call->ctx;
  if (args[0].tag != ST_TAG_TENSOR) return false;
  *status = ctx->row->fn(call, args, rets);
  return is_served(*status);
}

enum { MOST_STEPS = 1 << 20 }; /* of a call that cannot be interrupted */

/* True if the tensors have up to ST_GRAIN elements each and the product of
 * their numbers is small: it bounds the elements of broadcast operands, and the
 * multiplications of a matrix product. False for a number in the place of a
 * tensor, too. */
static bool are_small(uint64_t tensor_args, const st_value *args) {
  int64_t steps = 1;
  for (; tensor_args; tensor_args &= tensor_args - 1) {
    const st_value *v = &args[__builtin_ctzll(tensor_args)];
    if (v->tag == ST_TAG_NONE) continue;
    if (v->tag != ST_TAG_TENSOR || v->u.tensor->numel > ST_GRAIN) return false;
    steps *= v->u.tensor->numel > 0 ? v->u.tensor->numel : 1;
    if (steps > MOST_STEPS) return false;
  }
  return true;
}

/* A structured operator that fails has written nothing but its own results, and
 * it does not warn. */
static ST_SHORTCUT(run_structured) {
  const st_structured_ctx *ctx = call->ctx;
  if (ctx->direct && ctx->direct(ctx, args, rets, status)) {
    return true;
  }
  if (ctx->variant != ST_FUNCTIONAL || !st__stack_is_large() ||
      !are_small(call->schema->tensor_args, args)) {
    return false;
  }
  *status = st__run_structured(call, args, rets);
  return is_served(*status);
}

/* -- Single rows ---------------------------------------------------------- */

static ST_SHORTCUT(read_element) {
  const st_tensor *t = args[0].u.tensor;
  if (t->numel != 1 || st__is_complex(t->dtype)) return false;
  const st_scalar s = st__scalar_load(t->dtype, st__data(t));
  rets[0] = st__of_scalar(&s);
  *status = ST_OK;
  return true;
}

/* For kernels that check all arguments before they write, call no operator and
 * do not warn. */
static ST_SHORTCUT(run_kernel) {
  const st_structured_ctx *ctx = call->ctx;
  if (!st__stack_is_large() || !are_small(call->schema->tensor_args, args)) {
    return false;
  }
  *status = ctx->row->fn(call, args, rets);
  return is_served(*status);
}

/* A conversion of complex elements may warn. */
static ST_SHORTCUT(copy) {
  return args[1].tag == ST_TAG_TENSOR &&
         !st__is_complex(args[1].u.tensor->dtype) &&
         run_kernel(call, args, rets, status);
}

/* True unless the conversion may warn. */
static bool converts_quietly(const st_tensor *t, int64_t dtype) {
  return dtype == (int64_t)t->dtype || !st__is_complex(t->dtype);
}

static ST_SHORTCUT(to_copy) {
  const st_tensor *t = args[0].u.tensor;
  return st__to_int(&args[3], ST_DEVICE_CPU) == ST_DEVICE_CPU &&
         converts_quietly(t, st__to_int(&args[1], t->dtype)) &&
         run_kernel(call, args, rets, status);
}

/* -- Composite rows ------------------------------------------------------- */

/* Not served, without a message. */
static const st_status unserved = ST_BAD_STATE;

static st_status convert_small(const st_tensor *self, st_dtype dtype,
                               st_device device, st_format format,
                               st_tensor **out) {
  if (device != ST_DEVICE_CPU || self->numel > ST_GRAIN ||
      !converts_quietly(self, dtype) || !st__stack_is_large()) {
    return unserved;
  }
  return st__clone(self, dtype, format, out);
}

static st_status make_view(const st_tensor *self, int n, const int64_t *sizes,
                            const int64_t *strides, st_tensor **out) {
  if (!strides) return st__view_view(self, n, sizes, out);
  const st_geometry g = {n, sizes, strides, self->offset};
  return st__tensor_view_inside(self, &g, out);
}

static st_status clone_small(const st_tensor *self, st_format format,
                             st_tensor **out) {
  return convert_small(self, self->dtype, ST_DEVICE_CPU, format, out);
}

static st_status refuse_clone(const st_tensor *self, st_format format,
                              st_tensor **out) {
  (void)self; (void)format; (void)out;
  return unserved;
}

/* Note [Operators that a composite row calls]: of rows that return views, whose
 * result is tracked as a view of the argument, which a copy is not; and of rows
 * that return copies. */
static const st_callees views = {make_view, st__view_permute, st__view_slice,
                                 refuse_clone, NULL};
static const st_callees copies = {NULL, NULL, NULL, clone_small,
                                  convert_small};

/* The function of a composite row as its shortcut. */
#define SERVE(name, function, callees, ARGS)             \
  static ST_SHORTCUT(name) {                             \
    st_tensor *out = NULL;                               \
    *status = function(&callees, ST_UNBOXED(ARGS), &out); \
    if (*status == ST_OK) rets[0] = ST_OUT_TENSOR(out);  \
    return is_served(*status);                           \
  }
SERVE(narrow, st__op_narrow, views, (TENSOR, INT, INT, INT))
SERVE(reshape, st__op_reshape, views, (TENSOR, SIZES))
SERVE(flatten_view, st__op_flatten, views, (TENSOR, INT, INT))
SERVE(movedim, st__op_movedim, views, (TENSOR, INT, INT))
SERVE(contiguous, st__op_contiguous, copies, (TENSOR, VALUE))
SERVE(to_dtype, st__op_to_dtype, copies, (VALUE))

/* self itself, if there is nothing to flatten, is no view to be tracked. */
static ST_SHORTCUT(flatten) {
  if (!flatten_view(call, args, rets, status)) return false;
  if (*status != ST_OK || rets[0].u.tensor != args[0].u.tensor) return true;
  st__value_clear(rets);
  return false;
}

/* -- Factories ------------------------------------------------------------ */

/* True if the options are those of a tensor on the CPU. */
static bool are_of_cpu(const st_value *options) {
  return st__to_int(&options[2], ST_DEVICE_CPU) == ST_DEVICE_CPU;
}

static ST_SHORTCUT(make_empty) {
  const st_structured_ctx *ctx = call->ctx;
  if (!are_of_cpu(args + 1)) return false;
  *status = ctx->row->fn(call, args, rets);
  return is_served(*status);
}

/* Clears a few elements, or none of new memory. */
static ST_SHORTCUT(make_zeros) {
  enum { FEW = 4096 }; /* cleared on one thread */
  st_options o = {st__default_dtype(), ST_DEVICE_CPU};
  st_tensor *t = NULL;
  if (!are_of_cpu(args + 1) || st__read_options(args + 1, &o) != ST_OK) {
    return false;
  }
  st__want_zero_blocks(true);
  *status = st__tensor_empty(o.device, o.dtype, (int)args->len, args->u.ints,
                             ST_FORMAT_CONTIGUOUS, &t);
  st__want_zero_blocks(false);
  if (*status != ST_OK) return is_served(*status);
  if (!st__last_block_is_zero() && t->numel > FEW) {
    st__tensor_release(&t);
    return false;
  }
  if (!st__last_block_is_zero() && t->numel > 0) {
    memset(st__data(t), 0, t->storage->nbytes);
  }
  rets[0] = st__of_tensor(t);
  return true;
}

enum { CALLS = sizeof ((st_structured_ctx *)0)->calls / sizeof(st_op *) - 1 };

static const struct {
  st_op_id id;
  st_shortcut_fn fn;
  int ncalls;
  st_op_id calls[CALLS];
} rows[] = {
  {ST_OP_item, st__shortcut_to_callee, 1, {ST_OP__local_scalar_dense}},
  {ST_OP__local_scalar_dense, read_element, 0, {0}},
  {ST_OP_narrow, narrow, 1, {ST_OP_slice_Tensor}},
  {ST_OP_reshape, reshape, 1, {ST_OP_view}},
  {ST_OP_flatten_using_ints, flatten, 1, {ST_OP_view}},
  {ST_OP_movedim_int, movedim, 1, {ST_OP_permute}},
  {ST_OP_swapaxes, st__shortcut_to_callee, 1, {ST_OP_transpose_int}},
  {ST_OP_copy_, copy, 0, {0}},
  {ST_OP_fill__Scalar, run_kernel, 0, {0}},
  {ST_OP_zero_, run_kernel, 0, {0}},
  {ST_OP_clone, run_kernel, 0, {0}},
  {ST_OP_contiguous, contiguous, 1, {ST_OP_clone}},
  {ST_OP__to_copy, to_copy, 0, {0}},
  {ST_OP_to_dtype, to_dtype, 1, {ST_OP__to_copy}},
  {ST_OP_empty_memory_format, make_empty, 0, {0}},
  {ST_OP_zeros, make_zeros, 1, {ST_OP_empty_memory_format}},
  {ST_OP_linalg_solve, st__shortcut_solve, 1, {ST_OP__linalg_solve_ex}},
  {ST_OP_linalg_qr, run_structured, 0, {0}},
  {ST_OP_linalg_eigh, run_structured, 0, {0}},
  {ST_OP_linalg_eigvalsh, run_structured, 0, {0}},
  {ST_OP_linalg_svd, run_structured, 0, {0}},
  {ST_OP_linalg_svdvals, run_structured, 0, {0}}
};

/* -- Rows ----------------------------------------------------------------- */

static int find(const st_structured_ctx *ctx) {
  const int n = (int)(sizeof rows / sizeof *rows);
  for (int i = 0; i < n && ctx->variant == ST_FUNCTIONAL; i++) {
    if (ctx->row == &st__op_rows[rows[i].id]) return i;
  }
  return -1;
}

/* True if the work of a call depends on its tensors alone: no integer is the
 * size of a result. Some that take a string call other operators. */
static bool depends_on_tensors(const st_schema *s) {
  for (int i = 0; i < s->nargs; i++) {
    const st_type type = s->args[i].type;
    if (type == ST_TYPE_INT || type == ST_TYPE_STRING) return false;
  }
  return true;
}

static st_shortcut_fn function_of(const st_structured_ctx *ctx,
                                  const st_schema *s) {
  const int i = find(ctx);
  if (i >= 0) return rows[i].fn;
  if (ctx->base >= 0 || ctx->snapshot_arg >= 0) return NULL;
  if (ctx->row->kind == ST_KIND_ALIAS) return st__shortcut_to_callee;
  if (ctx->row->kind == ST_KIND_VIEW && s->nrets == 1 && !s->rets->list) {
    return run_view;
  }
  const bool is_structured = ctx->row->kind == ST_KIND_STRUCTURED ||
                             ctx->row->kind == ST_KIND_POINTWISE;
  return ctx->direct ||
         (is_structured && ctx->variant == ST_FUNCTIONAL &&
          depends_on_tensors(s))
         ? run_structured : NULL;
}

st_shortcut_of st__row_shortcut(const st_structured_ctx *ctx,
                                const st_schema *s) {
  return (st_shortcut_of){function_of(ctx, s), ctx->calls};
}

void st__row_calls(st_structured_ctx *ctx) {
  const int i = find(ctx);
  if (ctx->row->kind == ST_KIND_ALIAS) {
    ctx->calls[0] = st__op_variant(ctx->row->target, ctx->variant);
  }
  for (int k = 0; i >= 0 && k < rows[i].ncalls; k++) {
    ctx->calls[k] = st__op(rows[i].calls[k]);
  }
}
