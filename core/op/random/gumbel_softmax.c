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
  const st_value new[] = {st__of_tensor(t), st__of_ints(t->sizes, t->ndim)};
  const st_tensor *e = st__apply(c, ST_OP_new_empty, 2, new);
  const st_value draw[] = {st__of_tensor(e), st__of_float(1), generator};
  e = st__apply(c, ST_OP_exponential_, 3, draw);
  return st__apply1(c, ST_OP_neg, st__apply1(c, ST_OP_log, e));
}

/* 1 at the greatest element along dim, else 0. */
static const st_tensor *one_hot(st_op_scope *c, const st_tensor *soft,
                                st_value dim) {
  const st_value greatest[] = {st__of_tensor(soft), dim, st__of_bool(true)};
  const st_tensor *at = st__apply(c, ST_OP_argmax, 3, greatest);
  const st_tensor *zeros = st__apply1(c, ST_OP_zeros_like, soft);
  const st_value put[] = {st__of_tensor(zeros), dim, st__of_tensor(at),
                          st__of_int(1)};
  return st__apply(c, ST_OP_scatter_value, 4, put);
}

ST_BOXED(st__box_gumbel_softmax) {
  const st_tensor *logits = st__next_tensor(&args);
  const double tau = st__next_float(&args);
  const bool hard = st__next_bool(&args);
  st__next(&args); /* eps, which PyTorch ignores */
  const st_value dim = *st__next(&args);
  st_op_scope c = {.status = ST_OK};
  if (!st__is_floating(logits->dtype)) return st__no_kernel_for(logits->dtype);
  const st_tensor *noisy = st__plus(&c, logits,
                                    gumbels(&c, logits, *st__next(&args)));
  noisy = st__apply_with(&c, ST_OP_div_Scalar, noisy, st__of_float(tau));
  st_tensor *soft = st__apply_with(&c, ST_OP_softmax_int, noisy, dim);
  if (!hard) return st__scope_return(&c, soft, rets);
  const st_tensor *constant = st__apply1(&c, ST_OP_detach, soft);
  const st_tensor *straight = st__minus(&c, one_hot(&c, constant, dim),
                                        constant);
  return st__scope_return(&c, st__plus(&c, straight, soft), rets);
}
