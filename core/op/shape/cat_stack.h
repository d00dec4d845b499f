/* Concatenation and repetition, for other families.
 */
#ifndef ST_OP_SHAPE_CAT_STACK_H
#define ST_OP_SHAPE_CAT_STACK_H

#include "op/row/typed.h"

/* Checks that there are 1 to ST_MAX_DIMS tensors of at least `least` and at
 * most 1 dimensions (repeat_flip_roll.c). */
st_status st__check_vectors(st_tensors tensors, int least);

#endif
