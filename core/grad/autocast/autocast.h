/* Autocast: mixed precision, chosen by operator.
 *
 * Note [Autocast]
 * A thread begins with the Autocast keys excluded. While AutocastCPU is not
 * (st_tls_autocast), the operators of policies.def run the kernels here. They
 * convert the arguments, then redispatch to the keys below with the Autocast
 * keys excluded, so that the operators called inside do not convert again. The
 * conversion is itself a differentiable call: the gradient of a float32
 * parameter is float32. All other operators fall through, and operators that a
 * composite one calls are converted on their own. out= and in-place variants
 * fall through, because the caller has chosen the dtype of their result.
 *
 * What is converted: tensors of float32, float16 and bfloat16 in the CPU's
 * memory; not float64, complex or wrapped numbers.
 *
 * A backward pass runs with the Autocast keys excluded: its operators have the
 * dtypes that the forward pass chose.
 */
#ifndef ST_GRAD_AUTOCAST_AUTOCAST_H
#define ST_GRAD_AUTOCAST_AUTOCAST_H

#include "grad/graph/history.h"
#include "abi/strided_dispatch.h"

/* Registers the kernels, once per process. */
st_status st__register_autocast(void);

/* t converted to dtype `to`, owned. Note [Cached casts]. */
st_status st__cached_cast(const st_tensor *t, st_dtype to, st_tensor **out);
/* True for the tensors whose casts are kept. */
bool st__is_cached_cast(const st_tensor *t);

#endif
