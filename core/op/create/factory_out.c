/* out= variants of factories, which take the dtype and device of out.
 */

#include "op/create/factory.h"

#include <string.h>

#include "op/row/assign_out.h"
#include "op/row/kernel_context.h"
#include "tensor/view.h"

/* -- Factories that fill -------------------------------------------------- */

/* The tensor to fill: out if its shape is size, otherwise a new tensor.
 * Filling and resizing may fail, copying may not, so out changes only after
 * both have succeeded. The new tensor is contiguous, as the resized out will
 * be, so random numbers have the same order. */
static st_status target_of(st_tensor *out, st_ints size, st_tensor **target) {
  const int n = (int)size.n;
  if (st__has_sizes(out, n, size.p)) {
    st__tensor_retain(out);
    *target = out;
    return ST_OK;
  }
  const st_options o = {out->dtype, out->device};
  return st__new_empty(o, n, size.p, ST_FORMAT_CONTIGUOUS, target);
}

/* Calls in-place operator id, whose first argument is the tensor to fill, and
 * releases that tensor. */
static st_status fill_target(st_op_id id, int n, const st_value *args,
                             st_tensor *out, st_value *rets) {
  st_tensor *target = st__to_tensor(args);
  st_value ret;
  st_status status;
  ST_TRY_FAIL(st__invoke(id, n, args, &ret));
  st__value_clear(&ret);
  if (target != out) ST_TRY_FAIL(st__assign_out(out, target));
  status = st__return_tensor(out, rets);
fail:
  st__tensor_release(&target);
  return status;
}

static st_status fill_with(st_ints size, st_value value, st_tensor *out,
                           st_value *rets) {
  st_tensor *target = NULL;
  ST_TRY(target_of(out, size, &target));
  const st_value fill[] = {st__of_tensor(target), value};
  return fill_target(ST_OP_fill__Scalar, 2, fill, out, rets);
}

/* args: size, generator, out. Some overloads have no generator. */
static st_status draw(st_op_id id, st_value low, st_value high,
                      const st_value *args, st_value *rets) {
  ST_ARGS(INTS(size));
  const bool has_generator = args->tag != ST_TAG_TENSOR;
  const st_value generator = has_generator ? *st__next(&args) : st__none();
  st_tensor *out = st__next_tensor(&args), *target = NULL;
  ST_TRY(target_of(out, size, &target));
  const st_value fill[] = {st__of_tensor(target), low, high, generator};
  return fill_target(id, 4, fill, out, rets);
}

ST_BOXED(st__box_empty_out) {
  ST_ARGS(BOXED(size), BOXED(memory_format), BOXED(out));
  return st__invoke(ST_OP_resize_, ST_VALUES(*out, *size, *memory_format),
                    rets);
}

ST_BOXED_AS(st__box_zeros_out, fill_with, ST_IN_INTS(args), st__of_int(0),
            args[1].u.tensor)
ST_BOXED_AS(st__box_ones_out, fill_with, ST_IN_INTS(args), st__of_int(1),
            args[1].u.tensor)
ST_BOXED_AS(st__box_full_out, fill_with, ST_IN_INTS(args), args[1],
            args[2].u.tensor)
ST_BOXED_AS(st__box_rand_out, draw, ST_OP_uniform_, st__of_float(0),
            st__of_float(1), args)
ST_BOXED_AS(st__box_randn_out, draw, ST_OP_normal_, st__of_float(0),
            st__of_float(1), args)

ST_BOXED_AS(st__box_randint_out, draw, ST_OP_random__from, st__of_int(0),
            args[0], args + 1)
ST_BOXED_AS(st__box_randint_low_out, draw, ST_OP_random__from, args[0], args[1],
            args + 2)

/* -- Factories whose result is copied ------------------------------------- */

enum { MAX_FACTORY_ARGS = 12 };

/* The value of the factory's argument `name`: the dtype and device of out, the
 * caller's other arguments, or none. */
static st_value argument(const st_schema *from, const st_value *args,
                         const st_tensor *out, const char *name) {
  if (strcmp(name, "dtype") == 0) return st__of_int(out->dtype);
  if (strcmp(name, "device") == 0) return st__of_int(out->device);
  const int at = st__schema_arg(from, name);
  return at < 0 ? st__none() : args[at];
}

static bool is_sequence(st_op_id id) {
  return id == ST_OP_arange || id == ST_OP_arange_start_step ||
         id == ST_OP_range_step || id == ST_OP_linspace ||
         id == ST_OP_logspace;
}

/* If out has as many elements as the sequence, replaces it by a view with the
 * shape of out, so that out is not resized. */
static st_status view_like_out(const st_tensor *out, st_tensor **made) {
  st_tensor *view = NULL;
  if (out->numel != (*made)->numel) return ST_OK;
  ST_TRY(st__view_view(*made, out->ndim, out->sizes, &view));
  st__tensor_release(made);
  *made = view;
  return ST_OK;
}

/* Calls the row's factory and copies its result to out, the last argument. */
ST_BOXED(st__make_out) {
  const st_structured_ctx *ctx = call->ctx;
  const st_op_id id = (st_op_id)ctx->row->target;
  const st_schema *from = call->schema;
  const st_schema *to = st__op_schema(st__op(id));
  st_tensor *out = args[from->nargs - 1].u.tensor, *made = NULL;
  st_value full[MAX_FACTORY_ARGS];
  ST_ASSERT(to->nargs <= MAX_FACTORY_ARGS);
  for (int i = 0; i < to->nargs; i++) {
    full[i] = argument(from, args, out, to->args[i].name);
  }
  ST_TRY(st__invoke1(id, to->nargs, full, &made));
  st_status status = is_sequence(id) ? view_like_out(out, &made) : ST_OK;
  if (status == ST_OK) status = st__assign_out(out, made);
  st__tensor_release(&made);
  return status == ST_OK ? st__return_tensor(out, rets) : status;
}
