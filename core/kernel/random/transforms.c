/* Kernels of random numbers that are functions of uniform ones: of logarithms,
 * of tangents, and Box-Muller, in float64.
 *
 * Note [Functions of random numbers]
 * They are the functions of fdlibm (K. C. Ng, Sun Microsystems, 1993) for the
 * arguments that occur, without branches, so that loops are vectorised. They
 * have no fused multiply-adds, so the bits are the same with every instruction
 * set. Their errors are less than one unit in the last place of a float64, the
 * tangent's less than 2.2: a number rounded to float32 is the one that the C
 * library's functions give, but for one in 2^27. pi / 2 has two parts: near its
 * multiples sine, cosine and tangent have an absolute error of 2^-86.
 */

#include <math.h>
#include <string.h>

#include "kernel/elementwise/elementwise.h"
#include "kernel/inline.h"
#include "kernel/random/random.h"

#define PI 3.14159265358979323846

/* -- Functions ------------------------------------------------------------ */

INLINE uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

INLINE double of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* log(2^k (1 + f)) with 1 + f from sqrt(1/2) to sqrt(2). x is not subnormal. */
INLINE double log_of(double x) {
  const uint64_t shifted = bits_of(x) + (0x4000000000000000 -
                                         0x3fe6a09e667f3bcd);
  const uint64_t biased = shifted >> 52;
  const double k = of_bits(biased | 0x4330000000000000) - (0x1p52 + 1024);
  const double f = of_bits(bits_of(x) + 0x4000000000000000 -
                           (biased << 52)) - 1;
  const double s = f / (2 + f), z = s * s, half = 0.5 * f * f;
  const double series = z * (6.666666666666735130e-01 +
    z * (3.999999999940941908e-01 + z * (2.857142874366239149e-01 +
    z * (2.222219843214978396e-01 + z * (1.818357216161805012e-01 +
    z * (1.531383769920937332e-01 + z * 1.479819860511658591e-01))))));
  return k * 6.93147180369123816490e-01 -
         ((half - (s * (half + series) + k * 1.90821492927058770002e-10)) - f);
}

/* x less the nearest multiple of pi / 2, in two parts, for x in [-2, 7). */
typedef struct angle { double multiple, high, low; } angle;

INLINE angle reduce(double x) {
  const double n = (x * (2 / PI) + 0x1.8p52) - 0x1.8p52;
  const double most = x - n * 0x1.921fb544p+0; /* exact */
  const double rest = n * 0x1.0b4611a626331p-34, high = most - rest;
  return (angle){n, high, (most - high) - rest};
}

INLINE double sin_of(angle a, double z) {
  const double x = a.high, v = z * x;
  const double series = 8.33333333332248946124e-03 +
    z * (-1.98412698298579493134e-04 + z * (2.75573137070700676789e-06 +
    z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)));
  return x - ((z * (0.5 * a.low - v * series) - a.low) -
              v * -1.66666666666666324348e-01);
}

INLINE double cos_of(angle a, double z) {
  const double series = z * (4.16666666666666019037e-02 +
    z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 +
    z * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 +
    z * -1.13596475577881948265e-11)))));
  const double half = 0.5 * z, w = 1 - half;
  return w + (((1 - w) - half) + (z * series - a.high * a.low));
}

/* -- Numbers of pairs of words -------------------------------------------- */

/* log1p(-u) / -rate, where 0 is positive. */
static void exponential_body(char *const *p, int64_t n, const void *ctx) {
  const double scale = ((const st_transform_ctx *)ctx)->a;
  double *out = (double *)p[0];
  const uint32_t *words = (const uint32_t *)p[1];
  ST_SIMD_FOR(i, n) {
    out[i] = scale * log_of(1 - st__unit_double(words + 2 * i)) + 0.0;
  }
}

static void geometric_body(char *const *p, int64_t n, const void *ctx) {
  const double scale = ((const st_transform_ctx *)ctx)->a;
  double *out = (double *)p[0];
  const uint32_t *words = (const uint32_t *)p[1];
  ST_SIMD_FOR(i, n) {
    const double u = st__unit_double(words + 2 * i);
    out[i] = u == 0 ? INFINITY : ceil(log_of(u) * scale);
  }
}

static void cauchy_body(char *const *p, int64_t n, const void *ctx) {
  const st_transform_ctx *c = ctx;
  const double median = c->a, sigma = c->b;
  double *out = (double *)p[0];
  const uint32_t *words = (const uint32_t *)p[1];
  ST_SIMD_FOR(i, n) {
    const angle a = reduce(PI * (st__unit_double(words + 2 * i) - 0.5));
    const double z = a.high * a.high, s = sin_of(a, z), c1 = cos_of(a, z);
    const double tangent = a.multiple == 0 ? s / c1 : -c1 / s;
    out[i] = median + sigma * tangent;
  }
}

