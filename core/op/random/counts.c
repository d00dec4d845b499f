/* Random counts: Poisson, binomial, multinomial.
 *
 * Sources: W. Hoermann, "The transformed rejection method for generating
 * Poisson random variables", Insurance: Mathematics and Economics 12, 1993
 * (PTRS); W. Hoermann, "The generation of binomial random variates", Journal
 * of Statistical Computation and Simulation 46, 1993 (BTRS, and the correction
 * of Stirling's formula); D. E. Knuth, "The Art of Computer Programming",
 * volume 2, 3.4.1 (small rates); L. Devroye, "Non-Uniform Random Variate
 * Generation", 1986, X.4 (the second waiting time method, for few successes).
 */

#include <math.h>

#include "op/create/factory.h"
#include "op/device/device.h"
#include "op/random/random.h"
#include "op/row/composite.h"

/* -- Poisson -------------------------------------------------------------- */

/* The number of uniform numbers whose product stays above exp(-rate). */
static double small_poisson(st_window *w, double least) {
  double p = 1;
  for (int64_t count = 0;; w->at = w->n) {
    if (w->at == w->n) st__window_fill(w);
    for (int i = w->at; i < w->n; i++, count++) {
      p *= w->u[i];
      if (p > least) continue;
      w->at = i + 1;
      return (double)count;
    }
  }
}

/* What depends on the rate; of PTRS from 10 on. */
typedef struct poisson_rate {
  double rate, least;
  double log_rate, a, b, inverse_alpha, box;
} poisson_rate;

static poisson_rate poisson_rate_of(double rate) {
  if (rate < 10) return (poisson_rate){.rate = rate, .least = exp(-rate)};
  const double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
  return (poisson_rate){rate, 0, log(rate), a, b, 1.1239 + 1.1328 / (b - 3.4),
                        0.9277 - 3.6224 / (b - 2)};
}

static double large_poisson(st_window *w, const poisson_rate *r) {
  const double a = r->a, b = r->b;
  for (;;) {
    const double u = st__window_uniform(w) - 0.5, v = st__window_uniform(w);
    const double us = 0.5 - fabs(u);
    const double k = floor((2 * a / us + b) * u + r->rate + 0.43);
    if (us >= 0.07 && v <= r->box) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    const double ratio = log(v * r->inverse_alpha / (a / (us * us) + b));
    int sign;
    if (ratio <= -r->rate + k * r->log_rate - lgamma_r(k + 1, &sign)) return k;
  }
}

static void poissons(st_window *w, const double *rate,
                     __attribute__((unused)) const double *none, double *out,
                     int64_t n) {
  poisson_rate r = {.rate = -1};
  for (int64_t i = 0; i < n; i++) {
    if (rate[i] != r.rate) r = poisson_rate_of(rate[i]);
    out[i] = r.rate == 0 ? 0 : r.rate < 10 ? small_poisson(w, r.least)
                                           : large_poisson(w, &r);
  }
}

/* -- Binomial ------------------------------------------------------------- */

/* log(k!) minus Stirling's formula for it. */
static double stirling_tail(double k) {
  static const double few[] = {
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983,
    0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
    0.0118967099458917, 0.0104112652619720, 0.00925546218271273,
    0.00833056343336287};
  if (k <= 9) return few[(int)k];
  const double n = k + 1, square = n * n;
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / n;
}

/* Trials and their probability, up to 1/2, and what depends on both. PyTorch
 * rounds each operation to float32 if they are. */
typedef struct trials {
  double n, p, mean;
  double log_failure;           /* if the mean is less than 10, or: */
  double deviation, odds, mode;
} trials;

static trials trials_f8(double n, double p) {
  const double mean = n * p;
  if (mean < 10) return (trials){n, p, mean, .log_failure = log1p(-p)};
  return (trials){n, p, mean, 0, sqrt(mean * (1 - p)), p / (1 - p),
                  floor((n + 1) * p)};
}

static trials trials_f4(double n, double p) {
  const float count = (float)n, prob = (float)p, mean = count * prob;
  if (mean < 10) return (trials){n, p, mean, .log_failure = log1pf(-prob)};
  return (trials){n, p, mean, 0, sqrtf(mean * (1 - prob)), prob / (1 - prob),
                  floorf((count + 1) * prob)};
}

