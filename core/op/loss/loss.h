/* Losses: the argument reduction, and the final reduction.
 */
#ifndef ST_OP_LOSS_LOSS_H
#define ST_OP_LOSS_LOSS_H

#include "op/row/composite.h"

/* The values of `int reduction`. ORDER REDUCTION:
 * lua/bind/call/argument_convert.c */
enum { ST_REDUCE_NONE, ST_REDUCE_MEAN, ST_REDUCE_SUM };

/* Starts the op scope of a loss; its status is BAD_VALUE if the argument
 * reduction is invalid. */
st_op_scope st__loss_begin(int64_t reduction);
/* Reduces loss, a result in scope c, and ends the scope. */
st_status st__loss_end(st_op_scope *c, st_tensor *loss, int64_t reduction,
                       st_value *rets);

#endif
