/* Kernels with one input.
 */

#include "kernel/elementwise/elementwise_loops.h"
#include "kernel/elementwise/expression.h"
#include "kernel/math/bessel.h"
#include "kernel/math/far_angle.h"
#include "kernel/math/functions.h"
#include "kernel/math/special.h"

#include <tgmath.h>

#include "kernel/math/complex_exp_log.h"

#define PI    3.14159265358979323846
#define LN_2  0.69314718055994530942
#define LN_10 2.30258509299404568402
#define BESSEL(x, order) \
  _Generic((x), float: st_bessel_f4, default: st_bessel)(x, order)
#define BESSEL_SCALED(x, order)                                    \
  _Generic((x), float: st_bessel_scaled_f4,                        \
           default: st_bessel_scaled)(x, order)
/* lgamma writes the sign to a global variable. */
#define LGAMMA(x) \
  _Generic((x), float: lgammaf_r, default: lgamma_r)(x, &(int){0})
#define LARGER_PART(z) fmax(fabs(creal(z)), fabs(cimag(z)))

#define ST_UNARY(name, grain, list, ...) \
  ST_LIST_##list(ST_UNARY, name, __VA_ARGS__)
#define ST_PREDICATE(name, grain, list, ...) \
  ST_LIST_##list(ST_PREDICATE, name, __VA_ARGS__)
#define ST_UNARY_MORE ST_UNARY
#define ST_PREDICATE_MORE ST_PREDICATE
#include "kernel/elementwise/unary.def"
#undef ST_UNARY

/* -- Bessel functions of floats ------------------------------------------- */

/* A block without large arguments needs only one series. */
enum { BESSEL_BLOCK = 64 };

static bool has_far(const float *a, int64_t n) {
  int is_far = 0;
  for (int64_t i = 0; i < n; i++) is_far |= st_bessel_is_far(a[i]);
  return is_far;
}

#define BY_RANGE(name, fn, order)                                            \
  static void name##_near(float *out, const float *pa, int64_t n) {          \
    ST_SIMD_FOR(i, n) out[i] = fn(pa[i], order);                             \
  }                                                                          \
  static void name##_by_range(char *const *p, int64_t n, const void *ctx) {  \
    for (int64_t k = 0; k < n; k += BESSEL_BLOCK) {                          \
      const int64_t m = n - k < BESSEL_BLOCK ? n - k : BESSEL_BLOCK;         \
      float *out = (float *)p[0] + k, *a = (float *)p[1] + k;                \
      char *const part[] = {(char *)out, (char *)a};                         \
      if (has_far(a, m)) name##_f4_body(part, m, ctx);                       \
      else name##_near(out, a, m);                                           \
    }                                                                        \
  }                                                                          \
  ST_BLOCK_LOOP(name##_range_f4, name##_by_range, 2, ST_ELEM_4, ST_ELEM_4)   \
  ST_BLOCK_LOOP(name##_range_f2, name##_by_range, 2, ST_ELEM_f2, ST_ELEM_f2) \
  ST_BLOCK_LOOP(name##_range_bf, name##_by_range, 2, ST_ELEM_bf, ST_ELEM_bf)
BY_RANGE(i0, st_bessel_near_f4, 0)
BY_RANGE(i0e, st_bessel_scaled_near_f4, 0)
BY_RANGE(i1, st_bessel_near_f4, 1)
BY_RANGE(i1e, st_bessel_scaled_near_f4, 1)
#define RANGE_ROW(name)                                                      \
  {ST_K_##name, {[ST_FLOAT32] = name##_range_f4,                             \
                 [ST_FLOAT16] = name##_range_f2,                             \
                 [ST_BFLOAT16] = name##_range_bf}},

/* -- exp with AVX-512 ----------------------------------------------------- */

#if defined(__AVX512F__)
#include "kernel/math/exp_512.h"

#define EXP_BODY(tag, ps, mask)                                              \
  ST_BODY(exp_512, tag) {                                                    \
    T_##tag *out = (T_##tag *)p[0];                                          \
    const T_##tag *a = (const T_##tag *)p[1];                                \
    enum { LANES = 64 / sizeof *a };                                         \
    int64_t i = 0;                                                           \
    (void)ctx;                                                               \
    for (; i + LANES <= n; i += LANES) {                                     \
      _mm512_storeu_##ps(out + i,                                            \
                         st_exp_512_##tag(_mm512_loadu_##ps(a + i)));        \
    }                                                                        \
    if (i < n) {                                                             \
      const mask m = (mask)((1u << (n - i)) - 1);                            \
      _mm512_mask_storeu_##ps(                                               \
        out + i, m, st_exp_512_##tag(_mm512_maskz_loadu_##ps(m, a + i)));    \
    }                                                                        \
  }
EXP_BODY(f4, ps, __mmask16)
EXP_BODY(f8, pd, __mmask8)
ST_BLOCK_LOOP(exp_512_f4, exp_512_f4_body, 2, ST_ELEM_4, ST_ELEM_4)
ST_BLOCK_LOOP(exp_512_f8, exp_512_f8_body, 2, ST_ELEM_8, ST_ELEM_8)
ST_BLOCK_LOOP(exp_512_f2, exp_512_f4_body, 2, ST_ELEM_f2, ST_ELEM_f2)
ST_BLOCK_LOOP(exp_512_bf, exp_512_f4_body, 2, ST_ELEM_bf, ST_ELEM_bf)
#define EXP_ROW                                                              \
  {ST_K_exp, {[ST_FLOAT32] = exp_512_f4, [ST_FLOAT64] = exp_512_f8,          \
              [ST_FLOAT16] = exp_512_f2, [ST_BFLOAT16] = exp_512_bf}},
#else
#define EXP_ROW
#endif

/* -- Rows ----------------------------------------------------------------- */

/* Further rows of a kernel replace its loops. */
static const st_kernel_row rows[] = {
#define ST_UNARY(name, grain, list, ...) \
  {ST_K_##name, {ST_LIST_##list(ST_SLOT, name, __VA_ARGS__)}},
#define ST_PREDICATE ST_UNARY
#define ST_UNARY_MORE ST_UNARY
#define ST_PREDICATE_MORE ST_UNARY
#include "kernel/elementwise/unary.def"
  RANGE_ROW(i0) RANGE_ROW(i0e) RANGE_ROW(i1) RANGE_ROW(i1e) EXP_ROW
};

ST_EXPORT(st__unary, rows)
