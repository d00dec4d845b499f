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
  ST_ARGS(BOXED(self), BOXED(size));
  st_tensor *t = self->u.tensor;
  const uint32_t ndim = (uint32_t)t->ndim;
  int64_t dims[ST_MAX_DIMS];
  st_op_scope c = {.n = 0};
  int n;
  if (size->len == 0) return st__invoke(ST_OP_sum, 1, self, rets);
  ST_TRY(summed_dims(t, size, dims, &n));
  if (n > 0) {
    t = ST_APPLY(&c, ST_OP_sum_dim_IntList, *self, st__of_ints(dims, n),
                 st__of_bool(true));
  }
  if (size->len < ndim) t = ST_APPLY(&c, ST_OP_view, t, *size);
  return st__scope_return(&c, t, rets);
}
