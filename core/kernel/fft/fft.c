/* The passes before and behind transforms of lines: real lines from complex
 * ones of half the length, conjugates, powers of roots of unity, products.
 */

#include "kernel/fft/fft.h"

#include <string.h>

#include "kernel/isa.h"
#include "kernel/loop.h"
#include "kernel/unroll.h"

/* -- Vectors -------------------------------------------------------------- */

enum { BYTES = ST_VECTOR_BYTES };
#define FLOATS ST_BY_WIDTH(4, 8, 16)
#define DOUBLES ST_BY_WIDTH(2, 4, 8)

#define SWAPPED2 1, 0
#define SWAPPED4 1, 0, 3, 2
#define SWAPPED8 SWAPPED4, 5, 4, 7, 6
#define SWAPPED16 SWAPPED8, 9, 8, 11, 10, 13, 12, 15, 14
#define REVERSED2 0, 1
#define REVERSED4 2, 3, 0, 1
#define REVERSED8 6, 7, 4, 5, REVERSED4
#define REVERSED16 14, 15, 12, 13, 10, 11, 8, 9, REVERSED8
#define REAL2 0, 0
#define REAL4 0, 0, 2, 2
#define REAL8 REAL4, 4, 4, 6, 6
#define REAL16 REAL8, 8, 8, 10, 10, 12, 12, 14, 14
#define IMAGINARY2 1, 1
#define IMAGINARY4 1, 1, 3, 3
#define IMAGINARY8 IMAGINARY4, 5, 5, 7, 7
#define IMAGINARY16 IMAGINARY8, 9, 9, 11, 11, 13, 13, 15, 15

#define T float
#define I int32_t
#define REALS 2
#define TAG f32
#include "kernel/fft/fft_template.h"
#define T float
#define I int32_t
#define REALS FLOATS
#define TAG f32x
#include "kernel/fft/fft_template.h"
#define T double
#define I int64_t
#define REALS 2
#define TAG f64
#include "kernel/fft/fft_template.h"
#if DOUBLES > 2
#define T double
#define I int64_t
#define REALS DOUBLES
#define TAG f64x
#include "kernel/fft/fft_template.h"
#else
#define pair_f64x pair_f64
#define reflect_f64x reflect_f64
#define product_f64x product_f64
#endif

/* -- Loops ---------------------------------------------------------------- */

/* The last vector begins where it ends at the last pair, if that is possible.
 * Pair 0: Z[0] is a sum and a difference of X[0] and X[h], which are real. */
