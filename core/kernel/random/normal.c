/* Kernels of normal numbers in float32: Box-Muller.
 *
 * Note [Logarithms of the C library]
 * The numbers are those of glibc's logf, cosf and sinf from 2.28 on, which take
 * most of the time when called for one number each. So their steps in float64
 * are made here for rows (Arm, Optimized Routines, 2018). Fused multiply-adds
 * would change a result only if it is close to the middle between two floats;
 * for the 2^24 arguments that occur, none of logf, cosf and sinf is.
 */

#include <math.h>
#include <string.h>

#include "kernel/inline.h"
#include "kernel/loop.h"
#include "kernel/random/random.h"
#include "kernel/vectors.h"

enum {
  PAIRS = ST_NORMAL_BLOCK / 2,
  MOST = 256               /* pairs at a time, in L1 */
};

#define TWO_PI (2.0 * 3.14159265358979323846)

/* -- logf ----------------------------------------------------------------- */

/* 1 / c and log(c) for a c in each sixteenth of [0.7, 1.4), which starts at
 * LEAST. */
enum { LEAST = 0x3f330000 };

static const double inverses[16] = {
  0x1.661ec79f8f3bep+0, 0x1.571ed4aaf883dp+0, 0x1.49539f0f010bp+0,
  0x1.3c995b0b80385p+0, 0x1.30d190c8864a5p+0, 0x1.25e227b0b8eap+0,
  0x1.1bb4a4a1a343fp+0, 0x1.12358f08ae5bap+0, 0x1.0953f419900a7p+0,
  0x1p+0, 0x1.e608cfd9a47acp-1, 0x1.ca4b31f026aap-1,
  0x1.b2036576afce6p-1, 0x1.9c2d163a1aa2dp-1, 0x1.886e6037841edp-1,
  0x1.767dcf5534862p-1};
static const double logs[16] = {
  -0x1.57bf7808caadep-2, -0x1.2bef0a7c06ddbp-2, -0x1.01eae7f513a67p-2,
  -0x1.b31d8a68224e9p-3, -0x1.6574f0ac07758p-3, -0x1.1aa2bc79c81p-3,
  -0x1.a4e76ce8c0e5ep-4, -0x1.1973c5a611cccp-4, -0x1.252f438e10c1ep-5,
  0, 0x1.aa5aa5df25984p-5, 0x1.c5e53aa362eb4p-4,
  0x1.526e57720db08p-3, 0x1.bc2860d22477p-3, 0x1.1058bc8a07ee1p-2,
  0x1.4043057b6ee09p-2};

/* inverse[i] and log_c[i] of entry at[i]. n is a multiple of PAIRS. */
INLINE void look_up(double *inverse, double *log_c, const int32_t *at, int n) {
  for (int i = 0; i < n; i += BYTES / 8) {
    const indices_f8 k = INDICES_f8(at + i);
    *(v_f8 *)(void *)(inverse + i) = LOOK_UP_f8(inverses, k);
    *(v_f8 *)(void *)(log_c + i) = LOOK_UP_f8(logs, k);
  }
}

INLINE uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* x is not subnormal. */
static void log_row(float *row, const float *x, int n) {
  int32_t at[MOST];
  double inverse[MOST], log_c[MOST];
  _Pragma("omp simd") for (int i = 0; i < n; i++) {
    at[i] = (int32_t)((bits_of(x[i]) - LEAST) >> 19 & 15);
  }
  look_up(inverse, log_c, at, n);
  _Pragma("omp simd") for (int i = 0; i < n; i++) {
    const uint32_t above = bits_of(x[i]) - LEAST;
    const uint32_t bits = bits_of(x[i]) - (above & 0xff800000u);
    float mantissa;
    memcpy(&mantissa, &bits, sizeof mantissa);
    const double r = (double)mantissa * inverse[i] - 1, z = r * r;
    const double first = log_c[i] + ((int32_t)above >> 23) *
                                    0x1.62e42fefa39efp-1;
    const double series = -0x1.00ea348b88334p-2 * z +
                          (0x1.5575b0be00b6ap-2 * r - 0x1.ffffef20a4123p-2);
    row[i] = (float)(series * z + (first + r));
  }
}

