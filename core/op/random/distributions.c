/* Random distributions: uniform, normal, Bernoulli.
 */

#include "op/random/random.h"

#include <math.h>

#include "op/create/factory.h"
#include "tensor/view.h"

enum {
  PIECE = 512,          /* elements in L1 */
  NORMAL_GRAIN = 4096   /* of a thread */
};

static st_status check_floating(const st_tensor *t) {
  ST_TRY(st__check_cpu_or_meta(t));
  return st__is_inexact(t->dtype) ? ST_OK : st__no_kernel_for(t->dtype);
}

/* -- uniform -------------------------------------------------------------- */

/* The draw of uniform numbers that *range describes, which it keeps. float64
 * draws 64 bits of the generator, other dtypes 32. */
static st_draw uniform_draw(st_dtype dtype, const st_uniform_ctx *range) {
  return (st_draw){.make = st__kernel(ST_K_uniform_words, dtype), .ctx = range,
                   .words = dtype == ST_FLOAT64 ? 2 : 1,
                   .made = dtype, .dtype = dtype};
}

static st_status fill_uniform(st_tensor *t, double a, double b,
                              st_generator *g) {
  const st_uniform_ctx range = {a, b};
  const st_draw d = uniform_draw(t->dtype, &range);
  return st__random_draw(t, &d, g);
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

ST_TYPED_INPLACE(st__box_uniform_, uniform,
                 (TENSOR, FLOAT, FLOAT, ANY_GENERATOR))

/* -- normal --------------------------------------------------------------- */

/* Note [Normal numbers in blocks of 16]
 * A contiguous tensor of at least 16 elements is filled with uniform numbers
 * first. Then Box-Muller transforms each block of 16, pairing its halves. If
 * the size is not a multiple of 16, the last 16 elements are drawn again.
 * PyTorch uses this order, so the numbers are equal to PyTorch's. Here a piece
 * of blocks is transformed while it is in L1. Numbers of half types are those
 * of float32, rounded; of these, elements that are drawn again are not drawn
 * before. */

typedef struct normal_run {
  const st_draw *d;      /* of float32 or float64 */
  const st_normal_ctx *c;
  st_dtype dtype;        /* of the elements */
  char *p;               /* of element 0 */
} normal_run;

/* n numbers of d's dtype, which are transformed if they are whole blocks. */
static void normal_numbers(const normal_run *f, st_source *s, char *p,
                           int64_t n) {
  const int64_t strides[2] = {(int64_t)st__itemsize(f->d->dtype), 0};
  const st_normal_ctx c = {f->c->mean, f->c->deviation, s->mt != NULL};
  st__random_draw_run(f->d, s, p, n);
  if (n % ST_NORMAL_BLOCK) return;
  st__kernel(ST_K_normal_blocks, f->d->dtype)(&p, strides, n, 1, &c);
}

/* The n elements at p, at most PIECE. */
static void normal_piece(const normal_run *f, st_source *s, char *p,
                         int64_t n) {
  float row[PIECE];
  if (f->d->dtype == f->dtype) {
    normal_numbers(f, s, p, n);
    return;
  }
  normal_numbers(f, s, (char *)row, n);
  char *data[2] = {p, (char *)row};
  const int64_t strides[4] = {(int64_t)st__itemsize(f->dtype), sizeof *row};
  st__copy_kernel(f->dtype, ST_FLOAT32)(data, strides, n, 1, NULL);
}

/* The blocks that start in [begin, end). */
static void normal_range(const void *ctx, st_source *s, int64_t begin,
                         int64_t end) {
  const normal_run *f = ctx;
  const int64_t size = (int64_t)st__itemsize(f->dtype);
  st__random_seek(s, (uint64_t)begin * (uint64_t)(ST_NORMAL_BLOCK *
                                                  f->d->words));
  end *= ST_NORMAL_BLOCK;
  for (int64_t at = begin * ST_NORMAL_BLOCK; at < end; at += PIECE) {
    normal_piece(f, s, f->p + at * size, end - at < PIECE ? end - at : PIECE);
  }
}

/* Fewer than a block, which another draw replaces. */
static void rest_range(const void *ctx, st_source *s, int64_t begin,
                       int64_t end) {
  const normal_run *f = ctx;
  normal_piece(f, s, f->p, end - begin);
}

static st_status normal_blocks(st_tensor *t, const st_draw *d,
                               const st_normal_ctx *c, st_generator *g) {
  const int64_t size = (int64_t)st__itemsize(t->dtype), n = t->numel;
  const int64_t rest = n % ST_NORMAL_BLOCK;
  normal_run f = {d, c, t->dtype, st__data(t)};
  char *end = f.p + n * size;
  ST_TRY(st__random_run(g, n / ST_NORMAL_BLOCK, ST_NORMAL_BLOCK * d->words,
                        NORMAL_GRAIN / ST_NORMAL_BLOCK, normal_range, &f));
  if (rest == 0) return ST_OK;
  if (d->dtype == t->dtype) {
    f.p = end - rest * size;
    ST_TRY(st__random_run(g, rest, d->words, NORMAL_GRAIN, rest_range, &f));
  }
  f.p = end - ST_NORMAL_BLOCK * size;
  return st__random_run(g, 1, ST_NORMAL_BLOCK * d->words, 1, normal_range, &f);
}

static st_status fill_normal(st_tensor *t, double mean, double deviation,
                             st_generator *g) {
  if (t->numel < ST_NORMAL_BLOCK || !st__is_contiguous(t) ||
      !st__has_elements(t)) {
    return st__random_draw_normal(t, mean, deviation, NULL, g);
  }
  ST_TRY(st__check_internal_overlap(t));
  const st_dtype made = t->dtype == ST_FLOAT64 ? ST_FLOAT64 : ST_FLOAT32;
  const st_uniform_ctx unit = {0, 1};
  const st_normal_ctx c = {mean, deviation, false};
  const st_draw d = uniform_draw(made, &unit);
  return normal_blocks(t, &d, &c, g);
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

ST_TYPED_INPLACE(st__box_normal_, normal,
                 (TENSOR, FLOAT, FLOAT, ANY_GENERATOR))

/* -- bernoulli ------------------------------------------------------------ */

static st_status check_probability(double p) {
  if (p >= 0 && p <= 1) return ST_OK;
  return st__fail(ST_BAD_VALUE, "p must be between 0 and 1, it is %g", p);
}

static st_status bernoulli_float(st_tensor *self, double p, st_generator *g) {
  ST_TRY(st__check_cpu_or_meta(self));
  ST_TRY(check_probability(p));
  /* u * 2^-53 < p for an integer u if u < p * 2^53, rounded up. */
  const st_bernoulli_ctx c = {(int64_t)ceil(p * 0x1p53)};
  const st_draw d = {.ctx = &c, .words = 2, .made = ST_BOOL,
                     .make = st__kernel(ST_K_bernoulli_words, ST_BOOL),
                     .dtype = self->dtype};
  return st__random_draw(self, &d, g);
}
ST_TYPED_INPLACE(st__box_bernoulli__float, bernoulli_float,
                 (TENSOR, FLOAT, ANY_GENERATOR))

typedef struct check { st_dtype dtype; bool *bad; } check;

/* Converts pieces of a row to float64. */
static void check_row(const check *c, char *p, int64_t stride, int64_t n) {
  double row[PIECE];
  char *data[2] = {(char *)row, p};
  const int64_t strides[4] = {sizeof *row, stride, 0, 0};
  bool good = true;
  st__copy_kernel(ST_FLOAT64, c->dtype)(data, strides, n, 1, NULL);
  for (int64_t i = 0; i < n; i++) good &= row[i] >= 0 && row[i] <= 1;
  if (!good) *c->bad = true;
}

static void check_loop(char **data, const int64_t *strides, int64_t n0,
                       int64_t n1, const void *ctx) {
  for (int64_t j = 0; j < n1; j++) {
    char *p = data[1] + j * strides[3];
    for (int64_t i = 0; i < n0; i += PIECE) {
      check_row(ctx, p + i * strides[1], strides[1],
                n0 - i < PIECE ? n0 - i : PIECE);
    }
  }
}

/* Fills t with Bernoulli draws; p holds the probability of each element. For
 * probabilities not in float64, draws 24 bits. */
static st_status bernoulli(st_tensor *t, const st_tensor *p, st_generator *g) {
  bool bad = false;
  const check c = {p->dtype, &bad};
  const st_draw d = {.dtype = t->dtype, .made = ST_BOOL, .inputs = 1,
                     .make = st__kernel(ST_K_bernoulli_p_words, p->dtype),
                     .words = p->dtype == ST_FLOAT64 ? 2 : 1};
  st_iter it;
  st_status status;
  ST_TRY(st__check_cpu_or_meta(t));
  if (!st__is_floating(p->dtype)) return st__no_kernel_for(p->dtype);
  st__iter_init(&it, ST_ITER_CHECK_OVERLAP | ST_ITER_SAME_DEVICE);
  st__iter_output(&it, t, ST_DTYPE_NONE);
  st__iter_input(&it, p);
  ST_TRY_FAIL(st__iter_build(&it));
  if (st__has_elements(t) && it.numel > 0) {
    ST_TRY_FAIL(st__iter_run_serial(&it, check_loop, &c));
    if (bad) {
      status = st__fail(ST_BAD_VALUE, "probabilities must be between 0 and 1");
      goto fail;
    }
    status = st__random_draw_iter(&it, &d, g);
  }
fail:
  st__iter_release(&it);
  return status;
}

ST_TYPED_INPLACE(st__box_bernoulli__Tensor, bernoulli,
                 (TENSOR, TENSOR, ANY_GENERATOR))

ST_BOXED(st__box_bernoulli) {
  ST_ARGS(TENSOR(p));
  const st_options o = {p->dtype, p->device};
  st_tensor *t = NULL;
  ST_TRY(st__new_empty_like(p, o, ST_FORMAT_CONTIGUOUS, &t));
  const st_status status = bernoulli(t, p, st__generator_of(st__next(&args)));
  if (status != ST_OK) {
    st__tensor_release(&t);
    return status;
  }
  rets[0] = st__of_tensor(t);
  return ST_OK;
}
