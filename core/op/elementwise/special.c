/* Composite special functions.
 */

#include <inttypes.h>
#include <math.h>

#include "op/elementwise/pointwise.h"
#include "op/row/composite.h"

/* -- polygamma ------------------------------------------------------------ */

st_status st__polygamma_meta(st_run *r) {
  const st_value *args = r->args;
  ST_ARGS(INT(n));
  st_inputs in;
  if (n < 0) {
    return st__fail(ST_BAD_VALUE, "n must not be negative, it is %" PRId64, n);
  }
  ST_TRY(st__get_inputs(r, &in));
  return st__build_pointwise(r, ST_ITER_UNARY_FLOAT, &in, ST_DTYPE_NONE);
}

/* The gradient needs the old self, so it is copied while gradients are
 * recorded. */
ST_BOXED(st__box_polygamma_) {
  ST_ARGS(MUTABLE(self), VALUE(n));
  st_op_scope c = {.n = 0};
  if (!st__tls().grad || !(self->keys & ST_AUTOGRAD_BITS)) {
    const st_value all[] = {n, st__of_tensor(self), st__of_tensor(self)};
    return st__call(st__op_variant(ST_OP_polygamma, ST_OUT), all, rets);
  }
  const st_value given[] = {n,
                            st__of_tensor(st__apply1(&c, ST_OP_clone, self))};
  const st_tensor *value = st__scope_ok(&c)
                           ? st__apply(&c, ST_OP_polygamma, 2, given) : NULL;
  return st__scope_return(&c, st__apply2(&c, ST_OP_copy_, self, value), rets);
}

/* -- mvlgamma ------------------------------------------------------------- */

/* The p summands of self, one per column: (1 - p) / 2, ..., -1/2, 0. */
static st_tensor *halves(st_op_scope *c, const st_tensor *self, int64_t p) {
  const st_dtype d = self->dtype;
  return ST_APPLY(
    c, ST_OP_arange_start_step, st__of_float(0.5 * (double)(1 - p)), 0.25, 0.5,
    st__is_floating(d) ? st__of_int(d) : st__none(), st__none(), self->device);
}

ST_BOXED(st__box_mvlgamma) {
  ST_ARGS(TENSOR(self));
  const int64_t p = st__next_int(&args);
  const double log_pi = 1.14472988584940017414;
  st_op_scope c = {.n = 0};
  if (p < 1) {
    return st__fail(ST_BAD_VALUE, "p must be at least 1, it is %" PRId64, p);
  }
  const st_tensor *column = ST_APPLY(&c, ST_OP_unsqueeze, self, -1);
  const st_tensor *each =
    st__apply1(&c, ST_OP_lgamma, st__plus(&c, column, halves(&c, self, p)));
  const st_tensor *sum = ST_APPLY(&c, ST_OP_sum_dim_IntList, each, ST_INTS(-1));
  const double share = 0.25 * (double)p * (double)(p - 1) * log_pi;
  return st__scope_return(&c, ST_APPLY(&c, ST_OP_add_Scalar, sum, share), rets);
}