/* By the C library, whose bits are PyTorch's. */
static ST_LOOP_FN(exact_cauchy, strides) {
  const st_transform_ctx *c = ctx;
  for (int64_t j = 0; j < n1; j++) {
    char *p = data[0] + j * strides[2];
    const uint32_t *words = (const uint32_t *)(const void *)(data[1] +
                                                             j * strides[3]);
    for (int64_t i = 0; i < n0; i++) {
      const double u = st__unit_double(words + 2 * i);
      *(double *)(void *)(p + i * strides[0]) =
        fma(c->b, tan(PI * (u - 0.5)), c->a);
    }
  }
}

ST_BLOCK_LOOP(exponential_f8, exponential_body, 2, ST_ELEM_8, ST_ELEM_8)
ST_BLOCK_LOOP(geometric_f8, geometric_body, 2, ST_ELEM_8, ST_ELEM_8)
ST_BLOCK_LOOP(cauchy_f8, cauchy_body, 2, ST_ELEM_8, ST_ELEM_8)

/* -- Numbers of uniform numbers ------------------------------------------- */

static ST_LOOP_FN(uniform_waits, strides) {
  const double log_failure = *(const double *)ctx;
  double *out = (double *)(void *)data[0];
  const double *u = (const double *)(const void *)data[1];
  ST_SIMD_FOR(i, n0) {
    out[i] = u[i] == 0 ? INFINITY : ceil(log_of(u[i]) / log_failure);
  }
}

/* Box-Muller: u1 is a turn. */
typedef struct pair { double radius, cosine, sine; } pair;

INLINE pair pair_of(double u1, double u2) {
  const angle a = reduce(2.0 * PI * u1);
  const double z = a.high * a.high, s = sin_of(a, z), c = cos_of(a, z);
  const int32_t quarter = (int32_t)a.multiple;
  const double p = quarter & 1 ? s : c, q = quarter & 1 ? c : s;
  return (pair){sqrt(0.0 - 2.0 * log_of(1 - u2)),
                (quarter + 1) & 2 ? -p : p, quarter & 2 ? -q : q};
}

static ST_LOOP_FN(normal_pairs, strides) {
  double *x = (double *)(void *)data[0], *y = (double *)(void *)data[1];
  const double *u1 = (const double *)(const void *)data[2];
  const double *u2 = (const double *)(const void *)data[3];
  (void)strides, (void)n1, (void)ctx;
  ST_SIMD_FOR(i, n0) {
    const pair p = pair_of(u1[i], u2[i]);
    x[i] = p.radius * p.cosine;
    y[i] = p.radius * p.sine;
  }
}

enum { HALF = ST_NORMAL_BLOCK / 2 };

/* Note [Normal numbers in blocks of 16], by the C library. */
INLINE void exact_block(double *d, const st_normal_ctx *c) {
  double radius[HALF], x[HALF], y[HALF];
  for (int j = 0; j < HALF; j++) radius[j] = log(1 - d[j]);
  for (int j = 0; j < HALF; j++) radius[j] = sqrt(-2 * radius[j]);
  for (int j = 0; j < HALF; j++) {
    const double theta = 2.0 * PI * d[j + HALF];
    x[j] = cos(theta);
    y[j] = sin(theta);
  }
  for (int j = 0; j < HALF; j++) {
    d[j] = fma(radius[j] * x[j], c->deviation, c->mean);
    d[j + HALF] = fma(radius[j] * y[j], c->deviation, c->mean);
  }
}

INLINE void block(double *d, const st_normal_ctx *c) {
  ST_SIMD_FOR(j, HALF) {
    const pair p = pair_of(d[j + HALF], d[j]);
    d[j] = p.radius * p.cosine * c->deviation + c->mean;
    d[j + HALF] = p.radius * p.sine * c->deviation + c->mean;
  }
}

static ST_LOOP_FN(normal_blocks, strides) {
  const st_normal_ctx c = *(const st_normal_ctx *)ctx;
  double *d = (double *)(void *)data[0];
  for (int64_t i = 0; i < n0; i += ST_NORMAL_BLOCK) {
    if (c.exact) exact_block(d + i, &c);
    else block(d + i, &c);
  }
}

/* -- Rows ----------------------------------------------------------------- */

static const st_kernel_row rows[] = {
  {"exponential_words", {[ST_FLOAT64] = exponential_f8}},
  {"geometric_words", {[ST_FLOAT64] = geometric_f8}},
  {"cauchy_words", {[ST_FLOAT64] = cauchy_f8}},
  {"exact_cauchy_words", {[ST_FLOAT64] = exact_cauchy}},
  {"uniform_waits", {[ST_FLOAT64] = uniform_waits}},
  {"normal_pairs", {[ST_FLOAT64] = normal_pairs}},
  {"normal_blocks", {[ST_FLOAT64] = normal_blocks}},
};

ST_EXPORT(st__transforms, rows)
