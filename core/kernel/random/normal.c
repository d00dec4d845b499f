/* Kernels of normal numbers: Box-Muller.
 *
 * Note [Logarithms of the C library]
 * The numbers are those of the C library's logf, cosf and sinf, which take
 * most of the time. They round a result whose error is small, so nearly always
 * to the same float as a more exact result in float64, which vectorises. Only
 * results close to the middle between two floats, where that is not sure, are
 * computed by the C library: those less than 1/16 of the distance of two
 * floats from the middle, or 1/256 if cos_of gave them, and logarithms close to
 * 0. Errors of the functions of glibc are less than that for all arguments that
 * occur, which are 2^24: at most 0.0606 for sines, 0.0009 for cosines of angles
 * up to pi / 4, and 0.0445 for logarithms.
 */

#include <math.h>

#include "kernel/kernel.h"
#include "kernel/math/half_rows.h"
#include "kernel/random/random.h"

#define INLINE static inline __attribute__((always_inline))

enum {
  PAIRS = ST_NORMAL_BLOCK / 2,
  MOST = 256               /* pairs at a time, in L1 */
};

#define TWO_PI (2.0 * 3.14159265358979323846)

/* -- Functions in float64 ------------------------------------------------- */

/* Whether rounding v to float32 is not sure: the 29 bits that it cuts are less
 * than `near` from 2^28. */
enum { NEAR = 1 << 25, NEAR_COSINE = 1 << 21 };

INLINE uint8_t is_unsure(double v, uint32_t near) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  const uint32_t cut = (uint32_t)bits - ((1u << 28) - near);
  return (cut & ((1u << 29) - 1)) < 2 * near;
}

/* log(x) of a normal number: e log 2 + log m, with m near 1, for which it is
 * 2 atanh((m - 1) / (m + 1)). */
INLINE double log_of(float x) {
  int32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const int32_t e = (bits - 0x3f3504f3) >> 23; /* of sqrt(1/2) */
  bits -= (int32_t)((uint32_t)e << 23);
  float mantissa;
  memcpy(&mantissa, &bits, sizeof mantissa);
  const double m = mantissa, t = (m - 1) / (m + 1), z = t * t;
  const double series = 1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (
    1.0 / 9 + z * (1.0 / 11 + z * (1.0 / 13 + z * (1.0 / 15))))));
  return e * 0.693147180559945309417 + (2 * t + 2 * t * z * series);
}

