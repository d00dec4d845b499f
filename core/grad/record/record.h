/* Kernels of the Autograd and ADInplaceOrView keys.
 */
#ifndef ST_GRAD_RECORD_RECORD_H
#define ST_GRAD_RECORD_RECORD_H

#include "grad/record/rule.h"
#include "op/row/op.h"

/* Autograd: records the call by the rule of its ctx, an st_derived, and
 * redispatches (A12). */
ST_BOXED(st__record_call);
/* Autograd, for out= variants: BAD_STATE if an argument requires a gradient,
 * which would be lost (A8). */
ST_BOXED(st__refuse_out);
/* ADInplaceOrView: increments the versions of written tensors and records the
 * bases of views (A1). */
ST_BOXED(st__track);
/* What st__track does after the call that it passes on. */
ST_BOXED(st__tracked);

#endif
