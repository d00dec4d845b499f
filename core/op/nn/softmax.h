/* softmax, log_softmax, and their gradients.
 */
#ifndef ST_OP_NN_SOFTMAX_H
#define ST_OP_NN_SOFTMAX_H

#include "op/registry/op.h"

st_status st__softmax_meta(st_run *r); /* for both */
st_status st__softmax_backward_meta(st_run *r); /* for both */
st_status st__softmax_backward_impl(st_run *r);

#endif
