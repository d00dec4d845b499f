/* Random distributions: uniform, normal, exponential, Bernoulli.
 *
 * Every fill runs on one thread, in the order in which the iterator visits the
 * tensor's memory: a seed gives the same numbers for every number of threads.
 */

#include "op/random/random.h"

#include <math.h>

#include "base/interrupt.h"
#include "op/create/factory.h"
#include "tensor/view.h"

enum { BLOCK = 1 << 16 }; /* elements drawn between two questions whether to
                             stop */

/* -- Fills ---------------------------------------------------------------- */

/* Draws one value of a distribution. */
typedef struct fill fill;
typedef st_scalar (*draw_fn)(const fill *f);

struct fill {
  st_generator *g;
  st_dtype dtype;
  draw_fn draw;
  double a, b;      /* bounds; mean and std; a: rate or probability */
  int64_t from;     /* integers in [from, from + range) */
  uint64_t range;   /* 0: all 2^64 */
};

static void fill_loop(char **data, const int64_t *strides, int64_t n0,
                      int64_t n1, const void *ctx) {
  const fill *f = ctx;
  for (int64_t j = 0; j < n1; j++) {
    char *p = data[0] + j * strides[1];
    for (int64_t i = 0; i < n0; i++) {
      st__scalar_store(f->draw(f), f->dtype, p + i * strides[0]);
    }
  }
}

st_generator *st__generator_of(const st_value *v) {
  return v->tag == ST_TAG_GENERATOR ? v->u.generator
                                    : st__default_generator();
}

/* Runs a loop that draws. Others may draw, too, between two blocks. */
static st_status draw_elements(const st_iter *it, st_generator *g,
                               st_loop loop, const void *ctx) {
  for (int64_t at = 0, end; at < it->numel; at = end) {
    end = it->numel - at > BLOCK ? at + BLOCK : it->numel;
    st__generator_lock(g);
    st__iter_serial_range(it, loop, ctx, at, end);
    st__generator_unlock(g);
    ST_TRY(st__poll_interrupt());
  }
  return ST_OK;
}

st_status st__random_fill(st_tensor *t, st_generator *g, st_loop loop,
                          const void *ctx) {
  st_iter it;
  st_status status;
  st__iter_init(&it, ST_ITER_NULLARY);
  st__iter_output(&it, t, ST_DTYPE_NONE);
  ST_TRY_FAIL(st__iter_build(&it));
  if (!st__is_meta(t) && it.numel > 0) {
    status = draw_elements(&it, g, loop, ctx);
  }
fail:
  st__iter_release(&it);
  return status;
}

static st_status check_floating(const st_tensor *t) {
  const st_dtype dtype = t->dtype;
  ST_TRY(st__check_cpu_or_meta(t));
  return st__is_floating(dtype) || st__is_complex(dtype)
       ? ST_OK : st__no_kernel_for(dtype);
}

/* -- uniform -------------------------------------------------------------- */

/* Significant bits of a uniform value. float64 draws 64 bits of the generator,
 * other dtypes 32. */
static int significand_bits(st_dtype dtype) {
  switch (dtype) {
    case ST_FLOAT16: return 11;
    case ST_BFLOAT16: return 8;
    case ST_FLOAT32: return 24;
    default: return 53;
  }
}

static inline float unit_float(st_generator *g, int bits) {
  const uint32_t r = st__random32(g) & ((1u << bits) - 1u);
  return (float)r / (float)(1u << bits);
}

static st_scalar draw_uniform(const fill *f) {
  if (f->dtype == ST_FLOAT64) {
    return st__scalar_float(fma(st__random_uniform(f->g), f->b - f->a, f->a));
  }
  const float a = (float)f->a, b = (float)f->b;
  const float r = unit_float(f->g, significand_bits(f->dtype));
  return st__scalar_float(fmaf(r, b - a, a));
}

/* The common case, [0, 1) in float32, without st_scalar. */
static void unit_f4(char **data, const int64_t *strides, int64_t n0,
                    int64_t n1, const void *ctx) {
  const fill *f = ctx;
  for (int64_t j = 0; j < n1; j++) {
    char *p = data[0] + j * strides[1];
    for (int64_t i = 0; i < n0; i++) {
      *(float *)(void *)(p + i * strides[0]) = unit_float(f->g, 24);
    }
  }
}

