/* The arguments of transforms, read and checked.
 */

#include "op/fft/arguments.h"

#include <inttypes.h>
#include <string.h>

int64_t st__fft_read_norm(st_op_scope *c, const st_value *norm, bool forward) {
  static const char *const words[] = {"backward", "ortho", "forward"};
  if (st__is_none(norm)) return forward ? 0 : 2;
  for (int i = 0; i < 3; i++) {
    if (!strcmp(norm->u.string, words[i])) return forward ? i : 2 - i;
  }
  c->status = st__fail(ST_BAD_VALUE, "norm must be 'backward', 'forward' or "
                       "'ortho', not '%s'", norm->u.string);
  return 0;
}

bool st__fft_is_length(st_op_scope *c, int64_t n) {
  if (!st__scope_ok(c)) return false;
  if (n >= 1) return true;
  c->status = st__fail(ST_BAD_VALUE, "%" PRId64 " numbers cannot be "
                       "transformed: at least 1 is needed", n);
  return false;
}

st_tensor *st__fft_promote(st_op_scope *c, const st_tensor *t,
                           bool is_complex) {
  st_dtype d = (st_dtype)t->dtype;
  if (!st__scope_ok(c)) return NULL;
  if (!st__is_floating(d) && !st__is_complex(d)) d = st__default_dtype();
  if (st__is_reduced_float(d)) {
    c->status = st__fail(ST_BAD_DTYPE, "there are no transforms of %s: convert "
                         "it to float32", st__dtype_name(d));
    return NULL;
  }
  if (is_complex) d = st__complex_dtype(d);
  if (d == t->dtype) return (st_tensor *)(uintptr_t)t;
  return st__apply_to(c, t, d);
}

static st_status no_dimensions(void) {
  return st__fail(ST_BAD_DIM, "self has no dimensions to transform");
}

int st__fft_wrap(st_op_scope *c, int64_t dim, const st_tensor *t) {
  int out = 0;
  if (!st__scope_ok(c)) return 0;
  c->status = t->ndim == 0 ? no_dimensions()
                           : st__wrap_dim(dim, t->ndim, &out);
  return out;
}

st_tensor *st__fft_resize(st_op_scope *c, st_tensor *t, int dim, int64_t n) {
  if (!st__scope_ok(c) || t->sizes[dim] == n) return t;
  if (t->sizes[dim] > n) return st__apply_narrow(c, t, dim, 0, n);
  int64_t pad[2 * ST_MAX_DIMS] = {0};
  const int at = 2 * (t->ndim - 1 - dim) + 1;
  pad[at] = n - t->sizes[dim];
  return ST_APPLY(c, ST_OP_constant_pad_nd, t, st__of_ints(pad, at + 1));
}

st_fft_axes_args st__fft_read_axes(const st_value *args) {
  return (st_fft_axes_args){args[0].u.tensor, &args[1], &args[2], &args[3]};
}

static st_status check_counts(const st_fft_axes_args *g) {
  const uint32_t sizes = g->s->len, dims = g->dim->len;
  if (st__is_none(g->s)) return ST_OK;
  if (!st__is_none(g->dim) && sizes != dims) {
    return st__fail(ST_BAD_VALUE, "s has %u sizes, but dim has %u dimensions",
                    sizes, dims);
  }
  if ((int)sizes <= g->self->ndim) return ST_OK;
  return st__fail(ST_BAD_VALUE, "s has %u sizes, but self has shape %s", sizes,
                  ST_SHAPE_TEXT(g->self));
}

st_status st__fft_find_axes(const st_fft_axes_args *g, st_fft_axes *a) {
  const st_tensor *t = g->self;
  uint64_t set;
  ST_TRY(check_counts(g));
  const bool is_given = !st__is_none(g->dim);
  a->n = is_given ? (int)g->dim->len
       : st__is_none(g->s) ? t->ndim : (int)g->s->len;
  if (t->ndim == 0 && a->n > 0) return no_dimensions();
  if (is_given && a->n > 0) {
    ST_TRY(st__wrap_dims(g->dim->u.ints, a->n, t->ndim, &set));
  }
  for (int i = 0; i < a->n; i++) {
    int dim = t->ndim - a->n + i;
    if (is_given) ST_TRY(st__wrap_dim(g->dim->u.ints[i], t->ndim, &dim));
    a->dim[i] = dim;
    a->size[i] = st__is_none(g->s) || g->s->u.ints[i] == -1
               ? t->sizes[dim] : g->s->u.ints[i];
  }
  return ST_OK;
}

st_tensor *st__fft_resize_axes(st_op_scope *c, st_tensor *t,
                               const st_fft_axes *a) {
  for (int i = 0; i < a->n && st__fft_is_length(c, a->size[i]); i++) {
    t = st__fft_resize(c, t, (int)a->dim[i], a->size[i]);
  }
  return t;
}
