/* Tensors that other hosts of the process take over by a token: another Lua
 * state, another thread. See strided_memory.h.
 */
#ifndef ST_TENSOR_SHARE_H
#define ST_TENSOR_SHARE_H

#include "tensor/tensor.h"

enum { ST__TOKEN_SIZE = 64 };

/* times 0: until it is unshared. */
st_status st__share(const st_tensor *t, int64_t times,
                    char token[ST__TOKEN_SIZE]);
st_status st__attach(const char *token, st_tensor **out);
bool st__unshare(const char *token);

#endif
