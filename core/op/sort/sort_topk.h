/* Sorting and order statistics: sort, topk, kthvalue, medians, mode.
 */
#ifndef ST_OP_SORT_SORT_TOPK_H
#define ST_OP_SORT_SORT_TOPK_H

#include "op/registry/op.h"

st_status st__sort_meta(st_run *r);     /* sort: values and indices */
st_status st__sort_impl(st_run *r);
st_status st__argsort_meta(st_run *r);
st_status st__argsort_impl(st_run *r);
st_status st__msort_meta(st_run *r);
st_status st__msort_impl(st_run *r);
st_status st__topk_meta(st_run *r);
st_status st__topk_impl(st_run *r);
st_status st__kthvalue_meta(st_run *r);
st_status st__kthvalue_impl(st_run *r);
st_status st__median_meta(st_run *r);   /* of all elements */
st_status st__median_impl(st_run *r);
st_status st__median_dim_meta(st_run *r);
st_status st__median_dim_impl(st_run *r);
/* With the meta functions of median. */
st_status st__nanmedian_impl(st_run *r);
st_status st__nanmedian_dim_impl(st_run *r);
st_status st__mode_impl(st_run *r);      /* meta: st__median_dim_meta */

#endif