/* Waiting times until the sum exceeds the number of trials. */
static double few_successes(st_window *w, const trials *t) {
  const double n = t->n;
  double sum = 0;
  for (int64_t successes = 0;; w->at = w->waits_end) {
    st__window_waits(w, t->log_failure);
    for (int i = w->at; i < w->waits_end; i++, successes++) {
      sum += w->waits[i];
      if (sum <= n) continue;
      w->at = i + 1;
      return (double)successes;
    }
  }
}

/* x, or x rounded to float32. */
static inline double rounded(double x, bool is_single) {
  return is_single ? (float)x : x;
}

/* BTRS, for n p >= 10 and p <= 1/2. */
static inline double many_successes(st_window *w, const trials *t,
                                    bool is_single) {
  const double n = t->n, odds = t->odds, mode = t->mode;
  const double b = 1.15 + 2.53 * t->deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * t->p;
  const double c = t->mean + 0.5, box = 0.92 - 4.2 / b;
  const double alpha = (2.83 + 5.1 / b) * t->deviation;
  for (;;) {
    const double u = st__window_uniform(w) - 0.5, v = st__window_uniform(w);
    const double us = 0.5 - fabs(u);
    const double k = rounded(floor((2 * a / us + b) * u + c), is_single);
    if (k < 0 || k > n) continue;
    if (us >= 0.07 && v <= box) return k;
    const double ratio = log(v * alpha / (a / (us * us) + b));
    const double failures = rounded(n - k, is_single);
    const double n1 = rounded(n + 1, is_single), k1 = rounded(k + 1, is_single);
    const double failures1 = rounded(failures + 1, is_single);
    const double bound =
      (mode + 0.5) * log((mode + 1) / (odds * (n - mode + 1))) +
      n1 * log((n - mode + 1) / failures1) +
      (k + 0.5) * log(odds * failures1 / k1) + stirling_tail(mode) +
      stirling_tail(n - mode) - stirling_tail(k) - stirling_tail(failures);
    if (ratio <= bound) return k;
  }
}

static inline void binomials(st_window *w, const double *n, const double *p,
                             double *out, int64_t count, bool is_single) {
  trials t = {.p = -1};
  for (int64_t i = 0; i < count; i++) {
    const bool is_rare = p[i] <= 0.5;
    const double q = is_rare ? p[i] : is_single ? (float)(1 - p[i]) : 1 - p[i];
    if (n[i] == 0 || p[i] == 0 || p[i] == 1) {
      out[i] = p[i] == 1 ? n[i] : 0;
      continue;
    }
    if (q != t.p || n[i] != t.n) {
      t = is_single ? trials_f4(n[i], q) : trials_f8(n[i], q);
    }
    const double k = t.mean < 10 ? few_successes(w, &t)
                                 : many_successes(w, &t, is_single);
    out[i] = is_rare ? k : n[i] - k;
  }
}

static void binomials_f8(st_window *w, const double *n, const double *p,
                         double *out, int64_t count) {
  binomials(w, n, p, out, count, false);
}

static void binomials_f4(st_window *w, const double *n, const double *p,
                         double *out, int64_t count) {
  binomials(w, n, p, out, count, true);
}

/* -- An element for each parameter ---------------------------------------- */

static double *doubles_of(const st_tensor *t) {
  return (double *)(void *)st__data(t);
}

/* t as contiguous float64 with these sizes. */
static const st_tensor *doubles(st_op_scope *c, const st_tensor *t,
                                st_value sizes) {
  t = st__apply_to(c, ST_APPLY(c, ST_OP_expand, t, sizes), ST_FLOAT64);
  return st__apply1(c, ST_OP_contiguous, t);
}

/* Fails unless every element is from 0 to `most`. */
static st_status check_range(const st_tensor *t, double most, const char *name,
                             const char *range) {
  const double *x = doubles_of(t);
  bool good = true;
  for (int64_t i = 0; i < t->numel; i++) good &= (x[i] >= 0) & (x[i] <= most);
  for (int64_t i = 0; !good && i < t->numel; i++) {
    if (x[i] >= 0 && x[i] <= most) continue;
    return st__fail(ST_BAD_VALUE, "%s must be %s, an element is %g", name,
                    range, x[i]);
  }
  return ST_OK;
}

