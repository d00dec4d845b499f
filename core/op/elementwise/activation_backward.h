/* Operators for gradients: those of activations and softmaxes in one pass,
 * of views, of what selects elements; and views written as functions.
 */
#ifndef ST_OP_ELEMENTWISE_ACTIVATION_BACKWARD_H
#define ST_OP_ELEMENTWISE_ACTIVATION_BACKWARD_H

#include "op/registry/op.h"

/* -- Activations (activation_backward.c) ----------------------------------- */

st_status st__elu_backward_meta(st_run *r);
st_status st__elu_backward_impl(st_run *r);
st_status st__leaky_relu_backward_meta(st_run *r);
st_status st__gelu_backward_impl(st_run *r);
st_status st__logit_backward_impl(st_run *r);

/* -- Selections (activation_backward.c) ------------------------------------ */

ST_BOXED(st__box_index_select_backward);
ST_BOXED(st__box_masked_select_backward);
ST_BOXED(st__box_value_selecting_reduction_backward);
ST_BOXED(st__box_sum_to_size);

/* -- Reductions into places (scatter_reduce_backward.c) -------------------- */

ST_BOXED(st__box_scatter_reduce_backward);
ST_BOXED(st__box_index_reduce_backward);

/* -- Parts (slice_scatter.c) ----------------------------------------------- */

ST_BOXED(st__box_select_backward);
ST_BOXED(st__box_slice_backward);
ST_BOXED(st__box_diagonal_backward);
ST_BOXED(st__box_unfold_backward);
ST_BOXED(st__box_select_scatter);
ST_BOXED(st__box_slice_scatter);
ST_BOXED(st__box_diagonal_scatter);
ST_BOXED(st__box_as_strided_scatter);

#endif
