/* Forms of dropout, composed of operators.
 *
 * Source of alpha_dropout: G. Klambauer and others, "Self-Normalizing Neural
 * Networks", NIPS 2017.
 */

#include <math.h>

#include "op/row/composite.h"

/* Forms of dropout. */
enum { CHANNELS = 1, ALPHA = 2, IN_PLACE = 4 };

static st_status check_probability(double p) {
  if (p >= 0 && p <= 1) return ST_OK;
  return st__fail(ST_BAD_VALUE, "p must be in the range from 0 to 1, it is "
                  "%g", p);
}

static st_value sizes_of(const st_tensor *t) {
  return st__of_ints(t->sizes, t->ndim);
}

/* A tensor of 1 with probability p, else 0, that broadcasts with input: one
 * number for each of its channels, or for each element. */
static st_tensor *keep(st_op_scope *c, const st_tensor *input, double p,
                       int form) {
  int64_t sizes[ST_MAX_DIMS];
  const int last = form & CHANNELS ? 2 : input->ndim;
  if (st__scope_ok(c) && input->ndim < last) {
    c->status = st__fail(ST_BAD_SHAPE, "input needs two dimensions, its shape "
                         "is %s", ST_SHAPE_TEXT(input));
  }
  for (int d = 0; d < input->ndim; d++) {
    sizes[d] = d < last ? input->sizes[d] : 1;
  }
  /* The numbers are drawn in the order of memory, which is the input's, as in
   * PyTorch, but not for channels. */
  const st_tensor *t =
    form & CHANNELS
      ? ST_APPLY(c, ST_OP_new_empty, input, st__of_ints(sizes, input->ndim))
      : st__apply1(c, ST_OP_empty_like, input);
  return ST_APPLY(c, ST_OP_bernoulli__float, t, p);
}

/* a = op(a, b), or a new tensor. */
static st_tensor *combine(st_op_scope *c, st_op_id id, st_tensor *a,
                          const st_tensor *b, int form) {
  if (!(form & IN_PLACE)) return st__apply2(c, id, a, b);
  ST_APPLY_INTO(c, id, a, b);
  return a;
}

/* kept a + b: dropped elements become -alpha scale, the limit of selu at minus
 * infinity, before a and b restore a mean of 0 and a variance of 1. */
static st_tensor *alpha_drop(st_op_scope *c, st_tensor *input,
                             const st_tensor *kept, double p, int form) {
  const double alpha = 1.7580993408473766;
  const double a = 1 / sqrt((alpha * alpha * p + 1) * (1 - p));
  const st_tensor *b = st__shifted(c, kept, -1);
  b = st__shifted(c, st__scaled(c, b, alpha * a), alpha * a * p);
  kept = st__scaled(c, kept, a);
  st_tensor *t = st__mul(c, input, kept);
  t = st__plus(c, t, b);
  if (!(form & IN_PLACE)) return t;
  st__apply2(c, ST_OP_copy_, input, t);
  return input;
}

static st_tensor *drop(st_op_scope *c, st_tensor *input, double p, bool train,
                       int form) {
  if (st__scope_ok(c)) c->status = check_probability(p);
  if (!st__scope_ok(c) || !train || p == 0 || input->numel == 0) return input;
  if (p == 1) {
    const st_tensor *zero =
      ST_APPLY(c, ST_OP_new_zeros, input, st__of_ints(NULL, 0));
    return combine(c, ST_OP_mul_Tensor, input, zero, form);
  }
  const st_tensor *kept = keep(c, input, 1 - p, form);
  if (form & ALPHA) return alpha_drop(c, input, kept, p, form);
  ST_APPLY_INTO(c, ST_OP_div_Scalar, kept, 1 - p);
  return combine(c, ST_OP_mul_Tensor, input, kept, form);
}

static st_status boxed(const st_value *args, int form, st_value *rets) {
  ST_ARGS(MUTABLE(input), FLOAT(p), BOOL(train));
  st_op_scope c = {.status = ST_OK};
  return st__scope_return(&c, drop(&c, input, p, train, form), rets);
}

ST_BOXED(st__box_dropout) { return boxed(args, 0, rets); }
ST_BOXED(st__box_dropout_) { return boxed(args, IN_PLACE, rets); }
ST_BOXED(st__box_feature_dropout) { return boxed(args, CHANNELS, rets); }
ST_BOXED_AS(st__box_feature_dropout_, boxed, args, CHANNELS | IN_PLACE)
ST_BOXED(st__box_alpha_dropout) { return boxed(args, ALPHA, rets); }
ST_BOXED_AS(st__box_alpha_dropout_, boxed, args, ALPHA | IN_PLACE)
ST_BOXED_AS(st__box_feature_alpha_dropout, boxed, args, CHANNELS | ALPHA)
ST_BOXED_AS(st__box_feature_alpha_dropout_, boxed, args,
            CHANNELS | ALPHA | IN_PLACE)

/* dropout of the channels of (N, C, ...), or of (C, ...) if the input has
 * `unbatched` dimensions. */
static st_status channels(const st_value *args, int unbatched,
                          st_value *rets) {
  ST_ARGS(TENSOR(input), FLOAT(p), BOOL(train));
  st_op_scope c = {.status = ST_OK};
  const bool batched = input->ndim != unbatched;
  st_tensor *t = batched ? st__apply1(&c, ST_OP_alias, input)
                         : ST_APPLY(&c, ST_OP_unsqueeze, input, 0);
  if (st__scope_ok(&c)) t = drop(&c, t, p, train, CHANNELS);
  if (!batched) t = ST_APPLY(&c, ST_OP_squeeze_dim, t, 0);
  return st__scope_return(&c, t, rets);
}

ST_BOXED(st__box_dropout1d) {
  const st_tensor *input = st__to_tensor(args);
  if (input->ndim != 2 && input->ndim != 3) {
    return st__fail(ST_BAD_SHAPE, "input must have shape (N, C, L) or (C, L), "
                    "it has shape %s", ST_SHAPE_TEXT(input));
  }
  return channels(args, 2, rets);
}

/* (N, C, L) counts as that. */
ST_BOXED(st__box_dropout2d) { return boxed(args, CHANNELS, rets); }

ST_BOXED(st__box_dropout3d) { return channels(args, 4, rets); }

ST_BOXED(st__box_native_dropout) {
  ST_ARGS(TENSOR(input));
  double p = st__next_float(&args);
  ST_ARGS(BOOL_OR(train, true));
  st_op_scope c = {.status = check_probability(p)};
  if (!train) p = 0;
  st_tensor *mask =
    ST_APPLY(&c, ST_OP_new_empty, input, sizes_of(input), ST_BOOL);
  mask = ST_APPLY(&c, ST_OP_bernoulli__float, mask, st__of_float(1 - p));
  st_tensor *out = st__mul(&c, input, mask);
  out =
    ST_APPLY(&c, ST_OP_mul_Scalar, out, st__of_float(p == 1 ? 0 : 1 / (1 - p)));
  return st__scope_end(&c, 2, (st_tensor *[]){out, mask}, rets);
}
