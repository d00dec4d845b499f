/* Concatenation: cat, stack, and hstack, vstack, dstack, column_stack, which
 * are cat over reshaped inputs.
 */

#include "op/shape/cat_stack.h"

#include "tensor/view.h"

/* -- cat ------------------------------------------------------------------ */

/* As in ATen, tensors of shape [0] are skipped, whatever shape the others have.
 * They were once the only empty tensors. */
static bool is_skipped(const st_tensor *t) {
  return t->ndim == 1 && t->sizes[0] == 0;
}

/* The first tensor that is not skipped, or NULL. */
static const st_tensor *first_nonempty(st_tensors list) {
  for (uint32_t i = 0; i < list.n; i++) {
    if (!is_skipped(list.p[i])) return list.p[i];
  }
  return NULL;
}

/* The memory format that all tensors suggest, otherwise contiguous. */
static st_format common_format(st_tensors list) {
  const st_format format = st__suggest_format(list.p[0], false);
  for (uint32_t i = 1; i < list.n; i++) {
    if (st__suggest_format(list.p[i], false) != format) {
      return ST_FORMAT_CONTIGUOUS;
    }
  }
  return format;
}

static st_status check_not_empty(st_tensors list) {
  return list.n ? ST_OK
                   : st__fail(ST_BAD_VALUE, "tensors is an empty list");
}

static st_status check_list(st_tensors list) {
  ST_TRY(check_not_empty(list));
  for (uint32_t i = 0; i < list.n; i++) {
    const st_tensor *t = list.p[i];
    if (t->ndim == 0) {
      return st__fail(ST_BAD_SHAPE, "tensor number %u has no dimensions and "
                      "cannot be concatenated", i + 1);
    }
    if (t->device != list.p[0]->device) {
      return st__fail(ST_BAD_VALUE, "tensor number %u is not on the device of "
                      "the first tensor", i + 1);
    }
  }
  return ST_OK;
}

/* The sizes of the result. BAD_SHAPE unless all tensors have the sizes of
 * `like` in every dimension but dim. */
static st_status result_sizes(st_tensors list, const st_tensor *like,
                              int dim, int64_t *sizes) {
  memcpy(sizes, like->sizes, like->ndim * sizeof *sizes);
  sizes[dim] = 0;
  for (uint32_t i = 0; i < list.n; i++) {
    const st_tensor *t = list.p[i];
    if (is_skipped(t)) continue;
    bool fits = t->ndim == like->ndim;
    for (int d = 0; fits && d < t->ndim; d++) {
      fits = d == dim || t->sizes[d] == like->sizes[d];
    }
    if (!fits) {
      return st__fail(ST_BAD_SHAPE, "tensor number %u has shape %s, which "
                      "must match %s except in dimension %d", i + 1,
                      ST_SHAPE_TEXT(t), ST_SHAPE_TEXT(like),
                      (int)st__display_index(dim));
    }
    if (!st__add_sizes(sizes[dim], t->sizes[dim], &sizes[dim])) {
      return st__fail(ST_BAD_SHAPE, "the size of the result is too large");
    }
  }
  return ST_OK;
}

static st_status check_out(const st_tensor *out, st_dtype dtype) {
  if (st_can_cast(dtype, out->dtype)) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "%s cannot be cast to out's dtype %s",
                  st__dtype_name(dtype),
                  st__dtype_name(out->dtype));
}

st_status st__cat_meta(st_run *r) {
  const st_value *args = r->args;
  ST_ARGS(TENSORS(tensors), INT(dim));
  ST_TRY(check_list(tensors));
  const st_tensor *like = first_nonempty(tensors);
  st_dtype dtype;
  ST_TRY(st__promoted(st__result_type(tensors.p, (int)tensors.n), &dtype));
  int64_t sizes[ST_MAX_DIMS] = {0}, strides[ST_MAX_DIMS];
  const int ndim = like ? like->ndim : 1;
  int at = 0;
  ST_TRY(st__wrap_dim(dim, ndim, &at));
  int64_t numel;
  if (like) ST_TRY(result_sizes(tensors, like, at, sizes));
  ST_TRY(st__numel_of(ndim, sizes, &numel));
  if (r->given[0]) {
    ST_TRY(check_out(r->given[0], dtype));
    dtype = r->given[0]->dtype;
  }
  ST_TRY(st__format_strides(ndim, sizes, like ? common_format(tensors)
                                              : ST_FORMAT_CONTIGUOUS,
                            strides));
  return st__set_output(r, 0, ndim, sizes, strides, dtype);
}

