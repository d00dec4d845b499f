/* Operators of integers of fewer than eight bits: kernels of the key SubByte.
 *
 * Note [Operators of integers of fewer than eight bits]
 * Such tensors are for storage: they are made, filled, viewed by rows, copied
 * and converted by kernels of their own. An operator that moves or compares
 * elements gets a byte for each: it runs on int8 or uint8, and what it gives is
 * packed again. All others fail, also the engine's own composite ones, of which
 * many look at elements, and say what to convert to: their results would not
 * fit, or would be of another dtype than a user expects.
 */

#include "op/subbyte/subbyte.h"

#include <string.h>

#include "op/create/copy_clone_to.h"
#include "op/row/substitution.h"
#include "tensor/subbyte.h"

/* -- Bytes ---------------------------------------------------------------- */

static const st_keyset subbyte_bit = ST_BIT(ST_FUNC_SubByte);

static st_status unpacked(const st_tensor *t, st_tensor **out) {
  return st__clone(t, st__byte_dtype(t->dtype), ST_FORMAT_CONTIGUOUS, out);
}

static st_status pack(st_tensor **t, st_dtype dtype) {
  st_tensor *packed = NULL;
  ST_TRY(st__clone(*t, dtype, ST_FORMAT_CONTIGUOUS, &packed));
  st__tensor_release(t);
  *t = packed;
  return ST_OK;
}

/* -- Arguments ------------------------------------------------------------ */

/* The dtype of the arguments that are packed, of which there is one. */
static st_dtype dtype_of(const st_call *call, const st_value *args) {
  for (int i = 0; i < call->schema->nargs; i++) {
    const st_tensors all = st__tensors_in(&args[i]);
    for (uint32_t k = 0; k < all.n; k++) {
      if (all.p[k] && st__is_subbyte(all.p[k]->dtype)) return all.p[k]->dtype;
    }
  }
  return ST_DTYPE_NONE;
}

static bool is_position(st_dtype d) {
  return d == ST_INT64 || d == ST_INT32 || d == ST_BOOL;
}

static bool holds_positions(const char *name) {
  static const char *const names[] = {"indices", "index", "mask", "condition",
                                      "repeats"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(name, names[i]) == 0) return true;
  }
  return false;
}

/* Numbers, and tensors that stand for some, leave the dtype. */
static bool goes_with(const st_tensor *t, st_dtype d, bool has_positions) {
  return !t || t->dtype == d || st__is_wrapped(t) ||
         (has_positions && is_position(t->dtype));
}

/* True if tensor t may be the argument `name`. Operators that move elements
 * take those of dtype d to others of d, by positions and masks, which are not
 * packed. */
static bool fits(const char *name, const st_tensor *t, st_dtype d, bool moves) {
  const bool is_moved =
    strcmp(name, "tensors") == 0 || strcmp(name, "self") == 0;
  if (moves && holds_positions(name)) return !t || is_position(t->dtype);
  return goes_with(t, d, moves && !is_moved);
}

static st_status check_args(const st_call *call, const st_value *args,
                            st_dtype d, bool moves) {
  for (int i = 0; i < call->schema->nargs; i++) {
    const st_arg *a = &call->schema->args[i];
    const st_tensors all = st__tensors_in(&args[i]);
    for (uint32_t k = 0; k < all.n; k++) {
      if (fits(a->name, all.p[k], d, moves)) continue;
      return st__refuse_promoted(st__refuses_others(d));
    }
    if (moves && a->type == ST_TYPE_SCALAR && !st__is_none(&args[i])) {
      ST_TRY(st__check_scalar_named(a->name, st__scalar_of(&args[i]), d));
    }
  }
  return ST_OK;
}

/* -- Calls on bytes ------------------------------------------------------- */

static st_status pack_result(st_tensor **t, st_dtype d) {
  if (!*t || (*t)->dtype == d) return ST_OK;
  if ((*t)->dtype == st__byte_dtype(d)) return pack(t, d);
  return st__refuse_promoted(st__refuses_others(d));
}

