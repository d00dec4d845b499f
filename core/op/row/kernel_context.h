/* The context of the boxed kernels of rows, and what such kernels share: the
 * schemas of derived variants, snapshots, tags.
 */
#ifndef ST_OP_ROW_KERNEL_CONTEXT_H
#define ST_OP_ROW_KERNEL_CONTEXT_H

#include "op/row/op.h"

typedef struct st_structured_ctx st_structured_ctx;

/* Runs a call without an iterator and sets rets[0] and *status; false, with
 * nothing done, if the usual path has to run it: Note [Direct calls]. */
typedef bool (*st_direct_fn)(const st_structured_ctx *ctx,
                             const st_value *args, st_value *rets,
                             st_status *status);

struct st_structured_ctx {
  const st_op_row *row;
  st_variant variant;
  st_device device; /* of the kernel */
  int base;         /* index of the argument `int base`, or -1 */
  int snapshot_arg; /* index of the argument that is read twice, or -1 */
  int direct_inputs; /* inputs of a direct call, or 0 */
  st_direct_fn direct; /* NULL if direct_inputs is 0 */
  const st_op *calls[2]; /* of the row's shortcut, up to NULL */
  void *own;        /* st_structured's ctx, NULL for rows of ops.def */
};

/* Derives the schema of a variant from the functional schema:
 *
 *   relu(Tensor self) -> Tensor
 *   relu_(Tensor(a!) self) -> Tensor(a!)
 *   relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
 *
 * out_overload is used for ST_OUT only. The caller frees *text with
 * st__text_free. BAD_SCHEMA when the variant does not exist: a result is not a
 * new tensor, there are more than ST_MAX_OUTS results, the first argument of
 * an in-place variant is not a tensor, or several results of an out= variant
 * have no names. */
st_status st__variant_schema(const st_schema *functional, st_variant variant,
                             const char *out_overload, char **text);

/* The index of the argument of op that is read twice, or -1: Note [Snapshots
 * of shared arguments]. */
int st__snapshot_arg(const st_op *op);
/* Calls fn, with a copy of argument `at` if its storage is shared. */
st_status st__snapshot_shared(const st_call *call, const st_value *args,
                              st_value *rets, int at, st_kernel_fn fn);

/* The boxed kernel of ST_VIEW_COPY rows (view_copy.c). */
ST_BOXED(st__view_copy);

/* The ST_OPTAG_ bits of the row's operator with this schema. */
int st__row_tags(const st_op_row *row, const char *schema);

#endif
