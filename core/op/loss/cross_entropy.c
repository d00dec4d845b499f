/* Losses over classes, composed of operators.
 *
 * Note [ignore_index]
 * Ignored targets contribute no loss and have no gradient. Their class is
 * replaced by the first class for the lookup, and the result is masked. The
 * targets on the CPU are searched beforehand: if none is ignored, no mask is
 * built.
 */

#include <inttypes.h>

#include "op/index/index.h"
#include "op/loss/loss.h"
#include "op/nn/spatial.h"

/* -- Targets -------------------------------------------------------------- */

/* The arguments of a loss, and the classes that they describe. */
typedef struct class_loss {
  const st_tensor *self;    /* (C), (N, C) or (N, C, ...) */
  const st_tensor *target;  /* without dimension C, or probabilities */
  const st_tensor *weight;  /* (C), or NULL */
  int64_t reduction;
  st_value ignore_index, base; /* base: the index of the first class */
  /* what find_classes adds */
  st_value dim;             /* the dimension of the classes */
  const st_tensor *classes; /* int64, size 1 along dim; ignored ones replaced */
  const st_tensor *ignored; /* mask of ignored targets; NULL: none */
} class_loss;

static int class_dim(const st_tensor *self) { return self->ndim > 1; }

static st_status check_weight(const st_tensor *weight, int64_t n) {
  if (!weight || (weight->ndim == 1 && weight->sizes[0] == n)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "weight must be a vector of %" PRId64 " "
                  "classes, its shape is %s", n, ST_SHAPE_TEXT(weight));
}

static st_status check_classes(const class_loss *k) {
  const st_tensor *self = k->self, *target = k->target;
  int64_t sizes[ST_MAX_DIMS];
  int n = 0;
  if (self->ndim == 0) {
    return st__fail(ST_BAD_SHAPE, "self must have a dimension of classes, but "
                    "it is 0-dim");
  }
  const int dim = class_dim(self);
  for (int d = 0; d < self->ndim; d++) {
    if (d != dim) sizes[n++] = self->sizes[d];
  }
  if (!st__has_sizes(target, n, sizes)) {
    return st__fail(ST_BAD_SHAPE, "target has shape %s, which does not match "
                    "self of shape %s with classes along dimension %d",
                    ST_SHAPE_TEXT(target), ST_SHAPE_TEXT(self),
                    (int)st__display_index(dim));
  }
  if (!st__is_integral(target->dtype)) {
    return st__fail(ST_BAD_DTYPE, "target must hold classes of an integer "
                    "dtype, not %s", st__dtype_name(target->dtype));
  }
  return check_weight(k->weight, self->sizes[dim]);
}

/* True if an element of mask is true, or if mask cannot be read. */
static bool any(st_op_scope *c, const st_tensor *mask) {
  if (!st__scope_ok(c) || !st__has_elements(mask)) return true;
  const bool is_one = st__scope_is_true(c, st__apply1(c, ST_OP_any, mask));
  return !st__scope_ok(c) || is_one;
}

static st_tensor *masked(st_op_scope *c, const st_tensor *t,
                         const st_tensor *mask, st_value with) {
  return ST_APPLY(c, ST_OP_masked_fill_Scalar, t, mask, with);
}

/* True if an element of at, which is plain and contiguous, is value. A few
 * targets are searched sooner than one operator is called. */
static bool contains(st_op_scope *c, const st_tensor *at, int64_t value) {
  enum { STEP = 4096 };
  const int64_t *p = (const int64_t *)(const void *)st__data(at);
  for (int64_t i = 0; i < at->numel; i += STEP) {
    const int64_t end = at->numel - i < STEP ? at->numel : i + STEP;
    int64_t found = 0;
    if (i > 0 && !st__scope_goes_on(c)) return false;
    for (int64_t j = i; j < end; j++) found |= p[j] == value;
    if (found) return true;
  }
  return false;
}

