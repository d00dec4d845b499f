/* Losses between tensors of equal shape, and margin losses, composed of
 * operators.
 */

#include "op/loss/loss.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>

#include "op/elementwise/pointwise.h"
#include "op/elementwise/result_layout.h"
#include "tensor/memory_format.h"

/* -- Reduction ------------------------------------------------------------ */

st_op_scope st__loss_begin(int64_t reduction) {
  st_op_scope c = {.n = 0};
  if (reduction < ST_REDUCE_NONE || reduction > ST_REDUCE_SUM) {
    c.status = st__fail(ST_BAD_VALUE, "argument 'reduction' must be 0 (none), "
                        "1 (mean) or 2 (sum), got %" PRId64, reduction);
  }
  return c;
}

st_status st__loss_end(st_op_scope *c, st_tensor *loss, int64_t reduction,
                       st_value *rets) {
  switch (reduction) {
    case ST_REDUCE_MEAN: loss = st__apply1(c, ST_OP_mean, loss); break;
    case ST_REDUCE_SUM: loss = st__apply1(c, ST_OP_sum, loss); break;
    default: break;
  }
  return st__scope_return(c, loss, rets);
}

/* loss in the layout that ATen gives losses it computes in place: that of self.
 */
static st_tensor *laid_out_as(st_op_scope *c, st_tensor *loss,
                              const st_tensor *self) {
  int64_t strides[ST_MAX_DIMS];
  if (!st__scope_ok(c) || !st__same_sizes(loss, self)) return loss;
  st__preserved_strides(self, strides);
  if (st__same_dims(loss->ndim, loss->strides, strides)) return loss;
  return st__apply2(c, ST_OP_copy_,
                    ST_APPLY(c, ST_OP_new_empty_strided, loss,
                             st__of_ints(loss->sizes, loss->ndim),
                             st__of_ints(strides, loss->ndim)),
                    loss);
}

/* -- Calls of operators --------------------------------------------------- */

static st_tensor *at_least_0(st_op_scope *c, const st_tensor *a) {
  return ST_APPLY(c, ST_OP_clamp_min, a, 0);
}

/* x - a, elementwise */
static st_tensor *from(st_op_scope *c, double x, const st_tensor *a) {
  return ST_APPLY(c, ST_OP_rsub_Scalar, a, x);
}

/* a where mask is true, else 0 */
static st_tensor *only(st_op_scope *c, const st_tensor *mask,
                       const st_tensor *a) {
  return ST_APPLY(c, ST_OP_where_ScalarOther, mask, a, 0);
}

/* -- Distances ------------------------------------------------------------ */

static uint64_t add_sizes(uint64_t hash, const st_tensor *t) {
  for (int d = 0; d < t->ndim; d++) {
    hash = (hash ^ (uint64_t)t->sizes[d]) * 0x100000001b3;
  }
  return (hash ^ 0xff) * 0x100000001b3;
}

/* True the first time that a loss gets tensors of these shapes; a training loop
 * would repeat the warning in each step. Shapes that share a slot displace each
 * other. */
static bool is_first(const char *name, const st_tensor *a,
                     const st_tensor *b) {
  static _Atomic uint64_t seen[64];
  uint64_t hash = 0xcbf29ce484222325;
  for (; *name; name++) hash = (hash ^ (uint64_t)*name) * 0x100000001b3;
  hash = add_sizes(add_sizes(hash, a), b);
  return atomic_exchange(&seen[hash >> 58], hash) != hash;
}

/* Warns, as PyTorch does, of a loss between tensors of different shapes. */
static void warn_of_broadcast(const st_op_scope *c, const char *name,
                              const st_tensor *self,
                              const st_tensor *target) {
  if (!st__scope_ok(c) || st__same_sizes(self, target)) return;
  if (!st__is_muted() && !is_first(name, self, target)) return;
  st__warn("%s: self has shape %s and target has shape %s; they broadcast, "
           "which is rarely meant: give both the same shape", name,
           ST_SHAPE_TEXT(self), ST_SHAPE_TEXT(target));
}

/* A mask beside numbers counts as 0 and 1, as in ATen. */
ST_BOXED(st__box_mse_loss) {
  ST_ARGS(TENSOR(self), TENSOR(target), INT(reduction));
  st_op_scope c = st__loss_begin(reduction);
  if (target->dtype == ST_BOOL) target = st__apply_to(&c, target, self->dtype);
  else if (self->dtype == ST_BOOL) self = st__apply_to(&c, self, target->dtype);
  const st_tensor *d = st__minus(&c, self, target);
  warn_of_broadcast(&c, "mse_loss", self, target);
  return st__loss_end(&c, st__apply1(&c, ST_OP_square, d), reduction, rets);
}

