/* Reductions to indices: argmax, argmin, max and min along a dimension.
 *
 * The first pass finds the extremum in vectors, the second the first element
 * equal to it: two fast loops instead of one that carries indices along. NaN
 * counts both as the greatest and as the least element.
 */

#include "op/reduce/reduction.h"
#include "op/row/op.h"

static st_status get_checked_dims(const st_run *r, st_dims *d) {
  ST_TRY(st__get_dims(r, d));
  const st_dtype dtype = d->self->dtype;
  if (st__is_complex(dtype) && d->self->numel > 0) {
    return st__no_kernel_for(dtype);
  }
  return st__check_not_empty(d);
}

static void add_base(const st_reduction *r, void *acc, const void *ref,
                     int64_t n) {
  int64_t *a = acc;
  (void)ref;
  for (int64_t i = 0; i < n; i++) a[i] += r->base;
}

static st_status run(st_run *r, st_tensor *values, st_tensor *indices) {
  st_dims d;
  ST_TRY(st__get_dims(r, &d));
  if (d.self->numel == 0) return ST_OK;
  const st_kernel_id kernel = r->row->kernel;
  const st_dtype self = d.self->dtype;
  const st_dtype acc = st__is_reduced_float(self) ? ST_FLOAT32 : self;
  const st_value *base = st__named_arg(r, "base");
  st_reduction red = {
    .first = {kernel, kernel, acc, kernel == ST_K_amax ? st__lowest(acc)
                                                       : st__highest(acc)},
    .second = {ST_K_find, ST_K_amin, ST_INT64, st__scalar_int(0)},
    .finish = add_base, .ordered = true, .base = base ? base->u.i : 0,
    .out_first = values, .out_last = indices};
  return st__reduce(&red, d.self, d.set, d.keepdim);
}

st_status st__argmax_meta(st_run *r) {
  st_dims d;
  ST_TRY(get_checked_dims(r, &d));
  return st__set_reduced(r, 0, &d, ST_INT64);
}

st_status st__argmax_impl(st_run *r) { return run(r, NULL, r->out[0]); }

st_status st__max_dim_meta(st_run *r) {
  st_dims d;
  ST_TRY(get_checked_dims(r, &d));
  ST_TRY(st__set_reduced(r, 0, &d, d.self->dtype));
  return st__set_reduced(r, 1, &d, ST_INT64);
}

st_status st__max_dim_impl(st_run *r) {
  return run(r, r->out[0], r->out[1]);
}
