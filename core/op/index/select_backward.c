/* The gradients of operators that select elements: index_select,
 * masked_select, and reductions to a selected element.
 */

#include "op/registry/composite.h"

/* Calls an in-place operator. Its result is its first argument, which the op
 * scope owns already. */
static void call_inplace(st_op_scope *c, const st_op *op,
                         const st_value *args) {
  st_value same;
  if (!st__scope_ok(c)) return;
  c->status = st__call(op, args, &same);
  if (st__scope_ok(c)) st__value_clear(&same);
}

/* args: grad, self_sizes, dim, index, base */
ST_BOXED(st__box_index_select_backward) {
  st_op_scope c = {.n = 0};
  st_tensor *sum = st__apply(&c, ST_OP_new_zeros, 2, args);
  const st_value add[] = {st__of_tensor(sum), args[2], args[3], args[0],
                          st__of_int(1), args[4]};
  call_inplace(&c, st__op_variant(ST_OP_index_add, ST_INPLACE), add);
  return st__scope_return(&c, sum, rets);
}

/* args: grad, input, mask. The gradient is summed over broadcast dimensions. */
ST_BOXED(st__box_masked_select_backward) {
  const st_tensor *input = args[1].u.tensor, *mask = args[2].u.tensor;
  int64_t sizes[ST_MAX_DIMS];
  st_op_scope c = {.n = 0};
  int ndim;
  ST_TRY(st__broadcast_shape(input->ndim, input->sizes, mask->ndim,
                             mask->sizes, sizes, &ndim));
  const st_value zeros[] = {args[0], st__of_ints(sizes, ndim)};
  const st_tensor *all = st__apply(&c, ST_OP_new_zeros, 2, zeros);
  const st_value put[] = {st__of_tensor(all), args[2], args[0]};
  call_inplace(&c, st__op(ST_OP_masked_scatter_), put);
  return st__scope_return(
    &c, st__apply_with(&c, ST_OP_sum_to_size, all,
                       st__of_ints(input->sizes, input->ndim)), rets);
}

/* args: grad, dim, indices, sizes, keepdim, base */
ST_BOXED(st__box_value_selecting_reduction_backward) {
  const st_value dim = args[1];
  const st_tensor *grad = args[0].u.tensor, *indices = args[2].u.tensor;
  st_op_scope c = {.n = 0};
  if (!st__to_bool(&args[4], false) && args[3].len > 0) {
    grad = st__apply_with(&c, ST_OP_unsqueeze, grad, dim);
    indices = st__apply_with(&c, ST_OP_unsqueeze, indices, dim);
  }
  const st_value zeros[] = {args[0], args[3]};
  st_tensor *all = st__apply(&c, ST_OP_new_zeros, 2, zeros);
  const st_value put[] = {st__of_tensor(all), dim, st__of_tensor(indices),
                          st__of_tensor(grad), args[5]};
  call_inplace(&c, st__op_variant(ST_OP_scatter_src, ST_INPLACE), put);
  return st__scope_return(&c, all, rets);
}