static void find_classes(st_op_scope *c, class_loss *k) {
  if (st__scope_ok(c)) c->status = check_classes(k);
  if (!st__scope_ok(c)) return;
  k->dim = st__of_int(class_dim(k->self));
  const st_tensor *at = k->target->dtype == ST_INT64
                      ? k->target : st__apply_to(c, k->target, ST_INT64);
  at = ST_APPLY(c, ST_OP_unsqueeze, at, k->dim);
  k->classes = at;
  if (st__scope_ok(c) && st__is_plain(at) &&
      st__is_contiguous(at) &&
      !contains(c, at, k->ignore_index.u.i)) {
    return;
  }
  const st_tensor *ignored = ST_APPLY(c, ST_OP_eq_Scalar, at, k->ignore_index);
  if (any(c, ignored)) {
    k->ignored = ignored;
    k->classes = masked(c, at, ignored, k->base);
  }
}

/* -- Negative log-likelihood ---------------------------------------------- */

/* The weight of each target, 0 if it is ignored. NULL if all weights are 1. */
static st_tensor *target_weights(st_op_scope *c, const class_loss *k) {
  st_tensor *w = NULL;
  if (k->weight) {
    w = ST_APPLY(c, ST_OP_take, k->weight, k->classes, k->base);
    if (k->ignored) w = masked(c, w, k->ignored, st__of_int(0));
  } else if (k->ignored) {
    w = st__apply1(c, ST_OP_logical_not, k->ignored);
  }
  return w;
}

/* The sum of losses divided by the sum of w, or the mean of losses if w is
 * NULL. */
static st_tensor *weighted_mean(st_op_scope *c, const st_tensor *losses,
                                const st_tensor *w) {
  if (!w) return st__apply1(c, ST_OP_mean, losses);
  return st__div(c, st__apply1(c, ST_OP_sum, losses),
                 st__apply1(c, ST_OP_sum, w));
}

/* Reduces losses, which have size 1 along the classes. */
static st_tensor *reduced(st_op_scope *c, const class_loss *k,
                          const st_tensor *losses, const st_tensor *w) {
  switch (k->reduction) {
    case ST_REDUCE_MEAN: return weighted_mean(c, losses, w);
    case ST_REDUCE_SUM: return st__apply1(c, ST_OP_sum, losses);
    default: return ST_APPLY(c, ST_OP_squeeze_dim, losses, k->dim);
  }
}

static void name_bad_class(st_op_scope *c, const st_tensor *classes, int64_t n,
                           int64_t base) {
  int64_t bad = 0;
  if (c->status != ST_BAD_INDEX || !st__is_cpu(classes) ||
      !st__find_bad_index(classes, n, base, &bad)) {
    return;
  }
  c->status = st__fail(ST_BAD_INDEX, "class %" PRId64 " is out of range for %"
                       PRId64 " classes; classes count from %" PRId64, bad, n,
                       base);
}

/* The loss from the logarithms at the targets. */
static st_tensor *loss_of(st_op_scope *c, const class_loss *k,
                          st_tensor *logs) {
  if (k->classes) {
    name_bad_class(c, k->classes, k->self->sizes[k->dim.u.i], k->base.u.i);
  }
  const st_tensor *w = target_weights(c, k);
  if (k->ignored) logs = masked(c, logs, k->ignored, st__of_int(0));
  if (k->weight) logs = st__mul(c, logs, w);
  return st__apply1(c, ST_OP_neg, reduced(c, k, logs, w));
}

ST_BOXED(st__box_nll_loss) {
  class_loss k = {0};
  ST_ARGS_TO(k, TENSOR(self), TENSOR(target), TENSOR(weight), INT(reduction),
             VALUE(ignore_index), VALUE(base));
  st_op_scope c = st__loss_begin(k.reduction);
  find_classes(&c, &k);
  const st_tensor *self = st__apply_attached(&c, k.self, k.self);
  st_tensor *logs = ST_APPLY(&c, ST_OP_gather, self, k.dim, k.classes,
                             st__of_bool(false), k.base);
  return st__scope_return(&c, loss_of(&c, &k, logs), rets);
}

/* -- Cross entropy -------------------------------------------------------- */

