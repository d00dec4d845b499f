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
    weight = st__apply_with(c, ST_OP_reshape, weight, st__of_ints(matrix, 2));
  }
  const st_value all[] = {
    st__of_tensor(l->input), st__of_tensor(weight),
    st__of_tensor(l->bias ? st__apply_flatten(c, l->bias) : NULL)};
  st_tensor *logits = st__apply(c, ST_OP_linear, 3, all);
  if (l->input->ndim == 2) sizes[n++] = l->input->sizes[0];
  for (int d = 0; d < ndim - 1; d++) sizes[n++] = l->weight->sizes[d];
  return ndim == 2 ? logits : st__apply_with(c, ST_OP_reshape, logits,
                                             st__of_ints(sizes, n));
}

ST_BOXED(st__box_linear_cross_entropy) {
  linear_loss l = {.input = st__next_tensor(&args)};
  l.weight = st__next_tensor(&args);
  l.target = st__next_tensor(&args);
  l.bias = st__next_tensor(&args);
  const st_value *weight = st__next(&args), *reduction = st__next(&args);
  const st_value *ignored = st__next(&args), *smoothing = st__next(&args);
  st_op_scope c = {.status = check(&l)};
  if (!st__scope_ok(&c)) return c.status;
  const st_tensor *logits = logits_of(&c, &l);
  if (st__scope_ok(&c) && !st__is_none(ignored) &&
      st__same_sizes(logits, l.target)) {
    c.status = st__fail(ST_BAD_VALUE, "ignore_index is for targets that are "
                        "classes, not probabilities");
  }
  const st_value loss[] = {
    st__of_tensor(logits), st__of_tensor(l.target), *weight, *reduction,
    st__of_int(st__to_int(ignored, -100)), *smoothing, *st__next(&args)};
  return st__scope_return(&c, st__apply(&c, ST_OP_cross_entropy_loss, 7, loss),
                          rets);
}
