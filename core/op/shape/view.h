/* The functions of section "Views" of ops.def.
 */
#ifndef ST_OP_SHAPE_VIEW_H
#define ST_OP_SHAPE_VIEW_H

#include "op/registry/op.h"

/* -- Views ---------------------------------------------------------------- */

ST_BOXED(st__box_as_strided);
ST_BOXED(st__box_view);
ST_BOXED(st__box_view_dtype);
ST_BOXED(st__box_alias);
ST_BOXED(st__box_t);
ST_BOXED(st__box_transpose);
ST_BOXED(st__box_permute);
ST_BOXED(st__box_select);
ST_BOXED(st__box_slice);
ST_BOXED(st__box_squeeze);
ST_BOXED(st__box_squeeze_dim);
ST_BOXED(st__box_squeeze_dims);
ST_BOXED(st__box_unsqueeze);
ST_BOXED(st__box_expand);
ST_BOXED(st__box_diagonal);
ST_BOXED(st__box_unfold);
ST_BOXED(st__box_view_as_real);
ST_BOXED(st__box_view_as_complex);

/* -- In place ------------------------------------------------------------- */

ST_BOXED(st__box_as_strided_);
ST_BOXED(st__box_t_);
ST_BOXED(st__box_transpose_);
ST_BOXED(st__box_squeeze_);
ST_BOXED(st__box_squeeze_dim_);
ST_BOXED(st__box_squeeze_dims_);
ST_BOXED(st__box_unsqueeze_);

/* -- Composite operators -------------------------------------------------- */

ST_BOXED(st__box_reshape);
ST_BOXED(st__box_reshape_as);
ST_BOXED(st__box_view_as);
ST_BOXED(st__box_ravel);
ST_BOXED(st__box_flatten);
ST_BOXED(st__box_unflatten);
ST_BOXED(st__box_movedim_int);
ST_BOXED(st__box_movedim_intlist);
ST_BOXED(st__box_swap);
ST_BOXED(st__box_numpy_T);
ST_BOXED(st__box_mT);
ST_BOXED(st__box_narrow);
ST_BOXED(st__box_narrow_tensor);
ST_BOXED(st__box_expand_as);
ST_BOXED(st__box_broadcast_to);
ST_BOXED(st__box_broadcast_tensors);
ST_BOXED(st__box_real);
ST_BOXED(st__box_imag);

/* -- Lists of views ------------------------------------------------------- */

ST_BOXED(st__box_split);
ST_BOXED(st__box_split_with_sizes);
ST_BOXED(st__box_split_sizes);
ST_BOXED(st__box_chunk);
ST_BOXED(st__box_unbind);
ST_BOXED(st__box_tensor_split_sections);
ST_BOXED(st__box_tensor_split_indices);
ST_BOXED(st__box_tensor_split_tensor);
ST_BOXED(st__box_hsplit_int);
ST_BOXED(st__box_hsplit_array);
ST_BOXED(st__box_vsplit_int);
ST_BOXED(st__box_vsplit_array);
ST_BOXED(st__box_dsplit_int);
ST_BOXED(st__box_dsplit_array);

#endif
