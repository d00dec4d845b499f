/* Results that are copied to out=, of operators that are not structured.
 */
#ifndef ST_OP_ROW_ASSIGN_OUT_H
#define ST_OP_ROW_ASSIGN_OUT_H

#include "op/row/op.h"

/* Copies value to out. out keeps its strides if it has the shape of value,
 * and is resized otherwise. BAD_DTYPE or BAD_VALUE when dtypes or devices
 * differ. A failure leaves out unchanged. */
st_status st__assign_out(st_tensor *out, const st_tensor *value);
/* What can fail in that: checks, and the memory for out. */
st_status st__prepare_out(st_tensor *out, const st_tensor *value);
/* As st__assign_out, but out may have any dtype that value can be cast to. */
st_status st__cast_out(st_tensor *out, const st_tensor *value);

#endif
