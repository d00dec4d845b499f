/* Connectionist temporal classification: the loss, and its gradient.
 *
 * Source: A. Graves and others, "Connectionist Temporal Classification:
 * Labelling Unsegmented Sequence Data with Recurrent Neural Networks", ICML
 * 2006. Equations are those of the paper.
 *
 * The labels of a target are read with a blank before, between and behind
 * them: label s is target s / 2 for an odd s. All sums are of logarithms, in
 * float64.
 */

#include <math.h>

#include "base/threads.h"
#include "op/create/factory.h"
#include "op/loss/loss.h"
#include "op/nn/spatial.h"

/* -- Arguments ------------------------------------------------------------ */

typedef struct ctc {
  const st_tensor *log_probs, *targets;
  st_ints input_lengths, target_lengths;
  int64_t blank, base;
  bool zero_infinity;
  int64_t steps, batch, classes;  /* the sizes of log_probs */
  int64_t labels;                 /* of the longest target, with blanks */
  const st_tensor *like;          /* of the device of the results */
  /* elements, contiguous */
  const double *probs, *loss_grad;
  const int64_t *target;
  int64_t *first;                 /* labels of the sequences in target */
  double *alpha, *loss, *beta, *grad;
} ctc;

static st_status check_lengths(const st_ints *lengths, const char *name,
                               int64_t batch, int64_t most) {
  if (lengths->n != batch) {
    return st__fail(ST_BAD_SHAPE, "%s must have a number for each of %lld "
                    "sequences, it has %u", name, (long long)batch,
                    lengths->n);
  }
  for (uint32_t i = 0; i < lengths->n; i++) {
    if (lengths->p[i] >= 0 && lengths->p[i] <= most) continue;
    return st__fail(ST_BAD_VALUE, "%s must be from 0 to %lld, number %u is "
                    "%lld", name, (long long)most, i + 1,
                    (long long)lengths->p[i]);
  }
  return ST_OK;
}

static st_status check_probs(ctc *k) {
  const st_tensor *t = k->log_probs;
  ST_TRY(st__check_cpu_or_meta(t));
  if (t->dtype != ST_FLOAT32 && t->dtype != ST_FLOAT64) {
    return st__no_kernel_for(t->dtype);
  }
  if (t->ndim != 3 || t->numel == 0) {
    return st__fail(ST_BAD_SHAPE, "log_probs must have shape (steps, N, "
                    "classes) and not be empty, its shape is %s",
                    ST_SHAPE_TEXT(t));
  }
  k->steps = t->sizes[0];
  k->batch = t->sizes[1];
  k->classes = t->sizes[2];
  if (k->blank < 0) k->blank += k->classes;
  if (k->blank >= 0 && k->blank < k->classes) return ST_OK;
  return st__fail(ST_BAD_INDEX, "blank is none of the %lld classes",
                  (long long)k->classes);
}

static st_status check_targets(ctc *k) {
  const st_tensor *t = k->targets;
  int64_t longest = 0, sum = 0;
  if (t->ndim < 1 || t->ndim > 2 || !st__is_integral(t->dtype) ||
      (t->ndim == 2 && t->sizes[0] != k->batch)) {
    return st__fail(ST_BAD_SHAPE, "targets must be integers of shape (%lld, "
                    "longest) or (sum of target_lengths), they have shape %s "
                    "and dtype %s", (long long)k->batch, ST_SHAPE_TEXT(t),
                    st__dtype_name(t->dtype));
  }
  const int64_t most = t->sizes[t->ndim - 1];
  ST_TRY(check_lengths(&k->target_lengths, "target_lengths", k->batch,
                       most < INT32_MAX ? most : INT32_MAX));
  for (uint32_t i = 0; i < k->target_lengths.n; i++) {
    const int64_t n = k->target_lengths.p[i];
    if (n > longest) longest = n;
    sum += n;
  }
  k->labels = 2 * longest + 1;
  if (t->ndim == 2 || t->sizes[0] == sum) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "the sum of target_lengths is %lld, but "
                  "targets has %lld elements", (long long)sum,
                  (long long)t->sizes[0]);
}

