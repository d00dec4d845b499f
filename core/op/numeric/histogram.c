/* bincount and histc.
 */

#include <inttypes.h>
#include <math.h>

#include "base/interrupt.h"
#include "op/create/copy_clone_to.h"
#include "op/create/factory.h"
#include "op/reduce/reduction.h"
#include "op/row/composite.h"

/* -- bincount ------------------------------------------------------------- */

static st_status check_bins(const st_tensor *self, const st_tensor *weights,
                            int64_t minlength) {
  const st_dtype d = self->dtype;
  if (!st__is_integral(d)) return st__no_kernel_for(d);
  if (minlength < 0) {
    return st__fail(ST_BAD_VALUE, "minlength must not be negative, it is %"
                    PRId64, minlength);
  }
  if (self->ndim != 1) {
    return st__fail(ST_BAD_SHAPE, "self must be a vector, its shape is %s",
                    ST_SHAPE_TEXT(self));
  }
  if (weights && !st__same_sizes(self, weights)) {
    return st__fail(ST_BAD_SHAPE, "weights of shape %s for %" PRId64 " "
                    "elements", ST_SHAPE_TEXT(weights), self->numel);
  }
  if (weights && st__is_complex(weights->dtype)) {
    return st__no_kernel_for(weights->dtype);
  }
  return ST_OK;
}

enum { BLOCK = 1 << 16 }; /* elements between two questions whether to stop */

static st_status no_bin(int64_t i, int64_t x, int64_t base) {
  if (x >= 0 && x < base) {
    return st__fail(ST_BAD_VALUE, "element %" PRId64 " of self is %" PRId64
                    ", but values count from %" PRId64 ", as positions do: "
                    "{base = 0} makes them count from 0", st__display_index(i),
                    x, base);
  }
  return st__fail(ST_BAD_VALUE, "element %" PRId64 " of self is %" PRId64
                  ", which is not the index of a bin", st__display_index(i), x);
}

/* Counts the bins that the n elements need, at least `least`. Bin 0 is that of
 * the value base. */
static st_status count_bins(const int64_t *p, int64_t n, int64_t base,
                            int64_t least, int64_t *bins) {
  *bins = least;
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = (int64_t)((uint64_t)p[i] - (uint64_t)base);
    if (p[i] < 0 || at < 0 || at == INT64_MAX) return no_bin(i, p[i], base);
    if (at >= *bins) *bins = at + 1;
    if (i % BLOCK == BLOCK - 1) ST_TRY(st__poll_interrupt());
  }
  return ST_OK;
}

/* Adds n elements to their bins. weights may be NULL. */
static void add_some(const int64_t *p, const st_tensor *weights, int64_t from,
                     int64_t n, int64_t base, const st_tensor *out) {
  void *to = st__data(out);
  p += from;
  if (!weights) {
    for (int64_t i = 0; i < n; i++) ((int64_t *)to)[p[i] - base]++;
  } else if (out->dtype == ST_FLOAT32) {
    const float *w = (const float *)(const void *)st__data(weights) + from;
    for (int64_t i = 0; i < n; i++) ((float *)to)[p[i] - base] += w[i];
  } else {
    const double *w = (const double *)(const void *)st__data(weights) + from;
    for (int64_t i = 0; i < n; i++) ((double *)to)[p[i] - base] += w[i];
  }
}

static st_status add_up(const st_tensor *self, const st_tensor *weights,
                        int64_t base, const st_tensor *out) {
  const int64_t *p = (const int64_t *)(const void *)st__data(self);
  const int64_t n = self->numel;
  for (int64_t at = 0; at < n; at += BLOCK) {
    add_some(p, weights, at, n - at < BLOCK ? n - at : BLOCK, base, out);
    ST_TRY(st__poll_interrupt());
  }
  return ST_OK;
}

