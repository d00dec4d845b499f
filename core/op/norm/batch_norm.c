/* Normalization over a batch: batch_norm, instance_norm and ATen's forms of
 * batch_norm that return what they measure.
 */

#include "op/norm/normalization.h"

/* The common arguments. */
typedef struct batch {
  st_tensor *input;
  const st_tensor *weight, *bias; /* one element per channel, or NULL */
  st_tensor *mean, *var;          /* running statistics, or NULL */
  bool is_measured;               /* use the mean and variance of the input */
  double momentum, eps;
  int first;                      /* 0: per batch; 2: per sample */
} batch;

/* Either both running statistics are updated or none, so both are checked
 * first. */
static st_status check_updated(const st_tensor *t, const char *name) {
  if (!t) return ST_OK;
  if (!st__is_floating(t->dtype)) {
    return st__fail(ST_BAD_DTYPE, "%s must have a floating point dtype, not "
                    "%s", name, st__dtype_name(t->dtype));
  }
  if (st__tls().grad && (t->keys & ST_AUTOGRAD_BITS)) {
    return st__fail(ST_BAD_STATE, "%s must not require a gradient, because "
                    "training writes it", name);
  }
  return ST_OK;
}

static st_status check_running(const batch *b, int64_t count) {
  if (b->is_measured) {
    ST_TRY(check_updated(b->mean, "running_mean"));
    ST_TRY(check_updated(b->var, "running_var"));
  }
  if (!b->is_measured && !(b->mean && b->var)) {
    return st__fail(ST_BAD_VALUE, "running_mean and running_var are required "
                    "when not training");
  }
  if (b->is_measured && count == 1) {
    return st__fail(ST_BAD_SHAPE, "input of shape %s has one value per "
                    "channel, which has no variance", ST_SHAPE_TEXT(b->input));
  }
  return ST_OK;
}

/* The number of values that each mean is computed from. */
static int64_t values_per_mean(const batch *b) {
  int64_t n = b->first == 0 ? b->input->sizes[0] : 1;
  for (int d = 2; d < b->input->ndim; d++) n *= b->input->sizes[d];
  return n;
}

static st_status check_batch(const batch *b) {
  const int64_t *channels = &b->input->sizes[1];
  const int least = b->first == 0 ? 2 : 3;
  if (b->input->ndim < least) {
    return st__fail(ST_BAD_SHAPE, "input needs %d dimensions, its shape is "
                    "%s", least, ST_SHAPE_TEXT(b->input));
  }
  ST_TRY(check_parameter(b->weight, "weight", channels, 1));
  ST_TRY(check_parameter(b->bias, "bias", channels, 1));
  ST_TRY(check_parameter(b->mean, "running_mean", channels, 1));
  ST_TRY(check_parameter(b->var, "running_var", channels, 1));
  return check_running(b, values_per_mean(b));
}

/* t, which may be NULL, reshaped to broadcast with the input. */
static st_tensor *along(st_op_scope *c, const batch *b, const st_tensor *t) {
  return t ? along_channels(c, t, b->input->ndim) : NULL;
}

/* The statistics for running += momentum (next - running): measured, averaged
 * over samples, scaled, without a gradient. */
static st_tensor *next_running(st_op_scope *c, const batch *b,
                               const st_tensor *running,
                               const st_tensor *measured, double scale) {
  const st_tensor *t = st__apply1(c, ST_OP_detach, measured);
  t = ST_APPLY(c, ST_OP_reshape, t, ST_INTS(-1, b->input->sizes[1]));
  t = ST_APPLY(c, ST_OP_mean_dim, t, ST_INTS(0));
  if (scale != 1) t = ST_APPLY(c, ST_OP_mul_Scalar, t, scale);
  return st__apply_to(c, t, running->dtype);
}

/* Updates the running statistics. The running variance is the unbiased one: the
 * sum of squares is divided by the count less 1. */
static void update_running_var(st_op_scope *c, const batch *b,
                               const st_tensor *mean, const st_tensor *var) {
  const double n = (double)values_per_mean(b);
  const st_tensor *next_mean = NULL, *next_var = NULL;
  if (b->input->numel == 0) return;
  if (b->mean) next_mean = next_running(c, b, b->mean, mean, 1);
  if (b->var) next_var = next_running(c, b, b->var, var, n / (n - 1));
  const st_op_id lerp = ST_OP_lerp_Scalar;
  if (b->mean) ST_APPLY_INTO(c, lerp, b->mean, next_mean, b->momentum);
  if (b->var) ST_APPLY_INTO(c, lerp, b->var, next_var, b->momentum);
}

