/* The boxed kernel of structured operators: one meta and one impl serve three
 * variants (Note [A structured run]).
 */

#include "iter/loop_report.h"
#include "iter/plan.h"
#include "op/row/kernel_context.h"

/* -- Geometry of out= arguments ------------------------------------------- */

/* Note [A failed call leaves out= alone]
 * A meta resizes an out= tensor before impl runs, and impl may still fail for
 * want of a kernel or of memory. The old shape is saved before the run and
 * restored after a failure. The restore must not fail. So a shape of more than
 * ST_INLINE_DIMS dimensions, whose restore would allocate, is saved as a view
 * of the tensor, and the restore swaps the two. */
typedef struct geometry {
  st_tensor *header; /* NULL for up to ST_INLINE_DIMS dimensions */
  int ndim;
  int64_t offset;
  int64_t sizes[ST_INLINE_DIMS], strides[ST_INLINE_DIMS];
} geometry;

static st_status save_geometry(const st_tensor *t, geometry *g) {
  g->header = NULL;
  if (t->ndim > ST_INLINE_DIMS) {
    return st__tensor_view(t, t->ndim, t->sizes, t->strides, t->offset,
                           &g->header);
  }
  g->ndim = t->ndim;
  g->offset = t->offset;
  memcpy(g->sizes, t->sizes, (size_t)t->ndim * sizeof *g->sizes);
  memcpy(g->strides, t->strides, (size_t)t->ndim * sizeof *g->strides);
  return ST_OK;
}

/* Does not fail, so the message of the failed run is kept. */
static void restore_geometry(st_tensor *t, geometry *g) {
  if (g->header) {
    st__tensor_swap(t, g->header);
    return;
  }
  st__tensor_restore(t, &(st_geometry){g->ndim, g->sizes, g->strides,
                                       g->offset});
}

/* -- Devices -------------------------------------------------------------- */

bool st__is_index_list(const st_arg *arg) {
  return arg->list && strcmp(arg->name, "indices") == 0;
}

/* A kernel for Meta may get CPU tensors; one for an extension device gets
 * numbers that it reads, and the positions that index. */
static bool may_use(st_device device, const st_arg *arg, const st_tensor *t) {
  if (device <= ST_DEVICE_META) return (st_device)t->device <= device;
  if (t->device != ST_DEVICE_CPU) return (st_device)t->device == device;
  return (t->ndim == 0 && !arg->is_write) || st__is_index_list(arg);
}

static st_status check_device(const st_arg *arg, const st_tensor *t,
                              st_device device) {
  if (!t) return ST_OK;
  if (may_use(device, arg, t)) {
    return st__lacks_memory(t) ? st__refuse_memoryless(t) : ST_OK;
  }
  return st__fail(ST_BAD_VALUE, device <= ST_DEVICE_META
                  ? "argument '%s' is on device '%s', but the kernel runs on "
                    "'%s'"
                  : "expected all tensors to be on the same device, but "
                    "argument '%s' is on device '%s', other tensors are on "
                    "'%s'", arg->name, st__device_name(t->device),
                  st__device_name(device));
}

st_status st__check_devices(const st_call *call, const st_value *args,
                            st_device device) {
  uint64_t left = call->schema->tensor_args;
  for (; left; left &= left - 1) {
    const int i = __builtin_ctzll(left);
    const st_tensors all = st__tensors_in(&args[i]);
    for (uint32_t j = 0; j < all.n; j++) {
      ST_TRY(check_device(&call->schema->args[i], all.p[j], device));
    }
  }
  return ST_OK;
}

/* -- Arguments ------------------------------------------------------------ */

int64_t st__arg_base(const st_run *r) {
  const st_structured_ctx *ctx = r->call->ctx;
  return r->args[ctx->base].u.i;
}

/* -- Outputs -------------------------------------------------------------- */

/* No loop has elements of fewer than eight bits, which a result that is
 * converted at the end would need. */
static st_status new_output(const st_run *r, int ndim, const int64_t *sizes,
                            const int64_t *strides, st_dtype dtype,
                            st_tensor **out) {
  if (st__is_subbyte(dtype)) return st__no_kernel_for(dtype);
  if (strides) {
    return st__tensor_empty_strided(r->device, dtype, ndim, sizes, strides,
                                    out);
  }
  return st__tensor_empty(r->device, dtype, ndim, sizes,
                          ST_FORMAT_CONTIGUOUS, out);
}

st_status st__check_castable(st_dtype result, const st_tensor *out) {
  if (st_can_cast(result, out->dtype)) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "the result has dtype %s, which cannot be "
                  "cast to out's dtype %s", st__dtype_name(result),
                  st__dtype_name(out->dtype));
}

