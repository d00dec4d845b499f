/* Kernels of random numbers: the Mersenne Twister MT19937 (Matsumoto and
 * Nishimura, 1998), and distributions of the words that it gives.
 *
 * Note [Random numbers from words]
 * Each distribution defines which bits of which words make a number, and
 * which operations, so a seed gives the same numbers with every instruction
 * set. Steps that are exact may be done in another way.
 */

#include <math.h>

#include "kernel/elementwise/elementwise.h"
#include "kernel/inline.h"
#include "kernel/random/random.h"

/* -- The Mersenne Twister ------------------------------------------------- */

enum { N = ST_MT19937_WORDS, M = 397 };

INLINE uint32_t twist(uint32_t high, uint32_t low) {
  const uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);
  return (y >> 1) ^ (0x9908b0dfu & (0u - (low & 1u)));
}

INLINE uint32_t temper(uint32_t y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

/* An element depends on those 227 or more before it, or not yet renewed. */
static ST_LOOP_FN(mt19937, strides) {
  uint32_t *s = (uint32_t *)(void *)data[0];
  uint32_t *words = (uint32_t *)(void *)data[1];
  (void)strides, (void)n0, (void)n1, (void)ctx;
  for (int i = 0; i < N - M; i++) s[i] = s[i + M] ^ twist(s[i], s[i + 1]);
  for (int i = N - M; i < N - 1; i++) {
    s[i] = s[i + M - N] ^ twist(s[i], s[i + 1]);
  }
  s[N - 1] = s[M - 1] ^ twist(s[N - 1], s[0]);
  ST_SIMD_FOR(i, N) words[i] = temper(s[i]);
}

/* -- uniform -------------------------------------------------------------- */

/* The low 53 bits of a pair. */
INLINE int64_t low_53(const uint32_t *pair) {
  return (int64_t)(pair[0] & 0x1fffffu) << 32 | pair[1];
}

INLINE float unit_float(uint32_t word) {
  return (float)(int32_t)(word & 0xffffff) * 0x1p-24f;
}

static void uniform_f4_body(char *const *p, int64_t n, const void *ctx) {
  const st_uniform_ctx *c = ctx;
  float *out = (float *)p[0];
  const uint32_t *words = (const uint32_t *)p[1];
  const float from = (float)c->from, to = (float)c->to, width = to - from;
  if (from == 0 && width == 1) {
    ST_SIMD_FOR(i, n) out[i] = unit_float(words[i]);
  } else {
    ST_SIMD_FOR(i, n) {
      const float x = fmaf(unit_float(words[i]), width, from);
      out[i] = x >= to ? from : x;
    }
  }
}

static void uniform_f8_body(char *const *p, int64_t n, const void *ctx) {
  const st_uniform_ctx *c = ctx;
  double *out = (double *)p[0];
  const uint32_t *words = (const uint32_t *)p[1];
  const double from = c->from, to = c->to, width = to - from;
  if (from == 0 && width == 1) {
    ST_SIMD_FOR(i, n) out[i] = st__unit_double(words + 2 * i);
  } else {
    ST_SIMD_FOR(i, n) {
      const double x = fma(st__unit_double(words + 2 * i), width, from);
      out[i] = x >= to ? from : x;
    }
  }
}

/* A half type: the float of its bits, and back. */
typedef struct half_type {
  float (*widen)(uint16_t bits);
  uint16_t (*narrow)(float x);
} half_type;

/* The least float that is rounded to the same number as x. */
static float least_of(float x, half_type by) {
  const uint16_t bits = by.narrow(x), sign = 0x8000;
  const float high = by.widen(bits);
  const int before = high > 0 ? bits - 1 : high < 0 ? bits + 1 : sign + 1;
  const float middle = high / 2 + by.widen((uint16_t)before) / 2;
  return bits & 1 ? nextafterf(middle, INFINITY) : middle;
}

/* Floats, to be rounded to the type. */
static void uniform_half(char *const *p, int64_t n, const void *ctx,
                         half_type type) {
  const st_uniform_ctx *c = ctx;
  const float from = (float)c->from, limit = least_of((float)c->to, type);
  float *out = (float *)p[0];
  uniform_f4_body(p, n, ctx);
  ST_SIMD_FOR(i, n) out[i] = out[i] >= limit ? from : out[i];
}

static void uniform_f2_body(char *const *p, int64_t n, const void *ctx) {
  uniform_half(p, n, ctx,
               (half_type){st__half_to_float, st__float_to_half});
}

static void uniform_bf_body(char *const *p, int64_t n, const void *ctx) {
  uniform_half(p, n, ctx,
               (half_type){st__bf16_to_float, st__float_to_bf16});
}

ST_BLOCK_LOOP(uniform_f2, uniform_f2_body, 2, ST_ELEM_f2, ST_ELEM_4)
ST_BLOCK_LOOP(uniform_bf, uniform_bf_body, 2, ST_ELEM_bf, ST_ELEM_4)
ST_BLOCK_LOOP(uniform_f4, uniform_f4_body, 2, ST_ELEM_4, ST_ELEM_4)
ST_BLOCK_LOOP(uniform_f8, uniform_f8_body, 2, ST_ELEM_8, ST_ELEM_8)

/* -- bernoulli ------------------------------------------------------------ */

static void bernoulli_body(char *const *p, int64_t n, const void *ctx) {
  const int64_t below = ((const st_bernoulli_ctx *)ctx)->below;
  uint8_t *out = (uint8_t *)p[0];
  const uint32_t *words = (const uint32_t *)p[1];
  ST_SIMD_FOR(i, n) out[i] = low_53(words + 2 * i) < below;
}

static void bernoulli_p_f4_body(char *const *p, int64_t n, const void *ctx) {
  uint8_t *out = (uint8_t *)p[0];
  const uint32_t *words = (const uint32_t *)p[1];
  const float *probability = (const float *)p[2];
  (void)ctx;
  ST_SIMD_FOR(i, n) {
    out[i] = unit_float(words[i]) < probability[i];
  }
}

static void bernoulli_p_f8_body(char *const *p, int64_t n, const void *ctx) {
  uint8_t *out = (uint8_t *)p[0];
  const uint32_t *words = (const uint32_t *)p[1];
  const double *probability = (const double *)p[2];
  (void)ctx;
  ST_SIMD_FOR(i, n) out[i] = st__unit_double(words + 2 * i) < probability[i];
}

ST_BLOCK_LOOP(bernoulli, bernoulli_body, 2, ST_ELEM_1, ST_ELEM_8)
ST_BLOCK_LOOP(bernoulli_p_f2, bernoulli_p_f4_body, 3, ST_ELEM_1, ST_ELEM_4,
              ST_ELEM_f2)
ST_BLOCK_LOOP(bernoulli_p_bf, bernoulli_p_f4_body, 3, ST_ELEM_1, ST_ELEM_4,
              ST_ELEM_bf)
ST_BLOCK_LOOP(bernoulli_p_f4, bernoulli_p_f4_body, 3, ST_ELEM_1, ST_ELEM_4,
              ST_ELEM_4)
ST_BLOCK_LOOP(bernoulli_p_f8, bernoulli_p_f8_body, 3, ST_ELEM_1, ST_ELEM_8,
              ST_ELEM_8)

/* -- Integers ------------------------------------------------------------- */

/* Division by a constant d < 2^32 as a multiplication (Granlund and
 * Montgomery, "Division by Invariant Integers using Multiplication"). */
typedef struct divisor { uint32_t d, multiplier; int first, second; } divisor;

static divisor divisor_of(uint32_t d) {
  int log2_up = 0;
  while (UINT64_C(1) << log2_up < d) log2_up++;
  const uint64_t rest = (UINT64_C(1) << log2_up) - d;
  return (divisor){d, (uint32_t)((rest << 32) / d + 1), log2_up > 0,
                   log2_up > 0 ? log2_up - 1 : 0};
}

INLINE uint32_t remainder_of(uint32_t n, divisor by) {
  const uint32_t high = (uint32_t)((uint64_t)n * by.multiplier >> 32);
  const uint32_t quotient = (high + ((n - high) >> by.first)) >> by.second;
  return n - quotient * by.d;
}

static void integer_i4_body(char *const *p, int64_t n, const void *ctx) {
  const st_integers_ctx *c = ctx;
  const uint64_t from = (uint64_t)c->from;
  const divisor range = divisor_of((uint32_t)c->range);
  uint64_t *out = (uint64_t *)p[0];
  const uint32_t *words = (const uint32_t *)p[1];
  ST_SIMD_FOR(i, n) out[i] = remainder_of(words[i], range) + from;
}

#if defined(__SIZEOF_INT128__)
/* The same for a d of 64 bits that is no power of two. */
__extension__ typedef unsigned __int128 uint128;

typedef struct wide_divisor {
  uint64_t d, multiplier;
  int second;
} wide_divisor;

static wide_divisor wide_divisor_of(uint64_t d) {
  const int log2_up = 64 - __builtin_clzll(d);
  const uint64_t rest = (log2_up < 64 ? UINT64_C(1) << log2_up : 0) - d;
  return (wide_divisor){d, (uint64_t)(((uint128)rest << 64) / d) + 1,
                        log2_up - 1};
}

INLINE uint64_t wide_remainder_of(uint64_t n, wide_divisor by) {
  const uint64_t high = (uint64_t)((uint128)n * by.multiplier >> 64);
  return n - ((high + ((n - high) >> 1)) >> by.second) * by.d;
}
#else
typedef uint64_t wide_divisor;
static wide_divisor wide_divisor_of(uint64_t d) { return d; }
INLINE uint64_t wide_remainder_of(uint64_t n, wide_divisor d) { return n % d; }
#endif

static void integer_i8_body(char *const *p, int64_t n, const void *ctx) {
  const st_integers_ctx *c = ctx;
  const uint64_t from = (uint64_t)c->from, range = c->range;
  uint64_t *out = (uint64_t *)p[0];
  const uint32_t *words = (const uint32_t *)p[1];
  if (range & (range - 1)) {
    const wide_divisor by = wide_divisor_of(range);
    for (int64_t i = 0; i < n; i++) {
      const uint64_t r = (uint64_t)words[2 * i] << 32 | words[2 * i + 1];
      out[i] = wide_remainder_of(r, by) + from;
    }
  } else { /* a power of two, of which 2^64 is 0 */
    ST_SIMD_FOR(i, n) {
      const uint64_t r = (uint64_t)words[2 * i] << 32 | words[2 * i + 1];
      out[i] = (r & (range - 1)) + from;
    }
  }
}

ST_BLOCK_LOOP(integer_i4, integer_i4_body, 2, ST_ELEM_8, ST_ELEM_4)
ST_BLOCK_LOOP(integer_i8, integer_i8_body, 2, ST_ELEM_8, ST_ELEM_8)

/* -- Rows ----------------------------------------------------------------- */

static const st_kernel_row rows[] = {
  {"mt19937", {[ST_INT32] = mt19937}},
  {"uniform_words", {ST_BY_TAG(FLOAT, uniform)}},
  {"bernoulli_words", {[ST_BOOL] = bernoulli}},
  {"bernoulli_p_words", {ST_BY_TAG(FLOAT, bernoulli_p)}},
  {"integer_words", {[ST_INT32] = integer_i4, [ST_INT64] = integer_i8}},
};

ST_EXPORT(st__random, rows)
