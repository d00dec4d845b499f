/* sum_to_size, the sum that undoes a broadcast.
 */

#include "op/row/composite.h"

/* The dimensions of self to sum over; BAD_SHAPE if size does not expand to
 * self's sizes. */
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
  return st__fail(ST_BAD_SHAPE, "size %s does not expand to self's shape %s",
                  st__shape_text((int)size->len, size->u.ints,
                                 (char[160]){0}, 160), ST_SHAPE_TEXT(self));
}

ST_BOXED(st__box_sum_to_size) {
  const st_value *self = st__next(&args), *size = st__next(&args);
  st_tensor *t = self->u.tensor;
  const uint32_t ndim = (uint32_t)t->ndim;
  int64_t dims[ST_MAX_DIMS];
  st_op_scope c = {.n = 0};
  int n;
  if (size->len == 0) return st__invoke(ST_OP_sum, 1, self, rets);
  ST_TRY(summed_dims(t, size, dims, &n));
  if (n > 0) {
    const st_value sum[] = {*self, st__of_ints(dims, n), st__of_bool(true)};
    t = st__apply(&c, ST_OP_sum_dim_IntList, 3, sum);
  }
  if (size->len < ndim) t = st__apply_with(&c, ST_OP_view, t, *size);
  return st__scope_return(&c, t, rets);
}
