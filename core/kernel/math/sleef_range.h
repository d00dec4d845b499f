/* Wrappers of SLEEF functions that overflow too early.
 */
#ifndef ST_KERNEL_MATH_SLEEF_RANGE_H
#define ST_KERNEL_MATH_SLEEF_RANGE_H

#include <math.h>

#include "kernel/math/vec.h"

/* A bit per lane, set if |v| <= limit. s: ps or pd, the suffix of the
 * intrinsics. */
#if defined(__AVX512F__)
#define ST_BITS_WITHIN(s)                                                    \
  _mm512_cmp_##s##_mask(_mm512_abs_##s(v), _mm512_set1_##s(limit),           \
                        _CMP_LE_OQ)
#elif defined(__AVX2__)
#define ST_BITS_WITHIN(s)                                                    \
  _mm256_movemask_##s(_mm256_cmp_##s(                                        \
    _mm256_andnot_##s(_mm256_set1_##s(-0.0), v), _mm256_set1_##s(limit),     \
    _CMP_LE_OQ))
#elif defined(__SSE2__)
#define ST_BITS_WITHIN(s)                                                    \
  _mm_movemask_##s(_mm_cmple_##s(                                            \
    _mm_andnot_##s(_mm_set1_##s(-0.0), v), _mm_set1_##s(limit)))
#else
#define ST_BITS_WITHIN(s) (fabs(v) <= limit)
#endif

/* True if |v| <= limit in all lanes. */
#define ST_VEC_WITHIN(tag, s)                                                \
  static inline bool st_within_##tag(V_##tag v, T_##tag limit) {             \
    return ST_BITS_WITHIN(s) == (1 << ST_LANES_##tag) - 1;                   \
  }
ST_VEC_WITHIN(f4, ps)
ST_VEC_WITHIN(f8, pd)
#undef ST_VEC_WITHIN

#define fabs_f4 fabsf
#define fabs_f8 fabs

/* Per lane: x if |v| <= limit, else y. */
#define ST_VEC_SELECT(tag)                                                   \
  static V_##tag st_select_##tag(V_##tag v, T_##tag limit, V_##tag x,        \
                                 V_##tag y) {                                \
    T_##tag by[ST_LANES_##tag], from[ST_LANES_##tag], to[ST_LANES_##tag];    \
    memcpy(by, &v, sizeof v);                                                \
    memcpy(from, &x, sizeof v);                                              \
    memcpy(to, &y, sizeof v);                                                \
    for (int i = 0; i < ST_LANES_##tag; i++) {                               \
      if (fabs_##tag(by[i]) <= limit) to[i] = from[i];                       \
    }                                                                        \
    memcpy(&v, to, sizeof v);                                                \
    return v;                                                                \
  }
ST_VEC_SELECT(f4)
ST_VEC_SELECT(f8)
#undef ST_VEC_SELECT

/* Per lane: y if |v| <= limit, else the C library's fn(v). */
#define ST_VEC_REPLACE(tag)                                                  \
  static V_##tag st_replace_##tag(V_##tag y, V_##tag v, T_##tag limit,       \
                                  T_##tag (*fn)(T_##tag)) {                  \
    T_##tag x[ST_LANES_##tag];                                               \
    V_##tag z;                                                               \
    memcpy(x, &v, sizeof v);                                                 \
    for (int i = 0; i < ST_LANES_##tag; i++) x[i] = fn(x[i]);                \
    memcpy(&z, x, sizeof z);                                                 \
    return st_select_##tag(v, limit, y, z);                                  \
  }
ST_VEC_REPLACE(f4)
ST_VEC_REPLACE(f8)
#undef ST_VEC_REPLACE

#define ST_BY_VEC(v, f4, f8) _Generic((v), V_f4: f4, V_f8: f8)

/* Calls the C library for |v| above a limit, f4 or f8 by the vector's type. */
#define V_LIBM_ABOVE(fn, ulp, v, f4, f8)                                     \
  (ST_BY_VEC(v, st_within_f4, st_within_f8)(v, ST_BY_VEC(v, f4, f8))         \
   ? ST_SLEEF(fn, ulp, v)(v)                                                 \
   : ST_BY_VEC(v, st_replace_f4, st_replace_f8)(                             \
       ST_SLEEF(fn, ulp, v)(v), v, ST_BY_VEC(v, f4, f8),                     \
       ST_BY_VEC(v, fn##f, fn)))

#endif
