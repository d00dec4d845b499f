/* One element of log_softmax per line. The loop is in
 * kernel/softmax/log_softmax_at.c.
 */

#include "op/index/index.h"
#include "op/reduce/lines.h"

st_status st__log_softmax_at_meta(st_run *r) {
  const st_value *args = r->args;
  ST_ARGS(TENSOR(self), TENSOR(index));
  int64_t sizes[ST_MAX_DIMS];
  int dim;
  ST_TRY(st__wrap_dim(st__next_int(&args), self->ndim, &dim));
  if (self->dtype != ST_FLOAT32 && self->dtype != ST_FLOAT64) {
    return st__no_kernel_for(self->dtype);
  }
  if (index->dtype != ST_INT64) {
    return st__fail(ST_BAD_DTYPE, "index must have dtype int64, not %s",
                    st__dtype_name(index->dtype));
  }
  for (int d = 0; d < self->ndim; d++) {
    sizes[d] = d == dim ? 1 : self->sizes[d];
  }
  if (!st__has_sizes(index, self->ndim, sizes)) {
    return st__fail(ST_BAD_SHAPE, "index has shape %s, which does not match "
                    "self of shape %s along dimension %d",
                    ST_SHAPE_TEXT(index), ST_SHAPE_TEXT(self),
                    (int)st__display_index(dim));
  }
  return st__set_output(r, 0, self->ndim, sizes, NULL, self->dtype);
}

st_status st__log_softmax_at_impl(st_run *r) {
  const st_value *args = r->args;
  ST_ARGS(MUTABLE(self), MUTABLE(index));
  st_loop loop;
  st_lines lines;
  int dim;
  ST_TRY(st__wrap_dim(st__next_int(&args), self->ndim, &dim));
  ST_ARGS(INT(base));
  const int64_t size = self->ndim ? self->sizes[dim] : 1;
  ST_TRY(st__check_indices(index, dim, size, base));
  ST_TRY(st__find_kernel(r->row->kernel, self->dtype, &loop));
  if (self->numel == 0) return ST_OK;
  st__lines_init(&lines, 3, (st_tensor *[]){r->out[0], index, self}, dim);
  return st__lines_run_all(&lines, loop, &base, r->row->kernel);
}