static st_status check_given(const st_run *r, const st_tensor *given,
                             int ndim, const int64_t *sizes,
                             st_dtype dtype) {
  const char *what = r->variant == ST_INPLACE ? "self" : "out";
  if (r->casts_out) ST_TRY(st__check_castable(dtype, given));
  if (given->dtype != dtype && !r->casts_out) {
    return st__fail(ST_BAD_DTYPE, "%s has dtype %s, but the result is %s",
                    what, st__dtype_name(given->dtype),
                    st__dtype_name(dtype));
  }
  if (given->device != r->device) {
    return st__fail(ST_BAD_VALUE, "%s is on device '%s', but the result is on "
                    "'%s'", what, st__device_name(given->device),
                    st__device_name(r->device));
  }
  if (r->variant == ST_INPLACE && !st__has_sizes(given, ndim, sizes)) {
    return st__fail(ST_BAD_SHAPE, "self has shape %s, but the result has "
                    "shape %s", ST_SHAPE_TEXT(given),
                    st__shape_text(ndim, sizes, (char[160]){0}, 160));
  }
  return ST_OK;
}

typedef bool (*relation)(const st_tensor *out, const st_tensor *in);

static bool is_same(const st_tensor *out, const st_tensor *in) {
  return out == in;
}

static bool overlaps_input(const st_tensor *out, const st_tensor *in) {
  return in && st__overlap(out, in) == ST_OVERLAP_SOME;
}

/* True if holds(t, input) for any input. */
static bool any_input(const st_run *r, const st_tensor *t, relation holds) {
  const int n = r->call->schema->nargs -
                (r->variant == ST_OUT ? r->nouts : 0);
  bool found = false;
  for (int k = 0; k < n && !found; k++) {
    const st_tensors all = st__tensors_in(&r->args[k]);
    for (uint32_t j = 0; j < all.n && !found; j++) found = holds(t, all.p[j]);
  }
  return found;
}

/* Resizes the storage as well if the strides have gaps. */
static st_status resize(st_tensor *t, int ndim, const int64_t *sizes,
                        const int64_t *strides) {
  size_t nbytes;
  ST_TRY(st__tensor_resize_out(t, ndim, sizes, ST_FORMAT_CONTIGUOUS));
  if (!strides) return ST_OK;
  ST_TRY(st__nbytes_of(&(st_geometry){ndim, sizes, strides, t->offset},
                       (st_dtype)t->dtype, &nbytes));
  ST_TRY(st__tensor_grow(t, nbytes));
  return st__tensor_restride(t, ndim, sizes, strides, t->offset);
}

/* Resizes the given output i. In-place outputs are never resized: check_given
 * has compared their shape. */
static st_status shape_given(st_run *r, int i, int ndim, const int64_t *sizes,
                             const int64_t *strides) {
  st_tensor *t = r->given[i];
  if (st__has_sizes(t, ndim, sizes)) return ST_OK;
  /* impl would not see the input shape that meta saw */
  if (any_input(r, t, is_same)) {
    return st__fail(ST_BAD_SHAPE, "out is an input as well, so it cannot be "
                    "resized from shape %s to %s", ST_SHAPE_TEXT(t),
                    st__shape_text(ndim, sizes, (char[160]){0}, 160));
  }
  return resize(t, ndim, sizes, strides);
}

static st_status set_output(st_run *r, int i, int ndim, const int64_t *sizes,
                            const int64_t *strides, st_dtype dtype) {
  if (!r->given[i]) {
    return new_output(r, ndim, sizes, strides, dtype, &r->out[i]);
  }
  ST_TRY(check_given(r, r->given[i], ndim, sizes, dtype));
  ST_TRY(shape_given(r, i, ndim, sizes, strides));
  st__tensor_retain(r->given[i]);
  r->out[i] = r->given[i];
  return ST_OK;
}

static st_status check_output(const st_run *r, int i) {
  if (i < 0 || i >= r->nouts) {
    return st__fail(ST_BAD_STATE, "its meta function sets output %d, but it "
                    "has %d outputs", (int)st__display_index(i), r->nouts);
  }
  return r->out[i]
    ? st__fail(ST_BAD_STATE, "its meta function sets output %d twice",
              (int)st__display_index(i))
    : ST_OK;
}

/* Makes impl write output i to a new tensor, which finish copies back. */
static st_status make_proxy(st_run *r, int i, const int64_t *strides,
                            st_dtype dtype) {
  const st_tensor *t = r->given[i];
  st_tensor *proxy = NULL;
  ST_TRY(new_output(r, t->ndim, t->sizes, strides, dtype, &proxy));
  st__tensor_release(&r->out[i]);
  r->out[i] = proxy;
  r->proxied[i] = true;
  return ST_OK;
}

/* Outputs must not overlap each other, as one result would overwrite another.
 * An output may overlap an input (Note [Overlapping inputs are copied]). */
