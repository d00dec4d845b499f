/* What the registrars hand to the boxed kernel of structured operators, and
 * the schemas of their variants.
 */
#ifndef ST_OP_REGISTRY_REGISTER_H
#define ST_OP_REGISTRY_REGISTER_H

#include "op/registry/op.h"

typedef struct st_structured_ctx {
  const st_op_row *row;
  st_variant variant;
  st_device device; /* whose kernel it is */
  int base;         /* which argument is `int base`, -1 without */
  int snapshot_arg; /* which one is read twice, -1 without */
  void *own;        /* an extension's own */
} st_structured_ctx;

/* The schema of another variant of a functional one:
 *
 *   relu(Tensor self) -> Tensor
 *   relu_(Tensor(a!) self) -> Tensor(a!)
 *   relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
 *
 * out_overload is for ST_OUT. *text is freed with st__text_free. BAD_SCHEMA
 * when there is no such variant: results that are no new tensors, a first
 * argument that is none, results without names, more than ST_MAX_OUTS. */
st_status st__variant_schema(const st_schema *functional, st_variant variant,
                             const char *out_overload, char **text);

/* The argument of op to be held still, or -1: Note [Snapshots of shared
 * arguments]. */
int st__snapshot_arg(const st_op *op);
/* fn with a copy of argument `at` when it is shared with other threads. */
st_status st__snapshot_shared(const st_call *call, const st_value *args,
                              st_value *rets, int at, st_kernel_fn fn);

/* ST_OPTAG_ bits of one of the row's schemas. */
int st__row_tags(const st_op_row *row, const char *schema);

#endif
