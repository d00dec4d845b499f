/* Composite operators of numerical work: slopes, covariances, products of
 * vectors, and combinations of elements.
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

/* -- cross_renorm.c -------------------------------------------------------- */

ST_BOXED(st__box_linalg_cross);
ST_BOXED(st__box_linalg_cross_out);
ST_BOXED(st__box_cross);
ST_BOXED(st__box_cross_out);
ST_BOXED(st__box_renorm);
ST_BOXED(st__box_renorm_);
ST_BOXED(st__box_renorm_out);

/* -- combinations.c -------------------------------------------------------- */

ST_BOXED(st__box_combinations);
ST_BOXED(st__box_cartesian_prod);
ST_BOXED(st__box_block_diag);

#endif
