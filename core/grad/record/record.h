/* Kernels of the Autograd and ADInplaceOrView keys.
 */
#ifndef ST_GRAD_RECORD_RECORD_H
#define ST_GRAD_RECORD_RECORD_H

#include "grad/record/rule.h"
#include "op/registry/op.h"

/* Autograd: records the call under the rule that is its ctx, and continues
 * below (A12). */
ST_BOXED(st__record_call);
/* Autograd, of out= variants: refuses to lose a gradient (A8). */
ST_BOXED(st__refuse_out);
/* ADInplaceOrView: counts what is written, and tells what is a view of what
 * (A1). */
ST_BOXED(st__track);

#endif
