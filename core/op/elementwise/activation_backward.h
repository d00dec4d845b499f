/* The gradients of activations.
 */
#ifndef ST_OP_ELEMENTWISE_ACTIVATION_BACKWARD_H
#define ST_OP_ELEMENTWISE_ACTIVATION_BACKWARD_H

#include "op/registry/op.h"

st_status st__elu_backward_meta(st_run *r);
st_status st__elu_backward_impl(st_run *r);
st_status st__leaky_relu_backward_meta(st_run *r);
st_status st__gelu_backward_impl(st_run *r);
st_status st__logit_backward_impl(st_run *r);

#endif
