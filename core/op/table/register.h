/* The table of operators: the rows of ops.def, and what registers them and the
 * structured operators of extensions.
 */
#ifndef ST_OP_TABLE_REGISTER_H
#define ST_OP_TABLE_REGISTER_H

#include "op/row/kernel_context.h"
#include "abi/strided_dispatch.h"

extern const st_op_row st__op_rows[];

/* Registers every row under aten::, once per process. */
st_status st__register_operators(void);

/* See strided.h. */
ST_API st_status st_backend_register(st_device kind, const char *name,
                                     const st_backend *backend);

/* -- Within the table ----------------------------------------------------- */

/* The index of the argument `int base` of op, or -1. */
int st__find_base(const st_op *op);
/* The kernel of a structured row that has it, which must be 0 or 1. */
ST_BOXED(st__structured_with_base);
/* The kernel of a structured row on a device of an extension. If impl cannot
 * compute the result, NO_KERNEL, the CPU does: Note [The CPU fallback]. */
ST_BOXED(st__structured_on_device);

/* The shortcut of the CPU's kernel of a row's variant. Its calls are in
 * ctx->calls, which st__row_calls fills in once all rows are registered. */
st_shortcut_of st__row_shortcut(const st_structured_ctx *ctx,
                                const st_schema *s);
void st__row_calls(st_structured_ctx *ctx);

/* The number of inputs of a row's variant whose calls may be direct, 0 for any
 * other (Note [Direct calls]). */
int st__direct_inputs(const st_op_row *row, const st_schema *s,
                      st_variant variant);
/* The st_direct_fn of these contexts. */
bool st__direct_call(const st_structured_ctx *ctx, const st_value *args,
                     st_value *rets, st_status *status);

#endif