/* The nearest multiple of pi / 2, and x in [0, 7) less it. */
INLINE double reduce(double x, double *multiple) {
  const double n = (x * (4 / TWO_PI) + 0x1.8p52) - 0x1.8p52;
  *multiple = n;
  return (x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a626331p-34;
}

/* For x from -pi / 4 to pi / 4. */
INLINE double sin_of(double x, double z) {
  return x + x * z * (-1.0 / 6 + z * (1.0 / 120 + z * (-1.0 / 5040 + z * (
    1.0 / 362880 + z * (-1.0 / 39916800)))));
}

INLINE double cos_of(double z) {
  return 1 + z * (-1.0 / 2 + z * (1.0 / 24 + z * (-1.0 / 720 + z * (
    1.0 / 40320 + z * (-1.0 / 3628800 + z * (1.0 / 479001600))))));
}

/* -- Functions of the C library, of rows ---------------------------------- */

/* row[i] = fn(x[i]) where unsure[i] is 1. The list is made without branches,
 * which would be mispredicted. */
INLINE void redo_row(float *row, const float *x, const uint8_t *unsure, int n,
                     float (*fn)(float)) {
  uint16_t list[MOST];
  int count = 0;
  for (int i = 0; i < n; i++) {
    list[count] = (uint16_t)i;
    count += unsure[i];
  }
  for (int k = 0; k < count; k++) row[list[k]] = fn(x[list[k]]);
}

static void log_row(float *row, const float *x, int n) {
  uint8_t unsure[MOST];
  _Pragma("omp simd") for (int i = 0; i < n; i++) {
    const double v = log_of(x[i]);
    row[i] = (float)v;
    unsure[i] = is_unsure(v, NEAR) | (x[i] > 0.9375f);
  }
  redo_row(row, x, unsure, n, logf);
}

static void cos_sin_row(float *x, float *y, const float *theta, int n) {
  uint8_t unsure_x[MOST], unsure_y[MOST];
  _Pragma("omp simd") for (int i = 0; i < n; i++) {
    double multiple;
    const double t = reduce(theta[i], &multiple), z = t * t;
    const int32_t quarter = (int32_t)multiple;
    const double s = sin_of(t, z), c = cos_of(z);
    const double a = quarter & 1 ? s : c, b = quarter & 1 ? c : s;
    x[i] = (float)((quarter + 1) & 2 ? -a : a);
    y[i] = (float)(quarter & 2 ? -b : b);
    const uint32_t near_s = quarter & 1 ? NEAR : NEAR_COSINE;
    unsure_x[i] = is_unsure(a, near_s);
    unsure_y[i] = is_unsure(b, NEAR + NEAR_COSINE - near_s);
  }
  redo_row(x, theta, unsure_x, n, cosf);
  redo_row(y, theta, unsure_y, n, sinf);
}

/* -- float32 and the half types ------------------------------------------- */

INLINE void widen(float *to, const char *from, int64_t n, st_dtype dtype) {
  if (dtype == ST_BFLOAT16) st_load_bf16(to, from, 2, n);
  else st_load_f16(to, from, 2, n);
}

INLINE void narrow(char *to, const float *from, int64_t n, st_dtype dtype) {
  if (dtype == ST_BFLOAT16) st_store_bf16(to, 2, from, n);
  else st_store_f16(to, 2, from, n);
}

/* Rounds intermediate results, as float16 and bfloat16 do after every
 * operation. */
INLINE void round_row(float *row, int n, st_dtype dtype) {
  uint16_t halves[MOST];
  if (dtype == ST_FLOAT32) return;
  narrow((char *)halves, row, n, dtype);
  widen(row, (const char *)halves, n, dtype);
}

INLINE void multiply_row(float *row, const float *by, int n, st_dtype dtype) {
  _Pragma("omp simd") for (int i = 0; i < n; i++) row[i] *= by[i];
  round_row(row, n, dtype);
}

INLINE void scale_row(float *row, float by, int n, st_dtype dtype) {
  _Pragma("omp simd") for (int i = 0; i < n; i++) row[i] *= by;
  round_row(row, n, dtype);
}

/* Of each block, radii from the first half and angles from the second. */
INLINE void polar_rows(const float *d, float *radius, float *theta, int n,
                       st_dtype dtype) {
  float u[MOST];
  for (int i = 0; i < n; i += PAIRS, d += ST_NORMAL_BLOCK) {
    for (int j = 0; j < PAIRS; j++) {
      u[i + j] = 1 - d[j];
      theta[i + j] = (float)(TWO_PI * (double)d[j + PAIRS]);
    }
  }
  round_row(u, n, dtype);
  round_row(theta, n, dtype);
  log_row(radius, u, n);
  round_row(radius, n, dtype);
  scale_row(radius, -2, n, dtype);
  _Pragma("omp simd") for (int i = 0; i < n; i++) {
    radius[i] = sqrtf(radius[i]);
  }
  round_row(radius, n, dtype);
}

/* n pairs, at most MOST. */
INLINE void box_muller_f4(float *d, int n, const st_normal_ctx *c,
                          st_dtype dtype) {
  const float mean = (float)c->mean, deviation = (float)c->deviation;
  float radius[MOST], theta[MOST], x[MOST], y[MOST];
  polar_rows(d, radius, theta, n, dtype);
  cos_sin_row(x, y, theta, n);
  round_row(x, n, dtype);
  round_row(y, n, dtype);
  multiply_row(x, radius, n, dtype);
  multiply_row(y, radius, n, dtype);
  scale_row(x, deviation, n, dtype);
  scale_row(y, deviation, n, dtype);
  for (int i = 0; i < n; i += PAIRS, d += ST_NORMAL_BLOCK) {
    for (int j = 0; j < PAIRS; j++) {
      d[j] = x[i + j] + mean;
      d[j + PAIRS] = y[i + j] + mean;
    }
  }
}

/* Numbers of the next rows. */
INLINE int next_rows(int64_t left) {
  return (int)(left < 2 * MOST ? left : 2 * MOST);
}

static void normal_f4(char **data, const int64_t *s, int64_t n0, int64_t n1,
                      const void *ctx) {
  float *p = (float *)(void *)data[0];
  (void)s, (void)n1;
  for (int64_t i = 0, n; i < n0; i += n) {
    n = next_rows(n0 - i);
    box_muller_f4(p + i, (int)n / 2, ctx, ST_FLOAT32);
  }
}

INLINE void normal_half(char *p, int64_t n0, const st_normal_ctx *c,
                        st_dtype dtype) {
  float rows[2 * MOST];
  for (int64_t i = 0, n; i < n0; i += n) {
    n = next_rows(n0 - i);
    widen(rows, p + 2 * i, n, dtype);
    box_muller_f4(rows, (int)n / 2, c, dtype);
    narrow(p + 2 * i, rows, n, dtype);
  }
}

static void normal_f2(char **data, const int64_t *s, int64_t n0, int64_t n1,
                      const void *ctx) {
  (void)s, (void)n1;
  normal_half(data[0], n0, ctx, ST_FLOAT16);
}

static void normal_bf(char **data, const int64_t *s, int64_t n0, int64_t n1,
                      const void *ctx) {
  (void)s, (void)n1;
  normal_half(data[0], n0, ctx, ST_BFLOAT16);
}

/* -- float64 -------------------------------------------------------------- */

INLINE void box_muller_f8(double *d, const st_normal_ctx *c) {
  const double mean = c->mean, deviation = c->deviation;
  double radius[PAIRS], x[PAIRS], y[PAIRS];
  for (int j = 0; j < PAIRS; j++) radius[j] = log(1 - d[j]);
  for (int j = 0; j < PAIRS; j++) radius[j] = sqrt(-2 * radius[j]);
  for (int j = 0; j < PAIRS; j++) {
    const double theta = TWO_PI * d[j + PAIRS];
    x[j] = cos(theta);
    y[j] = sin(theta);
  }
  for (int j = 0; j < PAIRS; j++) {
    d[j] = radius[j] * x[j] * deviation + mean;
    d[j + PAIRS] = radius[j] * y[j] * deviation + mean;
  }
}

static void normal_f8(char **data, const int64_t *s, int64_t n0, int64_t n1,
                      const void *ctx) {
  (void)s, (void)n1;
  for (int64_t i = 0; i < n0; i += ST_NORMAL_BLOCK) {
    box_muller_f8((double *)(void *)data[0] + i, ctx);
  }
}

/* -- Rows ----------------------------------------------------------------- */

static const st_kernel_row rows[] = {
  {ST_K_normal_blocks,
   {[ST_FLOAT16] = normal_f2, [ST_BFLOAT16] = normal_bf,
    [ST_FLOAT32] = normal_f4, [ST_FLOAT64] = normal_f8}},
};

ST_EXPORT(st__normal, rows)
