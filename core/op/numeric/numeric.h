/* Differences, gradients, covariances, histograms, quantiles and combinations.
 */
#ifndef ST_OP_NUMERIC_NUMERIC_H
#define ST_OP_NUMERIC_NUMERIC_H

#include "op/registry/op.h"

/* -- gradient.c ----------------------------------------------------------- */

ST_BOXED(st__box_gradient); /* with spacing */
ST_BOXED(st__box_gradient_array);

/* -- cov_corrcoef.c -------------------------------------------------------- */

ST_BOXED(st__box_cov);
ST_BOXED(st__box_corrcoef);

/* -- combinations.c -------------------------------------------------------- */

ST_BOXED(st__box_combinations);
ST_BOXED(st__box_cartesian_prod);
ST_BOXED(st__box_block_diag);

/* -- diff_trapezoid.c ----------------------------------------------------- */

ST_BOXED(st__box_diff);
ST_BOXED(st__box_diff_out);
ST_BOXED(st__box_trapezoid_dx);
ST_BOXED(st__box_trapezoid_x);
ST_BOXED(st__box_cumulative_trapezoid_dx);
ST_BOXED(st__box_cumulative_trapezoid_x);

/* -- histogram.c ---------------------------------------------------------- */

ST_BOXED(st__box_bincount);
st_status st__histc_meta(st_run *r);
st_status st__histc_impl(st_run *r);

/* -- quantile.c ----------------------------------------------------------- */

ST_BOXED(st__box_quantile);    /* q: a tensor or a scalar */
ST_BOXED(st__box_quantile_out);
ST_BOXED(st__box_nanquantile);
ST_BOXED(st__box_nanquantile_out);

#endif
