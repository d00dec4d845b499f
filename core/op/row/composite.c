/* Operator scopes: calls of operators inside composite operators.
 */

#include "op/row/composite.h"

#include "base/interrupt.h"
#include "op/row/assign_out.h"

bool st__scope_goes_on(st_op_scope *c) {
  if (st__scope_ok(c)) c->status = st__poll_interrupt();
  return st__scope_ok(c);
}

/* -- Calls ---------------------------------------------------------------- */

void st__apply_multi(st_op_scope *c, st_op_id id, int n, const st_value *args,
                     int nrets, st_tensor **out) {
  st_value rets[ST_MAX_OUTS];
  for (int i = 0; i < nrets; i++) out[i] = NULL;
  if (!st__scope_ok(c)) return;
  c->status = st__invoke(id, n, args, rets);
  if (!st__scope_ok(c)) return;
  ST_ASSERT(c->n + nrets <= ST_OP_SCOPE_MAX);
  for (int i = 0; i < nrets; i++) out[i] = c->t[c->n++] = rets[i].u.tensor;
}

st_tensor *st__apply(st_op_scope *c, st_op_id id, int n, const st_value *args) {
  st_tensor *out;
  st__apply_multi(c, id, n, args, 1, &out);
  return out;
}

st_tensor *st__apply1(st_op_scope *c, st_op_id id, const st_tensor *a) {
  return ST_APPLY(c, id, a);
}

st_tensor *st__apply2(st_op_scope *c, st_op_id id, const st_tensor *a,
                      const st_tensor *b) {
  return ST_APPLY(c, id, a, b);
}

st_tensor *st__adjoint(st_op_scope *c, const st_tensor *a) {
  return st__apply1(c, ST_OP_mH, a);
}

st_tensor *st__times(st_op_scope *c, const st_tensor *a, const st_tensor *b) {
  return st__apply2(c, ST_OP_matmul, a, b);
}

st_tensor *st__plus(st_op_scope *c, const st_tensor *a, const st_tensor *b) {
  return st__apply2(c, ST_OP_add_Tensor, a, b);
}

st_tensor *st__minus(st_op_scope *c, const st_tensor *a, const st_tensor *b) {
  return st__apply2(c, ST_OP_sub_Tensor, a, b);
}

st_tensor *st__mul(st_op_scope *c, const st_tensor *a, const st_tensor *b) {
  return st__apply2(c, ST_OP_mul_Tensor, a, b);
}

st_tensor *st__div(st_op_scope *c, const st_tensor *a, const st_tensor *b) {
  return st__apply2(c, ST_OP_div_Tensor, a, b);
}

st_tensor *st__scaled(st_op_scope *c, const st_tensor *a, double x) {
  return ST_APPLY(c, ST_OP_mul_Scalar, a, x);
}

st_tensor *st__shifted(st_op_scope *c, const st_tensor *a, double x) {
  return ST_APPLY(c, ST_OP_add_Scalar, a, x);
}

st_tensor *st__equals_0(st_op_scope *c, const st_tensor *a) {
  return ST_APPLY(c, ST_OP_eq_Scalar, a, 0);
}

void st__apply_into(st_op_scope *c, st_op_id id, int n, const st_value *args) {
  st_value same;
  if (!st__scope_ok(c)) return;
  c->status = st__call_n(st__op_variant(id, ST_INPLACE), n, args, &same);
  if (st__scope_ok(c)) st__value_clear(&same);
}

st_tensor *st__apply_to(st_op_scope *c, const st_tensor *a, st_dtype d) {
  return ST_APPLY(c, ST_OP_to_dtype, a, d);
}

st_tensor *st__apply_narrow(st_op_scope *c, const st_tensor *a, int64_t dim,
                            int64_t start, int64_t length) {
  return ST_APPLY(c, ST_OP_narrow, a, dim, start, length);
}

st_tensor *st__apply_reshape(st_op_scope *c, const st_tensor *t, int ndim,
                             const int64_t *sizes) {
  return ST_APPLY(c, ST_OP_reshape, t, st__of_ints(sizes, ndim));
}

st_tensor *st__apply_flatten(st_op_scope *c, const st_tensor *a) {
  if (st__scope_ok(c) && a->numel == 0) {
    return ST_APPLY(c, ST_OP_reshape, a, ST_INTS(0));
  }
  const st_tensor *dense = st__apply1(c, ST_OP_contiguous, a);
  return ST_APPLY(c, ST_OP_reshape, dense, ST_INTS(-1));
}

