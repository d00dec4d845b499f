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
  *out = arg.u.tensor;
  st__tensor_retain(*out);
  return ST_OK;
}

/* -- Resolved arguments --------------------------------------------------- */

typedef struct resolved_args {
  const st_call *call;
  const st_value *given;
  st_keyset bit;              /* of the key whose fallback runs */
  st_value args[ST_MAX_ARGS];
  bool is_ours[ST_MAX_ARGS];  /* args[i] is owned */
} resolved_args;

static bool has_bits(const resolved_args *l, const st_tensor *t) {
  return t && (t->keys & l->bit);
}

static bool has_lazy(const resolved_args *l, const st_value *v) {
  if (v->tag == ST_TAG_TENSOR) return has_bits(l, v->u.tensor);
  for (uint32_t k = 0; v->tag == ST_TAG_TENSORS && k < v->len; k++) {
    if (has_bits(l, v->u.tensors[k])) return true;
  }
  return false;
}

/* These checks come first, because a failed call must not write anything. */
static st_status check_written(const resolved_args *l, int i) {
  const char *name = l->call->schema->args[i].name;
  if (l->bit == zero_bit) {
    return st__fail(ST_BAD_STATE, "argument '%s' is a zero tensor, which is "
                    "immutable; clone() it first", name);
  }
  if (l->given[i].tag == ST_TAG_TENSORS) {
    return st__fail(ST_BAD_STATE, "argument '%s' is written, but the list "
                    "contains a lazy %s; clone() it first", name,
                    l->bit == conj_bit ? "conjugate" : "negative");
  }
  return st__check_internal_overlap(l->given[i].u.tensor);
}

static st_status replace(const resolved_args *l, st_tensor **slot) {
  st_tensor *plain = NULL;
  if (!has_bits(l, *slot)) return ST_OK;
  ST_TRY(st__resolve_lazy(*slot, &plain));
  st__tensor_release(slot);
  *slot = plain;
  return ST_OK;
}

static st_status resolve_arg(resolved_args *l, int i) {
  st_value *v = &l->args[i];
  st_status status = ST_OK;
  *v = l->given[i];
  if (!has_lazy(l, v)) return ST_OK;
  if (l->call->schema->args[i].is_write) ST_TRY(check_written(l, i));
  ST_TRY(st__value_copy(&l->given[i], v));
  l->is_ours[i] = true;
  if (v->tag == ST_TAG_TENSOR) return replace(l, &v->u.tensor);
  for (uint32_t k = 0; status == ST_OK && k < v->len; k++) {
    status = replace(l, &v->u.tensors[k]);
  }
  return status;
}

/* -- Copying back --------------------------------------------------------- */

static bool is_written(const resolved_args *l, int i) {
  return l->is_ours[i] && l->call->schema->args[i].is_write;
}

/* The operator may have resized an out= argument. */
static st_status resize(const resolved_args *l, int i) {
  st_tensor *given = l->given[i].u.tensor;
  const st_tensor *made = l->args[i].u.tensor;
  return st__same_sizes(given, made) ? ST_OK
    : st__tensor_resize(given, made->ndim, made->sizes, ST_FORMAT_CONTIGUOUS);
}

static st_status call_copy(const st_tensor *self, const st_tensor *src) {
  st_value ret;
  ST_TRY(st__invoke(ST_OP_copy_, ST_VALUES(self, src), &ret));
  st__value_clear(&ret);
  return ST_OK;
}

static st_status copy_back(const resolved_args *l, int i) {
  st_tensor *given = l->given[i].u.tensor;
  const st_tensor *made = l->args[i].u.tensor;
  return st__is_privateuse(given) ? call_copy(given, made)
                                  : st__copy_unchecked(given, made);
}

/* In the results, replaces the resolved tensor by the argument. */
static void replace_results(const resolved_args *l, int i, st_value *rets) {
  for (int k = 0; k < l->call->schema->nrets; k++) {
    if (st__to_tensor(&rets[k]) != l->args[i].u.tensor) continue;
    st__value_clear(&rets[k]);
    st__tensor_retain(l->given[i].u.tensor);
    rets[k] = l->given[i];
  }
}

static st_status restore_args(const resolved_args *l, st_value *rets) {
  const int n = l->call->schema->nargs;
  st_status status = ST_OK;
  for (int i = 0; i < n && status == ST_OK; i++) {
    if (is_written(l, i)) status = resize(l, i);
  }
  for (int i = 0; i < n && status == ST_OK; i++) {
    if (is_written(l, i)) status = copy_back(l, i);
  }
  for (int i = 0; i < n && status == ST_OK; i++) {
    if (is_written(l, i)) replace_results(l, i, rets);
  }
  for (int k = 0; k < l->call->schema->nrets && status != ST_OK; k++) {
    st__value_clear(&rets[k]);
  }
  return status;
}

/* -- The fallback --------------------------------------------------------- */

static st_status redispatch_below(const st_call *call, st_keyset bit,
                                  const st_value *args, st_value *rets) {
  return st__redispatch_boxed(call->op, call->schema, call->keys & (bit - 1),
                              args, rets);
}

static st_status run_resolved(resolved_args *l, st_value *rets) {
  const int n = l->call->schema->nargs;
  st_status status = ST_OK;
  memset(l->is_ours, 0, sizeof l->is_ours);
  for (int i = 0; i < n && status == ST_OK; i++) status = resolve_arg(l, i);
  if (status == ST_OK) {
    status = redispatch_below(l->call, l->bit, l->args, rets);
  }
  if (status == ST_OK) status = restore_args(l, rets);
  for (int i = 0; i < n; i++) {
    if (l->is_ours[i]) st__value_clear(&l->args[i]);
  }
  return status;
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
  resolved_args l;
  l.call = call;
  l.given = args;
  l.bit = bit;
  return run_resolved(&l, rets);
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
  ST_TRY_FAIL(call_copy(lazy, src));
  status = call_copy(plain, bytes);
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
                                                  : call_copy(self, here);
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
