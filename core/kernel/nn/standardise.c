/* The last step of layer_norm: rows less their mean, times the reciprocal of
 * their standard deviation, times weight, plus bias. One pass instead of four,
 * with the same roundings.
 */

#include "kernel/nn/standardise.h"

#include "base/threads.h"
#include "kernel/inline.h"
#include "kernel/loop.h"

#define ROW(tag, T)                                                          \
  INLINE void row_##tag(T *restrict out, const T *x, T mean, T rstd,         \
                        const T *weight, const T *bias, int64_t n) {         \
    _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                    \
      T y = (x[i] - mean) * rstd;                                            \
      if (weight) y *= weight[i];                                            \
      if (bias) y += bias[i];                                                \
      out[i] = y;                                                            \
    }                                                                        \
  }

/* The compiler removes the tests of constant NULLs. */
#define STANDARDISE(tag, T)                                                  \
  ROW(tag, T)                                                                \
  static void standardise_##tag(char **data, const int64_t *s, int64_t n0,   \
                                int64_t n1, const void *ctx) {               \
    const st_standardise_ctx *c = ctx;                                       \
    const T *w = c->weight, *b = c->bias;                                    \
    int64_t left = ST_PERIOD;                                                \
    for (int64_t j = 0; j < n1 && !st__stops_after(&left, n0); j++) {        \
      T *out = (T *)(void *)(data[0] + j * s[4]);                            \
      const T *x = (const T *)(void *)(data[1] + j * s[5]);                  \
      const T mean = *(const T *)(void *)(data[2] + j * s[6]);               \
      const T rstd = *(const T *)(void *)(data[3] + j * s[7]);               \
      if (w && b) row_##tag(out, x, mean, rstd, w, b, n0);                   \
      else if (w) row_##tag(out, x, mean, rstd, w, NULL, n0);                \
      else if (b) row_##tag(out, x, mean, rstd, NULL, b, n0);                \
      else row_##tag(out, x, mean, rstd, NULL, NULL, n0);                    \
    }                                                                        \
  }

STANDARDISE(f4, float)
STANDARDISE(f8, double)

static const st_kernel_row rows[] = {
  {"standardise", {[ST_FLOAT32] = standardise_f4,
                      [ST_FLOAT64] = standardise_f8}},
};

ST_EXPORT(st__standardise, rows)
