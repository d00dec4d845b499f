/* dropout, feature_dropout and native_dropout, composed of operators.
 */

#include "op/registry/composite.h"

static st_status check_probability(double p) {
  if (p >= 0 && p <= 1) return ST_OK;
  return st__fail(ST_BAD_VALUE, "p must be in the range from 0 to 1, it is "
                  "%g", p);
}

/* True if any element can be dropped. */
static bool drops(const st_tensor *input, double p, bool train) {
  return train && p > 0 && input->numel > 0;
}

/* A tensor of these sizes with 0 at probability p, else 1 / (1 - p). */
static st_tensor *noise(st_op_scope *c, const st_tensor *like, st_value sizes,
                        double p) {
  st_value same;
  st_tensor *t = st__apply_with(c, ST_OP_new_empty, like, sizes);
  const st_value keep[] = {st__of_tensor(t), st__of_float(1 - p)};
  t = st__apply(c, ST_OP_bernoulli__float, 2, keep);
  if (!st__scope_ok(c) || p == 1) return t;
  const st_value scale[] = {st__of_tensor(t), st__of_float(1 - p)};
  c->status = st__call(st__op_variant(ST_OP_div_Scalar, ST_INPLACE), scale,
                       &same);
  if (st__scope_ok(c)) st__value_clear(&same);
  return t;
}

static st_value sizes_of(const st_tensor *t) {
  return st__of_ints(t->sizes, t->ndim);
}

ST_BOXED(st__box_dropout) {
  st_tensor *input = st__next_tensor(&args);
  const double p = st__next_float(&args);
  const bool train = st__next_bool(&args);
  st_op_scope c = {.status = check_probability(p)};
  if (!st__scope_ok(&c) || !drops(input, p, train)) {
    return st__scope_return(&c, input, rets);
  }
  const st_tensor *kept = noise(&c, input, sizes_of(input), p);
  return st__scope_return(&c, st__apply2(&c, ST_OP_mul_Tensor, input, kept),
                          rets);
}

ST_BOXED(st__box_dropout_) {
  st_tensor *self = st__next_tensor(&args);
  const double p = st__next_float(&args);
  const bool train = st__next_bool(&args);
  st_op_scope c = {.status = check_probability(p)};
  if (st__scope_ok(&c) && drops(self, p, train)) {
    st__apply_into(&c, ST_OP_mul_Tensor, self,
                   noise(&c, self, sizes_of(self), p));
  }
  return st__scope_return(&c, self, rets);
}

/* Drops whole channels: their elements share one random number. */
ST_BOXED(st__box_feature_dropout) {
  st_tensor *input = st__next_tensor(&args);
  const double p = st__next_float(&args);
  const bool train = st__next_bool(&args);
  int64_t sizes[ST_MAX_DIMS];
  st_op_scope c = {.status = check_probability(p)};
  if (st__scope_ok(&c) && input->ndim < 2) {
    c.status = st__fail(ST_BAD_SHAPE, "input needs two dimensions, its shape "
                        "is %s", ST_SHAPE_TEXT(input));
  }
  if (!st__scope_ok(&c) || !drops(input, p, train)) {
    return st__scope_return(&c, input, rets);
  }
  for (int d = 0; d < input->ndim; d++) {
    sizes[d] = d < 2 ? input->sizes[d] : 1;
  }
  const st_tensor *kept = noise(&c, input, st__of_ints(sizes, input->ndim), p);
  return st__scope_return(&c, st__apply2(&c, ST_OP_mul_Tensor, input, kept),
                          rets);
}

ST_BOXED(st__box_native_dropout) {
  const st_tensor *input = st__next_tensor(&args);
  double p = st__next_float(&args);
  const bool train = st__next_bool_or(&args, true);
  st_op_scope c = {.status = check_probability(p)};
  if (!train) p = 0;
  const st_value bools[] = {st__of_tensor(input), sizes_of(input),
                            st__of_int(ST_BOOL)};
  st_tensor *mask = st__apply(&c, ST_OP_new_empty, 3, bools);
  mask = st__apply(&c, ST_OP_bernoulli__float, 2,
                   (st_value[]){st__of_tensor(mask), st__of_float(1 - p)});
  st_tensor *out = st__apply2(&c, ST_OP_mul_Tensor, input, mask);
  out = st__apply_with(&c, ST_OP_mul_Scalar, out,
                       st__of_float(p == 1 ? 0 : 1 / (1 - p)));
  return st__scope_end(&c, 2, (st_tensor *[]){out, mask}, rets);
}