static st_status l1_loss(const char *name, const st_tensor *self,
                         const st_tensor *target, int64_t reduction,
                         st_value *rets) {
  st_op_scope c = st__loss_begin(reduction);
  const st_tensor *d = st__minus(&c, self, target);
  warn_of_broadcast(&c, name, self, target);
  return st__loss_end(&c, st__apply1(&c, ST_OP_abs, d), reduction, rets);
}

ST_BOXED(st__box_l1_loss) {
  ST_ARGS(TENSOR(self), TENSOR(target));
  return l1_loss("l1_loss", self, target, st__next_int(&args), rets);
}

/* Integers give floating point results. */
st_status st__distance_meta(st_run *r) {
  st_inputs in;
  ST_TRY(st__get_inputs(r, &in));
  return st__build_pointwise(r, ST_ITER_BINARY_FLOAT, &in, ST_DTYPE_NONE);
}

/* op is _huber or _smooth_l1, which have one pass and a derivative. */
static st_tensor *distance(st_op_scope *c, st_op_id op, const st_tensor *self,
                           const st_tensor *target, double bound) {
  return ST_APPLY(c, op, self, target, bound);
}

ST_BOXED(st__box_huber_loss) {
  ST_ARGS(TENSOR(self), TENSOR(target), INT(reduction), FLOAT(delta));
  st_op_scope c = st__loss_begin(reduction);
  if (st__scope_ok(&c) && !(delta > 0)) {
    c.status = st__fail(ST_BAD_VALUE, "delta must be positive, it is %g",
                        delta);
  }
  st_tensor *loss = distance(&c, ST_OP__huber, self, target, delta);
  if (reduction == ST_REDUCE_NONE) loss = laid_out_as(&c, loss, self);
  warn_of_broadcast(&c, "huber_loss", self, target);
  return st__loss_end(&c, loss, reduction, rets);
}

ST_BOXED(st__box_smooth_l1_loss) {
  ST_ARGS(TENSOR(self), TENSOR(target), INT(reduction), FLOAT(beta));
  if (beta == 0) {
    return l1_loss("smooth_l1_loss", self, target, reduction, rets);
  }
  st_op_scope c = st__loss_begin(reduction);
  if (st__scope_ok(&c) && !(beta > 0)) {
    c.status = st__fail(ST_BAD_VALUE, "beta must not be negative, it is %g",
                        beta);
  }
  st_tensor *loss = distance(&c, ST_OP__smooth_l1, self, target, beta);
  warn_of_broadcast(&c, "smooth_l1_loss", self, target);
  return st__loss_end(&c, loss, reduction, rets);
}

/* -- Distributions -------------------------------------------------------- */

static const double pi = 3.14159265358979323846;

static st_status kl_div(const st_tensor *self, const st_tensor *target,
                        int64_t reduction, bool log_target, st_value *rets) {
  st_op_scope c = st__loss_begin(reduction);
  st_tensor *loss;
  if (log_target) {
    loss = st__mul(&c, st__apply1(&c, ST_OP_exp, target),
                   st__minus(&c, target, self));
  } else {
    /* in this order: compilers order arguments differently, and target's
     * gradients, three, are added up in the reverse order */
    const st_tensor *product = st__mul(&c, target, self);
    loss = st__minus(&c, st__apply2(&c, ST_OP_xlogy_Tensor, target, target),
                     product);
  }
  return st__loss_end(&c, loss, reduction, rets);
}
ST_TYPED_ARGS(st__box_kl_div, kl_div, (TENSOR, TENSOR, INT, BOOL))

/* log(n!) by Stirling's formula for n > 1, else 0. */
static st_tensor *log_factorial(st_op_scope *c, const st_tensor *n) {
  const st_tensor *log_n = st__apply1(c, ST_OP_log, n);
  const st_tensor *sum =
    st__plus(c, st__minus(c, st__mul(c, n, log_n), n),
             st__shifted(c, st__scaled(c, log_n, 0.5), 0.5 * log(2 * pi)));
  return only(c, ST_APPLY(c, ST_OP_gt_Scalar, n, 1), sum);
}

