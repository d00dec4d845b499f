/* Random integers, permutations, and operators that return new random tensors.
 */

#include <inttypes.h>

#include "op/create/factory.h"
#include "op/random/random.h"

/* -- Integers in place ---------------------------------------------------- */

/* Ranges from here on take 64 bits, as they do in PyTorch: the remainders of 32
 * would not be as likely as each other. */
#define WIDE (UINT64_C(1) << 28)

static bool has_no_order(st_dtype d) {
  return st__is_complex(d) || st__is_only_stored(d);
}

/* Draws of integers in a range; wide: of 64 bits each. */
static st_status fill_integers(st_tensor *t, st_integers_ctx range, bool wide,
                               st_generator *g) {
  const st_dtype bits = wide ? ST_INT64 : ST_INT32;
  const st_draw d = {.make = st__kernel(ST_K_integer_words, bits),
                     .ctx = &range, .words = wide ? 2 : 1, .made = ST_INT64,
                     .dtype = t->dtype};
  ST_TRY(st__check_cpu_or_meta(t));
  if (has_no_order(t->dtype)) return st__no_kernel_for(t->dtype);
  return st__random_draw(t, &d, g);
}

static bool is_whole(st_dtype d) { return d == ST_BOOL || st__is_integral(d); }

/* The largest int64 n such that every integer from 0 to n is exact in dtype. */
static int64_t largest(st_dtype dtype) {
  if (st__is_floating(dtype)) return (int64_t)(2 / st__dtype_facts[dtype].eps);
  if (!is_whole(dtype) || dtype == ST_UINT64) return INT64_MAX;
  return st__int_highest(dtype).u.i;
}

static int64_t smallest(st_dtype dtype) {
  return is_whole(dtype) ? st__int_lowest(dtype).u.i : -largest(dtype);
}

/* random_ without bounds: integers from 0 to the largest. A range of 0 stands
 * for 2^64. */
static st_status random_full(st_tensor *t, st_generator *g) {
  const st_dtype dtype = t->dtype;
  const uint64_t range = dtype == ST_UINT64 ? 0 : (uint64_t)largest(dtype) + 1;
  const bool wide = dtype == ST_INT64 || dtype == ST_FLOAT64 ||
                    dtype == ST_UINT64 || dtype == ST_UINT32;
  if (has_no_order(dtype)) return st__no_kernel_for(dtype);
  return fill_integers(t, (st_integers_ctx){0, range}, wide, g);
}

/* Integers from first to last, inclusive. */
static st_status random_between(st_tensor *t, int64_t first, int64_t last,
                                st_generator *g) {
  const st_dtype dtype = t->dtype;
  if (first > last) {
    return st__fail(ST_BAD_VALUE, "there are no integers in [%" PRId64
                    ", %" PRId64 ")", first, last + 1);
  }
  if (first < smallest(dtype) || last > largest(dtype)) {
    return st__fail(ST_BAD_VALUE, "not all integers in [%" PRId64 ", %" PRId64
                    "] are values of %s", first, last, st__dtype_name(dtype));
  }
  const uint64_t range = (uint64_t)last - (uint64_t)first + 1;
  return fill_integers(t, (st_integers_ctx){first, range},
                       range == 0 || range >= WIDE, g);
}

static st_status random_below(st_tensor *t, int64_t from, int64_t to,
                              st_generator *g) {
  if (to <= from) {
    return st__fail(ST_BAD_VALUE, "there are no integers in [%" PRId64
                    ", %" PRId64 ")", from, to);
  }
  return random_between(t, from, to - 1, g);
}

ST_TYPED_INPLACE(st__box_random_, random_full, (TENSOR, ANY_GENERATOR))

static st_status random_to(st_tensor *self, int64_t to, st_generator *g) {
  return random_below(self, 0, to, g);
}
ST_TYPED_INPLACE(st__box_random__to, random_to, (TENSOR, INT, ANY_GENERATOR))

static st_status random_from(st_tensor *self, int64_t from, st_opt_int to,
                             st_generator *g) {
  return to.has ? random_below(self, from, to.i, g)
                : random_between(self, from, largest(self->dtype), g);
}
ST_TYPED_INPLACE(st__box_random__from, random_from,
                 (TENSOR, INT, OPT_INT, ANY_GENERATOR))

/* -- New tensors ---------------------------------------------------------- */

/* Calls in-place operator id on the new tensor t with two scalars and a
 * generator, and moves t to *ret. */
