/* Random numbers of gamma and Dirichlet distributions.
 *
 * Source: G. Marsaglia, W. W. Tsang, "A Simple Method for Generating Gamma
 * Variables", ACM Transactions on Mathematical Software 26, 2000. A seed gives
 * PyTorch's numbers, so its constants in float32 are kept.
 */

#include <float.h>
#include <math.h>

#include "op/create/factory.h"
#include "op/random/random.h"
#include "op/registry/composite.h"

/* -- One number ----------------------------------------------------------- */

/* For shapes from 1 on; d is the shape less 1/3. */
static double squeeze(st_source *s, double d) {
  const double c = 1 / sqrt(9 * d);
  for (;;) {
    double x, y;
    do {
      x = st__random_normal(s);
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y, u = 1 - st__random_uniform(s), xx = x * x;
    if (u < 1 - 0.0331f * xx * xx) return d * v;
    if (log(u) < 0.5 * xx + d * (1 - v + log(v))) return d * v;
  }
}

/* A number's parameters: a shape s below 1 has the number of s + 1, times a
 * uniform number to the power 1 / s. In float32 PyTorch rounds each. */
typedef struct parameters { double shape, d; bool is_single; } parameters;

static parameters of_f8(double shape) {
  const double d = (shape >= 1 ? shape : shape + 1) - 1.0f / 3.0f;
  return (parameters){shape, d, false};
}

static parameters of_f4(double wide) {
  const float shape = (float)wide;
  const float d = (shape >= 1 ? shape : shape + 1) - 1.0f / 3.0f;
  return (parameters){shape, d, true};
}

static double factor(parameters p, double u) {
  return pow(1 - u, p.is_single ? 1 / (float)p.shape : 1 / p.shape);
}

static double gamma_number(st_source *s, parameters p) {
  if (p.shape >= 1) return squeeze(s, p.d);
  if (p.shape == 0) return 0;
  const double scale = factor(p, st__random_uniform(s));
  return scale * squeeze(s, p.d);
}

static double gamma_f8(st_source *s, double shape,
                       __attribute__((unused)) double none) {
  return gamma_number(s, of_f8(shape));
}

static double gamma_f4(st_source *s, double shape,
                       __attribute__((unused)) double none) {
  return gamma_number(s, of_f4(shape));
}

/* -- The numbers of some streams ------------------------------------------ */

/* The first x of squeeze, which begins with uniform number first[k]. The calls
 * of a loop of one function overlap. */
static void first_normals(const st_streams *streams, const int *first,
                          double *x) {
  const int n = streams->n;
  double theta[ST_STREAMS], radius[ST_STREAMS];
  for (int k = 0; k < n; k++) {
    const double u1 = st__stream_uniform(streams, k, first[k]);
    theta[k] = 2.0 * 3.14159265358979323846 * u1;
    radius[k] = -st__stream_uniform(streams, k, first[k] + 1);
  }
  for (int k = 0; k < n; k++) radius[k] = sqrt(-2.0 * log1p(radius[k]));
  for (int k = 0; k < n; k++) x[k] = radius[k] * cos(theta[k]);
}

/* gamma_number(p[k]); nearly always the first x and u are taken. */
static void some_gammas(st_source *s, const st_streams *streams,
                        const parameters *p, double *out) {
  const int n = streams->n;
  double x[ST_STREAMS], c[ST_STREAMS];
  int first[ST_STREAMS];
  for (int k = 0; k < n; k++) {
    first[k] = p[k].shape < 1;
    c[k] = 1 / sqrt(9 * p[k].d);
  }
  first_normals(streams, first, x);
  for (int k = 0; k < n; k++) {
    const double y = 1 + c[k] * x[k], v = y * y * y, xx = x[k] * x[k];
    const double u = 1 - st__stream_uniform(streams, k, first[k] + 2);
    if (y <= 0 || u >= 1 - 0.0331f * xx * xx) {
      st__random_stream(s, streams, k);
      out[k] = gamma_number(s, p[k]);
    } else if (p[k].shape >= 1) {
      out[k] = p[k].d * v;
    } else {
      const double scale = factor(p[k], st__stream_uniform(streams, k, 0));
      out[k] = p[k].shape == 0 ? 0 : scale * (p[k].d * v);
    }
  }
}

static void some_f8(st_source *s, const st_streams *streams,
                    const double *shape, double *out) {
  parameters p[ST_STREAMS];
  for (int k = 0; k < streams->n; k++) p[k] = of_f8(shape[k]);
  some_gammas(s, streams, p, out);
}

static void some_f4(st_source *s, const st_streams *streams,
                    const double *shape, double *out) {
  parameters p[ST_STREAMS];
  for (int k = 0; k < streams->n; k++) p[k] = of_f4(shape[k]);
  some_gammas(s, streams, p, out);
}

static const st_sampler numbers_f8 = {gamma_f8, some_f8, 2};
static const st_sampler numbers_f4 = {gamma_f4, some_f4, 2};

/* -- Tensors -------------------------------------------------------------- */

static st_status check_shapes(const st_tensor *shape) {
  const double *a = (const double *)(const void *)st__data(shape);
  for (int64_t i = 0; i < shape->numel; i++) {
    if (a[i] >= 0 && isfinite(a[i])) continue;
    return st__fail(ST_BAD_VALUE, "self must be finite and not negative, an "
                    "element is %g", a[i]);
  }
  return ST_OK;
}

/* Gamma numbers in float64 with the shapes in self. */
static st_tensor *gammas(st_op_scope *c, const st_tensor *self,
                         const st_value *generator, const st_sampler *by) {
  const st_tensor *shape = st__apply1(c, ST_OP_contiguous,
                                      st__apply_to(c, self, ST_FLOAT64));
  st_tensor *out = st__apply1(c, ST_OP_empty_like, shape);
  if (!st__scope_ok(c) || st__is_meta(self)) return out;
  c->status = check_shapes(shape);
  if (st__scope_ok(c)) {
    c->status = st__random_sample(out, shape, shape, by,
                                  st__generator_of(generator));
  }
  return out;
}

static st_status check_floats(const st_tensor *self) {
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
  const st_tensor *self = st__next_tensor(&args);
  st_op_scope c = {.n = 0};
  ST_TRY(check_floats(self));
  const bool wide = self->dtype == ST_FLOAT64;
  st_tensor *out = gammas(&c, self, st__next(&args),
                          wide ? &numbers_f8 : &numbers_f4);
  out = st__apply_to(&c, out, self->dtype);
  out = st__apply_with(&c, ST_OP_clamp_min, out,
                       st__of_float(tiny(self->dtype)));
  return st__scope_return(&c, out, rets);
}

ST_BOXED(st__box__sample_dirichlet) {
  const st_tensor *self = st__next_tensor(&args);
  const int64_t last = -1;
  st_op_scope c = {.n = 0};
  ST_TRY(check_floats(self));
  const st_tensor *x = gammas(&c, self, st__next(&args), &numbers_f8);
  x = st__apply_with(&c, ST_OP_clamp_min, x, st__of_float(DBL_MIN));
  const st_value sum[] = {st__of_tensor(x), st__of_ints(&last, 1),
                          st__of_bool(true)};
  st_tensor *out = st__apply2(&c, ST_OP_div_Tensor, x,
                              st__apply(&c, ST_OP_sum_dim_IntList, 3, sum));
  const st_value clamp[] = {
    st__of_tensor(st__apply_to(&c, out, self->dtype)),
    st__of_float(tiny(self->dtype)), st__of_float(almost_one(self->dtype))};
  return st__scope_return(&c, st__apply(&c, ST_OP_clamp, 3, clamp), rets);
}