#define HALVES(T, s)                                                         \
  static void ends_##s(T *to, const T *from, const st_fft_halves *c) {       \
    const T a = from[0], b = from[c->to_real ? 2 * c->h : 1];                \
    const T sum = (a + b) * (T)c->factor, d = (a - b) * (T)c->factor;        \
    to[0] = sum;                                                             \
    if (c->to_real) {                                                        \
      to[1] = d;                                                             \
    } else {                                                                 \
      to[2 * c->h] = d;                                                      \
      to[1] = to[2 * c->h + 1] = 0;                                          \
    }                                                                        \
  }                                                                          \
  INLINE void halve_##s(T *to, const T *from, const T *u,                    \
                        const st_fft_halves *c) {                            \
    enum { V = BYTES / sizeof(T) / 2 };                                      \
    const T turn = c->to_real ? -1 : 1;                                      \
    const int64_t h = c->h;                                                  \
    int64_t k = c->begin;                                                    \
    if (k == 0) ends_##s(to, from, c), k = 1;                                \
    const T factor = c->to_real ? (T)c->factor : (T)(c->factor / 2);         \
    for (; k + V <= c->end && k + V <= h - k - V + 1; k += V) {              \
      pair_##s##x(to, from, u, h, k, factor, turn);                          \
    }                                                                        \
    if (k < c->end && c->end > V + c->begin && to != from) {                 \
      pair_##s##x(to, from, u, h, c->end - V, factor, turn);                 \
      k = c->end;                                                            \
    }                                                                        \
    for (; k < c->end; k++) pair_##s(to, from, u, h, k, factor, turn);       \
  }                                                                          \
  static void halves_##s(char **data, const int64_t *st, int64_t n0,         \
                         int64_t n1, const void *ctx) {                      \
    const st_fft_halves *c = ctx;                                            \
    (void)st, (void)n0, (void)n1;                                            \
    for (int64_t i = 0; i < c->lines; i++) {                                 \
      halve_##s((T *)(void *)(data[0] + i * c->to),                          \
                (const T *)(const void *)(data[1] + i * c->from),            \
                (const T *)(void *)data[2], c);                              \
    }                                                                        \
  }                                                                          \
  static void mirror_##s(char **data, const int64_t *st, int64_t n0,         \
                         int64_t n1, const void *ctx) {                      \
    enum { V = BYTES / sizeof(T) / 2 };                                      \
    const int64_t n = ((const st_fft_mirror *)ctx)->n, end = (n + 1) / 2;    \
    int64_t k = 1;                                                           \
    (void)st, (void)n0, (void)n1;                                            \
    for (; k + V <= end; k += V) reflect_##s##x((T *)(void *)data[0], n, k); \
    for (; k < end; k++) reflect_##s((T *)(void *)data[0], n, k);            \
  }                                                                          \
  INLINE void multiply_numbers_##s(T *to, const T *a, const T *b,            \
                                   int64_t n) {                              \
    enum { V = BYTES / sizeof(T) / 2 };                                      \
    int64_t k = 0;                                                           \
    for (; k + V <= n; k += V) {                                             \
      product_##s##x(to + 2 * k, a + 2 * k, b + 2 * k);                      \
    }                                                                        \
    for (; k < n; k++) product_##s(to + 2 * k, a + 2 * k, b + 2 * k);        \
  }                                                                          \
  static void multiply_##s(char **data, const int64_t *st, int64_t n0,       \
                           int64_t n1, const void *ctx) {                    \
    (void)st, (void)n0, (void)n1;                                            \
    multiply_numbers_##s((T *)(void *)data[0], (T *)(void *)data[1],         \
                         (T *)(void *)data[2],                               \
                         ((const st_fft_multiply *)ctx)->n);                 \
  }

HALVES(float, f32)
HALVES(double, f64)

/* The powers are computed in float64, and rounded once. Products of interleaved
 * parts are products of vectors: from loops over pairs, compilers make fused
 * operations, which -ffp-contract=off does not prevent in GCC 12. */
#define POWERS(T, s)                                                         \
  static void powers_##s(char **data, const int64_t *st, int64_t n0,         \
                         int64_t n1, const void *ctx) {                      \
    enum { N = 2 * ST_FFT_FINE };                                            \
    const st_fft_powers_of *c = ctx;                                         \
    T *to = (T *)(void *)data[0];                                            \
    const double *rough = (double *)(void *)data[1];                         \
    double fine[N], powers[N], by[DOUBLES];                                  \
    for (int i = 0; i < N; i++) {                                            \
      fine[i] = ((double *)(void *)data[2])[i] * c->factor;                  \
    }                                                                        \
    (void)st, (void)n0, (void)n1;                                            \
    for (int64_t k = 0; k < c->n; k += ST_FFT_FINE, to += N, rough += 2) {   \
      for (int i = 0; i < DOUBLES; i++) by[i] = rough[i % 2];                \
      for (int i = 0; i < N; i += DOUBLES) {                                 \
        product_f64x(powers + i, fine + i, by);                              \
      }                                                                      \
      for (int i = 0; i < N; i++) to[i] = (T)powers[i];                      \
    }                                                                        \
  }

POWERS(float, f32)
POWERS(double, f64)

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {
  {"fft_halves", {[ST_FLOAT32] = halves_f32, [ST_FLOAT64] = halves_f64}},
  {"fft_mirror", {[ST_FLOAT32] = mirror_f32, [ST_FLOAT64] = mirror_f64}},
  {"fft_multiply", {
    [ST_FLOAT32] = multiply_f32, [ST_FLOAT64] = multiply_f64}},
  {"fft_powers", {[ST_FLOAT32] = powers_f32, [ST_FLOAT64] = powers_f64}}};

ST_EXPORT(st__fft, rows)
