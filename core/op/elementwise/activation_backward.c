/* The gradients of activations, in one pass over memory each, and of
 * operators that select elements.
 */

#include "op/elementwise/activation_backward.h"

#include <string.h>

#include "op/registry/composite.h"
#include "op/elementwise/pointwise.h"

/* -- Activations ---------------------------------------------------------- */

/* A result tells on which side of 0 self was if the slope there has not
 * turned the sign. */
static st_status check_slope(const st_run *r, int slope, int is_result) {
  const double s = st__scalar_to_double(st__to_scalar(&r->args[slope]));
  if (!st__to_bool(&r->args[is_result], false) || s >= 0) return ST_OK;
  return st__fail(ST_BAD_VALUE, "%s is negative (%g), so there is no gradient "
                  "from the result", r->call->schema->args[slope].name, s);
}

/* args: grad_output, alpha, scale, input_scale, is_result, self_or_result */
st_status st__elu_backward_meta(st_run *r) {
  ST_TRY(check_slope(r, 1, 4));
  return st__binary_meta(r);
}

st_status st__elu_backward_impl(st_run *r) {
  st_params k;
  st__get_numbers(r, &k);
  return st__run_kernel(r, st__to_bool(&r->args[4], false)
                           ? ST_K_elu_result_backward : ST_K_elu_backward, &k);
}

/* args: grad_output, self, negative_slope, self_is_result */
st_status st__leaky_relu_backward_meta(st_run *r) {
  ST_TRY(check_slope(r, 2, 3));
  return st__binary_meta(r);
}

/* args: grad_output, self, approximate */
st_status st__gelu_backward_impl(st_run *r) {
  const char *how = r->args[2].u.string;
  if (strcmp(how, "none") == 0) {
    return st__run_kernel(r, ST_K_gelu_backward, NULL);
  }
  if (strcmp(how, "tanh") == 0) {
    return st__run_kernel(r, ST_K_gelu_tanh_backward, NULL);
  }
  return st__fail(ST_BAD_VALUE, "approximate must be \"none\" or \"tanh\", "
                  "not \"%s\"", how);
}

/* args: grad_output, self, eps */
st_status st__logit_backward_impl(st_run *r) {
  const st_params k = {
    .s = {st__scalar_float(st__to_float(&r->args[2], -1))}};
  return st__run_kernel(r, ST_K_logit_backward, &k);
}

/* -- Selections ----------------------------------------------------------- */

/* The result of an in-place operator is its first argument, which the chain
 * has already. */
static void into(st_chain *c, const st_op *op, const st_value *args) {
  st_value same;
  if (!st__going(c)) return;
  c->status = st__call(op, args, &same);
  if (st__going(c)) st__value_clear(&same);
}

/* args: grad, self_sizes, dim, index, base */
ST_BOXED(st__box_index_select_backward) {
  st_chain c = {.n = 0};
  st_tensor *sum = st__step(&c, ST_OP_new_zeros, 2, args);
  const st_value add[] = {st__of_tensor(sum), args[2], args[3], args[0],
                          st__of_int(1), args[4]};
  into(&c, st__op_variant(ST_OP_index_add, ST_INPLACE), add);
  return st__chain_return(&c, sum, rets);
}

/* args: grad, input, mask. What the two were expanded by is summed up. */
ST_BOXED(st__box_masked_select_backward) {
  const st_tensor *input = args[1].u.tensor, *mask = args[2].u.tensor;
  int64_t sizes[ST_MAX_DIMS];
  st_chain c = {.n = 0};
  int ndim;
  ST_TRY(st__broadcast_shape(input->ndim, input->sizes, mask->ndim,
                             mask->sizes, sizes, &ndim));
  const st_value zeros[] = {args[0], st__of_ints(sizes, ndim)};
  const st_tensor *all = st__step(&c, ST_OP_new_zeros, 2, zeros);
  const st_value put[] = {st__of_tensor(all), args[2], args[0]};
  into(&c, st__op(ST_OP_masked_scatter_), put);
  return st__chain_return(
    &c, st__step_with(&c, ST_OP_sum_to_size, all,
                      st__of_ints(input->sizes, input->ndim)), rets);
}

/* args: grad, dim, indices, sizes, keepdim, base */
ST_BOXED(st__box_value_selecting_reduction_backward) {
  const st_value dim = args[1];
  const st_tensor *grad = args[0].u.tensor, *indices = args[2].u.tensor;
  st_chain c = {.n = 0};
  if (!st__to_bool(&args[4], false) && args[3].len > 0) {
    grad = st__step_with(&c, ST_OP_unsqueeze, grad, dim);
    indices = st__step_with(&c, ST_OP_unsqueeze, indices, dim);
  }
  const st_value zeros[] = {args[0], args[3]};
  st_tensor *all = st__step(&c, ST_OP_new_zeros, 2, zeros);
  const st_value put[] = {st__of_tensor(all), dim, st__of_tensor(indices),
                          st__of_tensor(grad), args[5]};
  into(&c, st__op_variant(ST_OP_scatter_src, ST_INPLACE), put);
  return st__chain_return(&c, all, rets);
}

/* -- Broadcasting --------------------------------------------------------- */

/* Which dimensions of self to sum over; BAD_SHAPE when size does not expand
 * to self's. */
static st_status summed_dims(const st_tensor *self, const st_value *size,
                             int64_t *dims, int *n) {
  const int extra = self->ndim - (int)size->len;
  bool fits = extra >= 0;
  *n = 0;
  for (int d = 0; fits && d < self->ndim; d++) {
    const int64_t to = d < extra ? 1 : size->u.ints[d - extra];
    fits = to == self->sizes[d] || to == 1;
    if (d < extra || to != self->sizes[d]) dims[(*n)++] = d;
  }
  if (fits) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "size %s does not expand to the %s of self",
                  st__shape_text((int)size->len, size->u.ints,
                                 (char[160]){0}, 160), ST_SHAPE_TEXT(self));
}

ST_BOXED(st__box_sum_to_size) {
  st_tensor *t = args[0].u.tensor;
  int64_t dims[ST_MAX_DIMS];
  st_chain c = {.n = 0};
  int n;
  if (args[1].len == 0) return st__invoke(ST_OP_sum, 1, args, rets);
  ST_TRY(summed_dims(t, &args[1], dims, &n));
  if (n > 0) {
    const st_value sum[] = {args[0], st__of_ints(dims, n), st__of_bool(true)};
    t = st__step(&c, ST_OP_sum_dim_IntList, 3, sum);
  }
  if (args[1].len < (uint32_t)args[0].u.tensor->ndim) {
    t = st__step_with(&c, ST_OP_view, t, args[1]);
  }
  return st__chain_return(&c, t, rets);
}