/* The mean and variance to normalise by. */
static void batch_stats(st_op_scope *c, const batch *b, const st_tensor *x,
                        st_tensor **mean, st_tensor **var) {
  int64_t dims[ST_MAX_DIMS];
  int n = 0;
  if (!b->is_measured) {
    *mean = along(c, b, b->mean);
    *var = along(c, b, b->var);
    return;
  }
  for (int d = b->first; d < b->input->ndim; d++) if (d != 1) dims[n++] = d;
  moments(c, x, st__of_ints(dims, n), mean, var);
}

/* What the input is normalized by. */
typedef struct statistics { st_tensor *mean, *var; } statistics;

/* With scale = weight rstd the result is x scale + (bias - mean scale): two
 * passes over x; all else has one element per channel. */
static st_tensor *composed(st_op_scope *c, const batch *b, statistics *m) {
  st_tensor *x = precise(c, b->input);
  batch_stats(c, b, x, &m->mean, &m->var);
  const st_tensor *rstd = inverse_root(c, m->var, b->eps);
  const st_tensor *weight = along(c, b, b->weight);
  const st_tensor *bias = !b->bias ? NULL
    : along(c, b, st__apply_attached(c, b->bias,
                                     b->weight ? b->weight : b->input));
  const st_tensor *scale = weight ? st__mul(c, rstd, weight) : rstd;
  const st_tensor *shift = st__mul(c, m->mean, scale);
  shift = bias ? st__minus(c, bias, shift) : st__apply1(c, ST_OP_neg, shift);
  return as_dtype_of(c, affine(c, x, scale, shift), b->input);
}

/* True if a gradient of given statistics is recorded. */
static bool derives_statistics(const batch *b) {
  if (b->is_measured) return false;
  return st__is_recorded(b->mean->keys | b->var->keys);
}

/* The normalized input, and what it is normalized by. The statistics of a
 * batch, which have no gradient then, are those of _batch_norm. */
static st_tensor *normalized(st_op_scope *c, const batch *b, statistics *m) {
  c->status = check_batch(b);
  if (!st__scope_ok(c)) return NULL;
  if (b->first != 0 || derives_statistics(b)) return composed(c, b, m);
  st_tensor *all[3];
  st__apply_multi(c, ST_OP__batch_norm,
                  ST_VALUES(b->input, b->weight, b->bias,
                            b->is_measured ? NULL : b->mean,
                            b->is_measured ? NULL : b->var,
                            st__of_bool(b->is_measured), st__of_float(b->eps)),
                  3, all);
  m->mean = st__apply1(c, ST_OP_detach, all[1]);
  m->var = st__apply1(c, ST_OP_detach, all[2]);
  return all[0];
}

/* The last step, as nothing else may fail after it. */
static void update_running(st_op_scope *c, const batch *b,
                           const statistics *m) {
  if (!st__scope_ok(c) || !b->is_measured) return;
  update_running_var(c, b, m->mean, m->var);
}

static st_status run_batch(const batch *b, st_value *rets) {
  st_op_scope c = {.status = ST_OK};
  statistics m = {NULL, NULL};
  st_tensor *x = normalized(&c, b, &m);
  update_running(&c, b, &m);
  return st__scope_return(&c, x, rets);
}

static batch read_batch(const st_value *args, int first) {
  batch b = {.input = st__next_tensor(&args), .first = first};
  ST_ARGS_TO(b, TENSOR(weight), TENSOR(bias), TENSOR(mean), TENSOR(var),
             BOOL(is_measured), FLOAT(momentum), FLOAT(eps));
  return b;
}

/* Without a dimension of channels, an empty input is its own result, scaled
 * and shifted by the first weight and bias. */
static st_status copy_empty(const batch *b, st_value *rets) {
  st_op_scope c = {.n = 0};
  const st_tensor *factors[] = {b->weight, b->bias};
  const st_op_id ops[] = {ST_OP_mul_Tensor, ST_OP_add_Tensor};
  st_tensor *x = ST_APPLY(&c, ST_OP_clone, b->input, ST_FORMAT_PRESERVE);
  for (int i = 0; i < 2; i++) {
    if (!factors[i]) continue;
    x = st__apply2(&c, ops[i], x,
                   ST_APPLY(&c, ST_OP_select_int, factors[i], 0, 0));
  }
  return st__scope_return(&c, x, rets);
}

