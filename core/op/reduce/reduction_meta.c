/* Shapes and arguments of reductions, for their meta functions.
 */
#include "op/reduce/reduction.h"

#include <math.h>

#include "iter/loop_report.h"

static bool is_whole(st_dtype d) { return d == ST_BOOL || st__is_integral(d); }

st_scalar st__lowest(st_dtype d) {
  return is_whole(d) ? st__int_lowest(d) : st__scalar_float(-INFINITY);
}

st_scalar st__highest(st_dtype d) {
  return is_whole(d) ? st__int_highest(d) : st__scalar_float(INFINITY);
}

/* Argument i; NULL for None, and if i is -1. */
static const st_value *given(const st_run *r, int i) {
  return i < 0 || st__is_none(&r->args[i]) ? NULL : &r->args[i];
}

const st_value *st__named_arg(const st_run *r, const char *name) {
  return given(r, st__schema_arg(r->call->schema, name));
}

st_status st__get_dims(const st_run *r, st_dims *d) {
  const st_value *dim = given(r, r->call->schema->dim_arg);
  const st_value *keepdim = given(r, r->call->schema->keepdim_arg);
  d->self = st__arg_tensor(r, 0);
  d->keepdim = keepdim && keepdim->u.i;
  if (dim && dim->tag == ST_TAG_INT) {
    return st__wrap_dims(&dim->u.i, 1, d->self->ndim, &d->set);
  }
  return st__wrap_dims(dim ? dim->u.ints : NULL, dim ? (int)dim->len : 0,
                       d->self->ndim, &d->set);
}

st_status st__check_not_empty(const st_dims *d) {
  for (int i = 0; i < d->self->ndim; i++) {
    if (d->self->sizes[i] == 0 && d->set >> i & 1) {
      return st__fail(ST_BAD_SHAPE, "dimension %d of self, shape %s, has no "
                      "elements to choose from", (int)st__display_index(i),
                      ST_SHAPE_TEXT(d->self));
    }
  }
  return ST_OK;
}

st_status st__set_reduced(st_run *r, int i, const st_dims *d,
                          st_dtype dtype) {
  int64_t sizes[ST_MAX_DIMS];
  int n = 0;
  for (int k = 0; k < d->self->ndim; k++) {
    const bool reduce = d->set >> k & 1;
    if (!reduce) sizes[n++] = d->self->sizes[k];
    else if (d->keepdim) sizes[n++] = 1;
  }
  ST_TRY(st__set_output(r, i, n, sizes, NULL, dtype));
  if (r->is_meta && i == 0) {
    st__dry_run_reduce(d->self, d->set, r->out[i], r->row->kernel);
  }
  return ST_OK;
}
