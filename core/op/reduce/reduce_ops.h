/* Reductions to values: sums, products, extrema, any and all, variances,
 * norms.
 */
#ifndef ST_OP_REDUCE_REDUCE_OPS_H
#define ST_OP_REDUCE_REDUCE_OPS_H

#include "op/registry/op.h"

st_status st__sum_meta(st_run *r);   /* sum, prod, nansum; row's kernel */
st_status st__sum_impl(st_run *r);
st_status st__mean_meta(st_run *r);
st_status st__mean_impl(st_run *r);
st_status st__amax_meta(st_run *r);  /* amax, amin; row's kernel */
st_status st__max_meta(st_run *r);   /* max, min of all elements */
st_status st__amax_impl(st_run *r);
st_status st__aminmax_meta(st_run *r);
st_status st__aminmax_impl(st_run *r);
st_status st__any_meta(st_run *r);   /* any, all */
st_status st__any_impl(st_run *r);
st_status st__count_meta(st_run *r); /* count_nonzero */
st_status st__count_impl(st_run *r);
st_status st__var_meta(st_run *r);
st_status st__var_impl(st_run *r);
st_status st__std_impl(st_run *r);
st_status st__var_mean_meta(st_run *r); /* impl: var's or std's */
st_status st__norm_meta(st_run *r);
st_status st__norm_impl(st_run *r);
st_status st__logsumexp_meta(st_run *r);
st_status st__logsumexp_impl(st_run *r);

#endif