static st_loop uniform_loop(const fill *f) {
  return f->dtype == ST_FLOAT32 && f->a == 0 && f->b == 1 ? unit_f4
                                                          : fill_loop;
}

static st_status fill_uniform(st_tensor *t, double a, double b,
                              st_generator *g) {
  const fill f = {.g = g, .dtype = t->dtype, .draw = draw_uniform,
                  .a = a, .b = b};
  return st__random_fill(t, f.g, uniform_loop(&f), &f);
}

/* t itself (retained), or a real view of a complex tensor; owned. */
static st_status as_real(st_tensor *t, st_tensor **out) {
  if (st__is_complex(t->dtype)) return st__view_as_real(t, out);
  st__tensor_retain(t);
  *out = t;
  return ST_OK;
}

static st_status uniform(st_tensor *t, double a, double b, st_generator *g) {
  st_tensor *real = NULL;
  ST_TRY(check_floating(t));
  if (!(a <= b) || !isfinite(b - a)) {
    return st__fail(ST_BAD_VALUE, "the range from %g to %g is empty or not "
                    "finite", a, b);
  }
  ST_TRY(as_real(t, &real));
  const st_status status = fill_uniform(real, a, b, g);
  st__tensor_release(&real);
  return status;
}

ST_BOXED(st__box_uniform_) {
  st_tensor *self = st__next_tensor(&args);
  const double from = st__next_float(&args), to = st__next_float(&args);
  ST_TRY(uniform(self, from, to, st__generator_of(st__next(&args))));
  return st__return_tensor(self, rets);
}

/* -- normal --------------------------------------------------------------- */

static st_scalar draw_normal(const fill *f) {
  return st__scalar_float(st__random_normal(f->g) * f->b + f->a);
}

/* Note [Normal numbers in blocks of 16]
 * A contiguous tensor of at least 16 elements is filled with uniform numbers
 * first. Then Box-Muller transforms each block of 16, pairing its halves. If
 * the size is not a multiple of 16, the last 16 elements are drawn again.
 * PyTorch uses this order, so the numbers are equal to PyTorch's. */
enum { PAIRS = 8 };

static void box_muller_f8(double *d, double mean, double deviation) {
  for (int j = 0; j < PAIRS; j++) {
    const double radius = sqrt(-2 * log(1 - d[j]));
    const double theta = 2.0 * 3.14159265358979323846 * d[j + PAIRS];
    d[j] = radius * cos(theta) * deviation + mean;
    d[j + PAIRS] = radius * sin(theta) * deviation + mean;
  }
}

/* Rounds an intermediate result, as float16 and bfloat16 do after every
 * operation. */
static float round_to(st_dtype dtype, float v) {
  if (dtype == ST_FLOAT16) return st__half_to_float(st__float_to_half(v));
  if (dtype == ST_BFLOAT16) return st__bf16_to_float(st__float_to_bf16(v));
  return v;
}

static void box_muller_f4(float *d, float mean, float deviation,
                          st_dtype dtype) {
  for (int j = 0; j < PAIRS; j++) {
    const float u1 = round_to(dtype, 1 - d[j]);
    const float log_u1 = round_to(dtype, logf(u1));
    const float radius = round_to(dtype, sqrtf(round_to(dtype, -2 * log_u1)));
    const float theta = round_to(
      dtype, (float)(2.0 * 3.14159265358979323846 * (double)d[j + PAIRS]));
    const float x = round_to(dtype, radius * round_to(dtype, cosf(theta)));
    const float y = round_to(dtype, radius * round_to(dtype, sinf(theta)));
    d[j] = round_to(dtype, x * deviation) + mean;
    d[j + PAIRS] = round_to(dtype, y * deviation) + mean;
  }
}

static void normal_block(const fill *f, char *p) {
  if (f->dtype == ST_FLOAT64) {
    box_muller_f8((double *)(void *)p, f->a, f->b);
    return;
  }
  if (f->dtype == ST_FLOAT32) {
    box_muller_f4((float *)(void *)p, (float)f->a, (float)f->b, f->dtype);
    return;
  }
  float block[2 * PAIRS];
  for (int i = 0; i < 2 * PAIRS; i++) {
    block[i] = (float)st__scalar_load(f->dtype, p + 2 * i).u.f;
  }
  box_muller_f4(block, (float)f->a, (float)f->b, f->dtype);
  for (int i = 0; i < 2 * PAIRS; i++) {
    st__scalar_store(st__scalar_float(block[i]), f->dtype, p + 2 * i);
  }
}

