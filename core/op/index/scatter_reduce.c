/* scatter_reduce and index_reduce: the elements of src with the same index are
 * summed, multiplied, averaged or compared; scatter with a reduction, and
 * index_fill with a tensor.
 */

#include <math.h>
#include <string.h>

#include "op/create/copy_clone_to.h"
#include "op/index/index.h"
#include "op/row/composite.h"

/* -- Kinds of reduction --------------------------------------------------- */

/* ORDER REDUCE */
typedef enum reduce_kind {
  SUM, PROD, MEAN, AMAX, AMIN, KIND_COUNT
} reduce_kind;

static const struct { const char *name; st_kernel_id kernel; } kinds[] = {
  {"sum",  ST_K_index_add},
  {"prod", ST_K_index_mul},
  {"mean", ST_K_index_add},
  {"amax", ST_K_index_max},
  {"amin", ST_K_index_min},
};

static bool is_scatter(const st_run *r) {
  return r->row->meta == st__scatter_reduce_meta;
}

/* index_reduce has no sum: index_add is that. */
static st_status get_kind(const st_run *r, reduce_kind *out) {
  const char *name = r->args[4].u.string;
  for (int i = is_scatter(r) ? SUM : PROD; i < KIND_COUNT; i++) {
    *out = (reduce_kind)i;
    if (strcmp(name, kinds[i].name) == 0) return ST_OK;
  }
  return st__fail(ST_BAD_VALUE, "reduce must be %s\"prod\", \"mean\", "
                  "\"amax\" or \"amin\", not \"%s\"",
                  is_scatter(r) ? "\"sum\", " : "", name);
}

static st_status get_kernel(const st_run *r, reduce_kind *h, st_loop *loop) {
  const st_tensor *self = st__arg_tensor(r, 0);
  ST_TRY(get_kind(r, h));
  return st__find_kernel(kinds[*h].kernel, self->dtype, loop);
}

static bool includes_self(const st_run *r) {
  return st__to_bool(&r->args[5], true);
}

/* The identity element of the reduction. */
static st_scalar identity(reduce_kind h, st_dtype d) {
  const bool least = h == AMAX;
  if (h == SUM || h == MEAN || h == PROD) return st__scalar_int(h == PROD);
  if (d != ST_BOOL && !st__is_integral(d)) {
    return st__scalar_float(least ? -INFINITY : INFINITY);
  }
  return least ? st__int_lowest(d) : st__int_highest(d);
}

/* -- Targets -------------------------------------------------------------- */

/* The elements to update, and the values. */
typedef struct target {
  st_index_operands indices;
  st_tensor *values; /* owned */
} target;

static st_status open_target(const st_run *r, const st_tensor *t,
                             target *out) {
  st_tensor *src = st__arg_tensor(r, 3);
  out->values = NULL;
  if (is_scatter(r)) {
    return st__scatter_open(r, t, src, &out->indices, &out->values);
  }
  ST_TRY(st__slices_open(r, t, &out->indices));
  out->indices.ctx.alpha = st__scalar_int(1);
  st__tensor_retain(src);
  out->values = src;
  return ST_OK;
}

static void close_target(target *t) {
  st__index_operands_release(&t->indices);
  st__tensor_release(&t->values);
}

static st_status put_scalar(const target *to, st_scalar s, st_kernel_id k) {
  st_tensor *value = NULL;
  ST_TRY(st__tensor_from_scalar(s, to->indices.view->dtype, false, &value));
  const st_status status = st__index_operands_put(&to->indices, value, k);
  st__tensor_release(&value);
  return status;
}

/* -- Reduction ------------------------------------------------------------ */

static st_status reduce(const st_run *r, reduce_kind h, const target *to) {
  const st_dtype d = to->indices.view->dtype;
  if (!includes_self(r)) {
    ST_TRY(put_scalar(to, identity(h, d), ST_K_index_put));
  }
  return st__index_operands_put(&to->indices, to->values, kinds[h].kernel);
}

/* The number of values that each element of t is the mean of, at least 1. */
static st_status count(const st_run *r, const st_tensor *t, st_tensor **out) {
  const st_dtype counts = t->dtype == ST_UINT64 ? ST_UINT64 : ST_INT64;
  const st_value args[] = {st__of_tensor(t), st__of_bool(includes_self(r)),
                           st__of_int(counts)};
  st_tensor *n = NULL;
  target to;
  ST_TRY(st__invoke1(ST_OP_full_like, 3, args, &n));
  st_status status = open_target(r, n, &to);
  if (status == ST_OK) {
    status = put_scalar(&to, st__scalar_int(1), ST_K_index_add);
    close_target(&to);
  }
  if (status == ST_OK) {
    status = st__invoke1(ST_OP_clamp_min, ST_VALUES(n, 1), out);
  }
  st__tensor_release(&n);
  return status;
}