/* Reshapes weight to broadcast along the class dimension of self. */
static st_tensor *weight_along(st_op_scope *c, const st_tensor *weight,
                               const st_tensor *self) {
  int64_t sizes[ST_MAX_DIMS];
  for (int d = 0; d < self->ndim; d++) sizes[d] = 1;
  sizes[class_dim(self)] = -1;
  return ST_APPLY(c, ST_OP_reshape, weight, st__of_ints(sizes, self->ndim));
}

static st_tensor *sum_of_classes(st_op_scope *c, const st_tensor *t, int dim,
                                 bool keepdim) {
  return ST_APPLY(c, ST_OP_sum_dim_IntList, t, ST_INTS(dim),
                  st__of_bool(keepdim));
}

static st_status check_probabilities(const class_loss *k) {
  if (!st__is_floating(k->target->dtype)) {
    return st__fail(ST_BAD_DTYPE, "target has the shape of self, so it must "
                    "hold probabilities of a floating point dtype, not %s",
                    st__dtype_name(k->target->dtype));
  }
  return check_weight(k->weight, k->self->sizes[class_dim(k->self)]);
}

/* The loss for targets that are probabilities of all classes. */
static st_status soft_targets(st_op_scope *c, const class_loss *k,
                              const st_tensor *logs, double smoothing,
                              st_value *rets) {
  const st_tensor *self = k->self, *target = k->target;
  const int dim = class_dim(self);
  if (st__scope_ok(c)) c->status = check_probabilities(k);
  if (!st__scope_ok(c)) return st__scope_end(c, 0, NULL, NULL);
  const int64_t n = self->sizes[dim];
  if (smoothing > 0) {
    target = ST_APPLY(c, ST_OP_add_Scalar, st__scaled(c, target, 1 - smoothing),
                      st__of_float(smoothing / (double)n));
  }
  logs = st__mul(c, logs, target);
  if (k->weight) logs = st__mul(c, logs, weight_along(c, k->weight, self));
  st_tensor *loss = k->reduction == ST_REDUCE_NONE
                  ? sum_of_classes(c, logs, dim, false)
                  : st__apply1(c, ST_OP_sum, logs);
  loss = st__apply1(c, ST_OP_neg, loss);
  if (k->reduction == ST_REDUCE_MEAN) {
    loss = ST_APPLY(c, ST_OP_div_Scalar, loss,
                    st__of_float((double)self->numel / (double)n));
  }
  return st__scope_return(c, loss, rets);
}

/* The loss for uniform class probabilities, which label smoothing mixes in. */
static st_tensor *smooth_loss(st_op_scope *c, class_loss k,
                              const st_tensor *logs) {
  k.self = logs;
  find_classes(c, &k);
  if (!st__scope_ok(c)) return NULL;
  const int dim = class_dim(logs);
  if (k.weight) logs = st__mul(c, logs, weight_along(c, k.weight, k.self));
  const st_tensor *sums = sum_of_classes(c, logs, dim, true);
  if (k.ignored) sums = masked(c, sums, k.ignored, st__of_int(0));
  sums = reduced(c, &k, sums, target_weights(c, &k));
  return ST_APPLY(c, ST_OP_div_Scalar, st__apply1(c, ST_OP_neg, sums),
                  st__of_float((double)k.self->sizes[dim]));
}

static st_status check_smoothing(double smoothing) {
  if (smoothing >= 0 && smoothing <= 1) return ST_OK;
  return st__fail(ST_BAD_VALUE, "label_smoothing must be in the range from 0 "
                  "to 1, it is %g", smoothing);
}

/* True if the loss needs log_softmax at the targets only. Its gradient needs
 * all of it. */
static bool is_hard(const class_loss *k, double smoothing) {
  const st_dtype d = k->self->dtype;
  return smoothing == 0 && (d == ST_FLOAT32 || d == ST_FLOAT64) &&
         !st__is_recorded(k->self->keys) && st__has_image_kernels(k->self);
}