static st_status fill_by(st_op_id id, st_tensor *t, st_value a, st_value b,
                         st_value generator, st_value *ret) {
  st_value self = st__none();
  const st_status status = st__invoke(id, ST_VALUES(t, a, b, generator), &self);
  if (status != ST_OK) {
    st__tensor_release(&t);
    return status;
  }
  st__value_clear(&self);
  *ret = st__of_tensor(t);
  return ST_OK;
}

/* A new tensor of dtype, unless options name another. */
static st_status new_of(const st_value *size, const st_value *options,
                        st_dtype dtype, st_tensor **out) {
  st_options o = {dtype, ST_DEVICE_CPU};
  ST_TRY(st__read_options(options, &o));
  return st__new_empty(o, (int)size->len, size->u.ints, ST_FORMAT_CONTIGUOUS,
                       out);
}

/* A distribution: the operator that fills a tensor, and its parameters. */
typedef struct distribution {
  st_op_id id;
  double a, b;
} distribution;

static const distribution uniform = {ST_OP_uniform_, 0, 1};
static const distribution normal = {ST_OP_normal_, 0, 1};

static st_status new_real(distribution d, const st_value *size,
                          st_value generator, const st_value *options,
                          st_value *ret) {
  st_tensor *t = NULL;
  ST_TRY(new_of(size, options, st__default_dtype(), &t));
  return fill_by(d.id, t, st__of_float(d.a), st__of_float(d.b), generator,
                 ret);
}

static st_status new_integers(const st_value *size, int64_t low, int64_t high,
                              st_value generator, const st_value *options,
                              st_value *ret) {
  st_tensor *t = NULL;
  ST_TRY(new_of(size, options, ST_INT64, &t));
  return fill_by(ST_OP_random__from, t, st__of_int(low), st__of_int(high),
                 generator, ret);
}

/* After the last reader in each of these kernels, args are the options. */

ST_BOXED_AS(st__box_rand, new_real, uniform, args, st__none(), args + 1)
ST_BOXED_AS(st__box_rand_generator, new_real, uniform, args, args[1], args + 2)
ST_BOXED_AS(st__box_randn, new_real, normal, args, st__none(), args + 1)
ST_BOXED_AS(st__box_randn_generator, new_real, normal, args, args[1], args + 2)

ST_BOXED(st__box_normal_float_float) {
  ST_ARGS(FLOAT(mean), FLOAT(std), BOXED(size), BOXED(generator));
  return new_real((distribution){ST_OP_normal_, mean, std}, size, *generator,
                  args, rets);
}

/* args: low, if it has_low; high, size, a generator, if it has one; options. */
static st_status randint(const st_value *args, bool has_low,
                         bool has_generator, st_value *rets) {
  const int64_t low = has_low ? st__next_int(&args) : 0;
  ST_ARGS(INT(high), BOXED(size));
  const st_value generator = has_generator ? *st__next(&args) : st__none();
  return new_integers(size, low, high, generator, args, rets);
}
ST_BOXED_AS(st__box_randint, randint, args, false, false)
ST_BOXED_AS(st__box_randint_generator, randint, args, false, true)
ST_BOXED_AS(st__box_randint_low, randint, args, true, false)
ST_BOXED_AS(st__box_randint_low_generator, randint, args, true, true)

/* -- New tensors like another --------------------------------------------- */

static st_status new_like(const st_tensor *self, const st_value *options,
                          st_tensor **out) {
  st_options o = {self->dtype, self->device};
  ST_TRY(st__read_options(options, &o));
  const int64_t format = st__to_int(&options[4], ST_FORMAT_PRESERVE);
  return st__new_empty_like(self, o, (st_format)format, out);
}

/* A tensor like args[0] with these options, filled by operator id. */
static st_status draw_like(const st_value *args, const st_value *options,
                           st_op_id id, st_value low, st_value high,
                           st_value *rets) {
  st_tensor *t = NULL;
  ST_TRY(new_like(args->u.tensor, options, &t));
  return fill_by(id, t, low, high, st__none(), rets);
}
ST_BOXED_AS(st__box_rand_like, draw_like, args, args + 1, ST_OP_uniform_,
            st__of_float(0), st__of_float(1))
ST_BOXED_AS(st__box_randn_like, draw_like, args, args + 1, ST_OP_normal_,
            st__of_float(0), st__of_float(1))
ST_BOXED_AS(st__box_randint_like, draw_like, args, args + 2,
            ST_OP_random__from, st__of_int(0), args[1])
ST_BOXED_AS(st__box_randint_like_low_dtype, draw_like, args, args + 3,
            ST_OP_random__from, args[1], args[2])

