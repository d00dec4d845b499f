/* Views: new headers over the same bytes. All dimensions and indices are
 * 0-based and may be negative where ATen allows it. *out is owned.
 */
#ifndef ST_TENSOR_VIEW_H
#define ST_TENSOR_VIEW_H

#include "tensor/tensor.h"

st_status st__view_as_strided(const st_tensor *t, int ndim,
                              const int64_t *sizes, const int64_t *strides,
                              int64_t offset, st_tensor **out);
/* One size may be -1. BAD_LAYOUT if the strides do not allow the view. */
st_status st__view_view(const st_tensor *t, int ndim, const int64_t *sizes,
                        st_tensor **out);
/* Copies sizes to out and replaces a -1 by the inferred size. */
st_status st__view_infer_size(int64_t numel, int ndim, const int64_t *sizes,
                              int64_t *out);
/* True, and the strides, if t can be viewed with these sizes. */
bool st__view_strides(const st_tensor *t, int ndim, const int64_t *sizes,
                      int64_t *strides);
st_status st__view_transpose(const st_tensor *t, int64_t d0, int64_t d1,
                             st_tensor **out);
st_status st__view_permute(const st_tensor *t, int n, const int64_t *dims,
                           st_tensor **out);
/* The permutation that is equivalent to movedim. */
st_status st__view_movedim_dims(int ndim, int n, const int64_t *from,
                                const int64_t *to, int64_t *dims);
st_status st__view_select(const st_tensor *t, int64_t dim, int64_t index,
                          st_tensor **out);
/* start and end are clamped as in ATen's slice. */
st_status st__view_slice(const st_tensor *t, int64_t dim, int64_t start,
                         int64_t end, int64_t step, st_tensor **out);
/* Checks the arguments of narrow; *out is start in [0, size]. */
st_status st__view_narrow_start(const st_tensor *t, int64_t dim,
                                int64_t start, int64_t length, int64_t *out);
st_status st__view_narrow(const st_tensor *t, int64_t dim, int64_t start,
                          int64_t length, st_tensor **out);
st_status st__view_squeeze_all(const st_tensor *t, st_tensor **out);
st_status st__view_squeeze(const st_tensor *t, uint64_t dims,
                           st_tensor **out); /* bit set of wrapped dims */
st_status st__view_unsqueeze(const st_tensor *t, int64_t dim,
                             st_tensor **out);
/* A size of -1 keeps the dimension. */
st_status st__view_expand(const st_tensor *t, int ndim, const int64_t *sizes,
                          st_tensor **out);
/* The shape of the result of flatten, to be viewed or reshaped to. */
st_status st__view_flatten_shape(const st_tensor *t, int64_t start,
                                 int64_t end, int64_t *sizes, int *ndim);
st_status st__view_unflatten_shape(const st_tensor *t, int64_t dim, int n,
                                   const int64_t *split, int64_t *sizes,
                                   int *ndim);
st_status st__view_diagonal(const st_tensor *t, int64_t offset, int64_t dim1,
                            int64_t dim2, st_tensor **out);
st_status st__view_unfold(const st_tensor *t, int64_t dim, int64_t size,
                          int64_t step, st_tensor **out);
st_status st__view_alias(const st_tensor *t, st_tensor **out);
/* Complex (...) to real (..., 2) and back; imag views the imaginary parts. */
st_status st__view_as_real(const st_tensor *t, st_tensor **out);
st_status st__view_as_complex(const st_tensor *t, st_tensor **out);
st_status st__view_imag(const st_tensor *t, st_tensor **out);
/* The same bytes read as another dtype (aten::view.dtype). */
st_status st__view_dtype(const st_tensor *t, st_dtype dtype,
                         st_tensor **out);

#endif