/* The loss in one pass over self, without the matrix of log_softmax. */
static st_tensor *hard_loss(st_op_scope *c, class_loss *k) {
  find_classes(c, k);
  return loss_of(
    c, k,
    ST_APPLY(c, ST_OP__log_softmax_at, k->self, k->classes, k->dim, k->base));
}

ST_BOXED(st__box_cross_entropy_loss) {
  class_loss k = {0};
  ST_ARGS_TO(k, TENSOR(self), TENSOR(target), TENSOR(weight), INT(reduction),
             VALUE(ignore_index));
  ST_ARGS(FLOAT(smoothing));
  k.base = *st__next(&args);
  st_op_scope c = st__loss_begin(k.reduction);
  if (st__scope_ok(&c)) c.status = check_smoothing(smoothing);
  const bool is_soft = k.self->ndim > 0 && st__same_sizes(k.self, k.target);
  if (st__scope_ok(&c) && !is_soft) c.status = check_classes(&k);
  if (!is_soft && is_hard(&k, smoothing)) {
    return st__scope_return(&c, hard_loss(&c, &k), rets);
  }
  const st_tensor *logs =
    ST_APPLY(&c, ST_OP_log_softmax_int, k.self, class_dim(k.self));
  if (is_soft) return soft_targets(&c, &k, logs, smoothing, rets);
  st_tensor *loss = ST_APPLY(&c, ST_OP_nll_loss, logs, k.target, k.weight,
                             k.reduction, k.ignore_index, k.base);
  if (smoothing > 0) {
    loss = st__plus(&c, st__scaled(&c, loss, 1 - smoothing),
                    st__scaled(&c, smooth_loss(&c, k, logs), smoothing));
  }
  return st__scope_return(&c, loss, rets);
}

/* -- Binary cross entropy ------------------------------------------------- */

static st_status check_same_shape(const st_tensor *self,
                                  const st_tensor *target) {
  if (st__same_sizes(self, target)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "target has shape %s, self has %s",
                  ST_SHAPE_TEXT(target), ST_SHAPE_TEXT(self));
}

/* log(t), but at least -100. */
static st_tensor *bounded_log(st_op_scope *c, st_op_id log,
                              const st_tensor *t) {
  return ST_APPLY(c, ST_OP_clamp_min, st__apply1(c, log, t), -100);
}

/* The elementwise part of the loss has a derivative registered, because the
 * derivative of its formula is undefined at 0 and 1, to which float32
 * probabilities often round. */
ST_BOXED(st__box_binary_cross_entropy_each) {
  ST_ARGS(TENSOR(self), TENSOR(target));
  st_op_scope c = {.n = 0};
  const st_tensor *other = ST_APPLY(&c, ST_OP_sub_Scalar, target, 1);
  const st_tensor *is = st__mul(&c, target, bounded_log(&c, ST_OP_log, self));
  const st_tensor *is_not = st__mul(
    &c, other, bounded_log(&c, ST_OP_log1p, st__apply1(&c, ST_OP_neg, self)));
  return st__scope_return(&c, st__minus(&c, is_not, is), rets);
}

/* Checks that self is in [0, 1]. */
static void check_range(st_op_scope *c, const st_tensor *self) {
  if (!st__scope_ok(c) || !st__has_elements(self)) return;
  const st_tensor *inside =
    st__apply2(c, ST_OP_logical_and, ST_APPLY(c, ST_OP_ge_Scalar, self, 0),
               ST_APPLY(c, ST_OP_le_Scalar, self, 1));
  if (any(c, st__apply1(c, ST_OP_logical_not, inside)) && st__scope_ok(c)) {
    c->status = st__fail(ST_BAD_VALUE, "self must hold probabilities, in the "
                         "range from 0 to 1");
  }
}

static st_tensor *weighted(st_op_scope *c, st_tensor *loss,
                           const st_tensor *weight) {
  return weight ? st__mul(c, loss, weight) : loss;
}

