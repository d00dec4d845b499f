/* What a recorder asks of operators, their arguments and their results.
 *
 * Stage trace of Note [Stages of fusion].
 */
#ifndef ST_FUSE_TRACE_RECORDED_OPERATOR_H
#define ST_FUSE_TRACE_RECORDED_OPERATOR_H

#include "op/row/op.h"

/* An operator with a kernel that is not built in, such as a Lua function, is
 * OPAQUE. One that a library has a kernel of for the device is a LEAF, even if
 * it is composite. */
typedef enum st_recorded_kind {
  ST_RECORDED_COMPOSITE, ST_RECORDED_LEAF, ST_RECORDED_OPAQUE
} st_recorded_kind;

st_recorded_kind st__recorded_kind(const st_op *op, st_device device);
/* Its name in messages: without "aten::". */
const char *st__recorded_name(const st_op *op);
/* The functional operator of an in-place one, with the same overload and
 * arguments: "aten::add" for "aten::add_"; NULL if there is none. */
const st_op *st__functional_of(const st_op *op);
/* True if all results are tensors, and there is one. */
bool st__gives_tensors(const st_schema *s);
/* The index of the first argument that is written, or -1. */
int st__first_written(const st_schema *s, const st_value *args);
/* The tensors among the results, those of lists included. */
int st__count_results(const st_schema *s, const st_value *rets);
st_tensor *st__nth_result(const st_value *rets, int n);

#endif
