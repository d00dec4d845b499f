/* Lazy tensors: conjugates, negatives and zeros that are not materialized
 * (Note [Lazy tensors]). The functions of section "Lazy tensors" of ops.def,
 * and the fallbacks for operators without kernels for lazy tensors.
 */
#ifndef ST_OP_LAZY_LAZY_H
#define ST_OP_LAZY_LAZY_H

#include "op/registry/op.h"

/* t itself, retained, if it is not lazy, otherwise a materialized copy. *out is
 * read-only: for a zero tensor it is one zero, expanded. */
st_status st__resolve(const st_tensor *t, st_tensor **out);

/* The fallback of the keys Conjugate, Negative and ZeroTensor. */
st_status st__run_resolved(const st_call *call, const st_value *args,
                           st_value *rets);

/* Registers the fallbacks, fallthroughs and kernels of these keys. */
st_status st__register_lazy(void);
/* Registers the ZeroTensor kernels of zero_tensor.c. */
st_status st__register_zero(void);

/* -- Operators ------------------------------------------------------------ */

ST_BOXED(st__box_conj_view);
ST_BOXED(st__box_neg_view);
ST_BOXED(st__box_conj);
ST_BOXED(st__box_adjoint);
ST_BOXED(st__box_matrix_H);
ST_BOXED(st__box_resolve_conj);
ST_BOXED(st__box_resolve_neg);
ST_BOXED(st__box_is_conj);
ST_BOXED(st__box_is_neg);
ST_BOXED(st__box_is_zerotensor);
ST_BOXED(st__box_efficientzerotensor);

#endif
