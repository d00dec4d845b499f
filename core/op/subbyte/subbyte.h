/* Operators of integers of fewer than eight bits.
 */
#ifndef ST_OP_SUBBYTE_SUBBYTE_H
#define ST_OP_SUBBYTE_SUBBYTE_H

#include "op/row/op.h"

/* Registers the kernels of the key SubByte. */
st_status st__register_subbyte(void);

#endif
