/* cross, linalg_cross, renorm and norm_except_dim.
 */

#include "op/elementwise/result_layout.h"
#include "op/row/composite.h"

/* -- cross ---------------------------------------------------------------- */

static st_status check_cross(const st_tensor *a, const st_tensor *b,
                             int64_t dim, int *at) {
  if (a->ndim != b->ndim) {
    return st__fail(ST_BAD_SHAPE, "self and other must have the same number of "
                    "dimensions; their shapes are %s and %s",
                    ST_SHAPE_TEXT(a), ST_SHAPE_TEXT(b));
  }
  ST_TRY(st__wrap_dim(dim, a->ndim, at));
  if (a->ndim > 0 && a->sizes[*at] == 3 && b->sizes[*at] == 3) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "dimension %d of self and other must have "
                  "size 3; their shapes are %s and %s",
                  (int)st__display_index(*at),
                  ST_SHAPE_TEXT(a), ST_SHAPE_TEXT(b));
}

static void components(st_op_scope *c, const st_tensor *t, int dim,
                       st_tensor **out) {
  for (int i = 0; i < 3; i++) {
    out[i] = ST_APPLY(c, ST_OP_select_int, t, dim, i);
  }
}

static st_status cross(const st_tensor *self, const st_tensor *other,
                       int64_t dim, st_value *rets) {
  st_tensor *a[3], *b[3], *parts[3];
  st_op_scope c = {.n = 0};
  int at = 0;
  ST_TRY(check_cross(self, other, dim, &at));
  components(&c, self, at, a);
  components(&c, other, at, b);
  for (int i = 0; i < 3; i++) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    parts[i] = st__minus(&c, st__mul(&c, a[j], b[k]), st__mul(&c, a[k], b[j]));
  }
  if (!st__scope_ok(&c)) return st__scope_end(&c, 0, NULL, rets);
  return st__scope_return(
    &c, ST_APPLY(&c, ST_OP_stack, st__of_tensors(parts, 3), at), rets);
}

ST_TYPED_ARGS(st__box_linalg_cross, cross, (TENSOR, TENSOR, INT))

/* Without dim, the first dimension of size 3. */
ST_BOXED(st__box_cross) {
  ST_ARGS(TENSOR(self), TENSOR(other), BOXED(dim));
  if (!st__is_none(dim)) return cross(self, other, dim->u.i, rets);
  int first = 0;
  while (first < self->ndim && self->sizes[first] != 3) first++;
  if (first < self->ndim) return cross(self, other, first, rets);
  return st__fail(ST_BAD_SHAPE, "self of shape %s has no dimension of size 3",
                  ST_SHAPE_TEXT(self));
}

/* -- renorm --------------------------------------------------------------- */

static st_status check_renorm(const st_tensor *self, st_scalar p,
                              st_scalar max) {
  const st_dtype d = self->dtype;
  if (!st__is_floating(d) && !st__is_complex(d)) return st__no_kernel_for(d);
  if (p.kind == ST_SCALAR_COMPLEX || !(st__scalar_to_double(p) > 0)) {
    return st__fail(ST_BAD_VALUE, "p must be a positive real number");
  }
  if (max.kind == ST_SCALAR_COMPLEX || !(st__scalar_to_double(max) >= 0)) {
    return st__fail(ST_BAD_VALUE, "maxnorm must be a real number, at least 0");
  }
  if (self->ndim >= 2) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "self must have at least 2 dimensions, its "
                  "shape is %s", ST_SHAPE_TEXT(self));
}

/* The p-norm of each slice of self along dim; in float32 for float16 and
 * bfloat16. */
static st_tensor *slice_norms(st_op_scope *c, const st_tensor *self,
                              st_value p, int dim) {
  const bool is_half = st__is_reduced_float(self->dtype);
  int64_t dims[ST_MAX_DIMS];
  int n = 0;
  for (int d = 0; d < self->ndim; d++) if (d != dim) dims[n++] = d;
  return ST_APPLY(c, ST_OP_linalg_vector_norm, self, p, st__of_ints(dims, n),
                  st__of_bool(true),
                  is_half ? st__of_int(ST_FLOAT32) : st__none());
}

static st_status renorm(const st_tensor *self, const st_value *p, int64_t dim,
                        const st_value *maxnorm, st_value *rets) {
  st_op_scope c = {.n = 0};
  int at = 0;
  ST_TRY(check_renorm(self, st__scalar_of(p), st__scalar_of(maxnorm)));
  ST_TRY(st__wrap_dim(dim, self->ndim, &at));
  const st_tensor *norm = slice_norms(&c, self, *p, at);
  const st_tensor *larger = ST_APPLY(&c, ST_OP_gt_Scalar, norm, *maxnorm);
  const st_tensor *factor =
    ST_APPLY(&c, ST_OP_mul_Scalar,
             st__apply1(&c, ST_OP_reciprocal,
                        ST_APPLY(&c, ST_OP_add_Scalar, norm, 1e-7)),
             *maxnorm);
  factor = ST_APPLY(&c, ST_OP_where_ScalarOther, larger, factor, 1);
  const st_tensor *cut =
    st__apply_to(&c, st__mul(&c, self, factor), self->dtype);
  return st__scope_return(&c, st__apply_fresh(&c, cut), rets);
}
ST_TYPED_ARGS(st__box_renorm, renorm, (TENSOR, VALUE, INT, VALUE))

/* -- norm_except_dim ------------------------------------------------------ */

/* As in ATen, dim -1 is no dimension: the norm is that of all elements. */
ST_BOXED(st__box_norm_except_dim) {
  ST_ARGS(TENSOR(v), VALUE(p), INT(dim));
  st_op_scope c = {.n = 0};
  int at = 0;
  if (dim == -1) return st__invoke(ST_OP_norm_Scalar, ST_VALUES(v, p), rets);
  ST_TRY(st__wrap_dim(dim, v->ndim, &at));
  if (v->ndim == 0) {
    return st__fail(ST_BAD_SHAPE, "v must have a dimension");
  }
  const st_tensor *rows = v->ndim > 1 ? v : ST_APPLY(&c, ST_OP_unsqueeze, v, 1);
  st_tensor *norms = st__scope_ok(&c) ? slice_norms(&c, rows, p, at) : NULL;
  if (v->ndim == 1) norms = ST_APPLY(&c, ST_OP_squeeze_dim, norms, 1);
  if (st__is_reduced_float(v->dtype)) norms = st__apply_to(&c, norms, v->dtype);
  return st__scope_return(&c, norms, rets);
}
