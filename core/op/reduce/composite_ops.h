/* Composite reductions: nanmean and sum_to_size.
 */
#ifndef ST_OP_REDUCE_COMPOSITE_OPS_H
#define ST_OP_REDUCE_COMPOSITE_OPS_H

#include "op/registry/op.h"

ST_BOXED(st__box_nanmean);
ST_BOXED(st__box_nanmean_out);
ST_BOXED(st__box_sum_to_size);

#endif
