/* Random numbers that are functions of one uniform or normal number: Cauchy,
 * geometric, log-normal.
 *
 * Source: L. Devroye, "Non-Uniform Random Variate Generation", Springer, 1986,
 * chapter II (inversion). A seed gives PyTorch's numbers, as far as the C
 * library's tan, log and exp agree with PyTorch's.
 */

#include <math.h>

#include "op/create/factory.h"
#include "op/random/random.h"

#define PI 3.14159265358979323846

/* -- Of a uniform number -------------------------------------------------- */

typedef struct transform {
  double (*fn)(double u, double a, double b);
  double a, b;
} transform;

static double to_cauchy(double u, double median, double sigma) {
  return median + sigma * tan(PI * (u - 0.5));
}

/* scale: 1 / log(1 - p). */
static double to_geometric(double u, double scale,
                           __attribute__((unused)) double none) {
  return ceil(log(u) * scale);
}

/* A st_draw's make: float64 numbers of pairs of words. */
static void transform_loop(char **data, const int64_t *strides, int64_t n0,
                           int64_t n1, const void *ctx) {
  const transform *t = ctx;
  for (int64_t j = 0; j < n1; j++) {
    char *p = data[0] + j * strides[2];
    const char *words = data[1] + j * strides[3];
    for (int64_t i = 0; i < n0; i++) {
      const double u = st__unit_double((const uint32_t *)(const void *)words +
                                       2 * i);
      *(double *)(void *)(p + i * strides[0]) = t->fn(u, t->a, t->b);
    }
  }
}

static st_status fill_transformed(st_tensor *t, const st_value *generator,
                                  const transform *f) {
  const st_draw d = {.make = transform_loop, .ctx = f, .words = 2,
                     .made = ST_FLOAT64, .dtype = t->dtype};
  return st__random_draw(t, &d, st__generator_of(generator));
}

static st_status check_floating(const st_tensor *t) {
  ST_TRY(st__check_cpu_or_meta(t));
  return st__is_floating(t->dtype) ? ST_OK : st__no_kernel_for(t->dtype);
}

ST_BOXED(st__box_cauchy_) {
  st_tensor *self = st__next_tensor(&args);
  transform f = {.fn = to_cauchy};
  f.a = st__next_float(&args);
  f.b = st__next_float(&args);
  ST_TRY(check_floating(self));
  if (!(f.b > 0)) {
    return st__fail(ST_BAD_VALUE, "sigma must be positive, it is %g", f.b);
  }
  ST_TRY(fill_transformed(self, st__next(&args), &f));
  return st__return_tensor(self, rets);
}

ST_BOXED(st__box_geometric_) {
  st_tensor *self = st__next_tensor(&args);
  const double p = st__next_float(&args);
  const transform f = {.fn = to_geometric, .a = 1 / log1p(-p)};
  ST_TRY(st__check_cpu_or_meta(self));
  if (self->dtype == ST_BOOL || st__is_complex(self->dtype)) {
    return st__no_kernel_for(self->dtype);
  }
  if (!(p > 0 && p < 1)) {
    return st__fail(ST_BAD_VALUE, "p must be between 0 and 1, it is %g", p);
  }
  ST_TRY(fill_transformed(self, st__next(&args), &f));
  return st__return_tensor(self, rets);
}

/* -- Of a normal number --------------------------------------------------- */

ST_BOXED(st__box_log_normal_) {
  st_tensor *self = st__next_tensor(&args);
  const double mean = st__next_float(&args), std = st__next_float(&args);
  st_generator *g = st__generator_of(st__next(&args));
  ST_TRY(check_floating(self));
  if (!(std > 0)) {
    return st__fail(ST_BAD_VALUE, "std must be positive, it is %g", std);
  }
  ST_TRY(st__random_draw_normal(self, mean, std, exp, g));
  return st__return_tensor(self, rets);
}
