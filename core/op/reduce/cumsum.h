/* Cumulative sums, products and extrema.
 */
#ifndef ST_OP_REDUCE_CUMSUM_H
#define ST_OP_REDUCE_CUMSUM_H

#include "op/registry/op.h"

/* Sets *dtype to the argument "dtype", or to otherwise if it is absent;
 * BAD_DTYPE if no tensor can have it. */
st_status st__asked_dtype(const st_run *r, st_dtype otherwise,
                          st_dtype *dtype);

st_status st__cumsum_meta(st_run *r); /* cumsum, cumprod */
st_status st__logcumsumexp_meta(st_run *r);
st_status st__scan_impl(st_run *r);   /* runs the row's kernel on each line */
st_status st__cummax_meta(st_run *r); /* cummax, cummin */
st_status st__cummax_impl(st_run *r);

#endif
