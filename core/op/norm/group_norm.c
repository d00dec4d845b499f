/* Normalisation over groups of channels; composed of operators, computed in
 * float32 or wider.
 */

#include <inttypes.h>

#include "op/elementwise/result_layout.h"
#include "op/norm/normalization.h"

/* sizes: samples, channels, elements of a channel. */
static st_status check_groups(const st_tensor *input, const int64_t *sizes,
                              int64_t groups) {
  const int64_t channels = sizes[1];
  if (groups <= 0 || channels < 0 || channels % groups != 0) {
    return st__fail(ST_BAD_VALUE, "%" PRId64 " channels cannot be divided into "
                    "%" PRId64 " groups", channels, groups);
  }
  int64_t count;
  ST_TRY(st__numel_of(3, sizes, &count));
  if (count == input->numel) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "input of shape %s does not have %" PRId64 " x "
                  "%" PRId64 " x %" PRId64 " elements", ST_SHAPE_TEXT(input),
                  sizes[0], channels, sizes[2]);
}

/* t, which may be NULL, attached to parameter `to`, if both are recorded: Note
 * [Zero second derivatives]. */
static st_tensor *attached(st_op_scope *c, st_tensor *t, const st_tensor *to) {
  const bool both = t && to && st__is_recorded(t->keys & to->keys);
  return both && st__scope_ok(c) ? st__apply_attached(c, t, to) : t;
}

/* A vector as (channels, 1), or NULL. */
static st_tensor *column(st_op_scope *c, const st_tensor *v) {
  return v ? ST_APPLY(c, ST_OP_reshape, v, ST_INTS(-1, 1)) : NULL;
}

/* The arguments of group_norm. */
typedef struct grouping {
  st_tensor *input;
  const st_tensor *weight, *bias; /* one element per channel, or NULL */
  int64_t n, channels, size, groups;
  double eps;
} grouping;

/* The elements of each group as (n, groups, elements). If all channels of a
 * channels_last input are one group, it is read as it lies: the sums round in
 * another order. */
static st_tensor *group_rows(st_op_scope *c, const grouping *g,
                             st_tensor *x) {
  const int64_t grouped[] = {g->n, g->groups,
                             g->channels / g->groups * g->size};
  if (!st__scope_ok(c)) return NULL;
  if (g->groups == 1 && x->ndim == 4 && x->sizes[0] == g->n &&
      st__is_contiguous_in(x, ST_FORMAT_CHANNELS_LAST)) {
    x = ST_APPLY(c, ST_OP_permute, x, ST_INTS(0, 2, 3, 1));
  }
  return st__apply_reshape(c, x, 3, grouped);
}

/* x for the last step: the rows, if they are a copy of it that already has the
 * layout of the result. */
static st_tensor *laid_out(st_op_scope *c, const grouping *g, st_tensor *x,
                           const st_tensor *rows) {
  if (!st__scope_ok(c) || rows->storage == x->storage ||
      st__suggest_format(g->input, false) != ST_FORMAT_CONTIGUOUS) {
    return x;
  }
  return st__apply_reshape(c, rows, g->input->ndim, g->input->sizes);
}

/* The same operations in the order of the derivatives, for calls that are
 * recorded. */
static st_tensor *grouped_steps(st_op_scope *c, const grouping *g,
                                const st_tensor *x, const st_tensor *mean,
                                const st_tensor *rstd) {
  x = ST_APPLY(c, ST_OP_reshape, x,
               ST_INTS(g->n, g->groups, g->channels / g->groups * g->size));
  st_tensor *y = standardised(c, x, mean, rstd);
  y = attached(
    c, ST_APPLY(c, ST_OP_reshape, y, ST_INTS(g->n, g->channels, g->size)),
    g->bias);
  st_tensor *factor = attached(c, column(c, g->weight), g->weight);
  y = affine(c, y, attached(c, factor, g->bias), column(c, g->bias));
  return st__apply_reshape(c, y, g->input->ndim, g->input->sizes);
}

/* t, (n, groups, 1) or channels, as (n, groups, channels of a group) or with n
 * and groups for which it broadcasts. */
static st_tensor *by_channel(st_op_scope *c, const grouping *g,
                             const st_tensor *t) {
  return t ? ST_APPLY(c, ST_OP_reshape, t,
                      ST_INTS(1, g->groups, g->channels / g->groups))
           : NULL;
}

/* With scale = weight rstd the result is x scale + (bias - mean scale): one
 * pass over x, in any layout; all else has one element per channel. As in ATen,
 * digits cancel where the mean is far larger than the deviation. */