static st_status pack_results(const st_call *call, st_value *rets, st_dtype d) {
  const int n = call->schema->nrets;
  st_status status = ST_OK;
  for (int i = 0; i < n && status == ST_OK; i++) {
    st_value *v = &rets[i];
    if (v->tag == ST_TAG_TENSOR) status = pack_result(&v->u.tensor, d);
    if (v->tag != ST_TAG_TENSORS) continue;
    for (uint32_t k = 0; k < v->len && status == ST_OK; k++) {
      status = pack_result(&v->u.tensors[k], d);
    }
  }
  for (int i = 0; i < n && status != ST_OK; i++) st__value_clear(&rets[i]);
  return status;
}

static st_status call_on_bytes(const st_call *call, const st_value *args,
                               st_value *rets) {
  const st_substitution bytes = {
    .bit = subbyte_bit,
    .keys = (call->keys & (subbyte_bit - 1)) | ST_BIT(ST_FUNC_Dense),
    .replace = unpacked, .what = "integers of fewer than eight bits"};
  return st__call_substituted(call, &bytes, args, rets);
}

static st_status move_bytes(const st_call *call, const st_value *args,
                            st_value *rets) {
  const st_dtype d = dtype_of(call, args);
  ST_TRY(check_args(call, args, d, true));
  ST_TRY(call_on_bytes(call, args, rets));
  return pack_results(call, rets, d);
}

static st_status compare_bytes(const st_call *call, const st_value *args,
                               st_value *rets) {
  ST_TRY(check_args(call, args, dtype_of(call, args), false));
  return call_on_bytes(call, args, rets);
}

/* A view where rows allow it, else a copy. */
static st_status view_or_move(const st_call *call, const st_value *args,
                              st_value *rets) {
  const st_op_row *row = call->ctx;
  const st_status status = row->fn(call, args, rets);
  return status == ST_BAD_LAYOUT ? move_bytes(call, args, rets) : status;
}

/* -- Registration --------------------------------------------------------- */

/* Their kernels take tensors of any dtype: they make and read headers, or call
 * st__copy, st__clone and st__fill. */
static const st_op_id served[] = {
  ST_OP_copy_, ST_OP_clone, ST_OP__to_copy, ST_OP_fill__Scalar,
  ST_OP_fill__Tensor, ST_OP_fill_Scalar, ST_OP_fill_Tensor, ST_OP_zero_,
  ST_OP_zero, ST_OP__local_scalar_dense, ST_OP_equal, ST_OP_is_set_to,
  ST_OP_empty_like, ST_OP_zeros_like, ST_OP_ones_like, ST_OP_full_like,
  ST_OP_new_empty, ST_OP_new_zeros, ST_OP_new_ones, ST_OP_new_full,
  ST_OP_alias, ST_OP_detach, ST_OP_as_strided, ST_OP_view, ST_OP__unsafe_view,
  ST_OP_view_dtype, ST_OP_t, ST_OP_transpose_int, ST_OP_permute,
  ST_OP_select_int, ST_OP_slice_Tensor, ST_OP_squeeze, ST_OP_squeeze_dim,
  ST_OP_squeeze_dims, ST_OP_unsqueeze, ST_OP_expand, ST_OP_diagonal,
  ST_OP_unfold, ST_OP_split_Tensor, ST_OP_split_with_sizes, ST_OP_unbind_int,
  /* composite ones */
  ST_OP_contiguous, ST_OP_to_dtype, ST_OP_to_dtype_layout, ST_OP_to_device,
  ST_OP_to_prim_Device, ST_OP_to_other, ST_OP_type_as, ST_OP_item,
  ST_OP_is_nonzero, ST_OP_is_same_size, ST_OP_result_type_Tensor,
  ST_OP_result_type_Scalar, ST_OP_result_type_Scalar_Tensor, ST_OP_conj,
  ST_OP_resolve_conj, ST_OP_resolve_neg, ST_OP_is_conj, ST_OP_is_neg,
  ST_OP__is_zerotensor, ST_OP_real, ST_OP_view_as, ST_OP_unflatten_int,
  ST_OP_movedim_int, ST_OP_movedim_intlist, ST_OP_moveaxis_int,
  ST_OP_moveaxis_intlist, ST_OP_swapaxes, ST_OP_swapdims, ST_OP_numpy_T,
  ST_OP_mT, ST_OP_narrow, ST_OP_expand_as, ST_OP_broadcast_to,
  ST_OP_broadcast_tensors, ST_OP_split_sizes, ST_OP_chunk,
  ST_OP_tensor_split_sections, ST_OP_tensor_split_indices, ST_OP_hsplit_int,
  ST_OP_hsplit_array, ST_OP_vsplit_int, ST_OP_vsplit_array, ST_OP_dsplit_int,
  ST_OP_dsplit_array, ST_OP_atleast_1d, ST_OP_atleast_2d, ST_OP_atleast_3d,
};

