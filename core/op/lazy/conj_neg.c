/* Lazy conjugates and negatives: the operators that create, test and resolve
 * them, and the fallbacks for operators without kernels for lazy tensors.
 *
 * Note [Conjugate, Negative and ZeroTensor fallbacks]
 * As in ATen, an operator is a view operator if its results share memory with
 * an argument that it does not write. The fallback redispatches such a call
 * with the same arguments, and the views that it creates keep the key. For
 * every other operator the fallback replaces lazy arguments by resolved
 * tensors. If the operator writes such an argument, the fallback afterwards
 * copies the resolved tensor back. That tensor is always a copy, because
 * another argument may share the memory. Zero tensors are immutable.
 */

#include "op/lazy/lazy.h"

#include <string.h>

#include "op/row/composite.h"
#include "op/row/substitution.h"
#include "op/create/copy_clone_to.h"
#include "tensor/view.h"

static const st_keyset conj_bit = ST_BIT(ST_FUNC_Conjugate);
static const st_keyset neg_bit = ST_BIT(ST_FUNC_Negative);
static const st_keyset zero_bit = ST_BIT(ST_FUNC_ZeroTensor);

/* -- Views ---------------------------------------------------------------- */

/* An alias of t with the given lazy bits, whatever those of t are. */
static st_status view_with(const st_tensor *t, st_keyset bits,
                           st_tensor **out) {
  ST_TRY(st__view_alias(t, out));
  (*out)->keys = ((*out)->keys & ~(conj_bit | neg_bit)) | bits;
  return ST_OK;
}

static st_status flip(const st_tensor *t, st_keyset bit, st_value *ret) {
  st_tensor *view = NULL;
  ST_TRY(view_with(t, (t->keys ^ bit) & (conj_bit | neg_bit), &view));
  *ret = st__of_tensor(view);
  return ST_OK;
}

static bool is_complex(const st_tensor *t) {
  return st__is_complex(t->dtype);
}

ST_BOXED(st__box_conj_view) {
  ST_ARGS(TENSOR(self));
  if (is_complex(self)) return flip(self, conj_bit, rets);
  return st__fail(ST_BAD_DTYPE, "needs a complex tensor, got %s",
                  st__dtype_name(self->dtype));
}

ST_BOXED(st__box_neg_view) {
  ST_ARGS(TENSOR(self));
  if (self->dtype != ST_BOOL) return flip(self, neg_bit, rets);
  return st__fail(ST_BAD_DTYPE, "not supported for bool tensors");
}

ST_BOXED(st__box_conj) {
  const st_tensor *self = st__to_tensor(args);
  return is_complex(self) ? st__invoke(ST_OP__conj, 1, args, rets)
                          : st__return_tensor(self, rets);
}

/* A 0-dim tensor is its own transpose, as for mT. */
static st_status transpose_conj(const st_tensor *t, st_value *ret) {
  st_op_scope c = {.n = 0};
  if (t->ndim > 0) t = ST_APPLY(&c, ST_OP_transpose_int, t, -2, -1);
  return st__scope_return(&c, st__apply1(&c, ST_OP_conj, t), ret);
}

ST_BOXED(st__box_adjoint) {
  ST_ARGS(TENSOR(self));
  if (self->ndim != 1) return transpose_conj(self, rets);
  return st__fail(ST_BAD_SHAPE, "self must be a matrix or a batch of "
                  "matrices, its shape is %s", ST_SHAPE_TEXT(self));
}

ST_BOXED(st__box_matrix_H) {
  ST_ARGS(TENSOR(self));
  if (self->ndim == 2 || self->ndim == 0) return transpose_conj(self, rets);
  return st__fail(ST_BAD_SHAPE, "self must be a matrix, its shape is %s; use "
                  "mH for a batch of matrices", ST_SHAPE_TEXT(self));
}

/* -- Predicates ----------------------------------------------------------- */

ST_BOXED(st__box_is_conj) {
  rets[0] = st__of_bool(st__is_conj(st__next_tensor(&args)));
  return ST_OK;
}

ST_BOXED(st__box_is_neg) {
  rets[0] = st__of_bool(st__is_neg(st__next_tensor(&args)));
  return ST_OK;
}

ST_BOXED(st__box_is_zerotensor) {
  rets[0] = st__of_bool(st__is_zero(st__next_tensor(&args)));
  return ST_OK;
}

