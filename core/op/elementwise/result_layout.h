/* The layout that ATen gives the result of a chain of elementwise operators,
 * for operators that run the whole chain as one kernel.
 */
#ifndef ST_OP_ELEMENTWISE_RESULT_LAYOUT_H
#define ST_OP_ELEMENTWISE_RESULT_LAYOUT_H

#include "op/row/composite.h"

/* A meta tensor of t's dtype with these sizes and strides; owned. */
st_status st__meta_twin(const st_tensor *t, int ndim, const int64_t *sizes,
                        const int64_t *strides, st_tensor **out);
/* A meta tensor with the layout of a new result of the meta tensors in[0] to
 * in[n - 1]; owned. */
st_status st__result_layout(int n, st_tensor *const *in, st_tensor **out);

/* Owned meta tensors with the layouts of results for self. */
st_status st__isinf_layout(const st_tensor *self, st_tensor **out);
st_status st__isfinite_layout(const st_tensor *self, st_tensor **out);
st_status st__isreal_layout(const st_tensor *self, st_tensor **out);

/* t itself if its strides are those of a new contiguous tensor, otherwise a
 * copy that has them: where a dimension has size 1, a contiguous tensor may
 * have others. */
st_tensor *st__apply_fresh(st_op_scope *c, const st_tensor *t);

#endif