static st_status check_overlap(const st_run *r, int i) {
  ST_TRY(st__check_internal_overlap(r->given[i]));
  for (int j = 0; j < r->nouts; j++) {
    if (j == i || !r->out[j]) continue;
    ST_TRY(st__check_no_overlap(r->given[i], r->given[j]));
  }
  return ST_OK;
}

st_status st__set_output(st_run *r, int i, int ndim, const int64_t *sizes,
                         const int64_t *strides, st_dtype dtype) {
  ST_TRY(check_output(r, i));
  ST_TRY(set_output(r, i, ndim, sizes, strides, dtype));
  if (!r->given[i]) return ST_OK;
  ST_TRY(check_overlap(r, i));
  return r->given[i]->dtype != dtype ||
         any_input(r, r->given[i], overlaps_input)
    ? make_proxy(r, i, strides, dtype) : ST_OK;
}

st_status st__forbid_alias(st_run *r, int i, const st_tensor *in) {
  if (!r->given[i] || r->proxied[i] || !in ||
      st__overlap(r->given[i], in) == ST_OVERLAP_NO) {
    return ST_OK;
  }
  return make_proxy(r, i, NULL, r->out[i]->dtype);
}

st_status st__write_apart(st_run *r, int i) {
  if (!r->given[i] || r->proxied[i]) return ST_OK;
  return make_proxy(r, i, r->out[i]->strides, r->out[i]->dtype);
}

st_status st_set_output_strided(st_run *r, int i, int ndim,
                                const int64_t *sizes,
                                const int64_t *strides, st_dtype dtype) {
  int64_t contiguous[ST_MAX_DIMS], numel;
  if (!strides && ndim >= 0 && ndim <= ST_MAX_DIMS) {
    ST_TRY(st__numel_of(ndim, sizes, &numel));
    st__contiguous_strides(ndim, sizes, contiguous);
    strides = contiguous;
  }
  ST_TRY(st__set_output(r, i, ndim, sizes, strides, dtype));
  if (st__same_dims(ndim, r->out[i]->strides, strides)) return ST_OK;
  return make_proxy(r, i, strides, dtype);
}

void st__run_iter(st_run *r, uint32_t flags, st_dtype dtype) {
  r->has_iter = true;
  st__iter_init(&r->it, flags);
  for (int i = 0; i < r->nouts; i++) {
    st__iter_output(&r->it, r->given[i], dtype);
  }
}

st_status st__run_iter_build(st_run *r) {
  ST_TRY(st__iter_build(&r->it));
  for (int i = 0; i < r->nouts; i++) {
    if (!r->out[i]) r->out[i] = st__iter_take_output(&r->it, i);
  }
  return ST_OK;
}

/* -- Kernels -------------------------------------------------------------- */

st_status st__no_kernel_for(st_dtype dtype) {
  if (st__is_promoted_only(dtype)) return st__refuse_promoted(dtype);
  return st__fail(ST_BAD_DTYPE, "not implemented for dtype %s",
                  st__dtype_name(dtype));
}

st_status st__find_kernel(st_kernel_id id, st_dtype dtype, st_loop *out) {
  *out = st__is_tensor_dtype(dtype) ? st__kernel(id, dtype) : NULL;
  return *out ? ST_OK : st__no_kernel_for(dtype);
}

st_status st__find_task(st_kernel_id id, st_dtype dtype, st_task *out) {
  *out = st__is_tensor_dtype(dtype) ? st__task(id, dtype) : NULL;
  return *out ? ST_OK : st__no_kernel_for(dtype);
}

/* -- The run -------------------------------------------------------------- */

/* The device of a kernel for the devices of a backend: that of the first tensor
 * on one of them. */
static st_device device_of(const st_call *call, const st_value *args,
                           st_device kind) {
  uint64_t left = call->schema->tensor_args;
  if (kind <= ST_DEVICE_META) return kind;
  for (; left; left &= left - 1) {
    const st_tensors all = st__tensors_in(&args[__builtin_ctzll(left)]);
    for (uint32_t j = 0; j < all.n; j++) {
      if (all.p[j] && st__is_privateuse(all.p[j])) return all.p[j]->device;
    }
  }
  return kind;
}

static void init_run(st_run *r, const st_call *call, const st_value *args) {
  const st_structured_ctx *ctx = call->ctx;
  const st_schema *schema = call->schema;
  r->row = ctx->row;
  r->call = call;
  r->args = args;
  r->variant = ctx->variant;
  r->device = device_of(call, args, ctx->device);
  r->is_meta = ctx->device == ST_DEVICE_META;
  r->has_iter = false;
  r->casts_out = false;
  r->nheld = 0;
  r->nouts = schema->nrets;
  for (int i = 0; i < ST_MAX_OUTS; i++) {
    r->given[i] = r->out[i] = NULL;
    r->proxied[i] = false;
  }
  for (int i = 0; i < r->nouts && r->variant != ST_FUNCTIONAL; i++) {
    const int at = r->variant == ST_INPLACE ? 0
                                            : schema->nargs - r->nouts + i;
    r->given[i] = st__to_tensor(&args[at]);
  }
}