static st_status divide(const st_tensor *sum, const st_tensor *n,
                        st_tensor **out) {
  const bool is_exact = st__is_inexact(sum->dtype);
  const st_value args[] = {st__of_tensor(sum), st__of_tensor(n),
                           st__of_text("floor")};
  return is_exact ? st__invoke1(ST_OP_div_Tensor, 2, args, out)
                  : st__invoke1(ST_OP_div_Tensor_mode, 3, args, out);
}

/* Computes into temporaries, since the division can fail. */
static st_status mean(const st_run *r) {
  st_tensor *sum = NULL, *n = NULL, *quotient = NULL;
  st_status status;
  target to;
  ST_TRY(st__clone(st__arg_tensor(r, 0), ST_DTYPE_NONE, ST_FORMAT_PRESERVE,
                   &sum));
  ST_TRY_FAIL(open_target(r, sum, &to));
  status = reduce(r, MEAN, &to);
  close_target(&to);
  ST_TRY_FAIL(status);
  ST_TRY_FAIL(count(r, sum, &n));
  ST_TRY_FAIL(divide(sum, n, &quotient));
  status = st__copy_unchecked(r->out[0], quotient);
fail:
  st__tensor_release(&quotient);
  st__tensor_release(&n);
  st__tensor_release(&sum);
  return status;
}

st_status st__scatter_reduce_impl(st_run *r) {
  st_loop loop;
  target to;
  reduce_kind h;
  ST_TRY(get_kernel(r, &h, &loop));
  if (st__arg_tensor(r, 2)->numel == 0) return st__start_with_self(r);
  if (h == MEAN) return mean(r);
  ST_TRY(open_target(r, r->out[0], &to));
  st_status status = st__start_with_self(r);
  if (status == ST_OK) status = reduce(r, h, &to);
  close_target(&to);
  return status;
}

/* -- Meta functions ------------------------------------------------------- */

/* args: self, dim, index, src, reduce, include_self, base */
st_status st__scatter_reduce_meta(st_run *r) {
  st_loop loop;
  reduce_kind h;
  ST_TRY(get_kernel(r, &h, &loop));
  return st__scatter_check(r, st__arg_tensor(r, 3));
}

/* args: self, dim, index, source, reduce, include_self, base */
st_status st__index_reduce_meta(st_run *r) {
  st_loop loop;
  reduce_kind h;
  ST_TRY(get_kernel(r, &h, &loop));
  return st__slices_check(r);
}

/* -- scatter with a reduction --------------------------------------------- */

/* t, or a copy if it may share memory with self, which is written. */
static const st_tensor *apart(st_op_scope *c, const st_tensor *t,
                              const st_tensor *self) {
  const bool shares = t && t->storage == self->storage;
  return shares ? st__apply1(c, ST_OP_clone, t) : t;
}

/* args: reduce, base */
static st_status add_or_multiply(st_op_scope *c, st_variant variant,
                                 const st_tensor *self,
                                 const st_value *dim, const st_tensor *index,
                                 const st_tensor *src, const st_value *args,
                                 st_value *rets) {
  const char *name = st__next(&args)->u.string;
  ST_ARGS(VALUE(base));
  const bool adds = strcmp(name, "add") == 0;
  if (!adds && strcmp(name, "multiply") != 0 && st__scope_ok(c)) {
    c->status = st__fail(ST_BAD_VALUE, "reduce must be \"add\" or "
                         "\"multiply\", not \"%s\"", name);
  }
  const st_value prod = st__of_text("prod");
  if (variant == ST_INPLACE) {
    index = apart(c, index, self);
    src = apart(c, src, self);
  }
  const st_value all[] = {st__of_tensor(self), *dim, st__of_tensor(index),
                          st__of_tensor(src), adds ? base : prod,
                          st__of_bool(true), base};
  const st_op_id id = adds ? ST_OP_scatter_add : ST_OP_scatter_reduce_two;
  if (st__scope_ok(c)) {
    c->status = st__call_n(st__op_variant(id, variant), adds ? 5 : 7, all,
                           rets);
  }
  return st__scope_end(c, 0, NULL, rets);
}

/* Whether the gradient may need self as it was. */
static bool is_recorded(const st_tensor *self) {
  return st__tls().grad && (self->keys & ST_AUTOGRAD_BITS);
}

static st_status scatter_src(st_variant variant, const st_value *args,
                             st_value *rets) {
  ST_ARGS(TENSOR(self), BOXED(dim), TENSOR(index), TENSOR(src));
  st_op_scope c = {.n = 0};
  return add_or_multiply(&c, variant, self, dim, index, src, args, rets);
}

ST_BOXED_AS(st__box_scatter_reduce_src, scatter_src, ST_FUNCTIONAL, args)

ST_BOXED(st__box_scatter__reduce_src) {
  return is_recorded(args->u.tensor)
    ? st__compose_self(ST_OP_scatter_reduce_src, 6, args, rets)
    : scatter_src(ST_INPLACE, args, rets);
}

