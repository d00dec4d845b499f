/* The gradients of operators that select elements: index_select,
 * masked_select, and reductions to a selected element.
 */

#include "op/row/composite.h"

/* Calls an in-place operator. Its result is its first argument, which the op
 * scope owns already. */
static void call_inplace(st_op_scope *c, const st_op *op,
                         const st_value *args) {
  st_value same;
  if (!st__scope_ok(c)) return;
  c->status = st__call(op, args, &same);
  if (st__scope_ok(c)) st__value_clear(&same);
}

ST_BOXED(st__box_index_select_backward) {
  ST_ARGS(TENSOR(grad), BOXED(self_sizes), BOXED(dim), BOXED(index),
          BOXED(base));
  st_op_scope c = {.n = 0};
  st_tensor *sum = ST_APPLY(&c, ST_OP_new_zeros, grad, *self_sizes);
  const st_value add[] = {st__of_tensor(sum), *dim, *index,
                          st__of_tensor(grad), st__of_int(1), *base};
  call_inplace(&c, st__op_variant(ST_OP_index_add, ST_INPLACE), add);
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
  const st_value put[] = {st__of_tensor(all), st__of_tensor(mask),
                          st__of_tensor(grad)};
  call_inplace(&c, st__op(ST_OP_masked_scatter_), put);
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
  const st_value put[] = {st__of_tensor(all), *dim, st__of_tensor(indices),
                          st__of_tensor(slices), *base};
  call_inplace(&c, st__op_variant(ST_OP_scatter_src, ST_INPLACE), put);
  return st__scope_return(&c, all, rets);
}