static void uniform_run(const fill *f, char *p, int64_t n) {
  const int64_t strides[2] = {(int64_t)st__itemsize(f->dtype), 0};
  const fill unit = {.g = f->g, .dtype = f->dtype, .draw = draw_uniform,
                     .b = 1};
  uniform_loop(&unit)(&p, strides, n, 1, &unit);
}

/* uniform_run for all n elements; asks between blocks of them. */
static st_status draw_uniforms(const fill *f, char *p, int64_t n) {
  const int64_t size = (int64_t)st__itemsize(f->dtype);
  for (int64_t i = 0; i < n; i += BLOCK) {
    st__generator_lock(f->g);
    uniform_run(f, p + i * size, n - i < BLOCK ? n - i : BLOCK);
    st__generator_unlock(f->g);
    ST_TRY(st__poll_interrupt());
  }
  return ST_OK;
}

static st_status normal_blocks(const fill *f, char *p, int64_t n) {
  const int64_t size = (int64_t)st__itemsize(f->dtype);
  const int64_t block = 2 * PAIRS;
  ST_TRY(draw_uniforms(f, p, n));
  for (int64_t i = 0; i + block <= n; i += block) {
    normal_block(f, p + i * size);
    if (i % BLOCK == 0) ST_TRY(st__poll_interrupt());
  }
  if (n % block) {
    char *last = p + (n - block) * size;
    ST_TRY(draw_uniforms(f, last, block));
    normal_block(f, last);
  }
  return ST_OK;
}

static st_status fill_normal(st_tensor *t, double mean, double deviation,
                             st_generator *g) {
  const fill f = {.g = g, .dtype = t->dtype, .draw = draw_normal,
                  .a = mean, .b = deviation};
  if (t->numel < 2 * PAIRS || !st__is_contiguous(t) || st__is_meta(t)) {
    return st__random_fill(t, f.g, fill_loop, &f);
  }
  ST_TRY(st__check_internal_overlap(t));
  return normal_blocks(&f, st__data(t), t->numel);
}

static st_status normal(st_tensor *t, double mean, double deviation,
                        st_generator *g) {
  st_tensor *real = NULL;
  ST_TRY(check_floating(t));
  if (!(deviation >= 0)) {
    return st__fail(ST_BAD_VALUE, "std must not be negative, it is %g",
                    deviation);
  }
  /* Each part of a complex number has half of the variance. */
  if (st__is_complex(t->dtype)) deviation /= sqrt(2);
  ST_TRY(as_real(t, &real));
  const st_status status = fill_normal(real, mean, deviation, g);
  st__tensor_release(&real);
  return status;
}

ST_BOXED(st__box_normal_) {
  st_tensor *self = st__next_tensor(&args);
  const double mean = st__next_float(&args), std = st__next_float(&args);
  ST_TRY(normal(self, mean, std, st__generator_of(st__next(&args))));
  return st__return_tensor(self, rets);
}

/* -- exponential ---------------------------------------------------------- */

static st_scalar draw_exponential(const fill *f) {
  return st__scalar_float(-1 / f->a * log1p(-st__random_uniform(f->g)));
}

ST_BOXED(st__box_exponential_) {
  st_tensor *self = st__next_tensor(&args);
  const double lambd = st__next_float(&args);
  const st_value *generator = st__next(&args);
  ST_TRY(st__check_cpu_or_meta(self));
  if (!st__is_floating(self->dtype)) {
    return st__no_kernel_for(self->dtype);
  }
  if (!(lambd > 0)) {
    return st__fail(ST_BAD_VALUE, "lambd must be positive, it is %g", lambd);
  }
  const fill f = {.g = st__generator_of(generator), .dtype = self->dtype,
                  .draw = draw_exponential, .a = lambd};
  ST_TRY(st__random_fill(self, f.g, fill_loop, &f));
  return st__return_tensor(self, rets);
}

/* -- bernoulli ------------------------------------------------------------ */

