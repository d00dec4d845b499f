/* Powers of the elements of vectors: vander, linalg_vander.
 */

#include "op/row/composite.h"

static st_tensor *join(st_op_scope *c, st_tensor *ones, st_tensor *powers) {
  st_tensor *parts[] = {ones, powers};
  if (!st__scope_ok(c)) return NULL;
  return ST_APPLY(c, ST_OP_cat, st__of_tensors(parts, 2), -1);
}

/* The powers 0 to n - 1 along a new last dimension; of integers as int64. */
static st_tensor *powers(st_op_scope *c, const st_tensor *x, int64_t n) {
  int64_t sizes[ST_MAX_DIMS] = {0};
  const int last = x->ndim;
  if (!st__is_floating(x->dtype) && !st__is_complex(x->dtype)) {
    x = st__apply_to(c, x, ST_INT64);
  }
  if (!st__scope_ok(c)) return NULL;
  if (last == ST_MAX_DIMS) {
    c->status = st__fail(ST_BAD_SHAPE, "x has %d dimensions, one too many",
                         last);
    return NULL;
  }
  for (int d = 0; d < last; d++) sizes[d] = x->sizes[d];
  sizes[last] = n - 1;
  const st_tensor *column = ST_APPLY(c, ST_OP_unsqueeze, x, -1);
  const st_tensor *wide =
    ST_APPLY(c, ST_OP_expand, column, st__of_ints(sizes, last + 1));
  st_tensor *rest = ST_APPLY(c, ST_OP_cumprod, wide, -1);
  return join(c, st__apply1(c, ST_OP_ones_like, column), rest);
}

ST_BOXED(st__box_linalg_vander) {
  ST_ARGS(TENSOR(x));
  st_op_scope c = {.status = ST_OK};
  if (x->dtype == ST_BOOL || st__is_reduced_float(x->dtype)) {
    return st__fail(ST_BAD_DTYPE, "x must have a dtype of integers, of single, "
                    "double or complex numbers, not %s",
                    st__dtype_name(x->dtype));
  }
  if (x->ndim == 0) x = ST_APPLY(&c, ST_OP_unsqueeze, x, 0);
  if (!st__scope_ok(&c)) return c.status;
  ST_ARGS(INT_OR(n, x->sizes[x->ndim - 1]));
  if (n < 2) {
    c.status = st__fail(ST_BAD_VALUE, "N must be greater than 1, not %lld",
                        (long long)n);
  }
  return st__scope_return(&c, powers(&c, x, n), rets);
}

ST_BOXED(st__box_vander) {
  ST_ARGS(TENSOR(x));
  const int64_t size = x->ndim == 1 ? x->sizes[0] : 0;
  ST_ARGS(INT_OR(n, size), BOOL(increasing));
  st_op_scope c = {.status = ST_OK};
  if (x->ndim != 1) {
    return st__fail(ST_BAD_SHAPE, "x must have one dimension, its shape is %s",
                    ST_SHAPE_TEXT(x));
  }
  if (n < 0) {
    return st__fail(ST_BAD_VALUE, "N must not be negative, but is %lld",
                    (long long)n);
  }
  st_tensor *t = powers(&c, x, n > 0 ? n : 1);
  t = st__apply_narrow(&c, t, 1, 0, n);
  if (!increasing) {
    t = ST_APPLY(&c, ST_OP_flip, t, ST_INTS(1));
  } else if (n == 0) {
    t = st__apply1(&c, ST_OP_clone, t);
  }
  return st__scope_return(&c, t, rets);
}
