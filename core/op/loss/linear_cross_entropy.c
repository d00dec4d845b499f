/* linear_cross_entropy: a linear layer and cross_entropy_loss.
 */

#include "op/loss/loss.h"

/* weight: (classes, ..., features). */
typedef struct linear_loss {
  const st_tensor *input, *weight, *target, *bias;
} linear_loss;

static bool is_bias(const linear_loss *l) {
  const st_tensor *b = l->bias;
  if (!b) return true;
  bool same = b->ndim == l->weight->ndim - 1;
  for (int d = 0; same && d < b->ndim; d++) {
    same = b->sizes[d] == l->weight->sizes[d];
  }
  return same;
}

static st_status check(const linear_loss *l) {
  const int last = l->weight->ndim - 1, in = l->input->ndim;
  if (in < 1 || in > 2 || last < 1 || (last > 1 && in == 1) ||
      l->input->sizes[in - 1] != l->weight->sizes[last]) {
    return st__fail(ST_BAD_SHAPE, "input must have shape (N, features) or "
                    "(features), and linear_weight (classes, features), or "
                    "(classes, ..., features) with N, they have shapes %s and "
                    "%s", ST_SHAPE_TEXT(l->input), ST_SHAPE_TEXT(l->weight));
  }
  if (is_bias(l)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "linear_bias must have the shape of "
                  "linear_weight without features, they have shapes %s and %s",
                  ST_SHAPE_TEXT(l->bias), ST_SHAPE_TEXT(l->weight));
}

static st_tensor *logits_of(st_op_scope *c, const linear_loss *l) {
  const int ndim = l->weight->ndim;
  const int64_t matrix[] = {-1, l->weight->sizes[ndim - 1]};
  int64_t sizes[ST_MAX_DIMS + 1];
  const st_tensor *weight = l->weight;
  int n = 0;
  if (ndim > 2) {
    weight = ST_APPLY(c, ST_OP_reshape, weight, st__of_ints(matrix, 2));
  }
  st_tensor *logits = ST_APPLY(c, ST_OP_linear, l->input, weight,
                               l->bias ? st__apply_flatten(c, l->bias) : NULL);
  if (l->input->ndim == 2) sizes[n++] = l->input->sizes[0];
  for (int d = 0; d < ndim - 1; d++) sizes[n++] = l->weight->sizes[d];
  return ndim == 2 ? logits
                   : ST_APPLY(c, ST_OP_reshape, logits, st__of_ints(sizes, n));
}

ST_BOXED(st__box_linear_cross_entropy) {
  linear_loss l = {0};
  ST_ARGS_TO(l, TENSOR(input), TENSOR(weight), TENSOR(target), TENSOR(bias));
  ST_ARGS(BOXED(weight), BOXED(reduction), BOXED(ignored), BOXED(smoothing));
  st_op_scope c = {.status = check(&l)};
  if (!st__scope_ok(&c)) return c.status;
  const st_tensor *logits = logits_of(&c, &l);
  if (st__scope_ok(&c) && !st__is_none(ignored) &&
      st__same_sizes(logits, l.target)) {
    c.status = st__fail(ST_BAD_VALUE, "ignore_index is for targets that are "
                        "classes, not probabilities");
  }
  return st__scope_return(&c,
                          ST_APPLY(&c, ST_OP_cross_entropy_loss, logits,
                                   l.target, *weight, *reduction,
                                   st__to_int(ignored, -100), *smoothing,
                                   *st__next(&args)),
                          rets);
}
