/* Operators mostly made of others: statistics, differences, equal elements,
 * closeness.
 */
#ifndef ST_OP_NUMERIC_STATISTICS_H
#define ST_OP_NUMERIC_STATISTICS_H

#include "op/registry/op.h"

/* -- Statistics (histc_quantile.c) ----------------------------------------- */

ST_BOXED(st__box_nanmean);
ST_BOXED(st__box_nanmean_out);
ST_BOXED(st__box_bincount);
st_status st__histc_meta(st_run *r);
st_status st__histc_impl(st_run *r);
ST_BOXED(st__box_quantile);    /* q a tensor or a number */
ST_BOXED(st__box_quantile_out);
ST_BOXED(st__box_nanquantile);
ST_BOXED(st__box_nanquantile_out);

/* -- Differences (diff_trapezoid.c) ---------------------------------------- */

ST_BOXED(st__box_diff);
ST_BOXED(st__box_diff_out);
ST_BOXED(st__box_trapezoid_dx);
ST_BOXED(st__box_trapezoid_x);
ST_BOXED(st__box_cumulative_trapezoid_dx);
ST_BOXED(st__box_cumulative_trapezoid_x);

/* -- Equal elements (unique_isin.c) ---------------------------------------- */

ST_BOXED(st__box_isin);        /* either may be a number */
ST_BOXED(st__box_isin_Tensor_Tensor_out);
ST_BOXED(st__box_isin_Tensor_Scalar_out);
ST_BOXED(st__box_isin_Scalar_Tensor_out);
ST_BOXED(st__box_unique_consecutive);
ST_BOXED(st__box_unique2);
ST_BOXED(st__box_unique_dim);

/* -- Elementwise (isclose.c) ----------------------------------------------- */

ST_BOXED(st__box_isclose);
ST_BOXED(st__box_allclose);
ST_BOXED(st__box_float_power); /* either may be a number */
ST_BOXED(st__box_float_power_out);
ST_BOXED(st__box_float_power_);
ST_BOXED(st__box_ldexp);
ST_BOXED(st__box_ldexp_out);
ST_BOXED(st__box_ldexp_);
ST_BOXED(st__box_relu6);
ST_BOXED(st__box_relu6_);
ST_BOXED(st__box_selu);
ST_BOXED(st__box_selu_);
ST_BOXED(st__box_celu);
ST_BOXED(st__box_celu_);
ST_BOXED(st__box_prelu);

#endif