static st_tensor *grouped_once(st_op_scope *c, const grouping *g,
                               st_tensor *x, const st_tensor *mean,
                               const st_tensor *rstd) {
  const st_tensor *weight = by_channel(c, g, g->weight);
  const st_tensor *bias = by_channel(c, g, g->bias), *scale = rstd;
  int64_t sizes[ST_MAX_DIMS] = {g->n, g->channels};
  for (int d = 2; d < g->input->ndim; d++) sizes[d] = 1;
  if (weight) scale = st__mul(c, scale, weight);
  const st_tensor *shift = st__mul(c, mean, scale);
  shift = bias ? st__minus(c, bias, shift) : st__apply1(c, ST_OP_neg, shift);
  const st_tensor *both[] = {scale, shift};
  for (int i = 0; i < 2; i++) {
    both[i] = ST_APPLY(c, ST_OP_expand, both[i],
                       ST_INTS(g->n, g->groups, g->channels / g->groups));
    both[i] = st__apply_reshape(c, both[i], g->input->ndim, sizes);
  }
  return affine(c, x, both[0], both[1]);
}

/* True if the input has the shape (n, channels, ...) and no gradient. */
static bool is_one_pass(const grouping *g) {
  const st_tensor *x = g->input;
  uint64_t keys = x->keys;
  if (g->weight) keys |= g->weight->keys;
  if (g->bias) keys |= g->bias->keys;
  return x->numel > 0 && x->ndim >= 2 && x->sizes[0] == g->n &&
         x->sizes[1] == g->channels && !st__is_recorded(keys);
}

static st_status check_group(const grouping *g) {
  const int64_t separate[] = {g->n, g->channels, g->size};
  ST_TRY(check_groups(g->input, separate, g->groups));
  ST_TRY(check_parameter(g->weight, "weight", &g->channels, 1));
  return check_parameter(g->bias, "bias", &g->channels, 1);
}

ST_BOXED(st__box_native_group_norm) {
  grouping g = {.input = st__next_tensor(&args)};
  st_tensor *mean = NULL, *var = NULL;
  ST_ARGS_TO(g, TENSOR(weight), TENSOR(bias), INT(n), INT(channels), INT(size),
             INT(groups), FLOAT(eps));
  ST_TRY(check_group(&g));
  const int64_t stats[] = {g.n, g.groups};
  st_op_scope c = {.n = 0};
  const st_tensor *input = g.input;
  st_tensor *x = precise(&c, g.input), *rows = group_rows(&c, &g, x);
  moments(&c, rows, ST_INTS(-1), &mean, &var);
  const st_tensor *rstd = inverse_root(&c, var, g.eps);
  if (st__scope_ok(&c)) {
    x = is_one_pass(&g)
      ? grouped_once(&c, &g, laid_out(&c, &g, x, rows), mean, rstd)
      : grouped_steps(&c, &g, x, mean, rstd);
  }
  const st_format format = st__suggest_format(input, false);
  x = ST_APPLY(&c, ST_OP_contiguous, x, format);
  if (format == ST_FORMAT_CONTIGUOUS) x = st__apply_fresh(&c, x);
  st_tensor *const results[] = {
    as_dtype_of(&c, x, input),
    as_dtype_of(&c, st__apply_reshape(&c, mean, 2, stats), input),
    as_dtype_of(&c, st__apply_reshape(&c, rstd, 2, stats), input)};
  return st__scope_end(&c, 3, results, rets);
}

ST_BOXED(st__box_group_norm) {
  ST_ARGS(TENSOR(input), VALUE(num_groups), VALUE(weight), VALUE(bias),
          VALUE(eps));
  int64_t size = 1;
  if (input->ndim < 2) {
    return st__fail(ST_BAD_SHAPE, "input needs two dimensions, its shape is "
                    "%s", ST_SHAPE_TEXT(input));
  }
  for (int d = 2; d < input->ndim; d++) size *= input->sizes[d];
  const int64_t groups = num_groups.u.i, rows = input->sizes[0];
  if (groups > 0 && rows * input->sizes[1] / groups * size == 1) {
    return st__fail(ST_BAD_SHAPE, "input of shape %s has one value per group, "
                    "which has no variance", ST_SHAPE_TEXT(input));
  }
  const st_value native[] = {
    st__of_tensor(input), weight, bias, st__of_int(input->sizes[0]),
    st__of_int(input->sizes[1]), st__of_int(size), num_groups, eps};
  return first_of(ST_OP_native_group_norm, 8, native, rets);
}
