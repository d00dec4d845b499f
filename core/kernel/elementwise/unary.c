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

/* -- Whole vectors with AVX-512 ------------------------------------------- */

#if defined(__AVX512F__)
#include "kernel/math/vectors_512.h"

/* The steps return how many numbers came before some for which is_beyond is
 * true. Those are left to `any`. */
#define WHOLE_512(name, tag, vector, ps, is_beyond, any)                     \
  enum { name##_##tag##_STEP = ST_NVECTORS * 64 / sizeof(T_##tag) };         \
  static __attribute__((noinline)) int64_t name##_512_##tag##_steps(         \
    T_##tag *out, const T_##tag *a, int64_t n) {                             \
    enum { LANES = 64 / sizeof *a };                                         \
    for (int64_t i = 0; i < n; i += name##_##tag##_STEP) {                   \
      vector x[ST_NVECTORS];                                                 \
      EACH x[j] = _mm512_loadu_##ps(a + i + j * LANES);                      \
      if (is_beyond(x)) return i;                                            \
      st_##name##_512_##tag(x);                                              \
      EACH _mm512_storeu_##ps(out + i + j * LANES, x[j]);                    \
    }                                                                        \
    return n;                                                                \
  }                                                                          \
  static void name##_512_##tag##_whole(                                      \
    T_##tag *out, const T_##tag *pa, const T_##tag *pb, int64_t n,           \
    const void *ctx) {                                                       \
    enum { STEP = name##_##tag##_STEP };                                     \
    for (int64_t i = 0; i < n; i += STEP) {                                  \
      i += name##_512_##tag##_steps(out + i, pa + i, n - i);                 \
      if (i < n) any(out + i, pa + i, pb + i, STEP, ctx);                    \
    }                                                                        \
  }                                                                          \
  ST_PADDED_BODY(tag, name##_512, 1, name##_##tag##_STEP)                    \
  ST_BLOCK_LOOP(name##_512_##tag, name##_512_##tag##_body, 2,                \
                ST_ELEM_##tag, ST_ELEM_##tag)
#define HALVES_512(name)                                                     \
  ST_BLOCK_LOOP(name##_512_f2, name##_512_f4_body, 2, ST_ELEM_f2, ST_ELEM_f2)\
  ST_BLOCK_LOOP(name##_512_bf, name##_512_f4_body, 2, ST_ELEM_bf, ST_ELEM_bf)
#define NEVER(x) false

#define FLOATS_512(name, any)                                                \
  WHOLE_512(name, f4, __m512, ps, NEVER, any) HALVES_512(name)
#define ANGLE_512(name)                                                      \
  WHOLE_512(name, f4, __m512, ps, st_has_far_512_f4, name##_f4_any)          \
  WHOLE_512(name, f8, __m512d, pd, st_has_far_512_f8, name##_f8_any)         \
  HALVES_512(name)
FLOATS_512(exp, exp_f4_any)
WHOLE_512(exp, f8, __m512d, pd, NEVER, exp_f8_any)
FLOATS_512(tanh, tanh_f4_whole)
FLOATS_512(log, log_f4_any)
ANGLE_512(sin)
ANGLE_512(cos)

#define FLOATS_512_ROW(name)                                                 \
  {ST_K_##name, {[ST_FLOAT32] = name##_512_f4, [ST_FLOAT16] = name##_512_f2, \
                 [ST_BFLOAT16] = name##_512_bf}},
#define ROW_512(name)                                                        \
  FLOATS_512_ROW(name) {ST_K_##name, {[ST_FLOAT64] = name##_512_f8}},
#define ROWS_512                                                             \
  ROW_512(exp) FLOATS_512_ROW(tanh) FLOATS_512_ROW(log)                      \
  ROW_512(sin) ROW_512(cos)
#else
#define ROWS_512
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
  RANGE_ROW(i0) RANGE_ROW(i0e) RANGE_ROW(i1) RANGE_ROW(i1e)
  ROWS_512
};

ST_EXPORT(st__unary, rows)
