/* Kernels with one input.
 */

#include "kernel/elementwise/elementwise_loops.h"
#include "kernel/expression.h"
#include "kernel/math/bessel.h"
#include "kernel/math/bessel_airy.h"
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
      else name##_near(out, a, m); } }                                       \
  ST_BLOCK_LOOP(name##_range_f4, name##_by_range, 2, ST_ELEM_4, ST_ELEM_4)   \
  ST_BLOCK_LOOP(name##_range_f2, name##_by_range, 2, ST_ELEM_f2, ST_ELEM_f2) \
  ST_BLOCK_LOOP(name##_range_bf, name##_by_range, 2, ST_ELEM_bf, ST_ELEM_bf)
BY_RANGE(i0, st_bessel_near_f4, 0)
BY_RANGE(i0e, st_bessel_scaled_near_f4, 0)
BY_RANGE(i1, st_bessel_near_f4, 1)
BY_RANGE(i1e, st_bessel_scaled_near_f4, 1)
#define RANGE_ROW(name) \
  {#name, {[ST_FLOAT32] = name##_range_f4, ST_BY_TAG(HALF, name##_range)}},

/* -- Whole vectors with AVX-512 ------------------------------------------- */

#if ST_HAS_FUNCTIONS
#include "kernel/elementwise/x86/vector_loops_512.h"

#define FLOAT_512(fn, any, block)                                            \
  ST_FLOAT_512(fn##_512, 1, any, block, ST_NO_PARAMS, st_##fn##_512_f4(x))   \
  ST_FLOAT_LOOPS_512(ST_UNARY_512, fn##_512)
#define DOUBLE_512(fn, any, block)                                           \
  ST_DOUBLE_512(fn##_512, 1, any, block, ST_NO_PARAMS, st_##fn##_512_f8(x))  \
  ST_UNARY_512(fn##_512, f8, fn##_512_f8_body)
FLOAT_512(exp, exp_f4_any, ST_STEP_f4)
DOUBLE_512(exp, exp_f8_any, ST_STEP_f8)
FLOAT_512(tanh, tanh_f4_whole, ST_STEP_f4)
FLOAT_512(erf, erf_f4_whole, ST_STEP_f4)
DOUBLE_512(erf, erf_f8_whole, ST_STEP_f8)
FLOAT_512(erfc, erfc_f4_whole, ST_STEP_f4)
DOUBLE_512(erfc, erfc_f8_whole, ST_STEP_f8)
FLOAT_512(gelu, gelu_f4_whole, ST_STEP_f4)
DOUBLE_512(gelu, gelu_f8_whole, ST_STEP_f8)
FLOAT_512(rsqrt, rsqrt_f4_whole, ST_STEP_f4)
DOUBLE_512(rsqrt, rsqrt_f8_whole, ST_STEP_f8)
FLOAT_512(log, log_f4_any, ST_STEP_f4)
FLOAT_512(log2, log2_f4_any, ST_STEP_f4)
FLOAT_512(log10, log10_f4_any, ST_STEP_f4)
FLOAT_512(sigmoid, sigmoid_f4_any, ST_PLAIN_BLOCK)
DOUBLE_512(sigmoid, sigmoid_f8_any, ST_PLAIN_BLOCK)
FLOAT_512(silu, silu_f4_any, ST_PLAIN_BLOCK)
DOUBLE_512(silu, silu_f8_any, ST_PLAIN_BLOCK)
FLOAT_512(sin, sin_f4_any, ST_STEP_f4)
DOUBLE_512(sin, sin_f8_any, ST_STEP_f8)
FLOAT_512(cos, cos_f4_any, ST_STEP_f4)
DOUBLE_512(cos, cos_f8_any, ST_STEP_f8)
FLOAT_512(tan, tan_f4_any, ST_STEP_f4)
DOUBLE_512(tan, tan_f8_any, ST_STEP_f8)

#define FLOAT_ROW(fn) ST_FLOAT_ROW_512(fn, fn##_512)
#define DOUBLE_ROW(fn) ST_DOUBLE_ROW_512(fn, fn##_512)
#define ROWS_512                                                             \
  FLOAT_ROW(exp) DOUBLE_ROW(exp) FLOAT_ROW(tanh)                             \
  FLOAT_ROW(erf) DOUBLE_ROW(erf) FLOAT_ROW(erfc) DOUBLE_ROW(erfc)            \
  FLOAT_ROW(gelu) DOUBLE_ROW(gelu) FLOAT_ROW(rsqrt) DOUBLE_ROW(rsqrt)        \
  FLOAT_ROW(log) FLOAT_ROW(log2) FLOAT_ROW(log10)                            \
  FLOAT_ROW(sin) DOUBLE_ROW(sin) FLOAT_ROW(cos) DOUBLE_ROW(cos)              \
  FLOAT_ROW(tan) DOUBLE_ROW(tan)                                             \
  FLOAT_ROW(sigmoid) DOUBLE_ROW(sigmoid) FLOAT_ROW(silu) DOUBLE_ROW(silu)
#else
#define ROWS_512
#endif

/* -- Rows ----------------------------------------------------------------- */

/* Further rows of a kernel replace its loops. */
static const st_kernel_row rows[] = {
#define ST_UNARY(name, grain, list, ...) \
  {#name, {ST_LIST_##list(ST_SLOT, name, __VA_ARGS__)}},
#define ST_PREDICATE ST_UNARY
#define ST_UNARY_MORE ST_UNARY
#define ST_PREDICATE_MORE ST_UNARY
#include "kernel/elementwise/unary.def"
  RANGE_ROW(i0) RANGE_ROW(i0e) RANGE_ROW(i1) RANGE_ROW(i1e)
  ROWS_512
};

ST_EXPORT(st__unary, rows)