/* high is a tensor of one element. */
ST_BOXED(st__box_randint_like_Tensor) {
  st_value all[7], high;
  for (int i = 0; i < 7; i++) all[i] = args[i];
  ST_TRY(st__invoke(ST_OP_item, 1, &args[1], &high));
  if (high.tag != ST_TAG_INT) {
    st__value_clear(&high);
    return st__fail(ST_BAD_DTYPE, "high must have an integer dtype, not %s",
                    st__dtype_name(args[1].u.tensor->dtype));
  }
  all[1] = high;
  return st__invoke(ST_OP_randint_like, 7, all, rets);
}

/* -- Permutations --------------------------------------------------------- */

enum { SWAPS = 512 }; /* indices drawn at a time */

/* Swaps n elements from p[i] on with random ones of the size - i elements not
 * before them. */
static void swap_some(int64_t *p, int64_t i, int64_t n, int64_t size,
                      const uint32_t *words, bool wide) {
  for (const int64_t end = i + n; i < end; i++, words += wide ? 2 : 1) {
    const uint64_t left = (uint64_t)(size - i);
    const uint64_t r = wide ? ((uint64_t)words[0] << 32 | words[1]) % left
                            : words[0] % (uint32_t)left;
    const int64_t j = i + (int64_t)r, t = p[i];
    p[i] = p[j];
    p[j] = t;
  }
}

/* Fisher-Yates shuffle from the front. Below 2^32 / 20 elements it draws 32
 * bits per index, whose bias is small; above 64 bits. PyTorch does the same. */
typedef struct permuted {
  int64_t *p, n;
  bool wide;
} permuted;

static void shuffle_range(const void *ctx, st_source *s, int64_t begin,
                          int64_t end) {
  const permuted *f = ctx;
  const int words = f->wide ? 2 : 1;
  uint32_t drawn[2 * SWAPS];
  st__random_seek(s, (uint64_t)begin * (uint64_t)words);
  for (int64_t i = begin; i < end; i += SWAPS) {
    const int64_t some = end - i < SWAPS ? end - i : SWAPS;
    st__random_words(s, drawn, words * some);
    swap_some(f->p, i, some, f->n, drawn, f->wide);
  }
}

/* On one thread: each swap depends on those before it. */
static st_status shuffle(int64_t *p, int64_t n, int64_t base,
                         st_generator *g) {
  const permuted f = {p, n, n >= UINT32_MAX / 20};
  for (int64_t i = 0; i < n; i++) p[i] = i + base;
  if (n < 2) return ST_OK;
  return st__random_run(g, n - 1, f.wide ? 2 : 1, INT64_MAX, shuffle_range,
                        &f);
}

/* base follows the options. */
static st_status permutation(int64_t n, st_value generator,
                             const st_value *options, st_value *ret) {
  const int64_t base = options[4].u.i;
  st_options o = {ST_INT64, ST_DEVICE_CPU};
  st_tensor *t = NULL, *cast = NULL, *out = NULL;
  ST_TRY(st__read_options(options, &o));
  if (n < 0) {
    return st__fail(ST_BAD_VALUE, "n must not be negative, it is %" PRId64, n);
  }
  if (has_no_order(o.dtype)) return st__no_kernel_for(o.dtype);
  if (n > largest(o.dtype)) {
    return st__fail(ST_BAD_VALUE, "%s cannot represent %" PRId64 " distinct "
                    "values", st__dtype_name(o.dtype), n);
  }
  if (o.device == ST_DEVICE_META) {
    ST_TRY(st__new_empty(o, 1, &n, ST_FORMAT_CONTIGUOUS, &out));
    *ret = st__of_tensor(out);
    return ST_OK;
  }
  ST_TRY(st__tensor_empty(ST_DEVICE_CPU, ST_INT64, 1, &n,
                          ST_FORMAT_CONTIGUOUS, &t));
  if (o.dtype == ST_INT64) {
    cast = t;
  } else {
    const st_status status = st__tensor_empty(
      ST_DEVICE_CPU, o.dtype, 1, &n, ST_FORMAT_CONTIGUOUS, &cast);
    if (status != ST_OK) {
      st__tensor_release(&t);
      return status;
    }
  }
  st_status status = shuffle((int64_t *)(void *)st__data(t), n, base,
                             st__generator_of(&generator));
  if (cast != t) {
    if (status == ST_OK) status = st__copy_unchecked(cast, t);
    st__tensor_release(&t);
  }
  if (status != ST_OK) {
    st__tensor_release(&cast);
    return status;
  }
  ST_TRY(st__copy_to_device(&cast, o.device, &out));
  *ret = st__of_tensor(out);
  return ST_OK;
}

ST_BOXED_AS(st__box_randperm, permutation, args->u.i, st__none(), args + 1)
ST_BOXED_AS(st__box_randperm_generator, permutation, args->u.i, args[1],
            args + 2)
