/* Structured operators: one meta and one impl behind three variants.
 */

#include "op/op.h"

#include "op/register.h"

/* -- Geometry of out= arguments ------------------------------------------- */

/* Note [A failed call leaves out= alone]
 * A meta resizes an out= tensor before impl runs, and impl may still find
 * that it has no kernel or no memory. The old shape is kept on the stack
 * until the run is over and put back when it fails. */
typedef struct geometry {
  int ndim;
  int64_t offset;
  int64_t sizes[ST_MAX_DIMS], strides[ST_MAX_DIMS];
} geometry;

static void save_geometry(const st_tensor *t, geometry *g) {
  g->ndim = t->ndim;
  g->offset = t->offset;
  memcpy(g->sizes, t->sizes, (size_t)t->ndim * sizeof *g->sizes);
  memcpy(g->strides, t->strides, (size_t)t->ndim * sizeof *g->strides);
}

static bool has_geometry(const st_tensor *t, const geometry *g) {
  const size_t bytes = (size_t)g->ndim * sizeof *g->sizes;
  return t->ndim == g->ndim && t->offset == g->offset &&
         memcmp(t->sizes, g->sizes, bytes) == 0 &&
         memcmp(t->strides, g->strides, bytes) == 0;
}

/* The message of the failure that brought us here must survive. */
static void restore_geometry(st_tensor *t, const geometry *g) {
  if (has_geometry(t, g)) return;
  const st_status restored = st__tensor_restride(t, g->ndim, g->sizes,
                                                 g->strides, g->offset);
  ST_ASSERT(restored == ST_OK || g->ndim > ST_INLINE_DIMS);
}

/* -- Outputs -------------------------------------------------------------- */

static st_device run_device(const st_run *r) {
  return r->is_meta ? ST_DEVICE_META : ST_DEVICE_CPU;
}

static st_status new_output(const st_run *r, int ndim, const int64_t *sizes,
                            const int64_t *strides, st_dtype dtype,
                            st_tensor **out) {
  if (strides) {
    return st__tensor_empty_strided(run_device(r), dtype, ndim, sizes,
                                    strides, out);
  }
  return st__tensor_empty(run_device(r), dtype, ndim, sizes,
                          ST_FORMAT_CONTIGUOUS, out);
}

static st_status check_given(const st_run *r, const st_tensor *given,
                             int ndim, const int64_t *sizes,
                             st_dtype dtype) {
  const char *what = r->variant == ST_INPLACE ? "self" : "out";
  if (given->dtype != dtype) {
    return st__fail(ST_BAD_DTYPE, "%s has dtype %s, but the result is %s",
                    what, st__dtype_name((st_dtype)given->dtype),
                    st__dtype_name(dtype));
  }
  if (given->device != run_device(r)) {
    return st__fail(ST_BAD_VALUE, "%s is on another device than the inputs",
                    what);
  }
  if (r->variant == ST_INPLACE && !st__has_sizes(given, ndim, sizes)) {
    return st__fail(ST_BAD_SHAPE, "self has shape %s, but the result has "
                    "shape %s", ST_SHAPE_TEXT(given),
                    st__shape_text(ndim, sizes, (char[160]){0}, 160));
  }
  return ST_OK;
}

/* Is t also an input? Then impl would see another shape than meta did. */
static bool is_read(const st_run *r, const st_tensor *t) {
  const int n = st__op_schema(r->call->op)->nargs - r->nouts;
  bool found = false;
  for (int k = 0; k < n && !found; k++) {
    const st_value *v = &r->args[k];
    found = v->tag == ST_TAG_TENSOR && v->u.tensor == t;
    for (uint32_t j = 0; v->tag == ST_TAG_TENSORS && j < v->len; j++) {
      found |= v->u.tensors[j] == t;
    }
  }
  return found;
}

