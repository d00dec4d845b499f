/* The gradients of indexing operators.
 */
#ifndef ST_OP_INDEX_BACKWARD_H
#define ST_OP_INDEX_BACKWARD_H

#include "op/registry/op.h"

/* select_backward.c */
ST_BOXED(st__box_index_select_backward);
ST_BOXED(st__box_masked_select_backward);
ST_BOXED(st__box_value_selecting_reduction_backward);

/* scatter_reduce_backward.c */
ST_BOXED(st__box_scatter_reduce_backward);
ST_BOXED(st__box_index_reduce_backward);

#endif