/* t with one element per channel. */
static st_tensor *by_channel(st_op_scope *c, const batch *b,
                             const st_tensor *t) {
  const int64_t sizes[] = {b->input->sizes[1]};
  return st__apply_reshape(c, t, 1, sizes);
}

/* -- Operators ------------------------------------------------------------ */

ST_BOXED(st__box_batch_norm) {
  const batch b = read_batch(args, 0);
  if (b.input->numel == 0 && b.input->ndim < 2) return copy_empty(&b, rets);
  return run_batch(&b, rets);
}

ST_BOXED(st__box_batch_norm_forward) {
  batch b = {0};
  ST_ARGS_TO(b, TENSOR(input), TENSOR(weight), TENSOR(bias), TENSOR(mean),
             TENSOR(var), BOOL(is_measured), FLOAT(eps));
  ST_TRY(check_batch(&b));
  st_op_scope c = {.n = 0};
  statistics m = {NULL, NULL};
  st_tensor *x = composed(&c, &b, &m);
  st_tensor *of[] = {m.mean, m.var};
  for (int i = 0; i < 2; i++) {
    of[i] = by_channel(&c, &b, of[i]);
    if (!b.is_measured) of[i] = st__apply1(&c, ST_OP_clone, of[i]);
  }
  return st__scope_end(&c, 3, (st_tensor *[]){x, of[0], of[1]}, rets);
}

ST_BOXED(st__box_instance_norm) {
  const batch b = read_batch(args, 2);
  return run_batch(&b, rets);
}

/* The results, of which there are n: the normalized input; the means and 1 /
 * the standard deviations, which are empty without training; what cuDNN keeps
 * for the backward pass, nothing. */
static void run_native(st_op_scope *c, const batch *b, int n,
                       st_tensor **out) {
  statistics m = {NULL, NULL};
  out[0] = normalized(c, b, &m);
  if (!st__scope_ok(c)) return;
  const st_tensor *of[] = {m.mean, inverse_root(c, m.var, b->eps)};
  for (int i = 0; i < 2; i++) {
    out[i + 1] = b->is_measured
                   ? by_channel(c, b, of[i])
                   : ST_APPLY(c, ST_OP_new_zeros, of[i], ST_INTS(0));
  }
  if (n > 3) {
    out[3] = ST_APPLY(c, ST_OP_new_empty, b->input, ST_INTS(0), ST_UINT8);
  }
  update_running(c, b, &m);
}

static st_status return_native(const batch *b, int n, st_value *rets) {
  st_op_scope c = {.status = ST_OK};
  st_tensor *out[4];
  run_native(&c, b, n, out);
  return st__scope_end(&c, n, out, rets);
}

ST_BOXED(st__box_native_batch_norm) {
  const batch b = read_batch(args, 0);
  return return_native(&b, 3, rets);
}

/* The arguments without `training`. */
static batch read_batch_as(const st_value *args, bool is_measured) {
  const st_value all[] = {args[0], args[1], args[2], args[3], args[4],
                          st__of_bool(is_measured), args[5], args[6]};
  return read_batch(all, 0);
}

ST_BOXED(st__box_native_batch_norm_legit_no_training) {
  const batch b = read_batch_as(args, false);
  return return_native(&b, 3, rets);
}

ST_BOXED(st__box_batch_norm_no_update) {
  const batch b = read_batch_as(args, false);
  return return_native(&b, 4, rets);
}

ST_BOXED(st__box_batch_norm_with_update) {
  const batch b = read_batch_as(args, true);
  return return_native(&b, 4, rets);
}

/* The same for copies of the running statistics, which it returns. */
ST_BOXED(st__box_batch_norm_with_update_functional) {
  batch b = read_batch_as(args, true);
  st_op_scope c = {.status = ST_OK};
  st_tensor *out[6];
  out[4] = b.mean = st__apply1(&c, ST_OP_clone, b.mean);
  out[5] = b.var = st__apply1(&c, ST_OP_clone, b.var);
  if (st__scope_ok(&c)) run_native(&c, &b, 4, out);
  return st__scope_end(&c, 6, out, rets);
}