/* Gives output i, which is no in-place one if it has another, the shape. */
static st_status shape_given(st_run *r, int i, int ndim, const int64_t *sizes,
                             const int64_t *strides) {
  st_tensor *t = r->given[i];
  if (st__has_sizes(t, ndim, sizes)) return ST_OK;
  if (is_read(r, t)) {
    return st__fail(ST_BAD_SHAPE, "out is an input, too, so it cannot change "
                    "its shape %s to the %s of the result", ST_SHAPE_TEXT(t),
                    st__shape_text(ndim, sizes, (char[160]){0}, 160));
  }
  ST_TRY(st__tensor_resize(t, ndim, sizes, ST_FORMAT_CONTIGUOUS));
  return strides ? st__tensor_restride(t, ndim, sizes, strides, t->offset)
                 : ST_OK;
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

st_status st__set_output(st_run *r, int i, int ndim, const int64_t *sizes,
                         const int64_t *strides, st_dtype dtype) {
  ST_TRY(set_output(r, i, ndim, sizes, strides, dtype));
  return r->given[i] ? st__check_internal_overlap(r->given[i]) : ST_OK;
}

st_status st__set_output_strided(st_run *r, int i, int ndim,
                                 const int64_t *sizes,
                                 const int64_t *strides, st_dtype dtype) {
  ST_TRY(st__set_output(r, i, ndim, sizes, strides, dtype));
  if (memcmp(r->out[i]->strides, strides, (size_t)ndim * sizeof *strides) ==
      0) {
    return ST_OK;
  }
  st_tensor *proxy = NULL;
  ST_TRY(new_output(r, ndim, sizes, strides, dtype, &proxy));
  st__tensor_release(&r->out[i]);
  r->out[i] = proxy;
  r->proxied[i] = true;
  return ST_OK;
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
  return st__fail(ST_BAD_DTYPE, "not implemented for dtype %s",
                  st__dtype_name(dtype));
}

st_status st__find_kernel(st_kernel_id id, st_dtype dtype, st_loop *out) {
  *out = dtype < ST_DTYPE_COUNT ? st__kernel(id, dtype) : NULL;
  return *out ? ST_OK : st__no_kernel_for(dtype);
}

/* -- The run -------------------------------------------------------------- */

static void start(st_run *r, const st_call *call, const st_value *args) {
  const st_structured_ctx *ctx = call->ctx;
  const st_schema *schema = st__op_schema(call->op);
  r->row = ctx->row;
  r->call = call;
  r->args = args;
  r->variant = ctx->variant;
  r->is_meta = ctx->is_meta;
  r->has_iter = false;
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

static void finish(st_run *r, st_value *rets) {
  for (int i = 0; i < r->nouts; i++) {
    if (r->proxied[i]) st__copy_unchecked(r->given[i], r->out[i]);
    if (r->given[i]) {
      st__tensor_retain(r->given[i]);
      rets[i] = st__of_tensor(r->given[i]);
    } else {
      rets[i] = st__of_tensor(r->out[i]);
      r->out[i] = NULL;
    }
  }
}

static st_status run(st_run *r, st_value *rets) {
  ST_TRY(r->row->meta(r));
  if (!r->is_meta) ST_TRY(r->row->impl(r));
  finish(r, rets);
  return ST_OK;
}

static void release(st_run *r) {
  if (r->has_iter) st__iter_release(&r->it);
  for (int i = 0; i < r->nouts; i++) st__tensor_release(&r->out[i]);
}

st_status st__structured(const st_call *call, const st_value *args,
                         st_value *rets) {
  st_run r;
  geometry saved[ST_MAX_OUTS];
  start(&r, call, args);
  if (r.variant == ST_OUT) {
    for (int i = 0; i < r.nouts; i++) save_geometry(r.given[i], &saved[i]);
  }
  const st_status status = run(&r, rets);
  if (status != ST_OK && r.variant == ST_OUT) {
    for (int i = 0; i < r.nouts; i++) restore_geometry(r.given[i], &saved[i]);
  }
  release(&r);
  return status;
}