ST_BOXED(st__box_binary_cross_entropy) {
  ST_ARGS(TENSOR(self), TENSOR(target), TENSOR(weight), INT(reduction));
  st_op_scope c = st__loss_begin(reduction);
  if (st__scope_ok(&c)) c.status = check_same_shape(self, target);
  check_range(&c, self);
  st_tensor *loss = st__apply2(&c, ST_OP__binary_cross_entropy, self, target);
  return st__loss_end(&c, weighted(&c, loss, weight), reduction, rets);
}

/* (1 - t) x - log sigmoid(x), which does not overflow. With pos_weight w,
 * positive targets count w times: (1 - t) x - (1 + (w - 1) t) log
 * sigmoid(x). */
ST_BOXED(st__box_binary_cross_entropy_with_logits) {
  ST_ARGS(TENSOR(self), TENSOR(target), TENSOR(weight), TENSOR(pos_weight),
          INT(reduction));
  st_op_scope c = st__loss_begin(reduction);
  if (st__scope_ok(&c)) c.status = check_same_shape(self, target);
  const st_value one = st__of_int(1);
  const st_tensor *log = st__apply1(&c, ST_OP_log_sigmoid, self);
  if (pos_weight) {
    const st_tensor *more =
      st__mul(&c, target, ST_APPLY(&c, ST_OP_sub_Scalar, pos_weight, one));
    log = st__mul(&c, log, ST_APPLY(&c, ST_OP_add_Scalar, more, one));
  }
  const st_tensor *other = ST_APPLY(&c, ST_OP_rsub_Scalar, target, one);
  st_tensor *loss = st__minus(&c, st__mul(&c, other, self), log);
  return st__loss_end(&c, weighted(&c, loss, weight), reduction, rets);
}

/* -- Margins between classes ---------------------------------------------- */

/* The arguments of a margin loss, as samples (N, C) and their classes. */
typedef struct margins {
  const st_tensor *self, *target;
  int64_t n, c, base;
} margins;

static st_status check_samples(const st_tensor *self, margins *m) {
  m->self = self;
  m->n = self->ndim > 1 ? self->sizes[0] : 1;
  m->c = self->ndim > 0 ? self->sizes[self->ndim - 1] : 1;
  if (self->ndim <= 2 && m->c > 0) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "self must have at most 2 dimensions and at "
                  "least 1 class, its shape is %s", ST_SHAPE_TEXT(self));
}

static st_status check_target(const margins *m, const st_tensor *target,
                              bool fits) {
  if (!st__is_integral(target->dtype)) {
    return st__fail(ST_BAD_DTYPE, "target must hold classes of an integer "
                    "dtype, not %s", st__dtype_name(target->dtype));
  }
  if (fits) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "target has shape %s, which does not match "
                  "self of shape %s", ST_SHAPE_TEXT(target),
                  ST_SHAPE_TEXT(m->self));
}

/* self and target as matrices of n rows. */
static void lay_out(st_op_scope *c, margins *m, const st_tensor *target,
                    int64_t width) {
  const int64_t at[] = {m->n, width};
  m->self = ST_APPLY(c, ST_OP_reshape, m->self, ST_INTS(m->n, m->c));
  m->target = st__apply_to(c, target, ST_INT64);
  m->target = ST_APPLY(c, ST_OP_reshape, m->target, st__of_ints(at, 2));
}

/* The elements of self at the classes in `at`. */
static st_tensor *own_elements(st_op_scope *c, const margins *m,
                               const st_tensor *at) {
  st_tensor *own =
    ST_APPLY(c, ST_OP_gather, m->self, 1, at, st__of_bool(false), m->base);
  if (at) name_bad_class(c, at, m->c, m->base);
  return own;
}

/* max(0, margin + x - own) */
static st_tensor *excess(st_op_scope *c, const st_tensor *x,
                         const st_tensor *own, st_value margin) {
  const st_tensor *lead = st__minus(c, x, own);
  return ST_APPLY(c, ST_OP_clamp_min,
                  ST_APPLY(c, ST_OP_add_Scalar, lead, margin), 0);
}