static st_status scatter_value(st_variant variant, const st_value *args,
                               st_value *rets) {
  ST_ARGS(TENSOR(self), BOXED(dim), TENSOR(index), VALUE(value));
  st_op_scope c = {.n = 0};
  const st_tensor *src =
    ST_APPLY(&c, ST_OP_full, st__of_ints(index->sizes, index->ndim), value,
             self->dtype, st__none(), self->device);
  return add_or_multiply(&c, variant, self, dim, index, src, args, rets);
}

ST_BOXED_AS(st__box_scatter_value_reduce, scatter_value, ST_FUNCTIONAL, args)

ST_BOXED(st__box_scatter__value_reduce) {
  return is_recorded(args->u.tensor)
    ? st__compose_self(ST_OP_scatter_value_reduce, 6, args, rets)
    : scatter_value(ST_INPLACE, args, rets);
}

/* -- index_fill with a tensor --------------------------------------------- */

/* True for a number of the CPU beside a tensor on an extension's device. */
static bool is_brought(const st_tensor *self, const st_tensor *value) {
  return st__is_privateuse(self) && st__is_cpu(value);
}

/* BAD_VALUE unless self can hold value. */
static st_status check_filler(const st_tensor *self, const st_tensor *value) {
  const st_value item = st__of_tensor(value);
  st_value number;
  if (value->ndim != 0) {
    return st__fail(ST_BAD_SHAPE, "value must be a 0-dim tensor, its shape is "
                    "%s", ST_SHAPE_TEXT(value));
  }
  if (value->device != self->device && !is_brought(self, value)) {
    return st__fail(ST_BAD_VALUE, "value is on another device than self");
  }
  if (st__has_elements(value)) {
    ST_TRY(st__invoke(ST_OP_item, 1, &item, &number));
    const st_scalar scalar = st__scalar_of(&number);
    st__value_clear(&number);
    return st__check_scalar_fits(scalar, self->dtype);
  }
  if (!st__is_complex(value->dtype) || st__is_complex(self->dtype)) {
    return ST_OK;
  }
  return st__fail(ST_BAD_DTYPE, "value of dtype %s does not fit in %s",
                  st__dtype_name(value->dtype), st__dtype_name(self->dtype));
}

/* The positions along a dimension of this size that index has, once each, from
 * 0, so that the gradient of a filler is a sum over what it fills. Those of a
 * Meta tensor are not known. */
static const st_tensor *distinct(st_op_scope *c, const st_tensor *index,
                                 int64_t size, int64_t base) {
  const st_tensor *mask = ST_APPLY(c, ST_OP_zeros, st__of_ints(&size, 1),
                                   ST_BOOL, st__none(), index->device);
  mask = ST_APPLY(c, ST_OP_index_fill_int_Scalar, mask, 0, index, 1, base);
  return st__has_elements(index) ? st__apply1(c, ST_OP_flatnonzero, mask)
                                 : index;
}

static st_status check_positions(const st_tensor *self, int at,
                                 const st_tensor *index, int64_t base) {
  st_tensor *own = NULL;
  ST_TRY(st__as_indices(index, self, false, &own));
  const st_status status = st__check_indices(
    own, at, self->ndim ? self->sizes[at] : 1, base);
  st__tensor_release(&own);
  return status;
}

/* Copies of value over the slices at index, by index_copy or index_copy_. */
static st_status fill_slices(const st_op *copy, const st_value *args,
                             st_value *rets) {
  ST_ARGS(TENSOR(self), INT(dim), TENSOR(index), TENSOR(value), INT(base));
  int64_t sizes[ST_MAX_DIMS];
  int at;
  ST_TRY(check_filler(self, value));
  ST_TRY(st__wrap_dim(dim, self->ndim, &at));
  ST_TRY(check_positions(self, at, index, base));
  st_op_scope c = {.n = 0};
  index = distinct(&c, index, self->ndim ? self->sizes[at] : 1, base);
  if (!st__scope_ok(&c)) return st__scope_return(&c, NULL, rets);
  for (int d = 0; d < self->ndim; d++) sizes[d] = self->sizes[d];
  const bool is_none = self->ndim == 0 && index->numel == 0;
  if (self->ndim || is_none) sizes[at] = index->numel;
  value = is_brought(self, value)
            ? ST_APPLY(&c, ST_OP_to_prim_Device, value, self->device)
            : st__apply1(&c, ST_OP_clone, value);
  value = st__apply_to(&c, value, self->dtype);
  value =
    ST_APPLY(&c, ST_OP_expand, value, st__of_ints(sizes, self->ndim + is_none));
  if (st__scope_ok(&c)) {
    c.status = st__call_n(copy, ST_VALUES(self, at, index, value), rets);
  }
  return st__scope_end(&c, 0, NULL, rets);
}

ST_BOXED_AS(st__box_index_fill_int_Tensor, fill_slices,
            st__op(ST_OP_index_copy), args)
ST_BOXED_AS(st__box_index_fill__int_Tensor, fill_slices,
            st__op_variant(ST_OP_index_copy, ST_INPLACE), args)
