/* Indexing by index tensors and masks: what the operators share.
 *
 * Note [Indices]
 * An index is an int64. A negative index counts from the end (-1 is the last
 * element); others count from the operator's base, which is 0 in C and 1 in
 * Lua. All indices are checked before anything is written; the loops rely on
 * it.
 */
#ifndef ST_OP_INDEX_INDEX_H
#define ST_OP_INDEX_INDEX_H

#include "kernel/index/index.h"
#include "op/row/op.h"

/* -- Index operands (index_operands.c) ------------------------------------- */

/* Returns index as an int64 tensor, owned: index itself, or a converted copy
 * if it is int32 and int32_too is true. BAD_DTYPE for other dtypes, BAD_VALUE
 * if index is not on self's device. */
st_status st__as_indices(const st_tensor *index, const st_tensor *self,
                         bool int32_too, st_tensor **out);
/* BAD_INDEX if an index is outside [-size, size) + base; the message names the
 * first one, the dimension and its size. Meta tensors are not checked. */
st_status st__check_indices(const st_tensor *index, int dim, int64_t size,
                            int64_t base);
/* Sets *found if there is such an index, which is no failure. */
st_status st__has_bad_index(const st_tensor *index, int64_t size,
                            int64_t base, bool *found);
/* Finds the first such index, in logical order; index is an int64 tensor with
 * data. */
bool st__find_bad_index(const st_tensor *index, int64_t size, int64_t base,
                        int64_t *out);

/* A tensor and the indices into it: a view whose indexed dimensions have
 * stride 0, and one index tensor per indexed dimension. */
typedef struct st_index_operands {
  st_tensor *view;                /* owned */
  st_tensor *index[ST_INDEX_MAX]; /* owned; they broadcast against view */
  st_index_ctx ctx;
} st_index_operands;

void st__index_operands_release(st_index_operands *p);

/* One index per element along dim (gather): view has index's shape. */
st_status st__index_operands_along(const st_tensor *self, int dim,
                                   const st_tensor *index, int64_t base,
                                   st_index_operands *out);
/* One index per slice (index_select): index is a vector. */
st_status st__index_operands_slices(const st_tensor *self, int dim,
                                    const st_tensor *index, int64_t base,
                                    st_index_operands *out);
/* Indices into the flattened tensor (take). self is contiguous, or the indices
 * are offsets in its storage that have been checked. */
st_status st__index_operands_flat(const st_tensor *self, const st_tensor *index,
                                  int64_t base, st_index_operands *out);
/* A list of index tensors and masks (index.Tensor). */
st_status st__index_operands_list(const st_tensor *self,
                                  st_tensors indices, int64_t base,
                                  st_index_operands *out);

/* out <- indexed elements, in parallel. */
st_status st__index_operands_get(const st_index_operands *p, st_tensor *out);
/* Indexed elements <- value, or += alpha * value. Runs in order on one thread,
 * so that the last of several writes to an element takes effect. value is
 * broadcast. */
st_status st__index_operands_put(const st_index_operands *p,
                                 const st_tensor *value, st_kernel_id kernel);

/* -- By lists of indices (index.c) ---------------------------------------- */

/* BAD_DTYPE, naming t, if the dtypes of self and t differ. */
st_status st__check_same_dtype(const st_tensor *self, const st_tensor *t,
                               const char *name);
/* Calls in-place operator id, with n arguments, on a copy of the first one,
 * and returns the copy. */
st_status st__call_on_copy(st_op_id id, int n, const st_value *args,
                           st_value *ret);

/* -- Along one dimension (gather_scatter.c) -------------------------------- */

/* For other operators that write along a dimension; args: self, dim, index,
 * ... Copies self to the result, unless the result is self. Call it after
 * everything else that can fail. */
st_status st__start_with_self(const st_run *r);
/* Checks the arguments and sets the output; src may be NULL. */
st_status st__scatter_check(st_run *r, const st_tensor *src);
/* The same where the next argument, source, holds slices. */
st_status st__slices_check(st_run *r);
/* Opens the elements of t at index. *values, owned, is src narrowed to index's
 * shape: one value per index. */
st_status st__scatter_open(const st_run *r, const st_tensor *t,
                           const st_tensor *src, st_index_operands *p,
                           st_tensor **values);
/* Opens the slices of t at index. */
st_status st__slices_open(const st_run *r, const st_tensor *t,
                          st_index_operands *p);

/* -- By masks (nonzero_masked.c) ------------------------------------------- */

/* The indices of t's nonzero elements: an owned (count, t->ndim) tensor in
 * column-major order. */
st_status st__nonzero(const st_tensor *t, int64_t base, st_tensor **out);

#endif
