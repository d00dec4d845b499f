/* Tensors as text, in PyTorch's format.
 */
#ifndef ST_OP_PRINT_FORMAT_TENSOR_H
#define ST_OP_PRINT_FORMAT_TENSOR_H

#include "tensor/tensor.h"

/* Formats t: "tensor([[1., 2.],\n        [3., 4.]], dtype=float64)".
 * options NULL: 4 digits, 1000 elements, 3 edge items, 80 columns. The caller
 * owns the text and frees it as ST_MEM_VALUE, strlen + 1 bytes. */
ST_API st_status st_tensor_text(const st_tensor *t,
                                const st_print_options *options, char **out);

#endif