/* Sets k->first: where the labels of each sequence begin in k->target. */
static void find_labels(const ctc *k) {
  int64_t at = 0;
  const bool rows = k->targets->ndim == 2;
  for (int64_t i = 0; i < k->batch; i++) {
    k->first[i] = at;
    at += rows ? k->targets->sizes[1] : k->target_lengths.p[i];
  }
}

static void check_labels(st_op_scope *c, const ctc *k) {
  int64_t step = 0;
  for (int64_t i = 0; i < k->batch; i++) {
    const int64_t *labels = k->target + k->first[i];
    for (int64_t s = 0; s < k->target_lengths.p[i]; s++) {
      if (!st__scope_goes_on_at(c, step++)) return;
      if (labels[s] >= k->base && labels[s] - k->base < k->classes) continue;
      c->status = st__fail(ST_BAD_INDEX, "targets has class %lld, but the "
                           "classes are %lld to %lld", (long long)labels[s],
                           (long long)k->base,
                           (long long)(k->base + k->classes - 1));
    }
  }
}

/* Makes the results meta tensors if t is one. */
static const st_tensor *follow(ctc *k, const st_tensor *t) {
  k->like = k->like ? st__meta_or(t, k->like) : t;
  return t;
}

/* Reads the arguments up to target_lengths. */
static void read_lengths(const st_value **args, ctc *k) {
  k->log_probs = follow(k, st__next_tensor(args));
  k->targets = follow(k, st__next_tensor(args));
  k->input_lengths = st__next_ints(args);
  k->target_lengths = st__next_ints(args);
}

static st_status check(ctc *k) {
  ST_TRY(check_probs(k));
  ST_TRY(check_lengths(&k->input_lengths, "input_lengths", k->batch,
                       k->steps));
  return check_targets(k);
}

static const st_tensor *contiguous(st_op_scope *c, const st_tensor *t,
                                   st_dtype dtype) {
  return st__apply1(c, ST_OP_contiguous, st__apply_to(c, t, dtype));
}

static double *doubles(const st_tensor *t) {
  return (double *)(void *)st__data(t);
}

/* Sets and checks the elements that both passes read; false on Meta and after
 * an error. */
static bool open_inputs(st_op_scope *c, ctc *k) {
  const st_tensor *probs = contiguous(c, k->log_probs, ST_FLOAT64);
  if (!st__scope_ok(c) || !st__has_elements(probs) ||
      !st__has_elements(k->targets)) {
    return false;
  }
  k->probs = doubles(probs);
  k->target = st__scope_snapshot(c, k->targets);
  st__new_cpu_vector(c, ST_INT64, k->batch, &k->first);
  if (!st__scope_ok(c)) return false;
  find_labels(k);
  check_labels(c, k);
  return st__scope_ok(c);
}

static st_tensor *full(st_op_scope *c, const st_tensor *like, int n,
                       const int64_t *sizes, double value) {
  return ST_APPLY(c, ST_OP_new_full, like, st__of_ints(sizes, n), value,
                  ST_FLOAT64);
}

/* -- A sequence ----------------------------------------------------------- */

typedef struct sequence {
  const ctc *k;
  const int64_t *target;
  int64_t i, steps, labels;
} sequence;

static sequence sequence_of(const ctc *k, int64_t i) {
  return (sequence){k, k->target + k->first[i], i,
                    k->input_lengths.p[i], 2 * k->target_lengths.p[i] + 1};
}

static int64_t label(const sequence *q, int64_t s) {
  return s % 2 ? q->target[s / 2] - q->k->base : q->k->blank;
}

/* Row t of log_probs, and of its gradient, which has its shape. */
static int64_t row(const sequence *q, int64_t t) {
  return (t * q->k->batch + q->i) * q->k->classes;
}

static double prob(const sequence *q, int64_t t, int64_t s) {
  return q->k->probs[row(q, t) + label(q, s)];
}