ST_BOXED(st__box_multi_margin_loss) {
  margins m;
  ST_TRY(check_samples(st__next_tensor(&args), &m));
  ST_ARGS(TENSOR(target));
  const double p = st__scalar_to_double(st__next_scalar(&args));
  ST_ARGS(VALUE(margin), TENSOR(weight), INT(reduction));
  m.base = st__next_int(&args);
  ST_TRY(check_target(&m, target, target->ndim <= 1 && target->numel == m.n));
  ST_TRY(check_weight(weight, m.c));
  if (p != 1 && p != 2) {
    return st__fail(ST_BAD_VALUE, "p must be 1 or 2, it is %g", p);
  }
  st_op_scope c = st__loss_begin(reduction);
  lay_out(&c, &m, target, 1);
  st_tensor *loss = excess(&c, m.self, own_elements(&c, &m, m.target), margin);
  if (p == 2) loss = st__apply1(&c, ST_OP_square, loss);
  loss = ST_APPLY(&c, ST_OP_scatter_value, loss, 1, m.target, 0, m.base);
  if (weight) {
    loss =
      st__mul(&c, loss, ST_APPLY(&c, ST_OP_take, weight, m.target, m.base));
  }
  loss = st__scaled(&c, sum_of_classes(&c, loss, 1, false), 1 / (double)m.c);
  if (target->ndim == 0) loss = st__apply1(&c, ST_OP_squeeze, loss);
  return st__loss_end(&c, loss, reduction, rets);
}

/* Sets *at to the classes of each row up to the first one below base, then
 * base, and returns where these are. */
static st_tensor *listed_classes(st_op_scope *c, const margins *m,
                                 const st_tensor **at) {
  const st_tensor *end = ST_APPLY(c, ST_OP_lt_Scalar, m->target, m->base);
  const st_tensor *ends = ST_APPLY(c, ST_OP_cumsum, end, 1);
  *at = masked(c, m->target, ST_APPLY(c, ST_OP_ne_Scalar, ends, 0),
               st__of_int(m->base));
  return ST_APPLY(c, ST_OP_eq_Scalar, ends, 0);
}

/* Every pair of a listed class and one that is not listed, (N, C, C). */
ST_BOXED(st__box_multilabel_margin_loss) {
  margins m;
  ST_TRY(check_samples(st__next_tensor(&args), &m));
  const st_tensor *target = st__next_tensor(&args), *at;
  ST_ARGS(INT(reduction));
  m.base = st__next_int(&args);
  const bool fits = m.self->ndim > 1 ? st__same_sizes(m.self, target)
                                     : target->ndim <= 1 &&
                                       target->numel == m.c;
  ST_TRY(check_target(&m, target, fits));
  st_op_scope c = st__loss_begin(reduction);
  lay_out(&c, &m, target, m.c);
  const st_tensor *listed = listed_classes(&c, &m, &at);
  const st_tensor *own = own_elements(&c, &m, at);
  const st_tensor *count = st__apply_to(&c, listed, ST_INT64);
  count =
    ST_APPLY(&c, ST_OP_scatter_add, st__apply1(&c, ST_OP_zeros_like, m.target),
             1, at, count, m.base);
  const st_tensor *other = ST_APPLY(&c, ST_OP_eq_Scalar, count, 0);
  const st_value one = st__of_int(1), two = st__of_int(2);
  const st_tensor *both = st__apply2(&c, ST_OP_logical_and,
                                     ST_APPLY(&c, ST_OP_unsqueeze, listed, two),
                                     ST_APPLY(&c, ST_OP_unsqueeze, other, one));
  st_tensor *loss = excess(&c, ST_APPLY(&c, ST_OP_unsqueeze, m.self, one),
                           ST_APPLY(&c, ST_OP_unsqueeze, own, two), one);
  loss = masked(&c, loss, st__apply1(&c, ST_OP_logical_not, both),
                st__of_int(0));
  loss = ST_APPLY(&c, ST_OP_sum_dim_IntList, loss, ST_INTS(1, 2));
  loss = st__scaled(&c, loss, 1 / (double)m.c);
  if (target->ndim <= 1) loss = st__apply1(&c, ST_OP_squeeze, loss);
  return st__loss_end(&c, loss, reduction, rets);
}
