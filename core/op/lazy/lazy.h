/* Lazy tensors: conjugates, negatives and zeros that are not materialized
 * (Note [Lazy tensors]), and the fallbacks for operators without kernels for
 * them.
 */
#ifndef ST_OP_LAZY_LAZY_H
#define ST_OP_LAZY_LAZY_H

#include "op/row/op.h"

/* t itself, retained, if it is not lazy, otherwise a materialized copy. *out is
 * read-only: for a zero tensor it is one zero, expanded. */
st_status st__resolve_lazy(const st_tensor *t, st_tensor **out);

/* The fallback of the keys Conjugate, Negative and ZeroTensor. */
st_status st__run_resolved(const st_call *call, const st_value *args,
                           st_value *rets);

/* Registers the fallbacks, fallthroughs and kernels of these keys. */
st_status st__register_lazy(void);
/* Registers the ZeroTensor kernels of zero_tensor.c. */
st_status st__register_zero(void);

#endif