static st_scalar draw_bernoulli(const fill *f) {
  return st__scalar_int(st__random_uniform(f->g) < f->a);
}

static st_status check_probability(double p) {
  if (p >= 0 && p <= 1) return ST_OK;
  return st__fail(ST_BAD_VALUE, "p must be between 0 and 1, it is %g", p);
}

ST_BOXED(st__box_bernoulli__float) {
  st_tensor *self = st__next_tensor(&args);
  const double p = st__next_float(&args);
  const fill f = {.g = st__generator_of(st__next(&args)),
                  .dtype = self->dtype, .draw = draw_bernoulli, .a = p};
  ST_TRY(st__check_cpu_or_meta(self));
  ST_TRY(check_probability(p));
  ST_TRY(st__random_fill(self, f.g, fill_loop, &f));
  return st__return_tensor(self, rets);
}

typedef struct bernoulli_job {
  st_generator *g;
  st_dtype dtype, p_dtype;
  bool *bad;
} bernoulli_job;

static void check_loop(char **data, const int64_t *strides, int64_t n0,
                       int64_t n1, const void *ctx) {
  const bernoulli_job *c = ctx;
  for (int64_t j = 0; j < n1; j++) {
    for (int64_t i = 0; i < n0; i++) {
      const char *at = data[1] + j * strides[3] + i * strides[1];
      const double p = st__scalar_load(c->p_dtype, at).u.f;
      if (!(p >= 0 && p <= 1)) *c->bad = true;
    }
  }
}

/* For probabilities not in float64, draws 24 bits. */
static void bernoulli_loop(char **data, const int64_t *strides, int64_t n0,
                           int64_t n1, const void *ctx) {
  const bernoulli_job *c = ctx;
  for (int64_t j = 0; j < n1; j++) {
    for (int64_t i = 0; i < n0; i++) {
      const char *at = data[1] + j * strides[3] + i * strides[1];
      const double p = st__scalar_load(c->p_dtype, at).u.f;
      const double u = c->p_dtype == ST_FLOAT64 ? st__random_uniform(c->g)
                                                : unit_float(c->g, 24);
      st__scalar_store(st__scalar_int(u < p), c->dtype,
                       data[0] + j * strides[2] + i * strides[0]);
    }
  }
}

/* Fills t with Bernoulli draws; p holds the probability of each element. */
static st_status bernoulli(st_tensor *t, const st_tensor *p, st_generator *g) {
  bool bad = false;
  const bernoulli_job c = {g, t->dtype, p->dtype, &bad};
  st_iter it;
  st_status status;
  ST_TRY(st__check_cpu_or_meta(t));
  if (!st__is_floating(c.p_dtype)) return st__no_kernel_for(c.p_dtype);
  st__iter_init(&it, ST_ITER_CHECK_OVERLAP | ST_ITER_SAME_DEVICE);
  st__iter_output(&it, t, ST_DTYPE_NONE);
  st__iter_input(&it, p);
  ST_TRY_FAIL(st__iter_build(&it));
  if (!st__is_meta(t) && it.numel > 0) {
    ST_TRY_FAIL(st__iter_run_serial(&it, check_loop, &c));
    if (bad) {
      status = st__fail(ST_BAD_VALUE, "probabilities must be between 0 and 1");
      goto fail;
    }
    status = draw_elements(&it, g, bernoulli_loop, &c);
  }
fail:
  st__iter_release(&it);
  return status;
}

ST_BOXED(st__box_bernoulli__Tensor) {
  st_tensor *self = st__next_tensor(&args);
  const st_tensor *p = st__next_tensor(&args);
  ST_TRY(bernoulli(self, p, st__generator_of(st__next(&args))));
  return st__return_tensor(self, rets);
}

ST_BOXED(st__box_bernoulli) {
  const st_tensor *p = st__next_tensor(&args);
  const st_options o = {p->dtype, p->device};
  st_tensor *t = NULL;
  ST_TRY(st__new_empty_like(p, o, ST_FORMAT_PRESERVE, &t));
  const st_status status = bernoulli(t, p, st__generator_of(st__next(&args)));
  if (status != ST_OK) {
    st__tensor_release(&t);
    return status;
  }
  rets[0] = st__of_tensor(t);
  return ST_OK;
}
