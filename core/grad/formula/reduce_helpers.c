/* Helpers for the derivatives of reductions.
 */

#include "grad/formula/helpers.h"

/* -- Shapes --------------------------------------------------------------- */

st_status st__reduced(const st_value *dims, int ndim, uint64_t *set) {
  int64_t d = dims->u.i;
  if (dims->tag == ST_TAG_INT) return st__wrap_dims(&d, 1, ndim, set);
  if (dims->tag != ST_TAG_INTS) return st__wrap_dims(NULL, 0, ndim, set);
  return st__wrap_dims(dims->u.ints, (int)dims->len, ndim, set);
}

st_tensor *st__restore(st_op_scope *c, const st_tensor *t, int ndim,
                       uint64_t set, bool keepdim) {
  if (keepdim || ndim == 0) return (st_tensor *)(uintptr_t)t;
  for (int d = 0; d < ndim && st__scope_ok(c); d++) {
    if (set >> d & 1) t = ST_APPLY(c, ST_OP_unsqueeze, t, d);
  }
  return (st_tensor *)(uintptr_t)t;
}

/* spread(grad, shape, dim, keepdim): expands the gradient of a reduction to
 * the shape of its input. */
ST_HELPER_FN(st__help_spread) {
  ST_READ(TENSOR(grad), BOXED(sizes), BOXED(dims), BOOL(keepdim));
  st_op_scope c = {.status = ST_OK};
  uint64_t set;
  ST_TRY(st__reduced(dims, (int)sizes->len, &set));
  const st_tensor *t = st__restore(&c, grad, (int)sizes->len, set, keepdim);
  return st__scope_return(&c, ST_APPLY(&c, ST_OP_expand, t, *sizes), out);
}

/* -- Ties ----------------------------------------------------------------- */

/* The mask of the elements equal to the result; NaNs compare equal. */
static st_tensor *same_as(st_op_scope *c, const st_tensor *self,
                          const st_tensor *value) {
  return st__apply2(c, ST_OP_logical_or,
    st__apply2(c, ST_OP_eq_Tensor, self, value),
    st__apply2(c, ST_OP_logical_and, st__apply1(c, ST_OP_isnan, self),
               st__apply1(c, ST_OP_isnan, value)));
}

/* share(grad, self, result[, dim, keepdim]): distributes grad evenly among the
 * elements equal to the result. As in ATen, if dim is given and the result is
 * NaN, all gradients are NaN. */
ST_HELPER_FN(st__help_share) {
  ST_READ(TENSOR(grad), TENSOR(self), TENSOR(value));
  const st_value dims = n > 3 ? *st__read_value(&args) : st__none();
  const bool keepdim = n > 4 && st__read_bool(&args);
  st_op_scope c = {.status = ST_OK};
  uint64_t set;
  ST_TRY(st__reduced(&dims, self->ndim, &set));
  grad = st__restore(&c, grad, self->ndim, set, keepdim);
  value = st__restore(&c, value, self->ndim, set, keepdim);
  if (!st__scope_ok(&c)) return st__scope_end(&c, 0, NULL, NULL);
  const st_tensor *same = n > 3
    ? st__apply2(&c, ST_OP_eq_Tensor, self, value) : same_as(&c, self, value);
  int64_t reduced[ST_MAX_DIMS];
  int nreduced = 0;
  for (int d = 0; d < self->ndim; d++) {
    if (set >> d & 1) reduced[nreduced++] = d;
  }
  const st_tensor *times =
    self->ndim == 0
      ? same
      : ST_APPLY(&c, ST_OP_sum_dim_IntList, same,
                 st__of_ints(reduced, nreduced), st__of_bool(true));
  const st_tensor *part = st__div(&c, grad, times);
  if (n > 3) return st__scope_return(&c, st__mul(&c, part, same), out);
  return st__scope_return(
    &c, ST_APPLY(&c, ST_OP_where_ScalarOther, same, part, 0), out);
}

/* pick_back(self, grad, dim, indices, keepdim, base): scatters grad to the
 * indices along dim. */
ST_HELPER_FN(st__help_pick_back) {
  ST_READ(GEOMETRY(g), TENSOR(grad), BOXED(dim), TENSOR(indices), BOOL(keepdim),
          BOXED(base));
  st_op_scope c = {.status = ST_OK};
  if (!keepdim && g->ndim > 0) {
    grad = ST_APPLY(&c, ST_OP_unsqueeze, grad, *dim);
    indices = ST_APPLY(&c, ST_OP_unsqueeze, indices, *dim);
  }
  const st_tensor *zeros =
    ST_APPLY(&c, ST_OP_new_zeros, grad, st__of_ints(g->dims, g->ndim));
  return st__scope_return(
    &c, ST_APPLY(&c, ST_OP_scatter_add, zeros, *dim, indices, grad, *base),
    out);
}

/* -- Moments -------------------------------------------------------------- */

/* var_back(grad, self, dim, correction, keepdim) */
ST_HELPER_FN(st__help_var_back) {
  ST_READ(TENSOR(grad), TENSOR(self), BOXED(dim));
  const double correction = st__to_float(st__read_value(&args), 1);
  ST_READ(BOOL(keepdim));
  st_op_scope c = {.status = ST_OK};
  uint64_t set;
  int64_t dims[ST_MAX_DIMS], count = 1;
  int ndims = 0;
  ST_TRY(st__reduced(dim, self->ndim, &set));
  for (int d = 0; d < self->ndim; d++) {
    if (!(set >> d & 1)) continue;
    dims[ndims++] = d;
    count *= self->sizes[d];
  }
  const double rest = (double)count - correction;
  grad = st__restore(&c, grad, self->ndim, set, keepdim);
  const st_tensor *mean = ST_APPLY(&c, ST_OP_mean_dim, self,
                                   st__of_ints(dims, ndims), st__of_bool(true));
  const st_tensor *off = st__minus(&c, self, mean);
  const st_tensor *factor =
    ST_APPLY(&c, ST_OP_mul_Scalar, grad, st__of_float(2 / rest));
  return st__scope_return(&c, st__mul(&c, factor, off), out);
}
