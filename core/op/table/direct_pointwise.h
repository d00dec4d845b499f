/* Small pointwise calls without an iterator: Note [Direct calls].
 */
#ifndef ST_OP_TABLE_DIRECT_POINTWISE_H
#define ST_OP_TABLE_DIRECT_POINTWISE_H

#include "op/row/kernel_context.h"

/* The number of tensor inputs of a row's variant whose calls may be direct, 0
 * for any other. */
int st__direct_inputs(const st_op_row *row, const st_schema *s,
                      st_variant variant);
/* The st_direct_fn of these contexts. */
bool st__direct_call(const st_structured_ctx *ctx, const st_value *args,
                     st_value *rets, st_status *status);

#endif