st_tensor *st__apply_attached(st_op_scope *c, const st_tensor *t,
                              const st_tensor *to) {
  return st__apply2(c, ST_OP__attached, t, to);
}

st_tensor *st__apply_attached_none(st_op_scope *c, const st_tensor *t,
                                   const st_tensor *to) {
  if (!st__scope_ok(c)) return NULL;
  return ST_APPLY(c, ST_OP__attached, t, to, st__of_bool(false));
}

/* -- Without calls -------------------------------------------------------- */

static st_tensor *own(st_op_scope *c, st_status status, st_tensor *t) {
  c->status = status;
  return st__scope_ok(c) ? c->t[c->n++] = t : NULL;
}

/* A contiguous copy of t on the CPU. */
static st_status copy_here(const st_tensor *t, st_dtype dtype,
                           st_tensor **out) {
  ST_TRY(st__tensor_empty(ST_DEVICE_CPU, dtype, t->ndim, t->sizes,
                          ST_FORMAT_CONTIGUOUS, out));
  const st_status status = st__copy(*out, t);
  if (status != ST_OK) st__tensor_release(out);
  return status;
}

const int64_t *st__scope_snapshot(st_op_scope *c, const st_tensor *t) {
  st_tensor *copy = NULL;
  if (!st__scope_ok(c)) return NULL;
  ST_ASSERT(c->n < ST_OP_SCOPE_MAX);
  const st_status status =
    st__is_privateuse(t) ? copy_here(t, ST_INT64, &copy)
    : st__clone(t, ST_INT64, ST_FORMAT_CONTIGUOUS, &copy);
  return own(c, status, copy) ? (const int64_t *)(const void *)st__data(copy)
                              : NULL;
}

const st_tensor *st__scope_here(st_op_scope *c, const st_tensor *t) {
  st_tensor *copy = NULL;
  if (!st__scope_ok(c) || !st__is_privateuse(t)) return t;
  ST_ASSERT(c->n < ST_OP_SCOPE_MAX);
  const st_status status = copy_here(t, t->dtype, &copy);
  return own(c, status, copy);
}

bool st__scope_is_true(st_op_scope *c, const st_tensor *t) {
  t = st__scope_here(c, t);
  return st__scope_ok(c) && st__has_elements(t) && *st__data(t);
}

st_tensor *st__scope_new(st_op_scope *c, const st_tensor *like, st_dtype dtype,
                         int ndim, const int64_t *sizes) {
  st_tensor *t = NULL;
  if (!st__scope_ok(c)) return NULL;
  ST_ASSERT(c->n < ST_OP_SCOPE_MAX);
  const st_status status = st__tensor_empty((st_device)like->device, dtype,
                                            ndim, sizes, ST_FORMAT_CONTIGUOUS,
                                            &t);
  return own(c, status, t);
}

st_tensor *st__new_cpu_vector(st_op_scope *c, st_dtype dtype, int64_t n,
                              void *data) {
  st_tensor *t = NULL;
  *(void **)data = NULL;
  if (!st__scope_ok(c)) return NULL;
  ST_ASSERT(c->n < ST_OP_SCOPE_MAX);
  const st_status status = st__tensor_empty(ST_DEVICE_CPU, dtype, 1, &n,
                                            ST_FORMAT_CONTIGUOUS, &t);
  if (own(c, status, t)) *(void **)data = st__data(t);
  return t;
}

/* -- Results -------------------------------------------------------------- */

static void release_all(st_op_scope *c) {
  while (c->n > 0) st__tensor_release(&c->t[--c->n]);
}

void st__scope_replace(st_op_scope *c, st_op_scope *round, st_tensor **t) {
  if (st__scope_ok(round)) {
    st__tensor_retain(*t);
    release_all(c);
    c->t[c->n++] = *t;
  }
  release_all(round);
  c->status = round->status;
}

st_status st__scope_end(st_op_scope *c, int n, st_tensor *const *results,
                        st_value *rets) {
  for (int i = 0; st__scope_ok(c) && i < n; i++) {
    st__tensor_retain(results[i]);
    rets[i] = st__of_tensor(results[i]);
  }
  release_all(c);
  return c->status;
}

st_status st__scope_return(st_op_scope *c, st_tensor *result, st_value *rets) {
  return st__scope_end(c, 1, &result, rets);
}