/* Copies a proxy to the given output. */
static st_status copy_back(const st_run *r, int i) {
  const st_value args[] = {st__of_tensor(r->given[i]),
                           st__of_tensor(r->out[i])};
  st_value ret;
  if (r->device <= ST_DEVICE_META) {
    return st__copy_unchecked(r->given[i], r->out[i]);
  }
  ST_TRY(st__invoke(ST_OP_copy_, 2, args, &ret));
  st__value_clear(&ret);
  return ST_OK;
}

static st_status finish(st_run *r, st_value *rets) {
  for (int i = 0; i < r->nouts; i++) {
    if (r->proxied[i]) ST_TRY(copy_back(r, i));
  }
  for (int i = 0; i < r->nouts; i++) {
    if (r->given[i]) {
      st__tensor_retain(r->given[i]);
      rets[i] = st__of_tensor(r->given[i]);
    } else {
      rets[i] = st__of_tensor(r->out[i]);
      r->out[i] = NULL;
    }
  }
  return ST_OK;
}

static st_status check_outputs(const st_run *r) {
  for (int i = 0; i < r->nouts; i++) {
    if (!r->out[i]) {
      return st__fail(ST_BAD_STATE, "its meta function does not set output %d",
                      (int)st__display_index(i));
    }
  }
  return ST_OK;
}

/* A redispatch of CPU tensors to Meta fails here: its results would have
 * memory that is never written. */
static st_status check_meta(const st_run *r) {
  uint64_t left = r->call->schema->tensor_args;
  bool has_tensor = false;
  for (; left; left &= left - 1) {
    const st_tensors all = st__tensors_in(&r->args[__builtin_ctzll(left)]);
    for (uint32_t i = 0; i < all.n; i++) {
      if (!all.p[i]) continue;
      if (st__is_meta(all.p[i])) return ST_OK;
      has_tensor = true;
    }
  }
  return !has_tensor ? ST_OK
    : st__fail(ST_BAD_VALUE, "a kernel for Meta needs an argument on device "
               "'meta'");
}

static st_status run(st_run *r, st_value *rets) {
  ST_TRY(st__check_devices(r->call, r->args, r->device));
  if (r->is_meta) ST_TRY(check_meta(r));
  ST_TRY(r->row->meta(r));
  ST_TRY(check_outputs(r));
  const bool is_reported = r->is_meta && r->has_iter && st__is_dry_run();
  if (!r->is_meta || is_reported) ST_TRY(r->row->impl(r));
  return finish(r, rets);
}

/* The same for an out= call: Note [A failed call leaves out= alone]. */
static st_status run_out(st_run *r, st_value *rets) {
  geometry saved[ST_MAX_OUTS];
  st_status status = ST_OK;
  int n = 0;
  while (n < r->nouts && status == ST_OK) {
    status = save_geometry(r->given[n], &saved[n]);
    if (status == ST_OK) n++;
  }
  if (status == ST_OK) {
    status = run(r, rets);
    for (int i = n - 1; status != ST_OK && i >= 0; i--) {
      restore_geometry(r->given[i], &saved[i]);
    }
  }
  for (int i = 0; i < n; i++) st__tensor_release(&saved[i].header);
  return status;
}

static void release(st_run *r) {
  if (r->has_iter) st__iter_release(&r->it);
  for (int i = 0; i < r->nheld; i++) st__tensor_release(&r->held[i]);
  for (int i = 0; i < r->nouts; i++) st__tensor_release(&r->out[i]);
}

st_status st__run_structured(const st_call *call, const st_value *args,
                             st_value *rets) {
  st_run r;
  init_run(&r, call, args);
  const st_status status = r.variant == ST_OUT ? run_out(&r, rets)
                                               : run(&r, rets);
  release(&r);
  return status;
}

st_status st__structured(const st_call *call, const st_value *args,
                         st_value *rets) {
  const st_structured_ctx *ctx = call->ctx;
  st_status status;
  if (ctx->direct && ctx->direct(ctx, args, rets, &status)) {
    return status;
  }
  return st__run_structured(call, args, rets);
}

st_status st_run_plan(const st_run *r, st_plan **out) {
  const st_plan_run how = {.kind = ST_PLAN_ELEMENTWISE};
  if (r->has_iter) return st__plan_of(&r->it, &how, out);
  return st__fail(ST_BAD_STATE, "the meta function of %s builds no iterator",
                  st__op_full_name(r->call->op));
}

void *st_run_ctx(const st_run *r) {
  const st_structured_ctx *ctx = r->call->ctx;
  return ctx->own;
}