#define FINITE 1.7976931348623157e308

ST_BOXED(st__box_poisson) {
  ST_ARGS(TENSOR(self));
  st_generator *g = st__generator_of(st__next(&args));
  st_op_scope c = {.n = 0};
  ST_TRY(st__check_cpu_or_meta(self));
  if (!st__is_floating(self->dtype)) return st__no_kernel_for(self->dtype);
  const st_tensor *rate = doubles(&c, self, st__of_ints(self->sizes,
                                                        self->ndim));
  st_tensor *out = st__apply1(&c, ST_OP_empty_like, rate);
  if (st__scope_ok(&c) && st__has_elements(self)) {
    c.status = check_range(rate, FINITE, "self", "finite and not negative");
    if (st__scope_ok(&c)) {
      c.status = st__random_sample(out, rate, rate, poissons, g);
    }
  }
  return st__scope_return(&c, st__apply_to(&c, out, self->dtype), rets);
}

ST_BOXED(st__box_binomial) {
  ST_ARGS(TENSOR(count), TENSOR(prob));
  st_generator *g = st__generator_of(st__next(&args));
  int64_t sizes[ST_MAX_DIMS];
  int ndim = 0;
  st_op_scope c = {.n = 0};
  ST_TRY(st__check_cpu_or_meta(count));
  ST_TRY(st__check_cpu_or_meta(prob));
  if (!st__is_floating(count->dtype)) return st__no_kernel_for(count->dtype);
  if (count->dtype != prob->dtype) {
    return st__fail(ST_BAD_DTYPE, "count is %s, but prob is %s: convert one of "
                    "them", st__dtype_name(count->dtype),
                    st__dtype_name(prob->dtype));
  }
  ST_TRY(st__broadcast_shape(count->ndim, count->sizes, prob->ndim,
                             prob->sizes, sizes, &ndim));
  const st_tensor *n = doubles(&c, count, st__of_ints(sizes, ndim));
  const st_tensor *p = doubles(&c, prob, st__of_ints(sizes, ndim));
  st_tensor *out = st__apply1(&c, ST_OP_empty_like,
                              st__meta_or(p, n));
  if (st__scope_ok(&c) && st__has_elements(count) && st__has_elements(prob)) {
    c.status = check_range(n, FINITE, "count", "finite and not negative");
    if (st__scope_ok(&c)) c.status = check_range(p, 1, "prob", "from 0 to 1");
    if (st__scope_ok(&c)) {
      c.status = st__random_sample(
        out, n, p, count->dtype == ST_FLOAT32 ? binomials_f4 : binomials_f8, g);
    }
  }
  return st__scope_return(&c, st__apply_to(&c, out, count->dtype), rets);
}

/* -- Multinomial ---------------------------------------------------------- */

enum { CATEGORIES = 1 << 24 };

typedef struct draws {
  const st_tensor *self;
  int64_t n, base;
  bool with_replacement;
  st_value generator;
} draws;

static st_status check_draws(const draws *d) {
  const st_tensor *t = d->self;
  const int64_t categories = t->ndim > 0 ? t->sizes[t->ndim - 1] : 0;
  if (t->ndim != 1 && t->ndim != 2) {
    return st__fail(ST_BAD_SHAPE, "self must have 1 or 2 dimensions, its shape "
                    "is %s", ST_SHAPE_TEXT(t));
  }
  if (!st__is_floating(t->dtype)) return st__no_kernel_for(t->dtype);
  if (d->n <= 0 || (!d->with_replacement && d->n > categories)) {
    return st__fail(ST_BAD_VALUE, "num_samples must be positive%s; it is %lld, "
                    "for %lld categories", d->with_replacement ? ""
                    : ", and at most the number of categories without "
                    "replacement", (long long)d->n, (long long)categories);
  }
  if (categories <= CATEGORIES) return ST_OK;
  return st__fail(ST_BAD_VALUE, "self has %lld categories, the most are %d",
                  (long long)categories, CATEGORIES);
}