/* -- Resolving ------------------------------------------------------------ */

ST_BOXED(st__box_resolve_conj) {
  const st_tensor *self = st__to_tensor(args);
  return st__is_conj(self) ? st__invoke(ST_OP_clone, 1, args, rets)
                           : st__return_tensor(self, rets);
}

ST_BOXED(st__box_resolve_neg) {
  const st_tensor *self = st__to_tensor(args);
  return st__is_neg(self) ? st__invoke(ST_OP_clone, 1, args, rets)
                          : st__return_tensor(self, rets);
}

static st_status expand_zero(const st_tensor *t, st_tensor **out) {
  st_tensor *one = NULL;
  ST_TRY(st__tensor_empty(t->device, t->dtype, 0, NULL,
                          ST_FORMAT_CONTIGUOUS, &one));
  if (st__has_elements(one)) {
    memset(one->storage->data, 0, one->storage->nbytes);
  }
  const st_status status = st__view_expand(one, t->ndim, t->sizes, out);
  st__tensor_release(&one);
  return status;
}

st_status st__resolve_lazy(const st_tensor *t, st_tensor **out) {
  const st_value arg = st__of_tensor(t);
  if (st__is_zero(t)) return expand_zero(t, out);
  if (st__is_lazy(t)) return st__invoke1(ST_OP_clone, 1, &arg, out);
  return st__give(t, out);
}

/* -- The fallback --------------------------------------------------------- */

static st_status redispatch_below(const st_call *call, st_keyset bit,
                                  const st_value *args, st_value *rets) {
  return st__redispatch_boxed(call->op, call->schema, call->keys & (bit - 1),
                              args, rets);
}

st_status st__run_resolved(const st_call *call, const st_value *args,
                           st_value *rets) {
  const st_schema *s = call->schema;
  const st_key key = st__keyset_highest(call->keys);
  const st_keyset bit = ST_BIT(st__key_functionality(key));
  bool writes = false, views = false;
  for (int i = 0; i < s->nargs; i++) {
    writes |= s->args[i].is_write;
    views |= s->args[i].is_alias && !s->args[i].is_write;
  }
  if (views && writes) {
    return st__fail(ST_NO_KERNEL, "the fallback of %s does not support "
                    "operators that return views and write arguments; "
                    "register a kernel for this key", st__key_name(key));
  }
  if (views) return redispatch_below(call, bit, args, rets);
  const st_substitution resolved = {
    .bit = bit, .keys = call->keys & (bit - 1), .replace = st__resolve_lazy,
    .what = bit == conj_bit ? "a lazy conjugate" : "a lazy negative",
    .is_immutable = bit == zero_bit};
  return st__call_substituted(call, &resolved, args, rets);
}

/* -- copy_ ---------------------------------------------------------------- */

/* A copy of t on the CPU with the same lazy bits: the bytes are copied. */
static st_status copy_to_cpu(const st_tensor *t, st_tensor **out) {
  st_tensor *plain = NULL, *here = NULL;
  ST_TRY(view_with(t, 0, &plain));
  st_status status = st__to_cpu(plain, &here);
  if (status == ST_OK) {
    status = view_with(here, t->keys & (conj_bit | neg_bit), out);
  }
  st__tensor_release(&plain);
  st__tensor_release(&here);
  return status;
}

/* Computes the bytes of self on the CPU, from src, and copies them to self. */
static st_status copy_from_cpu(const st_tensor *self, const st_tensor *src) {
  st_tensor *bytes = NULL, *lazy = NULL, *plain = NULL;
  st_status status;
  ST_TRY_FAIL(st__tensor_empty(ST_DEVICE_CPU, self->dtype,
                               self->ndim, self->sizes, ST_FORMAT_CONTIGUOUS,
                               &bytes));
  ST_TRY_FAIL(view_with(bytes, self->keys & (conj_bit | neg_bit), &lazy));
  ST_TRY_FAIL(view_with(self, 0, &plain));
  ST_TRY_FAIL(st__call_copy(lazy, src));
  status = st__call_copy(plain, bytes);
fail:
  st__tensor_release(&bytes);
  st__tensor_release(&lazy);
  st__tensor_release(&plain);
  return status;
}

