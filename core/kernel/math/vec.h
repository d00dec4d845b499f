/* Vector maths: SLEEF's functions at the vector width of the instruction set.
 *
 * A V_f4 or V_f8 holds ST_LANES_f4 or ST_LANES_f8 elements. Where no vector
 * types are defined here it is one element, and SLEEF's scalar functions are
 * used. The end of a block that does not fill a vector is padded with zeros,
 * so that all elements take the same path.
 */
#ifndef ST_KERNEL_MATH_VEC_H
#define ST_KERNEL_MATH_VEC_H

#include <sleef.h>

#include "kernel/elementwise/elementwise_loops.h"

#if defined(__AVX512F__)
#include <immintrin.h>
typedef __m512 V_f4;
typedef __m512d V_f8;
#define ST_SLEEF(fn, ulp, v) _Generic((v), \
  V_f4: Sleef_##fn##f16_##ulp##avx512f, V_f8: Sleef_##fn##d8_##ulp##avx512f)
#elif defined(__AVX2__)
#include <immintrin.h>
typedef __m256 V_f4;
typedef __m256d V_f8;
#define ST_SLEEF(fn, ulp, v) _Generic((v), \
  V_f4: Sleef_##fn##f8_##ulp##avx2, V_f8: Sleef_##fn##d4_##ulp##avx2)
#elif defined(__SSE2__)
#include <emmintrin.h>
typedef __m128 V_f4;
typedef __m128d V_f8;
#define ST_SLEEF(fn, ulp, v) _Generic((v), \
  V_f4: Sleef_##fn##f4_##ulp##sse2, V_f8: Sleef_##fn##d2_##ulp##sse2)
#else
typedef float V_f4;
typedef double V_f8;
#define ST_SLEEF(fn, ulp, v) _Generic((v), \
  V_f4: Sleef_##fn##f_##ulp, V_f8: Sleef_##fn##_##ulp)
#endif

enum {
  ST_LANES_f4 = sizeof(V_f4) / sizeof(float),
  ST_LANES_f8 = sizeof(V_f8) / sizeof(double)
};

/* SLEEF's fn with the error bound ulp, for vectors or scalars v and w. */
#define V(fn, ulp, v) ST_SLEEF(fn, ulp, v)(v)
#define V2(fn, ulp, v, w) ST_SLEEF(fn, ulp, v)(v, w)

/* Whole vectors are copied with a constant size. */
#define ST_VEC_LOAD(tag)                                                     \
  static inline V_##tag st_load_##tag(const char *p, int64_t i, int64_t n) { \
    V_##tag v = {0};                                                         \
    const int64_t left = n - i;                                              \
    p += i * (int64_t)sizeof(T_##tag);                                       \
    if (left >= ST_LANES_##tag) memcpy(&v, p, sizeof v);                     \
    else memcpy(&v, p, (size_t)left * sizeof(T_##tag));                      \
    return v;                                                                \
  }
#define ST_VEC_STORE(tag)                                                    \
  static inline void st_store_##tag(char *p, int64_t i, int64_t n,           \
                                    V_##tag v) {                             \
    const int64_t left = n - i;                                              \
    p += i * (int64_t)sizeof(T_##tag);                                       \
    if (left >= ST_LANES_##tag) memcpy(p, &v, sizeof v);                     \
    else memcpy(p, &v, (size_t)left * sizeof(T_##tag));                      \
  }
ST_VEC_LOAD(f4)
ST_VEC_LOAD(f8)
ST_VEC_STORE(f4)
ST_VEC_STORE(f8)
#undef ST_VEC_LOAD
#undef ST_VEC_STORE

/* -- Operand patterns (see elementwise_loops.h) --------------------------- */

#define ST_UNARY_VEC(tag, name, ...)                                         \
  ST_BODY(name, tag) {                                                       \
    ST_TYPES(tag);                                                           \
    for (int64_t i = 0; i < n; i += ST_LANES_##tag) {                        \
      const V_##tag a = st_load_##tag(p[1], i, n);                           \
      st_store_##tag(p[0], i, n, __VA_ARGS__);                               \
    }                                                                        \
  }                                                                          \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 2,                        \
                ST_ELEM_##tag, ST_ELEM_##tag)

#define ST_UNARY_P_VEC(tag, name, ...)                                       \
  ST_BODY(name, tag) {                                                       \
    ST_TYPES(tag);                                                           \
    const V_##tag p0 = (V_##tag){0} + st_param_##tag(ctx, 0);                \
    for (int64_t i = 0; i < n; i += ST_LANES_##tag) {                        \
      const V_##tag a = st_load_##tag(p[1], i, n);                           \
      st_store_##tag(p[0], i, n, __VA_ARGS__);                               \
    }                                                                        \
  }                                                                          \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 2,                        \
                ST_ELEM_##tag, ST_ELEM_##tag)

#define ST_BINARY_VEC(tag, name, ...)                                        \
  ST_BODY(name, tag) {                                                       \
    ST_TYPES(tag);                                                           \
    for (int64_t i = 0; i < n; i += ST_LANES_##tag) {                        \
      const V_##tag a = st_load_##tag(p[1], i, n);                           \
      const V_##tag b = st_load_##tag(p[2], i, n);                           \
      st_store_##tag(p[0], i, n, __VA_ARGS__);                               \
    }                                                                        \
  }                                                                          \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 3,                        \
                ST_ELEM_##tag, ST_ELEM_##tag, ST_ELEM_##tag)

#endif