ST_BOXED(st__box_poisson_nll_loss) {
  ST_ARGS(TENSOR(input), TENSOR(target), BOOL(log_input), BOOL(full),
          FLOAT(eps), INT(reduction));
  st_op_scope c = st__loss_begin(reduction);
  st_tensor *loss;
  if (log_input) {
    loss = st__minus(&c, st__apply1(&c, ST_OP_exp, input),
                     st__mul(&c, target, input));
  } else {
    const st_tensor *rate = st__apply1(&c, ST_OP_log,
                                       st__shifted(&c, input, eps));
    loss = st__minus(&c, input, st__mul(&c, target, rate));
  }
  if (full) loss = st__plus(&c, loss, log_factorial(&c, target));
  return st__loss_end(&c, loss, reduction, rets);
}

/* var as it broadcasts with self: it may lack the last dimension, or have
 * size 1 there. */
static st_tensor *variances(st_op_scope *c, const st_tensor *self,
                            st_tensor *var) {
  const int n = self->ndim;
  if (!st__scope_ok(c) || st__same_sizes(var, self)) return var;
  if (n > 0 && st__has_sizes(var, n - 1, self->sizes)) {
    return ST_APPLY(c, ST_OP_unsqueeze, var, -1);
  }
  if (n > 0 && var->ndim == n && var->sizes[n - 1] == 1 &&
      st__same_dims(n - 1, var->sizes, self->sizes)) {
    return var;
  }
  c->status = st__fail(ST_BAD_SHAPE, "var has shape %s, which does not match "
                       "input of shape %s", ST_SHAPE_TEXT(var),
                       ST_SHAPE_TEXT(self));
  return NULL;
}

/* BAD_VALUE if an element of var is negative. Meta tensors are not checked. */
static void check_variances(st_op_scope *c, const st_tensor *var) {
  const st_tensor *below = ST_APPLY(c, ST_OP_lt_Scalar, var, 0);
  const st_tensor *any = st__apply1(c, ST_OP_any, below);
  if (st__scope_is_true(c, any)) {
    c->status = st__fail(ST_BAD_VALUE, "var must not be negative");
  }
}

/* The gradient of var is that of the value used, also where that is eps. */
ST_BOXED(st__box_gaussian_nll_loss) {
  ST_ARGS(TENSOR(input), TENSOR(target), MUTABLE(var), BOOL(full), VALUE(eps),
          INT(reduction));
  st_op_scope c = st__loss_begin(reduction);
  var = variances(&c, input, var);
  if (st__scope_ok(&c)) check_variances(&c, var);
  const st_tensor *fixed = st__apply1(&c, ST_OP_detach, var);
  const st_tensor *more =
    st__minus(&c, ST_APPLY(&c, ST_OP_clamp_min, fixed, eps), fixed);
  var = st__plus(&c, var, more);
  const st_tensor *d = st__minus(&c, input, target);
  const st_tensor *share = st__div(&c, st__apply1(&c, ST_OP_square, d), var);
  st_tensor *loss = st__plus(&c, st__apply1(&c, ST_OP_log, var), share);
  loss = st__scaled(&c, loss, 0.5);
  if (full) loss = st__shifted(&c, loss, 0.5 * log(2 * pi));
  return st__loss_end(&c, loss, reduction, rets);
}

/* -- Margins -------------------------------------------------------------- */

ST_BOXED(st__box_soft_margin_loss) {
  ST_ARGS(TENSOR(self), TENSOR(target), INT(reduction));
  st_op_scope c = st__loss_begin(reduction);
  const st_tensor *margin = st__mul(&c, self, target);
  const st_tensor *log = st__apply1(&c, ST_OP_log_sigmoid, margin);
  if (st__is_floating(self->dtype)) log = st__apply_to(&c, log, self->dtype);
  st_tensor *loss = st__apply1(&c, ST_OP_neg, log);
  if (reduction == ST_REDUCE_NONE) {
    loss = st__is_contiguous(self) ? st__apply_fresh(&c, loss)
                                   : laid_out_as(&c, loss, self);
  }
  return st__loss_end(&c, loss, reduction, rets);
}

ST_BOXED(st__box_multilabel_soft_margin_loss) {
  ST_ARGS(VALUE(input), VALUE(target), VALUE(weight));
  const int64_t reduction = st__next_int(&args);
  st_op_scope c = st__loss_begin(reduction);
  const st_tensor *labels =
    ST_APPLY(&c, ST_OP_binary_cross_entropy_with_logits, input, target, weight,
             st__none(), ST_REDUCE_NONE);
  st_tensor *loss = ST_APPLY(&c, ST_OP_mean_dim, labels, ST_INTS(-1));
  return st__loss_end(&c, loss, reduction, rets);
}

