/* The gradients of operators that select elements: index_select,
 * masked_select, and reductions to a selected element.
 */

#include "op/row/composite.h"

ST_BOXED(st__box_index_select_backward) {
  ST_ARGS(TENSOR(grad), BOXED(self_sizes), BOXED(dim), BOXED(index),
          BOXED(base));
  st_op_scope c = {.n = 0};
  st_tensor *sum = ST_APPLY(&c, ST_OP_new_zeros, grad, *self_sizes);
  ST_APPLY_INTO(&c, ST_OP_index_add, sum, *dim, *index, grad, 1, *base);
  return st__scope_return(&c, sum, rets);
}

/* The gradient is summed over broadcast dimensions. */
ST_BOXED(st__box_masked_select_backward) {
  ST_ARGS(TENSOR(grad), TENSOR(input), TENSOR(mask));
  int64_t sizes[ST_MAX_DIMS];
  st_op_scope c = {.n = 0};
  int ndim;
  ST_TRY(st__broadcast_shape(input->ndim, input->sizes, mask->ndim,
                             mask->sizes, sizes, &ndim));
  const st_tensor *all =
    ST_APPLY(&c, ST_OP_new_zeros, grad, st__of_ints(sizes, ndim));
  ST_APPLY(&c, ST_OP_masked_scatter_, all, mask, grad);
  return st__scope_return(&c,
                          ST_APPLY(&c, ST_OP_sum_to_size, all,
                                   st__of_ints(input->sizes, input->ndim)),
                          rets);
}

ST_BOXED(st__box_value_selecting_reduction_backward) {
  const st_tensor *grad = st__next_tensor(&args), *slices = grad;
  ST_ARGS(BOXED(dim), TENSOR(indices), BOXED(sizes), BOOL(keepdim),
          BOXED(base));
  st_op_scope c = {.n = 0};
  if (!keepdim && sizes->len > 0) {
    slices = ST_APPLY(&c, ST_OP_unsqueeze, grad, *dim);
    indices = ST_APPLY(&c, ST_OP_unsqueeze, indices, *dim);
  }
  st_tensor *all = ST_APPLY(&c, ST_OP_new_zeros, grad, *sizes);
  ST_APPLY_INTO(&c, ST_OP_scatter_src, all, *dim, indices, slices, *base);
  return st__scope_return(&c, all, rets);
}