static double *alphas(const sequence *q, double *all, int64_t t) {
  return all + (q->i * q->k->steps + t) * q->k->labels;
}

static double log_sum(double a, double b, double c) {
  double most = a > b ? a : b;
  if (c > most) most = c;
  if (most == -INFINITY) most = 0;
  return log(exp(a - most) + exp(b - most) + exp(c - most)) + most;
}

/* -- Forward -------------------------------------------------------------- */

/* Equations 5 to 7. */
static void advance(const sequence *q, int64_t t) {
  const double *last = alphas(q, q->k->alpha, t - 1);
  double *next = alphas(q, q->k->alpha, t);
  for (int64_t s = 0; s < q->labels; s++) {
    const bool skips = s > 1 && label(q, s - 2) != label(q, s);
    next[s] = log_sum(last[s], s > 0 ? last[s - 1] : -INFINITY,
                      skips ? last[s - 2] : -INFINITY) + prob(q, t, s);
  }
}

static double likelihood(const sequence *q) {
  if (q->steps == 0) return q->labels == 1 ? 0 : -INFINITY;
  const double *last = alphas(q, q->k->alpha, q->steps - 1);
  if (q->labels == 1) return last[0];
  return log_sum(last[q->labels - 1], last[q->labels - 2], -INFINITY);
}

static void forward_range(void *ctx, int64_t begin, int64_t end) {
  const ctc *k = ctx;
  for (int64_t i = begin; i < end; i++) {
    const sequence q = sequence_of(k, i);
    if (q.steps > 0) {
      double *first = alphas(&q, k->alpha, 0);
      first[0] = prob(&q, 0, 0);
      if (q.labels > 1) first[1] = prob(&q, 0, 1);
    }
    for (int64_t t = 1; t < q.steps && !st__stops(); t++) advance(&q, t);
    k->loss[i] = -likelihood(&q);
  }
}

ST_BOXED(st__box__ctc_loss) {
  ctc k = {.batch = 0};
  st_op_scope c = {.status = ST_OK};
  read_lengths(&args, &k);
  ST_ARGS_TO(k, INT(blank), BOOL(zero_infinity), INT(base));
  ST_TRY(check(&k));
  const int64_t sizes[] = {k.batch, k.steps, k.labels};
  const st_tensor *loss = full(&c, k.like, 1, sizes, 0);
  const st_tensor *alpha = full(&c, k.like, 3, sizes, -INFINITY);
  if (open_inputs(&c, &k)) {
    k.loss = doubles(loss);
    k.alpha = doubles(alpha);
    c.status = st__parallel_try(0, k.batch, 1, forward_range, &k);
  }
  st_tensor *results[] = {st__apply_to(&c, loss, k.log_probs->dtype),
                          st__apply_to(&c, alpha, k.log_probs->dtype)};
  return st__scope_end(&c, 2, results, rets);
}

/* -- Backward ------------------------------------------------------------- */

/* Adds alpha beta of label s to the sum of its class. */
static void collect(const sequence *q, int64_t t, int64_t s, double beta) {
  double *sum = &q->k->grad[row(q, t) + label(q, s)];
  *sum = log_sum(*sum, alphas(q, q->k->alpha, t)[s] + beta, -INFINITY);
}

/* Equations 9 to 11. */
static void retreat(const sequence *q, int64_t t) {
  const double *last = alphas(q, q->k->beta, t + 1);
  double *next = alphas(q, q->k->beta, t);
  const int64_t n = q->labels;
  for (int64_t s = n - 1; s >= 0; s--) {
    const bool skips = s + 2 < n && label(q, s + 2) != label(q, s);
    next[s] = log_sum(last[s], s + 1 < n ? last[s + 1] : -INFINITY,
                      skips ? last[s + 2] : -INFINITY) + prob(q, t, s);
    collect(q, t, s, next[s]);
  }
}

