/* Lazy tensors: conjugates, negatives and zeros that are not computed (Note
 * [Lazy tensors]). The functions of section "Lazy tensors" of ops.def, and
 * how operators that know nothing of them get by.
 */
#ifndef ST_OP_LAZY_LAZY_H
#define ST_OP_LAZY_LAZY_H

#include "op/registry/op.h"

/* t itself, retained, or a tensor with its elements that is not lazy. It is
 * for reading: of a zero tensor it is a single zero, expanded. */
st_status st__resolve(const st_tensor *t, st_tensor **out);

/* The fallback of the keys Conjugate, Negative and ZeroTensor. */
st_status st__run_resolved(const st_call *call, const st_value *args,
                           st_value *rets);

/* Registers the fallbacks and the kernels of those keys. */
st_status st__register_lazy(void);
/* Those of operators that a zero tensor passes through (zero_tensor.c). */
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
