/* Reductions to indices: argmax, argmin, max and min along a dimension.
 */
#ifndef ST_OP_REDUCE_ARGMAX_H
#define ST_OP_REDUCE_ARGMAX_H

#include "op/registry/op.h"

st_status st__argmax_meta(st_run *r);  /* argmax, argmin; row's kernel */
st_status st__argmax_impl(st_run *r);
st_status st__max_dim_meta(st_run *r); /* max.dim, min.dim; row's kernel */
st_status st__max_dim_impl(st_run *r);

#endif