/* Fails unless all elements of a bool tensor are true. */
static void require(st_op_scope *c, const st_tensor *flags, const char *what) {
  const st_tensor *all = st__apply1(c, ST_OP_all, flags);
  if (!st__scope_ok(c) || !st__has_elements(all)) return;
  const bool *is_true = (const bool *)(const void *)st__data(all);
  if (!*is_true) c->status = st__fail(ST_BAD_VALUE, "%s", what);
}

/* Sums over the last dimension, which keeps size 1. */
static st_tensor *row_sums(st_op_scope *c, const st_tensor *t) {
  return ST_APPLY(c, ST_OP_sum_dim_IntList, t, ST_INTS(-1), st__of_bool(true));
}

static void check_weights(st_op_scope *c, const st_tensor *t) {
  const st_tensor *least = ST_APPLY(c, ST_OP_ge_Scalar, t, 0);
  const st_tensor *finite = st__apply1(c, ST_OP_isfinite, t);
  require(c, st__apply2(c, ST_OP_logical_and, least, finite),
          "the elements of self must be finite and not negative");
  require(c, ST_APPLY(c, ST_OP_gt_Scalar, row_sums(c, t), 0),
          "the sum of a row of self is 0");
}

/* The greatest of the weights divided by exponential numbers: each is first
 * with its probability (Efraimidis, Spirakis, "Weighted random sampling with a
 * reservoir", Information Processing Letters 97, 2006). */
static st_tensor *draw_apart(st_op_scope *c, const draws *d) {
  st_tensor *keys[2] = {NULL};
  const st_tensor *t = st__is_reduced_float(d->self->dtype)
                     ? st__apply_to(c, d->self, ST_FLOAT32) : d->self;
  const st_tensor *q = st__apply1(c, ST_OP_empty_like, t);
  ST_APPLY(c, ST_OP_exponential_, q, st__of_float(1), d->generator);
  q = st__div(c, t, q);
  q = st__apply1(c, ST_OP_nan_to_num, q); /* 0 / 0 */
  if (d->n == 1) {
    return ST_APPLY(c, ST_OP_argmax, q, -1, st__of_bool(true), d->base);
  }
  st__apply_multi(
    c, ST_OP_topk,
    ST_VALUES(q, d->n, -1, st__of_bool(true), st__of_bool(true), d->base), 2,
    keys);
  return keys[1];
}

/* The first cumulative weight above a uniform share of all of them. */
static st_tensor *draw_again(st_op_scope *c, const draws *d) {
  const st_tensor *t = d->self;
  const int64_t last = t->sizes[t->ndim - 1] - 1;
  const int64_t sizes[] = {t->sizes[0], d->n};
  const st_tensor *sums =
    ST_APPLY(c, ST_OP_cumsum, st__apply_to(c, t, ST_FLOAT64), -1);
  const st_value size = st__of_ints(t->ndim == 1 ? &d->n : sizes, t->ndim);
  const st_tensor *u = ST_APPLY(c, ST_OP_new_empty, sums, size);
  ST_APPLY(c, ST_OP_uniform_, u, st__of_float(0), st__of_float(1),
           d->generator);
  const st_tensor *share =
    st__mul(c, u, st__apply_narrow(c, sums, -1, last, 1));
  const st_tensor *at =
    ST_APPLY(c, ST_OP_searchsorted_Tensor, sums, share, st__of_bool(false),
             st__of_bool(true), st__none(), st__none(), d->base);
  return ST_APPLY(c, ST_OP_clamp_max, at, last + d->base);
}

ST_BOXED(st__box_multinomial) {
  if (st__is_privateuse(args->u.tensor)) {
    return st_cpu_fallback(call, args, rets);
  }
  draws d = {0};
  ST_ARGS_TO(d, TENSOR(self), INT(n), BOOL(with_replacement), VALUE(generator),
             INT(base));
  st_op_scope c = {.n = 0};
  ST_TRY(check_draws(&d));
  check_weights(&c, d.self);
  st_tensor *out = d.with_replacement && d.n > 1 ? draw_again(&c, &d)
                                                 : draw_apart(&c, &d);
  return st__scope_return(&c, out, rets);
}
