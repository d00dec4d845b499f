/* gumbel_softmax: samples of a categorical distribution that have a gradient.
 *
 * Sources: E. Jang and others, "Categorical Reparameterization with
 * Gumbel-Softmax", ICLR 2017; C. J. Maddison and others, "The Concrete
 * Distribution", ICLR 2017.
 */

#include "op/row/composite.h"

/* A tensor like t of -log(E), where E is exponential. */
static const st_tensor *gumbels(st_op_scope *c, const st_tensor *t,
                                st_value generator) {
  const st_tensor *e =
    ST_APPLY(c, ST_OP_new_empty, t, st__of_ints(t->sizes, t->ndim));
  e = ST_APPLY(c, ST_OP_exponential_, e, st__of_float(1), generator);
  return st__apply1(c, ST_OP_neg, st__apply1(c, ST_OP_log, e));
}

/* 1 at the greatest element along dim, else 0. */
static const st_tensor *one_hot(st_op_scope *c, const st_tensor *soft,
                                st_value dim) {
  const st_tensor *at = ST_APPLY(c, ST_OP_argmax, soft, dim, st__of_bool(true));
  const st_tensor *zeros = st__apply1(c, ST_OP_zeros_like, soft);
  return ST_APPLY(c, ST_OP_scatter_value, zeros, dim, at, 1);
}

ST_BOXED(st__box_gumbel_softmax) {
  ST_ARGS(TENSOR(logits), FLOAT(tau), BOOL(hard));
  st__next(&args); /* eps, which PyTorch ignores */
  ST_ARGS(VALUE(dim));
  st_op_scope c = {.status = ST_OK};
  if (!st__is_floating(logits->dtype)) return st__no_kernel_for(logits->dtype);
  const st_tensor *noisy = st__plus(&c, logits,
                                    gumbels(&c, logits, *st__next(&args)));
  noisy = ST_APPLY(&c, ST_OP_div_Scalar, noisy, st__of_float(tau));
  st_tensor *soft = ST_APPLY(&c, ST_OP_softmax_int, noisy, dim);
  if (!hard) return st__scope_return(&c, soft, rets);
  const st_tensor *constant = st__apply1(&c, ST_OP_detach, soft);
  const st_tensor *straight = st__minus(&c, one_hot(&c, constant, dim),
                                        constant);
  return st__scope_return(&c, st__plus(&c, straight, soft), rets);
}
