/* Cumulative sums, products and extrema: cumsum, cumprod, cummax, cummin.
 */

#include "op/reduce/cumsum.h"

#include "op/reduce/line_tiles.h"
#include "op/reduce/reduction.h"

/* -- cumsum, cumprod ------------------------------------------------------- */

static st_status get_dim(const st_run *r, int *dim) {
  const st_value *args = r->args;
  ST_ARGS(TENSOR(self));
  return st__wrap_dim(st__next_int(&args), self->ndim, dim);
}

/* Makes output i like self, contiguous. */
static st_status set_like_self(st_run *r, int i, st_dtype dtype) {
  const st_tensor *self = st__arg_tensor(r, 0);
  return st__set_output(r, i, self->ndim, self->sizes, NULL, dtype);
}

st_status st__asked_dtype(const st_run *r, st_dtype otherwise,
                          st_dtype *dtype) {
  const st_value *asked = st__named_arg(r, "dtype");
  *dtype = asked ? (st_dtype)asked->u.i : otherwise;
  return st__is_tensor_dtype(*dtype) ? ST_OK : st__no_kernel_for(*dtype);
}

st_status st__cumsum_meta(st_run *r) {
  const st_dtype self = st__arg_tensor(r, 0)->dtype;
  const bool exact = self == ST_BOOL || st__is_integral(self);
  st_dtype dtype = exact ? ST_INT64 : self;
  int dim;
  if (r->given[0]) dtype = r->given[0]->dtype;
  ST_TRY(get_dim(r, &dim));
  ST_TRY(st__asked_dtype(r, dtype, &dtype));
  if (dtype == ST_BOOL) return st__no_kernel_for(dtype);
  return set_like_self(r, 0, dtype);
}

st_status st__logcumsumexp_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const st_dtype d = self->dtype;
  int dim;
  ST_TRY(get_dim(r, &dim));
  if (!st__is_floating(d) && !st__is_complex(d) && self->numel > 0) {
    return st__no_kernel_for(d);
  }
  return set_like_self(r, 0, d);
}

/* -- cummax, cummin ------------------------------------------------------- */

st_status st__cummax_meta(st_run *r) {
  const st_dtype self = st__arg_tensor(r, 0)->dtype;
  int dim;
  ST_TRY(get_dim(r, &dim));
  if (st__is_complex(self)) return st__no_kernel_for(self);
  ST_TRY(set_like_self(r, 0, self));
  return set_like_self(r, 1, ST_INT64);
}

st_status st__cummax_impl(st_run *r) {
  st_tensor *self = st__arg_tensor(r, 0);
  const st_value *base = st__named_arg(r, "base");
  const int64_t from = base ? base->u.i : 0;
  st_loop loop;
  st_lines lines;
  int dim;
  ST_TRY(get_dim(r, &dim));
  if (self->numel == 0) return ST_OK;
  ST_TRY(st__find_kernel(r->row->kernel, self->dtype, &loop));
  st__lines_init(&lines, 3, (st_tensor *[]){r->out[0], r->out[1], self},
                 dim);
  return st__line_tiles_run_all(&lines, 2, INT64_MAX, loop, &from,
                                r->row->kernel);
}
