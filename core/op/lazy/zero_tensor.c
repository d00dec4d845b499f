/* Zero tensors: the factory, and the kernels of operators whose result does
 * not depend on the elements of the other argument. As in ATen, a zero tensor
 * times infinity or NaN is zero.
 */

#include "op/row/composite.h"
#include "op/create/factory.h"
#include "op/lazy/lazy.h"

/* -- Factory -------------------------------------------------------------- */

ST_BOXED(st__box_efficientzerotensor) {
  ST_ARGS(INTS(size));
  st_options o = {st__default_dtype(), ST_DEVICE_CPU};
  st_tensor *t = NULL;
  ST_TRY(st__read_options(args, &o));
  ST_TRY(st__tensor_zero(o.device, o.dtype, (int)size.n, size.p, &t));
  rets[0] = st__of_tensor(t);
  return ST_OK;
}

/* -- Shape and dtype of the result ---------------------------------------- */

/* A Meta tensor like t. */
static st_status on_meta(const st_tensor *t, st_tensor **out) {
  st_storage *s = NULL;
  ST_TRY(st__storage_new_bare(ST_DEVICE_META, t->storage->nbytes, &s));
  const st_geometry g = st__geometry(t);
  const st_status status = st__tensor_new(s, t->dtype, &g, out);
  st__storage_release(&s);
  if (status == ST_OK) (*out)->flags |= t->flags & ST_FLAG_WRAPPED;
  return status;
}

/* Calls the operator, whose first two arguments may be tensors, on Meta. The
 * result has the dtype and the sizes of the actual result. */
static st_status result_on_meta(const st_call *call, const st_value *args,
                                st_tensor **out) {
  st_value all[ST_MAX_ARGS], ret;
  st_tensor *owned[2] = {NULL, NULL};
  st_status status = ST_OK;
  for (int i = 0; i < call->schema->nargs; i++) {
    all[i] = args[i];
    if (args[i].tag != ST_TAG_TENSOR) continue;
    ST_ASSERT(i < 2);
    ST_TRY_FAIL(on_meta(args[i].u.tensor, &owned[i]));
    all[i] = st__of_tensor(owned[i]);
  }
  ST_TRY_FAIL(st__redispatch_boxed(call->op, call->schema,
                                   st__device_keys(ST_DEVICE_META), all,
                                   &ret));
  *out = ret.u.tensor;
fail:
  st__tensor_release(&owned[0]);
  st__tensor_release(&owned[1]);
  return status;
}

/* The device of a result of two tensors, or of a tensor and a scalar. */
static st_device device_of(const st_value *args) {
  const st_device self = st__next_tensor(&args)->device;
  ST_ARGS(TENSOR(other));
  return other && other->device > self ? other->device : self;
}

/* -- Products ------------------------------------------------------------- */

/* The result is zero for every other factor. */
static st_status run_product(const st_call *call, const st_value *args,
                             st_value *rets) {
  const st_device device = device_of(args);
  st_tensor *like = NULL, *t = NULL;
  if (device > ST_DEVICE_META) return st__run_resolved(call, args, rets);
  ST_TRY(result_on_meta(call, args, &like));
  const st_status status = st__tensor_zero(device, like->dtype,
                                           like->ndim, like->sizes, &t);
  st__tensor_release(&like);
  if (status == ST_OK) rets[0] = st__of_tensor(t);
  return status;
}

/* The result depends on the elements of self if the divisor is zero. */
static st_status run_quotient(const st_call *call, const st_value *args,
                              st_value *rets) {
  const st_tensor *other = st__to_tensor(&args[1]);
  return other && st__is_zero(other) ? st__run_resolved(call, args, rets)
                                     : run_product(call, args, rets);
}

/* -- Sums ----------------------------------------------------------------- */

static bool is_one(const st_value *v) {
  return v->tag == ST_TAG_FLOAT ? v->u.f == 1
       : v->tag != ST_TAG_COMPLEX && v->u.i == 1;
}

/* A copy of the other term with the shape and the dtype of the result. */
static st_tensor *copy_term(st_op_scope *c, const st_tensor *term,
                            const st_tensor *like) {
  const st_tensor *wide =
    ST_APPLY(c, ST_OP_expand, term, st__of_ints(like->sizes, like->ndim));
  return ST_APPLY(c, ST_OP__to_copy, wide, like->dtype);
}

static st_status run_sum(const st_call *call, const st_value *args,
                         st_value *rets) {
  const st_value *next = args;
  const st_tensor *self = st__next_tensor(&next);
  const st_tensor *other = st__next_tensor(&next);
  const st_value *alpha = st__next(&next);
  const bool is_sub = st__op(ST_OP_sub_Tensor) == call->op;
  st_op_scope c = {.n = 0};
  st_tensor *like = NULL;
  if (device_of(args) > ST_DEVICE_META) {
    return st__run_resolved(call, args, rets);
  }
  if (st__is_zero(self) && st__is_zero(other)) {
    return run_product(call, args, rets);
  }
  ST_TRY(result_on_meta(call, args, &like));
  st_tensor *sum = copy_term(&c, st__is_zero(self) ? other : self, like);
  if (st__is_zero(self)) {
    if (!is_one(alpha)) {
      sum = ST_APPLY(&c, ST_OP_mul_Scalar, sum, *alpha);
      sum = st__apply_to(&c, sum, like->dtype); /* bool * int: int */
    }
    if (is_sub) sum = st__apply1(&c, ST_OP_neg, sum);
  }
  st__tensor_release(&like);
  return st__scope_return(&c, sum, rets);
}

/* -- Registration --------------------------------------------------------- */

static const struct {
  st_op_id id;
  st_kernel_fn fn;
  const char *debug;
} kernels[] = {
  {ST_OP_mul_Tensor, run_product,  "zero times anything"},
  {ST_OP_mul_Scalar, run_product,  "zero times anything"},
  {ST_OP_dot,        run_product,  "zero times anything"},
  {ST_OP_div_Tensor, run_quotient, "zero by anything"},
  {ST_OP_div_Scalar, run_quotient, "zero by anything"},
  {ST_OP_add_Tensor, run_sum,      "zero and a term"},
  {ST_OP_sub_Tensor, run_sum,      "zero and a term"}
};

st_status st__register_zero(void) {
  const st_key key = st__key_parse("ZeroTensor");
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    const st_kernel kernel = {.fn = kernels[i].fn, .debug = kernels[i].debug};
    ST_TRY(st__impl_op(st__op(kernels[i].id), key, &kernel, NULL));
  }
  return ST_OK;
}