/* Equation 16: from the sums of alpha beta to the gradient. */
static void finish(const sequence *q) {
  const ctc *k = q->k;
  const double loss = k->loss[q->i], coming = k->loss_grad[q->i];
  for (int64_t t = 0; t < k->steps; t++) {
    double *grad = k->grad + row(q, t);
    const double *p = k->probs + row(q, t);
    for (int64_t j = 0; j < k->classes; j++) {
      grad[j] = t < q->steps
              ? (exp(p[j]) - exp(grad[j] + loss - p[j])) * coming : 0;
    }
  }
}

static void backward_sequence(const sequence *q) {
  const ctc *k = q->k;
  const int64_t end = q->steps - 1;
  if (k->zero_infinity && k->loss[q->i] == INFINITY) {
    for (int64_t t = 0; t < k->steps; t++) {
      double *grad = k->grad + row(q, t);
      for (int64_t j = 0; j < k->classes; j++) grad[j] = 0;
    }
    return;
  }
  for (int64_t s = q->labels - 1; end >= 0 && s >= 0 && s + 2 >= q->labels;
       s--) {
    const double beta = prob(q, end, s);
    alphas(q, k->beta, end)[s] = beta;
    collect(q, end, s, beta);
  }
  for (int64_t t = end - 1; t >= 0 && !st__stops(); t--) retreat(q, t);
  finish(q);
}

static void backward_range(void *ctx, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) {
    const sequence q = sequence_of(ctx, i);
    backward_sequence(&q);
  }
}

static st_status check_saved(const ctc *k, const st_tensor *grad,
                             const st_tensor *loss, const st_tensor *alpha) {
  if (grad->ndim == 1 && grad->sizes[0] == k->batch && loss->ndim == 1 &&
      loss->sizes[0] == k->batch && alpha->ndim == 3 &&
      alpha->sizes[0] == k->batch && alpha->sizes[1] == k->steps &&
      alpha->sizes[2] == k->labels) {
    return ST_OK;
  }
  return st__fail(ST_BAD_SHAPE, "grad and neg_log_likelihood must have shape "
                  "[%lld], and log_alpha [%lld, %lld, %lld], they have shapes "
                  "%s, %s and %s", (long long)k->batch, (long long)k->batch,
                  (long long)k->steps, (long long)k->labels,
                  ST_SHAPE_TEXT(grad), ST_SHAPE_TEXT(loss),
                  ST_SHAPE_TEXT(alpha));
}

ST_BOXED(st__box__ctc_loss_backward) {
  ctc k = {.batch = 0};
  st_op_scope c = {.status = ST_OK};
  const st_tensor *grad = follow(&k, st__next_tensor(&args));
  read_lengths(&args, &k);
  const st_tensor *loss = follow(&k, st__next_tensor(&args));
  const st_tensor *alpha = follow(&k, st__next_tensor(&args));
  ST_ARGS_TO(k, INT(blank), BOOL(zero_infinity), INT(base));
  ST_TRY(check(&k));
  ST_TRY(check_saved(&k, grad, loss, alpha));
  const st_tensor *out = full(&c, k.like, 3, k.log_probs->sizes, -INFINITY);
  const st_tensor *beta = full(&c, k.like, 3, alpha->sizes, -INFINITY);
  grad = contiguous(&c, grad, ST_FLOAT64);
  loss = contiguous(&c, loss, ST_FLOAT64);
  alpha = contiguous(&c, alpha, ST_FLOAT64);
  if (open_inputs(&c, &k) && st__has_elements(grad) &&
      st__has_elements(loss) && st__has_elements(alpha)) {
    k.loss = doubles(loss);
    k.loss_grad = doubles(grad);
    k.alpha = doubles(alpha);
    k.beta = doubles(beta);
    k.grad = doubles(out);
    c.status = st__parallel_try(0, k.batch, 1, backward_range, &k);
  }
  return st__scope_return(&c, st__apply_to(&c, out, k.log_probs->dtype), rets);
}

/* -- ctc_loss ------------------------------------------------------------- */

/* What follows the lengths, and the lengths. */
typedef struct options {
  st_ints input_lengths, target_lengths;
  st_value blank, zero_infinity, base;
  int64_t reduction;
} options;