/* Makes all views of the output, so that no copy has begun when one fails. */
static st_status narrow_outputs(st_tensors list, const st_tensor *out,
                                int dim, st_tensor **views) {
  int64_t start = 0;
  for (uint32_t i = 0; i < list.n; i++) {
    const st_tensor *t = list.p[i];
    if (is_skipped(t) || t->numel == 0) continue;
    ST_TRY(st__view_narrow(out, dim, start, t->sizes[dim], &views[i]));
    start += t->sizes[dim];
  }
  return ST_OK;
}

st_status st__cat_impl(st_run *r) {
  const st_value *args = r->args;
  ST_ARGS(TENSORS(tensors));
  const size_t bytes = tensors.n * sizeof(st_tensor *);
  int dim = 0;
  if (r->out[0]->numel == 0) return ST_OK;
  st__wrap_dim(st__next_int(&args), r->out[0]->ndim, &dim);
  st_tensor **views = st__alloc_zero(ST_MEM_SCRATCH, bytes);
  if (!views) return ST_NO_MEMORY;
  st_status status = narrow_outputs(tensors, r->out[0], dim, views);
  for (uint32_t i = 0; i < tensors.n; i++) {
    if (!views[i]) continue;
    if (status == ST_OK) {
      status = st__copy_unchecked(views[i], tensors.p[i]);
    }
    st__tensor_release(&views[i]);
  }
  st__free(ST_MEM_SCRATCH, views, bytes);
  return status;
}

static st_status cat(st_value tensors, int64_t dim, st_value *ret) {
  return st__invoke(ST_OP_cat, ST_VALUES(tensors, dim), ret);
}

ST_BOXED(st__box_concat) { return st__invoke(ST_OP_cat, 2, args, rets); }

/* -- cat of reshaped inputs ----------------------------------------------- */

/* Reshapes one tensor; dim is map_dim of cat_mapped. */
typedef st_status (*map_fn)(const st_tensor *t, int64_t dim,
                            st_tensor **out);

/* Concatenates map(t, map_dim) of each tensor t along dim. dim -1 is that of
 * hstack: 0 for vectors, otherwise 1. */
static st_status cat_mapped(st_tensors list, map_fn map, int64_t map_dim,
                            int64_t dim, st_value *ret) {
  st_value mapped;
  ST_TRY(check_not_empty(list));
  ST_TRY(st__value_new_tensors((int)list.n, &mapped));
  st_status status = ST_OK;
  for (uint32_t i = 0; i < list.n && status == ST_OK; i++) {
    status = map(list.p[i], map_dim, &mapped.u.tensors[i]);
  }
  if (status == ST_OK) {
    const bool is_hstack = dim < 0; /* hstack: the first tensor decides */
    if (is_hstack) dim = mapped.u.tensors[0]->ndim == 1 ? 0 : 1;
    status = cat(mapped, dim, ret);
  }
  st__value_clear(&mapped);
  return status;
}

static st_status unsqueeze(const st_tensor *t, int64_t dim,
                           st_tensor **out) {
  return st__invoke1(ST_OP_unsqueeze, ST_VALUES(t, dim), out);
}

/* Adds dimensions until there are n. As in NumPy, a vector becomes a row, and
 * the third dimension of a matrix is the last one. */
static st_status at_least(const st_tensor *t, int64_t n, st_tensor **out) {
  if (t->ndim >= n) return st__give(t, out);
  st_tensor *more = NULL;
  ST_TRY(unsqueeze(t, t->ndim == 2 ? 2 : 0, &more));
  const st_status status =
    more->ndim > t->ndim ? at_least(more, n, out)
                         : st__fail(ST_BAD_STATE, "unsqueeze returned a "
                                    "tensor of %d dimensions", more->ndim);
  st__tensor_release(&more);
  return status;
}

