/* rrelu: leaky_relu with a random slope for each element.
 */

#include <math.h>

#include "op/create/factory.h"
#include "op/random/random.h"
#include "op/row/composite.h"
#include "tensor/overlap.h"

enum { GRAIN = 4096 }; /* elements of a thread */

/* -- Slopes --------------------------------------------------------------- */

typedef struct slopes {
  st_tensor *t;  /* the elements of self, contiguous */
  double lower, range;
} slopes;

static double slope(const slopes *f, st_source *s) {
  return st__random_uniform(s) * f->range + f->lower;
}

/* Positive elements take no number of a Mersenne Twister, as in PyTorch; with
 * Philox every element has one. */
static void draw_range(const void *ctx, st_source *s, int64_t begin,
                       int64_t end) {
  const slopes *f = ctx;
  const bool each = !s->mt;
  st__random_seek(s, (uint64_t)begin * 2);
  for (int64_t i = begin; i < end; i++) {
    if (f->t->dtype == ST_FLOAT32) {
      float *x = (float *)(void *)st__data(f->t) + i;
      const bool positive = !(*x <= 0);
      const double u = each || !positive ? slope(f, s) : 1;
      *x = positive ? 1 : (float)u;
    } else {
      double *x = (double *)(void *)st__data(f->t) + i;
      const bool positive = !(*x <= 0);
      const double u = each || !positive ? slope(f, s) : 1;
      *x = positive ? 1 : u;
    }
  }
}

static double rounded(st_scalar s, st_dtype dtype) {
  const double x = st__scalar_to_double(s);
  return dtype == ST_FLOAT32 ? (double)(float)x : x;
}

static st_status check_bounds(double lower, double upper) {
  if (!isfinite(lower) || !isfinite(upper)) {
    const bool first = !isfinite(lower);
    return st__fail(ST_BAD_VALUE, "%s must be finite, it is %g",
                    first ? "lower" : "upper", first ? lower : upper);
  }
  if (lower <= upper) return ST_OK;
  return st__fail(ST_BAD_VALUE, "lower must be at most upper, they are %g and "
                  "%g", lower, upper);
}

ST_BOXED(st__box_rrelu_slopes) {
  ST_ARGS(TENSOR(self), SCALAR(lower), SCALAR(upper));
  st_generator *g = st__generator_of(st__next(&args));
  slopes f = {.t = NULL};
  ST_TRY(check_bounds(st__scalar_to_double(lower),
                      st__scalar_to_double(upper)));
  ST_TRY(st__check_cpu_or_meta(self));
  if (!st__is_floating(self->dtype)) return st__no_kernel_for(self->dtype);
  const st_dtype dtype = self->dtype == ST_FLOAT64 ? ST_FLOAT64 : ST_FLOAT32;
  f.lower = rounded(lower, dtype);
  f.range = rounded(upper, dtype) - f.lower;
  ST_TRY(st__clone(self, dtype, ST_FORMAT_CONTIGUOUS, &f.t));
  if (st__has_elements(self)) {
    const st_status status = st__random_run(g, self->numel, 2, GRAIN,
                                            draw_range, &f);
    if (status != ST_OK) {
      st__tensor_release(&f.t);
      return status;
    }
  }
  rets[0] = st__of_tensor(f.t);
  return ST_OK;
}

/* -- Operators ------------------------------------------------------------ */

typedef struct rrelu {
  st_tensor *self, *noise; /* noise may be NULL */
  st_value lower, upper, generator;
  bool training, in_place;
} rrelu;

static double mean_slope(const rrelu *r) {
  const st_scalar lower = st__scalar_of(&r->lower);
  const st_scalar upper = st__scalar_of(&r->upper);
  return (st__scalar_to_double(lower) + st__scalar_to_double(upper)) / 2;
}

static st_status check_slopes(const rrelu *r) {
  const st_scalar a = st__scalar_of(&r->lower), b = st__scalar_of(&r->upper);
  ST_TRY(check_bounds(st__scalar_to_double(a), st__scalar_to_double(b)));
  if (!r->noise) return ST_OK;
  if (!st__same_sizes(r->self, r->noise)) {
    return st__fail(ST_BAD_SHAPE, "noise must have self's shape %s, not %s",
                    ST_SHAPE_TEXT(r->self), ST_SHAPE_TEXT(r->noise));
  }
  if (!r->training) return ST_OK;
  if (r->noise->dtype != r->self->dtype) {
    return st__fail(ST_BAD_DTYPE, "noise must be %s, as self is, not %s",
                    st__dtype_name(r->self->dtype),
                    st__dtype_name(r->noise->dtype));
  }
  if (r->noise->device != r->self->device) {
    return st__fail(ST_BAD_VALUE, "noise must be on self's device");
  }
  return st__check_internal_overlap(r->noise);
}

static st_tensor *leaky(st_op_scope *c, const rrelu *r) {
  const st_value args[] = {st__of_tensor(r->self),
                           st__of_float(mean_slope(r))};
  if (!r->in_place) return st__apply(c, ST_OP_leaky_relu, 2, args);
  st__apply_into(c, ST_OP_leaky_relu, 2, args);
  return r->self;
}

/* noise is written last, since it may share memory with self. */
static st_tensor *noisy(st_op_scope *c, const rrelu *r) {
  const st_tensor *slope =
    ST_APPLY(c, ST_OP__rrelu_slopes, st__apply1(c, ST_OP_detach, r->self),
             r->lower, r->upper, r->generator);
  st_tensor *result = r->self;
  if (r->in_place) {
    ST_APPLY_INTO(c, ST_OP_mul_Tensor, r->self, slope);
  } else {
    result = st__apply_to(c, st__mul(c, r->self, slope), r->self->dtype);
  }
  if (r->noise) ST_APPLY(c, ST_OP_copy_, r->noise, slope);
  return result;
}

static st_status run(const st_value *args, bool has_noise, bool in_place,
                     st_value *rets) {
  rrelu r = {.in_place = in_place};
  st_op_scope c = {.status = ST_OK};
  r.self = st__next_tensor(&args);
  if (has_noise) r.noise = st__next_tensor(&args);
  ST_ARGS_TO(r, VALUE(lower), VALUE(upper), BOOL(training), VALUE(generator));
  ST_TRY(check_slopes(&r));
  return st__scope_return(&c, r.training ? noisy(&c, &r) : leaky(&c, &r),
                          rets);
}

ST_BOXED(st__box_rrelu) { return run(args, false, false, rets); }
ST_BOXED(st__box_rrelu_) { return run(args, false, true, rets); }
ST_BOXED(st__box_rrelu_with_noise) { return run(args, true, false, rets); }
ST_BOXED(st__box_rrelu_with_noise_) { return run(args, true, true, rets); }

ST_BOXED(st__box_rrelu_with_noise_backward) {
  rrelu r = {.in_place = false};
  ST_ARGS(TENSOR(grad));
  r.self = st__next_tensor(&args);
  ST_ARGS(TENSOR(noise));
  ST_ARGS_TO(r, VALUE(lower), VALUE(upper));
  ST_ARGS(BOOL(training), VALUE(is_result));
  st_op_scope c = {.status = check_slopes(&r)};
  const st_scalar upper = st__scalar_of(&r.upper);
  if (training && st__scalar_to_double(upper) - mean_slope(&r) > 5e-7) {
    return st__scope_return(&c, st__mul(&c, grad, noise), rets);
  }
  return st__scope_return(&c,
                          ST_APPLY(&c, ST_OP_leaky_relu_backward, grad, r.self,
                                   st__of_float(mean_slope(&r)), is_result),
                          rets);
}