/* As in ATen, the loss of integers is one, with the margin truncated. */
ST_BOXED(st__box_hinge_embedding_loss) {
  ST_ARGS(TENSOR(self), TENSOR(target), FLOAT(given), INT(reduction));
  const bool whole = st__is_integral(self->dtype);
  const st_value margin = whole ? st__of_int((int64_t)given)
                                : st__of_float(given);
  st_op_scope c = st__loss_begin(reduction);
  const st_tensor *apart = ST_APPLY(&c, ST_OP_ne_Scalar, target, 1);
  const st_tensor *similar = ST_APPLY(&c, ST_OP_ne_Scalar, target, -1);
  st_tensor *loss = st__plus(
    &c,
    only(&c, apart,
         at_least_0(&c, ST_APPLY(&c, ST_OP_rsub_Scalar, self, margin))),
    only(&c, similar, self));
  return st__loss_end(&c, loss, reduction, rets);
}

ST_BOXED(st__box_margin_ranking_loss) {
  ST_ARGS(TENSOR(input1), TENSOR(input2), TENSOR(target), FLOAT(margin),
          INT(reduction));
  st_op_scope c = st__loss_begin(reduction);
  const st_tensor *lag = st__mul(&c, st__apply1(&c, ST_OP_neg, target),
                                 st__minus(&c, input1, input2));
  st_tensor *loss = at_least_0(&c, st__shifted(&c, lag, margin));
  return st__loss_end(&c, loss, reduction, rets);
}

static st_status check_pairs(const st_tensor *a, const st_tensor *target) {
  if (target->ndim > 1 || a->ndim != target->ndim + 1) {
    return st__fail(ST_BAD_SHAPE, "a target of shape %s needs inputs with one "
                    "more dimension, but they have shape %s",
                    ST_SHAPE_TEXT(target), ST_SHAPE_TEXT(a));
  }
  return ST_OK;
}

/* The cosines of the angles between rows; 1e-12 prevents 0/0. */
static st_tensor *cosines(st_op_scope *c, const st_tensor *a,
                          const st_tensor *b) {
  const st_value dims = ST_INTS(-1);
  const st_tensor *ab =
    ST_APPLY(c, ST_OP_sum_dim_IntList, st__mul(c, a, b), dims);
  const st_tensor *aa =
    ST_APPLY(c, ST_OP_sum_dim_IntList, st__mul(c, a, a), dims);
  const st_tensor *bb =
    ST_APPLY(c, ST_OP_sum_dim_IntList, st__mul(c, b, b), dims);
  const st_tensor *squares =
    st__mul(c, st__shifted(c, aa, 1e-12), st__shifted(c, bb, 1e-12));
  return st__div(c, ab, st__apply1(c, ST_OP_sqrt, squares));
}

ST_BOXED(st__box_cosine_embedding_loss) {
  ST_ARGS(TENSOR(input1), TENSOR(input2), TENSOR(target), FLOAT(margin),
          INT(reduction));
  st_op_scope c = st__loss_begin(reduction);
  if (st__scope_ok(&c)) c.status = check_pairs(input1, target);
  if (st__scope_ok(&c)) c.status = check_pairs(input2, target);
  const st_tensor *cosine = cosines(&c, input1, input2);
  const st_tensor *similar = ST_APPLY(&c, ST_OP_eq_Scalar, target, 1);
  const st_tensor *apart = ST_APPLY(&c, ST_OP_eq_Scalar, target, -1);
  st_tensor *loss =
    st__plus(&c, only(&c, similar, from(&c, 1, cosine)),
             only(&c, apart, at_least_0(&c, st__shifted(&c, cosine, -margin))));
  return st__loss_end(&c, loss, reduction, rets);
}

ST_BOXED(st__box_triplet_margin_loss) {
  ST_ARGS(VALUE(anchor), VALUE(positive), VALUE(negative), FLOAT(margin),
          VALUE(p), VALUE(eps), BOOL(swap), INT(reduction));
  const st_value across[] = {positive, negative, p, eps};
  st_op_scope c = st__loss_begin(reduction);
  const st_tensor *near =
    ST_APPLY(&c, ST_OP_pairwise_distance, anchor, positive, p, eps);
  const st_tensor *far =
    ST_APPLY(&c, ST_OP_pairwise_distance, anchor, negative, p, eps);
  if (swap) {
    far = st__apply2(&c, ST_OP_minimum, far,
                     st__apply(&c, ST_OP_pairwise_distance, 4, across));
  }
  const st_tensor *lead = st__minus(&c, near, far);
  return st__loss_end(&c, at_least_0(&c, st__shifted(&c, lead, margin)),
                      reduction, rets);
}