static st_status as_columns(const st_tensor *t, int64_t dim,
                            st_tensor **out) {
  (void)dim;
  if (t->ndim >= 2) return st__give(t, out);
  return st__invoke1(ST_OP_reshape, ST_VALUES(t, ST_INTS(t->numel, 1)), out);
}

ST_BOXED_AS(st__box_hstack, cat_mapped, st__next_tensors(&args), at_least, 1,
            -1)
ST_BOXED_AS(st__box_vstack, cat_mapped, st__next_tensors(&args), at_least, 2, 0)
ST_BOXED_AS(st__box_dstack, cat_mapped, st__next_tensors(&args), at_least, 3, 2)
ST_BOXED_AS(st__box_column_stack, cat_mapped, st__next_tensors(&args),
            as_columns, 0, 1)

static st_status box_at_least(const st_value *args, int n, st_value *ret) {
  st_tensor *out = NULL;
  ST_TRY(at_least(st__next_tensor(&args), n, &out));
  *ret = st__of_tensor(out);
  return ST_OK;
}

ST_BOXED(st__box_atleast_1d) { return box_at_least(args, 1, rets); }
ST_BOXED(st__box_atleast_2d) { return box_at_least(args, 2, rets); }
ST_BOXED(st__box_atleast_3d) { return box_at_least(args, 3, rets); }

/* -- stack ---------------------------------------------------------------- */

static st_status check_stack(st_tensors list, int64_t dim, int *at) {
  ST_TRY(check_not_empty(list));
  const st_tensor *first = list.p[0];
  for (uint32_t i = 1; i < list.n; i++) {
    const st_tensor *t = list.p[i];
    if (!st__same_sizes(first, t)) {
      return st__fail(ST_BAD_SHAPE, "tensor number %u has shape %s, but the "
                      "first has shape %s", i + 1, ST_SHAPE_TEXT(t),
                      ST_SHAPE_TEXT(first));
    }
  }
  return st__wrap_dim(dim, first->ndim + 1, at);
}

/* Along a dimension that the tensors have, stack is cat followed by a view
 * that splits this dimension, so no input is unsqueezed. */
static st_status stack(st_tensors tensors, int64_t dim, st_value *rets) {
  int at;
  ST_TRY(check_stack(tensors, dim, &at));
  const st_tensor *first = tensors.p[0];
  if (at == first->ndim) return cat_mapped(tensors, unsqueeze, at, at, rets);
  if (first->ndim >= ST_MAX_DIMS) {
    return st__fail(ST_BAD_SHAPE, "a tensor has at most %d dimensions",
                    ST_MAX_DIMS);
  }
  int64_t sizes[ST_MAX_DIMS];
  for (int d = 0; d < first->ndim; d++) sizes[d + (d >= at)] = first->sizes[d];
  sizes[at] = tensors.n;
  st_value result;
  ST_TRY(cat(st__of_tensors(tensors.p, (int)tensors.n), at, &result));
  const st_status status = st__invoke(
    ST_OP_view, ST_VALUES(result, st__of_ints(sizes, first->ndim + 1)), rets);
  st__value_clear(&result);
  return status;
}
ST_TYPED_ARGS(st__box_stack, stack, (TENSORS, INT))

static st_status stack_out(st_tensors tensors, int64_t dim, const st_value *out,
                           st_value *rets) {
  st_value mapped;
  int at;
  ST_TRY(check_stack(tensors, dim, &at));
  ST_TRY(st__value_new_tensors((int)tensors.n, &mapped));
  st_status status = ST_OK;
  for (uint32_t i = 0; i < tensors.n && status == ST_OK; i++) {
    status = unsqueeze(tensors.p[i], at, &mapped.u.tensors[i]);
  }
  if (status == ST_OK) {
    status = st__call_n(st__op_variant(ST_OP_cat, ST_OUT),
                        ST_VALUES(mapped, at, *out), rets);
  }
  st__value_clear(&mapped);
  return status;
}
ST_TYPED_ARGS(st__box_stack_out, stack_out, (TENSORS, INT, VALUE))
