/* Random numbers that are functions of one uniform or normal number: Cauchy,
 * exponential, geometric, log-normal.
 *
 * Source: L. Devroye, "Non-Uniform Random Variate Generation", Springer, 1986,
 * chapter II (inversion). A seed gives PyTorch's numbers, except for the last
 * bits of exponential ones in float64: Note [Functions of random numbers].
 */

#include <math.h>

#include "op/create/factory.h"
#include "op/random/random.h"

/* -- Of a uniform number -------------------------------------------------- */

/* make: a st_draw's, of float64 numbers of pairs of words. */
static st_status fill_transformed(st_tensor *t, const st_value *generator,
                                  st_loop make, double a, double b) {
  const st_transform_ctx c = {a, b};
  const st_draw d = {.make = make, .ctx = &c, .words = 2,
                     .made = ST_FLOAT64, .dtype = t->dtype};
  return st__random_draw(t, &d, st__generator_of(generator));
}

static st_status cauchy(st_tensor *self, double median, double sigma,
                        const st_value *generator) {
  ST_TRY(st__check_floats(self));
  if (!(sigma > 0)) {
    return st__fail(ST_BAD_VALUE, "sigma must be positive, it is %g", sigma);
  }
  const st_kernel_id id = self->dtype == ST_FLOAT64 ? ST_K_exact_cauchy_words
                                                    : ST_K_cauchy_words;
  return fill_transformed(self, generator, st__kernel(id, ST_FLOAT64), median,
                          sigma);
}
ST_TYPED_INPLACE(st__box_cauchy_, cauchy, (TENSOR, FLOAT, FLOAT, VALUE))

static st_status exponential(st_tensor *self, double lambd,
                             const st_value *generator) {
  ST_TRY(st__check_floats(self));
  if (!(lambd > 0)) {
    return st__fail(ST_BAD_VALUE, "lambd must be positive, it is %g", lambd);
  }
  return fill_transformed(self, generator,
                          st__kernel(ST_K_exponential_words, ST_FLOAT64),
                          -1 / lambd, 0);
}
ST_TYPED_INPLACE(st__box_exponential_, exponential, (TENSOR, FLOAT, VALUE))

static st_status geometric(st_tensor *self, double p,
                           const st_value *generator) {
  ST_TRY(st__check_cpu_or_meta(self));
  if (self->dtype == ST_BOOL || st__is_complex(self->dtype)) {
    return st__no_kernel_for(self->dtype);
  }
  if (!(p > 0 && p < 1)) {
    return st__fail(ST_BAD_VALUE, "p must be between 0 and 1, it is %g", p);
  }
  return fill_transformed(self, generator,
                          st__kernel(ST_K_geometric_words, ST_FLOAT64),
                          1 / log1p(-p), 0);
}
ST_TYPED_INPLACE(st__box_geometric_, geometric, (TENSOR, FLOAT, VALUE))

/* -- Of a normal number --------------------------------------------------- */

static st_status log_normal(st_tensor *self, double mean, double std,
                            st_generator *g) {
  ST_TRY(st__check_floats(self));
  if (!(std > 0)) {
    return st__fail(ST_BAD_VALUE, "std must be positive, it is %g", std);
  }
  return st__random_draw_normal(self, mean, std, exp, g);
}
ST_TYPED_INPLACE(st__box_log_normal_, log_normal,
                 (TENSOR, FLOAT, FLOAT, ANY_GENERATOR))