st_tensor *st__scope_keep(st_op_scope *c, st_op_scope *round, st_tensor *t) {
  const bool going = st__scope_ok(c) && st__scope_ok(round);
  if (going && t) {
    ST_ASSERT(c->n < ST_OP_SCOPE_MAX);
    st__tensor_retain(t);
    c->t[c->n++] = t;
  }
  const st_status status = st__scope_end(round, 0, NULL, NULL);
  if (st__scope_ok(c)) c->status = status;
  return going ? t : NULL;
}

typedef st_status (*assign_fn)(st_tensor *out, const st_tensor *value);

/* True if all tensors of a call are plain numbers, which have no device. */
static bool are_numbers(int n, const st_value *args) {
  for (int i = 0; i < n; i++) {
    const st_tensors all = st__tensors_in(&args[i]);
    for (uint32_t k = 0; k < all.n; k++) {
      if (all.p[k] && !st__is_wrapped(all.p[k])) return false;
    }
  }
  return true;
}

/* The result of a call; that of numbers is brought to the device of out. */
static st_status compute(st_op_id id, int n, const st_value *args,
                         st_tensor **out) {
  const st_tensor *given = args[n].u.tensor;
  st_tensor *here = NULL;
  ST_TRY(st__invoke1(id, n, args, &here));
  if (!st__is_privateuse(given) || st__is_privateuse(here) ||
      !are_numbers(n, args)) {
    *out = here;
    return ST_OK;
  }
  const st_value to[] = {st__of_tensor(here), st__of_int(given->device)};
  const st_status status = st__invoke1(ST_OP_to_prim_Device, 2, to, out);
  st__tensor_release(&here);
  return status;
}

static st_status write_out(st_op_id id, int n, const st_value *args,
                           assign_fn assign, st_value *rets) {
  st_tensor *value = NULL;
  ST_TRY(compute(id, n, args, &value));
  const st_status status = assign(args[n].u.tensor, value);
  st__tensor_release(&value);
  ST_TRY(status);
  return st__value_copy(&args[n], rets);
}

/* The operator may save its first argument for its gradient. While gradients
 * are recorded it gets a copy, because self is overwritten afterwards. */
st_status st__compose_self(st_op_id id, int n, const st_value *args,
                           st_value *rets) {
  st_tensor *self = args[0].u.tensor;
  st_value given[ST_MAX_ARGS];
  st_op_scope c = {.status = ST_OK};
  for (int i = 0; i < n; i++) given[i] = args[i];
  if (st__is_recorded(self->keys)) {
    given[0] = st__of_tensor(st__apply1(&c, ST_OP_clone, self));
  }
  const st_tensor *value = st__scope_ok(&c) ? st__apply(&c, id, n,
                                                        given) : NULL;
  if (st__scope_ok(&c) && !st__same_sizes(self, value)) {
    c.status = st__fail(ST_BAD_SHAPE, "self has shape %s, but the result has "
                        "shape %s", ST_SHAPE_TEXT(self),
                        ST_SHAPE_TEXT(value));
  }
  if (st__scope_ok(&c) && self->dtype != value->dtype) {
    c.status = st__fail(ST_BAD_DTYPE, "self has dtype %s, but the result is "
                        "%s", st__dtype_name(self->dtype),
                        st__dtype_name(value->dtype));
  }
  return st__scope_return(&c, st__apply2(&c, ST_OP_copy_, self, value), rets);
}

st_status st__compose_out(st_op_id id, int n, const st_value *args,
                          st_value *rets) {
  return write_out(id, n, args, st__assign_out, rets);
}

st_status st__compose_outs(st_op_id id, int n, int nouts, const st_value *args,
                           st_value *rets) {
  st_op_scope c = {.status = ST_OK};
  st_tensor *values[ST_MAX_OUTS], *outs[ST_MAX_OUTS];
  st__apply_multi(&c, id, n, args, nouts, values);
  for (int i = 0; i < nouts && st__scope_ok(&c); i++) {
    outs[i] = args[n + i].u.tensor;
    c.status = st__prepare_out(outs[i], values[i]);
  }
  for (int i = 0; i < nouts && st__scope_ok(&c); i++) {
    c.status = st__assign_out(outs[i], values[i]);
  }
  return st__scope_end(&c, nouts, outs, rets);
}

st_status st__compose_cast(st_op_id id, int n, const st_value *args,
                           st_value *rets) {
  return write_out(id, n, args, st__cast_out, rets);
}
