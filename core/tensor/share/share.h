/* Tensors shared by tokens with other Lua states and threads of the process.
 * See strided_memory.h.
 */
#ifndef ST_TENSOR_SHARE_H
#define ST_TENSOR_SHARE_H

#include "tensor/tensor.h"
#include "abi/strided_memory.h"

enum { ST__TOKEN_SIZE = 64 };

/* Makes a token that can be used `times` times; 0: until st_unshare. */
st_status st__share(const st_tensor *t, int64_t times,
                    char token[ST__TOKEN_SIZE]);

#endif