static const st_op_id reshaped[] = {
  ST_OP_reshape, ST_OP_reshape_as, ST_OP_ravel, ST_OP_flatten_using_ints,
};

/* With their in-place variants. */
static const st_op_id moved[] = {
  ST_OP_cat, ST_OP_concat, ST_OP_concatenate, ST_OP_stack, ST_OP_hstack,
  ST_OP_vstack, ST_OP_row_stack, ST_OP_dstack, ST_OP_column_stack,
  ST_OP_fill_diagonal_, ST_OP_fliplr, ST_OP_flipud, ST_OP_flip, ST_OP_roll,
  ST_OP_rot90, ST_OP_repeat, ST_OP_tile, ST_OP_repeat_interleave_self_int,
  ST_OP_repeat_interleave_self_Tensor, ST_OP_index_Tensor, ST_OP_index_put_,
  ST_OP_index_put, ST_OP_index_select, ST_OP_gather, ST_OP_take,
  ST_OP_take_along_dim, ST_OP_put_, ST_OP_put, ST_OP_scatter_src,
  ST_OP_scatter_value, ST_OP_index_copy, ST_OP_index_fill__int_Scalar,
  ST_OP_index_fill_int_Scalar, ST_OP_masked_select, ST_OP_masked_scatter_,
  ST_OP_masked_scatter, ST_OP_masked_fill_Scalar, ST_OP_masked_fill_Tensor,
  ST_OP_where_self, ST_OP_where_ScalarSelf, ST_OP_where_ScalarOther,
  ST_OP_select_scatter, ST_OP_slice_scatter, ST_OP_diagonal_scatter,
  ST_OP_tril, ST_OP_triu, ST_OP_view_copy, ST_OP_t_copy,
  ST_OP_transpose_copy_int, ST_OP_permute_copy, ST_OP_select_copy_int,
  ST_OP_slice_copy_Tensor, ST_OP_narrow_copy, ST_OP_squeeze_copy,
  ST_OP_squeeze_copy_dim, ST_OP_squeeze_copy_dims, ST_OP_unsqueeze_copy,
  ST_OP_expand_copy, ST_OP_diagonal_copy, ST_OP_unfold_copy,
  ST_OP_split_copy_Tensor, ST_OP_split_with_sizes_copy, ST_OP_unbind_copy_int,
};

static const st_op_id compared[] = {
  ST_OP_eq_Tensor, ST_OP_eq_Scalar, ST_OP_ne_Tensor, ST_OP_ne_Scalar,
  ST_OP_lt_Tensor, ST_OP_lt_Scalar, ST_OP_le_Tensor, ST_OP_le_Scalar,
  ST_OP_gt_Tensor, ST_OP_gt_Scalar, ST_OP_ge_Tensor, ST_OP_ge_Scalar,
};

static st_status implement(const st_op *op, st_kernel_fn fn,
                           const st_op_row *row, const char *debug) {
  const st_kernel kernel = {.fn = fn, .ctx = (void *)(uintptr_t)row,
                            .debug = debug};
  return st__impl_op(op, st__key_parse("SubByte"), &kernel, NULL);
}

#define EACH(i, list) \
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)

st_status st__register_subbyte(void) {
  EACH(i, served) {
    const st_op_row *row = st__op_row(served[i]);
    ST_TRY(implement(st__op(served[i]), row->fn, NULL, "takes any dtype"));
  }
  EACH(i, reshaped) {
    ST_TRY(implement(st__op(reshaped[i]), view_or_move,
                     st__op_row(reshaped[i]), "a view, or on bytes"));
  }
  EACH(i, moved) {
    const st_op *in_place = st__op_variant(moved[i], ST_INPLACE);
    ST_TRY(implement(st__op(moved[i]), move_bytes, NULL, "on bytes"));
    if (in_place) ST_TRY(implement(in_place, move_bytes, NULL, "on bytes"));
  }
  EACH(i, compared) {
    ST_TRY(implement(st__op(compared[i]), compare_bytes, NULL, "on bytes"));
  }
  return ST_OK;
}