static st_status bincount(const st_tensor *self, const st_tensor *weights,
                          int64_t minlength, int64_t base, st_value *rets) {
  const st_dtype dtype = !weights ? ST_INT64
                       : weights->dtype == ST_FLOAT32 ? ST_FLOAT32
                                                      : ST_FLOAT64;
  const bool has_elements = st__has_elements(self) &&
                            (!weights || st__has_elements(weights));
  st_op_scope c = {.status = check_bins(self, weights, minlength)};
  int64_t bins = minlength;
  if (st__scope_ok(&c) && !has_elements && !st__may_lack_size()) {
    c.status = st__fail(ST_BAD_STATE, "the number of bins depends on values, "
                        "which a meta tensor does not have");
  }
  self = st__apply1(&c, ST_OP_contiguous, st__apply_to(&c, self, ST_INT64));
  if (weights) {
    weights = st__apply1(&c, ST_OP_contiguous,
                         st__apply_to(&c, weights, dtype));
  }
  if (st__scope_ok(&c) && has_elements) {
    c.status = count_bins((const int64_t *)(const void *)st__data(self),
                          self->numel, base, minlength, &bins);
  }
  st_tensor *out = st__scope_new(&c, st__meta_or(weights, self), dtype, 1,
                                 &bins);
  if (st__scope_ok(&c)) c.status = st__fill_new(out, st__scalar_int(0));
  if (st__scope_ok(&c) && has_elements) {
    c.status = add_up(self, weights, base, out);
  }
  return st__scope_return(&c, out, rets);
}
ST_TYPED_ARGS(st__box_bincount, bincount, (TENSOR, OPT_TENSOR, INT, INT))

/* -- histc ---------------------------------------------------------------- */

st_status st__histc_meta(st_run *r) {
  const st_value *args = r->args;
  ST_ARGS(TENSOR(self), INT(bins), SCALAR(min), SCALAR(max));
  const st_dtype d = self->dtype;
  if (!st__is_floating(d)) return st__no_kernel_for(d);
  if (bins <= 0) {
    return st__fail(ST_BAD_VALUE, "bins must be positive, it is %" PRId64,
                    bins);
  }
  ST_TRY(st__check_scalar_named("min", min, d));
  ST_TRY(st__check_scalar_named("max", max, d));
  ST_TRY(st__set_output(r, 0, 1, &bins, NULL, d));
  return st__forbid_alias(r, 0, self);
}

/* range holds min and max. If they are equal, sets it to the least and the
 * greatest element. */
static st_status histogram_range(const st_tensor *self, double range[2]) {
  const st_value all = st__of_tensor(self);
  st_op_scope c = {.n = 0};
  st_tensor *ends[2];
  if (range[0] == range[1] && self->numel > 0) {
    st__apply_multi(&c, ST_OP_aminmax, 1, &all, 2, ends);
    for (int i = 0; st__scope_ok(&c) && i < 2; i++) {
      range[i] = st__scalar_to_double(
        st__scalar_load(self->dtype, st__data(ends[i])));
    }
    ST_TRY(st__scope_end(&c, 0, NULL, NULL));
  }
  if (range[0] == range[1]) range[0] -= 1, range[1] += 1;
  if (!isfinite(range[0]) || !isfinite(range[1])) {
    return st__fail(ST_BAD_VALUE, "the range from %g to %g is not finite",
                    range[0], range[1]);
  }
  if (range[0] < range[1]) return ST_OK;
  return st__fail(ST_BAD_VALUE, "max must be larger than min");
}

/* Counts in the precision of the elements, as ATen does, so that elements at
 * an edge go to the same bin. NaN is outside the range. */
#define COUNT(T)                                                            \
  static void count_##T(const T *p, int64_t n, const double range[2],       \
                        int64_t *to, int64_t bins) {                        \
    const T low = (T)range[0], high = (T)range[1];                          \
    for (int64_t i = 0; i < n; i++) {                                       \
      if (!(p[i] >= low && p[i] <= high)) continue;                         \
      const T at = (p[i] - low) * (T)bins / (high - low);                   \
      to[at < (T)bins ? (int64_t)at : bins - 1]++;                          \
    }                                                                       \
  }
COUNT(float)
COUNT(double)

st_status st__histc_impl(st_run *r) {
  const st_value *args = r->args;
  ST_ARGS(TENSOR(self));
  st_tensor *out = r->out[0];
  const st_dtype d = self->dtype;
  st__next(&args); /* bins, the size of out */
  ST_ARGS(SCALAR(min), SCALAR(max));
  double range[] = {st__scalar_to_double(min), st__scalar_to_double(max)};
  st_op_scope c = {.n = 0};
  ST_TRY(histogram_range(self, range));
  self = st__apply_to(&c, self, d == ST_FLOAT64 ? d : ST_FLOAT32);
  self = st__apply1(&c, ST_OP_contiguous, self);
  const st_tensor *counts =
    ST_APPLY(&c, ST_OP_zeros, st__of_ints(out->sizes, 1), ST_INT64);
  if (st__scope_ok(&c)) {
    const void *p = st__data(self);
    int64_t *to = (int64_t *)(void *)st__data(counts);
    if (d == ST_FLOAT64) count_double(p, self->numel, range, to, out->numel);
    else count_float(p, self->numel, range, to, out->numel);
    c.status = st__copy(out, counts);
  }
  return st__scope_end(&c, 0, NULL, NULL);
}
