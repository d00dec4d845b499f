/* The table of operators: the rows of ops.def, and what registers them and the
 * structured operators of extensions.
 */
#ifndef ST_OP_TABLE_REGISTER_H
#define ST_OP_TABLE_REGISTER_H

#include "op/row/kernel_context.h"

extern const st_op_row st__op_rows[];

/* Registers every row under aten::, once per process. */
st_status st__register_operators(void);

/* See strided.h. */
st_status st__library_structured(st_library *lib, const st_structured *s);

#endif