/* copy_ on CPU and Meta handles the lazy keys (iter/copy.c). copy_ of an
 * extension device need not, so it gets plain tensors. */
static st_status copy_lazy(const st_call *call, const st_value *args,
                           st_value *rets) {
  const st_value *next = args;
  const st_tensor *self = st__next_tensor(&next), *src = st__next_tensor(&next);
  st_tensor *here = NULL;
  if (!st__is_privateuse(self) && !st__is_privateuse(src)) {
    return redispatch_below(call, conj_bit, args, rets);
  }
  if (!st__is_privateuse(src)) {
    ST_TRY(copy_from_cpu(self, src));
    return st__return_tensor(self, rets);
  }
  ST_TRY(copy_to_cpu(src, &here));
  const st_status status = st__is_privateuse(self) ? copy_from_cpu(self, here)
                                                  : st__call_copy(self, here);
  st__tensor_release(&here);
  ST_TRY(status);
  return st__return_tensor(self, rets);
}

/* -- Registration --------------------------------------------------------- */

static const struct { const char *key, *debug; } keys[] = {
  {"Conjugate", "conjugates are computed"},
  {"Negative", "negatives are computed"},
  {"ZeroTensor", "zeros are made"}
};

/* The number of keys, in the order of the table above. */
enum { ALL_BUT_ZERO = 2, ALL = 3 };

/* Operators with a fallthrough for the first nkeys keys: they read no element,
 * or handle lazy tensors themselves (clone). Views have one as well. */
static const struct { st_op_id id; int nkeys; } fallthroughs[] = {
  {ST_OP_clone, ALL}, {ST_OP__to_copy, ALL}, {ST_OP_is_conj, ALL},
  {ST_OP_is_neg, ALL}, {ST_OP__is_zerotensor, ALL}, {ST_OP_empty_like, ALL},
  {ST_OP_zeros_like, ALL}, {ST_OP_ones_like, ALL}, {ST_OP_full_like, ALL},
  {ST_OP_rand_like, ALL}, {ST_OP_randn_like, ALL}, {ST_OP_randint_like, ALL},
  {ST_OP_randint_like_low_dtype, ALL}, {ST_OP_new_empty, ALL},
  {ST_OP_new_empty_strided, ALL}, {ST_OP_new_zeros, ALL},
  {ST_OP_new_ones, ALL}, {ST_OP_new_full, ALL}, {ST_OP_is_same_size, ALL},
  {ST_OP_result_type_Tensor, ALL}, {ST_OP_result_type_Scalar, ALL},
  {ST_OP_result_type_Scalar_Tensor, ALL}, {ST_OP_as_strided_, ALL},
  {ST_OP_t_, ALL}, {ST_OP_transpose_, ALL}, {ST_OP_swapaxes_, ALL},
  {ST_OP_swapdims_, ALL}, {ST_OP_squeeze_, ALL}, {ST_OP_squeeze__dim, ALL},
  {ST_OP_squeeze__dims, ALL}, {ST_OP_unsqueeze_, ALL},
  {ST_OP_resize_, ALL_BUT_ZERO}, {ST_OP_resize_as_, ALL_BUT_ZERO},
};

static st_status register_for(st_op_id id, int nkeys, st_kernel_fn fn,
                              const char *debug) {
  const st_kernel kernel = {.fn = fn, .debug = debug};
  for (int k = 0; k < nkeys; k++) {
    ST_TRY(st__impl_op(st__op(id), st__key_parse(keys[k].key), &kernel, NULL));
  }
  return ST_OK;
}

st_status st__register_lazy(void) {
  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
    ST_TRY(st__default_fallback(keys[k].key, st__run_resolved,
                                keys[k].debug));
  }
  for (int id = 0; id < ST_OP_COUNT; id++) {
    if (st__op_row((st_op_id)id)->kind != ST_KIND_VIEW) continue;
    ST_TRY(register_for((st_op_id)id, ALL, NULL, "keeps the key"));
  }
  for (size_t i = 0; i < sizeof fallthroughs / sizeof *fallthroughs; i++) {
    ST_TRY(register_for(fallthroughs[i].id, fallthroughs[i].nkeys, NULL,
                        "looks at no element"));
  }
  ST_TRY(register_for(ST_OP_copy_, ALL_BUT_ZERO, copy_lazy, "copies bytes"));
  return st__register_zero();
}