static st_tensor *without_infinity(st_op_scope *c, st_tensor *loss) {
  const st_tensor *far =
    ST_APPLY(c, ST_OP_eq_Scalar, loss, st__of_float(INFINITY));
  return ST_APPLY(c, ST_OP_masked_fill_Scalar, loss, far, 0);
}

/* The mean over the batch of the losses per label. */
static st_tensor *mean(st_op_scope *c, const st_tensor *loss,
                       st_ints lengths) {
  double *divisor;
  st_tensor *table = st__new_cpu_vector(c, ST_FLOAT64, lengths.n, &divisor);
  if (!st__scope_ok(c)) return NULL;
  for (uint32_t i = 0; i < lengths.n; i++) {
    divisor[i] = lengths.p[i] > 1 ? (double)lengths.p[i] : 1;
  }
  const st_tensor *t = st__to_device_of(c, table, loss->dtype, loss);
  return st__apply1(c, ST_OP_mean, st__div(c, loss, t));
}

static st_status run(const st_tensor *log_probs, const st_tensor *targets,
                     const options *o, st_value *rets) {
  st_tensor *out[2];
  st_op_scope c = st__loss_begin(o->reduction);
  const bool batched = log_probs->ndim != 2;
  if (!batched) log_probs = ST_APPLY(&c, ST_OP_unsqueeze, log_probs, 1);
  st__apply_multi(
    &c, ST_OP__ctc_loss,
    ST_VALUES(log_probs, targets,
              st__of_ints(o->input_lengths.p, (int)o->input_lengths.n),
              st__of_ints(o->target_lengths.p, (int)o->target_lengths.n),
              o->blank, o->zero_infinity, o->base),
    2, out);
  st_tensor *loss = out[0];
  if (st__to_bool(&o->zero_infinity, false)) loss = without_infinity(&c, loss);
  if (o->reduction == 1) {
    return st__scope_return(&c, mean(&c, loss, o->target_lengths), rets);
  }
  if (o->reduction == 2) loss = st__apply1(&c, ST_OP_sum, loss);
  else if (!batched) loss = st__apply1(&c, ST_OP_squeeze, loss);
  return st__scope_return(&c, loss, rets);
}

static void read_options(const st_value **args, options *o) {
  o->blank = *st__next(args);
  o->reduction = st__next_int(args);
  o->zero_infinity = *st__next(args);
  o->base = *st__next(args);
}

ST_BOXED(st__box_ctc_loss) {
  options o;
  ST_ARGS(TENSOR(log_probs), TENSOR(targets));
  ST_ARGS_TO(o, INTS(input_lengths), INTS(target_lengths));
  read_options(&args, &o);
  return run(log_probs, targets, &o, rets);
}

/* The elements of t as a list; t may have no dimension. */
static st_ints ints_of(st_op_scope *c, const st_tensor *t, const char *name) {
  if (st__scope_ok(c)) c->status = st__check_strided(t);
  if (st__scope_ok(c) && (!st__has_elements(t) ||
                          !st__is_integral(t->dtype) ||
                          t->numel > INT32_MAX)) {
    c->status = st__fail(ST_BAD_DTYPE, "%s must be integers on the CPU, it has "
                         "dtype %s and device %s", name,
                         st__dtype_name(t->dtype),
                         st__device_name(t->device));
  }
  return (st_ints){st__scope_snapshot(c, t), (uint32_t)t->numel};
}

ST_BOXED(st__box_ctc_loss_tensor) {
  options o;
  st_op_scope c = {.status = ST_OK};
  ST_ARGS(TENSOR(log_probs), TENSOR(targets));
  o.input_lengths = ints_of(&c, st__next_tensor(&args), "input_lengths");
  o.target_lengths = ints_of(&c, st__next_tensor(&args), "target_lengths");
  read_options(&args, &o);
  if (st__scope_ok(&c)) c.status = run(log_probs, targets, &o, rets);
  return st__scope_end(&c, 0, NULL, rets);
}
