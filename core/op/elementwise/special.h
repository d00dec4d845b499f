/* Special functions that are not pointwise rows, and aliases of operators.
 */
#ifndef ST_OP_ELEMENTWISE_SPECIAL_H
#define ST_OP_ELEMENTWISE_SPECIAL_H

#include "op/registry/op.h"

st_status st__polygamma_meta(st_run *r);
ST_BOXED(st__box_polygamma_);
ST_BOXED(st__box_mvlgamma);
ST_BOXED(st__box_mvlgamma_);
ST_BOXED(st__box_mvlgamma_out);
ST_BOXED(st__box_special_ndtr);
ST_BOXED(st__box_special_ndtr_out);

/* special_<name> calls a structured row with the same arguments. */
#define ST_SPECIAL_NAMES(X)                                          \
  X(expm1, expm1) X(exp2, exp2) X(log1p, log1p) X(sinc, sinc)        \
  X(erf, erf) X(erfc, erfc) X(erfinv, erfinv) X(gammaln, lgamma)     \
  X(digamma, digamma) X(psi, digamma) X(polygamma, polygamma)        \
  X(i0, i0) X(expit, sigmoid) X(logit, logit)                        \
  X(round, round_decimals) X(logsumexp, logsumexp)                   \
  X(xlogy, xlogy_Tensor) X(xlogy_self_scalar, xlogy_Scalar_Self)     \
  X(xlogy_other_scalar, xlogy_Scalar_Other)

#define DECLARE(name, id)              \
  ST_BOXED(st__box_special_##name);    \
  ST_BOXED(st__box_special_##name##_out);
ST_SPECIAL_NAMES(DECLARE)
#undef DECLARE
ST_BOXED(st__box_special_softmax); /* no out= variant */
ST_BOXED(st__box_special_log_softmax);

#endif
