/* Copies from and to tensors of integers of fewer than eight bits.
 */
#ifndef ST_ITER_SUBBYTE_COPY_H
#define ST_ITER_SUBBYTE_COPY_H

#include "iter/copy.h"
#include "tensor/subbyte.h"

/* Copies src to dst, of one shape, of which one at least has such elements, and
 * which share no byte. Numbers that do not fit wrap. src is not lazy, and
 * neither is on the device of an extension. */
st_status st__copy_rows(st_tensor *dst, const st_tensor *src);

#endif
