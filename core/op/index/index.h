/* Indexing by tensors: the functions of section "Indexing" of ops.def, and
 * what they share.
 *
 * Note [Indices]
 * A position is an int64. Below zero it counts from the end (-1 is the
 * last); else it counts from the operator's base, which is 0 in C and 1 in
 * Lua. Every position is checked before anything is written; the loops rely
 * on it.
 */
#ifndef ST_OP_INDEX_INDEX_H
#define ST_OP_INDEX_INDEX_H

#include "kernel/index.h"
#include "op/registry/op.h"

/* -- Positions (index_operands.c) ------------------------------------------ */

/* index as int64, owned: itself, or converted when it is int32 and that is
 * allowed. BAD_DTYPE otherwise. It must be on self's device. */
st_status st__as_indices(const st_tensor *index, const st_tensor *self,
                         bool int32_too, st_tensor **out);
/* BAD_INDEX naming the first position outside [-size, size) + base, the
 * dimension and its size. Nothing to check on the meta device. */
st_status st__check_indices(const st_tensor *index, int dim, int64_t size,
                            int64_t base);

/* A tensor addressed through positions: a view whose indexed dimensions have
 * stride 0, and the positions that say where in them to go. */
typedef struct st_index_operands {
  st_tensor *view;                /* owned */
  st_tensor *index[ST_INDEX_MAX]; /* owned; they broadcast against view */
  st_index_ctx ctx;
} st_index_operands;

void st__index_operands_release(st_index_operands *p);

/* One position per element along dim (gather): view has index's shape. */
st_status st__index_operands_along(const st_tensor *self, int dim,
                                   const st_tensor *index, int64_t base,
                                   st_index_operands *out);
/* One position per slice (index_select): index is a vector. */
st_status st__index_operands_slices(const st_tensor *self, int dim,
                                    const st_tensor *index, int64_t base,
                                    st_index_operands *out);
/* Positions in the flattened tensor (take); self is contiguous. */
st_status st__index_operands_flat(const st_tensor *self, const st_tensor *index,
                                  int64_t base, st_index_operands *out);
/* A list of position tensors and masks (index.Tensor). */
st_status st__index_operands_list(const st_tensor *self,
                                  const st_value *indices,
                                  int64_t base, st_index_operands *out);

/* out <- places, on the team. */
st_status st__index_operands_get(const st_index_operands *p, st_tensor *out);
/* places <- value, or places += alpha * value; in order, on one thread, so
 * that of equal positions the last one counts. value broadcasts. */
st_status st__index_operands_put(const st_index_operands *p,
                                 const st_tensor *value, st_kernel_id kernel);

/* -- By lists of positions (index.c) -------------------------------------- */

st_status st__index_meta(st_run *r);
st_status st__index_impl(st_run *r);
ST_BOXED(st__box_index_put_);
ST_BOXED(st__box_index_put);
st_status st__take_meta(st_run *r);
st_status st__take_impl(st_run *r);
ST_BOXED(st__box_take_along_dim);
ST_BOXED(st__box_put_);
ST_BOXED(st__box_put);

/* BAD_DTYPE, naming t, when it is not of self's dtype. */
st_status st__check_same_dtype(const st_tensor *self, const st_tensor *t,
                               const char *name);

/* -- Along one dimension (gather_scatter.c) -------------------------------- */

st_status st__index_select_meta(st_run *r);
st_status st__index_select_impl(st_run *r);
st_status st__gather_meta(st_run *r);
st_status st__gather_impl(st_run *r);
st_status st__scatter_src_meta(st_run *r);
st_status st__scatter_src_impl(st_run *r);
st_status st__scatter_value_meta(st_run *r);
st_status st__scatter_value_impl(st_run *r);
st_status st__index_add_meta(st_run *r);
st_status st__index_add_impl(st_run *r);
st_status st__index_copy_meta(st_run *r);
st_status st__index_copy_impl(st_run *r);
/* For others that write along a dimension; args: self, dim, index, ... The
 * result starts as a copy of self, unless it is self. Fails before it writes;
 * what follows cannot. */
st_status st__start_with_self(const st_run *r);
/* Checks, and sets the output; src may be NULL. */
st_status st__scatter_check(st_run *r, const st_tensor *src, int64_t base);
/* The same for a source, args[3], of slices. */
st_status st__slices_check(st_run *r, int64_t base);
/* The places that index names in t, one for each of *values, owned, which is
 * src cut to index's shape. */
st_status st__scatter_open(const st_run *r, const st_tensor *t, int64_t base,
                           const st_tensor *src, st_index_operands *p,
                           st_tensor **values);
/* The slices that index names in t. */
st_status st__slices_open(const st_run *r, const st_tensor *t, int64_t base,
                          st_index_operands *p);
ST_BOXED(st__box_index_fill__int_Scalar);
ST_BOXED(st__box_index_fill_int_Scalar);

/* -- Reducing (scatter_reduce.c) ------------------------------------------ */

st_status st__scatter_reduce_meta(st_run *r);
st_status st__index_reduce_meta(st_run *r);
st_status st__scatter_reduce_impl(st_run *r); /* both */

/* -- By masks (nonzero_masked.c) ------------------------------------------- */

/* The positions of t's nonzero elements: a (count, t->ndim) tensor, column
 * by column. */
st_status st__nonzero(const st_tensor *t, int64_t base, st_tensor **out);

st_status st__masked_select_meta(st_run *r);
st_status st__masked_select_impl(st_run *r);
ST_BOXED(st__box_masked_scatter_);
ST_BOXED(st__box_masked_scatter);
st_status st__nonzero_meta(st_run *r);
st_status st__nonzero_impl(st_run *r);
ST_BOXED(st__box_argwhere);
ST_BOXED(st__box_nonzero_numpy);

#endif
