/* Random numbers of gamma and Dirichlet distributions.
 *
 * Source: G. Marsaglia, W. W. Tsang, "A Simple Method for Generating Gamma
 * Variables", ACM Transactions on Mathematical Software 26, 2000. A seed gives
 * PyTorch's numbers, so its constants in float32 are kept; in float64 the last
 * bits may differ: Note [Functions of random numbers].
 */

#include <float.h>
#include <math.h>

#include "op/create/factory.h"
#include "op/random/random.h"
#include "op/row/composite.h"

/* -- Numbers -------------------------------------------------------------- */

/* Uniform numbers that two numbers take, whose normal numbers are of a pair,
 * for shapes from 1 on; others take one more each. */
enum { STEP = 4 };

/* For shapes from 1 on; d is the shape less 1/3. */
static double squeeze(st_window *w, double d, int step) {
  const double c = 1 / sqrt(9 * d);
  for (;;) {
    double x, y;
    do {
      x = st__window_normal(w, step);
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y, u = 1 - st__window_uniform(w), xx = x * x;
    if (u < 1 - 0.0331f * xx * xx) return d * v;
    if (log(u) < 0.5 * xx + d * (1 - v + log(v))) return d * v;
  }
}

/* A shape s below 1 has the number of s + 1, times a uniform number to the
 * power 1 / s. */
static double gamma_number(st_window *w, double shape, double d,
                           double inverse) {
  if (shape >= 1) return squeeze(w, d, STEP);
  if (shape == 0) return 0;
  const double scale = pow(1 - st__window_uniform(w), inverse);
  return scale * squeeze(w, d, STEP + 2);
}

static void gammas_f8(st_window *w, const double *shape,
                      __attribute__((unused)) const double *none, double *out,
                      int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const double s = shape[i], d = (s >= 1 ? s : s + 1) - 1.0f / 3.0f;
    out[i] = gamma_number(w, s, d, 1 / s);
  }
}

/* In float32 PyTorch rounds each parameter. Numbers that are rounded hide the
 * bits of normal ones, but for the one that is kept. */
static void gammas_f4(st_window *w, const double *shape,
                      __attribute__((unused)) const double *none, double *out,
                      int64_t n) {
  w->is_exact = true;
  for (int64_t i = 0; i < n; i++) {
    const float s = (float)shape[i], d = (s >= 1 ? s : s + 1) - 1.0f / 3.0f;
    out[i] = gamma_number(w, s, d, 1 / s);
  }
}

/* -- Tensors -------------------------------------------------------------- */

static st_status check_shapes(const st_tensor *shape) {
  const double *a = (const double *)(const void *)st__data(shape);
  bool good = true;
  for (int64_t i = 0; i < shape->numel; i++) {
    good &= (a[i] >= 0) & (a[i] <= DBL_MAX);
  }
  for (int64_t i = 0; !good && i < shape->numel; i++) {
    if (a[i] >= 0 && a[i] <= DBL_MAX) continue;
    return st__fail(ST_BAD_VALUE, "self must be finite and not negative, an "
                    "element is %g", a[i]);
  }
  return ST_OK;
}

/* Gamma numbers in float64 with the shapes in self. */
static st_tensor *gammas(st_op_scope *c, const st_tensor *self,
                         const st_value *generator, st_sampler by) {
  const st_tensor *shape = st__apply1(c, ST_OP_contiguous,
                                      st__apply_to(c, self, ST_FLOAT64));
  st_tensor *out = st__apply1(c, ST_OP_empty_like, shape);
  if (!st__scope_ok(c) || !st__has_elements(self)) return out;
  c->status = check_shapes(shape);
  if (st__scope_ok(c)) {
    c->status = st__random_sample(out, shape, shape, by,
                                  st__generator_of(generator));
  }
  return out;
}

st_status st__check_floats(const st_tensor *self) {
  ST_TRY(st__check_cpu_or_meta(self));
  return st__is_floating(self->dtype) ? ST_OK : st__no_kernel_for(self->dtype);
}

static double tiny(st_dtype dtype) {
  switch (dtype) {
    case ST_FLOAT64: return DBL_MIN;
    case ST_FLOAT16: return 0x1p-14;
    default: return FLT_MIN;
  }
}

/* The number before 1. */
static double almost_one(st_dtype dtype) {
  switch (dtype) {
    case ST_FLOAT64: return 1 - 0x1p-53;
    case ST_FLOAT32: return 1 - 0x1p-24;
    case ST_FLOAT16: return 1 - 0x1p-11;
    default: return 1 - 0x1p-8;
  }
}

ST_BOXED(st__box__standard_gamma) {
  ST_ARGS(TENSOR(self));
  st_op_scope c = {.n = 0};
  ST_TRY(st__check_floats(self));
  const bool wide = self->dtype == ST_FLOAT64;
  st_tensor *out = gammas(&c, self, st__next(&args),
                          wide ? gammas_f8 : gammas_f4);
  out = st__apply_to(&c, out, self->dtype);
  out = ST_APPLY(&c, ST_OP_clamp_min, out, st__of_float(tiny(self->dtype)));
  return st__scope_return(&c, out, rets);
}

ST_BOXED(st__box__sample_dirichlet) {
  ST_ARGS(TENSOR(self));
  st_op_scope c = {.n = 0};
  ST_TRY(st__check_floats(self));
  const st_tensor *x = gammas(&c, self, st__next(&args), gammas_f8);
  x = ST_APPLY(&c, ST_OP_clamp_min, x, st__of_float(DBL_MIN));
  st_tensor *out = st__div(
    &c, x,
    ST_APPLY(&c, ST_OP_sum_dim_IntList, x, ST_INTS(-1), st__of_bool(true)));
  return st__scope_return(&c,
                          ST_APPLY(&c, ST_OP_clamp,
                                   st__apply_to(&c, out, self->dtype),
                                   st__of_float(tiny(self->dtype)),
                                   st__of_float(almost_one(self->dtype))),
                          rets);
}
