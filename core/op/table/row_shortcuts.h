/* The shortcuts of the kernels of ops.def: Note [Shortcuts].
 */
#ifndef ST_OP_TABLE_ROW_SHORTCUTS_H
#define ST_OP_TABLE_ROW_SHORTCUTS_H

#include "op/row/kernel_context.h"

/* The shortcut of the CPU's kernel of a row's variant. Its calls are in
 * ctx->calls, which st__row_calls fills in once all rows are registered. */
st_shortcut_of st__row_shortcut(const st_structured_ctx *ctx,
                                const st_schema *s);
void st__row_calls(st_structured_ctx *ctx);

#endif