/* -- cosf and sinf -------------------------------------------------------- */

/* The nearest multiple of pi / 2, and x in [0, 7) less it. */
INLINE double reduce(double x, int32_t *multiple) {
  const double n = (x * 0x1.45f306dc9c883p-1 + 0x1.8p52) - 0x1.8p52;
  *multiple = (int32_t)n;
  return x - n * 0x1.921fb54442d18p0;
}

/* For x from -pi / 4 to pi / 4. */
INLINE double sin_of(double x, double z) {
  const double cube = x * z;
  return (x + cube * -0x1.555545995a603p-3) +
         cube * z * (0x1.1107605230bc4p-7 + z * -0x1.994eb3774cf24p-13);
}

INLINE double cos_of(double z) {
  const double square = z * z;
  return ((1 + z * -0x1.ffffffd0c621cp-2) + square * 0x1.55553e1068f19p-5) +
         square * z * (-0x1.6c087e89a359dp-10 + z * 0x1.99343027bf8c3p-16);
}

static void cos_sin_row(float *x, float *y, const float *theta, int n) {
  _Pragma("omp simd") for (int i = 0; i < n; i++) {
    int32_t quarter;
    const double t = reduce(theta[i], &quarter), z = t * t;
    const float s = (float)sin_of(t, z), c = (float)cos_of(z);
    const float a = quarter & 1 ? s : c, b = quarter & 1 ? c : s;
    x[i] = (quarter + 1) & 2 ? -a : a;
    y[i] = quarter & 2 ? -b : b;
  }
}

/* -- Box-Muller ----------------------------------------------------------- */

/* Of each block, radii from the first half and angles from the second. */
INLINE void polar_rows(const float *d, float *radius, float *theta, int n) {
  float u[MOST];
  for (int i = 0; i < n; i += PAIRS, d += ST_NORMAL_BLOCK) {
    for (int j = 0; j < PAIRS; j++) {
      u[i + j] = 1 - d[j];
      theta[i + j] = (float)(TWO_PI * (double)d[j + PAIRS]);
    }
  }
  log_row(radius, u, n);
  _Pragma("omp simd") for (int i = 0; i < n; i++) {
    radius[i] = sqrtf(-2 * radius[i]);
  }
}

/* n pairs, at most MOST. */
static void box_muller(float *d, int n, const st_normal_ctx *c) {
  const float mean = (float)c->mean, deviation = (float)c->deviation;
  float radius[MOST], theta[MOST], x[MOST], y[MOST];
  polar_rows(d, radius, theta, n);
  cos_sin_row(x, y, theta, n);
  _Pragma("omp simd") for (int i = 0; i < n; i++) {
    x[i] = fmaf(x[i] * radius[i], deviation, mean);
    y[i] = fmaf(y[i] * radius[i], deviation, mean);
  }
  for (int i = 0; i < n; i += PAIRS, d += ST_NORMAL_BLOCK) {
    memcpy(d, x + i, PAIRS * sizeof *d);
    memcpy(d + PAIRS, y + i, PAIRS * sizeof *d);
  }
}

static ST_LOOP_FN(normal_f4, s) {
  float *p = (float *)(void *)data[0];
  for (int64_t i = 0; i < n0; i += 2 * MOST) {
    const int64_t n = n0 - i < 2 * MOST ? n0 - i : 2 * MOST;
    box_muller(p + i, (int)n / 2, ctx);
  }
}

/* -- Rows ----------------------------------------------------------------- */

static const st_kernel_row rows[] = {
  {"normal_blocks", {[ST_FLOAT32] = normal_f4}},
};

ST_EXPORT(st__normal, rows)
