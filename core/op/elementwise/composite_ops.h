/* Composite elementwise operators.
 */
#ifndef ST_OP_ELEMENTWISE_COMPOSITE_OPS_H
#define ST_OP_ELEMENTWISE_COMPOSITE_OPS_H

#include "op/registry/op.h"

ST_BOXED(st__box_isclose);
ST_BOXED(st__box_allclose);
ST_BOXED(st__box_float_power); /* either argument may be a scalar */
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
